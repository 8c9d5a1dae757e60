package resp

import (
	"errors"
	"net"
	"runtime/debug"
	"sync"
)

// ErrClosed is what Serve and ServeConn return after Close.
var ErrClosed = errors.New("resp: server closed")

// Handler makes the engine's side of each accepted connection.
type Handler interface {
	// Open is called once per connection, in the order of acceptance. With
	// reject != "" that text is sent as an error reply, the connection is
	// closed, and s is not used.
	Open(c *Conn) (s Session, reject string)
}

// Session is the engine's side of one connection. Its methods are called by one
// goroutine at a time.
type Session interface {
	// Turn runs the commands in holds until none is whole or the session
	// cannot go on, and returns their replies appended to spare, which is
	// empty. It takes the engine's lock itself and never blocks on I/O.
	//
	// A brief one may not wait for the lock either, nor run what may last: it leaves that,
	// with NextAgain, to one that is not brief.
	Turn(in *CommandReader, spare []byte, brief bool) (out []byte, next Next)

	// Close is called exactly once, when no Turn will follow: the client hung
	// up, Turn returned NextClose or panicked, or the connection was aborted.
	// Replies already returned are still being written if the peer takes them.
	Close()
}

// Next tells what a connection does after writing a turn's output.
type Next uint8

const (
	NextRead  Next = iota // wait for input or a Kick, then call Turn
	NextAgain             // call Turn at once: replies go out ahead of a slow command
	NextClose             // close when everything is written
)

// Server accepts connections and runs their read loops. NewServer makes one.
type Server struct {
	// OnPanic, if set before the first connection, is told of panics in the
	// Handler and its Sessions; it may be called from many goroutines. The
	// connection concerned is closed either way.
	OnPanic func(v any, stack []byte)

	// OwnThread, to be set before the first connection, gives the loop that serves sockets a
	// thread of its own where there is such a loop. For clients in other processes that is
	// quicker; for those in this one it is much slower.
	OwnThread bool

	handler    Handler
	maxPending int64         // MaxPending, but in tests
	done       chan struct{} // closed by Close
	running    sync.WaitGroup

	mu        sync.Mutex // never held over I/O or a wait
	closed    bool
	listeners map[net.Listener]struct{}
	conns     map[*Conn]struct{}
	lastFD    int
	gone      int      // connections that have ended
	room      []func() // called when the next one has
	sockets   *loop    // serves all sockets; nil before the first one
	memory    *loop    // serves all connections in memory, likewise
}

// MaxPending is how many bytes of output may wait for a peer to take them. One that lets more
// wait is dropped.
const MaxPending = 1 << 30

// NewServer returns a server whose connections are opened by h.
func NewServer(h Handler) *Server {
	return &Server{
		handler:    h,
		maxPending: MaxPending,
		done:       make(chan struct{}),
		listeners:  map[net.Listener]struct{}{},
		conns:      map[*Conn]struct{}{},
	}
}

// Serve accepts connections from ln, which is the server's from now on: nobody else may
// close it. It returns ErrClosed after Close, or else the error that ended accepting;
// connections that it made live on until Close.
func (s *Server) Serve(ln net.Listener) error {
	if !s.addListener(ln) {
		ln.Close()
		return ErrClosed
	}
	defer s.dropListener(ln)
	if served, err := s.serveSockets(ln); served {
		return s.closedOr(err)
	}
	for {
		gone := s.goneSoFar()
		nc, err := ln.Accept()
		if err == nil {
			if c := s.open(newConn(s, nc), true); c != nil {
				c.start()
			}
			continue
		}
		if !s.acceptAgain(err, gone) {
			return s.closedOr(err)
		}
	}
}

// ServeConn serves one connection on the calling goroutine until it is over.
// It returns nil, or ErrClosed if the server was closed before.
func (s *Server) ServeConn(nc net.Conn) error {
	c := s.open(newConn(s, nc), false)
	if c == nil {
		return ErrClosed
	}
	c.run()
	return nil
}

// Close stops the listeners, closes the connections and returns when all
// goroutines of the server have ended. It must not be called from a Turn.
func (s *Server) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	var listeners []net.Listener
	for ln := range s.listeners {
		listeners = append(listeners, ln)
	}
	var conns []*Conn
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	if first {
		close(s.done)
	}
	for _, ln := range listeners {
		ln.Close()
	}
	for _, c := range conns {
		c.Abort()
	}
	for _, l := range s.loops() {
		l.end()
	}
	s.running.Wait()
	return nil
}

// acceptAgain decides whether to go on after err, when gone connections had gone before.
// Accept fails for a while when the process or the system is out of descriptors. What helps
// is that one of our connections closes, so that is waited for; no clock is needed, and
// there is no busy loop.
func (s *Server) acceptAgain(err error, gone int) bool {
	var temporary interface{ Temporary() bool }
	if err == net.ErrClosed || !errors.As(err, &temporary) || !temporary.Temporary() {
		return false
	}
	room := make(chan struct{})
	if !s.whenRoom(gone, func() { close(room) }) {
		return false
	}
	select {
	case <-room:
		return true
	case <-s.done:
		return false
	}
}

// whenRoom has f called when more connections have gone than gone, possibly at once. It is
// false if there are none whose end could help.
func (s *Server) whenRoom(gone int, f func()) bool {
	s.mu.Lock()
	if s.gone == gone {
		defer s.mu.Unlock()
		s.room = append(s.room, f)
		return len(s.conns) > 0
	}
	s.mu.Unlock()
	f()
	return true
}

// goneSoFar is the number of connections that have ended.
func (s *Server) goneSoFar() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

func (s *Server) closedOr(err error) error {
	select {
	case <-s.done:
		return ErrClosed
	default:
		return err
	}
}

func (s *Server) addListener(ln net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.listeners[ln] = struct{}{}
	s.running.Add(1)
	return true
}

func (s *Server) dropListener(ln net.Listener) {
	ln.Close()
	s.mu.Lock()
	delete(s.listeners, ln)
	s.mu.Unlock()
	s.running.Done()
}

// open makes the connection known and asks the handler for its session. The
// caller must run what it returns; nil means that the server is closed.
func (s *Server) open(c *Conn, looped bool) *Conn {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		c.io.close()
		return nil
	}
	if looped {
		c.loop = s.loopFor(c)
	}
	s.conns[c] = struct{}{}
	s.running.Add(1)
	s.lastFD++
	if c.fd < 0 {
		c.fd = s.lastFD
	}
	s.mu.Unlock()
	c.guard(func() { c.session, c.reject = s.handler.Open(c) })
	return c
}

// loopFor is the loop that serves c, nil if there is none for its kind. It is called with
// the lock held.
func (s *Server) loopFor(c *Conn) *loop {
	l := s.sockets
	switch {
	case isMemory(c.io):
		if s.memory == nil {
			s.memory = newMemLoop(s)
		}
		l = s.memory
	case c.nc != nil:
		return nil
	}
	l.expect()
	return l
}

// loops are those that there are.
func (s *Server) loops() (all []*loop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range []*loop{s.sockets, s.memory} {
		if l != nil {
			all = append(all, l)
		}
	}
	return all
}

// handOver takes the loops from turns that are under way.
func (s *Server) handOver() {
	for _, l := range s.loops() {
		l.handOver()
	}
}

func (s *Server) forget(c *Conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.gone++
	room := s.room
	s.room = nil
	s.mu.Unlock()
	for _, f := range room {
		f()
	}
	s.running.Done()
}

// start has the connection served.
func (c *Conn) start() {
	if c.loop != nil && c.served() {
		c.loop.start(c)
		return
	}
	if c.loop != nil {
		c.loop.drop()
	}
	go c.run()
}

// guard runs f; a panic in it is reported and ends the connection only.
func (c *Conn) guard(f func()) {
	defer func() {
		if v := recover(); v != nil {
			if c.server.OnPanic != nil {
				c.server.OnPanic(v, debug.Stack())
			}
			c.Abort()
		}
	}()
	f()
}
