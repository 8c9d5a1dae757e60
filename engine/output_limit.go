package engine

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

// A client whose output is not taken is closed once more waits for it than
// client-output-buffer-limit allows: at once over the hard limit, after some seconds over
// the soft one. What waits is in Session.out and in the connection's queue.

// outputClass is a class of clients in client-output-buffer-limit.
type outputClass int

const (
	outputNormal outputClass = iota
	outputReplica
	outputPubSub
	outputClasses
)

// outputClassNames are the classes as CONFIG GET shows them.
var outputClassNames = [outputClasses]string{"normal", "slave", "pubsub"}

// outputLimit is what one class of clients may leave unread. A limit of 0 is none.
type outputLimit struct {
	hard, soft uint64 // bytes
	seconds    int64  // for which soft may be exceeded
}

func defaultOutputLimits() [outputClasses]outputLimit {
	return [outputClasses]outputLimit{outputReplica: {256 << 20, 64 << 20, 60}, outputPubSub: {32 << 20, 8 << 20, 60}}
}

// replyBlock is the unit, in bytes, in which the server takes memory for output. One block
// is each client's own: as long as it is enough no limit applies.
const replyBlock = 16 << 10

// write appends a reply or push to what is to be written, unless the client is being cut off.
func (s *Session) write(v *resp.Value) {
	if s.cut {
		return
	}
	if s.softEnd != nil {
		s.checkOutput() // so that it is noticed that the client has caught up meanwhile
	}
	size := v.TextSize()
	if s.conn != nil && s.neverFits(size) {
		s.overflow()
		return
	}
	if size > largeReply {
		s.out = slices.Grow(s.out, size+size/16)
	}
	s.out = resp.Append(s.out, v, s.proto)
	s.checkOutput()
	s.countMemory()
}

// largeReply is the size in bytes from which on room is made for a reply before it is encoded.
const largeReply = 1 << 20

// neverFits reports whether so much more output would be too much in any case. Replies can
// name the same long string a thousand times: they must not be encoded to find that out.
func (s *Session) neverFits(size int) bool {
	unsent := s.unsent() + size
	hard := s.outputLimit().hard
	return unsent > resp.MaxPending || hard != 0 && unsent > replyBlock && uint64(unsent) > hard
}

// unsent is the number of bytes that wait to be written.
func (s *Session) unsent() int { return len(s.out) + s.pending() }

// outputBlocks is the number of blocks that n bytes of output take, 0 if they fit in the client's own.
func outputBlocks(n int) int {
	if n <= replyBlock {
		return 0
	}
	return (n + replyBlock - 1) / replyBlock
}

// outputLimit is the limit that holds for the client now. A replica's is not below what it
// could fetch from the backlog.
func (s *Session) outputLimit() outputLimit {
	limits := &s.core.set.outputLimits
	switch {
	case s.isReplica():
		limit := limits[outputReplica]
		if limit.hard != 0 {
			limit.hard = max(limit.hard, uint64(s.core.repl.most))
		}
		return limit
	case s.subscribed():
		return limits[outputPubSub]
	}
	return limits[outputNormal]
}

// checkOutput cuts the client off if too much output waits for it, or has done so for too long.
func (s *Session) checkOutput() {
	limit := s.outputLimit()
	if limit.hard == 0 && limit.soft == 0 && s.softEnd == nil || s.conn == nil || s.cut {
		return
	}
	used := uint64(outputBlocks(s.unsent()) * replyBlock)
	over := limit.hard != 0 && used >= limit.hard
	sec := s.core.now / 1e6
	switch {
	case limit.soft == 0 || used < limit.soft:
		s.core.deadlines.cancel(s.softEnd)
		s.softEnd = nil
	case s.softEnd == nil:
		s.softSince = sec
		s.softEnd = s.core.deadlines.set((sec+limit.seconds+1)*1e6, s.softOver)
	case sec-s.softSince > limit.seconds:
		over = true
	}
	if over {
		s.overflow()
	}
}

// softOver looks again when the time is over for which a soft limit may be exceeded.
func (s *Session) softOver() {
	if s.core.cronPaused {
		s.softEnd = s.core.deadlines.set(s.core.now+1e6, s.softOver)
		return
	}
	s.checkOutput()
	if s.softEnd != nil && !s.cut { // the limits have changed meanwhile
		s.softEnd = s.core.deadlines.set(max(s.core.now, (s.softSince+s.outputLimit().seconds)*1e6)+1e6, s.softOver)
	}
}

// overflow cuts the client off without what waits for it. It is closed at the end of
// the turn, as its own command or a loop over clients may be under way.
func (s *Session) overflow() {
	co := s.core
	co.log(LogWarning, "Client "+s.logged()+" scheduled to be closed ASAP for overcoming of output buffer limits.")
	co.stats.outputOverflows++
	s.closing, s.cut, s.out = true, true, nil
	co.overfull = append(co.overfull, s)
}

// closeOverfull closes the clients that were cut off in this turn, or inside a busy script's.
func (co *core) closeOverfull() {
	if co.busy || co.away {
		return
	}
	for _, s := range co.overfull {
		s.drop()
		s.conn.Abort()
	}
	co.overfull = nil
}

// logged is the client's line of CLIENT LIST as the log shows it.
func (s *Session) logged() string {
	line := s.describe(nil)
	if s.core.set.tuned["hide-user-data-from-log"] == "no" {
		return line
	}
	line = strings.Replace(line, " name="+s.name+" ", " name=*redacted* ", 1)
	return strings.Replace(line, " user="+s.user.name+" ", " user=*redacted* ", 1)
}

func outputLimitsText(co *core) string {
	var words []string
	for class, l := range co.set.outputLimits {
		words = append(words, outputClassNames[class], strconv.FormatUint(l.hard, 10), strconv.FormatUint(l.soft, 10),
			strconv.FormatInt(l.seconds, 10))
	}
	return strings.Join(words, " ")
}

// setOutputLimits takes, for any of the classes of clients, a hard limit, a soft one and
// seconds. The other classes keep theirs.
func setOutputLimits(co *core, value string) (why string) {
	var given []string
	if value != "" {
		given = strings.Split(value, " ")
	}
	if len(given)%4 != 0 {
		return "Wrong number of arguments in buffer limit configuration."
	}
	limits := co.set.outputLimits
	for group := range slices.Chunk(given, 4) {
		name := strings.ToLower(group[0])
		if name == "replica" {
			name = "slave"
		}
		class := slices.Index(outputClassNames[:], name)
		if class < 0 {
			return "Invalid client class specified in buffer limit configuration."
		}
		l, ok := parseOutputLimit(group[1:])
		if !ok {
			return "Error in hard, soft or soft_seconds setting in buffer limit configuration."
		}
		limits[class] = l
	}
	co.set.outputLimits = limits
	for _, s := range co.clients() {
		s.checkOutput()
	}
	return ""
}

// parseOutputLimit reads a hard limit, a soft one and seconds. The server keeps the lower
// 32 bits of the seconds, and takes no digits for 0.
func parseOutputLimit(words []string) (l outputLimit, ok bool) {
	hard, ok1 := unsignedMemory(words[0])
	soft, ok2 := unsignedMemory(words[1])
	seconds, err := strconv.ParseInt(words[2], 10, 64)
	if words[2] == "" {
		err = nil
	}
	l = outputLimit{hard, soft, int64(int32(seconds))}
	return l, ok1 && ok2 && err == nil && l.seconds >= 0
}

// unsignedMemory parses a number of bytes as parseMemory does, up to the largest there is.
func unsignedMemory(s string) (uint64, bool) {
	n, ok := parseMemory(s)
	if !ok || n >= 0 {
		return uint64(n), ok
	}
	big, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return math.MaxUint64, true
	}
	return big, true
}
