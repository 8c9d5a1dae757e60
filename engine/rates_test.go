package engine

import (
	"strconv"
	"testing"
	"time"
)

// infoCount is the number that INFO tells.
func infoCount(t *testing.T, e *Engine, name string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(infoField(e.Do("INFO", "everything"), name), 10, 64)
	if err != nil {
		t.Fatal(name, err)
	}
	return n
}

func TestRates(t *testing.T) {
	e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
	const rate = "instantaneous_ops_per_sec"
	e.Do("PING")
	if n := infoCount(t, e, rate); n != 0 {
		t.Error("no time has passed: ", n)
	}
	e.Do("CONFIG", "RESETSTAT")
	for range 16 { // 20 commands in each tenth of a second
		for range 20 {
			e.Do("PING")
		}
		e.Advance(100 * time.Millisecond)
	}
	if n := infoCount(t, e, rate); n < 195 || n > 205 {
		t.Error(n, " commands a second")
	}
	e.Advance(800 * time.Millisecond) // of the last 16 samples 8 are idle
	if n := infoCount(t, e, rate); n < 95 || n > 105 {
		t.Error(n, " commands a second after half the time was idle")
	}
	e.Advance(time.Hour)
	if n := infoCount(t, e, rate); n != 0 {
		t.Error(n, " commands a second after an idle hour")
	}
	for range 40 {
		e.Do("PING")
	}
	e.Advance(100 * time.Millisecond)
	e.Do("CONFIG", "RESETSTAT")
	if n := infoCount(t, e, rate); n != 0 {
		t.Error(n, " commands a second after CONFIG RESETSTAT")
	}
}

func TestLazyFreedObjects(t *testing.T) {
	for _, c := range []struct {
		name string
		do   [][]string
		want int64
	}{
		{"UNLINK of a large set", [][]string{{"UNLINK", "large"}}, 1},
		{"UNLINK of a small one", [][]string{{"UNLINK", "small"}}, 0},
		{"DEL", [][]string{{"DEL", "large"}}, 1},
		{"DEL, not lazy", [][]string{{"CONFIG", "SET", "lazyfree-lazy-user-del", "no"}, {"DEL", "large"}}, 0},
		{"overwritten", [][]string{{"SET", "large", "v"}}, 1},
		{"expired", [][]string{{"PEXPIREAT", "large", "1000000000001"}}, 1},
		{"FLUSHALL", [][]string{{"FLUSHALL"}}, 2},
		{"FLUSHALL SYNC", [][]string{{"FLUSHALL", "SYNC"}}, 0},
	} {
		e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
		e.Do("SADD", "small", "a")
		for i := range 600 {
			e.Do("SADD", "large", "member", strconv.Itoa(i))
		}
		for _, args := range c.do {
			if v := e.Do(args...); v.IsErr() {
				t.Error(args, v)
			}
		}
		e.Advance(time.Second)
		if n := infoCount(t, e, "lazyfreed_objects"); n != c.want {
			t.Errorf("%s: %d, want %d", c.name, n, c.want)
		}
	}
}

// A lower maxmemory makes keys go without any further command.
func TestMaxMemoryActsAtOnce(t *testing.T) {
	e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
	e.Do("SET", "k", "v")
	e.Do("CONFIG", "SET", "maxmemory-policy", "allkeys-lru", "maxmemory", "1")
	e.Advance(time.Microsecond)
	if n := e.core.dbs[0].Len(); n != 0 {
		t.Error(n, " keys are left")
	}
}
