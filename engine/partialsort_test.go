package engine

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortPart compares a part with the same part of a full sort.
func TestSortPart(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		items := make([]int, r.IntN(300))
		for i := range items {
			items[i] = r.IntN(1 + r.IntN(100))
		}
		want := slices.Clone(items)
		slices.Sort(want)
		from := r.IntN(len(items) + 1)
		to := from + r.IntN(len(items)-from+1)
		depth := r.IntN(40)
		sortBounded(items, from, to, depth, cmp.Compare)
		if !slices.Equal(items[from:to], want[from:to]) {
			t.Fatalf("[%d:%d] at depth %d: got %v, want %v", from, to, depth, items[from:to], want[from:to])
		}
		slices.Sort(items)
		if !slices.Equal(items, want) {
			t.Fatalf("items were lost: got %v, want %v", items, want)
		}
	}
}
