package engine

import (
	"strings"

	"github.com/echomq/echomq-sim/luabridge"
	"github.com/echomq/echomq-sim/resp"
)

// scriptRun is a script under way.
type scriptRun struct {
	script   *luabridge.Script
	caller   *Session
	db       int // the script's own selected database
	proto    int // what redis.setresp chose
	readOnly bool
	wrote    bool // a write command ran: the script can't be killed any more
	killed   bool
	watch    stopwatch // real time since the first poll
	polled   bool
}

// scriptHost is the engine as a script sees it.
type scriptHost struct{ co *core }

// Call runs one redis.call: lookup, a script's own gates, then the one road to the handler.
func (h scriptHost) Call(args []string) resp.Value {
	co := h.co
	run := co.run
	spec, rej := co.find(args)
	if rej == nil {
		rej = scriptGates(run, spec)
	}
	if rej != nil {
		if spec != nil {
			spec.stats.rejected++
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
func scriptGates(run *scriptRun, spec *Spec) *reject {
	switch {
	case spec.Flags&NoScript != 0:
		return &reject{conn: "ERR This Redis command is not allowed from script"}
	case run.readOnly && spec.Flags&(Write|MayReplicate) != 0:
		return &reject{conn: "ERR Write commands are not allowed from read-only scripts."}
	}
	return nil
}

// Log writes a script's log line.
func (h scriptHost) Log(level int, msg string) {
	if h.co.cfg.Log != nil {
		h.co.cfg.Log(LogLevel(level), msg)
	}
}

// ACLCheck answers redis.acl_check_cmd: the one user there is may run everything.
func (h scriptHost) ACLCheck(args []string) (allowed bool, errText string) {
	if spec, _ := h.co.table.lookup(args); spec == nil {
		return false, "ERR Invalid command passed to server.acl_check_cmd()"
	}
	return true, ""
}

// pollScript is called now and then while a script runs. It lets other clients have
// their turns once the script is busy for too long, and tells when to stop.
func (co *core) pollScript() (stop bool, reason string) {
	run := co.run
	if !run.polled {
		run.polled = true
		run.watch = startWatch()
	}
	if run.watch.elapsed() >= co.set.busyThreshold() {
		co.yieldTurn(run)
	}
	if co.closed {
		return true, "the server was closed"
	}
	if run.killed {
		return true, "Script killed by user with SCRIPT KILL."
	}
	return false, ""
}

// yieldTurn lets waiting turns in while a script is busy: they find the busy
// gate closed for all but a few commands. The script goes on with its own time.
func (co *core) yieldTurn(run *scriptRun) {
	now := co.now
	co.busy = true
	co.engine.mu.Unlock()
	yield()
	co.engine.mu.Lock()
	co.now = now
}

// runScript runs a compiled script for a client and returns its reply.
func (c *Call) runScript(s *luabridge.Script, keys, args []string, readOnly bool) resp.Value {
	if s.Flags.HasShebang && !s.Flags.NoWrites && readOnly {
		return resp.Err("ERR Can not execute a script with write flag using *_ro command.")
	}
	co := c.core
	if co.lua == nil {
		co.lua = luabridge.New(luabridge.Options{Poll: co.pollScript})
	}
	run := &scriptRun{script: s, caller: c.Sess, db: c.Sess.db, proto: 2}
	run.readOnly = readOnly || s.Flags.HasShebang && s.Flags.NoWrites
	co.run = run
	v := co.lua.Run(scriptHost{co}, s, keys, args)
	co.run = nil
	if co.busy {
		co.busy = false
		co.engine.changed.Broadcast()
	}
	co.scripts.note(s.SHA, run.polled)
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
	s := sc.bySHA[sha]
	if s == nil {
		s = sc.bySHA[strings.ToLower(sha)]
	}
	if s != nil && s.evictable {
		sc.unlink(s)
		sc.lru = append(sc.lru, s)
	}
	return s
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

func (sc *scriptCache) note(sha string, slow bool) {
	if c := sc.bySHA[sha]; c != nil {
		c.ran, c.slow = true, slow
	}
}

func (sc *scriptCache) flush() { *sc = *newScriptCache() }
