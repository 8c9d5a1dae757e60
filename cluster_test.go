package echomqsim_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/echomq"
	"github.com/echomq/echomq-sim/engine"
	"github.com/echomq/echomq-sim/resp"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// A client that speaks to clusters only finds all slots here, and its scripts as well.
func TestClusterGoRedis(t *testing.T) {
	srv := echomqsim.RunT(t, echomqsim.Config{Cluster: true})
	ctx := context.Background()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{srv.Addr()}})
	defer client.Close()
	for _, key := range []string{"a", "b", "c", "{a}1"} {
		if err := client.Set(ctx, key, "value of "+key, 0).Err(); err != nil {
			t.Fatal(err)
		}
		if got, err := client.Get(ctx, key).Result(); err != nil || got != "value of "+key {
			t.Errorf("GET %s: %q, %v", key, got, err)
		}
	}
	cmds, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Incr(ctx, "n1")
		p.Incr(ctx, "n2")
		return nil
	})
	if err != nil || len(cmds) != 2 {
		t.Errorf("a pipeline: %v", err)
	}
	script := redis.NewScript("return redis.call('GET', KEYS[1])")
	if got, err := script.Run(ctx, client, []string{"b"}).Result(); err != nil || got != "value of b" {
		t.Errorf("a script: %v, %v", got, err)
	}
	if err := client.Do(ctx, "MGET", "a", "b").Err(); err == nil || !strings.HasPrefix(err.Error(), "CROSSSLOT ") {
		t.Errorf("MGET of two slots: %v", err)
	}
	err = client.Watch(ctx, func(tx *redis.Tx) error {
		srv.Do("SET", "a", "other")
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, "{a}1", "x", 0).Err() })
		return err
	}, "a", "{a}1")
	if !errors.Is(err, redis.TxFailedErr) {
		t.Errorf("a transaction whose key was changed: %v", err)
	}
	total := 0
	err = client.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		n, err := node.DBSize(ctx).Result()
		total += int(n)
		return err
	})
	if err != nil || total != 6 {
		t.Errorf("DBSIZE of all nodes: %d, %v", total, err)
	}
	sub := client.SSubscribe(ctx, "news")
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	if n, err := client.SPublish(ctx, "news", "hello").Result(); err != nil || n != 1 {
		t.Errorf("SPUBLISH: %d, %v", n, err)
	}
	if m, err := sub.ReceiveMessage(ctx); err != nil || m.Payload != "hello" {
		t.Errorf("a message: %v, %v", m, err)
	}
}

func TestClusterRueidis(t *testing.T) {
	srv := echomqsim.RunT(t, echomqsim.Config{Cluster: true})
	ctx := context.Background()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{srv.Addr()}, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, key := range []string{"a", "b", "c"} {
		if err := client.Do(ctx, client.B().Set().Key(key).Value("value of "+key).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	got, err := rueidis.MGet(client, ctx, []string{"a", "b", "c"})
	if err != nil || len(got) != 3 {
		t.Errorf("MGET of three slots: %v, %v", got, err)
	}
	err = client.Do(ctx, client.B().Arbitrary("MGET").Keys("a").Args("b").Build()).Error()
	if err == nil || !strings.HasPrefix(err.Error(), "CROSSSLOT ") {
		t.Errorf("MGET of two slots: %v", err)
	}
	if n := len(client.Nodes()); n != 1 {
		t.Errorf("%d nodes", n)
	}
	script := rueidis.NewLuaScript("return redis.call('GET', KEYS[1])")
	if got, err := script.Exec(ctx, client, []string{"b"}, nil).ToString(); err != nil || got != "value of b" {
		t.Errorf("a script: %q, %v", got, err)
	}
}

// The server and the client handles agree on where a key belongs.
func TestClusterSlot(t *testing.T) {
	srv := echomqsim.RunT(t, echomqsim.Config{Cluster: true})
	for _, key := range []string{"", "a", "{a}b", "x{a}{b}", "{}a", "{{a}}", "}{", "{a", "emq:{orders}:job", "\x00\xff"} {
		if got := srv.Do("CLUSTER", "KEYSLOT", key).Int; got != int64(echomq.Slot(key)) {
			t.Errorf("slot of %q: %d, the handles say %d", key, got, echomq.Slot(key))
		}
	}
}

// What a lost slot does to those who wait for its keys or its messages.
func TestClusterLostSlot(t *testing.T) {
	srv := echomqsim.RunT(t, echomqsim.Config{Cluster: true, Clock: echomqsim.Manual(time.Time{})})
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: srv.Addr(), MaxRetries: -1})
	defer client.Close()
	sub := client.SSubscribe(ctx, "a")
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	popped := make(chan error)
	go func() { popped <- client.BLPop(ctx, 0, "a").Err() }()
	for !strings.Contains(srv.Do("INFO", "clients").Str, "blocked_clients:1") {
	}
	if v := srv.Do("CLUSTER", "DELSLOTS", "15495"); v.IsErr() {
		t.Fatal(v.Str)
	}
	if err := <-popped; err == nil || err.Error() != "CLUSTERDOWN The cluster is down" {
		t.Errorf("BLPOP: %v", err)
	}
	if m, err := sub.Receive(ctx); err != nil || m.(*redis.Subscription).Kind != "sunsubscribe" {
		t.Errorf("SSUBSCRIBE: %v, %v", m, err)
	}
	if v := srv.Do("CLUSTER", "RESET", "HARD"); v.IsErr() {
		t.Error(v.Str)
	}
	if v := srv.Do("CLUSTER", "ADDSLOTSRANGE", "0", "16383"); v.IsErr() {
		t.Error(v.Str)
	}
	// Without any slots it could reach none of the nodes that have some.
	srv.Advance(5*time.Second - 1)
	if v := srv.Do("SET", "a", "1"); v.Str != "CLUSTERDOWN The cluster is down" {
		t.Error(resp.Format(v))
	}
	srv.Advance(1)
	if v := srv.Do("SET", "a", "1"); v.IsErr() {
		t.Error(v.Str)
	}
}

// testCluster is a cluster of n nodes with a client of each.
func testCluster(t *testing.T, n int) (*echomqsim.Cluster, []*echomqsim.Server) {
	t.Helper()
	c := newCluster(t, echomqsim.Config{}, n)
	return c, c.Nodes()
}

func newCluster(t *testing.T, cfg echomqsim.Config, n int) *echomqsim.Cluster {
	t.Helper()
	c, err := echomqsim.NewCluster(cfg, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, s := range c.Nodes() {
			if err := s.Check(); err != nil {
				t.Error(err)
			}
		}
		c.Close()
	})
	return c
}

// wantNode fails unless a node answers so. @0, @1... stand for the nodes' addresses, #0, #1...
// for their IDs.
func wantNode(t *testing.T, nodes []*echomqsim.Server, c *engine.Client, request, want string) {
	t.Helper()
	var fill []string
	for i, n := range nodes {
		id := n.Do("CLUSTER", "MYID").Str
		fill = append(fill, "@"+strconv.Itoa(i), n.Addr(), "#"+strconv.Itoa(i), id)
	}
	r := strings.NewReplacer(fill...)
	v := c.Do(strings.Fields(r.Replace(request))...)
	if got := strings.TrimRight(resp.Format(v), "\n"); got != r.Replace(want) {
		t.Errorf("%s\n got: %s\nwant: %s", request, got, r.Replace(want))
	}
}

// moveSlotSteps are requests to the nodes, T being the first one's host and port; node -1 is
// a wait until all have heard.
var moveSlotSteps = []struct {
	node          int
	request, want string
}{
	{0, "SET a 1", "-MOVED 15495 @2"},
	{2, "SET a 1", "+OK"},
	{2, "SET {a}2 2", "+OK"},
	{2, "GET b", "-MOVED 3300 @0"},
	{2, "MGET a b", "-CROSSSLOT Keys in request don't hash to the same slot"},
	{0, "MULTI", "+OK"},
	{0, "GET a", "-MOVED 15495 @2"},
	{0, "EXEC", "-EXECABORT Transaction discarded because of previous errors."},
	{0, "EVAL return(redis.pcall('get',ARGV[1])) 0 a", "-ERR Script attempted to access a non local key in a cluster node"},
	{0, "ASKING", "+OK"},
	{0, "GET a", "-MOVED 15495 @2"},
	{0, "CLUSTER SETSLOT 15495 MIGRATING #2", "-ERR I'm not the owner of hash slot 15495"},
	{2, "CLUSTER SETSLOT 15495 IMPORTING #0", "-ERR I'm already the owner of hash slot 15495"},
	{2, "CLUSTER SETSLOT 15495 NODE #0", "-ERR Can't assign hashslot 15495 to a different node while I still hold keys for this hash slot."},
	{0, "CLUSTER SETSLOT 15495 IMPORTING #2", "+OK"},
	{2, "CLUSTER SETSLOT 15495 MIGRATING #0", "+OK"},
	{2, "GET a", "$1"},
	{2, "GET {a}3", "-ASK 15495 @0"},
	{2, "MGET a {a}3", "-TRYAGAIN Multiple keys request during rehashing of slot"},
	{2, "MGET {a}3 {a}4", "-ASK 15495 @0"},
	{0, "GET {a}3", "-MOVED 15495 @2"},
	{0, "ASKING", "+OK"},
	{0, "SET {a}3 3", "+OK"},
	{0, "GET {a}3", "-MOVED 15495 @2"},
	{0, "ASKING", "+OK"},
	{0, "MGET {a}3 a", "-TRYAGAIN Multiple keys request during rehashing of slot"},
	{0, "ASKING", "+OK"},
	{0, "MULTI", "+OK"},
	{0, "GET {a}3", "+QUEUED"},
	{0, "GET {a}3", "+QUEUED"},
	{0, "EXEC", "*\n  $3\n  $3"},
	{0, "GET {a}3", "-MOVED 15495 @2"},
	{2, "MIGRATE T a 0 5000 KEYS a", "-ERR When using MIGRATE KEYS option, the key argument must be set to the empty string"},
	{2, "MIGRATE T a 0 5000", "+OK"},
	{2, "MIGRATE T {a}none 0 5000", "+NOKEY"},
	{2, "GET a", "-ASK 15495 @0"},
	{2, "MIGRATE T {a}2 0 5000", "+OK"},
	{2, "CLUSTER COUNTKEYSINSLOT 15495", ":0"},
	{0, "CLUSTER SETSLOT 15495 NODE #0", "+OK"},
	{0, "MGET a {a}2 {a}3", "*\n  $1\n  $2\n  $3"},
	{-1, "", ""},
	{1, "GET a", "-MOVED 15495 @0"},
	{2, "GET a", "-MOVED 15495 @0"},
	{2, "CLUSTER SETSLOT 15495 NODE #0", "+OK"},
	{0, "CLUSTER COUNTKEYSINSLOT 15495", ":3"},
}

// A slot moves from one node to another, as resharding tools do it. "a" is in slot 15495,
// the last third's, "b" in 3300, the first one's.
func TestClusterMoveSlot(t *testing.T) {
	cluster, nodes := testCluster(t, 3)
	clients := make([]*engine.Client, 3)
	for i, n := range nodes {
		clients[i] = n.NewClient()
	}
	host, port, _ := net.SplitHostPort(nodes[0].Addr())
	for _, s := range moveSlotSteps {
		if s.node < 0 {
			cluster.Settle()
			continue
		}
		wantNode(t, nodes, clients[s.node], strings.Replace(s.request, " T ", " "+host+" "+port+" ", 1), s.want)
	}
	for i, n := range nodes {
		lines := strings.Split(strings.TrimSpace(n.Do("CLUSTER", "NODES").Str), "\n")
		ranges := 0
		for _, l := range lines {
			ranges += len(strings.Fields(l)) - 8
		}
		if len(lines) != 3 || ranges != 5 || strings.Count(strings.Join(lines, ""), "myself,") != 1 {
			t.Errorf("CLUSTER NODES of node %d: %d ranges in\n%s", i, ranges, strings.Join(lines, "\n"))
		}
		if v := n.Do("CLUSTER", "SLOTS"); len(v.Elems) != 5 {
			t.Errorf("CLUSTER SLOTS of node %d: %s", i, resp.Format(v))
		}
		if v := n.Do("CLUSTER", "SHARDS"); len(v.Elems) != 3 {
			t.Errorf("CLUSTER SHARDS of node %d: %s", i, resp.Format(v))
		}
		for _, line := range []string{"cluster_state:ok", "cluster_known_nodes:3", "cluster_size:3", "cluster_current_epoch:4"} {
			if info := n.Do("CLUSTER", "INFO").Str; !strings.Contains(info, line+"\r\n") {
				t.Errorf("node %d: no %s in\n%s", i, line, info)
			}
		}
	}
}

// Clients of a cluster find all keys while slots move from node to node and back.
func TestClusterGoRedisWhileSlotsMove(t *testing.T) {
	_, nodes := testCluster(t, 3)
	ctx := context.Background()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nodes[0].Addr()}, MaxRedirects: 20})
	defer client.Close()
	const keys = 40
	var stop atomic.Bool
	done := make(chan int)
	go func() {
		rounds := 0
		for !stop.Load() || rounds == 0 {
			rounds++
			for k := range keys {
				if n, err := client.Incr(ctx, strconv.Itoa(k)).Result(); err != nil || int(n) != rounds {
					t.Errorf("key %d: %d in round %d, %v", k, n, rounds, err)
				}
			}
		}
		done <- rounds
	}()
	for turn := range 3 {
		for k := range keys {
			key := strconv.Itoa(k)
			slot := strconv.Itoa(echomq.Slot(key))
			from := slices.IndexFunc(nodes, func(n *echomqsim.Server) bool {
				v := n.Do("CLUSTER", "SETSLOT", slot, "MIGRATING", nodes[0].Do("CLUSTER", "MYID").Str)
				n.Do("CLUSTER", "SETSLOT", slot, "STABLE")
				return !v.IsErr()
			})
			to := (from + 1 + turn%2) % 3
			moveSlot(t, nodes[from], nodes[to], slot, 10)
		}
	}
	stop.Store(true)
	if rounds := <-done; rounds < 1 {
		t.Error("no round")
	}
	for k := range keys {
		if err := client.Get(ctx, strconv.Itoa(k)).Err(); err != nil {
			t.Errorf("key %d: %v", k, err)
		}
	}
}

// moveSlot moves a slot with its keys, some at once.
func moveSlot(t *testing.T, from, to *echomqsim.Server, slot string, some int) {
	t.Helper()
	do := func(s *echomqsim.Server, args ...string) resp.Value {
		v := s.Do(args...)
		if v.IsErr() {
			t.Errorf("%s: %s", args, v.Str)
		}
		return v
	}
	source, target := do(from, "CLUSTER", "MYID").Str, do(to, "CLUSTER", "MYID").Str
	host, port, _ := net.SplitHostPort(to.Addr())
	do(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", source)
	do(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", target)
	for {
		keys := do(from, "CLUSTER", "GETKEYSINSLOT", slot, strconv.Itoa(some)).Elems
		if len(keys) == 0 {
			break
		}
		args := []string{"MIGRATE", host, port, "", "0", "5000", "KEYS"}
		for _, k := range keys {
			args = append(args, k.Str)
		}
		do(from, args...)
	}
	do(to, "CLUSTER", "SETSLOT", slot, "NODE", target)
	do(from, "CLUSTER", "SETSLOT", slot, "NODE", target)
}

// TestClusterLog pins that the lines of the nodes' log say whose they are.
func TestClusterLog(t *testing.T) {
	var lines []string // written by turns, which Do waits for
	c, err := echomqsim.NewCluster(echomqsim.Config{Log: func(_ engine.LogLevel, message string) {
		if strings.Contains(message, "from a script") {
			lines = append(lines, message)
		}
	}}, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, i := range []int{1, 0} {
		if v := c.Nodes()[i].Do("EVAL", "redis.log(redis.LOG_WARNING, 'from a script')", "0"); v.IsErr() {
			t.Fatal(v.Str)
		}
	}
	if want := []string{"node 1: from a script", "node 0: from a script"}; !slices.Equal(lines, want) {
		t.Errorf("log lines %q, want %q", lines, want)
	}
}
