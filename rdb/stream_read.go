package rdb

import (
	"fmt"

	"github.com/echomq/echomq-sim/store"
)

// stream reads a stream. Versions differ in what they tell besides the entries.
func (r *valueReader) stream(t byte) *store.Object {
	o := store.NewStream(r.l)
	s := o.Stream()
	for range r.count() {
		r.streamNode(s)
		if r.err != nil {
			return nil
		}
	}
	n, last := r.length(), r.id()
	s.SetAdded(int64(s.Len()))
	if t >= typeStream2 {
		r.id() // of the first entry, which is there
		s.SetMaxDeletedID(r.id())
		s.SetAdded(int64(r.length()))
	}
	final, ok := s.Last()
	switch {
	case r.err != nil:
		return nil
	case n != uint64(s.Len()):
		r.fail(fmt.Sprintf("counts %d entries, has %d", n, s.Len()))
	case ok && final.ID.Compare(last) > 0:
		r.fail("an entry is behind the last ID")
	}
	s.SetLastID(last)
	for range r.count() {
		r.group(s, t)
		if r.err != nil {
			return nil
		}
	}
	return o
}

// id reads an ID as two lengths.
func (r *valueReader) id() store.StreamID { return store.StreamID{Ms: r.length(), Seq: r.length()} }

// rawID reads an ID of 16 bytes.
func (r *valueReader) rawID() (id store.StreamID) { return parseRawID(r.take(streamNodeKeyLength)) }

func parseRawID(s string) (id store.StreamID) {
	if len(s) == streamNodeKeyLength {
		id = store.StreamID{Ms: bigEndian(s[:8]), Seq: bigEndian(s[8:])}
	}
	return id
}

func (r *valueReader) streamNode(s *store.StreamObj) {
	key, text := r.str(), r.str()
	if r.err != nil {
		return
	}
	n := store.StreamNode{First: parseRawID(key)}
	if len(key) != streamNodeKeyLength {
		r.fail("a node's key is not an ID")
		return
	}
	if l := openListpack(text); !readStreamNode(&l, &n) {
		r.fail("broken node")
		return
	}
	if !s.AppendNode(n) {
		r.fail("entries out of order")
	}
}

// readStreamNode reads what fillStreamNode writes.
func readStreamNode(l *listpackReader, n *store.StreamNode) (ok bool) {
	live, deleted, fields := l.int(), l.int(), l.int()
	if n.Fields = readStrings(l, fields); l.int() != 0 || l.bad || live < 0 || deleted < 0 {
		return false
	}
	for l.more() {
		e, ok := readStreamEntry(l, n)
		if !ok {
			return false
		}
		if e.Deleted {
			deleted--
		} else {
			live--
		}
		n.Entries = append(n.Entries, e)
	}
	return !l.bad && live == 0 && deleted == 0
}

// readStrings reads so many strings, as far as there are any.
func readStrings(l *listpackReader, n int64) (all []string) {
	if n < 0 {
		l.bad = true
	}
	for ; n > 0 && !l.bad; n-- {
		all = append(all, l.str())
	}
	return all
}

func readStreamEntry(l *listpackReader, n *store.StreamNode) (e store.NodeEntry, ok bool) {
	from := l.entries
	flags := l.int()
	e.ID = store.StreamID{Ms: n.First.Ms + uint64(l.int()), Seq: n.First.Seq + uint64(l.int())}
	e.Deleted = flags&streamDeleted != 0
	if flags&streamSameFields != 0 {
		values := readStrings(l, int64(len(n.Fields)))
		for i, value := range values {
			e.Pairs = append(e.Pairs, n.Fields[i], value)
		}
	} else {
		fields := l.int()
		if fields > int64(len(l.s)) {
			return e, false
		}
		e.Pairs = readStrings(l, 2*fields)
	}
	parts := int64(l.entries - from)
	return e, l.int() == parts && !l.bad
}

func (r *valueReader) group(s *store.StreamObj, t byte) {
	name, last := r.str(), r.id()
	read := s.AddedUpTo(last)
	if t >= typeStream2 {
		read = int64(r.length())
	}
	if r.err == nil && !s.AddGroup(name, last, read) {
		r.fail("a group comes twice")
	}
	if r.err != nil {
		return
	}
	g := s.WriteGroup(name)
	pending := map[store.StreamID]store.Pending{}
	for range r.count() {
		p := store.Pending{ID: r.rawID(), Delivered: r.millis(), Deliveries: int64(r.length())}
		if _, twice := pending[p.ID]; twice {
			r.fail("a pending entry comes twice")
		}
		if r.err != nil {
			return
		}
		pending[p.ID] = p
	}
	for range r.count() {
		r.consumer(g, t, pending)
		if r.err != nil {
			return
		}
	}
	if len(pending) > 0 {
		r.fail("a pending entry is nobody's")
	}
}

// consumer reads a consumer, and takes what is pending for it out of the group's entries.
func (r *valueReader) consumer(g *store.StreamGroup, t byte, pending map[store.StreamID]store.Pending) {
	name, seen := r.str(), r.millis()
	active := seen
	if t >= typeStream3 {
		active = r.millis()
	}
	if r.err == nil && !g.AddConsumer(name, seen) {
		r.fail("a consumer comes twice")
	}
	if r.err != nil {
		return
	}
	c := g.WriteConsumer(name)
	c.Active = active
	for range r.count() {
		p, ok := pending[r.rawID()]
		if !ok {
			r.fail("an entry is pending for a consumer, but not for the group")
		}
		if r.err != nil {
			return
		}
		delete(pending, p.ID)
		p.Consumer = name
		g.SetPending(p)
	}
}
