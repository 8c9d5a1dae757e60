package engine

import (
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/echomq/echomq-sim/luabridge"
	"github.com/echomq/echomq-sim/resp"
)

// inBackground starts a command on a client of its own and returns where its reply comes.
func (e *Engine) inBackground(args ...string) <-chan resp.Value {
	c, done := e.NewClient(), make(chan resp.Value, 1)
	go func() { done <- c.Do(args...) }()
	return done
}

// untilBusy waits until the script that runs is found to be busy.
func untilBusy(t *testing.T, e *Engine) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !strings.HasPrefix(e.Do("PING").Str, "BUSY "); {
		if time.Now().After(deadline) {
			t.Fatal("the script never became busy")
		}
	}
}

func newBusyEngine(t *testing.T) *Engine {
	t.Helper()
	e, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	e.Do("CONFIG", "SET", "busy-reply-threshold", "1")
	e.Do("FUNCTION", "LOAD", "#!lua name=lib\nlocal n = 0 redis.register_function('loop', function() n = n + 1 while true do end end) "+
		"redis.register_function('count', function() n = n + 1 return n end)")
	return e
}

func TestKillingScripts(t *testing.T) {
	e := newBusyEngine(t)
	for _, c := range []struct{ run, kill, wrong string }{
		{"EVAL|while true do end|0", "SCRIPT", "FUNCTION"},
		{"EVAL|while true do pcall(function() while true do end end) end|0", "SCRIPT", "FUNCTION"},
		{"EVAL|local co = coroutine.wrap(function() while true do coroutine.yield() end end) while true do co() end|0", "SCRIPT", "FUNCTION"},
		{"EVAL|return (string.rep('a', 300000)):find(string.rep('a?', 300) .. 'b')|0", "SCRIPT", "FUNCTION"},
		{"FCALL|loop|0", "FUNCTION", "SCRIPT"},
	} {
		done := e.inBackground(strings.Split(c.run, "|")...)
		untilBusy(t, e)
		want := "BUSY Valkey is busy running a script. You can only call " + c.kill + " KILL or SHUTDOWN NOSAVE."
		for _, cmd := range []string{"GET x", "EVAL 1 0", "FCALL loop 0", c.wrong + " KILL", "SCRIPT FLUSH", "FUNCTION LIST"} {
			if got := e.Do(strings.Fields(cmd)...); got.Str != want {
				t.Errorf("%s: %s: %q", c.run, cmd, got.Str)
			}
		}
		if got := e.Do(c.kill, "KILL"); got.Str != "OK" {
			t.Errorf("%s: %s KILL: %q", c.run, c.kill, got.Str)
		}
		if got := <-done; !strings.HasPrefix(got.Str, "ERR Script killed by user with SCRIPT KILL... script: ") {
			t.Errorf("%s: %q", c.run, got.Str)
		}
		if got := e.Do("PING"); got.Str != "PONG" {
			t.Errorf("%s: afterwards %q", c.run, got.Str)
		}
	}
	if got := e.Do("FCALL", "count", "0"); got.Int != 2 {
		t.Errorf("a killed function's library lost its variables: %v", got)
	}
	if got := e.Do("SCRIPT", "KILL"); got.Str != "NOTBUSY No scripts in execution right now." {
		t.Errorf("nothing to kill: %q", got.Str)
	}
}

func TestScriptThatWroteCannotBeKilled(t *testing.T) {
	e := newBusyEngine(t)
	done := e.inBackground("EVAL", "redis.call('SET', 'x', '1') local n = 0 repeat n = n + 1 until n == 2e6 return redis.call('GET', 'x')", "0")
	untilBusy(t, e)
	for _, kill := range []string{"SCRIPT", "FUNCTION"} {
		if got := e.Do(kill, "KILL"); !strings.HasPrefix(got.Str, "UNKILLABLE ") {
			t.Errorf("%s KILL: %q", kill, got.Str)
		}
	}
	if got := <-done; got.Str != "1" {
		t.Errorf("it ended with %q", got.Str)
	}
}

func TestCloseEndsEndlessScript(t *testing.T) {
	for _, threshold := range []string{"0", "1", "5000"} {
		e := newBusyEngine(t)
		e.Do("CONFIG", "SET", "busy-reply-threshold", threshold)
		e.Do("FLUSHALL")
		started := make(chan struct{})
		e.core.onKeyEvent = func(KeyEvent) { close(started) }
		done := e.inBackground("EVAL", "redis.call('SET', 'x', '1') while true do end", "0")
		<-started
		e.Close()
		<-done
	}
}

func TestManyClientsWaitForBusyScript(t *testing.T) {
	e := newBusyEngine(t)
	done := e.inBackground("EVAL", "while true do end", "0")
	untilBusy(t, e)
	var replies []<-chan resp.Value
	for range 50 {
		replies = append(replies, e.inBackground("GET", "x"))
	}
	for _, r := range replies {
		if got := <-r; got.Str != errBusy.Str {
			t.Fatalf("%q", got.Str)
		}
	}
	e.Do("SCRIPT", "KILL")
	<-done
}

// TestManyScripts runs 100,000 scripts once each: those that came by EVAL are
// forgotten, those that were loaded are not, and memory does not grow with them.
func TestManyScripts(t *testing.T) {
	e, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	const count = 100_000
	loaded := e.Do("SCRIPT", "LOAD", "return 'loaded'").Str
	run := func(from, to int) uint64 {
		for i := from; i < to; i++ {
			if v := e.Do("EVAL", "return "+strconv.Itoa(i), "0"); v.Int != int64(i) {
				t.Fatalf("script %d: %v", i, v)
			}
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := run(0, 2*maxEvalScripts)
	if after := run(2*maxEvalScripts, count); after > before+16<<20 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
	exists := e.Do("SCRIPT", "EXISTS", loaded, luabridge.SHA1Hex("return 0"), luabridge.SHA1Hex("return "+strconv.Itoa(count-maxEvalScripts-1)),
		luabridge.SHA1Hex("return "+strconv.Itoa(count-maxEvalScripts)), luabridge.SHA1Hex("return "+strconv.Itoa(count-1)))
	for i, want := range []int64{1, 0, 0, 1, 1} {
		if exists.Elems[i].Int != want {
			t.Errorf("SCRIPT EXISTS: %v", exists)
		}
	}
	if info := e.Do("INFO", "memory").Str + e.Do("INFO", "stats").Str; !strings.Contains(info, "evicted_scripts:"+strconv.Itoa(count-maxEvalScripts)+"\r\n") ||
		!strings.Contains(info, "number_of_cached_scripts:"+strconv.Itoa(maxEvalScripts+1)+"\r\n") {
		t.Errorf("INFO: %s", info)
	}
}
