package engine

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/echomq/echomq-sim/resp"
)

// zsetEngine is an engine with sorted sets of n members m0000, m0001, ... at key z.
func zsetEngine(t *testing.T, n int) *Engine {
	t.Helper()
	e, err := New(Config{Clock: Real(), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	for i := range n {
		e.Do("ZADD", "z", strconv.Itoa(i*7919%n), fmt.Sprintf("m%04d", i))
	}
	return e
}

func texts(v resp.Value) (out []string) {
	for _, e := range v.Elems {
		out = append(out, e.Str)
	}
	return out
}

// Members that stay are returned exactly once, whatever happens to others and to scores.
func TestZScanGuarantee(t *testing.T) {
	const n = 2000
	e := zsetEngine(t, n)
	seen := map[string]int{}
	cursor := "0"
	for calls := 0; ; calls++ {
		v := e.Do("ZSCAN", "z", cursor, "COUNT", "50", "NOSCORES")
		for _, member := range texts(v.Elems[1]) {
			seen[member]++
		}
		if cursor = v.Elems[0].Str; cursor == "0" {
			break
		}
		if calls > n {
			t.Fatal("the scan does not end")
		}
		e.Do("ZINCRBY", "z", "1000", fmt.Sprintf("m%04d", calls*31%n))
		e.Do("ZADD", "z", "5", "x"+strconv.Itoa(calls), "0", "a"+strconv.Itoa(calls))
		e.Do("ZREM", "z", "a"+strconv.Itoa(calls/2))
		if calls%7 == 0 {
			e.Restore(e.Snapshot())
		}
	}
	for i := range n {
		if member := fmt.Sprintf("m%04d", i); seen[member] != 1 {
			t.Errorf("%s was returned %d times", member, seen[member])
		}
	}
	if err := e.Check(); err != nil {
		t.Error(err)
	}
}

func TestZRandMember(t *testing.T) {
	for _, size := range []int{1, 5, 100, 1000} {
		e := zsetEngine(t, size)
		drawn := map[string]bool{}
		for _, count := range []int{0, 1, 2, 30, 99, 100, 400, 999, 5000, -1, -7, -300} {
			members := texts(e.Do("ZRANDMEMBER", "z", strconv.Itoa(count)))
			want := min(count, size)
			if count < 0 {
				want = -count
			}
			if len(members) != want {
				t.Errorf("%d of %d: got %d", count, size, len(members))
			}
			different := map[string]bool{}
			for _, m := range members {
				if e.Do("ZSCORE", "z", m).IsNull() {
					t.Errorf("%q is no member", m)
				}
				drawn[m], different[m] = true, true
			}
			if count > 0 && len(different) != want {
				t.Errorf("%d of %d: only %d different ones", count, size, len(different))
			}
		}
		if len(drawn) != size {
			t.Errorf("%d of %d members were ever drawn", len(drawn), size)
		}
	}
}

// The events of an option that refuses, of a set that empties and of a result that is empty.
func TestZSetEvents(t *testing.T) {
	e := zsetEngine(t, 0)
	var got []string
	e.core.onKeyEvent = func(ev KeyEvent) {
		if ev.Class != byte(eventKeyMiss) {
			got = append(got, fmt.Sprintf("%c %s %s", ev.Class, ev.Event, ev.Key))
		}
	}
	for _, args := range [][]string{
		{"ZADD", "k", "1", "a", "2", "b"}, {"ZADD", "k", "1", "a"}, {"ZADD", "k", "NX", "5", "a"}, {"ZINCRBY", "k", "1", "a"},
		{"ZINCRBY", "k", "0", "a"}, {"ZREM", "k", "none"}, {"ZUNIONSTORE", "d", "1", "k"}, {"ZRANGESTORE", "d", "k", "9", "9"},
		{"ZRANGESTORE", "d", "k", "9", "9"}, {"ZMPOP", "2", "x", "k", "MAX"}, {"ZREMRANGEBYRANK", "k", "5", "9"},
		{"ZREMRANGEBYRANK", "k", "0", "-1"},
	} {
		if v := e.Do(args...); v.IsErr() {
			t.Fatalf("%v: %s", args, v.Str)
		}
	}
	want := []string{"n new k", "z zadd k", "z zincr k", "n new d", "z zunionstore d", "g del d", "z zpopmax k", "z zremrangebyrank k", "g del k"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
