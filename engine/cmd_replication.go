package engine

import (
	"strconv"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

var replicationCommands = []Spec{
	{Name: "psync", Arity: -3, Flags: Admin | NoScript | NoAsyncLoading | NoMulti, run: psync,
		Group: "server", Since: "2.8.0",
		Summary: "An internal command used in replication.",
		Args:    `replicationid offset:i`},
	{Name: "replconf", Arity: -1, Flags: Admin | NoScript | Loading | Stale | AllowBusy, run: replconf,
		Group: "server", Since: "3.0.0", Complexity: "O(1)",
		Summary:  "An internal command for configuring the replication stream.",
		DocFlags: []string{"syscmd"}},
	{Name: "replicaof", Arity: 3, Flags: Admin | NoScript | Stale | NoAsyncLoading, run: replicaof,
		Group: "server", Since: "5.0.0", Complexity: "O(1)",
		Summary: "Configures a server as replica of another, or promotes it to a primary.",
		Args:    `args<host-port{host port:i} no-one{no:t=NO one:t=ONE}>`},
	{Name: "role", Arity: 1, Flags: NoScript | Loading | Stale | Fast, ACL: []string{"admin", "dangerous"}, run: role,
		Group: "server", Since: "2.8.12", Complexity: "O(1)",
		Summary: "Returns the replication role."},
	{Name: "slaveof", Arity: 3, Flags: Admin | NoScript | Stale | NoAsyncLoading, run: replicaof,
		Group: "server", Since: "1.0.0", Complexity: "O(1)",
		Summary:  "Sets a server as a replica of another, or promotes it to being a primary.",
		DocFlags: []string{"deprecated"}, DeprecatedSince: "5.0.0", ReplacedBy: "`REPLICAOF`",
		Args: `args<host-port{host port:i} no-one{no:t=NO one:t=ONE}>`},
	{Name: "sync", Arity: 1, Flags: Admin | NoScript | NoAsyncLoading | NoMulti, run: syncCmd,
		Group: "server", Since: "1.0.0",
		Summary: "An internal command used in replication."},
}

// role: ROLE
//
// The server is always a primary.
func role(c *Call) resp.Value {
	replicas := []resp.Value{}
	for _, s := range c.repl.replicas {
		ip, port := s.replicaAddr()
		replicas = append(replicas, resp.Strings(ip, strconv.FormatInt(port, 10), strconv.FormatInt(s.replica.acked, 10)))
	}
	return resp.Array(resp.Bulk("master"), resp.Int(c.repl.offset), resp.Array(replicas...))
}

// syncCmd: SYNC
func syncCmd(c *Call) resp.Value {
	if c.Sess.isReplica() || c.Sess.monitor {
		return resp.None
	}
	switch {
	case c.Sess.hasPending():
		return errSyncPending
	case c.Sess.conn == nil:
		return errNoStream
	}
	c.Sess.about().silent = true
	return c.fullSync(false)
}

// psync: PSYNC replication-id offset
func psync(c *Call) resp.Value {
	s := c.Sess
	if s.isReplica() || s.monitor {
		return resp.None
	}
	if c.is(3, "failover") {
		return resp.Err("ERR PSYNC FAILOVER can't be sent to a master.")
	}
	if s.hasPending() {
		return errSyncPending
	}
	offset, bad := c.intArg(2)
	if bad != nil {
		return *bad
	}
	if s.conn == nil {
		return errNoStream
	}
	missed, ok := c.repl.since(offset)
	if !ok || !equalWord(c.Args[1], c.replicationID()) {
		if !strings.HasPrefix(c.Args[1], "?") {
			c.stats.partialFailed++
		}
		return c.fullSync(true)
	}
	c.stats.partialSyncs++
	s.attach()
	reply := "+CONTINUE"
	if s.replica.psync2 {
		reply += " " + c.replicationID()
	}
	s.out = append(s.out, reply+"\r\n"...)
	s.pushStream(missed)
	return resp.None
}

var (
	errSyncPending = resp.Err("ERR SYNC and PSYNC are invalid with pending output")
	errNoStream    = resp.Err("ERR an in-process client can't be a replica") // it takes replies, not a stream
)

// hasPending reports whether replies of commands before this one are still to be sent.
func (s *Session) hasPending() bool { return len(s.out) > 0 || s.pending() > 0 }

// fullSync sends the client all data, and from then on the stream. header tells it where
// in the stream that is.
func (c *Call) fullSync(header bool) resp.Value {
	s := c.Sess
	c.stats.fullSyncs++
	file, err := c.snapshotFor(s.about())
	if err != nil {
		c.log(LogWarning, err.Error())
		s.closing = true
		return resp.None
	}
	if !s.replica.onlyRDB {
		s.attach()
		c.repl.db = noDB // the replica has none selected
	}
	if header {
		s.out = append(s.out, "+FULLRESYNC "+c.replicationID()+" "+strconv.FormatInt(c.repl.offset, 10)+"\r\n"...)
	}
	s.out = append(s.out, "$"+strconv.Itoa(len(file))+"\r\n"...)
	s.out = append(s.out, file...)
	s.closing = s.closing || s.replica.onlyRDB
	return resp.None
}

// replconf: REPLCONF [option value [option value ...]]
func replconf(c *Call) resp.Value {
	if len(c.Args)%2 == 0 {
		return errSyntax
	}
	for i := 1; i < len(c.Args); i += 2 {
		switch {
		case c.is(i, "ack"):
			c.acknowledged(i + 1)
			return resp.None
		case c.is(i, "getack"):
			return resp.None // a replica would answer
		}
		if bad := c.replicaOption(i); bad != nil {
			return *bad
		}
	}
	return resp.OK
}

// replicaOption is one option of REPLCONF and its value, at argument i.
func (c *Call) replicaOption(i int) (bad *resp.Value) {
	about, value := c.Sess.about(), c.Args[i+1]
	fail := func(text string) *resp.Value {
		v := resp.Err(oneLine("ERR " + text))
		return &v
	}
	switch {
	case c.is(i, "listening-port"):
		about.port, bad = c.intArg(i + 1)
		about.port = int64(int32(about.port))
	case c.is(i, "ip-address"):
		if len(value) >= maxHostLen {
			return fail("REPLCONF ip-address provided by replica instance is too long: " + strconv.Itoa(len(value)) + " bytes")
		}
		about.ip = strings.Clone(value)
	case c.is(i, "capa"):
		about.psync2 = about.psync2 || c.is(i+1, "psync2")
	case c.is(i, "rdb-only"):
		about.onlyRDB, bad = c.flagArg(i + 1)
	case c.is(i, "rdb-filter-only"):
		return about.filter(value)
	case c.is(i, "version"):
		if !isVersion(cString(value)) {
			return fail("Unrecognized version format: " + cString(value))
		}
	case c.is(i, "rdb-channel"):
		_, bad = c.flagArg(i + 1) // nobody is told that there are such channels
	case c.is(i, "set-rdb-client-id"):
		var id int64
		if id, bad = c.intArg(i + 1); bad == nil {
			return fail("Unrecognized RDB client id " + strconv.FormatInt(id, 10))
		}
	default:
		return fail("Unrecognized REPLCONF option: " + cString(c.Args[i]))
	}
	return bad
}

// maxHostLen is the length of a host name that no longer fits.
const maxHostLen = 256

// flagArg is argument i as 0 or 1.
func (c *Call) flagArg(i int) (on bool, bad *resp.Value) {
	n, bad := c.intArg(i)
	if bad == nil && n != 0 && n != 1 {
		v := resp.Err("ERR value is out of range, value must between 0 and 1")
		bad = &v
	}
	return n == 1, bad
}

// filter sets what REPLCONF RDB-FILTER-ONLY leaves of the RDB file.
func (about *replica) filter(value string) *resp.Value {
	names, ok := resp.SplitWords(value)
	if !ok {
		v := resp.Err("ERR Missing rdb-filter-only values")
		return &v
	}
	about.noData, about.noFunctions = true, true
	for _, name := range names {
		if !equalWord(name, "functions") {
			v := resp.Err(oneLine("ERR Unsupported rdb-filter-only option: " + cString(name)))
			return &v
		}
		about.noFunctions = false
	}
	return nil
}

// isVersion reports whether s is three numbers with points between them, as the server
// reads them: no digits are 0.
func isVersion(s string) bool {
	parts := strings.Split(s, ".")
	for _, p := range parts {
		if n, err := strconv.ParseUint("0"+p, 10, 64); err != nil || n > 255 {
			return false
		}
	}
	return len(parts) == 3
}

// acknowledged is REPLCONF ACK offset [FACK offset]: the offset is argument i.
func (c *Call) acknowledged(i int) {
	s := c.Sess
	offset, ok := parseInt(c.Args[i])
	if !s.isReplica() || !ok {
		return
	}
	s.replica.acked = max(s.replica.acked, offset)
	if len(c.Args) > i+2 && c.is(i+1, "fack") {
		if offset, ok = parseInt(c.Args[i+2]); !ok {
			return
		}
		s.replica.ackedFile = max(s.replica.ackedFile, offset)
	}
	s.replica.heardFrom = c.now
	c.serveWaiting()
}

// replicaof: REPLICAOF | SLAVEOF <host port | NO ONE>
//
// NO ONE has nothing to do: nothing here can become a replica.
func replicaof(c *Call) resp.Value {
	if c.is(1, "no") && c.is(2, "one") {
		return resp.OK
	}
	if port, ok := parseInt(c.Args[2]); !ok || port < 0 || port > 65535 {
		return resp.Err("ERR Invalid master port")
	}
	return resp.Err("ERR this simulator can't be a replica")
}
