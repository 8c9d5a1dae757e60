package echomqsim_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/echomq"
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
	srv := echomqsim.RunT(t, echomqsim.Config{Cluster: true})
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
	if v := srv.Do("SET", "a", "1"); v.IsErr() {
		t.Error(v.Str)
	}
}
