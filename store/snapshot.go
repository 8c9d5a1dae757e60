package store

// Snapshot returns a keyspace with the same contents in O(1). Both may be written to
// after that. The snapshot may be used by another goroutine; one that has not been
// written to may be read, and be taken snapshots of, by many at the same time.
//
// Objects given out by Write before are not to be changed after it.
func (db *DB) Snapshot() *DB {
	if db == nil {
		return nil
	}
	s := &DB{l: db.l, own: new(owner), frozen: true, expires: db.expires, epoch: 1}
	if db.frozen {
		s.keys, s.due = db.keys.fork(), db.due.fork()
		return s
	}
	db.settle()
	s.keys, s.due = db.keys.Clone(), db.due.Clone()
	db.own = new(owner)
	return s
}

// thaw makes a snapshot a keyspace that is written to.
func (db *DB) thaw() {
	if db.frozen {
		db.keys, db.due = db.keys.fork(), db.due.fork()
		db.own, db.frozen = new(owner), false
		db.place.known = false
	}
}
