package store

import (
	"math"
	"strings"
	"sync"
	"testing"
)

func streamAt(db *DB, key string, ids ...StreamID) *StreamObj {
	o := NewStream(db.Limits())
	db.Put(key, o)
	for _, id := range ids {
		o.Stream().Append(id, []string{"field", "value"})
	}
	return o.Stream()
}

// rising is n IDs 1-0, 2-0, ...
func rising(n int) (ids []StreamID) {
	for i := range n {
		ids = append(ids, StreamID{uint64(i + 1), 0})
	}
	return ids
}

func TestStreamID(t *testing.T) {
	for _, c := range []struct {
		id         StreamID
		text       string
		next, prev StreamID
	}{
		{StreamID{1, 1}, "1-1", StreamID{1, 2}, StreamID{1, 0}},
		{StreamID{1, math.MaxUint64}, "1-18446744073709551615", StreamID{2, 0}, StreamID{1, math.MaxUint64 - 1}},
		{StreamID{2, 0}, "2-0", StreamID{2, 1}, StreamID{1, math.MaxUint64}},
	} {
		next, _ := c.id.Next()
		prev, _ := c.id.Prev()
		if c.id.String() != c.text || next != c.next || prev != c.prev {
			t.Errorf("%v: next %v, previous %v", c.id, next, prev)
		}
		if c.id.Compare(next) != -1 || next.Compare(c.id) != 1 || c.id.Compare(c.id) != 0 {
			t.Errorf("%v: wrong order", c.id)
		}
	}
	if id, ok := MaxStreamID.Next(); ok || id != (StreamID{}) {
		t.Errorf("next of the greatest: %v", id)
	}
	if id, ok := (StreamID{}).Prev(); ok || id != MaxStreamID {
		t.Errorf("previous of the least: %v", id)
	}
}

// TestStreamNodes pins where a server of the default limits begins new nodes, and how
// many nodes its radix tree has; the numbers are a server's.
func TestStreamNodes(t *testing.T) {
	number := func(i int) string { return strings.Repeat("7", 1+i%18) }
	for _, c := range []struct {
		name         string
		n            int
		step         StreamID
		value        func(i int) string
		nodes, radix int
	}{
		{"by entries", 250, StreamID{1, 0}, number, 3, 8},
		{"by bytes", 250, StreamID{1, 0}, func(int) string { return strings.Repeat("x", 60) }, 5, 12},
		{"large values", 250, StreamID{1, 0}, func(i int) string { return strings.Repeat("x", 100*(i%50)) }, 175, 352},
		{"numbers", 1000, StreamID{1 << 30, 5}, number, 10, 22},
		{"far apart", 1000, StreamID{1 << 50, 1 << 40}, number, 10, 21},
	} {
		o := NewStream(DefaultLimits())
		s, id := o.Stream(), StreamID{}
		for i := range c.n {
			id = StreamID{id.Ms + c.step.Ms, id.Seq + c.step.Seq}
			s.Append(id, []string{"f", c.value(i)})
		}
		if s.Nodes() != c.nodes || s.RadixNodes() != c.radix {
			t.Errorf("%s: %d nodes and %d in the tree, want %d and %d", c.name, s.Nodes(), s.RadixNodes(), c.nodes, c.radix)
		}
		if err := o.body().check(); err != nil {
			t.Error(err)
		}
	}
	if n := NewStream(DefaultLimits()).Stream().RadixNodes(); n != 1 {
		t.Errorf("the empty tree has %d nodes, want 1", n)
	}
}

// TestStreamBackwards pins that SetLastID may go back behind nodes in which everything
// was deleted.
func TestStreamBackwards(t *testing.T) {
	db := NewDB(DefaultLimits())
	s := streamAt(db, "s", rising(9)...)
	s.Delete(StreamID{9, 0})
	s.Trim(StreamTrim{ByID: true, MinID: StreamID{9, 0}})
	if s.Len() != 0 || s.Nodes() != 1 {
		t.Fatalf("%d entries in %d nodes, want none in 1", s.Len(), s.Nodes())
	}
	for _, back := range []StreamID{{5, 0}, {0, 1}} {
		s.SetLastID(back)
		next, _ := back.Next()
		s.Append(next, []string{"f", "v"})
		if err := db.Check(); err != nil {
			t.Fatal(err)
		}
		s.Trim(StreamTrim{ByID: true, MinID: StreamID{7, 0}})
		if s.Len() != 0 && s.Len() != 1 {
			t.Fatalf("%d entries", s.Len())
		}
		s.Trim(StreamTrim{})
		if err := db.Check(); err != nil || s.Len() != 0 {
			t.Fatalf("%d entries, %v", s.Len(), err)
		}
	}
}

// TestStreamShared changes a stream while others read and change a snapshot of it. The
// race detector is the judge.
func TestStreamShared(t *testing.T) {
	db := NewDB(DefaultLimits())
	const n = 500
	s := streamAt(db, "s", rising(n)...)
	s.AddGroup("g", StreamID{}, 0)
	pend := func(s *StreamObj, from, to int, consumer string) {
		g := s.WriteGroup("g")
		g.AddConsumer(consumer, 1)
		for i := from; i < to; i++ {
			id := StreamID{uint64(i), 0}
			g.SetPending(Pending{ID: id, Consumer: consumer, Delivered: 1, Deliveries: 1})
			s.Advance(g, id)
		}
	}
	pend(s, 1, 100, "a")
	snap := db.Snapshot()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			s := snap.Read("s").Stream()
			if err := snap.Check(); err != nil || s.Len() != n || s.Group("g").PendingLen() != 99 {
				t.Errorf("snapshot: %v, %d entries, %d pending", err, s.Len(), s.Group("g").PendingLen())
			}
		})
		wg.Go(func() {
			restored := snap.Snapshot()
			s := restored.Write("s").Stream()
			pend(s, 50, 200, "b")
			s.Trim(StreamTrim{MaxLen: 300})
			if err := restored.Check(); err != nil {
				t.Error(err)
			}
		})
	}
	s = db.Write("s").Stream()
	pend(s, 100, 300, "a")
	s.WriteGroup("g").RemoveConsumer("a")
	s.Delete(StreamID{250, 0})
	s.RemoveGroup("g")
	wg.Wait()
	if err := db.Check(); err != nil {
		t.Error(err)
	}
	g := snap.Read("s").Stream().Group("g")
	if p, ok := g.LastPending(); !ok || p.ID.Ms != 99 || g.LastID.Ms != 99 || g.Read != 99 {
		t.Errorf("snapshot: last pending %v, group at %v, %d read", p, g.LastID, g.Read)
	}
}

// TestStreamKeepsNoArguments pins that nothing that is stored lies in the caller's memory.
func TestStreamKeepsNoArguments(t *testing.T) {
	buf := []byte("group member field value")
	text := viewOf(buf)
	group, member, field, value := text[:5], text[6:12], text[13:18], text[19:]
	s := NewStream(DefaultLimits()).Stream()
	id := StreamID{1, 1}
	s.Append(id, []string{field, value})
	s.AddGroup(group, StreamID{}, 0)
	g := s.WriteGroup("group")
	g.AddConsumer(member, 1)
	g.SetPending(Pending{ID: id, Consumer: member})
	copy(buf, "XXXXXXXXXXXXXXXXXXXXXXXX")
	e, _ := s.First()
	e.Ascend(func(field, value string) bool {
		if field != "field" || value != "value" {
			t.Errorf("entry has %q %q", field, value)
		}
		return true
	})
	if g := s.Group("group"); g == nil || g.Name() != "group" || g.Consumer("member") == nil {
		t.Fatal("group or consumer lies in the caller's memory")
	}
	if p, _ := g.FirstPending(); p.Consumer != "member" || g.Consumer("member").Name() != "member" {
		t.Error("consumer's name lies in the caller's memory")
	}
}

// TestCheckFindsInStreams pins that Check notices each kind of damage to a stream.
func TestCheckFindsInStreams(t *testing.T) {
	for name, damage := range map[string]func(s *StreamObj){
		"last ID":        func(s *StreamObj) { s.last = StreamID{1, 0} },
		"entry order":    func(s *StreamObj) { s.entries.head.items()[0].ID = StreamID{99, 0} },
		"node count":     func(s *StreamObj) { s.nodes.head.items()[0].live++ },
		"node bound":     func(s *StreamObj) { s.nodes.head.items()[0].last = StreamID{1, 0} },
		"group order":    func(s *StreamObj) { s.groups.n++ },
		"pending count":  func(s *StreamObj) { s.WriteGroup("g").pending.Delete(Pending{ID: StreamID{1, 0}}) },
		"pending owner":  func(s *StreamObj) { s.WriteGroup("g").pending.ref(Pending{ID: StreamID{1, 0}}).Consumer = "b" },
		"of a consumer":  func(s *StreamObj) { s.WriteGroup("g").WriteConsumer("a").pending.Delete(StreamID{1, 0}) },
		"consumer order": func(s *StreamObj) { s.WriteGroup("g").consumers.n++ },
	} {
		db := NewDB(DefaultLimits())
		s := streamAt(db, "s", rising(5)...)
		s.AddGroup("g", StreamID{}, 0)
		s.WriteGroup("g").AddConsumer("a", 1)
		s.WriteGroup("g").SetPending(Pending{ID: StreamID{1, 0}, Consumer: "a"})
		if err := db.Check(); err != nil {
			t.Fatal(err)
		}
		damage(db.Write("s").Stream())
		if db.Check() == nil {
			t.Errorf("%s: not noticed", name)
		}
	}
}

// TestStreamSize pins that the size follows the contents.
func TestStreamSize(t *testing.T) {
	o := NewStream(DefaultLimits())
	empty := o.Size()
	for _, id := range rising(100) {
		o.Stream().Append(id, []string{"field", strings.Repeat("v", 100)})
	}
	full := o.Size()
	if full < empty+100*105 || full > empty+100*300 {
		t.Errorf("%d bytes for 100 entries of 105, %d for none", full, empty)
	}
	o.Stream().AddGroup("g", StreamID{}, 0)
	if o.Size() <= full {
		t.Error("a group takes no room")
	}
}
