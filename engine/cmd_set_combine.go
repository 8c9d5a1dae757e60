package engine

import (
	"cmp"
	"slices"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var setCombineCommands = []Spec{
	{Name: "sdiff", Arity: -2, Flags: ReadOnly,
		Keys: keys(keyRange(1, -1, 1, 0, RO|Access)), run: sdiff,
		Group: "set", Since: "1.0.0", Complexity: "O(N) where N is the total number of elements in all given sets.",
		Summary: "Returns the difference of multiple sets.",
		Tips:    []string{"nondeterministic_output_order"},
		Args:    `key:k#0*`},
	{Name: "sdiffstore", Arity: -3, Flags: Write | DenyOOM,
		Keys: keys(key1(OW|Update), keyRange(2, -1, 1, 0, RO|Access)), run: sdiffstore,
		Group: "set", Since: "1.0.0", Complexity: "O(N) where N is the total number of elements in all given sets.",
		Summary: "Stores the difference of multiple sets in a key.",
		Args:    `destination:k#0 key:k#1*`},
	{Name: "sinter", Arity: -2, Flags: ReadOnly,
		Keys: keys(keyRange(1, -1, 1, 0, RO|Access)), run: sinter,
		Group: "set", Since: "1.0.0", Complexity: "O(N*M) worst case where N is the cardinality of the smallest set and M is the number of sets.",
		Summary: "Returns the intersect of multiple sets.",
		Tips:    []string{"nondeterministic_output_order"},
		Args:    `key:k#0*`},
	{Name: "sintercard", Arity: -3, Flags: ReadOnly,
		Keys: keys(keyNum(1, 0, 1, 1, RO|Access)), run: sintercard,
		Group: "set", Since: "7.0.0", Complexity: "O(N*M) worst case where N is the cardinality of the smallest set and M is the number of sets.",
		Summary: "Returns the number of members of the intersect of multiple sets.",
		Args:    `numkeys:i key:k#0* limit:i=LIMIT?`},
	{Name: "sinterstore", Arity: -3, Flags: Write | DenyOOM,
		Keys: keys(key1(OW|Update), keyRange(2, -1, 1, 0, RO|Access)), run: sinterstore,
		Group: "set", Since: "1.0.0", Complexity: "O(N*M) worst case where N is the cardinality of the smallest set and M is the number of sets.",
		Summary: "Stores the intersect of multiple sets in a key.",
		Args:    `destination:k#0 key:k#1*`},
	{Name: "sunion", Arity: -2, Flags: ReadOnly,
		Keys: keys(keyRange(1, -1, 1, 0, RO|Access)), run: sunion,
		Group: "set", Since: "1.0.0", Complexity: "O(N) where N is the total number of elements in all given sets.",
		Summary: "Returns the union of multiple sets.",
		Tips:    []string{"nondeterministic_output_order"},
		Args:    `key:k#0*`},
	{Name: "sunionstore", Arity: -3, Flags: Write | DenyOOM,
		Keys: keys(key1(OW|Update), keyRange(2, -1, 1, 0, RO|Access)), run: sunionstore,
		Group: "set", Since: "1.0.0", Complexity: "O(N) where N is the total number of elements in all given sets.",
		Summary: "Stores the union of multiple sets in a key.",
		Args:    `destination:k#0 key:k#1*`},
}

var errSInterCardKeys = resp.Err("ERR Number of keys can't be greater than number of args")

// sinter: SINTER key [key ...]
func sinter(c *Call) resp.Value {
	sets, bad := c.readSets(c.Args[1:])
	if bad != nil {
		return *bad
	}
	out := []resp.Value{}
	intersect(sets, func(member string) bool {
		out = append(out, resp.Bulk(member))
		return true
	})
	return resp.Set(out...)
}

// sintercard: SINTERCARD numkeys key [key ...] [LIMIT limit]
func sintercard(c *Call) resp.Value {
	keys, limit, bad := c.sintercardArgs()
	if bad != nil {
		return *bad
	}
	sets, bad := c.readSets(keys)
	if bad != nil {
		return *bad
	}
	n := int64(0)
	intersect(sets, func(string) bool {
		n++
		return n != limit
	})
	return resp.Int(n)
}

func (c *Call) sintercardArgs() (keys []string, limit int64, bad *resp.Value) {
	n, ok := parseInt(c.Args[1])
	switch {
	case !ok || n < 1:
		return nil, 0, &errMPopNumKeys
	case n > int64(len(c.Args)-2):
		return nil, 0, &errSInterCardKeys
	}
	for i := 2 + int(n); i < len(c.Args); i += 2 {
		if i+1 == len(c.Args) || !c.is(i, "limit") {
			return nil, 0, &errSyntax
		}
		if limit, ok = parseInt(c.Args[i+1]); !ok || limit < 0 {
			return nil, 0, &errNegativeLimit
		}
	}
	return c.Args[2 : 2+n], limit, nil
}

// sinterstore: SINTERSTORE destination key [key ...]
func sinterstore(c *Call) resp.Value {
	sets, bad := c.readSets(c.Args[2:])
	if bad != nil {
		return *bad
	}
	o, onlyInts := store.NewSet(&c.limits), true
	if smallestFirst(sets) && !sets[0].IsIntset() {
		o.Set().ExpectNames()
	}
	intersect(sets, func(member string) bool {
		_, isInt := parseInt(member)
		onlyInts = onlyInts && isInt
		o.Set().Add(member)
		return true
	})
	if onlyInts {
		o.Set().Compact()
	}
	return c.sstore(o, "sinterstore")
}

// readSets looks sets up; one that is absent is nil.
func (c *Call) readSets(keys []string) ([]*store.SetObj, *resp.Value) {
	sets := make([]*store.SetObj, len(keys))
	for i, key := range keys {
		o, bad := c.readAs(key, store.Set)
		if bad != nil {
			return nil, bad
		}
		if o != nil {
			sets[i] = o.Set()
		}
	}
	return sets, nil
}

// smallestFirst sorts sets by size. It reports false when one is absent.
func smallestFirst(sets []*store.SetObj) bool {
	if slices.Contains(sets, nil) {
		return false
	}
	slices.SortStableFunc(sets, func(a, b *store.SetObj) int { return cmp.Compare(a.Len(), b.Len()) })
	return true
}

// intersect calls f for the members that are in all sets until it returns false.
func intersect(sets []*store.SetObj, f func(member string) bool) {
	if !smallestFirst(sets) {
		return
	}
	sets[0].Ascend(func(member string) bool {
		for _, s := range sets[1:] {
			if !s.Has(member) {
				return true
			}
		}
		return f(member)
	})
}

// sstore puts the result of a set operation at the key in c.Args[1]; an empty one removes it.
func (c *Call) sstore(o *store.Object, event string) resp.Value {
	key, n := c.Args[1], o.Set().Len()
	if n == 0 {
		c.remove(key)
		return resp.Zero
	}
	c.put(key, o)
	c.schanged(key, event, 1)
	return resp.Int(int64(n))
}

// sunion: SUNION key [key ...]
func sunion(c *Call) resp.Value {
	sets, bad := c.readSets(c.Args[1:])
	if bad != nil {
		return *bad
	}
	return resp.Set(c.members(c.union(sets).Set())...)
}

// sunionstore: SUNIONSTORE destination key [key ...]
func sunionstore(c *Call) resp.Value {
	sets, bad := c.readSets(c.Args[2:])
	if bad != nil {
		return *bad
	}
	return c.sstore(c.union(sets), "sunionstore")
}

func (c *Call) union(sets []*store.SetObj) *store.Object {
	o := store.NewSet(&c.limits)
	for _, s := range sets {
		if s != nil {
			addAll(o.Set(), s)
		}
	}
	return o
}

func addAll(to, from *store.SetObj) {
	from.Ascend(func(member string) bool {
		to.Add(member)
		return true
	})
}

// sdiff: SDIFF key [key ...]
func sdiff(c *Call) resp.Value {
	sets, bad := c.readSets(c.Args[1:])
	if bad != nil {
		return *bad
	}
	return resp.Set(c.members(c.diff(sets).Set())...)
}

// sdiffstore: SDIFFSTORE destination key [key ...]
func sdiffstore(c *Call) resp.Value {
	sets, bad := c.readSets(c.Args[2:])
	if bad != nil {
		return *bad
	}
	return c.sstore(c.diff(sets), "sdiffstore")
}

// diff is the members of the first set that no other has. There are two ways to find
// them, and the encoding of the result tells which one the server chose.
func (c *Call) diff(sets []*store.SetObj) *store.Object {
	o := store.NewSet(&c.limits)
	first, others := sets[0], sets[1:]
	if first == nil || slices.Contains(others, first) {
		return o
	}
	others = slices.DeleteFunc(others, func(s *store.SetObj) bool { return s == nil })
	all := first.Len()
	for _, s := range others {
		all += s.Len()
	}
	if first.Len()*(1+len(others))/2 > all {
		addAll(o.Set(), first)
		for _, s := range others {
			removeAll(o.Set(), s)
		}
		return o
	}
	first.Ascend(func(member string) bool {
		if !slices.ContainsFunc(others, func(s *store.SetObj) bool { return s.Has(member) }) {
			o.Set().Add(member)
		}
		return true
	})
	return o
}

func removeAll(from, members *store.SetObj) {
	members.Ascend(func(member string) bool {
		from.Remove(member)
		return from.Len() > 0
	})
}
