package luabridge

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Sizes of a coroutine's own stacks.
const (
	coroutineDepth     = 1000
	coroutineRegisters = 256
)

// coroutineLibrary wraps gopher-lua's functions: they create and switch threads,
// the rules and texts around them are Lua 5.1's.
func (v *vm) coroutineLibrary() *lua.LTable {
	v.L.Push(v.L.NewFunction(lua.OpenCoroutine))
	v.L.Call(0, 1)
	lib := v.L.Get(-1).(*lua.LTable)
	v.L.Pop(1)
	v.native.create = lib.RawGetString("create").(*lua.LFunction).GFunction
	v.native.resume = lib.RawGetString("resume").(*lua.LFunction).GFunction
	v.native.yield = lib.RawGetString("yield").(*lua.LFunction).GFunction
	return v.readOnlyLibrary(coroutineOrder, map[string]lua.LGFunction{
		"create": v.coCreate, "resume": v.coResume, "running": v.coRunning, "status": v.coStatus,
		"wrap": v.coWrap, "yield": v.coYield,
	}, nil)
}

// nativeCoroutines are gopher-lua's functions.
type nativeCoroutines struct{ create, resume, yield lua.LGFunction }

// newThread makes a coroutine of the Lua function at index 1.
func (v *vm) newThread(L *lua.LState) *lua.LState {
	fn, ok := L.Get(1).(*lua.LFunction)
	if !ok || fn.IsG {
		v.argError(L, 1, "Lua function expected")
	}
	v.grow(coroutineDepth * 100) // its stacks
	options, ctx := L.Options, L.RemoveContext()
	L.Options.CallStackSize, L.Options.RegistrySize = coroutineDepth, coroutineRegisters
	v.native.create(L)
	L.Options = options
	L.SetContext(ctx) // a new thread would get a child of it, which never ends
	th := L.Get(-1).(*lua.LState)
	L.Pop(1)
	th.SetContext(&threadContext{stepper{watch: &v.in.watch, v: v, L: th}, th})
	th.Env = L.Env
	return th
}

// threadContext is the context of a coroutine. gopher-lua sets a coroutine's
// panic function when it starts it; the first Done replaces that one, so that
// errors are translated while the frames that raised them are there.
type threadContext struct {
	stepper
	th *lua.LState
}

// Done is the watch's, and a debugger's.
func (c *threadContext) Done() <-chan struct{} {
	if c.th != nil {
		c.th.Panic = func(L *lua.LState) { raise(c.v.translate(L, L.Get(-1))) }
		c.th = nil
	}
	if c.v.in.debugger != nil {
		return c.stepper.Done()
	}
	return c.watch.Done()
}

func (v *vm) coCreate(L *lua.LState) int {
	L.Push(v.newThread(L))
	return 1
}

func (v *vm) coWrap(L *lua.LState) int {
	th := v.newThread(L)
	L.Push(L.NewFunction(func(L *lua.LState) int {
		L.Insert(th, 1)
		n, ok := v.resume(L, th)
		if ok {
			return n
		}
		value := L.Get(-1)
		if text, ok := toText(value); ok {
			value = lua.LString(v.where(L, 1) + text)
		}
		raise(value)
		return 0
	}))
	return 1
}

func (v *vm) checkThread(L *lua.LState) *lua.LState {
	th, ok := L.Get(1).(*lua.LState)
	if !ok {
		v.argError(L, 1, "coroutine expected")
	}
	return th
}

func (v *vm) coResume(L *lua.LState) int {
	n, ok := v.resume(L, v.checkThread(L))
	top := L.GetTop()
	L.Insert(lua.LBool(ok), top-n+1)
	return n + 1
}

// status is the state of a thread as seen from L.
func (v *vm) status(L, th *lua.LState) string {
	switch {
	case th == L:
		return "running"
	case th.Dead:
		return "dead"
	case th.Parent != nil || th == v.L:
		return "normal"
	}
	return "suspended"
}

// resume resumes a thread, which is at index 1, with the arguments above it. It
// leaves the results on top: what the thread yielded or returned, or one error
// value.
func (v *vm) resume(L, th *lua.LState) (n int, ok bool) {
	if status := v.status(L, th); status != "suspended" {
		return pushString(L, "cannot resume "+status+" coroutine"), false
	}
	v.enter()
	depth := v.depth
	n = v.native.resume(L)
	v.depth = depth - 1
	if v.in.watch.tripped {
		raise(errInterruptedValue)
	}
	if L.Get(-n) == lua.LTrue {
		return n - 1, true
	}
	value := L.Get(-1)
	switch x := value.(type) {
	case raised:
		value = x.value
	case lua.LString:
		value = v.threadError(L, string(x))
	}
	L.Pop(1)
	L.Push(value)
	return 1, false
}

// threadError translates the virtual machine's text for an error inside a
// thread, whose frames are gone.
func (v *vm) threadError(L *lua.LState, text string) lua.LValue {
	for _, e := range machineErrors {
		if i := strings.Index(text, e.prefix); i >= 0 {
			pos := text[:i]
			return lua.LString(pos + e.text(v, L, nil, text[i:]))
		}
	}
	v.broken = true
	return lua.LString("internal error: " + text)
}

func (v *vm) coStatus(L *lua.LState) int {
	return pushString(L, v.status(L, v.checkThread(L)))
}

func (v *vm) coRunning(L *lua.LState) int {
	if L == v.L {
		L.Push(lua.LNil)
	} else {
		L.Push(L)
	}
	return 1
}

// coYield suspends the running coroutine. Only Lua functions may stand between
// it and its resume.
func (v *vm) coYield(L *lua.LState) int {
	if L == v.L || !yieldable(currentFrame(L)) {
		v.runError(L, "attempt to yield across metamethod/C-call boundary")
	}
	return v.native.yield(L)
}

// yieldable reports whether every frame above the first was entered by a call
// instruction of a Lua function.
func yieldable(f *frame) bool {
	for ; f != nil && f.Parent != nil; f = f.Parent {
		inst, ok := f.Parent.instruction()
		if !ok {
			return false
		}
		if op := opcode(inst); op != lua.OP_CALL && op != lua.OP_TAILCALL {
			return false
		}
	}
	return true
}
