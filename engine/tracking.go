package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

// clientTracking is what CLIENT TRACKING made of a client: whether and how it is told
// of changes to the keys that it may have in a cache of its own.
type clientTracking struct {
	on       bool
	bcast    bool // of all keys with its prefixes, whether it has read them or not
	optIn    bool
	optOut   bool
	noLoop   bool // not of its own changes
	caching  bool // CLIENT CACHING decided on the next command
	broken   bool // the client that it redirects to is gone
	redirect int64
	prefixes []string
}

// tracking is who is to be told of which keys.
type tracking struct {
	clients  int
	keys     map[string]*trackedKey
	names    []string // of keys, in no order; so that one can be picked at random
	items    int      // clients over all keys
	prefixes []*trackedPrefix
}

// trackedKey is the clients, by id, that have read a key since it last changed.
type trackedKey struct {
	ids []uint64
	at  int // in tracking.names
}

// trackedPrefix is the clients that want to know of a prefix and, in byte order, the
// keys with it that changed in this turn.
type trackedPrefix struct {
	prefix  string
	clients []*Session
	changed []changedKey
}

// changedKey is a key and the client that changed it last, nil if none did.
type changedKey struct {
	key string
	by  *Session
}

// remember notes, after a command that reads, that its client may keep what it read.
func (co *core) remember(spec *Spec, args []string) {
	s := co.running
	if s == nil || !s.track.on || s.track.bcast || spec.Flags&(ReadOnly|PubSub) != ReadOnly || spec.readOnlyScript() {
		return
	}
	if s.track.optIn && !s.track.caching || s.track.optOut && s.track.caching {
		return
	}
	refs, _ := spec.keysOf(args)
	for _, r := range refs {
		co.tracking.add(args[r.Index], s.id)
	}
}

// readOnlyScript reports whether the row is one whose keys are those of the commands
// that it runs.
func (s *Spec) readOnlyScript() bool {
	return s.Name == "eval_ro" || s.Name == "evalsha_ro" || s.Name == "fcall_ro"
}

func (t *tracking) add(key string, id uint64) {
	if t.keys == nil {
		t.keys = map[string]*trackedKey{}
	}
	k := t.keys[key]
	if k == nil {
		k = &trackedKey{at: len(t.names)}
		key = strings.Clone(key)
		t.keys[key] = k
		t.names = append(t.names, key)
	}
	if i, found := slices.BinarySearch(k.ids, id); !found {
		k.ids = slices.Insert(k.ids, i, id)
		t.items++
	}
}

// remove takes a key out.
func (t *tracking) remove(key string, k *trackedKey) {
	last := len(t.names) - 1
	moved := t.names[last]
	t.names[k.at], t.keys[moved].at = moved, k.at
	t.names = t.names[:last]
	t.items -= len(k.ids)
	delete(t.keys, key)
}

// trimTracked forgets keys, of those who may have them in a cache too, as long as there
// are more than tracking-table-max-keys.
func (co *core) trimTracked() {
	most := co.set.trackingMaxKeys
	for most > 0 && int64(len(co.tracking.names)) > most {
		co.invalidate(co.tracking.names[co.rng.IntN(len(co.tracking.names))])
	}
}

// invalidate tells the clients that have read a key to forget it.
func (co *core) invalidate(key string) {
	k := co.tracking.keys[key]
	if k == nil {
		return
	}
	for _, id := range k.ids {
		s := co.sessions[id]
		if s == nil || !s.track.on || s.track.bcast || s.track.noLoop && s == co.running {
			continue
		}
		s.invalidateKeys(resp.Array(resp.Bulk(key)))
	}
	co.tracking.remove(key, k)
}

// trackChange is what a change of a key brings about; by is the client that made it.
func (co *core) trackChange(by *Session, key string) {
	for _, p := range co.tracking.prefixes {
		if strings.HasPrefix(key, p.prefix) {
			p.change(key, by)
		}
	}
	co.invalidate(key)
}

// change notes a key until the end of the turn.
func (p *trackedPrefix) change(key string, by *Session) {
	i, found := slices.BinarySearchFunc(p.changed, key, func(c changedKey, key string) int { return cmp.Compare(c.key, key) })
	if !found {
		p.changed = slices.Insert(p.changed, i, changedKey{key: strings.Clone(key)})
	}
	p.changed[i].by = by
}

// endTracking tells, at the end of a turn, of the keys with prefixes that changed in it,
// and brings the table to its limit.
func (co *core) endTracking() {
	if co.tracking.clients > 0 || len(co.tracking.names) > 0 {
		co.trimTracked()
		co.tellPrefixes()
	}
}

// tellPrefixes tells of the keys with prefixes that changed.
func (co *core) tellPrefixes() {
	for _, p := range co.tracking.prefixes {
		if len(p.changed) == 0 {
			continue
		}
		all := changedKeys(p.changed, nil)
		for _, s := range p.clients {
			keys := all
			if s.track.noLoop {
				keys = changedKeys(p.changed, s)
			}
			if len(keys) > 0 {
				s.invalidateKeys(resp.Array(keys...))
			}
		}
		p.changed = nil
	}
}

// changedKeys are the keys but for those that one client changed.
func changedKeys(changed []changedKey, but *Session) (keys []resp.Value) {
	for _, c := range changed {
		if but == nil || c.by != but {
			keys = append(keys, resp.Bulk(c.key))
		}
	}
	return keys
}

// trackFlush tells all who track keys that none is valid any more.
func (co *core) trackFlush() {
	if co.tracking.clients > 0 {
		for _, s := range co.clients() {
			if s.track.on {
				s.invalidateKeys(resp.Null)
			}
		}
	}
	co.tracking.keys, co.tracking.names, co.tracking.items = nil, nil, 0
}

// invalidateKeys sends keys, or a null for all, to a client or to whom it redirects to:
// as a push, or as a message to a subscriber that speaks RESP2. One that speaks RESP2
// and redirects to nobody can't be told.
func (s *Session) invalidateKeys(keys resp.Value) {
	to := s
	if s.track.redirect != 0 {
		if to = s.core.sessions[uint64(s.track.redirect)]; to == nil {
			s.track.broken = true
			if s.proto == 3 {
				s.deliver(resp.Push(resp.Bulk("tracking-redir-broken"), resp.Int(s.track.redirect)))
			}
			return
		}
	}
	switch {
	case to.proto == 3:
		to.deliver(resp.Push(resp.Bulk("invalidate"), keys))
	case to != s && to.subscribed():
		to.deliver(resp.Push(resp.Bulk("message"), resp.Bulk("__redis__:invalidate"), keys))
	}
}

// trackPrefixes makes a client one that is told of all changes to keys with the prefixes,
// none of which is there twice.
func (co *core) trackPrefixes(s *Session, prefixes []string) {
	t := &co.tracking
	known := t.prefixes
	for _, prefix := range prefixes {
		var p *trackedPrefix
		i, found := slices.BinarySearchFunc(known, prefix, func(p *trackedPrefix, prefix string) int { return cmp.Compare(p.prefix, prefix) })
		if found {
			p = known[i]
		} else {
			p = &trackedPrefix{prefix: strings.Clone(prefix)}
			t.prefixes = append(t.prefixes, p)
		}
		if slices.Contains(p.clients, s) {
			continue
		}
		p.clients = append(p.clients, s)
		s.track.prefixes = append(s.track.prefixes, p.prefix)
		s.nameBytes += nameSize(p.prefix)
	}
	slices.SortFunc(t.prefixes, func(a, b *trackedPrefix) int { return cmp.Compare(a.prefix, b.prefix) })
	slices.Sort(s.track.prefixes)
}

// stopTracking ends a client's tracking. Keys that it has read are forgotten when they
// change.
func (s *Session) stopTracking() {
	if !s.track.on {
		return
	}
	for _, prefix := range s.track.prefixes {
		s.nameBytes -= nameSize(prefix)
	}
	t := &s.core.tracking
	t.clients--
	for _, p := range t.prefixes {
		p.clients = slices.DeleteFunc(p.clients, func(c *Session) bool { return c == s })
	}
	t.prefixes = slices.DeleteFunc(t.prefixes, func(p *trackedPrefix) bool { return len(p.clients) == 0 })
	s.track = clientTracking{}
}
