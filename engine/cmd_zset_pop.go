package engine

import (
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var zsetPopCommands = []Spec{
	{Name: "zmpop", Arity: -4, Flags: Write,
		Keys: keys(keyNum(1, 0, 1, 1, RW|Access|Delete)), run: zmpop,
		Group: "sorted-set", Since: "7.0.0", Complexity: "O(K) + O(M*log(N)) where K is the number of provided keys, N being the number of elements in the sorted set, and M being the number of elements popped.",
		Summary: "Returns the highest- or lowest-scoring members from one or more sorted sets after removing them. Deletes the sorted set if the last member was popped.",
		Args:    `numkeys:i key:k#0* where<min:t=MIN max:t=MAX> count:i=COUNT?`},
	{Name: "zpopmax", Arity: -2, Flags: Write | Fast,
		Keys: keys(key1(RW | Access | Delete)), run: zpopmax,
		Group: "sorted-set", Since: "5.0.0", Complexity: "O(log(N)*M) with N being the number of elements in the sorted set, and M being the number of elements popped.",
		Summary: "Returns the highest-scoring members from a sorted set after removing them. Deletes the sorted set if the last member was popped.",
		Args:    `key:k#0 count:i?`},
	{Name: "zpopmin", Arity: -2, Flags: Write | Fast,
		Keys: keys(key1(RW | Access | Delete)), run: zpopmin,
		Group: "sorted-set", Since: "5.0.0", Complexity: "O(log(N)*M) with N being the number of elements in the sorted set, and M being the number of elements popped.",
		Summary: "Returns the lowest-scoring members from a sorted set after removing them. Deletes the sorted set if the last member was popped.",
		Args:    `key:k#0 count:i?`},
}

var errNotPositive = resp.Err("ERR value is out of range, must be positive")

// zpopmin: ZPOPMIN key [count]
func zpopmin(c *Call) resp.Value { return c.zpopArgs(false) }

// zpopmax: ZPOPMAX key [count]
func zpopmax(c *Call) resp.Value { return c.zpopArgs(true) }

func (c *Call) zpopArgs(fromMax bool) resp.Value {
	count := int64(1)
	switch len(c.Args) {
	case 2:
	case 3:
		var ok bool
		if count, ok = parseInt(c.Args[2]); !ok || count < 0 {
			return errNotPositive
		}
	default:
		return errSyntax
	}
	o, bad := c.writeAs(c.Args[1], store.ZSet)
	switch {
	case bad != nil:
		return *bad
	case o == nil || count == 0:
		return resp.Array()
	}
	popped := c.zpop(c.Args[1], o.ZSet(), fromMax, count)
	if len(c.Args) == 2 {
		return resp.Array(popped...) // flat in RESP3 too
	}
	return resp.Pairs(popped...)
}

// zpop removes up to count members, at least one, from an end of z, which is at
// key. It returns them with their scores.
func (c *Call) zpop(key string, z *store.ZSetObj, fromMax bool, count int64) []resp.Value {
	pop, event := z.PopMin, "zpopmin"
	if fromMax {
		pop, event = z.PopMax, "zpopmax"
	}
	n := int(min(count, int64(z.Len())))
	out := c.values(2 * n)[:0]
	for range n {
		member, score, _ := pop()
		out = append(out, resp.Bulk(member), resp.Double(score))
	}
	c.zremoved(key, z, event, n)
	return out
}

// zmpop: ZMPOP numkeys key [key ...] <MIN | MAX> [COUNT count]
func zmpop(c *Call) resp.Value {
	keys, fromMax, count, bad := c.mpopArgs(1, "min", "max")
	if bad != nil {
		return *bad
	}
	return c.zmpopFrom(keys, fromMax, count)
}

// zpopName is the command that pops from an end of a sorted set.
func zpopName(fromMax bool) string {
	if fromMax {
		return "ZPOPMAX"
	}
	return "ZPOPMIN"
}

// zmpopFrom pops from the first of keys that holds something.
func (c *Call) zmpopFrom(keys []string, fromMax bool, count int64) resp.Value {
	return c.popFirst(keys, store.ZSet, func(key string, o *store.Object) resp.Value {
		popped := c.zpop(key, o.ZSet(), fromMax, count)
		c.sendPop(zpopName(fromMax), key, len(popped)/2)
		return zmpopReply(key, popped)
	})
}

// zmpopReply is the key and pairs of member and score, nested in RESP2 too.
func zmpopReply(key string, popped []resp.Value) resp.Value {
	pairs := make([]resp.Value, 0, len(popped)/2)
	for i := 0; i < len(popped); i += 2 {
		pairs = append(pairs, resp.Array(popped[i:i+2]...))
	}
	return resp.Array(resp.Bulk(key), resp.Array(pairs...))
}
