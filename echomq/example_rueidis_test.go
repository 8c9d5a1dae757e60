package echomq_test

import (
	"context"
	"fmt"
	"log"

	"github.com/echomq/echomq-sim/echomq"
	"github.com/redis/rueidis"
)

// rueidisConn makes a Conn from a rueidis client. rueidis drops the word ERR
// from the text of an error; every other code arrives whole.
func rueidisConn(client rueidis.Client) echomq.Conn {
	return echomq.ConnFunc(func(ctx context.Context, args ...string) (any, error) {
		reply, err := rueidisDo(ctx, client, args)
		if rueidis.IsRedisNil(err) {
			return nil, nil
		}
		if refused, ok := rueidis.IsRedisErr(err); ok {
			return nil, echomq.ServerError(refused.Error())
		}
		return reply, err
	})
}

// rueidisDo takes SCRIPT LOAD to every node of a cluster; Do would pick one. A
// client of a single server has one node.
func rueidisDo(ctx context.Context, client rueidis.Client, args []string) (reply any, err error) {
	if len(args) < 2 || args[0] != "SCRIPT" || args[1] != "LOAD" {
		return client.Do(ctx, client.B().Arbitrary(args...).Build()).ToAny()
	}
	for _, node := range client.Nodes() {
		reply, err = node.Do(ctx, node.B().Arbitrary(args...).Build()).ToAny()
		if err != nil {
			return nil, err
		}
	}
	return reply, nil
}

// With rueidis: a server that speaks RESP2 only needs AlwaysRESP2 and
// DisableCache.
func ExampleConnFunc_rueidis() {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"localhost:6379"}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	const id = echomq.BrandedID("JOB0JZGkPhnV4B")
	verdict, err := echomq.Enqueue(context.Background(), rueidisConn(client), "orders", id, `{"order":17}`)
	fmt.Println(verdict, err)
}
