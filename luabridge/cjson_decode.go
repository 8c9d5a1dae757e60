package luabridge

import (
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
)

// jsonToken is a kind of JSON token; its text is what error messages call it.
type jsonToken string

const (
	jsonObjBegin jsonToken = "T_OBJ_BEGIN"
	jsonObjEnd   jsonToken = "T_OBJ_END"
	jsonArrBegin jsonToken = "T_ARR_BEGIN"
	jsonArrEnd   jsonToken = "T_ARR_END"
	jsonString   jsonToken = "T_STRING"
	jsonNumber   jsonToken = "T_NUMBER"
	jsonBoolean  jsonToken = "T_BOOLEAN"
	jsonNull     jsonToken = "T_NULL"
	jsonColon    jsonToken = "T_COLON"
	jsonComma    jsonToken = "T_COMMA"
	jsonEnd      jsonToken = "T_END"
)

// jsonReader reads JSON text. A zero byte ends it.
type jsonReader struct {
	v     *vm
	L     *lua.LState
	cfg   *jsonConfig
	in    string
	pos   int
	depth int

	token jsonToken // of the current token; an error message for a bad one
	at    int       // where the current token begins
	text  string    // value of a string token
	num   float64
	truth bool
}

func (v *vm) jsonDecode(L *lua.LState, c *jsonConfig) int {
	if L.GetTop() != 1 {
		v.argError(L, 1, "expected 1 argument")
	}
	s := v.checkText(L, 1)
	if len(s) >= 2 && (s[0] == 0 || s[1] == 0) {
		v.errorf(L, "JSON parser does not support UTF-16 or UTF-32")
	}
	v.grow(len(s))
	r := jsonReader{v: v, L: L, cfg: c, in: cString(s)}
	r.next()
	value := r.value(0)
	r.next()
	if r.token != jsonEnd {
		r.fail("the end")
	}
	L.Push(value)
	return 1
}

func (r *jsonReader) fail(want string) {
	r.v.errorf(r.L, "Expected %s but found %s at character %d", want, string(r.token), r.at+1)
}

// bad makes the current token an error at the reader's position.
func (r *jsonReader) bad(what string) { r.token, r.at = jsonToken(what), r.pos }

// peek is the byte n after the position, 0 behind the end.
func (r *jsonReader) peek(n int) byte {
	if r.pos+n < len(r.in) {
		return r.in[r.pos+n]
	}
	return 0
}

// punctuation are the tokens of one byte.
var punctuation = map[byte]jsonToken{
	'{': jsonObjBegin, '}': jsonObjEnd, '[': jsonArrBegin, ']': jsonArrEnd, ':': jsonColon, ',': jsonComma,
}

// next reads the next token.
func (r *jsonReader) next() {
	r.v.step(1)
	for c := r.peek(0); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = r.peek(0) {
		r.pos++
	}
	r.at = r.pos
	c := r.peek(0)
	rest := r.in[r.pos:]
	if t, ok := punctuation[c]; ok {
		r.token = t
		r.pos++
		return
	}
	switch {
	case rest == "":
		r.token = jsonEnd
	case c == '"':
		r.string()
	case c == '-' || isDigit(c):
		if !r.cfg.decodeInvalid && looseNumber(rest) {
			r.bad("invalid number")
			return
		}
		r.number()
	case strings.HasPrefix(rest, "true"):
		r.token, r.truth = jsonBoolean, true
		r.pos += 4
	case strings.HasPrefix(rest, "false"):
		r.token, r.truth = jsonBoolean, false
		r.pos += 5
	case strings.HasPrefix(rest, "null"):
		r.token = jsonNull
		r.pos += 4
	case strings.IndexByte("iInN+", c) >= 0 && r.cfg.decodeInvalid && looseNumber(rest):
		r.number()
	default:
		r.bad("invalid token")
	}
}

// looseNumber reports whether text begins like a number that strict JSON
// refuses: a plus sign, a leading zero, hexadecimal, infinity or NaN.
func looseNumber(s string) bool {
	if s[0] == '+' {
		return true
	}
	s = strings.TrimPrefix(s, "-")
	if strings.HasPrefix(s, "0") {
		return len(s) > 1 && (s[1]|0x20 == 'x' || isDigit(s[1]))
	}
	if s == "" || s[0] <= '9' {
		return false
	}
	return hasPrefixFold(s, "inf") || hasPrefixFold(s, "nan")
}

func (r *jsonReader) number() {
	f, n := strtod(r.in[r.pos:])
	if n == 0 {
		r.bad("invalid number")
		return
	}
	r.token, r.num = jsonNumber, f
	r.pos += n
}

// string reads a string token.
func (r *jsonReader) string() {
	r.pos++
	start := r.pos
	for c := r.peek(0); c != '"' && c != '\\' && c != 0; c = r.peek(0) {
		r.pos++
	}
	if r.peek(0) == '"' {
		r.token, r.text = jsonString, r.in[start:r.pos]
		r.pos++
		return
	}
	out := []byte(r.in[start:r.pos])
	for {
		switch c := r.peek(0); c {
		case 0:
			r.bad("unexpected end of string")
			return
		case '"':
			r.token, r.text = jsonString, string(out)
			r.pos++
			return
		case '\\':
			var problem string
			if out, problem = r.escape(out); problem != "" {
				r.bad(problem)
				return
			}
		default:
			out = append(out, c)
			r.pos++
		}
	}
}

// escape reads one escape sequence and appends what it stands for.
func (r *jsonReader) escape(out []byte) ([]byte, string) {
	c := r.peek(1)
	switch i := strings.IndexByte(`"\/btnfr`, c); {
	case c == 'u':
		return r.unicode(out)
	case i < 0 || c == 0:
		return out, "invalid escape code"
	default:
		r.pos += 2
		return append(out, "\"\\/\b\t\n\f\r"[i]), ""
	}
}

// hex4 is the value of four hexadecimal digits, or -1.
func (r *jsonReader) hex4(n int) rune {
	value := rune(0)
	for i := range 4 {
		d := hexValue(r.peek(n + i))
		if d < 0 {
			return -1
		}
		value = value<<4 | rune(d)
	}
	return value
}

// unicode reads \uXXXX, or two of them for a surrogate pair.
func (r *jsonReader) unicode(out []byte) ([]byte, string) {
	const problem = "invalid unicode escape code"
	code, size := r.hex4(2), 6
	if code < 0 {
		return out, problem
	}
	if code&0xF800 == 0xD800 {
		if code&0x400 != 0 || r.peek(6) != '\\' || r.peek(7) != 'u' {
			return out, problem
		}
		low := r.hex4(8)
		if low < 0 || low&0xFC00 != 0xDC00 {
			return out, problem
		}
		code, size = 0x10000+(code&0x3FF)<<10+low&0x3FF, 12
	}
	r.pos += size
	return utf8.AppendRune(out, code), ""
}

// descend enters an array or object; slots of the stack are in use below it.
func (r *jsonReader) descend(slots int) {
	r.depth++
	if r.depth > r.cfg.decodeDepth || slots > maxResults {
		r.v.errorf(r.L, "Found too many nested data structures (%d) at character %d", r.depth, r.pos)
	}
}

// value converts the current token and what belongs to it.
func (r *jsonReader) value(slots int) lua.LValue {
	switch r.token {
	case jsonString:
		return lua.LString(r.text)
	case jsonNumber:
		return lua.LNumber(r.num)
	case jsonBoolean:
		return lua.LBool(r.truth)
	case jsonNull:
		return r.v.null
	case jsonObjBegin:
		return r.object(slots)
	case jsonArrBegin:
		return r.array(slots)
	}
	r.fail("value")
	return nil
}

func (r *jsonReader) object(slots int) lua.LValue {
	r.descend(slots + 3)
	t := r.L.CreateTable(0, 0)
	for r.next(); r.token != jsonObjEnd; {
		if r.token != jsonString {
			r.fail("object key string")
		}
		key := r.text
		if r.next(); r.token != jsonColon {
			r.fail("colon")
		}
		r.next()
		t.RawSetString(key, r.value(slots+2))
		if r.next(); r.token == jsonObjEnd {
			break
		}
		if r.token != jsonComma {
			r.fail("comma or object end")
		}
		if r.next(); r.token == jsonObjEnd {
			r.fail("object key string")
		}
	}
	r.depth--
	return t
}

func (r *jsonReader) array(slots int) lua.LValue {
	r.descend(slots + 2)
	t := r.L.CreateTable(0, 0)
	for r.next(); r.token != jsonArrEnd; {
		t.Append(r.value(slots + 1))
		if r.next(); r.token == jsonArrEnd {
			break
		}
		if r.token != jsonComma {
			r.fail("comma or array end")
		}
		if r.next(); r.token == jsonArrEnd {
			r.fail("value")
		}
	}
	r.depth--
	return t
}
