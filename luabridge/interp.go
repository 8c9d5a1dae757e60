package luabridge

import (
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
	// Replicate tells whether replicas are to get the changes that the script makes
	// from now on; at the beginning they are.
	Replicate(on bool)
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

// Interp runs scripts and the functions of libraries, one at a time. Its
// methods, but for Interrupt, must not be called concurrently. Scripts and
// functions have a Lua state each, made when it is first needed; it lives on,
// but a panic or a lack of memory inside it makes the next run start with a new one.
type Interp struct {
	watch     watch
	depth     int
	maxString int
	rand      drand48
	scripts   *vm
	functions *vm
	relayed   bool
	debugger  *Debugger // of the run under way, nil for most
	resp      int       // RESP version of command replies, 2 or 3
}

// Relayed reports whether the last reply is an error that a command gave the
// script: it was counted when the command failed.
func (in *Interp) Relayed() bool { return in.relayed }

// RESP returns the version of the protocol, 2 or 3, that the running script or
// function has chosen for the replies to its commands.
func (in *Interp) RESP() int { return in.resp }

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
	in.watch.noteCollections()
	return in
}

// Work is how much the running script has done, roughly: in instructions, and in units of
// work in the library that take as long. Each run begins anew.
func (in *Interp) Work() int64 { return in.watch.instructions() }

// Interrupt makes the running script stop with the error "ERR " and reason. Any
// goroutine may call it; without a running script it has no effect.
func (in *Interp) Interrupt(reason string) { in.watch.request.Store(&reason) }

// Run runs a script and returns its reply. Errors, of the script or of its
// commands, come as KindErr.
func (in *Interp) Run(h Host, s *Script, keys, args []string) resp.Value {
	if in.scripts == nil {
		in.scripts = newVM(in)
		in.scripts.openScripts()
	}
	reply := in.scripts.run(h, job{label: s.SHA, script: s, keys: keys, args: args})
	if in.scripts.broken {
		in.scripts = nil
	}
	return reply
}

// vm is one Lua state with its libraries.
type vm struct {
	in   *Interp
	L    *lua.LState
	host Host

	globals     *lua.LTable // the real table of globals
	env         *lua.LTable // its read-only face: _G
	hidden      *lua.LTable // functions that rewritten programs call
	chunkEnv    *lua.LTable // the environment of functions: env, or a face of what is visible now
	globalsMeta *lua.LTable // what getmetatable(_G) shows
	stringLib   *lua.LTable
	null        *lua.LUserData // cjson.null
	refuseWrite *lua.LFunction
	unknown     *lua.LFunction // __index of the tables of globals
	onError     *lua.LFunction // error handler of a whole script
	onPcall     *lua.LFunction // error handler of pcall
	next        *lua.LFunction
	ipairsStep  *lua.LFunction

	locked  map[*lua.LTable]*lua.LTable // metatable of a read-only table -> real table
	helpers map[*lua.LFunction]struct{}
	native  nativeCoroutines
	chunks  chunkNames
	walks   []*walker    // unfinished walks of next, newest last
	orders  [4]*keyOrder // the last ones that were needed
	failed  failure      // what handleError kept
	library libraryState // of the state that runs functions

	mains      [64]scriptMain
	keys, args sharedList
	texts      []lua.LString   // of the run under way, if nothing is left of it
	protected  []protectedCall // running pcalls, innermost last
	depth      int             // Go functions on the stack that call Lua
	calling    lua.LValue      // what a Go function is about to call
	broken     bool            // a Go panic happened inside
	argv       []string        // arguments of the command being called
	buf        []byte          // scratch for building strings
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

// newVM makes a Lua state with the globals that scripts and functions share.
func newVM(in *Interp) *vm {
	v := &vm{
		in:      in,
		locked:  map[*lua.LTable]*lua.LTable{},
		helpers: map[*lua.LFunction]struct{}{},
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

// openGlobals fills the table of globals and makes its read-only face.
func (v *vm) openGlobals() {
	v.globals = v.L.CreateTable(0, 64)
	v.env = v.lock(v.globals)
	v.unknown = v.L.NewFunction(v.unknownGlobal)
	v.openHelpers()
	v.globalsMeta = v.lock(v.refuseUnknown(v.globals))
	v.showHelpers(v.globals)
	v.openBase()
	v.stringLib = v.stringLibrary()
	for _, e := range []struct {
		name string
		lib  lua.LValue
	}{
		{"coroutine", v.coroutineLibrary()}, {"table", v.tableLibrary()}, {"string", v.stringLib},
		{"math", v.mathLibrary()}, {"debug", lua.LTrue}, {"os", v.osLibrary()}, {"cjson", v.cjsonLibrary()},
		{"struct", v.structLibrary()}, {"cmsgpack", v.cmsgpackLibrary()}, {"bit", v.bitLibrary()},
	} {
		v.globals.RawSetString(e.name, e.lib)
	}
	v.openStrings()
}

// showServer makes redis a global. The debug library, which the server itself uses until
// then, goes: only its place in the table is left.
func (v *vm) showServer(redis *lua.LTable) {
	v.globals.RawSetString("server", redis)
	v.globals.RawSetString("redis", redis)
	v.globals.RawSetString("debug", lua.LNil)
}

// openHelpers makes the functions that rewritten programs call. They stand
// behind the globals, where only the virtual machine sees them.
func (v *vm) openHelpers() {
	v.hidden = v.L.CreateTable(0, 2*len(frontHelpers))
	for _, h := range frontHelpers {
		fn := h.fn
		if h.name == helperConcat {
			fn = v.concat
		}
		v.hidden.RawSetString(h.name, v.helper(fn))
	}
	v.refuseUnknown(v.hidden)
}

// showHelpers puts them behind a table of globals.
func (v *vm) showHelpers(t *lua.LTable) {
	meta := v.L.CreateTable(0, 1)
	meta.RawSetString("__index", v.hidden)
	t.Metatable = meta
}

// openScripts makes the state one for scripts.
func (v *vm) openScripts() {
	if boxesWork {
		v.texts = make([]lua.LString, 0, keptTexts)
	}
	redis := v.redisLibrary(v.scriptFuncs())
	v.showServer(redis)
	v.globals.RawSetString("__redis__err__handler", v.L.NewFunction(v.errHandler))
	v.enterEnv(v.env)
}

// enterEnv sets the environment of the chunks that run from now on.
func (v *vm) enterEnv(env *lua.LTable) {
	v.chunkEnv = env
	v.L.G.Global, v.L.Env = env, env
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

// job is one run: of a script, or of a registered function.
type job struct {
	label      string // what the error reply calls it
	script     *Script
	fn         *lua.LFunction // nil for a script
	keys, args []string
}

// run runs one job. It sets broken when the state must not be used again.
func (v *vm) run(h Host, j job) (reply resp.Value) {
	defer func() {
		if r := recover(); r != nil {
			reply, v.broken = panicReply(r)
		}
	}()
	v.begin(h, j.script != nil && j.script.brief)
	err := v.L.PCall(v.push(&j), 1, v.onError)
	if err != nil {
		reply = v.errorReply(j.label, err)
	} else {
		reply = v.reply(v.L.Get(-1))
		v.L.SetTop(0)
	}
	v.end()
	return reply
}

// begin resets what one run leaves behind.
func (v *vm) begin(h Host, brief bool) {
	v.host, v.in.resp, v.broken, v.depth, v.calling = h, 2, false, 0, nil
	v.protected, v.walks, v.failed = v.protected[:0], v.walks[:0], failure{}
	v.L.Env = v.chunkEnv
	v.in.relayed = false
	v.in.watch.start()
	switch {
	case v.in.debugger != nil:
		v.L.SetContext(&stepper{watch: &v.in.watch, v: v, L: v.L})
	case brief:
		v.L.RemoveContext()
	default:
		v.L.SetContext(&v.in.watch)
	}
}

func (v *vm) end() {
	clear(v.texts)
	v.texts = v.texts[:0]
	v.host = nil
	clear(v.walks)
	v.orders = [len(v.orders)]*keyOrder{}
	if v.library.loaded == nil {
		v.chunks = chunkNames{} // of a script nothing is left, but functions may have kept a chunk
	}
	v.broken = v.broken || v.in.watch.exhausted
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

// push pushes what a job calls and its arguments, and returns their count: a
// script takes the hoisted globals, a function its keys and arguments.
func (v *vm) push(j *job) int {
	if j.fn != nil {
		v.L.Push(j.fn)
		v.L.Push(v.strings(j.keys))
		v.L.Push(v.strings(j.args))
		return 2
	}
	keys, args := &v.keys, &v.args
	if j.script.bare || j.script.shares {
		keys, args = &sharedList{}, &sharedList{}
	}
	v.fill(keys, j.keys)
	v.fill(args, j.args)
	if j.script.bare || v.in.debugger != nil {
		v.globals.RawSetString("KEYS", keys.t)
		v.globals.RawSetString("ARGV", args.t)
	}
	m := v.main(j.script)
	m.fn.Env = v.chunkEnv
	v.L.Push(m.fn)
	for i, name := range j.script.binds {
		switch name {
		case "KEYS":
			v.L.Push(keys.t)
		case "ARGV":
			v.L.Push(args.t)
		default:
			v.L.Push(m.binds[i])
		}
	}
	return len(m.binds)
}

// scriptMain is what a state keeps of a script: its main function, which has no
// variables of its own, and the values of the hoisted globals.
type scriptMain struct {
	script *Script
	fn     *lua.LFunction
	binds  []lua.LValue
}

// main finds or makes what is kept of a script.
func (v *vm) main(s *Script) *scriptMain {
	m := &v.mains[(hexValue(s.SHA[0])<<4|hexValue(s.SHA[1]))%len(v.mains)]
	if m.script == s {
		return m
	}
	*m = scriptMain{script: s, fn: v.L.NewFunctionFromProto(s.proto), binds: make([]lua.LValue, len(s.binds))}
	for i, name := range s.binds {
		m.binds[i] = v.hoisted(name)
	}
	return m
}

// pushMain pushes a main function and the values of its hoisted globals.
func (v *vm) pushMain(proto *lua.FunctionProto, binds []string) int {
	v.L.Push(v.L.NewFunctionFromProto(proto))
	for _, name := range binds {
		v.L.Push(v.hoisted(name))
	}
	return len(binds)
}

// hoisted is the value of a hoisted global: "KEYS", "redis.call", "\x00cat".
func (v *vm) hoisted(name string) lua.LValue {
	if name[0] == 0 {
		return v.hidden.RawGetString(name)
	}
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
	var s sharedList
	v.fill(&s, list)
	return s.t
}

// sharedList is a Lua array that scripts only read, so that run after run can use it.
type sharedList struct {
	t     *lua.LTable
	n     int           // elements
	boxes []lua.LString // what they refer to; of the last run nothing is left
}

// fill makes the array hold list.
func (v *vm) fill(s *sharedList, list []string) {
	if s.t == nil {
		s.t = v.L.CreateTable(len(list), 0)
	}
	s.boxStrings(list)
	for i := s.n; i > len(list); i-- {
		s.t.RawSetInt(i, lua.LNil)
	}
	s.n = len(list)
}
