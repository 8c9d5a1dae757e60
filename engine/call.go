package engine

import (
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

// Call is one execution of one command. Only dispatch makes them, so whoever
// holds one is inside a turn. It is reused: handlers must not keep it.
type Call struct {
	*core
	Sess   *Session
	Spec   *Spec
	Args   []string   // Args[0] is the name; for a subcommand Args[1] is the second word
	script *scriptRun // the script that makes this call, or nil
	inExec bool       // part of a transaction
}

// db is the database that this call works on.
func (c *Call) db() *store.DB { return c.dbAt(c.dbIndex()) }

// dbIndex is its number. A script has a selected database of its own.
func (c *Call) dbIndex() int {
	if c.script != nil {
		return c.script.db
	}
	return c.Sess.db
}

// setDB selects a database for the client or for the running script.
func (c *Call) setDB(i int) {
	if c.script != nil {
		c.script.db = i
		return
	}
	c.Sess.db = i
}

// proto is the protocol that replies are meant for: 2 or 3.
func (c *Call) proto() int {
	if c.script != nil {
		return c.lua.RESP()
	}
	return c.Sess.proto
}

// values returns n null values for the elements of the reply. Those of a client's own
// command are used again once its reply is encoded.
func (c *Call) values(n int) []resp.Value {
	used := len(c.elems)
	if c.Sess.conn == nil || !c.canBlock() || n > maxReusedElems-used {
		return make([]resp.Value, n)
	}
	if c.elems == nil {
		c.elems = make([]resp.Value, 0, maxReusedElems)
	}
	c.elems = c.elems[:used+n]
	return c.elems[used : used+n : used+n]
}

// canBlock reports whether a blocking command may wait here.
func (c *Call) canBlock() bool { return c.script == nil && !c.inExec }

// live returns the object at key unless its time has passed, in which case the
// key is removed as Valkey's lazy expiry does; during a pause it only seems gone.
func (c *Call) live(key string) *store.Object {
	return c.liveIn(c.dbIndex(), key)
}

func (co *core) expired(o *store.Object) bool {
	at := o.Expire()
	return at != 0 && at <= co.ms()
}

// read looks a key up for a command that reads it: it counts a hit or a miss and
// refreshes the key's access time. The object must not be changed.
func (c *Call) read(key string) *store.Object {
	o := c.live(key)
	if o == nil {
		c.stats.misses++
		c.notify(eventKeyMiss, "keymiss", key)
		return nil
	}
	c.stats.hits++
	c.refresh(o)
	return o
}

// write looks a key up for a command that may change it. The object is private
// to the database and may be changed.
func (c *Call) write(key string) *store.Object {
	if c.live(key) == nil {
		return nil
	}
	o := c.db().Write(key)
	c.refresh(o)
	return o
}

// refresh updates what OBJECT IDLETIME and FREQ report.
func (c *Call) refresh(o *store.Object) {
	if c.Sess.noTouch && c.Spec.Name != "touch" {
		return
	}
	if c.countsUses() {
		c.countUse(o)
	}
	o.SetAccess(uint32(c.now / 1e6))
}

// readAs is read for a key that must hold type t when it exists; bad is the error reply.
func (c *Call) readAs(key string, t store.Type) (o *store.Object, bad *resp.Value) {
	o = c.read(key)
	if o != nil && o.Type() != t {
		return nil, &errWrongType
	}
	return o, nil
}

// writeAs is write for a key that must hold type t when it exists.
func (c *Call) writeAs(key string, t store.Type) (o *store.Object, bad *resp.Value) {
	o = c.live(key)
	if o != nil && o.Type() != t {
		return nil, &errWrongType
	}
	return c.write(key), nil
}

// put stores a new object at key, replacing what was there together with its TTL.
// The object's own Expire becomes the key's.
func (c *Call) put(key string, o *store.Object) {
	o.SetAccess(uint32(c.now / 1e6))
	old := c.db().Read(key)
	if old != nil {
		c.countFreed(old, lazyServerDel)
		o.SetFreq(old.Freq())
	} else {
		o.SetFreq(firstFreq)
	}
	c.db().Put(key, o)
	if old == nil {
		c.notify(eventNew, "new", key)
	}
}

// changed records that key was modified: it dirties WATCHes, counts for
// persistence and emits the keyspace event.
func (c *Call) changed(key string, class eventClass, event string) {
	c.modified(key)
	c.notify(class, event, key)
}

// modified is changed without an event.
func (c *Call) modified(key string) {
	c.stats.dirty++
	c.touch(c.dbIndex(), key)
}

// remove deletes a live key and emits del. It reports whether there was one.
func (c *Call) remove(key string) bool {
	if c.live(key) == nil {
		return false
	}
	c.db().Remove(key)
	c.changed(key, eventGeneric, "del")
	return true
}

// dropEmpty removes key when its collection has become empty and emits del;
// the caller has already reported the change itself.
func (c *Call) dropEmpty(key string, length int) {
	if length == 0 {
		c.db().Remove(key)
		c.notify(eventGeneric, "del", key)
	}
}

// wrongArity is the reply to a handler whose arguments come in the wrong number.
func (c *Call) wrongArity() resp.Value {
	return rejectArity(c.Spec).reply(false)
}
