package luabridge

import (
	"math"
	"math/big"
	"math/bits"
	"sync"
)

// The server prints doubles with the Grisu2 algorithm (Florian Loitsch, 2010),
// which gives the shortest digits for all but about one number in ten
// thousand. To print those numbers as it does, this is Grisu2 too.

// scaled is frac * 2^exp.
type scaled struct {
	frac uint64
	exp  int
}

// times multiplies, rounding the product's upper 64 bits to the nearest.
func (a scaled) times(b scaled) scaled {
	hi, lo := bits.Mul64(a.frac, b.frac)
	return scaled{hi + lo>>63, a.exp + b.exp + 64}
}

// normal shifts the highest bit of frac to the top.
func (a scaled) normal() scaled {
	n := bits.LeadingZeros64(a.frac)
	return scaled{a.frac << n, a.exp - n}
}

const (
	firstPower = -348 // powers of ten kept: every eighth from here on
	powerStep  = 8
	powerCount = 87
	minScale   = -60 // bounds of the exponent after scaling
	maxScale   = -32
)

// tenPowers are 10^-348, 10^-340, ... with 64 bits each.
var tenPowers = sync.OnceValue(func() (list [powerCount]scaled) {
	for i := range list {
		p := new(big.Float).SetPrec(2000).SetInt64(1)
		n := firstPower + i*powerStep
		ten := new(big.Float).SetPrec(2000).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil))
		if n < 0 {
			p.Quo(p, ten)
		} else {
			p.Mul(p, ten)
		}
		rounded := new(big.Float).SetPrec(64).Set(p)
		exp := rounded.MantExp(rounded)
		frac, _ := rounded.SetMantExp(rounded, 64).Uint64()
		list[i] = scaled{frac, exp - 64}
	}
	return list
})

// powerFor picks the kept power of ten that brings a binary exponent into the
// bounds, and returns its decimal exponent.
func powerFor(exp int) (scaled, int) {
	powers := tenPowers()
	i := (int(-float64(exp+powerCount)*math.Log10(2)) - firstPower) / powerStep
	for exp+powers[i].exp+64 < minScale {
		i++
	}
	for exp+powers[i].exp+64 > maxScale {
		i--
	}
	return powers[i], firstPower + i*powerStep
}

// grisuDigits returns the decimal digits of a positive finite number, which is
// digits * 10^k.
func grisuDigits(f float64) (digits []byte, k int) {
	b := math.Float64bits(f)
	w := scaled{b & (1<<52 - 1), int(b >> 52)}
	if w.exp == 0 {
		w.exp = 1
	} else {
		w.frac |= 1 << 52
	}
	w.exp -= 1023 + 52
	upper := scaled{w.frac<<1 + 1, w.exp - 1}.normal()
	lower := scaled{w.frac<<1 - 1, w.exp - 1}
	if w.frac == 1<<52 { // the gap below a power of two is half as wide
		lower = scaled{w.frac<<2 - 1, w.exp - 2}
	}
	lower = scaled{lower.frac << (lower.exp - upper.exp), upper.exp}
	power, ten := powerFor(upper.exp)
	w, upper, lower = w.normal().times(power), upper.times(power), lower.times(power)
	g := grisu{w: w.frac, upper: upper.frac - 1, delta: upper.frac - 1 - (lower.frac + 1), shift: -upper.exp}
	k = g.generate() - ten
	return g.digits, k
}

// grisu generates digits of upper until they lie within delta of it.
type grisu struct {
	w, upper, delta uint64
	shift           int // bits behind the binary point
	digits          []byte
}

// generate returns the decimal exponent of the last digit.
func (g *grisu) generate() int {
	one := uint64(1) << g.shift
	whole, part := g.upper>>g.shift, g.upper&(one-1)
	gap := g.upper - g.w
	for kappa, unit := 9, uint64(1_000_000_000); kappa >= 0; kappa, unit = kappa-1, unit/10 {
		g.add(whole / unit)
		whole %= unit
		if rest := whole<<g.shift + part; rest <= g.delta {
			g.round(g.delta, rest, unit<<g.shift, gap)
			return kappa
		}
	}
	unit, delta := uint64(10), g.delta
	for kappa := -1; ; kappa, unit = kappa-1, unit*10 {
		part, delta = part*10, delta*10
		g.add(part >> g.shift)
		part &= one - 1
		if part < delta {
			g.round(delta, part, one, gap*unit)
			return kappa
		}
	}
}

func (g *grisu) add(digit uint64) {
	if digit > 0 || len(g.digits) > 0 {
		g.digits = append(g.digits, '0'+byte(digit))
	}
}

// round lowers the last digit while that comes closer to the number itself.
func (g *grisu) round(delta, rest, unit, gap uint64) {
	for rest < gap && delta-rest >= unit && (rest+unit < gap || gap-rest > rest+unit-gap) {
		g.digits[len(g.digits)-1]--
		rest += unit
	}
}
