package engine

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exactSin is the sine of x+y, |x+y| < 4, by its series with 200 bits.
func exactSin(x, y *big.Float) float64 {
	z := new(big.Float).SetPrec(200).Add(x, y)
	square := new(big.Float).Mul(z, z)
	sum, term := new(big.Float).SetPrec(200).Set(z), new(big.Float).SetPrec(200).Set(z)
	for n := int64(2); n < 80; n += 2 {
		term.Mul(term, square)
		term.Quo(term, new(big.Float).SetInt64(-n*(n+1)))
		sum.Add(sum, term)
	}
	f, _ := sum.Float64()
	return f
}

// The true value, rounded: what package math gives only most of the time.
func TestPreciseTrig(t *testing.T) {
	halfPi, _, err := big.ParseFloat("1.57079632679489661923132169163975144209858469968755291048747229615390820314310449931", 10, 200, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	zero := new(big.Float)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 20000 {
		x := (r.Float64()*2 - 1) * math.Pi / math.Pow(10, float64(i%9))
		if got, want := preciseSin(x), exactSin(big.NewFloat(x), zero); got != want {
			t.Fatalf("sin %v = %v, want %v", x, got, want)
		}
		if got, want := preciseCos(x), exactSin(new(big.Float).SetPrec(200).SetFloat64(-math.Abs(x)), halfPi); got != want {
			t.Fatalf("cos %v = %v, want %v", x, got, want)
		}
		// An arc sine is right when the sines of the points half way to its neighbours lie on either side.
		s := math.Abs(r.Float64()) / math.Pow(10, float64(i%9))
		y := preciseAsin(s)
		step := (math.Nextafter(y, 2) - y) / 4
		if exactSin(big.NewFloat(y), big.NewFloat(-3*step)) > s || exactSin(big.NewFloat(y), big.NewFloat(3*step)) < s {
			t.Fatalf("asin %v = %v", s, y)
		}
	}
	for x, want := range map[float64]float64{0: 0, 1: math.Pi / 2, 0.5: math.Pi / 6} {
		if got := preciseAsin(x); got != want {
			t.Errorf("asin %v = %v, want %v", x, got, want)
		}
	}
	if y := preciseAsin(1.0000000000000002); !math.IsNaN(y) {
		t.Errorf("asin above 1 is %v", y)
	}
}
