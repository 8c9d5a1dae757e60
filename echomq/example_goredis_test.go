package echomq_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/echomq/echomq-sim/echomq"
	"github.com/redis/go-redis/v9"
)

// goRedisConn makes a Conn from any go-redis client. ScriptLoad is there for a
// ClusterClient, which takes it to every primary; Do would pick one.
func goRedisConn(client redis.UniversalClient) echomq.Conn {
	return echomq.ConnFunc(func(ctx context.Context, args ...string) (any, error) {
		reply, err := goRedisDo(ctx, client, args)
		if errors.Is(err, redis.Nil) {
			return nil, nil
		}
		if refused := redis.Error(nil); errors.As(err, &refused) {
			return nil, echomq.ServerError(refused.Error())
		}
		return reply, err
	})
}

func goRedisDo(ctx context.Context, client redis.UniversalClient, args []string) (any, error) {
	if len(args) == 3 && args[0] == "SCRIPT" && args[1] == "LOAD" {
		return client.ScriptLoad(ctx, args[2]).Result()
	}
	words := make([]any, len(args))
	for i, arg := range args {
		words[i] = arg
	}
	return client.Do(ctx, words...).Result()
}

// With go-redis: another address is all that tells a simulator from Valkey.
func ExampleConnFunc_goRedis() {
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	defer client.Close()
	minter, err := echomq.NewMinter(4, nil)
	if err != nil {
		log.Fatal(err)
	}
	id, err := minter.Mint(echomq.JobNamespace)
	if err != nil {
		log.Fatal(err)
	}
	verdict, err := echomq.Enqueue(context.Background(), goRedisConn(client), "orders", id, `{"order":17}`)
	if errors.Is(err, echomq.ErrKind) {
		log.Fatal("not the id of a job")
	}
	fmt.Println(verdict, err)
}
