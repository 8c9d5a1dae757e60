package luabridge

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

const (
	maxCaptures     = 32
	maxPatternDepth = 200_000
	capUnfinished   = -1
	capPosition     = -2
)

// capture is one capture of a pattern: len is its length or one of the two
// constants.
type capture struct{ start, len int }

// matcher matches one Lua 5.1 pattern against one string, byte by byte.
type matcher struct {
	v       *vm
	L       *lua.LState
	src     string
	pat     string // ends at the first zero byte of what the script gave
	level   int
	depth   int
	capture [maxCaptures]capture
}

func newMatcher(v *vm, L *lua.LState, src, pat string) *matcher {
	return &matcher{v: v, L: L, src: src, pat: cString(pat)}
}

// pc is the pattern's byte at p, 0 behind its end.
func (m *matcher) pc(p int) byte {
	if p < len(m.pat) {
		return m.pat[p]
	}
	return 0
}

// sc is the string's byte at s, 0 behind its end.
func (m *matcher) sc(s int) byte {
	if s >= 0 && s < len(m.src) {
		return m.src[s]
	}
	return 0
}

// reset prepares for another attempt and pays for it.
func (m *matcher) reset() {
	m.level, m.depth = 0, 0
	m.v.step(1)
}

// match matches the pattern from p on at s and returns the end of the match, or
// -1.
func (m *matcher) match(s, p int) int {
	if m.depth++; m.depth > maxPatternDepth {
		m.v.errorf(m.L, "pattern too complex")
	}
	defer func() { m.depth-- }()
	for p < len(m.pat) {
		m.v.step(1)
		switch c := m.pat[p]; {
		case c == '(':
			return m.openCapture(s, p)
		case c == ')':
			return m.closeCapture(s, p+1)
		case c == '%' && m.pc(p+1) == 'b':
			if s = m.balance(s, p+2); s < 0 {
				return -1
			}
			p += 4
			continue
		case c == '%' && m.pc(p+1) == 'f':
			end, ok := m.frontier(s, p+2)
			if !ok {
				return -1
			}
			p = end
			continue
		case c == '%' && isDigit(m.pc(p+1)):
			if s = m.backReference(s, m.pat[p+1]); s < 0 {
				return -1
			}
			p += 2
			continue
		case c == '$' && p+1 == len(m.pat):
			if s == len(m.src) {
				return s
			}
			return -1
		}
		end := m.classEnd(p)
		switch m.pc(end) {
		case '?':
			if s < len(m.src) && m.single(s, p, end) {
				if r := m.match(s+1, end+1); r >= 0 {
					return r
				}
			}
			p = end + 1
		case '*':
			return m.maxExpand(s, p, end, 0)
		case '+':
			return m.maxExpand(s, p, end, 1)
		case '-':
			return m.minExpand(s, p, end)
		default:
			if s >= len(m.src) || !m.single(s, p, end) {
				return -1
			}
			s, p = s+1, end
		}
	}
	return s
}

// classEnd is the end of the single-character class at p.
func (m *matcher) classEnd(p int) int {
	c := m.pat[p]
	p++
	switch c {
	case '%':
		if p >= len(m.pat) {
			m.v.errorf(m.L, "malformed pattern (ends with '%%')")
		}
		return p + 1
	case '[':
		if m.pc(p) == '^' {
			p++
		}
		for first := true; first || m.pc(p) != ']'; first = false {
			if p >= len(m.pat) {
				m.v.errorf(m.L, "malformed pattern (missing ']')")
			}
			p++
			if m.pat[p-1] == '%' && p < len(m.pat) {
				p++ // an escaped bracket
			}
		}
		return p + 1
	}
	return p
}

// single matches the byte at s with the class between p and end.
func (m *matcher) single(s, p, end int) bool {
	c := m.src[s]
	switch m.pat[p] {
	case '.':
		return true
	case '%':
		return classMatch(c, m.pat[p+1])
	case '[':
		return m.setMatch(c, p, end-1)
	}
	return m.pat[p] == c
}

// setMatch matches c with the set from p ('[') to end (its ']').
func (m *matcher) setMatch(c byte, p, end int) bool {
	want := true
	p++
	if m.pat[p] == '^' {
		want = false
		p++
	}
	for ; p < end; p++ {
		switch {
		case m.pat[p] == '%':
			p++
			if classMatch(c, m.pc(p)) {
				return want
			}
		case m.pc(p+1) == '-' && p+2 < end:
			if m.pat[p] <= c && c <= m.pat[p+2] {
				return want
			}
			p += 2
		case m.pat[p] == c:
			return want
		}
	}
	return !want
}

// classMatch matches c with a class letter, or with the escaped byte itself.
func classMatch(c, class byte) bool {
	var in bool
	switch class | 0x20 {
	case 'a':
		in = isAlpha(c)
	case 'c':
		in = c < 32 || c == 127
	case 'd':
		in = isDigit(c)
	case 'l':
		in = c >= 'a' && c <= 'z'
	case 'p':
		in = c > 32 && c < 127 && !isAlnum(c)
	case 's':
		in = isSpace(c)
	case 'u':
		in = c >= 'A' && c <= 'Z'
	case 'w':
		in = isAlnum(c)
	case 'x':
		in = hexValue(c) >= 0
	case 'z':
		in = c == 0
	default:
		return class == c
	}
	if !isAlpha(class) {
		return class == c
	}
	return in == (class >= 'a')
}

func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// maxExpand matches at least least times, as often as possible.
func (m *matcher) maxExpand(s, p, end, least int) int {
	n := 0
	for s+n < len(m.src) && m.single(s+n, p, end) {
		n++
	}
	m.v.step(n)
	for ; n >= least; n-- {
		if r := m.match(s+n, end+1); r >= 0 {
			return r
		}
	}
	return -1
}

// minExpand matches as seldom as possible.
func (m *matcher) minExpand(s, p, end int) int {
	for {
		if r := m.match(s, end+1); r >= 0 {
			return r
		}
		if s >= len(m.src) || !m.single(s, p, end) {
			return -1
		}
		s++
	}
}

func (m *matcher) openCapture(s, p int) int {
	if m.level >= maxCaptures {
		m.v.errorf(m.L, "too many captures")
	}
	length := capUnfinished
	p++
	if m.pc(p) == ')' {
		length = capPosition
		p++
	}
	m.capture[m.level] = capture{s, length}
	m.level++
	r := m.match(s, p)
	if r < 0 {
		m.level--
	}
	return r
}

func (m *matcher) closeCapture(s, p int) int {
	i := m.level - 1
	for ; i >= 0 && m.capture[i].len != capUnfinished; i-- {
	}
	if i < 0 {
		m.v.errorf(m.L, "invalid pattern capture")
	}
	m.capture[i].len = s - m.capture[i].start
	r := m.match(s, p)
	if r < 0 {
		m.capture[i].len = capUnfinished
	}
	return r
}

// balance matches %bxy, whose two bytes are at p, and returns the end or -1.
func (m *matcher) balance(s, p int) int {
	if p+1 >= len(m.pat) {
		m.v.errorf(m.L, "unbalanced pattern")
	}
	if s >= len(m.src) || m.src[s] != m.pat[p] {
		return -1
	}
	begin, end, open := m.pat[p], m.pat[p+1], 1
	for i := s + 1; i < len(m.src); i++ {
		switch m.src[i] {
		case end:
			if open--; open == 0 {
				return i + 1
			}
		case begin:
			open++
		}
	}
	return -1
}

// frontier matches %f with the set at p and returns where the pattern goes on.
func (m *matcher) frontier(s, p int) (end int, ok bool) {
	if m.pc(p) != '[' {
		m.v.errorf(m.L, "missing '[' after '%%f' in pattern")
	}
	end = m.classEnd(p)
	ok = !m.setMatch(m.sc(s-1), p, end-1) && m.setMatch(m.sc(s), p, end-1)
	return end, ok
}

func (m *matcher) backReference(s int, digit byte) int {
	i := int(digit) - '1'
	if i < 0 || i >= m.level || m.capture[i].len == capUnfinished {
		m.v.errorf(m.L, "invalid capture index")
	}
	text := m.src[m.capture[i].start:]
	if n := m.capture[i].len; n >= 0 && strings.HasPrefix(m.src[s:], text[:n]) {
		return s + n
	}
	return -1
}

// value is capture i, or the whole match when the pattern has no captures.
func (m *matcher) value(i, start, end int) lua.LValue {
	if i >= m.level {
		if i > 0 {
			m.v.errorf(m.L, "invalid capture index")
		}
		return lua.LString(m.src[start:end])
	}
	c := m.capture[i]
	switch c.len {
	case capUnfinished:
		m.v.errorf(m.L, "unfinished capture")
	case capPosition:
		return number(int64(c.start + 1))
	}
	return lua.LString(m.src[c.start : c.start+c.len])
}

// push pushes all captures; with whole set, the whole match when there is none.
func (m *matcher) push(start, end int, whole bool) int {
	n := m.level
	if n == 0 && whole {
		n = 1
	}
	for i := range n {
		m.L.Push(m.value(i, start, end))
	}
	return n
}
