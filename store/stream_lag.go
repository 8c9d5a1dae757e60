package store

// A group's counter of read entries is kept as long as no deleted entry lies ahead of
// the group; else it is worked out again where that is possible.

// deletedSince reports whether an entry that is not less than from may have been deleted
// while entries before it are still there.
func (s *StreamObj) deletedSince(from StreamID) bool {
	if s.Len() == 0 || s.maxDeleted == (StreamID{}) || s.firstID().Compare(s.maxDeleted) > 0 {
		return false
	}
	return from.Compare(s.maxDeleted) <= 0
}

// AddedUpTo returns how many entries up to an ID were ever added, UnknownRead if that
// can't be told.
func (s *StreamObj) AddedUpTo(id StreamID) int64 {
	last, first := id.Compare(s.last), id.Compare(s.firstID())
	switch {
	case s.added == 0:
		return 0
	case last == 0, last < 0 && s.Len() == 0:
		return s.added
	case last > 0:
		return UnknownRead
	case s.maxDeleted != (StreamID{}) && s.maxDeleted.Compare(s.firstID()) >= 0:
		return UnknownRead
	case first < 0:
		return s.added - int64(s.Len())
	case first == 0:
		return s.added - int64(s.Len()) + 1
	}
	return UnknownRead
}

// Lag returns how many entries are still to be delivered to a group of the stream. ok is
// false if that can't be told.
func (s *StreamObj) Lag(g *StreamGroup) (n int64, ok bool) {
	read := g.Read
	switch {
	case s.added == 0:
		return 0, true
	case read == UnknownRead || s.deletedSince(g.LastID):
		if read = s.AddedUpTo(g.LastID); read == UnknownRead {
			return 0, false
		}
	}
	return s.added - read, true
}

// Advance notes that an entry of the stream is delivered to a group of it. Entries that
// the group was past already change nothing.
func (s *StreamObj) Advance(g *StreamGroup, id StreamID) {
	if id.Compare(g.LastID) <= 0 {
		return
	}
	if g.Read != UnknownRead && !s.deletedSince(id) {
		g.Read++
	} else if s.added != 0 {
		g.Read = s.AddedUpTo(id)
	}
	g.LastID = id
}
