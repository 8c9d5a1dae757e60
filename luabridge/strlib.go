package luabridge

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

func (v *vm) stringLibrary() *lua.LTable {
	return v.readOnlyLibrary(stringOrder, map[string]lua.LGFunction{
		"byte": v.strByte, "char": v.strChar, "dump": v.strDump, "find": v.strFind,
		"format": v.strFormat, "gfind": v.strGmatch, "gmatch": v.strGmatch, "gsub": v.strGsub,
		"len": v.strLen, "lower": v.strLower, "match": v.strMatch, "rep": v.strRep,
		"reverse": v.strReverse, "sub": v.strSub, "upper": v.strUpper,
	}, nil)
}

// relative turns a position that may count from the end into one from the start.
func relative(pos, n int) int {
	if pos < 0 {
		return max(pos+n+1, 0)
	}
	return pos
}

func (v *vm) strSub(L *lua.LState) int {
	s := v.checkText(L, 1)
	from := max(relative(v.checkInt(L, 2), len(s)), 1)
	to := min(relative(v.optInt(L, 3, -1), len(s)), len(s))
	if from > to {
		return pushString(L, "")
	}
	L.Push(v.text(s[from-1 : to]))
	return 1
}

func (v *vm) strByte(L *lua.LState) int {
	s := v.checkText(L, 1)
	from := relative(v.optInt(L, 2, 1), len(s))
	to := min(relative(v.optInt(L, 3, from), len(s)), len(s))
	from = max(from, 1)
	n := max(to-from+1, 0)
	if n+L.GetTop() > maxResults {
		v.errorf(L, "stack overflow (string slice too long)")
	}
	for i := range n {
		L.Push(small[s[from-1+i]])
	}
	return n
}

func (v *vm) strChar(L *lua.LState) int {
	n := L.GetTop()
	b := make([]byte, n)
	for i := range b {
		c := v.checkInt32(L, i+1)
		if c != c&0xff {
			v.argError(L, i+1, "invalid value")
		}
		b[i] = byte(c)
	}
	return pushString(L, string(b))
}

// dumpHeader is how the server's binary chunks begin.
const dumpHeader = "\x1bLuaQ\x00\x01\x04\x08\x04\x08\x00"

// strDump is string.dump: only the header, as there is no such code here and
// loadstring takes no binary chunks anyway.
func (v *vm) strDump(L *lua.LState) int {
	if v.checkFunction(L, 1).IsG {
		v.errorf(L, "unable to dump given function")
	}
	return pushString(L, dumpHeader)
}

func (v *vm) strLen(L *lua.LState) int { return pushInt(L, len(v.checkText(L, 1))) }

// mapBytes pushes a string with its ASCII letters of one case changed.
func (v *vm) mapBytes(L *lua.LState, from byte) int {
	b := []byte(v.checkText(L, 1))
	v.grow(len(b))
	for i, c := range b {
		if c >= from && c < from+26 {
			b[i] = c ^ 0x20
		}
	}
	return pushString(L, string(b))
}

func (v *vm) strLower(L *lua.LState) int { return v.mapBytes(L, 'A') }

func (v *vm) strUpper(L *lua.LState) int { return v.mapBytes(L, 'a') }

func (v *vm) strRep(L *lua.LState) int {
	s := v.checkText(L, 1)
	n := v.checkInt32(L, 2)
	if n <= 0 || s == "" {
		return pushString(L, "")
	}
	if len(s) > v.in.maxString/n {
		raise(errMemoryValue)
	}
	v.grow(len(s) * n)
	return pushString(L, strings.Repeat(s, n))
}

func (v *vm) strReverse(L *lua.LState) int {
	s := v.checkText(L, 1)
	v.grow(len(s))
	b := make([]byte, len(s))
	for i := range b {
		b[i] = s[len(s)-1-i]
	}
	return pushString(L, string(b))
}

// specials are the bytes that make a pattern more than a plain string.
const specials = "^$*+?.([%-"

func (v *vm) strFind(L *lua.LState) int { return v.findOrMatch(L, true) }

func (v *vm) strMatch(L *lua.LState) int { return v.findOrMatch(L, false) }

func (v *vm) findOrMatch(L *lua.LState, find bool) int {
	s, p := v.checkText(L, 1), v.checkText(L, 2)
	from := min(max(relative(v.optInt(L, 3, 1), len(s))-1, 0), len(s))
	if find && (lua.LVAsBool(L.Get(4)) || !strings.ContainsAny(cString(p), specials)) {
		return v.findPlain(L, s, p, from)
	}
	m := newMatcher(v, L, s, p)
	at := 0
	if m.pc(0) == '^' {
		at = 1
	}
	for ; from <= len(s); from++ {
		m.reset()
		if end := m.match(from, at); end >= 0 {
			if !find {
				return m.push(from, end, true)
			}
			pushInt(L, from+1)
			pushInt(L, end)
			return 2 + m.push(from, end, false)
		}
		if at == 1 {
			break
		}
	}
	L.Push(lua.LNil)
	return 1
}

func (v *vm) findPlain(L *lua.LState, s, p string, from int) int {
	v.step(len(s) >> 6)
	i := strings.Index(s[from:], p)
	if i < 0 {
		L.Push(lua.LNil)
		return 1
	}
	pushInt(L, from+i+1)
	return 1 + pushInt(L, from+i+len(p))
}

func (v *vm) strGmatch(L *lua.LState) int {
	s, p := v.checkText(L, 1), v.checkText(L, 2)
	pos := 0
	L.Push(L.NewFunction(func(L *lua.LState) int {
		m := newMatcher(v, L, s, p)
		for ; pos <= len(s); pos++ {
			m.reset()
			end := m.match(pos, 0)
			if end < 0 {
				continue
			}
			start := pos
			pos = end
			if end == start {
				pos++
			}
			return m.push(start, end, true)
		}
		return 0
	}))
	return 1
}

func (v *vm) strGsub(L *lua.LState) int {
	s, p := v.checkText(L, 1), v.checkText(L, 2)
	with := L.Get(3)
	switch with.Type() {
	case lua.LTNumber, lua.LTString, lua.LTFunction, lua.LTTable:
	default:
		v.argError(L, 3, "string/function/table expected")
	}
	limit := v.optInt32(L, 4, len(s)+1)
	m := newMatcher(v, L, s, p)
	at := 0
	if m.pc(0) == '^' {
		at = 1
	}
	var out []byte
	pos, n := 0, 0
	for n < limit {
		m.reset()
		end := m.match(pos, at)
		if end >= 0 {
			n++
			out = v.appendReplacement(L, out, m, with, pos, end)
			v.grow(len(out))
		}
		switch {
		case end > pos:
			pos = end
		case pos < len(s):
			out = append(out, s[pos])
			pos++
		default:
			pos = len(s) + 1
		}
		if pos > len(s) || at == 1 {
			break
		}
	}
	if pos < len(s) {
		out = append(out, s[pos:]...)
	}
	pushString(L, string(out))
	return 1 + pushInt(L, n)
}

// appendReplacement appends what gsub puts in the place of one match.
func (v *vm) appendReplacement(L *lua.LState, out []byte, m *matcher, with lua.LValue, start, end int) []byte {
	var value lua.LValue
	switch x := with.(type) {
	case *lua.LFunction:
		L.Push(x)
		n := m.push(start, end, true)
		v.call(L, x, n, 1)
		value = L.Get(-1)
		L.Pop(1)
	case *lua.LTable:
		value = L.GetTable(x, m.value(0, start, end))
	default:
		text, _ := toText(with)
		return m.appendTemplate(out, text, start, end)
	}
	if !lua.LVAsBool(value) {
		return append(out, m.src[start:end]...)
	}
	text, ok := toText(value)
	if !ok {
		v.errorf(L, "invalid replacement value (a %s)", typeName(value))
	}
	return append(out, text...)
}

// appendTemplate appends a replacement string with its captures filled in.
func (m *matcher) appendTemplate(out []byte, text string, start, end int) []byte {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '%' {
			out = append(out, c)
			continue
		}
		i++
		switch {
		case i >= len(text):
			out = append(out, 0)
		case !isDigit(text[i]):
			out = append(out, text[i])
		case text[i] == '0':
			out = append(out, m.src[start:end]...)
		default:
			s, _ := toText(m.value(int(text[i]-'1'), start, end))
			out = append(out, s...)
		}
	}
	return out
}
