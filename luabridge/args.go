package luabridge

import (
	lua "github.com/yuin/gopher-lua"
)

// toNumber is a number, or the number that a string spells.
func toNumber(value lua.LValue) (float64, bool) {
	switch x := value.(type) {
	case lua.LNumber:
		return float64(x), true
	case lua.LString:
		return parseNumber(string(x))
	}
	return 0, false
}

// toText is a string, or a number as Lua prints it.
func toText(value lua.LValue) (string, bool) {
	switch x := value.(type) {
	case lua.LString:
		return string(x), true
	case lua.LNumber:
		return formatNumber14(float64(x)), true
	}
	return "", false
}

// checkText is argument n, which must be a string or a number.
func (v *vm) checkText(L *lua.LState, n int) string {
	value := L.Get(n)
	if s, ok := value.(lua.LString); ok {
		return string(s)
	}
	s, ok := toText(value)
	if !ok {
		v.typeError(L, n, "string")
	}
	return s
}

// optText is argument n, or def when it is absent or nil.
func (v *vm) optText(L *lua.LState, n int, def string) string {
	if L.Get(n) == lua.LNil {
		return def
	}
	return v.checkText(L, n)
}

// checkNumber is argument n, which must be a number or spell one.
func (v *vm) checkNumber(L *lua.LState, n int) float64 {
	value := L.Get(n)
	if f, ok := value.(lua.LNumber); ok {
		return float64(f)
	}
	f, ok := toNumber(value)
	if !ok {
		v.typeError(L, n, "number")
	}
	return f
}

// checkInt is argument n cut to an integer.
func (v *vm) checkInt(L *lua.LState, n int) int { return int(toInt(v.checkNumber(L, n))) }

// optInt is argument n cut to an integer, or def when it is absent or nil.
func (v *vm) optInt(L *lua.LState, n, def int) int {
	if L.Get(n) == lua.LNil {
		return def
	}
	return v.checkInt(L, n)
}

// checkInt32 and optInt32 are checkInt and optInt for a 32-bit argument.
func (v *vm) checkInt32(L *lua.LState, n int) int { return int(int32(v.checkInt(L, n))) }

func (v *vm) optInt32(L *lua.LState, n, def int) int { return int(int32(v.optInt(L, n, def))) }

// checkTable is argument n, which must be a table. A read-only library table
// gives the table behind it.
func (v *vm) checkTable(L *lua.LState, n int) *lua.LTable {
	t, ok := L.Get(n).(*lua.LTable)
	if !ok {
		v.typeError(L, n, "table")
	}
	return v.behind(t)
}

// checkWritable is argument n, which must be a table that may be changed.
func (v *vm) checkWritable(L *lua.LState, n int) *lua.LTable {
	t, ok := L.Get(n).(*lua.LTable)
	if !ok {
		v.typeError(L, n, "table")
	}
	if v.readOnly(t) {
		v.runError(L, readOnlyText)
	}
	return t
}

// checkFunction is argument n, which must be a function.
func (v *vm) checkFunction(L *lua.LState, n int) *lua.LFunction {
	f, ok := L.Get(n).(*lua.LFunction)
	if !ok {
		v.typeError(L, n, "function")
	}
	return f
}

// checkAny demands that argument n is there, nil or not.
func (v *vm) checkAny(L *lua.LState, n int) lua.LValue {
	if n > L.GetTop() {
		v.argError(L, n, "value expected")
	}
	return L.Get(n)
}

// small holds the boxed numbers 0 to 255, which cost no allocation.
var small = func() (t [256]lua.LValue) {
	for i := range t {
		t[i] = lua.LNumber(i)
	}
	return t
}()

// number boxes n.
func number(n int64) lua.LValue {
	if n >= 0 && n < int64(len(small)) {
		return small[n]
	}
	return lua.LNumber(n)
}

// pushString and its like push one result and return their count.
func pushString(L *lua.LState, s string) int { L.Push(lua.LString(s)); return 1 }

func pushNumber(L *lua.LState, f float64) int { L.Push(lua.LNumber(f)); return 1 }

func pushInt(L *lua.LState, n int) int { L.Push(number(int64(n))); return 1 }

func pushBool(L *lua.LState, b bool) int { L.Push(lua.LBool(b)); return 1 }
