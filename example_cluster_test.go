package echomqsim_test

import (
	"fmt"
	"net"
	"strings"
	"time"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/resp"
)

// Three nodes in one process: a slot moves from the last to the first, as resharding tools
// move it, and then the second one goes and comes back.
func ExampleNewCluster() {
	c, err := echomqsim.NewCluster(echomqsim.Config{Clock: echomqsim.Manual(time.Time{})}, 3)
	if err != nil {
		panic(err)
	}
	defer c.Close()
	nodes := c.Nodes()
	do := func(i int, command string) string {
		text := strings.TrimSpace(resp.Format(c.Nodes()[i].Do(strings.Fields(command)...)))
		for j, n := range nodes { // their ports are others in each run
			text = strings.ReplaceAll(text, n.Addr(), fmt.Sprint("node ", j))
		}
		return text
	}

	fmt.Println(do(0, "SET user 1"))
	fmt.Println(do(1, "SET user 1"))
	first, second := nodes[0].Do("CLUSTER", "MYID").Str, nodes[1].Do("CLUSTER", "MYID").Str
	host, port, _ := net.SplitHostPort(nodes[0].Addr())
	do(0, "CLUSTER SETSLOT 5474 IMPORTING "+second)
	do(1, "CLUSTER SETSLOT 5474 MIGRATING "+first)
	fmt.Println(do(1, "GET {user}:new"))
	fmt.Println(do(1, "MIGRATE "+host+" "+port+" user 0 5000"))
	do(0, "CLUSTER SETSLOT 5474 NODE "+first)
	c.Settle() // the others hear of it
	fmt.Println(do(1, "GET user"))
	fmt.Println(do(0, "GET user"))

	c.Stop(1)
	fmt.Println(do(0, "GET foo{c}")) // nobody knows yet
	c.Advance(15 * time.Second)      // cluster-node-timeout
	fmt.Println(do(0, "GET user"))
	if err := c.Start(1); err != nil {
		panic(err)
	}
	c.Advance(31 * time.Second) // twice that, and a little
	fmt.Println(do(0, "GET user"))
	// Output:
	// -MOVED 5474 node 1
	// +OK
	// -ASK 5474 node 0
	// +OK
	// -MOVED 5474 node 0
	// $1
	// -MOVED 7365 node 1
	// -CLUSTERDOWN The cluster is down
	// $1
}
