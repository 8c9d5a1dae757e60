package engine

import (
	"math"
	"strconv"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

var connCommands = []Spec{
	{Name: "auth", Arity: -2, Flags: NoScript | Loading | Stale | Fast | NoAuth | AllowBusy, run: auth,
		Group: "connection", Since: "1.0.0", Complexity: "O(N) where N is the number of passwords defined for the user",
		Summary: "Authenticates the connection.",
		History: []string{"6.0.0 Added ACL style (username and password)."},
		Args:    `username@6.0.0? password`},
	{Name: "echo", Arity: 2, Flags: Loading | Stale | Fast, run: echo,
		Group: "connection", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Returns the given string.",
		Args:    `message`},
	{Name: "hello", Arity: -1, Flags: NoScript | Loading | Stale | Fast | NoAuth | AllowBusy, run: hello,
		Group: "connection", Since: "6.0.0", Complexity: "O(1)",
		Summary: "Handshakes with the server.",
		History: []string{"6.2.0 `protover` made optional; when called without arguments the command reports the current connection's context."},
		Args:    `arguments{protover:i auth{username password}=AUTH? clientname=SETNAME?}?`},
	{Name: "ping", Arity: -1, Flags: Fast, run: ping,
		Group: "connection", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Returns the server's liveliness response.",
		Tips:    []string{"request_policy:all_shards", "response_policy:all_succeeded"},
		Args:    `message?`},
	{Name: "quit", Arity: -1, Flags: NoScript | Loading | Stale | Fast | NoAuth | AllowBusy, run: quit,
		Group: "connection", Since: "1.0.0", Complexity: "O(1)",
		Summary:  "Closes the connection.",
		DocFlags: []string{"deprecated"}, DeprecatedSince: "7.2.0", ReplacedBy: "just closing the connection"},
	{Name: "reset", Arity: 1, Flags: NoScript | Loading | Stale | Fast | NoAuth | AllowBusy, run: reset,
		Group: "connection", Since: "6.2.0", Complexity: "O(1)",
		Summary: "Resets the connection."},
	{Name: "select", Arity: 2, Flags: Loading | Stale | Fast, run: selectCmd,
		Group: "connection", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Changes the selected database.",
		Args:    `index:i`},
}

// What the server says of itself.
const (
	serverName    = "valkey"
	serverVersion = "8.0.1"
	redisVersion  = "7.2.4" // the Redis version whose commands it offers
	defaultUser   = "default"
)

var errWrongPass = resp.Err("WRONGPASS invalid username-password pair or user is disabled.")

// ping: PING [message]
func ping(c *Call) resp.Value {
	if c.Sess.subscribed() && c.Sess.proto == 2 && len(c.Args) <= 2 {
		return resp.Array(resp.Bulk("pong"), resp.Bulk(strings.Join(c.Args[1:], "")))
	}
	switch len(c.Args) {
	case 1:
		return resp.Simple("PONG")
	case 2:
		return resp.Bulk(c.Args[1])
	}
	return c.wrongArity()
}

// echo: ECHO message
func echo(c *Call) resp.Value { return resp.Bulk(c.Args[1]) }

// selectCmd: SELECT index
func selectCmd(c *Call) resp.Value {
	n, bad := c.intArg(1)
	switch {
	case bad != nil:
		return *bad
	case n < math.MinInt32 || n > math.MaxInt32:
		return resp.Err("ERR value is out of range, value must between " + strconv.Itoa(math.MinInt32) +
			" and " + strconv.Itoa(math.MaxInt32))
	case c.cluster != nil && n != 0:
		return errSelectCluster
	case n < 0 || n >= int64(len(c.dbs)):
		return errDBIndex
	}
	c.setDB(int(n))
	return resp.OK
}

// quit: QUIT
func quit(c *Call) resp.Value {
	c.Sess.closing = true
	return resp.OK
}

// reset: RESET
func reset(c *Call) resp.Value {
	s := c.Sess
	s.endMulti()
	s.stopTracking()
	s.endSubscriptions()
	s.db, s.proto, s.name = 0, 2, ""
	s.setDefaultUser()
	s.replyOff, s.skipReply = false, 0
	s.noTouch, s.noEvict, s.readOnly = false, false, false
	s.stopMonitor()
	return resp.Simple("RESET")
}

// auth: AUTH [username] password
func auth(c *Call) resp.Value {
	user, password := defaultUser, c.Args[len(c.Args)-1]
	switch len(c.Args) {
	case 2:
		if c.acl.def.noPass {
			return resp.Err("ERR AUTH <password> called without any password configured for the default user. " +
				"Are you sure your configuration is correct?")
		}
	case 3:
		user = c.Args[1]
	default:
		return errSyntax
	}
	if !c.Sess.login(user, password, c.Args[0]) {
		return errWrongPass
	}
	return resp.OK
}

// helloOptions are HELLO's arguments.
type helloOptions struct {
	proto          int64 // 0: as before
	login, rename  bool
	user, password string
	name           string
}

// hello: HELLO [protover [AUTH username password] [SETNAME clientname]]
func hello(c *Call) resp.Value {
	opt, bad := c.parseHello()
	if bad != nil {
		return *bad
	}
	s := c.Sess
	if opt.login && !s.login(opt.user, opt.password, c.Args[0]) {
		return errWrongPass
	}
	if !s.authed {
		return resp.Err("NOAUTH HELLO must be called with the client already authenticated, otherwise the " +
			"HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and " +
			"select the RESP protocol version at the same time")
	}
	if opt.rename {
		s.name = strings.Clone(opt.name)
	}
	if opt.proto != 0 {
		s.proto = int(opt.proto)
	}
	name, version := serverName, serverVersion
	if c.set.redisNamed {
		name, version = "redis", redisVersion
	}
	return resp.Map(
		resp.Bulk("server"), resp.Bulk(name),
		resp.Bulk("version"), resp.Bulk(version),
		resp.Bulk("proto"), resp.Int(int64(s.proto)),
		resp.Bulk("id"), resp.Int(int64(s.id)),
		resp.Bulk("mode"), resp.Bulk(c.mode()),
		resp.Bulk("role"), resp.Bulk("master"),
		resp.Bulk("modules"), resp.Array())
}

func (c *Call) parseHello() (opt helloOptions, bad *resp.Value) {
	fail := func(text string) (helloOptions, *resp.Value) {
		v := resp.Err(text)
		return opt, &v
	}
	if len(c.Args) == 1 {
		return opt, nil
	}
	var ok bool
	if opt.proto, ok = parseInt(c.Args[1]); !ok {
		return fail("ERR Protocol version is not an integer or out of range")
	}
	if opt.proto != 2 && opt.proto != 3 {
		return fail("NOPROTO unsupported protocol version")
	}
	for i := 2; i < len(c.Args); i++ {
		switch more := len(c.Args) - 1 - i; {
		case c.is(i, "auth") && more >= 2:
			opt.login, opt.user, opt.password = true, c.Args[i+1], c.Args[i+2]
			i += 2
		case c.is(i, "setname") && more >= 1:
			opt.rename, opt.name = true, c.Args[i+1]
			if !validClientAttr(opt.name) {
				return fail(errClientName.Str)
			}
			i++
		default:
			return fail(oneLine("ERR Syntax error in HELLO option '" + cString(c.Args[i]) + "'"))
		}
	}
	return opt, nil
}
