package engine

import (
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/echomq/echomq-sim/resp"
)

// TestDebugSleepHoldsEverybody: no reply comes before the sleep is over, on the
// machine's clock (a bubble's, here) and on a manual one.
func TestDebugSleepHoldsEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(t, Real())
		s := serveTest(t, e)
		sleeper, other := s.dial(), s.dial()
		other.do("+PONG", "PING")
		start := time.Now()
		sleeper.send("DEBUG", "SLEEP", "2.5")
		synctest.Wait()
		other.do("+PONG", "PING")
		if d := time.Since(start); d != 2500*time.Millisecond {
			t.Errorf("another client was answered after %v", d)
		}
		sleeper.want("+OK")
		if v := e.Do("PING"); v.Str != "PONG" || time.Since(start) != 2500*time.Millisecond {
			t.Errorf("Do after the sleep: %s after %v", resp.Format(v), time.Since(start))
		}
	})
}

func TestDebugSleepOnManualClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
		s := serveTest(t, e)
		sleeper, other := s.dial(), s.dial()
		io.WriteString(sleeper.nc, "PING\r\nDEBUG SLEEP 10\r\nPING behind\r\n")
		sleeper.want("+PONG")
		synctest.Wait()
		other.send("SET", "k", "v", "PX", "1000")
		synctest.Wait()
		done := make(chan resp.Value, 1)
		go func() { done <- e.Do("PTTL", "k") }()
		e.Advance(9999 * time.Millisecond)
		synctest.Wait()
		for name, c := range map[string]*testClient{"sleeper": sleeper, "other": other} {
			if c.arrived() {
				t.Errorf("%s was answered during the sleep", name)
			}
		}
		if len(done) != 0 {
			t.Error("Do returned during the sleep")
		}
		e.Advance(time.Millisecond)
		sleeper.want("+OK")
		sleeper.want("$behind")
		other.want("+OK")
		if v := <-done; v.Int != 1000 && v.Int != -2 { // it may come before the SET
			t.Errorf("PTTL: %s", resp.Format(v))
		}
	})
}

// arrived reports whether the peer has written something that was not read yet.
func (c *testClient) arrived() bool {
	c.nc.SetReadDeadline(time.Now().Add(-time.Second))
	defer c.nc.SetReadDeadline(time.Time{})
	n, _ := c.nc.Read(make([]byte, 1))
	return n > 0
}

// TestDebugSleepInExec: sleeps within one turn add up.
func TestDebugSleepInExec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serveTest(t, newTestEngine(t, Real())).dial()
		c.do("+OK", "MULTI")
		c.do("+QUEUED", "DEBUG", "SLEEP", "1")
		c.do("+QUEUED", "DEBUG", "SLEEP", "2")
		c.do("+QUEUED", "PING")
		start := time.Now()
		c.do("*\n  +OK\n  +OK\n  +PONG", "EXEC")
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("EXEC took %v", d)
		}
	})
}

// TestDebugSleepEnds: clients that hang up, and the engine's end, end no wait
// for others too early and leave none behind.
func TestDebugSleepEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTestEngine(t, Real())
		s := serveTest(t, e)
		sleeper, other := s.dial(), s.dial()
		start := time.Now()
		sleeper.send("DEBUG", "SLEEP", "5")
		synctest.Wait()
		sleeper.nc.Close()
		other.do("+PONG", "PING")
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("the sleep of a client that left took %v", d)
		}
		other.send("DEBUG", "SLEEP", "1000000")
		synctest.Wait()
		done := make(chan resp.Value, 1)
		go func() { done <- e.Do("PING") }()
		synctest.Wait()
		e.Close()
		if v := <-done; !v.IsErr() {
			t.Errorf("a client that waits for a sleep got %s when the engine was closed", resp.Format(v))
		}
	})
}

func TestSetActiveExpire(t *testing.T) {
	e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
	e.Do("DEBUG", "SET-ACTIVE-EXPIRE", "0")
	e.Do("SET", "k", "v", "PX", "10")
	e.Advance(time.Second)
	if v := e.Do("DBSIZE"); v.Int != 1 {
		t.Errorf("DBSIZE is %d: the key was expired though active expiry is off", v.Int)
	}
	e.Do("DEBUG", "SET-ACTIVE-EXPIRE", "1")
	e.Advance(time.Millisecond)
	if v := e.Do("DBSIZE"); v.Int != 0 {
		t.Errorf("DBSIZE is %d after active expiry came back", v.Int)
	}
}

// TestDebugGate: who may use DEBUG is what enable-debug-command says.
func TestDebugGate(t *testing.T) {
	for value, allowed := range map[string]bool{"": false, "no": false, "local": true, "yes": true} {
		e, err := New(Config{EnableDebug: value})
		if err != nil {
			t.Fatal(err)
		}
		v := e.Do("DEBUG", "SLEEP", "0")
		if refused := strings.HasPrefix(v.Str, "ERR DEBUG command not allowed."); refused == allowed {
			t.Errorf("enable-debug-command %q: %s", value, resp.Format(v))
		}
		e.Close()
	}
}

func TestDebugObject(t *testing.T) {
	e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
	e.Do("SET", "k", "v")
	e.Advance(7 * time.Second)
	line := regexp.MustCompile(`^Value at:0x0 refcount:1 encoding:embstr( serializedlength:\d+)? lru:10144256 lru_seconds_idle:7 ` +
		`lfu_freq:\d+ lfu_access_time_minutes:39626$`)
	for _, args := range [][]string{{"DEBUG", "OBJECT", "k"}, {"DEBUG", "OBJECT", "k", "fast"}, {"debug", "object", "k", "slow"}} {
		v := e.Do(args...)
		m := line.FindStringSubmatch(v.Str)
		if m == nil || (m[1] == "") != (len(args) == 4 && args[3] == "fast") {
			t.Errorf("%v: %s", args, v.Str)
		}
	}
}

// TestDebugProtocolOutOfBand: the two types that come with more than a reply.
func TestDebugProtocolOutOfBand(t *testing.T) {
	c := serveTest(t, newTestEngine(t, nil)).dial()
	c.do("$Some real reply following the attribute", "DEBUG", "PROTOCOL", "attrib")
	c.do("-ERR RESP2 is not supported by this command", "DEBUG", "PROTOCOL", "push")
	c.get("HELLO", "3")
	c.do("$Some real reply following the push reply", "DEBUG", "PROTOCOL", "push")
	c.want(">\n  $server-cpu-usage\n  :42")
	c.send("DEBUG", "PROTOCOL", "attrib")
	const want = "|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n$39\r\nSome real reply following the attribute\r\n"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c.nc, got); err != nil || string(got) != want {
		t.Errorf("attrib: %q %v", got, err)
	}
}

func TestDebugLog(t *testing.T) {
	var got []string
	e, err := New(Config{EnableDebug: "yes", Log: func(level LogLevel, msg string) {
		if level == LogWarning {
			got = append(got, msg)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	e.Do("DEBUG", "LOG", "hello")
	if len(got) != 1 || got[0] != "DEBUG LOG: hello" {
		t.Errorf("the log got %q", got)
	}
}

// As on a server loglevel decides which lines of scripts reach the log.
func TestLogLevel(t *testing.T) {
	var got []string
	e, err := New(Config{Log: func(level LogLevel, msg string) { got = append(got, level.String()+" "+msg) }})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, c := range []struct{ level, want string }{
		{"notice", "notice 2,warning 3"}, {"debug", "debug 0,verbose 1,notice 2,warning 3"}, {"warning", "warning 3"}, {"nothing", ""},
	} {
		got = nil
		e.Do("CONFIG", "SET", "loglevel", c.level)
		e.Do("EVAL", "for level = 0, 3 do redis.log(level, level) end", "0")
		if lines := strings.Join(got, ","); lines != c.want {
			t.Errorf("%s: %s, want %s", c.level, lines, c.want)
		}
	}
}

// What DEBUG OBJECT tells, as valkey-server 8.0.1 does.
func TestDebugObjectFacts(t *testing.T) {
	e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
	for _, c := range []struct{ command, want string }{
		{"SET k " + strings.Repeat("a", 50), "encoding:raw serializedlength:12"},
		{"SET k 12345", "encoding:int serializedlength:3"},
		{"RPUSH k 1 2 3", "encoding:listpack serializedlength:16"},
		{"SADD k 1 2 3", "encoding:intset serializedlength:15"},
		{"SADD k a b 3", "encoding:listpack serializedlength:16"},
		{"HSET k a 1 b 2", "encoding:listpack serializedlength:18"},
		{"ZADD k 1 a 2 b 1.5 c", "encoding:listpack serializedlength:26"},
		{"XADD k 1-1 a b", "encoding:stream serializedlength:57"},
		{"CONFIG SET rdbcompression no", ""},
		{"SET k " + strings.Repeat("a", 50), "encoding:raw serializedlength:51"},
		{"CONFIG SET rdbcompression yes list-max-listpack-size -1 list-compress-depth 12", ""},
		{"RPUSH k" + strings.Repeat(" 1", 6000), "serializedlength:190 "},
		{"RPUSH k" + strings.Repeat(" 1", 6000), "ql_nodes:3 ql_avg_node:2000.00 ql_listpack_max:-1 ql_compressed:1 ql_uncompressed_size:12021"},
	} {
		e.Do("DEL", "k")
		words := strings.Fields(c.command)
		if v := e.Do(words...); v.IsErr() {
			t.Fatal(v)
		}
		if v := e.Do("DEBUG", "OBJECT", "k"); c.want != "" && !strings.Contains(v.Str, c.want) {
			t.Errorf("%.40s: %s, want %s", c.command, v.Str, c.want)
		}
	}
	e.Do("COPY", "k", "copy")
	e.Do("CONFIG", "SET", "list-compress-depth", "0")
	if v := e.Do("DEBUG", "OBJECT", "copy"); !strings.Contains(v.Str, "ql_compressed:1") {
		t.Errorf("a copy is %s", v.Str)
	}
}
