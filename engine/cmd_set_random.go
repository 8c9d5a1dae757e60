package engine

import (
	"slices"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var setRandomCommands = []Spec{
	{Name: "spop", Arity: -2, Flags: Write | Fast,
		Keys: keys(key1(RW | Access | Delete)), run: spop,
		Group: "set", Since: "1.0.0", Complexity: "Without the count argument O(1), otherwise O(N) where N is the value of the passed count.",
		Summary: "Returns one or more random members from a set after removing them. Deletes the set if the last member was popped.",
		History: []string{"3.2.0 Added the `count` argument."},
		Tips:    []string{"nondeterministic_output"},
		Args:    `key:k#0 count:i@3.2.0?`},
	{Name: "srandmember", Arity: -2, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: srandmember,
		Group: "set", Since: "1.0.0", Complexity: "Without the count argument O(1), otherwise O(N) where N is the absolute value of the passed count.",
		Summary: "Get one or multiple random members from a set",
		History: []string{"2.6.0 Added the optional `count` argument."},
		Tips:    []string{"nondeterministic_output"},
		Args:    `key:k#0 count:i@2.6.0?`},
	{Name: "sscan", Arity: -3, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: sscan,
		Group: "set", Since: "2.8.0", Complexity: "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor to return back to 0. N is the number of elements inside the collection.",
		Summary: "Iterates over members of a set.",
		Tips:    []string{"nondeterministic_output"},
		Args:    `key:k#0 cursor:i pattern:p=MATCH? count:i=COUNT?`},
}

// spop: SPOP key [count]
func spop(c *Call) resp.Value {
	count, none := int64(1), resp.Null
	switch len(c.Args) {
	case 2:
	case 3:
		var ok bool
		if count, ok = parseInt(c.Args[2]); !ok || count < 0 {
			return errNotPositive
		}
		none = resp.Set()
	default:
		return errSyntax
	}
	o, bad := c.writeAs(c.Args[1], store.Set)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return none
	case count == 0:
		return resp.Set()
	}
	popped := c.spop(c.Args[1], o.Set(), count)
	c.sendPopped(popped, o.Set().Len())
	if len(c.Args) == 2 {
		return popped[0]
	}
	return resp.Set(popped...)
}

// sendPopped makes replicas lose the same members as the set here, of which some are left.
func (c *Call) sendPopped(popped []resp.Value, left int) {
	const most = 1024 // members in one SREM
	key := c.Args[1]
	switch {
	case !c.repl.streams():
	case len(c.Args) == 2:
		c.sendAs("SREM", key, popped[0].Str)
	case left == 0:
		c.sendDeletion(key, lazyServerDel)
	default:
		c.sendNothing()
		for batch := range slices.Chunk(popped, most) {
			args := []string{"SREM", key}
			for _, member := range batch {
				args = append(args, member.Str)
			}
			c.alsoSend(args...)
		}
	}
}

// spop removes up to count random members, at least one.
func (c *Call) spop(key string, s *store.SetObj, count int64) []resp.Value {
	out := c.sample(s, count)
	left := s.Len() - len(out)
	for _, member := range out {
		s.Remove(member.Str)
	}
	if left > 0 && 5*left <= len(out) {
		s.Rebuild() // as the server does when few are left
	}
	c.sremoved(key, s, "spop", len(out))
	return out
}

// sample is up to count random members; see pickIndexes.
func (c *Call) sample(s *store.SetObj, count int64) []resp.Value {
	const few = 64 // in so many members there is more than one to take: walk
	picked := c.pickIndexes(s.Len(), count)
	out := make([]resp.Value, 0, len(picked))
	if count < 0 || few*len(picked) < s.Len() {
		for _, i := range picked {
			out = append(out, resp.Bulk(s.At(i)))
		}
		return out
	}
	at := 0
	s.Ascend(func(member string) bool {
		if len(out) < len(picked) && at == picked[len(out)] {
			out = append(out, resp.Bulk(member))
		}
		at++
		return len(out) < len(picked)
	})
	return out
}

// srandmember: SRANDMEMBER key [count]
func srandmember(c *Call) resp.Value {
	count := int64(1)
	switch len(c.Args) {
	case 2:
	case 3:
		var bad *resp.Value
		if count, bad = c.longArg(2); bad != nil {
			return *bad
		}
	default:
		return errSyntax
	}
	o, bad := c.readAs(c.Args[1], store.Set)
	switch {
	case bad != nil:
		return *bad
	case o == nil && len(c.Args) == 2:
		return resp.Null
	case o == nil:
		return resp.Array()
	case count < -maxRandomPicks:
		return c.tooManyPicks(count)
	}
	out := c.sample(o.Set(), count)
	if len(c.Args) == 2 {
		return out[0]
	}
	return resp.Array(out...)
}

// sscan: SSCAN key cursor [MATCH pattern] [COUNT count]
func sscan(c *Call) resp.Value {
	cursor, bad := c.cursorArg(2)
	if bad != nil {
		return *bad
	}
	o, bad := c.readAs(c.Args[1], store.Set)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return scanReply(0, nil)
	}
	opt, bad := c.scanOptions(3, store.Set)
	if bad != nil {
		return *bad
	}
	members := elements{scope: "set", packed: o.Encoding() != "hashtable",
		from: func(start string, visit func(member, _ string) bool) {
			o.Set().AscendSorted(start, func(member string) bool { return visit(member, "") })
		}}
	if members.packed {
		members.from = func(_ string, visit func(member, _ string) bool) {
			o.Set().Ascend(func(member string) bool { return visit(member, "") })
		}
	}
	return c.scanElements(members, cursor, &opt)
}
