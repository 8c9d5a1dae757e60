package engine

import (
	"slices"

	"github.com/echomq/echomq-sim/resp"
)

var pauseCommands = []Spec{
	{Name: "client|pause", Arity: -3, Flags: Admin | NoScript | Loading | Stale, run: clientPause,
		Group: "connection", Since: "3.0.0", Complexity: "O(1)",
		Summary: "Suspends commands processing.",
		History: []string{"6.2.0 `CLIENT PAUSE WRITE` mode added along with the `mode` option."},
		Args:    `timeout:i mode<write:t=WRITE all:t=ALL>@6.2.0?`},
	{Name: "client|unpause", Arity: 2, Flags: Admin | NoScript | Loading | Stale, run: clientUnpause,
		Group: "connection", Since: "6.2.0", Complexity: "O(N) Where N is the number of paused clients",
		Summary: "Resumes processing commands from paused clients."},
}

// pause is a CLIENT PAUSE under way. While it lasts nothing expires either.
type pause struct {
	all     bool       // all commands wait, not only those that may write
	until   int64      // Unix milliseconds; 0: there is none
	timer   *deadline  // its end
	waiting []*Session // in the order in which they came
}

// clientPause: CLIENT PAUSE timeout [WRITE | ALL]
func clientPause(c *Call) resp.Value {
	all := true
	switch {
	case len(c.Args) > 4:
		return c.subcommandSyntax()
	case c.is(3, "write"):
		all = false
	case len(c.Args) == 4 && !c.is(3, "all"):
		return resp.Err("ERR CLIENT PAUSE mode must be WRITE or ALL")
	}
	at, bad := c.timeoutMs(2)
	if bad != nil {
		return *bad
	}
	p := &c.core.pause
	p.all = all || p.all && p.until > 0
	p.until = max(p.until, at)
	c.deadlines.cancel(p.timer)
	p.timer = nil
	if p.until > c.ms() {
		p.timer = c.deadlines.set(saturatedMicros(p.until), func() {
			c := c.core
			c.endPause()
			c.runPostponed()
		})
	} else {
		c.endPause()
	}
	return resp.OK
}

// clientUnpause: CLIENT UNPAUSE
func clientUnpause(c *Call) resp.Value {
	c.endPause()
	return resp.OK
}

// endPause ends the pause; the clients that wait go on when the command under way is through.
func (co *core) endPause() {
	p := &co.pause
	co.deadlines.cancel(p.timer)
	co.resumed = append(co.resumed, p.waiting...)
	*p = pause{}
}

// paused reports whether a pause is under way.
func (co *core) paused() bool { return co.pause.until != 0 }

// mustWait reports whether a pause holds a client's command back.
func (s *Session) mustWait(spec *Spec, args []string) bool {
	return s.core.paused() && !s.monitor && !s.isReplica() && (s.core.pause.all || s.mayReplicate(spec, args))
}

// mayReplicate reports whether a command may change what replicas have, or say
// something to them.
func (s *Session) mayReplicate(spec *Spec, args []string) bool {
	return s.flagsOf(spec, args)&(Write|MayReplicate) != 0
}

// postpone keeps a client's command for the end of the pause.
func (s *Session) postpone(args []string) {
	s.held = &held{postponed: slices.Clone(args)}
	s.core.pause.waiting = append(s.core.pause.waiting, s)
}

// runPostponed runs the commands that waited for the end of a pause, those of the client
// that has waited longest first, and for each client what it has sent behind them. They may
// have to wait again.
func (co *core) runPostponed() {
	if co.resuming || co.ahead != nil {
		return // further up the stack, or when that client is through
	}
	co.resuming = true
	defer func() { co.resuming = false }()
	for len(co.resumed) > 0 {
		if co.stalled {
			co.stallOver = append(co.stallOver, co.runPostponed)
			return
		}
		s := co.resumed[0]
		co.resumed = co.resumed[1:]
		if s.gone || s.closing || s.held == nil || s.held.postponed == nil || s.dropDead() {
			continue
		}
		args := s.held.postponed
		s.held = nil
		s.retrying = true
		s.process(args)
		s.retrying = false
		if s.conn == nil {
			continue
		}
		s.conn.Kick() // to write the reply and go on with what the client sent since
		if s.buffered > 0 && s.held == nil {
			co.ahead = s
			return
		}
	}
}

// letNext lets the clients go on that wait for this one, which has run all that it had
// sent during the pause.
func (s *Session) letNext() {
	if co := s.core; co.ahead == s {
		co.ahead = nil
		co.runPostponed()
	}
}
