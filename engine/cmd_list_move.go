package engine

import (
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var listMoveCommands = []Spec{
	{Name: "lmove", Arity: 5, Flags: Write | DenyOOM,
		Keys: keys(key1(RW|Access|Delete), keyAt(2, RW|Insert)), run: lmove,
		Group: "list", Since: "6.2.0", Complexity: "O(1)",
		Summary: "Returns an element after popping it from one list and pushing it to another. Deletes the list if the last element was moved.",
		Args:    `source:k#0 destination:k#1 wherefrom<left:t=LEFT right:t=RIGHT> whereto<left:t=LEFT right:t=RIGHT>`},
	{Name: "lmpop", Arity: -4, Flags: Write,
		Keys: keys(keyNum(1, 0, 1, 1, RW|Access|Delete)), run: lmpop,
		Group: "list", Since: "7.0.0", Complexity: "O(N+M) where N is the number of provided keys and M is the number of elements returned.",
		Summary: "Returns multiple elements from a list after removing them. Deletes the list if the last element was popped.",
		Args:    `numkeys:i key:k#0* where<left:t=LEFT right:t=RIGHT> count:i=COUNT?`},
	{Name: "rpoplpush", Arity: 3, Flags: Write | DenyOOM,
		Keys: keys(key1(RW|Access|Delete), keyAt(2, RW|Insert)), run: rpoplpush,
		Group: "list", Since: "1.2.0", Complexity: "O(1)",
		Summary:  "Returns the last element of a list after removing and pushing it to another list. Deletes the list if the last element was popped.",
		DocFlags: []string{"deprecated"}, DeprecatedSince: "6.2.0", ReplacedBy: "`LMOVE` with the `RIGHT` and `LEFT` arguments",
		Args: `source:k#0 destination:k#1`},
}

// lmove: LMOVE source destination <LEFT | RIGHT> <LEFT | RIGHT>
func lmove(c *Call) resp.Value {
	fromTail, bad := c.listEnd(3)
	if bad != nil {
		return *bad
	}
	toTail, bad := c.listEnd(4)
	if bad != nil {
		return *bad
	}
	return c.lmove(c.Args[1], c.Args[2], fromTail, toTail)
}

// rpoplpush: RPOPLPUSH source destination
func rpoplpush(c *Call) resp.Value { return c.lmove(c.Args[1], c.Args[2], true, false) }

// listEnd is argument i as an end of a list.
func (c *Call) listEnd(i int) (tail bool, bad *resp.Value) {
	if tail = c.is(i, "right"); !tail && !c.is(i, "left") {
		bad = &errSyntax
	}
	return tail, bad
}

// lmove moves an element from one end of a list to one of another, or of the same. The
// reply is null when there is none.
func (c *Call) lmove(source, destination string, fromTail, toTail bool) resp.Value {
	from, bad := c.writeAs(source, store.List)
	switch {
	case bad != nil:
		return *bad
	case from == nil:
		return resp.Null
	}
	to, bad := c.writeAs(destination, store.List)
	if bad != nil {
		return *bad
	}
	elem, size, event := "", 0, "lpop"
	if fromTail {
		elem, event = from.List().PopTail(), "rpop"
	} else {
		elem = from.List().PopHead()
	}
	if _, isInt := parseInt(elem); !isInt || from.Encoding() != "quicklist" {
		size = len(elem) // the server does not count what a quicklist has as an integer
	}
	if to == nil {
		to = store.NewList(&c.limits)
		c.put(destination, to)
	}
	to.List().Expect(1, size)
	const counted = 0 // the move counts as one change
	if toTail {
		to.List().PushTail(elem)
		c.lchanged(destination, "rpush", counted)
	} else {
		to.List().PushHead(elem)
		c.lchanged(destination, "lpush", counted)
	}
	c.lremoved(source, from.List(), event, 1)
	return resp.Bulk(elem)
}

// lmpop: LMPOP numkeys key [key ...] <LEFT | RIGHT> [COUNT count]
func lmpop(c *Call) resp.Value {
	keys, fromTail, count, bad := c.mpopArgs(1, "left", "right")
	if bad != nil {
		return *bad
	}
	return c.lmpopFrom(keys, fromTail, count)
}

// lpopName is the command that pops from an end of a list.
func lpopName(fromTail bool) string {
	if fromTail {
		return "RPOP"
	}
	return "LPOP"
}

// lmpopFrom pops from the first of keys that holds something.
func (c *Call) lmpopFrom(keys []string, fromTail bool, count int64) resp.Value {
	return c.popFirst(keys, store.List, func(key string, o *store.Object) resp.Value {
		popped := c.lpop(key, o.List(), fromTail, count)
		c.sendPop(lpopName(fromTail), key, len(popped))
		return resp.Array(resp.Bulk(key), resp.Array(popped...))
	})
}
