package resp

import (
	"os"
	"syscall"
	"time"
)

// epoll is a poller of sockets. The kernel lists them in the order in which their input
// arrived. It is itself a descriptor that the runtime can wait for, so waiting takes no thread.
type epoll struct {
	file   *os.File
	raw    syscall.RawConn
	events [64]syscall.EpollEvent
	n      int
	wait   bool
	onRead func(fd uintptr) bool
}

// newPoller returns nil if the system has none to give.
func newPoller() poller {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil
	}
	syscall.SetNonblock(fd, true) // tells os.NewFile that it can be waited for
	p := &epoll{file: os.NewFile(uintptr(fd), "epoll")}
	if p.raw, err = p.file.SyscallConn(); err == nil {
		err = p.file.SetReadDeadline(time.Time{}) // fails where the runtime can't wait for it
	}
	if err != nil {
		p.file.Close()
		return nil
	}
	p.onRead = func(fd uintptr) bool {
		n, err := syscall.EpollWait(int(fd), p.events[:], 0)
		for err == syscall.EINTR {
			n, err = syscall.EpollWait(int(fd), p.events[:], 0)
		}
		p.n = max(n, 0)
		return n > 0 || !p.wait
	}
	return p
}

func (p *epoll) add(c *Conn, id int32) error { return p.control(c, syscall.EPOLL_CTL_ADD, id) }

// watch removes it altogether, since hang-ups are reported in any case.
func (p *epoll) watch(c *Conn, on bool) {
	op := syscall.EPOLL_CTL_DEL
	if on {
		op = syscall.EPOLL_CTL_ADD
	}
	p.control(c, op, c.inLoop.id) // fails if it is closed: it needs nothing then
}

func (p *epoll) remove(c *Conn) { p.watch(c, false) }

// reports are edge-triggered: with the other kind a connection that was served keeps its
// place in the kernel's list for a while, ahead of others whose input comes earlier.
const reports uint32 = syscall.EPOLLIN | syscall.EPOLLRDHUP | 1<<31 // EPOLLET, whose sign differs between systems

func (p *epoll) control(c *Conn, op int, id int32) (err error) {
	e := p.raw.Control(func(epfd uintptr) {
		e := c.io.(*socketIO).raw.Control(func(fd uintptr) {
			err = syscall.EpollCtl(int(epfd), op, int(fd), &syscall.EpollEvent{Events: reports, Fd: id})
		})
		if e != nil {
			err = e
		}
	})
	if e != nil {
		err = e
	}
	return err
}

func (p *epoll) ready(list []arrival, wait bool) []arrival {
	p.n, p.wait = 0, wait
	if err := p.raw.Read(p.onRead); err != nil { // woken, now or before
		p.file.SetReadDeadline(time.Time{})
	}
	for _, e := range p.events[:p.n] {
		list = append(list, arrival{e.Fd, e.Events&^syscall.EPOLLIN != 0})
	}
	return list
}

func (p *epoll) wake() { p.file.SetReadDeadline(time.Unix(1, 0)) }

func (p *epoll) close() { p.file.Close() }
