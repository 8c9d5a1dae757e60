package luabridge

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/echomq/echomq-sim/resp"
)

// Versions that scripts see: the one of the protocol's reference and the one of
// the server that is simulated.
const (
	redisVersion     = "7.2.4"
	redisVersionNum  = 0x070204
	serverVersion    = "8.0.1"
	serverVersionNum = 0x080001
)

// functionFuncs are what a running library function can call in redis.
func (v *vm) functionFuncs() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"call": v.redisCall, "pcall": v.redisPcall, "log": v.redisLog, "setresp": v.setResp,
		"sha1hex": v.sha1hex, "error_reply": v.errorReplyTable, "status_reply": v.statusReplyTable,
		"set_repl": v.setRepl, "acl_check_cmd": v.aclCheck,
	}
}

// scriptFuncs are what a script can call in redis.
func (v *vm) scriptFuncs() map[string]lua.LGFunction {
	funcs := v.functionFuncs()
	funcs["replicate_commands"] = v.replicateCommands
	funcs["breakpoint"], funcs["debug"] = v.redisBreakpoint, v.redisDebug
	return funcs
}

// redisLibrary is the table that Lua code knows as redis and as server.
func (v *vm) redisLibrary(funcs map[string]lua.LGFunction) *lua.LTable {
	constants := versionConstants()
	for name, n := range map[string]int64{"REPL_NONE": 0, "REPL_AOF": 1, "REPL_SLAVE": 2, "REPL_REPLICA": 2, "REPL_ALL": 3} {
		constants[name] = number(n)
	}
	return v.readOnlyLibrary(redisOrder, funcs, constants)
}

// versionConstants are the fields that even the code of a loading library sees.
func versionConstants() map[string]lua.LValue {
	return map[string]lua.LValue{
		"LOG_DEBUG": number(0), "LOG_VERBOSE": number(1), "LOG_NOTICE": number(2), "LOG_WARNING": number(3),
		"REDIS_VERSION": lua.LString(redisVersion), "REDIS_VERSION_NUM": number(redisVersionNum),
		"VALKEY_VERSION": lua.LString(serverVersion), "VALKEY_VERSION_NUM": number(serverVersionNum),
		"SERVER_NAME": lua.LString("valkey"),
	}
}

// commandArgs collects the arguments of a command, which must be strings or
// numbers.
func (v *vm) commandArgs(L *lua.LState) (args []string, errText string) {
	n := L.GetTop()
	if n == 0 {
		return nil, "ERR Please specify at least one argument for this call"
	}
	args = v.argv[:0]
	for i := 1; i <= n; i++ {
		switch x := L.Get(i).(type) {
		case lua.LString:
			args = append(args, string(x))
		case lua.LNumber:
			args = append(args, formatArg(float64(x)))
		default:
			return nil, "ERR Command arguments must be strings or integers"
		}
	}
	v.argv = args
	return args, ""
}

// redisCall is redis.call: an error reply is raised.
func (v *vm) redisCall(L *lua.LState) int {
	value, failed := v.command(L)
	if failed {
		raise(value)
	}
	L.Push(value)
	return 1
}

// redisPcall is redis.pcall: an error reply is returned.
func (v *vm) redisPcall(L *lua.LState) int {
	value, _ := v.command(L)
	L.Push(value)
	return 1
}

// command runs one command and converts its reply.
func (v *vm) command(L *lua.LState) (value lua.LValue, failed bool) {
	args, errText := v.commandArgs(L)
	if errText != "" {
		return v.errTable(errText), true
	}
	reply := v.callHost(args)
	if reply.Kind == resp.KindErr {
		t := v.newErrTable(trimLine(reply.Str))
		t.RawSetString(relayedField, lua.LTrue)
		return t, true
	}
	return v.fromReply(&reply), false
}

// callHost runs one command. A debugger shows it.
func (v *vm) callHost(args []string) resp.Value {
	d := v.in.debugger
	if !d.follows() {
		return v.host.Call(args)
	}
	d.showCommand(args)
	reply := v.host.Call(args)
	d.showReply(&reply, v.in.resp)
	return reply
}

// relayedField marks the table of an error that a command gave.
const relayedField = "ignore_error_stats_update"

// errTable is the table form of an error: {err = text}. A debugger shows it.
func (v *vm) errTable(text string) *lua.LTable {
	if d := v.in.debugger; d.follows() {
		d.showError(text)
	}
	return v.newErrTable(text)
}

func (v *vm) newErrTable(text string) *lua.LTable {
	t := v.L.CreateTable(0, 2)
	t.RawSetString("err", lua.LString(text))
	return t
}

func trimLine(s string) string { return strings.Trim(s, "\r\n") }

// errorReplyTable is redis.error_reply.
func (v *vm) errorReplyTable(L *lua.LState) int {
	s, ok := L.Get(1).(lua.LString)
	if !ok || L.GetTop() != 1 {
		L.Push(v.errTable("ERR wrong number or type of arguments"))
		return 1
	}
	text := cString(strings.TrimPrefix(string(s), "-"))
	code, msg, ok := strings.Cut(text, " ")
	if !ok {
		code, msg = "ERR", text
	}
	if d := v.in.debugger; d.follows() {
		d.show("<error> -" + text)
	}
	L.Push(v.newErrTable(code + " " + trimLine(msg)))
	return 1
}

// cString is s up to its first zero byte.
func cString(s string) string {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return s[:i]
	}
	return s
}

// statusReplyTable is redis.status_reply.
func (v *vm) statusReplyTable(L *lua.LState) int {
	s, ok := L.Get(1).(lua.LString)
	if !ok || L.GetTop() != 1 {
		L.Push(v.errTable("ERR wrong number or type of arguments"))
		return 1
	}
	t := L.CreateTable(0, 1)
	t.RawSetString("ok", s)
	L.Push(t)
	return 1
}

func (v *vm) sha1hex(L *lua.LState) int {
	if L.GetTop() != 1 {
		raise(v.errTable("ERR wrong number of arguments"))
	}
	s, _ := toText(L.Get(1)) // anything else hashes as the empty string
	return pushString(L, SHA1Hex(s))
}

func (v *vm) redisLog(L *lua.LState) int {
	n := L.GetTop()
	if n < 2 {
		raise(v.errTable("ERR server.log() requires two arguments or more."))
	}
	f, ok := toNumber(L.Get(1))
	if !ok {
		raise(v.errTable("ERR First argument must be a number (log level)."))
	}
	level := toInt32(f)
	if level < 0 || level > 3 {
		raise(v.errTable("ERR Invalid log level."))
	}
	var line []byte
	for i := 2; i <= n; i++ {
		s, ok := toText(L.Get(i))
		if !ok {
			continue
		}
		if i > 2 {
			line = append(line, ' ')
		}
		v.grow(len(line) + len(s))
		line = append(line, s...)
	}
	v.host.Log(level, string(line))
	return 0
}

func (v *vm) setResp(L *lua.LState) int {
	if L.GetTop() != 1 {
		raise(v.errTable("ERR server.setresp() requires one argument."))
	}
	f, _ := toNumber(L.Get(1))
	n := toInt32(f)
	if n != 2 && n != 3 {
		raise(v.errTable("ERR RESP version must be 2 or 3."))
	}
	v.in.resp = n
	return 0
}

// replicas is the bit of set_repl's flags that stands for them.
const replicas = 2

// setRepl chooses between replicas and the append-only file; of the latter there is none.
func (v *vm) setRepl(L *lua.LState) int {
	if L.GetTop() != 1 {
		raise(v.errTable("ERR server.set_repl() requires one argument."))
	}
	f, _ := toNumber(L.Get(1))
	flags := toInt32(f)
	if flags&^3 != 0 {
		raise(v.errTable("ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE."))
	}
	v.host.Replicate(flags&replicas != 0)
	return 0
}

func (v *vm) aclCheck(L *lua.LState) int {
	args, errText := v.commandArgs(L)
	if errText != "" {
		raise(v.errTable(errText))
	}
	allowed, errText := v.host.ACLCheck(args)
	if errText != "" {
		raise(v.errTable(errText))
	}
	return pushBool(L, allowed)
}

func (v *vm) replicateCommands(L *lua.LState) int { return pushBool(L, true) }
