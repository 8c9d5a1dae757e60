package store

import (
	"fmt"
	"strings"
)

// StreamGroup is a consumer group. One got from WriteGroup or AddGroup may be changed
// under the rules for its stream.
type StreamGroup struct {
	own       *owner
	name      string
	pending   runs[Pending]
	consumers runs[consumerSlot]

	// LastID is the last ID that was delivered to the group.
	LastID StreamID
	// Read is the number of entries up to LastID that were ever added, or UnknownRead.
	Read int64
}

// UnknownRead is StreamGroup.Read when it is not known.
const UnknownRead = -1

// Pending is an entry that was delivered and not acknowledged.
type Pending struct {
	ID         StreamID
	Consumer   string
	Delivered  int64 // Unix milliseconds
	Deliveries int64
}

func (a Pending) compare(b Pending) int { return a.ID.Compare(b.ID) }

// Consumer is a member of a group. One got from WriteConsumer or AddConsumer may be
// changed under the rules for its stream.
type Consumer struct {
	own     *owner
	name    string
	pending runs[StreamID]

	Seen   int64 // Unix milliseconds of its last attempt to read or claim
	Active int64 // of its last success, NeverActive if there was none
}

// NeverActive is Consumer.Active of a consumer that nothing was delivered to.
const NeverActive = -1

// groupSlot and consumerSlot are the places of groups and consumers, in order of name.
type (
	groupSlot struct {
		name string
		g    *StreamGroup
	}
	consumerSlot struct {
		name string
		c    *Consumer
	}
)

func (a groupSlot) compare(b groupSlot) int       { return strings.Compare(a.name, b.name) }
func (a consumerSlot) compare(b consumerSlot) int { return strings.Compare(a.name, b.name) }

// Group returns a group to read, nil if there is none of that name.
func (s *StreamObj) Group(name string) *StreamGroup {
	slot, _ := s.groups.Get(groupSlot{name: name})
	return slot.g
}

// WriteGroup returns a group to change, nil if there is none of that name.
func (s *StreamObj) WriteGroup(name string) *StreamGroup {
	g := s.Group(name)
	if g == nil || g.own == s.own {
		return g
	}
	shared := g
	g = &StreamGroup{own: s.own, name: shared.name, LastID: shared.LastID, Read: shared.Read,
		pending: shared.pending.fork(), consumers: shared.consumers.fork()}
	s.groups.ref(groupSlot{name: name}).g = g
	return g
}

// AddGroup adds a group, unless there is one of that name.
func (s *StreamObj) AddGroup(name string, last StreamID, read int64) bool {
	if s.Group(name) != nil {
		return false
	}
	name = keep(name)
	s.groups.Set(groupSlot{name, &StreamGroup{own: s.own, name: name, LastID: last, Read: read}})
	return true
}

// RemoveGroup removes a group with its consumers and what is pending.
func (s *StreamObj) RemoveGroup(name string) bool {
	_, ok := s.groups.Delete(groupSlot{name: name})
	return ok
}

// GroupsLen returns the number of groups.
func (s *StreamObj) GroupsLen() int { return s.groups.Len() }

// AscendGroups calls f for the groups in the byte order of their names, until it returns
// false. f must not change s.
func (s *StreamObj) AscendGroups(f func(g *StreamGroup) bool) {
	s.groups.Ascend(0, func(slot groupSlot) bool { return f(slot.g) })
}

// Name returns the group's name.
func (g *StreamGroup) Name() string { return g.name }

// Consumer returns a consumer to read, nil if there is none of that name.
func (g *StreamGroup) Consumer(name string) *Consumer {
	slot, _ := g.consumers.Get(consumerSlot{name: name})
	return slot.c
}

// WriteConsumer returns a consumer to change, nil if there is none of that name.
func (g *StreamGroup) WriteConsumer(name string) *Consumer {
	c := g.Consumer(name)
	if c == nil || c.own == g.own {
		return c
	}
	shared := c
	c = &Consumer{own: g.own, name: shared.name, Seen: shared.Seen, Active: shared.Active, pending: shared.pending.fork()}
	g.consumers.ref(consumerSlot{name: name}).c = c
	return c
}

// AddConsumer adds a consumer, unless there is one of that name. seen is in Unix
// milliseconds.
func (g *StreamGroup) AddConsumer(name string, seen int64) bool {
	if g.Consumer(name) != nil {
		return false
	}
	name = keep(name)
	g.consumers.Set(consumerSlot{name, &Consumer{own: g.own, name: name, Seen: seen, Active: NeverActive}})
	return true
}

// RemoveConsumer removes a consumer. It returns how many entries were pending for it,
// which are not any more.
func (g *StreamGroup) RemoveConsumer(name string) (pending int, ok bool) {
	slot, ok := g.consumers.Delete(consumerSlot{name: name})
	if !ok {
		return 0, false
	}
	slot.c.pending.Ascend(0, func(id StreamID) bool {
		g.pending.Delete(Pending{ID: id})
		return true
	})
	return slot.c.PendingLen(), true
}

// ConsumersLen returns the number of consumers.
func (g *StreamGroup) ConsumersLen() int { return g.consumers.Len() }

// AscendConsumers calls f for the consumers in the byte order of their names, until it
// returns false. f must not change g.
func (g *StreamGroup) AscendConsumers(f func(c *Consumer) bool) {
	g.consumers.Ascend(0, func(slot consumerSlot) bool { return f(slot.c) })
}

// PendingLen returns the number of pending entries.
func (g *StreamGroup) PendingLen() int { return g.pending.Len() }

// Pending returns the pending entry with an ID.
func (g *StreamGroup) Pending(id StreamID) (Pending, bool) { return g.pending.Get(Pending{ID: id}) }

// FirstPending returns the pending entry with the least ID.
func (g *StreamGroup) FirstPending() (Pending, bool) { return g.pending.Min() }

// LastPending returns the pending entry with the greatest ID.
func (g *StreamGroup) LastPending() (Pending, bool) { return g.pending.Max() }

// NextPending returns the first pending entry that is not less than from.
func (g *StreamGroup) NextPending(from StreamID) (next Pending, ok bool) {
	g.AscendPending(from, func(p Pending) bool {
		next, ok = p, true
		return false
	})
	return next, ok
}

// AscendPending calls f for the pending entries that are not less than from, in order,
// until it returns false. f must not change g.
func (g *StreamGroup) AscendPending(from StreamID, f func(p Pending) bool) {
	g.pending.AscendFrom(Pending{ID: from}, f)
}

// AscendPendingOf is AscendPending for the entries of one consumer of the group.
func (g *StreamGroup) AscendPendingOf(c *Consumer, from StreamID, f func(p Pending) bool) {
	c.pending.AscendFrom(from, func(id StreamID) bool {
		p, _ := g.Pending(id)
		return f(p)
	})
}

// SetPending makes an entry pending, or replaces what is known of it. The consumer must
// be one of the group.
func (g *StreamGroup) SetPending(p Pending) {
	c := g.WriteConsumer(p.Consumer)
	p.Consumer = c.name
	old, had := g.pending.Set(p)
	if had && old.Consumer == p.Consumer {
		return
	}
	if had {
		g.WriteConsumer(old.Consumer).pending.Delete(p.ID)
	}
	c.pending.Set(p.ID)
}

// RemovePending removes a pending entry.
func (g *StreamGroup) RemovePending(id StreamID) bool {
	p, ok := g.pending.Delete(Pending{ID: id})
	if ok {
		g.WriteConsumer(p.Consumer).pending.Delete(id)
	}
	return ok
}

// Name returns the consumer's name.
func (c *Consumer) Name() string { return c.name }

// PendingLen returns the number of entries that are pending for the consumer.
func (c *Consumer) PendingLen() int { return c.pending.Len() }

func (g *StreamGroup) check() error {
	if err := g.pending.check(); err != nil {
		return fmt.Errorf("pending: %w", err)
	}
	if err := g.consumers.check(); err != nil {
		return fmt.Errorf("consumers: %w", err)
	}
	var err error
	sum := 0
	g.AscendConsumers(func(c *Consumer) bool {
		if err = c.pending.check(); err != nil {
			err = fmt.Errorf("consumer %q: %w", c.name, err)
			return false
		}
		sum += c.PendingLen()
		c.pending.Ascend(0, func(id StreamID) bool {
			if p, ok := g.Pending(id); !ok || p.Consumer != c.name {
				err = fmt.Errorf("consumer %q: %v is pending for %q", c.name, id, p.Consumer)
			}
			return err == nil
		})
		return err == nil
	})
	if err == nil && sum != g.PendingLen() {
		err = fmt.Errorf("%d pending, %d of consumers", g.PendingLen(), sum)
	}
	return err
}
