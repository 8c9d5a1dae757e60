package resp

import (
	"io"
	"net"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// echoHandler is a tiny engine: its sessions know the commands in run.
type echoHandler struct {
	reject string
	onOpen func(*Conn)
	limits Limits

	mu       sync.Mutex
	sessions map[*echoSession]bool
	opened   int
	closed   int
}

type echoSession struct {
	h       *echoHandler
	conn    *Conn
	blocked bool
	pushed  []byte // guarded by h.mu, like the turns
}

func (h *echoHandler) Open(c *Conn) (Session, string) {
	if h.reject != "" {
		return nil, h.reject
	}
	s := &echoSession{h: h, conn: c}
	h.mu.Lock()
	h.opened++
	if h.sessions == nil {
		h.sessions = map[*echoSession]bool{}
	}
	h.sessions[s] = true
	h.mu.Unlock()
	if h.onOpen != nil {
		h.onOpen(c)
	}
	return s, ""
}

func (s *echoSession) Close() {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	s.h.closed++
	delete(s.h.sessions, s)
}

func (s *echoSession) Turn(in *CommandReader, out []byte, _ bool) ([]byte, Next) {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	if len(s.pushed) > 0 {
		s.blocked = false
		out = append(out, s.pushed...)
		s.pushed = s.pushed[:0]
	}
	for !s.blocked {
		args, ok, err := in.Next(s.h.limits)
		if err != nil {
			v := Err("ERR " + err.Error())
			return Append(out, &v, 2), NextClose
		}
		if !ok {
			break
		}
		v, next := s.run(args)
		if out = Append(out, &v, 2); next != NextRead {
			return out, next
		}
	}
	return out, NextRead
}

func (s *echoSession) run(args []string) (Value, Next) {
	switch args[0] {
	case "PING":
		return Simple("PONG"), NextRead
	case "ECHO":
		return Bulk(args[1]), NextRead
	case "BIG":
		n, _ := strconv.Atoi(args[1])
		return Bulk(strings.Repeat("x", n)), NextRead
	case "AGAIN":
		return OK, NextAgain
	case "BLOCK":
		s.blocked = true
		return None, NextRead
	case "BLOCKED", "WAKE": // both count the blocked sessions
		count := int64(0)
		for other := range s.h.sessions {
			if other.blocked {
				count++
				if args[0] == "WAKE" {
					other.push(args[1])
				}
			}
		}
		return Int(count), NextRead
	case "QUIT":
		return OK, NextClose
	case "PANIC":
		panic("asked for")
	case "EXIT":
		runtime.Goexit()
	}
	return Err("ERR unknown command"), NextRead
}

// push is called with h.mu held.
func (s *echoSession) push(text string) {
	v := Bulk(text)
	s.pushed = Append(s.pushed, &v, 2)
	s.conn.Kick()
}

func (h *echoHandler) pushAll(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.sessions {
		s.push(text)
	}
}

// transport is a way to reach a server.
type transport struct {
	name      string
	listen    func(t *testing.T) (ln net.Listener, dial func() (net.Conn, error))
	ownThread bool
}

func listenNet(network, addr string) func(t *testing.T) (net.Listener, func() (net.Conn, error)) {
	return func(t *testing.T) (net.Listener, func() (net.Conn, error)) {
		at := addr
		if network == "unix" {
			at = filepath.Join(t.TempDir(), "s")
		}
		ln, err := net.Listen(network, at)
		if err != nil {
			t.Fatal(err)
		}
		return ln, func() (net.Conn, error) { return net.Dial(network, ln.Addr().String()) }
	}
}

// wrappedListener hides what its connections are, as TLS does.
type wrappedListener struct{ net.Listener }

func (w wrappedListener) Accept() (net.Conn, error) {
	nc, err := w.Listener.Accept()
	return struct{ net.Conn }{nc}, err
}

var transports = []transport{
	{name: "tcp", listen: listenNet("tcp", "127.0.0.1:0")},
	{name: "unix", listen: listenNet("unix", "")},
	{name: "memory", listen: func(t *testing.T) (net.Listener, func() (net.Conn, error)) {
		ln := NewListener(wallTime{})
		return ln, ln.Dial
	}},
	{name: "wrapped", listen: func(t *testing.T) (net.Listener, func() (net.Conn, error)) {
		ln, dial := listenNet("tcp", "127.0.0.1:0")(t)
		return wrappedListener{ln}, dial
	}},
	{name: "tcp, own thread", listen: listenNet("tcp", "127.0.0.1:0"), ownThread: true},
	{name: "unix, own thread", listen: listenNet("unix", ""), ownThread: true},
}

// testServer is a running server and what its end is checked against.
type testServer struct {
	*Server
	t    *testing.T
	h    *echoHandler
	dial func() (net.Conn, error)
}

// overTransports runs f with a server on each transport. Afterwards the server
// is closed, and no session and no goroutine of it may be left.
func overTransports(t *testing.T, h func() *echoHandler, f func(t *testing.T, s *testServer)) {
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			ln, dial := tr.listen(t)
			s := &testServer{t: t, h: h(), dial: dial}
			s.Server = NewServer(s.h)
			s.OwnThread = tr.ownThread
			served := make(chan error, 1)
			go func() { served <- s.Serve(ln) }()
			f(t, s)
			s.Close()
			if err := <-served; err != ErrClosed {
				t.Errorf("Serve returned %v", err)
			}
			if s.h.opened != s.h.closed {
				t.Errorf("%d sessions opened, %d closed", s.h.opened, s.h.closed)
			}
			waitGoroutines(t, before)
		})
	}
}

// waitGoroutines gives goroutines that are past their last statement the chance
// to end.
func waitGoroutines(t *testing.T, want int) {
	t.Helper()
	for range 1_000_000 {
		if runtime.NumGoroutine() <= want {
			return
		}
		runtime.Gosched()
	}
	buf := make([]byte, 1<<16)
	t.Errorf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), want, buf[:runtime.Stack(buf, true)])
}

func newEcho() *echoHandler { return new(echoHandler) }

func (s *testServer) connect() net.Conn {
	s.t.Helper()
	nc, err := s.dial()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { nc.Close() })
	return nc
}

func (s *testServer) client() *Client { return NewClient(s.connect()) }

// exchange sends in and reads to the end of the connection.
func (s *testServer) exchange(in string) string {
	s.t.Helper()
	nc := s.connect()
	io.WriteString(nc, in)
	out, _ := io.ReadAll(nc) // a reset after the reply is as good as an end
	return string(out)
}

func mustDo(t *testing.T, c *Client, want string, args ...string) {
	t.Helper()
	v, err := c.Do(args...)
	if err != nil || Format(v) != want {
		t.Fatalf("%q: got %s, %v, want %s", args, Format(v), err, want)
	}
}

// eventually asks ok until it is true; it gives up after a great many times.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 1_000_000 {
		if ok() {
			return
		}
		runtime.Gosched()
	}
	t.Fatal("never " + what)
}

// longText is 1 KB.
var longText = strings.Repeat("0123456789abcdef", 64)
