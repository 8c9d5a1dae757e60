package rdb

import (
	"encoding/binary"
	"strconv"
)

// A listpack is its size (4 bytes), its number of entries (2 bytes, all ones if that is
// too many), the entries, and an end byte. An entry is an encoding byte, the value, and
// the length of the two once more, to be read backwards.
const (
	listpackHeader = 6
	listpackEnd    = 0xff
	manyEntries    = 0xffff
)

// listpack is one that is being built.
type listpack struct {
	b       []byte
	entries int
}

func newListpack() *listpack { return &listpack{b: make([]byte, listpackHeader, 64)} }

// text is the finished listpack.
func (l *listpack) text() string {
	l.b = append(l.b, listpackEnd)
	binary.LittleEndian.PutUint32(l.b, uint32(len(l.b)))
	binary.LittleEndian.PutUint16(l.b[4:], uint16(min(l.entries, manyEntries)))
	return string(l.b)
}

// str appends a string, as an integer if it is the text of one.
func (l *listpack) str(s string) {
	if n, ok := parseInt(s); ok {
		l.int(n)
		return
	}
	from := len(l.b)
	switch {
	case len(s) < 1<<6:
		l.b = append(l.b, 0x80|byte(len(s)))
	case len(s) < 1<<12:
		l.b = append(l.b, 0xe0|byte(len(s)>>8), byte(len(s)))
	default:
		l.b = binary.LittleEndian.AppendUint32(append(l.b, 0xf0), uint32(len(s)))
	}
	l.b = append(l.b, s...)
	l.close(from)
}

// int appends an integer.
func (l *listpack) int(n int64) {
	from := len(l.b)
	switch u := uint64(n); {
	case n >= 0 && n < 1<<7:
		l.b = append(l.b, byte(n))
	case n == signed(u, 13):
		l.b = append(l.b, 0xc0|byte(u>>8)&0x1f, byte(u))
	case n == signed(u, 16):
		l.b = append(l.b, 0xf1, byte(u), byte(u>>8))
	case n == signed(u, 24):
		l.b = append(l.b, 0xf2, byte(u), byte(u>>8), byte(u>>16))
	case n == signed(u, 32):
		l.b = binary.LittleEndian.AppendUint32(append(l.b, 0xf3), uint32(u))
	default:
		l.b = binary.LittleEndian.AppendUint64(append(l.b, 0xf4), u)
	}
	l.close(from)
}

// close appends the length of the entry that begins at from.
func (l *listpack) close(from int) {
	l.b = appendBackLen(l.b, len(l.b)-from)
	l.entries++
}

// appendBackLen appends a length in groups of seven bits, the highest first; all but the
// first of them have the top bit set, so that it can be read from the end.
func appendBackLen(b []byte, n int) []byte {
	groups := backLenBytes(n)
	for i := groups - 1; i >= 0; i-- {
		group := byte(n>>(7*i)) & 0x7f
		if i < groups-1 {
			group |= 0x80
		}
		b = append(b, group)
	}
	return b
}

func backLenBytes(n int) int {
	switch { // the borders are the server's, one less than they could be
	case n <= 127:
		return 1
	case n < 1<<14-1:
		return 2
	case n < 1<<21-1:
		return 3
	case n < 1<<28-1:
		return 4
	}
	return 5
}

// listpackReader walks the entries of a listpack.
type listpackReader struct {
	s       string // the entries and the end byte
	entries int    // that were read
	claimed int    // that there should be
	bad     bool
}

// openListpack begins to read a listpack.
func openListpack(s string) listpackReader {
	if len(s) < listpackHeader+1 || littleEndian(s[:4]) != uint64(len(s)) || s[len(s)-1] != listpackEnd {
		return listpackReader{bad: true}
	}
	return listpackReader{s: s[listpackHeader:], claimed: int(littleEndian(s[4:6]))}
}

// more reports whether there is another entry. At the end it looks whether all is well.
func (l *listpackReader) more() bool {
	if l.bad {
		return false
	}
	if l.s[0] != listpackEnd {
		return true
	}
	l.bad = len(l.s) != 1 || l.claimed != manyEntries && l.claimed != l.entries
	return false
}

// listpackHead tells what the encoding at the start of s is: bytes before the value and
// of it, 0 for the former if there is none; an integer in the first byte has no value.
func listpackHead(s string) (head, size int) {
	switch first := s[0]; {
	case first < 0x80:
		return 1, 0
	case first < 0xc0:
		return 1, int(first & 0x3f)
	case first < 0xe0:
		return 1, 1
	case first < 0xf0 && len(s) > 1:
		return 2, int(first&0x0f)<<8 | int(s[1])
	case first == 0xf0 && len(s) > 4:
		return 5, int(min(littleEndian(s[1:5]), uint64(len(s))))
	case first >= 0xf1 && first <= 0xf4:
		return 1, [...]int{2, 3, 4, 8}[first-0xf1]
	}
	return 0, 0
}

// next reads an entry: a string, or with isInt set an integer.
func (l *listpackReader) next() (s string, n int64, isInt bool) {
	if !l.more() {
		l.bad = true
		return "", 0, false
	}
	head, size := listpackHead(l.s)
	tail := backLenBytes(head + size)
	if head == 0 || head+size+tail >= len(l.s) || !sameBackLen(l.s[head+size:head+size+tail], head+size) {
		l.bad = true
		return "", 0, false
	}
	first, value := l.s[0], l.s[head:head+size]
	l.s = l.s[head+size+tail:]
	l.entries++
	switch {
	case first < 0x80:
		return "", int64(first), true
	case first >= 0xc0 && first < 0xe0:
		return "", signed(uint64(first&0x1f)<<8|uint64(value[0]), 13), true
	case first >= 0xf1:
		return "", signed(littleEndian(value), 8*size), true
	}
	return value, 0, false
}

func sameBackLen(s string, n int) bool {
	var b [5]byte
	return string(appendBackLen(b[:0], n)) == s
}

// str reads an entry as a string.
func (l *listpackReader) str() string {
	s, n, isInt := l.next()
	if isInt {
		return strconv.FormatInt(n, 10)
	}
	return s
}

// int reads an entry that must be an integer.
func (l *listpackReader) int() int64 {
	_, n, isInt := l.next()
	if !isInt {
		l.bad = true
	}
	return n
}

// listpackStrings reads all entries of a listpack.
func listpackStrings(s string) (all []string, ok bool) {
	l := openListpack(s)
	for l.more() {
		all = append(all, l.str())
	}
	return all, !l.bad
}
