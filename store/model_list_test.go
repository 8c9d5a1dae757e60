package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// element returns an element of a list: one of few, or now and then a large one.
func (w *world) element() string {
	switch w.rng.IntN(40) {
	case 0:
		return strings.Repeat("P", 4090+w.rng.IntN(5000))
	case 1, 2, 3:
		return strings.Repeat("m", 500+w.rng.IntN(1000))
	}
	return w.number(9)
}

func (w *world) stepList(b *branch, key string) {
	mo := b.m[key]
	if mo == nil {
		o := NewList(b.db.Limits())
		o.List().PushTail("first")
		b.db.Put(key, o)
		mo = &modelObj{typ: List, elems: []string{"first"}}
		b.m[key] = mo
	}
	v := b.db.Write(key).List()
	switch w.rng.IntN(9) {
	case 0, 1, 2:
		w.push(v, mo)
	case 3:
		i, x := w.rng.IntN(v.Len()), w.element()
		v.Expect(1, len(x))
		v.Set(i, x)
		mo.elems[i] = x
		v.Shrunk()
	case 4, 5:
		i, x, behind := w.rng.IntN(v.Len()), w.element(), w.rng.IntN(2)
		v.Expect(1, len(x))
		v.Insert(i, x, behind == 1)
		mo.elems = slices.Insert(mo.elems, i+behind, x)
	default:
		w.shorten(v, mo)
		v.Shrunk()
	}
	if v.Len() == 0 {
		b.db.Remove(key)
		delete(b.m, key)
	}
}

func (w *world) push(v *ListObj, mo *modelObj) {
	for range 1 + w.rng.IntN(15) {
		x := w.element()
		v.Expect(1, len(x))
		if w.rng.IntN(2) == 0 {
			v.PushHead(x)
			mo.elems = slices.Insert(mo.elems, 0, x)
		} else {
			v.PushTail(x)
			mo.elems = append(mo.elems, x)
		}
	}
}

func (w *world) shorten(v *ListObj, mo *modelObj) {
	n := len(mo.elems)
	switch w.rng.IntN(4) {
	case 0:
		if x := v.PopHead(); x != mo.elems[0] {
			w.t.Fatalf("PopHead = %q, want %q", x, mo.elems[0])
		}
		mo.elems = mo.elems[1:]
	case 1:
		if x := v.PopTail(); x != mo.elems[n-1] {
			w.t.Fatalf("PopTail = %q, want %q", x, mo.elems[n-1])
		}
		mo.elems = mo.elems[:n-1]
	case 2:
		i := w.rng.IntN(n + 1)
		j := min(n, i+w.rng.IntN(20))
		v.RemoveRange(i, j)
		mo.elems = slices.Delete(mo.elems, i, j)
	default:
		x, most, fromTail := w.number(9), 1+w.rng.IntN(4), w.rng.IntN(2) == 0
		removed := v.Remove(x, most, fromTail)
		if want := mo.remove(x, most, fromTail); removed != want {
			w.t.Fatalf("Remove(%q, %d, %v) = %d, want %d", x, most, fromTail, removed, want)
		}
	}
}

func (mo *modelObj) remove(x string, most int, fromTail bool) (removed int) {
	for ; removed < most; removed++ {
		i := slices.Index(mo.elems, x)
		if fromTail {
			i = len(mo.elems) - 1
			for i >= 0 && mo.elems[i] != x {
				i--
			}
		}
		if i < 0 {
			return removed
		}
		mo.elems = slices.Delete(mo.elems, i, i+1)
	}
	return removed
}

// dumpList returns the elements, having compared the ways to read them.
func dumpList(t *testing.T, v *ListObj) (all []string) {
	v.Ascend(0, func(x string) bool {
		if got := v.At(len(all)); got != x {
			t.Fatalf("At(%d) = %q, Ascend says %q", len(all), got, x)
		}
		all = append(all, x)
		return true
	})
	for _, i := range []int{0, len(all) / 3, len(all) - 1} {
		var up, down []string
		v.Ascend(i, func(x string) bool { up = append(up, x); return true })
		v.Descend(i, func(x string) bool { down = append(down, x); return true })
		slices.Reverse(down)
		if !slices.Equal(up, all[i:]) || !slices.Equal(down, all[:i+1]) {
			t.Fatalf("Ascend or Descend from %d of %d", i, len(all))
		}
	}
	return all
}

func (w *world) stepSet(b *branch, key string) {
	mo := b.m[key]
	if mo == nil {
		first := []string{"0", "m0"}[w.rng.IntN(2)]
		o := NewSet(b.db.Limits())
		o.Set().Expect(first, 1+w.rng.IntN(25))
		o.Set().Add(first)
		b.db.Put(key, o)
		mo = &modelObj{typ: Set, names: map[string]bool{first: true}}
		b.m[key] = mo
	}
	s, m := b.db.Write(key).Set(), w.number([]int{6, 300}[int(key[1])%2])
	if w.rng.IntN(30) == 0 {
		m = w.text()
	}
	had := mo.names[m]
	switch op := w.rng.IntN(20); {
	case op == 0:
		s.Rebuild()
	case op < 8:
		if s.Remove(m) != had {
			w.t.Fatalf("Remove(%q) of a member that was there: %v", m, had)
		}
		delete(mo.names, m)
	default:
		if s.Add(m) == had {
			w.t.Fatalf("Add(%q) of a member that was there: %v", m, had)
		}
		mo.names[m] = true
	}
	if s.Has(m) != mo.names[m] {
		w.t.Fatalf("Has(%q) = %v", m, s.Has(m))
	}
	if s.Len() == 0 {
		b.db.Remove(key)
		delete(b.m, key)
	}
}

// dumpSet returns the members in byte order, having compared the ways to read them.
func dumpSet(t *testing.T, s *SetObj) string {
	var all, sorted []string
	s.Ascend(func(m string) bool {
		if got := s.At(len(all)); got != m {
			t.Fatalf("At(%d) = %q, Ascend says %q", len(all), got, m)
		}
		all = append(all, m)
		return true
	})
	s.AscendSorted("", func(m string) bool { sorted = append(sorted, m); return true })
	slices.Sort(all)
	if !slices.Equal(all, sorted) {
		t.Fatalf("AscendSorted %q, Ascend %q", sorted, all)
	}
	return fmt.Sprint(all)
}
