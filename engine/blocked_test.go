package engine

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/echomq/echomq-sim/resp"
)

// newManualEngine makes an engine with a manual clock.
func newManualEngine(t *testing.T) *Engine {
	t.Helper()
	e, err := New(Config{Clock: Manual(time.Unix(1_700_000_000, 0)), EnableDebug: "yes"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Check(); err != nil {
			t.Error(err)
		}
		e.Close()
	})
	return e
}

// waitBlocked waits until n clients are blocked.
func (e *Engine) waitBlocked(n int) {
	for {
		e.mu.Lock()
		blocked := 0
		for _, s := range e.core.sessions {
			if s.isBlocked() {
				blocked++
			}
		}
		e.mu.Unlock()
		if blocked == n {
			return
		}
		runtime.Gosched()
	}
}

// blockedCall starts a command that blocks and returns its reply's channel.
func blockedCall(e *Engine, blocked int, args ...string) (*Client, chan resp.Value) {
	c, ch := e.NewClient(), make(chan resp.Value, 1)
	go func() { ch <- c.Do(args...) }()
	e.waitBlocked(blocked)
	return c, ch
}

func shown(v resp.Value) string { return resp.Format(v) }

func TestWaitersAreServedInTheirOrder(t *testing.T) {
	for range 50 {
		e := newManualEngine(t)
		var waiting []chan resp.Value
		for i := range 5 {
			_, ch := blockedCall(e, i+1, "BZPOPMIN", "z", "0")
			waiting = append(waiting, ch)
		}
		for i, ch := range waiting {
			e.Do("ZADD", "z", "1", fmt.Sprint("m", i))
			if v := <-ch; v.Elems[1].Str != fmt.Sprint("m", i) {
				t.Fatalf("waiter %d got %s", i, shown(v))
			}
		}
	}
}

func TestOneCommandServesManyWaiters(t *testing.T) {
	e := newManualEngine(t)
	_, a := blockedCall(e, 1, "BZPOPMIN", "z", "0")
	_, b := blockedCall(e, 2, "BZMPOP", "0", "1", "z", "MAX", "COUNT", "2")
	_, c := blockedCall(e, 3, "BZPOPMAX", "z", "0")
	e.Do("ZADD", "z", "1", "one", "2", "two", "3", "three", "4", "four")
	if v := <-a; v.Elems[1].Str != "one" {
		t.Error(shown(v))
	}
	if v := <-b; shown(v) != shown(resp.Array(resp.Bulk("z"), resp.Array(
		resp.Array(resp.Bulk("four"), resp.Double(4)), resp.Array(resp.Bulk("three"), resp.Double(3))))) {
		t.Error(shown(v))
	}
	if v := <-c; v.Elems[1].Str != "two" {
		t.Error(shown(v))
	}
	if v := e.Do("EXISTS", "z"); v.Int != 0 {
		t.Error("the key should be gone")
	}
}

func TestServedAfterTheWholeTransactionInReadyOrder(t *testing.T) {
	e := newManualEngine(t)
	_, ch := blockedCall(e, 1, "BZPOPMIN", "k1", "k2", "0")
	c := e.NewClient()
	c.Do("MULTI")
	c.Do("ZADD", "k2", "1", "second")
	c.Do("ZADD", "k1", "1", "first")
	c.Do("ZADD", "k1", "0", "zeroth")
	c.Do("EXEC")
	// k2 became ready first, but the handler looks at its keys from the left.
	if v := <-ch; v.Elems[0].Str != "k1" || v.Elems[1].Str != "zeroth" {
		t.Error(shown(v))
	}
}

func TestAKeyOfAnotherTypeKeepsThemWaiting(t *testing.T) {
	e := newManualEngine(t)
	_, ch := blockedCall(e, 1, "BZPOPMIN", "z", "0")
	e.Do("SET", "z", "string")
	e.waitBlocked(1)
	e.Do("DEL", "z")
	e.Do("ZADD", "other", "1", "m")
	e.Do("RENAME", "other", "z")
	if v := <-ch; v.Elems[1].Str != "m" {
		t.Error(shown(v))
	}
}

func TestTimeoutsFollowTheManualClock(t *testing.T) {
	e := newManualEngine(t)
	_, hour := blockedCall(e, 1, "BZPOPMIN", "z", "3600")
	_, second := blockedCall(e, 2, "BZPOPMIN", "z", "0.9995")
	e.Advance(999 * time.Millisecond)
	e.waitBlocked(2)
	e.Advance(time.Millisecond)
	if v := <-second; !v.IsNull() {
		t.Error(shown(v))
	}
	e.Advance(time.Hour)
	if v := <-hour; !v.IsNull() {
		t.Error(shown(v))
	}
}

func TestAClientThatHangsUpTakesNothing(t *testing.T) {
	e := newManualEngine(t)
	c, ch := blockedCall(e, 1, "BZPOPMIN", "z", "0")
	c.Close()
	if v := <-ch; !v.IsErr() {
		t.Error(shown(v))
	}
	e.Do("ZADD", "z", "1", "m")
	if v := e.Do("ZCARD", "z"); v.Int != 1 {
		t.Error("the element went to a client that is gone")
	}
}

func TestClientUnblock(t *testing.T) {
	e := newManualEngine(t)
	for _, tc := range []struct{ reason, want string }{
		{"TIMEOUT", "_"}, {"ERROR", `-UNBLOCKED client unblocked via CLIENT UNBLOCK`},
	} {
		c, ch := blockedCall(e, 1, "BZPOPMIN", "z", "0")
		id := fmt.Sprint(c.s.id)
		if v := e.Do("CLIENT", "UNBLOCK", id, tc.reason); v.Int != 1 {
			t.Error(shown(v))
		}
		if v := <-ch; shown(v) != tc.want+"\n" && shown(v) != tc.want {
			t.Errorf("%s: %s", tc.reason, shown(v))
		}
		if v := e.Do("CLIENT", "UNBLOCK", id); v.Int != 0 {
			t.Error("unblocked twice")
		}
	}
}

func TestNothingBlocksInsideATransactionOrScript(t *testing.T) {
	e := newManualEngine(t)
	c := e.NewClient()
	c.Do("MULTI")
	c.Do("BZPOPMIN", "z", "0")
	if v := c.Do("EXEC"); len(v.Elems) != 1 || !v.Elems[0].IsNull() {
		t.Error(shown(v))
	}
}

func TestManyWaitersComeAndGo(t *testing.T) {
	e := newManualEngine(t)
	var wg sync.WaitGroup
	for range 200 {
		c := e.NewClient()
		wg.Go(func() { c.Do("BZPOPMIN", "a", "b", "a", "10") })
	}
	e.waitBlocked(200)
	for i := range 100 {
		e.Do("ZADD", []string{"a", "b"}[i%2], "1", "m")
	}
	e.waitBlocked(100)
	e.Advance(10 * time.Second)
	wg.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.core.waiters.byKey) != 0 || e.core.deadlines.Len() != 0 {
		t.Errorf("%d keys and %d deadlines are left", len(e.core.waiters.byKey), e.core.deadlines.Len())
	}
}

func TestWaitEndsByTheClockOrByUnblock(t *testing.T) {
	e := newManualEngine(t)
	_, timed := blockedCall(e, 1, "WAIT", "1", "500")
	_, aof := blockedCall(e, 2, "WAITAOF", "0", "2", "700")
	forEver, unblocked := blockedCall(e, 3, "WAIT", "3", "0")
	failing, failed := blockedCall(e, 4, "WAIT", "1", "0")
	e.Advance(499 * time.Millisecond)
	select {
	case v := <-timed:
		t.Fatalf("WAIT ended early with %s", shown(v))
	default:
	}
	e.Advance(time.Millisecond)
	wants := func(ch chan resp.Value, want string) {
		t.Helper()
		if v := <-ch; shown(v) != want {
			t.Errorf("got %s, want %s", shown(v), want)
		}
	}
	wants(timed, shown(resp.Zero))
	e.waitBlocked(3)
	e.Advance(time.Hour)
	wants(aof, shown(resp.Array(resp.Zero, resp.Zero)))
	e.waitBlocked(2)
	e.Do("CLIENT", "UNBLOCK", fmt.Sprint(forEver.s.id))
	wants(unblocked, shown(resp.Zero))
	e.Do("CLIENT", "UNBLOCK", fmt.Sprint(failing.s.id), "ERROR")
	wants(failed, "-UNBLOCKED client unblocked via CLIENT UNBLOCK")
	if n := e.Do("INFO", "commandstats").Str; !strings.Contains(n, "cmdstat_wait:calls=3,") {
		t.Errorf("the waits were not counted: %s", n)
	}
}
