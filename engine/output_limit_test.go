package engine

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// logLines keeps what an engine logs.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *logLines) add(_ LogLevel, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, text)
}

// with is the number of lines that contain text.
func (l *logLines) with(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// newLoggedEngine makes an engine with a manual clock whose log is kept.
func newLoggedEngine(t *testing.T) (*Engine, *logLines) {
	t.Helper()
	log := &logLines{}
	e, err := New(Config{Clock: Manual(time.Unix(1_700_000_000, 0)), EnableDebug: "yes", Log: log.add})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e, log
}

// client is the line of CLIENT LIST of the client with a name, nil if there is none.
func (e *Engine) client(t testing.TB, name string) map[string]string {
	t.Helper()
	if list := e.Do("CLIENT", "LIST"); strings.Contains(list.Str, " name="+name+" ") {
		return clientLine(t, list, name)
	}
	return nil
}

// number is a field of such a line.
func number(t testing.TB, line map[string]string, field string) int {
	t.Helper()
	n, err := strconv.Atoi(line[field])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// named connects a client that has a name.
func (s *testServer) named(name string) *testClient {
	s.t.Helper()
	c := s.dial()
	c.do("+OK", "CLIENT", "SETNAME", name)
	return c
}

// subscriber connects a client that will not read what comes after its subscription to ch.
func (s *testServer) subscriber(name string) *testClient {
	s.t.Helper()
	c := s.named(name)
	c.do("*\n  $subscribe\n  $ch\n  :1", "SUBSCRIBE", "ch")
	return c
}

// Over the hard limit a client goes at once, and what waited for it is dropped.
func TestSubscriberThatDoesNotReadIsClosed(t *testing.T) {
	for _, tc := range []struct {
		limit         string
		size, atLeast int // bytes
	}{
		{"pubsub 100000 0 0", 10_000, 100_000 - replyBlock},
		{"", 1 << 20, 30 << 20}, // 32 MB without being told
	} {
		e, log := newLoggedEngine(t)
		c := serveTest(t, e).subscriber("slow")
		if tc.limit != "" {
			e.Do("CONFIG", "SET", "client-output-buffer-limit", tc.limit)
		}
		message, most := strings.Repeat("x", tc.size), 0
		for line := e.client(t, "slow"); line != nil; line = e.client(t, "slow") {
			most = max(most, number(t, line, "omem"))
			if number(t, line, "oll")*replyBlock != number(t, line, "omem") || number(t, line, "obl") > replyBlock {
				t.Fatalf("sizes that do not go together: %v", line)
			}
			e.Do("PUBLISH", "ch", message)
		}
		if most < tc.atLeast || most > 2*tc.atLeast+replyBlock {
			t.Errorf("%q: closed after %d bytes", tc.limit, most)
		}
		if got := infoField(e.Do("INFO", "stats"), "client_output_buffer_limit_disconnections"); got != "1" {
			t.Errorf("%s disconnections", got)
		}
		if log.with("name=*redacted*") != 1 || log.with("scheduled to be closed ASAP for overcoming of output buffer limits.") != 1 {
			t.Errorf("logged %q", log.lines)
		}
		if left, _ := io.Copy(io.Discard, c.nc); left > 2<<20 {
			t.Errorf("%d bytes still came", left)
		}
		if v := e.Do("PUBLISH", "ch", message); v.Int != 0 {
			t.Error("still subscribed")
		}
	}
}

// fill publishes until more than limit bytes wait for a client, beyond what a connection in
// memory takes.
func (e *Engine) fill(t *testing.T, name string, limit int) {
	t.Helper()
	const inMemory, size = 1 << 20, 10_000
	for range (inMemory+limit)/size + 5 {
		e.Do("PUBLISH", "ch", strings.Repeat("x", size))
	}
	if n := number(t, e.client(t, name), "omem"); n < limit {
		t.Fatalf("only %d bytes wait", n)
	}
}

func TestSoftOutputLimit(t *testing.T) {
	e, _ := newLoggedEngine(t)
	s := serveTest(t, e)
	c := s.subscriber("slow")
	e.Do("CONFIG", "SET", "client-output-buffer-limit", "pubsub 0 100000 3")
	e.fill(t, "slow", 100_000)
	e.Advance(3 * time.Second)
	if e.client(t, "slow") == nil {
		t.Fatal("closed too early")
	}
	for number(t, e.client(t, "slow"), "omem") > 0 { // it catches up: the time begins anew
		if _, err := c.c.Receive(); err != nil {
			t.Fatal(err)
		}
	}
	e.fill(t, "slow", 100_000)
	e.Advance(3 * time.Second)
	if e.client(t, "slow") == nil {
		t.Fatal("closed though it had caught up")
	}
	e.Advance(time.Second)
	if e.client(t, "slow") != nil {
		t.Fatal("not closed though nothing else happens")
	}
}

func TestSoftOutputLimitWhenItChanges(t *testing.T) {
	e, _ := newLoggedEngine(t)
	serveTest(t, e).subscriber("slow")
	e.Do("CONFIG", "SET", "client-output-buffer-limit", "pubsub 0 100000 3")
	e.fill(t, "slow", 100_000)
	e.Do("CONFIG", "SET", "client-output-buffer-limit", "pubsub 0 100000 60")
	e.Advance(60 * time.Second)
	if e.client(t, "slow") == nil {
		t.Fatal("closed by the former limit")
	}
	e.Do("DEBUG", "PAUSE-CRON", "1")
	e.Advance(60 * time.Second)
	if e.client(t, "slow") == nil {
		t.Fatal("closed by time alone while nothing periodic runs")
	}
	e.Do("DEBUG", "PAUSE-CRON", "0")
	e.Advance(time.Second)
	if e.client(t, "slow") != nil {
		t.Fatal("not closed")
	}
	serveTest(t, e).subscriber("late")
	e.Do("CONFIG", "SET", "client-output-buffer-limit", "pubsub 0 0 0")
	e.fill(t, "late", 300_000)
	e.Do("CONFIG", "SET", "client-output-buffer-limit", "pubsub 200000 0 0")
	if e.client(t, "late") != nil {
		t.Fatal("a new limit does not hold for clients that are over it")
	}
}

// A reply that is too large brings no part of itself, nor of those ahead of it in the
// same turn; a transaction is run to its end all the same.
func TestReplyOverTheOutputLimit(t *testing.T) {
	e, _ := newLoggedEngine(t)
	s := serveTest(t, e)
	for range 150 {
		e.Do("RPUSH", "l", strings.Repeat("x", 1000))
	}
	e.Do("CONFIG", "SET", "client-output-buffer-limit", "normal 100000 0 0")
	for _, requests := range [][]string{
		{"LRANGE l 0 -1"},
		{"MULTI", "SET k 1", "LRANGE l 0 -1", "SET k 2", "EXEC", "SET k 3"},
		{"SRANDMEMBER s -999999999"},
	} {
		e.Do("SADD", "s", "a")
		c := s.dial()
		fmt.Fprint(c.nc, strings.Join(requests, "\r\n")+"\r\n")
		if out, err := io.ReadAll(c.nc); err != nil || len(out) > 0 {
			t.Errorf("%q: %d bytes, %v", requests, len(out), err)
		}
	}
	if v := e.Do("GET", "k"); v.Str != "2" {
		t.Errorf("the transaction left %q", v.Str)
	}
	if v := e.Do("SRANDMEMBER", "s", "-999999999"); v.Str != errRandTooBig.Str {
		t.Error(shown(v))
	}
	s.dial().do(":1", "STRLEN", "k")
}

// A reply can name a long string many times. It is not encoded to find out that it is too
// large: the process would end.
func TestReplyThatNeverFits(t *testing.T) {
	e, log := newLoggedEngine(t)
	s := serveTest(t, e)
	e.Do("SETRANGE", "k", "100000000", "x") // 100 MB
	keys := strings.Fields(strings.Repeat("k ", 1000))
	for i, cmd := range [][]string{
		append([]string{"MGET"}, keys...),
		{"EVAL", "local v, t = redis.call('GET', KEYS[1]), {} for i = 1, 1000 do t[i] = {v} end return t", "1", "k"},
	} {
		c := s.dial()
		c.send(cmd...)
		if _, err := c.nc.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("%s: %v", cmd[0], err)
		}
		if n := log.with("overcoming of output buffer limits"); n != i+1 {
			t.Errorf("%s: %d lines in the log", cmd[0], n)
		}
	}
	c := s.dial()
	c.send("STRLEN", "k")
	c.want(":100000001")
}
