//go:build unix && !linux

package resp

import "syscall"

// socketHungUp looks at the input without taking it. An end behind bytes that are still to
// be read is not seen.
func socketHungUp(fd int) bool {
	var b [1]byte
	for {
		n, _, err := syscall.Recvfrom(fd, b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		switch err {
		case syscall.EINTR:
			continue
		case nil:
			return n == 0
		case syscall.EAGAIN:
			return false
		}
		return true
	}
}
