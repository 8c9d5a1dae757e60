package luabridge

import (
	"fmt"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// jsonConfig holds the settings of one cjson module. They last as long as the
// Lua state, as in the server.
type jsonConfig struct {
	sparseConvert bool
	sparseRatio   int
	sparseSafe    int
	encodeDepth   int
	decodeDepth   int
	encodeInvalid int // 0 refuse, 1 write, 2 write null
	decodeInvalid bool
	keepBuffer    bool
	encodePrec    int
}

// cjsonLibrary is the read-only module that scripts know as cjson.
func (v *vm) cjsonLibrary() *lua.LTable {
	v.null = &lua.LUserData{Metatable: lua.LNil}
	return v.lock(v.newJSON(v.L))
}

// newJSON makes a cjson module with settings of its own.
func (v *vm) newJSON(L *lua.LState) *lua.LTable {
	c := &jsonConfig{
		sparseRatio: 2, sparseSafe: 10, encodeDepth: 1000, decodeDepth: 1000,
		decodeInvalid: true, keepBuffer: true, encodePrec: 14,
	}
	funcs := map[string]lua.LGFunction{
		"encode": func(L *lua.LState) int { return v.jsonEncode(L, c) },
		"decode": func(L *lua.LState) int { return v.jsonDecode(L, c) },
		"new": func(L *lua.LState) int {
			L.Push(v.newJSON(L))
			return 1
		},
		"encode_sparse_array": func(L *lua.LState) int {
			v.jsonArgs(L, 3)
			v.boolSetting(L, &c.sparseConvert)
			v.intSetting(L, 2, &c.sparseRatio, 0, math.MaxInt32)
			v.intSetting(L, 3, &c.sparseSafe, 0, math.MaxInt32)
			return 3
		},
		"encode_max_depth":        v.jsonInt(&c.encodeDepth, 1, math.MaxInt32),
		"decode_max_depth":        v.jsonInt(&c.decodeDepth, 1, math.MaxInt32),
		"encode_number_precision": v.jsonInt(&c.encodePrec, 1, 14),
		"encode_keep_buffer":      v.jsonBool(&c.keepBuffer),
		"decode_invalid_numbers":  v.jsonBool(&c.decodeInvalid),
		"encode_invalid_numbers": func(L *lua.LState) int {
			v.jsonArgs(L, 1)
			return v.invalidSetting(L, &c.encodeInvalid)
		},
	}
	t := L.CreateTable(0, 16)
	v.setFields(t, cjsonOrder, funcs, map[string]lua.LValue{"null": v.null, "_NAME": lua.LString("cjson"), "_VERSION": lua.LString("2.1.0")})
	return t
}

// jsonArgs refuses more than n arguments and fills missing ones with nil.
func (v *vm) jsonArgs(L *lua.LState, n int) {
	if L.GetTop() > n {
		v.argError(L, n+1, "found too many arguments")
	}
	for L.GetTop() < n {
		L.Push(lua.LNil)
	}
}

func (v *vm) jsonInt(setting *int, lo, hi int) lua.LGFunction {
	return func(L *lua.LState) int {
		v.jsonArgs(L, 1)
		return v.intSetting(L, 1, setting, lo, hi)
	}
}

func (v *vm) jsonBool(setting *bool) lua.LGFunction {
	return func(L *lua.LState) int {
		v.jsonArgs(L, 1)
		return v.boolSetting(L, setting)
	}
}

// intSetting sets from argument n, unless it is nil, and pushes the value.
func (v *vm) intSetting(L *lua.LState, n int, setting *int, lo, hi int) int {
	if L.Get(n) != lua.LNil {
		value := v.checkInt32(L, n)
		if value < lo || value > hi {
			v.argError(L, 1, fmt.Sprintf("expected integer between %d and %d", lo, hi))
		}
		*setting = value
	}
	return pushInt(L, *setting)
}

// option is argument 1 as one of some words.
func (v *vm) option(L *lua.LState, words ...string) int {
	s := v.checkText(L, 1)
	for i, w := range words {
		if s == w {
			return i
		}
	}
	v.argError(L, 1, fmt.Sprintf("invalid option '%s'", s))
	return 0
}

func (v *vm) boolSetting(L *lua.LState, setting *bool) int {
	switch x := L.Get(1).(type) {
	case *lua.LNilType:
	case lua.LBool:
		*setting = bool(x)
	default:
		*setting = v.option(L, "off", "on") == 1
	}
	return pushBool(L, *setting)
}

func (v *vm) invalidSetting(L *lua.LState, setting *int) int {
	switch x := L.Get(1).(type) {
	case *lua.LNilType:
	case lua.LBool:
		*setting = 0
		if x {
			*setting = 1
		}
	default:
		*setting = v.option(L, "off", "on", "null")
	}
	if *setting == 2 {
		return pushString(L, "null")
	}
	return pushBool(L, *setting == 1)
}

// jsonWriter appends JSON text.
type jsonWriter struct {
	v   *vm
	L   *lua.LState
	cfg *jsonConfig
	out []byte
}

func (v *vm) jsonEncode(L *lua.LState, c *jsonConfig) int {
	if L.GetTop() != 1 {
		v.argError(L, 1, "expected 1 argument")
	}
	w := jsonWriter{v: v, L: L, cfg: c, out: v.buf[:0]}
	w.value(L.Get(1), 0)
	if v.buf = w.out[:0]; cap(v.buf) > 1<<20 {
		v.buf = nil
	}
	return pushString(L, string(w.out))
}

// fail raises the error for a value that JSON cannot hold.
func (w *jsonWriter) fail(value lua.LValue, reason string) {
	w.v.errorf(w.L, "Cannot serialise %s: %s", typeName(value), reason)
}

// maxJSONDepth is where the reference implementation's stack is full, whatever
// the setting says.
const maxJSONDepth = 3990

func (w *jsonWriter) value(value lua.LValue, depth int) {
	w.v.step(1)
	switch x := value.(type) {
	case lua.LString:
		w.text(string(x))
	case lua.LNumber:
		w.number(x)
	case lua.LBool:
		w.out = append(w.out, x.String()...)
	case *lua.LTable:
		if depth++; depth > w.cfg.encodeDepth || depth > maxJSONDepth {
			w.v.errorf(w.L, "Cannot serialise, excessive nesting (%d)", depth)
		}
		w.table(w.v.behind(x), depth)
	case *lua.LNilType:
		w.out = append(w.out, "null"...)
	default:
		if value != w.v.null {
			w.fail(value, "type not supported")
		}
		w.out = append(w.out, "null"...)
	}
	if len(w.out) > w.v.in.maxString {
		raise(errMemoryValue)
	}
}

const hexDigits = "0123456789abcdef"

// jsonEscapes are the bytes that a JSON string has a short escape for.
var jsonEscapes = [256]byte{
	'\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r', '"': '"', '/': '/', '\\': '\\',
}

func (w *jsonWriter) text(s string) {
	w.v.grow(len(s))
	out := append(w.out, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		esc := jsonEscapes[c]
		if esc == 0 && c >= 0x20 && c != 0x7f {
			continue
		}
		out = append(out, s[start:i]...)
		start = i + 1
		if esc != 0 {
			out = append(out, '\\', esc)
		} else {
			out = append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	w.out = append(append(out, s[start:]...), '"')
}

func (w *jsonWriter) number(n lua.LNumber) {
	f := float64(n)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		switch {
		case w.cfg.encodeInvalid == 0:
			w.fail(n, "must not be NaN or Inf")
		case w.cfg.encodeInvalid == 2:
			w.out = append(w.out, "null"...)
			return
		case math.IsNaN(f):
			w.out = append(w.out, "nan"...)
			return
		}
	}
	w.out = appendG(w.out, f, w.cfg.encodePrec)
}

func (w *jsonWriter) table(t *lua.LTable, depth int) {
	keys := walk(t)
	n, array := w.arrayLength(keys)
	if !array || n == 0 {
		w.object(keys, depth)
		return
	}
	w.out = append(w.out, '[')
	for i := 1; i <= n; i++ {
		if i > 1 {
			w.out = append(w.out, ',')
		}
		w.value(getInt(t, i), depth)
	}
	w.out = append(w.out, ']')
}

// arrayLength is the largest index of a table that has only positive whole
// numbers as keys; false when it has others or is too sparse.
func (w *jsonWriter) arrayLength(keys walker) (int, bool) {
	top, count := 0, 0 // top is a C int there, and what none holds becomes the lowest
	for key, _ := keys.next(); key != lua.LNil; key, _ = keys.next() {
		n, ok := key.(lua.LNumber)
		if !ok || n < 1 || n != lua.LNumber(math.Floor(float64(n))) {
			return 0, false
		}
		if n > lua.LNumber(top) {
			if top = math.MinInt32; n <= math.MaxInt32 {
				top = int(n)
			}
		}
		count++
	}
	w.v.step(count)
	c := w.cfg
	if c.sparseRatio > 0 && top > count*c.sparseRatio && top > c.sparseSafe {
		if !c.sparseConvert {
			w.fail(keys.t, "excessively sparse array")
		}
		return 0, false
	}
	return top, top >= 0
}

func (w *jsonWriter) object(keys walker, depth int) {
	w.out = append(w.out, '{')
	first := true
	for key, value := keys.next(); key != lua.LNil; key, value = keys.next() {
		if !first {
			w.out = append(w.out, ',')
		}
		first = false
		switch k := key.(type) {
		case lua.LNumber:
			w.out = append(w.out, '"')
			w.number(k)
			w.out = append(w.out, '"')
		case lua.LString:
			w.text(string(k))
		default:
			w.fail(key, "table key must be a number or string")
		}
		w.out = append(w.out, ':')
		w.value(value, depth)
	}
	w.out = append(w.out, '}')
}
