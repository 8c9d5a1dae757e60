package store

import (
	"fmt"
	"strings"
)

// DB is a keyspace: objects by key, in byte order of the keys, and their deadlines. A nil
// *DB is an empty one in which nothing can be put.
type DB struct {
	l       *Limits
	own     *owner
	frozen  bool // a snapshot that has not been written to
	keys    hinted[keyed]
	due     runs[deadline]
	expires int
	emptied bool // it has no keys, but had some since it was flushed
	written []writtenHash
	epoch   uint32
	// recent is the last key that was looked up, with a nil object if it was absent: one
	// command looks its key up several times. A frozen DB, which others may be reading,
	// neither uses nor sets it.
	recent keyed
	place  place // of recent, if it was absent and no key has come or gone since
	// touched is what Touch has read, so that it is read at all.
	touched byte
}

// keyed is a key with its object.
type keyed struct {
	key string
	o   *Object
}

// place is where a key would be inserted.
type place struct {
	position[keyed]
	known bool
}

func (a keyed) compare(b keyed) int { return strings.Compare(a.key, b.key) }
func (a keyed) name() string        { return a.key }

// NewDB returns an empty keyspace. The limits stay the caller's and may be changed.
func NewDB(l *Limits) *DB { return &DB{l: l, own: new(owner), epoch: 1} }

// Limits returns the thresholds that the keyspace was made with.
func (db *DB) Limits() *Limits { return db.l }

// SetLimits makes the keyspace obey other limits: what it holds does so once it is changed.
func (db *DB) SetLimits(l *Limits) {
	if db != nil {
		db.l = l
	}
}

// Len returns the number of keys, expired ones that have not been removed included.
func (db *DB) Len() int {
	if db == nil {
		return 0
	}
	return db.keys.Len()
}

// ExpiresLen returns the number of keys that have a deadline.
func (db *DB) ExpiresLen() int {
	if db == nil {
		return 0
	}
	return db.expires
}

// Read returns the object at a key, nil if there is none. It may be shared with
// snapshots and must not be changed.
func (db *DB) Read(key string) *Object {
	return db.lookUp(key).o
}

// lookUp finds a key; the object is nil if there is none.
func (db *DB) lookUp(key string) keyed {
	if db == nil {
		return keyed{key: key}
	}
	if !db.frozen && db.recent.key == key && key != "" {
		return db.recent
	}
	e := keyed{key: key}
	if db.frozen {
		if found, ok := db.keys.Get(e); ok {
			e = found
		}
		return e
	}
	found, to := db.keys.find(e)
	if found != nil {
		e = *found
	}
	db.recent, db.place = e, place{to, found == nil}
	return e
}

// ForgetKey forgets the key that was looked up last, if it is the caller's and not the DB's
// own: from now on the caller may change its bytes.
func (db *DB) ForgetKey() {
	if db != nil && db.recent.o == nil {
		db.recent, db.place.known = keyed{}, false
	}
}

// Write returns the object at a key, nil if there is none. It is this DB's own and may
// be changed until the end of the turn: until Due, NextDeadline, Snapshot, Check, or
// Clone of the object is called.
func (db *DB) Write(key string) *Object {
	e := db.lookUp(key)
	if e.o == nil {
		return nil
	}
	if e.o.own.Load() != db.own || db.frozen {
		db.thaw()
		e.o = e.o.fork(db.l)
		e.o.own.Store(db.own)
		slot, _ := db.keys.ref(e)
		slot.o = e.o
		db.recent, db.place.known = e, false
	}
	db.noteHash(e)
	return e.o
}

// Put puts an object at a key, in place of what was there. The object is one that is in
// no DB, which it then belongs to; of any other a copy is put. The key's deadline becomes
// the object's.
func (db *DB) Put(key string, o *Object) {
	db.thaw()
	if o.own.Load() != nil {
		o = o.Clone()
	}
	e := keyed{key, o}
	slot, to := db.slot(e)
	if slot != nil {
		db.unindex(*slot)
		slot.o, e.key = o, slot.key
	} else {
		e.key = keep(key)
		db.keys.insert(to, e)
	}
	db.recent, db.place.known = e, false
	o.own.Store(db.own)
	o.epoch = 0
	if h := o.Hash(); h != nil && h.ext != nil {
		h.ext.ttl.indexed = 0
	}
	db.noteHash(e)
	db.indexKey(e)
}

// slot finds the place of a key that is to be put. db is not frozen.
func (db *DB) slot(e keyed) (slot *keyed, to position[keyed]) {
	if db.place.known && db.recent.key == e.key {
		return nil, db.place.position
	}
	return db.keys.ref(e)
}

// Remove removes a key and returns its object, nil if there is none. The object is the
// caller's and may be put at another key.
func (db *DB) Remove(key string) *Object {
	if db == nil {
		return nil
	}
	db.thaw()
	e, ok := db.keys.Delete(keyed{key: key})
	db.recent, db.place.known = keyed{}, false
	if !ok {
		return nil
	}
	db.unindex(e)
	db.emptied = db.keys.Len() == 0
	if e.o.own.Load() != db.own {
		e.o = e.o.fork(db.l)
	}
	e.o.own.Store(nil)
	return e.o
}

// Used reports whether there are keys, or were some since the last Flush.
func (db *DB) Used() bool { return db.Len() > 0 || db != nil && db.emptied }

// Flush removes all keys in O(1).
func (db *DB) Flush() {
	if db == nil {
		return
	}
	*db = DB{l: db.l, own: new(owner), epoch: 1}
}

// Ascend calls f for the keys that are not less than from, in byte order, until it
// returns false. f must not change the DB.
func (db *DB) Ascend(from string, f func(key string, o *Object) bool) {
	if db == nil {
		return
	}
	db.keys.AscendFrom(keyed{key: from}, func(e keyed) bool { return f(e.key, e.o) })
}

// After calls f for the keys that are greater than key, in byte order, until it returns
// false. f must not change the DB.
func (db *DB) After(key string, f func(key string, o *Object) bool) {
	if db == nil {
		return
	}
	db.keys.AscendFrom(keyed{key: key}, func(e keyed) bool {
		return e.key == key || f(e.key, e.o)
	})
}

// At returns the key at an index in byte order. 0 <= i < db.Len().
func (db *DB) At(i int) (string, *Object) {
	e := db.keys.At(i)
	return e.key, e.o
}

// Check returns the first broken invariant: the order of all sequences, their counts,
// and that indexes say the same as what they index. It reads everything.
func (db *DB) Check() error {
	if db == nil {
		return nil
	}
	db.settle()
	if err := db.keys.check(); err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	if err := db.due.check(); err != nil {
		return fmt.Errorf("deadlines: %w", err)
	}
	var err error
	expires, fields := 0, 0
	db.keys.Ascend(0, func(e keyed) bool {
		err = db.checkObject(e)
		if e.o.expire != 0 {
			expires++
		}
		if h := e.o.Hash(); h != nil && h.MinDeadline() != 0 {
			fields++
		}
		return err == nil
	})
	switch {
	case err != nil:
		return err
	case expires != db.expires:
		return fmt.Errorf("deadlines: %d keys have one, counted %d", expires, db.expires)
	case expires+fields != db.due.Len():
		return fmt.Errorf("deadlines: %d keys, %d hashes, %d entries", expires, fields, db.due.Len())
	}
	return nil
}

func (db *DB) checkObject(e keyed) error {
	if err := e.o.body().check(); err != nil {
		return fmt.Errorf("key %q: %w", e.key, err)
	}
	if db.frozen && e.o.own.Load() == db.own {
		return fmt.Errorf("key %q: writable in a frozen snapshot", e.key)
	}
	if at := e.o.expire; at != 0 {
		if _, ok := db.due.Get(deadline{at: at, key: e.key}); !ok {
			return fmt.Errorf("key %q: deadline is not in the index", e.key)
		}
	}
	h := e.o.Hash()
	if h == nil || h.ext == nil {
		return nil
	}
	at := h.MinDeadline()
	if at != h.ext.ttl.indexed {
		return fmt.Errorf("key %q: earliest field deadline %d, indexed %d", e.key, at, h.ext.ttl.indexed)
	}
	if _, ok := db.due.Get(deadline{at, e.key, true}); at != 0 && !ok {
		return fmt.Errorf("key %q: field deadline is not in the index", e.key)
	}
	return nil
}
