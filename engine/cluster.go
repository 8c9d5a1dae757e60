package engine

import (
	"net"
	"slices"

	"github.com/echomq/echomq-sim/resp"
)

// cluster is what this server, as a node of a cluster, knows: itself, the only node
// that there is, and whose the slots are. A slot without a node makes the cluster fail.
type cluster struct {
	self     clusterNode
	epoch    int64 // the cluster's; the node has one of its own
	owner    [slotCount]*clusterNode
	assigned int
	leaving  map[int]*clusterNode // slots on their way to a node
	coming   map[int]*clusterNode // slots on their way from a node
}

// clusterNode is one node of a cluster.
type clusterNode struct {
	id, shard string // 40 hexadecimal digits
	epoch     int64
}

// newCluster is a cluster of one node that has all slots.
func (co *core) newCluster() *cluster {
	cl := &cluster{self: clusterNode{id: co.hexID(2), shard: co.hexID(3)}}
	cl.closeSlots()
	for slot := range slotCount {
		cl.assign(slot, &cl.self)
	}
	return cl
}

// assign gives a slot to a node, or takes it from its node if that is nil.
func (cl *cluster) assign(slot int, to *clusterNode) {
	if cl.owner[slot] != nil {
		cl.assigned--
	}
	if cl.owner[slot] = to; to != nil {
		cl.assigned++
	}
}

// closeSlots ends all that is on its way.
func (cl *cluster) closeSlots() {
	cl.leaving, cl.coming = map[int]*clusterNode{}, map[int]*clusterNode{}
}

// ok reports whether the cluster serves requests.
func (cl *cluster) ok() bool { return cl.assigned == slotCount }

// node finds a node by its ID.
func (cl *cluster) node(id string) *clusterNode {
	if id == cl.self.id {
		return &cl.self
	}
	return nil
}

// size is the number of nodes that have slots.
func (cl *cluster) size() int64 { return int64(min(cl.assigned, 1)) }

// ranges are the first and last slots of the node's ranges, in order.
func (cl *cluster) ranges() (out [][2]int) {
	for slot := range slotCount {
		switch n := len(out); {
		case cl.owner[slot] == nil:
		case n > 0 && out[n-1][1] == slot-1:
			out[n-1][1] = slot
		default:
			out = append(out, [2]int{slot, slot})
		}
	}
	return out
}

// bumpEpoch moves the node's epoch ahead of the cluster's. It reports whether that was needed.
func (cl *cluster) bumpEpoch() bool {
	if cl.self.epoch != 0 && cl.self.epoch == max(cl.epoch, cl.self.epoch) {
		return false
	}
	cl.epoch++
	cl.self.epoch = cl.epoch
	return true
}

// endpoint is where the cluster's clients find this node: the address that is
// announced, or the first one that connections are accepted on.
func (co *core) endpoint() (host string, port int64) {
	for _, l := range co.listeners {
		if h, p, err := net.SplitHostPort(l.addr); err == nil && l.network == "tcp" {
			host, port = h, atoi(p)
			break
		}
	}
	if co.set.announceIP != "" {
		host = co.set.announceIP
	}
	return host, port
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
	redirectDown              // some other slot has none
	redirectUnstable          // some of its keys have left already
)

// route finds the slot of the keys of some requests, -1 if they have none, and
// whether they can be served.
func (co *core) route(requests ...queued) (slot int, why redirect) {
	cl := co.cluster
	slot = -1
	leaving, channels := false, false
	missing, present := 0, 0
	for _, q := range requests {
		channels = channels || q.spec.Flags&PubSub != 0
		for _, ref := range q.spec.slotKeys(q.args) {
			key := q.args[ref.Index]
			switch at := slotOf(key); {
			case slot < 0 && cl.owner[at] == nil:
				return at, redirectUnbound
			case slot < 0:
				slot, leaving = at, cl.leaving[at] != nil
			case slot != at:
				return slot, redirectCross
			}
			if o := co.dbs[0].Read(key); o == nil || co.expired(o) {
				missing++
			} else {
				present++
			}
		}
	}
	switch {
	case slot < 0 || channels: // these stay as long as the slot does
		return slot, redirectNone
	case !cl.ok():
		return slot, redirectDown
	case leaving && missing > 0 && present > 0:
		return slot, redirectUnstable
	}
	return slot, redirectNone // with keys that are not here, too: there is no other node to ask
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
		requests = s.multi.queue
	}
	slot, why := co.route(requests...)
	s.slot = slot
	if why == redirectNone {
		return nil
	}
	return &reject{conn: redirectTexts[why], redirects: true}
}

// redirectTexts are the answers to clients.
var redirectTexts = [...]string{
	redirectCross:    "CROSSSLOT Keys in request don't hash to the same slot",
	redirectUnbound:  "CLUSTERDOWN Hash slot not served",
	redirectDown:     "CLUSTERDOWN The cluster is down",
	redirectUnstable: "TRYAGAIN Multiple keys request during rehashing of slot",
}

// scriptClusterGate is clusterGate for a command of a script. What the keys that it was
// given don't tell shows only here.
func (co *core) scriptClusterGate(run *scriptRun, spec *Spec, args []string) *reject {
	slot, why := co.route(queued{spec, args})
	text := ""
	switch why {
	case redirectCross:
		text = "Command '" + spec.Name + "' in script attempted to access keys that don't hash to the same slot"
	case redirectUnbound:
		text = "Script attempted to access a slot not served"
	case redirectDown:
		text = "Script attempted to execute a command while the cluster is down"
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

// slotsChanged lets clients know that wait for keys or messages of slots that have gone.
func (co *core) slotsChanged() {
	var gone []string
	for _, name := range co.subs[subShard].names {
		if co.cluster.owner[slotOf(name)] == nil {
			gone = append(gone, name)
		}
	}
	for _, name := range gone {
		for _, s := range slices.Clone(co.subs[subShard].byName[name]) {
			s.deliver(s.unsubscribe(subShard, name))
		}
	}
	if co.cluster.ok() {
		return
	}
	for _, s := range co.clients() {
		if s.isBlocked() {
			s.release(resp.Err(redirectTexts[redirectDown]))
		}
	}
}
