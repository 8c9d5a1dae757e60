package echomqsim_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/echomq/echomq-sim/resp"
)

// Streams in testdata/nodestreams are of the clients of a cluster of three nodes, see streamNode. To
// record them ECHOMQSIM_ORACLE_NODES names one of three that "valkey-cli --cluster create" has
// made; a file leaves the slots as they were.
func TestClusterStreams(t *testing.T) {
	paths, err := filepath.Glob("testdata/nodestreams/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no streams: ", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				dial := oracleDial(os.Getenv("ECHOMQSIM_ORACLE_NODES"))
				data = []byte(playStream(t, string(data), streamNodes(t, client(t, 3, dial))...))
				if err := os.WriteFile(path, data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			_, nodes := testCluster(t, 3)
			for _, n := range nodes {
				for range 300 { // see TestStreams
					nc, err := n.Dial()
					if err != nil {
						t.Fatal(err)
					}
					nc.Close()
				}
			}
			sameStream(t, path, string(data), playStream(t, string(data), streamNodes(t, client(t, 3, nodes[0].Dial))...))
		})
	}
}

// streamNodes are the nodes of a cluster in the order of their slots, as one of them tells.
func streamNodes(t *testing.T, do doer) (nodes []streamNode) {
	t.Helper()
	v, err := do("CLUSTER", "SLOTS")
	if err != nil || len(v.Elems) != 3 {
		t.Fatalf("%d ranges of slots, want 3: %v", len(v.Elems), err)
	}
	for _, r := range v.Elems {
		node := r.Elems[2].Elems
		addr := net.JoinHostPort(node[0].Str, strconv.FormatInt(node[1].Int, 10))
		nodes = append(nodes, streamNode{addr: addr, id: node[2].Str,
			dial: func() (net.Conn, error) { return net.Dial("tcp", addr) }})
	}
	return nodes
}

// Transcripts in testdata/nodes are likewise of clients of three nodes: those of number 1, 4 and 7 are
// connected to the first one.
func TestClusterTranscripts(t *testing.T) {
	for _, path := range transcripts(t, "testdata/nodes") {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			steps, tail := parseTranscript(t, path)
			if *update {
				dial := oracleDial(os.Getenv("ECHOMQSIM_ORACLE_NODES"))
				nodes := streamNodes(t, client(t, 3, dial))
				recordFrom(t, path, steps, tail, func(proto, who int) doer { return nodeClient(t, nodes, proto, who) }, 1, 2, 3)
			}
			for _, proto := range []int{2, 3} {
				_, servers := testCluster(t, 3)
				nodes := streamNodes(t, client(t, 3, servers[0].Dial))
				check(t, steps, proto, func(who int) doer { return nodeClient(t, nodes, proto, who) })
			}
		})
	}
}

// nodeClient is a client of a node, in whose requests and errors addresses and IDs have the
// names of streamNode.
func nodeClient(t *testing.T, nodes []streamNode, proto, who int) doer {
	node := nodes[(who-1)%len(nodes)]
	do := client(t, proto, node.dial)
	names := nodeNames(nodes)
	var back []string
	for i := 0; i < len(names); i += 2 {
		if names[i][0] != '&' {
			back = append(back, names[i+1], names[i])
		}
	}
	to, from := strings.NewReplacer(names...), strings.NewReplacer(back...)
	return func(args ...string) (resp.Value, error) {
		var sent []string
		for _, arg := range args {
			sent = append(sent, to.Replace(arg))
		}
		v, err := do(sent...)
		v.Str = from.Replace(v.Str)
		return v, err
	}
}

// nodeNames are the nodes' names, each ahead of what it stands for.
func nodeNames(nodes []streamNode) (names []string) {
	for i, n := range nodes {
		host, port, _ := net.SplitHostPort(n.addr)
		number := strconv.Itoa(i + 1)
		names = append(names, "@"+number, n.addr, "#"+number, n.id, "&host", host, "&"+number, port)
	}
	return names
}

// TestClusterEndpoints: what clients are told of where a node is, as valkey-server 8.0.1 tells it.
func TestClusterEndpoints(t *testing.T) {
	c, nodes := testCluster(t, 2)
	set := func(node int, name, value string) {
		t.Helper()
		if v := nodes[node].Do("CONFIG", "SET", name, value); v.IsErr() {
			t.Fatal(v)
		}
		c.Settle()
	}
	host, port, _ := strings.Cut(nodes[1].Addr(), ":")
	for _, step := range []struct{ how, hostname, moved, slots string }{
		{"ip", "", host, "$" + host + "/0"},
		{"hostname", "", "?", "$?/1 $ip $" + host},
		{"unknown-endpoint", "", "", "_/1 $ip $" + host},
		{"ip", "my.host", host, "$" + host + "/1 $hostname $my.host"},
		{"hostname", "my.host", "my.host", "$my.host/1 $ip $" + host},
		{"unknown-endpoint", "my.host", "", "_/2 $ip $" + host + " $hostname $my.host"},
	} {
		set(1, "cluster-announce-hostname", step.hostname)
		set(0, "cluster-preferred-endpoint-type", step.how)
		if v := nodes[0].Do("GET", "foo"); v.Str != "MOVED 12182 "+step.moved+":"+port {
			t.Errorf("%s, hostname %q: %s", step.how, step.hostname, v.Str)
		}
		node := nodes[0].Do("CLUSTER", "SLOTS").Elems[1].Elems[2].Elems
		got := fmt.Sprintf("%s/%d", resp.Format(node[0]), len(node[3].Elems)/2)
		for _, v := range node[3].Elems {
			got += " " + resp.Format(v)
		}
		if got != step.slots {
			t.Errorf("%s, hostname %q: CLUSTER SLOTS has %s, want %s", step.how, step.hostname, got, step.slots)
		}
	}
	set(1, "cluster-announce-port", "7000")
	set(1, "cluster-announce-bus-port", "7001")
	if v := nodes[0].Do("CLUSTER", "NODES"); !strings.Contains(v.Str, " "+host+":7000@7001,my.host master ") {
		t.Errorf("CLUSTER NODES:\n%s", v.Str)
	}
	set(1, "cluster-announce-ip", "10.0.0.1")
	if v := nodes[0].Do("CLUSTER", "SHARDS"); !strings.Contains(resp.Format(v), "$endpoint  $\n") || !strings.Contains(resp.Format(v), "$ip  $10.0.0.1\n") {
		t.Errorf("CLUSTER SHARDS:\n%s", resp.Format(v))
	}
}
