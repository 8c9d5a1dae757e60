package engine

import (
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var zsetBlockCommands = []Spec{
	{Name: "bzmpop", Arity: -5, Flags: Write | Blocking,
		Keys: keys(keyNum(2, 0, 1, 1, RW|Access|Delete)), run: bzmpop,
		Group: "sorted-set", Since: "7.0.0", Complexity: "O(K) + O(M*log(N)) where K is the number of provided keys, N being the number of elements in the sorted set, and M being the number of elements popped.",
		Summary: "Removes and returns a member by score from one or more sorted sets. Blocks until a member is available otherwise. Deletes the sorted set if the last element was popped.",
		Args:    `timeout:d numkeys:i key:k#0* where<min:t=MIN max:t=MAX> count:i=COUNT?`},
	{Name: "bzpopmax", Arity: -3, Flags: Write | Blocking | Fast,
		Keys: keys(keyRange(1, -2, 1, 0, RW|Access|Delete)), run: bzpopmax,
		Group: "sorted-set", Since: "5.0.0", Complexity: "O(log(N)) with N being the number of elements in the sorted set.",
		Summary: "Removes and returns the member with the highest score from one or more sorted sets. Blocks until a member available otherwise.  Deletes the sorted set if the last element was popped.",
		History: []string{"6.0.0 `timeout` is interpreted as a double instead of an integer."},
		Args:    `key:k#0* timeout:d`},
	{Name: "bzpopmin", Arity: -3, Flags: Write | Blocking | Fast,
		Keys: keys(keyRange(1, -2, 1, 0, RW|Access|Delete)), run: bzpopmin,
		Group: "sorted-set", Since: "5.0.0", Complexity: "O(log(N)) with N being the number of elements in the sorted set.",
		Summary: "Removes and returns the member with the lowest score from one or more sorted sets. Blocks until a member is available otherwise. Deletes the sorted set if the last element was popped.",
		History: []string{"6.0.0 `timeout` is interpreted as a double instead of an integer."},
		Args:    `key:k#0* timeout:d`},
}

// bzpopmin: BZPOPMIN key [key ...] timeout
func bzpopmin(c *Call) resp.Value { return c.bzpop(false) }

// bzpopmax: BZPOPMAX key [key ...] timeout
func bzpopmax(c *Call) resp.Value { return c.bzpop(true) }

func (c *Call) bzpop(fromMax bool) resp.Value {
	last := len(c.Args) - 1
	at, bad := c.timeoutSeconds(last)
	if bad != nil {
		return *bad
	}
	keys := c.Args[1:last]
	for _, key := range keys {
		o, bad := c.writeAs(key, store.ZSet)
		switch {
		case bad != nil:
			return *bad
		case o != nil:
			popped := c.zpop(key, o.ZSet(), fromMax, 1)
			return resp.Array(append([]resp.Value{resp.Bulk(key)}, popped...)...)
		}
	}
	return c.block(keys, store.ZSet, at, resp.NullArray)
}

// bzmpop: BZMPOP timeout numkeys key [key ...] <MIN | MAX> [COUNT count]
func bzmpop(c *Call) resp.Value {
	keys, fromMax, count, bad := c.mpopArgs(2, "min", "max")
	if bad != nil {
		return *bad
	}
	at, bad := c.timeoutSeconds(1)
	if bad != nil {
		return *bad
	}
	if v := c.zmpopFrom(keys, fromMax, count); v.Kind != resp.KindNullArray {
		return v
	}
	return c.block(keys, store.ZSet, at, resp.NullArray)
}
