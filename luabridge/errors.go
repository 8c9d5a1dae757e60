package luabridge

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// raised wraps every error value that this package raises, so that a handler
// can tell it from an error of the virtual machine, whose text needs
// translation. Scripts never see it.
type raised struct{ value lua.LValue }

func (r raised) String() string       { return r.value.String() }
func (r raised) Type() lua.LValueType { return r.value.Type() }

// raise stops the running function with an error value. It never returns.
// (LState.Error would close the variables of all running functions.)
func raise(value lua.LValue) {
	panic(&lua.ApiError{Type: lua.ApiErrorRun, Object: raised{value}, StackTrace: " "})
}

// errorf raises a message with the position of the function at level 1: the
// one that called the running Go function.
func (v *vm) errorf(L *lua.LState, format string, args ...any) {
	raise(lua.LString(v.where(L, 1) + fmt.Sprintf(format, args...)))
}

// runError raises a message with the position of the running function, as the
// virtual machine does: none when that is a Go function.
func (v *vm) runError(L *lua.LState, msg string) {
	raise(lua.LString(v.where(L, 0) + msg))
}

// argError raises "bad argument #n to 'name' (msg)", naming the running
// function as its caller spelled it.
func (v *vm) argError(L *lua.LState, n int, msg string) {
	f, _ := v.level(L, 0)
	kind, name := v.funcName(L, f)
	if kind == "method" {
		n-- // self is not counted
		if n == 0 {
			v.errorf(L, "calling '%s' on bad self (%s)", name, msg)
		}
	}
	if name == "" {
		name = "?"
	}
	v.errorf(L, "bad argument #%d to '%s' (%s)", n, name, msg)
}

// typeError raises the argument error for a value of the wrong type.
func (v *vm) typeError(L *lua.LState, n int, want string) {
	have := "no value"
	if n <= L.GetTop() {
		have = typeName(L.Get(n))
	}
	v.argError(L, n, want+" expected, got "+have)
}

// typeName is Lua's name of a value's type.
func typeName(value lua.LValue) string {
	if value.Type() == lua.LTChannel {
		return "userdata"
	}
	return value.Type().String()
}

// translate turns what a failed call raised into the value that Lua code sees:
// own errors are unwrapped, the virtual machine's texts become those of the
// reference implementation. It must run before the failed frames are unwound.
func (v *vm) translate(L *lua.LState, obj lua.LValue) lua.LValue {
	if r, ok := obj.(raised); ok {
		return r.value
	}
	text, ok := obj.(lua.LString)
	if !ok {
		return obj
	}
	f := v.nearestLua(L)
	msg := v.machineText(L, f, string(text))
	if msg == "" {
		v.broken = true // a Go panic: this state is not to be trusted any more
		return lua.LString("internal error: " + string(text))
	}
	pos := f.where()
	if !layout.ok {
		pos = v.where(L, 1)
	}
	return lua.LString(pos + msg)
}

// machineErrors lists how the virtual machine's messages begin.
var machineErrors = []struct {
	prefix string
	text   func(v *vm, L *lua.LState, f *frame, msg string) string
}{
	{"attempt to index a non-table object(", (*vm).indexText},
	{"attempt to call a non-function object", (*vm).callText},
	{"cannot perform ", (*vm).arithText},
	{"__unm undefined", (*vm).unaryText},
	{"__len undefined", (*vm).lenText},
	{"attempt to compare ", (*vm).compareText},
	{"stack overflow", func(*vm, *lua.LState, *frame, string) string { return "stack overflow" }},
	{"registry overflow", func(*vm, *lua.LState, *frame, string) string { return "stack overflow" }},
	{"too many recursions in ", func(_ *vm, _ *lua.LState, _ *frame, msg string) string {
		return "loop in " + strings.TrimPrefix(msg, "too many recursions in ")
	}},
	{"table index is ", sameText},
	{"for statement ", forText},
	{"can not yield from outside of a coroutine", func(*vm, *lua.LState, *frame, string) string {
		return "attempt to yield across metamethod/C-call boundary"
	}},
	{interruptText, sameText},
}

func sameText(_ *vm, _ *lua.LState, _ *frame, msg string) string { return msg }

// machineText translates one message of the virtual machine; "" when it is not
// one.
func (v *vm) machineText(L *lua.LState, f *frame, text string) string {
	for _, e := range machineErrors {
		if i := strings.Index(text, e.prefix); i >= 0 {
			return e.text(v, L, f, text[i:])
		}
	}
	return ""
}

func forText(_ *vm, _ *lua.LState, _ *frame, msg string) string {
	what := strings.Fields(msg)[2] // init, limit or step
	if what == "init" {
		what = "initial value"
	}
	return "'for' " + what + " must be a number"
}

// instruction is the one that f is executing.
func (f *frame) instruction() (uint32, bool) {
	if f == nil || f.Fn.IsG || f.Pc < 1 || f.Pc > len(f.Fn.Proto.Code) {
		return 0, false
	}
	return f.Fn.Proto.Code[f.Pc-1], true
}

// describe names the operand in register reg of f for an error about a value
// of the given type: "local 'x' (a nil value)", or "a nil value".
func (f *frame) describe(reg int, typ string) string {
	if f != nil && reg >= 0 && reg&constantBit == 0 {
		if kind, name := objectName(f.Fn.Proto, f.Pc-1, reg); kind != "" {
			return kind + " '" + name + "' (a " + typ + " value)"
		}
	}
	return "a " + typ + " value"
}

// operand is the value of a register-or-constant operand of f.
func (f *frame) operand(L *lua.LState, rk int) lua.LValue {
	if rk&constantBit != 0 {
		return f.Fn.Proto.Constants[rk&^constantBit]
	}
	if value, ok := register(L, f.LocalBase+rk); ok {
		return value
	}
	return lua.LNil
}

func (v *vm) indexText(_ *lua.LState, f *frame, msg string) string {
	rest := strings.TrimPrefix(msg, "attempt to index a non-table object(")
	typ, _, _ := strings.Cut(rest, ")")
	reg := -1
	if inst, ok := f.instruction(); ok {
		switch opcode(inst) {
		case lua.OP_GETTABLE, lua.OP_GETTABLEKS, lua.OP_SELF:
			reg = argB(inst)
		case lua.OP_SETTABLE, lua.OP_SETTABLEKS:
			reg = argA(inst)
		}
	}
	return "attempt to index " + f.describe(reg, typ)
}

func (v *vm) callText(L *lua.LState, f *frame, _ string) string {
	inst, ok := f.instruction()
	if ok {
		switch opcode(inst) {
		case lua.OP_CALL, lua.OP_TAILCALL:
			return "attempt to call " + f.describe(argA(inst), typeName(f.operand(L, argA(inst))))
		case lua.OP_TFORLOOP:
			return "attempt to call a " + typeName(f.operand(L, argA(inst))) + " value"
		}
	}
	return "attempt to call a " + v.calledType(L) + " value"
}

// calledType is the type of the value that a Go function just failed to call:
// the one that it pushed last but its arguments.
func (v *vm) calledType(L *lua.LState) string {
	if v.calling != nil {
		return typeName(v.calling)
	}
	return "nil"
}

func (v *vm) arithText(L *lua.LState, f *frame, msg string) string {
	if inst, ok := f.instruction(); ok {
		op := opcode(inst)
		if op >= lua.OP_ADD && op <= lua.OP_POW {
			return f.arithText(L, argB(inst), argC(inst))
		}
	}
	_, types, _ := strings.Cut(msg, " between ")
	left, right, _ := strings.Cut(types, " and ")
	if left == "number" || left == "string" {
		left = right
	}
	return "attempt to perform arithmetic on a " + left + " value"
}

// arithText blames the first operand that is not a number.
func (f *frame) arithText(L *lua.LState, rks ...int) string {
	for i, rk := range rks {
		value := f.operand(L, rk)
		if _, ok := toNumber(value); !ok || i == len(rks)-1 {
			return "attempt to perform arithmetic on " + f.describe(rk, typeName(value))
		}
	}
	return ""
}

func (v *vm) unaryText(L *lua.LState, f *frame, _ string) string {
	if inst, ok := f.instruction(); ok {
		return f.arithText(L, argB(inst))
	}
	return "attempt to perform arithmetic on a nil value"
}

func (v *vm) lenText(L *lua.LState, f *frame, _ string) string {
	if inst, ok := f.instruction(); ok {
		return "attempt to get length of " + f.describe(argB(inst), typeName(f.operand(L, argB(inst))))
	}
	return "attempt to get length of a nil value"
}

func (v *vm) compareText(_ *lua.LState, _ *frame, msg string) string {
	types := strings.TrimPrefix(msg, "attempt to compare ")
	left, right, _ := strings.Cut(types, " with ")
	return compareText(left, right)
}

// compareText is the error for an order comparison of two types without one.
func compareText(left, right string) string {
	if left == right {
		return "attempt to compare two " + left + " values"
	}
	return "attempt to compare " + left + " with " + right
}
