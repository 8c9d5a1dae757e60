package engine

import "github.com/echomq/echomq-sim/store"

// What is in use is estimated from the keyspace alone: the same commands give the same
// figure on every machine, and what else lives in this process does not count.

// emptyMemory is what a server that holds nothing takes, in bytes.
const emptyMemory = 1 << 20

// Of a database with more keys than sampledKeys that many are measured, at even distances.
const sampledKeys = 256

// usedMemory is the last estimate: it holds until a part of the keys has changed.
type usedMemory struct {
	bytes int64
	until int64 // of serverStats.dirty
	keys  int
	known bool
}

// memoryUsed is used_memory in bytes.
func (co *core) memoryUsed() int64 {
	u, keys := &co.memory, 0
	for _, db := range co.dbs {
		keys += db.Len()
	}
	if u.known && co.stats.dirty < u.until && keys == u.keys {
		return u.bytes
	}
	total := int64(emptyMemory)
	for _, db := range co.dbs {
		total += databaseMemory(db)
	}
	*u = usedMemory{bytes: total, until: co.stats.dirty + 1 + int64(keys)/sampledKeys, keys: keys, known: true}
	return total
}

func databaseMemory(db *store.DB) int64 {
	n, sampled, sum := db.Len(), 0, 0
	step := max(1, n/sampledKeys)
	for i := 0; i < n; i += step {
		key, o := db.At(i)
		sum += sizeOf(key, o)
		sampled++
	}
	if sampled == 0 {
		return 0
	}
	return int64(float64(sum) / float64(sampled) * float64(n))
}

func sizeOf(key string, o *store.Object) int {
	size := len(key) + keyOverhead + o.Size()
	if o.Expire() != 0 {
		size += expireOverhead
	}
	return size
}

// freed takes a key that is about to be removed off the estimate.
func (co *core) freed(o *store.Object, key string) {
	co.memory.bytes -= int64(sizeOf(key, o))
	co.memory.keys--
}
