package engine

import (
	"net"
	"testing"
	"time"

	"github.com/echomq/echomq-sim/resp"
)

// newTestEngine makes an engine that allows DEBUG and ends with the test.
func newTestEngine(t testing.TB, clock Clock) *Engine {
	t.Helper()
	e, err := New(Config{Clock: clock, EnableDebug: "yes"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func newTestCore(t testing.TB) *core { return &newTestEngine(t, Manual(time.Unix(1e9, 0))).core }

// testServer serves an engine in memory.
type testServer struct {
	t    testing.TB
	wire *resp.Server
	mem  *resp.Listener
}

func serveTest(t testing.TB, e *Engine) *testServer {
	t.Helper()
	s := &testServer{t: t, wire: resp.NewServer(e), mem: resp.NewListener(WallTime{})}
	s.wire.OnPanic = func(v any, stack []byte) { t.Errorf("panic: %v\n%s", v, stack) }
	go s.wire.Serve(s.mem)
	t.Cleanup(func() { s.wire.Close() })
	return s
}

// dial connects a client.
func (s *testServer) dial() *testClient {
	s.t.Helper()
	nc, err := s.mem.Dial()
	if err != nil {
		s.t.Fatal(err)
	}
	return newTestClient(s.t, nc)
}

// testClient is a connection that fails the test when it breaks.
type testClient struct {
	t  testing.TB
	c  *resp.Client
	nc net.Conn
}

func newTestClient(t testing.TB, nc net.Conn) *testClient {
	c := &testClient{t: t, c: resp.NewClient(nc), nc: nc}
	t.Cleanup(func() { nc.Close() })
	return c
}

// send writes a request at once and does not wait.
func (c *testClient) send(args ...string) {
	c.t.Helper()
	if err := c.c.Send(args...); err != nil {
		c.t.Fatal(err)
	}
	if err := c.c.Flush(); err != nil {
		c.t.Fatal(err)
	}
}

// want receives one reply, compared in the notation of resp.Format.
func (c *testClient) want(text string) {
	c.t.Helper()
	v, err := c.c.Receive()
	if err != nil {
		c.t.Fatalf("%v instead of %s", err, text)
	}
	if got := resp.Format(v); got != text+"\n" && got != text {
		c.t.Fatalf("got %s instead of %s", got, text)
	}
}

// do sends a request and compares its reply.
func (c *testClient) do(text string, args ...string) {
	c.t.Helper()
	c.send(args...)
	c.want(text)
}

// get is do for a reply that is looked at otherwise.
func (c *testClient) get(args ...string) resp.Value {
	c.t.Helper()
	c.send(args...)
	v, err := c.c.Receive()
	if err != nil {
		c.t.Fatal(err)
	}
	return v
}

// wantClosed waits for the end of the connection, before which nothing comes.
func (c *testClient) wantClosed() {
	c.t.Helper()
	if v, err := c.c.Receive(); err == nil {
		c.t.Fatalf("got %s instead of the end", resp.Format(v))
	}
}
