package store

import (
	"cmp"
	"fmt"
	"strings"
)

// ZSetObj is the value of a sorted set: its elements in order of score and member, and an
// index by member. Small ones have none. Large ones get theirs with the first element that is
// of another score than the rest: until then their order is that of the members, as in a queue
// that is first in, first out.
//
// Measured at 1,000,000 members: the index takes 150 to 180 ms to make, once in a set's life.
type ZSetObj struct {
	l       *Limits
	order   runs[scored]
	members *hinted[indexed]
	skip    bool // reported as "skiplist"
}

// scored is an element in the order of the set.
type scored struct {
	score  float64
	member string
}

func (a scored) compare(b scored) int {
	if a.score < b.score {
		return -1
	}
	if a.score > b.score {
		return 1
	}
	return strings.Compare(a.member, b.member)
}

// indexed is an element in the order of members.
type indexed struct {
	member string
	score  float64
}

func (a indexed) compare(b indexed) int { return strings.Compare(a.member, b.member) }
func (a indexed) name() string          { return a.member }

// zsetScan is the size up to which members are looked for one by one.
const zsetScan = 64

// NewZSet returns an empty sorted set. l is consulted at every insertion.
func NewZSet(l *Limits) *Object {
	o, z := newBox[ZSetObj](ZSet)
	z.l = l
	return o
}

// ZSet returns the object's sorted set, nil if it is of another type.
func (o *Object) ZSet() *ZSetObj { return inBox[ZSetObj](o, ZSet) }

// Len returns the number of members.
func (z *ZSetObj) Len() int { return z.order.Len() }

// find returns the element of a member.
func (z *ZSetObj) find(member string) (e scored, ok bool) {
	if z.members != nil {
		m, ok := z.members.Get(indexed{member: member})
		return scored{m.score, m.member}, ok
	}
	if z.order.Len() == 0 {
		return e, false
	}
	if z.large() {
		return z.order.Get(z.even(member))
	}
	for _, e := range z.order.head.items() {
		if e.member == member {
			return e, true
		}
	}
	return e, false
}

// large reports whether there are too many members to look for one among all.
func (z *ZSetObj) large() bool { return z.order.Len() > zsetScan || z.order.tree != nil }

// even is where a member is, or belongs, if all are of one score. There must be one.
func (z *ZSetObj) even(member string) scored {
	lowest, _ := z.order.Min()
	return scored{lowest.score, member}
}

// settle makes the index as soon as it is needed.
func (z *ZSetObj) settle() {
	if z.members != nil || !z.large() {
		return
	}
	if highest, _ := z.order.Max(); highest.score != z.even("").score {
		z.members = z.index()
	}
}

// Score returns a member's score.
func (z *ZSetObj) Score(member string) (score float64, ok bool) {
	e, ok := z.find(member)
	return e.score, ok
}

// Expect tells that one command is about to add this many members, repeated ones
// counted, the longest of maxLen bytes: above the limits the set becomes a "skiplist"
// even if fewer members come of it.
func (z *ZSetObj) Expect(members, maxLen int) {
	if members > z.l.ZSetMaxListpackEntries || maxLen > z.l.ZSetMaxListpackValue {
		z.skip = true
	}
}

// Set sets a member's score, which must be a number. It returns the score that the
// member had.
//
// As on a server a "listpack" has no negative zero, and an equal score is not replaced.
func (z *ZSetObj) Set(member string, score float64) (old float64, existed bool) {
	switch {
	case z.members != nil:
		return z.setIndexed(member, score)
	case z.large():
		return z.setEven(member, score)
	}
	e, existed := z.find(member)
	if !existed {
		z.add(keep(member), score)
		z.settle()
		return 0, false
	}
	if e.score != score {
		z.move(e, score)
	}
	return e.score, true
}

func (z *ZSetObj) setEven(member string, score float64) (old float64, existed bool) {
	x := z.even(member)
	at, i, found := z.order.findToChange(x)
	switch {
	case found:
		e := at.b.items()[i]
		if e.score != score {
			z.move(e, score)
			z.settle()
		}
		return e.score, true
	case x.score == score:
		z.order.insert(at, i, z.element(keep(member), score))
	default:
		z.add(keep(member), score)
		z.settle()
	}
	return 0, false
}

func (z *ZSetObj) setIndexed(member string, score float64) (old float64, existed bool) {
	p, to := z.members.ref(indexed{member: member})
	if p == nil {
		e := z.add(keep(member), score)
		z.members.insert(to, indexed{e.member, e.score})
		return 0, false
	}
	if old = p.score; old != score {
		p.score = z.move(scored{old, p.member}, score).score
	}
	return old, true
}

// add adds a member that there was not, but not to the index.
func (z *ZSetObj) add(member string, score float64) scored {
	e := z.element(member, score)
	z.order.Set(e)
	return e
}

// element is the element for a member that is about to be added.
func (z *ZSetObj) element(member string, score float64) scored {
	z.Expect(z.Len()+1, len(member))
	return scored{z.clean(score), member}
}

// move gives an element another score, but not in the index.
func (z *ZSetObj) move(e scored, score float64) scored {
	z.order.Delete(e)
	e.score = z.clean(score)
	z.order.Set(e)
	return e
}

func (z *ZSetObj) clean(score float64) float64 {
	if score == 0 && !z.skip {
		return 0
	}
	return score
}

// Remove removes a member. It tells whether there was one.
func (z *ZSetObj) Remove(member string) bool {
	e, ok := z.find(member)
	if ok {
		z.order.Delete(e)
		z.forget(e.member)
	}
	return ok
}

func (z *ZSetObj) forget(member string) {
	if z.members != nil {
		z.members.Delete(indexed{member: member})
	}
}

// RemoveRange removes the members at indexes i to j, j not included.
// 0 <= i <= j <= z.Len().
func (z *ZSetObj) RemoveRange(i, j int) {
	if z.members != nil && i < j {
		left := j - i
		z.order.Ascend(i, func(e scored) bool {
			z.forget(e.member)
			left--
			return left > 0
		})
	}
	z.order.RemoveRange(i, j)
}

// PopMin removes the first member.
func (z *ZSetObj) PopMin() (member string, score float64, ok bool) {
	e, ok := z.order.PopMin()
	if ok {
		z.forget(e.member)
	}
	return e.member, e.score, ok
}

// PopMax removes the last member.
func (z *ZSetObj) PopMax() (member string, score float64, ok bool) {
	e, ok := z.order.PopMax()
	if ok {
		z.forget(e.member)
	}
	return e.member, e.score, ok
}

// Rank returns the index of a member.
func (z *ZSetObj) Rank(member string) (index int, ok bool) {
	e, ok := z.find(member)
	if !ok {
		return 0, false
	}
	return z.order.Rank(e), true
}

// At returns the member at an index. 0 <= i < z.Len().
func (z *ZSetObj) At(i int) (member string, score float64) {
	e := z.order.At(i)
	return e.member, e.score
}

// Ascend calls f for the members from index i up until it returns false. f must not
// change z.
func (z *ZSetObj) Ascend(i int, f func(member string, score float64) bool) {
	z.order.Ascend(i, func(e scored) bool { return f(e.member, e.score) })
}

// Descend calls f for the members from index i down until it returns false. f must not
// change z.
func (z *ZSetObj) Descend(i int, f func(member string, score float64) bool) {
	z.order.Descend(i, func(e scored) bool { return f(e.member, e.score) })
}

// AscendSorted calls f for the members that are not less than from in byte order, which
// changes of scores do not disturb, until it returns false. f must not change z. A set
// without an index is sorted for it if its order is another.
func (z *ZSetObj) AscendSorted(from string, f func(member string, score float64) bool) {
	index := z.members
	if index == nil && z.large() {
		z.order.AscendFrom(z.even(from), func(e scored) bool { return f(e.member, e.score) })
		return
	}
	if index == nil {
		index = z.index()
	}
	index.AscendFrom(indexed{member: from}, func(m indexed) bool { return f(m.member, m.score) })
}

func (z *ZSetObj) index() *hinted[indexed] {
	index := &hinted[indexed]{}
	z.order.Ascend(0, func(e scored) bool {
		index.Set(indexed{e.member, e.score})
		return true
	})
	return index
}

func (z *ZSetObj) encoding() string {
	if z.skip {
		return "skiplist"
	}
	return "listpack"
}

func (z *ZSetObj) fork(l *Limits) *Object {
	o := NewZSet(cmp.Or(l, z.l))
	c := o.ZSet()
	c.order, c.skip = z.order.fork(), z.skip
	if z.members != nil {
		m := z.members.fork()
		c.members = &m
	}
	return o
}

func (z *ZSetObj) size() int {
	each := slotSize + sampleSize(&z.order, func(e scored) int { return len(e.member) })
	if z.members != nil {
		each += slotSize
	}
	return 112 + z.Len()*each
}

func (z *ZSetObj) check() error {
	if err := z.order.check(); err != nil {
		return fmt.Errorf("zset: %w", err)
	}
	if z.members == nil {
		if highest, _ := z.order.Max(); z.large() && highest.score != z.even("").score {
			return fmt.Errorf("zset: %d members without an index", z.order.Len())
		}
		return nil
	}
	if err := z.members.check(); err != nil {
		return fmt.Errorf("zset index: %w", err)
	}
	if z.members.Len() != z.order.Len() {
		return fmt.Errorf("zset: %d members, %d in the index", z.order.Len(), z.members.Len())
	}
	var err error
	z.order.Ascend(0, func(e scored) bool {
		if m, ok := z.members.Get(indexed{member: e.member}); !ok || m.score != e.score {
			err = fmt.Errorf("zset: index is wrong about %q", e.member)
		}
		return err == nil
	})
	return err
}
