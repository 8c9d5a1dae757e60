package engine

// serverStats are the counters behind INFO.
type serverStats struct {
	connections, rejectedConns int64
	commands, errors           int64
	errorCodes                 map[string]int64
	hits, misses               int64
	expiredKeys, expiredFields int64
	dirty                      int64 // changes since everything was saved last, or since the start
	saves                      int64
	keysLoaded, keysLoadedLate int64 // by the last load; those whose time had passed were left out
	evictedScripts             int64
	evictedKeys                int64
	bytesIn, bytesOut          int64
	denied                     [deniedChannel + 1]int64 // by what was denied
}

// resetStats forgets all counters but the unsaved changes, what was loaded and the
// denials, as the server does.
func (co *core) resetStats() {
	old := &co.stats
	co.stats = serverStats{dirty: old.dirty, keysLoaded: old.keysLoaded, keysLoadedLate: old.keysLoadedLate,
		denied: old.denied, errorCodes: map[string]int64{}}
	clear(co.commandStats)
}

// statsOf are the counters of a row.
func (co *core) statsOf(s *Spec) *commandStats { return &co.commandStats[s.id] }

// charge books the time since started on the command that has just run.
func (co *core) charge(started int64) {
	if co.lastCall == nil {
		return
	}
	st := co.statsOf(co.lastCall)
	co.lastCall = nil
	usec := max(co.now-started, 0)
	st.usec += usec
	if !co.set.latencyTracking {
		return
	}
	if st.latency == nil {
		st.latency = &latencyHistogram{}
	}
	st.latency.add(usec)
}
