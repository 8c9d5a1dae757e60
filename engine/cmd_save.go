package engine

import (
	"github.com/echomq/echomq-sim/resp"
)

var saveCommands = []Spec{
	{Name: "bgrewriteaof", Arity: 1, Flags: Admin | NoScript | NoAsyncLoading, run: bgrewriteaof,
		Group: "server", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Asynchronously rewrites the append-only file to disk."},
	{Name: "bgsave", Arity: -1, Flags: Admin | NoScript | NoAsyncLoading, run: bgsave,
		Group: "server", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Asynchronously saves the database(s) to disk.",
		History: []string{"3.2.2 Added the `SCHEDULE` option."},
		Args:    `schedule:t=SCHEDULE@3.2.2?`},
	{Name: "lastsave", Arity: 1, Flags: Loading | Stale | Fast, ACL: []string{"admin", "dangerous"}, run: lastsave,
		Group: "server", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Returns the Unix timestamp of the last successful save to disk.",
		Tips:    []string{"nondeterministic_output"}},
	{Name: "save", Arity: 1, Flags: Admin | NoScript | NoAsyncLoading | NoMulti, run: save,
		Group: "server", Since: "1.0.0", Complexity: "O(N) where N is the total number of keys in all databases",
		Summary: "Synchronously saves the database(s) to disk."},
}

// errSave is all that the server says when saving fails; the log has the reason.
var errSave = resp.Err("ERR")

// save: SAVE
//
// It writes to Config.SaveFile. Without one it fails, as on a server that may not write
// to its directory: a simulator should leave no files behind that nobody asked for.
func save(c *Call) resp.Value {
	if !c.save() {
		return errSave
	}
	return resp.OK
}

// save writes the file and reports whether that went well.
func (co *core) save() bool {
	co.stats.saves++
	err := co.saveFile()
	if err != nil {
		co.log(LogWarning, err.Error())
	}
	return err == nil
}

// schedulingDelay is how long after EXEC a BGSAVE in it runs, in microseconds.
const schedulingDelay = 100_000

// bgsave: BGSAVE [SCHEDULE]
//
// The file is there before the reply: that repeats, while a process of its own would be
// done sometime. So no client ever meets a save in progress.
func bgsave(c *Call) resp.Value {
	switch {
	case len(c.Args) > 2 || len(c.Args) == 2 && !c.is(1, "schedule"):
		return errSyntax
	case c.cfg.SaveFile == "":
		c.log(LogWarning, errNoSaveFile.Error())
		return errSave
	case c.inExec:
		c.deadlines.set(c.now+schedulingDelay, c.saveBehind)
		return resp.Simple("Background saving scheduled")
	}
	c.saveBehind()
	return resp.Simple("Background saving started")
}

// saveBehind saves without telling a client how that went.
func (co *core) saveBehind() {
	co.stats.backgroundJobs++
	co.saveFailed = !co.save()
}

// bgrewriteaof: BGREWRITEAOF
//
// The append-only file is not there, but what DEBUG LOADAOF would read from it is: to write
// it anew takes no time.
func bgrewriteaof(c *Call) resp.Value {
	if c.inExec {
		if !c.rewriteDue {
			c.rewriteDue = true
			c.deadlines.set(c.now+schedulingDelay, c.rewriteLog)
		}
		return resp.Simple("Background append only file rewriting scheduled")
	}
	c.rewriteLog()
	return resp.Simple("Background append only file rewriting started")
}

// rewriteLog counts a rewrite of the append-only file.
func (co *core) rewriteLog() {
	co.rewriteDue = false
	co.stats.rewrites++
	co.stats.backgroundJobs++
}

// lastsave: LASTSAVE
func lastsave(c *Call) resp.Value { return resp.Int(c.lastSave / 1e6) }
