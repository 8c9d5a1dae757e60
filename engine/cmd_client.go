package engine

import (
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

var clientCommands = []Spec{
	{Name: "client", Arity: -2, NoGroupACL: true,
		Group: "connection", Since: "2.4.0", Complexity: "Depends on subcommand.",
		Summary: "A container for client connection commands."},
	{Name: "client|capa", Arity: -3, Flags: NoScript | Loading | Stale, run: clientCapa,
		Group: "connection", Since: "8.0.0", Complexity: "O(1)",
		Summary: "A client claims its capability.",
		Args:    `capability*`},
	{Name: "client|getname", Arity: 2, Flags: NoScript | Loading | Stale, run: clientGetname,
		Group: "connection", Since: "2.6.9", Complexity: "O(1)",
		Summary: "Returns the name of the connection."},
	{Name: "client|help", Arity: 2, Flags: Loading | Stale, run: clientHelp,
		Group: "connection", Since: "5.0.0", Complexity: "O(1)",
		Summary: "Returns helpful text about the different subcommands."},
	{Name: "client|id", Arity: 2, Flags: NoScript | Loading | Stale, run: clientId,
		Group: "connection", Since: "5.0.0", Complexity: "O(1)",
		Summary: "Returns the unique client ID of the connection."},
	{Name: "client|info", Arity: 2, Flags: NoScript | Loading | Stale, run: clientInfo,
		Group: "connection", Since: "6.2.0", Complexity: "O(1)",
		Summary: "Returns information about the connection.",
		Tips:    []string{"nondeterministic_output"}},
	{Name: "client|kill", Arity: -3, Flags: Admin | NoScript | Loading | Stale, run: clientKill,
		Group: "connection", Since: "2.4.0", Complexity: "O(N) where N is the number of client connections",
		Summary: "Terminates open connections.",
		History: []string{"2.8.12 Added new filter format.", "2.8.12 `ID` option.", "3.2.0 Added `master` type in for `TYPE` option.", "5.0.0 Replaced `slave` `TYPE` with `replica`. `slave` still supported for backward compatibility.", "6.2.0 `LADDR` option.", "8.0.0 `MAXAGE` option.", "8.0.0 Replaced `master` `TYPE` with `primary`. `master` still supported for backward compatibility."},
		Args:    `filter<old-format/ip:port~2.8.12 new-format<client-id:i=ID@2.8.12? client-type<normal:t=NORMAL master:t=MASTER@3.2.0 primary:t=PRIMARY@8.0.0 slave:t=SLAVE replica:t=REPLICA@5.0.0 pubsub:t=PUBSUB>=TYPE@2.8.12? username=USER? addr/ip:port=ADDR? laddr/ip:port=LADDR@6.2.0? skipme<yes:t=YES no:t=NO>=SKIPME? maxage:i=MAXAGE@8.0.0?>*>`},
	{Name: "client|list", Arity: -2, Flags: Admin | NoScript | Loading | Stale, run: clientList,
		Group: "connection", Since: "2.4.0", Complexity: "O(N) where N is the number of client connections",
		Summary: "Lists open connections.",
		History: []string{"2.8.12 Added unique client `id` field.", "5.0.0 Added optional `TYPE` filter.", "6.0.0 Added `user` field.", "6.2.0 Added `argv-mem`, `tot-mem`, `laddr` and `redir` fields and the optional `ID` filter.", "7.0.0 Added `resp`, `multi-mem`, `rbs` and `rbp` fields.", "7.0.3 Added `ssub` field.", "8.0.0 Replaced `master` `TYPE` with `primary`. `master` still supported for backward compatibility."},
		Tips:    []string{"nondeterministic_output"},
		Args:    `client-type<normal:t=NORMAL master:t=MASTER replica:t=REPLICA pubsub:t=PUBSUB>=TYPE@5.0.0? client-id:i=ID@6.2.0?*`},
	{Name: "client|no-evict", Arity: 3, Flags: Admin | NoScript | Loading | Stale, run: clientNoEvict,
		Group: "connection", Since: "7.0.0", Complexity: "O(1)",
		Summary: "Sets the client eviction mode of the connection.",
		Args:    `enabled<on:t=ON off:t=OFF>`},
	{Name: "client|no-touch", Arity: 3, Flags: NoScript | Loading | Stale, run: clientNoTouch,
		Group: "connection", Since: "7.2.0", Complexity: "O(1)",
		Summary: "Controls whether commands sent by the client affect the LRU/LFU of accessed keys.",
		Args:    `enabled<on:t=ON off:t=OFF>`},
	{Name: "client|reply", Arity: 3, Flags: NoScript | Loading | Stale, run: clientReply,
		Group: "connection", Since: "3.2.0", Complexity: "O(1)",
		Summary: "Instructs the server whether to reply to commands.",
		Args:    `action<on:t=ON off:t=OFF skip:t=SKIP>`},
	{Name: "client|setinfo", Arity: 4, Flags: NoScript | Loading | Stale, run: clientSetinfo,
		Group: "connection", Since: "7.2.0", Complexity: "O(1)",
		Summary: "Sets information specific to the client or connection.",
		Tips:    []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
		Args:    `attr<libname=LIB-NAME libver=LIB-VER>`},
	{Name: "client|setname", Arity: 3, Flags: NoScript | Loading | Stale, run: clientSetname,
		Group: "connection", Since: "2.6.9", Complexity: "O(1)",
		Summary: "Sets the connection name.",
		Tips:    []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
		Args:    `connection-name`},
}

var errClientName = resp.Err("ERR Client names cannot contain spaces, newlines or special characters.")

// validClientAttr reports whether s can stand in a line of CLIENT LIST.
func validClientAttr(s string) bool {
	for _, b := range []byte(cString(s)) {
		if b < '!' || b > '~' {
			return false
		}
	}
	return true
}

// clientId: CLIENT ID
func clientId(c *Call) resp.Value { return resp.Int(int64(c.Sess.id)) }

// clientGetname: CLIENT GETNAME
func clientGetname(c *Call) resp.Value {
	if c.Sess.name == "" {
		return resp.Null
	}
	return resp.Bulk(c.Sess.name)
}

// clientSetname: CLIENT SETNAME connection-name
func clientSetname(c *Call) resp.Value {
	if !validClientAttr(c.Args[2]) {
		return errClientName
	}
	c.Sess.name = strings.Clone(c.Args[2])
	return resp.OK
}

// clientSetinfo: CLIENT SETINFO LIB-NAME libname | LIB-VER libver
func clientSetinfo(c *Call) resp.Value {
	var attr *string
	switch {
	case c.is(2, "lib-name"):
		attr = &c.Sess.lib.name
	case c.is(2, "lib-ver"):
		attr = &c.Sess.lib.version
	default:
		return resp.Err(oneLine("ERR Unrecognized option '" + cString(c.Args[2]) + "'"))
	}
	if !validClientAttr(c.Args[3]) {
		return resp.Err("ERR " + c.Args[2] + " cannot contain spaces, newlines or special characters.")
	}
	*attr = strings.Clone(c.Args[3])
	return resp.OK
}

// clientReply: CLIENT REPLY ON | OFF | SKIP
func clientReply(c *Call) resp.Value {
	s := c.Sess
	switch {
	case c.is(2, "on"):
		s.replyOff, s.skipReply = false, 0
		return resp.OK
	case c.is(2, "off"):
		s.replyOff = true
		return resp.None
	case c.is(2, "skip"):
		if !s.replyOff {
			s.skipReply = 2
		}
		return resp.None
	}
	return errSyntax
}

// clientNoEvict: CLIENT NO-EVICT ON | OFF
func clientNoEvict(c *Call) resp.Value { return c.onOff(&c.Sess.noEvict) }

// clientNoTouch: CLIENT NO-TOUCH ON | OFF
func clientNoTouch(c *Call) resp.Value { return c.onOff(&c.Sess.noTouch) }

// onOff sets flag as the third word says.
func (c *Call) onOff(flag *bool) resp.Value {
	switch {
	case c.is(2, "on"):
		*flag = true
	case c.is(2, "off"):
		*flag = false
	default:
		return errSyntax
	}
	return resp.OK
}

// clientCapa: CLIENT CAPA capability [capability ...]
//
// The one capability that the server knows, REDIRECT, is for replicas and
// failovers; a server that has neither takes note of nothing.
func clientCapa(*Call) resp.Value { return resp.OK }

// clientInfo: CLIENT INFO
func clientInfo(c *Call) resp.Value { return resp.Verbatim(c.describe(c.Sess)) }

// clientList: CLIENT LIST [TYPE type] [ID client-id [client-id ...]]
func clientList(c *Call) resp.Value {
	var shown []*Session
	switch {
	case len(c.Args) == 2:
		shown = c.clients()
	case len(c.Args) == 4 && c.is(2, "type"):
		kind, ok := clientTypes[strings.ToLower(c.Args[3])]
		if !ok {
			return unknownClientType(c.Args[3])
		}
		for _, s := range c.clients() {
			if s.kind() == kind {
				shown = append(shown, s)
			}
		}
	case len(c.Args) > 3 && c.is(2, "id"):
		for i := 3; i < len(c.Args); i++ {
			id, bad := c.intArg(i)
			if bad != nil {
				return resp.Err("ERR Invalid client ID")
			}
			if s := c.sessions[uint64(id)]; s != nil {
				shown = append(shown, s)
			}
		}
	default:
		return errSyntax
	}
	var b strings.Builder
	for _, s := range shown {
		b.WriteString(c.describe(s))
	}
	return resp.Verbatim(b.String())
}

// describe is a client's line of CLIENT LIST.
func (c *Call) describe(s *Session) string {
	var running []string
	if s == c.Sess {
		running = c.Args
	}
	return s.describe(running) + "\n"
}

// clientHelp: CLIENT HELP
func clientHelp(*Call) resp.Value {
	return helpReply("CLIENT",
		"CACHING (YES|NO)",
		"    Enable/disable tracking of the keys for next command in OPTIN/OPTOUT modes.",
		"CAPA <option> [options...]",
		"    The client claims its some capability options. Options are:",
		"    * REDIRECT",
		"      The client can handle redirection during primary and replica failover in standalone mode.",
		"GETREDIR",
		"    Return the client ID we are redirecting to when tracking is enabled.",
		"GETNAME",
		"    Return the name of the current connection.",
		"ID",
		"    Return the ID of the current connection.",
		"INFO",
		"    Return information about the current client connection.",
		"KILL <ip:port>",
		"    Kill connection made from <ip:port>.",
		"KILL <option> <value> [<option> <value> [...]]",
		"    Kill connections. Options are:",
		"    * ADDR (<ip:port>|<unixsocket>:0)",
		"      Kill connections made from the specified address",
		"    * LADDR (<ip:port>|<unixsocket>:0)",
		"      Kill connections made to specified local address",
		"    * TYPE (NORMAL|PRIMARY|REPLICA|PUBSUB)",
		"      Kill connections by type.",
		"    * USER <username>",
		"      Kill connections authenticated by <username>.",
		"    * SKIPME (YES|NO)",
		"      Skip killing current connection (default: yes).",
		"    * ID <client-id>",
		"      Kill connections by client id.",
		"    * MAXAGE <maxage>",
		"      Kill connections older than the specified age.",
		"LIST [options ...]",
		"    Return information about client connections. Options:",
		"    * TYPE (NORMAL|PRIMARY|REPLICA|PUBSUB)",
		"      Return clients of specified type.",
		"UNPAUSE",
		"    Stop the current client pause, resuming traffic.",
		"PAUSE <timeout> [WRITE|ALL]",
		"    Suspend all, or just write, clients for <timeout> milliseconds.",
		"REPLY (ON|OFF|SKIP)",
		"    Control the replies sent to the current connection.",
		"SETNAME <name>",
		"    Assign the name <name> to the current connection.",
		"SETINFO <option> <value>",
		"    Set client meta attr. Options are:",
		"    * LIB-NAME: the client lib name.",
		"    * LIB-VER: the client lib version.",
		"UNBLOCK <clientid> [TIMEOUT|ERROR]",
		"    Unblock the specified blocked client.",
		"TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]]",
		"         [OPTIN] [OPTOUT] [NOLOOP]",
		"    Control server assisted client side caching.",
		"TRACKINGINFO",
		"    Report tracking status for the current connection.",
		"NO-EVICT (ON|OFF)",
		"    Protect current client connection from eviction.",
		"NO-TOUCH (ON|OFF)",
		"    Will not touch LRU/LFU stats when this mode is on.")
}
