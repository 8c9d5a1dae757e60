package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/echomq/echomq-sim/resp"
)

// manualEngine is an engine whose clock stands still at 1000 s after the epoch,
// and the keyspace events that it has emitted: "db event key".
func manualEngine(t *testing.T) (e *Engine, events *[]string) {
	t.Helper()
	e, err := New(Config{Clock: Manual(time.Unix(1000, 0)), Seed: 1, EnableDebug: "yes"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	events = &[]string{}
	e.core.onKeyEvent = func(ev KeyEvent) {
		if eventClass(ev.Class) == eventHash || eventClass(ev.Class) == eventGeneric {
			*events = append(*events, ev.Event+" "+ev.Key)
		}
	}
	return e, events
}

// wantReply runs a command, written as words, and compares the reply in one line.
func wantReply(t *testing.T, e *Engine, want, command string) {
	t.Helper()
	v := e.Do(strings.Fields(command)...)
	if got := strings.Join(strings.Fields(resp.Format(v)), " "); got != want {
		t.Errorf("%s: got %s, want %s", command, got, want)
	}
	if err := e.Check(); err != nil {
		t.Fatalf("%s: %v", command, err)
	}
}

func TestFieldsExpireInTime(t *testing.T) {
	e, events := manualEngine(t)
	e.Do("HSET", "h", "a", "1", "b", "2", "c", "3", "d", "4")
	wantReply(t, e, "* :1", "HPEXPIRE h 1000 FIELDS 1 a")
	wantReply(t, e, "* :1 :1", "HEXPIREAT h 1002 FIELDS 2 b c")
	wantReply(t, e, "* :1000 :2000 :-1", "HPTTL h FIELDS 3 a b d")
	*events = nil

	e.Advance(400 * time.Millisecond)
	wantReply(t, e, "* :600 :1600", "HPTTL h FIELDS 2 a b")
	wantReply(t, e, "* :1 :2", "HTTL h FIELDS 2 a b") // rounded to the nearest second
	e.Advance(599 * time.Millisecond)
	wantReply(t, e, "$1", "HGET h a")
	wantReply(t, e, "* :1", "HPTTL h FIELDS 1 a")

	e.Advance(time.Millisecond)
	if want := []string{"hexpired h"}; !slices.Equal(*events, want) {
		t.Errorf("events %q, want %q", *events, want)
	}
	wantReply(t, e, "_", "HGET h a")
	wantReply(t, e, ":3", "HLEN h")
	wantReply(t, e, "* :-2 :1000", "HPTTL h FIELDS 2 a b")

	wantReply(t, e, ":1", "HDEL h d")
	*events = nil
	e.Advance(time.Second) // b and c together, and the key with them
	if want := []string{"hexpired h", "del h"}; !slices.Equal(*events, want) {
		t.Errorf("events %q, want %q", *events, want)
	}
	wantReply(t, e, ":0", "EXISTS h")
	wantReply(t, e, ":0", "DBSIZE")
	if n := e.core.stats.expiredFields; n != 3 {
		t.Errorf("%d fields expired, want 3", n)
	}
}

// Fields expire one after another, at their own times and in their order, however
// far one step of the clock goes.
func TestFieldsExpireInOrder(t *testing.T) {
	e, events := manualEngine(t)
	e.Do("SET", "k2", "v", "PX", "2500")
	e.Do("HSET", "h1", "a", "1", "b", "2")
	e.Do("HSET", "h2", "a", "1")
	e.Do("HPEXPIRE", "h1", "3000", "FIELDS", "1", "a")
	e.Do("HPEXPIRE", "h1", "1000", "FIELDS", "1", "b")
	e.Do("HPEXPIRE", "h2", "2000", "FIELDS", "1", "a")
	*events = nil
	var at []int64
	record := e.core.onKeyEvent
	e.core.onKeyEvent = func(ev KeyEvent) {
		record(ev)
		at = append(at, e.core.ms())
	}
	e.Advance(time.Hour)
	want := []string{"hexpired h1", "hexpired h2", "del h2", "hexpired h1", "del h1"}
	if !slices.Equal(*events, want) {
		t.Errorf("events %q, want %q", *events, want)
	}
	if times := []int64{1001000, 1002000, 1002000, 1002500, 1003000, 1003000}; !slices.Equal(at, times) {
		t.Errorf("at %v, want %v", at, times)
	}
}

// Without active expiry an expired field is still there, but no command sees it.
func TestExpiredFieldsAreNotSeen(t *testing.T) {
	for command, want := range map[string]string{
		"HGET h a":                  "_",
		"HMGET h a b":               "* _ $2",
		"HEXISTS h a":               ":0",
		"HSTRLEN h a":               ":0",
		"HLEN h":                    ":1",
		"HKEYS h":                   "* $b",
		"HVALS h":                   "* $2",
		"HGETALL h":                 "% $b $2",
		"HRANDFIELD h 5":            "* $b",
		"HRANDFIELD h -2":           "* $b $b",
		"HSCAN h 0":                 "* $0 * $b $2",
		"HTTL h FIELDS 2 a b":       "* :-2 :-1",
		"HEXPIRE h 9 FIELDS 1 a":    "* :-2",
		"HPERSIST h FIELDS 1 a":     "* :-2",
		"HGETEX h FIELDS 2 a b":     "* _ $2",
		"HGETEX h EX 9 FIELDS 1 a":  "* _",
		"HGETDEL h FIELDS 2 a b":    "* _ $2",
		"HDEL h a b":                ":1",
		"HSET h a x":                ":1",
		"HSETNX h a x":              ":1",
		"HINCRBY h a 5":             ":5",
		"HINCRBYFLOAT h a 0.5":      "$0.5",
		"HSETEX h FNX FIELDS 1 a x": ":1",
		"HSETEX h FXX FIELDS 1 a x": ":0",
	} {
		e, _ := manualEngine(t)
		e.Do("DEBUG", "SET-ACTIVE-EXPIRE", "0")
		e.Do("HSET", "h", "a", "1", "b", "2")
		e.Do("HPEXPIRE", "h", "1000", "FIELDS", "1", "a")
		e.Advance(time.Second)
		wantReply(t, e, want, command)
		if v := e.Do("HPTTL", "h", "FIELDS", "1", "a"); len(v.Elems) != 1 || v.Elems[0].Int >= 0 {
			t.Errorf("%s: the field has got the old TTL: %s", command, resp.Format(v))
		}
	}
}

// KEEPTTL has nothing to keep from a field that has expired.
func TestKeepTTLOfExpiredField(t *testing.T) {
	e, _ := manualEngine(t)
	e.Do("DEBUG", "SET-ACTIVE-EXPIRE", "0")
	e.Do("HSETEX", "h", "PX", "1000", "FIELDS", "1", "a", "1")
	e.Advance(2 * time.Second)
	wantReply(t, e, ":1", "HSETEX h KEEPTTL FIELDS 1 a 2")
	wantReply(t, e, "* :-1", "HTTL h FIELDS 1 a")
}

// A write ends a field's TTL or keeps it, and so does what becomes of the key.
func TestFieldTTLAfterWrites(t *testing.T) {
	e, _ := manualEngine(t)
	e.Do("HSET", "h", "set", "1", "count", "2", "kept", "3")
	e.Do("HPEXPIRE", "h", "1000", "FIELDS", "3", "set", "count", "kept")
	e.Do("HSET", "h", "set", "x")
	e.Do("HINCRBY", "h", "count", "1")
	e.Do("HSETEX", "h", "KEEPTTL", "FIELDS", "1", "kept", "x")
	e.Do("COPY", "h", "copy")
	e.Do("RENAME", "h", "renamed")
	e.Do("COPY", "copy", "other", "DB", "1")
	e.Do("HPERSIST", "copy", "FIELDS", "1", "kept")
	e.Advance(time.Second)
	wantReply(t, e, "% $set $x $kept $x", "HGETALL copy")
	wantReply(t, e, "% $set $x", "HGETALL renamed")
	e.Do("SELECT", "1")
	wantReply(t, e, "% $set $x", "HGETALL other")
}

func TestFieldTTLInSnapshot(t *testing.T) {
	e, _ := manualEngine(t)
	e.Do("HSETEX", "h", "PX", "1000", "FIELDS", "1", "a", "1")
	snap := e.Snapshot()
	e.Do("HPERSIST", "h", "FIELDS", "1", "a")
	e.Advance(500 * time.Millisecond)
	e.Restore(snap)
	wantReply(t, e, "* :500", "HPTTL h FIELDS 1 a")
	e.Advance(500 * time.Millisecond)
	wantReply(t, e, ":0", "EXISTS h")
	e.Restore(snap) // its time has passed meanwhile
	wantReply(t, e, "* _", "HGETEX h FIELDS 1 a")
}

// The keyspace events of each command, in their order.
func TestFieldTTLEvents(t *testing.T) {
	for _, c := range []struct{ before, command, want string }{
		{"HSET h a 1 b 2", "HEXPIRE h 9 FIELDS 2 a b", "hexpire h"},
		{"HSET h a 1", "HEXPIRE h 9 FIELDS 1 x", ""},
		{"HSET h a 1", "HEXPIRE h 9 XX FIELDS 1 a", ""},
		{"HSET h a 1 b 2", "HPEXPIREAT h 1 FIELDS 2 a x", "hexpired h"},
		{"HSET h a 1 b 2", "HPEXPIREAT h 1 FIELDS 2 a b", "hexpired h,del h"},
		{"HSETEX h EX 9 FIELDS 1 a 1", "HPERSIST h FIELDS 1 a", "hpersist h"},
		{"HSET h a 1", "HPERSIST h FIELDS 1 a", ""},
		{"HSET h a 1 b 2", "HGETDEL h FIELDS 2 a x", "hdel h"},
		{"HSET h a 1", "HGETDEL h FIELDS 2 a a", "hdel h,del h"},
		{"HSET h a 1", "HGETDEL h FIELDS 1 x", ""},
		{"HSET h a 1", "HGETEX h FIELDS 1 a", ""},
		{"HSET h a 1", "HGETEX h EX 9 FIELDS 2 a a", "hexpire h"},
		{"HSET h a 1", "HGETEX h EX 9 FIELDS 1 x", ""},
		{"HSET h a 1", "HGETEX h EX 0 FIELDS 1 a", "hexpired h,del h"},
		{"HSET h a 1", "HGETEX h EX 0 FIELDS 1 x", ""},
		{"HSETEX h EX 9 FIELDS 1 a 1", "HGETEX h PERSIST FIELDS 1 a", "hpersist h"},
		{"HSET h a 1", "HGETEX h PERSIST FIELDS 1 a", ""},
		{"HSET h a 1", "HSETEX h FIELDS 2 a 2 b 2", "hset h"},
		{"HSET h a 1", "HSETEX h KEEPTTL FIELDS 1 a 2", "hset h"},
		{"HSET h a 1", "HSETEX h EX 9 FIELDS 2 a 2 b 2", "hset h,hexpire h"},
		{"HSET h a 1 b 2", "HSETEX h EX 0 FIELDS 1 a 2", "hset h,hexpire h,hexpired h"},
		{"HSET h a 1", "HSETEX h EX 0 FIELDS 1 a 2", "hset h,hexpire h,hexpired h,del h"},
		{"HSET k a 1", "HSETEX h EX 0 FIELDS 1 a 2", "hset h,hexpire h,hexpired h,del h"},
		{"HSET h a 1", "HSETEX h FNX FIELDS 1 a 2", ""},
		{"HSET h a 1", "HSETEX h NX FIELDS 1 b 2", ""},
	} {
		e, events := manualEngine(t)
		e.Do(strings.Fields(c.before)...)
		*events = nil
		dirty := e.core.stats.dirty
		if v := e.Do(strings.Fields(c.command)...); v.IsErr() {
			t.Errorf("%s: %s", c.command, v.Str)
		}
		if got := strings.Join(*events, ","); got != c.want {
			t.Errorf("%s; %s: events %q, want %q", c.before, c.command, got, c.want)
		}
		if changed := e.core.stats.dirty != dirty; changed != (c.want != "") && !strings.HasPrefix(c.before, "HSET k") {
			t.Errorf("%s; %s: changed is %v", c.before, c.command, changed)
		}
	}
}
