package engine

import (
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

// debugReload: DEBUG RELOAD [MERGE] [NOFLUSH] [NOSAVE]
//
// What the server would write to its file is kept in memory.
func debugReload(c *Call) resp.Value {
	merge, keep, save := false, false, true
	for i := 2; i < len(c.Args); i++ {
		switch {
		case c.is(i, "merge"):
			merge = true
		case c.is(i, "noflush"):
			keep = true
		case c.is(i, "nosave"):
			save = false
		default:
			return resp.Err("ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.")
		}
	}
	if save {
		c.saved = c.snapshot()
	}
	switch {
	case c.saved == nil, keep && !merge && c.clashes(c.saved):
		return resp.Err("ERR Error trying to load the RDB dump, check server logs")
	case keep:
		c.merge(c.saved)
	default:
		c.restore(c.saved)
	}
	return resp.OK
}

// clashes reports whether a key or library of a snapshot exists already.
func (co *core) clashes(s *Snapshot) bool {
	for i := range s.dbs {
		clash := false
		s.install(i).Ascend("", func(key string, _ *store.Object) bool {
			clash = co.dbs[i].Read(key) != nil
			return !clash
		})
		if clash {
			return true
		}
	}
	_, bad := co.functions.join(s.functions, false)
	return bad != nil
}

// merge adds the keys and libraries of a snapshot to what is there; where both
// have one, the snapshot's stays.
func (co *core) merge(s *Snapshot) {
	for i := range s.dbs {
		s.install(i).Ascend("", func(key string, o *store.Object) bool {
			co.dbs[i].Put(key, o.Clone())
			co.touch(i, key)
			return true
		})
	}
	if next, bad := co.functions.join(s.functions, true); bad == nil {
		co.restoreFunctions(next)
	}
}
