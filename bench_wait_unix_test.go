//go:build unix

package echomqsim_test

import (
	"io"
	"net"
	"runtime"
	"syscall"
	"unsafe"
)

// thread is a connection whose thread itself waits for what comes, as in a client that knows
// of one connection only. The runtime is not told that it waits: what it does then takes up
// to a quarter as long as a command.
type thread struct {
	nc *net.TCPConn // holds fd
	fd uintptr
}

// blocking makes of a new connection one whose thread waits for it.
func blocking(nc *net.TCPConn) (io.ReadWriteCloser, error) {
	raw, err := nc.SyscallConn()
	if err != nil {
		return nil, err
	}
	t := &thread{nc: nc}
	if ctlErr := raw.Control(func(fd uintptr) {
		t.fd = fd
		err = syscall.SetNonblock(int(fd), false)
	}); ctlErr != nil {
		return nil, ctlErr
	}
	return t, err
}

func (t *thread) Close() error { return t.nc.Close() }

func (t *thread) Read(p []byte) (int, error) {
	n, err := t.call(syscall.SYS_READ, p)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

func (t *thread) Write(p []byte) (sent int, err error) {
	for n := 0; sent < len(p) && err == nil; sent += n {
		n, err = t.call(syscall.SYS_WRITE, p[sent:])
	}
	return sent, err
}

func (t *thread) call(trap uintptr, p []byte) (int, error) {
	defer runtime.KeepAlive(t.nc)
	for {
		n, _, errno := syscall.RawSyscall(trap, t.fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}
