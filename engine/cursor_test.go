package engine

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func testEngine(t *testing.T) *Engine {
	t.Helper()
	e, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// scanStep runs one SCAN and returns the next cursor and the keys.
func scanStep(t *testing.T, e *Engine, args ...string) (cursor string, found []string) {
	t.Helper()
	v := e.Do(append([]string{"SCAN"}, args...)...)
	if v.IsErr() || len(v.Elems) != 2 {
		t.Fatalf("SCAN %q: %+v", args, v)
	}
	for _, k := range v.Elems[1].Elems {
		found = append(found, k.Str)
	}
	return v.Elems[0].Str, found
}

// A full iteration returns every key that stays, whatever happens to others
// meanwhile and whether the table remembers the cursors or not.
func TestScanReturnsWhatStays(t *testing.T) {
	for _, forget := range []bool{false, true} {
		t.Run(fmt.Sprintf("forget=%v", forget), func(t *testing.T) {
			e := testEngine(t)
			rng := rand.New(rand.NewPCG(1, 2))
			for i := range 300 {
				e.Do("SET", fmt.Sprintf("stay:%d", i), "v")
				e.Do("SET", fmt.Sprintf("temp:%d", i), "v")
			}
			seen := map[string]int{}
			for cursor, first := "0", true; first || cursor != "0"; first = false {
				var found []string
				cursor, found = scanStep(t, e, cursor, "COUNT", strconv.Itoa(1+rng.IntN(20)))
				for _, k := range found {
					seen[k]++
				}
				if forget {
					e.core.cursors = cursorTable{}
					continue // a forgotten cursor needs its element
				}
				for range 5 {
					e.Do("DEL", fmt.Sprintf("temp:%d", rng.IntN(300)))
					e.Do("SET", fmt.Sprintf("new:%d", rng.IntN(1000)), "v")
				}
				if len(found) > 0 && strings.HasPrefix(found[len(found)-1], "temp") {
					e.Do("DEL", found[len(found)-1]) // the cursor's own element
				}
			}
			for i := range 300 {
				if k := fmt.Sprintf("stay:%d", i); seen[k] != 1 {
					t.Fatalf("%s was returned %d times", k, seen[k])
				}
			}
		})
	}
}

func TestScanCursorIsRepeatable(t *testing.T) {
	e := testEngine(t)
	for i := range 50 {
		e.Do("SET", strconv.Itoa(i), "v")
	}
	cursor, _ := scanStep(t, e, "0")
	next1, found1 := scanStep(t, e, cursor)
	next2, found2 := scanStep(t, e, cursor)
	if next1 != next2 || fmt.Sprint(found1) != fmt.Sprint(found2) || len(found1) != 10 {
		t.Fatalf("cursor %s: %s %v, then %s %v", cursor, next1, found1, next2, found2)
	}
	if _, first := scanStep(t, e, "12345"); len(first) != 10 || first[0] != "0" {
		t.Fatalf("a made-up cursor does not begin at the start: %v", first)
	}
}

func TestCursorTable(t *testing.T) {
	var table cursorTable
	ids := map[uint64]string{}
	elem := func(i int) string { return "elem:" + strconv.Itoa(i) }
	for i := range 3 * cursorMemory {
		id := table.next("keys", elem(i))
		if id == 0 || id >= 1<<cursorBits || ids[id] != "" {
			t.Fatalf("%s: cursor %d (%q)", elem(i), id, ids[id])
		}
		ids[id] = elem(i)
		if again := table.next("keys", elem(i)); again != id {
			t.Fatalf("%s: cursor %d, then %d", elem(i), id, again)
		}
	}
	if len(table.lasts) != cursorMemory {
		t.Fatalf("%d cursors are remembered", len(table.lasts))
	}
	newest := 3*cursorMemory - 1
	if last, ok := table.last("keys", cursorID("keys", elem(newest))); !ok || last != elem(newest) {
		t.Fatalf("the newest is %q, %v", last, ok)
	}
	if last, ok := table.last("keys", cursorID("keys", elem(0))); ok {
		t.Fatalf("the oldest is remembered: %q", last)
	}
	if last, ok := table.last("fields", cursorID("keys", elem(newest))); ok {
		t.Fatalf("another scope's cursor gives %q", last)
	}
	long := strings.Repeat("x", cursorMaxLen+1)
	if last, ok := table.last("keys", table.next("keys", long)); ok {
		t.Fatalf("an element of %d bytes is remembered", len(last))
	}
	all := func(yield func(string) bool) { yield(long) }
	if last, ok := table.resume("keys", cursorID("keys", long), all); !ok || last != long {
		t.Fatalf("an element of %d bytes is not found", len(long))
	}
}

func TestParseCursor(t *testing.T) {
	for _, c := range []struct {
		in   string
		want uint64
		ok   bool
	}{
		{"0", 0, true}, {"18446744073709551615", 1<<64 - 1, true}, {"18446744073709551616", 0, false},
		{"", 0, false}, {"x", 0, false}, {"-1", 0, false}, {"-01", 1<<64 - 1, true}, {"-0", 0, true},
		{"+5", 5, true}, {"+-5", 0, false}, {"007", 7, true}, {" \t5", 5, true}, {"5 ", 0, false}, {"5\x00x", 5, true},
		{"1_0", 0, false}, {"0x1", 0, false}, {" ", 0, false}, {"-", 0, false},
	} {
		if n, ok := parseCursor(c.in); ok != c.ok || ok && n != c.want {
			t.Errorf("%q: %d, %v", c.in, n, ok)
		}
	}
}
