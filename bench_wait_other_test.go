//go:build !unix

package echomqsim_test

import (
	"io"
	"net"
)

// blocking leaves the waiting to the runtime, where the system is not known.
func blocking(nc *net.TCPConn) (io.ReadWriteCloser, error) { return nc, nil }
