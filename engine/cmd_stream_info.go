package engine

import (
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var streamInfoCommands = []Spec{
	{Name: "xinfo", Arity: -2, NoGroupACL: true,
		Group: "stream", Since: "5.0.0", Complexity: "Depends on subcommand.",
		Summary: "A container for stream introspection commands."},
	{Name: "xinfo|consumers", Arity: 4, Flags: ReadOnly,
		Keys: keys(keyAt(2, RO|Access)), run: xinfoConsumers,
		Group: "stream", Since: "5.0.0", Complexity: "O(1)",
		Summary: "Returns a list of the consumers in a consumer group.",
		History: []string{"7.2.0 Added the `inactive` field, and changed the meaning of `idle`."},
		Tips:    []string{"nondeterministic_output"},
		Args:    `key:k#0 group`},
	{Name: "xinfo|groups", Arity: 3, Flags: ReadOnly,
		Keys: keys(keyAt(2, RO|Access)), run: xinfoGroups,
		Group: "stream", Since: "5.0.0", Complexity: "O(1)",
		Summary: "Returns a list of the consumer groups of a stream.",
		History: []string{"7.0.0 Added the `entries-read` and `lag` fields"},
		Args:    `key:k#0`},
	{Name: "xinfo|help", Arity: 2, Flags: Loading | Stale, run: xinfoHelp,
		Group: "stream", Since: "5.0.0", Complexity: "O(1)",
		Summary: "Returns helpful text about the different subcommands."},
	{Name: "xinfo|stream", Arity: -3, Flags: ReadOnly,
		Keys: keys(keyAt(2, RO|Access)), run: xinfoStream,
		Group: "stream", Since: "5.0.0", Complexity: "O(1)",
		Summary: "Returns information about a stream.",
		History: []string{"6.0.0 Added the `FULL` modifier.", "7.0.0 Added the `max-deleted-entry-id`, `entries-added`, `recorded-first-entry-id`, `entries-read` and `lag` fields", "7.2.0 Added the `active-time` field, and changed the meaning of `seen-time`."},
		Args:    `key:k#0 full-block{full:t=FULL count:i=COUNT?}?`},
}

// xinfoKey looks up the stream at argument 2, which must be there.
func (c *Call) xinfoKey() (*store.StreamObj, *resp.Value) {
	s, bad := c.readStream(c.Args[2])
	if s == nil && bad == nil {
		bad = &errNoKey
	}
	return s, bad
}

// fields is a map reply of names and values.
type fields []resp.Value

func (f *fields) add(name string, v resp.Value) { *f = append(*f, resp.Bulk(name), v) }

func (f *fields) addInt(name string, n int64) { f.add(name, resp.Int(n)) }

func (f *fields) addID(name string, id store.StreamID) { f.add(name, resp.Bulk(id.String())) }

// xinfoConsumers: XINFO CONSUMERS key group
func xinfoConsumers(c *Call) resp.Value {
	s, bad := c.xinfoKey()
	if bad != nil {
		return *bad
	}
	g := s.Group(c.Args[3])
	if g == nil {
		return *noGroupOf(c.Args[2], c.Args[3])
	}
	var out []resp.Value
	g.AscendConsumers(func(m *store.Consumer) bool {
		inactive := int64(store.NeverActive)
		if m.Active != store.NeverActive {
			inactive = c.ms() - m.Active
		}
		var f fields
		f.add("name", resp.Bulk(m.Name()))
		f.addInt("pending", int64(m.PendingLen()))
		f.addInt("idle", max(c.ms()-m.Seen, 0))
		f.addInt("inactive", inactive)
		out = append(out, resp.Map(f...))
		return true
	})
	return resp.Array(out...)
}

// xinfoGroups: XINFO GROUPS key
func xinfoGroups(c *Call) resp.Value {
	s, bad := c.xinfoKey()
	if bad != nil {
		return *bad
	}
	var out []resp.Value
	s.AscendGroups(func(g *store.StreamGroup) bool {
		var f fields
		f.add("name", resp.Bulk(g.Name()))
		f.addInt("consumers", int64(g.ConsumersLen()))
		f.addInt("pending", int64(g.PendingLen()))
		f.addID("last-delivered-id", g.LastID)
		f.addProgress(s, g)
		out = append(out, resp.Map(f...))
		return true
	})
	return resp.Array(out...)
}

// addProgress adds how many entries a group has read and how many it still has to.
func (f *fields) addProgress(s *store.StreamObj, g *store.StreamGroup) {
	read, lag := resp.Null, resp.Null
	if g.Read != store.UnknownRead {
		read = resp.Int(g.Read)
	}
	if n, ok := s.Lag(g); ok {
		lag = resp.Int(n)
	}
	f.add("entries-read", read)
	f.add("lag", lag)
}

// xinfoStream: XINFO STREAM key [FULL [COUNT count]]
func xinfoStream(c *Call) resp.Value {
	s, bad := c.xinfoKey()
	if bad != nil {
		return *bad
	}
	full, count, bad := c.xinfoFull()
	if bad != nil {
		return *bad
	}
	first, hasAny := s.First()
	last, _ := s.Last()
	var f fields
	f.addInt("length", int64(s.Len()))
	f.addInt("radix-tree-keys", int64(s.Nodes()))
	f.addInt("radix-tree-nodes", int64(s.RadixNodes()))
	f.addID("last-generated-id", s.LastID())
	f.addID("max-deleted-entry-id", s.MaxDeletedID())
	f.addInt("entries-added", s.Added())
	f.addID("recorded-first-entry-id", first.ID)
	switch {
	case full:
		f.add("entries", streamEntries(s, store.StreamID{}, store.MaxStreamID, count))
		f.add("groups", groupsInFull(s, count))
	case hasAny:
		f.addInt("groups", int64(s.GroupsLen()))
		f.add("first-entry", streamEntry(first))
		f.add("last-entry", streamEntry(last))
	default:
		f.addInt("groups", int64(s.GroupsLen()))
		f.add("first-entry", resp.Null)
		f.add("last-entry", resp.Null)
	}
	return resp.Map(f...)
}

// xinfoFull parses the options of XINFO STREAM. count limits each list; 0 is no limit.
func (c *Call) xinfoFull() (full bool, count int64, bad *resp.Value) {
	count = 10
	switch n := len(c.Args); {
	case n == 3:
		return false, count, nil
	case n != 4 && n != 6 || !c.is(3, "full") || n == 6 && !c.is(4, "count"):
		v := c.subcommandSyntax()
		return false, 0, &v
	case n == 6:
		if count, bad = c.intArg(5); count < 0 {
			count = 10
		}
	}
	return true, count, bad
}

// groupsInFull is the groups of a stream with up to count pending entries of each list.
func groupsInFull(s *store.StreamObj, count int64) resp.Value {
	var out []resp.Value
	s.AscendGroups(func(g *store.StreamGroup) bool {
		var pending, consumers []resp.Value
		g.AscendPending(store.StreamID{}, func(p store.Pending) bool {
			pending = append(pending, resp.Array(resp.Bulk(p.ID.String()), resp.Bulk(p.Consumer), resp.Int(p.Delivered),
				resp.Int(p.Deliveries)))
			return int64(len(pending)) != count
		})
		g.AscendConsumers(func(m *store.Consumer) bool {
			consumers = append(consumers, consumerInFull(g, m, count))
			return true
		})
		var f fields
		f.add("name", resp.Bulk(g.Name()))
		f.addID("last-delivered-id", g.LastID)
		f.addProgress(s, g)
		f.addInt("pel-count", int64(g.PendingLen()))
		f.add("pending", resp.Array(pending...))
		f.add("consumers", resp.Array(consumers...))
		out = append(out, resp.Map(f...))
		return true
	})
	return resp.Array(out...)
}

func consumerInFull(g *store.StreamGroup, m *store.Consumer, count int64) resp.Value {
	var pending []resp.Value
	g.AscendPendingOf(m, store.StreamID{}, func(p store.Pending) bool {
		pending = append(pending, resp.Array(resp.Bulk(p.ID.String()), resp.Int(p.Delivered), resp.Int(p.Deliveries)))
		return int64(len(pending)) != count
	})
	var f fields
	f.add("name", resp.Bulk(m.Name()))
	f.addInt("seen-time", m.Seen)
	f.addInt("active-time", m.Active)
	f.addInt("pel-count", int64(m.PendingLen()))
	f.add("pending", resp.Array(pending...))
	return resp.Map(f...)
}

// xinfoHelp: XINFO HELP
func xinfoHelp(*Call) resp.Value {
	return helpReply("XINFO",
		"CONSUMERS <key> <groupname>",
		"    Show consumers of <groupname>.",
		"GROUPS <key>",
		"    Show the stream consumer groups.",
		"STREAM <key> [FULL [COUNT <count>]",
		"    Show information about the stream.")
}
