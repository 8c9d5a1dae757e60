package store

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// num is an element whose payload does not take part in the order.
type num struct{ k, v int }

func (a num) compare(b num) int { return cmp.Compare(a.k, b.k) }

// tinyBlocks makes splits and merges frequent for the rest of a test.
func tinyBlocks(t *testing.T, sizes [3]int) {
	oldSizes, oldSteps, oldFew := blockSizes, blockSteps, fewElements
	blockSizes, blockSteps, fewElements = sizes, [2]int{40, 200}, 2
	t.Cleanup(func() { blockSizes, blockSteps, fewElements = oldSizes, oldSteps, oldFew })
}

// model is a sorted slice.
type model []num

func (m model) search(k int) (int, bool) {
	return slices.BinarySearchFunc(m, k, func(a num, k int) int { return cmp.Compare(a.k, k) })
}

func (m *model) set(x num) (old num, replaced bool) {
	i, ok := m.search(x.k)
	if ok {
		old, (*m)[i] = (*m)[i], x
		return old, true
	}
	*m = slices.Insert(*m, i, x)
	return num{}, false
}

func (m *model) delete(k int) (old num, ok bool) {
	i, ok := m.search(k)
	if ok {
		old = (*m)[i]
		*m = slices.Delete(*m, i, i+1)
	}
	return old, ok
}

func TestRunsModel(t *testing.T) {
	for _, sizes := range [][3]int{{4, 4, 4}, {4, 6, 8}, {8, 5, 16}, {16, 16, 9}} {
		for seed := range uint64(6) {
			t.Run("blocks"+strconv.Itoa(sizes[0])+"-"+strconv.Itoa(sizes[2])+"seed"+strconv.Itoa(int(seed)), func(t *testing.T) {
				tinyBlocks(t, sizes)
				runModel(t, seed)
			})
		}
	}
}

type pair struct {
	r *runs[num]
	m model
}

func runModel(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	live := []*pair{{r: &runs[num]{}}}
	keys := []int{60, 300, 2000}[seed%3]
	next := 0
	for step := range 3000 {
		p := live[rng.IntN(len(live))]
		grow := step/500%2 == 0
		switch op := rng.IntN(100); {
		case op < 4:
			c := p.r.Clone()
			q := &pair{&c, slices.Clone(p.m)}
			if len(live) < 6 {
				live = append(live, q)
			} else {
				live[rng.IntN(len(live))] = q
			}
		case op < 8:
			n := len(p.m)
			i := rng.IntN(n + 1)
			j := i + rng.IntN(n+1-i)
			if j-i > 30 && rng.IntN(4) > 0 {
				j = i + 3
			}
			p.r.RemoveRange(i, j)
			p.m = slices.Delete(p.m, i, j)
		case op < 16:
			for range 1 + rng.IntN(12) { // a group that rises or falls in the middle
				next++
				x := num{keys/2 + next%keys, step}
				if rng.IntN(8) == 0 {
					x.k = keys - next%keys
				}
				gotSet(t, p, x)
			}
		case op < 24:
			gotPop(t, p, rng.IntN(2) == 0)
		case op < 55 == grow || op < 30:
			gotDelete(t, p, rng.IntN(keys))
		default:
			gotSet(t, p, num{rng.IntN(keys), step})
		}
		if step%25 == 0 {
			for _, q := range live {
				compareRuns(t, q, rng)
			}
		}
	}
}

func gotSet(t *testing.T, p *pair, x num) {
	t.Helper()
	old, replaced := p.r.Set(x)
	if wantOld, want := p.m.set(x); old != wantOld || replaced != want {
		t.Fatalf("Set(%v) = %v %v, want %v %v", x, old, replaced, wantOld, want)
	}
}

func gotDelete(t *testing.T, p *pair, k int) {
	t.Helper()
	old, ok := p.r.Delete(num{k: k})
	if wantOld, want := p.m.delete(k); old != wantOld || ok != want {
		t.Fatalf("Delete(%d) = %v %v, want %v %v", k, old, ok, wantOld, want)
	}
}

func gotPop(t *testing.T, p *pair, least bool) {
	t.Helper()
	pop, at := p.r.PopMax, len(p.m)-1
	if least {
		pop, at = p.r.PopMin, 0
	}
	x, ok := pop()
	if ok != (len(p.m) > 0) || ok && x != p.m[at] {
		t.Fatalf("pop = %v %v", x, ok)
	}
	if ok {
		p.m = slices.Delete(p.m, at, at+1)
	}
}

// compareRuns compares all ways to read with the model.
func compareRuns(t *testing.T, p *pair, rng *rand.Rand) {
	t.Helper()
	if err := p.r.check(); err != nil {
		t.Fatal(err)
	}
	if got := collect(p.r.Ascend, 0); !slices.Equal(got, p.m) {
		t.Fatalf("Ascend(0) = %v, want %v", got, p.m)
	}
	if len(p.m) == 0 {
		if _, ok := p.r.Min(); ok || p.r.Rank(num{k: 1}) != 0 {
			t.Fatal("empty sequence has a minimum or a rank")
		}
		return
	}
	i := rng.IntN(len(p.m))
	if got := collect(p.r.Ascend, i); !slices.Equal(got, p.m[i:]) {
		t.Fatalf("Ascend(%d) = %v, want %v", i, got, p.m[i:])
	}
	down := slices.Clone(p.m[:i+1])
	slices.Reverse(down)
	if got := collect(p.r.Descend, i); !slices.Equal(got, down) {
		t.Fatalf("Descend(%d) = %v, want %v", i, got, down)
	}
	k := rng.IntN(p.m[len(p.m)-1].k + 2)
	pos, ok := p.m.search(k)
	if got := p.r.Rank(num{k: k}); got != pos {
		t.Fatalf("Rank(%d) = %d, want %d", k, got, pos)
	}
	if got, gotOK := p.r.Get(num{k: k}); gotOK != ok || ok && got != p.m[pos] {
		t.Fatalf("Get(%d) = %v %v", k, got, gotOK)
	}
	from := func(k int, f func(num) bool) { p.r.AscendFrom(num{k: k}, f) }
	if got := collect(from, k); !slices.Equal(got, p.m[pos:]) {
		t.Fatalf("AscendFrom(%d) = %v, want %v", k, got, p.m[pos:])
	}
	lo, _ := p.r.Min()
	hi, _ := p.r.Max()
	if p.r.At(i) != p.m[i] || lo != p.m[0] || hi != p.m[len(p.m)-1] || p.r.Len() != len(p.m) {
		t.Fatalf("At(%d) = %v, Min %v, Max %v, Len %d", i, p.r.At(i), lo, hi, p.r.Len())
	}
}

func collect(walk func(int, func(num) bool), from int) (all []num) {
	walk(from, func(x num) bool { all = append(all, x); return true })
	return all
}

func TestRunsStop(t *testing.T) {
	tinyBlocks(t, [3]int{4, 4, 4})
	var r runs[num]
	for k := range 40 {
		r.Set(num{k: k})
	}
	for stop := 1; stop < 40; stop++ {
		for _, walk := range []func(f func(num) bool){
			func(f func(num) bool) { r.Ascend(0, f) },
			func(f func(num) bool) { r.Descend(39, f) },
		} {
			n := 0
			walk(func(num) bool { n++; return n < stop })
			if n != stop {
				t.Fatalf("f called %d times after it said stop at %d", n, stop)
			}
		}
	}
}

// TestRunsFill pins that inserts in rising order leave full blocks behind, at the end of
// the sequence and in front of a few greater elements alike.
func TestRunsFill(t *testing.T) {
	for _, above := range []int{0, 3} {
		var r runs[num]
		for k := range above {
			r.Set(num{k: 1<<30 + k})
		}
		const n = 100_000
		for k := range n {
			r.Set(num{k: k})
		}
		blocks := r.tree.Len()
		limit := blockSteps[0]/blockSizes[0] + (n-blockSteps[0])/blockSizes[1] + 4
		if blocks > limit {
			t.Errorf("%d greater elements: %d blocks, want at most %d", above, blocks, limit)
		}
	}
}

// TestRunsShrink pins that what is left after many deletions is packed together again.
func TestRunsShrink(t *testing.T) {
	var r runs[num]
	for k := range 50_000 {
		r.Set(num{k: k})
	}
	for k := range 50_000 {
		if k%500 != 0 {
			r.Delete(num{k: k})
		}
	}
	if err := r.check(); err != nil {
		t.Fatal(err)
	}
	if r.Len() != 100 || r.tree != nil && r.tree.Len() > 20 {
		t.Fatalf("%d elements in %d runs", r.Len(), r.tree.Len())
	}
}

func TestRunsAllocs(t *testing.T) {
	var r runs[num]
	for k := range 30_000 {
		r.Set(num{k: k * 2})
	}
	x := num{}
	for name, f := range map[string]func(){
		"Get":        func() { x, _ = r.Get(num{k: 30_000}) },
		"At":         func() { x = r.At(20_000) },
		"Rank":       func() { x.v = r.Rank(num{k: 10_001}) },
		"Replace":    func() { r.Set(num{k: 30_000, v: 1}) },
		"PopAndPush": func() { x, _ = r.PopMin(); r.Set(x) },
	} {
		if n := testing.AllocsPerRun(100, f); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	n := testing.AllocsPerRun(10, func() {
		r.Ascend(1000, func(y num) bool { x.v += y.k; return true })
	})
	if n > 3 {
		t.Errorf("Ascend over 29000 elements: %v allocations", n)
	}
}
