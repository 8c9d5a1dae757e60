package engine

// sortFirst puts the first n of s, n < len(s), in order. It is the quicksort of Bentley
// and McIlroy ("Engineering a Sort Function", 1993), which the server uses here and
// which is not stable: equals come out in an order that only the same exchanges bring about.
func sortFirst[T any](s []T, n int, compare func(a, b T) int) {
	for n > 0 && len(s) >= 7 {
		less, greater := partition(s, compare)
		if more := len(s) - greater; greater < n && more > 1 {
			sortFirst(s[greater:], n-greater, compare)
		}
		s, n = s[:less], min(n, less)
	}
	if n <= 0 {
		return
	}
	for i := range s {
		for j := i; j > 0 && compare(s[j-1], s[j]) > 0; j-- {
			s[j-1], s[j] = s[j], s[j-1]
		}
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
