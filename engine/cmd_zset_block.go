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
	return c.popOrBlock(store.ZSet, func(key string, o *store.Object) resp.Value {
		c.sendAs(zpopName(fromMax), key)
		return resp.Array(append([]resp.Value{resp.Bulk(key)}, c.zpop(key, o.ZSet(), fromMax, 1)...)...)
	})
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
	return c.orBlock(c.zmpopFrom(keys, fromMax, count), keys, store.ZSet, at)
}
