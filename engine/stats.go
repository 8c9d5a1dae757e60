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
	rewrites                   int64 // of the append-only file
	backgroundJobs             int64 // for which the server would have forked
	lazyFreed                  int64 // objects that the server would have freed in the background
	keysLoaded, keysLoadedLate int64 // by the last load; those whose time had passed were left out
	evictedScripts             int64
	evictedKeys                int64
	bytesIn, bytesOut          int64
	replicationOut             int64 // bytes of the stream, for all replicas
	fullSyncs                  int64
	partialSyncs               int64
	partialFailed              int64
	reads, writes              int64 // turns that found input, and that left output
	tooMuchInput               int64 // connections that were closed for that
	outputOverflows            int64 // connections that were closed as they did not read
	evictedClients             int64
	expireCapped               int64                    // times that not all that was due was done in one turn
	turns, turnUsec, turnMax   int64                    // turns of clients and of time, and their microseconds
	turnCommands               int64                    // the most commands in one turn
	commandUsec, dueUsec       int64                    // the parts of turnUsec for commands, and for what fell due
	expireUsec                 int64                    // the part of dueUsec that expired keys
	denied                     [deniedChannel + 1]int64 // by what was denied
}

// resetStats forgets all counters but the unsaved changes, what was loaded and the
// denials, as the server does.
func (co *core) resetStats() {
	old := &co.stats
	co.stats = serverStats{dirty: old.dirty, keysLoaded: old.keysLoaded, keysLoadedLate: old.keysLoadedLate,
		denied: old.denied, errorCodes: map[string]int64{}}
	co.rates = rates{at: co.now}
	clear(co.commandStats)
}

// turnStart is what a turn began with: the time and the number of commands until then.
type turnStart struct{ at, commands int64 }

// countTurn counts the turn that ends.
func (co *core) countTurn() {
	st, took := &co.stats, max(co.now-co.turn.at, 0)
	st.turns++
	st.turnUsec += took
	st.turnMax = max(st.turnMax, took)
	st.turnCommands = max(st.turnCommands, st.commands-co.turn.commands)
}

// countDue counts the time that it took to do what had fallen due, and to expire keys.
func (co *core) countDue(began moment, expired bool) {
	usec := max(co.clock.Now().UnixMicro()-began.at, 0)
	co.stats.dueUsec += usec
	if !expired {
		return
	}
	co.stats.expireUsec += usec
	if co.set.latencyThreshold > 0 {
		co.sample("expire-cycle", usec)
	}
}

// statsOf are the counters of a row.
func (co *core) statsOf(s *Spec) *commandStats {
	st := co.commandStats[s.id]
	if st == nil {
		st = &commandStats{}
		co.commandStats[s.id] = st
	}
	return st
}

// moment is when a command began: by the clock and by what commands had slept until then.
type moment struct{ at, slept int64 }

// moment is now. For a client's own command the time of the turn is good enough.
func (co *core) moment() moment {
	if co.depth == 0 {
		co.lap = lap{}
		return moment{co.now, co.slept}
	}
	return moment{co.lapTime(), co.slept}
}

// since is how many microseconds a command took that began at m. After a client's own
// command the engine's time moves on.
func (co *core) since(m moment) int64 {
	if co.depth == 0 {
		co.now = co.ticked.now + co.lapTime() - co.ticked.micros
		return max(co.now-m.at, 0) + co.slept - m.slept
	}
	co.lap = lap{co.clock.micros(), co.scriptWork()}
	return max(co.lap.at-m.at, 0) + co.slept - m.slept
}

// lap is when the last command of the script or transaction under way ended, and the work
// that the script had done by then.
type lap struct{ at, work int64 }

// littleWork, in instructions, takes less than the microsecond that times are told in.
const littleWork = 32

// lapTime is the time between two commands of a script or transaction.
func (co *core) lapTime() int64 {
	if co.lap.at != 0 && co.scriptWork()-co.lap.work <= littleWork {
		return co.lap.at
	}
	return co.clock.micros()
}

// scriptWork is what scripts have done so far, in instructions and their like.
func (co *core) scriptWork() int64 {
	if co.lua == nil {
		return 0
	}
	return co.lua.Work()
}

// charge books a command that is through and the microseconds that it took.
func (co *core) charge(s *Session, spec *Spec, args []string, failed bool, usec int64) {
	st := co.statsOf(spec)
	st.calls++
	if co.depth == 0 {
		co.stats.commandUsec += usec
	}
	st.usec += usec
	co.stats.commands++
	s.commands++
	if failed {
		st.failed++
	}
	if co.set.latencyTracking {
		if st.latency == nil {
			st.latency = &latencyHistogram{}
		}
		st.latency.add(usec)
	}
	if co.set.latencyThreshold > 0 {
		event := "command"
		if spec.Flags&Fast != 0 {
			event = "fast-command"
		}
		co.sample(event, usec)
	}
	if spec.Flags&SkipSlowlog == 0 {
		co.logSlow(s, spec, args, usec)
	}
}

// wallNow is the engine's time, DEBUG SLEEP of the command under way included.
func (co *core) wallNow() int64 {
	if co.stalled {
		return co.stallEnd.at
	}
	return co.now
}
