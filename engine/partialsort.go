package engine

import (
	"math/bits"
	"slices"
)

// sortPart orders s so far that s[from:to] is what a full sort would have there. It is the
// quicksort of Bentley and McIlroy ("Engineering a Sort Function", 1993), left out where
// nothing is wanted, which the server uses here and which is not stable: equals come out
// in an order that only the same exchanges bring about.
func sortPart[T any](s []T, from, to int, compare func(a, b T) int) {
	sortBounded(s, from, to, 4*bits.Len(uint(len(s))), compare)
}

// sortBounded is sortPart with a bound on the partitions inside each other, against
// elements made to be slow to sort.
func sortBounded[T any](s []T, from, to, depth int, compare func(a, b T) int) {
	for ; from < to && len(s) >= 7 && depth > 0; depth-- {
		less, greater := partition(s, compare)
		if from < less && less > 1 {
			sortBounded(s[:less], from, min(to, less), depth-1, compare)
		}
		if to <= greater {
			return
		}
		s, from, to = s[greater:], max(from-greater, 0), to-greater
	}
	if from < to {
		slices.SortStableFunc(s, compare) // an insertion sort is stable too
	}
}

// partition brings what is less than some element in front of what equals it, and what
// is greater behind. It returns the end of the first part and the beginning of the last.
func partition[T any](s []T, compare func(a, b T) int) (less, greater int) {
	m := pivot(s, compare)
	s[0], s[m] = s[m], s[0]
	a, b := 1, 1 // equals end at a, lesser ones at b
	c, d := len(s)-1, len(s)-1
	for {
		for b <= c {
			r := compare(s[b], s[0])
			if r > 0 {
				break
			}
			if r == 0 {
				s[a], s[b] = s[b], s[a]
				a++
			}
			b++
		}
		for b <= c {
			r := compare(s[c], s[0])
			if r < 0 {
				break
			}
			if r == 0 {
				s[c], s[d] = s[d], s[c]
				d--
			}
			c--
		}
		if b > c {
			break
		}
		s[b], s[c] = s[c], s[b]
		b++
		c--
	}
	exchange(s, 0, b, min(a, b-a))
	exchange(s, b, len(s), min(d-c, len(s)-1-d))
	return b - a, len(s) - (d - c)
}

// exchange swaps the n elements from i on with the n elements before end.
func exchange[T any](s []T, i, end, n int) {
	for k := range n {
		s[i+k], s[end-n+k] = s[end-n+k], s[i+k]
	}
}

// pivot is the index of the middle element, of a median of three, or of nine.
func pivot[T any](s []T, compare func(a, b T) int) int {
	low, mid, high := 0, len(s)/2, len(s)-1
	if len(s) > 40 {
		d := len(s) / 8
		low = median(s, low, low+d, low+2*d, compare)
		mid = median(s, mid-d, mid, mid+d, compare)
		high = median(s, high-2*d, high-d, high, compare)
	}
	if len(s) == 7 {
		return mid
	}
	return median(s, low, mid, high, compare)
}

// median is the index of the median of three elements.
func median[T any](s []T, i, j, k int, compare func(a, b T) int) int {
	if compare(s[i], s[j]) < 0 {
		switch {
		case compare(s[j], s[k]) < 0:
			return j
		case compare(s[i], s[k]) < 0:
			return k
		}
		return i
	}
	switch {
	case compare(s[j], s[k]) > 0:
		return j
	case compare(s[i], s[k]) < 0:
		return i
	}
	return k
}
