package store

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// SetObj is the value of a set, in one of three forms.
type SetObj struct {
	l       *Limits
	own     *owner
	table   bool               // reported as "hashtable"
	ints    *runs[setInt]      // an "intset", in the order of the numbers
	width   int                // bytes that a server keeps each of ints in, if more than 2
	few     *block[string]     // a "listpack" of up to fewMembers, in order of insertion
	members *runs[orderedName] // any other, in byte order
}

type setInt int64

func (a setInt) compare(b setInt) int { return cmp.Compare(a, b) }

func (a setInt) text() string { return strconv.FormatInt(int64(a), 10) }

type orderedName string

func (a orderedName) compare(b orderedName) int { return strings.Compare(string(a), string(b)) }

// fewMembers is the size up to which members are looked for one by one. It is not less
// than what a server has in a "listpack" unless told otherwise.
const fewMembers = 512

// NewSet returns an empty set. l is consulted at every insertion.
func NewSet(l *Limits) *Object {
	o, s := newBox[SetObj](Set)
	s.l, s.ints = l, &runs[setInt]{}
	return o
}

// Set returns the object's set, nil if it is of another type.
func (o *Object) Set() *SetObj { return inBox[SetObj](o, Set) }

// Len returns the number of members.
func (s *SetObj) Len() int {
	switch {
	case s.ints != nil:
		return s.ints.Len()
	case s.few != nil:
		return s.few.len()
	}
	return s.members.Len()
}

// Expect tells that one command is about to add this many members, repeated ones counted,
// of which first comes first. It decides the encoding of an empty set, and may change that
// of another.
func (s *SetObj) Expect(first string, members int) {
	_, isInt := number(first)
	switch {
	case s.Len() == 0 && isInt && members <= s.l.SetMaxIntsetEntries:
	case s.Len() == 0 && members <= s.l.SetMaxListpackEntries:
		s.ExpectNames()
	case s.Len() == 0,
		s.ints != nil && members > s.l.SetMaxIntsetEntries,
		s.ints == nil && !s.table && members > s.l.SetMaxListpackEntries:
		s.toTable()
	}
}

// ExpectNames makes an empty set a "listpack", whatever is going to be added first.
func (s *SetObj) ExpectNames() { s.ints, s.few = nil, newBlock[string](s.own, 0) }

// Compact makes an "intset" of a set of integers, unless it is too large.
func (s *SetObj) Compact() {
	if s.ints != nil || s.Len() > s.l.SetMaxIntsetEntries {
		return
	}
	ints := &runs[setInt]{}
	s.width = 0
	s.Ascend(func(member string) bool {
		n, _ := number(member)
		ints.Set(setInt(n))
		s.width = max(s.width, widthOf(n))
		return true
	})
	s.ints, s.few, s.members, s.table = ints, nil, nil, false
}

// Rebuild adds all members anew to an empty "listpack", or to an empty "intset" if the
// set is one.
func (s *SetObj) Rebuild() {
	if s.ints != nil {
		return
	}
	old := *s
	s.members, s.table = nil, false
	s.ExpectNames()
	old.Ascend(func(member string) bool {
		s.Add(member)
		return true
	})
}

// IsIntset reports whether the set is kept as integers.
func (s *SetObj) IsIntset() bool { return s.ints != nil }

// Has reports whether there is such a member.
func (s *SetObj) Has(member string) bool {
	switch {
	case s.ints != nil:
		n, ok := number(member)
		if ok {
			_, ok = s.ints.Get(setInt(n))
		}
		return ok
	case s.few != nil:
		return slices.Contains(s.few.items(), member)
	}
	_, ok := s.members.Get(orderedName(member))
	return ok
}

// Add adds a member. It tells whether it is new.
func (s *SetObj) Add(member string) bool {
	if s.ints != nil {
		if n, ok := number(member); ok {
			return s.addInt(n)
		}
	}
	if s.Has(member) {
		return false
	}
	switch {
	case s.table:
	case s.Len() >= s.l.SetMaxListpackEntries, max(len(member), s.longestInt()) > s.l.SetMaxListpackValue:
		s.toTable()
	case s.ints != nil:
		s.toFew()
	}
	if s.few != nil && s.few.len() == fewMembers {
		s.toMembers()
	}
	if s.few == nil {
		s.members.Set(orderedName(keep(member)))
		return true
	}
	s.few = owned(s.own, s.few)
	s.few.insert(s.few.len(), keep(member))
	return true
}

func (s *SetObj) addInt(n int64) bool {
	if _, had := s.ints.Set(setInt(n)); had {
		return false
	}
	s.width = max(s.width, widthOf(n))
	if s.ints.Len() > s.l.SetMaxIntsetEntries {
		s.toTable()
	}
	return true
}

// longestInt is the length of an intset's longest member.
func (s *SetObj) longestInt() int {
	if s.ints == nil || s.ints.Len() == 0 {
		return 0
	}
	least, _ := s.ints.Min()
	greatest, _ := s.ints.Max()
	return max(len(least.text()), len(greatest.text()))
}

func (s *SetObj) toTable() {
	s.toMembers()
	s.table = true
}

func (s *SetObj) toMembers() {
	if s.members != nil {
		return
	}
	members := &runs[orderedName]{}
	s.Ascend(func(member string) bool {
		members.Set(orderedName(member))
		return true
	})
	s.ints, s.few, s.members = nil, nil, members
}

func (s *SetObj) toFew() {
	ints := s.ints
	s.ExpectNames()
	ints.Ascend(0, func(n setInt) bool {
		s.few.insert(s.few.len(), n.text())
		return true
	})
	if s.few.len() > fewMembers {
		s.toMembers()
	}
}

// Remove removes a member. It tells whether there was one.
func (s *SetObj) Remove(member string) bool {
	switch {
	case s.ints != nil:
		n, ok := number(member)
		if ok {
			_, ok = s.ints.Delete(setInt(n))
		}
		return ok
	case s.few != nil:
		i := slices.Index(s.few.items(), member)
		if i >= 0 {
			s.few = owned(s.own, s.few)
			s.few.cut(i, i+1)
		}
		return i >= 0
	}
	_, ok := s.members.Delete(orderedName(member))
	return ok
}

// At returns the member at index i of the iteration order. 0 <= i < s.Len().
func (s *SetObj) At(i int) string {
	switch {
	case s.ints != nil:
		return s.ints.At(i).text()
	case s.few != nil:
		return s.few.items()[i]
	}
	return string(s.members.At(i))
}

// Ascend calls f for all members in order until it returns false. f must not change s.
func (s *SetObj) Ascend(f func(member string) bool) {
	switch {
	case s.ints != nil:
		s.ints.Ascend(0, func(n setInt) bool { return f(n.text()) })
	case s.few != nil:
		for _, m := range s.few.items() {
			if !f(m) {
				return
			}
		}
	default:
		s.members.Ascend(0, func(m orderedName) bool { return f(string(m)) })
	}
}

// AscendSorted calls f for the members that are not less than from in byte order until it
// returns false. f must not change s. All but a "hashtable" may be sorted for it.
func (s *SetObj) AscendSorted(from string, f func(member string) bool) {
	sorted := s.members
	if sorted == nil {
		sorted = &runs[orderedName]{}
		s.Ascend(func(member string) bool {
			sorted.Set(orderedName(member))
			return true
		})
	}
	sorted.AscendFrom(orderedName(from), func(m orderedName) bool { return f(string(m)) })
}

func (s *SetObj) encoding() string {
	switch {
	case s.ints != nil:
		return "intset"
	case s.table:
		return "hashtable"
	}
	return "listpack"
}

func (s *SetObj) fork(l *Limits) *Object {
	o := NewSet(cmp.Or(l, s.l))
	c := o.Set()
	*c = SetObj{l: c.l, own: new(owner), table: s.table, width: s.width, few: s.few}
	if s.ints != nil {
		ints := s.ints.fork()
		c.ints = &ints
	}
	if s.members != nil {
		members := s.members.fork()
		c.members = &members
	}
	return o
}

func (s *SetObj) size() int {
	const header, intBytes, nameBytes = 64, 8, 16
	switch {
	case s.ints != nil:
		return header + intBytes*s.ints.Len()
	case s.few != nil:
		n := header
		for _, m := range s.few.items() {
			n += nameBytes + len(m)
		}
		return n
	}
	return header + s.members.Len()*(nameBytes+sampleSize(s.members, func(m orderedName) int { return len(m) }))
}

func (s *SetObj) check() error {
	forms := 0
	for _, there := range []bool{s.ints != nil, s.few != nil, s.members != nil} {
		if there {
			forms++
		}
	}
	switch {
	case forms != 1:
		return fmt.Errorf("set: in %d forms", forms)
	case s.table && s.members == nil:
		return fmt.Errorf("set: hashtable of no members")
	case s.ints != nil:
		return s.ints.check()
	case s.members != nil:
		return s.members.check()
	}
	sorted := slices.Clone(s.few.items())
	slices.Sort(sorted)
	if len(sorted) > fewMembers || len(slices.Compact(sorted)) != s.few.len() {
		return fmt.Errorf("set: %d members in order of insertion, or one of them twice", s.few.len())
	}
	return nil
}
