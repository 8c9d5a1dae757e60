package engine

import (
	"slices"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

var aclCommands = []Spec{
	{Name: "acl", Arity: -2,
		Group: "server", Since: "6.0.0", Complexity: "Depends on subcommand.",
		Summary: "A container for Access List Control commands."},
	{Name: "acl|cat", Arity: -2, Flags: NoScript | Loading | Stale, run: aclCat,
		Group: "server", Since: "6.0.0", Complexity: "O(1) since the categories and commands are a fixed set.",
		Summary: "Lists the ACL categories, or the commands inside a category.",
		Args:    `category?`},
	{Name: "acl|deluser", Arity: -3, Flags: Admin | NoScript | Loading | Stale, run: aclDeluser,
		Group: "server", Since: "6.0.0", Complexity: "O(1) amortized time considering the typical user.",
		Summary: "Deletes ACL users, and terminates their connections.",
		Tips:    []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
		Args:    `username*`},
	{Name: "acl|dryrun", Arity: -4, Flags: Admin | NoScript | Loading | Stale, run: aclDryrun,
		Group: "server", Since: "7.0.0", Complexity: "O(1).",
		Summary: "Simulates the execution of a command by a user, without executing the command.",
		Args:    `username command arg?*`},
	{Name: "acl|genpass", Arity: -2, Flags: NoScript | Loading | Stale, run: aclGenpass,
		Group: "server", Since: "6.0.0", Complexity: "O(1)",
		Summary: "Generates a pseudorandom, secure password that can be used to identify ACL users.",
		Args:    `bits:i?`},
	{Name: "acl|getuser", Arity: 3, Flags: Admin | NoScript | Loading | Stale, run: aclGetuser,
		Group: "server", Since: "6.0.0", Complexity: "O(N). Where N is the number of password, command and pattern rules that the user has.",
		Summary: "Lists the ACL rules of a user.",
		History: []string{"6.2.0 Added Pub/Sub channel patterns.", "7.0.0 Added selectors and changed the format of key and channel patterns from a list to their rule representation."},
		Args:    `username`},
	{Name: "acl|help", Arity: 2, Flags: Loading | Stale, run: aclHelp,
		Group: "server", Since: "6.0.0", Complexity: "O(1)",
		Summary: "Returns helpful text about the different subcommands."},
	{Name: "acl|list", Arity: 2, Flags: Admin | NoScript | Loading | Stale, run: aclList,
		Group: "server", Since: "6.0.0", Complexity: "O(N). Where N is the number of configured users.",
		Summary: "Dumps the effective rules in ACL file format."},
	{Name: "acl|load", Arity: 2, Flags: Admin | NoScript | Loading | Stale, run: aclLoad,
		Group: "server", Since: "6.0.0", Complexity: "O(N). Where N is the number of configured users.",
		Summary: "Reloads the rules from the configured ACL file."},
	{Name: "acl|log", Arity: -2, Flags: Admin | NoScript | Loading | Stale, run: aclLog,
		Group: "server", Since: "6.0.0", Complexity: "O(N) with N being the number of entries shown.",
		Summary: "Lists recent security events generated due to ACL rules.",
		History: []string{"7.2.0 Added entry ID, timestamp created, and timestamp last updated."},
		Args:    `operation<count:i reset:t=RESET>?`},
	{Name: "acl|save", Arity: 2, Flags: Admin | NoScript | Loading | Stale, run: aclSave,
		Group: "server", Since: "6.0.0", Complexity: "O(N). Where N is the number of configured users.",
		Summary: "Saves the effective ACL rules in the configured ACL file.",
		Tips:    []string{"request_policy:all_nodes", "response_policy:all_succeeded"}},
	{Name: "acl|setuser", Arity: -3, Flags: Admin | NoScript | Loading | Stale, run: aclSetuser,
		Group: "server", Since: "6.0.0", Complexity: "O(N). Where N is the number of rules provided.",
		Summary: "Creates and modifies an ACL user and its rules.",
		History: []string{"6.2.0 Added Pub/Sub channel patterns.", "7.0.0 Added selectors and key based permissions."},
		Tips:    []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
		Args:    `username rule?*`},
	{Name: "acl|users", Arity: 2, Flags: Admin | NoScript | Loading | Stale, run: aclUsers,
		Group: "server", Since: "6.0.0", Complexity: "O(N). Where N is the number of configured users.",
		Summary: "Lists all ACL users."},
	{Name: "acl|whoami", Arity: 2, Flags: NoScript | Loading | Stale, run: aclWhoami,
		Group: "server", Since: "6.0.0", Complexity: "O(1)",
		Summary: "Returns the authenticated username of the current connection."},
}

// aclSetuser: ACL SETUSER username [rule [rule ...]]
func aclSetuser(c *Call) resp.Value {
	name := c.Args[2]
	if hasSpace(name) {
		return resp.Err("ERR " + errUserName.Error())
	}
	rules, open := mergeSelectors(c.Args[3:])
	if open != "" {
		return resp.Err(oneLine("ERR " + unmatched(open).Error()))
	}
	u := c.acl.users[name]
	next := newUser(strings.Clone(name), c.rulebook())
	if u != nil {
		next = u.clone()
	}
	if err := next.applyAll(rules, c.rulebook()); err != nil {
		return resp.Err(oneLine("ERR " + err.Error()))
	}
	if u != nil {
		c.replaceUser(u, next)
		return resp.OK
	}
	next.settle()
	c.acl.users[next.name] = next
	return resp.OK
}

// aclDeluser: ACL DELUSER username [username ...]
func aclDeluser(c *Call) resp.Value {
	names := c.Args[2:]
	if slices.ContainsFunc(names, func(n string) bool { return cString(n) == defaultUser }) {
		return resp.Err("ERR The 'default' user cannot be removed")
	}
	deleted := int64(0)
	for _, name := range names {
		if c.removeUser(name) {
			deleted++
		}
	}
	return resp.Int(deleted)
}

// aclGetuser: ACL GETUSER username
func aclGetuser(c *Call) resp.Value {
	u := c.acl.users[c.Args[2]]
	if u == nil {
		return resp.Null
	}
	var more []resp.Value
	for _, p := range u.selectors[1:] {
		more = append(more, resp.Map(p.fields()...))
	}
	out := []resp.Value{
		resp.Bulk("flags"), bulkSet(u.flags()),
		resp.Bulk("passwords"), resp.Strings(u.passwords...),
	}
	out = append(out, u.selectors[0].fields()...)
	return resp.Map(append(out, resp.Bulk("selectors"), resp.Array(more...))...)
}

// fields are a selector's part of ACL GETUSER.
func (p *permission) fields() []resp.Value {
	return []resp.Value{
		resp.Bulk("commands"), resp.Bulk(p.commandRules()),
		resp.Bulk("keys"), resp.Bulk(strings.Join(p.keyRules(), " ")),
		resp.Bulk("channels"), resp.Bulk(strings.Join(p.channelRules(), " ")),
	}
}

// aclList: ACL LIST
func aclList(c *Call) resp.Value {
	var out []resp.Value
	for _, name := range c.acl.userNames() {
		out = append(out, resp.Bulk(c.acl.users[name].describe()))
	}
	return resp.Array(out...)
}

// aclUsers: ACL USERS
func aclUsers(c *Call) resp.Value { return resp.Strings(c.acl.userNames()...) }

// aclWhoami: ACL WHOAMI
func aclWhoami(c *Call) resp.Value { return resp.Bulk(c.Sess.user.name) }

// aclCat: ACL CAT [category]
func aclCat(c *Call) resp.Value {
	if len(c.Args) == 2 {
		return resp.Strings(aclCategories...)
	}
	if len(c.Args) > 3 {
		return c.subcommandSyntax()
	}
	category := categoryNamed(strings.ToLower(cString(c.Args[2])))
	if category == 0 {
		return resp.Err(oneLine("ERR Unknown category '" + clip(c.Args[2], 128) + "'"))
	}
	out := []resp.Value{}
	c.table.each(func(s *Spec) {
		if s.categories&category != 0 {
			out = append(out, resp.Bulk(s.Name))
		}
	})
	return resp.Array(out...)
}

// aclGenpass: ACL GENPASS [bits]
func aclGenpass(c *Call) resp.Value {
	bits := int64(256)
	if len(c.Args) > 3 {
		return c.subcommandSyntax()
	}
	if len(c.Args) == 3 {
		var bad *resp.Value
		if bits, bad = c.intArg(2); bad != nil {
			return *bad
		}
	}
	if bits <= 0 || bits > 4096 {
		return resp.Err("ERR ACL GENPASS argument must be the number of bits for the output password, " +
			"a positive number up to 4096")
	}
	pass := make([]byte, (bits+3)/4)
	for i := range pass {
		pass[i] = "0123456789abcdef"[c.rng.IntN(16)]
	}
	return resp.Bulk(string(pass))
}

// aclDryrun: ACL DRYRUN username command [arg [arg ...]]
func aclDryrun(c *Call) resp.Value {
	args := c.Args[3:]
	u := c.acl.users[c.Args[2]]
	if u == nil {
		return resp.Err(oneLine("ERR User '" + cString(c.Args[2]) + "' not found"))
	}
	spec, _ := c.table.lookup(args)
	switch {
	case spec == nil:
		return resp.Err(oneLine("ERR Command '" + cString(args[0]) + "' not found"))
	case !spec.arityOK(len(args)):
		return rejectArity(spec).reply(false)
	}
	why, at := u.may(spec, args)
	if why == allowed {
		return resp.OK
	}
	return resp.Bulk(u.refusal(why, spec, &args[at]))
}

const errNoACLFile = "ERR This instance is not configured to use an ACL file. You may want to specify users via the " +
	"ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a configuration file set) in order to " +
	"store users in the configuration."

// aclLoad: ACL LOAD
func aclLoad(c *Call) resp.Value {
	if c.cfg.ACLFile == "" {
		return resp.Err(errNoACLFile)
	}
	if err := c.loadACL(); err != nil {
		return resp.Err(oneLine("ERR " + err.Error()))
	}
	return resp.OK
}

// aclSave: ACL SAVE
func aclSave(c *Call) resp.Value {
	if c.cfg.ACLFile == "" {
		return resp.Err(errNoACLFile)
	}
	if err := c.saveACL(); err != nil {
		c.log(LogWarning, "ACL SAVE: "+err.Error())
		return resp.Err("ERR There was an error trying to save the ACLs. Please check the server logs for more information")
	}
	return resp.OK
}

// aclHelp: ACL HELP
func aclHelp(*Call) resp.Value {
	return helpReply("ACL",
		"CAT [<category>]",
		"    List all commands that belong to <category>, or all command categories",
		"    when no category is specified.",
		"DELUSER <username> [<username> ...]",
		"    Delete a list of users.",
		"DRYRUN <username> <command> [<arg> ...]",
		"    Returns whether the user can execute the given command without executing the command.",
		"GETUSER <username>",
		"    Get the user's details.",
		"GENPASS [<bits>]",
		"    Generate a secure 256-bit user password. The optional `bits` argument can",
		"    be used to specify a different size.",
		"LIST",
		"    Show users details in config file format.",
		"LOAD",
		"    Reload users from the ACL file.",
		"LOG [<count> | RESET]",
		"    Show the ACL log entries.",
		"SAVE",
		"    Save the current config to the ACL file.",
		"SETUSER <username> <attribute> [<attribute> ...]",
		"    Create or modify a user with the specified attributes.",
		"USERS",
		"    List all the registered usernames.",
		"WHOAMI",
		"    Return the current connection username.")
}
