package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

// Session is the state of one client, over a connection or in process. It is
// owned by the engine: everything but Turn, Close and Do runs inside a turn.
type Session struct {
	core *core
	id   uint64
	conn *resp.Conn // nil for an in-process client

	ahead int // requests to come before lookAhead is due again

	db     int
	proto  int
	user   *aclUser // never nil
	authed bool
	name   string
	lib    libInfo

	out       []byte     // encoded replies and pushes that wait to be written
	result    resp.Value // an in-process client's reply
	answered  bool       // result is there
	closing   bool       // write what is left, then close
	cut       bool       // write nothing more, not even what is left
	gone      bool       // Close was called
	softEnd   *deadline  // its time over the soft limit for output ends; nil while it is below
	softSince int64      // Unix second at which that time began

	replyOff  bool // CLIENT REPLY OFF
	skipReply int  // CLIENT REPLY SKIP: 2 while the command itself runs, 1 for the next one
	noTouch   bool
	track     clientTracking
	readOnly  bool // READONLY
	asking    int  // a node sent it here: 2 while ASKING itself runs, 1 for the next command
	slot      int  // of the current command's keys, -1 for none; on a cluster only
	noEvict   bool
	monitor   bool
	replica   *replica // nil for most
	written   int64    // offset of the stream up to which the client's own changes are in it
	retrying  bool     // the command under way was postponed once

	subs  [subKinds]nameSet
	after []resp.Value // pushed while its own command runs, delivered behind the reply

	held    *held // the reply of a command that waits; no further command runs meanwhile
	multi   *transaction
	watched []*watcher
	dirty   bool // a watched key was modified

	created  int64 // Unix microseconds
	lastSeen int64
	lastCmd  *Spec
	buffered int   // bytes that had arrived for later commands when the last turn ended
	bytesIn  int64 // read from the connection
	bytesOut int64
	commands int64

	unparsed    int    // of the buffered bytes, those that belong to no whole argument
	inputHeld   int    // bytes of memory that the input took then
	nameBytes   int    // and that the names take that the client watches or subscribes to
	counted     int    // what it took in all when it was last counted
	bucket      int    // of client eviction, then
	bucketSince uint64 // clientMemory.moves when it came into the bucket

	// postponed is a request that may take long: the replies ahead of it are written first, or
	// another goroutine goes on with it.
	postponed []string
	brief     bool // the turn under way is

	debugs debugMode
	debug  *debugSession // has the connection from now on; nil for most
}

// libInfo is what CLIENT SETINFO stored.
type libInfo struct{ name, version string }

// held is a command that has not answered yet.
type held struct {
	timer     *deadline
	blocked   *blocking // waiting for a key
	postponed []string  // the command itself, waiting for the end of a pause
	spent     int64     // microseconds that its tries have taken so far
}

// Open makes the engine's side of an accepted connection. A non-empty reject
// is the error line to close it with.
func (e *Engine) Open(conn *resp.Conn) (resp.Session, string) {
	e.lockForClient()
	defer e.unlock()
	if e.core.closed {
		return nil, "ERR server is shutting down"
	}
	if len(e.core.sessions) >= e.core.set.maxClients {
		e.core.stats.rejectedConns++
		return nil, "ERR max number of clients reached"
	}
	if e.core.tooOpen(conn) {
		e.core.stats.rejectedConns++
		return nil, deniedText
	}
	conn.KeepAlive(time.Duration(e.core.set.keepAlive) * time.Second)
	e.core.watchIdle()
	return e.core.newSession(conn), ""
}

func (co *core) newSession(conn *resp.Conn) *Session {
	co.nextID++
	s := &Session{core: co, id: co.nextID, conn: conn, proto: 2, created: co.now, lastSeen: co.now}
	s.setDefaultUser()
	co.sessions[s.id] = s
	s.countMemory()
	co.stats.connections++
	return s
}

// Turn runs the commands that in holds, in one turn, and returns what is to be
// written. It is called by one goroutine at a time.
func (s *Session) Turn(in *resp.CommandReader, spare []byte, brief bool) (out []byte, next resp.Next) {
	if s.debug != nil {
		return s.debug.relay(in, spare)
	}
	e := s.core.engine
	if !brief {
		e.lockForTurn(s.conn)
	} else if !e.tryLock() {
		return spare, resp.NextAgain
	}
	defer e.unlock()
	s.brief = brief
	if in.Buffered() > s.buffered {
		s.core.stats.reads++
		s.lastSeen = s.core.now
	}
	s.count(&s.bytesIn, &s.core.stats.bytesIn, in.Buffered()-s.buffered)
	s.countInput(in)
	s.core.evictClients()
	s.core.turnOf = s.conn
	heldOn := s.core.heldOn
	next = s.runAll(in)
	s.core.dbs[s.db].ForgetKey()
	in.Done(s.core.heldOn != heldOn || s.postponed != nil)
	s.core.turnOf = nil
	if next != resp.NextAgain {
		s.letNext()
	}
	s.core.endTracking()
	s.buffered, s.unparsed = in.Buffered(), in.Unparsed()
	s.countInput(in)
	s.core.watchIdle()
	if s.core.clientsOverLimit() && len(s.core.evictable()) > 0 {
		s.core.evictLater = true
		s.conn.Kick() // the next turn begins once the replies are out
	}
	out, s.out = s.out, spare[:0]
	if len(out) > 0 {
		s.core.stats.writes++
		s.lastSeen = s.core.now
	}
	s.count(&s.bytesOut, &s.core.stats.bytesOut, len(out))
	return out, next
}

// count adds n to a counter of the client and to the server's.
func (s *Session) count(mine, all *int64, n int) {
	*mine += int64(n)
	*all += int64(n)
}

// maxBatchOut bounds the replies gathered in one turn, so that a long pipeline
// neither holds the lock for long nor piles up output.
const maxBatchOut = 256 << 10

func (s *Session) runAll(in *resp.CommandReader) resp.Next {
	for {
		switch {
		case s.closing || s.core.closed:
			return resp.NextClose
		case s.debug != nil:
			return resp.NextRead
		case s.held != nil || s.core.stalled:
			return resp.NextRead
		case len(s.out) > maxBatchOut:
			return resp.NextAgain
		}
		args := s.postponed
		if s.postponed = nil; args == nil {
			var ok bool
			var err error
			if args, ok, err = in.Next(s.inputLimits()); err != nil {
				s.reply(resp.Err("ERR " + err.Error()))
				return resp.NextClose
			}
			if !ok {
				return resp.NextRead
			}
			if (len(s.out) > 0 || s.brief) && s.mustLeave(args) {
				s.postponed = slices.Clone(args) // its turn comes when the replies ahead of it are out
				return resp.NextAgain
			}
		}
		if s.ahead--; s.ahead < 0 {
			s.lookAhead(in)
		}
		s.process(args)
	}
}

// notAhead is for how many requests lookAhead rests where it has found nothing.
const notAhead = 64

// lookAhead has the database read in advance, all at once, what the requests in a pipeline
// will want: mostly their second word is a key.
func (s *Session) lookAhead(in *resp.CommandReader) {
	var keys [store.AtOnce]string
	s.ahead = in.Ahead(keys[:])
	if s.ahead > 1 && s.core.dbs[s.db].Touch(keys[:s.ahead]) == 0 {
		s.ahead = notAhead
	}
}

// mustLeave reports whether a request is not for this turn.
func (s *Session) mustLeave(args []string) bool {
	p := s.paceOf(args)
	return p == paceSlow && len(s.out) > 0 || p != paceBrief && s.brief
}

// Close forgets the client: its connection is gone.
func (s *Session) Close() {
	if s.debug != nil {
		s.debug.hangUp()
	}
	e := s.core.engine
	e.mu.Lock() // not lock: a stalled server still notices a hang-up
	defer e.unlock()
	if s.conn != nil && s.conn.TooMuchInput() {
		e.core.stats.tooMuchInput++
	}
	s.drop()
}

// drop takes the session out of everything that knows it.
func (s *Session) drop() {
	if s.gone {
		return
	}
	s.gone = true
	s.unwatch()
	s.stopTracking()
	s.endSubscriptions()
	if s.held != nil {
		s.endHold()
	}
	s.stopMonitor()
	s.detach()
	s.letNext()
	s.core.deadlines.cancel(s.softEnd)
	s.uncount()
	delete(s.core.sessions, s.id)
	s.core.engine.changed.Broadcast() // an in-process client may be waiting for a reply
}

// process runs one request and delivers its reply, unless it has to wait.
func (s *Session) process(args []string) {
	co := s.core
	s.lastSeen = co.now
	co.running = s
	v := s.exec(args)
	co.running = nil
	if s.asking > 0 && s.multi == nil && s.held == nil {
		s.asking--
	}
	if s.track.caching && s.multi == nil && s.lastCmd != nil && !strings.HasPrefix(s.lastCmd.Name, "client") {
		s.track.caching = false
	}
	switch {
	case co.stalled:
		s.holdUntilStallEnds(v)
		return
	case s.held == nil:
		s.reply(v)
	}
	if len(s.after) > 0 {
		s.deliverAfter()
	}
	co.afterCommand()
}

// afterCommand lets happen what a client's command has made possible for others.
func (co *core) afterCommand() {
	if len(co.waiters.ready) > 0 {
		co.serveBlocked()
	}
	if len(co.resumed) > 0 {
		co.runPostponed()
	}
}

// reply delivers the reply of the current command.
func (s *Session) reply(v resp.Value) {
	skip := s.skipReply == 1
	if s.skipReply > 0 {
		s.skipReply--
	}
	if (s.replyOff || skip && s.skipReply == 0) && v.Kind != resp.KindNone {
		v = resp.None // pushes would come all the same
	}
	if s.conn == nil {
		s.result, s.answered = v.RESP3(), true
		s.core.engine.changed.Broadcast()
		return
	}
	s.write(&v)
}

// push delivers an out-of-band message and wakes the connection to write it. An in-process
// client has no way to read it.
func (s *Session) push(v resp.Value) {
	if s.conn == nil {
		return
	}
	s.write(&v)
	s.conn.Kick()
}

// kill closes the client: at once, or after its pending output when soft.
func (s *Session) kill(soft bool) {
	s.closing = true
	if soft && s.conn != nil {
		s.conn.Kick()
		return
	}
	s.drop()
	if s.conn != nil {
		s.conn.Abort()
		return
	}
	s.core.engine.changed.Broadcast()
}

// release ends the wait of a held command with v.
func (s *Session) release(v resp.Value) {
	s.endHold()
	s.asking = 0
	s.reply(v)
	if s.conn != nil {
		s.conn.Kick()
	}
}

func (s *Session) endHold() {
	s.core.deadlines.cancel(s.held.timer)
	if s.held.blocked != nil {
		s.core.repl.stopWaiting(s)
		s.core.waiters.remove(s)
	}
	s.held = nil
}

// holdUntilStallEnds keeps back the reply of the command that stalled the server.
func (s *Session) holdUntilStallEnds(v resp.Value) {
	s.held = &held{}
	s.core.stallOver = append(s.core.stallOver, func() {
		if !s.gone {
			s.release(v)
		}
	})
}

// Client is an in-process client: commands without a connection. It may be used
// from many goroutines; their commands run one after another.
type Client struct {
	s *Session
}

// NewClient makes an in-process client with a selected database, transaction
// and name of its own. It speaks RESP3, so maps, sets and doubles keep their kinds.
func (e *Engine) NewClient() *Client {
	e.lockForCommand()
	defer e.unlock()
	s := e.core.newSession(nil)
	s.proto, s.authed = 3, true
	return &Client{s: s}
}

// builtinClient is the client of Engine.Do.
func (e *Engine) builtinClient() *Client {
	if e.core.builtin == nil || e.core.builtin.s.closing {
		s := e.core.newSession(nil)
		s.proto, s.authed = 3, true
		e.core.builtin = &Client{s: s}
	}
	return e.core.builtin
}

// Do runs one command and returns its reply; a command that blocks is waited
// for. Error replies are values of kind KindErr. After Close, or once the client
// was killed, the reply is an error.
func (c *Client) Do(args ...string) resp.Value {
	e := c.s.core.engine
	e.lockForCommand()
	defer e.unlock()
	return c.do(args)
}

// do is Do inside a turn.
func (c *Client) do(args []string) resp.Value {
	if len(args) == 0 {
		return resp.Err("ERR no command given")
	}
	s, e := c.s, c.s.core.engine
	for (s.held != nil || e.core.away) && !s.closing && !e.core.closed {
		e.changed.Wait() // another goroutine's command on this client
	}
	if s.closing || s.gone || e.core.closed {
		return resp.Err("ERR this client is closed")
	}
	s.answered = false
	s.process(args)
	for !s.answered && !s.closing && !s.gone && !e.core.closed {
		e.core.endTurn() // waiting ends the turn as unlock does
		e.changed.Wait()
	}
	if s.closing {
		s.drop()
	}
	if !s.answered {
		return resp.Err("ERR this client is closed")
	}
	v := s.result
	s.result = resp.None // the client must not hold on to the reply
	return v
}

// Close ends the client.
func (c *Client) Close() { c.s.Close() }
