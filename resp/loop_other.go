//go:build !linux

package resp

import "net"

// serveSockets has nothing here that keeps the order of arrival: each socket gets a goroutine.
func (s *Server) serveSockets(net.Listener) (served bool, err error) { return false, nil }
