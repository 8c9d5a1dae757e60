package resp

// A loop of connections in memory has no goroutine while there is nothing to do. What has
// input is posted to it, and then a goroutine is started, or the client that has written runs
// the loop itself and finds its reply there: two switches between goroutines cost more than
// most commands do.

// memPoller is the poller of such a loop. It has nothing to report.
type memPoller struct{ loop *loop }

func newMemLoop(s *Server) *loop {
	l := &loop{server: s, conns: map[int32]*Conn{}, reads: true, asleep: true}
	l.poll = memPoller{l}
	return l
}

func (memPoller) add(c *Conn, _ int32) error {
	c.io.(memIO).in.tellArrivals(c)
	return nil
}

func (memPoller) remove(c *Conn) { c.io.(memIO).in.tellArrivals(nil) }

func (memPoller) watch(*Conn, bool) {} // a turn that comes back looks for input

func (memPoller) ready(list []arrival, wait bool) ([]arrival, bool) { return list, !wait }

func (p memPoller) wake() { go p.loop.run() } // rouse has counted it

func (memPoller) close() {}

// maxHere is how many turns of others a client may have to run.
const maxHere = 64

// runHere runs the loop, which was asleep, on the goroutine of a client. That must not be
// kept: what may last, or has to wait for the engine, is left to a goroutine.
func (l *loop) runHere() {
	done := false
	defer l.stop(&done)
	l.here = true
	for n := 0; n < maxHere && l.here; n++ {
		if done = !l.serve(l.takePosted(), false, false); done {
			return
		}
		l.sendHeld()
		if done = !l.wait(); done {
			return
		}
	}
}
