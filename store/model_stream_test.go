package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// modelStream is a stream as a list of nodes with all that was ever put in, and groups.
type modelStream struct {
	nodes      []*modelNode
	last       StreamID
	maxDeleted StreamID
	added      int64
	groups     map[string]*modelGroup
}

type modelNode struct{ entries []modelEntry }

type modelEntry struct {
	id    StreamID
	pairs string
	gone  bool
}

type modelGroup struct {
	last      StreamID
	read      int64
	pending   map[StreamID]Pending
	consumers map[string][2]int64 // seen, active
}

func (m *modelStream) clone() *modelStream {
	if m == nil {
		return nil
	}
	c := *m
	c.nodes = nil
	for _, n := range m.nodes {
		c.nodes = append(c.nodes, &modelNode{slices.Clone(n.entries)})
	}
	c.groups = map[string]*modelGroup{}
	for name, g := range m.groups {
		d := *g
		d.pending, d.consumers = maps.Clone(g.pending), maps.Clone(g.consumers)
		c.groups[name] = &d
	}
	return &c
}

func (n *modelNode) live() (out []modelEntry) {
	for _, e := range n.entries {
		if !e.gone {
			out = append(out, e)
		}
	}
	return out
}

func (m *modelStream) live() (out []modelEntry) {
	for _, n := range m.nodes {
		out = append(out, n.live()...)
	}
	return out
}

func (m *modelStream) add(id StreamID, pairs []string, most int) {
	if n := len(m.nodes); n == 0 || len(m.nodes[n-1].entries) >= most {
		m.nodes = append(m.nodes, &modelNode{})
	}
	n := m.nodes[len(m.nodes)-1]
	n.entries = append(n.entries, modelEntry{id: id, pairs: fmt.Sprintf("%q", pairs)})
	m.last = id
	m.added++
}

func (m *modelStream) del(id StreamID) bool {
	for i, n := range m.nodes {
		for j := range n.entries {
			if e := &n.entries[j]; e.id == id && !e.gone {
				e.gone = true
				if len(n.live()) == 0 {
					m.nodes = slices.Delete(m.nodes, i, i+1)
				}
				if id.Compare(m.maxDeleted) > 0 {
					m.maxDeleted = id
				}
				return true
			}
		}
	}
	return false
}

func (m *modelStream) trim(t StreamTrim) (removed int) {
	for len(m.nodes) > 0 {
		n, length := m.nodes[0], len(m.live())
		live := len(n.live())
		if !t.ByID && int64(length) <= t.MaxLen || t.Limit > 0 && int64(removed+live) > t.Limit {
			return removed
		}
		all := int64(length-live) >= t.MaxLen
		if t.ByID {
			all = n.entries[len(n.entries)-1].id.Compare(t.MinID) < 0
		}
		if all {
			m.nodes = m.nodes[1:]
			removed += live
			continue
		}
		if t.Approx {
			return removed
		}
		for i := range n.entries {
			if e := &n.entries[i]; !e.gone && (t.ByID && e.id.Compare(t.MinID) < 0 || !t.ByID && int64(length) > t.MaxLen) {
				e.gone = true
				removed++
				length--
			}
		}
		return removed
	}
	return removed
}

func (w *world) streamID(m *modelStream) StreamID {
	return StreamID{uint64(w.rng.IntN(int(m.last.Ms) + 2)), uint64(w.rng.IntN(3))}
}

func (w *world) stepStream(b *branch, key string) {
	mo := b.m[key]
	if mo == nil {
		b.db.Put(key, NewStream(b.db.Limits()))
		mo = &modelObj{typ: Stream, stream: &modelStream{groups: map[string]*modelGroup{}}}
		b.m[key] = mo
	}
	s, m := b.db.Write(key).Stream(), mo.stream
	id := w.streamID(m)
	switch w.rng.IntN(12) {
	case 0, 1:
		if got, want := s.Delete(id), m.del(id); got != want {
			w.t.Fatalf("Delete(%v) = %v", id, got)
		}
	case 2:
		t := StreamTrim{ByID: w.rng.IntN(2) == 0, MaxLen: int64(w.rng.IntN(12)), MinID: id, Approx: w.rng.IntN(2) == 0,
			Limit: int64(w.rng.IntN(2) * w.rng.IntN(8))}
		if got, want := s.Trim(t), m.trim(t); got != want {
			w.t.Fatalf("Trim(%+v) = %d, want %d", t, got, want)
		}
	case 3, 4, 5, 6:
		w.stepGroup(s, m, id)
	default:
		id, pairs := m.last, []string{"f" + w.number(2), w.text()}
		if w.rng.IntN(3) > 0 {
			id.Ms++
		}
		id.Seq++
		s.Append(id, pairs)
		m.add(id, pairs, b.db.Limits().StreamNodeMaxEntries)
	}
	if s.Len() == 0 && s.GroupsLen() == 0 && w.rng.IntN(2) == 0 {
		b.db.Remove(key)
		delete(b.m, key)
	}
}

func (w *world) stepGroup(s *StreamObj, m *modelStream, id StreamID) {
	name, member := "g"+w.number(2), "c"+w.number(3)
	mg := m.groups[name]
	g := s.WriteGroup(name)
	if (g == nil) != (mg == nil) {
		w.t.Fatalf("WriteGroup(%q) = %v", name, g)
	}
	switch op := w.rng.IntN(12); {
	case g == nil:
		s.AddGroup(name, id, UnknownRead)
		m.groups[name] = &modelGroup{id, UnknownRead, map[StreamID]Pending{}, map[string][2]int64{}}
	case op == 0:
		s.RemoveGroup(name)
		delete(m.groups, name)
	case op == 1:
		n, ok := g.RemoveConsumer(member)
		before := len(mg.pending)
		maps.DeleteFunc(mg.pending, func(_ StreamID, p Pending) bool { return p.Consumer == member })
		if _, had := mg.consumers[member]; had != ok || before-len(mg.pending) != n {
			w.t.Fatalf("RemoveConsumer(%q) = %d %v", member, n, ok)
		}
		delete(mg.consumers, member)
	case op < 5:
		_, had := mg.pending[id]
		if g.RemovePending(id) != had {
			w.t.Fatalf("RemovePending(%v), which was there: %v", id, had)
		}
		delete(mg.pending, id)
	case op == 5:
		g.LastID, mg.last = id, id
		g.Read, mg.read = w.now, w.now
	default:
		w.now++
		if g.AddConsumer(member, w.now) {
			mg.consumers[member] = [2]int64{w.now, NeverActive}
		}
		p := Pending{id, member, w.now, int64(w.rng.IntN(5))}
		g.SetPending(p)
		mg.pending[id] = p
		g.WriteConsumer(member).Active = w.now
		mg.consumers[member] = [2]int64{mg.consumers[member][0], w.now}
	}
}

// dump is all that the model holds, in the words of dumpStream.
func (m *modelStream) dump() string {
	var b strings.Builder
	fmt.Fprintln(&b, m.last, m.maxDeleted, m.added, len(m.nodes))
	for _, e := range m.live() {
		fmt.Fprintln(&b, e.id, e.pairs)
	}
	for _, name := range slices.Sorted(maps.Keys(m.groups)) {
		g := m.groups[name]
		fmt.Fprintln(&b, name, g.last, g.read)
		ids := slices.SortedFunc(maps.Keys(g.pending), StreamID.Compare)
		for _, id := range ids {
			fmt.Fprintln(&b, g.pending[id])
		}
		for _, c := range slices.Sorted(maps.Keys(g.consumers)) {
			fmt.Fprintln(&b, c, g.consumers[c])
			for _, id := range ids {
				if g.pending[id].Consumer == c {
					fmt.Fprintln(&b, id)
				}
			}
		}
	}
	return b.String()
}

func dumpStream(s *StreamObj) string {
	var b strings.Builder
	fmt.Fprintln(&b, s.LastID(), s.MaxDeletedID(), s.Added(), s.Nodes())
	s.Ascend(StreamID{}, func(e StreamEntry) bool {
		var pairs []string
		e.Ascend(func(field, value string) bool { pairs = append(pairs, field, value); return true })
		fmt.Fprintf(&b, "%v %q\n", e.ID, pairs)
		return true
	})
	s.AscendGroups(func(g *StreamGroup) bool {
		fmt.Fprintln(&b, g.Name(), g.LastID, g.Read)
		g.AscendPending(StreamID{}, func(p Pending) bool { fmt.Fprintln(&b, p); return true })
		g.AscendConsumers(func(c *Consumer) bool {
			fmt.Fprintln(&b, c.Name(), [2]int64{c.Seen, c.Active})
			g.AscendPendingOf(c, StreamID{}, func(p Pending) bool { fmt.Fprintln(&b, p.ID); return true })
			return true
		})
		return true
	})
	return b.String()
}

// compareStream compares a random span, read downwards.
func (w *world) compareStream(s *StreamObj, m *modelStream) {
	from := w.streamID(m)
	var got, want []StreamID
	s.Descend(from, func(e StreamEntry) bool { got = append(got, e.ID); return len(got) < 5 })
	live := m.live()
	slices.Reverse(live)
	for _, e := range live {
		if e.id.Compare(from) <= 0 && len(want) < 5 {
			want = append(want, e.id)
		}
	}
	if !slices.Equal(got, want) {
		w.t.Fatalf("Descend(%v): %v, want %v", from, got, want)
	}
}
