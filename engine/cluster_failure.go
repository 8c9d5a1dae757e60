package engine

import "slices"

// How the nodes of a cluster find out that one of them is gone: each for itself when it has
// not heard of it for cluster-node-timeout; and when most of those that have slots agree, it
// has failed for all.

// clusterSettings are the parameters about clusters that act.
type clusterSettings struct {
	nodeTimeout    int64 // milliseconds
	fullCoverage   bool  // the cluster fails if a slot has no node that is there
	readsWhenDown  bool
	pubsubWhenDown bool
}

// clusterParam is a parameter whose change may change what the cluster serves.
func clusterParam(p parameter) parameter {
	return noticedParam(p, func(cl *cluster) { cl.tuned = true })
}

// noticedParam is a parameter of whose change the cluster takes note.
func noticedParam(p parameter, note func(cl *cluster)) parameter {
	set := p.set
	p.set = func(co *core, value string) string {
		why := set(co, value)
		if co.cluster != nil && why == "" {
			note(co.cluster)
		}
		return why
	}
	return p
}

// tuneCluster lets changed parameters act, at the end of the turn.
func (co *core) tuneCluster() {
	if cl := co.cluster; cl != nil && cl.tuned {
		cl.tuned = false
		for _, n := range cl.nodes {
			co.watchNode(n)
		}
		co.slotsChanged()
	}
}

// reach is what a node knows about whether another one is there.
type reach struct {
	gone     bool // out of reach
	goneAt   int64
	suspect  bool // for longer than the time-out; the server calls it PFAIL
	failed   bool // most nodes agree
	failedAt int64
	accusers []*clusterNode // which other nodes suspect it
	timer    *deadline      // when the next of these changes
}

// failureFlag is what CLUSTER NODES adds to the flags.
func (r *reach) failureFlag() string {
	switch {
	case r.failed:
		return ",fail"
	case r.suspect:
		return ",fail?"
	}
	return ""
}

// Milliseconds.
const (
	restartDelay   = 2000 // in which a node that starts again serves nobody
	minRejoinDelay = 500  // likewise after it was cut off from most others, for its time-out
	maxRejoinDelay = 5000
	maxNodeTimeout = maxInt64 / 8 // is as good as any that is longer
)

// lost notes that a node is out of reach.
func (co *core) lost(n *clusterNode) {
	if !n.gone {
		n.gone, n.goneAt = true, co.ms()
		co.watchNode(n)
	}
}

// found notes that it is there again.
func (co *core) found(n *clusterNode) {
	n.gone, n.suspect = false, false
	if n.slots == 0 {
		n.failed = false
	}
	co.watchNode(n)
	co.cluster.changed = true // it has to hear of this node, too
}

// watchNode sets the time at which a node that stays as it is will be suspect, or is
// trusted again.
func (co *core) watchNode(n *clusterNode) {
	co.deadlines.cancel(n.timer)
	timeout := min(co.set.cluster.nodeTimeout, maxNodeTimeout)
	switch {
	case n.gone && !n.suspect && !n.failed:
		n.timer = co.deadlines.set(saturatedMicros(n.goneAt+timeout), func() { co.suspect(n) })
	case !n.gone && n.failed:
		n.timer = co.deadlines.set(saturatedMicros(n.failedAt+2*timeout+1), func() {
			n.failed = false
			co.slotsChanged()
		})
	}
}

func (co *core) suspect(n *clusterNode) {
	n.suspect = true
	co.cluster.changed = true // the others must be told
	co.judge(n)
	co.slotsChanged()
}

// accused notes which nodes another one can't reach.
func (co *core) accused(by *clusterNode, suspects []string) {
	for _, n := range co.cluster.nodes {
		at := slices.Index(n.accusers, by)
		switch is := slices.Contains(suspects, n.id); {
		case is && at < 0:
			n.accusers = append(n.accusers, by)
			co.judge(n)
		case !is && at >= 0:
			n.accusers = slices.Delete(n.accusers, at, at+1)
		}
	}
}

// judge has a node fail if most agree that it is gone.
func (co *core) judge(n *clusterNode) {
	cl := co.cluster
	if !n.suspect {
		return
	}
	votes := int64(min(cl.self.slots, 1))
	for _, by := range n.accusers {
		votes += int64(min(by.slots, 1))
	}
	if votes < cl.quorum() {
		return
	}
	co.fail(n)
	cl.link.tell(co.engine, func(other *core) {
		if it := other.cluster.node(n.id); it != nil && it != other.cluster.self && !it.failed {
			other.fail(it)
			other.slotsChanged()
		}
	})
}

// fail marks a node as failed: by its own judgement, or as another node says so.
func (co *core) fail(n *clusterNode) {
	n.suspect, n.failed, n.failedAt = false, true, co.ms()
	co.watchNode(n)
}

// unreachable counts the slots whose nodes are suspect or have failed.
func (cl *cluster) unreachable() (suspect, failed int) {
	for _, n := range cl.nodes {
		switch {
		case n.failed:
			failed += n.slots
		case n.suspect:
			suspect += n.slots
		}
	}
	return suspect, failed
}

// quorum is how many of the nodes that have slots are most of them.
func (cl *cluster) quorum() int64 { return cl.size()/2 + 1 }

// noteHealth finds out whether the cluster can serve requests. A node that was with the few
// waits for a while until it does so again.
func (co *core) noteHealth() {
	cl := co.cluster
	there := int64(0)
	for _, n := range cl.nodes {
		if !n.failed && !n.suspect {
			there += int64(min(n.slots, 1))
		}
	}
	few := there < cl.quorum()
	if cl.minority && !few {
		delay := max(minRejoinDelay, min(co.set.cluster.nodeTimeout, maxRejoinDelay))
		cl.okFrom = max(cl.okFrom, co.ms()+delay)
	}
	cl.minority = few
	_, failed := cl.unreachable()
	cl.healthy = !few && (!co.set.cluster.fullCoverage || cl.assigned-failed == slotCount)
}

// clusterOK reports whether the cluster serves requests.
func (co *core) clusterOK() bool { return co.cluster.healthy && co.ms() >= co.cluster.okFrom }

// whyDown is why a request for keys or channels can't be served while the cluster is down.
func (co *core) whyDown(flags Flags, channels bool) redirect {
	set := &co.set.cluster
	switch {
	case channels && set.pubsubWhenDown, !channels && set.readsWhenDown && flags&Write == 0:
		return redirectNone
	case !channels && set.readsWhenDown:
		return redirectReadOnly
	}
	return redirectDown
}
