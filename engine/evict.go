package engine

import (
	"slices"
	"strings"

	"github.com/echomq/echomq-sim/store"
)

// policy is a maxmemory-policy: which keys go when memory is out, and in what order.
type policy struct {
	name     string
	volatile bool // only keys with a deadline
	byUse    bool // objects keep how often they are used, instead of when
	rank     func(co *core, o *store.Object) int64
}

// The policies; the key with the highest rank goes first. Without a rank any may go, and
// noeviction, the first, lets none go.
var policies = []policy{
	{name: "noeviction"},
	{name: "allkeys-lru", rank: (*core).idleRank},
	{name: "volatile-lru", volatile: true, rank: (*core).idleRank},
	{name: "allkeys-lfu", byUse: true, rank: (*core).rarityRank},
	{name: "volatile-lfu", volatile: true, byUse: true, rank: (*core).rarityRank},
	{name: "allkeys-random"},
	{name: "volatile-random", volatile: true},
	{name: "volatile-ttl", volatile: true, rank: func(_ *core, o *store.Object) int64 { return -o.Expire() }},
}

func policyNames() (names []string) {
	for _, p := range policies {
		names = append(names, p.name)
	}
	return names
}

// marksObjects reports whether the policy needs marks on each object, so that no two keys
// may share one.
func (p *policy) marksObjects() bool { return p.byUse || strings.HasSuffix(p.name, "-lru") }

func (co *core) policy() *policy { return &policies[co.set.maxMemoryPolicy] }

// setPolicy sets maxmemory-policy by its name.
func setPolicy(co *core, value string) (why string) {
	i := slices.Index(policyNames(), strings.ToLower(value))
	if i < 0 {
		return "argument(s) must be one of the following: volatile-lru, volatile-lfu, volatile-random, volatile-ttl, " +
			"allkeys-lru, allkeys-lfu, allkeys-random, noeviction"
	}
	co.set.maxMemoryPolicy = i
	return ""
}

// countsUses reports whether the policy goes by how often a key is used. OBJECT FREQ and
// IDLETIME depend on it, as objects keep only one of the two.
func (co *core) countsUses() bool { return co.policy().byUse }

func (co *core) idleRank(o *store.Object) int64 { return co.now/1e6 - int64(o.Access()) }

func (co *core) rarityRank(o *store.Object) int64 { return -int64(co.decayedFreq(o)) }

// freeMemory removes keys, as the policy says, until no more memory is in use than
// maxmemory allows. It reports whether that was possible.
func (co *core) freeMemory() bool {
	co.evicting = true
	defer func() { co.evicting = false }()
	for co.memoryUsed() > co.set.maxMemory {
		db, key, ok := co.victim()
		if !ok {
			return false
		}
		co.evict(db, key)
	}
	return true
}

// evict removes one key and tells who watches.
func (co *core) evict(db int, key string) {
	co.freed(co.dbs[db].Read(key), key)
	co.countFreed(co.dbs[db].Remove(key), lazyEviction)
	co.stats.evictedKeys++
	co.touchBy(nil, db, key)
	co.emit(db, eventEvicted, "evicted", key)
	co.propagateDeletion(db, key, lazyEviction)
}

// victim picks the key that goes next: of maxmemory-samples ones in each database the one
// with the highest rank, or one at random.
func (co *core) victim() (db int, key string, ok bool) {
	p := co.policy()
	if p.name == "noeviction" {
		return 0, "", false
	}
	best := int64(0)
	for i := range co.dbs {
		if p.rank == nil { // databases take turns
			i = (co.evictFrom + i) % len(co.dbs)
		}
		for range co.candidates(i, p) {
			k, o := co.candidate(i, p)
			if o == nil {
				continue
			}
			if p.rank == nil {
				co.evictFrom = i + 1
				return i, k, true
			}
			if rank := p.rank(co, o); !ok || rank > best {
				db, key, best, ok = i, k, rank, true
			}
		}
	}
	return db, key, ok
}

// candidates is how many keys of a database are looked at.
func (co *core) candidates(db int, p *policy) int {
	n := co.dbs[db].Len()
	if p.volatile {
		n = co.dbs[db].ExpiresLen()
	}
	return min(n, int(co.set.maxMemorySamples))
}

// candidate is a random key of a database that may go.
func (co *core) candidate(i int, p *policy) (string, *store.Object) {
	db := co.dbs[i]
	if !p.volatile {
		return db.At(co.rng.IntN(db.Len()))
	}
	for range 100 { // some deadlines are those of fields
		if key, field := db.DeadlineAt(co.rng.IntN(db.Deadlines())); !field {
			return key, db.Read(key)
		}
	}
	return "", nil
}

// firstFreq is the use counter of a new key.
const firstFreq = 5

// decayedFreq is an object's use counter: it loses one for each lfu-decay-time minutes
// that have passed since it was used.
func (co *core) decayedFreq(o *store.Object) uint8 {
	freq, per := int64(o.Freq()), co.set.lfuDecayTime
	if per > 0 {
		freq -= (co.now/60e6 - int64(o.Access())/60) / per
	}
	return uint8(max(freq, 0))
}

// countUse counts one use of an object. The counter is logarithmic: the higher it is, the
// less likely it grows, as in evict.c of Valkey.
func (co *core) countUse(o *store.Object) {
	freq := co.decayedFreq(o)
	above := max(int64(freq)-firstFreq, 0)
	if freq < 255 && co.rng.Float64() < 1/float64(above*co.set.lfuLogFactor+1) {
		freq++
	}
	o.SetFreq(freq)
}
