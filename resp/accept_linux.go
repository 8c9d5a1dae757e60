package resp

import (
	"net"
	"net/netip"
	"sync"
	"syscall"
)

// maxAccepts is how many connections are accepted before others are served, as in the server.
const maxAccepts = 1000

// acceptor accepts from a listener in the turns of a loop, so that connections come in their
// place between the commands of others.
type acceptor struct {
	server *Server
	loop   *loop
	poll   *epoll
	ln     net.Listener
	raw    syscall.RawConn
	id     int32 // negative
	ended  chan error

	mu   sync.Mutex
	over bool // the loop may have ended, and its poller's descriptor be another's
}

// serveSockets accepts from a listener of sockets until that ends. It has not served if a
// goroutine has to.
func (s *Server) serveSockets(ln net.Listener) (served bool, err error) {
	switch ln.(type) { // exactly: a wrapper wants its own Accept to be used
	case *net.TCPListener, *net.UnixListener:
	default:
		return false, nil
	}
	raw, err := ln.(syscall.Conn).SyscallConn()
	if err != nil {
		return false, nil
	}
	l := s.socketLoop()
	if l == nil {
		return false, nil
	}
	a := &acceptor{server: s, loop: l, poll: l.poll.(*epoll), ln: ln, raw: raw, ended: make(chan error, 1)}
	a.id = l.listen(a.accept)
	a.watch(true)
	defer a.end()
	select {
	case <-s.done:
		return true, nil
	case err := <-a.ended:
		return true, err
	}
}

// end lets the loop end.
func (a *acceptor) end() {
	a.mu.Lock()
	a.over = true
	a.mu.Unlock()
	a.loop.listenNoMore(a.id)
}

// socketLoop is the loop of all sockets, nil if there can't be one. It will not end before
// one listener more is through.
func (s *Server) socketLoop() *loop {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sockets == nil && !s.closed {
		if p, err := newPoller(s.OwnThread); err == nil {
			s.sockets = newLoop(s, p)
		}
	}
	if s.closed || s.sockets == nil {
		return nil
	}
	s.sockets.expect()
	return s.sockets
}

// watch turns reports of the listener on or off. They are repeated until all is accepted.
func (a *acceptor) watch(on bool) {
	op := syscall.EPOLL_CTL_DEL
	if on {
		op = syscall.EPOLL_CTL_ADD
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return
	}
	a.raw.Control(func(fd uintptr) { a.poll.control(op, int(fd), syscall.EPOLLIN, a.id) })
}

// accept accepts what is there. It is false if the loop was handed over meanwhile: then the
// rest is reported to whoever has it.
func (a *acceptor) accept() bool {
	for range maxAccepts {
		gone := a.server.goneSoFar()
		fd, peer, err := a.next()
		switch {
		case err == nil:
			if !a.loop.begin(a.server.open(newSocketConn(a.server, fd, peer, a.ln), true)) {
				return false
			}
		case err == syscall.EAGAIN:
			return true
		case err == syscall.EINTR || err == syscall.ECONNABORTED: // ours or the peer's, and over
		case err == syscall.EMFILE || err == syscall.ENFILE:
			a.watch(false)
			if !a.server.whenRoom(gone, func() { a.watch(true) }) {
				a.tell(err)
			}
			return true
		default:
			a.watch(false)
			a.tell(err)
			return true
		}
	}
	return true
}

// tell ends serveSockets, once. A listener that is closed can't be taken from the poller any
// more, which may report it some times until its descriptor is gone.
func (a *acceptor) tell(err error) {
	select {
	case a.ended <- err:
	default:
	}
}

func (a *acceptor) next() (fd int, peer syscall.Sockaddr, err error) {
	closed := a.raw.Control(func(ln uintptr) {
		fd, peer, err = syscall.Accept4(int(ln), syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC)
	})
	if closed != nil {
		err = closed
	}
	return fd, peer, err
}

// sockaddrText is an address as CLIENT LIST prints it, "" if it is no address of TCP.
func sockaddrText(a syscall.Sockaddr) string {
	switch a := a.(type) {
	case *syscall.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)).String()
	case *syscall.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr).Unmap(), uint16(a.Port)).String()
	}
	return ""
}
