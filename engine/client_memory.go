package engine

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

// What clients take is estimated from what this server keeps for each. With
// maxmemory-clients those that take most are closed when they take too much together.

// Bytes that a connected client takes whatever it does, with its connection's goroutine;
// and those of a name that it watches or subscribes to, and of a queued command, beyond
// their texts.
const (
	sessionOverhead = 8 << 10
	nameOverhead    = 64
	queuedOverhead  = 48
	argOverhead     = 16
)

// nameSize is what a name takes that the client watches or subscribes to.
func nameSize(name string) int { return len(name) + nameOverhead }

// memory is what the client takes, with the arguments of its running command.
func (s *Session) memory(running []string) int {
	n := sessionOverhead + s.inputHeld + argsSize(running) + argOverhead*len(running) + cap(s.out) + s.pending() + s.nameBytes
	if t := s.multi; t != nil {
		n += t.bytes + queuedOverhead*len(t.queue)
	}
	return n
}

// The buckets of clients by size: up to 32 KB, each then twice as much, the last without end.
const (
	minBucketLog = 15
	maxBucketLog = 33
)

func memoryBucket(size int) int { return min(max(bits.Len(uint(size)), minBucketLog), maxBucketLog) }

// clientMemory is what all connected clients took when each was last looked at; it is kept
// up only while there is a limit.
type clientMemory struct {
	total int64
	moves uint64 // of clients from one bucket to another
}

// countMemory brings the sum up to date with one client.
func (s *Session) countMemory() {
	co := s.core
	if co.set.maxMemoryClients == 0 || s.conn == nil || s.gone {
		return
	}
	now := s.memory(nil)
	co.clientMemory.total += int64(now - s.counted)
	s.counted = now
	if b := memoryBucket(now); b != s.bucket {
		co.clientMemory.moves++
		s.bucket, s.bucketSince = b, co.clientMemory.moves
	}
}

// uncount takes a client that is gone out of the sum.
func (s *Session) uncount() {
	s.core.clientMemory.total -= int64(s.counted)
	s.counted, s.bucket = 0, 0
}

// recountClients looks at every client: those that have read their output take less now.
func (co *core) recountClients() {
	for _, s := range co.clients() {
		s.countMemory()
	}
}

// clientLimit is the number of bytes that maxmemory-clients allows, 0 for any; it is never
// too low for a client to undo it.
func (co *core) clientLimit() int64 {
	limit := co.set.maxMemoryClients
	if limit < 0 { // percent of maxmemory
		limit = int64(float64(co.set.maxMemory) * -float64(limit) / 100)
	}
	if limit == 0 {
		return 0
	}
	return max(limit, 128<<10)
}

// clientsOverLimit reports whether the clients seem to take too much.
func (co *core) clientsOverLimit() bool {
	limit := co.clientLimit()
	return limit > 0 && co.clientMemory.total >= limit
}

// evictClients closes the clients that take most until all together are below the limit,
// those that have been in the largest bucket for longest first. The turn of a busy script
// closes none, as the script's own client is under way.
func (co *core) evictClients() {
	if !co.clientsOverLimit() || co.busy || co.away {
		return
	}
	co.recountClients()
	for _, s := range co.evictable() {
		if !co.clientsOverLimit() {
			return
		}
		co.log(LogNotice, "Evicting client: "+s.logged())
		co.stats.evictedClients++
		s.kill(false)
	}
	if co.clientsOverLimit() {
		co.log(LogWarning, "Over client maxmemory after evicting all evictable clients")
	}
}

// evictable are the clients that may be closed, in that order.
func (co *core) evictable() []*Session {
	all := slices.DeleteFunc(co.clients(), func(s *Session) bool { return s.conn == nil || s.noEvict })
	slices.SortFunc(all, func(a, b *Session) int {
		return cmp.Or(cmp.Compare(b.bucket, a.bucket), cmp.Compare(a.bucketSince, b.bucketSince))
	})
	return all
}

// maxMemoryClientsValue is what maxmemory-clients takes.
var maxMemoryClientsValue = newValueParser("percent 0 max")

func maxMemoryClientsText(co *core) string {
	if n := co.set.maxMemoryClients; n < 0 {
		return strconv.FormatInt(-n, 10) + "%"
	}
	return strconv.FormatInt(co.set.maxMemoryClients, 10)
}

// setMaxMemoryClients begins or ends the count of what clients take.
func setMaxMemoryClients(co *core, value string) (why string) {
	text, why := maxMemoryClientsValue("", value)
	if why != "" {
		return why
	}
	digits, percent := strings.CutSuffix(text, "%")
	n := resp.Atoi(digits)
	if percent {
		n = -n
	}
	co.set.maxMemoryClients = n
	if n != 0 {
		co.recountClients()
		return ""
	}
	for _, s := range co.sessions {
		s.uncount()
	}
	return ""
}

// countInput takes note of what the client's input takes.
func (s *Session) countInput(in *resp.CommandReader) {
	s.inputHeld = in.Held()
	s.countMemory()
}
