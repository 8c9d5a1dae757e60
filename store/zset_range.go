package store

import "math"

// ScoreRange is a range of scores, from Min to Max. MinEx and MaxEx exclude the bound.
type ScoreRange struct {
	Min, Max     float64
	MinEx, MaxEx bool
}

// LexRange is a range of members in byte order, from Min to Max. MinEx and MaxEx exclude
// the bound.
type LexRange struct {
	Min, Max     string
	MinEx, MaxEx bool
	MinInf       LexInf // in place of Min
	MaxInf       LexInf // in place of Max
}

// LexInf tells whether a bound of a LexRange is one of the infinite ones.
type LexInf int8

// The bounds: Min or Max itself, below and above all members.
const (
	LexMinus LexInf = iota - 1
	LexFinite
	LexPlus
)

// ScoreSpan returns the indexes of the members whose score is in r: from first to end,
// end not included. first == end if there are none.
func (z *ZSetObj) ScoreSpan(r ScoreRange) (first, end int) {
	first = z.scoreIndex(r.Min, r.MinEx)
	end = z.scoreIndex(r.Max, !r.MaxEx)
	return first, max(first, end)
}

// scoreIndex returns the index of the first member whose score is not less than a bound,
// or greater than it.
func (z *ZSetObj) scoreIndex(bound float64, greater bool) int {
	if greater {
		if math.IsInf(bound, 1) {
			return z.Len()
		}
		bound = math.Nextafter(bound, math.Inf(1))
	}
	return z.order.Rank(scored{score: bound})
}

// LexSpan returns the indexes of the members that are in r: from first to end, end not
// included. first == end if there are none. All members are meant to have one score;
// if not, the result is some span of the set.
func (z *ZSetObj) LexSpan(r LexRange) (first, end int) {
	first = z.lexIndex(r.Min, r.MinInf, r.MinEx)
	end = z.lexIndex(r.Max, r.MaxInf, !r.MaxEx)
	return first, max(first, end)
}

// lexIndex returns the index of the first member that is not less than a bound, or
// greater than it.
func (z *ZSetObj) lexIndex(bound string, inf LexInf, greater bool) int {
	switch {
	case inf == LexMinus || z.Len() == 0:
		return 0
	case inf == LexPlus:
		return z.Len()
	}
	if greater {
		bound += "\x00" // the least string above it
	}
	lowest, _ := z.order.Min()
	return z.order.Rank(scored{lowest.score, bound})
}
