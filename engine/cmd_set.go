package engine

import (
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var setCommands = []Spec{
	{Name: "sadd", Arity: -3, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Insert)), run: sadd,
		Group: "set", Since: "1.0.0", Complexity: "O(1) for each element added, so O(N) to add N elements when the command is called with multiple arguments.",
		Summary: "Adds one or more members to a set. Creates the key if it doesn't exist.",
		History: []string{"2.4.0 Accepts multiple `member` arguments."},
		Args:    `key:k#0 member*`},
	{Name: "scard", Arity: 2, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO)), run: scard,
		Group: "set", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Returns the number of members in a set.",
		Args:    `key:k#0`},
	{Name: "sismember", Arity: 3, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO)), run: sismember,
		Group: "set", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Determines whether a member belongs to a set.",
		Args:    `key:k#0 member`},
	{Name: "smembers", Arity: 2, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: smembers,
		Group: "set", Since: "1.0.0", Complexity: "O(N) where N is the set cardinality.",
		Summary: "Returns all members of a set.",
		Tips:    []string{"nondeterministic_output_order"},
		Args:    `key:k#0`},
	{Name: "smismember", Arity: -3, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO | Access)), run: smismember,
		Group: "set", Since: "6.2.0", Complexity: "O(N) where N is the number of elements being checked for membership",
		Summary: "Determines whether multiple members belong to a set.",
		Args:    `key:k#0 member*`},
	{Name: "smove", Arity: 4, Flags: Write | Fast,
		Keys: keys(key1(RW|Access|Delete), keyAt(2, RW|Insert)), run: smove,
		Group: "set", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Moves a member from one set to another.",
		Args:    `source:k#0 destination:k#1 member`},
	{Name: "srem", Arity: -3, Flags: Write | Fast,
		Keys: keys(key1(RW | Delete)), run: srem,
		Group: "set", Since: "1.0.0", Complexity: "O(N) where N is the number of members to be removed.",
		Summary: "Removes one or more members from a set. Deletes the set if the last member was removed.",
		History: []string{"2.4.0 Accepts multiple `member` arguments."},
		Args:    `key:k#0 member*`},
}

// sadd: SADD key member [member ...]
func sadd(c *Call) resp.Value {
	key, members := c.Args[1], c.Args[2:]
	o, bad := c.writeAs(key, store.Set)
	if bad != nil {
		return *bad
	}
	if o == nil {
		o = store.NewSet(&c.limits)
		c.put(key, o)
	}
	s, added := o.Set(), 0
	s.Expect(members[0], len(members))
	for _, member := range members {
		if s.Add(member) {
			added++
		}
	}
	c.schanged(key, "sadd", added)
	return resp.Int(int64(added))
}

// schanged records that n members of a set were changed, as one event.
func (c *Call) schanged(key, event string, n int) {
	if n > 0 {
		c.changed(key, eventSet, event)
		c.stats.dirty += int64(n - 1)
	}
}

// srem: SREM key member [member ...]
func srem(c *Call) resp.Value {
	o, bad := c.writeAs(c.Args[1], store.Set)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return resp.Zero
	}
	removed := 0
	for _, member := range c.Args[2:] {
		if o.Set().Remove(member) {
			removed++
		}
	}
	c.sremoved(c.Args[1], o.Set(), "srem", removed)
	return resp.Int(int64(removed))
}

// sremoved reports that n members were removed, and drops an empty set.
func (c *Call) sremoved(key string, s *store.SetObj, event string, n int) {
	if n > 0 {
		c.schanged(key, event, n)
		c.dropEmpty(key, s.Len())
	}
}

// scard: SCARD key
func scard(c *Call) resp.Value {
	o, bad := c.readAs(c.Args[1], store.Set)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return resp.Zero
	}
	return resp.Int(int64(o.Set().Len()))
}

// sismember: SISMEMBER key member
func sismember(c *Call) resp.Value {
	o, bad := c.readAs(c.Args[1], store.Set)
	if bad != nil {
		return *bad
	}
	return isMember(o, c.Args[2])
}

// smismember: SMISMEMBER key member [member ...]
func smismember(c *Call) resp.Value {
	o, bad := c.readAs(c.Args[1], store.Set)
	if bad != nil {
		return *bad
	}
	out := make([]resp.Value, len(c.Args)-2)
	for i, member := range c.Args[2:] {
		out[i] = isMember(o, member)
	}
	return resp.Array(out...)
}

// isMember is 1 if a set has a member. o may be nil.
func isMember(o *store.Object, member string) resp.Value {
	if o != nil && o.Set().Has(member) {
		return resp.One
	}
	return resp.Zero
}

// smembers: SMEMBERS key
func smembers(c *Call) resp.Value {
	o, bad := c.readAs(c.Args[1], store.Set)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return resp.Set()
	}
	return resp.Set(c.members(o.Set())...)
}

// members is the members of a set in its order.
func (c *Call) members(s *store.SetObj) []resp.Value {
	out := c.values(s.Len())[:0]
	s.Ascend(func(member string) bool {
		out = append(out, resp.Bulk(member))
		return true
	})
	return out
}

// smove: SMOVE source destination member
func smove(c *Call) resp.Value {
	source, destination, member := c.Args[1], c.Args[2], c.Args[3]
	from, to := c.write(source), c.write(destination)
	switch {
	case from == nil:
		return resp.Zero
	case from.Type() != store.Set, to != nil && to.Type() != store.Set:
		return errWrongType
	case source == destination:
		return isMember(from, member)
	case !from.Set().Remove(member):
		return resp.Zero
	}
	c.sremoved(source, from.Set(), "srem", 1)
	if to == nil {
		to = store.NewSet(&c.limits)
		to.Set().Expect(member, 1)
		c.put(destination, to)
	}
	if to.Set().Add(member) {
		c.schanged(destination, "sadd", 1)
	}
	return resp.One
}
