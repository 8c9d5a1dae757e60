package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// filled is an engine with keys k0 to k99 of 1,000 bytes, used one after another in that
// order, the even ones with a deadline.
func filled(t *testing.T, policy string) *Engine {
	t.Helper()
	e, err := New(Config{Clock: Manual(time.Unix(1e9, 0)), Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	e.Do("CONFIG", "SET", "maxmemory-policy", policy)
	for i := range 100 {
		e.Advance(time.Second)
		e.Do("SET", fmt.Sprint("k", i), strings.Repeat("x", 1000))
		if i%2 == 0 {
			e.Do("EXPIRE", fmt.Sprint("k", i), fmt.Sprint(100_000-i))
		}
	}
	return e
}

func hasKey(e *Engine, i int) bool { return e.Do("EXISTS", fmt.Sprint("k", i)).Int == 1 }

// shrink leaves no room for one of n parts of what is in use.
func shrink(t *testing.T, e *Engine, n int64) {
	t.Helper()
	room := e.core.memoryUsed() - (e.core.memoryUsed()-emptyMemory)/n
	if v := e.Do("CONFIG", "SET", "maxmemory", fmt.Sprint(room)); v.IsErr() {
		t.Fatal(v.Str)
	}
	if v := e.Do("PING"); v.Str != "PONG" {
		t.Fatal(v)
	}
}

func TestEvictionPolicies(t *testing.T) {
	for _, c := range []struct {
		policy string
		left   int // at most, of all
		check  func(e *Engine) string
	}{
		{"allkeys-lru", 50, func(e *Engine) string { return older(e, 1) }},
		{"volatile-lru", 75, func(e *Engine) string { return older(e, 2) }},
		{"volatile-ttl", 75, func(e *Engine) string { return "" }},
		{"allkeys-random", 50, func(e *Engine) string { return "" }},
		{"volatile-random", 75, func(e *Engine) string { return "" }},
		{"allkeys-lfu", 50, func(e *Engine) string { return "" }},
		{"volatile-lfu", 75, func(e *Engine) string { return "" }},
	} {
		t.Run(c.policy, func(t *testing.T) {
			e := filled(t, c.policy)
			shrink(t, e, int64(100/(100-c.left)))
			left := int(e.Do("DBSIZE").Int)
			if left > c.left || left < c.left-5 {
				t.Errorf("%d keys are left", left)
			}
			if strings.HasPrefix(c.policy, "volatile") {
				for i := 1; i < 100; i += 2 {
					if !hasKey(e, i) {
						t.Fatalf("k%d has no deadline and is gone", i)
					}
				}
			}
			if got := infoField(e.Do("INFO", "stats"), "evicted_keys"); got != fmt.Sprint(100-left) {
				t.Errorf("evicted_keys %s with %d left", got, left)
			}
			if why := c.check(e); why != "" {
				t.Error(why)
			}
		})
	}
}

// older tells if the older half of every step'th key did not go sooner than the younger.
func older(e *Engine, step int) string {
	old, young := 0, 0
	for i := 0; i < 100; i += step {
		switch {
		case !hasKey(e, i):
		case i < 50:
			old++
		default:
			young++
		}
	}
	if old >= young {
		return fmt.Sprintf("%d old and %d young keys are left", old, young)
	}
	return ""
}

func TestNoEviction(t *testing.T) {
	e := filled(t, "noeviction")
	shrink(t, e, 2)
	if v := e.Do("SET", "more", "x"); v.Str != errOOM.Str {
		t.Error(v)
	}
	if n := e.Do("DBSIZE").Int; n != 100 {
		t.Error(n, "keys")
	}
	e.Do("CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
	for i := 0; i < 100; i += 2 {
		e.Do("PERSIST", fmt.Sprint("k", i)) // as long as some are left
	}
	if v := e.Do("SET", "more", "x"); v.Str != errOOM.Str && e.Do("DBSIZE").Int > 51 {
		t.Error(v)
	}
}

// The same commands evict the same keys.
func TestEvictionRepeats(t *testing.T) {
	keys := func() string {
		e := filled(t, "allkeys-random")
		shrink(t, e, 2)
		return fmt.Sprint(e.Do("KEYS", "*"))
	}
	if a, b := keys(), keys(); a != b {
		t.Errorf("%s and %s", a, b)
	}
}

func TestUseCounters(t *testing.T) {
	e := filled(t, "allkeys-lfu")
	for range 1000 {
		e.Do("GET", "k1")
	}
	hot, cold := e.Do("OBJECT", "FREQ", "k1").Int, e.Do("OBJECT", "FREQ", "k3").Int
	if hot < 10 || hot > 60 || cold > firstFreq+1 {
		t.Errorf("counters %d and %d", hot, cold)
	}
	e.Advance(5 * time.Minute)
	if now := e.Do("OBJECT", "FREQ", "k1").Int; now != hot-5 {
		t.Errorf("%d after five minutes, %d before", now, hot)
	}
	if v := e.Do("OBJECT", "IDLETIME", "k1"); !v.IsErr() {
		t.Error(v)
	}
	shrink(t, e, 2)
	if !hasKey(e, 1) {
		t.Error("the key that is used most is gone")
	}
}
