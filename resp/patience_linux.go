package resp

// patience is how often a poller looks again before it sleeps. Who sends a command at a time
// mostly has the next one ready sooner than the system puts a thread to sleep and wakes it,
// which is a quarter of the time of such a command. How often to look is learned, without a
// clock, so that a client that takes longer costs next to nothing.
type patience struct {
	most  int // never so often that it matters to others
	looks int // at the next wait
	waits uint
}

const (
	mostLooks = 64 // 10 to 70 us
	// At each so many waits it looks as often as it may, whatever it has learned.
	freshTry = 64
	// It looks so often more than twice as often as was enough.
	someMore = 8
)

// reward reports whether look was true before patience ended.
func (p *patience) reward(look func() bool) bool {
	looks := p.looks
	if p.waits++; p.waits%freshTry == 0 {
		looks = p.most
	}
	for i := range looks {
		if look() {
			p.looks = max(p.looks, min(2*i+someMore, p.most))
			return true
		}
	}
	p.looks -= (p.looks + 3) / 4
	return false
}
