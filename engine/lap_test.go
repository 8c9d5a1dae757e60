package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// readClock is a real clock on which each reading takes a microsecond.
type readClock struct {
	Clock
	n int64
}

func (r *readClock) micros() int64 { r.n++; return r.n }

func (r *readClock) read() clockReading {
	at := r.micros()
	return clockReading{1e15 + at, at}
}

// TestLap counts the readings of the clock: where a script does next to nothing between two
// commands, the end of one is the begin of the other, and where it has run before and is found
// at once, its begin is that of its first command; else the clock is read anew, so that the
// script's own time is charged to none.
func TestLap(t *testing.T) {
	const calls = "redis.call('SET', KEYS[1], 'x') redis.call('GET', KEYS[1]) %s redis.call('DEL', KEYS[1]) %s"
	for _, tt := range []struct {
		between     string
		first, then int64 // readings
	}{
		{"", 1 + 4, 1 + 3},
		{"local a = ARGV[1] == 'a'", 1 + 4, 1 + 3},
		{"for i = 1, 50 do end", 1 + 6, 1 + 5},
		{"string.rep('x', 10000)", 1 + 6, 1 + 5},
		{"--" + strings.Repeat("a source that takes a while to look up", 10) + "\n", 1 + 4, 1 + 4},
	} {
		clock := &readClock{Clock: Manual(time.Unix(1e9, 0))}
		e := newTestEngine(t, clock)
		script := fmt.Sprintf(calls, tt.between, tt.between)
		for _, want := range []int64{tt.first, tt.then} {
			e.Do("CONFIG", "RESETSTAT")
			before := clock.n
			e.Do("EVAL", script, "1", "k", "a")
			if n := clock.n - before; n != want {
				t.Errorf("with %q the clock is read %d times, want %d", tt.between, n, want)
			}
		}
		stats := e.Do("INFO", "commandstats").Str
		for _, name := range []string{"set", "get", "del"} {
			if want := "cmdstat_" + name + ":calls=1,usec=1,"; !strings.Contains(stats, want) {
				t.Errorf("with %q the statistics lack %s:\n%s", tt.between, want, stats)
			}
		}
	}
}

// TestLapOfTransaction: its commands follow each other without a break.
func TestLapOfTransaction(t *testing.T) {
	clock := &readClock{Clock: Manual(time.Unix(1e9, 0))}
	s := serveTest(t, newTestEngine(t, clock)).dial()
	readings := func(calls int) int64 {
		s.do("+OK", "MULTI")
		for range calls {
			s.do("+QUEUED", "EVAL", "redis.call('PING') redis.call('PING')", "0")
		}
		before := clock.n
		s.get("EXEC")
		return clock.n - before
	}
	// Of each EVAL the begin of its first PING, and three ends.
	if few, many := readings(1), readings(4); many-few != 3*4 {
		t.Errorf("with one EVAL the clock is read %d times, with four %d times", few, many)
	}
}
