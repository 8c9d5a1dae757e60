package engine

import "github.com/echomq/echomq-sim/store"

// Nothing here is freed in the background, as the garbage collector does all of that. What
// is counted is what the server would have left to another thread.

// lazyFreeEffort is the number of allocations above which the server does so.
const lazyFreeEffort = 64

// Parameters that say whether keys are removed lazily.
const (
	lazyUserDel   = "lazyfree-lazy-user-del"
	lazyUserFlush = "lazyfree-lazy-user-flush"
	lazyExpire    = "lazyfree-lazy-expire"
	lazyEviction  = "lazyfree-lazy-eviction"
	lazyServerDel = "lazyfree-lazy-server-del"
)

// countFreed counts an object that goes, if the server would free it in the background:
// option is the parameter that decides, empty if it is always so.
func (co *core) countFreed(o *store.Object, option string) {
	if o != nil && freeEffort(o) > lazyFreeEffort && (option == "" || co.tunedYes(option)) {
		co.stats.lazyFreed++
	}
}

// freeEffort is about the number of allocations that an object takes on the server.
func freeEffort(o *store.Object) int {
	switch o.Encoding() {
	case "quicklist":
		return o.List().NodesLen()
	case "hashtable":
		if o.Type() == store.Set {
			return o.Set().Len()
		}
		return o.Hash().Len()
	case "skiplist":
		return o.ZSet().Len()
	case "stream":
		return streamEffort(o.Stream())
	}
	return 1
}

// streamEffort counts the nodes of a stream, and its groups as if all were like the first.
func streamEffort(s *store.StreamObj) int {
	effort := s.RadixNodes()
	s.AscendGroups(func(g *store.StreamGroup) bool {
		effort += s.GroupsLen() * (1 + g.PendingLen())
		return false
	})
	return effort
}
