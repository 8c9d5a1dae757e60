package engine

import (
	"slices"
	"strconv"

	"github.com/echomq/echomq-sim/resp"
)

// Replicas get the changes of the data as commands, unit by unit: a unit is a client's
// command with all that it brings about, or something that time brings about. A unit of
// several commands goes as a transaction. What stands for a command is the command itself
// if it has changed anything, unless its handler says otherwise: see Call.sendAs,
// Call.alsoSend, Call.sendNothing and Call.sendAlways.

// replication is the stream of changes and who gets it. Until the first replica comes
// nothing of it is in use.
type replication struct {
	replicas []*Session  // in the order in which they came
	epoch    uint64      // the histories that were given up; each has an id of its own
	offset   int64       // bytes of the stream so far
	backlog  []byte      // the last of them
	db       int         // the database that the stream has selected; -1 for none
	unit     []byte      // the commands of the unit under way
	commands int         // how many they are, SELECT not counted
	calls    [8]streamed // what the calls under way want to be in it, like core.calls
	waiting  []*Session  // clients in WAIT and WAITAOF, in the order in which they came
	most     int64       // repl-backlog-size, as it was when it was looked at last
	seconds  int64       // that have passed since there are replicas
	cron     *deadline   // the next of them
	forget   *deadline   // for the backlog, when there are no replicas
}

// noDB makes the next command of the stream select its database.
const noDB = -1

// streams reports whether what happens is put in the stream: from when the first replica
// has come until long after the last one has gone.
func (r *replication) streams() bool { return r.backlog != nil }

// replicationID is the id of the history that the stream belongs to.
func (co *core) replicationID() string { return co.hexID(1<<32 + co.repl.epoch) }

// sendAs makes args stand for this call in the stream, if it changes anything. They are
// kept until it is through.
func (c *Call) sendAs(args ...string) {
	if c.repl.streams() {
		c.streamed().args = args
	}
}

// sendWith is sendAs with the call's own arguments but for argument i.
func (c *Call) sendWith(i int, value string) {
	if !c.repl.streams() {
		return
	}
	s := c.streamed()
	if s.args == nil {
		s.args = slices.Clone(c.Args)
	}
	s.args[i] = value
}

// alsoSend puts a command in the stream, whatever this call changes.
func (c *Call) alsoSend(args ...string) {
	if c.repl.streams() {
		c.append(c.dbIndex(), args)
	}
}

// sendNothing keeps this call itself out of the stream.
func (c *Call) sendNothing() {
	if c.repl.streams() {
		c.streamed().never = true
	}
}

// sendAlways puts this call in the stream even if it changes nothing.
func (c *Call) sendAlways() {
	if c.repl.streams() {
		c.streamed().always = true
	}
}

// streamed is what a call wants to be in the stream in its place.
type streamed struct {
	args          []string // nil: as it is
	never, always bool
}

// streamed is that of this call, which is the innermost one.
func (c *Call) streamed() *streamed { return &c.repl.calls[c.depth-1] }

// propagate puts a call that is through in the stream; dirty is what the count of changes
// was before it.
func (c *Call) propagate(dirty int64) {
	s := *c.streamed()
	*c.streamed() = streamed{}
	if s.never || c.stats.dirty <= dirty && !s.always || c.script != nil && c.script.unsent {
		return
	}
	if s.args == nil {
		s.args = c.Args
	}
	c.append(c.dbIndex(), s.args)
}

// propagateDeletion puts the removal of a key that no command has asked for in the stream;
// option is the parameter that says whether it is a lazy one.
func (co *core) propagateDeletion(db int, key, option string) {
	if co.repl.streams() {
		co.propagateByItself(db, co.deletion(option), key)
	}
}

// propagateFields does the same for fields of a hash.
func (co *core) propagateFields(db int, key string, fields []string) {
	if co.repl.streams() {
		co.propagateByItself(db, append([]string{"HDEL", key}, fields...)...)
	}
}

// propagateByItself puts a command in the stream that is a unit of its own, unless one is
// under way.
func (co *core) propagateByItself(db int, args ...string) {
	co.append(db, args)
	if co.depth == 0 {
		co.endUnit(false)
	}
}

// sendDeletion makes the removal of a key stand for this call in the stream.
func (c *Call) sendDeletion(key, option string) {
	if c.repl.streams() {
		c.sendAs(c.deletion(option), key)
	}
}

// sendExpire makes a key's new deadline stand for this call in the stream.
func (c *Call) sendExpire(key string, at int64) {
	if c.repl.streams() {
		c.sendAs("PEXPIREAT", key, strconv.FormatInt(at, 10))
	}
}

// sendPop makes a pop of n elements, by a command that takes a key and a count, stand for
// this call in the stream.
func (c *Call) sendPop(command, key string, n int) {
	if c.repl.streams() {
		c.sendAs(command, key, strconv.Itoa(n))
	}
}

// deletion is the command that removes a key in the stream.
func (co *core) deletion(option string) string {
	if co.tunedYes(option) {
		return "UNLINK"
	}
	return "DEL"
}

// append adds a command to the unit under way.
func (co *core) append(db int, args []string) {
	r := &co.repl
	if r.db != db {
		r.unit = resp.AppendRequest(r.unit, "SELECT", strconv.Itoa(db))
		r.db = db
	}
	r.unit = resp.AppendRequest(r.unit, args...)
	r.commands++
}

// maxKeptUnit is the largest buffer, in bytes, that is kept for the next unit.
const maxKeptUnit = 64 << 10

// endUnit sends the unit that is through. Its commands may be loose: what a command meets
// that touches keys at random has nothing in common.
func (co *core) endUnit(loose bool) {
	r := &co.repl
	if r.commands == 0 {
		return
	}
	whole := r.commands > 1 && !loose
	if whole {
		co.sendStream(resp.AppendRequest(nil, "MULTI"))
	}
	co.sendStream(r.unit)
	if whole {
		co.sendStream(resp.AppendRequest(nil, "EXEC"))
	}
	r.commands, r.unit = 0, r.unit[:0]
	if cap(r.unit) > maxKeptUnit {
		r.unit = nil
	}
}

// sendStream makes b the next bytes of the stream.
func (co *core) sendStream(b []byte) {
	r := &co.repl
	r.offset += int64(len(b))
	r.backlog = append(r.backlog, b...)
	if most := int(r.most); len(r.backlog) > 2*most {
		r.backlog = append(make([]byte, 0, 2*most), r.backlog[len(r.backlog)-most:]...)
	}
	for _, s := range r.replicas {
		s.pushStream(b)
	}
}

// since is what is left of the stream from an offset on, whose first byte is number 1.
func (r *replication) since(offset int64) (b []byte, ok bool) {
	if !r.streams() || offset < r.first() || offset > r.offset+1 {
		return nil, false
	}
	return r.backlog[len(r.backlog)-int(r.offset+1-offset):], true
}

// first is the offset of the first byte of the backlog.
func (r *replication) first() int64 { return r.offset + 1 - r.length() }

// length is the number of bytes of the backlog; there may be more for a while.
func (r *replication) length() int64 { return min(int64(len(r.backlog)), r.most) }

// giveUpHistory disconnects the replicas, as the data was replaced by something that no
// stream tells: they must fetch all of it again.
func (co *core) giveUpHistory() {
	r := &co.repl
	if !r.streams() {
		return
	}
	for len(r.replicas) > 0 {
		r.replicas[0].kill(false)
	}
	co.forgetBacklog()
}

// forgetBacklog ends the history: who comes next begins a new one.
func (co *core) forgetBacklog() {
	co.deadlines.cancel(co.repl.forget)
	co.repl.backlog, co.repl.forget = nil, nil
	co.repl.epoch++
}
