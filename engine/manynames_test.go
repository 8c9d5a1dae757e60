package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// nameSet against a slice that does the same.
func TestNameSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var set nameSet
	var want []string
	for range 20_000 {
		name := fmt.Sprint(rng.IntN(300))
		i := slices.Index(want, name)
		if rng.IntN(9) < 4+rng.IntN(2) {
			if set.add(name) != (i < 0) {
				t.Fatalf("add %s", name)
			}
			if i < 0 {
				want = append(want, name)
			}
		} else {
			if set.remove(name) != (i >= 0) {
				t.Fatalf("remove %s", name)
			}
			if i >= 0 {
				want = slices.Delete(want, i, i+1)
			}
		}
		if set.len() != len(want) || set.has(name) != slices.Contains(want, name) {
			t.Fatalf("%d names, want %d", set.len(), len(want))
		}
		if rng.IntN(50) == 0 && !slices.Equal(slices.Collect(set.all()), want) {
			t.Fatal("another order")
		}
	}
}

// One command may name as many keys, channels or prefixes as fit into it. With 60,000 of
// them anything that compares each with each takes ten times as long as all else here.
func TestManyNames(t *testing.T) {
	e := newManualEngine(t)
	names := make([]string, 60_000)
	for i := range names {
		names[i] = fmt.Sprintf("n%06d", i)
	}
	last := names[len(names)-1]
	with := func(words []string, rest ...string) []string { return slices.Concat(words, names, rest) }
	starts := make([]string, len(names))
	for i := range starts {
		starts[i] = "$"
	}
	for _, tt := range []struct{ blocks, wakes []string }{
		{with([]string{"BLPOP"}, "0"), []string{"LPUSH", last, "x"}},
		{with([]string{"BZMPOP", "0", fmt.Sprint(len(names))}, "MIN"), []string{"ZADD", last, "1", "x"}},
		{slices.Concat([]string{"XREAD", "BLOCK", "0", "STREAMS"}, names, starts), []string{"XADD", last, "*", "f", "v"}},
	} {
		_, ch := blockedCall(e, 1, tt.blocks...)
		e.Do(tt.wakes...)
		if v := <-ch; v.IsErr() || v.IsNull() {
			t.Errorf("%s: %s", tt.blocks[0], shown(v))
		}
		e.Do("DEL", last)
	}

	c := e.NewClient()
	c.Do(with([]string{"WATCH"})...)
	e.Do("SET", last, "x")
	c.Do("MULTI")
	if v := c.Do("EXEC"); !v.IsNull() {
		t.Errorf("EXEC: %s", shown(v))
	}

	conn := serveTest(t, e).dial()
	for _, word := range []string{"SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE"} {
		conn.send(with([]string{word})...)
		for range names {
			if v, err := conn.c.Receive(); err != nil || v.IsErr() {
				t.Fatal(word, shown(v), err)
			}
		}
	}
	conn.send("PUNSUBSCRIBE")
	for i := range names {
		left := int64(len(names) - 1 - i)
		if v, err := conn.c.Receive(); err != nil || v.Elems[1].Str != names[i] || v.Elems[2].Int != left {
			t.Fatal(shown(v), err, left)
		}
	}

	track := []string{"CLIENT", "TRACKING", "ON", "BCAST"}
	for _, name := range names {
		track = append(track, "PREFIX", name)
	}
	conn.send("HELLO", "3")
	conn.c.Receive()
	conn.send(track...)
	conn.want("+OK")
	conn.send(append(track[:4:4], "PREFIX", "m", "PREFIX", last+"0")...)
	conn.want("-ERR Prefix '" + last + "0' overlaps with an existing prefix '" + last + "'. Prefixes for a single client must not overlap.")
}
