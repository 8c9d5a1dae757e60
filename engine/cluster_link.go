package engine

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/echomq/echomq-sim/store"
)

// clusterLink connects the engines of a cluster. What one engine tells the others reaches
// them in turns of their own, so that no turn waits for another engine.
type clusterLink struct {
	engines []*Engine

	mu       sync.Mutex
	idle     *sync.Cond // underWay is 0
	underWay int
	epoch    int64 // the newest of all nodes
}

// clusterNews is what a node tells the others of itself.
type clusterNews struct {
	node    clusterNode
	epoch   int64 // the cluster's
	version uint64
	owns    []bool // by slot
	// suspects are the IDs of the nodes that it can't reach.
	suspects []string
}

// JoinCluster makes one cluster of engines that are each a cluster's only node, with IDs of
// their own, and listen already. The slots are divided equally, in order. The function that
// it returns waits until nothing is under way from one to another any more.
func JoinCluster(engines []*Engine) (settle func(), err error) {
	link := &clusterLink{engines: engines, epoch: int64(len(engines))}
	link.idle = sync.NewCond(&link.mu)
	var nodes []clusterNode
	for i, e := range engines {
		n, ok := e.describe(int64(i + 1))
		if !ok {
			return nil, errors.New("engine: not a node of a cluster")
		}
		if slices.ContainsFunc(nodes, func(other clusterNode) bool { return other.id == n.id }) {
			return nil, errors.New("engine: two nodes of a cluster have the same seed")
		}
		nodes = append(nodes, n)
	}
	for i, e := range engines {
		e.join(link, nodes, i)
	}
	return link.settle, nil
}

// describe is the engine's node as the others see it.
func (e *Engine) describe(epoch int64) (n clusterNode, ok bool) {
	e.lock()
	defer e.unlock()
	co := &e.core
	if co.cluster == nil {
		return n, false
	}
	return clusterNode{id: co.cluster.self.id, shard: co.cluster.self.shard, epoch: epoch, endpoint: co.endpoint()}, true
}

// join replaces the engine's view of the cluster by one of all nodes, itself number self.
func (e *Engine) join(link *clusterLink, nodes []clusterNode, self int) {
	e.lock()
	defer e.unlock()
	cl := &cluster{link: link, epoch: int64(len(nodes)), version: 1, moved: map[int]bool{}}
	cl.closeSlots()
	for i := range nodes {
		n := nodes[i]
		cl.nodes = append(cl.nodes, &n)
	}
	firsts := append(firstSlots(len(nodes)), slotCount)
	for i, n := range cl.nodes {
		for slot := firsts[i]; slot < firsts[i+1]; slot++ {
			cl.assign(slot, n)
		}
	}
	cl.self = cl.nodes[self]
	cl.changed = false
	slices.SortFunc(cl.nodes, func(a, b *clusterNode) int { return strings.Compare(a.id, b.id) })
	e.core.cluster = cl
	e.core.slotsChanged()
}

// firstSlots are the first slots of n nodes that share all of them as equally as the
// server's tools divide them.
func firstSlots(n int) []int {
	first := make([]int, n)
	for i := 1; i < n; i++ {
		first[i] = int(math.Round(float64(i) * (float64(slotCount) / float64(n))))
	}
	return first
}

// NodeDown lets the other engines of the cluster notice that this one, which has ended, is
// out of reach.
func (e *Engine) NodeDown() {
	e.mu.Lock()
	defer e.mu.Unlock()
	cl := e.core.cluster
	if cl == nil || cl.link == nil {
		return
	}
	id, version := cl.self.id, cl.version
	cl.link.tell(e, func(other *core) {
		if n := other.cluster.node(id); n != nil && n != other.cluster.self && n.heard <= version {
			n.heard = version // what is still on its way is lost
			other.lost(n)
		}
	})
}

// Rejoin puts a new engine in the place of old, a node of a cluster that has ended. As a server
// that starts again with its old configuration file it keeps what old knew of the cluster,
// and that of its own slots, but has no keys.
func (e *Engine) Rejoin(old *Engine) {
	old.mu.Lock()
	cl, resets := old.core.cluster, old.core.resets
	old.core.cluster = nil
	old.mu.Unlock()
	e.lock()
	defer e.unlock()
	co := &e.core
	cl.link.replace(old, e)
	co.cluster, co.resets = cl, resets
	cl.okFrom = co.ms() + restartDelay
	for _, n := range cl.nodes {
		n.timer = nil
		if n.gone = false; n != cl.self {
			co.lost(n) // until it answers
		}
	}
	cl.changed = true
	co.slotsChanged()
}

// clusterNews is what the others must be told of this turn, nil for nothing.
func (co *core) clusterNews() *clusterNews {
	cl := co.cluster
	if cl == nil || !cl.changed || cl.link == nil {
		return nil
	}
	cl.changed = false
	cl.version++
	news := &clusterNews{node: *cl.self, epoch: cl.epoch, version: cl.version, owns: make([]bool, slotCount)}
	for slot, owner := range &cl.owner { // not a copy on the stack
		news.owns[slot] = owner == cl.self
	}
	for _, n := range cl.nodes {
		if n.suspect || n.failed {
			news.suspects = append(news.suspects, n.id)
		}
	}
	news.node.reach, news.node.endpoint = reach{}, co.endpoint()
	return news
}

// tell has all engines but one, those that have ended left out, run f in turns of their own.
func (l *clusterLink) tell(from *Engine, f func(co *core)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.engines {
		if e == from {
			continue
		}
		l.underWay++
		go func() {
			defer l.arrived()
			e.lockForTime() // so that a server that is stalled doesn't stop the others
			e.begin()
			defer e.unlock()
			if !e.core.closed && e.core.cluster != nil {
				f(&e.core)
			}
		}()
	}
}

// replace puts an engine in the place of another.
func (l *clusterLink) replace(old, e *Engine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.engines = slices.Clone(l.engines)
	l.engines[slices.Index(l.engines, old)] = e
}

// spreadNews tells the others what has changed.
func (e *Engine) spreadNews() {
	if e.core.cluster == nil {
		return
	}
	if news := e.core.clusterNews(); news != nil {
		e.core.cluster.link.tell(e, func(other *core) { other.learn(news) })
	}
}

// nextEpoch is newer than that of any node: the nodes of a server's cluster have to find out
// when two take the same.
func (l *clusterLink) nextEpoch(newest int64) int64 {
	if l == nil {
		return newest + 1
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epoch = max(l.epoch, newest) + 1
	return l.epoch
}

func (l *clusterLink) newestEpoch() int64 {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epoch
}

func (l *clusterLink) arrived() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.underWay--; l.underWay == 0 {
		l.idle.Broadcast()
	}
}

// settle waits until no news is under way.
func (l *clusterLink) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.underWay > 0 {
		l.idle.Wait()
	}
}

// learn takes in what another node says of itself.
func (co *core) learn(news *clusterNews) {
	cl := co.cluster
	n := cl.node(news.node.id)
	if n == nil || n == cl.self || n.heard >= news.version {
		return // it was forgotten, or later news came first
	}
	told := cl.changed
	n.heard, n.epoch, n.endpoint = news.version, news.node.epoch, news.node.endpoint
	cl.epoch = max(cl.epoch, news.epoch)
	claimed := co.learnSlots(n, news.owns)
	cl.changed = told || claimed // the others hear from n itself of what is n's
	if n.gone {
		co.found(n)
	}
	co.accused(n, news.suspects)
	co.slotsChanged()
}

// learnSlots gives a node the slots that it says it owns, unless who owns them now has a
// newer claim. This node claims what n has given up while it was on its way here.
func (co *core) learnSlots(n *clusterNode, owns []bool) (claimed bool) {
	cl := co.cluster
	for slot, owned := range owns {
		owner := cl.owner[slot]
		switch {
		case owned && owner != n && (owner == nil || owner.epoch < n.epoch):
			if owner == cl.self {
				co.dropSlotKeys(slot)
			}
			delete(cl.leaving, slot)
			if cl.coming[slot] != n {
				delete(cl.coming, slot)
			}
			cl.assign(slot, n)
		case !owned && owner == n && cl.coming[slot] == n:
			delete(cl.coming, slot)
			cl.assign(slot, cl.self)
			cl.bumpEpoch()
			claimed = true
		}
	}
	return claimed
}

// dropSlotKeys removes the keys of a slot that has become another node's.
func (co *core) dropSlotKeys(slot int) {
	var keys []string
	co.dbs[0].Ascend("", func(key string, _ *store.Object) bool {
		if slotOf(key) == slot {
			keys = append(keys, key)
		}
		return true
	})
	for _, key := range keys {
		co.dbs[0].Remove(key)
		co.stats.dirty++
		co.touchBy(nil, 0, key)
		co.emit(0, eventGeneric, "del", key)
		co.propagateDeletion(0, key, lazyServerDel)
	}
}
