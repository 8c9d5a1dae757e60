package engine

import (
	"slices"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

// replica is what a client has said about itself with REPLCONF, and what is known of it
// since it asked for the stream.
type replica struct {
	port        int64
	ip          string
	psync2      bool // it takes +CONTINUE with an id
	onlyRDB     bool // it wants no stream
	noData      bool // nor keys
	noFunctions bool
	online      bool
	silent      bool  // it came by SYNC and acknowledges nothing
	acked       int64 // offset of the stream up to which it has everything
	ackedFile   int64 // and has it in its append-only file
	heardFrom   int64 // Unix microseconds
}

// isReplica reports whether the client gets the stream of changes.
func (s *Session) isReplica() bool { return s.replica != nil && s.replica.online }

// about is what is noted of the client as a replica.
func (s *Session) about() *replica {
	if s.replica == nil {
		s.replica = &replica{}
	}
	return s.replica
}

// attach makes the client a replica.
func (s *Session) attach() {
	co, r := s.core, &s.core.repl
	about := s.about()
	about.online, about.heardFrom = true, co.now
	if !r.streams() {
		r.backlog, r.db = []byte{}, noDB
	}
	co.deadlines.cancel(r.forget)
	r.forget = nil
	r.replicas = append(r.replicas, s)
	r.most = co.tunedNumber("repl-backlog-size")
	if r.cron == nil {
		r.seconds = 0
		co.armCron()
	}
}

// detach forgets the client as a replica.
func (s *Session) detach() {
	if !s.isReplica() {
		return
	}
	co, r := s.core, &s.core.repl
	s.replica.online = false
	i := slices.Index(r.replicas, s)
	r.replicas = slices.Delete(r.replicas, i, i+1)
	if len(r.replicas) > 0 {
		return
	}
	co.deadlines.cancel(r.cron)
	r.cron = nil
	if sec := co.tunedNumber("repl-backlog-ttl"); sec > 0 {
		r.forget = co.deadlines.set(co.now+min(sec, maxStallUsec/1e6)*1e6, co.forgetBacklog)
	}
}

func (co *core) armCron() { co.repl.cron = co.deadlines.set(co.now+1e6, co.replicationCron) }

// replicationCron runs each second while there are replicas. It pings them from time to
// time, and disconnects those that are silent for too long.
func (co *core) replicationCron() {
	r := &co.repl
	co.armCron()
	if co.cronPaused {
		return
	}
	r.seconds++
	r.most = co.tunedNumber("repl-backlog-size")
	if r.seconds%co.tunedNumber("repl-ping-replica-period") == 0 {
		co.sendStream(resp.AppendRequest(nil, "PING"))
	}
	timeout := co.tunedNumber("repl-timeout")
	for _, s := range slices.Clone(r.replicas) {
		if !s.replica.silent && co.lagSec(s) > timeout {
			co.log(LogWarning, "Disconnecting timedout replica (streaming sync): "+s.addr())
			s.kill(false)
		}
	}
}

// pushStream sends bytes of the stream to the client.
func (s *Session) pushStream(b []byte) {
	if s.cut {
		return
	}
	s.out = append(s.out, b...)
	s.checkOutput()
	s.core.stats.replicationOut += int64(len(b))
	s.conn.Kick()
}

// replicaAddr is where the replica says it listens.
func (s *Session) replicaAddr() (ip string, port int64) {
	if s.replica.ip != "" {
		return s.replica.ip, s.replica.port
	}
	ip = s.addr()
	if i := strings.LastIndexByte(ip, ':'); i >= 0 {
		ip = ip[:i]
	}
	return strings.Trim(ip, "[]"), s.replica.port
}

// goodReplicas counts the replicas that were heard of not longer ago than min-replicas-max-lag.
func (co *core) goodReplicas() (n int) {
	for _, s := range co.repl.replicas {
		if co.lagSec(s) <= int64(co.set.minReplicasMaxLag) {
			n++
		}
	}
	return n
}

func (co *core) lagSec(s *Session) int64 { return co.now/1e6 - s.replica.heardFrom/1e6 }

// enoughReplicas reports whether min-replicas-to-write lets commands write.
func (co *core) enoughReplicas() bool {
	return co.set.minReplicas == 0 || co.set.minReplicasMaxLag == 0 || co.goodReplicas() >= co.set.minReplicas
}

// countAcks is how many replicas have the stream up to offset, or have it in their files.
func (r *replication) countAcks(offset int64, file bool) (n int64) {
	for _, s := range r.replicas {
		if acked := s.replica.acked; !file && acked >= offset || file && s.replica.ackedFile >= offset {
			n++
		}
	}
	return n
}

// askForAcks makes the replicas tell at once how far they are.
func (co *core) askForAcks() {
	if len(co.repl.replicas) > 0 {
		co.sendStream(resp.AppendRequest(nil, "REPLCONF", "GETACK", "*"))
	}
}

// serveWaiting answers clients in WAIT for which enough replicas are far enough.
func (co *core) serveWaiting() {
	for _, s := range slices.Clone(co.repl.waiting) {
		if v, enough := s.held.blocked.acks(); enough {
			s.giveUp(v)
		}
	}
}

// stopWaiting takes a client out of the list of those in WAIT.
func (r *replication) stopWaiting(s *Session) {
	if len(r.waiting) == 0 {
		return
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(w *Session) bool { return w == s })
}

// snapshotFor is the RDB file that the replica begins with.
func (co *core) snapshotFor(about *replica) (string, error) {
	snapshot := co.snapshot()
	if about.noData {
		snapshot.dbs = nil
	}
	if about.noFunctions {
		snapshot.functions = &functionSet{}
	}
	var file strings.Builder
	err := snapshot.WriteRDB(&file)
	return file.String(), err
}
