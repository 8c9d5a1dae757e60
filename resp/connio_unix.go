//go:build unix

package resp

import (
	"io"
	"net"
	"syscall"
)

// newConnIO returns the best way to serve nc and its descriptor, -1 without
// one. The types must match exactly: a wrapper around a socket wants its own
// Read and Write to be used.
func newConnIO(nc net.Conn) (connIO, int) {
	var socket syscall.Conn
	switch nc := nc.(type) {
	case *memConn:
		return newMemIO(nc), -1
	case *net.TCPConn:
		socket = nc
	case *net.UnixConn:
		socket = nc
	default:
		return plainIO{netIO{nc}}, -1
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return plainIO{netIO{nc}}, -1
	}
	fd := -1
	raw.Control(func(n uintptr) { fd = int(n) })
	return newSocketIO(nc, raw), fd
}

// socketIO uses the socket's non-blocking calls, so that reading needs a buffer
// only once there is something to read, and writing never waits. The callbacks
// are made once, and talk to fill and tryWrite through the fields.
type socketIO struct {
	netIO
	raw             syscall.RawConn
	onRead, onWrite func(fd uintptr) bool

	in  *CommandReader
	out []byte
	n   int
	err error
}

func newSocketIO(nc net.Conn, raw syscall.RawConn) *socketIO {
	s := &socketIO{netIO: netIO{nc}, raw: raw}
	s.onRead = func(fd uintptr) bool {
		s.n, s.err = ignoreInterrupt(syscall.Read, int(fd), s.in.space())
		if s.err == syscall.EAGAIN {
			s.in.release()
			return false // called again when there is input
		}
		return true
	}
	s.onWrite = func(fd uintptr) bool {
		s.n, s.err = ignoreInterrupt(syscall.Write, int(fd), s.out)
		return true
	}
	return s
}

func ignoreInterrupt(call func(int, []byte) (int, error), fd int, p []byte) (int, error) {
	for {
		n, err := call(fd, p)
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}

func (s *socketIO) fill(in *CommandReader) error {
	s.in = in
	if err := s.raw.Read(s.onRead); err != nil {
		return err
	}
	switch {
	case s.err != nil:
		return s.err
	case s.n == 0:
		return io.EOF
	}
	return in.added(s.n)
}

func (s *socketIO) tryWrite(p []byte) (int, error) {
	s.out = p
	err := s.raw.Write(s.onWrite)
	s.out = nil
	switch {
	case err != nil:
		return 0, err
	case s.err == syscall.EAGAIN:
		return 0, nil
	case s.err != nil:
		return 0, s.err
	}
	return s.n, nil
}
