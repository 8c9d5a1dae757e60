package engine

import (
	"math"
	"slices"

	"github.com/echomq/echomq-sim/resp"
)

var (
	errRandCount  = resp.Err("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807")
	errRandTooBig = resp.Err("ERR value is out of range")
)

// maxRandomPicks bounds the elements drawn with repetition. The server has no
// such bound: it goes on until its memory is used up.
const maxRandomPicks = 1 << 22

// randArgs parses the [count [WORD]] that HRANDFIELD and ZRANDMEMBER have behind
// the key. Without it the count is 1.
func (c *Call) randArgs(word string) (count int64, with bool, bad *resp.Value) {
	if len(c.Args) == 2 {
		return 1, false, nil
	}
	if count, bad = c.intArg(2); bad != nil {
		return 0, false, bad
	}
	with = len(c.Args) == 4 && c.is(3, word)
	switch {
	case count == math.MinInt64:
		bad = &errRandCount
	case len(c.Args) > 3 && !with:
		bad = &errSyntax
	case with && (count < -math.MaxInt64/2 || count > math.MaxInt64/2):
		bad = &errRandTooBig
	}
	return count, with, bad
}

// pickIndexes draws indexes below size: different ones in rising order if count is
// positive, at most all there are; -count independent ones otherwise.
func (c *Call) pickIndexes(size int, count int64) []int {
	var out []int
	switch {
	case count < 0:
		for ; count < 0; count++ {
			out = append(out, c.rng.IntN(size))
		}
		return out
	case count >= int64(size):
		for i := range size {
			out = append(out, i)
		}
		return out
	case 3*count > int64(size):
		need := int(count)
		for i := 0; need > 0; i++ {
			if c.rng.IntN(size-i) < need {
				out = append(out, i)
				need--
			}
		}
		return out
	}
	picked := make(map[int]bool, count)
	for len(picked) < int(count) {
		if i := c.rng.IntN(size); !picked[i] {
			picked[i] = true
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return out
}

// smallestBulk is the least that an element of a reply takes, in bytes.
const smallestBulk = len("$0\r\n\r\n")

// tooManyPicks is the reply to a count beyond the bound. A client whose limit for output
// would be exceeded by it is cut off, as the server does on its way to that count.
func (c *Call) tooManyPicks(count int64) resp.Value {
	limit := c.Sess.outputLimit().hard
	if c.script != nil || c.Sess.conn == nil || limit == 0 || limit/uint64(smallestBulk) > uint64(-count) {
		return errRandTooBig
	}
	if !c.Sess.cut {
		c.Sess.overflow()
	}
	return resp.None
}

// randomElements is the reply of HRANDFIELD and ZRANDMEMBER: elements at random indexes
// below size, each followed by what belongs to it if that is wanted.
func (c *Call) randomElements(size int, count int64, with bool, at func(i int) (elem, other resp.Value)) resp.Value {
	if count < -maxRandomPicks {
		return c.tooManyPicks(count)
	}
	var out []resp.Value
	for _, i := range c.pickIndexes(size, count) {
		elem, other := at(i)
		out = append(out, elem)
		if with {
			out = append(out, other)
		}
	}
	switch {
	case len(c.Args) == 2:
		return out[0]
	case with:
		return resp.Pairs(out...)
	}
	return resp.Array(out...)
}
