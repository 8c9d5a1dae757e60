package store

import (
	"cmp"
	"fmt"
)

// StreamObj is the value of a stream: its entries in order of their IDs, the nodes that
// a server would keep them in, and the consumer groups.
//
// An object that has been forked is never changed again, so what groups and consumers
// carry another token than own is shared, and copied before it is changed.
type StreamObj struct {
	l       *Limits
	own     *owner
	entries runs[StreamEntry]
	nodes   runs[streamNode]
	groups  runs[groupSlot]

	last       StreamID
	maxDeleted StreamID
	added      int64
}

// StreamEntry is an entry of a stream.
type StreamEntry struct {
	ID   StreamID
	pack packed
}

func (a StreamEntry) compare(b StreamEntry) int { return a.ID.Compare(b.ID) }

// Len returns the number of field and value pairs.
func (e StreamEntry) Len() (n int) {
	e.Ascend(func(string, string) bool {
		n++
		return true
	})
	return n
}

// Ascend calls f for the fields in the order in which they were given, until it returns
// false. A field may come more than once.
func (e StreamEntry) Ascend(f func(field, value string) bool) {
	for pos := 0; pos < len(e.pack); {
		at := e.pack.next(pos)
		if !f(e.pack.name(at), e.pack.value(at)) {
			return
		}
		pos = at.end
	}
}

// NewStream returns an empty stream. l is consulted at every insertion.
func NewStream(l *Limits) *Object {
	o, s := newBox[StreamObj](Stream)
	s.l, s.own = l, new(owner)
	return o
}

// Stream returns the object's stream, nil if it is of another type.
func (o *Object) Stream() *StreamObj { return inBox[StreamObj](o, Stream) }

// Len returns the number of entries.
func (s *StreamObj) Len() int { return s.entries.Len() }

// LastID returns the greatest ID ever added, or what SetLastID has made of it.
func (s *StreamObj) LastID() StreamID { return s.last }

// SetLastID sets what LastID returns. It must not be less than the last entry's ID.
func (s *StreamObj) SetLastID(id StreamID) { s.last = id }

// MaxDeletedID returns the greatest ID that was removed by Delete, 0-0 if there is none.
func (s *StreamObj) MaxDeletedID() StreamID { return s.maxDeleted }

// SetMaxDeletedID sets what MaxDeletedID returns.
func (s *StreamObj) SetMaxDeletedID(id StreamID) { s.maxDeleted = id }

// Added returns how many entries were ever added, as far as is known.
func (s *StreamObj) Added() int64 { return s.added }

// SetAdded sets what Added returns.
func (s *StreamObj) SetAdded(n int64) { s.added = n }

// First returns the first entry.
func (s *StreamObj) First() (StreamEntry, bool) { return s.entries.Min() }

// Last returns the last entry.
func (s *StreamObj) Last() (StreamEntry, bool) { return s.entries.Max() }

// firstID returns the first entry's ID, 0-0 if the stream is empty.
func (s *StreamObj) firstID() StreamID {
	e, _ := s.entries.Min()
	return e.ID
}

// Get returns the entry with an ID.
func (s *StreamObj) Get(id StreamID) (StreamEntry, bool) {
	return s.entries.Get(StreamEntry{ID: id})
}

// Ascend calls f for the entries that are not less than from, in order, until it returns
// false. f must not change the entries of s.
func (s *StreamObj) Ascend(from StreamID, f func(StreamEntry) bool) {
	s.entries.AscendFrom(StreamEntry{ID: from}, f)
}

// Descend calls f for the entries that are not greater than from, in falling order,
// until it returns false. f must not change the entries of s.
func (s *StreamObj) Descend(from StreamID, f func(StreamEntry) bool) {
	above := s.entries.Len()
	if next, ok := from.Next(); ok {
		above = s.entries.Rank(StreamEntry{ID: next})
	}
	s.entries.Descend(above-1, f)
}

// Append adds an entry of fields and values: field, value, field, value, ... The ID must
// be greater than LastID.
func (s *StreamObj) Append(id StreamID, pairs []string) {
	e := StreamEntry{ID: id, pack: packPairs(pairs)}
	s.place(e, pairs)
	s.entries.Set(e)
	s.last = id
	s.added++
}

func packPairs(pairs []string) packed {
	size := 0
	for _, x := range pairs {
		size += uvarintLen(len(x)) + len(x)
	}
	p := make(packed, 0, size)
	for i := 0; i < len(pairs); i += 2 {
		p.add(pairs[i], pairs[i+1])
	}
	return p
}

// Delete removes an entry.
func (s *StreamObj) Delete(id StreamID) bool {
	e, ok := s.entries.Delete(StreamEntry{ID: id})
	if !ok {
		return false
	}
	s.unplace(e)
	if id.Compare(s.maxDeleted) > 0 {
		s.maxDeleted = id
	}
	return true
}

func (s *StreamObj) encoding() string { return "stream" }

func (s *StreamObj) fork(l *Limits) *Object {
	o := NewStream(cmp.Or(l, s.l))
	c := o.Stream()
	c.entries, c.nodes, c.groups = s.entries.fork(), s.nodes.fork(), s.groups.fork()
	c.last, c.maxDeleted, c.added = s.last, s.maxDeleted, s.added
	return o
}

func (s *StreamObj) size() int {
	const entrySize, nodeSize, pendingSize, idSize = 40, 88, 48, 16
	each := entrySize + sampleSize(&s.entries, func(e StreamEntry) int { return cap(e.pack) })
	total := 192 + s.Len()*each + s.nodes.Len()*nodeSize
	s.AscendGroups(func(g *StreamGroup) bool {
		total += 160 + g.PendingLen()*(pendingSize+idSize) + g.ConsumersLen()*112
		return true
	})
	return total
}

func (s *StreamObj) check() error {
	if err := s.entries.check(); err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	if last, ok := s.Last(); ok && last.ID.Compare(s.last) > 0 {
		return fmt.Errorf("stream: entry %v behind the last ID %v", last.ID, s.last)
	}
	if err := s.checkNodes(); err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	if err := s.groups.check(); err != nil {
		return fmt.Errorf("stream groups: %w", err)
	}
	var err error
	s.AscendGroups(func(g *StreamGroup) bool {
		if err = g.check(); err != nil {
			err = fmt.Errorf("stream group %q: %w", g.Name(), err)
		}
		return err == nil
	})
	return err
}
