package engine

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// bitAt reads one bit, 0 behind the end.
func bitAt(b []byte, i int64) int64 {
	if i>>3 >= int64(len(b)) {
		return 0
	}
	return int64(b[i>>3] >> (7 - i&7) & 1)
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = []byte{0, 0xff, byte(r.Uint32())}[r.IntN(3)]
	}
	return b
}

// TestBitsOneByOne compares counting and finding with looking at each bit.
func TestBitsOneByOne(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		b := randomBytes(r, 1+r.IntN(40))
		first := r.Int64N(int64(len(b)) * 8)
		last := first + r.Int64N(int64(len(b))*8-first)
		count, found := int64(0), [2]int64{-1, -1}
		for i := last; i >= first; i-- {
			bit := bitAt(b, i)
			count += bit
			found[bit] = i
		}
		if got := countBits(b, first, last); got != count {
			t.Fatalf("countBits(%x, %d, %d) = %d, want %d", b, first, last, got, count)
		}
		for bit, want := range found {
			if got := findBit(b, first, last, bit == 1); got != want {
				t.Fatalf("findBit(%x, %d, %d, %d) = %d, want %d", b, first, last, bit, got, want)
			}
		}
	}
}

// TestBitFieldsOneByOne reads and writes fields of all widths at all offsets.
func TestBitFieldsOneByOne(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for width := 1; width <= 64; width++ {
		for offset := range int64(9) {
			f := bitField{signed: width == 64 || r.IntN(2) == 0, width: width, offset: offset + 8*r.Int64N(3)}
			b := randomBytes(r, 12)
			want := int64(0)
			for i := range int64(width) {
				want = want<<1 | bitAt(b, f.offset+i)
			}
			if want = f.extend(uint64(want)); f.get(b) != want {
				t.Fatalf("%+v of %x: got %d, want %d", f, b, f.get(b), want)
			}
			v := f.extend(r.Uint64())
			changed := append([]byte(nil), b...)
			first, n := f.bytes()
			copy(changed[first:first+n], f.put(b, v))
			if f.get(changed) != v {
				t.Fatalf("%+v: wrote %d, read %d", f, v, f.get(changed))
			}
			for i := range int64(len(b)) * 8 {
				if inside := i >= f.offset && i < f.offset+int64(width); !inside && bitAt(b, i) != bitAt(changed, i) {
					t.Fatalf("%+v: bit %d outside the field changed", f, i)
				}
			}
		}
	}
}

// TestBitFieldOverflow compares with arithmetic that has no limits.
func TestBitFieldOverflow(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 50000 {
		f := bitField{signed: r.IntN(2) == 0, width: 1 + r.IntN(63)}
		if f.signed && r.IntN(4) == 0 {
			f.width = 64
		}
		least, greatest := f.limits()
		value := f.extend(r.Uint64())
		by := int64(r.Uint64()) >> r.IntN(64)
		sum := new(big.Int).Add(big.NewInt(value), big.NewInt(by))
		want := 0
		if sum.Cmp(big.NewInt(greatest)) > 0 {
			want = 1
		} else if sum.Cmp(big.NewInt(least)) < 0 {
			want = -1
		}
		if got := f.overflow(value, by); got != want {
			t.Fatalf("%+v: overflow(%d, %d) = %d, want %d", f, value, by, got, want)
		}
	}
}
