package echomqsim_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/echomq"
	"github.com/echomq/echomq-sim/resp"
	"github.com/redis/go-redis/v9"
)

// inProcess makes the handles of package echomq run on a Server without a connection.
func inProcess(srv *echomqsim.Server) echomq.Conn {
	return echomq.ConnFunc(func(_ context.Context, args ...string) (any, error) {
		return goValue(srv.Do(args...))
	})
}

func goValue(v resp.Value) (any, error) {
	switch v.Kind {
	case resp.KindErr:
		return nil, echomq.ServerError(v.Str)
	case resp.KindInt:
		return v.Int, nil
	case resp.KindSimple, resp.KindBulk:
		return v.Str, nil
	case resp.KindArray:
		out := make([]any, len(v.Elems))
		for i := range v.Elems {
			out[i], _ = goValue(v.Elems[i])
		}
		return out, nil
	}
	return nil, nil
}

// The three verdicts of @enqueue, and what it leaves behind.
func Example() {
	srv, err := echomqsim.New(echomqsim.Config{})
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	ctx, conn := context.Background(), inProcess(srv)

	fmt.Println(echomq.Enqueue(ctx, conn, "mail", "JOB0JZGkPhnV4B", "hello"))
	fmt.Println(echomq.Enqueue(ctx, conn, "mail", "JOB0JZGkPhnV4B", "again"))
	fmt.Println(echomq.Enqueue(ctx, conn, "mail", "USR0KHTOWnGLuC", "hello"))
	fmt.Println(resp.Format(srv.Do("HGETALL", "emq:{mail}:job:JOB0JZGkPhnV4B")))
	fmt.Println(resp.Format(srv.Do("ZRANGE", "emq:{mail}:pending", "0", "-1")))
	// Output:
	// enqueued <nil>
	// duplicate <nil>
	// verdict(0) EMQKIND job id must be JOB-namespaced
	// %
	//   $state  $pending
	//   $attempts  $0
	//   $payload  $hello
	// *
	//   $JOB0JZGkPhnV4B
}

// A client library connects without a socket.
func ExampleServer_DialContext() {
	srv, err := echomqsim.New(echomqsim.Config{})
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", Dialer: srv.DialContext})
	defer rdb.Close()

	ctx := context.Background()
	rdb.ZAdd(ctx, "board", redis.Z{Score: 2, Member: "b"}, redis.Z{Score: 1, Member: "a"})
	fmt.Println(rdb.ZRange(ctx, "board", 0, -1).Result())
	// Output: [a b] <nil>
}

// Time moves when the test says so.
func ExampleServer_Advance() {
	srv, err := echomqsim.New(echomqsim.Config{Clock: echomqsim.Manual(time.Time{})})
	if err != nil {
		panic(err)
	}
	defer srv.Close()

	srv.Do("SET", "lock", "worker-1", "PX", "30000")
	srv.Advance(29 * time.Second)
	fmt.Println(srv.Do("EXISTS", "lock").Int)
	srv.Advance(time.Second)
	fmt.Println(srv.Do("EXISTS", "lock").Int)
	// Output:
	// 1
	// 0
}

// A snapshot is a fixture: taken once, put back before each case, in constant time.
func ExampleServer_Snapshot() {
	srv, err := echomqsim.New(echomqsim.Config{})
	if err != nil {
		panic(err)
	}
	defer srv.Close()

	srv.Do("SET", "balance", "100")
	fixture := srv.Snapshot()
	for _, cmd := range []string{"INCR", "DECR"} {
		srv.Restore(fixture)
		fmt.Println(srv.Do(cmd, "balance").Int)
	}
	// Output:
	// 101
	// 99
}

// A server's dump.rdb as the data of a test: here one that another server wrote.
func ExampleServer_LoadRDB() {
	production, err := echomqsim.New(echomqsim.Config{})
	if err != nil {
		panic(err)
	}
	defer production.Close()
	production.Do("RPUSH", "jobs", "a", "b")
	var file bytes.Buffer
	if err := production.SaveRDB(&file); err != nil {
		panic(err)
	}

	srv, err := echomqsim.New(echomqsim.Config{})
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	if err := srv.LoadRDB(&file); err != nil {
		panic(err)
	}
	fmt.Println(srv.Do("LLEN", "jobs").Int)
	fmt.Println(srv.LoadRDB(strings.NewReader("REDIS0011\x07\x01k\x00")))
	// Output:
	// 2
	// rdb: at byte 12, module value: modules are not supported
}
