package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/echomq/echomq-sim/resp"
)

// clusterReady is what the ready line tells of a cluster.
type clusterReady struct {
	Addr, CACert string
	Port         int
	Nodes        []struct {
		Addr, Host, URL string
		Port            int
	}
}

// addrs are the addresses of n nodes, of which the first one's is the line's own.
func (r *clusterReady) addrs(t *testing.T, n int, scheme string) (list []string) {
	t.Helper()
	for _, node := range r.Nodes {
		list = append(list, node.Addr)
		host, _, _ := net.SplitHostPort(node.Addr)
		if node.Host != host || node.URL != scheme+node.Addr || !strings.HasSuffix(node.Addr, ":"+strconv.Itoa(node.Port)) {
			t.Errorf("%+v", node)
		}
	}
	if len(list) != n || list[0] != r.Addr || r.Nodes[0].Port != r.Port {
		t.Fatalf("%+v, want %d nodes", *r, n)
	}
	return list
}

// ask runs a command on a connection of its own, "gone" if that is closed instead.
func ask(t *testing.T, addr string, args ...string) string {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return err.Error()
	}
	c := resp.NewClient(nc)
	defer c.Close()
	v, err := c.Do(args...)
	if err != nil {
		return "gone"
	}
	return strings.TrimSpace(resp.Format(v))
}

// A process serves several nodes, with the same flags, until the last one is gone.
func TestClusterNodes(t *testing.T) {
	stdin, _ := io.Pipe()
	stdoutR, stdoutW := io.Pipe()
	code := make(chan int, 1)
	go func() {
		args := []string{"--cluster-nodes", "3", "--addr", "127.0.0.1:0", "--ready-json", "--enable-debug-command", "yes"}
		code <- run(context.Background(), args, stdin, stdoutW, io.Discard)
	}()
	var ready clusterReady
	if err := json.NewDecoder(stdoutR).Decode(&ready); err != nil {
		t.Fatal(err)
	}
	nodes := ready.addrs(t, 3, "redis://")
	for i, n := range nodes {
		want := "-MOVED 15495 " + nodes[2]
		if i == 2 {
			want = "+OK"
		}
		if got := ask(t, n, "SET", "a", "1"); got != want {
			t.Errorf("SET on node %d: %s, want %s", i, got, want)
		}
		if got := ask(t, n, "DEBUG", "SET-ACTIVE-EXPIRE", "1"); got != "+OK" {
			t.Errorf("DEBUG on node %d: %s", i, got)
		}
	}
	for i, n := range nodes {
		if got := ask(t, n, "SHUTDOWN"); got != "gone" {
			t.Errorf("SHUTDOWN of node %d: %s", i, got)
		}
		if i < 2 {
			if got := ask(t, nodes[2], "GET", "a"); got != "$1" {
				t.Errorf("GET after %d of 3 were shut down: %s", i+1, got)
			}
			select {
			case c := <-code:
				t.Fatalf("it left with code %d before its last node", c)
			default:
			}
		}
	}
	if c := <-code; c != 0 {
		t.Errorf("exit code %d", c)
	}
}

func TestClusterNodesTLS(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	line, stop := start(t, "--cluster-nodes", "2", "--addr", "127.0.0.1:0", "--ready-json", "--tls")
	var ready clusterReady
	if err := json.Unmarshal([]byte(line), &ready); err != nil {
		t.Fatalf("ready line %q: %v", line, err)
	}
	for _, n := range ready.addrs(t, 2, "rediss://") {
		if got, err := ping(n, trusting(t, ready.CACert)); got != "PONG" {
			t.Errorf("PING answered %q, %v", got, err)
		}
	}
	if code := stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, n := range ready.Nodes {
		if _, err := net.Dial("tcp", n.Addr); err == nil {
			t.Error("still listening after the end")
		}
	}
}

func TestClusterStartLine(t *testing.T) {
	line, stop := start(t, "--cluster-nodes", "3", "--addr", "127.0.0.1:0")
	defer stop()
	if strings.Count(line, "127.0.0.1:") != 3 {
		t.Errorf("start line %q", line)
	}
}
