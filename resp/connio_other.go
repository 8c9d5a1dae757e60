//go:build !unix

package resp

import "net"

// newConnIO returns the best way to serve nc and its descriptor, -1 without
// one.
func newConnIO(nc net.Conn) (connIO, int) {
	if m, ok := nc.(*memConn); ok {
		return newMemIO(m), -1
	}
	return plainIO{netIO{nc}}, -1
}
