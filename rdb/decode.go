package rdb

import (
	"fmt"
	"math"
	"strconv"
)

// Error is what is wrong with a payload or file.
type Error struct {
	Offset int    // bytes from the start at which reading stopped
	Type   string // what was being read: "hash listpack", "header", ...
	Text   string // what is wrong
}

func (e *Error) Error() string {
	return fmt.Sprintf("rdb: at byte %d, %s: %s", e.Offset, e.Type, e.Text)
}

// reader reads a payload. After a failure err is set and everything reads as zero.
type reader struct {
	s    string
	at   int
	what string // what is being read
	err  *Error
}

// fail notes what is wrong, unless something was before.
func (r *reader) fail(text string) {
	if r.err == nil {
		r.err = &Error{Offset: r.at, Type: r.what, Text: text}
	}
}

// left is how many bytes there are still.
func (r *reader) left() int { return len(r.s) - r.at }

// take reads n bytes.
func (r *reader) take(n uint64) string {
	if r.err == nil && n > uint64(r.left()) {
		r.fail("ends too early")
	}
	if r.err != nil {
		return ""
	}
	out := r.s[r.at : r.at+int(n)]
	r.at += int(n)
	return out
}

func (r *reader) byte() byte {
	if s := r.take(1); s != "" {
		return s[0]
	}
	return 0
}

// length reads a length.
func (r *reader) length() uint64 {
	n, encoded := r.lengthOrEncoding()
	if encoded {
		r.fail("an encoding in place of a length")
		return 0
	}
	return n
}

// count reads how many things follow, each of at least one byte.
func (r *reader) count() int {
	n := r.length()
	if n > uint64(r.left()) {
		r.fail("ends too early")
		return 0
	}
	return int(n)
}

// lengthOrEncoding reads a length, or with encoded set the number of a string encoding.
func (r *reader) lengthOrEncoding() (n uint64, encoded bool) {
	first := r.byte()
	switch first & 0xc0 {
	case len6Bit:
		return uint64(first & 0x3f), false
	case len14Bit:
		return uint64(first&0x3f)<<8 | uint64(r.byte()), false
	case lenEncoded:
		return uint64(first & 0x3f), true
	}
	switch first {
	case len32Bit:
		return bigEndian(r.take(4)), false
	case len64Bit:
		return bigEndian(r.take(8)), false
	}
	r.fail(fmt.Sprintf("unknown kind of length %#x", first))
	return 0, false
}

// str reads a string.
func (r *reader) str() string {
	n, encoded := r.lengthOrEncoding()
	if !encoded {
		return r.take(n)
	}
	switch n {
	case encInt8:
		return strconv.Itoa(int(int8(littleEndian(r.take(1)))))
	case encInt16:
		return strconv.Itoa(int(int16(littleEndian(r.take(2)))))
	case encInt32:
		return strconv.Itoa(int(int32(littleEndian(r.take(4)))))
	case encLZF:
		packed := r.length()
		size := r.length()
		s, ok := lzfExpand(r.take(packed), size)
		if !ok {
			r.fail("broken LZF compression")
		}
		return s
	}
	r.fail(fmt.Sprintf("unknown string encoding %d", n))
	return ""
}

// millis reads a time in Unix milliseconds.
func (r *reader) millis() int64 { return int64(littleEndian(r.take(8))) }

// double reads a score.
func (r *reader) double() float64 { return math.Float64frombits(littleEndian(r.take(8))) }

// textDouble reads a score that is kept as text.
func (r *reader) textDouble() float64 {
	switch n := r.byte(); n {
	case 255:
		return math.Inf(-1)
	case 254:
		return math.Inf(1)
	case 253:
		return math.NaN()
	default:
		return r.number(r.take(uint64(n)))
	}
}

// number is the double that s is the text of.
func (r *reader) number(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		r.fail(fmt.Sprintf("score %.40q is not a number", s))
	}
	return f
}

func littleEndian(s string) (n uint64) {
	for i := len(s) - 1; i >= 0; i-- {
		n = n<<8 | uint64(s[i])
	}
	return n
}

func bigEndian(s string) (n uint64) {
	for i := range len(s) {
		n = n<<8 | uint64(s[i])
	}
	return n
}

// signed is the integer of the low bits that littleEndian returned.
func signed(n uint64, bits int) int64 { return int64(n<<(64-bits)) >> (64 - bits) }
