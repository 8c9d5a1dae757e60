package resp

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"sync"
)

// FormatDouble returns the text of f in a reply: "3", "0.1", "1e-7", "inf",
// "-0", "nan".
func FormatDouble(f float64) string {
	var text [32]byte
	return string(AppendDouble(text[:0], f))
}

// AppendDouble appends FormatDouble(f) to dst.
//
// The server prints whole numbers up to 2^62 as integers and the rest with the
// Grisu2 algorithm, whose digits always read back as f but in about one number
// of a thousand are not the shortest ones. strconv would differ there, so the
// algorithm (F. Loitsch, "Printing floating-point numbers quickly and
// accurately with integers", 2010) is done here.
func AppendDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	case f == 0 && math.Signbit(f):
		return append(dst, "-0"...)
	case f == math.Trunc(f) && math.Abs(f) <= 1<<62:
		return strconv.AppendInt(dst, int64(f), 10)
	}
	return AppendGrisu(dst, f)
}

// AppendGrisu appends f, which is finite and not 0, as the server prints it where
// it does not treat whole numbers apart: in DEBUG DIGEST.
func AppendGrisu(dst []byte, f float64) []byte {
	if f < 0 {
		dst = append(dst, '-')
	}
	var room [20]byte
	digits, exp := grisu2(room[:0], math.Abs(f))
	return appendDecimal(dst, digits, exp, f < 0)
}

// appendDecimal writes digits times ten to the exp in the server's choice of
// plain and scientific notation.
func appendDecimal(dst, digits []byte, exp int, negative bool) []byte {
	n, sci := len(digits), exp+len(digits)-1
	size := max(sci, -sci)
	switch {
	case exp >= 0 && size < n+7:
		return appendZeros(append(dst, digits...), exp)
	case exp < 0 && (exp > -7 || size < 4):
		point := n + exp
		if point <= 0 {
			return append(appendZeros(append(dst, "0."...), -point), digits...)
		}
		dst = append(append(dst, digits[:point]...), '.')
		return append(dst, digits[point:]...)
	}
	// The server's buffer has room for 18 characters here, sign included.
	n = min(n, 18)
	if negative {
		n = min(n, 17)
	}
	dst = append(dst, digits[0])
	if n > 1 {
		dst = append(append(dst, '.'), digits[1:n]...)
	}
	if sci = exp + n - 1; sci < 0 {
		return strconv.AppendInt(append(dst, "e-"...), int64(size), 10)
	}
	return strconv.AppendInt(append(dst, "e+"...), int64(size), 10)
}

func appendZeros(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, '0')
	}
	return dst
}

// diyFP is frac times two to the exp.
type diyFP struct {
	frac uint64
	exp  int
}

func (a diyFP) normalized() diyFP {
	shift := bits.LeadingZeros64(a.frac)
	return diyFP{a.frac << shift, a.exp - shift}
}

// times is the product rounded to 64 bits; both factors are normalized.
func (a diyFP) times(b diyFP) diyFP {
	hi, lo := bits.Mul64(a.frac, b.frac)
	return diyFP{hi + lo>>63, a.exp + b.exp + 64}
}

// grisu2 appends the digits of f > 0 to dst and returns them with the power of
// ten they are to be multiplied by.
func grisu2(dst []byte, f float64) (digits []byte, exp10 int) {
	const hidden = 1 << 52
	b := math.Float64bits(f)
	v := diyFP{b & (hidden - 1), -1074}
	if e := int(b >> 52); e != 0 {
		v = diyFP{v.frac | hidden, e - 1075}
	}
	// The numbers halfway to the neighbours; the lower one is nearer at a
	// power of two.
	upper := diyFP{v.frac<<1 + 1, v.exp - 1}.normalized()
	lower := diyFP{v.frac<<1 - 1, v.exp - 1}
	if v.frac == hidden {
		lower = diyFP{v.frac<<2 - 1, v.exp - 2}
	}
	lower = diyFP{lower.frac << (lower.exp - upper.exp), upper.exp}

	power, k := cachedPower(upper.exp)
	w, up, low := v.normalized().times(power), upper.times(power), lower.times(power)
	up.frac--
	low.frac++
	digits, exp10 = grisuDigits(dst, w, up, low)
	return digits, exp10 - k
}

// grisuDigits generates the shortest digits between low and up, then moves the
// last one towards w.
func grisuDigits(dst []byte, w, up, low diyFP) (digits []byte, exp10 int) {
	shift := -up.exp
	one := uint64(1) << shift
	delta, distance := up.frac-low.frac, up.frac-w.frac
	whole, fraction := up.frac>>shift, up.frac&(one-1)

	div := uint64(1_000_000_000)
	for kappa := 9; kappa >= 0; kappa-- {
		if d := whole / div; d > 0 || len(dst) > 0 {
			dst = append(dst, '0'+byte(d))
		}
		whole %= div
		if rest := whole<<shift + fraction; rest <= delta {
			return roundLast(dst, delta, rest, div<<shift, distance), kappa
		}
		div /= 10
	}
	unit := uint64(1)
	for kappa := -1; ; kappa-- {
		fraction, delta, unit = fraction*10, delta*10, unit*10
		if d := fraction >> shift; d > 0 || len(dst) > 0 {
			dst = append(dst, '0'+byte(d))
		}
		if fraction &= one - 1; fraction < delta {
			return roundLast(dst, delta, fraction, one, distance*unit), kappa
		}
	}
}

// roundLast lowers the last digit while that brings the number closer to the
// exact value and keeps it inside the interval; step is that digit's weight.
func roundLast(digits []byte, delta, rest, step, distance uint64) []byte {
	for rest < distance && delta-rest >= step &&
		(rest+step < distance || distance-rest > rest+step-distance) {
		digits[len(digits)-1]--
		rest += step
	}
	return digits
}

// Powers of ten in steps of 10^8, which are about 26.6 binary digits apart.
const (
	firstPower = -348
	powerStep  = 8
	powerCount = 87
)

// cachedPower returns a power 10^k that brings a number with the binary
// exponent exp into the range that grisuDigits works in. Two powers may fit;
// which one is taken shows in the digits, so the search starts where the
// server's does.
func cachedPower(exp int) (power diyFP, k int) {
	powers := powersOfTen()
	const log10of2 = 0.30102999566398114
	guess := int(-float64(exp+powerCount) * log10of2)
	i := (guess - firstPower) / powerStep
	for {
		switch e := exp + powers[i].exp + 64; {
		case e < -60:
			i++
		case e > -32:
			i--
		default:
			return powers[i], firstPower + i*powerStep
		}
	}
}

// powersOfTen computes the table at its first use: 87 powers, each rounded to
// 64 bits.
var powersOfTen = sync.OnceValue(func() *[powerCount]diyFP {
	var table [powerCount]diyFP
	for i := range table {
		k := firstPower + i*powerStep
		p := new(big.Float).SetPrec(64).SetInt(pow10(max(k, -k)))
		if k < 0 {
			p.Quo(big.NewFloat(1).SetPrec(64), new(big.Float).SetInt(pow10(-k)))
		}
		mantissa := new(big.Float)
		exp := p.MantExp(mantissa)
		frac, _ := mantissa.SetMantExp(mantissa, 64).Uint64()
		table[i] = diyFP{frac, exp - 64}
	}
	return &table
})

func pow10(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}
