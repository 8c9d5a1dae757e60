package store

import (
	"fmt"
	"strconv"
)

// streamNode stands for one node in which a server packs entries that follow one
// another. Nodes hold no entries here but the deleted ones; they are kept because clients
// see where they begin and end: approximate trimming takes whole nodes only, XINFO counts
// them, and DUMP has all that is in them.
type streamNode struct {
	first, last StreamID // of the entries ever placed in it
	live        int      // entries that are there
	deleted     int      // entries that were, and still take room on a server
	dead        *deadEntry
	bytes       int    // the node's size but for its header and the two counts
	master      packed // the first entry: what has the same fields takes less room
}

func (a streamNode) compare(b streamNode) int { return a.first.Compare(b.first) }

// maxNodeBytes is the size above which no limit lets a node grow.
const maxNodeBytes = 1 << 30

// full reports whether a server would begin a new node for an entry whose fields and
// values are size bytes long.
func (n *streamNode) full(l *Limits, size int) bool {
	limit := l.StreamNodeMaxBytes
	if limit == 0 || limit > maxNodeBytes {
		limit = maxNodeBytes
	}
	const headerAndEnd = 7
	taken := headerAndEnd + intCost(int64(n.live)) + intCost(int64(n.deleted)) + n.bytes
	most := l.StreamNodeMaxEntries
	return taken+size >= limit || most != 0 && n.live+n.deleted >= most
}

// place puts an entry into the last node, or into a new one.
func (s *StreamObj) place(e StreamEntry, pairs []string) {
	size := 0
	for _, x := range pairs {
		size += len(x)
	}
	tail, ok := s.nodes.Max()
	if ok && e.ID.Compare(tail.first) <= 0 {
		s.nodes = runs[streamNode]{} // XSETID went back behind nodes of nothing but deleted entries
		ok = false
	}
	if !ok || tail.full(s.l, size) {
		s.nodes.Set(newStreamNode(e, pairs))
		return
	}
	n := s.nodes.ref(tail)
	n.bytes += n.entryCost(e.ID, pairs)
	n.last = e.ID
	n.live++
}

func newStreamNode(e StreamEntry, pairs []string) streamNode {
	n := streamNode{first: e.ID, last: e.ID, live: 1, master: e.pack}
	fields := len(pairs) / 2
	n.bytes = intCost(int64(fields)) + intCost(0)
	for i := 0; i < len(pairs); i += 2 {
		n.bytes += stringCost(pairs[i])
	}
	n.bytes += n.entryCost(e.ID, pairs)
	return n
}

// entryCost is the room that an entry takes in the node: flags, the two halves of its ID
// relative to the node's first, its parts, and how many parts these are in all.
func (n *streamNode) entryCost(id StreamID, pairs []string) int {
	fields := len(pairs) / 2
	parts := 3 + fields
	cost := intCost(0) + intCost(int64(id.Ms-n.first.Ms)) + intCost(int64(id.Seq-n.first.Seq))
	same := n.sameFields(pairs)
	if !same {
		parts += fields + 1
		cost += intCost(int64(fields))
	}
	for i, x := range pairs {
		if i%2 == 1 || !same {
			cost += stringCost(x)
		}
	}
	return cost + intCost(int64(parts))
}

// sameFields reports whether pairs have the fields of the node's first entry.
func (n *streamNode) sameFields(pairs []string) bool {
	i, same := 0, true
	StreamEntry{pack: n.master}.Ascend(func(field, _ string) bool {
		same = i < len(pairs) && pairs[i] == field
		i += 2
		return same
	})
	return same && i == len(pairs)
}

// intCost is the room that an integer takes in a node, its trailing length included.
func intCost(v int64) int {
	switch {
	case v >= 0 && v < 1<<7:
		return 2
	case v >= -1<<12 && v < 1<<12:
		return 3
	case v >= -1<<15 && v < 1<<15:
		return 4
	case v >= -1<<23 && v < 1<<23:
		return 5
	case v >= -1<<31 && v < 1<<31:
		return 6
	}
	return 10
}

// stringCost is the room that a string takes in a node: one that is the text of an
// integer is kept as one.
func stringCost(s string) int {
	if isInt(s) {
		v, _ := strconv.ParseInt(s, 10, 64)
		return intCost(v)
	}
	size := len(s)
	switch {
	case size < 1<<6:
		size++
	case size < 1<<12:
		size += 2
	default:
		size += 5
	}
	switch {
	case size <= 127:
		return size + 1
	case size < 16383:
		return size + 2
	case size < 2097151:
		return size + 3
	case size < 268435455:
		return size + 4
	}
	return size + 5
}

// unplace takes an entry out of its node. A node that is left without entries goes.
func (s *StreamObj) unplace(e StreamEntry) {
	id := e.ID
	i := s.nodes.Rank(streamNode{first: id})
	if i == s.nodes.Len() || s.nodes.At(i).first != id {
		i--
	}
	at := s.nodes.At(i)
	if at.live == 1 {
		s.nodes.Delete(at)
		return
	}
	s.nodes.ref(at).bury(e)
}

// StreamTrim tells what to trim: all but the last MaxLen entries or, with ByID, those
// less than MinID.
type StreamTrim struct {
	ByID   bool
	MaxLen int64
	MinID  StreamID
	Approx bool  // whole nodes only
	Limit  int64 // do not remove a node if that makes more than so many entries; 0 is no limit
}

// Trim removes entries from the front and returns their number.
func (s *StreamObj) Trim(t StreamTrim) (removed int) {
	for {
		n, ok := s.nodes.Min()
		if !ok || !t.ByID && int64(s.Len()) <= t.MaxLen || t.Limit > 0 && int64(removed+n.live) > t.Limit {
			return removed
		}
		if !t.takesAll(s, n) {
			break
		}
		s.nodes.PopMin()
		s.entries.RemoveRange(0, n.live)
		removed += n.live
	}
	if t.Approx {
		return removed
	}
	return removed + s.trimHead(t)
}

// takesAll reports whether the first node can go as a whole. A deleted entry at its end
// may keep it, as on a server.
func (t *StreamTrim) takesAll(s *StreamObj, n streamNode) bool {
	if t.ByID {
		return n.last.Compare(t.MinID) < 0
	}
	return int64(s.Len()-n.live) >= t.MaxLen
}

// trimHead trims within the first node, which stays even if nothing is left in it.
func (s *StreamObj) trimHead(t StreamTrim) int {
	gone := s.Len() - int(min(t.MaxLen, int64(s.Len())))
	if t.ByID {
		gone = s.entries.Rank(StreamEntry{ID: t.MinID})
	}
	head, _ := s.nodes.Min()
	if gone = min(gone, head.live); gone > 0 {
		n := s.nodes.ref(head)
		s.entries.Ascend(0, func(e StreamEntry) bool {
			n.bury(e)
			return head.live-n.live < gone
		})
		s.entries.RemoveRange(0, gone)
	}
	return gone
}

// Nodes returns how many nodes a server would keep the entries in.
func (s *StreamObj) Nodes() int { return s.nodes.Len() }

// RadixNodes returns how many nodes a server's radix tree of these nodes has. It takes
// O(s.Nodes()).
//
// The tree is over the first IDs as 16 bytes each. It has a node for each key's end, for
// each branching, and for each stretch of bytes that leads to one of these.
func (s *StreamObj) RadixNodes() (total int) {
	if s.nodes.Len() == 0 {
		return 1
	}
	var open []int // depths of the branchings on the way to the last key
	deepest := func() int {
		if len(open) == 0 {
			return -1
		}
		return open[len(open)-1]
	}
	endKey := func(shared int) { // the next key has so many bytes in common; -1 for none
		total += 1 + stretch(max(deepest(), shared), 16)
		for deepest() > shared {
			depth := deepest()
			open = open[:len(open)-1]
			total += 1 + stretch(max(deepest(), shared), depth)
		}
		if shared > deepest() {
			open = append(open, shared)
		}
	}
	prev, _ := s.nodes.Min()
	s.nodes.Ascend(1, func(n streamNode) bool {
		endKey(sharedBytes(prev.first, n.first))
		prev = n
		return true
	})
	endKey(-1)
	return total
}

// stretch is the number of nodes, 0 or 1, between a branching and what is at a depth
// below it.
func stretch(branching, depth int) int { return min(depth-branching-1, 1) }

// sharedBytes returns how many leading bytes two IDs have in common, as 16 bytes each.
func sharedBytes(a, b StreamID) int {
	for i := range 8 {
		if shift := 56 - 8*i; a.Ms>>shift != b.Ms>>shift {
			return i
		}
	}
	for i := range 8 {
		if shift := 56 - 8*i; a.Seq>>shift != b.Seq>>shift {
			return 8 + i
		}
	}
	return 16
}

func (s *StreamObj) checkNodes() error {
	if err := s.nodes.check(); err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	var err error
	at := 0
	s.nodes.Ascend(0, func(n streamNode) bool {
		end := at + n.live
		switch {
		case n.live < 0 || n.deleted < 0 || n.first.Compare(n.last) > 0 || end > s.Len():
			err = fmt.Errorf("node %v: %d entries and %d deleted, up to %v", n.first, n.live, n.deleted, n.last)
		case n.live > 0 && (s.entries.At(at).ID.Compare(n.first) < 0 || s.entries.At(end-1).ID.Compare(n.last) > 0):
			err = fmt.Errorf("node %v: entries from %v to %v", n.first, s.entries.At(at).ID, s.entries.At(end-1).ID)
		}
		at = end
		return err == nil
	})
	if err == nil && at != s.Len() {
		err = fmt.Errorf("nodes: %d entries, %d in nodes", s.Len(), at)
	}
	return err
}
