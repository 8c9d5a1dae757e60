package store

import "hash/maphash"

// hinted is a sequence that remembers by hash where it found elements last, so that a
// change of one that was found before needs no search. Only whoever may change the
// sequence uses find and ref: hints are written, and frozen sequences are read by many.
//
// Measured over 50 pipelined connections with 10,000 keys: a GET took 1.2 to 1.4 us of the
// server's processor time with searches only, and takes 0.85 to 0.97 us.
type hinted[T ordered[T]] struct {
	runs[T]
	hints []hint[T] // in pairs, the later one first: with one place for each a sixth had none
}

// hint is a position that held an element once. It is checked before it is used.
type hint[T any] struct {
	b   *block[T]
	i   int32  // in b.base
	tag uint32 // of the element's hash: another one's block need not be looked at
}

// hintSeed changes from process to process, which nobody can see.
var hintSeed = maphash.MakeSeed()

// maxHints bounds the memory for hints: 16 bytes each.
const maxHints = 1 << 16

func (r *hinted[T]) fork() hinted[T]  { return hinted[T]{runs: r.runs.fork()} }
func (r *hinted[T]) Clone() hinted[T] { return hinted[T]{runs: r.runs.Clone()} }

// find is runs.find for the element x, of which name is the part that tells elements
// apart. Of the run that it returns mutable may be asked, and its block.
func (r *hinted[T]) find(x T, name string) (at run[T], i int, found bool) {
	if r.tree == nil {
		return r.runs.find(x)
	}
	if len(r.hints) < min(2*r.n, maxHints) {
		r.grow()
	}
	hash := maphash.String(hintSeed, name)
	pair, tag := (*[2]hint[T])(r.hints[hash&uint64(len(r.hints)-1)&^1:]), uint32(hash>>32)
	for k := range pair {
		if h := &pair[k]; h.tag == tag {
			if i, ok := r.holds(h, x); ok {
				return run[T]{b: h.b}, i, true
			}
		}
	}
	at, i, found = r.runs.find(x)
	if found {
		pair[0], pair[1] = hint[T]{at.b, int32(at.b.lo + i), tag}, pair[0]
	}
	return at, i, found
}

// holds returns the position of x in the hint's block if it is where the hint says.
func (r *hinted[T]) holds(h *hint[T], x T) (i int, ok bool) {
	b, i := h.b, int(h.i)
	if b == nil || b.own != r.own || i < b.lo || i >= len(b.base) || b.base[i].compare(x) != 0 {
		return 0, false
	}
	return i - b.lo, true
}

// grow makes place for twice as many hints. The old ones are forgotten.
func (r *hinted[T]) grow() {
	n := max(256, 2*len(r.hints))
	for n < min(2*r.n, maxHints) {
		n *= 2
	}
	r.hints = make([]hint[T], min(n, maxHints))
}

// ref is runs.ref with a hint.
func (r *hinted[T]) ref(x T, name string) *T {
	at, i, ok := r.find(x, name)
	if !ok {
		return nil
	}
	return &r.mutable(at).items()[i]
}
