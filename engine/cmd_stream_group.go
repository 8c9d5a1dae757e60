package engine

import (
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var streamGroupCommands = []Spec{
	{Name: "xgroup", Arity: -2, NoGroupACL: true,
		Group: "stream", Since: "5.0.0", Complexity: "Depends on subcommand.",
		Summary: "A container for consumer groups commands."},
	{Name: "xgroup|create", Arity: -5, Flags: Write | DenyOOM,
		Keys: keys(keyAt(2, RW|Insert)), run: xgroupCreate,
		Group: "stream", Since: "5.0.0", Complexity: "O(1)",
		Summary: "Creates a consumer group.",
		History: []string{"7.0.0 Added the `entries_read` named argument."},
		Args:    `key:k#0 group id-selector<id new-id:t=$> mkstream:t=MKSTREAM? entriesread/entries-read:i=ENTRIESREAD?`},
	{Name: "xgroup|createconsumer", Arity: 5, Flags: Write | DenyOOM,
		Keys: keys(keyAt(2, RW|Insert)), run: xgroupCreateconsumer,
		Group: "stream", Since: "6.2.0", Complexity: "O(1)",
		Summary: "Creates a consumer in a consumer group.",
		Args:    `key:k#0 group consumer`},
	{Name: "xgroup|delconsumer", Arity: 5, Flags: Write,
		Keys: keys(keyAt(2, RW|Delete)), run: xgroupDelconsumer,
		Group: "stream", Since: "5.0.0", Complexity: "O(1)",
		Summary: "Deletes a consumer from a consumer group.",
		Args:    `key:k#0 group consumer`},
	{Name: "xgroup|destroy", Arity: 4, Flags: Write,
		Keys: keys(keyAt(2, RW|Delete)), run: xgroupDestroy,
		Group: "stream", Since: "5.0.0", Complexity: "O(N) where N is the number of entries in the group's pending entries list (PEL).",
		Summary: "Destroys a consumer group.",
		Args:    `key:k#0 group`},
	{Name: "xgroup|help", Arity: 2, Flags: Loading | Stale, run: xgroupHelp,
		Group: "stream", Since: "5.0.0", Complexity: "O(1)",
		Summary: "Returns helpful text about the different subcommands."},
	{Name: "xgroup|setid", Arity: -5, Flags: Write,
		Keys: keys(keyAt(2, RW|Update)), run: xgroupSetid,
		Group: "stream", Since: "5.0.0", Complexity: "O(1)",
		Summary: "Sets the last-delivered ID of a consumer group.",
		History: []string{"7.0.0 Added the optional `entries_read` argument."},
		Args:    `key:k#0 group id-selector<id new-id:t=$> entriesread/entries-read:i=ENTRIESREAD?`},
}

var (
	errGroupNoKey = resp.Err("ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to " +
		"use the MKSTREAM option to create an empty stream automatically.")
	errGroupExists = resp.Err("BUSYGROUP Consumer Group name already exists")
	errGroupRead   = resp.Err("ERR value for ENTRIESREAD must be positive or -1")
)

// noGroupOf is the refusal to commands that need a group of a key that exists.
func noGroupOf(key, group string) *resp.Value {
	v := resp.Err(oneLine("NOGROUP No such consumer group '" + cString(group) + "' for key name '" + cString(key) + "'"))
	return &v
}

// streamGroup looks up the stream at argument 2 and its group at argument 3.
func (c *Call) streamGroup() (s *store.StreamObj, g *store.StreamGroup, bad *resp.Value) {
	s, bad = c.writeStream(c.Args[2])
	switch {
	case bad != nil:
		return nil, nil, bad
	case s == nil:
		return nil, nil, &errGroupNoKey
	}
	if g = s.WriteGroup(c.Args[3]); g == nil {
		return s, nil, noGroupOf(c.Args[2], c.Args[3])
	}
	return s, g, nil
}

// groupOptions parses the options of XGROUP CREATE and SETID. read is
// store.UnknownRead when it is not given.
func (c *Call) groupOptions(create bool) (read int64, mkStream bool, bad *resp.Value) {
	read = store.UnknownRead
	for i := 5; i < len(c.Args); i++ {
		switch {
		case create && c.is(i, "mkstream"):
			mkStream = true
		case c.is(i, "entriesread") && i+1 < len(c.Args):
			i++
			if read, bad = c.intArg(i); bad != nil {
				return 0, false, bad
			}
			if read < 0 && read != store.UnknownRead {
				return 0, false, &errGroupRead
			}
		default:
			v := c.subcommandSyntax()
			return 0, false, &v
		}
	}
	return read, mkStream, nil
}

// xgroupCreate: XGROUP CREATE key group <id | $> [MKSTREAM] [ENTRIESREAD entries-read]
func xgroupCreate(c *Call) resp.Value {
	key := c.Args[2]
	read, mkStream, bad := c.groupOptions(true)
	if bad != nil {
		return *bad
	}
	s, bad := c.writeStream(key)
	switch {
	case bad != nil:
		return *bad
	case s == nil && !mkStream:
		return errGroupNoKey
	case len(c.Args) > 8:
		return c.subcommandSyntax()
	}
	var id store.StreamID
	switch isLast := cString(c.Args[4]) == "$"; {
	case !isLast:
		if id, bad = streamID(c.Args[4], 0); bad != nil {
			return *bad
		}
	case s != nil:
		id = s.LastID()
	}
	if s == nil {
		s = c.makeStream(key)
		c.touch(c.dbIndex(), key)
	}
	if !s.AddGroup(c.Args[3], id, read) {
		return errGroupExists
	}
	c.streamNoted(key, "xgroup-create", 1)
	return resp.OK
}

// xgroupSetid: XGROUP SETID key group <id | $> [ENTRIESREAD entries-read]
func xgroupSetid(c *Call) resp.Value {
	read, _, bad := c.groupOptions(false)
	if bad != nil {
		return *bad
	}
	s, g, bad := c.streamGroup()
	switch {
	case bad != nil:
		return *bad
	case len(c.Args) != 5 && len(c.Args) != 7:
		return c.subcommandSyntax()
	}
	id := s.LastID()
	if cString(c.Args[4]) != "$" {
		if id, bad = streamBound(c.Args[4], 0); bad != nil {
			return *bad
		}
	}
	g.LastID, g.Read = id, read
	c.streamNoted(c.Args[2], "xgroup-setid", 1)
	return resp.OK
}

// xgroupDestroy: XGROUP DESTROY key group
func xgroupDestroy(c *Call) resp.Value {
	key := c.Args[2]
	s, bad := c.writeStream(key)
	switch {
	case bad != nil:
		return *bad
	case s == nil:
		return errGroupNoKey
	case !s.RemoveGroup(c.Args[3]):
		return resp.Zero
	}
	c.streamNoted(key, "xgroup-destroy", 1)
	c.waiters.touched(watchKey{c.dbIndex(), key}) // those who wait for the group are told
	return resp.One
}

// xgroupCreateconsumer: XGROUP CREATECONSUMER key group consumer
func xgroupCreateconsumer(c *Call) resp.Value {
	_, g, bad := c.streamGroup()
	switch {
	case bad != nil:
		return *bad
	case !g.AddConsumer(c.Args[4], c.ms()):
		return resp.Zero
	}
	c.streamNoted(c.Args[2], "xgroup-createconsumer", 1)
	return resp.One
}

// xgroupDelconsumer: XGROUP DELCONSUMER key group consumer
func xgroupDelconsumer(c *Call) resp.Value {
	_, g, bad := c.streamGroup()
	if bad != nil {
		return *bad
	}
	pending, ok := g.RemoveConsumer(c.Args[4])
	if ok {
		c.streamNoted(c.Args[2], "xgroup-delconsumer", 1)
	}
	return resp.Int(int64(pending))
}

// xgroupHelp: XGROUP HELP
func xgroupHelp(*Call) resp.Value {
	return helpReply("XGROUP",
		"CREATE <key> <groupname> <id|$> [option]",
		"    Create a new consumer group. Options are:",
		"    * MKSTREAM",
		"      Create the empty stream if it does not exist.",
		"    * ENTRIESREAD entries_read",
		"      Set the group's entries_read counter (internal use).",
		"CREATECONSUMER <key> <groupname> <consumer>",
		"    Create a new consumer in the specified group.",
		"DELCONSUMER <key> <groupname> <consumer>",
		"    Remove the specified consumer.",
		"DESTROY <key> <groupname>",
		"    Remove the specified group.",
		"SETID <key> <groupname> <id|$> [ENTRIESREAD entries_read]",
		"    Set the current group ID and entries_read counter.")
}
