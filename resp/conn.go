package resp

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// maxSpare is the largest output buffer, in bytes, that is kept for reuse.
const maxSpare = 64 << 10

// Conn is the server's side of one connection, as the engine sees it. Its
// methods may be called from any goroutine and never block.
type Conn struct {
	server  *Server
	nc      net.Conn // nil: a socket that only the loop knows
	io      connIO
	in      CommandReader
	session Session // nil if rejected
	reject  string

	loop   *loop // nil: a goroutine of its own
	inLoop loopState

	fd            int
	remote, local string

	kicked  atomic.Bool
	dead    atomic.Bool
	tooMuch atomic.Bool // more input than the limits allow
	pending atomic.Int64
	written atomic.Int64

	mu      sync.Mutex    // guards the two fields below; never held over I/O
	queue   [][]byte      // output for the writer goroutine
	writing chan struct{} // closed when that goroutine ends; nil if there is none
}

// connIO is a connection's way to its peer. Reading, writing and closing are up to who has
// its turn, or is its writer; the other methods may be called from any goroutine.
type connIO interface {
	// tryWrite writes what the peer takes without waiting, possibly nothing.
	tryWrite(p []byte) (int, error)

	// writer is for what tryWrite leaves: its Write waits until the peer has taken everything.
	writer() (io.WriteCloser, error)

	// cut makes all reading and writing fail from now on; close sets the system's part free.
	cut()
	close()

	hungUp() bool
	keepAlive(idle time.Duration)
}

// waitIO is what the goroutine needs of a connection that has one of its own.
type waitIO interface {
	// fill reads once into in, which has no buffer while nothing is there.
	fill(in *CommandReader) error
}

// loopIO is what a loop needs.
type loopIO interface {
	// tryFill reads once, without waiting; its error is errNoInput if nothing is there. It
	// tells if more may be there.
	tryFill(in *CommandReader) (more bool, err error)
}

// outBuffer is a turn's output buffer between two turns.
type outBuffer struct{ bytes []byte }

var outPool = sync.Pool{New: func() any { return new(outBuffer) }}

func newConn(s *Server, nc net.Conn) *Conn {
	c := &Conn{server: s, nc: nc}
	c.io, c.fd = newConnIO(nc)
	c.local = addrText(nc.LocalAddr(), nil)
	c.remote = addrText(nc.RemoteAddr(), nc.LocalAddr())
	return c
}

// addrText is an address as CLIENT LIST prints it: "ip:port", or the server's
// socket path and port 0 for both sides of a unix connection.
func addrText(a, local net.Addr) string {
	if a == nil {
		return "?:0"
	}
	if a.Network() != "unix" {
		return a.String()
	}
	if local != nil {
		a = local
	}
	return a.String() + ":0"
}

// RemoteAddr is the peer's address as CLIENT LIST prints it.
func (c *Conn) RemoteAddr() string { return c.remote }

// LocalAddr is the server's address as CLIENT LIST prints it.
func (c *Conn) LocalAddr() string { return c.local }

// FD is the descriptor of the socket, or a small number for a connection
// without one.
func (c *Conn) FD() int { return c.fd }

// TooMuchInput reports whether the connection was closed as more had come than the limits allow.
func (c *Conn) TooMuchInput() bool { return c.tooMuch.Load() }

// Pending is the number of bytes returned by turns that wait in the connection's queue.
func (c *Conn) Pending() int { return int(c.pending.Load()) }

// Written is the number of bytes returned by turns that the system has taken. Those of the
// last turn that are neither written nor pending are under way from one to the other.
func (c *Conn) Written() int64 { return c.written.Load() }

// Kick makes the connection call Turn soon even if the client sends nothing.
// Kicks before that Turn count as one.
func (c *Conn) Kick() {
	if c.loop != nil {
		c.loop.post(c)
		return
	}
	if c.kicked.CompareAndSwap(false, true) {
		// A deadline in the past stays, so a connection that is not in Read
		// just now returns at once when it gets there: no wake-up is lost.
		c.nc.SetReadDeadline(time.Unix(1, 0))
	}
}

// KeepAlive makes the system probe a TCP peer that has been silent for idle, and three
// times a third of that later; 0 makes it never probe. Where that can't be had things stay
// as they are.
func (c *Conn) KeepAlive(idle time.Duration) { c.io.keepAlive(idle) }

// Abort closes the connection now; output that is not written is dropped.
func (c *Conn) Abort() {
	if c.dead.CompareAndSwap(false, true) {
		c.io.cut()
		if c.loop != nil {
			c.loop.post(c)
		}
	}
}

// TakesLong is to be called from within a Turn, with the engine's lock held, if it goes on
// for long while others are to be served. It may be called again and again.
func (c *Conn) TakesLong() { c.server.handOver() }

// Waits is to be called from within a Turn, once, before it waits for another one or for
// time to pass. The engine's lock must be held, as in TakesLong.
func (c *Conn) Waits() {
	if c.loop != nil && c.loop.current.Load() == c {
		c.loop.sendHeld()
	}
}

// run is the connection's goroutine if no loop serves it.
func (c *Conn) run() {
	if c.served() {
		c.guard(c.serve)
		c.guard(c.session.Close)
	} else if c.reject != "" {
		reply := Err(c.reject)
		c.send(&outBuffer{}, Append(nil, &reply, 2))
	}
	c.end()
}

// served reports whether the engine has made a session for it.
func (c *Conn) served() bool { return c.session != nil && c.reject == "" }

func (c *Conn) serve() {
	for c.read() && c.turns() {
	}
}

// end closes the connection as soon as its output is written.
func (c *Conn) end() {
	c.flush()
	c.dead.Store(true)
	c.io.close()
	c.server.forget(c)
}

// safeStep is step; a panic in it is reported and ends the connection.
func (c *Conn) safeStep(readable bool) (goOn bool) {
	c.guard(func() { goOn = c.step(readable) })
	return goOn
}

// step reads what has come, if there should be something, and runs the session until it
// wants more. It is false at the end.
func (c *Conn) step(readable bool) bool {
	if c.dead.Load() {
		return false
	}
	if readable {
		more, err := c.io.(loopIO).tryFill(&c.in)
		if err != nil && err != errNoInput {
			c.inputEnds(err)
			return false
		}
		c.inLoop.more = more || c.inLoop.more && err == nil
	}
	goOn := c.turns()
	c.in.release()
	return goOn
}

// inputEnds takes note of why.
func (c *Conn) inputEnds(err error) {
	if errors.Is(err, ErrQueryBuffer) {
		c.tooMuch.Store(true)
		c.Abort()
	}
}

// read waits for input or a kick. It is false at the end of the input.
func (c *Conn) read() bool {
	err := c.io.(waitIO).fill(&c.in)
	if err == nil {
		return true
	}
	if c.dead.Load() || !errors.Is(err, os.ErrDeadlineExceeded) {
		c.inputEnds(err)
		return false
	}
	// In this order: a kick from now on sets the deadline again, and one that
	// came before has left its work for the turn that follows.
	c.nc.SetReadDeadline(time.Time{})
	c.kicked.Store(false)
	return true
}

// turns runs the session until it wants input. It is false at the end.
func (c *Conn) turns() bool {
	for {
		c.sendHeld()
		spare := outPool.Get().(*outBuffer)
		out, next := c.session.Turn(&c.in, spare.bytes[:0], c.inLoop.brief)
		if next == NextRead && c.loop != nil {
			c.inLoop.held = heldOutput{spare, out}
			return !c.dead.Load()
		}
		if !c.send(spare, out) || next == NextClose {
			return false
		}
		if next == NextRead {
			return true
		}
		if c.inLoop.brief {
			c.inLoop.brief = false // the loop goes on with it on another goroutine
			return true
		}
	}
}

// heldOutput is a turn's output that is not sent yet.
type heldOutput struct {
	spare *outBuffer // nil: there is none
	out   []byte
}

// sendHeld sends what a loop held back.
func (c *Conn) sendHeld() {
	if h := c.inLoop.held; h.spare != nil {
		c.inLoop.held = heldOutput{}
		c.send(h.spare, h.out)
	}
}

// send writes out, which it owns from now on, or leaves it to the writer
// goroutine as far as the peer does not take it. It is false if the connection
// is over.
func (c *Conn) send(spare *outBuffer, out []byte) bool {
	rest := out
	if len(out) > 0 && c.writer() == nil {
		n, err := c.io.tryWrite(out)
		if err != nil {
			c.Abort()
		}
		c.written.Add(int64(n))
		rest = out[n:]
	}
	if len(rest) > 0 && !c.dead.Load() {
		if cap(out) <= maxSpare {
			rest = bytes.Clone(rest)
		}
		c.enqueue(rest)
	}
	if cap(out) <= maxSpare {
		spare.bytes = out
		outPool.Put(spare)
	}
	return !c.dead.Load()
}

// writer is the channel that the writer goroutine closes, nil if there is none.
func (c *Conn) writer() chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writing
}

// enqueue hands b to the writer goroutine. Only who has the turn calls it.
func (c *Conn) enqueue(b []byte) {
	if c.pending.Add(int64(len(b))) > c.server.maxPending {
		c.Abort()
	}
	c.mu.Lock()
	c.queue = append(c.queue, b)
	start := c.writing == nil
	if start {
		c.writing = make(chan struct{})
	}
	c.mu.Unlock()
	if start {
		go c.write()
	}
}

// write is the writer goroutine. It ends when the queue is empty.
func (c *Conn) write() {
	w, err := c.io.writer()
	if err != nil {
		c.Abort()
		w = keptOpen{io.Discard}
	}
	for {
		c.mu.Lock()
		queue := c.queue
		c.queue = nil
		if len(queue) == 0 {
			w.Close()
			close(c.writing)
			c.writing = nil
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		for i, b := range queue {
			if !c.dead.Load() {
				if _, err := w.Write(b); err != nil {
					c.Abort()
				}
			}
			c.written.Add(int64(len(b))) // or dropped with the connection
			c.pending.Add(-int64(len(b)))
			queue[i] = nil
		}
	}
}

// flush waits until all output is written or the connection is aborted.
func (c *Conn) flush() {
	if done := c.writer(); done != nil {
		<-done
	}
}

// netIO is what all that serve a net.Conn have in common.
type netIO struct{ net.Conn }

func (n netIO) writer() (io.WriteCloser, error) { return keptOpen{n.Conn}, nil }

// keptOpen is a writer whose end is not that of what it writes to.
type keptOpen struct{ io.Writer }

func (keptOpen) Close() error { return nil }

// cut closes without waiting: tls.Conn.Close would first try to send a goodbye to a peer
// that may not read.
func (n netIO) cut() {
	n.below().Close()
	n.Conn.Close()
}

func (n netIO) close() { n.cut() }

// below is the transport under a wrapper such as tls.Conn.
func (n netIO) below() net.Conn {
	if wrapped, ok := n.Conn.(interface{ NetConn() net.Conn }); ok {
		return wrapped.NetConn()
	}
	return n.Conn
}

func (n netIO) hungUp() bool { return hungUp(n.below()) }

func (n netIO) keepAlive(idle time.Duration) {
	if tcp, ok := n.below().(*net.TCPConn); ok {
		tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: idle > 0, Idle: idle, Interval: max(idle/keepAliveProbes, time.Second), Count: keepAliveProbes})
	}
}

// keepAliveProbes is how often a silent peer is probed.
const keepAliveProbes = 3

// plainIO serves connections of which only net.Conn is known: TLS, wrappers,
// sockets of other systems. All output goes through the writer goroutine.
type plainIO struct{ netIO }

func (p plainIO) fill(in *CommandReader) error {
	_, err := in.Fill(p.Conn)
	return err
}

func (p plainIO) tryWrite([]byte) (int, error) { return 0, nil }
