package engine

import (
	"math"
	"strconv"
	"strings"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var zsetBoundsCommands = []Spec{
	{Name: "zcount", Arity: 4, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO | Access)), run: zcount,
		Group: "sorted-set", Since: "2.0.0", Complexity: "O(log(N)) with N being the number of elements in the sorted set.",
		Summary: "Returns the count of members in a sorted set that have scores within a range.",
		Args:    `key:k#0 min:d max:d`},
	{Name: "zlexcount", Arity: 4, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO | Access)), run: zlexcount,
		Group: "sorted-set", Since: "2.8.9", Complexity: "O(log(N)) with N being the number of elements in the sorted set.",
		Summary: "Returns the number of members in a sorted set within a lexicographical range.",
		Args:    `key:k#0 min max`},
	{Name: "zremrangebylex", Arity: 4, Flags: Write,
		Keys: keys(key1(RW | Delete)), run: zremrangebylex,
		Group: "sorted-set", Since: "2.8.9", Complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements removed by the operation.",
		Summary: "Removes members in a sorted set within a lexicographical range. Deletes the sorted set if all members were removed.",
		Args:    `key:k#0 min max`},
	{Name: "zremrangebyrank", Arity: 4, Flags: Write,
		Keys: keys(key1(RW | Delete)), run: zremrangebyrank,
		Group: "sorted-set", Since: "2.0.0", Complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements removed by the operation.",
		Summary: "Removes members in a sorted set within a range of indexes. Deletes the sorted set if all members were removed.",
		Args:    `key:k#0 start:i stop:i`},
	{Name: "zremrangebyscore", Arity: 4, Flags: Write,
		Keys: keys(key1(RW | Delete)), run: zremrangebyscore,
		Group: "sorted-set", Since: "1.2.0", Complexity: "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements removed by the operation.",
		Summary: "Removes members in a sorted set within a range of scores. Deletes the sorted set if all members were removed.",
		Args:    `key:k#0 min:d max:d`},
}

var (
	errScoreRange = resp.Err("ERR min or max is not a float")
	errLexRange   = resp.Err("ERR min or max not valid string range item")
)

// zcount: ZCOUNT key min max
func zcount(c *Call) resp.Value { return c.zcount(zByScore) }

// zlexcount: ZLEXCOUNT key min max
func zlexcount(c *Call) resp.Value { return c.zcount(zByLex) }

func (c *Call) zcount(by zorder) resp.Value {
	q := zquery{by: by, limit: -1}
	if bad := q.parse(c, 1, false); bad != nil {
		return *bad
	}
	o, bad := c.readAs(c.Args[1], store.ZSet)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return resp.Zero
	}
	_, n := q.locate(o)
	return resp.Int(int64(n))
}

// zremrangebyrank: ZREMRANGEBYRANK key start stop
func zremrangebyrank(c *Call) resp.Value { return c.zremrange(zByRank, "zremrangebyrank") }

// zremrangebyscore: ZREMRANGEBYSCORE key min max
func zremrangebyscore(c *Call) resp.Value { return c.zremrange(zByScore, "zremrangebyscore") }

// zremrangebylex: ZREMRANGEBYLEX key min max
func zremrangebylex(c *Call) resp.Value { return c.zremrange(zByLex, "zremrangebylex") }

func (c *Call) zremrange(by zorder, event string) resp.Value {
	q := zquery{by: by, limit: -1}
	if bad := q.parse(c, 1, false); bad != nil {
		return *bad
	}
	o, bad := c.writeAs(c.Args[1], store.ZSet)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return resp.Zero
	}
	from, n := q.locate(o)
	o.ZSet().RemoveRange(from, from+n)
	return c.zremoved(c.Args[1], o.ZSet(), event, n)
}

// rankRange is arguments i and i+1 as a range of indexes.
func (c *Call) rankRange(i int) (start, stop int64, bad *resp.Value) {
	if start, bad = c.intArg(i); bad != nil {
		return 0, 0, bad
	}
	stop, bad = c.intArg(i + 1)
	return start, stop, bad
}

// rankSpan is the indexes from start to stop, which may count from the end: from
// first to end, end not included.
func rankSpan(start, stop int64, length int) (first, end int) {
	n := int64(length)
	if start < 0 {
		start = max(start+n, 0)
	}
	if stop < 0 {
		stop += n
	}
	if start > stop || start >= n {
		return 0, 0
	}
	return int(start), int(min(stop, n-1)) + 1
}

// scoreRange parses a range of scores: a number, exclusive behind a parenthesis.
func scoreRange(low, high string) (r store.ScoreRange, bad *resp.Value) {
	var ok bool
	if r.Min, r.MinEx, ok = scoreBound(low); !ok {
		return r, &errScoreRange
	}
	if r.Max, r.MaxEx, ok = scoreBound(high); !ok {
		return r, &errScoreRange
	}
	return r, nil
}

// scoreBound parses what C's strtod makes of a C string: unlike a score it may be
// empty, begin with spaces, and be too great or too small for a double.
func scoreBound(s string) (f float64, ex, ok bool) {
	s = clip(s, len(s))
	s, ex = strings.CutPrefix(s, "(")
	if s == "" {
		return 0, ex, true
	}
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	if f, ok = parseFloat(s); ok {
		return f, ex, true
	}
	f, err := strconv.ParseFloat(s, 64)
	outOfRange := err != nil && math.IsInf(f, 0) || err == nil && f == 0
	return f, ex, outOfRange && !strings.Contains(s, "_")
}

// lexRange parses a range of members: [member, (member, - or +.
func lexRange(low, high string) (r store.LexRange, bad *resp.Value) {
	var ok bool
	if r.Min, r.MinInf, r.MinEx, ok = lexBound(low); !ok {
		return r, &errLexRange
	}
	if r.Max, r.MaxInf, r.MaxEx, ok = lexBound(high); !ok {
		return r, &errLexRange
	}
	return r, nil
}

func lexBound(s string) (member string, inf store.LexInf, ex, ok bool) {
	switch clip(s, 2) {
	case "-":
		return "", store.LexMinus, false, true
	case "+":
		return "", store.LexPlus, false, true
	}
	if s != "" && (s[0] == '[' || s[0] == '(') {
		return s[1:], store.LexFinite, s[0] == '(', true
	}
	return "", 0, false, false
}

// lexEmpty reports whether no member can be in r.
func lexEmpty(r *store.LexRange) bool {
	if r.MinInf != r.MaxInf {
		return r.MinInf > r.MaxInf
	}
	return r.MinInf != store.LexFinite || r.Min > r.Max || r.Min == r.Max && (r.MinEx || r.MaxEx)
}

// aboveMin reports whether member is not below r.
func aboveMin(member string, r *store.LexRange) bool {
	if r.MinInf != store.LexFinite {
		return r.MinInf == store.LexMinus
	}
	return member > r.Min || member == r.Min && !r.MinEx
}

// belowMax reports whether member is not above r.
func belowMax(member string, r *store.LexRange) bool {
	if r.MaxInf != store.LexFinite {
		return r.MaxInf == store.LexPlus
	}
	return member < r.Max || member == r.Max && !r.MaxEx
}
