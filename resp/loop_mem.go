package resp

import "sync"

// memPoller is a poller of connections in memory.
type memPoller struct {
	mu      sync.Mutex
	changed sync.Cond
	arrived []*memInput // in the order of arrival
	woken   bool
}

// memInput is what a memPoller knows of a connection.
type memInput struct {
	id     int32
	listed bool // it is in arrived
}

func newMemPoller() poller {
	p := &memPoller{}
	p.changed.L = &p.mu
	return p
}

func (p *memPoller) add(c *Conn, id int32) error {
	in := &memInput{id: id}
	c.io.(memIO).in.tellArrivals(func() { p.note(in) })
	return nil
}

func (p *memPoller) watch(c *Conn, on bool) {
	if on {
		p.add(c, c.inLoop.id)
		return
	}
	c.io.(memIO).in.tellArrivals(nil)
}

func (p *memPoller) remove(c *Conn) { p.watch(c, false) }

// note lists a connection that has input.
func (p *memPoller) note(in *memInput) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !in.listed {
		in.listed = true
		p.arrived = append(p.arrived, in)
		p.changed.Signal()
	}
}

func (p *memPoller) ready(list []arrival, wait bool) []arrival {
	p.mu.Lock()
	defer p.mu.Unlock()
	for wait && len(p.arrived) == 0 && !p.woken {
		p.changed.Wait()
	}
	p.woken = false
	n := min(len(p.arrived), cap(list))
	for i, in := range p.arrived[:n] {
		in.listed = false
		list = append(list, arrival{id: in.id})
		p.arrived[i] = nil
	}
	if p.arrived = p.arrived[n:]; len(p.arrived) == 0 {
		p.arrived = nil
	}
	return list
}

func (p *memPoller) wake() {
	p.mu.Lock()
	p.woken = true
	p.changed.Signal()
	p.mu.Unlock()
}

func (p *memPoller) close() {}
