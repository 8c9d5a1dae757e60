package engine

import (
	"strconv"
	"strings"

	"github.com/echomq/echomq-sim/rdb"
	"github.com/echomq/echomq-sim/resp"
)

var migrateCommands = []Spec{
	{Name: "migrate", Arity: -6, Flags: Write, ACL: []string{"dangerous"},
		Keys: keys(keyAt(3, RW|Access|Delete), keyword("KEYS", -2, -1, 1, 0, RW|Access|Delete|Incomplete)), run: migrate, findKeys: migrateKeys, pace: anyPace,
		Group: "generic", Since: "2.6.0", Complexity: "This command actually executes a DUMP+DEL in the source instance, and a RESTORE in the target instance. See the pages of these commands for time complexity. Also an O(N) data transfer between the two instances is performed.",
		Summary: "Atomically transfers a key from one instance to another.",
		History: []string{"3.0.0 Added the `COPY` and `REPLACE` options.", "3.0.6 Added the `KEYS` option.", "4.0.7 Added the `AUTH` option.", "6.0.0 Added the `AUTH2` option."},
		Tips:    []string{"nondeterministic_output"},
		Args:    `host port:i key-selector<key:k#0 empty-string:t=""> destination-db:i timeout:i copy:t=COPY@3.0.0? replace:t=REPLACE@3.0.0? authentication<auth/password=AUTH@4.0.7 auth2{username password}=AUTH2@6.0.0>? keys/key:k=KEYS#1@3.0.6?*`},
}

// migration is one MIGRATE, parsed.
type migration struct {
	addr          string // host:port, as they were given
	host          string
	port          int64
	db            int64
	timeout       int64 // milliseconds, for each step of the transfer
	copy, replace bool
	auth          []string // the target's AUTH command, or nil
	keys          []string
}

var (
	errMigrateKeys    = resp.Err("ERR When using MIGRATE KEYS option, the key argument must be set to the empty string")
	errMigrateConnect = resp.Err("IOERR error or timeout connecting to the client")
	errMigrateWrite   = resp.Err("IOERR error or timeout writing to target instance")
	errMigrateRead    = resp.Err("IOERR error or timeout reading to target instance")
)

// migrate: MIGRATE host port <key | ""> destination-db timeout [COPY] [REPLACE]
// [AUTH password | AUTH2 username password] [KEYS key [key ...]]
func migrate(c *Call) resp.Value {
	m, bad := c.parseMigrate()
	if bad != nil {
		return *bad
	}
	restores := c.migrateRestores(m)
	if len(m.keys) == 0 {
		return resp.Simple("NOKEY")
	}
	for attempt := 0; ; attempt++ {
		t, bad := c.target(m)
		if bad != nil {
			return *bad
		}
		x := c.transfer(t, m, restores)
		if x.err != nil {
			c.closeTarget(t)
		}
		// A connection that was kept may have been closed meanwhile: one more attempt, unless
		// the target may have taken something.
		if x.err != nil && x.replies == 0 && !isTimeout(x.err) && attempt == 0 {
			continue
		}
		return c.migrated(t, m, x)
	}
}

// migrated removes the keys that the target has taken and tells how it went.
func (c *Call) migrated(t *migrateTarget, m *migration, x *transferred) resp.Value {
	t.db = m.db
	if x.refusal != "" {
		t.db = unknownDB
	}
	if !m.copy {
		for _, key := range x.taken {
			c.db().Remove(key)
			c.changed(key, eventGeneric, "del")
		}
		c.sendAs(append([]string{"DEL"}, x.taken...)...)
	}
	switch {
	case x.refusal != "":
		return resp.Err(oneLine("ERR Target instance replied with error: " + x.refusal))
	case x.err != nil && !x.written:
		return errMigrateWrite
	case x.err != nil:
		return errMigrateRead
	}
	return resp.OK
}

func (c *Call) parseMigrate() (m *migration, bad *resp.Value) {
	m = &migration{addr: c.Args[1] + ":" + c.Args[2], host: c.Args[1], port: resp.Atoi(c.Args[2]), keys: c.Args[3:4]}
	for i := 6; i < len(c.Args); i++ {
		switch more := len(c.Args) - 1 - i; {
		case c.is(i, "copy"):
			m.copy = true
		case c.is(i, "replace"):
			m.replace = true
		case c.is(i, "auth") && more >= 1:
			m.setPassword(c.Args[i+1])
			i++
		case c.is(i, "auth2") && more >= 2:
			m.auth = []string{"AUTH", c.Args[i+1], c.Args[i+2]}
			i += 2
		case c.is(i, "keys"):
			if c.Args[3] != "" {
				return nil, &errMigrateKeys
			}
			m.keys = c.Args[i+1:]
			i = len(c.Args)
		default:
			return nil, &errSyntax
		}
	}
	if m.timeout, bad = c.intArg(5); bad != nil {
		return nil, bad
	}
	if m.db, bad = c.intArg(4); bad != nil {
		return nil, bad
	}
	if m.timeout <= 0 {
		m.timeout = defaultMigrateTimeout
	}
	return m, nil
}

// defaultMigrateTimeout is in milliseconds.
const defaultMigrateTimeout = 1000

// setPassword is the option AUTH, which leaves the user of an AUTH2 before it as it is.
func (m *migration) setPassword(password string) {
	if len(m.auth) == 3 {
		m.auth[2] = password
		return
	}
	m.auth = []string{"AUTH", password}
}

// migrateRestores drops the keys that are not there and returns the commands that create
// the others on the target.
func (c *Call) migrateRestores(m *migration) (commands []byte) {
	name := "RESTORE"
	if c.cluster != nil {
		name = "RESTORE-ASKING"
	}
	var there []string
	for _, key := range m.keys {
		o := c.read(key)
		if o == nil {
			continue
		}
		there = append(there, key)
		ttl := int64(0)
		if at := o.Expire(); at != 0 {
			ttl = max(at-c.ms(), 1)
		}
		restore := []string{name, key, strconv.FormatInt(ttl, 10), rdb.Dump(o, c.compresses()), "REPLACE"}
		if !m.replace {
			restore = restore[:4]
		}
		commands = appendCommand(commands, restore...)
	}
	m.keys = there
	return commands
}

func appendCommand(dst []byte, args ...string) []byte {
	v := resp.Strings(args...)
	return resp.Append(dst, &v, 2)
}

// migrateOptionArgs are the options that take arguments of their own.
var migrateOptionArgs = map[string]int{"auth": 1, "auth2": 2}

// migrateKeys are the keys of MIGRATE: those after KEYS, or the one in its place.
func migrateKeys(args []string) (refs []KeyRef) {
	first, end := 3, 4
	for i := 6; i < len(args); i++ {
		option := strings.ToLower(args[i])
		if option != "keys" {
			i += migrateOptionArgs[option]
			continue
		}
		if args[3] != "" {
			return nil // a syntax error, which the handler reports
		}
		first, end = i+1, len(args)
		break
	}
	for i := first; i < end; i++ {
		refs = append(refs, KeyRef{Index: i, Flags: RW | Access | Delete})
	}
	return refs
}

// migrateHides reports whether argument i is a name or password for the target.
func migrateHides(args []string, i int) bool {
	for j := 6; j < len(args); j++ {
		option := strings.ToLower(args[j])
		switch n := migrateOptionArgs[option]; {
		case option == "copy" || option == "replace":
		case n == 0 || j+n >= len(args):
			return false // KEYS, or a syntax error
		case i > j && i <= j+n:
			return true
		default:
			j += n
		}
	}
	return false
}
