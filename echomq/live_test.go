package echomq_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/echomq"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// addrVariable names the host:port of another server to test against. The tests
// flush its scripts and delete the keys of their queues.
const addrVariable = "ECHOMQSIM_TEST_ADDR"

// queue is the live tests' own.
const queue = "echomq-live-test"

// onEveryClient runs test on a fresh queue with each client and protocol. The
// server holds no script when it begins.
func onEveryClient(t *testing.T, test func(t *testing.T, conn echomq.Conn)) {
	addr := os.Getenv(addrVariable)
	if addr == "" {
		addr = echomqsim.RunT(t, echomqsim.Config{}).Addr()
	}
	for _, client := range []struct {
		name, proto string
		dial        func(t *testing.T, addr string) echomq.Conn
	}{
		{"go-redis/RESP2", "2", func(t *testing.T, addr string) echomq.Conn { return dialGoRedis(t, addr, 2) }},
		{"go-redis/RESP3", "3", func(t *testing.T, addr string) echomq.Conn { return dialGoRedis(t, addr, 3) }},
		{"rueidis/RESP2", "2", func(t *testing.T, addr string) echomq.Conn { return dialRueidis(t, addr, true) }},
		{"rueidis/RESP3", "3", func(t *testing.T, addr string) echomq.Conn { return dialRueidis(t, addr, false) }},
	} {
		t.Run(client.name, func(t *testing.T) {
			conn := client.dial(t, addr)
			checkProto(t, conn, client.proto)
			clean := func() { deleteQueue(t, conn) }
			clean()
			t.Cleanup(clean)
			want(t, conn, "OK", "SCRIPT", "FLUSH")
			test(t, conn)
		})
	}
}

func checkProto(t *testing.T, conn echomq.Conn, proto string) {
	t.Helper()
	info, err := conn.Do(background, "CLIENT", "INFO")
	if err != nil || !strings.Contains(fmt.Sprint(info), " resp="+proto) {
		t.Fatalf("the connection must speak RESP%s: %v, %v", proto, info, err)
	}
}

func dialGoRedis(t *testing.T, addr string, protocol int) echomq.Conn {
	client := redis.NewClient(&redis.Options{Addr: addr, Protocol: protocol})
	t.Cleanup(func() { client.Close() })
	return goRedisConn(client)
}

func dialRueidis(t *testing.T, addr string, resp2 bool) echomq.Conn {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{addr}, AlwaysRESP2: resp2, DisableCache: true, ForceSingleClient: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return rueidisConn(client)
}

// background is for commands of the cleanup, when the test's context is over.
var background = context.Background()

func deleteQueue(t *testing.T, conn echomq.Conn) {
	t.Helper()
	keys, err := conn.Do(background, "KEYS", "emq:{"+queue+"}:*")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys.([]any) {
		want(t, conn, int64(1), "DEL", key.(string))
	}
}

// want checks a command's reply.
func want(t *testing.T, conn echomq.Conn, reply any, args ...string) {
	t.Helper()
	got, err := conn.Do(background, args...)
	if err != nil || !reflect.DeepEqual(got, reply) {
		t.Errorf("%q: got %v, %v; want %v", args, got, err, reply)
	}
}

func enqueue(t *testing.T, conn echomq.Conn, id echomq.BrandedID, payload string, verdict echomq.Verdict) {
	t.Helper()
	if got, err := echomq.Enqueue(t.Context(), conn, queue, id, payload); got != verdict || err != nil {
		t.Errorf("enqueue %s: got %v, %v; want %v", id, got, err, verdict)
	}
}

func liveKeys(t *testing.T, id echomq.BrandedID) (row, pending string) {
	t.Helper()
	row, err := echomq.JobKey(queue, id)
	if err != nil {
		t.Fatal(err)
	}
	pending, err = echomq.QueueKey(queue, echomq.PendingSuffix)
	if err != nil {
		t.Fatal(err)
	}
	return row, pending
}

func TestLiveEnqueue(t *testing.T) {
	onEveryClient(t, func(t *testing.T, conn echomq.Conn) {
		const payload = "\x00\r\n\xff {}"
		row, pending := liveKeys(t, jobID)
		enqueue(t, conn, jobID, payload, echomq.Enqueued)
		enqueue(t, conn, jobID, "another", echomq.Duplicate)

		want(t, conn, int64(3), "HLEN", row)
		want(t, conn, []any{"pending", "0", payload}, "HMGET", row, "state", "attempts", "payload")
		want(t, conn, []any{jobID}, "ZRANGE", pending, "0", "-1")
		want(t, conn, int64(1), "ZCOUNT", pending, "0", "0")
	})
}

func TestLiveKind(t *testing.T) {
	onEveryClient(t, func(t *testing.T, conn echomq.Conn) {
		row, pending := liveKeys(t, orderID)
		v, err := echomq.Enqueue(t.Context(), conn, queue, orderID, "p")
		if v != 0 || !errors.Is(err, echomq.ErrKind) || err != echomq.ServerError("EMQKIND job id must be JOB-namespaced") {
			t.Errorf("got %v, %#v", v, err)
		}
		want(t, conn, int64(0), "EXISTS", row, pending)
	})
}

func TestLiveScriptFlush(t *testing.T) {
	onEveryClient(t, func(t *testing.T, conn echomq.Conn) {
		script := echomq.NewScript("seven", "return {7, KEYS[1], ARGV[1], false}")
		want(t, conn, []any{int64(0)}, "SCRIPT", "EXISTS", script.SHA)
		for range 2 {
			reply, err := script.Run(t.Context(), conn, []string{"k"}, "v")
			if err != nil || !reflect.DeepEqual(reply, []any{int64(7), "k", "v", nil}) {
				t.Errorf("got %v, %v", reply, err)
			}
			want(t, conn, []any{int64(1)}, "SCRIPT", "EXISTS", script.SHA)
			want(t, conn, "OK", "SCRIPT", "FLUSH")
		}
	})
}

func TestLiveNullReply(t *testing.T) {
	onEveryClient(t, func(t *testing.T, conn echomq.Conn) {
		reply, err := echomq.NewScript("none", "return false").Run(t.Context(), conn, nil)
		if reply != nil || err != nil {
			t.Errorf("got %v, %v", reply, err)
		}
	})
}

func TestLiveOtherErrorsPass(t *testing.T) {
	onEveryClient(t, func(t *testing.T, conn echomq.Conn) {
		_, pending := liveKeys(t, jobID)
		want(t, conn, "OK", "SET", pending, "not a sorted set")
		v, err := echomq.Enqueue(t.Context(), conn, queue, jobID, "p")
		if v != 0 || !errors.Is(err, echomq.ServerError("WRONGTYPE")) || errors.Is(err, echomq.ErrKind) {
			t.Errorf("got %v, %v", v, err)
		}
		_, err = echomq.NewScript("broken", "return (").Run(t.Context(), conn, nil)
		var refused echomq.ServerError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "Error compiling script") {
			t.Errorf("got %#v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := echomq.Enqueue(ctx, conn, queue, jobID, "p"); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: got %v", err)
		}
	})
}

// The server's order of the pending jobs is the order in which they were minted.
func TestLiveOrder(t *testing.T) {
	onEveryClient(t, func(t *testing.T, conn echomq.Conn) {
		_, pending := liveKeys(t, jobID)
		clock := &fakeClock{1767225600123}
		m := newMinter(t, 4, clock.now)
		minted := make([]any, 100)
		for i := range minted {
			id, err := m.Mint(echomq.JobNamespace)
			if err != nil {
				t.Fatal(err)
			}
			minted[i] = string(id)
			clock.unixMs += int64(i%7) - 3
		}
		for i := range minted {
			id := minted[(i*37+11)%len(minted)].(string)
			enqueue(t, conn, echomq.BrandedID(id), fmt.Sprint(i), echomq.Enqueued)
		}
		want(t, conn, minted, "ZRANGE", pending, "0", "-1")
		want(t, conn, []any{minted[99], minted[98]}, "ZRANGE", pending, "+", "-", "BYLEX", "REV", "LIMIT", "0", "2")
	})
}
