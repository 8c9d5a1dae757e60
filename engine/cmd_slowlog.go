package engine

import (
	"fmt"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

var slowlogCommands = []Spec{
	{Name: "slowlog", Arity: -2,
		Group: "server", Since: "2.2.12", Complexity: "Depends on subcommand.",
		Summary: "A container for slow log commands."},
	{Name: "slowlog|get", Arity: -2, Flags: Admin | Loading | Stale, run: slowlogGet,
		Group: "server", Since: "2.2.12", Complexity: "O(N) where N is the number of entries returned",
		Summary: "Returns the slow log's entries.",
		History: []string{"4.0.0 Added client IP address, port and name to the reply."},
		Tips:    []string{"request_policy:all_nodes", "nondeterministic_output"},
		Args:    `count:i?`},
	{Name: "slowlog|help", Arity: 2, Flags: Loading | Stale, run: slowlogHelp,
		Group: "server", Since: "6.2.0", Complexity: "O(1)",
		Summary: "Show helpful text about the different subcommands"},
	{Name: "slowlog|len", Arity: 2, Flags: Admin | Loading | Stale, run: slowlogLen,
		Group: "server", Since: "2.2.12", Complexity: "O(1)",
		Summary: "Returns the number of entries in the slow log.",
		Tips:    []string{"request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"}},
	{Name: "slowlog|reset", Arity: 2, Flags: Admin | Loading | Stale, run: slowlogReset,
		Group: "server", Since: "2.2.12", Complexity: "O(N) where N is the number of entries in the slowlog",
		Summary: "Clears all entries from the slow log.",
		Tips:    []string{"request_policy:all_nodes", "response_policy:all_succeeded"}},
}

// slowlog are the commands that took long, the oldest first.
type slowlog struct {
	entries []slowEntry
	nextID  int64
}

type slowEntry struct {
	id, atSec, usec int64
	args            []string
	addr, name      string // the client's
}

const (
	maxSlowlogArgs = 32  // of an entry; the last one tells how many more there were
	maxSlowlogArg  = 128 // bytes of an argument
)

// logSlow logs a command if it took long enough. Where it comes from a script its client
// is the script's.
func (co *core) logSlow(s *Session, spec *Spec, args []string, usec int64) {
	limit, log := co.set.slowlogMax, &co.slowlog
	if co.set.slowerThan < 0 || limit == 0 {
		return
	}
	if usec >= co.set.slowerThan {
		log.entries = append(log.entries, slowEntry{id: log.nextID, atSec: co.wallNow() / 1e6, usec: usec,
			args: spec.slowArgs(args), addr: s.addr(), name: s.name})
		log.nextID++
	}
	if over := int64(len(log.entries)) - limit; over > 0 {
		clear(log.entries[:over])
		log.entries = log.entries[over:]
	}
}

// slowArgs copies arguments for an entry: without secrets, and not all of them if there are many or
// they are long.
func (s *Spec) slowArgs(args []string) []string {
	n := min(len(args), maxSlowlogArgs)
	out := make([]string, n)
	for i, a := range args[:n] {
		if s.hides(args, i) {
			out[i] = redacted
			continue
		}
		if more := len(a) - maxSlowlogArg; more > 0 {
			out[i] = fmt.Sprintf("%s... (%d more bytes)", a[:maxSlowlogArg], more)
			continue
		}
		out[i] = strings.Clone(a)
	}
	if n < len(args) {
		out[n-1] = fmt.Sprintf("... (%d more arguments)", len(args)-n+1)
	}
	return out
}

// slowlogGet: SLOWLOG GET [count]
func slowlogGet(c *Call) resp.Value {
	if len(c.Args) > 3 {
		return c.subcommandSyntax()
	}
	entries := c.slowlog.entries
	count := int64(10)
	if len(c.Args) == 3 {
		n, ok := parseInt(c.Args[2])
		if !ok || n < -1 {
			return resp.Err("ERR count should be greater than or equal to -1")
		}
		if count = n; n == -1 {
			count = int64(len(entries))
		}
	}
	out := make([]resp.Value, min(count, int64(len(entries))))
	for i := range out {
		out[i] = entries[len(entries)-1-i].reply()
	}
	return resp.Array(out...)
}

func (e *slowEntry) reply() resp.Value {
	args := make([]resp.Value, len(e.args))
	for i, a := range e.args {
		args[i] = resp.Bulk(a)
	}
	return resp.Array(resp.Int(e.id), resp.Int(e.atSec), resp.Int(e.usec), resp.Array(args...), resp.Bulk(e.addr), resp.Bulk(e.name))
}

// slowlogLen: SLOWLOG LEN
func slowlogLen(c *Call) resp.Value { return resp.Int(int64(len(c.slowlog.entries))) }

// slowlogReset: SLOWLOG RESET
func slowlogReset(c *Call) resp.Value {
	c.slowlog.entries = nil
	return resp.OK
}

// slowlogHelp: SLOWLOG HELP
func slowlogHelp(*Call) resp.Value {
	return helpReply("SLOWLOG",
		"GET [<count>]",
		"    Return top <count> entries from the slowlog (default: 10, -1 mean all).",
		"    Entries are made of:",
		"    id, timestamp, time in microseconds, arguments array, client IP and port,",
		"    client name",
		"LEN",
		"    Return the length of the slowlog.",
		"RESET",
		"    Reset the slowlog.")
}
