package luabridge

import (
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/echomq/echomq-sim/resp"
)

// follows reports whether commands and errors are to be shown.
func (d *Debugger) follows() bool { return d != nil && d.step }

// maxShownArgs is how many arguments of a command are shown.
const maxShownArgs = 10

func (d *Debugger) showCommand(args []string) {
	line := "<command>"
	for i, arg := range args {
		if i == maxShownArgs {
			line += " ... (" + strconv.Itoa(len(args)-i-1) + " more)"
			break
		}
		line += " " + arg
	}
	d.show(line)
}

// showReply shows the reply of a command, which speaks that version of the protocol.
func (d *Debugger) showReply(reply *resp.Value, proto int) {
	if reply.Kind == resp.KindErr && d.console.Refused() {
		d.showError(reply.Str)
		return
	}
	if reply.Kind == resp.KindErr {
		d.show("<error> -" + reply.Str)
	}
	out, _ := readable([]byte("<reply> "), string(resp.Append(nil, reply, proto)))
	d.showCut(string(out))
}

// showError shows an error whose text begins with its code. The server has none of ERR yet.
func (d *Debugger) showError(text string) {
	if msg, ok := strings.CutPrefix(text, "ERR "); ok {
		d.show("<error> " + msg)
	} else {
		d.show("<error> -" + text)
	}
}

// readable appends the first value of a text in the protocol as ldbRespToHuman of eval.c
// writes it, and returns what is behind that.
func readable(out []byte, text string) ([]byte, string) {
	line, rest, _ := strings.Cut(text[1:], "\r\n")
	switch text[0] {
	case ':':
		return append(out, line...), rest
	case '$':
		if n, _ := strconv.Atoi(line); n >= 0 {
			return resp.AppendQuoted(out, rest[:n]), rest[n+2:]
		}
		return append(out, "NULL"...), rest
	case '+', '-':
		return resp.AppendQuoted(out, text[:1+len(line)]), rest
	case '*':
		if line == "-1" {
			return append(out, "NULL"...), rest
		}
		return readableElements(out, "[]", line, rest)
	case '~':
		return readableElements(append(out, '~'), "()", line, rest)
	case '%':
		return readableElements(out, "{}", line, rest)
	case '_':
		return append(out, "(null)"...), rest
	case '#':
		return strconv.AppendBool(append(out, '#'), line == "t"), rest
	case ',':
		return append(append(out, "(double) "...), line...), rest
	}
	return out, text // the server does not know the others
}

// readableElements is readable for the elements of an array, set or map, whose count is in
// a line of its own.
func readableElements(out []byte, brackets, count, rest string) ([]byte, string) {
	n, _ := strconv.Atoi(count)
	out = append(out, brackets[0])
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		out, rest = readable(out, rest)
		if brackets == "{}" {
			out, rest = readable(append(out, " => "...), rest)
		}
	}
	return append(out, brackets[1]), rest
}

// showValue shows a Lua value behind a prefix.
func (d *Debugger) showValue(v *vm, prefix string, value lua.LValue) {
	d.showCut(string(v.appendDump([]byte(prefix), value, 0)))
}

// debugDepth is how deep tables are shown: LDB_MAX_VALUES_DEPTH of eval.c.
const debugDepth = 10

// maxDump bounds the bytes of a dump: tables that stand in one another would take any number.
const maxDump = 16 << 20

// appendDump appends a value as ldbCatStackValue of eval.c writes it.
func (v *vm) appendDump(out []byte, value lua.LValue, depth int) []byte {
	v.step(1)
	if depth == debugDepth {
		return append(out, "<max recursion level reached! Nested table?>"...)
	}
	if len(out) > maxDump {
		raise(errMemoryValue)
	}
	switch x := value.(type) {
	case lua.LString:
		return resp.AppendQuoted(out, string(x))
	case lua.LNumber:
		return appendG(out, float64(x), 6)
	case *lua.LTable:
		return v.appendDumpTable(out, x, depth+1)
	case *lua.LNilType, lua.LBool:
		return append(out, value.String()...)
	}
	typ, address, _ := strings.Cut(v.tostring(v.L, value), ": ")
	if value == v.null {
		typ = "light-userdata"
	}
	return append(append(append(append(append(out, '"'), typ...), '@'), address...), '"')
}

// appendDumpTable appends a table: one whose keys come as 1, 2, 3 without them.
func (v *vm) appendDumpTable(out []byte, t *lua.LTable, depth int) []byte {
	list, keyed := []byte("{"), []byte("{")
	next := 1
	fields(v.behind(t), func(key, value lua.LValue) {
		if next > 1 {
			keyed = append(keyed, "; "...)
		}
		at := len(keyed)
		keyed = append(v.appendDump(append(keyed, '['), key, depth), "]="...)
		start := len(keyed)
		keyed = v.appendDump(keyed, value, depth)
		if n, ok := key.(lua.LNumber); ok && list != nil && float64(n) == float64(next) {
			if next > 1 {
				list = append(list, "; "...)
			}
			list = append(list, keyed[start:]...)
		} else {
			list = nil
		}
		if next++; len(out)+at > maxDump {
			raise(errMemoryValue)
		}
	})
	if list == nil {
		list = keyed
	}
	return append(append(out, list...), '}')
}

// redisBreakpoint is redis.breakpoint: true if there is a debugger, which stops at the next line.
func (v *vm) redisBreakpoint(L *lua.LState) int {
	d := v.in.debugger
	if d != nil {
		d.called = true
	}
	return pushBool(L, d != nil)
}

// redisDebug is redis.debug: it shows values to the user of the debugger.
func (v *vm) redisDebug(L *lua.LState) int {
	d := v.in.debugger
	if d == nil {
		return 0
	}
	line := []byte("<debug> line " + strconv.Itoa(d.line) + ": ")
	for i := 1; i <= L.GetTop(); i++ {
		if i > 1 {
			line = append(line, ", "...)
		}
		line = v.appendDump(line, L.Get(i), 0)
	}
	d.show(string(line))
	return 0
}
