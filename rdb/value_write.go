package rdb

import (
	"encoding/binary"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

// appendValue appends a value's type, with between what stands between the two (the key
// in a file, nothing in a payload), and the value. o must not be empty.
func (z compression) appendValue(b []byte, o *store.Object, between func([]byte) []byte) []byte {
	t := typeOf(o)
	b = append(b, t)
	if between != nil {
		b = between(b)
	}
	switch t {
	case typeString:
		return z.appendString(b, o.Str())
	case typeListQuick:
		return z.appendList(b, o.List())
	case typeSetIntset:
		members, width := o.Set().Ints()
		return z.appendString(b, intsetText(members, width))
	case typeSetListpack:
		return z.appendListpack(b, func(l *listpack) {
			o.Set().Ascend(func(member string) bool { l.str(member); return true })
		})
	case typeSet:
		b = appendLen(b, uint64(o.Set().Len()))
		o.Set().Ascend(func(member string) bool { b = z.appendString(b, member); return true })
		return b
	case typeHashListpack:
		return z.appendListpack(b, func(l *listpack) {
			o.Hash().Ascend(func(field, value string) bool { l.str(field); l.str(value); return true })
		})
	case typeHash, typeHashFields:
		return z.appendHash(b, o.Hash(), t == typeHashFields)
	case typeZSetListpack:
		return z.appendListpack(b, func(l *listpack) {
			o.ZSet().Ascend(0, func(member string, score float64) bool {
				l.str(member)
				l.str(resp.FormatDouble(score))
				return true
			})
		})
	case typeZSet:
		return z.appendZSet(b, o.ZSet())
	}
	return z.appendStream(b, o.Stream())
}

// typeOf is the type that a value is written as.
func typeOf(o *store.Object) byte {
	switch encoding := o.Encoding(); o.Type() {
	case store.String:
		return typeString
	case store.List:
		return typeListQuick
	case store.Set:
		return map[string]byte{"intset": typeSetIntset, "listpack": typeSetListpack, "hashtable": typeSet}[encoding]
	case store.ZSet:
		return map[string]byte{"listpack": typeZSetListpack, "skiplist": typeZSet}[encoding]
	case store.Hash:
		switch {
		case hasDeadlines(o):
			return typeHashFields
		case encoding == "listpack":
			return typeHashListpack
		}
		return typeHash
	}
	return typeStream3
}

// hasDeadlines reports whether a value is a hash with deadlines of fields.
func hasDeadlines(o *store.Object) bool {
	h := o.Hash()
	return h != nil && h.DeadlineLen() > 0
}

func (z compression) appendListpack(b []byte, fill func(l *listpack)) []byte {
	l := newListpack()
	fill(l)
	return z.appendString(b, l.text())
}

func (z compression) appendList(b []byte, v *store.ListObj) []byte {
	b = appendLen(b, uint64(v.NodesLen()))
	v.AscendNodes(func(elems []string, plain bool) bool {
		if plain {
			b = z.appendString(appendLen(b, containerPlain), elems[0])
			return true
		}
		b = z.appendListpack(appendLen(b, containerPacked), func(l *listpack) {
			for _, x := range elems {
				l.str(x)
			}
		})
		return true
	})
	return b
}

func (z compression) appendHash(b []byte, h *store.HashObj, deadlines bool) []byte {
	b = appendLen(b, uint64(h.Len()))
	h.Ascend(func(field, value string) bool {
		b = z.appendString(z.appendString(b, field), value)
		if deadlines {
			at := h.Deadline(field)
			if at == 0 {
				at = noDeadline
			}
			b = appendMillis(b, at)
		}
		return true
	})
	return b
}

// appendZSet appends a sorted set, the greatest first.
func (z compression) appendZSet(b []byte, set *store.ZSetObj) []byte {
	b = appendLen(b, uint64(set.Len()))
	set.Descend(set.Len()-1, func(member string, score float64) bool {
		b = appendDouble(z.appendString(b, member), score)
		return true
	})
	return b
}

func (z compression) appendStream(b []byte, s *store.StreamObj) []byte {
	b = appendLen(b, uint64(s.Nodes()))
	s.AscendNodes(func(n store.StreamNode) bool {
		b = z.appendString(b, string(appendRawID(nil, n.First)))
		b = z.appendListpack(b, func(l *listpack) { fillStreamNode(l, n) })
		return true
	})
	first, _ := s.First()
	b = appendLen(b, uint64(s.Len()))
	for _, id := range []store.StreamID{s.LastID(), first.ID, s.MaxDeletedID()} {
		b = appendLen(appendLen(b, id.Ms), id.Seq)
	}
	b = appendLen(b, uint64(s.Added()))
	b = appendLen(b, uint64(s.GroupsLen()))
	s.AscendGroups(func(g *store.StreamGroup) bool {
		b = z.appendGroup(b, g)
		return true
	})
	return b
}

// fillStreamNode writes the entries of a node: how many there are and how many more have
// been deleted, the fields of the first one, and the entries.
func fillStreamNode(l *listpack, n store.StreamNode) {
	deleted := 0
	for _, e := range n.Entries {
		if e.Deleted {
			deleted++
		}
	}
	l.int(int64(len(n.Entries) - deleted))
	l.int(int64(deleted))
	l.int(int64(len(n.Fields)))
	for _, field := range n.Fields {
		l.str(field)
	}
	l.int(0)
	for _, e := range n.Entries {
		fillStreamEntry(l, n, e)
	}
}

// fillStreamEntry writes an entry: flags, the ID relative to the node's, the fields unless
// they are those of the node, the values, and how many parts these are.
func fillStreamEntry(l *listpack, n store.StreamNode, e store.NodeEntry) {
	from, flags, same := l.entries, int64(0), sameFields(n.Fields, e.Pairs)
	if same {
		flags |= streamSameFields
	}
	if e.Deleted {
		flags |= streamDeleted
	}
	l.int(flags)
	l.int(int64(e.ID.Ms - n.First.Ms))
	l.int(int64(e.ID.Seq - n.First.Seq))
	if !same {
		l.int(int64(len(e.Pairs) / 2))
	}
	for i, x := range e.Pairs {
		if i%2 == 1 || !same {
			l.str(x)
		}
	}
	l.int(int64(l.entries - from))
}

func sameFields(fields, pairs []string) bool {
	if len(pairs) != 2*len(fields) {
		return false
	}
	for i, field := range fields {
		if pairs[2*i] != field {
			return false
		}
	}
	return true
}

// appendRawID appends an ID as 16 bytes.
func appendRawID(b []byte, id store.StreamID) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, id.Ms), id.Seq)
}

func (z compression) appendGroup(b []byte, g *store.StreamGroup) []byte {
	b = z.appendString(b, g.Name())
	b = appendLen(appendLen(b, g.LastID.Ms), g.LastID.Seq)
	b = appendLen(b, uint64(g.Read))
	b = appendLen(b, uint64(g.PendingLen()))
	g.AscendPending(store.StreamID{}, func(p store.Pending) bool {
		b = appendMillis(appendRawID(b, p.ID), p.Delivered)
		b = appendLen(b, uint64(p.Deliveries))
		return true
	})
	b = appendLen(b, uint64(g.ConsumersLen()))
	g.AscendConsumers(func(c *store.Consumer) bool {
		b = z.appendString(b, c.Name())
		b = appendMillis(appendMillis(b, c.Seen), c.Active)
		b = appendLen(b, uint64(c.PendingLen()))
		g.AscendPendingOf(c, store.StreamID{}, func(p store.Pending) bool {
			b = appendRawID(b, p.ID)
			return true
		})
		return true
	})
	return b
}
