package resp

import (
	"errors"
	"sync"
	"sync/atomic"
)

// loop serves many connections on one goroutine, in the order in which their input
// arrived, as the server's event loop does. With a goroutine for each connection the
// scheduler would decide who is first, and that is mostly who came last.
//
// Only the goroutine that runs the loop touches the connections' loopState. It changes when
// a turn takes long: see handOver.
type loop struct {
	server  *Server
	poll    poller
	current atomic.Pointer[Conn] // whose turn is under way
	conns   map[int32]*Conn      // registered, by their ids
	lastID  int32
	room    [64]arrival
	arrived []arrival // reported and not served yet
	held    []*Conn   // whose output is held back until all that arrived is served
	here    bool      // it runs on a goroutine that must not be kept; see runHere
	reads   bool      // each turn looks for input, since the poller reports none

	mu     sync.Mutex
	posted []*Conn // to be served although the poller does not report them
	// roomForPosted is where posted begins after it was empty: mostly it has one at a time.
	roomForPosted [4]*Conn
	asleep        bool                  // the poller must be woken
	open          int                   // connections that it serves or will serve, and listeners
	accepts       map[int32]func() bool // by the negative ids of listeners
	lastLn        int32
	closing       bool // ends once there are none
}

// loopState is what a loop knows of a connection.
type loopState struct {
	id       int32 // 0 before it is registered
	finished bool
	over     bool // it is to be finished
	more     bool // there may be input of which no report will come
	brief    bool // its turn must not keep the goroutine
	held     heldOutput
	started  bool // guarded by loop.mu, like posted
	posted   bool
	away     atomic.Bool // its turn goes on in a goroutine that has lost the loop
}

// poller tells which connections have input.
type poller interface {
	// add registers a connection under an id. An error means that it is closed.
	add(c *Conn, id int32) error
	// watch turns reports for a registered connection on or off.
	watch(c *Conn, on bool)
	remove(c *Conn)
	// ready appends the connections that have new input, or its end, in the order of arrival.
	// If there are none it waits for some, or for wake, unless it must not wait. What is not
	// read then is not reported again. It is false, at once, if the goroutine is to end, since
	// wake will start another; the loop is not its own any more.
	ready(list []arrival, wait bool) ([]arrival, bool)
	wake()
	close()
}

// arrival is a poller's report.
type arrival struct {
	id  int32
	end bool // of the input; there may be bytes before it
}

// errNoInput is the error of a read that does not wait when nothing is there.
var errNoInput = errors.New("resp: no input")

func newLoop(s *Server, p poller) *loop {
	l := &loop{server: s, poll: p, conns: map[int32]*Conn{}, accepts: map[int32]func() bool{}}
	s.running.Add(1)
	go l.run()
	return l
}

// expect makes the loop wait for a connection that will be started or dropped, or for a
// listener.
func (l *loop) expect() {
	l.mu.Lock()
	l.open++
	l.mu.Unlock()
}

// drop ends what expect began.
func (l *loop) drop() { l.change(func() { l.open-- }) }

// end makes the loop end when its last connection is gone.
func (l *loop) end() { l.change(func() { l.closing = true }) }

// start makes the loop serve c, whose session is there, from now on.
func (l *loop) start(c *Conn) {
	l.mu.Lock()
	c.inLoop.started = true
	l.mu.Unlock()
	l.post(c)
}

// begin is start for a connection, if there is one, that the loop itself has accepted. It is
// false if the loop was handed over meanwhile, as in serve.
func (l *loop) begin(c *Conn) bool {
	if c == nil {
		return true
	}
	if !c.served() {
		c.start()
		return true
	}
	l.mu.Lock()
	c.inLoop.started = true
	l.mu.Unlock()
	return l.serve(c, false, false)
}

// listen returns the negative id under which the poller is to report a listener. Then the
// loop calls accept, which is false if the loop was handed over meanwhile.
func (l *loop) listen(accept func() bool) int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastLn--
	l.accepts[l.lastLn] = accept
	return l.lastLn
}

// listenNoMore ends what listen and expect began.
func (l *loop) listenNoMore(id int32) {
	l.change(func() {
		delete(l.accepts, id)
		l.open--
	})
}

func (l *loop) acceptFrom(id int32) bool {
	l.sendHeld() // a new session may have to wait for the engine
	l.mu.Lock()
	accept := l.accepts[id]
	l.mu.Unlock()
	return accept == nil || accept()
}

// post makes the loop serve c soon. It may be called from any goroutine; before start it
// does nothing.
func (l *loop) post(c *Conn) {
	if l.list(c) {
		l.poll.wake()
	}
}

// list is post up to the poller's wake-up, which is left to the caller if it is true.
func (l *loop) list(c *Conn) (wake bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.inLoop.started || c.inLoop.posted {
		return false
	}
	c.inLoop.posted = true
	l.posted = append(l.posted, c)
	return l.rouse()
}

// change calls f with the lock held and wakes the poller.
func (l *loop) change(f func()) {
	l.mu.Lock()
	f()
	wake := l.rouse()
	l.mu.Unlock()
	if wake {
		l.poll.wake()
	}
}

// rouse makes its caller, who holds the lock, wake the poller if that must be.
func (l *loop) rouse() (wake bool) {
	wake, l.asleep = l.asleep, false
	if wake && l.reads {
		l.server.running.Add(1) // while a connection that is not through keeps it above zero
	}
	return wake
}

// run is the loop's goroutine. It serves until the loop ends or is handed over.
func (l *loop) run() {
	done := false
	defer l.stop(&done)
	growStack(0)
	l.here = false
	for l.serveArrived() && l.servePosted() {
		l.sendHeld()
		if !l.wait() {
			break
		}
	}
	done = true
}

// growStack makes room on the stack while there is little on it to be copied: a turn needs
// more than goroutines begin with. A new server's first command took a tenth longer.
//
//go:noinline
func growStack(i int) byte {
	var room [6 << 10]byte
	return room[i]
}

// stop is the end of a goroutine that runs the loop. If it is not done another one goes on,
// also if a turn called runtime.Goexit, as the log of a test that fails may.
func (l *loop) stop(done *bool) {
	if *done {
		l.server.running.Done()
		return
	}
	l.current.Store(nil)
	go l.run()
}

// sendHeld sends the output of all that were served. The first reply may wake a client in
// another process, which costs more than the command did; the others find it awake.
func (l *loop) sendHeld() {
	for i, c := range l.held {
		l.held[i] = nil
		if !c.inLoop.away.Load() { // else that was done before its turn began
			c.sendHeld()
		}
	}
	l.held = l.held[:0]
}

// serveArrived serves what the poller has reported. It is false if the loop was handed over:
// the rest is for whoever has it then.
func (l *loop) serveArrived() bool {
	for len(l.arrived) > 0 {
		a := l.arrived[0]
		l.arrived = l.arrived[1:]
		if a.id < 0 {
			if !l.acceptFrom(a.id) {
				return false
			}
		} else if c := l.conns[a.id]; c != nil && !l.serve(c, true, a.end) {
			return false
		}
	}
	return true
}

// wait waits for input or for a post. It is false at the end.
func (l *loop) wait() bool {
	l.mu.Lock()
	nothing := len(l.posted) == 0
	end := nothing && l.closing && l.open == 0
	l.asleep = nothing && !end
	l.mu.Unlock()
	if end {
		l.poll.close()
		return false
	}
	arrived, ok := l.poll.ready(l.room[:0], nothing)
	if !ok {
		return false
	}
	l.arrived = arrived
	l.mu.Lock()
	l.asleep = false
	l.mu.Unlock()
	return true
}

// servePosted serves what was posted until now. It is false if the loop was handed over.
func (l *loop) servePosted() bool {
	l.mu.Lock()
	n := len(l.posted)
	l.mu.Unlock()
	for ; n > 0; n-- {
		if !l.serve(l.takePosted(), false, false) {
			return false
		}
	}
	return true
}

// takePosted takes the first of those that are posted.
func (l *loop) takePosted() *Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.posted[0]
	l.posted[0] = nil
	if l.posted = l.posted[1:]; len(l.posted) == 0 {
		l.posted = l.roomForPosted[:0]
	}
	c.inLoop.posted = false
	return c
}

// serve gives a connection a turn, which may be readable up to its end. It is false if the
// loop was handed over meanwhile.
func (l *loop) serve(c *Conn, readable, end bool) bool {
	if c.inLoop.away.Load() || c.inLoop.finished {
		return true
	}
	c.inLoop.more = c.inLoop.more || end
	if c.inLoop.over || c.inLoop.id == 0 && !l.register(c) {
		l.finish(c)
		return true
	}
	c.inLoop.brief = l.here
	l.current.Store(c)
	goOn := c.safeStep(readable || l.reads || c.inLoop.more)
	switch {
	case !l.current.CompareAndSwap(c, nil):
		c.sendHeld()
		l.comeBack(c, goOn)
		return false
	case !goOn:
		l.finish(c)
		return true
	case l.here && !c.inLoop.brief:
		l.leave(c)
	case c.inLoop.more:
		l.post(c)
	}
	if c.inLoop.held.spare != nil {
		l.held = append(l.held, c)
	}
	return true
}

// register makes the poller report c from now on.
func (l *loop) register(c *Conn) bool {
	l.lastID++
	for l.conns[l.lastID] != nil || l.lastID <= 0 { // after two billion connections
		l.lastID = max(l.lastID+1, 1)
	}
	if c.dead.Load() || l.poll.add(c, l.lastID) != nil {
		return false
	}
	c.inLoop.id = l.lastID
	l.conns[l.lastID] = c
	return true
}

// leave leaves a connection to another goroutine.
func (l *loop) leave(c *Conn) {
	l.here = false
	l.post(c)
}

// finish ends a connection that will have no turn any more.
func (l *loop) finish(c *Conn) {
	if l.here { // it waits for the engine
		c.inLoop.over = true
		l.leave(c)
		return
	}
	c.inLoop.finished = true
	c.sendHeld()
	if c.inLoop.id != 0 {
		l.poll.remove(c)
		delete(l.conns, c.inLoop.id)
	}
	c.guard(c.session.Close)
	l.change(func() {
		c.inLoop.started = false // what is posted from now on is too late
		l.open--
	})
	if c.writer() == nil {
		c.end()
		return
	}
	go c.end() // there is output that the peer has not taken
}

// handOver lets another goroutine go on with the loop while a turn is under way that takes
// long. The turn's own goroutine loses the loop; its connection is served again when the
// turn is over.
func (l *loop) handOver() {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.current.Swap(nil)
	if c == nil {
		return
	}
	c.inLoop.away.Store(true)
	l.poll.watch(c, false)
	l.server.running.Add(1)
	go l.run()
}

// comeBack ends what handOver began.
func (l *loop) comeBack(c *Conn, goOn bool) {
	l.mu.Lock() // handOver may be called by another turn, and must be through
	c.inLoop.over = !goOn
	c.inLoop.away.Store(false)
	l.poll.watch(c, true)
	l.mu.Unlock()
	l.post(c)
}
