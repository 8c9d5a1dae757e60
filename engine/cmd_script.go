package engine

import (
	"strings"

	"github.com/echomq/echomq-sim/luabridge"
	"github.com/echomq/echomq-sim/resp"
)

var scriptCommands = []Spec{
	{Name: "eval", Arity: -3, Flags: NoScript | Stale | SkipMonitor | NoMandatoryKeys | MayReplicate,
		Keys: keys(keyNum(2, 0, 1, 1, RW|Access|Update).note("We cannot tell how the keys will be used so we assume the worst, RW and UPDATE")), run: eval, pace: scriptPace,
		Group: "scripting", Since: "2.6.0", Complexity: "Depends on the script that is executed.",
		Summary: "Executes a server-side Lua script.",
		Args:    `script numkeys:i key:k#0?* arg?*`},
	{Name: "eval_ro", Arity: -3, Flags: ReadOnly | NoScript | Stale | SkipMonitor | NoMandatoryKeys,
		Keys: keys(keyNum(2, 0, 1, 1, RO|Access).note("We cannot tell how the keys will be used so we assume the worst, RO and ACCESS")), run: evalRo, pace: scriptPace,
		Group: "scripting", Since: "7.0.0", Complexity: "Depends on the script that is executed.",
		Summary: "Executes a read-only server-side Lua script.",
		Args:    `script numkeys:i key:k#0?* arg?*`},
	{Name: "evalsha", Arity: -3, Flags: NoScript | Stale | SkipMonitor | NoMandatoryKeys | MayReplicate,
		Keys: keys(keyNum(2, 0, 1, 1, RW|Access|Update)), run: evalsha, pace: scriptPace,
		Group: "scripting", Since: "2.6.0", Complexity: "Depends on the script that is executed.",
		Summary: "Executes a server-side Lua script by SHA1 digest.",
		Args:    `sha1 numkeys:i key:k#0?* arg?*`},
	{Name: "evalsha_ro", Arity: -3, Flags: ReadOnly | NoScript | Stale | SkipMonitor | NoMandatoryKeys,
		Keys: keys(keyNum(2, 0, 1, 1, RO|Access)), run: evalshaRo, pace: scriptPace,
		Group: "scripting", Since: "7.0.0", Complexity: "Depends on the script that is executed.",
		Summary: "Executes a read-only server-side Lua script by SHA1 digest.",
		Args:    `sha1 numkeys:i key:k#0?* arg?*`},
	{Name: "script", Arity: -2, NoGroupACL: true,
		Group: "scripting", Since: "2.6.0", Complexity: "Depends on subcommand.",
		Summary: "A container for Lua scripts management commands."},
	{Name: "script|debug", Arity: 3, Flags: NoScript, run: scriptDebug,
		Group: "scripting", Since: "3.2.0", Complexity: "O(1)",
		Summary: "Sets the debug mode of server-side Lua scripts.",
		Args:    `mode<yes:t=YES sync:t=SYNC no:t=NO>`},
	{Name: "script|exists", Arity: -3, Flags: NoScript, run: scriptExists,
		Group: "scripting", Since: "2.6.0", Complexity: "O(N) with N being the number of scripts to check (so checking a single script is an O(1) operation).",
		Summary: "Determines whether server-side Lua scripts exist in the script cache.",
		Tips:    []string{"request_policy:all_shards", "response_policy:agg_logical_and"},
		Args:    `sha1*`},
	{Name: "script|flush", Arity: -2, Flags: NoScript, run: scriptFlush,
		Group: "scripting", Since: "2.6.0", Complexity: "O(N) with N being the number of scripts in cache",
		Summary: "Removes all server-side Lua scripts from the script cache.",
		History: []string{"6.2.0 Added the `ASYNC` and `SYNC` flushing mode modifiers."},
		Tips:    []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
		Args:    `flush-type<async:t=ASYNC sync:t=SYNC>@6.2.0?`},
	{Name: "script|help", Arity: 2, Flags: Loading | Stale, run: scriptHelp,
		Group: "scripting", Since: "5.0.0", Complexity: "O(1)",
		Summary: "Returns helpful text about the different subcommands."},
	{Name: "script|kill", Arity: 2, Flags: NoScript | AllowBusy, run: scriptKill,
		Group: "scripting", Since: "2.6.0", Complexity: "O(1)",
		Summary: "Terminates a server-side Lua script during execution.",
		Tips:    []string{"request_policy:all_shards", "response_policy:one_succeeded"}},
	{Name: "script|load", Arity: 3, Flags: NoScript | Stale, run: scriptLoad,
		Group: "scripting", Since: "2.6.0", Complexity: "O(N) with N being the length in bytes of the script body.",
		Summary: "Loads a server-side Lua script to the script cache.",
		Tips:    []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
		Args:    `script`},
	{Name: "script|show", Arity: 3, Flags: NoScript, run: scriptShow,
		Group: "scripting", Since: "8.0.0", Complexity: "O(1).",
		Summary: "Show server-side Lua script in the script cache.",
		Args:    `sha1`},
}

var errNoScript = resp.Err("NOSCRIPT No matching script.")

// scriptKeys splits a script's arguments: script numkeys [key ...] [arg ...]
func scriptKeys(a []string, notInt resp.Value) (keys, args []string, bad *resp.Value) {
	n, ok := parseInt(a[2])
	fail := func(v resp.Value) ([]string, []string, *resp.Value) { return nil, nil, &v }
	switch {
	case !ok:
		return fail(notInt)
	case n > int64(len(a)-3):
		return fail(resp.Err("ERR Number of keys can't be greater than number of args"))
	case n < 0:
		return fail(resp.Err("ERR Number of keys can't be negative"))
	}
	return a[3 : 3+n], a[3+n:], nil
}

// eval: EVAL script numkeys [key [key ...]] [arg [arg ...]]
func eval(c *Call) resp.Value { return c.evalSource(false) }

// evalRo: EVAL_RO script numkeys [key [key ...]] [arg [arg ...]]
func evalRo(c *Call) resp.Value { return c.evalSource(true) }

func (c *Call) evalSource(readOnly bool) resp.Value {
	if c.Sess.debugs != debugOff && c.debugger == nil {
		return c.debugEval()
	}
	keys, args, bad := scriptKeys(c.Args, errNotInt)
	if bad != nil {
		return *bad
	}
	s, v := c.compile(c.Args[1], false)
	if s == nil {
		return v
	}
	return c.runScript(s, keys, args, readOnly)
}

// evalsha: EVALSHA sha1 numkeys [key [key ...]] [arg [arg ...]]
func evalsha(c *Call) resp.Value { return c.evalSHA(false) }

// evalshaRo: EVALSHA_RO sha1 numkeys [key [key ...]] [arg [arg ...]]
func evalshaRo(c *Call) resp.Value { return c.evalSHA(true) }

func (c *Call) evalSHA(readOnly bool) resp.Value {
	switch {
	case len(c.Args[1]) != 40:
		return errNoScript
	case c.Sess.debugs != debugOff:
		return resp.Err("ERR Please use EVAL instead of EVALSHA for debugging")
	}
	keys, args, bad := scriptKeys(c.Args, errNotInt)
	if bad != nil {
		return *bad
	}
	s := c.scripts.get(c.Args[1])
	if s == nil {
		return errNoScript
	}
	return c.runScript(s, keys, args, readOnly)
}

// compile finds source in the cache or compiles and caches it.
func (c *Call) compile(source string, load bool) (*cachedScript, resp.Value) {
	sha := luabridge.SHA1Hex(source)
	if s := c.scripts.get(sha); s != nil {
		if load {
			c.scripts.keep(s)
		}
		return s, resp.Null
	}
	script, err := luabridge.Compile(source)
	if err != nil {
		return nil, resp.Err(err.Error())
	}
	s, evicted := c.scripts.add(script, load)
	c.stats.evictedScripts += int64(evicted)
	return s, resp.Null
}

// scriptPace: an EVAL or EVALSHA may take long if its script never ran, or its last run did.
func scriptPace(client *Session, args []string) pace {
	if len(args) < 3 {
		return paceBrief
	}
	sha := args[1]
	if len(sha) != 40 {
		sha = luabridge.SHA1Hex(args[1])
	}
	switch s := client.core.scripts.bySHA[sha]; {
	case s == nil || !s.ran || s.slow:
		return paceSlow
	case s.EndsSoon():
		return paceBrief
	}
	return paceOpen
}

// scriptLoad: SCRIPT LOAD script
func scriptLoad(c *Call) resp.Value {
	s, v := c.compile(c.Args[2], true)
	if s == nil {
		return v
	}
	return resp.Bulk(s.SHA)
}

// scriptExists: SCRIPT EXISTS sha1 [sha1 ...]
func scriptExists(c *Call) resp.Value {
	out := make([]resp.Value, 0, len(c.Args)-2)
	for _, sha := range c.Args[2:] {
		n := resp.Zero
		if c.scripts.peek(sha) != nil {
			n = resp.One
		}
		out = append(out, n)
	}
	return resp.Array(out...)
}

// scriptFlush: SCRIPT FLUSH [ASYNC | SYNC]
func scriptFlush(c *Call) resp.Value {
	if len(c.Args) > 3 || len(c.Args) == 3 && !strings.EqualFold(c.Args[2], "sync") && !strings.EqualFold(c.Args[2], "async") {
		return resp.Err("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
	}
	c.scripts.flush()
	return resp.OK
}

// scriptShow: SCRIPT SHOW sha1
func scriptShow(c *Call) resp.Value {
	s := c.scripts.peek(c.Args[2])
	if s == nil {
		return errNoScript
	}
	return resp.Bulk(s.Source)
}

// scriptKill: SCRIPT KILL
func scriptKill(c *Call) resp.Value { return c.killRun(true) }

// killRun asks the script or function under way to stop.
func (c *Call) killRun(eval bool) resp.Value {
	switch run := c.run; {
	case run == nil:
		return resp.Err("NOTBUSY No scripts in execution right now.")
	case run.wrote:
		return resp.Err("UNKILLABLE Sorry the script already executed write commands against the dataset. " +
			"You can either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.")
	case run.eval != eval:
		return c.busyReply()
	}
	c.run.killed = true
	return resp.OK
}

// scriptHelp: SCRIPT HELP
func scriptHelp(*Call) resp.Value {
	return helpReply("SCRIPT",
		"DEBUG (YES|SYNC|NO)",
		"    Set the debug mode for subsequent scripts executed.",
		"EXISTS <sha1> [<sha1> ...]",
		"    Return information about the existence of the scripts in the script cache.",
		"FLUSH [ASYNC|SYNC]",
		"    Flush the Lua scripts cache. Very dangerous on replicas.",
		"    When called without the optional mode argument, the behavior is determined",
		"     by the lazyfree-lazy-user-flush configuration directive. Valid modes are:",
		"    * ASYNC: Asynchronously flush the scripts cache.",
		"    * SYNC: Synchronously flush the scripts cache.",
		"KILL",
		"    Kill the currently executing Lua script.",
		"LOAD <script>",
		"    Load a script into the scripts cache without executing it.",
		"SHOW <sha1>",
		"    Show a script from the scripts cache.")
}
