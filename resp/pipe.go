package resp

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// pipeLimit is the number of bytes one direction of an in-memory connection
// holds before Write waits for the reader.
const pipeLimit = 1 << 20

// keptPipe is the largest empty buffer that a direction keeps.
const keptPipe = 4 << 10

// Listener is a net.Listener in memory. Unlike those of net.Pipe its
// connections are buffered, so a long pipeline does not lock both sides. All
// waiting is done on sync.Cond, which lets a synctest bubble's clock go on.
type Listener struct {
	timers  Timers
	mu      sync.Mutex
	arrived sync.Cond
	backlog []net.Conn
	dialed  int
	closed  bool
}

var _ net.Listener = (*Listener)(nil)

// Timers tell when the deadlines of connections pass.
type Timers interface {
	// Until is the time until t, negative once that has passed.
	Until(t time.Time) time.Duration
	// AfterFunc is time.AfterFunc.
	AfterFunc(d time.Duration, f func()) *time.Timer
}

// NewListener returns an open listener, whose connections get their deadlines from timers.
func NewListener(timers Timers) *Listener {
	ln := &Listener{timers: timers}
	ln.arrived.L = &ln.mu
	return ln
}

// Dial connects to the listener; it does not wait for Accept. Its error is
// net.ErrClosed after Close.
func (ln *Listener) Dial() (net.Conn, error) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.closed {
		return nil, net.ErrClosed
	}
	// Ports as on the loopback, so that each client has its own address.
	client, server := newPipe(memAddr(49152+ln.dialed%16384), ln.Addr(), ln.timers)
	ln.dialed++
	ln.backlog = append(ln.backlog, server)
	ln.arrived.Signal()
	return client, nil
}

// Accept waits for a Dial. Its error is net.ErrClosed after Close.
func (ln *Listener) Accept() (net.Conn, error) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	for len(ln.backlog) == 0 && !ln.closed {
		ln.arrived.Wait()
	}
	if ln.closed {
		return nil, net.ErrClosed
	}
	nc := ln.backlog[0]
	ln.backlog = ln.backlog[1:]
	return nc, nil
}

// Close ends Accept and closes connections that were not accepted.
func (ln *Listener) Close() error {
	ln.mu.Lock()
	backlog := ln.backlog
	ln.backlog, ln.closed = nil, true
	ln.arrived.Broadcast()
	ln.mu.Unlock()
	for _, nc := range backlog {
		nc.Close()
	}
	return nil
}

// Addr is 127.0.0.1:6379, an address that clients can parse; nothing listens
// there.
func (ln *Listener) Addr() net.Addr { return memAddr(6379) }

func memAddr(port int) net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
}

// memConn is one end of a connection in memory.
type memConn struct {
	in, out       *direction
	local, remote net.Addr
}

var _ net.Conn = (*memConn)(nil)

func newPipe(client, server net.Addr, timers Timers) (clientEnd, serverEnd *memConn) {
	up, down := newDirection(timers), newDirection(timers)
	return &memConn{in: down, out: up, local: client, remote: server},
		&memConn{in: up, out: down, local: server, remote: client}
}

// Read waits for bytes, the peer's Close or CloseWrite (io.EOF once drained),
// the deadline or Close (net.ErrClosed).
func (c *memConn) Read(p []byte) (int, error) { return c.in.read(p) }

// Write returns when all of p is in the buffer. If the server has nothing else to do and
// what p asks for ends soon, that has been done by then.
func (c *memConn) Write(p []byte) (int, error) {
	n, idle, err := c.out.write(p, true)
	if idle != nil {
		idle.runHere()
	}
	return n, err
}

// TryWrite writes what has room in the buffer, possibly nothing.
func (c *memConn) TryWrite(p []byte) (int, error) {
	n, idle, err := c.out.write(p, false)
	if idle != nil {
		idle.poll.wake()
	}
	return n, err
}

// CloseWrite ends the output; the peer reads what is left and then io.EOF.
func (c *memConn) CloseWrite() error {
	c.out.endWriting()
	return nil
}

// Close ends both directions. What the peer sent and was not read is lost; what
// was written can still be read by the peer.
func (c *memConn) Close() error {
	c.out.endWriting()
	c.in.endReading()
	return nil
}

// hungUp reports whether the peer has ended its output or is gone.
func (c *memConn) hungUp() bool { return c.in.over() || c.out.over() }

func (c *memConn) LocalAddr() net.Addr  { return c.local }
func (c *memConn) RemoteAddr() net.Addr { return c.remote }

func (c *memConn) SetDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.readBy, t)
	c.out.setDeadline(&c.out.writeBy, t)
	return nil
}

func (c *memConn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.readBy, t)
	return nil
}

func (c *memConn) SetWriteDeadline(t time.Time) error {
	c.out.setDeadline(&c.out.writeBy, t)
	return nil
}

// memIO serves a memConn.
type memIO struct {
	netIO
	*memConn
}

func newMemIO(m *memConn) memIO { return memIO{netIO{m}, m} }

func (m memIO) fill(in *CommandReader) error {
	in.release()
	if err := m.in.waitReadable(); err != nil {
		return err
	}
	_, err := in.Fill(m.memConn)
	return err
}

func (m memIO) tryFill(in *CommandReader) (more bool, err error) {
	n, more, err := m.in.tryRead(in.space())
	if n > 0 {
		return more, in.added(n)
	}
	in.release()
	return false, err
}

func isMemory(io connIO) bool {
	_, ok := io.(memIO)
	return ok
}

func (m memIO) tryWrite(p []byte) (int, error) { return m.TryWrite(p) }

func (m memIO) hungUp() bool { return m.memConn.hungUp() }

// direction is the bytes under way from one end to the other.
type direction struct {
	mu      sync.Mutex
	changed sync.Cond
	buf     []byte // buf[at:] is not read yet
	at      int
	writing bool // a Write is under way; others wait, so that they do not mix
	ended   bool // the writer is done
	gone    bool // the reader is
	timers  Timers
	readBy  deadline
	writeBy deadline
	reader  *Conn // posted when there is something to read; may be nil
}

// deadline is a point in time, zero for none. Most are moved on before anybody waits for
// them, so a timer is started only by who does wait. It may ring too early, for a deadline
// that has been put off since, but never too late.
type deadline struct {
	at    time.Time
	timer *time.Timer // nil if there is none
	rings time.Time   // when it does
}

func newDirection(timers Timers) *direction {
	d := &direction{timers: timers}
	d.changed.L = &d.mu
	return d
}

// waitReadable waits until read would not.
func (d *direction) waitReadable() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waitInput()
}

// waitInput waits with the lock held. The deadline comes first, also when
// there are bytes, as with sockets.
func (d *direction) waitInput() error {
	for {
		switch {
		case d.gone:
			return net.ErrClosed
		case d.passed(&d.readBy):
			return os.ErrDeadlineExceeded
		case d.at < len(d.buf):
			return nil
		case d.ended:
			return io.EOF
		}
		d.wait(&d.readBy)
	}
}

func (d *direction) read(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.waitInput(); err != nil {
		return 0, err
	}
	return d.take(p), nil
}

// take moves bytes to p.
func (d *direction) take(p []byte) int {
	n := copy(p, d.buf[d.at:])
	d.at += n
	if d.at == len(d.buf) {
		d.at, d.buf = 0, d.buf[:0]
		if cap(d.buf) > keptPipe {
			d.buf = nil
		}
	}
	d.changed.Broadcast()
	return n
}

// tryRead is read without waiting; its error is errNoInput if nothing is there. It tells if
// more is there, be it the end.
func (d *direction) tryRead(p []byte) (n int, more bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.gone:
		return 0, false, net.ErrClosed
	case d.at < len(d.buf):
		n = d.take(p)
		return n, d.at < len(d.buf) || d.ended, nil
	case d.ended:
		return 0, false, io.EOF
	}
	return 0, false, errNoInput
}

// tellArrivals makes the loop serve c when something arrives, be it the end. What is there is
// not told.
func (d *direction) tellArrivals(c *Conn) {
	d.mu.Lock()
	d.reader = c
	d.mu.Unlock()
}

func (d *direction) tell() {
	if d.reader != nil {
		d.reader.loop.post(d.reader)
	}
}

// write writes all of p, or if it must not wait what has room. The loop that is idle, if any,
// was told and must be run by the caller.
func (d *direction) write(p []byte, wait bool) (n int, idle *loop, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.writing {
		if err := d.writeError(); err != nil || !wait {
			return 0, nil, err
		}
		d.wait(&d.writeBy)
	}
	d.writing = true
	defer func() {
		d.writing = false
		d.changed.Broadcast()
	}()
	for {
		if err := d.writeError(); err != nil {
			return n, nil, err
		}
		n += d.put(p[n:])
		if n == len(p) && d.reader != nil && d.reader.loop.list(d.reader) {
			return n, d.reader.loop, nil
		}
		if n == len(p) || !wait {
			return n, nil, nil
		}
		d.tell()
		d.changed.Broadcast()
		d.wait(&d.writeBy)
	}
}

func (d *direction) writeError() error {
	switch {
	case d.ended:
		return net.ErrClosed
	case d.gone:
		return syscall.EPIPE
	case d.passed(&d.writeBy):
		return os.ErrDeadlineExceeded
	}
	return nil
}

// put appends what has room.
func (d *direction) put(p []byte) int {
	p = p[:min(len(p), pipeLimit-(len(d.buf)-d.at))]
	if d.at > 0 && len(d.buf)+len(p) > cap(d.buf) {
		d.buf = d.buf[:copy(d.buf, d.buf[d.at:])]
		d.at = 0
	}
	d.buf = append(d.buf, p...)
	return len(p)
}

// over reports whether one of the two ends is done.
func (d *direction) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended || d.gone
}

func (d *direction) endWriting() {
	d.mu.Lock()
	d.ended = true
	d.writeBy.stop()
	d.tell()
	d.changed.Broadcast()
	d.mu.Unlock()
}

func (d *direction) endReading() {
	d.mu.Lock()
	d.gone = true
	d.buf, d.at = nil, 0
	d.readBy.stop()
	d.changed.Broadcast()
	d.mu.Unlock()
}

// setDeadline sets one of d's two deadlines.
func (d *direction) setDeadline(which *deadline, t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	which.at = t
	if which.timer != nil && (t.IsZero() || t.Before(which.rings)) {
		which.stop()
	}
	d.changed.Broadcast() // who waits looks again
}

// wait waits with the lock held until something changes or the deadline passes.
func (d *direction) wait(by *deadline) {
	if !by.at.IsZero() && by.timer == nil {
		d.start(by)
	}
	d.changed.Wait()
}

// start makes a timer ring when the deadline passes.
func (d *direction) start(by *deadline) {
	var timer *time.Timer
	timer = d.timers.AfterFunc(d.timers.Until(by.at), func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if by.timer == timer { // or else it was stopped too late
			by.timer = nil
			d.changed.Broadcast()
		}
	})
	by.timer, by.rings = timer, by.at
}

func (d *direction) passed(by *deadline) bool { return !by.at.IsZero() && d.timers.Until(by.at) <= 0 }

func (w *deadline) stop() {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}
