package luabridge

import (
	"sort"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/echomq/echomq-sim/resp"
)

// Caller runs the commands of redis.call and redis.pcall.
type Caller interface {
	// Call runs one command. Errors come as KindErr values whose text is the one
	// that the server gives a script. The slice is only valid during the call;
	// the strings never change.
	Call(args []string) resp.Value
}

// Host is what a script can reach outside Lua.
type Host interface {
	Caller
	// Log writes one line to the server's log: level 0 (debug) to 3 (warning).
	Log(level int, msg string)
	// ACLCheck reports whether the user may run a command. A text other than ""
	// is an error that the script gets instead: "ERR ...".
	ACLCheck(args []string) (allowed bool, errText string)
}

// Options configure an Interp; the zero value works.
type Options struct {
	// Poll is asked every PollEvery instructions of a running script, on its
	// goroutine. It stops the script with an error whose text is "ERR " and the
	// reason.
	Poll func() (stop bool, reason string)
	// PollEvery counts virtual machine instructions; 0 means 100,000, which is
	// about a millisecond.
	PollEvery int
	// MaxMemory is how many bytes the heap may grow during one script; 0 means
	// 512 MB. A quarter of it is the longest string that a script can make.
	MaxMemory int
	// CallDepth is how deep function calls may nest; 0 means 8,000.
	CallDepth int
}

// Interp runs scripts, one at a time. Its methods, but for Interrupt, must not
// be called concurrently. The Lua state is made at the first Run and lives on;
// a panic inside it makes the next Run start with a new one.
type Interp struct {
	watch     watch
	depth     int
	maxString int
	rand      drand48
	vm        *vm
}

// New returns an interpreter; it allocates no Lua state yet.
func New(o Options) *Interp {
	mem := o.MaxMemory
	if mem == 0 {
		mem = 512 << 20
	}
	in := &Interp{depth: o.CallDepth, maxString: mem / 4, rand: drand48Start}
	in.watch = watch{every: o.PollEvery, poll: o.Poll, limit: uint64(mem), closed: make(chan struct{})}
	if in.watch.every == 0 {
		in.watch.every = 100_000
	}
	if in.depth == 0 {
		in.depth = 8000
	}
	close(in.watch.closed)
	return in
}

// Interrupt makes the running script stop with the error "ERR " and reason. Any
// goroutine may call it; without a running script it has no effect.
func (in *Interp) Interrupt(reason string) { in.watch.request.Store(&reason) }

// Run runs a script and returns its reply. Errors, of the script or of its
// commands, come as KindErr.
func (in *Interp) Run(h Host, s *Script, keys, args []string) resp.Value {
	if in.vm == nil {
		in.vm = newVM(in)
	}
	reply, broken := in.vm.run(h, s, keys, args)
	if broken || in.watch.tripped {
		in.vm = nil
	}
	return reply
}

// vm is one Lua state with its libraries.
type vm struct {
	in   *Interp
	L    *lua.LState
	host Host
	resp int // RESP version of command replies, 2 or 3

	globals     *lua.LTable // the real table of globals
	env         *lua.LTable // its read-only face: _G
	globalsMeta *lua.LTable // what getmetatable(_G) shows
	stringLib   *lua.LTable
	null        *lua.LUserData // cjson.null
	refuseWrite *lua.LFunction
	onError     *lua.LFunction // error handler of a whole script
	onPcall     *lua.LFunction // error handler of pcall
	next        *lua.LFunction
	ipairsStep  *lua.LFunction

	locked  map[*lua.LTable]*lua.LTable // metatable of a read-only table -> real table
	helpers map[*lua.LFunction]struct{}
	native  nativeCoroutines
	chunks  map[string]string // short name of a loadstring chunk -> its name
	walks   []*walker         // unfinished walks of next, newest last
	failed  failure           // what handleError kept

	protected []protectedCall // running pcalls, innermost last
	depth     int             // Go functions on the stack that call Lua
	calling   lua.LValue      // what a Go function is about to call
	broken    bool            // a Go panic happened inside
	argv      []string        // arguments of the command being called
	buf       []byte          // scratch for building strings
}

var (
	errInterruptedValue = lua.LString(interruptText)
	errMemoryValue      = lua.LString("not enough memory")
	errDepthValue       = lua.LString("C stack overflow")
)

func init() {
	// The array part of a table is dense; a larger index goes to the hash part.
	lua.MaxArrayIndex = 1 << 22
}

// newVM makes a Lua state with exactly the server's globals.
func newVM(in *Interp) *vm {
	v := &vm{
		in:      in,
		locked:  map[*lua.LTable]*lua.LTable{},
		helpers: map[*lua.LFunction]struct{}{},
		chunks:  map[string]string{},
		L: lua.NewState(lua.Options{
			SkipOpenLibs:    true,
			CallStackSize:   in.depth,
			RegistrySize:    4096,
			RegistryMaxSize: 512 << 10,
		}),
	}
	v.L.SetContext(&in.watch)
	v.refuseWrite = v.helper(v.refuse)
	v.onError = v.helper(v.handleError)
	v.onPcall = v.helper(v.handlePcall)
	v.openGlobals()
	return v
}

// openGlobals fills the table of globals and makes its read-only face the
// environment of all functions.
func (v *vm) openGlobals() {
	v.globals = v.L.CreateTable(0, 64)
	v.env = v.lock(v.globals)
	meta := v.L.CreateTable(0, 1)
	meta.RawSetString("__index", v.L.NewFunction(v.unknownGlobal))
	v.globals.Metatable = meta
	v.globalsMeta = v.lock(meta)
	v.L.G.Global = v.env
	v.L.Env = v.env
	v.openBase()
	redis := v.redisLibrary()
	v.stringLib = v.stringLibrary()
	for _, e := range []struct {
		name string
		lib  *lua.LTable
	}{
		{"string", v.stringLib}, {"table", v.tableLibrary()}, {"math", v.mathLibrary()},
		{"os", v.osLibrary()}, {"coroutine", v.coroutineLibrary()}, {"cjson", v.cjsonLibrary()},
		{"cmsgpack", v.cmsgpackLibrary()}, {"bit", v.bitLibrary()}, {"struct", v.structLibrary()},
		{"redis", redis}, {"server", redis}, {"_G", v.env},
	} {
		v.globals.RawSetString(e.name, e.lib)
	}
	v.openStrings()
	for _, h := range frontHelpers {
		fn := h.fn
		if h.name == helperConcat {
			fn = v.concat
		}
		v.globals.RawSetString(h.name, v.helper(fn))
	}
}

// concat is "..", kept within the memory limit.
func (v *vm) concat(L *lua.LState) int {
	size := 0
	for i := L.GetTop(); i > 0; i-- {
		if s, ok := L.Get(i).(lua.LString); ok {
			size += len(s)
		}
	}
	v.grow(size)
	return luaConcat(L)
}

// run runs one script. broken tells that the state must not be used again.
func (v *vm) run(h Host, s *Script, keys, args []string) (reply resp.Value, broken bool) {
	defer func() {
		if r := recover(); r != nil {
			reply, broken = panicReply(r)
		}
	}()
	v.host, v.resp, v.broken, v.depth, v.calling = h, 2, false, 0, nil
	v.protected, v.walks, v.failed = v.protected[:0], v.walks[:0], failure{}
	v.in.watch.start()
	v.globals.RawSetString("KEYS", v.strings(keys))
	v.globals.RawSetString("ARGV", v.strings(args))
	v.L.Env = v.env
	err := v.L.PCall(v.push(s), 1, v.onError)
	if err != nil {
		reply = v.errorReply(s, err)
	} else {
		reply = v.reply(v.L.Get(-1))
		v.L.SetTop(0)
	}
	v.host = nil
	return reply, v.broken
}

// panicReply is the reply when the conversion of a script's result was stopped,
// or when this package has a fault.
func panicReply(r any) (reply resp.Value, broken bool) {
	if api, ok := r.(*lua.ApiError); ok {
		if stop, ok := api.Object.(raised); ok {
			return resp.Err("ERR " + stop.String()), false
		}
	}
	return resp.Err("ERR internal error in the script interpreter"), true
}

// push pushes the script's main function and its arguments, the hoisted
// globals, and returns their count.
func (v *vm) push(s *Script) int {
	v.L.Push(v.L.NewFunctionFromProto(s.proto))
	for _, name := range s.binds {
		v.L.Push(v.hoisted(name))
	}
	return len(s.binds)
}

// hoisted is the value of a hoisted global: "KEYS", "redis.call", "\x00cat".
func (v *vm) hoisted(name string) lua.LValue {
	lib, field, ok := strings.Cut(name, ".")
	if !ok {
		return v.globals.RawGetString(name)
	}
	if t, ok := v.globals.RawGetString(lib).(*lua.LTable); ok {
		return v.behind(t).RawGetString(field)
	}
	return lua.LNil
}

// strings makes a Lua array of strings.
func (v *vm) strings(list []string) *lua.LTable {
	t := v.L.CreateTable(len(list), 0)
	for _, s := range list {
		t.Append(lua.LString(s))
	}
	return t
}

// sortedKeys are the keys of m in order: what scripts see must not depend on
// Go's map order.
func sortedKeys[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
