package engine

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/echomq/echomq-sim/resp"
)

// listenTCP serves the engine on the loopback interface too and returns the way to it.
func (s *testServer) listenTCP() (dial func() *testClient) {
	s.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	go s.wire.Serve(ln)
	return func() *testClient {
		s.t.Helper()
		nc, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			s.t.Fatal(err)
		}
		return &testClient{t: s.t, c: resp.NewClient(nc), nc: nc}
	}
}

// rounds is n, or less of it with -short.
func rounds(n int) int {
	if testing.Short() {
		return n / 20
	}
	return n
}

// Clients block and hang up while another one pushes. Whoever was first of those that
// are left gets the next element; what nobody waits for stays in the list.
func TestNothingIsLostToClientsThatHangUp(t *testing.T) {
	const batch = 50
	for _, over := range []string{"memory", "tcp"} {
		t.Run(over, func(t *testing.T) {
			e := newManualEngine(t)
			s := serveTest(t, e)
			dial := s.dial
			if over == "tcp" {
				dial = s.listenTCP()
			}
			rng, pusher, pushed, kept := rand.New(rand.NewPCG(1, 2)), dial(), 0, 0
			push := func(waiting []*testClient) []*testClient {
				pushed++
				element := fmt.Sprint(pushed)
				pusher.send("RPUSH", "l", element)
				if _, err := pusher.c.Receive(); err != nil {
					t.Fatal(err)
				}
				if len(waiting) == 0 {
					kept++
					return nil
				}
				waiting[0].want("*\n  $l\n  $" + element)
				waiting[0].nc.Close()
				return waiting[1:]
			}
			for range rounds(10_000) / batch {
				var waiting []*testClient
				for range batch {
					c := dial()
					c.send("BLPOP", "l", "0")
					waiting = append(waiting, c)
					e.waitBlocked(len(waiting))
				}
				for len(waiting) > 0 {
					if rng.IntN(2) == 0 {
						waiting = push(waiting)
						continue
					}
					i := rng.IntN(len(waiting))
					waiting[i].nc.Close()
					waiting = append(waiting[:i], waiting[i+1:]...)
				}
				push(nil)
				pusher.do(fmt.Sprintf("$%d", pushed), "LPOP", "l")
				kept--
			}
			pusher.do(fmt.Sprintf(":%d", kept), "LLEN", "l")
		})
	}
}

func TestWaitersOverTCPAreServedInTheirOrder(t *testing.T) {
	e := newManualEngine(t)
	dial := serveTest(t, e).listenTCP()
	pusher := dial()
	var clients []*testClient
	for range 5 {
		clients = append(clients, dial())
	}
	for round := range rounds(1000) {
		for i, c := range clients {
			c.send("BLPOP", "l", "0")
			e.waitBlocked(i + 1)
		}
		for i, c := range clients {
			element := fmt.Sprint(round*len(clients) + i)
			pusher.do(":1", "RPUSH", "l", element)
			c.want("*\n  $l\n  $" + element)
		}
	}
}

// A client that only ended its own output is closed by the server all the same.
func TestAHalfClosedWaiterTakesNothing(t *testing.T) {
	e := newManualEngine(t)
	dial := serveTest(t, e).listenTCP()
	c, pusher := dial(), dial()
	c.send("BLPOP", "l", "0")
	e.waitBlocked(1)
	c.nc.(*net.TCPConn).CloseWrite()
	pusher.do(":1", "RPUSH", "l", "x")
	pusher.do(":1", "LLEN", "l")
	c.wantClosed()
}

// What a client sent during a pause is not run once it has left.
func TestAPostponedCommandOfAClientThatLeftIsNotRun(t *testing.T) {
	e := newManualEngine(t)
	s := serveTest(t, e)
	c, other := s.dial(), s.dial()
	other.do("+OK", "CLIENT", "PAUSE", "60000", "WRITE")
	c.send("SET", "k", "v")
	for !postponedIn(e) {
		other.do("+PONG", "PING")
	}
	c.nc.Close()
	other.do("+OK", "CLIENT", "UNPAUSE")
	other.do("_", "GET", "k")
}

func postponedIn(e *Engine) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.core.pause.waiting) > 0
}

func TestReplyAheadOfABlockingCommandComesAtOnce(t *testing.T) {
	e := newManualEngine(t)
	dial := serveTest(t, e).listenTCP()
	c := dial()
	for _, args := range [][]string{{"PING"}, {"BLPOP", "l", "0"}} {
		if err := c.c.Send(args...); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.c.Flush(); err != nil {
		t.Fatal(err)
	}
	c.want("+PONG")
	e.waitBlocked(1)
	dial().do(":1", "RPUSH", "l", "x")
	c.want("*\n  $l\n  $x")
}
