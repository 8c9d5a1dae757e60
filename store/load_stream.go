package store

import "slices"

// StreamNode is a node in which a server keeps entries of a stream.
type StreamNode struct {
	First   StreamID // the node's key, from which the IDs of its entries count
	Fields  []string // of the first entry that was placed in it
	Entries []NodeEntry
}

// NodeEntry is an entry in a node. One that was deleted stays there until the node goes.
type NodeEntry struct {
	ID      StreamID
	Pairs   []string // field, value, field, value, ...
	Deleted bool
}

// deadEntry is a deleted entry of a node, in a list of which forks share the rest.
type deadEntry struct {
	StreamEntry
	next *deadEntry
}

// bury notes that an entry of the node has been deleted.
func (n *streamNode) bury(e StreamEntry) {
	n.live--
	n.deleted++
	n.dead = &deadEntry{e, n.dead}
}

func (e StreamEntry) pairs() (pairs []string) {
	e.Ascend(func(field, value string) bool {
		pairs = append(pairs, field, value)
		return true
	})
	return pairs
}

// AscendNodes calls f for the nodes in order, until it returns false. f must not change s.
func (s *StreamObj) AscendNodes(f func(n StreamNode) bool) {
	at := 0
	s.nodes.Ascend(0, func(n streamNode) bool {
		out := StreamNode{First: n.first, Entries: make([]NodeEntry, 0, n.live+n.deleted)}
		StreamEntry{pack: n.master}.Ascend(func(field, _ string) bool {
			out.Fields = append(out.Fields, field)
			return true
		})
		left := n.live
		s.entries.Ascend(at, func(e StreamEntry) bool {
			if left--; left >= 0 {
				out.Entries = append(out.Entries, NodeEntry{e.ID, e.pairs(), false})
			}
			return left > 0
		})
		at += n.live
		for d := n.dead; d != nil; d = d.next {
			out.Entries = append(out.Entries, NodeEntry{d.ID, d.pairs(), true})
		}
		slices.SortStableFunc(out.Entries, func(a, b NodeEntry) int { return a.ID.Compare(b.ID) })
		return f(out)
	})
}

// AppendNode adds a node behind all others of a stream that is being loaded. ok is false
// if it or an entry that is not deleted is out of order. LastID and Added are the caller's
// to set.
func (s *StreamObj) AppendNode(in StreamNode) (ok bool) {
	prev, hasPrev := s.nodes.Max()
	last, hasLast := s.Last()
	if hasPrev && in.First.Compare(prev.first) <= 0 || hasLast && in.First.Compare(last.ID) <= 0 {
		return false
	}
	n := streamNode{first: in.First, last: in.First}
	n.bytes = intCost(int64(len(in.Fields))) + intCost(0)
	for _, field := range in.Fields {
		n.master.add(field, "")
		n.bytes += stringCost(field)
	}
	for _, x := range in.Entries {
		if !s.loadEntry(&n, x) {
			return false
		}
	}
	s.nodes.Set(n)
	return true
}

func (s *StreamObj) loadEntry(n *streamNode, x NodeEntry) (ok bool) {
	e := StreamEntry{ID: x.ID, pack: packPairs(x.Pairs)}
	if last, has := s.Last(); x.ID.Compare(n.first) < 0 || !x.Deleted && has && x.ID.Compare(last.ID) <= 0 {
		return false
	}
	if x.ID.Compare(n.last) > 0 {
		n.last = x.ID
	}
	n.bytes += n.entryCost(x.ID, x.Pairs)
	n.live++
	if x.Deleted {
		n.bury(e)
	} else {
		s.entries.Set(e)
	}
	return true
}
