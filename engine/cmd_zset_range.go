package engine

import (
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var zsetRangeCommands = []Spec{
	{Name: "zrange", Arity: -4, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: zrange,
		Group: "sorted-set", Since: "1.2.0", Complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements returned.",
		Summary: "Returns members in a sorted set within a range of indexes.",
		History: []string{"6.2.0 Added the `REV`, `BYSCORE`, `BYLEX` and `LIMIT` options."},
		Args:    `key:k#0 start stop sortby<byscore:t=BYSCORE bylex:t=BYLEX>@6.2.0? rev:t=REV@6.2.0? limit{offset:i count:i}=LIMIT@6.2.0? withscores:t=WITHSCORES?`},
	{Name: "zrangebylex", Arity: -4, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: zrangebylex,
		Group: "sorted-set", Since: "2.8.9", Complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements being returned. If M is constant (e.g. always asking for the first 10 elements with LIMIT), you can consider it O(log(N)).",
		Summary:  "Returns members in a sorted set within a lexicographical range.",
		DocFlags: []string{"deprecated"}, DeprecatedSince: "6.2.0", ReplacedBy: "`ZRANGE` with the `BYLEX` argument",
		Args: `key:k#0 min max limit{offset:i count:i}=LIMIT?`},
	{Name: "zrangebyscore", Arity: -4, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: zrangebyscore,
		Group: "sorted-set", Since: "1.0.5", Complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements being returned. If M is constant (e.g. always asking for the first 10 elements with LIMIT), you can consider it O(log(N)).",
		Summary:  "Returns members in a sorted set within a range of scores.",
		DocFlags: []string{"deprecated"}, DeprecatedSince: "6.2.0", ReplacedBy: "`ZRANGE` with the `BYSCORE` argument",
		History: []string{"2.0.0 Added the `WITHSCORES` modifier."},
		Args:    `key:k#0 min:d max:d withscores:t=WITHSCORES@2.0.0? limit{offset:i count:i}=LIMIT?`},
	{Name: "zrangestore", Arity: -5, Flags: Write | DenyOOM,
		Keys: keys(key1(OW|Update), keyAt(2, RO|Access)), run: zrangestore,
		Group: "sorted-set", Since: "6.2.0", Complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements stored into the destination key.",
		Summary: "Stores a range of members from sorted set in a key.",
		Args:    `dst:k#0 src:k#1 min max sortby<byscore:t=BYSCORE bylex:t=BYLEX>? rev:t=REV? limit{offset:i count:i}=LIMIT?`},
	{Name: "zrevrange", Arity: -4, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: zrevrange,
		Group: "sorted-set", Since: "1.2.0", Complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements returned.",
		Summary:  "Returns members in a sorted set within a range of indexes in reverse order.",
		DocFlags: []string{"deprecated"}, DeprecatedSince: "6.2.0", ReplacedBy: "`ZRANGE` with the `REV` argument",
		Args: `key:k#0 start:i stop:i withscores:t=WITHSCORES?`},
	{Name: "zrevrangebylex", Arity: -4, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: zrevrangebylex,
		Group: "sorted-set", Since: "2.8.9", Complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements being returned. If M is constant (e.g. always asking for the first 10 elements with LIMIT), you can consider it O(log(N)).",
		Summary:  "Returns members in a sorted set within a lexicographical range in reverse order.",
		DocFlags: []string{"deprecated"}, DeprecatedSince: "6.2.0", ReplacedBy: "`ZRANGE` with the `REV` and `BYLEX` arguments",
		Args: `key:k#0 max min limit{offset:i count:i}=LIMIT?`},
	{Name: "zrevrangebyscore", Arity: -4, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: zrevrangebyscore,
		Group: "sorted-set", Since: "2.2.0", Complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements being returned. If M is constant (e.g. always asking for the first 10 elements with LIMIT), you can consider it O(log(N)).",
		Summary:  "Returns members in a sorted set within a range of scores in reverse order.",
		DocFlags: []string{"deprecated"}, DeprecatedSince: "6.2.0", ReplacedBy: "`ZRANGE` with the `REV` and `BYSCORE` arguments",
		History: []string{"2.1.6 `min` and `max` can be exclusive."},
		Args:    `key:k#0 max:d min:d withscores:t=WITHSCORES? limit{offset:i count:i}=LIMIT?`},
}

var (
	errZLimit      = resp.Err("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX")
	errZWithScores = resp.Err("ERR syntax error, WITHSCORES not supported in combination with BYLEX")
)

// zorder is by what a range is given.
type zorder uint8

const (
	zAny zorder = iota // as the options say; by rank without
	zByRank
	zByScore
	zByLex
)

// zdirection is in which direction a range goes.
type zdirection uint8

const (
	zAnyWay zdirection = iota // as the options say; forward without
	zForward
	zReverse
)

// zquery is a range of a sorted set as a command asks for it.
type zquery struct {
	by         zorder
	way        zdirection
	withScores bool
	offset     int64
	limit      int64 // negative: none

	start, stop int64 // zByRank
	scores      store.ScoreRange
	lex         store.LexRange
}

// zrange: ZRANGE key start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]
func zrange(c *Call) resp.Value { return c.zrange(zAny, zAnyWay) }

// zrevrange: ZREVRANGE key start stop [WITHSCORES]
func zrevrange(c *Call) resp.Value { return c.zrange(zByRank, zReverse) }

// zrangebyscore: ZRANGEBYSCORE key min max [WITHSCORES] [LIMIT offset count]
func zrangebyscore(c *Call) resp.Value { return c.zrange(zByScore, zForward) }

// zrevrangebyscore: ZREVRANGEBYSCORE key max min [WITHSCORES] [LIMIT offset count]
func zrevrangebyscore(c *Call) resp.Value { return c.zrange(zByScore, zReverse) }

// zrangebylex: ZRANGEBYLEX key min max [LIMIT offset count]
func zrangebylex(c *Call) resp.Value { return c.zrange(zByLex, zForward) }

// zrevrangebylex: ZREVRANGEBYLEX key max min [LIMIT offset count]
func zrevrangebylex(c *Call) resp.Value { return c.zrange(zByLex, zReverse) }

func (c *Call) zrange(by zorder, way zdirection) resp.Value {
	q := zquery{by: by, way: way, limit: -1}
	if bad := q.parse(c, 1, false); bad != nil {
		return *bad
	}
	o, bad := c.readAs(c.Args[1], store.ZSet)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return resp.Array()
	}
	from, n := q.locate(o)
	return c.zreply(o.ZSet(), from, n, q.way == zReverse, q.withScores)
}

// zrangestore: ZRANGESTORE dst src min max [BYSCORE | BYLEX] [REV] [LIMIT offset count]
func zrangestore(c *Call) resp.Value {
	q := zquery{limit: -1}
	if bad := q.parse(c, 2, true); bad != nil {
		return *bad
	}
	src, bad := c.readAs(c.Args[2], store.ZSet)
	if bad != nil {
		return *bad
	}
	dst := store.NewZSet(&c.limits)
	if src != nil {
		from, n := q.locate(src)
		if q.by == zByRank {
			dst.ZSet().Expect(n, 0) // the server knows the number beforehand only here
		}
		zwalk(src.ZSet(), from, n, q.way == zReverse, func(member string, score float64) {
			dst.ZSet().Set(member, score)
		})
	}
	return c.zstore(c.Args[1], dst, "zrangestore")
}

// zstore puts a result in place of what is at key, or nothing if it is empty.
func (c *Call) zstore(key string, o *store.Object, event string) resp.Value {
	n := o.ZSet().Len()
	if n == 0 {
		c.remove(key)
		return resp.Zero
	}
	c.put(key, o)
	c.changed(key, eventZSet, event)
	return resp.Int(int64(n))
}

// parse reads the bounds at arguments key+1 and key+2, and the options behind them.
func (q *zquery) parse(c *Call, key int, store bool) (bad *resp.Value) {
	if bad = q.options(c, key+3, store); bad != nil {
		return bad
	}
	switch {
	case q.limit != -1 && q.by == zByRank:
		return &errZLimit
	case q.withScores && q.by == zByLex:
		return &errZWithScores
	}
	low, high := key+1, key+2
	if q.way == zReverse && q.by != zByRank {
		low, high = high, low
	}
	switch q.by {
	case zByScore:
		q.scores, bad = scoreRange(c.Args[low], c.Args[high])
	case zByLex:
		q.lex, bad = lexRange(c.Args[low], c.Args[high])
	default:
		q.start, q.stop, bad = c.rankRange(low)
	}
	return bad
}

// options reads the options from argument i on.
func (q *zquery) options(c *Call, i int, store bool) (bad *resp.Value) {
	for ; i < len(c.Args); i++ {
		switch {
		case !store && c.is(i, "withscores"):
			q.withScores = true
		case c.is(i, "limit") && i+2 < len(c.Args):
			if q.offset, bad = c.intArg(i + 1); bad != nil {
				return bad
			}
			if q.limit, bad = c.intArg(i + 2); bad != nil {
				return bad
			}
			i += 2
		case q.way == zAnyWay && c.is(i, "rev"):
			q.way = zReverse
		case q.by == zAny && c.is(i, "bylex"):
			q.by = zByLex
		case q.by == zAny && c.is(i, "byscore"):
			q.by = zByScore
		default:
			return &errSyntax
		}
	}
	if q.by == zAny {
		q.by = zByRank
	}
	return nil
}

// locate finds the members that q asks for: n of them, the first at index from,
// in q's direction.
func (q *zquery) locate(o *store.Object) (from, n int) {
	z, packed := o.ZSet(), o.Encoding() == "listpack"
	var first, end int
	switch {
	case q.by == zByRank:
		first, end = rankSpan(q.start, q.stop, z.Len())
		if q.way == zReverse {
			return z.Len() - 1 - first, end - first
		}
		return first, end - first
	case q.by == zByScore:
		first, end = z.ScoreSpan(q.scores)
	case packed && zmixed(z):
		return q.locateMixed(z)
	default:
		first, end = z.LexSpan(q.lex)
	}
	return q.window(first, end, packed)
}

// window applies LIMIT to the members from first to end.
func (q *zquery) window(first, end int, packed bool) (from, n int) {
	span := int64(end - first)
	skip := q.offset
	if skip < 0 {
		// A skiplist takes this for a place counted from the other end.
		if skip += span; packed || skip < 0 {
			return 0, 0
		}
	}
	if skip >= span {
		return 0, 0
	}
	n = q.capped(int(span - skip))
	if q.way == zReverse {
		return end - 1 - int(skip), n
	}
	return first + int(skip), n
}

func (q *zquery) capped(n int) int {
	if q.limit >= 0 && q.limit < int64(n) {
		return int(q.limit)
	}
	return n
}

// zmixed reports whether members differ in score. z is not empty.
func zmixed(z *store.ZSetObj) bool {
	_, low := z.At(0)
	_, high := z.At(z.Len() - 1)
	return low != high
}

// locateMixed is locate for a range by member of a listpack whose scores differ,
// where members are in no order. Such a query has no meaning, but on a server it
// has a result: it looks for the first member that is beyond the near bound, and
// goes on until one is beyond the far bound.
func (q *zquery) locateMixed(z *store.ZSetObj) (from, n int) {
	size, step := z.Len(), 1
	near, far := func(m string) bool { return aboveMin(m, &q.lex) }, func(m string) bool { return belowMax(m, &q.lex) }
	if q.way == zReverse {
		step, from = -1, size-1
		near, far = far, near
	}
	member := func(i int) string { m, _ := z.At(i); return m }
	if lexEmpty(&q.lex) || !aboveMin(member(size-1), &q.lex) || !belowMax(member(0), &q.lex) {
		return 0, 0
	}
	for from >= 0 && from < size && !near(member(from)) {
		from += step
	}
	if from < 0 || from >= size || !far(member(from)) || q.offset < 0 || q.offset >= int64(size) {
		return 0, 0
	}
	from += step * int(q.offset)
	for i := from; i >= 0 && i < size && far(member(i)); i += step {
		n++
	}
	return from, q.capped(n)
}

// zwalk calls f for n members from index from on, in either direction.
func zwalk(z *store.ZSetObj, from, n int, rev bool, f func(member string, score float64)) {
	if n <= 0 {
		return
	}
	visit := func(member string, score float64) bool {
		f(member, score)
		n--
		return n > 0
	}
	if rev {
		z.Descend(from, visit)
	} else {
		z.Ascend(from, visit)
	}
}

// zreply is n members from index from on as a reply.
func (c *Call) zreply(z *store.ZSetObj, from, n int, rev, withScores bool) resp.Value {
	if !withScores {
		out := c.values(n)[:0]
		zwalk(z, from, n, rev, func(member string, _ float64) {
			out = append(out, resp.Bulk(member))
		})
		return resp.Array(out...)
	}
	out := c.values(2 * n)[:0]
	zwalk(z, from, n, rev, func(member string, score float64) {
		out = append(out, resp.Bulk(member), resp.Double(score))
	})
	return resp.Pairs(out...)
}
