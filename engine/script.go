package engine

import (
	"strconv"
	"strings"

	"github.com/echomq/echomq-sim/luabridge"
	"github.com/echomq/echomq-sim/resp"
)

// scriptRun is a script or a function under way.
type scriptRun struct {
	name     string // SHA-1 of a script, name of a function
	flags    luabridge.ScriptFlags
	eval     bool // a script, not a function
	caller   *Session
	command  []string
	db       int // the script's own selected database
	slot     int // of its keys so far, -1 for none; on a cluster only
	readOnly bool
	unsent   bool // what it calls is for no replica
	wrote    bool // a write command ran: it can't be killed any more
	killed   bool
	refused  bool      // the last command was, before it ran
	polled   bool      // it ran long enough to be asked
	watch    stopwatch // real time since the first poll
}

// scriptHost is the engine as a script sees it.
type scriptHost struct{ co *core }

// Call runs one redis.call: lookup, a script's own gates, then the one road to the handler.
func (h scriptHost) Call(args []string) resp.Value {
	co := h.co
	run := co.run
	spec, rej := co.find(args)
	if rej == nil {
		rej = co.scriptGates(run, spec, args)
	}
	if rej == nil && co.cluster != nil {
		rej = co.scriptClusterGate(run, spec, args)
	}
	if run.refused = rej != nil; run.refused {
		if spec != nil {
			co.statsOf(spec).rejected++
		}
		v := rej.reply(true)
		co.countError(v.Str)
		return v
	}
	if spec.Flags&Write != 0 {
		run.wrote = true
	}
	return co.call(run.caller, spec, args, run, false)
}

// scriptGates are the refusals of scriptCall in Valkey's script.c, in its order.
func (co *core) scriptGates(run *scriptRun, spec *Spec, args []string) *reject {
	switch {
	case spec.Flags&NoScript != 0 && !co.allowAllInScripts:
		return &reject{conn: "ERR This Redis command is not allowed from script"}
	case !run.caller.user.unrestricted:
		if rej := run.caller.checkAccess(spec, args, "lua"); rej != nil {
			return rej
		}
	}
	switch {
	case run.readOnly && spec.Flags&(Write|MayReplicate) != 0:
		return &reject{conn: "ERR Write commands are not allowed from read-only scripts."}
	case spec.Flags&Write != 0 && !run.wrote && !co.enoughReplicas():
		return &reject{conn: errNoReplicas.Str}
	case co.outOfMemory && spec.Flags&DenyOOM != 0 && !run.wrote && !(run.flags.HasShebang && run.flags.AllowOOM):
		return &reject{conn: errOOM.Str}
	}
	return nil
}

// Log writes a script's log line.
func (h scriptHost) Log(level int, msg string) {
	h.co.holdOn()
	h.co.log(LogLevel(level), msg)
}

// ACLCheck answers redis.acl_check_cmd.
func (h scriptHost) ACLCheck(args []string) (ok bool, errText string) {
	spec, _ := h.co.table.lookup(args)
	if spec == nil {
		return false, "ERR Invalid command passed to server.acl_check_cmd()"
	}
	why, _ := h.co.run.caller.user.may(spec, args)
	return why == allowed, ""
}

// Replicate answers redis.set_repl.
func (h scriptHost) Replicate(on bool) { h.co.run.unsent = !on }

// closedText is the error of a script that the end of the server stops.
const closedText = "the server was closed"

// killedText is the error of what a client killed: the same for functions.
const killedText = "Script killed by user with SCRIPT KILL..."

// closing reports whether Close was called; it may be waiting for this turn's end.
func (co *core) closing() bool { return co.engine.closing.Load() }

// pollScript is called now and then while a script runs. It lets other clients have
// their turns once the script is busy for too long, and tells when to stop.
func (co *core) pollScript() (stop bool, reason string) {
	run := co.run
	if !run.polled {
		run.polled = true
		run.watch = startWatch()
	}
	if limit := co.set.busyThreshold(); limit > 0 && co.debugger == nil && run.watch.elapsed() >= limit {
		co.yieldTurn(run)
	}
	switch {
	case co.closing():
		return true, closedText
	case co.debugger != nil && co.debugging.stuck(co.debugger.Evaluates()):
		return true, "it ran for too long, and the debugger could not stop it"
	case run.killed:
		return true, killedText
	}
	return false, ""
}

// yieldTurn lets waiting turns in while a script is busy: they find the busy
// gate closed for all but a few commands. The script goes on with its own time.
func (co *core) yieldTurn(run *scriptRun) {
	if !co.busy {
		co.log(LogWarning, "Slow script detected: still in execution after "+
			strconv.FormatInt(run.watch.elapsed().Milliseconds(), 10)+" milliseconds. You can try killing the script using the "+
			run.killer()+" command. Script name is: "+run.name+".")
		if co.turnOf != nil {
			co.turnOf.TakesLong()
		}
	}
	now := co.now
	co.busy = true
	co.engine.mu.Unlock()
	yield()
	co.engine.mu.Lock()
	co.now = now
}

// killer is the command that kills the run.
func (run *scriptRun) killer() string {
	if run.eval {
		return "SCRIPT KILL"
	}
	return "FUNCTION KILL"
}

// busyReply is the refusal of other commands while a script is busy.
func (co *core) busyReply() resp.Value {
	busy := errBusy
	if co.run != nil && !co.run.eval {
		busy = errBusyFunction
	}
	if co.set.redisNamed {
		busy.Str = strings.Replace(busy.Str, "Valkey", "Redis", 1)
	}
	return busy
}

// interp is the interpreter, made for the first script.
func (co *core) interp() *luabridge.Interp {
	if co.lua == nil {
		co.lua = luabridge.New(luabridge.Options{Poll: co.pollScript})
	}
	return co.lua
}

// startRun begins the run of a script or function for this call's client, or
// refuses it. The rest of run is filled in.
func (c *Call) startRun(run *scriptRun) (bad *resp.Value) {
	if c.cluster != nil && run.flags.HasShebang && run.flags.NoCluster {
		return &errScriptCluster
	}
	if run.flags.HasShebang && !run.flags.NoWrites && run.readOnly {
		return &errWriteScript
	}
	if run.flags.HasShebang && !run.flags.NoWrites && !c.enoughReplicas() {
		return &errNoReplicas
	}
	if c.outOfMemory && run.flags.HasShebang && !run.flags.AllowOOM && !run.flags.NoWrites {
		return &errScriptOOM
	}
	run.readOnly = run.readOnly || run.flags.HasShebang && run.flags.NoWrites
	run.caller, run.command, run.db, run.slot = c.Sess, c.Args, c.Sess.db, c.Sess.slot
	c.runs = *run
	c.core.run = &c.runs
	c.lap = lap{} // of another script, if they are in one transaction
	return nil
}

// endRun ends the run and reports whether it was slow.
func (c *Call) endRun() (slow bool) {
	co := c.core
	slow = co.run.polled
	co.run = nil
	co.relayed, co.scripted = co.lua.Relayed(), true
	c.sendNothing() // but what it has called
	if co.busy {
		co.busy = false
		co.engine.changed.Broadcast()
	}
	return slow
}

// shortScript bounds the bytes of a source or SHA-1 and the number of arguments that are dealt
// with in less than the microsecond that times are told in.
const shortScript = 256

// runScript runs a compiled script for a client and returns its reply.
func (c *Call) runScript(s *cachedScript, keys, args []string, readOnly bool) resp.Value {
	run := scriptRun{name: s.SHA, flags: s.Flags, eval: true, readOnly: readOnly}
	if bad := c.startRun(&run); bad != nil {
		return *bad
	}
	if s.ran && c.depth == 1 && len(c.Args[1])+len(keys)+len(args) <= shortScript {
		c.lap.at = c.ticked.micros + c.now - c.ticked.now // hardly longer ago than the command began
	}
	v := c.interp().Debug(scriptHost{c.core}, s.Script, keys, args, c.debugger)
	s.ran, s.slow = true, c.endRun()
	return v
}

// scriptCache is the server-wide cache of compiled scripts. Scripts that came by
// EVAL are evicted, oldest use first, beyond a limit; loaded ones stay.
type scriptCache struct {
	bySHA map[string]*cachedScript
	lru   []*cachedScript // scripts that came by EVAL, least recently used first
}

type cachedScript struct {
	*luabridge.Script
	evictable bool
	slow      bool // its last run took long enough to be polled
	ran       bool
}

// maxEvalScripts is LRU_LIST_LENGTH of Valkey's eval.c.
const maxEvalScripts = 500

func newScriptCache() *scriptCache {
	return &scriptCache{bySHA: map[string]*cachedScript{}}
}

// get finds a script by its SHA-1 in either case and marks it used.
func (sc *scriptCache) get(sha string) *cachedScript {
	s := sc.peek(sha)
	if s != nil && s.evictable {
		sc.unlink(s)
		sc.lru = append(sc.lru, s)
	}
	return s
}

// peek finds a script as get does, but does not count as a use.
func (sc *scriptCache) peek(sha string) *cachedScript {
	if s := sc.bySHA[sha]; s != nil {
		return s
	}
	return sc.bySHA[strings.ToLower(sha)]
}

func (sc *scriptCache) unlink(s *cachedScript) {
	for i := len(sc.lru) - 1; i >= 0; i-- { // a script in use stands near the end
		if sc.lru[i] == s {
			sc.lru = append(sc.lru[:i], sc.lru[i+1:]...)
			return
		}
	}
}

// add caches a script that was compiled; loaded tells SCRIPT LOAD from EVAL.
func (sc *scriptCache) add(s *luabridge.Script, loaded bool) (added *cachedScript, evicted int) {
	c := &cachedScript{Script: s, evictable: !loaded}
	sc.bySHA[s.SHA] = c
	if loaded {
		return c, 0
	}
	if len(sc.lru) >= maxEvalScripts {
		delete(sc.bySHA, sc.lru[0].SHA)
		sc.lru = append(sc.lru[:0], sc.lru[1:]...)
		evicted = 1
	}
	sc.lru = append(sc.lru, c)
	return c, evicted
}

// keep makes a cached script permanent: it was loaded as well.
func (sc *scriptCache) keep(c *cachedScript) {
	if c.evictable {
		sc.unlink(c)
		c.evictable = false
	}
}

func (sc *scriptCache) flush() { *sc = *newScriptCache() }
