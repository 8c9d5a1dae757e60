package engine

import (
	"fmt"
	"slices"

	"github.com/echomq/echomq-sim/resp"
)

// cluster is what this server, as a node of a cluster, knows of the nodes, and of whose the
// slots are.
type cluster struct {
	self     *clusterNode
	nodes    []*clusterNode // all, by ID
	epoch    int64          // the cluster's; each node has one of its own
	owner    [slotCount]*clusterNode
	assigned int
	moved    map[int]bool         // slots that were taken from a node in this turn
	leaving  map[int]*clusterNode // slots on their way to a node
	coming   map[int]*clusterNode // slots on their way from a node
	link     *clusterLink         // to the other nodes' engines, nil if there are none
	changed  bool                 // in this turn, in a way that the others must be told of
	version  uint64               // of the news that they were told
	tuned    bool                 // in this turn a parameter about clusters was set
	healthy  bool                 // see noteHealth
	minority bool                 // most nodes that have slots were out of reach at last
	okFrom   int64                // the Unix millisecond until which this node serves nobody
}

// clusterNode is one node of a cluster.
type clusterNode struct {
	id, shard string // 40 hexadecimal digits
	epoch     int64
	slots     int
	heard     uint64 // the version of its latest news
	endpoint
	reach
}

// newCluster is a cluster of one node that has all slots.
func (co *core) newCluster() *cluster {
	self := &clusterNode{id: co.hexID(2), shard: co.hexID(3)}
	cl := &cluster{self: self, nodes: []*clusterNode{self}, moved: map[int]bool{}, healthy: true}
	cl.closeSlots()
	for slot := range slotCount {
		cl.assign(slot, self)
	}
	return cl
}

// assign gives a slot to a node, or takes it from its node if that is nil.
func (cl *cluster) assign(slot int, to *clusterNode) {
	cl.changed = true
	if from := cl.owner[slot]; from != nil {
		from.slots--
		cl.assigned--
		cl.moved[slot] = true
	}
	if cl.owner[slot] = to; to != nil {
		to.slots++
		cl.assigned++
	}
}

// closeSlots ends all that is on its way.
func (cl *cluster) closeSlots() {
	cl.leaving, cl.coming = map[int]*clusterNode{}, map[int]*clusterNode{}
}

// node finds a node by its ID.
func (cl *cluster) node(id string) *clusterNode {
	for _, n := range cl.nodes {
		if n.id == id {
			return n
		}
	}
	return nil
}

// size is the number of nodes that have slots.
func (cl *cluster) size() (n int64) {
	for _, node := range cl.nodes {
		n += int64(min(node.slots, 1))
	}
	return n
}

// slotRange is a run of slots of the same node.
type slotRange struct {
	first, last int
	owner       *clusterNode
}

// ranges are the runs of slots that have a node, in order.
func (cl *cluster) ranges() (out []slotRange) {
	for slot, owner := range &cl.owner { // not a copy on the stack
		switch n := len(out); {
		case owner == nil:
		case n > 0 && out[n-1].last == slot-1 && out[n-1].owner == owner:
			out[n-1].last = slot
		default:
			out = append(out, slotRange{slot, slot, owner})
		}
	}
	return out
}

// rangesOf are those of one node.
func (cl *cluster) rangesOf(n *clusterNode) []slotRange {
	return slices.DeleteFunc(cl.ranges(), func(r slotRange) bool { return r.owner != n })
}

// bumpEpoch moves the node's epoch ahead of the cluster's. It reports whether that was needed.
func (cl *cluster) bumpEpoch() bool {
	newest := cl.epoch
	for _, n := range cl.nodes {
		newest = max(newest, n.epoch)
	}
	if cl.self.epoch != 0 && cl.self.epoch == newest && cl.link.newestEpoch() <= newest {
		return false
	}
	cl.epoch = cl.link.nextEpoch(newest)
	cl.self.epoch = cl.epoch
	cl.changed = true
	return true
}

// mode is what the server calls itself.
func (co *core) mode() string {
	if co.cluster != nil {
		return "cluster"
	}
	return "standalone"
}

// redirect is why a request can't be served here.
type redirect uint8

const (
	redirectNone     redirect = iota
	redirectCross             // its keys are in different slots
	redirectUnbound           // its slot has no node
	redirectDown              // the cluster is down
	redirectReadOnly          // it is, and this is no read
	redirectUnstable          // some of its keys have left already, or are still to come
	redirectMoved             // its slot is another node's
	redirectAsk               // its keys have left already
)

// route finds the slot of the keys of some requests, -1 if they have none, and whether
// they can be served. The flags are those of what the client has sent; asking tells that a
// node has sent it here.
func (co *core) route(flags Flags, asking bool, requests ...queued) (slot int, why redirect) {
	cl := co.cluster
	slot = -1
	leaving, coming, channels, several := false, false, false, false
	missing, present := 0, 0
	first := ""
	for _, q := range requests {
		channels = channels || q.spec.Flags&PubSub != 0
		for _, ref := range q.spec.slotKeys(q.args) {
			key := q.args[ref.Index]
			switch at := slotOf(key); {
			case slot < 0 && cl.owner[at] == nil:
				return at, redirectUnbound
			case slot < 0:
				slot, first = at, key
				leaving = cl.owner[at] == cl.self && cl.leaving[at] != nil
				coming = !leaving && cl.coming[at] != nil
			case slot != at:
				return slot, redirectCross
			}
			several = several || key != first
			if o := co.dbs[0].Read(key); o == nil || co.expired(o) {
				missing++
			} else {
				present++
			}
		}
	}
	if channels { // these stay as long as the slot does
		missing = 0
	}
	switch open := leaving || coming; {
	case slot < 0:
		return slot, redirectNone
	case !co.clusterOK() && co.whyDown(flags, channels) != redirectNone:
		return slot, co.whyDown(flags, channels)
	case open && requests[0].spec.Name == "migrate": // which is how the keys move
		return slot, redirectNone
	case leaving && missing > 0 && present > 0, coming && asking && several && missing > 0:
		return slot, redirectUnstable
	case leaving && missing > 0 && cl.leaving[slot] != cl.self:
		return slot, redirectAsk
	case cl.owner[slot] != cl.self && !(coming && asking):
		return slot, redirectMoved
	}
	return slot, redirectNone
}

// clusterGate refuses what belongs to another node, or to several.
func (s *Session) clusterGate(spec *Spec, args []string) *reject {
	co := s.core
	s.slot = -1
	requests := []queued{{spec, args}}
	if spec.Name == "exec" {
		if s.multi == nil {
			return nil
		}
		if requests = s.multi.queue; s.dirty {
			requests = nil // nothing of it will run
		}
	}
	flags := spec.Flags
	if !co.clusterOK() && spec.Name != "exec" { // whose requests were let in one by one
		flags = s.flagsOf(spec, args)
	}
	slot, why := co.route(flags, s.asking > 0 || spec.Flags&Asking != 0, requests...)
	s.slot = slot
	if why == redirectNone {
		return nil
	}
	return &reject{conn: co.redirectText(why, slot), redirects: true}
}

// redirectText is the answer to a client.
func (co *core) redirectText(why redirect, slot int) string {
	word, node := "MOVED", co.cluster.owner[slot]
	switch why {
	case redirectAsk:
		word, node = "ASK", co.cluster.leaving[slot]
	case redirectMoved:
	default:
		return redirectTexts[why]
	}
	at := co.endpointOf(node)
	return fmt.Sprintf("%s %d %s:%d", word, slot, co.preferred(at), at.port)
}

// redirectTexts are the answers that name no node.
var redirectTexts = [...]string{
	redirectCross:    "CROSSSLOT Keys in request don't hash to the same slot",
	redirectUnbound:  "CLUSTERDOWN Hash slot not served",
	redirectDown:     "CLUSTERDOWN The cluster is down",
	redirectReadOnly: "CLUSTERDOWN The cluster is down and only accepts read commands",
	redirectUnstable: "TRYAGAIN Multiple keys request during rehashing of slot",
}

// scriptClusterGate is clusterGate for a command of a script. What the keys that it was
// given don't tell shows only here.
func (co *core) scriptClusterGate(run *scriptRun, spec *Spec, args []string) *reject {
	slot, why := co.route(spec.Flags, run.caller.asking > 0 || spec.Flags&Asking != 0, queued{spec, args})
	text := ""
	switch why {
	case redirectCross:
		text = "Command '" + spec.Name + "' in script attempted to access keys that don't hash to the same slot"
	case redirectUnbound:
		text = "Script attempted to access a slot not served"
	case redirectMoved, redirectAsk:
		text = "Script attempted to access a non local key in a cluster node"
	case redirectDown:
		text = "Script attempted to execute a command while the cluster is down"
	case redirectReadOnly:
		text = "Script attempted to execute a write command while the cluster is down and readonly"
	case redirectUnstable:
		text = "Unable to execute command '" + spec.Name + "' in script because undeclared keys were accessed during rehashing of the slot"
	case redirectNone:
		if slot < 0 || !run.flags.HasShebang || run.flags.AllowCrossSlot {
			return nil
		}
		if run.slot < 0 {
			run.slot = slot
		}
		if run.slot == slot {
			return nil
		}
		text = "Script attempted to access keys that do not hash to the same slot"
	}
	return &reject{conn: "ERR " + text}
}

var (
	errNoCluster      = resp.Err("ERR This instance has cluster support disabled")
	errScriptCluster  = resp.Err("ERR Can not run script on cluster, 'no-cluster' flag is set.")
	errSelectCluster  = resp.Err("ERR SELECT is not allowed in cluster mode")
	errMoveCluster    = resp.Err("ERR MOVE is not allowed in cluster mode")
	errSwapDBCluster  = resp.Err("ERR SWAPDB is not allowed in cluster mode")
	errSlot           = resp.Err("ERR Invalid or out of range slot")
	errSetSlot        = resp.Err("ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP")
	errSetSlotTimeout = resp.Err("ERR Missing timeout value")
)

// slotsChanged lets clients know that wait for keys or messages of slots that have gone, or
// of a cluster that has failed.
func (co *core) slotsChanged() {
	cl := co.cluster
	var gone []string
	for name := range co.subs[subShard].names.all() {
		if cl.moved[slotOf(name)] {
			gone = append(gone, name)
		}
	}
	clear(cl.moved)
	for _, name := range gone {
		for _, s := range slices.Clone(co.subs[subShard].byName[name]) {
			s.deliver(s.unsubscribe(subShard, name))
		}
	}
	co.noteHealth()
	ok := co.clusterOK()
	for _, s := range co.clients() {
		if !s.isBlocked() || len(s.held.blocked.keys) == 0 {
			continue
		}
		why := redirectNone
		switch {
		case !ok:
			why = redirectDown
		case s.slot < 0 || cl.owner[s.slot] == cl.self || cl.coming[s.slot] != nil:
		case cl.owner[s.slot] == nil:
			why = redirectUnbound
		default:
			why = redirectMoved
		}
		if why != redirectNone {
			s.release(resp.Err(co.redirectText(why, max(s.slot, 0))))
		}
	}
}
