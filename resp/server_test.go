package resp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestServerCommands(t *testing.T) {
	overTransports(t, newEcho, func(t *testing.T, s *testServer) {
		c := s.client()
		mustDo(t, c, "+PONG", "PING")
		mustDo(t, c, "$hello", "ECHO", "hello")
		mustDo(t, c, `$"\r\n\x00"`, "ECHO", "\r\n\x00")
		mustDo(t, c, "-ERR unknown command", "NOPE")
		mustDo(t, c, "+OK", "AGAIN")
		mustDo(t, c, "$"+longText, "ECHO", longText)
		big := strings.Repeat("y", 3<<20)
		mustDo(t, c, "$"+big, "ECHO", big)
		mustDo(t, c, "+OK", "QUIT")
		if v, err := c.Do("PING"); err == nil {
			t.Errorf("after QUIT: %s", Format(v))
		}
	})
}

func TestServerEnds(t *testing.T) {
	overTransports(t, newEcho, func(t *testing.T, s *testServer) {
		for _, tt := range []struct{ in, want string }{
			{"PING\r\nQUIT\r\nPING\r\n", "+PONG\r\n+OK\r\n"},
			{"PING\r\nAGAIN\r\nQUIT\r\n", "+PONG\r\n+OK\r\n+OK\r\n"},
			{"PING\r\n*1\r\n!\r\n", "+PONG\r\n-ERR Protocol error: expected '$', got '!'\r\n"},
			{"*1\r\n$9223372036854775807\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
		} {
			if got := s.exchange(tt.in); got != tt.want {
				t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
			}
		}
	})
}

// A client may close its sending side at once; it gets its replies.
func TestServerHalfClose(t *testing.T) {
	overTransports(t, newEcho, func(t *testing.T, s *testServer) {
		for _, tt := range []struct {
			in   string
			size int
		}{
			{"PING\r\nPING\r\nECHO", 14}, {"BLOCK\r\nPING\r\n", 0}, {"BIG 20000000\r\nPING\r\n", 20000013 + 7},
		} {
			nc := s.connect()
			io.WriteString(nc, tt.in)
			nc.(interface{ CloseWrite() error }).CloseWrite()
			out, err := io.ReadAll(nc)
			if err != nil || len(out) != tt.size {
				t.Errorf("%q: %d bytes, %v, want %d", tt.in, len(out), err, tt.size)
			}
		}
	})
}

// All commands are written before the first reply is read, which takes more
// room than any socket has: the server must read on and keep the output.
func TestServerLongPipeline(t *testing.T) {
	const count = 100_000
	overTransports(t, newEcho, func(t *testing.T, s *testServer) {
		c := s.client()
		for i := range count {
			if err := c.Send("ECHO", fmt.Sprintf("%08d%s", i, longText[:1016])); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		for i := range count {
			v, err := c.Receive()
			if err != nil || len(v.Str) != 1024 || v.Str[:8] != fmt.Sprintf("%08d", i) {
				t.Fatalf("reply %d: %.20q, %v", i, v.Str, err)
			}
		}
	})
}

func TestServerHangUps(t *testing.T) {
	overTransports(t, newEcho, func(t *testing.T, s *testServer) {
		starts := []string{"", "PI", "*2\r\n$4\r\nECHO\r\n$100\r\nabc", "BLOCK\r\n", "BIG 1000000\r\n", "PING\r\n*"}
		var clients sync.WaitGroup
		for worker := range 20 {
			clients.Go(func() {
				for i := range 50 {
					nc, err := s.dial()
					if err != nil {
						t.Error(err)
						return
					}
					io.WriteString(nc, starts[(worker+i)%len(starts)])
					nc.Close()
				}
			})
		}
		clients.Wait()
		mustDo(t, s.client(), "+PONG", "PING")
	})
}

func TestServerKick(t *testing.T) {
	const rounds, clients = 200, 8
	overTransports(t, newEcho, func(t *testing.T, s *testServer) {
		var all sync.WaitGroup
		for range clients {
			c := s.client()
			mustDo(t, c, "+PONG", "PING")
			all.Go(func() {
				for i := range rounds { // each push comes though nothing is sent
					v, err := c.Receive()
					if err != nil || v.Str != strconv.Itoa(i) {
						t.Errorf("push %d: %s, %v", i, Format(v), err)
						return
					}
				}
			})
		}
		for i := range rounds {
			s.h.pushAll(strconv.Itoa(i))
			runtime.Gosched()
		}
		all.Wait()
	})
}

// Kicks go to sessions that are reading, running turns and writing.
func TestServerKickBusy(t *testing.T) {
	overTransports(t, newEcho, func(t *testing.T, s *testServer) {
		const count = 300
		var all sync.WaitGroup
		for range 4 {
			c := s.client()
			mustDo(t, c, "+PONG", "PING")
			all.Go(func() {
				pushes, replies := 0, 0
				for range count {
					c.Send("ECHO", "reply")
					c.Flush()
				}
				for pushes < count || replies < count {
					v, err := c.Receive()
					if err != nil {
						t.Errorf("%d pushes, %d replies: %v", pushes, replies, err)
						return
					}
					if v.Str == "push" {
						pushes++
					} else {
						replies++
					}
				}
			})
		}
		for range count {
			s.h.pushAll("push")
		}
		all.Wait()
	})
}

func TestServerWakesBlocked(t *testing.T) {
	overTransports(t, newEcho, func(t *testing.T, s *testServer) {
		a, b := s.client(), s.client()
		for range 20 {
			a.Send("BLOCK")
			a.Send("PING") // must wait
			a.Flush()
			eventually(t, "blocked", func() bool {
				v, err := b.Do("BLOCKED")
				return err != nil || v.Int == 1
			})
			mustDo(t, b, ":1", "WAKE", "x")
			for _, want := range []string{"x", "PONG"} {
				if v, err := a.Receive(); err != nil || v.Str != want {
					t.Fatalf("got %s, %v, want %s", Format(v), err, want)
				}
			}
		}
	})
}

func TestServerKickInOpen(t *testing.T) {
	kicking := func() *echoHandler {
		h := newEcho()
		h.onOpen = func(c *Conn) {
			h.pushAll("early")
		}
		return h
	}
	overTransports(t, kicking, func(t *testing.T, s *testServer) {
		if v, err := s.client().Receive(); err != nil || v.Str != "early" {
			t.Errorf("got %s, %v", Format(v), err)
		}
	})
}

func TestServerRejects(t *testing.T) {
	full := func() *echoHandler { return &echoHandler{reject: "ERR max number of clients reached"} }
	overTransports(t, full, func(t *testing.T, s *testServer) {
		if got := s.exchange(""); got != "-ERR max number of clients reached\r\n" {
			t.Errorf("got %q", got)
		}
	})
}

func TestServerPanic(t *testing.T) {
	overTransports(t, newEcho, func(t *testing.T, s *testServer) {
		var reports atomic.Int32
		s.OnPanic = func(v any, stack []byte) {
			if v == "asked for" && strings.Contains(string(stack), "Turn") {
				reports.Add(1)
			}
		}
		if got := s.exchange("PANIC\r\n"); got != "" {
			t.Errorf("got %q", got)
		}
		mustDo(t, s.client(), "+PONG", "PING")
		if reports.Load() != 1 {
			t.Errorf("%d reports", reports.Load())
		}
	})
	panicky := func() *echoHandler { return &echoHandler{onOpen: func(*Conn) { panic("in Open") }} }
	overTransports(t, panicky, func(t *testing.T, s *testServer) {
		if got := s.exchange(""); got != "" {
			t.Errorf("got %q", got)
		}
		s.h.closed++ // Open made a session but never returned it
	})
}

// Output that nobody reads does not keep Close from ending, nor does a
// connection that is to close after it.
func TestServerCloseWithPendingOutput(t *testing.T) {
	overTransports(t, newEcho, func(t *testing.T, s *testServer) {
		for _, in := range []string{"BIG 20000000\r\n", "BIG 20000000\r\nQUIT\r\n"} {
			nc := s.connect()
			io.WriteString(nc, in)
			if _, err := io.ReadFull(nc, make([]byte, 10)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestServerPending(t *testing.T) {
	conns := make(chan *Conn, 1)
	watched := func() *echoHandler {
		return &echoHandler{onOpen: func(c *Conn) { conns <- c }}
	}
	overTransports(t, watched, func(t *testing.T, s *testServer) {
		nc := s.connect()
		c := <-conns
		io.WriteString(nc, "BIG 20000000\r\n")
		io.ReadFull(nc, make([]byte, 10))
		eventually(t, "pending", func() bool { return c.Pending() > 1<<20 })
		rest := make([]byte, 20_000_013-10)
		io.ReadFull(nc, rest)
		mustDo(t, NewClient(nc), "+PONG", "PING")
		eventually(t, "written", func() bool { return c.Pending() == 0 })
		c.Abort()
		if _, err := nc.Read(rest); err == nil {
			t.Error("alive after Abort")
		}
	})
}

func TestServerOutputCap(t *testing.T) {
	overTransports(t, newEcho, func(t *testing.T, s *testServer) {
		s.maxPending = 20_000_000
		nc := s.connect()
		io.WriteString(nc, strings.Repeat("BIG 8000000\r\nAGAIN\r\n", 6))
		eventually(t, "dropped", func() bool {
			s.h.mu.Lock()
			defer s.h.mu.Unlock()
			return s.h.closed == 1
		})
	})
}

// A blocked session takes no commands; what it may leave waiting is bounded.
func TestServerQueryBufferLimit(t *testing.T) {
	small := func() *echoHandler { return &echoHandler{limits: Limits{MaxBuffer: 1 << 20}} }
	overTransports(t, small, func(t *testing.T, s *testServer) {
		nc := s.connect()
		io.WriteString(nc, "PING\r\nBLOCK\r\n")
		for range 1 << 14 {
			if _, err := io.WriteString(nc, longText); err != nil {
				return
			}
		}
		t.Error("16 MB were taken")
	})
}

func TestServerAddresses(t *testing.T) {
	conns := make(chan *Conn, 1)
	watched := func() *echoHandler { return &echoHandler{onOpen: func(c *Conn) { conns <- c }} }
	overTransports(t, watched, func(t *testing.T, s *testServer) {
		nc := s.connect()
		c := <-conns
		local, remote := nc.RemoteAddr().String(), nc.LocalAddr().String()
		if nc.LocalAddr().Network() == "unix" {
			local, remote = local+":0", local+":0"
		}
		if c.LocalAddr() != local || c.RemoteAddr() != remote || c.FD() < 1 {
			t.Errorf("got %s, %s, %d, want %s, %s", c.LocalAddr(), c.RemoteAddr(), c.FD(), local, remote)
		}
	})
}

func TestServeConn(t *testing.T) {
	s := NewServer(newEcho())
	client, server := newPipe(memAddr(1), memAddr(2), wallTime{})
	done := make(chan error)
	go func() { done <- s.ServeConn(server) }()
	mustDo(t, NewClient(client), "+PONG", "PING")
	client.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	s.Close()
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	client, server = newPipe(memAddr(1), memAddr(2), wallTime{})
	if err := s.ServeConn(server); err != ErrClosed {
		t.Errorf("after Close: %v", err)
	}
	if _, err := client.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("connection after Close: %v", err)
	}
	ln := NewListener(wallTime{})
	if err := s.Serve(ln); err != ErrClosed {
		t.Errorf("Serve after Close: %v", err)
	}
	if _, err := ln.Dial(); err == nil {
		t.Error("listener is open")
	}
}

// scarceListener fails as if descriptors were short while all are in use.
type scarceListener struct {
	*Listener
	accepted, failed int
}

type errScarce struct{}

func (errScarce) Error() string   { return "too many open files" }
func (errScarce) Temporary() bool { return true }

func (l *scarceListener) Accept() (net.Conn, error) {
	if l.accepted == 1 && l.failed < 3 {
		l.failed++
		return nil, errScarce{}
	}
	nc, err := l.Listener.Accept()
	l.accepted++
	return nc, err
}

func TestServeWaitsForDescriptors(t *testing.T) {
	ln := &scarceListener{Listener: NewListener(wallTime{})}
	s := NewServer(newEcho())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	first, _ := ln.Dial()
	mustDo(t, NewClient(first), "+PONG", "PING")
	first.Close()
	err := <-served // one connection went, the second try failed, none is left
	if !errors.As(err, new(errScarce)) {
		t.Errorf("Serve returned %v", err)
	}
	s.Close()

	ln = &scarceListener{Listener: NewListener(wallTime{}), failed: 2}
	s = NewServer(newEcho())
	go func() { served <- s.Serve(ln) }()
	first, _ = ln.Dial()
	mustDo(t, NewClient(first), "+PONG", "PING")
	second, _ := ln.Dial()
	first.Close()
	mustDo(t, NewClient(second), "+PONG", "PING")
	s.Close()
	if err := <-served; err != ErrClosed {
		t.Errorf("Serve returned %v", err)
	}
}
