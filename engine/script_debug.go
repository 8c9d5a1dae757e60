package engine

import (
	"context"
	"maps"
	godebug "runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/echomq/echomq-sim/luabridge"
	"github.com/echomq/echomq-sim/resp"
)

// debugMode is what SCRIPT DEBUG has made of a client.
type debugMode uint8

const (
	debugOff    debugMode = iota
	debugForked           // its EVALs run in a copy of the server, which is thrown away
	debugSync             // they run in the server, which waits for the user meanwhile
)

// scriptDebug: SCRIPT DEBUG YES | SYNC | NO
func scriptDebug(c *Call) resp.Value {
	s := c.Sess
	switch {
	case c.inExec, len(s.out) > 0, s.conn != nil && s.conn.Pending() > 0:
		return resp.Err("ERR SCRIPT DEBUG must be called outside a pipeline")
	case c.is(2, "no"):
		s.debugs = debugOff
	case s.conn == nil && (c.is(2, "yes") || c.is(2, "sync")):
		return resp.Err("ERR SCRIPT DEBUG needs a connection: this client is in process")
	case c.is(2, "yes"):
		s.debugs = max(s.debugs, debugForked) // only NO ends SYNC
	case c.is(2, "sync"):
		s.debugs = debugSync
	default:
		return resp.Err("ERR Use SCRIPT DEBUG YES/SYNC/NO")
	}
	return resp.OK
}

// debugSession is a script under the debugger. It runs in a goroutine of its own, which has
// the turn of an engine: of the client's or, in a forked session, of a copy. The client's
// connection goes on, but what comes over it is for the debugger; it ends with the session.
type debugSession struct {
	conn   *resp.Conn
	client *Session // for whom the script runs: the connection's, or its copy
	args   []string
	spec   *Spec
	since  stopwatch // the user let it go on

	mu    sync.Mutex
	heard *sync.Cond // in or gone has changed
	in    []byte     // from the user, for the debugger to read
	out   []byte     // for the user
	gone  bool       // the user has hung up
	over  bool
}

const (
	debugRead  = 1024     // bytes that the debugger reads at a time: what follows a command in them is lost
	debugInput = 64 << 20 // bytes that may wait for it
)

// maxForks bounds the copies of a server that there are at the same time: nothing else does,
// since their clients do not count.
const maxForks = 1000

var errTooManyForks = resp.Err("ERR Fork() failed: can't run EVAL in debugging mode: Resource temporarily unavailable")

var errDebugInExec = resp.Err("ERR a script in a transaction can't be debugged")

// debugEval runs an EVAL of a client that debugs: the call is counted here as the server
// counts it before it forks. In a SYNC session exec leaves the call itself to the session's
// goroutine, so that it is one call, which lasts as long as the session; a SYNC script that
// comes here is in a transaction.
func (c *Call) debugEval() resp.Value {
	if c.inExec || c.Sess.debugs == debugSync {
		return errDebugInExec
	}
	return c.Sess.startDebugging(c.Spec, c.Args)
}

// startDebugging has the debugger run a command, which is an EVAL that the gates have let in.
// Its reply will come at the end of the session.
func (s *Session) startDebugging(spec *Spec, args []string) resp.Value {
	co := s.core
	client := s
	if s.debugs == debugForked {
		if co.engine.forks.Load() >= maxForks {
			return errTooManyForks
		}
		child, err := co.fork()
		if err != nil {
			return resp.Err("ERR Fork() failed: can't run EVAL in debugging mode: " + err.Error())
		}
		client = child.core.adopt(s)
	}
	d := &debugSession{conn: s.conn, client: client, spec: spec, args: slices.Clone(args), since: startWatch()}
	d.heard = sync.NewCond(&d.mu)
	co.holdOn()
	s.debug = d
	if client == s {
		co.away, co.debugging = true, d // until the session's goroutine has the turn
	} else {
		s.drop()
		co.engine.forks.Add(1)
	}
	co.engine.debuggers.Add(1)
	go d.run(co.engine)
	return resp.None
}

// fork is an engine with a copy of all that a script of this one can reach but the channels:
// what it publishes reaches nobody. Its own time stands still between its turns.
func (co *core) fork() (*Engine, error) {
	cfg := co.cfg
	cfg.Clock, cfg.OnShutdown, cfg.SaveFile, cfg.ACLFile, cfg.Users = stillClock{co.clock}, nil, "", "", nil
	e, err := newEngine(cfg, co.table)
	if err != nil {
		return nil, err
	}
	child := &e.core
	*child.set, child.limits, *child.dice = *co.set, co.limits, *co.dice
	child.set.tuned = maps.Clone(co.set.tuned)
	child.allowAllInScripts, child.outOfMemory = co.allowAllInScripts, co.outOfMemory
	if co.enoughReplicas() {
		child.set.minReplicas = 0 // it has none
	}
	snap := co.snapshot()
	for i := range child.dbs {
		child.dbs[i] = snap.install(i, &child.limits)
	}
	return e, nil
}

// adopt makes a client like one of another engine.
func (co *core) adopt(s *Session) *Session {
	t := co.newSession(nil)
	t.db, t.proto, t.slot, t.user, t.authed, t.name, t.noTouch = s.db, s.proto, s.slot, s.user.clone(), s.authed, s.name, s.noTouch
	return t
}

// run is the session's goroutine; origin is the engine that the client belongs to.
func (d *debugSession) run(origin *Engine) {
	defer origin.debuggers.Done()
	e := d.client.core.engine
	defer context.AfterFunc(origin.core.targets.end, func() {
		e.closing.Store(true)
		d.hangUp()
	})()
	defer func() {
		if v := recover(); v != nil {
			e.ReportPanic(v, godebug.Stack())
		}
		if e != origin {
			e.Close()
			origin.forks.Add(-1)
		}
		d.emit(nil, true)
	}()
	d.turn()
}

// turn runs the script.
func (d *debugSession) turn() {
	s, co := d.client, d.client.core
	co.engine.mu.Lock()
	co.away = false
	co.engine.begin()
	debugger := luabridge.NewDebugger(d.args[1], d)
	co.debugger, co.debugging = debugger, d
	defer func() {
		co.debugger, co.debugging = nil, nil
		co.engine.changed.Broadcast()
		co.engine.unlock()
	}()
	co.running = s
	v := co.call(s, d.spec, d.args, nil, false)
	co.running = nil
	co.afterCommand()
	debugger.End()
	d.emit(resp.Append(nil, &v, s.proto), false)
}

// Show sends lines to the user.
func (d *debugSession) Show(lines []string) {
	out := make([]resp.Value, 0, len(lines))
	for _, line := range lines {
		out = append(out, resp.Simple(line))
	}
	v := resp.Array(out...)
	d.emit(resp.Append(nil, &v, 2), false)
}

func (d *debugSession) emit(out []byte, over bool) {
	d.mu.Lock()
	d.out, d.over = append(d.out, out...), d.over || over
	d.mu.Unlock()
	d.conn.Kick()
}

// Read waits for the user. Others do too if this is their engine's turn.
func (d *debugSession) Read() (in []byte) {
	d.client.core.whileAway(func() { in = d.wait() })
	d.since = startWatch()
	return in
}

func (d *debugSession) wait() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.in) == 0 && !d.gone {
		d.heard.Wait()
	}
	n := min(len(d.in), debugRead)
	in := d.in[:n:n]
	d.in = d.in[n:]
	return in
}

// Overdue reports whether the script has run for longer than busy-reply-threshold.
func (d *debugSession) Overdue() bool { return d.since.elapsed() >= d.patience() }

func (d *debugSession) patience() time.Duration {
	if limit := d.client.core.set.busyThreshold(); limit > 0 {
		return limit
	}
	return 5 * time.Second
}

// stuck reports whether the debugger can't stop the script itself, after twice the time: it
// runs code of the user's, in which nothing stops, or nobody is there to be told.
func (d *debugSession) stuck(evaluates bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return (evaluates || d.gone) && d.since.elapsed() >= 2*d.patience()
}

// Refused reports whether the script's last command was refused.
func (d *debugSession) Refused() bool { return d.client.core.run.refused }

// hangUp tells the debugger that there is no user any more.
func (d *debugSession) hangUp() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gone = true
	d.heard.Signal()
}

// relay is a turn of the client's connection: between the user and the debugger.
func (d *debugSession) relay(in *resp.CommandReader, spare []byte) ([]byte, resp.Next) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.in = append(d.in, in.Rest()...)
	d.heard.Signal()
	out := append(spare, d.out...)
	d.out = nil
	if d.over || len(d.in) > debugInput {
		return out, resp.NextClose
	}
	return out, resp.NextRead
}
