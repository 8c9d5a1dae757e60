package engine

import "github.com/echomq/echomq-sim/resp"

var moduleCommands = []Spec{
	{Name: "module", Arity: -2,
		Group: "server", Since: "4.0.0", Complexity: "Depends on subcommand.",
		Summary: "A container for module commands."},
	{Name: "module|help", Arity: 2, Flags: Loading | Stale, run: moduleHelp,
		Group: "server", Since: "5.0.0", Complexity: "O(1)",
		Summary: "Returns helpful text about the different subcommands."},
	{Name: "module|list", Arity: 2, Flags: Admin | NoScript, run: moduleList,
		Group: "server", Since: "4.0.0", Complexity: "O(N) where N is the number of loaded modules.",
		Summary: "Returns all loaded modules.",
		Tips:    []string{"nondeterministic_output_order"}},
	{Name: "module|load", Arity: -3, Flags: Admin | NoScript | NoAsyncLoading | Protected, run: moduleRefused,
		Group: "server", Since: "4.0.0", Complexity: "O(1)",
		Summary: "Loads a module.",
		Args:    `path arg?*`},
	{Name: "module|loadex", Arity: -3, Flags: Admin | NoScript | NoAsyncLoading | Protected, run: moduleRefused,
		Group: "server", Since: "7.0.0", Complexity: "O(1)",
		Summary: "Loads a module using extended parameters.",
		Args:    `path configs{name value}=CONFIG?*+ args=ARGS?*`},
	{Name: "module|unload", Arity: 3, Flags: Admin | NoScript | NoAsyncLoading | Protected, run: moduleRefused,
		Group: "server", Since: "4.0.0", Complexity: "O(1)",
		Summary: "Unloads a module.",
		Args:    `name`},
}

// moduleList: MODULE LIST
//
// There are no modules.
func moduleList(*Call) resp.Value { return resp.Array() }

// moduleRefused: MODULE <LOAD | LOADEX> path [...] | MODULE UNLOAD name
//
// enable-module-command is no and stays so, so the gates refuse these; this is what they say.
func moduleRefused(c *Call) resp.Value { return resp.Err(protectedText(c.Spec)) }

// moduleHelp: MODULE HELP
func moduleHelp(*Call) resp.Value {
	return helpReply("MODULE",
		"LIST",
		"    Return a list of loaded modules.",
		"LOAD <path> [<arg> ...]",
		"    Load a module library from <path>, passing to it any optional arguments.",
		"LOADEX <path> [[CONFIG NAME VALUE] [CONFIG NAME VALUE]] [ARGS ...]",
		"    Load a module library from <path>, while passing it module configurations and optional arguments.",
		"UNLOAD <name>",
		"    Unload a module.")
}
