package luabridge

import (
	"math"
	"strconv"
	"strings"
)

// appendNumber14 appends f as Lua 5.1 prints numbers: C's "%.14g".
func appendNumber14(dst []byte, f float64) []byte {
	return appendG(dst, f, 14)
}

// formatNumber14 is f as Lua 5.1 prints it: "%.14g".
func formatNumber14(f float64) string {
	if n := int64(f); float64(n) == f && n > -1e14 && n < 1e14 && (n != 0 || !math.Signbit(f)) {
		return strconv.FormatInt(n, 10)
	}
	return string(appendG(nil, f, 14))
}

// appendG appends f as C's "%.<prec>g" does.
func appendG(dst []byte, f float64, prec int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, specialName(f)...)
	}
	return strconv.AppendFloat(dst, f, 'g', prec, 64)
}

// specialName is what C's printf makes of an infinity or a NaN.
func specialName(f float64) string {
	switch {
	case math.IsNaN(f) && math.Signbit(f):
		return "-nan"
	case math.IsNaN(f):
		return "nan"
	case f < 0:
		return "-inf"
	}
	return "inf"
}

// formatArg is a number as redis.call passes it to a command: whole numbers up
// to half the range of an int64 in full, everything else in its shortest form.
func formatArg(f float64) string {
	const half = float64(math.MaxInt64 / 2)
	if f >= -half && f <= half {
		if n := int64(f); float64(n) == f {
			return strconv.FormatInt(n, 10)
		}
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return specialName(f)
	}
	return formatShortest(f)
}

// formatShortest writes a number other than 0 with the fewest digits that read
// back as f, and with the layout rules of the server's own double printer: plain
// digits while at most six zeros have to be added, an exponent without padding
// beyond that.
func formatShortest(f float64) string {
	list, k := grisuDigits(math.Abs(f)) // f is digits * 10^k
	digits, n := string(list), len(list)
	e := k + n - 1
	sign := ""
	if math.Signbit(f) {
		sign = "-"
	}
	abs := max(e, -e)
	switch {
	case k >= 0 && abs < n+7:
		return sign + digits + strings.Repeat("0", k)
	case k < 0 && (k > -7 || abs < 4):
		if point := n + k; point > 0 {
			return sign + digits[:point] + "." + digits[point:]
		}
		return sign + "0." + strings.Repeat("0", -(n+k)) + digits
	}
	out := sign + digits[:1]
	if n > 1 {
		out += "." + digits[1:]
	}
	if e < 0 {
		return out + "e-" + strconv.Itoa(-e)
	}
	return out + "e+" + strconv.Itoa(e)
}

// isSpace is C's isspace in the "C" locale.
func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// parseNumber converts text to a number by Lua 5.1's rules: what C's strtod
// takes (decimal, hexadecimal, inf, nan), white space on both sides, and the
// text ends at a zero byte.
func parseNumber(s string) (float64, bool) {
	if n, ok := parseSmallInt(s); ok {
		return n, true
	}
	if i := strings.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	for len(s) > 0 && isSpace(s[0]) {
		s = s[1:]
	}
	f, n := strtod(s)
	if n == 0 {
		return 0, false
	}
	for n < len(s) && isSpace(s[n]) {
		n++
	}
	return f, n == len(s)
}

// parseSmallInt is the fast path for plain decimal digits.
func parseSmallInt(s string) (float64, bool) {
	if len(s) == 0 || len(s) > 15 {
		return 0, false
	}
	n := int64(0)
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	return float64(n), true
}

// strtod reads the longest number at the start of s as C does, without leading
// white space, and returns how many bytes it took; 0 when there is none.
func strtod(s string) (float64, int) {
	i := 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	if f, n := strtodWord(s[i:]); n > 0 {
		return withSign(f, s), i + n
	}
	if len(s) > i+1 && s[i] == '0' && (s[i+1] == 'x' || s[i+1] == 'X') {
		if f, n := strtodHex(s[i+2:]); n > 0 {
			return withSign(f, s), i + 2 + n
		}
		return withSign(0, s), i + 1
	}
	n := scanDecimal(s[i:])
	if n == 0 {
		return 0, 0
	}
	f, _ := strconv.ParseFloat(s[i:i+n], 64) // out of range gives ±Inf, as in C
	return withSign(f, s), i + n
}

func withSign(f float64, s string) float64 {
	if s[0] == '-' {
		return -f
	}
	return f
}

// strtodWord reads inf, infinity, nan and nan(chars).
func strtodWord(s string) (float64, int) {
	switch {
	case hasPrefixFold(s, "infinity"):
		return math.Inf(1), 8
	case hasPrefixFold(s, "inf"):
		return math.Inf(1), 3
	case !hasPrefixFold(s, "nan"):
		return 0, 0
	}
	n := 3
	if n < len(s) && s[n] == '(' {
		j := n + 1
		for j < len(s) && (isAlnum(s[j]) || s[j] == '_') {
			j++
		}
		if j < len(s) && s[j] == ')' {
			n = j + 1
		}
	}
	return math.NaN(), n
}

func hasPrefixFold(s, word string) bool {
	return len(s) >= len(word) && strings.EqualFold(s[:len(word)], word)
}

// scanDecimal is the length of the decimal number at the start of s.
func scanDecimal(s string) int {
	i, digits := 0, 0
	for i < len(s) && isDigit(s[i]) {
		i++
		digits++
	}
	if i < len(s) && s[i] == '.' {
		i++
		for i < len(s) && isDigit(s[i]) {
			i++
			digits++
		}
	}
	if digits == 0 {
		return 0
	}
	return i + scanExponent(s[i:], 'e')
}

// scanExponent is the length of an exponent part, 0 when there is none.
func scanExponent(s string, letter byte) int {
	if len(s) < 2 || s[0]|0x20 != letter {
		return 0
	}
	i := 1
	if s[i] == '+' || s[i] == '-' {
		i++
	}
	start := i
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	if i == start {
		return 0
	}
	return i
}

// strtodHex reads the part of a hexadecimal number that follows "0x".
func strtodHex(s string) (float64, int) {
	i, digits := 0, 0
	for i < len(s) && hexValue(s[i]) >= 0 {
		i++
		digits++
	}
	if i < len(s) && s[i] == '.' {
		i++
		for i < len(s) && hexValue(s[i]) >= 0 {
			i++
			digits++
		}
	}
	if digits == 0 {
		return 0, 0
	}
	mant := s[:i]
	n := scanExponent(s[i:], 'p')
	exp := s[i : i+n]
	if n == 0 {
		exp = "p0"
	}
	f, _ := strconv.ParseFloat("0x"+mant+exp, 64)
	return f, i + n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isAlnum(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' }

// hexValue is the value of a hexadecimal digit, -1 for any other byte.
func hexValue(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// toInt converts a number as a C cast to a 64-bit integer does on x86: toward
// zero, and the smallest integer for everything that does not fit.
func toInt(f float64) int64 {
	if f >= -(1<<63) && f < 1<<63 {
		return int64(f)
	}
	return math.MinInt64
}

// toInt32 converts a number as Lua's C functions take an int argument.
func toInt32(f float64) int { return int(int32(toInt(f))) }
