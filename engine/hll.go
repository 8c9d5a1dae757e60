package engine

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// A HyperLogLog is a string: "HYLL", the encoding, three unused bytes, the number that
// was last counted in eight bytes, and the registers. Dense, these are 16384 of six bits.
// Sparse, they are runs of equal ones:
//
//	00nnnnnn           n+1 zeros
//	01nnnnnn nnnnnnnn  n+1 zeros
//	1vvvvvnn           n+1 times v+1
const (
	hllMagic         = "HYLL"
	hllHeader        = 16
	hllIndexBits     = 14
	hllRegisterCount = 1 << hllIndexBits
	hllDenseSize     = hllHeader + hllRegisterCount*6/8
	hllDense         = 0
	hllSparse        = 1

	hllMaxRank       = 64 - hllIndexBits + 1 // of an element
	sparseMaxValue   = 32
	sparseMaxRepeat  = 4  // of a value
	sparseShortZeros = 64 // that one byte holds
)

// hll is a HyperLogLog that is being changed.
type hll struct{ b []byte }

// hllRegisters are registers of a byte each.
type hllRegisters [hllRegisterCount]byte

// hllHistogram counts the registers of each value.
type hllHistogram [64]int

func newHLL() hll {
	h := hll{make([]byte, hllHeader)}
	copy(h.b, hllMagic)
	h.b[4] = hllSparse
	h.b = appendZeroRun(h.b, hllRegisterCount)
	return h
}

// murmur64A is MurmurHash64A, which A. Appleby gave to the public, with the server's seed.
func murmur64A(s string) uint64 {
	const m, seed = 0xc6a4a7935bd1e995, 0xadc83b19
	h := seed ^ uint64(len(s))*m
	for ; len(s) >= 8; s = s[8:] {
		var word uint64
		for i := range 8 {
			word |= uint64(s[i]) << (8 * i)
		}
		word *= m
		word ^= word >> 47
		h = (h ^ word*m) * m
	}
	if len(s) > 0 {
		for i := range len(s) {
			h ^= uint64(s[i]) << (8 * i)
		}
		h *= m
	}
	h = (h ^ h>>47) * m
	return h ^ h>>47
}

// hllPlace is the register of an element and its rank, from 1 to hllMaxRank.
func hllPlace(element string) (index int, rank byte) {
	hash := murmur64A(element)
	rest := hash>>hllIndexBits | 1<<(64-hllIndexBits)
	return int(hash & (hllRegisterCount - 1)), byte(1 + bits.TrailingZeros64(rest))
}

// add adds an element. ok is false if the content is corrupt.
func (h *hll) add(element string, sparseMax int64) (changed, ok bool) {
	index, rank := hllPlace(element)
	return h.set(index, rank, sparseMax)
}

// set raises a register to a value. sparseMax is the size in bytes up to which the
// encoding stays sparse.
func (h *hll) set(index int, value byte, sparseMax int64) (changed, ok bool) {
	if h.b[4] == hllSparse {
		return h.sparseSet(index, value, sparseMax)
	}
	if h.denseGet(index) >= value {
		return false, true
	}
	h.denseSet(index, value)
	return true, true
}

func (h hll) denseGet(i int) byte { return denseRegister(h.b, i) }

// denseRegister reads the register i of a dense HyperLogLog.
func denseRegister[T string | []byte](b T, i int) byte {
	at, shift := hllHeader+i*6/8, uint(i*6%8)
	v := uint(b[at])
	if shift > 2 {
		v |= uint(b[at+1]) << 8
	}
	return byte(v >> shift & 63)
}

func (h hll) denseSet(i int, value byte) {
	at, shift := hllHeader+i*6/8, uint(i*6%8)
	h.b[at] = h.b[at]&^byte(63<<shift) | value<<shift
	if shift > 2 {
		h.b[at+1] = h.b[at+1]&^(63>>(8-shift)) | value>>(8-shift)
	}
}

// run is one run of a sparse HyperLogLog.
type run struct {
	length int
	value  byte // 0 for zeros
	size   int  // in bytes
}

// sparseRun reads the run at b[i]. A second byte that is missing reads as 0.
func sparseRun[T string | []byte](b T, i int) run {
	switch first := b[i]; {
	case first&0x80 != 0:
		return run{int(first&3) + 1, first>>2&31 + 1, 1}
	case first&0x40 == 0:
		return run{int(first&63) + 1, 0, 1}
	case i+1 < len(b):
		return run{int(first&63)<<8 + int(b[i+1]) + 1, 0, 2}
	default:
		return run{int(first&63)<<8 + 1, 0, 2}
	}
}

func valueRun(value byte, length int) byte { return 0x80 | (value-1)<<2 | byte(length-1) }

func appendZeroRun(b []byte, length int) []byte {
	if length <= sparseShortZeros {
		return append(b, byte(length-1))
	}
	return append(b, 0x40|byte((length-1)>>8), byte(length-1))
}

// sparseSet is set for a sparse HyperLogLog, which may become dense by it.
func (h *hll) sparseSet(index int, value byte, sparseMax int64) (changed, ok bool) {
	if value > sparseMaxValue {
		return h.promote(index, value)
	}
	prev, at, first := hllHeader, hllHeader, 0 // the run before, the run, its first register
	var r run
	for at < len(h.b) {
		if r = sparseRun(h.b, at); index < first+r.length {
			break
		}
		prev = at
		at += r.size
		first += r.length
	}
	if at >= len(h.b) {
		return false, false
	}
	if r.value >= value {
		return false, true
	}
	var room [5]byte
	instead := r.split(room[:0], index-first, value)
	longer := len(instead) - r.size
	if longer > 0 && int64(len(h.b)+longer) > sparseMax {
		return h.promote(index, value)
	}
	h.replace(at, r.size, instead)
	h.mergeRuns(prev)
	h.spoilCount()
	return true, true
}

// split appends runs that are like r but for the register at an offset.
func (r run) split(b []byte, offset int, value byte) []byte {
	same := func(length int) {
		switch {
		case length == 0:
		case r.value == 0:
			b = appendZeroRun(b, length)
		default:
			b = append(b, valueRun(r.value, length))
		}
	}
	same(offset)
	b = append(b, valueRun(value, 1))
	same(r.length - offset - 1)
	return b
}

// replace puts runs in the place of size bytes. The last run of a corrupt string may
// have a byte less than it should: then what is put there loses its last byte, too.
func (h *hll) replace(at, size int, runs []byte) {
	length := len(h.b) + len(runs) - size
	tail := h.b[min(at+size, len(h.b)):]
	if len(runs) > size {
		tail = append([]byte(nil), tail...)
	}
	h.b = append(append(h.b[:at], runs...), tail...)[:length]
}

// mergeRuns joins runs of the same value, looking at a few from at on.
func (h *hll) mergeRuns(at int) {
	for range 5 {
		if at >= len(h.b) {
			return
		}
		a := sparseRun(h.b, at)
		if a.value > 0 && at+1 < len(h.b) {
			b := sparseRun(h.b, at+1)
			if a.value == b.value && a.length+b.length <= sparseMaxRepeat {
				h.replace(at, 2, []byte{valueRun(a.value, a.length+b.length)})
				continue
			}
		}
		at += a.size
	}
}

// promote makes h dense and sets a register.
func (h *hll) promote(index int, value byte) (changed, ok bool) {
	if !h.toDense() {
		return false, false
	}
	h.denseSet(index, value)
	return true, true
}

// toDense makes a sparse h dense. It returns false if the content is corrupt.
func (h *hll) toDense() bool {
	if h.b[4] == hllDense {
		return true
	}
	dense := hll{make([]byte, hllDenseSize)}
	copy(dense.b, h.b[:hllHeader])
	dense.b[4] = hllDense
	if !eachRegister(h.b, dense.denseSet) {
		return false
	}
	h.b = dense.b
	return true
}

// eachRegister calls f for the registers that are not 0. It returns false if the content
// is corrupt, which shows only at the end.
func eachRegister[T string | []byte](b T, f func(i int, value byte)) bool {
	if b[4] == hllDense {
		for i := range hllRegisterCount {
			if v := denseRegister(b, i); v > 0 {
				f(i, v)
			}
		}
		return true
	}
	register := 0
	for i := hllHeader; i < len(b); {
		r := sparseRun(b, i)
		if r.value > 0 {
			if register+r.length > hllRegisterCount {
				break
			}
			for k := range r.length {
				f(register+k, r.value)
			}
		}
		register += r.length
		i += r.size
	}
	return register == hllRegisterCount
}

// count is the number that was last counted, if it is still right.
func (h hll) count() (n int64, known bool) {
	return int64(binary.LittleEndian.Uint64(h.b[8:])), h.b[15]&0x80 == 0
}

func (h hll) setCount(n int64) { binary.LittleEndian.PutUint64(h.b[8:], uint64(n)) }

// spoilCount marks the count as out of date.
func (h hll) spoilCount() { h.b[15] |= 0x80 }

// histogram counts the registers. ok is false if the content is corrupt.
func (h hll) histogram() (counts hllHistogram, ok bool) {
	if h.b[4] == hllDense {
		for i := range hllRegisterCount {
			counts[h.denseGet(i)]++
		}
		return counts, true
	}
	total := 0
	for i := hllHeader; i < len(h.b); {
		r := sparseRun(h.b, i)
		counts[r.value] += r.length
		total += r.length
		i += r.size
	}
	return counts, total == hllRegisterCount
}

func (r *hllRegisters) histogram() (counts hllHistogram) {
	for _, v := range r {
		counts[v]++
	}
	return counts
}

// estimate is the number of different elements that registers tell of, as O. Ertl found
// ("New cardinality estimation algorithms for HyperLogLog sketches", 2017).
func (counts *hllHistogram) estimate() int64 {
	const m, alpha = hllRegisterCount, 0.721347520444481703680
	z := m * ertlTau((m-float64(counts[hllMaxRank]))/m)
	for k := hllMaxRank - 1; k >= 1; k-- {
		z = (z + float64(counts[k])) / 2
	}
	z += float64(m * ertlSigma(float64(counts[0])/m))
	return cInt64(math.Round(alpha * m * m / z))
}

func ertlSigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	y, z := 1.0, x
	for before := -1.0; z != before; y += y {
		x *= x
		before = z
		z += float64(x * y)
	}
	return z
}

func ertlTau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for before := -1.0; z != before; {
		x = math.Sqrt(x)
		before = z
		y /= 2
		z -= float64((1 - x) * (1 - x) * y)
	}
	return z / 3
}
