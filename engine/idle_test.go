package engine

import (
	"testing"
	"time"
)

func TestIdleClientsAreClosed(t *testing.T) {
	e, log := newLoggedEngine(t)
	s := serveTest(t, e)
	idle, active := s.named("idle"), s.named("active")
	blocked, monitor, paused := s.named("blocked"), s.named("monitor"), s.named("paused")
	s.subscriber("subscriber")
	monitor.do("+OK", "MONITOR")
	blocked.send("BLPOP", "l", "0")
	e.waitBlocked(1)
	active.do("+OK", "CONFIG", "SET", "timeout", "3", "loglevel", "verbose")
	active.do("+OK", "CLIENT", "PAUSE", "100000", "WRITE")
	paused.send("SET", "k", "v")
	for !postponedIn(e) {
		active.do("+PONG", "PING")
	}
	e.Advance(3 * time.Second)
	if e.client(t, "idle") == nil {
		t.Fatal("closed too early")
	}
	active.do("+PONG", "PING")
	e.Advance(time.Second)
	idle.wantClosed()
	e.Advance(2 * time.Second)
	for _, name := range []string{"active", "blocked", "monitor", "paused", "subscriber"} {
		if e.client(t, name) == nil {
			t.Errorf("%s was closed", name)
		}
	}
	e.Advance(time.Second)
	active.wantClosed()
	if log.with("Closing idle client") != 2 {
		t.Errorf("logged %q", log.lines)
	}
}

func TestIdleTimeoutComesAndGoes(t *testing.T) {
	e, _ := newLoggedEngine(t)
	s := serveTest(t, e)
	e.Do("CONFIG", "SET", "timeout", "1") // nobody is there who could be idle
	e.Advance(365 * 24 * time.Hour)
	c := s.named("c")
	e.Advance(time.Second)
	e.Do("CONFIG", "SET", "timeout", "0")
	e.Advance(time.Hour)
	c.do("+PONG", "PING")
	e.Advance(time.Hour)
	e.Do("DEBUG", "PAUSE-CRON", "1")
	e.Do("CONFIG", "SET", "timeout", "10") // it holds from the start of its silence
	e.Advance(time.Minute)
	c.do("+PONG", "PING")
	e.Advance(time.Minute)
	e.Do("DEBUG", "PAUSE-CRON", "0")
	e.Advance(time.Second)
	c.wantClosed()
}

// Once it has its reply a client that was blocked may be idle.
func TestIdleAfterBlocking(t *testing.T) {
	e, _ := newLoggedEngine(t)
	s := serveTest(t, e)
	c := s.named("c")
	e.Do("CONFIG", "SET", "timeout", "10")
	c.send("BLPOP", "l", "0")
	e.waitBlocked(1)
	e.Advance(time.Hour)
	e.Do("RPUSH", "l", "x")
	c.want("*\n  $l\n  $x")
	e.Advance(10 * time.Second)
	c.do("+PONG", "PING")
	e.Advance(11 * time.Second)
	c.wantClosed()
}
