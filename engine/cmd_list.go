package engine

import (
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var listCommands = []Spec{
	{Name: "lindex", Arity: 3, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: lindex,
		Group: "list", Since: "1.0.0", Complexity: "O(N) where N is the number of elements to traverse to get to the element at index. This makes asking for the first or the last element of the list O(1).",
		Summary: "Returns an element from a list by its index.",
		Args:    `key:k#0 index:i`},
	{Name: "llen", Arity: 2, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO)), run: llen,
		Group: "list", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Returns the length of a list.",
		Args:    `key:k#0`},
	{Name: "lpop", Arity: -2, Flags: Write | Fast,
		Keys: keys(key1(RW | Access | Delete)), run: lpop,
		Group: "list", Since: "1.0.0", Complexity: "O(N) where N is the number of elements returned",
		Summary: "Returns the first elements in a list after removing it. Deletes the list if the last element was popped.",
		History: []string{"6.2.0 Added the `count` argument."},
		Args:    `key:k#0 count:i@6.2.0?`},
	{Name: "lpush", Arity: -3, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Insert)), run: lpush,
		Group: "list", Since: "1.0.0", Complexity: "O(1) for each element added, so O(N) to add N elements when the command is called with multiple arguments.",
		Summary: "Prepends one or more elements to a list. Creates the key if it doesn't exist.",
		History: []string{"2.4.0 Accepts multiple `element` arguments."},
		Args:    `key:k#0 element*`},
	{Name: "lpushx", Arity: -3, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Insert)), run: lpushx,
		Group: "list", Since: "2.2.0", Complexity: "O(1) for each element added, so O(N) to add N elements when the command is called with multiple arguments.",
		Summary: "Prepends one or more elements to a list only when the list exists.",
		History: []string{"4.0.0 Accepts multiple `element` arguments."},
		Args:    `key:k#0 element*`},
	{Name: "lrange", Arity: 4, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: lrange,
		Group: "list", Since: "1.0.0", Complexity: "O(S+N) where S is the distance of start offset from HEAD for small lists, from nearest end (HEAD or TAIL) for large lists; and N is the number of elements in the specified range.",
		Summary: "Returns a range of elements from a list.",
		Args:    `key:k#0 start:i stop:i`},
	{Name: "rpop", Arity: -2, Flags: Write | Fast,
		Keys: keys(key1(RW | Access | Delete)), run: rpop,
		Group: "list", Since: "1.0.0", Complexity: "O(N) where N is the number of elements returned",
		Summary: "Returns and removes the last elements of a list. Deletes the list if the last element was popped.",
		History: []string{"6.2.0 Added the `count` argument."},
		Args:    `key:k#0 count:i@6.2.0?`},
	{Name: "rpush", Arity: -3, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Insert)), run: rpush,
		Group: "list", Since: "1.0.0", Complexity: "O(1) for each element added, so O(N) to add N elements when the command is called with multiple arguments.",
		Summary: "Appends one or more elements to a list. Creates the key if it doesn't exist.",
		History: []string{"2.4.0 Accepts multiple `element` arguments."},
		Args:    `key:k#0 element*`},
	{Name: "rpushx", Arity: -3, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Insert)), run: rpushx,
		Group: "list", Since: "2.2.0", Complexity: "O(1) for each element added, so O(N) to add N elements when the command is called with multiple arguments.",
		Summary: "Appends an element to a list only when the list exists.",
		History: []string{"4.0.0 Accepts multiple `element` arguments."},
		Args:    `key:k#0 element*`},
}

// lpush: LPUSH key element [element ...]
func lpush(c *Call) resp.Value { return c.lpush(false, false) }

// rpush: RPUSH key element [element ...]
func rpush(c *Call) resp.Value { return c.lpush(true, false) }

// lpushx: LPUSHX key element [element ...]
func lpushx(c *Call) resp.Value { return c.lpush(false, true) }

// rpushx: RPUSHX key element [element ...]
func rpushx(c *Call) resp.Value { return c.lpush(true, true) }

func (c *Call) lpush(atTail, ifExists bool) resp.Value {
	key, elems := c.Args[1], c.Args[2:]
	o, bad := c.writeAs(key, store.List)
	switch {
	case bad != nil:
		return *bad
	case o == nil && ifExists:
		return resp.Zero
	case o == nil:
		o = store.NewList(&c.limits)
		c.put(key, o)
	}
	v, bytes := o.List(), 0
	for _, elem := range elems {
		bytes += len(elem)
	}
	v.Expect(len(elems), bytes)
	push, event := v.PushHead, "lpush"
	if atTail {
		push, event = v.PushTail, "rpush"
	}
	for _, elem := range elems {
		push(elem)
	}
	c.lchanged(key, event, len(elems))
	return resp.Int(int64(v.Len()))
}

// lchanged records that n elements of a list were changed, as one event.
func (c *Call) lchanged(key, event string, n int) {
	c.changed(key, eventList, event)
	c.stats.dirty += int64(n - 1)
}

// lpop: LPOP key [count]
func lpop(c *Call) resp.Value { return c.lpopArgs(false) }

// rpop: RPOP key [count]
func rpop(c *Call) resp.Value { return c.lpopArgs(true) }

func (c *Call) lpopArgs(fromTail bool) resp.Value {
	count, none := int64(1), resp.Null
	switch len(c.Args) {
	case 2:
	case 3:
		var ok bool
		if count, ok = parseInt(c.Args[2]); !ok || count < 0 {
			return errNotPositive
		}
		none = resp.NullArray
	default:
		return c.wrongArity()
	}
	o, bad := c.writeAs(c.Args[1], store.List)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return none
	case count == 0:
		return resp.Array()
	}
	popped := c.lpop(c.Args[1], o.List(), fromTail, count)
	if len(c.Args) == 2 {
		return popped[0]
	}
	return resp.Array(popped...)
}

// lpop removes up to count elements, at least one, from an end of v, which is at key.
func (c *Call) lpop(key string, v *store.ListObj, fromTail bool, count int64) []resp.Value {
	pop, event := v.PopHead, "lpop"
	if fromTail {
		pop, event = v.PopTail, "rpop"
	}
	out := c.values(int(min(count, int64(v.Len()))))
	for i := range out {
		out[i] = resp.Bulk(pop())
	}
	c.lremoved(key, v, event, len(out))
	return out
}

// lremoved reports that n elements were removed, and drops an empty list.
func (c *Call) lremoved(key string, v *store.ListObj, event string, n int) {
	c.lchanged(key, event, n)
	c.dropEmpty(key, v.Len())
	v.Shrunk()
}

// llen: LLEN key
func llen(c *Call) resp.Value {
	o, bad := c.readAs(c.Args[1], store.List)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return resp.Zero
	}
	return resp.Int(int64(o.List().Len()))
}

// lindex: LINDEX key index
func lindex(c *Call) resp.Value {
	o, bad := c.readAs(c.Args[1], store.List)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return resp.Null
	}
	index, bad := c.intArg(2)
	if bad != nil {
		return *bad
	}
	i, ok := listIndex(o.List(), index)
	if !ok {
		return resp.Null
	}
	return resp.Bulk(o.List().At(i))
}

// listIndex is an index of a list, those below 0 counted from the end.
func listIndex(v *store.ListObj, index int64) (i int, ok bool) {
	if index < 0 {
		index += int64(v.Len())
	}
	return int(index), index >= 0 && index < int64(v.Len())
}

// lrange: LRANGE key start stop
func lrange(c *Call) resp.Value {
	start, stop, bad := c.rangeArgs()
	if bad != nil {
		return *bad
	}
	o, bad := c.readAs(c.Args[1], store.List)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return resp.Array()
	}
	from, to := listSpan(o.List(), start, stop)
	out := c.values(to - from)[:0]
	if from < to {
		o.List().Ascend(from, func(elem string) bool {
			out = append(out, resp.Bulk(elem))
			return len(out) < to-from
		})
	}
	return resp.Array(out...)
}

// rangeArgs is the arguments start and stop behind the key.
func (c *Call) rangeArgs() (start, stop int64, bad *resp.Value) {
	if start, bad = c.intArg(2); bad == nil {
		stop, bad = c.intArg(3)
	}
	return start, stop, bad
}

// listSpan is the indexes from and to, to not included, of a range that has its last
// element at stop. The range may be empty.
func listSpan(v *store.ListObj, start, stop int64) (from, to int) {
	n := int64(v.Len())
	if start < 0 {
		start = max(start+n, 0)
	}
	if stop < 0 {
		stop += n
	}
	stop = min(stop, n-1)
	if start > stop {
		return 0, 0
	}
	return int(start), int(stop + 1)
}
