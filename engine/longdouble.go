package engine

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// INCRBYFLOAT and HINCRBYFLOAT compute with C's long double as x86-64 has it: 64
// bits of mantissa. The replies show its rounding, so float64 will not do.
const (
	longDoublePrec   = 64
	longDoubleMaxExp = 16384  // values are below 2^16384
	longDoubleMinExp = -16446 // half of the smallest value is 2^-16446
	longDoubleMaxLen = 5 * 1024
)

// longDoubleSyntax is what strtold accepts, but for inf and nan. Compiling it is a good part of
// a process' start, and few need it.
var longDoubleSyntax = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[+-]?(?:` +
		`0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?|` +
		`(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)$`)
})

// parseLongDouble parses a long double as string2ld of Valkey's util.c does: inf is
// a number, nan is not, nor is what overflows or what underflows to zero.
func parseLongDouble(s string) (*big.Float, bool) {
	if len(s) >= longDoubleMaxLen {
		return nil, false
	}
	if word := strings.ToLower(strings.TrimLeft(s, "+-")); word == "inf" || word == "infinity" {
		return new(big.Float).SetInf(s[0] == '-'), len(s)-len(word) <= 1
	}
	if !longDoubleSyntax().MatchString(s) {
		return nil, false
	}
	exact, ok := new(big.Rat).SetString(clampExponent(s))
	if !ok {
		return nil, false
	}
	f := new(big.Float).SetPrec(longDoublePrec).SetRat(exact)
	least := new(big.Float).SetMantExp(big.NewFloat(1), longDoubleMinExp)
	underflow := f.Sign() != 0 && new(big.Float).Abs(f).Cmp(least) <= 0
	return f, !underflow && !longDoubleOverflows(f)
}

// clampExponent bounds the exponent in s, so that a huge one costs nothing. What is
// beyond the bound overflows or underflows all the same, as s is short.
func clampExponent(s string) string {
	const bound = 50000
	mark := "eE"
	if hasHexPrefix(s) {
		mark = "pP"
	}
	i := strings.IndexAny(s, mark)
	if i < 0 {
		return s
	}
	exp, err := strconv.Atoi(s[i+1:])
	if err == nil && exp >= -bound && exp <= bound {
		return s
	}
	exp = bound
	if s[i+1] == '-' {
		exp = -bound
	}
	return s[:i+1] + strconv.Itoa(exp)
}

func longDoubleOverflows(f *big.Float) bool {
	return f.IsInf() || f.MantExp(nil) > longDoubleMaxExp
}

// addLongDouble is a+b; ok is false when that is no finite number.
func addLongDouble(a, b *big.Float) (sum *big.Float, ok bool) {
	if a.IsInf() || b.IsInf() {
		return nil, false
	}
	sum = new(big.Float).SetPrec(longDoublePrec).Add(a, b)
	return sum, !longDoubleOverflows(sum)
}

// formatLongDouble is the text that the server stores: 17 digits after the point
// without trailing zeros, and no negative zero.
func formatLongDouble(f *big.Float) string {
	s := strings.TrimRight(f.Text('f', 17), "0")
	s = strings.TrimSuffix(s, ".")
	if s == "-0" {
		return "0"
	}
	return s
}
