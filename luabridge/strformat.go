package luabridge

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// conversion is one format item: "%-08.3f" and the like.
type conversion struct {
	minus, plus, space, alt, zero bool
	width, prec                   int // prec is -1 when absent
	verb                          byte
}

func (v *vm) strFormat(L *lua.LState) int {
	format := v.checkText(L, 1)
	var out []byte
	arg := 1
	for i := 0; i < len(format); {
		if format[i] != '%' {
			out = append(out, format[i])
			i++
			continue
		}
		i++
		if i < len(format) && format[i] == '%' {
			out = append(out, '%')
			i++
			continue
		}
		if arg++; arg > L.GetTop() {
			v.argError(L, arg, "no value")
		}
		c, n := v.parseConversion(L, format[i:])
		i += n
		out = v.appendItem(L, out, c, arg)
		v.grow(len(out))
	}
	return pushString(L, string(out))
}

// parseConversion reads the item after a '%' and returns its length.
func (v *vm) parseConversion(L *lua.LState, s string) (c conversion, n int) {
	at := func(i int) byte {
		if i < len(s) {
			return s[i]
		}
		return 0
	}
	for ; at(n) != 0 && strings.IndexByte("-+ #0", at(n)) >= 0; n++ {
		switch at(n) {
		case '-':
			c.minus = true
		case '+':
			c.plus = true
		case ' ':
			c.space = true
		case '#':
			c.alt = true
		case '0':
			c.zero = true
		}
	}
	if n > 5 {
		v.errorf(L, "invalid format (repeated flags)")
	}
	twoDigits := func() (x int) {
		for range 2 {
			if isDigit(at(n)) {
				x = x*10 + int(at(n)-'0')
				n++
			}
		}
		return x
	}
	c.width, c.prec = twoDigits(), -1
	if at(n) == '.' {
		n++
		c.prec = twoDigits()
	}
	if isDigit(at(n)) {
		v.errorf(L, "invalid format (width or precision too long)")
	}
	c.verb = at(n)
	return c, n + 1
}

// appendItem appends argument arg as c says.
func (v *vm) appendItem(L *lua.LState, out []byte, c conversion, arg int) []byte {
	switch c.verb {
	case 'c':
		text := string([]byte{byte(toInt32(v.checkNumber(L, arg)))})
		return append(out, cString(c.pad("", text, false))...)
	case 'd', 'i':
		return append(out, c.signed(toInt(v.checkNumber(L, arg)))...)
	case 'o', 'u', 'x', 'X':
		return append(out, c.unsigned(toUint(v.checkNumber(L, arg)))...)
	case 'e', 'E', 'f', 'g', 'G':
		return append(out, c.float(v.checkNumber(L, arg))...)
	case 'q':
		return appendQuoted(out, v.checkText(L, arg))
	case 's':
		text := v.checkText(L, arg)
		if c.prec < 0 && len(text) >= 100 {
			return append(out, text...)
		}
		text = cString(text)
		if c.prec >= 0 && c.prec < len(text) {
			text = text[:c.prec]
		}
		return append(out, c.pad("", text, false)...)
	}
	v.errorf(L, "invalid option '%%%s' to 'format'", cString(string([]byte{c.verb})))
	return nil
}

// toUint converts as a C cast to a 64-bit unsigned integer does on x86.
func toUint(f float64) uint64 {
	switch {
	case f >= 1<<64:
		return 0
	case f >= 1<<63:
		return uint64(f)
	}
	return uint64(toInt(f))
}

// pad brings sign (or prefix) and text to the width; zeros go between the two.
func (c conversion) pad(sign, text string, zeros bool) string {
	n := c.width - len(sign) - len(text)
	switch {
	case n <= 0:
		return sign + text
	case c.minus:
		return sign + text + strings.Repeat(" ", n)
	case zeros && c.zero:
		return sign + strings.Repeat("0", n) + text
	}
	return strings.Repeat(" ", n) + sign + text
}

// sign is what stands before a number.
func (c conversion) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case c.plus:
		return "+"
	case c.space:
		return " "
	}
	return ""
}

// digits gives an integer's digits their minimum count.
func (c conversion) digits(text string) string {
	if c.prec == 0 && text == "0" {
		return ""
	}
	if n := c.prec - len(text); n > 0 {
		return strings.Repeat("0", n) + text
	}
	return text
}

func (c conversion) signed(n int64) string {
	text := strconv.FormatInt(n, 10)
	text = strings.TrimPrefix(text, "-")
	return c.pad(c.sign(n < 0), c.digits(text), c.prec < 0)
}

func (c conversion) unsigned(n uint64) string {
	base := map[byte]int{'o': 8, 'u': 10, 'x': 16, 'X': 16}[c.verb]
	text := c.digits(strconv.FormatUint(n, base))
	prefix := ""
	if c.alt {
		switch {
		case c.verb == 'o' && !strings.HasPrefix(text, "0"):
			text = "0" + text
		case base == 16 && n != 0:
			prefix = "0x"
		}
	}
	out := c.pad(prefix, text, c.prec < 0)
	if c.verb == 'X' {
		return strings.ToUpper(out)
	}
	return out
}

func (c conversion) float(f float64) string {
	negative := math.Signbit(f)
	var text string
	finite := false
	switch abs := math.Abs(f); {
	case math.IsNaN(f):
		text = "nan"
	case math.IsInf(f, 0):
		text = "inf"
	default:
		finite = true
		text = c.finite(abs)
	}
	if c.verb == 'E' || c.verb == 'G' {
		text = strings.ToUpper(text)
	}
	return c.pad(c.sign(negative), text, finite)
}

// finite is a number without sign that is neither infinite nor NaN.
func (c conversion) finite(f float64) string {
	prec := c.prec
	if prec < 0 {
		prec = 6
	}
	verb := c.verb | 0x20
	if verb == 'g' && prec == 0 {
		prec = 1
	}
	if c.alt {
		return fmt.Sprintf("%#.*"+string(rune(verb)), prec, f)
	}
	return strconv.FormatFloat(f, verb, prec, 64)
}

// appendQuoted appends s as a Lua string literal.
func appendQuoted(out []byte, s string) []byte {
	out = append(out, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"', '\\', '\n':
			out = append(out, '\\', c)
		case '\r':
			out = append(out, `\r`...)
		case 0:
			out = append(out, `\000`...)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}
