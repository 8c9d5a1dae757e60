package store

import "math"

// What stands here takes values apart as a server keeps them, to be written to a file or
// payload, and makes values of what was read from one. There an encoding has been chosen
// already: one that is compact stays so if only the number of elements is within the
// limits, whatever their length.

// loose are limits that nothing exceeds.
var loose = Limits{
	HashMaxListpackEntries: math.MaxInt, HashMaxListpackValue: math.MaxInt,
	ZSetMaxListpackEntries: math.MaxInt, ZSetMaxListpackValue: math.MaxInt,
	SetMaxListpackEntries: math.MaxInt, SetMaxListpackValue: math.MaxInt, SetMaxIntsetEntries: math.MaxInt,
}

// LoadHash returns a hash of fields and values: field, value, field, value, ... compact
// tells that they come from a compact encoding. ok is false if a field comes twice.
func LoadHash(l *Limits, pairs []string, compact bool) (o *Object, ok bool) {
	o = NewHash(l)
	h := o.Hash()
	if compact {
		h.l = &loose
	}
	h.Expect(len(pairs)/2, 0)
	for i := 0; i < len(pairs); i += 2 {
		if !h.Set(pairs[i], pairs[i+1]) {
			return nil, false
		}
	}
	h.l = l
	h.table = h.table || h.Len() > l.HashMaxListpackEntries
	return o, true
}

// MakeTable makes a "hashtable" of the hash.
func (h *HashObj) MakeTable() { h.table = true }

// LoadZSet returns a sorted set. compact tells that it comes from a compact encoding. ok
// is false if a member comes twice.
func LoadZSet(l *Limits, members []string, scores []float64, compact bool) (o *Object, ok bool) {
	o = NewZSet(l)
	z := o.ZSet()
	if compact {
		z.l = &loose
	}
	longest := 0
	for _, m := range members {
		longest = max(longest, len(m))
	}
	z.Expect(len(members), longest)
	for i, m := range members {
		if _, existed := z.Set(m, scores[i]); existed {
			return nil, false
		}
	}
	z.l = l
	z.skip = z.skip || z.Len() > l.ZSetMaxListpackEntries
	return o, true
}

// LoadSet returns a set that was a "hashtable". ok is false if a member comes twice.
func LoadSet(l *Limits, members []string) (o *Object, ok bool) {
	o = NewSet(l)
	s := o.Set()
	if len(members) > l.SetMaxIntsetEntries {
		s.toTable()
	}
	return o, s.addAll(members)
}

// LoadCompactSet returns a set that was a "listpack". ok is false if a member comes twice.
func LoadCompactSet(l *Limits, members []string) (o *Object, ok bool) {
	o = NewSet(&loose)
	s := o.Set()
	s.ExpectNames()
	ok = s.addAll(members)
	if s.l = l; s.Len() > l.SetMaxListpackEntries {
		s.toTable()
	}
	return o, ok
}

// LoadIntset returns a set that was an "intset" of so many bytes per member. The members
// must be integers. ok is false if one comes twice.
func LoadIntset(l *Limits, members []string, width int) (o *Object, ok bool) {
	o = NewSet(l)
	s := o.Set()
	s.width = width
	return o, s.addAll(members)
}

func (s *SetObj) addAll(members []string) bool {
	for _, m := range members {
		if !s.Add(m) {
			return false
		}
	}
	return true
}

// Ints returns the members of an "intset" in order, and how many bytes a server keeps each
// in: those that the member took that needed most, even if it has gone.
func (s *SetObj) Ints() (members []int64, width int) {
	members = make([]int64, 0, s.Len())
	s.ints.Ascend(0, func(n setInt) bool {
		members = append(members, int64(n))
		return true
	})
	return members, max(s.width, 2)
}

// widthOf is how many bytes an "intset" needs for a member.
func widthOf(n int64) int {
	switch {
	case n == int64(int16(n)):
		return 2
	case n == int64(int32(n)):
		return 4
	}
	return 8
}

// AscendNodes calls f for the nodes that a server keeps the elements in, until it returns
// false. A plain node is one large element. f must change neither v nor elems.
func (v *ListObj) AscendNodes(f func(elems []string, plain bool) bool) {
	if v.nodes.len() > 0 {
		v.nodes.root.ascend(0, func(n *listNode) bool { return f(n.elems.items(), n.plain) })
	}
}

// AppendNode adds a node of elements, at least one and exactly one if it is plain, at the
// end of a list that is being loaded.
func (v *ListObj) AppendNode(elems []string, plain bool) {
	v.makeQuick()
	n := listNode{elems: newBlock[string](v.nodes.own, len(elems)), plain: plain, bytes: listpackEmpty}
	for _, x := range elems {
		n.elems.insert(n.elems.len(), keep(x))
		n.bytes += entryBytes(x)
	}
	if plain {
		n.bytes = len(elems[0])
	}
	v.nodes.insert(v.nodes.len(), n)
}

// AppendLoaded adds an element to a list that is being loaded one by one.
func (v *ListObj) AppendLoaded(elem string) {
	v.makeQuick()
	v.PushTail(elem)
}

// Loaded tells that all nodes or elements have been added: what fits in a "listpack"
// becomes one.
func (v *ListObj) Loaded() {
	if v.nodes.len() != 1 {
		return
	}
	n := v.nodes.at(0)
	bytes, elems := fillLimits(v.l.ListMaxListpackSize)
	if !n.plain && n.bytes <= bytes && n.len() <= elems {
		v.quick = false
	}
}
