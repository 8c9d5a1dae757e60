package engine

import (
	"math/big"
	"strings"
	"testing"
)

// longDoubleSums are answers of INCRBYFLOAT on x86-64; an empty sum is an error.
var longDoubleSums = []struct{ a, b, sum string }{
	{"0.1", "0.2", "0.3"},
	{"5200", "1e-5", "5200.00001000000000007"},
	{"0", "0.000003814697265625", "0.00000381469726562"}, // a tie rounds to even
	{"0", "0.000011444091796875", "0.00001144409179688"},
	{"18446744073709551615", "1", "18446744073709551616"},
	{"18446744073709551616", "1", "18446744073709551616"},
	{"9223372036854775807", "0.5", "9223372036854775807.5"},
	{"0x1.8p3", "-0x10", "-4"},
	{"0", "-1e-30", "0"},
	{"0e99999999999999999999", "1", "1"},
	{strings.Repeat("0", 5118) + "7", "1", "8"},
	{strings.Repeat("0", 5119) + "7", "1", ""},
	{"1e4932", "1e4932", ""},
	{"1e4933", "0", ""},
	{"1e-4950", "0", "0"},
	{"1e-5000", "0", ""},
	{"0x1p-16445", "0", "0"},
	{"0x1p-16446", "0", ""},
	{"inf", "-inf", ""},
	{"nan", "1", ""},
	{"1_0", "1", ""},
	{"", "1", ""},
}

func sumOf(a, b string) (string, bool) {
	x, ok := parseLongDouble(a)
	if !ok {
		return "", false
	}
	y, ok := parseLongDouble(b)
	if !ok {
		return "", false
	}
	sum, ok := addLongDouble(x, y)
	if !ok {
		return "", false
	}
	return formatLongDouble(sum), true
}

func TestLongDouble(t *testing.T) {
	for _, c := range longDoubleSums {
		got, ok := sumOf(c.a, c.b)
		if got != c.sum || ok != (c.sum != "") {
			t.Errorf("%.40s + %.40s = %q, %v, want %q", c.a, c.b, got, ok, c.sum)
		}
	}
}

// FuzzLongDouble: no text panics, and what is stored can be read again with the
// value that it shows.
func FuzzLongDouble(f *testing.F) {
	for _, c := range longDoubleSums {
		f.Add(c.a, c.b)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		sum, ok := sumOf(a, b)
		if !ok {
			return
		}
		v, ok := parseLongDouble(sum)
		if !ok {
			t.Fatalf("%q + %q = %q, which is not a number", a, b, sum)
		}
		shown, _ := new(big.Rat).SetString(sum)
		if want := new(big.Float).SetPrec(longDoublePrec).SetRat(shown); v.Cmp(want) != 0 {
			t.Fatalf("%q reads as %v, want %v", sum, v, want)
		}
	})
}
