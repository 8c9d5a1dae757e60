package resp

import (
	"net"
	"syscall"
)

// HungUp reports whether the peer will send nothing more, as far as this can be told
// without reading: the end of the input may not have been read yet. A half-closed
// connection counts, as the server closes it too. It costs a system call.
func (c *Conn) HungUp() bool { return c.dead.Load() || c.io.hungUp() }

func hungUp(nc net.Conn) bool {
	switch nc := nc.(type) {
	case *memConn:
		return nc.hungUp()
	case syscall.Conn:
		raw, err := nc.SyscallConn()
		if err != nil {
			return true // closed on this side
		}
		gone := false
		err = raw.Control(func(fd uintptr) { gone = socketHungUp(int(fd)) })
		return gone || err != nil
	}
	return false
}
