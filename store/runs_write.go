package store

import "unsafe"

// block is a sorted array of elements: base[lo:]. Elements popped from the front only
// move lo. What an array holds besides, or once it is not the block's any more, is cleared
// by who may change the block: hints point there.
type block[T any] struct {
	own  *owner
	base []T
	lo   int
}

func newBlock[T any](own *owner, capacity int, items ...T) *block[T] {
	b := &block[T]{own: own, base: append(make([]T, 0, max(capacity, len(items))), items...)}
	prefault(unsafe.Pointer(unsafe.SliceData(b.base)))
	return b
}

func (b *block[T]) items() []T { return b.base[b.lo:] }
func (b *block[T]) len() int   { return len(b.base) - b.lo }

// insert puts x at position i.
func (b *block[T]) insert(i int, x T) {
	if b.lo > 0 && i < b.len()/2 {
		copy(b.base[b.lo-1:], b.base[b.lo:b.lo+i])
		b.lo--
		b.base[b.lo+i] = x
		return
	}
	if len(b.base) == cap(b.base) {
		b.makeRoom()
	}
	b.base = append(b.base, x)
	items := b.items()
	copy(items[i+1:], items[i:])
	items[i] = x
}

// makeRoom makes room for an element at the end: by moving the elements down if enough
// of the front is free, else in a larger array.
func (b *block[T]) makeRoom() {
	n, c := b.len(), cap(b.base)
	if b.lo > 0 && b.lo >= c/8 {
		copy(b.base, b.base[b.lo:])
		clear(b.base[n:])
		b.base, b.lo = b.base[:n], 0
		return
	}
	grown := max(4, 2*c)
	if c >= blockSizes[0] {
		grown = c + c/3
	}
	old := b.base
	b.base, b.lo = append(make([]T, 0, grown), b.items()...), 0
	clear(old)
}

// cut removes the elements at positions i to j, j not included.
func (b *block[T]) cut(i, j int) {
	items := b.items()
	if i == 0 {
		clear(items[:j])
		b.lo += j
		return
	}
	copy(items[i:], items[j:])
	clear(items[len(items)-(j-i):])
	b.base = b.base[:len(b.base)-(j-i)]
}

// mutable returns the block of a run, copied if it is not r's own.
func (r *runs[T]) mutable(at run[T]) *block[T] {
	if at.b.own == r.own {
		return at.b
	}
	n := at.b.len()
	b := newBlock(r.own, n+min(n/16+1, 16), at.b.items()...)
	if r.tree != nil {
		at = r.entry(at)
		r.tree.ReplaceOrInsert(run[T]{at.first, at.id, b})
		r.replaced(run[T]{at.first, at.id, b})
	}
	if r.head == at.b {
		r.head = b
	}
	if r.tail == at.b {
		r.tail = b
	}
	return b
}

// counted brings the count of a changed run up to date.
func (r *runs[T]) counted(at run[T], b *block[T]) {
	if b != r.head && b != r.tail {
		r.setCount(at.id, b.len())
	}
}

// Set inserts x, or replaces the element that equals it and returns that.
func (r *runs[T]) Set(x T) (old T, replaced bool) {
	at, i, found := r.findToChange(x)
	if found {
		p := &r.mutable(at).items()[i]
		old, *p = *p, x
		return old, true
	}
	r.insert(at, i, x)
	return old, false
}

// insert puts x where find has not found it.
func (r *runs[T]) insert(at run[T], i int, x T) {
	r.n++
	if r.n == 1 {
		r.head = newBlock(r.own, 1, x)
		r.tail = r.head
		return
	}
	limit := blockLimit(r.n)
	for at.b.len() >= limit {
		if r.divide(at, i, x, limit) {
			return
		}
		at, i, _ = r.find(x)
	}
	b := r.mutable(at)
	b.insert(i, x)
	if b == r.tail {
		r.behind = b.lo + i + 1
	}
	r.counted(at, b)
}

// add puts a new run into the tree.
func (r *runs[T]) add(first T, b *block[T]) {
	r.restructure(func(c *counts) { r.tree.ReplaceOrInsert(run[T]{first, c.add(b.len()), b}) })
}

// divide makes room for x at position i of a full run. It says whether x has been
// placed on the way; if not, the place of x has to be looked up again. Inserts in
// rising order leave full blocks behind, also when they are not at the very end.
func (r *runs[T]) divide(at run[T], i int, x T, limit int) (placed bool) {
	if r.tree == nil {
		r.tree = newTree[T]()
		r.counts, r.index = counts{}, nil
		r.add(r.head.items()[0], r.head)
	}
	if at.b == r.head {
		r.rekeyHead()
	}
	at = r.entry(at)
	n := at.b.len()
	switch {
	case i == n:
		r.putAfter(at, x, limit)
		return true
	case i == 0 && at.b == r.head:
		b := newBlock(r.own, limit/8, x)
		r.add(x, b)
		r.head = b
		return true
	case i >= n-n/8:
		r.split(at, i, limit) // the new block will be filled
	default:
		r.split(at, n/2, limit*3/4)
	}
	return false
}

// rekeyHead makes the head's bound and count in the tree exact, so that other runs may
// be put next to it.
func (r *runs[T]) rekeyHead() {
	old, _ := r.tree.DeleteMin()
	r.restructure(func(c *counts) { c.of[old.id] = int32(r.head.len()) })
	r.tree.ReplaceOrInsert(run[T]{r.head.items()[0], old.id, r.head})
}

// putAfter places x, which is greater than the elements of the full run at, at the
// start of the next run, or in a new one if that is full too.
func (r *runs[T]) putAfter(at run[T], x T, limit int) {
	next, ok := r.next(at)
	if ok && next.b.len() < limit {
		b := r.mutable(next)
		b.insert(0, x)
		r.tree.Delete(next)
		r.tree.ReplaceOrInsert(run[T]{x, next.id, b})
		r.restructure(func(c *counts) { c.of[next.id] = int32(b.len()) })
		return
	}
	b := newBlock(r.own, limit, x)
	r.add(x, b)
	if at.b == r.tail {
		r.tail = b
		r.counted(at, at.b)
	}
}

// split moves the elements of a run from position i on to a new run after it, which has
// room for so many.
func (r *runs[T]) split(at run[T], i, room int) {
	left := r.mutable(at)
	moved := left.items()[i:]
	right := newBlock(r.own, room, moved...)
	left.cut(i, left.len())
	if r.tail == left {
		r.tail = right
	}
	r.restructure(func(c *counts) { c.of[at.id] = int32(left.len()) })
	r.add(right.items()[0], right)
}

// next returns the run after a complete one.
func (r *runs[T]) next(at run[T]) (next run[T], ok bool) {
	r.tree.AscendGreaterOrEqual(at, func(it run[T]) bool {
		if it.b == at.b {
			return true
		}
		next, ok = it, true
		return false
	})
	return next, ok
}

// prev returns the run before a complete one.
func (r *runs[T]) prev(at run[T]) (prev run[T], ok bool) {
	r.tree.DescendLessOrEqual(at, func(it run[T]) bool {
		if it.b == at.b {
			return true
		}
		prev, ok = it, true
		return false
	})
	return prev, ok
}

// Delete removes the element that equals x and returns it.
func (r *runs[T]) Delete(x T) (old T, ok bool) {
	at, i, ok := r.findToChange(x)
	if !ok {
		return old, false
	}
	old = at.b.items()[i]
	r.remove(at, i, i+1)
	return old, true
}

// PopMin removes the first element and returns it.
func (r *runs[T]) PopMin() (x T, ok bool) {
	if r.n == 0 {
		return x, false
	}
	x = r.head.items()[0]
	r.remove(run[T]{b: r.head}, 0, 1)
	return x, true
}

// PopMax removes the last element and returns it.
func (r *runs[T]) PopMax() (x T, ok bool) {
	if r.n == 0 {
		return x, false
	}
	last := r.tail.len() - 1
	x = r.tail.items()[last]
	r.remove(run[T]{b: r.tail}, last, last+1)
	return x, true
}

// RemoveRange removes the elements at indexes i to j, j not included.
func (r *runs[T]) RemoveRange(i, j int) {
	for i < j {
		at, k := r.locate(i)
		m := min(at.b.len()-k, j-i)
		r.remove(at, k, k+m)
		j -= m
	}
}

// remove removes the elements at positions i to j of a run, j not included.
func (r *runs[T]) remove(at run[T], i, j int) {
	r.n -= j - i
	if j-i == at.b.len() {
		r.drop(at)
		return
	}
	b := r.mutable(at)
	b.cut(i, j)
	if r.tree == nil {
		return
	}
	r.counted(at, b)
	// Neighbours are looked at now and then only: whenever half of what was left is gone.
	if n := b.len(); n&(n-1) == 0 && n <= blockLimit(r.n)/4 {
		r.merge(r.entry(run[T]{at.first, at.id, b}))
	}
}

// drop takes a run out.
func (r *runs[T]) drop(at run[T]) {
	if r.tree == nil {
		r.retire(at.b)
		r.head, r.tail = nil, nil
		return
	}
	gone, _ := r.tree.Delete(r.entry(at))
	r.restructure(func(c *counts) { c.drop(gone.id) })
	r.retire(at.b)
	r.settleEnds()
}

// retire empties a block that is no part of r any more.
func (r *runs[T]) retire(b *block[T]) {
	if b.own == r.own {
		clear(b.base)
		b.base, b.lo = nil, 0
	}
}

// settleEnds sets head and tail after a run has gone, and drops a tree of one run.
func (r *runs[T]) settleEnds() {
	first, _ := r.tree.Min()
	last, _ := r.tree.Max()
	r.head, r.tail = first.b, last.b
	if r.tree.Len() == 1 {
		r.tree = nil
	}
}

// merge joins a sparse run with a neighbour if both fit well into one block.
func (r *runs[T]) merge(at run[T]) {
	fit := blockLimit(r.n) * 3 / 4
	if right, ok := r.next(at); ok && at.b.len()+right.b.len() <= fit {
		r.join(at, right)
	} else if left, ok := r.prev(at); ok && left.b.len()+at.b.len() <= fit {
		r.join(left, at)
	}
}

// join moves the elements of a run to the end of the one before it.
func (r *runs[T]) join(left, right run[T]) {
	b := r.mutable(left)
	for _, x := range right.b.items() {
		b.insert(b.len(), x)
	}
	r.tree.Delete(right)
	r.restructure(func(c *counts) {
		c.drop(right.id)
		c.of[left.id] = int32(b.len())
	})
	r.retire(right.b)
	r.settleEnds()
}
