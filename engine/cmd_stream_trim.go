package engine

import (
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

// streamTrimOptions are the options of XADD and XTRIM.
type streamTrimOptions struct {
	trims    bool
	trim     store.StreamTrim
	noMake   bool // XADD only, and so are the next three
	id       store.StreamID
	idGiven  bool // not *
	seqGiven bool // not ms-*

	limitGiven bool
	at         int // the argument that is the threshold
}

var (
	errTrimBoth     = resp.Err("ERR syntax error, MAXLEN and MINID options at the same time are not compatible")
	errTrimMaxLen   = resp.Err("ERR The MAXLEN argument must be >= 0.")
	errTrimLimit    = resp.Err("ERR The LIMIT argument must be >= 0.")
	errTrimNothing  = resp.Err("ERR syntax error, XTRIM must be called with a trimming strategy")
	errLimitNoTrim  = resp.Err("ERR syntax error, LIMIT cannot be used without specifying a trimming strategy")
	errLimitNoTilde = resp.Err("ERR syntax error, LIMIT cannot be used without the special ~ option")
)

// parse reads the options, for XADD up to the ID, and returns the index of what follows.
func (o *streamTrimOptions) parse(c *Call, add bool) (next int, bad *resp.Value) {
	i := 2
	for ; i < len(c.Args); i++ {
		last := i+1 == len(c.Args)
		switch {
		case add && cString(c.Args[i]) == "*":
			return i + 1, o.finish(c, add)
		case c.is(i, "maxlen") && !last:
			i, bad = o.threshold(c, i+1, false)
		case c.is(i, "minid") && !last:
			i, bad = o.threshold(c, i+1, true)
		case c.is(i, "limit") && !last:
			i++
			bad = o.limit(c, i)
		case add && c.is(i, "nomkstream"):
			o.noMake = true
		case add:
			var anySeq, ok bool
			if o.id, anySeq, ok = parseStreamID(c.Args[i], 0); !ok {
				return 0, &errStreamID
			}
			o.idGiven, o.seqGiven = true, !anySeq
			return i + 1, o.finish(c, add)
		default:
			bad = &errSyntax
		}
		if bad != nil {
			return 0, bad
		}
	}
	return i, o.finish(c, add)
}

// threshold parses [= | ~] threshold from argument i on and returns the last one's index.
func (o *streamTrimOptions) threshold(c *Call, i int, byID bool) (last int, bad *resp.Value) {
	if o.trims {
		return 0, &errTrimBoth
	}
	o.trims, o.trim.ByID = true, byID
	if sign := cString(c.Args[i]); (sign == "~" || sign == "=") && i+1 < len(c.Args) {
		o.trim.Approx = sign == "~"
		i++
	}
	o.at = i
	if byID {
		o.trim.MinID, bad = streamID(c.Args[i], 0)
		return i, bad
	}
	if o.trim.MaxLen, bad = c.intArg(i); bad == nil && o.trim.MaxLen < 0 {
		bad = &errTrimMaxLen
	}
	return i, bad
}

func (o *streamTrimOptions) limit(c *Call, i int) (bad *resp.Value) {
	if o.trim.Limit, bad = c.intArg(i); bad == nil && o.trim.Limit < 0 {
		bad = &errTrimLimit
	}
	o.limitGiven = true
	return bad
}

// finish checks that the options fit together. Approximate trimming that is not given a
// limit stops after a hundred nodes.
func (o *streamTrimOptions) finish(c *Call, add bool) *resp.Value {
	switch {
	case o.trim.Limit != 0 && !o.trims:
		return &errLimitNoTrim
	case !add && !o.trims:
		return &errTrimNothing
	case o.limitGiven && !o.trim.Approx:
		return &errLimitNoTilde
	case !o.limitGiven && o.trim.Approx:
		limit := 100 * int64(c.limits.StreamNodeMaxEntries)
		if limit <= 0 {
			limit = 10000
		}
		o.trim.Limit = min(limit, 1000000)
	}
	return nil
}
