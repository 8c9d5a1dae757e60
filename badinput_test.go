package echomqsim_test

import (
	"bufio"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/resp"
)

// rawTCP connects without a client in between.
func rawTCP(t *testing.T, srv *echomqsim.Server) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", srv.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(20 * time.Second)) // a missing reply fails the test instead of hanging it
	return nc
}

// TestBadFrames sends what no client should, and expects what valkey-server
// answered to it: the whole output up to the end of the connection, where it ends.
func TestBadFrames(t *testing.T) {
	for _, tc := range []struct {
		name, in, out string
		closes        bool
	}{
		{"empty array", "*0\r\nPING\r\n", "+PONG\r\n", false},
		{"null array", "*-1\r\nPING\r\n", "+PONG\r\n", false},
		{"blank line", "\r\n\r\n*1\r\n$4\r\nPING\r\n", "+PONG\r\n", false},
		{"huge bulk", "*1\r\n$9223372036854775807\r\n", "-ERR Protocol error: invalid bulk length\r\n", true},
		{"negative bulk", "*1\r\n$-9999\r\n", "-ERR Protocol error: invalid bulk length\r\n", true},
		{"too many arguments", "*2147483648\r\n", "-ERR Protocol error: invalid multibulk length\r\n", true},
		{"no dollar", "*1\r\n+PING\r\n", "-ERR Protocol error: expected '$', got '+'\r\n", true},
		{"good before bad", "PING\r\n*1\r\n$x\r\n", "+PONG\r\n-ERR Protocol error: invalid bulk length\r\n", true},
		{"quotes", "SET k \"v\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n", true},
		{"unknown command", "NOSUCH a b\r\nPING\r\n", "-ERR unknown command 'NOSUCH', with args beginning with: 'a' 'b' \r\n+PONG\r\n", false},
		{"arity", "GET\r\nPING\r\n", "-ERR wrong number of arguments for 'get' command\r\n+PONG\r\n", false},
		{"wrong type", "ZADD z 1 m\r\nGET z\r\n", ":1\r\n-WRONGTYPE Operation against a key holding the wrong kind of value\r\n", false},
		{"not an integer", "SET k x\r\nINCR k\r\n", "+OK\r\n-ERR value is not an integer or out of range\r\n", false},
		{"script syntax", "EVAL \"return (\" 0\r\nPING\r\n",
			"-ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'\r\n+PONG\r\n", false},
		{"quit drops the rest", "QUIT\r\nSET k v\r\n", "+OK\r\n", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			srv := echomqsim.RunT(t, echomqsim.Config{})
			nc := rawTCP(t, srv)
			if _, err := io.WriteString(nc, tc.in); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(tc.out))
			if _, err := io.ReadFull(nc, got); err != nil || string(got) != tc.out {
				t.Fatalf("got %q, %v; want %q", got, err, tc.out)
			}
			if !tc.closes {
				if _, err := io.WriteString(nc, "ECHO still-here\r\n"); err != nil {
					t.Fatal(err)
				}
				if line, err := bufio.NewReader(nc).ReadString('\n'); err != nil || line != "$10\r\n" {
					t.Errorf("after it: %q, %v", line, err)
				}
				return
			}
			if rest, _ := io.ReadAll(nc); len(rest) > 0 {
				t.Errorf("more came: %q", rest)
			}
		})
	}
}

// TestABulkThatNeverComes claims 512 MB and sends nothing of it.
func TestABulkThatNeverComes(t *testing.T) {
	srv := echomqsim.RunT(t, echomqsim.Config{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 50 {
		io.WriteString(rawTCP(t, srv), "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$536870912\r\nsome")
	}
	want(t, srv.Do("PING"), "+PONG")
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("50 empty claims took %d bytes", grown)
	}
}

// TestHostileScripts are values that can't be replies, and scripts that never end by themselves.
func TestHostileScripts(t *testing.T) {
	srv := echomqsim.RunT(t, echomqsim.Config{})
	for _, script := range []string{
		"return function() end", "return coroutine.create(function() end)", "return {function() end}",
		"local t = {} t[1] = t return t", "local t = {} t.map = t return t",
		"local t = {} for i = 1, 100000 do t = {t} end return t",
		"return string.rep('x', 2^40)", "return string.rep('x', 1e10)", "local function f() return f() + 1 end return f()",
		"local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end return f(1e6)",
		"return redis.call('GET', coroutine.yield())", "coroutine.wrap(function() redis.call('GET', coroutine.yield()) end)()",
		"error({a = 1})", "error()", "return redis.call()", "return redis.call({})", "return unpack({}, 1, 1e8)",
		"return table.concat({}, 'x', 1, 1e9)", "return string.format('%999999d', 1)", "return ('a'):rep(1e5):find(('a?'):rep(1e4))",
	} {
		v := srv.Do("EVAL", script, "0")
		if v.IsErr() && strings.ContainsAny(v.Str, "\r\n") {
			t.Errorf("%s: an error of several lines: %q", script, v.Str)
		}
		want(t, srv.Do("PING"), "+PONG")
	}
	want(t, srv.Do("EVAL", "return {1, function() end, 2}", "0"), "*\n  :1\n  _\n  :2")
}

// TestALongPipeline writes 100,000 commands before it reads a reply.
func TestALongPipeline(t *testing.T) {
	srv := echomqsim.RunT(t, echomqsim.Config{})
	for name, dial := range map[string]func() (net.Conn, error){
		"memory": srv.Dial,
		"tcp":    func() (net.Conn, error) { return net.Dial("tcp", srv.Addr()) },
	} {
		nc, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		c := resp.NewClient(nc)
		value := strings.Repeat("v", 200)
		c.Send("SET", "k", value)
		for range 100_000 {
			c.Send("GET", "k")
		}
		c.Flush()
		c.Receive()
		for i := range 100_000 {
			if v, err := c.Receive(); err != nil || v.Str != value {
				t.Fatalf("%s: reply %d: %v %v", name, i, v, err)
			}
		}
		c.Close()
	}
}

// TestHangUps has 1,000 clients that leave in the middle of a request.
func TestHangUps(t *testing.T) {
	srv := echomqsim.RunT(t, echomqsim.Config{})
	request := "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n"
	for i := range 1000 {
		nc := rawTCP(t, srv)
		io.WriteString(nc, request+request[:i%len(request)])
		if i%2 == 0 {
			nc.(*net.TCPConn).SetLinger(0) // a reset instead of an orderly end
		}
		nc.Close()
	}
	want(t, srv.Do("SET", "key", "value"), "+OK")
	for { // they are gone as soon as the server has read that they are
		if n := strings.Count(srv.Do("CLIENT", "LIST").Str, "\n"); n <= 1 {
			return
		}
		runtime.Gosched()
	}
}

// TestTooManyClients is refused politely.
func TestTooManyClients(t *testing.T) {
	srv := echomqsim.RunT(t, echomqsim.Config{})
	srv.Do("CONFIG", "SET", "maxclients", "3")
	var last net.Conn
	for range 5 {
		last = rawTCP(t, srv)
	}
	line, _ := bufio.NewReader(last).ReadString('\n')
	if line != "-ERR max number of clients reached\r\n" {
		t.Errorf("got %q", line)
	}
}
