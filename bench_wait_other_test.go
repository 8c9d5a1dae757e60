//go:build !unix

package echomqsim_test

import (
	"io"
	"net"
)

// blocking and looking leave the waiting to the runtime, where the system is not known.
func blocking(nc *net.TCPConn) (io.ReadWriteCloser, error) { return nc, nil }
func looking(nc *net.TCPConn) (io.ReadWriteCloser, error)  { return nc, nil }
