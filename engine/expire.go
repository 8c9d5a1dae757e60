package engine

import "github.com/echomq/echomq-sim/store"

// expireKey removes a key whose time has passed, and tells who watches.
func (co *core) expireKey(db int, key string) {
	co.countFreed(co.dbs[db].Remove(key), lazyExpire)
	co.stats.expiredKeys++
	co.touchBy(nil, db, key)
	co.emit(db, eventExpired, "expired", key)
	co.propagateDeletion(db, key, lazyExpire)
}

// expireNext expires the one key or hash field that is due first over all
// databases. It reports whether there was one.
func (co *core) expireNext() bool {
	best, bestAt := -1, int64(0)
	for i, db := range co.dbs {
		if at, ok := db.NextDeadline(); ok && at <= co.ms() && (best < 0 || at < bestAt) {
			best, bestAt = i, at
		}
	}
	if best < 0 {
		return false
	}
	key, _, field, ok := co.dbs[best].Due(co.ms())
	if !ok {
		return false
	}
	if field {
		co.expireFields(best, key)
	} else {
		co.expireKey(best, key)
	}
	return true
}

// expireFields removes the fields of a hash whose time has passed, and the hash with the last of them.
func (co *core) expireFields(db int, key string) {
	o := co.dbs[db].Write(key)
	if o == nil || o.Type() != store.Hash {
		return
	}
	h := o.Hash()
	gone := h.PopExpired(co.ms())
	if len(gone) == 0 {
		return
	}
	co.stats.expiredFields += int64(len(gone))
	co.touchBy(nil, db, key)
	co.emit(db, eventHash, "hexpired", key)
	co.propagateFields(db, key, gone)
	if h.Len() == 0 {
		co.dbs[db].Remove(key)
		co.emit(db, eventGeneric, "del", key)
	}
}
