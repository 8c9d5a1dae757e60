package engine

import (
	"slices"
	"strings"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

// exec takes one request of a client through the gates to its handler. The
// order of the gates is that of processCommand in Valkey's server.c.
func (s *Session) exec(args []string) resp.Value {
	co := s.core
	spec, rej := co.find(args)
	if rej == nil {
		s.lastCmd = spec
		co.checkMemory()
		rej = s.gates(spec, args)
	}
	if rej != nil {
		co.holdOn()
		return s.rejected(spec, args, rej)
	}
	if s.core.pause.until != 0 && s.mustWait(spec, args) {
		co.holdOn()
		s.postpone(args)
		return resp.None
	}
	if s.multi != nil && !spec.inMulti {
		co.holdOn()
		if !s.dirty && !s.multi.spoilt { // else EXEC will run none of them
			s.multi.flags |= s.flagsOf(spec, args)
			s.multi.bytes += argsSize(args) + pointerSize*len(args)
			s.multi.queue = append(s.multi.queue, queued{spec, append([]string(nil), args...)})
		}
		return resp.Simple("QUEUED")
	}
	if s.debugs == debugSync && (spec.Name == "eval" || spec.Name == "eval_ro") {
		return s.startDebugging(spec, args)
	}
	return co.call(s, spec, args, nil, false)
}

// find looks the row up and checks the arity.
func (co *core) find(args []string) (*Spec, *reject) {
	spec, container := co.lookup(args)
	if spec == nil {
		return nil, rejectUnknown(args, container)
	}
	if !spec.arityOK(len(args)) {
		return spec, rejectArity(spec)
	}
	if spec.run == nil { // a container alone
		return spec, rejectArity(spec)
	}
	return spec, nil
}

// gates are the refusals that depend on the client and the server's state.
func (s *Session) gates(spec *Spec, args []string) *reject {
	switch {
	case spec.Flags&Protected != 0 && !s.protectedAllowed(spec):
		return &reject{conn: protectedText(spec)}
	case s.mustAuth() && spec.Flags&NoAuth == 0:
		return &reject{conn: errNoAuth.Str}
	case s.multi != nil && spec.Flags&NoMulti != 0:
		return &reject{conn: "ERR Command not allowed inside a transaction"}
	}
	if !s.user.unrestricted {
		if rej := s.checkAccess(spec, args, s.place()); rej != nil {
			return rej
		}
	}
	if s.core.cluster != nil {
		if rej := s.clusterGate(spec, args); rej != nil {
			return rej
		}
	}
	if s.core.outOfMemory || !s.core.enoughReplicas() {
		if rej := s.stateGate(spec, args); rej != nil {
			return rej
		}
	}
	switch {
	case s.proto == 2 && s.subscribed() && !spec.inPubSub:
		return &reject{conn: "ERR Can't execute '" + spec.Name + "': only (P|S)SUBSCRIBE / " +
			"(P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"}
	case spec.Flags&PubSub != 0 && unsubscribes[spec.Name] && !s.subscribed():
		return &reject{conn: "NOSUB '" + spec.Name + "' command executed not in subscribed mode"}
	case s.core.busy && spec.Flags&AllowBusy == 0:
		return &reject{conn: s.core.busyReply().Str}
	case (s.monitor || s.isReplica()) && (spec.Flags&ReadOnly != 0 || s.mayReplicate(spec, args)):
		return &reject{conn: "ERR Replica can't interact with the keyspace"}
	}
	return nil
}

// stateGate refuses what needs memory or replicas that are not there.
func (s *Session) stateGate(spec *Spec, args []string) *reject {
	flags := s.flagsOf(spec, args)
	switch {
	case s.core.outOfMemory && flags&DenyOOM != 0:
		return &reject{conn: errOOM.Str}
	case flags&Write != 0 && !s.core.enoughReplicas():
		return &reject{conn: errNoReplicas.Str}
	}
	return nil
}

// flagsOf are the flags by which a client's request is let in: a script's own where it
// declares them, and for EXEC also those of what it would run.
func (s *Session) flagsOf(spec *Spec, args []string) Flags {
	flags := spec.Flags
	if spec.Name == "exec" && s.multi != nil && !s.dirty {
		flags |= s.multi.flags
	}
	if f := s.core.declaredFlags(spec, args); f.HasShebang {
		flags &^= Write | DenyOOM | MayReplicate
		if !f.NoWrites {
			flags |= Write
		}
		if !f.NoWrites && !f.AllowOOM {
			flags |= DenyOOM
		}
	}
	return flags
}

// inPubSub are the commands that a RESP2 client may give while it is subscribed.
var inPubSub = map[string]bool{"ping": true, "subscribe": true, "psubscribe": true, "ssubscribe": true,
	"unsubscribe": true, "punsubscribe": true, "sunsubscribe": true, "quit": true, "reset": true}

var unsubscribes = map[string]bool{"unsubscribe": true, "punsubscribe": true, "sunsubscribe": true}

func isModuleCommand(spec *Spec) bool { return strings.HasPrefix(spec.Name, "module") }

// protectedText is the refusal of DEBUG and its like by the configuration.
func protectedText(spec *Spec) string {
	name, option := "DEBUG", "enable-debug-command"
	if isModuleCommand(spec) {
		name, option = "MODULE", "enable-module-command"
	}
	return "ERR " + name + " command not allowed. If the " + option + " option is set to \"local\", " +
		"you can run it from a local connection, otherwise you need to set this option " +
		"in the configuration file, and then restart the server."
}

// rejected answers a request that a gate refused. A transaction under way is spoilt by it.
func (s *Session) rejected(spec *Spec, args []string, rej *reject) resp.Value {
	if spec != nil {
		s.core.statsOf(spec).rejected++
	}
	v := rej.reply(false)
	s.core.countError(v.Str)
	if s.multi != nil {
		*s.multi = transaction{spoilt: true}
	}
	if spec != nil && spec.Name == "exec" { // with or without a transaction
		s.endMulti()
		if rej.redirects {
			return v
		}
		(&Call{core: s.core, Sess: s, Spec: spec, Args: args}).feedMonitors()
		return resp.Err("EXECABORT Transaction discarded because of: " + strings.TrimPrefix(v.Str, "ERR "))
	}
	return v
}

// call is the only way to a handler: from connections, EXEC and scripts.
func (co *core) call(s *Session, spec *Spec, args []string, run *scriptRun, inExec bool) resp.Value {
	c := &co.calls[co.depth]
	if co.depth == 0 && len(co.elems) > 0 {
		clear(co.elems) // it must not hold on to what it refers to
		co.elems = co.elems[:0]
	}
	if !spec.forgets || co.overheard() {
		co.holdOn()
	}
	began := co.moment()
	co.depth++
	*c = Call{core: co, Sess: s, Spec: spec, Args: args, script: run, inExec: inExec}
	retry := (s.held != nil || s.retrying) && run == nil && !inExec
	if spec.Flags&SkipMonitor != 0 { // a script: shown ahead of what it calls
		c.feedMonitors()
	}
	dirty := co.stats.dirty
	v := spec.run(c)
	if co.repl.streams() {
		c.propagate(dirty)
	}
	co.depth--
	if co.repl.commands > 0 && co.depth == 0 {
		co.endUnit(spec.Flags&TouchesArbitraryKeys != 0)
		s.written = co.repl.offset
	}
	usec := co.since(began)
	if co.tracking.clients > 0 {
		co.remember(spec, args)
	}
	if len(co.monitors) > 0 && spec.Flags&(SkipMonitor|Admin) == 0 && !retry {
		c.feedMonitors()
	}
	if s.isBlocked() && run == nil {
		s.held.spent += usec
		return v // it counts when it is through
	}
	if s.held != nil && run == nil {
		usec += s.held.spent
	}
	co.finished(s, spec, args, v, usec)
	return v
}

// finished counts a call that has its reply, and the microseconds that it took.
func (co *core) finished(s *Session, spec *Spec, args []string, v resp.Value, usec int64) {
	failed := v.Kind == resp.KindErr
	if failed { // its text may be part of an argument
		co.holdOn()
	}
	switch {
	case failed && co.scripted && !co.relayed:
		co.countScriptError(v.Str)
	case failed && !co.relayed:
		co.countError(v.Str)
	}
	co.relayed, co.scripted = false, false
	co.charge(s, spec, args, failed, usec)
}

// holdOn tells that an argument may be in use after the turn under way, which makes the
// memory of all of the turn's arguments stay as it is: see resp.CommandReader.Done.
func (co *core) holdOn() { co.heldOn++ }

// overheard reports whether others may be told of a command's arguments.
func (co *core) overheard() bool {
	return co.tracking.clients > 0 || len(co.monitors) > 0 || co.repl.streams() || co.onKeyEvent != nil || co.set.notify != 0
}

// maxErrorCodes is how many codes are counted before new ones of scripts' own errors go
// under one name.
const maxErrorCodes = 128

// countScriptError counts an error that a script made up.
func (co *core) countScriptError(text string) {
	if _, known := co.stats.errorCodes[errCode(text)]; !known && len(co.stats.errorCodes) >= maxErrorCodes {
		text = "ERRORSTATS_OVERFLOW "
	}
	co.countError(text)
}

func (co *core) countError(text string) {
	co.stats.errors++
	co.stats.errorCodes[errCode(text)]++
}

// touch tells whoever watches a key that it was modified by the client whose command
// runs. What a script changes no client has changed.
func (co *core) touch(db int, key string) {
	by := co.running
	if co.run != nil {
		by = nil
	}
	co.touchBy(by, db, key)
}

func (co *core) touchBy(by *Session, db int, key string) {
	if co.tracking.clients > 0 {
		co.trackChange(by, key)
	}
	if len(co.watchers) > 0 {
		co.touchWatched(watchKey{db, key})
	}
	if len(co.waiters.byKey) > 0 {
		co.waiters.touched(watchKey{db, key})
		if len(co.waiters.ready) > 0 {
			co.holdOn()
		}
	}
}

// touchAll touches every watched or waited-for key of a database whose content is
// replaced by next.
func (co *core) touchAll(db int, next *store.DB) {
	at := func(k watchKey) (was, becomes *store.Object) {
		if k.db != db {
			return nil, nil
		}
		if next != nil {
			becomes = next.Read(k.key)
		}
		return co.dbs[db].Read(k.key), becomes
	}
	for k, watchers := range co.watchers { // marking is order-free
		if was, becomes := at(k); was != nil || becomes != nil {
			for _, w := range watchers {
				w.replaced(was, becomes)
			}
		}
	}
	var ready []watchKey
	for k := range co.waiters.byKey {
		if was, becomes := at(k); was != nil || becomes != nil {
			ready = append(ready, k)
		}
	}
	slices.SortFunc(ready, func(a, b watchKey) int { return strings.Compare(a.key, b.key) })
	for _, k := range ready {
		co.waiters.touched(k)
	}
}

// pace is how long a request may take.
type pace uint8

const (
	paceBrief pace = iota // it ends soon, whatever its arguments
	paceOpen              // it did when it ran last, or waits for others, or runs what a client has made
	paceSlow              // it may well take long: the replies ahead of it are written first
)

func (s *Session) paceOf(args []string) pace {
	spec, _ := s.core.lookup(args)
	if spec == nil || spec.pace == nil {
		return paceBrief
	}
	return spec.pace(s, args)
}

// anyPace is that of commands which wait for others, or run code.
func anyPace(*Session, []string) pace { return paceOpen }

// place is what ACL LOG calls the context of the client's next command.
func (s *Session) place() string {
	if s.multi != nil {
		return "multi"
	}
	return "toplevel"
}
