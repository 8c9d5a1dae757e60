package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var clusterCommands = []Spec{
	{Name: "asking", Arity: 1, Flags: Fast, ACL: []string{"connection"}, run: asking,
		Group: "cluster", Since: "3.0.0", Complexity: "O(1)",
		Summary: "Signals that a cluster client is following an -ASK redirect."},
	{Name: "cluster", Arity: -2,
		Group: "cluster", Since: "3.0.0", Complexity: "Depends on subcommand.",
		Summary: "A container for Cluster commands."},
	{Name: "cluster|count-failure-reports", Arity: 3, Flags: Admin | Stale, run: inCluster(clusterFailureReports),
		Group: "cluster", Since: "3.0.0", Complexity: "O(N) where N is the number of failure reports",
		Summary: "Returns the number of active failure reports active for a node.",
		Tips:    []string{"nondeterministic_output"},
		Args:    `node-id`},
	{Name: "cluster|countkeysinslot", Arity: 3, Flags: Stale, run: inCluster(clusterCountKeys),
		Group: "cluster", Since: "3.0.0", Complexity: "O(1)",
		Summary: "Returns the number of keys in a hash slot.",
		Args:    `slot:i`},
	{Name: "cluster|getkeysinslot", Arity: 4, Flags: Stale, run: inCluster(clusterGetKeys),
		Group: "cluster", Since: "3.0.0", Complexity: "O(N) where N is the number of requested keys",
		Summary: "Returns the key names in a hash slot.",
		Tips:    []string{"nondeterministic_output"},
		Args:    `slot:i count:i`},
	{Name: "cluster|help", Arity: 2, Flags: Loading | Stale, run: inCluster(clusterHelp),
		Group: "cluster", Since: "5.0.0", Complexity: "O(1)",
		Summary: "Returns helpful text about the different subcommands."},
	{Name: "cluster|info", Arity: 2, Flags: Loading | Stale, run: inCluster(clusterInfo),
		Group: "cluster", Since: "3.0.0", Complexity: "O(1)",
		Summary: "Returns information about the state of a node.",
		Tips:    []string{"nondeterministic_output"}},
	{Name: "cluster|keyslot", Arity: 3, Flags: Stale, run: inCluster(clusterKeySlot),
		Group: "cluster", Since: "3.0.0", Complexity: "O(N) where N is the number of bytes in the key",
		Summary: "Returns the hash slot for a key.",
		Args:    `key`},
	{Name: "cluster|links", Arity: 2, Flags: Stale, run: inCluster(clusterLinks),
		Group: "cluster", Since: "7.0.0", Complexity: "O(N) where N is the total number of Cluster nodes",
		Summary: "Returns a list of all TCP links to and from peer nodes.",
		Tips:    []string{"nondeterministic_output"}},
	{Name: "cluster|myid", Arity: 2, Flags: Loading | Stale, run: inCluster(clusterMyID),
		Group: "cluster", Since: "3.0.0", Complexity: "O(1)",
		Summary: "Returns the ID of a node."},
	{Name: "cluster|myshardid", Arity: 2, Flags: Loading | Stale, run: inCluster(clusterMyShardID),
		Group: "cluster", Since: "7.2.0", Complexity: "O(1)",
		Summary: "Returns the shard ID of a node.",
		Tips:    []string{"nondeterministic_output"}},
	{Name: "cluster|nodes", Arity: 2, Flags: Loading | Stale, run: inCluster(clusterNodes),
		Group: "cluster", Since: "3.0.0", Complexity: "O(N) where N is the total number of Cluster nodes",
		Summary: "Returns the cluster configuration for a node.",
		Tips:    []string{"nondeterministic_output"}},
	{Name: "cluster|replicas", Arity: 3, Flags: Admin | Stale, run: inCluster(clusterReplicas),
		Group: "cluster", Since: "5.0.0", Complexity: "O(N) where N is the number of replicas.",
		Summary: "Lists the replica nodes of a primary node.",
		Tips:    []string{"nondeterministic_output"},
		Args:    `node-id`},
	{Name: "cluster|shards", Arity: 2, Flags: Loading | Stale, run: inCluster(clusterShards),
		Group: "cluster", Since: "7.0.0", Complexity: "O(N) where N is the total number of cluster nodes",
		Summary: "Returns the mapping of cluster slots to shards.",
		Tips:    []string{"nondeterministic_output"}},
	{Name: "cluster|slaves", Arity: 3, Flags: Admin | Stale, run: inCluster(clusterReplicas),
		Group: "cluster", Since: "3.0.0", Complexity: "O(N) where N is the number of replicas.",
		Summary:  "Lists the replica nodes of a primary node.",
		DocFlags: []string{"deprecated"}, DeprecatedSince: "5.0.0", ReplacedBy: "`CLUSTER REPLICAS`",
		Tips: []string{"nondeterministic_output"},
		Args: `node-id`},
	{Name: "cluster|slot-stats", Arity: -4, Flags: Loading | Stale, run: inCluster(clusterSlotStats),
		Group: "cluster", Since: "8.0.0", Complexity: "O(N) where N is the total number of slots based on arguments. O(N*log(N)) with ORDERBY subcommand.",
		Summary: "Return an array of slot usage statistics for slots assigned to the current node.",
		Tips:    []string{"nondeterministic_output", "request_policy:all_shards"},
		Args:    `filter<slotsrange{start-slot:i end-slot:i}=SLOTSRANGE orderby{metric limit:i=LIMIT? order<asc:t=ASC desc:t=DESC>?}=ORDERBY>`},
	{Name: "cluster|slots", Arity: 2, Flags: Loading | Stale, run: inCluster(clusterSlots),
		Group: "cluster", Since: "3.0.0", Complexity: "O(N) where N is the total number of Cluster nodes",
		Summary: "Returns the mapping of cluster slots to nodes.",
		History: []string{"4.0.0 Added node IDs.", "7.0.0 Added additional networking metadata field."},
		Tips:    []string{"nondeterministic_output"}},
	{Name: "readonly", Arity: 1, Flags: Loading | Stale | Fast, ACL: []string{"connection"}, run: readonly,
		Group: "cluster", Since: "3.0.0", Complexity: "O(1)",
		Summary: "Enables read-only queries for a connection to a Valkey replica node."},
	{Name: "readwrite", Arity: 1, Flags: Loading | Stale | Fast, ACL: []string{"connection"}, run: readwrite,
		Group: "cluster", Since: "3.0.0", Complexity: "O(1)",
		Summary: "Enables read-write queries for a connection to a Valkey replica node."},
}

// inCluster lets a command run on nodes of a cluster only.
func inCluster(run handler) handler {
	return func(c *Call) resp.Value {
		if c.cluster == nil {
			return errNoCluster
		}
		return run(c)
	}
}

// asking: ASKING
func asking(c *Call) resp.Value {
	if c.cluster == nil {
		return errNoCluster
	}
	c.Sess.asking = 2 // for this command and the next one
	return resp.OK
}

// readonly: READONLY
func readonly(c *Call) resp.Value {
	c.Sess.readOnly = true
	return resp.OK
}

// readwrite: READWRITE
func readwrite(c *Call) resp.Value {
	c.Sess.readOnly = false
	return resp.OK
}

// clusterMyID: CLUSTER MYID
func clusterMyID(c *Call) resp.Value { return resp.Bulk(c.cluster.self.id) }

// clusterMyShardID: CLUSTER MYSHARDID
func clusterMyShardID(c *Call) resp.Value { return resp.Bulk(c.cluster.self.shard) }

// clusterLinks: CLUSTER LINKS
func clusterLinks(c *Call) resp.Value {
	var out []resp.Value
	for _, n := range c.cluster.nodes {
		if n == c.cluster.self || n.gone {
			continue
		}
		for _, direction := range []string{"to", "from"} {
			out = append(out, resp.Map(resp.Bulk("direction"), resp.Bulk(direction), resp.Bulk("node"), resp.Bulk(n.id),
				resp.Bulk("create-time"), resp.Int(c.startTime/1000), resp.Bulk("events"), resp.Bulk("r"),
				resp.Bulk("send-buffer-allocated"), resp.Zero, resp.Bulk("send-buffer-used"), resp.Zero))
		}
	}
	return resp.Array(out...)
}

// clusterKeySlot: CLUSTER KEYSLOT key
func clusterKeySlot(c *Call) resp.Value { return resp.Int(int64(slotOf(c.Args[2]))) }

// clusterInfo: CLUSTER INFO
func clusterInfo(c *Call) resp.Value {
	cl, state := c.cluster, "fail"
	if c.clusterOK() {
		state = "ok"
	}
	suspect, failed := cl.unreachable()
	return resp.Verbatim(fmt.Sprintf("cluster_state:%s\r\ncluster_slots_assigned:%d\r\ncluster_slots_ok:%d\r\n"+
		"cluster_slots_pfail:%d\r\ncluster_slots_fail:%d\r\ncluster_known_nodes:%d\r\ncluster_size:%d\r\n"+
		"cluster_current_epoch:%d\r\ncluster_my_epoch:%d\r\ncluster_stats_messages_sent:0\r\n"+
		"cluster_stats_messages_received:0\r\ntotal_cluster_links_buffer_limit_exceeded:0\r\n",
		state, cl.assigned, cl.assigned-suspect-failed, suspect, failed, len(cl.nodes), cl.size(), cl.epoch, cl.self.epoch))
}

// clusterNodes: CLUSTER NODES
func clusterNodes(c *Call) resp.Value {
	cl := c.cluster
	var b strings.Builder
	for _, n := range cl.nodes {
		c.writeNode(&b, n)
	}
	return resp.Verbatim(b.String())
}

// writeNode writes the line of a node.
func (c *Call) writeNode(b *strings.Builder, n *clusterNode) {
	cl := c.cluster
	flags, ping, pong, state := "myself,master", int64(0), int64(0), "connected"
	if n != cl.self {
		flags, pong = "master", c.ms()
	}
	if n.gone {
		ping, pong, state = n.goneAt, n.goneAt, "disconnected"
	}
	flags += n.failureFlag()
	fmt.Fprintf(b, "%s %s %s - %d %d %d %s", n.id, c.endpointOf(n).text(), flags, ping, pong, n.epoch, state)
	for _, r := range cl.rangesOf(n) {
		b.WriteString(" " + strconv.Itoa(r.first))
		if r.last > r.first {
			b.WriteString("-" + strconv.Itoa(r.last))
		}
	}
	if n == cl.self {
		cl.writeOpenSlots(b)
	}
	b.WriteByte('\n')
}

// writeOpenSlots writes which slots are on their way.
func (cl *cluster) writeOpenSlots(b *strings.Builder) {
	for slot := range slotCount {
		if n := cl.leaving[slot]; n != nil {
			fmt.Fprintf(b, " [%d->-%s]", slot, n.id)
		} else if n := cl.coming[slot]; n != nil {
			fmt.Fprintf(b, " [%d-<-%s]", slot, n.id)
		}
	}
}

// clusterSlots: CLUSTER SLOTS
func clusterSlots(c *Call) resp.Value {
	var out []resp.Value
	for _, r := range c.cluster.ranges() {
		out = append(out, resp.Array(resp.Int(int64(r.first)), resp.Int(int64(r.last)), c.slotsEntry(r.owner)))
	}
	return resp.Array(out...)
}

// clusterShards: CLUSTER SHARDS
func clusterShards(c *Call) resp.Value {
	var out []resp.Value
	for _, n := range c.cluster.nodes {
		out = append(out, c.shard(n))
	}
	return resp.Array(out...)
}

// shard is a node with its slots: none has replicas.
func (c *Call) shard(n *clusterNode) resp.Value {
	var slots []resp.Value
	for _, r := range c.cluster.rangesOf(n) {
		slots = append(slots, resp.Int(int64(r.first)), resp.Int(int64(r.last)))
	}
	health := "online"
	if n.failed {
		health = "fail"
	}
	at := c.endpointOf(n)
	node := []resp.Value{resp.Bulk("id"), resp.Bulk(n.id)}
	switch name := "port"; {
	case c.tcpPort() == "0" && c.tlsPort() != "0":
		name = "tls-port"
		fallthrough
	case at.port != 0:
		node = append(node, resp.Bulk(name), resp.Int(at.port))
	}
	node = append(node, resp.Bulk("ip"), resp.Bulk(at.host), resp.Bulk("endpoint"), resp.Bulk(c.preferred(at)))
	if at.hostname != "" {
		node = append(node, resp.Bulk("hostname"), resp.Bulk(at.hostname))
	}
	node = append(node, resp.Bulk("role"), resp.Bulk("master"), resp.Bulk("replication-offset"), resp.Zero, resp.Bulk("health"), resp.Bulk(health))
	return resp.Map(resp.Bulk("slots"), resp.Array(slots...), resp.Bulk("nodes"), resp.Array(resp.Map(node...)))
}

// clusterReplicas: CLUSTER REPLICAS node-id
func clusterReplicas(c *Call) resp.Value {
	if c.cluster.node(c.Args[2]) == nil {
		return unknownNode(c.Args[2])
	}
	return resp.Array()
}

// clusterFailureReports: CLUSTER COUNT-FAILURE-REPORTS node-id
func clusterFailureReports(c *Call) resp.Value {
	n := c.cluster.node(c.Args[2])
	if n == nil {
		return unknownNode(c.Args[2])
	}
	return resp.Int(int64(len(n.accusers)))
}

func unknownNode(id string) resp.Value { return resp.Err(oneLine("ERR Unknown node " + cString(id))) }

// keysInSlot calls f for the keys of a slot until it returns false. It looks at all keys.
func (c *Call) keysInSlot(slot int64, f func(key string) bool) {
	c.dbs[0].Ascend("", func(key string, _ *store.Object) bool {
		return int64(slotOf(key)) != slot || f(key)
	})
}

// clusterCountKeys: CLUSTER COUNTKEYSINSLOT slot
func clusterCountKeys(c *Call) resp.Value {
	slot, bad := c.intArg(2)
	switch {
	case bad != nil:
		return *bad
	case slot < 0 || slot >= slotCount:
		return resp.Err("ERR Invalid slot")
	}
	return resp.Int(c.countKeys(int(slot)))
}

func (c *Call) countKeys(slot int) (n int64) {
	c.keysInSlot(int64(slot), func(string) bool {
		n++
		return true
	})
	return n
}

// clusterGetKeys: CLUSTER GETKEYSINSLOT slot count
func clusterGetKeys(c *Call) resp.Value {
	slot, bad := c.intArg(2)
	if bad != nil {
		return *bad
	}
	count, bad := c.intArg(3)
	switch {
	case bad != nil:
		return *bad
	case slot < 0 || slot >= slotCount || count < 0:
		return resp.Err("ERR Invalid slot or number of keys")
	}
	var out []resp.Value
	if count > 0 {
		c.keysInSlot(slot, func(key string) bool {
			out = append(out, resp.Bulk(key))
			return int64(len(out)) < count
		})
	}
	return resp.Array(out...)
}

// slotArg is argument i as a slot.
func (c *Call) slotArg(i int) (slot int, bad *resp.Value) {
	n, ok := parseInt(c.Args[i])
	if !ok || n < 0 || n >= slotCount {
		return 0, &errSlot
	}
	return int(n), nil
}

// slotStat is a slot and the number of its keys.
type slotStat struct {
	slot int
	keys int64
}

// slotStats are the node's slots from first to last.
func (c *Call) slotStats(first, last int) (out []slotStat) {
	counts := make([]int64, slotCount)
	c.dbs[0].Ascend("", func(key string, _ *store.Object) bool {
		counts[slotOf(key)]++
		return true
	})
	for slot := first; slot <= last; slot++ {
		if c.cluster.owner[slot] == c.cluster.self {
			out = append(out, slotStat{slot, counts[slot]})
		}
	}
	return out
}

// clusterSlotStats: CLUSTER SLOT-STATS <SLOTSRANGE start-slot end-slot | ORDERBY metric [LIMIT limit] [ASC | DESC]>
func clusterSlotStats(c *Call) resp.Value {
	switch {
	case len(c.Args) == 5 && c.is(2, "slotsrange"):
		first, bad := c.slotArg(3)
		if bad != nil {
			return *bad
		}
		last, bad := c.slotArg(4)
		if bad != nil {
			return *bad
		}
		if first > last {
			return resp.Err(fmt.Sprintf("ERR Start slot number %d is greater than end slot number %d", first, last))
		}
		return slotStatsReply(c.slotStats(first, last))
	case c.is(2, "orderby"):
		return c.orderedSlotStats()
	}
	return c.subcommandSyntax()
}

func (c *Call) orderedSlotStats() resp.Value {
	if !c.is(3, "key-count") {
		return resp.Err("ERR Unrecognized sort metric for ORDERBY.")
	}
	limit, sign := int64(slotCount), -1
	limits, orders := 0, 0
	for i := 4; i < len(c.Args); i++ {
		switch {
		case c.is(i, "limit") && i+1 < len(c.Args):
			i++
			var ok bool
			if limit, ok = parseInt(c.Args[i]); !ok || limit < 1 || limit > slotCount {
				return resp.Err("ERR Limit has to lie in between 1 and 16384 (maximum number of slots).")
			}
			limits++
		case c.is(i, "asc"):
			sign = 1
			orders++
		case c.is(i, "desc"):
			sign = -1
			orders++
		default:
			return errSyntax
		}
		if limits > 1 || orders > 1 {
			return resp.Err("ERR Multiple filters of the same type are disallowed.")
		}
	}
	all := c.slotStats(0, slotCount-1)
	slices.SortStableFunc(all, func(a, b slotStat) int { return sign * cmp.Compare(a.keys, b.keys) })
	return slotStatsReply(all[:min(limit, int64(len(all)))])
}

func slotStatsReply(stats []slotStat) resp.Value {
	out := make([]resp.Value, len(stats))
	for i, s := range stats {
		out[i] = resp.Array(resp.Int(int64(s.slot)), resp.Map(resp.Bulk("key-count"), resp.Int(s.keys)))
	}
	return resp.Array(out...)
}
