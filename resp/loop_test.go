package resp

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
)

// orderHandler notes in which order its sessions run their commands.
type orderHandler struct {
	mu   sync.Mutex
	seen []string
	hold chan struct{} // what a session waits for that is told to take long
}

type orderSession struct {
	h         *orderHandler
	conn      *Conn
	postponed []string
}

func (h *orderHandler) Open(c *Conn) (Session, string) { return &orderSession{h: h, conn: c}, "" }

func (s *orderSession) Close() {}

func (s *orderSession) Turn(in *CommandReader, out []byte, brief bool) ([]byte, Next) {
	for {
		args, ok, err := s.postponed, true, error(nil)
		if s.postponed = nil; args == nil {
			args, ok, err = in.Next(Limits{})
		}
		switch {
		case err != nil || !ok:
			return out, NextRead
		case args[0] != strings.ToUpper(args[0]):
		case brief:
			s.postponed = slices.Clone(args)
			return out, NextAgain
		default:
			s.holds(args[0])
		}
		s.h.mu.Lock()
		s.h.seen = append(s.h.seen, args[0])
		s.h.mu.Unlock()
		out = append(out, "+OK\r\n"...)
	}
}

// holds waits with the loop, in one of three ways.
func (s *orderSession) holds(how string) {
	switch how {
	case "LONG":
		s.conn.TakesLong()
		s.conn.TakesLong() // once is enough
	case "WAITS":
		s.conn.Waits()
	}
	<-s.h.hold
}

// inOrder are the kinds of connections whose input has an order: it has arrived when
// the call that sends it returns.
func inOrder(t *testing.T, f func(t *testing.T, h *orderHandler, dial func() net.Conn)) {
	for _, tr := range transports {
		if !strings.HasPrefix(tr.name, "unix") && tr.name != "memory" { // by TCP the kernel may be late
			continue
		}
		t.Run(tr.name, func(t *testing.T) {
			h := &orderHandler{hold: make(chan struct{})}
			srv := NewServer(h)
			srv.OwnThread = tr.ownThread
			ln, dial := tr.listen(t)
			var serving sync.WaitGroup
			serving.Go(func() { srv.Serve(ln) })
			f(t, h, func() net.Conn {
				nc, err := dial()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { nc.Close() })
				roundTrip(t, nc, "hello")
				return nc
			})
			srv.Close()
			serving.Wait()
		})
	}
}

func roundTrip(t *testing.T, nc net.Conn, command string) {
	t.Helper()
	fmt.Fprintf(nc, "%s\r\n", command)
	answered(t, nc)
}

func answered(t *testing.T, nc net.Conn) {
	t.Helper()
	if _, err := io.ReadFull(nc, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
}

// What comes first over any connection is run first.
func TestOrderOfArrival(t *testing.T) {
	inOrder(t, func(t *testing.T, h *orderHandler, dial func() net.Conn) {
		conns := make([]net.Conn, 20)
		for i := range conns {
			conns[i] = dial()
		}
		for round := range 200 {
			h.seen = nil
			var want []string
			for i := range conns {
				i = (i*7 + round) % len(conns)
				want = append(want, fmt.Sprint("c", i))
				fmt.Fprintf(conns[i], "c%d\r\n", i)
			}
			for _, nc := range conns {
				answered(t, nc)
			}
			if fmt.Sprint(h.seen) != fmt.Sprint(want) {
				t.Fatalf("round %d: %v instead of %v", round, h.seen, want)
			}
		}
	})
}

// While a turn takes long the others are served, also those that come anew; its own
// connection goes on afterwards, with what came meanwhile.
func TestTurnThatTakesLong(t *testing.T) {
	inOrder(t, func(t *testing.T, h *orderHandler, dial func() net.Conn) {
		long, other := dial(), dial()
		for range 50 {
			io.WriteString(long, "LONG\r\nafter\r\n")
			roundTrip(t, other, "meanwhile")
			io.WriteString(long, "later\r\n")
			roundTrip(t, dial(), "new")
			h.hold <- struct{}{}
			for range 3 {
				answered(t, long)
			}
		}
		// More than one read, so that its turn follows another one of its own.
		const many = 12_000
		io.WriteString(long, strings.Repeat("a\r\n", many)+"LONG\r\n")
		for range 20 {
			roundTrip(t, other, "meanwhile")
		}
		h.hold <- struct{}{}
		for range many + 1 {
			answered(t, long)
		}
		hangsUp := dial()
		io.WriteString(hangsUp, "LONG\r\n")
		roundTrip(t, other, "meanwhile")
		hangsUp.Close()
		roundTrip(t, other, "meanwhile")
		h.hold <- struct{}{}
		roundTrip(t, other, "last")
	})
}

// A turn that waits for another one does not keep the replies of those that were served
// before it.
func TestTurnThatWaits(t *testing.T) {
	inOrder(t, func(t *testing.T, h *orderHandler, dial func() net.Conn) {
		first, served, waits := dial(), dial(), dial()
		for range 50 {
			io.WriteString(first, "STOPS\r\n")
			io.WriteString(served, "served\r\n")
			io.WriteString(waits, "WAITS\r\n")
			h.hold <- struct{}{}
			answered(t, served)
			h.hold <- struct{}{}
			answered(t, first)
			answered(t, waits)
		}
	})
}

// A turn may end the goroutine that it runs on, as a test does that fails in the log of its
// server: others are served all the same, and the server can be closed.
func TestTurnThatExits(t *testing.T) {
	srv, ln := NewServer(newEcho()), NewListener(wallTime{})
	var serving sync.WaitGroup
	serving.Go(func() { srv.Serve(ln) })
	exits, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	mustDo(t, NewClient(exits), "+PONG", "PING")
	var gone sync.WaitGroup
	gone.Go(func() {
		io.WriteString(exits, "EXIT\r\n")
	})
	gone.Wait()
	other, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	mustDo(t, NewClient(other), "+PONG", "PING")
	mustDo(t, NewClient(exits), "+PONG", "PING")
	srv.Close()
	serving.Wait()
}

// A server may be closed while connections come, are served, and go.
func TestCloseWhileConnectionsCome(t *testing.T) {
	for range 200 {
		srv := NewServer(newEcho())
		ln := NewListener(wallTime{})
		var busy sync.WaitGroup
		busy.Go(func() { srv.Serve(ln) })
		for range 4 {
			busy.Go(func() {
				for range 10 {
					nc, err := ln.Dial()
					if err != nil {
						return
					}
					io.WriteString(nc, "PING\r\n")
					nc.Close()
				}
			})
		}
		srv.Close()
		busy.Wait()
	}
}
