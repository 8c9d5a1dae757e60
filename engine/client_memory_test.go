package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// occupied connects a client that keeps size bytes of an unfinished argument with the server.
func (s *testServer) occupied(e *Engine, name string, size int) *testClient {
	s.t.Helper()
	c := s.named(name)
	fmt.Fprintf(c.nc, "*2\r\n$%d\r\n%s", size, strings.Repeat("v", size))
	for number(s.t, e.client(s.t, name), "qbuf") != size {
	}
	return c
}

// present are those of the clients whose names are given that are still there.
func (e *Engine) present(t *testing.T, names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return e.client(t, name) == nil })
}

func TestTheLargestClientsAreEvictedFirst(t *testing.T) {
	e, log := newLoggedEngine(t)
	s := serveTest(t, e)
	sizes := []int{128 << 10, 3 << 20, 1 << 20}
	names := []string{"small", "large", "middle"}
	for i, name := range names {
		for j := range 2 {
			s.occupied(e, name+fmt.Sprint(j), sizes[i])
		}
	}
	for _, step := range []struct {
		limit int
		left  string
	}{
		{16 << 20, "[small0 small1 large0 large1 middle0 middle1]"}, {8 << 20, "[small0 small1 large1 middle0 middle1]"},
		{5 << 20, "[small0 small1 middle0 middle1]"}, {1 << 20, "[small0 small1]"}, {1, "[small1]"},
	} {
		e.Do("CONFIG", "SET", "maxmemory-clients", fmt.Sprint(step.limit))
		left := fmt.Sprint(e.present(t, "small0", "small1", "large0", "large1", "middle0", "middle1"))
		if left != step.left && !(step.limit == 1 && left == "[]") {
			t.Errorf("with %d bytes %s are left, want %s", step.limit, left, step.left)
		}
	}
	if n := log.with("Evicting client: id="); fmt.Sprint(n) != infoField(e.Do("INFO", "stats"), "evicted_clients") || n < 5 {
		t.Errorf("%d evictions were logged", n)
	}
}

// Whatever it is that a client makes the server keep, it counts.
func TestWhatClientsAreEvictedFor(t *testing.T) {
	value := strings.Repeat("v", 20_000)
	for what, request := range map[string]func(i int) []string{
		"a transaction": func(i int) []string {
			if i == 0 {
				return []string{"MULTI"}
			}
			return []string{"SET", "k", value}
		},
		"watched keys": func(i int) []string { return []string{"WATCH", fmt.Sprintf("%0300d", i)} },
		"channels":     func(i int) []string { return []string{"SUBSCRIBE", fmt.Sprintf("%0300d", i)} },
		"patterns":     func(i int) []string { return []string{"PSUBSCRIBE", fmt.Sprintf("%0300d", i)} },
		"shards":       func(i int) []string { return []string{"SSUBSCRIBE", fmt.Sprintf("%0300d", i)} },
		"prefixes": func(i int) []string {
			return []string{"CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", fmt.Sprintf("%0300d", i)}
		},
		"a large value": func(int) []string { return []string{"SET", "k", strings.Repeat("v", 400_000)} },
	} {
		t.Run(what, func(t *testing.T) {
			e, _ := newLoggedEngine(t)
			c := serveTest(t, e).dial()
			e.Do("CONFIG", "SET", "maxmemory-clients", "200000")
			for i := range 1000 {
				if c.c.Send(request(i)...) != nil || c.c.Flush() != nil {
					break
				}
				if _, err := c.c.Receive(); err != nil {
					break
				}
			}
			if got := infoField(e.Do("INFO", "stats"), "evicted_clients"); got != "1" {
				t.Errorf("%s clients were evicted", got)
			}
			if total := e.core.clientMemory.total; total != 0 {
				t.Errorf("%d bytes are still counted", total)
			}
		})
	}
}

// What is no longer kept counts no longer.
func TestClientMemoryGoesDownAgain(t *testing.T) {
	e, _ := newLoggedEngine(t)
	c := serveTest(t, e).named("c")
	before := number(t, e.client(t, "c"), "tot-mem")
	for i := range 10 {
		name := fmt.Sprintf("%01000d", i)
		for _, args := range [][]string{{"WATCH", name}, {"HELLO", "3"}, {"SUBSCRIBE", name}, {"SSUBSCRIBE", name},
			{"CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", name}} {
			c.get(args...)
		}
	}
	if n := number(t, e.client(t, "c"), "tot-mem"); n < before+40_000 {
		t.Errorf("only %d bytes", n)
	}
	c.get("RESET")
	c.do("+OK", "CLIENT", "SETNAME", "c")
	e.mu.Lock()
	for _, s := range e.core.sessions {
		if s.nameBytes != 0 {
			t.Errorf("%d bytes of names are still counted", s.nameBytes)
		}
	}
	e.mu.Unlock()
}

func TestUnreadOutputIsEvicted(t *testing.T) {
	e, _ := newLoggedEngine(t)
	s := serveTest(t, e)
	c := s.named("slow")
	e.Do("SETRANGE", "k", "200000", "v")
	e.Do("CONFIG", "SET", "maxmemory-clients", "3000000")
	for range 100 { // the client's own turns close it
		if c.c.Send("GET", "k") != nil || c.c.Flush() != nil {
			break
		}
	}
	for e.client(t, "slow") != nil {
	}
	s.subscriber("sub")
	e.Do("CONFIG", "SET", "client-output-buffer-limit", "pubsub 0 0 0")
	message := strings.Repeat("x", 200_000)
	for e.client(t, "sub") != nil { // and those of others that send it something
		e.Do("PUBLISH", "ch", message)
	}
	if got := infoField(e.Do("INFO", "stats"), "evicted_clients"); got != "2" {
		t.Errorf("%s clients were evicted", got)
	}
}

func TestNoEvict(t *testing.T) {
	e, log := newLoggedEngine(t)
	s := serveTest(t, e)
	c := s.dial()
	c.do("+OK", "CLIENT", "NO-EVICT", "ON")
	c.do("+OK", "CLIENT", "SETNAME", "c")
	fmt.Fprintf(c.nc, "PING\r\n*2\r\n$500000\r\n%s", strings.Repeat("v", 500_000))
	for number(t, e.client(t, "c"), "qbuf") != 500_000 {
	}
	e.Do("CONFIG", "SET", "maxmemory-clients", "200000")
	if e.client(t, "c") == nil || log.with("Over client maxmemory after evicting all evictable clients") == 0 {
		t.Fatal("a protected client was closed")
	}
	other := s.dial() // goes for the sake of the protected one
	other.c.Send("PING")
	other.c.Flush()
	other.wantClosed()
	c.want("+PONG")
	fmt.Fprint(c.nc, "\r\n$1\r\nx\r\n*3\r\n$6\r\nclient\r\n$8\r\nno-evict\r\n$3\r\noff\r\n*2\r\n$500000\r\n"+strings.Repeat("v", 500_000))
	c.c.Receive()
	c.c.Receive()
	c.wantClosed()
}

// maxmemory-clients may be a part of maxmemory, and nothing without that. Who sets it too
// low gets an answer.
func TestShareOfMaxmemory(t *testing.T) {
	e, _ := newLoggedEngine(t)
	s := serveTest(t, e)
	s.occupied(e, "c", 500_000)
	other := s.dial()
	other.do("+OK", "CONFIG", "SET", "maxmemory-clients", "7%")
	other.do("*\n  $maxmemory-clients\n  $7%", "CONFIG", "GET", "maxmemory-clients")
	if e.client(t, "c") == nil {
		t.Fatal("7% of no limit is no limit")
	}
	other.do("+OK", "CONFIG", "SET", "maxmemory", "6mb")
	for e.client(t, "c") != nil {
	}
	s.occupied(e, "c", 300_000)
	other.do("+OK", "CONFIG", "SET", "maxmemory-clients", "0")
	other.do("+OK", "CONFIG", "SET", "maxmemory", "0")
	if e.client(t, "c") == nil {
		t.Error("a limit that is gone still holds")
	}
}
