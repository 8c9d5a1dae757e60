package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/echomq/echomq-sim/resp"
)

// wantFlat compares the reply of a command, in the notation of resp.Format on one line.
func wantFlat(t *testing.T, e *Engine, want string, args ...string) {
	t.Helper()
	if got := flat(e.Do(args...)); got != want {
		t.Errorf("%v: %s, want %s", args, got, want)
	}
}

// flat is a reply as one line: elements in brackets, texts and numbers bare.
func flat(v resp.Value) string {
	if v.Kind != resp.KindArray && v.Kind != resp.KindMap {
		return strings.TrimLeft(strings.TrimSpace(resp.Format(v)), "$:+")
	}
	var parts []string
	for _, e := range v.Elems {
		parts = append(parts, flat(e))
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// The ID of an entry is the time; several of a millisecond are numbered, and the time
// never goes back.
func TestStreamAutoID(t *testing.T) {
	e := newManualEngine(t)
	wantFlat(t, e, "1700000000000-0", "XADD", "s", "*", "f", "v")
	wantFlat(t, e, "1700000000000-1", "XADD", "s", "*", "f", "v")
	e.SetTime(e.Now().Add(-time.Minute))
	wantFlat(t, e, "1700000000000-2", "XADD", "s", "*", "f", "v")
	e.Advance(2 * time.Minute)
	wantFlat(t, e, "1700000060000-0", "XADD", "s", "*", "f", "v")
	wantFlat(t, e, "1700000060000-1", "XADD", "s", "1700000060000-*", "f", "v")
	wantFlat(t, e, "1700000060000-18446744073709551615", "XADD", "s", "1700000060000-18446744073709551615", "f", "v")
	wantFlat(t, e, "1700000060001-0", "XADD", "s", "*", "f", "v")
}

// What XPENDING and XINFO tell about times, and what min-idle-time lets pass, follows the clock.
func TestStreamTimes(t *testing.T) {
	e := newManualEngine(t)
	e.Do("XADD", "s", "1-0", "f", "v")
	e.Do("XADD", "s", "2-0", "f", "v")
	e.Do("XGROUP", "CREATE", "s", "g", "0")
	e.Do("XGROUP", "CREATECONSUMER", "s", "g", "idle")
	e.Do("XREADGROUP", "GROUP", "g", "a", "COUNT", "1", "STREAMS", "s", ">")
	e.Advance(50 * time.Millisecond)
	e.Do("XREADGROUP", "GROUP", "g", "a", "COUNT", "1", "STREAMS", "s", ">")
	e.Advance(10 * time.Millisecond)
	wantFlat(t, e, "[[1-0 a 60 1] [2-0 a 10 1]]", "XPENDING", "s", "g", "-", "+", "10")
	wantFlat(t, e, "[[1-0 a 60 1]]", "XPENDING", "s", "g", "IDLE", "60", "-", "+", "10")
	wantFlat(t, e, "[]", "XPENDING", "s", "g", "IDLE", "61", "-", "+", "10")
	wantFlat(t, e, "[[name a pending 2 idle 10 inactive 10] [name idle pending 0 idle 60 inactive -1]]",
		"XINFO", "CONSUMERS", "s", "g")
	wantFlat(t, e, "[0-0 [1-0] []]", "XAUTOCLAIM", "s", "g", "b", "20", "0", "JUSTID")
	wantFlat(t, e, "[]", "XCLAIM", "s", "g", "b", "11", "2-0", "JUSTID")
	wantFlat(t, e, "[2-0]", "XCLAIM", "s", "g", "b", "10", "2-0", "IDLE", "7", "JUSTID")
	wantFlat(t, e, "[[1-0 b 0 1] [2-0 b 7 1]]", "XPENDING", "s", "g", "-", "+", "10")
	wantFlat(t, e, "[[2-0 [f v]]]", "XCLAIM", "s", "g", "b", "0", "2-0", "TIME", "1699999999000")
	wantFlat(t, e, "[[1-0 b 0 1] [2-0 b 1060 2]]", "XPENDING", "s", "g", "-", "+", "10")
	e.Advance(time.Second)
	wantFlat(t, e, "[s [[1-0 [f v]] [2-0 [f v]]]]", "XREADGROUP", "GROUP", "g", "b", "STREAMS", "s", "0")
	wantFlat(t, e, "[[1-0 b 0 2] [2-0 b 0 3]]", "XPENDING", "s", "g", "-", "+", "10")
}

// XREAD's $ is the last ID at the moment of the call, however long it waits.
func TestStreamBlockedRead(t *testing.T) {
	e := newManualEngine(t)
	e.Do("XADD", "s", "1-0", "f", "v")
	_, ch := blockedCall(e, 1, "XREAD", "BLOCK", "1000", "STREAMS", "s", "other", "$", "$")
	e.Do("XADD", "s", "NOMKSTREAM", "0-1", "f", "v") // refused
	e.Do("XDEL", "s", "1-0")
	e.waitBlocked(1)
	e.Do("EVAL", "redis.call('XADD', KEYS[1], '2-0', 'f', 'v') redis.call('XADD', KEYS[1], '3-0', 'f', 'v')", "1", "s")
	if got := flat(<-ch); got != "[s [[2-0 [f v]] [3-0 [f v]]]]" {
		t.Errorf("got %s", got)
	}
	_, ch = blockedCall(e, 1, "XREAD", "BLOCK", "1000", "STREAMS", "s", "$")
	e.Advance(time.Second)
	if v := <-ch; !v.IsNull() {
		t.Errorf("got %s after the time", shown(v))
	}
	wantFlat(t, e, "_", "XREAD", "STREAMS", "s", "$")
}

// Clients that wait for a group share what comes, and are told when the group goes.
func TestStreamBlockedGroup(t *testing.T) {
	e := newManualEngine(t)
	e.Do("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
	read := []string{"XREADGROUP", "GROUP", "g", "a", "BLOCK", "0", "STREAMS", "s", ">"}
	_, first := blockedCall(e, 1, read...)
	_, second := blockedCall(e, 2, read...)
	_, third := blockedCall(e, 3, read...)
	e.Do("XADD", "s", "1-0", "f", "v")
	if got := flat(<-first); got != "[s [[1-0 [f v]]]]" {
		t.Errorf("first got %s", got)
	}
	e.waitBlocked(2)
	e.Do("XADD", "s", "2-0", "f", "v")
	if got := flat(<-second); got != "[s [[2-0 [f v]]]]" {
		t.Errorf("second got %s", got)
	}
	e.Do("XGROUP", "DESTROY", "s", "g")
	const none = "-NOGROUP No such key 's' or consumer group 'g' in XREADGROUP with GROUP option"
	if got := flat(<-third); got != none {
		t.Errorf("third got %s", got)
	}
	e.Do("XGROUP", "CREATE", "s", "g", "$")
	_, fourth := blockedCall(e, 1, read...)
	e.Do("DEL", "s")
	if got := flat(<-fourth); got != none {
		t.Errorf("fourth got %s", got)
	}
}

// Changes of groups are no modification of the key; those of entries are.
func TestStreamWatch(t *testing.T) {
	e := newManualEngine(t)
	e.Do("XADD", "s", "1-0", "f", "v")
	e.Do("XADD", "s", "2-0", "f", "v")
	c := e.NewClient()
	for _, step := range []struct {
		spoils bool
		args   []string
	}{
		{false, []string{"XGROUP", "CREATE", "s", "g", "0"}},
		{false, []string{"XREADGROUP", "GROUP", "g", "a", "STREAMS", "s", ">"}},
		{false, []string{"XCLAIM", "s", "g", "b", "0", "1-0"}},
		{false, []string{"XACK", "s", "g", "1-0"}},
		{false, []string{"XSETID", "s", "9-0"}},
		{false, []string{"XTRIM", "s", "MAXLEN", "5"}},
		{false, []string{"XDEL", "s", "7-0"}},
		{true, []string{"XDEL", "s", "1-0"}},
		{true, []string{"XTRIM", "s", "MAXLEN", "0"}},
		{true, []string{"XADD", "s", "*", "f", "v"}},
		{false, []string{"XGROUP", "DESTROY", "s", "g"}},
		{true, []string{"XGROUP", "CREATE", "t", "g", "0", "MKSTREAM"}},
	} {
		c.Do("WATCH", "s", "t")
		if v := e.Do(step.args...); v.IsErr() {
			t.Fatalf("%v: %s", step.args, shown(v))
		}
		c.Do("MULTI")
		if spoilt := c.Do("EXEC").IsNull(); spoilt != step.spoils {
			t.Errorf("%v spoils a transaction: %v", step.args, spoilt)
		}
	}
}

// The groups of a copy and of a snapshot are their own.
func TestStreamCopies(t *testing.T) {
	e := newManualEngine(t)
	e.Do("XADD", "s", "1-0", "f", "v")
	e.Do("XGROUP", "CREATE", "s", "g", "0")
	e.Do("XREADGROUP", "GROUP", "g", "a", "STREAMS", "s", ">")
	snap := e.Snapshot()
	e.Do("COPY", "s", "t")
	e.Do("XACK", "s", "g", "1-0")
	e.Do("XGROUP", "DELCONSUMER", "s", "g", "a")
	wantFlat(t, e, "[1 1-0 1-0 [[a 1]]]", "XPENDING", "t", "g")
	wantFlat(t, e, "[0 _ _ _]", "XPENDING", "s", "g")
	e.Restore(snap)
	wantFlat(t, e, "[1 1-0 1-0 [[a 1]]]", "XPENDING", "s", "g")
	wantFlat(t, e, "1", "XACK", "s", "g", "1-0")
	e.Restore(snap)
	wantFlat(t, e, "[1 1-0 1-0 [[a 1]]]", "XPENDING", "s", "g")
}
