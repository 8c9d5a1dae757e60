package store

import (
	"cmp"
	"math"
	"strconv"
)

// StreamID is the ID of a stream entry: a Unix time in milliseconds, as a rule, and a
// number that tells entries of one millisecond apart.
type StreamID struct{ Ms, Seq uint64 }

// MaxStreamID is the greatest ID there is. The zero StreamID is the least.
var MaxStreamID = StreamID{math.MaxUint64, math.MaxUint64}

// Compare returns -1, 0 or 1 as a is less than, equal to or greater than b.
func (a StreamID) Compare(b StreamID) int {
	if a.Ms != b.Ms {
		return cmp.Compare(a.Ms, b.Ms)
	}
	return cmp.Compare(a.Seq, b.Seq)
}

func (a StreamID) compare(b StreamID) int { return a.Compare(b) }

// Next returns the ID after a. ok is false if there is none, in which case the ID is
// the least one.
func (a StreamID) Next() (next StreamID, ok bool) {
	switch {
	case a == MaxStreamID:
		return StreamID{}, false
	case a.Seq == math.MaxUint64:
		return StreamID{a.Ms + 1, 0}, true
	}
	return StreamID{a.Ms, a.Seq + 1}, true
}

// Prev returns the ID before a. ok is false if there is none, in which case the ID is
// the greatest one.
func (a StreamID) Prev() (prev StreamID, ok bool) {
	switch {
	case a == StreamID{}:
		return MaxStreamID, false
	case a.Seq == 0:
		return StreamID{a.Ms - 1, math.MaxUint64}, true
	}
	return StreamID{a.Ms, a.Seq - 1}, true
}

// String returns the ID as servers write it: "1526919030474-55".
func (a StreamID) String() string {
	var buf [41]byte
	b := append(strconv.AppendUint(buf[:0], a.Ms, 10), '-')
	return string(strconv.AppendUint(b, a.Seq, 10))
}
