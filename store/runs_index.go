package store

import (
	"slices"
	"sync/atomic"
)

// runIndex finds a run by the number of elements in front of it, and tells that number,
// in logarithmic time; and it finds the run that an element belongs to in half of the time
// that the tree takes. It is built when it is asked for first or pays, O(runs), kept up to
// date when elements come and go, and given up when runs do.
type runIndex[T any] struct {
	runs   []run[T] // of the tree, in order
	bounds []T      // of the runs, less the head's
	pos    []int32  // by id, the place in runs
	sums   []int32  // a Fenwick tree over the counts of all runs but head and tail
}

// indexBox is where the index of a sequence stands. Sequences with equal runs may share
// it, and several readers of a frozen one may build it at the same time.
type indexBox[T any] = atomic.Pointer[runIndex[T]]

// indexed returns the index. r must have a tree.
func (r *runs[T]) indexed() *runIndex[T] {
	if x := r.index.Load(); x != nil {
		return x
	}
	n := r.tree.Len()
	x := &runIndex[T]{
		runs: make([]run[T], 0, n), bounds: make([]T, 0, n-1),
		pos: make([]int32, len(r.counts.of)), sums: make([]int32, n+1),
	}
	r.tree.Ascend(func(it run[T]) bool {
		x.pos[it.id] = int32(len(x.runs))
		if len(x.runs) > 0 {
			x.bounds = append(x.bounds, it.first)
		}
		x.runs = append(x.runs, it)
		if it.b != r.head && it.b != r.tail {
			x.add(it.id, r.counts.of[it.id])
		}
		return true
	})
	r.index.Store(x)
	return x
}

// findToChange is find for who may change r.
func (r *runs[T]) findToChange(x T) (at run[T], i int, found bool) {
	if i, found, ok := r.near(x); ok {
		return run[T]{b: r.tail}, i, found
	}
	return r.findFarToChange(x)
}

// findFarToChange is findFar for who may change r. It builds the index once that is less
// than the searches without it have cost.
func (r *runs[T]) findFarToChange(x T) (at run[T], i int, found bool) {
	if r.tree != nil && r.index.Load() == nil {
		if r.searches++; r.searches > r.tree.Len() {
			r.indexed()
		}
	}
	return r.findFar(x)
}

// add adds to the count of a run.
func (x *runIndex[T]) add(id, n int32) {
	for i := int(x.pos[id]) + 1; i < len(x.sums); i += i & -i {
		x.sums[i] += n
	}
}

// before sums the counts in front of a run.
func (x *runIndex[T]) before(id int32) (sum int) {
	for i := int(x.pos[id]); i > 0; i -= i & -i {
		sum += int(x.sums[i])
	}
	return sum
}

// locate returns the run with element k of those that are neither head's nor tail's, and
// the place of the element in it.
func (x *runIndex[T]) locate(k int) (run[T], int) {
	step := 1
	for step*2 < len(x.sums) {
		step *= 2
	}
	i := 0
	for ; step > 0; step /= 2 {
		if next := i + step; next < len(x.sums) && int(x.sums[next]) <= k {
			i = next
			k -= int(x.sums[next])
		}
	}
	return x.runs[i], k
}

// ownCounts makes the counts, and the index, r's own before they change.
func (r *runs[T]) ownCounts() {
	if r.counts.shared || r.index == nil {
		r.counts.of, r.counts.free, r.counts.shared = slices.Clone(r.counts.of), slices.Clone(r.counts.free), false
		r.index = new(indexBox[T])
	}
}

// setCount sets the count of a run that is neither head nor tail.
func (r *runs[T]) setCount(id int32, n int) {
	r.ownCounts()
	if x := r.index.Load(); x != nil {
		x.add(id, int32(n)-r.counts.of[id])
	}
	r.counts.of[id] = int32(n)
}

// restructure changes counts of runs that come, go, or change their place; the index has
// to be built anew.
func (r *runs[T]) restructure(change func(c *counts)) {
	r.ownCounts()
	r.index.Store(nil)
	r.searches = 0
	change(&r.counts)
}

// replaced tells the index that a run has another block.
func (r *runs[T]) replaced(it run[T]) {
	r.ownCounts()
	if x := r.index.Load(); x != nil {
		x.runs[x.pos[it.id]].b = it.b
	}
}
