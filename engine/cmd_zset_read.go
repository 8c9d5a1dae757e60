package engine

import (
	"math"
	"strconv"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var zsetReadCommands = []Spec{
	{Name: "zrandmember", Arity: -2, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: zrandmember,
		Group: "sorted-set", Since: "6.2.0", Complexity: "O(N) where N is the number of members returned",
		Summary: "Returns one or more random members from a sorted set.",
		Tips:    []string{"nondeterministic_output"},
		Args:    `key:k#0 options{count:i withscores:t=WITHSCORES?}?`},
	{Name: "zscan", Arity: -3, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: zscan,
		Group: "sorted-set", Since: "2.8.0", Complexity: "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor to return back to 0. N is the number of elements inside the collection.",
		Summary: "Iterates over members and scores of a sorted set.",
		History: []string{"8.0.0 Added noscores option."},
		Tips:    []string{"nondeterministic_output"},
		Args:    `key:k#0 cursor:i pattern:p=MATCH? count:i=COUNT? noscores:t=NOSCORES?`},
}

// zrandmember: ZRANDMEMBER key [count [WITHSCORES]]
func zrandmember(c *Call) resp.Value {
	count, withScores, bad := c.randArgs("withscores")
	if bad != nil {
		return *bad
	}
	o, bad := c.readAs(c.Args[1], store.ZSet)
	switch {
	case bad != nil:
		return *bad
	case o == nil && len(c.Args) == 2:
		return resp.Null
	case o == nil:
		return resp.Array()
	}
	z := o.ZSet()
	if count > 1 && count >= int64(z.Len()) {
		return c.zreply(z, z.Len()-1, z.Len(), true, withScores) // as on the server
	}
	return c.randomElements(z.Len(), count, withScores, func(i int) (member, score resp.Value) {
		m, n := z.At(i)
		return resp.Bulk(m), resp.Double(n)
	})
}

// zscan: ZSCAN key cursor [MATCH pattern] [COUNT count] [NOSCORES]
func zscan(c *Call) resp.Value {
	cursor, bad := c.cursorArg(2)
	if bad != nil {
		return *bad
	}
	o, bad := c.readAs(c.Args[1], store.ZSet)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return scanReply(0, nil)
	}
	opt, bad := c.scanOptions(3, store.ZSet)
	if bad != nil {
		return *bad
	}
	members := elements{scope: "zset", packed: o.Encoding() == "listpack", pairs: true,
		from: func(start string, visit func(member, score string) bool) {
			o.ZSet().AscendSorted(start, func(member string, score float64) bool { return visit(member, scannedScore(score)) })
		}}
	if members.packed {
		members.from = func(_ string, visit func(member, score string) bool) {
			o.ZSet().Ascend(0, func(member string, score float64) bool { return visit(member, resp.FormatDouble(score)) })
		}
	}
	return c.scanElements(members, cursor, &opt)
}

// scannedScore is C's %.17g, which ZSCAN prints the scores of a skiplist with.
func scannedScore(score float64) string {
	if math.IsInf(score, 0) {
		return resp.FormatDouble(score)
	}
	return strconv.FormatFloat(score, 'g', 17, 64)
}
