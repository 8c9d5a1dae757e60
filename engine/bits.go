package engine

import (
	"encoding/binary"
	"math/bits"
)

// Bit 0 of a string is the highest one of its first byte.

// wordBytes is the number of bytes in a word.
const wordBytes = 8

// countBits is the number of ones from bit first to bit last.
func countBits(b []byte, first, last int64) (n int64) {
	if first > last {
		return 0
	}
	b = b[first>>3 : last>>3+1]
	n = -int64(bits.OnesCount8(b[0]&^(0xff>>(first&7))) + bits.OnesCount8(b[len(b)-1]&(0x7f>>(last&7))))
	for ; len(b) >= wordBytes; b = b[wordBytes:] {
		n += int64(bits.OnesCount64(binary.BigEndian.Uint64(b)))
	}
	for _, x := range b {
		n += int64(bits.OnesCount8(x))
	}
	return n
}

// findBit is the first one, or the first zero, from bit first to bit last; -1 if there is none.
func findBit(b []byte, first, last int64, one bool) int64 {
	flip := ^byte(0)
	if one {
		flip = 0
	}
	for i := first >> 3; i <= last>>3; i++ {
		x := b[i] ^ flip
		if i == first>>3 {
			x &= 0xff >> (first & 7)
		}
		if x != 0 {
			if pos := i<<3 + int64(bits.LeadingZeros8(x)); pos <= last {
				return pos
			}
			return -1
		}
		i += int64(sameBytes(b[i+1:last>>3+1], flip))
	}
	return -1
}

// sameBytes is a number of bytes at the beginning that are all x, counted by fours of words.
func sameBytes(b []byte, x byte) int {
	same := uint64(x) * 0x0101010101010101
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[i*wordBytes:]) ^ same }
	all := len(b)
	for ; len(b) >= 4*wordBytes; b = b[4*wordBytes:] {
		if word(0)|word(1)|word(2)|word(3) != 0 {
			break
		}
	}
	return all - len(b)
}

// bitOperation is an operation of BITOP.
type bitOperation uint8

const (
	bitAnd bitOperation = iota + 1
	bitOr
	bitXor
	bitNot
)

var bitOperations = map[string]bitOperation{"and": bitAnd, "or": bitOr, "xor": bitXor, "not": bitNot}

// words is the operation on two words; NOT is that of the second one.
func (op bitOperation) words(a, b uint64) uint64 {
	switch op {
	case bitAnd:
		return a & b
	case bitOr:
		return a | b
	case bitXor:
		return a ^ b
	}
	return ^b
}

// combine makes dst the result of the operation on it and src, which is as long or
// shorter and goes on with zeros.
func (op bitOperation) combine(dst, src []byte) {
	n := len(src) &^ (wordBytes - 1)
	for i := 0; i < n; i += wordBytes {
		d := dst[i : i+wordBytes]
		binary.LittleEndian.PutUint64(d, op.words(binary.LittleEndian.Uint64(d), binary.LittleEndian.Uint64(src[i:])))
	}
	for i := n; i < len(src); i++ {
		dst[i] = byte(op.words(uint64(dst[i]), uint64(src[i])))
	}
	if op == bitAnd {
		clear(dst[len(src):])
	}
}

// combineBits is the operation on all sources, the longest of which has that length.
func combineBits(op bitOperation, sources [][]byte, length int) []byte {
	out := make([]byte, length)
	if op != bitNot {
		copy(out, sources[0])
		sources = sources[1:]
	}
	for _, src := range sources {
		op.combine(out, src)
	}
	return out
}

// bitField is an integer in a string: its width in bits, from bit offset on.
type bitField struct {
	signed bool
	width  int
	offset int64
}

// bytes are the bytes that the field has a part in: the first one and their number, up to 9.
func (f bitField) bytes() (first, n int) {
	return int(f.offset >> 3), int(f.offset&7+int64(f.width)+7) / 8
}

// get reads the field from the bytes that it begins in, zero bytes where b ends.
func (f bitField) get(b []byte) int64 {
	first, _ := f.bytes()
	var buf [wordBytes + 1]byte
	copy(buf[:], b[min(first, len(b)):])
	shift := f.offset & 7
	word := binary.BigEndian.Uint64(buf[:])<<shift | uint64(buf[wordBytes])>>(8-shift)
	return f.extend(word >> (64 - f.width))
}

// extend is the integer that the field's lowest bits of v are.
func (f bitField) extend(v uint64) int64 {
	if f.signed {
		return int64(v<<(64-f.width)) >> (64 - f.width)
	}
	return int64(v << (64 - f.width) >> (64 - f.width))
}

// put returns the bytes of b that the field has a part in, with v in the field.
func (f bitField) put(b []byte, v int64) []byte {
	first, n := f.bytes()
	var buf [wordBytes + 1]byte
	copy(buf[:n], b[first:])
	shift := f.offset & 7
	high := ^uint64(0) << (64 - f.width) // the field's bits, if it began at a byte
	value := uint64(v) << (64 - f.width)
	word := binary.BigEndian.Uint64(buf[:])
	binary.BigEndian.PutUint64(buf[:], word&^(high>>shift)|value>>shift)
	buf[wordBytes] = buf[wordBytes]&^byte(high<<(8-shift)) | byte(value<<(8-shift))
	return buf[:n]
}

// limits are the least and the greatest integer that fits.
func (f bitField) limits() (least, greatest int64) {
	if f.signed {
		return -1 << (f.width - 1), 1<<(f.width-1) - 1
	}
	return 0, 1<<f.width - 1
}

// overflow tells whether value+by is too great for the field, 1, or too small, -1. A
// value outside the limits comes with by 0 only. What the differences are when they wrap
// around is the server's way: it takes the least 64-bit values for too great.
func (f bitField) overflow(value, by int64) int {
	least, greatest := f.limits()
	narrow := f.width < 64
	switch {
	case value > greatest, !f.signed && value < 0, (narrow || value >= 0) && by > greatest-value:
		return 1
	case value < least, (narrow || value < 0) && by < least-value:
		return -1
	}
	return 0
}
