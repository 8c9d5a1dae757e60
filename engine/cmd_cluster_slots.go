package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/echomq/echomq-sim/resp"
)

var clusterSlotCommands = []Spec{
	{Name: "cluster|addslots", Arity: -3, Flags: Admin | Stale | NoAsyncLoading, run: inCluster(clusterAddSlots),
		Group: "cluster", Since: "3.0.0", Complexity: "O(N) where N is the total number of hash slot arguments",
		Summary: "Assigns new hash slots to a node.",
		Args:    `slot:i*`},
	{Name: "cluster|addslotsrange", Arity: -4, Flags: Admin | Stale | NoAsyncLoading, run: inCluster(clusterAddSlotsRange),
		Group: "cluster", Since: "7.0.0", Complexity: "O(N) where N is the total number of the slots between the start slot and end slot arguments.",
		Summary: "Assigns new hash slot ranges to a node.",
		Args:    `range{start-slot:i end-slot:i}*`},
	{Name: "cluster|bumpepoch", Arity: 2, Flags: Admin | Stale | NoAsyncLoading, run: inCluster(clusterBumpEpoch),
		Group: "cluster", Since: "3.0.0", Complexity: "O(1)",
		Summary: "Advances the cluster config epoch.",
		Tips:    []string{"nondeterministic_output"}},
	{Name: "cluster|delslots", Arity: -3, Flags: Admin | Stale | NoAsyncLoading, run: inCluster(clusterDelSlots),
		Group: "cluster", Since: "3.0.0", Complexity: "O(N) where N is the total number of hash slot arguments",
		Summary: "Sets hash slots as unbound for a node.",
		Args:    `slot:i*`},
	{Name: "cluster|delslotsrange", Arity: -4, Flags: Admin | Stale | NoAsyncLoading, run: inCluster(clusterDelSlotsRange),
		Group: "cluster", Since: "7.0.0", Complexity: "O(N) where N is the total number of the slots between the start slot and end slot arguments.",
		Summary: "Sets hash slot ranges as unbound for a node.",
		Args:    `range{start-slot:i end-slot:i}*`},
	{Name: "cluster|failover", Arity: -2, Flags: Admin | Stale | NoAsyncLoading, run: inCluster(clusterFailover),
		Group: "cluster", Since: "3.0.0", Complexity: "O(1)",
		Summary: "Forces a replica to perform a manual failover of its primary.",
		Args:    `options<force:t=FORCE takeover:t=TAKEOVER>?`},
	{Name: "cluster|flushslots", Arity: 2, Flags: Admin | Stale | NoAsyncLoading, run: inCluster(clusterFlushSlots),
		Group: "cluster", Since: "3.0.0", Complexity: "O(1)",
		Summary: "Deletes all slots information from a node."},
	{Name: "cluster|forget", Arity: 3, Flags: Admin | Stale | NoAsyncLoading, run: inCluster(clusterForget),
		Group: "cluster", Since: "3.0.0", Complexity: "O(1)",
		Summary: "Removes a node from the nodes table.",
		Args:    `node-id`},
	{Name: "cluster|replicate", Arity: 3, Flags: Admin | Stale | NoAsyncLoading, run: inCluster(clusterReplicate),
		Group: "cluster", Since: "3.0.0", Complexity: "O(1)",
		Summary: "Configure a node as replica of a primary node.",
		Args:    `node-id`},
	{Name: "cluster|reset", Arity: -2, Flags: Admin | NoScript | Stale, run: inCluster(clusterReset),
		Group: "cluster", Since: "3.0.0", Complexity: "O(N) where N is the number of known nodes. The command may execute a FLUSHALL as a side effect.",
		Summary: "Resets a node.",
		Args:    `reset-type<hard:t=HARD soft:t=SOFT>?`},
	{Name: "cluster|set-config-epoch", Arity: 3, Flags: Admin | Stale | NoAsyncLoading, run: inCluster(clusterSetEpoch),
		Group: "cluster", Since: "3.0.0", Complexity: "O(1)",
		Summary: "Sets the configuration epoch for a new node.",
		Args:    `config-epoch:i`},
	{Name: "cluster|setslot", Arity: -4, Flags: Admin | Stale | NoAsyncLoading | MayReplicate, run: inCluster(clusterSetSlot),
		Group: "cluster", Since: "3.0.0", Complexity: "O(1)",
		Summary: "Binds a hash slot to a node.",
		History: []string{"8.0.0 Added the `TIMEOUT` option."},
		Args:    `slot:i subcommand<importing/node-id=IMPORTING migrating/node-id=MIGRATING node/node-id=NODE stable:t=STABLE> timeout:i=TIMEOUT@8.0.0?`},
}

// clusterAddSlots: CLUSTER ADDSLOTS slot [slot ...]
func clusterAddSlots(c *Call) resp.Value { return c.eachSlot(c.cluster.self) }

// clusterDelSlots: CLUSTER DELSLOTS slot [slot ...]
func clusterDelSlots(c *Call) resp.Value { return c.eachSlot(nil) }

// eachSlot gives the slots of the arguments to a node, or takes them if that is nil.
func (c *Call) eachSlot(to *clusterNode) resp.Value {
	slots := make([]int, len(c.Args)-2)
	for i := range slots {
		var bad *resp.Value
		if slots[i], bad = c.slotArg(i + 2); bad != nil {
			return *bad
		}
	}
	seen := map[int]bool{}
	for _, slot := range slots {
		if bad := c.checkSlots(seen, slot, slot, to); bad != nil {
			return *bad
		}
	}
	return c.assignSlots(seen, to)
}

// clusterAddSlotsRange: CLUSTER ADDSLOTSRANGE start-slot end-slot [start-slot end-slot ...]
func clusterAddSlotsRange(c *Call) resp.Value { return c.eachSlotRange(c.cluster.self) }

// clusterDelSlotsRange: CLUSTER DELSLOTSRANGE start-slot end-slot [start-slot end-slot ...]
func clusterDelSlotsRange(c *Call) resp.Value { return c.eachSlotRange(nil) }

func (c *Call) eachSlotRange(to *clusterNode) resp.Value {
	if len(c.Args)%2 != 0 {
		return c.wrongArity()
	}
	seen := map[int]bool{}
	for i := 2; i < len(c.Args); i += 2 {
		first, bad := c.slotArg(i)
		if bad != nil {
			return *bad
		}
		last, bad := c.slotArg(i + 1)
		if bad != nil {
			return *bad
		}
		if first > last {
			return resp.Err(fmt.Sprintf("ERR start slot number %d is greater than end slot number %d", first, last))
		}
		if bad := c.checkSlots(seen, first, last, to); bad != nil {
			return *bad
		}
	}
	return c.assignSlots(seen, to)
}

// checkSlots notes the slots from first to last in seen, unless one can't be assigned.
func (c *Call) checkSlots(seen map[int]bool, first, last int, to *clusterNode) *resp.Value {
	for slot := first; slot <= last; slot++ {
		why := ""
		switch taken := c.cluster.owner[slot] != nil; {
		case to == nil && !taken:
			why = "is already unassigned"
		case to != nil && taken:
			why = "is already busy"
		case seen[slot]:
			why = "specified multiple times"
		}
		if why != "" {
			v := resp.Err(fmt.Sprintf("ERR Slot %d %s", slot, why))
			return &v
		}
		seen[slot] = true
	}
	return nil
}

func (c *Call) assignSlots(slots map[int]bool, to *clusterNode) resp.Value {
	for slot := range slots { // in any order
		delete(c.cluster.coming, slot)
		c.cluster.assign(slot, to)
	}
	c.slotsChanged()
	return resp.OK
}

// clusterFlushSlots: CLUSTER FLUSHSLOTS
func clusterFlushSlots(c *Call) resp.Value {
	if c.dbs[0].Len() > 0 {
		return resp.Err("ERR DB must be empty to perform CLUSTER FLUSHSLOTS.")
	}
	c.dropSlots()
	return resp.OK
}

func (c *Call) dropSlots() {
	for slot := range slotCount {
		c.cluster.assign(slot, nil)
	}
	c.slotsChanged()
}

// clusterReset: CLUSTER RESET [HARD | SOFT]
func clusterReset(c *Call) resp.Value {
	hard := c.is(2, "hard")
	switch {
	case len(c.Args) > 3:
		return c.subcommandSyntax()
	case len(c.Args) == 3 && !hard && !c.is(2, "soft"):
		return errSyntax
	case c.dbs[0].Len() > 0:
		return resp.Err("ERR CLUSTER RESET can't be called with master nodes containing keys")
	}
	c.cluster.closeSlots()
	c.dropSlots()
	for _, n := range c.cluster.nodes {
		c.deadlines.cancel(n.timer)
	}
	c.cluster.nodes = []*clusterNode{c.cluster.self}
	if hard {
		c.resets++
		c.cluster.epoch = 0
		*c.cluster.self = clusterNode{id: c.hexID(2 * (c.resets + 1)), shard: c.hexID(2*(c.resets+1) + 1)}
	}
	return resp.OK
}

// clusterBumpEpoch: CLUSTER BUMPEPOCH
func clusterBumpEpoch(c *Call) resp.Value {
	word := "STILL"
	if c.cluster.bumpEpoch() {
		word = "BUMPED"
	}
	return resp.Simple(fmt.Sprintf("%s %d", word, c.cluster.self.epoch))
}

// clusterSetEpoch: CLUSTER SET-CONFIG-EPOCH config-epoch
func clusterSetEpoch(c *Call) resp.Value {
	epoch, bad := c.intArg(2)
	switch {
	case bad != nil:
		return *bad
	case epoch < 0:
		return resp.Err(fmt.Sprintf("ERR Invalid config epoch specified: %d", epoch))
	case c.cluster.self.epoch != 0:
		return resp.Err("ERR Node config epoch is already non-zero")
	}
	c.cluster.self.epoch, c.cluster.changed = epoch, true
	c.cluster.epoch = max(c.cluster.epoch, epoch)
	return resp.OK
}

// clusterFailover: CLUSTER FAILOVER [FORCE | TAKEOVER]
func clusterFailover(c *Call) resp.Value {
	switch {
	case len(c.Args) > 3:
		return c.subcommandSyntax()
	case len(c.Args) == 3 && !c.is(2, "force") && !c.is(2, "takeover"):
		return errSyntax
	}
	return resp.Err("ERR You should send CLUSTER FAILOVER to a replica")
}

// clusterForget: CLUSTER FORGET node-id
func clusterForget(c *Call) resp.Value {
	cl := c.cluster
	n := cl.node(c.Args[2])
	switch n {
	case nil:
		return unknownNode(c.Args[2])
	case cl.self:
		return resp.Err("ERR I tried hard but I can't forget myself...")
	}
	for slot, owner := range &cl.owner { // not a copy on the stack
		if owner == n {
			cl.assign(slot, nil)
		}
	}
	c.deadlines.cancel(n.timer)
	here := func(_ int, other *clusterNode) bool { return other == n }
	maps.DeleteFunc(cl.leaving, here)
	maps.DeleteFunc(cl.coming, here)
	cl.nodes = slices.DeleteFunc(cl.nodes, func(other *clusterNode) bool { return other == n })
	c.slotsChanged()
	return resp.OK
}

// clusterReplicate: CLUSTER REPLICATE node-id
func clusterReplicate(c *Call) resp.Value {
	cl := c.cluster
	switch n := cl.node(c.Args[2]); {
	case n == nil:
		return unknownNode(c.Args[2])
	case n == cl.self:
		return resp.Err("ERR Can't replicate myself")
	case cl.self.slots > 0 || c.dbs[0].Len() > 0:
		return resp.Err("ERR To set a master the node must be empty and without assigned slots.")
	}
	return resp.Err("ERR There are no replicas in this cluster")
}

// clusterSetSlot: CLUSTER SETSLOT slot <IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE> [TIMEOUT timeout]
func clusterSetSlot(c *Call) resp.Value {
	slot, bad := c.slotArg(2)
	if bad != nil {
		return *bad
	}
	node, bad := c.setSlotNode(slot)
	if bad == nil {
		bad = c.setSlotTimeout()
	}
	if bad != nil {
		return *bad
	}
	cl := c.cluster
	switch {
	case c.is(3, "migrating"):
		cl.leaving[slot] = node
	case c.is(3, "importing"):
		cl.coming[slot] = node
	case c.is(3, "stable"):
		delete(cl.leaving, slot)
		delete(cl.coming, slot)
		c.slotsChanged()
	default:
		if c.countKeys(slot) == 0 {
			delete(cl.leaving, slot)
		}
		cl.assign(slot, node)
		if node == cl.self && cl.coming[slot] != nil {
			delete(cl.coming, slot)
			cl.bumpEpoch()
		}
		c.slotsChanged()
	}
	return resp.OK
}

// setSlotNode is the node that a SETSLOT names, if any.
func (c *Call) setSlotNode(slot int) (*clusterNode, *resp.Value) {
	fail := func(text string) (*clusterNode, *resp.Value) {
		v := resp.Err(oneLine(text))
		return nil, &v
	}
	mine := c.cluster.owner[slot] == c.cluster.self
	migrating, importing := c.is(3, "migrating"), c.is(3, "importing")
	switch {
	case c.is(3, "stable"):
		return nil, nil
	case len(c.Args) < 5 || !migrating && !importing && !c.is(3, "node"):
		return nil, &errSetSlot
	case migrating && !mine:
		return fail(fmt.Sprintf("ERR I'm not the owner of hash slot %d", slot))
	case importing && mine:
		return fail(fmt.Sprintf("ERR I'm already the owner of hash slot %d", slot))
	}
	node := c.cluster.node(c.Args[4])
	switch {
	case node == nil && (migrating || importing):
		return fail("ERR I don't know about node " + cString(c.Args[4]))
	case node == nil:
		v := unknownNode(c.Args[4])
		return nil, &v
	case c.is(3, "node") && mine && node != c.cluster.self && c.countKeys(slot) > 0:
		return fail(fmt.Sprintf("ERR Can't assign hashslot %d to a different node while I still hold keys for this hash slot.", slot))
	}
	return node, nil
}

// setSlotTimeout looks at the time for which replicas are waited for: there are none.
func (c *Call) setSlotTimeout() *resp.Value {
	first := 5
	if c.is(3, "stable") {
		first = 4
	}
	for i := first; i < len(c.Args); i++ {
		if !c.is(i, "timeout") {
			continue
		}
		if i+1 == len(c.Args) {
			return &errSetSlotTimeout
		}
		if _, bad := c.timeoutMs(i + 1); bad != nil {
			return bad
		}
	}
	return nil
}
