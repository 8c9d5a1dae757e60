package resp

import (
	"net"
	"syscall"
	"testing"
	"time"
)

func TestKeepAlive(t *testing.T) {
	_, server := acceptedPair(t, transports[0])
	raw, err := server.nc.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	wantKeepAlive(t, server, func(level, name int) (value int, err error) {
		raw.Control(func(fd uintptr) { value, err = syscall.GetsockoptInt(int(fd), level, name) })
		return value, err
	})
	_, memory := acceptedPair(t, transports[2])
	memory.KeepAlive(time.Minute) // nothing to probe
}

// wantKeepAlive sets and clears it; get reads a socket option.
func wantKeepAlive(t *testing.T, server *Conn, get func(level, name int) (int, error)) {
	t.Helper()
	option := func(level, name int) int {
		value, err := get(level, name)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	server.KeepAlive(60 * time.Second)
	on, idle := option(syscall.SOL_SOCKET, syscall.SO_KEEPALIVE), option(syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE)
	every, count := option(syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL), option(syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT)
	if on != 1 || idle != 60 || every != 20 || count != 3 {
		t.Errorf("on %d, after %d s, every %d s, %d times", on, idle, every, count)
	}
	server.KeepAlive(0)
	if on := option(syscall.SOL_SOCKET, syscall.SO_KEEPALIVE); on != 0 {
		t.Error("not off")
	}
}
