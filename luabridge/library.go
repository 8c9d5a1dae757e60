package luabridge

import (
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/echomq/echomq-sim/resp"
)

// Library is one function library. Load completes it; from then on it is
// immutable and may be used by any Interp.
type Library struct {
	Name      string
	Source    string     // with the "#!lua name=..." line
	Functions []Function // in the order of their registration

	proto *lua.FunctionProto
	binds []string
}

// Function is one function that a library registered.
type Function struct {
	Name        string
	Description string
	Described   bool // Description was given
	Flags       ScriptFlags
}

// libraryName is the chunk name in positions: "user_function:1:".
const libraryName = "user_function"

const badLibraryName = "Library names can only contain letters, numbers, or underscores(_) and must be at least one character long"

// ParseLibrary reads the first line of a library's source. The text of an error
// is the complete error reply.
func ParseLibrary(source string) (*Library, error) {
	fail := func(text string) (*Library, error) { return nil, errors.New("ERR " + oneLine(text)) }
	if !strings.HasPrefix(source, "#!") {
		return fail("Missing library metadata")
	}
	end := strings.IndexAny(source, "\n\x00")
	if end < 0 || source[end] == 0 {
		return fail("Invalid library metadata")
	}
	words, ok := splitWords(source[:end])
	if !ok {
		return fail("Invalid library metadata")
	}
	name, named := "", false
	for _, w := range words[1:] {
		if len(w) < 5 || !strings.EqualFold(w[:5], "name=") {
			return fail("Invalid metadata value given: " + cString(w))
		}
		if named {
			return fail("Invalid metadata value, name argument was given multiple times")
		}
		name, named = w[5:], true
	}
	switch engine := words[0][2:]; {
	case !named:
		return fail("Library name was not given")
	case !isFunctionName(name):
		return fail(badLibraryName)
	case !strings.EqualFold(engine, "lua"):
		return fail("Engine '" + engine + "' not found")
	}
	return &Library{Name: name, Source: source}, nil
}

// isFunctionName reports whether s can name a function or a library.
func isFunctionName(s string) bool { return plainName(s) }

// compile compiles a library's code. Its line numbers count the first line.
func (lib *Library) compile() error {
	code := lib.Source[strings.IndexByte(lib.Source, '\n'):]
	var err error
	lib.proto, lib.binds, err = compile(code, libraryName, scriptCalls, hoistHelpers)
	if err != nil {
		return fmt.Errorf("ERR Error compiling function: %s", oneLine(err.Error()))
	}
	return nil
}

// Load compiles a library and runs its code, which registers its functions. The
// text of an error is the complete error reply; poll, if not nil, stands in for
// Options.Poll.
func (in *Interp) Load(h Host, lib *Library, poll func() (stop bool, reason string)) error {
	if err := lib.compile(); err != nil {
		return err
	}
	if poll != nil {
		usual := in.watch.poll
		in.watch.poll = poll
		defer func() { in.watch.poll = usual }()
	}
	v := in.functionState()
	err := v.loadLibrary(h, lib, true)
	in.keepFunctions()
	return err
}

// Call runs a function of a loaded library and returns its reply, as Run does.
// The library's own variables live from call to call until Forget.
func (in *Interp) Call(h Host, lib *Library, name string, keys, args []string) resp.Value {
	v := in.functionState()
	defer in.keepFunctions()
	if v.library.loaded[lib] == nil {
		if err := v.loadLibrary(h, lib, false); err != nil {
			return resp.Err(err.Error())
		}
	}
	fn := v.library.loaded[lib][name]
	if fn == nil {
		return resp.Err("ERR Function not found")
	}
	return v.run(h, job{label: name, fn: fn, keys: keys, args: args})
}

// Forget drops the variables of a library; Call would run its code anew.
func (in *Interp) Forget(lib *Library) {
	if in.functions != nil {
		delete(in.functions.library.loaded, lib)
	}
}

// ForgetAll drops the variables of all libraries.
func (in *Interp) ForgetAll() { in.functions = nil }

func (in *Interp) functionState() *vm {
	if in.functions == nil {
		in.functions = newVM(in)
		in.functions.openFunctions()
	}
	return in.functions
}

// keepFunctions drops a state that must not be used again.
func (in *Interp) keepFunctions() {
	if in.functions.broken {
		in.functions = nil
	}
}

// libraryState is what the state that runs functions has beyond one for scripts.
type libraryState struct {
	loaded  map[*Library]map[string]*lua.LFunction
	face    *lua.LTable // metatable of the environment; its __index is what is visible
	globals *lua.LTable // what the code of a loading library sees
	running *lua.LTable // what a function sees
	loading *loading    // the load under way, or nil
}

// loading is a library whose code runs now.
type loading struct {
	functions []Function
	closures  map[string]*lua.LFunction
}

// openFunctions makes the state one for functions. Their environment is an empty
// table; whether the globals of a loading library or those of a function stand
// behind it changes from run to run.
func (v *vm) openFunctions() {
	redis := v.redisLibrary(v.functionFuncs())
	v.showServer(redis)

	s := &v.library
	s.loaded = map[*Library]map[string]*lua.LFunction{}
	s.running = v.globals
	api := v.readOnlyLibrary(redisOrder, map[string]lua.LGFunction{"register_function": v.registerFunction, "log": v.redisLog}, versionConstants())
	v.refuseUnknown(v.behind(api))
	s.globals = v.L.CreateTable(0, 16)
	s.globals.RawSetString("server", api)
	s.globals.RawSetString("redis", api)
	v.showHelpers(s.globals)

	env := v.lock(v.L.CreateTable(0, 0))
	s.face = env.Metatable.(*lua.LTable)
	s.face.RawSetString("__index", s.running)
	v.enterEnv(env)
}

// loadLibrary runs a library's code. With first it completes lib, else it makes
// the closures of a library that was loaded before, in silence.
func (v *vm) loadLibrary(h Host, lib *Library, first bool) (err error) {
	s := &v.library
	defer func() {
		if r := recover(); r != nil {
			var reply resp.Value
			reply, v.broken = panicReply(r)
			err = errors.New(reply.Str)
		}
		s.face.RawSetString("__index", s.running)
		s.loading = nil
	}()
	if !first {
		h = quietHost{h}
	}
	v.begin(h, false)
	s.face.RawSetString("__index", s.globals)
	s.loading = &loading{closures: map[string]*lua.LFunction{}}
	failed := v.L.PCall(v.pushMain(lib.proto, lib.binds), 0, v.onError)
	v.end()
	if failed != nil {
		f := v.failed
		if !f.set {
			f = v.lateFailure(failed)
		}
		return errors.New("ERR Error registering functions: " + oneLine(f.msg))
	}
	if first {
		lib.Functions = s.loading.functions
	}
	if len(lib.Functions) == 0 {
		return errors.New("ERR No functions registered")
	}
	s.loaded[lib] = s.loading.closures
	return nil
}

// quietHost swallows log lines.
type quietHost struct{ Host }

func (quietHost) Log(int, string) {}

// registerFunction is redis.register_function.
func (v *vm) registerFunction(L *lua.LState) int {
	load := v.library.loading
	fail := func(text string) { raise(v.errTable("ERR " + text)) }
	if load == nil {
		fail("server.register_function can only be called on FUNCTION LOAD command")
	}
	var f Function
	var closure *lua.LFunction
	var bad string
	switch L.GetTop() {
	case 1:
		closure, bad = v.namedRegistration(&f, L.Get(1))
	case 2:
		closure, bad = positionalRegistration(&f, L.Get(1), L.Get(2))
	default:
		bad = "wrong number of arguments to server.register_function"
	}
	switch {
	case bad != "":
		fail(bad)
	case !isFunctionName(f.Name):
		fail(badLibraryName)
	case load.closures[f.Name] != nil:
		fail("Function already exists in the library")
	}
	f.Flags.HasShebang = true // its flags are declared, there is no compatibility mode
	load.functions = append(load.functions, f)
	load.closures[f.Name] = closure
	return 0
}

// positionalRegistration reads register_function(name, callback).
func positionalRegistration(f *Function, name, callback lua.LValue) (closure *lua.LFunction, bad string) {
	var ok bool
	if f.Name, ok = toText(name); !ok {
		return nil, "first argument to server.register_function must be a string"
	}
	if closure, ok = callback.(*lua.LFunction); !ok {
		return nil, "second argument to server.register_function must be a function"
	}
	return closure, ""
}

// namedRegistration reads register_function{function_name=, callback=, flags=, description=}.
func (v *vm) namedRegistration(f *Function, arg lua.LValue) (closure *lua.LFunction, bad string) {
	t, ok := arg.(*lua.LTable)
	if !ok {
		return nil, "calling server.register_function with a single argument is only applicable to Lua table " +
			"(representing named arguments)."
	}
	named := false
	fields(v.behind(t), func(key, value lua.LValue) {
		if bad == "" {
			bad = v.namedArgument(f, &closure, &named, key, value)
		}
	})
	switch {
	case bad != "":
		return nil, bad
	case !named:
		return nil, "server.register_function must get a function name argument"
	case closure == nil:
		return nil, "server.register_function must get a callback argument"
	}
	return closure, ""
}

func (v *vm) namedArgument(f *Function, closure **lua.LFunction, named *bool, key, value lua.LValue) (bad string) {
	name, ok := toText(key)
	if !ok {
		return "named argument key given to server.register_function is not a string"
	}
	switch strings.ToLower(name) {
	case "function_name":
		if f.Name, *named = toText(value); !*named {
			return "function_name argument given to server.register_function must be a string"
		}
	case "description":
		if f.Description, f.Described = toText(value); !f.Described {
			return "description argument given to server.register_function must be a string"
		}
	case "callback":
		if *closure, ok = value.(*lua.LFunction); !ok {
			return "callback argument given to server.register_function must be a function"
		}
	case "flags":
		t, ok := value.(*lua.LTable)
		if !ok {
			return "flags argument to server.register_function must be a table representing function flags"
		}
		if !f.Flags.setAll(v.behind(t)) {
			return "unknown flag given"
		}
	default:
		return "unknown argument given to server.register_function"
	}
	return ""
}

// setAll sets the flags named in a Lua array, in any case of letters.
func (f *ScriptFlags) setAll(t *lua.LTable) bool {
	*f = ScriptFlags{}
	for i := 1; ; i++ {
		value := t.RawGetInt(i)
		if value == lua.LNil {
			return true
		}
		name, _ := toText(value)
		flag := f.byName(strings.ToLower(name))
		if flag == nil {
			return false
		}
		*flag = true
	}
}
