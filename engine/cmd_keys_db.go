package engine

import (
	"strconv"

	"github.com/echomq/echomq-sim/resp"
)

var databaseCommands = []Spec{
	{Name: "dbsize", Arity: 1, Flags: ReadOnly | Fast, ACL: []string{"keyspace"}, run: dbsize,
		Group: "server", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Returns the number of keys in the database.",
		Tips:    []string{"request_policy:all_shards", "response_policy:agg_sum"}},
	{Name: "flushall", Arity: -1, Flags: Write, ACL: []string{"dangerous", "keyspace"}, run: flushall,
		Group: "server", Since: "1.0.0", Complexity: "O(N) where N is the total number of keys in all databases",
		Summary: "Removes all keys from all databases.",
		History: []string{"4.0.0 Added the `ASYNC` flushing mode modifier.", "6.2.0 Added the `SYNC` flushing mode modifier."},
		Tips:    []string{"request_policy:all_shards", "response_policy:all_succeeded"},
		Args:    `flush-type<async:t=ASYNC@4.0.0 sync:t=SYNC@6.2.0>?`},
	{Name: "flushdb", Arity: -1, Flags: Write, ACL: []string{"dangerous", "keyspace"}, run: flushdb,
		Group: "server", Since: "1.0.0", Complexity: "O(N) where N is the number of keys in the selected database",
		Summary: "Remove all keys from the current database.",
		History: []string{"4.0.0 Added the `ASYNC` flushing mode modifier.", "6.2.0 Added the `SYNC` flushing mode modifier."},
		Tips:    []string{"request_policy:all_shards", "response_policy:all_succeeded"},
		Args:    `flush-type<async:t=ASYNC@4.0.0 sync:t=SYNC@6.2.0>?`},
	{Name: "swapdb", Arity: 3, Flags: Write | Fast, ACL: []string{"dangerous", "keyspace"}, run: swapdb,
		Group: "server", Since: "4.0.0", Complexity: "O(N) where N is the count of clients watching or blocking on keys from both databases.",
		Summary: "Swaps two databases.",
		Args:    `index1:i index2:i`},
	{Name: "time", Arity: 1, Flags: Loading | Stale | Fast, run: timeCmd,
		Group: "server", Since: "2.6.0", Complexity: "O(1)",
		Summary: "Returns the server time.",
		Tips:    []string{"nondeterministic_output"}},
}

// dbsize: DBSIZE
func dbsize(c *Call) resp.Value { return resp.Int(int64(c.db().Len())) }

// flushall: FLUSHALL [ASYNC | SYNC]
func flushall(c *Call) resp.Value {
	if !c.flushMode() {
		return errSyntax
	}
	c.sendAlways()
	for i := range c.dbs {
		c.flush(i)
	}
	if c.cfg.SaveFile != "" && c.tuned("save") != "" {
		c.save()
	}
	c.trackFlush()
	return resp.OK
}

// flushdb: FLUSHDB [ASYNC | SYNC]
func flushdb(c *Call) resp.Value {
	if !c.flushMode() {
		return errSyntax
	}
	c.sendAlways()
	c.flush(c.dbIndex())
	c.trackFlush()
	return resp.OK
}

// flushMode checks the optional ASYNC or SYNC. A flush takes constant time here, so
// a client can't tell one from the other.
func (c *Call) flushMode() bool {
	return len(c.Args) == 1 || len(c.Args) == 2 && (c.is(1, "async") || c.is(1, "sync"))
}

// flush empties a database.
func (c *Call) flush(db int) {
	c.touchAll(db, nil)
	n := int64(c.dbs[db].Len())
	c.stats.dirty += n
	if c.is(1, "async") || len(c.Args) == 1 && c.tunedYes(lazyUserFlush) {
		c.stats.lazyFreed += n
	}
	c.dbs[db].Flush()
}

// swapdb: SWAPDB index1 index2
func swapdb(c *Call) resp.Value {
	if c.cluster != nil {
		return errSwapDBCluster
	}
	a, ok := parseInt(c.Args[1])
	if !ok || a != int64(int32(a)) {
		return resp.Err("ERR invalid first DB index")
	}
	b, ok := parseInt(c.Args[2])
	if !ok || b != int64(int32(b)) {
		return resp.Err("ERR invalid second DB index")
	}
	n := int64(len(c.dbs))
	if a < 0 || a >= n || b < 0 || b >= n {
		return errDBIndex
	}
	if a != b {
		c.touchAll(int(a), c.dbs[b])
		c.touchAll(int(b), c.dbs[a])
		c.dbs[a], c.dbs[b] = c.dbs[b], c.dbs[a]
	}
	c.stats.dirty++
	return resp.OK
}

// timeCmd: TIME
func timeCmd(c *Call) resp.Value {
	return resp.Strings(strconv.FormatInt(c.now/1e6, 10), strconv.FormatInt(c.now%1e6, 10))
}
