package luabridge

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// openStrings gives strings their metatable: methods, and arithmetic by Lua's
// rules for text. (The virtual machine's own conversion takes "010" for octal.)
func (v *vm) openStrings() {
	meta := v.L.CreateTable(0, 8)
	meta.RawSetString("__index", v.behind(v.stringLib))
	for _, e := range []struct {
		event string
		op    func(a, b float64) float64
	}{
		{"__add", func(a, b float64) float64 { return a + b }},
		{"__sub", func(a, b float64) float64 { return a - b }},
		{"__mul", func(a, b float64) float64 { return a * b }},
		{"__div", func(a, b float64) float64 { return a / b }},
		{"__mod", func(a, b float64) float64 { return a - float64(math.Floor(a/b)*b) }},
		{"__pow", math.Pow},
		{"__unm", func(a, _ float64) float64 { return -a }},
	} {
		meta.RawSetString(e.event, v.helper(func(L *lua.LState) int { return v.textArith(L, e.event, e.op) }))
	}
	v.L.SetMetatable(lua.LString(""), meta)
}

// textArith is an arithmetic operation with a string among its operands.
func (v *vm) textArith(L *lua.LState, event string, op func(a, b float64) float64) int {
	left, right := L.Get(1), L.Get(2)
	if event == "__unm" {
		right = left
	}
	a, ok1 := toNumber(left)
	b, ok2 := toNumber(right)
	if ok1 && ok2 {
		return pushNumber(L, op(a, b))
	}
	fn := metamethod(L, event, left, right)
	if fn != lua.LNil {
		L.Push(callMeta(L, fn, left, right))
		return 1
	}
	f := v.nearestLua(L)
	inst, ok := f.instruction()
	switch {
	case !ok:
	case event == "__unm":
		raise(lua.LString(f.where() + f.arithText(L, argB(inst))))
	default:
		raise(lua.LString(f.where() + f.arithText(L, argB(inst), argC(inst))))
	}
	v.errorf(L, "attempt to perform arithmetic on a string value")
	return 0
}
