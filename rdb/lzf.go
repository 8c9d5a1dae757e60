package rdb

import "sync"

// LZF is the compression in RDB strings. A control byte below 32 copies that many
// bytes and one more as they are; any other repeats bytes already written: its upper
// three bits are the count less two (7: more follows in the next byte), the lower
// five and the last byte of the item the distance less one.
const (
	lzfMaxLiteral  = 1 << 5
	lzfMaxDistance = 1 << 13
	lzfMaxRepeat   = 1<<8 + 1<<3
	lzfHashBits    = 16
)

// lzfHash is the slot of the three bytes at s[i]; two strings of the same hash
// need not be equal.
func lzfHash(s string, i int) uint32 {
	h := uint32(s[i])<<16 | uint32(s[i+1])<<8 | uint32(s[i+2])
	return (h>>(3*8-lzfHashBits) - h*5) & (1<<lzfHashBits - 1)
}

// lzfTable has the positions at which hashes were met last. It is used again and again,
// as to clear it would take longer than to compress a short string: what is not above base
// is of a string before.
type lzfTable struct {
	at   [1 << lzfHashBits]int64
	base int64
}

var lzfTables = sync.Pool{New: func() any { return new(lzfTable) }}

// swap returns the position that a hash was met at, less than 0 if there is none, and sets
// it to i.
func (t *lzfTable) swap(hash uint32, i int) int {
	slot := &t.at[hash]
	ref := *slot - t.base - 1
	*slot = t.base + int64(i) + 1
	return int(ref)
}

// done gives the table back after a string of n bytes.
func (t *lzfTable) done(n int) {
	t.base += int64(n)
	lzfTables.Put(t)
}

// lzfWriter builds the compressed form.
type lzfWriter struct {
	in    string
	out   []byte
	start int // first byte that is not written yet
}

// literals writes in[start:end] as it is.
func (w *lzfWriter) literals(end int) {
	for w.start < end {
		n := min(end-w.start, lzfMaxLiteral)
		w.out = append(w.out, byte(n-1))
		w.out = append(w.out, w.in[w.start:w.start+n]...)
		w.start += n
	}
}

// repeat writes n bytes that stand at a distance before.
func (w *lzfWriter) repeat(n, distance int) {
	off, count := distance-1, n-2
	if count < 7 {
		w.out = append(w.out, byte(off>>8|count<<5), byte(off))
	} else {
		w.out = append(w.out, byte(off>>8|7<<5), byte(count-7), byte(off))
	}
	w.start += n
}

// lzfCompress compresses s as the server does, choice by choice; nil when the
// result would not fit into limit bytes.
func lzfCompress(s string, limit int) []byte {
	w := lzfWriter{in: s}
	table := lzfTables.Get().(*lzfTable)
	defer table.done(len(s))
	i := 0
	for i < len(s)-2 {
		ref := table.swap(lzfHash(s, i), i)
		// A match at the very first byte is not taken, as the server does not.
		if ref <= 0 || i-ref > lzfMaxDistance || s[ref:ref+3] != s[i:i+3] {
			i++
			continue
		}
		w.literals(i)
		if len(w.out)+4 >= limit { // an item and the byte that opens the next one
			return nil
		}
		n := lzfMatch(s, ref, i)
		w.repeat(n, i-ref)
		if i += n; i >= len(s)-2 {
			break
		}
		for at := i - 2; at < i; at++ { // only so much of what was skipped can be found later
			table.swap(lzfHash(s, at), at)
		}
	}
	if pending := i - w.start; len(w.out)+pending+pending/lzfMaxLiteral+4 > limit {
		return nil
	}
	w.literals(len(s))
	return w.out
}

// lzfMatch is how many bytes at i repeat those at ref, which three do. The
// first 18 are compared whatever the limit, as the server does.
func lzfMatch(s string, ref, i int) int {
	limit := min(len(s)-i-2, lzfMaxRepeat)
	n := 2
	if limit > 16 {
		for n < 18 {
			if n++; s[ref+n] != s[i+n] {
				return n
			}
		}
	}
	for {
		if n++; n >= limit || s[ref+n] != s[i+n] {
			return n
		}
	}
}

// lzfExpand is the string of so many bytes that s is the compressed form of.
func lzfExpand(s string, size uint64) (string, bool) {
	if size > uint64(len(s))*(lzfMaxRepeat+1) { // more than any input can give
		return "", false
	}
	out := make([]byte, 0, min(size, 4*uint64(len(s)))) // what a broken payload claims is not taken on trust
	for len(s) > 0 {
		c := int(s[0])
		s = s[1:]
		if c < lzfMaxLiteral {
			if len(s) < c+1 {
				return "", false
			}
			out = append(out, s[:c+1]...)
			s = s[c+1:]
			continue
		}
		n := c >> 5
		if n == 7 && len(s) > 0 {
			n += int(s[0])
			s = s[1:]
		}
		if len(s) == 0 {
			return "", false
		}
		from := len(out) - (c&0x1f)<<8 - int(s[0]) - 1
		s = s[1:]
		if from < 0 || uint64(len(out)+n+2) > size {
			return "", false
		}
		for n += 2; n > 0; { // more than there is yet repeats itself
			k := min(n, len(out)-from)
			out = append(out, out[from:from+k]...)
			n, from = n-k, from+k
		}
	}
	return string(out), uint64(len(out)) == size
}
