package luabridge

import (
	"fmt"
	"runtime"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// openBase defines the functions that are globals.
func (v *vm) openBase() {
	funcs := map[string]lua.LGFunction{
		"assert": v.assert, "collectgarbage": v.collectGarbage, "error": v.error,
		"gcinfo": v.gcInfo, "getfenv": v.getFenv, "getmetatable": v.getMetatable,
		"ipairs": v.ipairs, "load": v.load, "loadstring": v.loadString,
		"newproxy": v.newProxy, "next": v.baseNext, "pairs": v.pairs, "pcall": v.pcall,
		"rawequal": v.rawEqual, "rawget": v.rawGet, "rawset": v.rawSet, "select": v.selectArgs,
		"setfenv": v.setFenv, "setmetatable": v.setMetatable, "tonumber": v.toNumberBase,
		"tostring": v.toStringBase, "type": v.typeBase, "unpack": v.unpack, "xpcall": v.xpcall,
	}
	v.setFields(v.globals, baseOrder, funcs, map[string]lua.LValue{"_G": v.env, "_VERSION": lua.LString("Lua 5.1")})
	v.next = v.globals.RawGetString("next").(*lua.LFunction)
	v.ipairsStep = v.L.NewFunction(v.ipairsNext)
}

func (v *vm) assert(L *lua.LState) int {
	if !lua.LVAsBool(v.checkAny(L, 1)) {
		v.errorf(L, "%s", v.optText(L, 2, "assertion failed!"))
	}
	return L.GetTop()
}

func (v *vm) error(L *lua.LState) int {
	level := v.optInt(L, 2, 1)
	value := L.Get(1)
	if text, ok := toText(value); ok && level > 0 {
		value = lua.LString(v.where(L, level) + text)
	}
	raise(value)
	return 0
}

// errHandler is the server's own error handler, which scripts can see: it makes
// an error table of any error value.
func (v *vm) errHandler(L *lua.LState) int {
	value := L.Get(1)
	t, ok := value.(*lua.LTable)
	if !ok {
		t = L.CreateTable(0, 3)
		t.RawSetString("err", lua.LString("ERR "+v.tostring(L, value)))
	} else if v.readOnly(t) {
		v.runError(L, readOnlyText)
	}
	if source, line := v.position(L, 1); source != "" {
		t.RawSetString("source", lua.LString(source))
		t.RawSetString("line", lua.LNumber(line))
	}
	L.Push(t)
	return 1
}

func (v *vm) collectGarbage(L *lua.LState) int {
	option := v.optText(L, 1, "collect")
	v.optInt(L, 2, 0)
	switch option {
	case "count":
		return pushNumber(L, float64(heapBytes())/1024)
	case "step":
		return pushBool(L, true)
	case "setpause", "setstepmul":
		return pushInt(L, 200)
	case "collect", "stop", "restart":
		return pushInt(L, 0)
	}
	v.argError(L, 1, fmt.Sprintf("invalid option '%s'", option))
	return 0
}

func (v *vm) gcInfo(L *lua.LState) int {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return pushInt(L, int(m.HeapAlloc>>10))
}

func (v *vm) getMetatable(L *lua.LState) int {
	meta := v.metatable(v.checkAny(L, 1))
	if t, ok := meta.(*lua.LTable); ok {
		if guard := v.behind(t).RawGetString("__metatable"); guard != lua.LNil {
			meta = guard
		}
	}
	L.Push(meta)
	return 1
}

func (v *vm) setMetatable(L *lua.LState) int {
	t, ok := L.Get(1).(*lua.LTable)
	if !ok {
		v.typeError(L, 1, "table")
	}
	meta, ok := L.Get(2).(*lua.LTable)
	if !ok && (L.Get(2) != lua.LNil || L.GetTop() < 2) {
		v.argError(L, 2, "nil or table expected")
	}
	if v.metaField(t, "__metatable") != lua.LNil {
		v.errorf(L, "cannot change a protected metatable")
	}
	if v.readOnly(t) {
		v.runError(L, readOnlyText)
	}
	if meta == nil {
		t.Metatable = lua.LNil
	} else {
		t.Metatable = meta
	}
	L.SetTop(1)
	return 1
}

func (v *vm) ipairs(L *lua.LState) int {
	if _, ok := L.Get(1).(*lua.LTable); !ok {
		v.typeError(L, 1, "table")
	}
	L.SetTop(1)
	L.Insert(v.ipairsStep, 1)
	L.Push(small[0])
	return 3
}

func (v *vm) ipairsNext(L *lua.LState) int {
	i := v.checkInt(L, 2) + 1
	value := v.checkTable(L, 1).RawGetInt(i)
	if value == lua.LNil {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(number(int64(i)))
	L.Push(value)
	return 2
}

func (v *vm) pairs(L *lua.LState) int {
	t, ok := L.Get(1).(*lua.LTable)
	if !ok {
		v.typeError(L, 1, "table")
	}
	if past := followed(t); past != nil {
		past.catchUp(t)
		past.findElements(t)
	}
	L.SetTop(0)
	L.Push(v.next)
	L.Push(t)
	L.Push(lua.LNil)
	return 3
}

func (v *vm) rawEqual(L *lua.LState) int {
	a, b := v.checkAny(L, 1), v.checkAny(L, 2)
	return pushBool(L, L.RawEqual(a, b))
}

func (v *vm) rawGet(L *lua.LState) int {
	t := v.checkTable(L, 1)
	L.Push(t.RawGet(v.checkAny(L, 2)))
	return 1
}

func (v *vm) rawSet(L *lua.LState) int {
	t, ok := L.Get(1).(*lua.LTable)
	if !ok {
		v.typeError(L, 1, "table")
	}
	key, value := v.checkAny(L, 2), v.checkAny(L, 3)
	if v.readOnly(t) {
		v.runError(L, readOnlyText)
	}
	v.setRaw(L, t, key, value)
	L.SetTop(1)
	return 1
}

// setRaw assigns without metamethods.
func (v *vm) setRaw(L *lua.LState, t *lua.LTable, key, value lua.LValue) {
	if n, ok := key.(lua.LNumber); ok && n != n {
		v.runError(L, "table index is NaN")
	}
	if key == lua.LNil {
		v.runError(L, "table index is nil")
	}
	if i := arrayIndex(key); i > 0 && value != lua.LNil {
		v.fillUp(t, i)
	}
	setNoted(t, key, value)
}

// fillUp accounts for the elements that t gets with its element i: all that are missing
// before it.
func (v *vm) fillUp(t *lua.LTable, i int) {
	if missing := i - t.Len(); missing > 1 && i < lua.MaxArrayIndex {
		v.step(missing)
	}
}

func (v *vm) selectArgs(L *lua.LState) int {
	n := L.GetTop()
	if s, ok := L.Get(1).(lua.LString); ok && strings.HasPrefix(string(s), "#") {
		return pushInt(L, n-1)
	}
	i := v.checkInt32(L, 1)
	if i < 0 {
		i = n + i
	} else if i > n {
		i = n
	}
	if i < 1 {
		v.argError(L, 1, "index out of range")
	}
	return n - i
}

func (v *vm) toNumberBase(L *lua.LState) int {
	base := 10
	if L.Get(2) != lua.LNil {
		base = v.checkInt32(L, 2)
	}
	if base == 10 {
		v.checkAny(L, 1)
		if f, ok := toNumber(L.Get(1)); ok {
			return pushNumber(L, f)
		}
		L.Push(lua.LNil)
		return 1
	}
	s := v.checkText(L, 1)
	if base < 2 || base > 36 {
		v.argError(L, 2, "base out of range")
	}
	if f, ok := parseBase(s, base); ok {
		return pushNumber(L, f)
	}
	L.Push(lua.LNil)
	return 1
}

// parseBase reads an unsigned integer as C's strtoul does: white space, a sign,
// "0x" in base 16, and the largest value for everything above it.
func parseBase(s string, base int) (float64, bool) {
	if i := strings.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	s = strings.Trim(s, " \t\n\v\f\r")
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if base == 16 && len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' {
		s = s[2:]
	}
	if s == "" {
		return 0, false
	}
	n, over := uint64(0), false
	for i := 0; i < len(s); i++ {
		d := digitValue(s[i])
		if d < 0 || d >= base {
			return 0, false
		}
		if n > (1<<64-1-uint64(d))/uint64(base) {
			over = true
		}
		n = n*uint64(base) + uint64(d)
	}
	if over {
		return float64(1<<64 - 1), true
	}
	if negative {
		n = -n
	}
	return float64(n), true
}

func digitValue(c byte) int {
	if isDigit(c) {
		return int(c - '0')
	}
	if c |= 0x20; c >= 'a' && c <= 'z' {
		return int(c-'a') + 10
	}
	return -1
}

func (v *vm) toStringBase(L *lua.LState) int {
	value := v.checkAny(L, 1)
	if meta := v.metaField(value, "__tostring"); meta != lua.LNil {
		L.Push(meta)
		L.Push(value)
		v.call(L, meta, 1, 1)
		return 1
	}
	return pushString(L, v.tostring(L, value))
}

// tostring is the text of a value without metamethods.
func (v *vm) tostring(_ *lua.LState, value lua.LValue) string {
	if s, ok := toText(value); ok {
		return s
	}
	if value == v.null {
		return "userdata: (nil)"
	}
	return value.String()
}

func (v *vm) typeBase(L *lua.LState) int {
	return pushString(L, typeName(v.checkAny(L, 1)))
}

// maxResults is how many values a function may push at once.
const maxResults = 8000

func (v *vm) unpack(L *lua.LState) int {
	t := v.checkTable(L, 1)
	i := v.optInt32(L, 2, 1)
	last := border(t)
	if L.Get(3) != lua.LNil {
		last = v.checkInt32(L, 3)
	}
	if i > last {
		return 0
	}
	n := last - i + 1
	if n+L.GetTop() > maxResults {
		v.errorf(L, "too many results to unpack")
	}
	for ; i <= last; i++ {
		L.Push(t.RawGetInt(i))
	}
	return n
}

func (v *vm) newProxy(L *lua.LState) int {
	L.SetTop(1)
	ud := &lua.LUserData{Metatable: lua.LNil}
	switch x := L.Get(1).(type) {
	case lua.LBool:
		if x {
			meta := L.CreateTable(0, 0)
			ud.Metatable = meta
			ud.Value = proxyMark{}
		}
	case *lua.LNilType:
	case *lua.LUserData:
		if _, ok := x.Value.(proxyMark); !ok {
			v.argError(L, 1, "boolean or proxy expected")
		}
		ud.Metatable, ud.Value = x.Metatable, x.Value
	default:
		v.argError(L, 1, "boolean or proxy expected")
	}
	L.Push(ud)
	return 1
}

// proxyMark marks userdata whose metatable newproxy may hand on.
type proxyMark struct{}
