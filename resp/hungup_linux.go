package resp

import (
	"syscall"
	"unsafe"
)

// pollFD is the kernel's struct pollfd. The bits of poll are those of epoll.
type pollFD struct {
	fd              int32
	events, revents int16
}

// socketHungUp asks the kernel whether the end of the input has arrived, also behind
// bytes that are still to be read.
func socketHungUp(fd int) bool {
	const ends = syscall.EPOLLRDHUP | syscall.EPOLLHUP | syscall.EPOLLERR
	p := pollFD{fd: int32(fd), events: syscall.EPOLLRDHUP}
	var now syscall.Timespec
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
		if errno != syscall.EINTR {
			return errno == 0 && p.revents&ends != 0
		}
	}
}
