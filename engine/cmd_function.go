package engine

import (
	"errors"
	"strings"

	"github.com/echomq/echomq-sim/luabridge"
	"github.com/echomq/echomq-sim/rdb"
	"github.com/echomq/echomq-sim/resp"
)

var functionCommands = []Spec{
	{Name: "fcall", Arity: -3, Flags: NoScript | Stale | SkipMonitor | NoMandatoryKeys | MayReplicate,
		Keys: keys(keyNum(2, 0, 1, 1, RW|Access|Update).note("We cannot tell how the keys will be used so we assume the worst, RW and UPDATE")), run: fcall, pace: functionPace,
		Group: "scripting", Since: "7.0.0", Complexity: "Depends on the function that is executed.",
		Summary: "Invokes a function.",
		Args:    `function numkeys:i key:k#0?* arg?*`},
	{Name: "fcall_ro", Arity: -3, Flags: ReadOnly | NoScript | Stale | SkipMonitor | NoMandatoryKeys,
		Keys: keys(keyNum(2, 0, 1, 1, RO|Access).note("We cannot tell how the keys will be used so we assume the worst, RO and ACCESS")), run: fcallRo, pace: functionPace,
		Group: "scripting", Since: "7.0.0", Complexity: "Depends on the function that is executed.",
		Summary: "Invokes a read-only function.",
		Args:    `function numkeys:i key:k#0?* arg?*`},
	{Name: "function", Arity: -2, NoGroupACL: true,
		Group: "scripting", Since: "7.0.0", Complexity: "Depends on subcommand.",
		Summary: "A container for function commands."},
	{Name: "function|delete", Arity: 3, Flags: Write | NoScript, run: functionDelete,
		Group: "scripting", Since: "7.0.0", Complexity: "O(1)",
		Summary: "Deletes a library and its functions.",
		Tips:    []string{"request_policy:all_shards", "response_policy:all_succeeded"},
		Args:    `library-name`},
	{Name: "function|dump", Arity: 2, Flags: NoScript, run: functionDump,
		Group: "scripting", Since: "7.0.0", Complexity: "O(N) where N is the number of functions",
		Summary: "Dumps all libraries into a serialized binary payload."},
	{Name: "function|flush", Arity: -2, Flags: Write | NoScript, run: functionFlush,
		Group: "scripting", Since: "7.0.0", Complexity: "O(N) where N is the number of functions deleted",
		Summary: "Deletes all libraries and functions.",
		Tips:    []string{"request_policy:all_shards", "response_policy:all_succeeded"},
		Args:    `flush-type<async:t=ASYNC sync:t=SYNC>?`},
	{Name: "function|help", Arity: 2, Flags: Loading | Stale, run: functionHelp,
		Group: "scripting", Since: "7.0.0", Complexity: "O(1)",
		Summary: "Returns helpful text about the different subcommands."},
	{Name: "function|kill", Arity: 2, Flags: NoScript | AllowBusy, run: functionKill,
		Group: "scripting", Since: "7.0.0", Complexity: "O(1)",
		Summary: "Terminates a function during execution.",
		Tips:    []string{"request_policy:all_shards", "response_policy:one_succeeded"}},
	{Name: "function|list", Arity: -2, Flags: NoScript, run: functionList,
		Group: "scripting", Since: "7.0.0", Complexity: "O(N) where N is the number of functions",
		Summary: "Returns information about all libraries.",
		Tips:    []string{"nondeterministic_output_order"},
		Args:    `library-name-pattern=LIBRARYNAME? withcode:t=WITHCODE?`},
	{Name: "function|load", Arity: -3, Flags: Write | DenyOOM | NoScript, run: functionLoad, pace: anyPace,
		Group: "scripting", Since: "7.0.0", Complexity: "O(1) (considering compilation time is redundant)",
		Summary: "Creates a library.",
		Tips:    []string{"request_policy:all_shards", "response_policy:all_succeeded"},
		Args:    `replace:t=REPLACE? function-code`},
	{Name: "function|restore", Arity: -3, Flags: Write | DenyOOM | NoScript, run: functionRestore, pace: anyPace,
		Group: "scripting", Since: "7.0.0", Complexity: "O(N) where N is the number of functions on the payload",
		Summary: "Restores all libraries from a payload.",
		Tips:    []string{"request_policy:all_shards", "response_policy:all_succeeded"},
		Args:    `serialized-value policy<flush:t=FLUSH append:t=APPEND replace:t=REPLACE>?`},
	{Name: "function|stats", Arity: 2, Flags: NoScript | AllowBusy, run: functionStats,
		Group: "scripting", Since: "7.0.0", Complexity: "O(1)",
		Summary: "Returns information about a function during execution.",
		Tips:    []string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"}},
}

// libraryEngine is the one engine there is, as the server spells it.
const libraryEngine = "LUA"

// fcall: FCALL function numkeys [key [key ...]] [arg [arg ...]]
func fcall(c *Call) resp.Value { return c.callFunction(false) }

// fcallRo: FCALL_RO function numkeys [key [key ...]] [arg [arg ...]]
func fcallRo(c *Call) resp.Value { return c.callFunction(true) }

func (c *Call) callFunction(readOnly bool) resp.Value {
	f := c.functions.find(c.Args[1])
	if f == nil {
		return resp.Err("ERR Function not found")
	}
	keys, args, bad := scriptKeys(c.Args, resp.Err("ERR Bad number of keys provided"))
	if bad != nil {
		return *bad
	}
	run := scriptRun{name: f.Name, flags: f.Flags, readOnly: readOnly}
	if bad := c.startRun(&run); bad != nil {
		return *bad
	}
	v := c.interp().Call(scriptHost{c.core}, f.library, f.Name, keys, args)
	if fast := !c.endRun(); fast != c.fastFunctions[f] {
		c.fastFunctions[f] = fast
	}
	return v
}

// functionPace: an FCALL may take long if its function never ran, or its last run did.
func functionPace(s *Session, args []string) pace {
	if len(args) < 3 {
		return paceBrief
	}
	f := s.core.functions.find(args[1])
	switch {
	case f == nil:
		return paceBrief
	case s.core.fastFunctions[f]:
		return paceOpen
	}
	return paceSlow
}

// functionLoad: FUNCTION LOAD [REPLACE] code
func functionLoad(c *Call) resp.Value {
	replace := false
	for _, opt := range c.Args[2 : len(c.Args)-1] {
		if !equalWord(opt, "replace") {
			return resp.Err(oneLine("ERR Unknown option given: " + cString(opt)))
		}
		replace = true
	}
	next, lib, bad := c.addLibrary(c.functions, strings.Clone(c.Args[len(c.Args)-1]), replace)
	if bad != nil {
		return *bad
	}
	c.setFunctions(next)
	return resp.Bulk(lib.Name)
}

// addLibrary loads a library and returns the set with it.
func (co *core) addLibrary(set *functionSet, source string, replace bool) (next *functionSet, lib *luabridge.Library, bad *resp.Value) {
	fail := func(text string) (*functionSet, *luabridge.Library, *resp.Value) {
		v := resp.Err(text)
		return nil, nil, &v
	}
	lib, err := luabridge.ParseLibrary(source)
	if err != nil {
		return fail(err.Error())
	}
	if set.library(lib.Name) != nil {
		if !replace {
			return fail("ERR Library '" + lib.Name + "' already exists")
		}
		set = set.without(lib.Name)
	}
	if err := co.loadLibrary(lib); err != nil {
		return fail(err.Error())
	}
	next, clash := set.with(lib)
	if clash != "" {
		co.interp().Forget(lib)
		return fail("ERR Function " + clash + " already exists")
	}
	return next, lib, nil
}

// functionDelete: FUNCTION DELETE library-name
func functionDelete(c *Call) resp.Value {
	if c.functions.library(c.Args[2]) == nil {
		return resp.Err("ERR Library not found")
	}
	c.setFunctions(c.functions.without(c.Args[2]))
	return resp.OK
}

// functionFlush: FUNCTION FLUSH [ASYNC | SYNC]
func functionFlush(c *Call) resp.Value {
	switch {
	case len(c.Args) > 3:
		return c.subcommandSyntax()
	case len(c.Args) == 3 && !c.is(2, "sync") && !c.is(2, "async"):
		return resp.Err("ERR FUNCTION FLUSH only supports SYNC|ASYNC option")
	}
	c.setFunctions(&functionSet{})
	return resp.OK
}

// functionList: FUNCTION LIST [LIBRARYNAME pattern] [WITHCODE]
func functionList(c *Call) resp.Value {
	pattern, filtered, withCode := "", false, false
	for i := 2; i < len(c.Args); i++ {
		switch {
		case !withCode && c.is(i, "withcode"):
			withCode = true
		case !filtered && c.is(i, "libraryname"):
			if i++; i == len(c.Args) {
				return resp.Err("ERR library name argument was not given")
			}
			pattern, filtered = c.Args[i], true
		default:
			return resp.Err(oneLine("ERR Unknown argument " + cString(c.Args[i])))
		}
	}
	out := []resp.Value{}
	for _, lib := range c.functions.libraries {
		if !filtered || globMatch(pattern, lib.Name, true) {
			out = append(out, libraryReply(lib, withCode))
		}
	}
	return resp.Array(out...)
}

func libraryReply(lib *luabridge.Library, withCode bool) resp.Value {
	functions := []resp.Value{}
	for _, f := range lib.Functions {
		about := resp.Null
		if f.Described {
			about = resp.Bulk(f.Description)
		}
		flags := []resp.Value{}
		for _, name := range f.Flags.Names() {
			flags = append(flags, resp.Simple(name))
		}
		functions = append(functions, resp.Map(resp.Bulk("name"), resp.Bulk(f.Name),
			resp.Bulk("description"), about, resp.Bulk("flags"), resp.Set(flags...)))
	}
	fields := []resp.Value{resp.Bulk("library_name"), resp.Bulk(lib.Name), resp.Bulk("engine"), resp.Bulk(libraryEngine),
		resp.Bulk("functions"), resp.Array(functions...)}
	if withCode {
		fields = append(fields, resp.Bulk("library_code"), resp.Bulk(lib.Source))
	}
	return resp.Map(fields...)
}

// functionStats: FUNCTION STATS
func functionStats(c *Call) resp.Value {
	running := resp.Null
	if run := c.run; run != nil {
		if run.eval {
			return errBusy
		}
		running = resp.Map(resp.Bulk("name"), resp.Bulk(run.name), resp.Bulk("command"), resp.Strings(run.command...),
			resp.Bulk("duration_ms"), resp.Int(run.watch.elapsed().Milliseconds()))
	}
	count := resp.Map(resp.Bulk("libraries_count"), resp.Int(int64(len(c.functions.libraries))),
		resp.Bulk("functions_count"), resp.Int(c.functions.count()))
	return resp.Map(resp.Bulk("running_script"), running, resp.Bulk("engines"), resp.Map(resp.Bulk(libraryEngine), count))
}

// functionKill: FUNCTION KILL
func functionKill(c *Call) resp.Value { return c.killRun(false) }

// functionDump: FUNCTION DUMP
func functionDump(c *Call) resp.Value {
	sources := make([]string, len(c.functions.libraries))
	for i, lib := range c.functions.libraries {
		sources[i] = lib.Source
	}
	return resp.Bulk(rdb.DumpLibraries(sources, c.compresses()))
}

// functionRestore: FUNCTION RESTORE payload [FLUSH | APPEND | REPLACE]
func functionRestore(c *Call) resp.Value {
	flush, replace := false, false
	if len(c.Args) > 4 {
		return c.subcommandSyntax()
	}
	if len(c.Args) == 4 {
		flush, replace = c.is(3, "flush"), c.is(3, "replace")
		if !flush && !replace && !c.is(3, "append") {
			return resp.Err("ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.")
		}
	}
	restored, bad := c.readLibraries(c.Args[2])
	if bad != nil {
		return *bad
	}
	next := restored
	if !flush {
		if next, bad = c.functions.join(restored, replace); bad != nil {
			c.forgetLibraries(restored)
			return *bad
		}
	}
	c.setFunctions(next)
	return resp.OK
}

// readLibraries loads the libraries of a dump.
func (co *core) readLibraries(payload string) (set *functionSet, bad *resp.Value) {
	set = &functionSet{}
	err := rdb.RestoreLibraries(payload, func(source string) error {
		next, _, bad := co.addLibrary(set, strings.Clone(source), false)
		if bad != nil {
			return errors.New(bad.Str)
		}
		set = next
		return nil
	})
	if err == nil {
		return set, nil
	}
	co.forgetLibraries(set)
	text := err.Error()
	var broken *rdb.Error
	switch {
	case err == rdb.ErrSeal:
		text = "ERR " + badSeal
	case err == rdb.ErrEarlyLibrary:
		text = "ERR Pre-GA function format not supported"
	case err == rdb.ErrNotLibrary:
		text = "ERR given type is not a function"
	case errors.As(err, &broken):
		text = "ERR Failed loading library payload"
	}
	v := resp.Err(text)
	return nil, &v
}

// functionHelp: FUNCTION HELP
func functionHelp(*Call) resp.Value {
	return helpReply("FUNCTION",
		"LOAD [REPLACE] <FUNCTION CODE>",
		"    Create a new library with the given library name and code.",
		"DELETE <LIBRARY NAME>",
		"    Delete the given library.",
		"LIST [LIBRARYNAME PATTERN] [WITHCODE]",
		"    Return general information on all the libraries:",
		"    * Library name",
		"    * The engine used to run the Library",
		"    * Functions list",
		"    * Library code (if WITHCODE is given)",
		"    It also possible to get only function that matches a pattern using LIBRARYNAME argument.",
		"STATS",
		"    Return information about the current function running:",
		"    * Function name",
		"    * Command used to run the function",
		"    * Duration in MS that the function is running",
		"    If no function is running, return nil",
		"    In addition, returns a list of available engines.",
		"KILL",
		"    Kill the current running function.",
		"FLUSH [ASYNC|SYNC]",
		"    Delete all the libraries.",
		"    When called without the optional mode argument, the behavior is determined by the",
		"    lazyfree-lazy-user-flush configuration directive. Valid modes are:",
		"    * ASYNC: Asynchronously flush the libraries.",
		"    * SYNC: Synchronously flush the libraries.",
		"DUMP",
		"    Return a serialized payload representing the current libraries, can be restored using FUNCTION RESTORE command",
		"RESTORE <PAYLOAD> [FLUSH|APPEND|REPLACE]",
		"    Restore the libraries represented by the given payload, it is possible to give a restore policy to",
		"    control how to handle existing libraries (default APPEND):",
		"    * FLUSH: delete all existing libraries.",
		"    * APPEND: appends the restored libraries to the existing libraries. On collision, abort.",
		"    * REPLACE: appends the restored libraries to the existing libraries, On collision, replace the old",
		"      libraries with the new libraries (notice that even on this option there is a chance of failure",
		"      in case of functions name collision with another library).")
}
