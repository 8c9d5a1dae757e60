package echomqsim_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/echomq"
	"github.com/echomq/echomq-sim/resp"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// manualCluster is a cluster whose nodes go by Manual clocks, with these time-outs.
func manualCluster(t *testing.T, timeouts ...string) *echomqsim.Cluster {
	t.Helper()
	c := newCluster(t, echomqsim.Config{Clock: echomqsim.Manual(time.Time{})}, len(timeouts))
	for i, n := range c.Nodes() {
		n.Do("CONFIG", "SET", "cluster-node-timeout", timeouts[i])
	}
	return c
}

// view is how a node sees the cluster: its state, the slots that are suspect and those that have
// failed, and of each node, in the order of the slots, the flags behind "master".
func view(t *testing.T, c *echomqsim.Cluster, i int) string {
	t.Helper()
	c.Settle()
	n := c.Nodes()[i]
	out := ""
	for line := range strings.SplitSeq(n.Do("CLUSTER", "INFO").Str, "\r\n") {
		switch name, value, _ := strings.Cut(line, ":"); name {
		case "cluster_state", "cluster_slots_pfail", "cluster_slots_fail":
			out += value + " "
		}
	}
	list := n.Do("CLUSTER", "NODES").Str
	for _, other := range c.Nodes() {
		_, line, _ := strings.Cut(list, " "+other.Addr())
		line, _, _ = strings.Cut(line, "\n")
		f := strings.Fields(line)
		if len(f) < 7 {
			t.Fatalf("no line of %s in\n%s", other.Addr(), list)
		}
		_, flags, _ := strings.Cut(f[1], "master")
		out += "/" + flags
		if f[6] != "connected" {
			out += "-"
		}
	}
	return out
}

func wantView(t *testing.T, c *echomqsim.Cluster, i int, want string) {
	t.Helper()
	if got := view(t, c, i); got != want {
		t.Errorf("node %d sees %s, want %s", i, got, want)
	}
}

// Key b is in a slot of node 0, foo{c}x in one of node 1, a in one of node 2. What three servers did when
// one was killed and came back.
func TestClusterNodeFails(t *testing.T) {
	c := manualCluster(t, "1000", "1000", "1000")
	nodes := c.Nodes()
	first := nodes[0].NewClient()
	ask := func(request, answer string) {
		t.Helper()
		wantNode(t, nodes[:1], first, request, answer)
	}
	dead, id := nodes[1].Addr(), nodes[1].Do("CLUSTER", "MYID").Str
	ask("SET b 1", "+OK")
	nodes[1].Do("SET", "foo{c}x", "1")
	if err := c.Stop(1); err != nil {
		t.Fatal(err)
	}
	c.Advance(999 * time.Millisecond)
	wantView(t, c, 0, "ok 0 0 //-/")
	ask("GET b", "$1")
	ask("GET foo{c}x", "-MOVED 7365 "+dead)
	c.Advance(time.Millisecond)
	wantView(t, c, 0, "fail 0 5462 //,fail-/")
	wantView(t, c, 2, "fail 0 5462 //,fail-/")
	down := "-CLUSTERDOWN The cluster is down"
	ask("GET b", down)
	ask("GET foo{c}x", down)
	ask("SPUBLISH b x", ":0")
	ask("SPUBLISH foo{c}x x", "-MOVED 7365 "+dead)
	ask("CLUSTER COUNT-FAILURE-REPORTS "+id, ":1")
	ask("EVAL return(redis.call('get',KEYS[1])) 1 b", down)
	ask("EVAL return(redis.pcall('get','b').err) 0", "$ERR Script attempted to execute a command while the cluster is down")
	if v := nodes[0].Do("CLUSTER", "LINKS"); len(v.Elems) != 2 {
		t.Errorf("CLUSTER LINKS: %s", resp.Format(v))
	}
	if v := resp.Format(nodes[0].Do("CLUSTER", "SHARDS")); strings.Count(v, "$health  $fail") != 1 {
		t.Errorf("CLUSTER SHARDS: %s", v)
	}

	askWhenDown(t, c, ask, dead)

	if err := c.Start(1); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(1); err == nil {
		t.Error("a node that runs was started")
	}
	nodes = c.Nodes()
	wantView(t, c, 0, "fail 0 5462 //,fail/")
	wantView(t, c, 1, "fail 0 0 ///")
	if addr, again := nodes[1].Addr(), nodes[1].Do("CLUSTER", "MYID").Str; addr != dead || again != id {
		t.Errorf("it came back as %s on %s, was %s on %s", again, addr, id, dead)
	}
	back := nodes[1].NewClient()
	wantNode(t, nodes, back, "CONFIG GET cluster-node-timeout", "%\n  $cluster-node-timeout  $15000")
	c.Advance(1999 * time.Millisecond)
	wantNode(t, nodes, back, "GET foo{c}x", down)
	c.Advance(time.Millisecond)
	wantNode(t, nodes, back, "GET foo{c}x", "_")
	wantNode(t, nodes, back, "GET b", "-MOVED 3300 @0")
	wantNode(t, nodes, back, "DBSIZE", ":0")
	ask("GET b", down)
	c.Advance(time.Millisecond)
	wantView(t, c, 0, "ok 0 0 ///")
	ask("GET b", "$2")
}

// askWhenDown changes what the first node serves while the cluster is down.
func askWhenDown(t *testing.T, c *echomqsim.Cluster, ask func(request, answer string), dead string) {
	t.Helper()
	down := "-CLUSTERDOWN The cluster is down"
	ask("CONFIG SET cluster-allow-pubsubshard-when-down no", "+OK")
	ask("SPUBLISH b x", down)
	ask("CONFIG SET cluster-allow-reads-when-down yes", "+OK")
	ask("GET b", "$1")
	ask("SET b 2", down+" and only accepts read commands")
	ask("GET foo{c}x", "-MOVED 7365 "+dead)
	ask("EVAL return(redis.call('get','b')) 0", "$1")
	ask("EVAL return(redis.pcall('set','b','1').err) 0", "$ERR Script attempted to execute a write command while the cluster is down and readonly")
	ask("EVAL return(redis.call('get','b')) 1 b", "$1")
	ask("CONFIG SET cluster-allow-reads-when-down no", "+OK")
	ask("CONFIG SET cluster-require-full-coverage no", "+OK")
	wantView(t, c, 0, "ok 0 5462 //,fail-/")
	ask("SET b 2", "+OK")
	ask("GET foo{c}x", "-MOVED 7365 "+dead)
	ask("CONFIG SET cluster-require-full-coverage yes", "+OK")
}

// A node is suspect for each other one after that one's own time-out, and has failed when
// most agree.
func TestClusterNodeSuspect(t *testing.T) {
	c := manualCluster(t, "1000", "1000", "5000", "60000")
	if err := c.Stop(1); err != nil {
		t.Fatal(err)
	}
	c.Advance(time.Second)
	wantView(t, c, 0, "ok 4096 0 //,fail?-//")
	wantView(t, c, 2, "ok 0 0 //-//")
	c.Nodes()[2].Do("CONFIG", "SET", "cluster-node-timeout", "3000")
	c.Advance(2*time.Second - 1)
	wantView(t, c, 0, "ok 4096 0 //,fail?-//")
	c.Advance(1)
	wantView(t, c, 0, "ok 4096 0 //,fail?-//") // two of four are not most
	c.Nodes()[3].Do("CONFIG", "SET", "cluster-node-timeout", "3000")
	c.Advance(1)
	for _, i := range []int{0, 2, 3} {
		wantView(t, c, i, "fail 0 4096 //,fail-//")
	}

	// One that is only suspect is trusted again at once.
	c = manualCluster(t, "1000", "60000", "60000")
	c.Stop(2)
	c.Advance(time.Second)
	wantView(t, c, 0, "ok 5461 0 ///,fail?-")
	if err := c.Start(2); err != nil {
		t.Fatal(err)
	}
	wantView(t, c, 0, "ok 0 0 ///")

	// So is one without slots, of which more than that it is there does not matter.
	c = manualCluster(t, "1000", "1000", "1000")
	nodes := c.Nodes()
	for slot := range 5461 {
		for _, n := range nodes {
			if v := n.Do("CLUSTER", "SETSLOT", strconv.Itoa(slot), "NODE", nodes[1].Do("CLUSTER", "MYID").Str); v.IsErr() {
				t.Fatal(v.Str)
			}
		}
	}
	c.Stop(0)
	c.Advance(time.Second)
	wantView(t, c, 2, "ok 0 0 /,fail-//")
	if err := c.Start(0); err != nil {
		t.Fatal(err)
	}
	wantView(t, c, 2, "ok 0 0 ///")
}

// A node that can't reach most others serves nobody, and waits for a while when it can again.
func TestClusterMinority(t *testing.T) {
	c := manualCluster(t, "1000", "1000", "1000")
	c.Nodes()[0].Do("CONFIG", "SET", "cluster-require-full-coverage", "no")
	c.Nodes()[0].Do("SET", "b", "1")
	c.Stop(1)
	c.Stop(2)
	c.Advance(time.Second)
	wantView(t, c, 0, "fail 10923 0 //,fail?-/,fail?-")
	want(t, c.Nodes()[0].Do("GET", "b"), "-CLUSTERDOWN The cluster is down")
	if err := c.Start(1); err != nil {
		t.Fatal(err)
	}
	c.Nodes()[1].Do("CONFIG", "SET", "cluster-node-timeout", "1000")
	wantView(t, c, 0, "fail 5461 0 ///,fail?-")
	wantView(t, c, 1, "fail 0 0 ///-") // it finds out for itself
	c.Advance(time.Second - 1)
	wantView(t, c, 0, "fail 5461 0 ///,fail?-")
	c.Advance(1)
	wantView(t, c, 0, "ok 0 5461 ///,fail-")
	want(t, c.Nodes()[0].Do("GET", "b"), "$1")
	c.Advance(time.Second)
	want(t, c.Nodes()[1].Do("GET", "a"), "-CLUSTERDOWN The cluster is down")
	c.Nodes()[1].Do("CONFIG", "SET", "cluster-require-full-coverage", "no")
	want(t, c.Nodes()[1].Do("GET", "a"), "-MOVED 15495 "+c.Nodes()[2].Addr())

	// All are gone, and come back one after another.
	c.Stop(0)
	c.Stop(1)
	for i := range 3 {
		if err := c.Start(i); err != nil {
			t.Fatal(err)
		}
	}
	c.Advance(time.Minute)
	for i := range 3 {
		wantView(t, c, i, "ok 0 0 ///")
	}
}

// What slots are on their way stays so over a restart; who has taken some meanwhile keeps them.
func TestClusterRestart(t *testing.T) {
	c := manualCluster(t, "1000", "1000", "1000")
	nodes := c.Nodes()
	id := func(i int) string { return nodes[i].Do("CLUSTER", "MYID").Str }
	first, second, third := id(0), id(1), id(2)
	nodes[1].Do("CLUSTER", "SETSLOT", "7365", "MIGRATING", first)
	nodes[1].Do("CLUSTER", "SETSLOT", "100", "IMPORTING", first)
	nodes[1].Do("SHUTDOWN")
	<-nodes[1].Done()
	for _, n := range []*echomqsim.Server{nodes[0], nodes[2]} {
		if v := n.Do("CLUSTER", "SETSLOT", "8000", "NODE", third); v.IsErr() {
			t.Fatal(v.Str)
		}
	}
	if err := c.Start(1); err != nil {
		t.Fatal(err)
	}
	c.Settle()
	list := c.Nodes()[1].Do("CLUSTER", "NODES").Str
	if want := "connected 5461-7999 8001-10922 [100-<-" + first + "] [7365->-" + first + "]\n"; !strings.Contains(list, want) {
		t.Errorf("no %q in\n%s", want, list)
	}
	if v := c.Nodes()[1].Do("CLUSTER", "MYID"); v.Str != second {
		t.Errorf("its ID is %s, was %s", v.Str, second)
	}
}

// Every increment that a client is told of is there, exactly once, while a slot moves key
// by key and a node goes and comes back, and with it a client's commands find their way.
func TestClusterGoRedisExactly(t *testing.T) {
	c := newCluster(t, echomqsim.Config{Clock: echomqsim.Manual(time.Time{})}, 3)
	nodes := c.Nodes()
	ctx := context.Background()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nodes[0].Addr()}, MaxRedirects: 100})
	defer client.Close()
	hasty := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nodes[0].Addr()}, MaxRedirects: -1})
	defer hasty.Close()
	incr := func(key string) (int64, error) { return client.Incr(ctx, key).Result() }
	countExactly(t, nodes[2], incr, func() {
		slot := strconv.Itoa(echomq.Slot("a"))
		moveSlot(t, nodes[2], nodes[0], slot, 1)
		lost := "foo{c}x" // on node 1
		if n, err := hasty.Incr(ctx, lost).Result(); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if err := c.Stop(1); err != nil {
			t.Fatal(err)
		}
		if err := hasty.Incr(ctx, lost).Err(); err == nil {
			t.Error("an increment on a node that is gone")
		}
		if err := c.Start(1); err != nil {
			t.Fatal(err)
		}
		c.Advance(2 * time.Second)
		if n, err := incr(lost); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		moveSlot(t, nodes[0], c.Nodes()[1], slot, 1)
	})
}

func TestClusterRueidisExactly(t *testing.T) {
	_, nodes := testCluster(t, 3)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{nodes[0].Addr()}, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	incr := func(key string) (int64, error) {
		return client.Do(context.Background(), client.B().Incr().Key(key).Build()).AsInt64()
	}
	countExactly(t, nodes[2], incr, func() {
		slot := strconv.Itoa(echomq.Slot("a"))
		moveSlot(t, nodes[2], nodes[0], slot, 1)
		moveSlot(t, nodes[0], nodes[1], slot, 1)
	})
}

// countExactly increments 1,000 keys of slot 15495, which begin on a node, for as long as
// moves takes. Each reply must be the number of those so far.
func countExactly(t *testing.T, node *echomqsim.Server, incr func(key string) (int64, error), moves func()) {
	t.Helper()
	const keys = 1000
	for k := range keys {
		node.Do("SET", fmt.Sprintf("{a}%d", k), "0")
	}
	var stop atomic.Bool
	var told [keys]int64
	var writers sync.WaitGroup
	one := func(k int) bool {
		n, err := incr(fmt.Sprintf("{a}%d", k))
		if told[k]++; err != nil || n != told[k] {
			t.Errorf("key %d: %d after %d increments, %v", k, n, told[k], err)
			return false
		}
		return true
	}
	for w := range 2 {
		writers.Go(func() {
			for k := w; !stop.Load() && one(k); k = (k + 2) % keys {
			}
		})
	}
	moves()
	stop.Store(true)
	writers.Wait()
	for k := range keys {
		if !one(k) {
			break
		}
	}
	if v := node.Do("DBSIZE"); v.Int != 0 {
		t.Errorf("%d keys stayed", v.Int)
	}
}

// The nodes of a cluster with TLS speak TLS to each other as well, and show clients the
// ports that speak it.
func TestClusterTLS(t *testing.T) {
	conf, pem, err := echomqsim.SelfSigned()
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	c := newCluster(t, echomqsim.Config{TLS: conf}, 3)
	nodes := c.Nodes()
	ctx := context.Background()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nodes[0].Addr()}, TLSConfig: &tls.Config{RootCAs: roots}})
	defer client.Close()
	for _, key := range []string{"a", "b", "c"} {
		if err := client.Set(ctx, key, key, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	moveSlot(t, nodes[2], nodes[0], strconv.Itoa(echomq.Slot("a")), 10)
	if got, err := client.Get(ctx, "a").Result(); got != "a" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	_, port, _ := net.SplitHostPort(nodes[0].Addr())
	if v := resp.Format(nodes[1].Do("CLUSTER", "SHARDS")); !strings.Contains(v, "$tls-port  :"+port) {
		t.Errorf("CLUSTER SHARDS: %s", v)
	}
	want(t, nodes[0].Do("CONFIG", "GET", "tls-cluster"), "%\n  $tls-cluster  $yes")

	other := echomqsim.RunT(t, echomqsim.Config{TLS: selfSigned(t)})
	host, port, _ := net.SplitHostPort(other.Addr())
	want(t, nodes[0].Do("MIGRATE", host, port, "a", "0", "5000"), "-IOERR error or timeout connecting to the client")
}

func selfSigned(t *testing.T) *tls.Config {
	t.Helper()
	conf, _, err := echomqsim.SelfSigned()
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

func TestBadCluster(t *testing.T) {
	for _, tc := range []struct {
		cfg  echomqsim.Config
		n    int
		want string
	}{
		{echomqsim.Config{}, 0, "want 1 to 1000"},
		{echomqsim.Config{}, 1001, "want 1 to 1000"},
		{echomqsim.Config{Socket: "x"}, 2, "can't share files"},
		{echomqsim.Config{ACLFile: "x"}, 2, "can't share files"},
		{echomqsim.Config{SaveFile: "x"}, 2, "can't share files"},
		{echomqsim.Config{Addr: "x"}, 2, "missing port"},
		{echomqsim.Config{Addr: "127.0.0.1:65534"}, 3, "no 3 ports"},
		{echomqsim.Config{Password: "x", EnableDebug: "maybe"}, 3, "EnableDebug"},
	} {
		c, err := echomqsim.NewCluster(tc.cfg, tc.n)
		if err == nil {
			c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%d nodes: %v, want %q", tc.n, err, tc.want)
		}
	}
}

// Slots are divided as valkey-cli --cluster create divides them.
func TestClusterFirstSlots(t *testing.T) {
	for n, ranges := range map[int]string{
		3: "0-5460 5461-10922 10923-16383",
		5: "0-3276 3277-6553 6554-9829 9830-13106 13107-16383",
		7: "0-2340 2341-4680 4681-7021 7022-9361 9362-11702 11703-14042 14043-16383",
	} {
		c := newCluster(t, echomqsim.Config{}, n)
		var got []string
		for _, r := range c.Nodes()[0].Do("CLUSTER", "SLOTS").Elems {
			got = append(got, fmt.Sprintf("%d-%d", r.Elems[0].Int, r.Elems[1].Int))
		}
		if s := strings.Join(got, " "); s != ranges {
			t.Errorf("%d nodes: %s, want %s", n, s, ranges)
		}
	}
}
