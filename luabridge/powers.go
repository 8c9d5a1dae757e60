package luabridge

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// Powers, exponentials and logarithms are computed to some 90 bits and rounded
// once. The C library's results are those in all but a few of 1,000 cases;
// package math is often one unit of the last place away, and redis.call and
// cjson's 17 digits would show it.

// double is the unevaluated sum of two numbers, lo no more than half a unit of
// hi's last place.
type double struct{ hi, lo float64 }

var ln2 = double{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}

func sum(a, b float64) double {
	s := a + b
	t := s - a
	return double{s, (a - (s - t)) + (b - t)}
}

func product(a, b float64) double {
	p := a * b
	return double{p, math.FMA(a, b, -p)}
}

func (a double) add(b double) double {
	s, t := sum(a.hi, b.hi), sum(a.lo, b.lo)
	s = sum(s.hi, s.lo+t.hi)
	return sum(s.hi, s.lo+t.lo)
}

func (a double) mul(b double) double {
	p := product(a.hi, b.hi)
	return sum(p.hi, p.lo+(float64(a.hi*b.lo)+float64(a.lo*b.hi)))
}

func (a double) div(b double) double {
	q := a.hi / b.hi
	rest := a.add(b.mul(double{-q, 0}))
	return sum(q, (rest.hi+rest.lo)/b.hi)
}

// exp is e^a for results that are normal numbers, which is not checked.
func (a double) exp() float64 {
	const halvings, terms = 6, 14
	k := math.Round(a.hi / math.Ln2)
	r := a.add(ln2.mul(double{-k, 0}))
	r = double{math.Ldexp(r.hi, -halvings), math.Ldexp(r.lo, -halvings)}
	e := double{1, 0}
	for n := terms; n > 0; n-- { // 1 + r/1 (1 + r/2 (1 + ...
		e = e.mul(r).div(double{float64(n), 0}).add(double{1, 0})
	}
	for range halvings {
		e = e.mul(e)
	}
	return math.Ldexp(e.hi, int(k))
}

// logarithm is ln x for a positive, finite x.
func logarithm(x float64) double {
	const terms = 23
	m, k := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, k = 2*m, k-1
	}
	s := sum(m, -1).div(sum(m, 1)) // ln m is 2 (s + s^3/3 + s^5/5...)
	square := s.mul(s)
	series := double{}
	for n := terms; n >= 0; n-- {
		series = series.mul(square).add(double{1, 0}.div(double{float64(2*n + 1), 0}))
	}
	series = series.mul(s).mul(double{2, 0})
	return series.add(ln2.mul(double{float64(k), 0}))
}

// normalPower reports whether e^p is a normal number, and by far.
func normalPower(p float64) bool { return math.Abs(p) < 700 }

func normal(x float64) bool { return x >= 0x1p-1022 && x <= math.MaxFloat64 }

func exponential(x float64) float64 {
	if !normalPower(x) {
		return math.Exp(x)
	}
	return double{x, 0}.exp()
}

func naturalLog(x float64) float64 {
	if x <= 0 || x != x || x > math.MaxFloat64 {
		return invalid(math.Log(x), x, x)
	}
	return logarithm(x).hi
}

// invalid is the result r of a function of x and y with the sign that the server's
// processor gives it if it is not a number: that of the first operand which is none,
// or minus.
func invalid(r, x, y float64) float64 {
	switch {
	case r == r:
		return r
	case x != x:
		return x
	case y != y:
		return y
	}
	return math.Copysign(r, -1)
}

func cosine(x float64) float64  { return invalid(math.Cos(x), x, x) }
func sine(x float64) float64    { return invalid(math.Sin(x), x, x) }
func tangent(x float64) float64 { return invalid(math.Tan(x), x, x) }
func arc(x, y float64) float64  { return invalid(math.Atan2(x, y), y, x) }

// decimalLog has the C library's own error: it is made of two parts of two roundings each.
func decimalLog(x float64) float64 {
	const log2hi, log2lo = 0x1.34413509f6p-2, 0x1.9fef311f12b36p-42 // the decimal logarithm of 2
	if x <= 0 || x != x || x > math.MaxFloat64 {
		return math.Log10(x)
	}
	m, k := math.Frexp(x)
	if k > 0 {
		m, k = 2*m, k-1
	}
	low := float64(float64(k)*log2lo) + float64(logarithm(m).hi*(1/math.Ln10))
	return low + float64(float64(k)*log2hi)
}

// power is x^y.
func power(x, y float64) float64 {
	easy := math.Pow(x, y)
	whole := x == math.Trunc(x) && y == math.Trunc(y) && (x == 2 || y >= 0 && math.Abs(easy) <= 1<<53)
	switch {
	case x != x && easy != easy && math.Abs(math.Mod(y, 2)) == 1:
		return math.Abs(x)
	case easy != easy:
		return invalid(easy, x, y)
	case whole || !normal(math.Abs(x)) || !normal(math.Abs(easy)): // exact, or never a matter of digits
		return easy
	}
	p := logarithm(math.Abs(x)).mul(double{y, 0})
	if !normalPower(p.hi) {
		return easy
	}
	return math.Copysign(p.exp(), easy)
}

// luaPow is "a ^ b".
func luaPow(L *lua.LState) int { return arithmetic(L, "__pow", power) }
