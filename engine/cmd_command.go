package engine

import (
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

var commandCommands = []Spec{
	{Name: "command", Arity: -1, Flags: Loading | Stale, ACL: []string{"connection"}, run: commandAll,
		Group: "server", Since: "2.8.13", Complexity: "O(N) where N is the total number of commands",
		Summary: "Returns detailed information about all commands.",
		Tips:    []string{"nondeterministic_output_order"}},
	{Name: "command|count", Arity: 2, Flags: Loading | Stale, ACL: []string{"connection"}, run: commandCount,
		Group: "server", Since: "2.8.13", Complexity: "O(1)",
		Summary: "Returns a count of commands."},
	{Name: "command|docs", Arity: -2, Flags: Loading | Stale, ACL: []string{"connection"}, run: commandDocs,
		Group: "server", Since: "7.0.0", Complexity: "O(N) where N is the number of commands to look up",
		Summary: "Returns documentary information about one, multiple or all commands.",
		Tips:    []string{"nondeterministic_output_order"},
		Args:    `command-name?*`},
	{Name: "command|getkeys", Arity: -3, Flags: Loading | Stale, ACL: []string{"connection"}, run: commandGetkeys,
		Group: "server", Since: "2.8.13", Complexity: "O(N) where N is the number of arguments to the command",
		Summary: "Extracts the key names from an arbitrary command.",
		Args:    `command arg?*`},
	{Name: "command|getkeysandflags", Arity: -3, Flags: Loading | Stale, ACL: []string{"connection"}, run: commandGetkeysandflags,
		Group: "server", Since: "7.0.0", Complexity: "O(N) where N is the number of arguments to the command",
		Summary: "Extracts the key names and access flags for an arbitrary command.",
		Args:    `command arg?*`},
	{Name: "command|help", Arity: 2, Flags: Loading | Stale, ACL: []string{"connection"}, run: commandHelp,
		Group: "server", Since: "5.0.0", Complexity: "O(1)",
		Summary: "Returns helpful text about the different subcommands."},
	{Name: "command|info", Arity: -2, Flags: Loading | Stale, ACL: []string{"connection"}, run: commandInfo,
		Group: "server", Since: "2.8.13", Complexity: "O(N) where N is the number of commands to look up",
		Summary: "Returns information about one, multiple or all commands.",
		History: []string{"7.0.0 Allowed to be called with no argument to get info on all commands."},
		Tips:    []string{"nondeterministic_output_order"},
		Args:    `command-name?*`},
	{Name: "command|list", Arity: -2, Flags: Loading | Stale, ACL: []string{"connection"}, run: commandList,
		Group: "server", Since: "7.0.0", Complexity: "O(N) where N is the total number of commands",
		Summary: "Returns a list of command names.",
		Tips:    []string{"nondeterministic_output_order"},
		Args:    `filterby<module-name=MODULE category=ACLCAT pattern:p=PATTERN>=FILTERBY?`},
}

// commandAll: COMMAND
func commandAll(c *Call) resp.Value { return infoOf(c.table.order) }

// commandCount: COMMAND COUNT
func commandCount(c *Call) resp.Value { return resp.Int(int64(len(c.table.order))) }

// commandInfo: COMMAND INFO [command-name ...]
func commandInfo(c *Call) resp.Value {
	if len(c.Args) == 2 {
		return infoOf(c.table.order)
	}
	out := make([]resp.Value, 0, len(c.Args)-2)
	for _, name := range c.Args[2:] {
		if s := c.table.byFullName(name); s != nil {
			out = append(out, s.info())
		} else {
			out = append(out, resp.Null)
		}
	}
	return resp.Array(out...)
}

// commandDocs: COMMAND DOCS [command-name ...]
func commandDocs(c *Call) resp.Value {
	shown := c.table.order
	if len(c.Args) > 2 {
		shown = nil
		for _, name := range c.Args[2:] {
			if s := c.table.byFullName(name); s != nil {
				shown = append(shown, s)
			}
		}
	}
	return docsOf(shown)
}

// commandList: COMMAND LIST [FILTERBY MODULE name | ACLCAT category | PATTERN pattern]
func commandList(c *Call) resp.Value {
	keep := func(*Spec) bool { return true }
	if len(c.Args) > 2 {
		if len(c.Args) != 5 || !c.is(2, "filterby") {
			return errSyntax
		}
		if keep = commandFilter(c.Args[3], c.Args[4]); keep == nil {
			return errSyntax
		}
	}
	var names []string
	for _, s := range c.table.order {
		for _, s := range append([]*Spec{s}, s.subOrder...) {
			if keep(s) {
				names = append(names, s.Name)
			}
		}
	}
	return resp.Strings(names...)
}

// commandFilter is the condition of COMMAND LIST FILTERBY, nil if there is none of that kind.
func commandFilter(kind, arg string) func(s *Spec) bool {
	switch strings.ToLower(kind) {
	case "module": // no command comes from a module
		return func(*Spec) bool { return false }
	case "aclcat":
		category := categoryNamed(strings.ToLower(arg))
		return func(s *Spec) bool { return s.categories&category != 0 }
	case "pattern":
		return func(s *Spec) bool { return globMatch(arg, s.Name, true) }
	}
	return nil
}

// commandHelp: COMMAND HELP
func commandHelp(*Call) resp.Value {
	return helpReply("COMMAND",
		"(no subcommand)",
		"    Return details about all commands.",
		"COUNT",
		"    Return the total number of commands in this server.",
		"LIST",
		"    Return a list of all commands in this server.",
		"INFO [<command-name> ...]",
		"    Return details about multiple commands.",
		"    If no command names are given, documentation details for all",
		"    commands are returned.",
		"DOCS [<command-name> ...]",
		"    Return documentation details about multiple commands.",
		"    If no command names are given, documentation details for all",
		"    commands are returned.",
		"GETKEYS <full-command>",
		"    Return the keys from a full command.",
		"GETKEYSANDFLAGS <full-command>",
		"    Return the keys and the access flags from a full command.")
}
