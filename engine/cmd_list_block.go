package engine

import (
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var listBlockCommands = []Spec{
	{Name: "blmove", Arity: 6, Flags: Write | DenyOOM | Blocking,
		Keys: keys(key1(RW|Access|Delete), keyAt(2, RW|Insert)), run: blmove,
		Group: "list", Since: "6.2.0", Complexity: "O(1)",
		Summary: "Pops an element from a list, pushes it to another list and returns it. Blocks until an element is available otherwise. Deletes the list if the last element was moved.",
		Args:    `source:k#0 destination:k#1 wherefrom<left:t=LEFT right:t=RIGHT> whereto<left:t=LEFT right:t=RIGHT> timeout:d`},
	{Name: "blmpop", Arity: -5, Flags: Write | Blocking,
		Keys: keys(keyNum(2, 0, 1, 1, RW|Access|Delete)), run: blmpop,
		Group: "list", Since: "7.0.0", Complexity: "O(N+M) where N is the number of provided keys and M is the number of elements returned.",
		Summary: "Pops the first element from one of multiple lists. Blocks until an element is available otherwise. Deletes the list if the last element was popped.",
		Args:    `timeout:d numkeys:i key:k#0* where<left:t=LEFT right:t=RIGHT> count:i=COUNT?`},
	{Name: "blpop", Arity: -3, Flags: Write | Blocking,
		Keys: keys(keyRange(1, -2, 1, 0, RW|Access|Delete)), run: blpop,
		Group: "list", Since: "2.0.0", Complexity: "O(N) where N is the number of provided keys.",
		Summary: "Removes and returns the first element in a list. Blocks until an element is available otherwise. Deletes the list if the last element was popped.",
		History: []string{"6.0.0 `timeout` is interpreted as a double instead of an integer."},
		Args:    `key:k#0* timeout:d`},
	{Name: "brpop", Arity: -3, Flags: Write | Blocking,
		Keys: keys(keyRange(1, -2, 1, 0, RW|Access|Delete)), run: brpop,
		Group: "list", Since: "2.0.0", Complexity: "O(N) where N is the number of provided keys.",
		Summary: "Removes and returns the last element in a list. Blocks until an element is available otherwise. Deletes the list if the last element was popped.",
		History: []string{"6.0.0 `timeout` is interpreted as a double instead of an integer."},
		Args:    `key:k#0* timeout:d`},
	{Name: "brpoplpush", Arity: 4, Flags: Write | DenyOOM | Blocking,
		Keys: keys(key1(RW|Access|Delete), keyAt(2, RW|Insert)), run: brpoplpush,
		Group: "list", Since: "2.2.0", Complexity: "O(1)",
		Summary:  "Pops an element from a list, pushes it to another list and returns it. Block until an element is available otherwise. Deletes the list if the last element was popped.",
		DocFlags: []string{"deprecated"}, DeprecatedSince: "6.2.0", ReplacedBy: "`BLMOVE` with the `RIGHT` and `LEFT` arguments",
		History: []string{"6.0.0 `timeout` is interpreted as a double instead of an integer."},
		Args:    `source:k#0 destination:k#1 timeout:d`},
}

// blpop: BLPOP key [key ...] timeout
func blpop(c *Call) resp.Value { return c.blockingPop(false) }

// brpop: BRPOP key [key ...] timeout
func brpop(c *Call) resp.Value { return c.blockingPop(true) }

func (c *Call) blockingPop(fromTail bool) resp.Value {
	return c.popOrBlock(store.List, func(key string, o *store.Object) resp.Value {
		c.sendAs(lpopName(fromTail), key)
		return resp.Array(resp.Bulk(key), c.lpop(key, o.List(), fromTail, 1)[0])
	})
}

// blmove: BLMOVE source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout
func blmove(c *Call) resp.Value {
	fromTail, bad := c.listEnd(3)
	if bad != nil {
		return *bad
	}
	toTail, bad := c.listEnd(4)
	if bad != nil {
		return *bad
	}
	c.sendAs("LMOVE", c.Args[1], c.Args[2], c.Args[3], c.Args[4])
	return c.blockingMove(fromTail, toTail, 5)
}

// brpoplpush: BRPOPLPUSH source destination timeout
func brpoplpush(c *Call) resp.Value {
	c.sendAs("RPOPLPUSH", c.Args[1], c.Args[2])
	return c.blockingMove(true, false, 3)
}

func (c *Call) blockingMove(fromTail, toTail bool, timeoutArg int) resp.Value {
	at, bad := c.timeoutSeconds(timeoutArg)
	if bad != nil {
		return *bad
	}
	return c.orBlock(c.lmove(c.Args[1], c.Args[2], fromTail, toTail), c.Args[1:2], store.List, at)
}

// blmpop: BLMPOP timeout numkeys key [key ...] <LEFT | RIGHT> [COUNT count]
func blmpop(c *Call) resp.Value {
	keys, fromTail, count, bad := c.mpopArgs(2, "left", "right")
	if bad != nil {
		return *bad
	}
	at, bad := c.timeoutSeconds(1)
	if bad != nil {
		return *bad
	}
	return c.orBlock(c.lmpopFrom(keys, fromTail, count), keys, store.List, at)
}
