package echomqsim_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/resp"
	"github.com/redis/go-redis/v9"
)

func want(t *testing.T, v resp.Value, text string) {
	t.Helper()
	if got := render(v, ""); got != text {
		t.Errorf("got %s, want %s", got, text)
	}
}

// goRedis is a go-redis client over the in-memory connection.
func goRedis(t testing.TB, srv *echomqsim.Server, opts redis.Options) *redis.Client {
	opts.Addr, opts.Dialer = "127.0.0.1:6379", srv.DialContext // an IP literal: no name is looked up
	c := redis.NewClient(&opts)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestExpiryOnAManualClock(t *testing.T) {
	srv := echomqsim.RunT(t, echomqsim.Config{Clock: echomqsim.Manual(time.Time{})})
	srv.Do("SET", "a", "1", "PX", "1500")
	srv.Do("SET", "b", "1", "EX", "10")
	want(t, srv.Do("PTTL", "a"), ":1500")
	srv.Advance(1499 * time.Millisecond)
	want(t, srv.Do("PTTL", "a"), ":1")
	srv.Advance(time.Millisecond)
	want(t, srv.Do("DBSIZE"), ":1") // gone without being asked for
	want(t, srv.Do("GET", "a"), "_")
	srv.Advance(time.Hour)
	want(t, srv.Do("DBSIZE"), ":0")
	want(t, srv.Do("TIME"), "*\n  $1704070801\n  $500000")
}

func TestSnapshotAndRestore(t *testing.T) {
	srv := echomqsim.RunT(t, echomqsim.Config{})
	srv.Do("HSET", "h", "f", "1")
	srv.Do("ZADD", "z", "1", "m")
	before := srv.Snapshot()
	for i := range 2 {
		srv.Do("HSET", "h", "f", fmt.Sprint("changed", i))
		srv.Do("DEL", "z")
		srv.Do("SET", "s", "new")
		srv.Restore(before)
		want(t, srv.Do("HGET", "h", "f"), "$1")
		want(t, srv.Do("ZSCORE", "z", "m"), ",1")
		want(t, srv.Do("EXISTS", "s"), ":0")
	}
	other := echomqsim.RunT(t, echomqsim.Config{})
	other.Restore(before)
	other.Do("HSET", "h", "f", "other")
	want(t, other.Do("HGET", "h", "f"), "$other")
	want(t, srv.Do("HGET", "h", "f"), "$1")
}

func TestRestoreSpoilsATransaction(t *testing.T) {
	srv := echomqsim.RunT(t, echomqsim.Config{})
	empty := srv.Snapshot()
	c := srv.NewClient()
	c.Do("SET", "k", "1")
	c.Do("WATCH", "k")
	srv.Restore(empty)
	c.Do("MULTI")
	c.Do("SET", "k", "2")
	want(t, c.Do("EXEC"), "_")
}

func TestInsideABubble(t *testing.T) {
	for range 2 { // a second bubble finds what a first one left behind in a package
		synctest.Test(t, func(t *testing.T) {
			srv := echomqsim.RunT(t, echomqsim.Config{})
			c := goRedis(t, srv, redis.Options{PoolSize: 4})
			ctx := t.Context()
			if err := c.Set(ctx, "k", "v", 100*time.Second).Err(); err != nil {
				t.Fatal(err)
			}
			begin := srv.Now()
			for range 99 {
				<-time.After(time.Second)
			}
			if n := c.Exists(ctx, "k").Val(); n != 1 {
				t.Error("expired too early")
			}
			<-time.After(time.Second)
			if n := c.DBSize(ctx).Val(); n != 0 {
				t.Error("not expired after 100 virtual seconds")
			}
			if d := srv.Now().Sub(begin); d != 100*time.Second {
				t.Errorf("the server's time moved by %v", d)
			}
			pipe := c.Pipeline()
			for i := range 5000 {
				pipe.HSet(ctx, "h", fmt.Sprint(i), strings.Repeat("x", 100))
			}
			if _, err := pipe.Exec(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBlockingInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := echomqsim.RunT(t, echomqsim.Config{})
		c, begin := goRedis(t, srv, redis.Options{ReadTimeout: -1}), srv.Now()
		if err := c.BLPop(t.Context(), time.Hour, "l").Err(); err != redis.Nil {
			t.Error(err)
		}
		if d := srv.Now().Sub(begin); d != time.Hour {
			t.Errorf("BLPOP came back after %v", d)
		}
	})
}

func TestBlockingOnAManualClock(t *testing.T) {
	srv := echomqsim.RunT(t, echomqsim.Config{Clock: echomqsim.Manual(time.Unix(1_700_000_000, 0))})
	nc, err := srv.Dial()
	if err != nil {
		t.Fatal(err)
	}
	c := resp.NewClient(nc)
	c.Send("BLPOP", "l", "3600")
	c.Flush()
	for !strings.Contains(srv.Do("INFO", "clients").Str, "blocked_clients:1") {
		runtime.Gosched()
	}
	srv.Advance(time.Hour)
	v, err := c.Receive()
	if err != nil {
		t.Fatal(err)
	}
	want(t, v, "_*")
}

func TestDebugSleepInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := echomqsim.RunT(t, echomqsim.Config{EnableDebug: "yes"})
		sleeper, other := srv.NewClient(), srv.NewClient()
		begin := srv.Now()
		var wg sync.WaitGroup
		wg.Go(func() { want(t, sleeper.Do("DEBUG", "SLEEP", "5"), "+OK") })
		synctest.Wait()
		want(t, other.Do("PING"), "+PONG") // waits as on a server that sleeps
		if d := srv.Now().Sub(begin); d != 5*time.Second {
			t.Errorf("PING came back after %v", d)
		}
		wg.Wait()
	})
}

func TestManyServersLeaveNothingBehind(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		srv, err := echomqsim.New(echomqsim.Config{Socket: filepath.Join(t.TempDir(), "s")})
		if err != nil {
			t.Fatal(err)
		}
		if err := srv.Start(); err != nil {
			t.Fatal(err)
		}
		var conns []net.Conn
		for _, dial := range []func() (net.Conn, error){
			srv.Dial,
			func() (net.Conn, error) { return net.Dial("tcp", srv.Addr()) },
		} {
			nc, err := dial()
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, nc)
			if v, err := resp.NewClient(nc).Do("EVAL", "return redis.call('ping')", "0"); err != nil || v.Str != "PONG" {
				t.Fatalf("%v %v", v, err)
			}
		}
		srv.Do("SET", "k", "v", "PX", "1000000")
		if err := srv.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := srv.Dial(); err == nil {
			t.Error("Dial works on a closed server")
		}
		if v := srv.Do("PING"); !v.IsErr() {
			t.Error("Do works on a closed server")
		}
		for _, c := range conns {
			c.Close()
		}
	}
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) { // the runtime retires a goroutine a moment after its function returned
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
	}
	buf := make([]byte, 1<<20)
	t.Errorf("%d goroutines before, %d after\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
}

func TestServersLiveSideBySide(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 8 {
		srv := echomqsim.RunT(t, echomqsim.Config{})
		wg.Go(func() {
			c := goRedis(t, srv, redis.Options{Protocol: 2 + i%2})
			for n := range 200 {
				if err := c.ZAdd(context.Background(), "z", redis.Z{Score: float64(n), Member: fmt.Sprint(i, n)}).Err(); err != nil {
					t.Error(err)
				}
			}
			if n := c.ZCard(context.Background(), "z").Val(); n != 200 {
				t.Errorf("server %d has %d members", i, n)
			}
		})
	}
	wg.Wait()
}

func TestConfigRefusesNonsense(t *testing.T) {
	for _, cfg := range []echomqsim.Config{
		{Databases: -1}, {EnableDebug: "perhaps"}, {SocketPerm: 0o700}, {Databases: 1 << 30},
	} {
		if _, err := echomqsim.New(cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}

// TestShutdownByClient: SHUTDOWN ends the server and all its connections.
func TestShutdownByClient(t *testing.T) {
	s, err := echomqsim.New(echomqsim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := s.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	waiting := resp.NewClient(nc)
	if v, err := waiting.Do("PING"); err != nil || v.Str != "PONG" {
		t.Fatal(v, err)
	}
	if v := s.Do("SHUTDOWN"); v.Str != "OK" {
		t.Errorf("%s", resp.Format(v))
	}
	<-s.Done()
	if _, err := waiting.Receive(); err == nil {
		t.Error("a connection is left")
	}
	if _, err := s.Dial(); err != echomqsim.ErrClosed {
		t.Errorf("a new connection: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestSnapshotLimits: what a server has from another one's snapshot obeys its own
// configuration, not what the other one's is or will be.
func TestSnapshotLimits(t *testing.T) {
	a, b := echomqsim.RunT(t, echomqsim.Config{}), echomqsim.RunT(t, echomqsim.Config{})
	for _, fill := range [][]string{{"HSET", "h", "1", "v"}, {"RPUSH", "l", "1"}, {"SADD", "s", "a"}, {"ZADD", "z", "1", "a"}, {"XADD", "x", "1-1", "f", "v"}} {
		a.Do(fill...)
	}
	b.Restore(a.Snapshot())
	for _, name := range []string{"hash-max-listpack-entries", "list-max-listpack-size", "set-max-listpack-entries", "zset-max-listpack-entries", "stream-node-max-entries"} {
		if v := a.Do("CONFIG", "SET", name, "1"); v.Kind == resp.KindErr {
			t.Fatal(v)
		}
	}
	for _, add := range [][]string{{"HSET", "h", "2", "v"}, {"RPUSH", "l", "2"}, {"SADD", "s", "b"}, {"ZADD", "z", "2", "b"}, {"XADD", "x", "2-1", "f", "v"}} {
		b.Do(add...)
	}
	for key, want := range map[string]string{"h": "listpack", "l": "listpack", "s": "listpack", "z": "listpack"} {
		if got := b.Do("OBJECT", "ENCODING", key).Str; got != want {
			t.Errorf("%s is a %s", key, got)
		}
	}
	if info := resp.Format(b.Do("XINFO", "STREAM", "x")); !strings.Contains(info, "$radix-tree-keys  :1") {
		t.Errorf("the stream has several nodes:\n%s", info)
	}
}
