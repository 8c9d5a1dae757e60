package resp

import (
	"os"
	"syscall"
	"time"
	"unsafe"
)

// epoll is a poller of sockets. The kernel lists them in the order in which their input
// arrived.
//
// It waits in the kernel, where it takes a thread but is awake at once. If nothing comes for
// a while it waits as goroutines do, without a thread: it is a descriptor that can be polled
// as well.
type epoll struct {
	fd           int
	wakeR, wakeW int      // a pipe
	parked       *os.File // another epoll, which knows of this one while the runtime waits for it
	parkedRaw    syscall.RawConn
	events       [64]syscall.EpollEvent
	n            int
	look         func(fd uintptr) bool
}

const (
	wakeID = 0 // the pipe's; connections have positive ids, listeners negative ones

	// idleMillis is how long a loop keeps its thread when nothing comes.
	idleMillis = 10
)

// newPoller returns an error if the system has none to give.
func newPoller() (*epoll, error) {
	p := &epoll{fd: -1, wakeR: -1, wakeW: -1}
	if err := p.open(); err != nil {
		p.close()
		return nil, err
	}
	p.look = func(uintptr) bool { return p.poll() }
	return p, nil
}

func (p *epoll) open() (err error) {
	if p.fd, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return err
	}
	var pipe [2]int
	if err = syscall.Pipe2(pipe[:], syscall.O_NONBLOCK|syscall.O_CLOEXEC); err != nil {
		return err
	}
	p.wakeR, p.wakeW = pipe[0], pipe[1]
	if err = p.control(syscall.EPOLL_CTL_ADD, p.wakeR, syscall.EPOLLIN, wakeID); err != nil {
		return err
	}
	outer, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	syscall.SetNonblock(outer, true) // tells os.NewFile that it can be waited for
	p.parked = os.NewFile(uintptr(outer), "epoll")
	if p.parkedRaw, err = p.parked.SyscallConn(); err == nil {
		err = p.parked.SetReadDeadline(time.Time{}) // fails where the runtime can't wait for it
	}
	return err
}

func (p *epoll) control(op, fd int, events uint32, id int32) error {
	return syscall.EpollCtl(p.fd, op, fd, &syscall.EpollEvent{Events: events, Fd: id})
}

// reports are edge-triggered: with the other kind a connection that was served keeps its
// place in the kernel's list for a while, ahead of others whose input comes earlier.
const reports uint32 = syscall.EPOLLIN | syscall.EPOLLRDHUP | 1<<31 // EPOLLET, whose sign differs between systems

func (p *epoll) add(c *Conn, id int32) error {
	return p.control(syscall.EPOLL_CTL_ADD, c.io.(*socket).fd, reports, id)
}

// watch removes it altogether, since hang-ups are reported in any case.
func (p *epoll) watch(c *Conn, on bool) {
	if on {
		p.add(c, c.inLoop.id)
	} else {
		p.remove(c)
	}
}

func (p *epoll) remove(c *Conn) { p.control(syscall.EPOLL_CTL_DEL, c.io.(*socket).fd, 0, 0) }

func (p *epoll) ready(list []arrival, wait bool) []arrival {
	if !p.poll() && wait && !p.sleep() {
		p.park()
	}
	for _, e := range p.events[:p.n] {
		if e.Fd == wakeID {
			var b [64]byte
			syscall.Read(p.wakeR, b[:])
			continue
		}
		list = append(list, arrival{e.Fd, e.Events&^syscall.EPOLLIN != 0})
	}
	return list
}

// poll looks what there is. The runtime need not know of a call that returns at once.
func (p *epoll) poll() bool {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events)), uintptr(len(p.events)), 0, 0, 0)
	if p.n = int(n); errno != 0 {
		p.n = 0
	}
	return p.n > 0
}

// sleep waits for a while.
func (p *epoll) sleep() bool {
	n, _ := syscall.EpollWait(p.fd, p.events[:], idleMillis)
	p.n = max(n, 0)
	return p.n > 0
}

// park waits as long as it takes.
func (p *epoll) park() {
	outer := func(op int) {
		p.parkedRaw.Control(func(fd uintptr) {
			syscall.EpollCtl(int(fd), op, p.fd, &syscall.EpollEvent{Events: syscall.EPOLLIN})
		})
	}
	outer(syscall.EPOLL_CTL_ADD)
	p.parkedRaw.Read(p.look)
	outer(syscall.EPOLL_CTL_DEL)
}

func (p *epoll) wake() { syscall.Write(p.wakeW, []byte{0}) } // a full pipe wakes as well

func (p *epoll) close() {
	for _, fd := range []int{p.fd, p.wakeR, p.wakeW} {
		if fd >= 0 {
			syscall.Close(fd)
		}
	}
	if p.parked != nil {
		p.parked.Close()
	}
}
