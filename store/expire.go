package store

import (
	"cmp"
	"strings"
)

// deadline is an entry of the deadline index: a key's own, or the earliest one of a
// hash's fields.
type deadline struct {
	at    int64 // Unix milliseconds
	key   string
	field bool
}

func (a deadline) compare(b deadline) int {
	if c := cmp.Compare(a.at, b.at); c != 0 {
		return c
	}
	if c := strings.Compare(a.key, b.key); c != 0 || a.field == b.field {
		return c
	}
	if b.field {
		return -1
	}
	return 1
}

// writtenHash is a hash that has been given out for writing since the last settle.
type writtenHash struct {
	keyed
	h *HashObj
}

// SetExpire sets the deadline of a key in Unix milliseconds; 0 takes it away. It returns
// false if there is no such key.
func (db *DB) SetExpire(key string, atMs int64) bool {
	e := db.lookUp(key)
	if e.o == nil || e.o.expire == atMs {
		return e.o != nil
	}
	e.o = db.Write(key)
	db.unindexKey(e)
	e.o.expire = atMs
	db.indexKey(e)
	return true
}

func (db *DB) indexKey(e keyed) {
	if e.o.expire != 0 {
		db.due.Set(deadline{at: e.o.expire, key: e.key})
		db.expires++
	}
}

func (db *DB) unindexKey(e keyed) {
	if e.o.expire != 0 {
		db.due.Delete(deadline{at: e.o.expire, key: e.key})
		db.expires--
	}
}

// unindex takes a key that goes away, or gets another object, out of the index.
func (db *DB) unindex(e keyed) {
	db.unindexKey(e)
	if h := e.o.Hash(); h != nil && h.ext != nil && h.ext.ttl.indexed != 0 {
		db.due.Delete(deadline{h.ext.ttl.indexed, e.key, true})
	}
}

// noteHash remembers a hash that may be about to get or lose deadlines of fields. What
// becomes of them is looked at once, in settle: so no command can forget the index.
func (db *DB) noteHash(e keyed) {
	if e.o.epoch == db.epoch {
		return
	}
	if h := e.o.Hash(); h != nil {
		e.o.epoch = db.epoch
		db.written = append(db.written, writtenHash{e, h})
	}
}

// settle brings the index up to date with the hashes written since the last time.
func (db *DB) settle() {
	if len(db.written) == 0 {
		return
	}
	for _, w := range db.written {
		at := w.h.MinDeadline()
		if w.h.ext == nil || at == w.h.ext.ttl.indexed || db.Read(w.key) != w.o {
			continue
		}
		if w.h.ext.ttl.indexed != 0 {
			db.due.Delete(deadline{w.h.ext.ttl.indexed, w.key, true})
		}
		if at != 0 {
			db.due.Set(deadline{at, w.key, true})
		}
		w.h.ext.ttl.indexed = at
	}
	clear(db.written)
	db.written = db.written[:0]
	if cap(db.written) > 1024 {
		db.written = nil
	}
	db.epoch = max(db.epoch+1, 1)
}

// Due returns the earliest deadline if it is nowMs or earlier: that of a key or, with
// field set, of a field of the hash at the key. It stays until the key is removed or
// given another deadline, or the fields have been removed by HashObj.PopExpired.
func (db *DB) Due(nowMs int64) (key string, atMs int64, field bool, ok bool) {
	if db == nil {
		return "", 0, false, false
	}
	db.settle()
	d, ok := db.due.Min()
	if !ok || d.at > nowMs {
		return "", 0, false, false
	}
	return d.key, d.at, d.field, true
}

// NextDeadline returns the earliest deadline in Unix milliseconds.
func (db *DB) NextDeadline() (atMs int64, ok bool) {
	if db == nil {
		return 0, false
	}
	db.settle()
	d, ok := db.due.Min()
	return d.at, ok
}

// Deadlines returns the number of deadlines: those of keys, and one for each hash that has
// fields with deadlines.
func (db *DB) Deadlines() int {
	if db == nil {
		return 0
	}
	db.settle()
	return db.due.Len()
}

// DeadlineAt returns whose deadline stands at an index in order of time. 0 <= i < db.Deadlines().
func (db *DB) DeadlineAt(i int) (key string, field bool) {
	d := db.due.At(i)
	return d.key, d.field
}
