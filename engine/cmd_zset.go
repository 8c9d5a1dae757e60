package engine

import (
	"math"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var zsetCommands = []Spec{
	{Name: "zadd", Arity: -4, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Update)), run: zadd,
		Group: "sorted-set", Since: "1.2.0", Complexity: "O(log(N)) for each item added, where N is the number of elements in the sorted set.",
		Summary: "Adds one or more members to a sorted set, or updates their scores. Creates the key if it doesn't exist.",
		History: []string{"2.4.0 Accepts multiple elements.", "3.0.2 Added the `XX`, `NX`, `CH` and `INCR` options.", "6.2.0 Added the `GT` and `LT` options."},
		Args:    `key:k#0 condition<nx:t=NX xx:t=XX>@3.0.2? comparison<gt:t=GT lt:t=LT>@6.2.0? change:t=CH@3.0.2? increment:t=INCR@3.0.2? data{score:d member}*`},
	{Name: "zcard", Arity: 2, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO)), run: zcard,
		Group: "sorted-set", Since: "1.2.0", Complexity: "O(1)",
		Summary: "Returns the number of members in a sorted set.",
		Args:    `key:k#0`},
	{Name: "zincrby", Arity: 4, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Access | Update)), run: zincrby,
		Group: "sorted-set", Since: "1.2.0", Complexity: "O(log(N)) where N is the number of elements in the sorted set.",
		Summary: "Increments the score of a member in a sorted set.",
		Args:    `key:k#0 increment:i member`},
	{Name: "zmscore", Arity: -3, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO | Access)), run: zmscore,
		Group: "sorted-set", Since: "6.2.0", Complexity: "O(N) where N is the number of members being requested.",
		Summary: "Returns the score of one or more members in a sorted set.",
		Args:    `key:k#0 member*`},
	{Name: "zrank", Arity: -3, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO | Access)), run: zrank,
		Group: "sorted-set", Since: "2.0.0", Complexity: "O(log(N))",
		Summary: "Returns the index of a member in a sorted set ordered by ascending scores.",
		History: []string{"7.2.0 Added the optional `WITHSCORE` argument."},
		Args:    `key:k#0 member withscore:t=WITHSCORE?`},
	{Name: "zrem", Arity: -3, Flags: Write | Fast,
		Keys: keys(key1(RW | Delete)), run: zrem,
		Group: "sorted-set", Since: "1.2.0", Complexity: "O(M*log(N)) with N being the number of elements in the sorted set and M the number of elements to be removed.",
		Summary: "Removes one or more members from a sorted set. Deletes the sorted set if all members were removed.",
		History: []string{"2.4.0 Accepts multiple elements."},
		Args:    `key:k#0 member*`},
	{Name: "zrevrank", Arity: -3, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO | Access)), run: zrevrank,
		Group: "sorted-set", Since: "2.0.0", Complexity: "O(log(N))",
		Summary: "Returns the index of a member in a sorted set ordered by descending scores.",
		History: []string{"7.2.0 Added the optional `WITHSCORE` argument."},
		Args:    `key:k#0 member withscore:t=WITHSCORE?`},
	{Name: "zscore", Arity: 3, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO | Access)), run: zscore,
		Group: "sorted-set", Since: "1.2.0", Complexity: "O(1)",
		Summary: "Returns the score of a member in a sorted set.",
		Args:    `key:k#0 member`},
}

var (
	errZAddNXXX = resp.Err("ERR XX and NX options at the same time are not compatible")
	errZAddGTLT = resp.Err("ERR GT, LT, and/or NX options at the same time are not compatible")
	errZAddIncr = resp.Err("ERR INCR option supports a single increment-element pair")
	errZAddNaN  = resp.Err("ERR resulting score is not a number (NaN)")
)

// zaddOptions are the options of ZADD.
type zaddOptions struct {
	nx, xx, gt, lt, ch, incr bool
}

// zaddResult is what became of one member.
type zaddResult uint8

const (
	zaddRefused zaddResult = iota // by NX, XX, GT or LT
	zaddKept                      // it has that score already
	zaddUpdated
	zaddAdded
	zaddNaN
)

// zadd: ZADD key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]
func zadd(c *Call) resp.Value { return c.zadd(zaddOptions{}) }

// zincrby: ZINCRBY key increment member
func zincrby(c *Call) resp.Value { return c.zadd(zaddOptions{incr: true}) }

func (c *Call) zadd(opt zaddOptions) resp.Value {
	pairs := c.Args[opt.parse(c):]
	if bad := opt.conflict(len(pairs)); bad != nil {
		return *bad
	}
	var few [8]float64
	scores, longest, bad := zaddScores(few[:0], pairs)
	if bad != nil {
		return *bad
	}
	return c.zaddScored(opt, pairs, scores, longest)
}

// zaddScored adds the members of score and member pairs, whose scores are read and
// whose longest member has that many bytes.
func (c *Call) zaddScored(opt zaddOptions, pairs []string, scores []float64, longest int) resp.Value {
	key := c.Args[1]
	o, bad := c.writeAs(key, store.ZSet)
	if bad != nil {
		return *bad
	}
	absent := o == nil
	if absent && opt.xx {
		return opt.reply(zaddTally{last: zaddRefused})
	}
	if absent {
		o = store.NewZSet(&c.limits)
	}
	o.ZSet().Expect(len(scores), longest)
	t := opt.setAll(o.ZSet(), pairs, scores)
	if t.last == zaddNaN {
		return errZAddNaN // it comes of INCR only, so nothing was changed
	}
	if absent {
		c.put(key, o)
	}
	if opt.incr {
		c.zchanged(key, "zincr", t.added+t.updated)
	} else {
		c.zchanged(key, "zadd", t.added+t.updated)
	}
	return opt.reply(t)
}

// zaddTally is what a ZADD did.
type zaddTally struct {
	added, updated int
	score          float64 // the last member's
	last           zaddResult
}

// setAll sets the scores of all pairs.
func (o *zaddOptions) setAll(z *store.ZSetObj, pairs []string, scores []float64) (t zaddTally) {
	for i, score := range scores {
		t.score, t.last = o.set(z, pairs[2*i+1], score)
		switch t.last {
		case zaddAdded:
			t.added++
		case zaddUpdated:
			t.updated++
		}
	}
	return t
}

// parse reads the options and returns the index of the first score.
func (o *zaddOptions) parse(c *Call) int {
	for i := 2; i < len(c.Args); i++ {
		switch {
		case c.is(i, "nx"):
			o.nx = true
		case c.is(i, "xx"):
			o.xx = true
		case c.is(i, "gt"):
			o.gt = true
		case c.is(i, "lt"):
			o.lt = true
		case c.is(i, "ch"):
			o.ch = true
		case c.is(i, "incr"):
			o.incr = true
		default:
			return i
		}
	}
	return len(c.Args)
}

// conflict reports what is wrong with the options and n arguments behind them.
func (o *zaddOptions) conflict(n int) *resp.Value {
	switch {
	case n == 0 || n%2 != 0:
		return &errSyntax
	case o.nx && o.xx:
		return &errZAddNXXX
	case o.gt && o.nx || o.lt && o.nx || o.gt && o.lt:
		return &errZAddGTLT
	case o.incr && n > 2:
		return &errZAddIncr
	}
	return nil
}

// zaddScores appends the scores of score and member pairs to scores. longest is
// the length of the longest member.
func zaddScores(scores []float64, pairs []string) (_ []float64, longest int, bad *resp.Value) {
	for i := 0; i < len(pairs); i += 2 {
		score, ok := parseFloat(pairs[i])
		if !ok {
			return nil, 0, &errNotFloat
		}
		scores = append(scores, score)
		longest = max(longest, len(pairs[i+1]))
	}
	return scores, longest, nil
}

// set gives one member its score, if the options let it. It returns the score
// that the member was meant to get.
func (o *zaddOptions) set(z *store.ZSetObj, member string, score float64) (float64, zaddResult) {
	if o.nx || o.xx || o.gt || o.lt || o.incr {
		old, exists := z.Score(member)
		if o.incr && exists {
			score += old // not for a new member: -0 stays -0
		}
		switch {
		case exists && o.nx, !exists && o.xx:
			return score, zaddRefused
		case math.IsNaN(score):
			return score, zaddNaN
		case exists && (o.lt && score >= old || o.gt && score <= old):
			return score, zaddRefused
		}
	}
	old, existed := z.Set(member, score)
	switch {
	case !existed:
		return score, zaddAdded
	case old != score:
		return score, zaddUpdated
	}
	return score, zaddKept
}

func (o *zaddOptions) reply(t zaddTally) resp.Value {
	switch {
	case o.incr && t.last == zaddRefused:
		return resp.Null
	case o.incr:
		return resp.Double(t.score)
	case o.ch:
		return resp.Int(int64(t.added + t.updated))
	}
	return resp.Int(int64(t.added))
}

// zchanged records that n members of a sorted set were changed, as one event.
func (c *Call) zchanged(key, event string, n int) {
	if n > 0 {
		c.changed(key, eventZSet, event)
		c.stats.dirty += int64(n - 1)
	}
}

// zcard: ZCARD key
func zcard(c *Call) resp.Value {
	o, bad := c.readAs(c.Args[1], store.ZSet)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return resp.Zero
	}
	return resp.Int(int64(o.ZSet().Len()))
}

// zscore: ZSCORE key member
func zscore(c *Call) resp.Value {
	o, bad := c.readAs(c.Args[1], store.ZSet)
	if bad != nil {
		return *bad
	}
	return zscoreOf(o, c.Args[2])
}

// zmscore: ZMSCORE key member [member ...]
func zmscore(c *Call) resp.Value {
	o, bad := c.readAs(c.Args[1], store.ZSet)
	if bad != nil {
		return *bad
	}
	out := c.values(len(c.Args) - 2)
	for i, member := range c.Args[2:] {
		out[i] = zscoreOf(o, member)
	}
	return resp.Array(out...)
}

// zscoreOf is a member's score, or null. o may be nil.
func zscoreOf(o *store.Object, member string) resp.Value {
	if o != nil {
		if score, ok := o.ZSet().Score(member); ok {
			return resp.Double(score)
		}
	}
	return resp.Null
}

// zrank: ZRANK key member [WITHSCORE]
func zrank(c *Call) resp.Value { return c.zrank(false) }

// zrevrank: ZREVRANK key member [WITHSCORE]
func zrevrank(c *Call) resp.Value { return c.zrank(true) }

func (c *Call) zrank(rev bool) resp.Value {
	none, withScore := resp.Null, false
	switch {
	case len(c.Args) > 4:
		return c.wrongArity()
	case len(c.Args) == 4 && !c.is(3, "withscore"):
		return errSyntax
	case len(c.Args) == 4:
		none, withScore = resp.NullArray, true
	}
	o, bad := c.readAs(c.Args[1], store.ZSet)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return none
	}
	z := o.ZSet()
	rank, ok := z.Rank(c.Args[2])
	if !ok {
		return none
	}
	if rev {
		rank = z.Len() - 1 - rank
	}
	if !withScore {
		return resp.Int(int64(rank))
	}
	return resp.Array(resp.Int(int64(rank)), zscoreOf(o, c.Args[2]))
}

// zrem: ZREM key member [member ...]
func zrem(c *Call) resp.Value {
	o, bad := c.writeAs(c.Args[1], store.ZSet)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return resp.Zero
	}
	removed := 0
	for _, member := range c.Args[2:] {
		if o.ZSet().Remove(member) {
			removed++
		}
	}
	return c.zremoved(c.Args[1], o.ZSet(), "zrem", removed)
}

// zremoved reports that n members were removed, drops an empty set, and replies n.
func (c *Call) zremoved(key string, z *store.ZSetObj, event string, n int) resp.Value {
	if n > 0 {
		c.zchanged(key, event, n)
		c.dropEmpty(key, z.Len())
	}
	return resp.Int(int64(n))
}
