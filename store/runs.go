package store

import (
	"fmt"

	"github.com/google/btree"
)

// owner is a token: whoever holds the same pointer may change the block or object
// that carries it. It is not empty because pointers to empty structs may be equal.
type owner struct{ _ byte }

// ordered is an element of runs. Elements that compare as 0 are one element.
type ordered[T any] interface{ compare(T) int }

// blockSizes are the block capacities for sequences of up to blockSteps elements, and above.
var (
	blockSizes = [3]int{128, 512, 1024}
	blockSteps = [2]int{24 << 10, 128 << 10}
)

// blockLimit returns the block capacity that suits n elements.
func blockLimit(n int) int {
	switch {
	case n < blockSteps[0]:
		return blockSizes[0]
	case n < blockSteps[1]:
		return blockSizes[1]
	}
	return blockSizes[2]
}

// run is what the outer tree holds: a block, a lower bound of its elements, and where
// their count stands.
type run[T any] struct {
	first T
	id    int32 // in runs.counts
	b     *block[T]
}

// runs is a sorted sequence with index and rank: an outer B-tree of sorted blocks.
// A sequence of one block has no tree. The zero value is an empty sequence.
//
// Invariants. No block in a tree is empty. Every bound is greater than all elements
// of the runs before it, and not greater than the elements of its own run; the head's
// bound is never looked at by searches and may be too great (see rekeyHead). The
// counts are exact but for head and tail, whose blocks are asked; they stand beside the
// tree, which a change of a run's length does not touch.
//
// Measured at 1,000,000 elements of 24 bytes, against tidwall/btree v1.8.2: insert rising
// 72 ns (175), random 940 (510), pop and push 88 (233), look up 1.5 us (1.8), rank 0.72 us
// (5, by search), index 0.29 us (0.4); 27 bytes an element if inserted rising (52), 38 if
// at random (37). At 100,000: rank 0.27 us (1.7), index 0.07 us (0.09).
//
// A block may be changed only if it carries the sequence's own token.
type runs[T ordered[T]] struct {
	own        *owner
	n          int
	head, tail *block[T]
	behind     int // in tail.base, behind the element inserted there last; it may be out of date
	tree       *btree.BTreeG[run[T]]
	counts     counts // of the runs in the tree
	index      *indexBox[T]
	searches   int // for changes, without an index
}

const treeDegree = 32

func newTree[T ordered[T]]() *btree.BTreeG[run[T]] {
	return btree.NewG(treeDegree, func(a, b run[T]) bool { return a.first.compare(b.first) < 0 })
}

// Len returns the number of elements.
func (r *runs[T]) Len() int { return r.n }

// fork returns a sequence with the same elements in O(1). It does not write to r,
// which must never be changed again.
func (r *runs[T]) fork() runs[T] {
	c := *r
	c.own = new(owner)
	c.counts.shared = true
	if r.tree != nil {
		shallow := *r.tree // Clone writes to its receiver
		c.tree = shallow.Clone()
	}
	return c
}

// Clone returns a sequence with the same elements in O(1). Both may be changed.
func (r *runs[T]) Clone() runs[T] {
	c := r.fork()
	r.own = new(owner)
	r.counts.shared = true
	if r.tree != nil {
		r.tree = r.tree.Clone()
	}
	return c
}

// search returns the position of x in items, or where it would be inserted.
func search[T ordered[T]](items []T, x T) (int, bool) {
	lo, hi := 0, len(items)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		switch c := items[m].compare(x); {
		case c < 0:
			lo = m + 1
		case c > 0:
			hi = m
		default:
			return m, true
		}
	}
	return lo, false
}

// seek returns the run that x belongs to. For head and tail only the block is set.
// r must not be empty.
func (r *runs[T]) seek(x T) (at run[T]) {
	if r.tree == nil {
		return run[T]{b: r.head}
	}
	if r.tail.items()[0].compare(x) <= 0 {
		return run[T]{b: r.tail}
	}
	if in := r.index.Load(); in != nil {
		i, found := search(in.bounds, x)
		if found {
			i++
		}
		if i == 0 {
			return run[T]{b: r.head}
		}
		return in.runs[i]
	}
	at.b = r.head
	r.tree.DescendLessOrEqual(run[T]{first: x}, func(it run[T]) bool {
		at = it
		return false
	})
	return at
}

// find returns the run that x belongs to, and the position in it.
func (r *runs[T]) find(x T) (at run[T], i int, found bool) {
	if i, found, ok := r.near(x); ok {
		return run[T]{b: r.tail}, i, found
	}
	return r.findFar(x)
}

// findFar is find for what is not near.
func (r *runs[T]) findFar(x T) (at run[T], i int, found bool) {
	if r.n == 0 {
		return at, 0, false
	}
	at = r.seek(x)
	i, found = search(at.b.items(), x)
	return at, i, found
}

// near looks for x among the few elements behind the one that was inserted into the tail
// last. ok says that x is there or belongs there, at that position of the tail: keys that
// come in rising order, and those that such keys are inserted in front of all the time, are
// found without a search.
func (r *runs[T]) near(x T) (i int, found, ok bool) {
	b, p := r.tail, r.behind
	if b == nil || len(b.base)-b.lo < fewElements || p <= b.lo || p > len(b.base) || b.base[p-1].compare(x) >= 0 {
		return 0, false, false
	}
	for i, y := range b.base[p:min(p+nearElements, len(b.base))] {
		if c := y.compare(x); c >= 0 {
			return p - b.lo + i, c == 0, true
		}
	}
	return b.len(), false, p+nearElements >= len(b.base)
}

// nearElements is how many elements near looks at.
const nearElements = 4

// fewElements are searched faster than guessed at. Tests lower it.
var fewElements = 32

// entry completes a run with what the tree says about it. r must have a tree.
func (r *runs[T]) entry(at run[T]) run[T] {
	switch at.b {
	case r.head:
		at, _ = r.tree.Min()
	case r.tail:
		at, _ = r.tree.Max()
	}
	return at
}

// count returns the number of elements of a run of the tree.
func (r *runs[T]) count(it run[T]) int {
	if it.b == r.head || it.b == r.tail {
		return it.b.len()
	}
	return int(r.counts.of[it.id])
}

// Get returns the element that equals x.
func (r *runs[T]) Get(x T) (found T, ok bool) {
	at, i, ok := r.find(x)
	if ok {
		found = at.b.items()[i]
	}
	return found, ok
}

// ref returns a pointer to the element that equals x, or nil. The caller may change
// what does not take part in the order, before any other change of r.
func (r *runs[T]) ref(x T) *T {
	at, i, ok := r.findToChange(x)
	if !ok {
		return nil
	}
	return &r.mutable(at).items()[i]
}

// Min returns the first element.
func (r *runs[T]) Min() (x T, ok bool) {
	if r.n == 0 {
		return x, false
	}
	return r.head.items()[0], true
}

// Max returns the last element.
func (r *runs[T]) Max() (x T, ok bool) {
	if r.n == 0 {
		return x, false
	}
	return r.tail.items()[r.tail.len()-1], true
}

// locate returns the run that holds index i, and the position in it. 0 <= i < r.n.
func (r *runs[T]) locate(i int) (at run[T], k int) {
	if i < r.head.len() {
		return run[T]{b: r.head}, i
	}
	if t := r.n - r.tail.len(); i >= t {
		return run[T]{b: r.tail}, i - t
	}
	return r.indexed().locate(i - r.head.len())
}

// At returns the element at index i. 0 <= i < r.Len().
func (r *runs[T]) At(i int) T {
	at, k := r.locate(i)
	return at.b.items()[k]
}

// before returns the number of elements in front of a run that seek found.
func (r *runs[T]) before(at run[T]) int {
	switch at.b {
	case r.head:
		return 0
	case r.tail:
		return r.n - r.tail.len()
	}
	return r.head.len() + r.indexed().before(at.id)
}

// Rank returns how many elements are less than x.
func (r *runs[T]) Rank(x T) int {
	if r.n == 0 {
		return 0
	}
	at := r.seek(x)
	i, _ := search(at.b.items(), x)
	return r.before(at) + i
}

// Ascend calls f for the elements from index i on until f returns false.
func (r *runs[T]) Ascend(i int, f func(T) bool) {
	if i >= r.n {
		return
	}
	at, k := r.locate(i)
	r.ascend(at, k, f)
}

// AscendFrom calls f for the elements that are not less than x until f returns false.
func (r *runs[T]) AscendFrom(x T, f func(T) bool) {
	if r.n == 0 {
		return
	}
	at := r.seek(x)
	k, _ := search(at.b.items(), x)
	r.ascend(at, k, f)
}

func (r *runs[T]) ascend(at run[T], k int, f func(T) bool) {
	for _, x := range at.b.items()[k:] {
		if !f(x) {
			return
		}
	}
	if at.b == r.tail {
		return
	}
	r.tree.AscendGreaterOrEqual(r.entry(at), func(it run[T]) bool {
		if it.b == at.b {
			return true
		}
		for _, x := range it.b.items() {
			if !f(x) {
				return false
			}
		}
		return true
	})
}

// Descend calls f for the elements from index i down until f returns false.
func (r *runs[T]) Descend(i int, f func(T) bool) {
	if r.n == 0 || i < 0 {
		return
	}
	at, k := r.locate(min(i, r.n-1))
	if !descendItems(at.b.items()[:k+1], f) || at.b == r.head {
		return
	}
	r.tree.DescendLessOrEqual(r.entry(at), func(it run[T]) bool {
		return it.b == at.b || descendItems(it.b.items(), f)
	})
}

func descendItems[T any](items []T, f func(T) bool) bool {
	for k := len(items) - 1; k >= 0; k-- {
		if !f(items[k]) {
			return false
		}
	}
	return true
}

// check returns the first broken invariant.
func (r *runs[T]) check() error {
	if r.n == 0 || r.tree == nil {
		return r.checkOne()
	}
	first, _ := r.tree.Min()
	last, _ := r.tree.Max()
	if r.tree.Len() < 2 || first.b != r.head || last.b != r.tail {
		return fmt.Errorf("runs: tree of %d runs has a wrong head or tail", r.tree.Len())
	}
	var prev *T
	var err error
	sum := 0
	r.tree.Ascend(func(it run[T]) bool {
		items := it.b.items()
		switch {
		case len(items) == 0 || r.count(it) != len(items):
			err = fmt.Errorf("runs: run counts %d, has %d elements", r.count(it), len(items))
		case it.b != r.head && items[0].compare(it.first) < 0:
			err = fmt.Errorf("runs: element below its run's bound")
		case prev != nil && (*prev).compare(it.first) >= 0 && it.b != r.head:
			err = fmt.Errorf("runs: bound not above the run before it")
		default:
			err = checkOrder(items)
		}
		prev = &items[len(items)-1]
		sum += len(items)
		return err == nil
	})
	if err == nil && sum != r.n {
		err = fmt.Errorf("runs: length %d, counted %d", r.n, sum)
	}
	return err
}

func (r *runs[T]) checkOne() error {
	if r.head != r.tail || r.tree != nil || (r.n == 0) != (r.head == nil) {
		return fmt.Errorf("runs: %d elements with a wrong head, tail or tree", r.n)
	}
	if r.n == 0 {
		return nil
	}
	if r.head.len() != r.n {
		return fmt.Errorf("runs: length %d, block has %d", r.n, r.head.len())
	}
	return checkOrder(r.head.items())
}

func checkOrder[T ordered[T]](items []T) error {
	for i := 1; i < len(items); i++ {
		if items[i-1].compare(items[i]) >= 0 {
			return fmt.Errorf("runs: elements out of order at %d", i)
		}
	}
	return nil
}
