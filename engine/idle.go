package engine

// watchIdle makes sure that idle clients are looked for if there is a timeout.
func (co *core) watchIdle() {
	if co.set.idleSeconds > 0 && co.idleEnd == nil {
		co.idleEnd = co.deadlines.set((co.now/1e6+co.set.idleSeconds+1)*1e6, co.closeIdle)
	}
}

// applyIdleTimeout makes a new timeout hold for all clients.
func (co *core) applyIdleTimeout() {
	if co.idleFor == co.set.idleSeconds {
		return
	}
	co.idleFor = co.set.idleSeconds
	co.deadlines.cancel(co.idleEnd)
	co.idleEnd = nil
	if co.idleFor > 0 {
		co.idleEnd = co.deadlines.set(co.now, co.closeIdle)
	}
}

// closeIdle closes the clients that have been silent for longer than the timeout, in whole
// seconds, and comes back when the next one may be due. Without any that may, the next turn
// of a client begins anew.
func (co *core) closeIdle() {
	co.idleEnd = nil
	if co.cronPaused {
		co.idleEnd = co.deadlines.set(co.now+1e6, co.closeIdle)
		return
	}
	sec, next := co.now/1e6, int64(0)
	for _, s := range co.clients() {
		if !s.mayTimeOut() {
			continue
		}
		at := s.lastSeen/1e6 + co.set.idleSeconds + 1
		if at <= sec {
			co.log(LogVerbose, "Closing idle client")
			s.kill(false)
		} else if next == 0 || at < next {
			next = at
		}
	}
	if next > 0 {
		co.idleEnd = co.deadlines.set(next*1e6, co.closeIdle)
	}
}

// mayTimeOut reports whether the client is one of those that are expected to say something.
func (s *Session) mayTimeOut() bool {
	return s.conn != nil && s.held == nil && !s.subscribed() && !s.monitor
}
