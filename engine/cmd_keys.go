package engine

import (
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var keyCommands = []Spec{
	{Name: "copy", Arity: -3, Flags: Write | DenyOOM,
		Keys: keys(key1(RO|Access), keyAt(2, OW|Update)), run: copyCmd,
		Group: "generic", Since: "6.2.0", Complexity: "O(N) worst case for collections, where N is the number of nested items. O(1) for string values.",
		Summary: "Copies the value of a key to a new key.",
		Args:    `source:k#0 destination:k#1 destination-db:i=DB? replace:t=REPLACE?`},
	{Name: "del", Arity: -2, Flags: Write,
		Keys: keys(keyRange(1, -1, 1, 0, RM|Delete)), run: delCmd,
		Group: "generic", Since: "1.0.0", Complexity: "O(N) where N is the number of keys that will be removed. When a key to remove holds a value other than a string, the individual complexity for this key is O(M) where M is the number of elements in the list, set, sorted set or hash. Removing a single key that holds a string value is O(1).",
		Summary: "Deletes one or more keys.",
		Tips:    []string{"request_policy:multi_shard", "response_policy:agg_sum"},
		Args:    `key:k#0*`},
	{Name: "exists", Arity: -2, Flags: ReadOnly | Fast,
		Keys: keys(keyRange(1, -1, 1, 0, RO)), run: exists,
		Group: "generic", Since: "1.0.0", Complexity: "O(N) where N is the number of keys to check.",
		Summary: "Determines whether one or more keys exist.",
		History: []string{"3.0.3 Accepts multiple `key` arguments."},
		Tips:    []string{"request_policy:multi_shard", "response_policy:agg_sum"},
		Args:    `key:k#0*`},
	{Name: "move", Arity: 3, Flags: Write | Fast,
		Keys: keys(key1(RW | Access | Update)), run: move,
		Group: "generic", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Moves a key to another database.",
		Args:    `key:k#0 db:i`},
	{Name: "randomkey", Arity: 1, Flags: ReadOnly | TouchesArbitraryKeys, run: randomkey,
		Group: "generic", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Returns a random key name from the database.",
		Tips:    []string{"request_policy:all_shards", "response_policy:special", "nondeterministic_output"}},
	{Name: "rename", Arity: 3, Flags: Write,
		Keys: keys(key1(RW|Access|Delete), keyAt(2, OW|Update)), run: rename,
		Group: "generic", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Renames a key and overwrites the destination.",
		Args:    `key:k#0 newkey:k#1`},
	{Name: "renamenx", Arity: 3, Flags: Write | Fast,
		Keys: keys(key1(RW|Access|Delete), keyAt(2, OW|Insert)), run: renamenx,
		Group: "generic", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Renames a key only when the target key name doesn't exist.",
		History: []string{"3.2.0 The command no longer returns an error when source and destination names are the same."},
		Args:    `key:k#0 newkey:k#1`},
	{Name: "touch", Arity: -2, Flags: ReadOnly | Fast,
		Keys: keys(keyRange(1, -1, 1, 0, RO)), run: touch,
		Group: "generic", Since: "3.2.1", Complexity: "O(N) where N is the number of keys that will be touched.",
		Summary: "Returns the number of existing keys out of those specified after updating the time they were last accessed.",
		Tips:    []string{"request_policy:multi_shard", "response_policy:agg_sum"},
		Args:    `key:k#0*`},
	{Name: "type", Arity: 2, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO)), run: typeCmd,
		Group: "generic", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Determines the type of value stored at a key.",
		Args:    `key:k#0`},
	{Name: "unlink", Arity: -2, Flags: Write | Fast,
		Keys: keys(keyRange(1, -1, 1, 0, RM|Delete)), run: unlink,
		Group: "generic", Since: "4.0.0", Complexity: "O(1) for each key removed regardless of its size. Then the command does O(N) work in a different thread in order to reclaim memory, where N is the number of allocations the deleted objects where composed of.",
		Summary: "Asynchronously deletes one or more keys.",
		Tips:    []string{"request_policy:multi_shard", "response_policy:agg_sum"},
		Args:    `key:k#0*`},
}

// peek is read for a command that does not count as an access to the key.
func (c *Call) peek(key string) *store.Object {
	o := c.live(key)
	if o == nil {
		c.stats.misses++
		c.notify(eventKeyMiss, "keymiss", key)
		return nil
	}
	c.stats.hits++
	return o
}

// liveIn is live for a database that need not be the selected one.
func (c *Call) liveIn(db int, key string) *store.Object {
	o := c.dbs[db].Read(key)
	if o != nil && c.expired(o) {
		if !c.paused() {
			c.expireKey(db, key)
		}
		return nil
	}
	return o
}

// place puts an object, with the TTL that it carries, at a key of any database in
// place of what is there.
func (c *Call) place(db int, key string, o *store.Object) {
	c.dbAt(db).Put(key, o)
	c.touch(db, key)
	c.emit(db, eventNew, "new", key)
}

// delCmd: DEL key [key ...]
func delCmd(c *Call) resp.Value {
	return c.removeAll(lazyUserDel)
}

// unlink: UNLINK key [key ...]
func unlink(c *Call) resp.Value { return c.removeAll("") }

// removeAll removes the keys of DEL or UNLINK; lazily, if the parameter option says so.
func (c *Call) removeAll(option string) resp.Value {
	n := int64(0)
	for _, key := range c.Args[1:] {
		c.countFreed(c.live(key), option)
		if c.remove(key) {
			n++
		}
	}
	return resp.Int(n)
}

// exists: EXISTS key [key ...]
func exists(c *Call) resp.Value { return countKeys(c, c.peek) }

// touch: TOUCH key [key ...]
func touch(c *Call) resp.Value { return countKeys(c, c.read) }

// countKeys counts the arguments at which there is a key.
func countKeys(c *Call, lookup func(string) *store.Object) resp.Value {
	n := int64(0)
	for _, key := range c.Args[1:] {
		if lookup(key) != nil {
			n++
		}
	}
	return resp.Int(n)
}

// typeCmd: TYPE key
func typeCmd(c *Call) resp.Value {
	o := c.peek(c.Args[1])
	if o == nil {
		return resp.Simple("none")
	}
	return resp.Simple(o.Type().String())
}

// randomkey: RANDOMKEY
func randomkey(c *Call) resp.Value {
	for c.db().Len() > 0 {
		key, _ := c.db().At(c.rng.IntN(c.db().Len()))
		if c.live(key) != nil {
			return resp.Bulk(key)
		}
	}
	return resp.Null
}

// rename: RENAME key newkey
func rename(c *Call) resp.Value { return c.rename(false) }

// renamenx: RENAMENX key newkey
func renamenx(c *Call) resp.Value { return c.rename(true) }

func (c *Call) rename(onlyNew bool) resp.Value {
	from, to := c.Args[1], c.Args[2]
	if c.write(from) == nil {
		return errNoKey
	}
	kept, done := resp.OK, resp.OK
	if onlyNew {
		kept, done = resp.Zero, resp.One
	}
	if from == to || c.live(to) != nil && onlyNew {
		return kept
	}
	c.place(c.dbIndex(), to, c.db().Remove(from))
	c.changed(from, eventGeneric, "rename_from")
	c.notify(eventGeneric, "rename_to", to)
	return done
}

// dbArg is argument i as the number of a database.
func (c *Call) dbArg(i int) (db int, bad *resp.Value) {
	n, bad := c.intArg(i)
	switch {
	case bad != nil:
		return 0, bad
	case n != int64(int32(n)):
		return 0, &errInt32Range
	case n < 0 || n >= int64(len(c.dbs)):
		return 0, &errDBIndex
	}
	return int(n), nil
}

var (
	errInt32Range = resp.Err("ERR value is out of range, value must between -2147483648 and 2147483647")
	errSameObject = resp.Err("ERR source and destination objects are the same")
)

// move: MOVE key db
func move(c *Call) resp.Value {
	if c.cluster != nil {
		return errMoveCluster
	}
	key, from := c.Args[1], c.dbIndex()
	to, bad := c.dbArg(2)
	switch {
	case bad != nil:
		return *bad
	case from == to:
		return errSameObject
	case c.write(key) == nil || c.liveIn(to, key) != nil:
		return resp.Zero
	}
	c.place(to, key, c.db().Remove(key))
	c.changed(key, eventGeneric, "move_from")
	c.emit(to, eventGeneric, "move_to", key)
	return resp.One
}

// copyOptions are what follows the two keys of COPY.
type copyOptions struct {
	db      int
	replace bool
}

func (c *Call) copyOptions() (opt copyOptions, bad *resp.Value) {
	opt.db = c.dbIndex()
	for i := 3; i < len(c.Args); i++ {
		switch {
		case c.is(i, "replace"):
			opt.replace = true
		case c.is(i, "db") && i+1 < len(c.Args):
			i++
			if opt.db, bad = c.dbArg(i); bad != nil {
				return opt, bad
			}
		default:
			return opt, &errSyntax
		}
	}
	return opt, nil
}

// copyCmd: COPY source destination [DB destination-db] [REPLACE]
func copyCmd(c *Call) resp.Value {
	opt, bad := c.copyOptions()
	if bad != nil {
		return *bad
	}
	from, to := c.Args[1], c.Args[2]
	if opt.db == c.dbIndex() && from == to {
		return errSameObject
	}
	o := c.read(from)
	if o == nil || c.liveIn(opt.db, to) != nil && !opt.replace {
		return resp.Zero
	}
	c.place(opt.db, to, o.Clone())
	c.stats.dirty++
	c.emit(opt.db, eventGeneric, "copy_to", to)
	return resp.One
}
