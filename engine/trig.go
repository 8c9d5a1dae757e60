package engine

import "math"

// Distances show the last bit of their sines: GEOSEARCHSTORE STOREDIST stores them
// whole. The server takes them from the C library, whose results are the true values
// rounded but for rare cases; those of package math are not, so sine, cosine and arc
// sine are computed here with twice the digits and rounded once.

// wide is the sum of two doubles, the second one below the last digit of the first.
type wide struct{ hi, lo float64 }

// twoSum is a+b exactly.
func twoSum(a, b float64) wide {
	s := a + b
	t := s - a
	return wide{s, (a - (s - t)) + (b - t)}
}

// twoProduct is a*b exactly.
func twoProduct(a, b float64) wide {
	p := float64(a * b)
	return wide{p, math.FMA(a, b, -p)}
}

func (a wide) add(b wide) wide {
	s, t := twoSum(a.hi, b.hi), twoSum(a.lo, b.lo)
	s = twoSum(s.hi, s.lo+t.hi)
	return twoSum(s.hi, s.lo+t.lo)
}

func (a wide) times(b wide) wide {
	p := twoProduct(a.hi, b.hi)
	return twoSum(p.hi, math.FMA(a.lo, b.hi, math.FMA(a.hi, b.lo, p.lo)))
}

func (a wide) over(n float64) wide {
	q := a.hi / n
	p := twoProduct(q, n)
	return twoSum(q, ((a.hi-p.hi)-p.lo+a.lo)/n)
}

func (a wide) negated() wide { return wide{-a.hi, -a.lo} }

// halfPi is pi/2 in three parts.
var halfPi = [3]float64{1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33}

// preciseSin is the sine of x, |x| < 1000, rounded.
func preciseSin(x float64) float64 { return sinOfQuarter(x, 0).hi }

// preciseCos is the cosine of x, |x| < 1000, rounded.
func preciseCos(x float64) float64 { return sinOfQuarter(x, 1).hi }

// preciseAsin is the arc sine of x, rounded; NaN above 1.
func preciseAsin(x float64) float64 {
	y := math.Asin(x)
	if math.IsNaN(y) {
		return y
	}
	return y + wide{x, 0}.add(sinOfQuarter(y, 0).negated()).hi/math.Cos(y) // a step of Newton's method
}

// sinOfQuarter is the sine of x + ahead*pi/2.
func sinOfQuarter(x float64, ahead int) wide {
	quarter := math.RoundToEven(x / halfPi[0])
	r := wide{x, 0}
	for _, part := range halfPi {
		r = r.add(twoProduct(-quarter, part))
	}
	square := r.times(r).negated()
	var y wide
	switch n := int(quarter) + ahead; n & 3 {
	case 0:
		y = r.times(sinSeries.sum(square))
	case 1:
		y = cosSeries.sum(square)
	case 2:
		y = r.times(sinSeries.sum(square)).negated()
	case 3:
		y = cosSeries.sum(square).negated()
	}
	return y
}

// powerSeries are the coefficients of a series in -x², |x| < 0.8. Terms from wideTerms
// on are so small that a double's digits do for them.
type powerSeries [15]wide

const wideTerms = 5

var sinSeries, cosSeries = inverseFactorials(1), inverseFactorials(0)

// inverseFactorials returns 1/n!, 1/(n+2)!, ...; n is 0 or 1.
func inverseFactorials(n float64) (p powerSeries) {
	p[0] = wide{1, 0}
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1].over((n + 1) * (n + 2))
		n += 2
	}
	return p
}

func (p *powerSeries) sum(x wide) wide {
	tail := 0.0
	for i := len(p) - 1; i >= wideTerms; i-- {
		tail = math.FMA(tail, x.hi, p[i].hi)
	}
	sum := wide{tail, 0}
	for i := wideTerms - 1; i >= 0; i-- {
		sum = sum.times(x).add(p[i])
	}
	return sum
}
