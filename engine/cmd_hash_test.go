package engine

import (
	"fmt"
	"strconv"
	"testing"
)

// hashEngine is an engine with a hash of n fields f0 v0, f1 v1, ... at key h.
func hashEngine(t *testing.T, n int) *Engine {
	t.Helper()
	e, _ := manualEngine(t)
	for i := range n {
		e.Do("HSET", "h", fmt.Sprintf("f%d", i), fmt.Sprintf("v%d", i))
	}
	return e
}

// Fields that stay are returned exactly once, whatever happens to others and to values.
func TestHScanGuarantee(t *testing.T) {
	const n = 2000
	e := hashEngine(t, n)
	seen := map[string]int{}
	cursor := "0"
	for calls := 0; ; calls++ {
		v := e.Do("HSCAN", "h", cursor, "COUNT", "50", "NOVALUES")
		for _, field := range texts(v.Elems[1]) {
			seen[field]++
		}
		if cursor = v.Elems[0].Str; cursor == "0" {
			break
		}
		if calls > n {
			t.Fatal("the scan does not end")
		}
		e.Do("HSET", "h", fmt.Sprintf("f%d", calls*31%n), "new", "x"+strconv.Itoa(calls), "v")
		e.Do("HDEL", "h", "x"+strconv.Itoa(calls/2))
	}
	for i := range n {
		if field := fmt.Sprintf("f%d", i); seen[field] != 1 {
			t.Errorf("%s was returned %d times", field, seen[field])
		}
	}
}

// A positive count gives that many different fields, a negative one may repeat
// them; a value stands with its field.
func TestHRandField(t *testing.T) {
	const n = 300
	e := hashEngine(t, n)
	for _, count := range []int{1, 5, 99, 100, 101, 299, 300, 5000, -1, -5, -2000} {
		v := e.Do("HRANDFIELD", "h", strconv.Itoa(count), "WITHVALUES")
		want, distinct := min(count, n), min(count, n)
		if count < 0 {
			want, distinct = -count, 1
		}
		fields := map[string]bool{}
		if len(v.Elems) != want {
			t.Fatalf("%d: %d elements, want %d pairs", count, len(v.Elems), want)
		}
		for _, pair := range v.Elems {
			field, value := pair.Elems[0].Str, pair.Elems[1].Str
			if "v"+field[1:] != value {
				t.Errorf("%d: %s has value %s", count, field, value)
			}
			fields[field] = true
		}
		if len(fields) < distinct {
			t.Errorf("%d: %d different fields, want %d", count, len(fields), distinct)
		}
	}
}

// Every field has the same chance, in each of the ways to draw.
func TestHRandFieldIsFair(t *testing.T) {
	const n, draws = 20, 4000
	e := hashEngine(t, n)
	for _, count := range []int{0, -4, 4, 10} { // 0: without a count
		seen := map[string]int{}
		for range draws {
			if count == 0 {
				seen[e.Do("HRANDFIELD", "h").Str]++
				continue
			}
			for _, field := range texts(e.Do("HRANDFIELD", "h", strconv.Itoa(count))) {
				seen[field]++
			}
		}
		mean := draws * max(1, count, -count) / n
		for i := range n {
			if got := seen[fmt.Sprintf("f%d", i)]; got < mean*3/4 || got > mean*5/4 {
				t.Errorf("count %d: f%d was drawn %d times, want about %d", count, i, got, mean)
			}
		}
	}
}
