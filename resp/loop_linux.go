package resp

import (
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// epoll is a poller of sockets. The kernel lists them in the order in which their input
// arrived.
//
// It waits as goroutines do, for it is itself a descriptor that the runtime can wait for:
// then a client in this process and the server take turns without sleeping, which is five
// times as fast for a command at a time. Or it waits in the kernel, on a thread of its own:
// then a client in another process wakes it and nothing else of the runtime; a command at a
// time costs two thirds of the processor time so.
type epoll struct {
	fd           int
	wakeR, wakeW int      // a pipe
	file         *os.File // fd, where the runtime waits for it; else nil
	raw          syscall.RawConn
	events       [64]syscall.EpollEvent
	n            int
	wait         bool
	patience     patience // where it waits on a thread of its own
	onRead       func(fd uintptr) bool
}

const wakeID = 0 // the pipe's; connections have positive ids, listeners negative ones

// newPoller returns an error if the system has none to give.
func newPoller(ownThread bool) (*epoll, error) {
	p := &epoll{fd: -1, wakeR: -1, wakeW: -1}
	if runtime.GOMAXPROCS(0) > 1 { // else it would keep the client from running
		p.patience.most = mostLooks
	}
	p.onRead = func(uintptr) bool { return p.poll() || !p.wait }
	if err := p.open(ownThread); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *epoll) open(ownThread bool) (err error) {
	if p.fd, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return err
	}
	var pipe [2]int
	if err = syscall.Pipe2(pipe[:], syscall.O_NONBLOCK|syscall.O_CLOEXEC); err != nil {
		return err
	}
	p.wakeR, p.wakeW = pipe[0], pipe[1]
	if err = p.control(syscall.EPOLL_CTL_ADD, p.wakeR, syscall.EPOLLIN, wakeID); err != nil || ownThread {
		return err
	}
	syscall.SetNonblock(p.fd, true) // tells os.NewFile that it can be waited for
	p.file = os.NewFile(uintptr(p.fd), "epoll")
	if p.raw, err = p.file.SyscallConn(); err == nil {
		err = p.file.SetReadDeadline(time.Time{}) // fails where the runtime can't wait for it
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

func (p *epoll) ready(list []arrival, wait bool) ([]arrival, bool) {
	p.wait = wait
	alone := p.n == 1 // the client that was served last
	switch {
	case p.file != nil:
		p.raw.Read(p.onRead)
	case !p.poll() && wait && !(alone && p.patience.reward(p.poll)):
		n, _ := syscall.EpollWait(p.fd, p.events[:], -1)
		p.n = max(n, 0)
	}
	for _, e := range p.events[:p.n] {
		if e.Fd == wakeID {
			var b [64]byte
			syscall.Read(p.wakeR, b[:])
			continue
		}
		list = append(list, arrival{e.Fd, e.Events&^syscall.EPOLLIN != 0})
	}
	return list, true
}

// poll looks what there is. The runtime need not know of a call that returns at once.
func (p *epoll) poll() bool {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events)), uintptr(len(p.events)), 0, 0, 0)
	if p.n = int(n); errno != 0 {
		p.n = 0
	}
	return p.n > 0
}

func (p *epoll) wake() { syscall.Write(p.wakeW, []byte{0}) } // a full pipe wakes as well

func (p *epoll) close() {
	if p.file != nil {
		p.file.Close() // and fd
		p.fd = -1
	}
	for _, fd := range []int{p.fd, p.wakeR, p.wakeW} {
		if fd >= 0 {
			syscall.Close(fd)
		}
	}
}
