package echomqsim_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/resp"
)

// debugs begins a session on a connection of its own and hears where it stops first.
func debugs(t *testing.T, dial func() (net.Conn, error), mode string, eval ...string) *debugUser {
	t.Helper()
	nc, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	u := &debugUser{t, nc, resp.NewReader(bufio.NewReader(nc)), &strings.Builder{}}
	for _, args := range [][]string{{"SCRIPT", "DEBUG", mode}, append([]string{"EVAL"}, eval...)} {
		u.send(appendRequest(nil, args))
		u.hear()
	}
	if !strings.Contains(u.out.String(), "* Stopped at 1") {
		t.Fatalf("it did not stop:\n%s", u.out)
	}
	u.out.Reset()
	return u
}

// says sends a command of the debugger and returns the answer.
func (u *debugUser) says(words ...string) string {
	u.out.Reset()
	u.send(appendRequest(nil, words))
	u.hear()
	return u.out.String()
}

// debugTransports are the ways to a server; a session over each has another loop.
func debugTransports(srv *echomqsim.Server) map[string]func() (net.Conn, error) {
	return map[string]func() (net.Conn, error){
		"memory": srv.Dial,
		"tcp":    func() (net.Conn, error) { return net.Dial("tcp", srv.Addr()) },
	}
}

// TestDebugForked: a session that is not SYNC has a server of its own. The real one goes on,
// knows nothing of its client and keeps nothing of what it did.
func TestDebugForked(t *testing.T) {
	srv := echomqsim.RunT(t, echomqsim.Config{})
	for name, dial := range debugTransports(srv) {
		t.Run(name, func(t *testing.T) {
			srv.Do("SET", "k", "before")
			u := debugs(t, dial, "YES", "local a = redis.call('GET', 'k')\nredis.call('SET', 'k', 'script')\nreturn redis.call('GET', 'k')", "0")
			srv.Do("SET", "k", "other")
			if list := srv.Do("CLIENT", "LIST").Str; strings.Contains(list, "cmd=eval") {
				t.Errorf("the debugger's client is listed: %s", list)
			}
			if got := u.says("s"); !strings.Contains(got, `"before"`) {
				t.Errorf("the script does not see the state at its start:\n%s", got)
			}
			if got := u.says("r", "GET", "k"); !strings.Contains(got, `"before"`) {
				t.Errorf("the script sees what others do:\n%s", got)
			}
			u.says("c")
			if u.hear(); !strings.Contains(u.out.String(), "< $script") {
				t.Errorf("reply:\n%s", u.out)
			}
			if got := srv.Do("GET", "k").Str; got != "other" {
				t.Errorf("k is %q afterwards", got)
			}
		})
	}
}

// TestDebugSync: a SYNC session has the server to itself. What others send, also over new
// connections, is done after it.
func TestDebugSync(t *testing.T) {
	srv := echomqsim.RunT(t, echomqsim.Config{})
	for name, dial := range debugTransports(srv) {
		t.Run(name, func(t *testing.T) {
			srv.Do("SET", "k", "before")
			first := debugs(t, dial, "YES", "return 1", "0") // it is none of the others
			other, err := dial()
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			u := debugs(t, dial, "SYNC", "local a = 1\nredis.call('SET', 'k', 'script')\nreturn a", "0")
			late, err := dial()
			if err != nil {
				t.Fatal(err)
			}
			defer late.Close()
			for _, nc := range []net.Conn{other, late} {
				if _, err := nc.Write(appendRequest(nil, []string{"GET", "k"})); err != nil {
					t.Fatal(err)
				}
			}
			first.says("p") // by now they are waiting
			u.says("s")
			u.says("s")
			u.says("s")
			for _, nc := range []net.Conn{other, late} {
				if v, err := resp.NewReader(bufio.NewReader(nc)).Read(); err != nil || v.Str != "script" {
					t.Errorf("k is %q, %v: read before the session was over", v.Str, err)
				}
			}
		})
	}
}

// TestDebugHangUp: if the user goes the script runs to its end without him.
func TestDebugHangUp(t *testing.T) {
	srv := echomqsim.RunT(t, echomqsim.Config{})
	for name, dial := range debugTransports(srv) {
		for i, mode := range []string{"YES", "SYNC"} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				srv.Do("DEL", "k")
				u := debugs(t, dial, mode, "for i = 1, 10 do\n  redis.call('INCR', 'k')\nend\nreturn redis.breakpoint()", "0")
				u.says("s")
				u.nc.Close()
				ask := client(t, 2, dial) // served before the hang-up was noticed, if it is no SYNC session
				v, err := ask("GET", "k")
				if want := []string{"", "10"}[i]; err != nil || v.Str != want {
					t.Errorf("k is %q, %v, want %q", v.Str, err, want)
				}
			})
		}
	}
}

// TestDebugEndless: a script that does not end is stopped after busy-reply-threshold, and
// fails then if the user is gone.
func TestDebugEndless(t *testing.T) {
	for _, mode := range []string{"YES", "SYNC"} {
		t.Run(mode, func(t *testing.T) {
			srv := echomqsim.RunT(t, echomqsim.Config{})
			srv.Do("CONFIG", "SET", "busy-reply-threshold", "1")
			u := debugs(t, srv.Dial, mode, "local a = 1\nwhile true do\nend", "0")
			if got := u.says("c"); !strings.Contains(got, "timeout reached, infinite loop?") {
				t.Fatalf("it did not stop:\n%s", got)
			}
			if got := u.says("a"); !strings.Contains(got, "<endsession>") {
				t.Fatalf("it did not end:\n%s", got)
			}
			if u.hear(); !strings.Contains(u.out.String(), "ERR script aborted for user request") {
				t.Errorf("reply:\n%s", u.out)
			}
			u = debugs(t, srv.Dial, mode, "local a = 1\nwhile true do\nend", "0")
			u.send(appendRequest(nil, []string{"c"}))
			u.nc.Close()
			if v, err := client(t, 2, srv.Dial)("PING"); err != nil || v.Str != "PONG" {
				t.Errorf("%v, %v: the server is not there any more", v, err)
			}
		})
	}
}

// TestDebugEvaluatesForever: no line of what the user has the debugger run can stop, but it
// ends after twice busy-reply-threshold. The script may go on then.
func TestDebugEvaluatesForever(t *testing.T) {
	for _, mode := range []string{"YES", "SYNC"} {
		for _, code := range []string{"while true do end", "string.find(string.rep('a', 60), string.rep('a*', 60) .. 'b')"} {
			t.Run(mode, func(t *testing.T) {
				srv := echomqsim.RunT(t, echomqsim.Config{})
				srv.Do("CONFIG", "SET", "busy-reply-threshold", "1")
				u := debugs(t, srv.Dial, mode, "local a = 1\nreturn a", "0")
				if got := u.says("e", code); !strings.Contains(got, "<error> ERR it ran for too long") {
					t.Errorf("answer:\n%s", got)
				}
				for got := ""; !strings.Contains(got, "<endsession>"); {
					got = u.says("c")
				}
				if u.hear(); !strings.HasSuffix(u.out.String(), "< :1\n") {
					t.Errorf("reply:\n%s", u.out)
				}
			})
		}
	}
}

// TestDebugClose: Close ends all sessions, whatever they do.
func TestDebugClose(t *testing.T) {
	for _, mode := range []string{"YES", "SYNC"} {
		for _, busy := range []bool{false, true} {
			t.Run(fmt.Sprint(mode, busy), func(t *testing.T) {
				srv := echomqsim.RunT(t, echomqsim.Config{})
				u := debugs(t, srv.Dial, mode, "local a = 1\nwhile true do\n  a = 2\nend", "0")
				if busy {
					u.send(appendRequest(nil, []string{"c"}))
				}
				if err := srv.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestDebugMany: sessions at the same time do not disturb one another or the server.
func TestDebugMany(t *testing.T) {
	srv := echomqsim.RunT(t, echomqsim.Config{})
	srv.Do("SET", "k", "0")
	var wg sync.WaitGroup
	for i := range 20 {
		dial := srv.Dial
		if i%2 == 0 {
			dial = func() (net.Conn, error) { return net.Dial("tcp", srv.Addr()) }
		}
		u := debugs(t, dial, "YES", "for i = 1, 5 do\n  redis.call('INCR', 'k')\nend\nreturn redis.call('GET', 'k')", "0")
		wg.Go(func() {
			for range 12 {
				u.says("s")
			}
			if u.hear(); !strings.Contains(u.out.String(), "< $5\n") {
				t.Errorf("session %d:\n%s", i, u.out)
			}
		})
		srv.Do("CONFIG", "SET", "hash-max-listpack-entries", fmt.Sprint(i))
		srv.Do("HSET", "h", fmt.Sprint(i), "v")
	}
	wg.Wait()
	if got := srv.Do("GET", "k").Str; got != "0" {
		t.Errorf("k is %q", got)
	}
}

// TestDebugRefused: what is no session.
func TestDebugRefused(t *testing.T) {
	srv := echomqsim.RunT(t, echomqsim.Config{})
	if v := srv.Do("SCRIPT", "DEBUG", "YES"); !strings.HasPrefix(v.Str, "ERR SCRIPT DEBUG needs a connection") {
		t.Errorf("in process: %v", v)
	}
	ask := client(t, 2, srv.Dial)
	sha, _ := ask("SCRIPT", "LOAD", "return 1")
	for _, c := range []struct{ command, want string }{
		{"SCRIPT DEBUG MAYBE", "-ERR Use SCRIPT DEBUG YES/SYNC/NO"},
		{"SCRIPT DEBUG SYNC", "+OK"},
		{"EVALSHA " + sha.Str + " 0", "-ERR Please use EVAL instead of EVALSHA for debugging"},
		{"EVALSHA x 0", "-NOSCRIPT No matching script."},
		{"MULTI", "+OK"}, {"EVAL return 0", "+QUEUED"},
		{"EXEC", "*\n  -ERR a script in a transaction can't be debugged"},
		{"MULTI", "+OK"}, {"SCRIPT DEBUG NO", "+QUEUED"},
		{"EXEC", "*\n  -ERR SCRIPT DEBUG must be called outside a pipeline"},
		{"SCRIPT DEBUG NO", "+OK"},
		{"EVAL return 0", "$"},
	} {
		v, err := ask(strings.Fields(strings.Replace(c.command, "EVAL return 0", "EVAL return'' 0", 1))...)
		if got := resp.Format(v); err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", c.command, got, err, c.want)
		}
	}
	nc, err := srv.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.Write(append(appendRequest(nil, []string{"PING"}), appendRequest(nil, []string{"SCRIPT", "DEBUG", "YES"})...))
	in := resp.NewReader(bufio.NewReader(nc))
	in.Read()
	if v, _ := in.Read(); v.Str != "ERR SCRIPT DEBUG must be called outside a pipeline" {
		t.Errorf("in a pipeline: %v", v)
	}
}
