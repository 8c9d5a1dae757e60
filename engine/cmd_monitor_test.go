package engine

import (
	"strings"
	"testing"
	"time"
)

func TestMonitor(t *testing.T) {
	e := newManualEngine(t)
	srv := serveTest(t, e)
	m, c := srv.dial(), srv.dial()
	c.do("+OK", "ACL", "SETUSER", "u", "on", ">pw", "~*", "+@all")
	m.do("+OK", "MONITOR")
	e.Advance(1234567 * time.Microsecond)
	from := "[0 " + strings.Split(strings.Split(c.get("CLIENT", "INFO").Str, "addr=")[1], " ")[0] + "]"
	want := func(rest string) {
		t.Helper()
		v, err := m.c.Receive()
		if want := "1700000001.234567 " + rest; err != nil || v.Str != want {
			t.Fatalf("monitor got %q, %v, want %q", v.Str, err, want)
		}
	}
	want(from + ` "CLIENT" "INFO"`)
	c.get("Set", "k", "a\x00\n\r\t\a\b\"\\\xff z")
	want(from + ` "Set" "k" "a\x00\n\r\t\a\b\"\\\xff z"`)
	c.get("CONFIG", "GET", "port") // not shown: for administrators
	c.get("NOSUCH")                // nor this
	c.get("AUTH", "u", "pw")
	want(from + ` "AUTH" "(redacted)" "(redacted)"`)
	c.get("AUTH", "wrong")
	want(from + ` "AUTH" "(redacted)"`)
	c.get("HELLO", "3", "SETNAME", "n", "AUTH", "u", "pw")
	want(from + ` "HELLO" "3" "SETNAME" "n" "AUTH" "(redacted)" "(redacted)"`)
	c.get("MIGRATE", "h", "1", "", "0", "9", "auth", "pw", "COPY", "AUTH2", "u", "pw", "KEYS", "AUTH", "none")
	want(from + ` "MIGRATE" "h" "1" "" "0" "9" "auth" "(redacted)" "COPY" "AUTH2" "(redacted)" "(redacted)" "KEYS" "AUTH" "none"`)
	c.get("EVAL", "redis.call('select', 7) return redis.call('get', 'k')", "0")
	want(from + ` "EVAL" "redis.call('select', 7) return redis.call('get', 'k')" "0"`)
	want(`[7 lua] "select" "7"`)
	want(`[7 lua] "get" "k"`)
	c.get("MULTI")
	c.get("GET", "k")
	c.get("EXEC")
	for _, args := range []string{`"MULTI"`, `"GET" "k"`, `"EXEC"`} {
		want(from + " " + args)
	}
	m.do("-ERR Replica can't interact with the keyspace", "GET", "k")
	m.do("+PONG", "PING")
	if v, err := m.c.Receive(); err != nil || !strings.HasSuffix(v.Str, `"PING"`) {
		t.Errorf("its own PING shows as %q, %v", v.Str, err)
	}
	m.do("+RESET", "RESET")
	c.get("GET", "k")
	m.do("+PONG", "PING")
	c.get("MULTI")
	c.get("MONITOR")
	if v := c.get("EXEC"); len(v.Elems) != 1 || v.Elems[0].Str != "ERR MONITOR isn't allowed for DENY BLOCKING client" {
		t.Errorf("MONITOR in a transaction: %v", v)
	}
}

func TestMonitorsAreForgotten(t *testing.T) {
	e := newManualEngine(t)
	srv := serveTest(t, e)
	m, c := srv.dial(), srv.dial()
	m.do("+OK", "MONITOR")
	c.do(":1", "CLIENT", "KILL", "TYPE", "normal")
	m.wantClosed()
	e.lock()
	defer e.unlock()
	if n := len(e.core.monitors); n != 0 {
		t.Errorf("%d monitors are left", n)
	}
}

// waitHeld waits until n clients have a command that waits.
func (e *Engine) waitHeld(n int) {
	for {
		e.mu.Lock()
		held := 0
		for _, s := range e.core.sessions {
			if s.held != nil {
				held++
			}
		}
		e.mu.Unlock()
		if held == n {
			return
		}
		yield()
	}
}

func TestPauseOfAll(t *testing.T) {
	e := newManualEngine(t)
	srv := serveTest(t, e)
	a, b, c := srv.dial(), srv.dial(), srv.dial()
	a.do("+OK", "SET", "k", "v", "PX", "50")
	a.do("+OK", "CLIENT", "PAUSE", "100")
	b.send("APPEND", "s", "b")
	e.waitHeld(1)
	c.send("APPEND", "s", "c")
	e.waitHeld(2)
	a.send("CLIENT", "UNPAUSE") // has to wait as well
	e.waitHeld(3)
	e.Advance(99 * time.Millisecond)
	e.waitHeld(3)
	if n := e.core.dbs[0].Len(); n != 1 {
		t.Errorf("%d keys are there, want the one that should have expired", n)
	}
	e.Advance(time.Millisecond)
	b.want(":1")
	c.want(":2")
	a.want("+OK")
	a.do("$bc", "GET", "s")
	a.do(":1", "DBSIZE")
}

func TestPauseOfWrites(t *testing.T) {
	e := newManualEngine(t)
	srv := serveTest(t, e)
	a, b := srv.dial(), srv.dial()
	a.do("+OK", "SET", "k", "v", "PX", "50")
	a.do("+OK", "CLIENT", "PAUSE", "1000", "WRITE")
	e.Advance(60 * time.Millisecond)
	a.do("_", "GET", "k") // gone to the eye, but not removed
	a.do(":1", "DBSIZE")
	a.do(":7", "EVAL_RO", "return 7", "0")
	a.do(":8", "EVAL", "#!lua flags=no-writes\nreturn 8", "0")
	for _, request := range [][]string{{"EVAL", "return 9", "0"}, {"PUBLISH", "c", "m"}, {"SET", "x", "1"}} {
		b.send(request...)
		e.waitHeld(1)
		a.do("+OK", "CLIENT", "UNPAUSE")
		if _, err := b.c.Receive(); err != nil {
			t.Fatal(err)
		}
		a.do("+OK", "CLIENT", "PAUSE", "1000", "WRITE")
	}
	a.do("+OK", "CLIENT", "UNPAUSE")
	a.do(":1", "DBSIZE") // x: what the pause kept has expired
}

func TestPausesKeepTheStricter(t *testing.T) {
	e := newManualEngine(t)
	srv := serveTest(t, e)
	a, b := srv.dial(), srv.dial()
	a.do("+OK", "CLIENT", "PAUSE", "100", "WRITE")
	a.do("+OK", "CLIENT", "PAUSE", "10", "ALL") // all commands from here on, for as long as before
	b.send("PING")
	e.waitHeld(1)
	e.Advance(99 * time.Millisecond)
	e.waitHeld(1)
	e.Advance(time.Millisecond)
	b.want("+PONG")
}

func TestAWaitingClientIsPausedToo(t *testing.T) {
	e := newManualEngine(t)
	srv := serveTest(t, e)
	a, b := srv.dial(), srv.dial()
	b.send("BLPOP", "list", "0")
	e.waitBlocked(1)
	a.do("+OK", "MULTI")
	a.do("+QUEUED", "CLIENT", "PAUSE", "100", "WRITE")
	a.do("+QUEUED", "LPUSH", "list", "x")
	a.do("*\n  +OK\n  :1", "EXEC")
	a.do(":1", "LLEN", "list")
	e.Advance(100 * time.Millisecond)
	b.want("*\n  $list\n  $x")
}

func TestAPausedClientThatGoesIsForgotten(t *testing.T) {
	e := newManualEngine(t)
	srv := serveTest(t, e)
	a, b := srv.dial(), srv.dial()
	id := b.get("CLIENT", "ID")
	a.do("+OK", "CLIENT", "PAUSE", "100", "WRITE")
	b.send("SET", "k", "v")
	e.waitHeld(1)
	a.do(":1", "CLIENT", "KILL", "ID", strings.TrimPrefix(strings.TrimSpace(shown(id)), ":"))
	b.wantClosed()
	e.Advance(time.Second)
	a.do(":0", "DBSIZE")
}
