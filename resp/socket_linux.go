package resp

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// socket is an accepted socket of which the runtime's poller knows nothing, so that what
// arrives wakes the loop and nobody else.
type socket struct {
	fd  int
	tcp bool

	mu     sync.Mutex // held by who uses fd without having the connection's turn
	closed bool
}

func newSocketConn(s *Server, fd int, peer syscall.Sockaddr, ln net.Listener) *Conn {
	c := &Conn{server: s, fd: fd, remote: sockaddrText(peer)}
	if c.remote == "" {
		c.io = &socket{fd: fd}
		c.local = addrText(ln.Addr(), nil)
		c.remote = c.local
		return c
	}
	local, _ := syscall.Getsockname(fd)
	c.local = sockaddrText(local)
	c.io = &socket{fd: fd, tcp: true}
	syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
	return c
}

// read and write never wait, so the runtime need not know of them; but the race detector
// wants to, since what goes through a socket also orders what its two sides do.
func (s *socket) read(p []byte) (int, error) {
	if raceDetector {
		return ignoreInterrupt(syscall.Read, s.fd, p)
	}
	return ignoreInterrupt(rawRead, s.fd, p)
}

func (s *socket) write(p []byte) (int, error) {
	if raceDetector {
		return ignoreInterrupt(syscall.Write, s.fd, p)
	}
	return ignoreInterrupt(rawWrite, s.fd, p)
}

func rawRead(fd int, p []byte) (int, error)  { return rawCall(syscall.SYS_READ, fd, p) }
func rawWrite(fd int, p []byte) (int, error) { return rawCall(syscall.SYS_WRITE, fd, p) }

func rawCall(trap uintptr, fd int, p []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(trap, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func (s *socket) tryFill(in *CommandReader) (more bool, err error) {
	room := in.space()
	n, err := s.read(room)
	switch {
	case err == syscall.EAGAIN:
		in.release()
		return false, errNoInput
	case err != nil:
		return false, err
	case n == 0:
		return false, io.EOF
	}
	return n == len(room), in.added(n)
}

func (s *socket) tryWrite(p []byte) (int, error) {
	n, err := s.write(p)
	if err == syscall.EAGAIN {
		return 0, nil
	}
	return n, err
}

// writer is a second descriptor, for which the runtime waits. That shows it all that comes
// in as well, so it is for a peer that is slow, as long as it is.
func (s *socket) writer() (io.WriteCloser, error) {
	fd, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(s.fd), syscall.F_DUPFD_CLOEXEC, 0)
	if errno != 0 {
		return nil, errno
	}
	return os.NewFile(fd, "socket"), nil
}

// cut leaves the descriptor to close, since another connection could get the same one.
func (s *socket) cut() { s.ifOpen(func() { syscall.Shutdown(s.fd, syscall.SHUT_RDWR) }) }

func (s *socket) close() {
	s.ifOpen(func() {
		syscall.Close(s.fd)
		s.closed = true
	})
}

// ifOpen calls f with the lock held.
func (s *socket) ifOpen(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		f()
	}
}

func (s *socket) hungUp() bool {
	gone := true
	s.ifOpen(func() { gone = socketHungUp(s.fd) })
	return gone
}

func (s *socket) keepAlive(idle time.Duration) {
	if !s.tcp {
		return
	}
	s.ifOpen(func() {
		if idle <= 0 {
			syscall.SetsockoptInt(s.fd, syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 0)
			return
		}
		syscall.SetsockoptInt(s.fd, syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1)
		seconds := func(d time.Duration) int { return max(int(d/time.Second), 1) }
		syscall.SetsockoptInt(s.fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, seconds(idle))
		syscall.SetsockoptInt(s.fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, seconds(idle/keepAliveProbes))
		syscall.SetsockoptInt(s.fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, keepAliveProbes)
	})
}
