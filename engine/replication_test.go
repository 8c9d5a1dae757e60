package engine

import (
	"bufio"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/echomq/echomq-sim/resp"
)

// testReplica is a connection that is a replica.
type testReplica struct {
	t  *testing.T
	nc net.Conn
	in *bufio.Reader
}

func (s *testServer) replica(t *testing.T) *testReplica {
	t.Helper()
	nc, err := s.mem.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(10 * time.Second))
	r := &testReplica{t, nc, bufio.NewReader(nc)}
	r.send("REPLCONF", "listening-port", "7000", "capa", "psync2")
	r.want("+OK\r\n")
	return r
}

func (r *testReplica) send(args ...string) {
	r.t.Helper()
	if _, err := r.nc.Write(resp.AppendRequest(nil, args...)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *testReplica) line() string {
	r.t.Helper()
	line, err := r.in.ReadString('\n')
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func (r *testReplica) want(text string) {
	r.t.Helper()
	have := make([]byte, len(text))
	if n, err := io.ReadFull(r.in, have); err != nil || string(have) != text {
		r.t.Fatalf("%q instead of %q: %v", have[:n], text, err)
	}
}

// fullSync fetches all data and returns the id and the offset that it is told.
func (r *testReplica) fullSync() (id, offset string) {
	r.t.Helper()
	r.send("PSYNC", "?", "-1")
	words := strings.Fields(r.line())
	n, err := strconv.Atoi(strings.TrimPrefix(r.line(), "$"))
	if len(words) != 3 || words[0] != "+FULLRESYNC" || err != nil {
		r.t.Fatal(words, err)
	}
	file := make([]byte, n)
	if _, err := io.ReadFull(r.in, file); err != nil || !strings.HasPrefix(string(file), "REDIS") {
		r.t.Fatalf("%q: %v", file[:min(n, 9)], err)
	}
	return words[1], words[2]
}

func TestReplicaAcknowledges(t *testing.T) {
	e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
	srv := serveTest(t, e)
	r := srv.replica(t)
	if _, offset := r.fullSync(); offset != "0" {
		t.Error("the stream begins at ", offset)
	}
	c := srv.dial()
	c.send("SET", "k", "v")
	c.want("+OK")
	set := string(resp.AppendRequest(resp.AppendRequest(nil, "SELECT", "0"), "SET", "k", "v"))
	r.want(set)
	c.send("WAIT", "1", "0")
	r.want(string(resp.AppendRequest(nil, "REPLCONF", "GETACK", "*")))
	r.send("REPLCONF", "ACK", strconv.Itoa(len(set)-1)) // not yet
	r.send("REPLCONF", "ACK", strconv.Itoa(len(set)))
	c.want(":1")
	c.send("WAIT", "0", "0")
	c.want(":1")
	if v := resp.Format(e.Do("ROLE")); !strings.Contains(v, "$7000\n      $"+strconv.Itoa(len(set))) {
		t.Error(v)
	}
	if v := e.Do("INFO", "replication").Str; !strings.Contains(v, "slave0:ip=") || !strings.Contains(v, "state=online,offset=50,lag=0") {
		t.Error(v)
	}
	if v := e.Do("WAIT", "2", "0", "x"); !v.IsErr() {
		t.Error(v)
	}
	c.send("WAIT", "2", "100")
	r.want(string(resp.AppendRequest(nil, "REPLCONF", "GETACK", "*")))
	e.Advance(time.Second)
	c.want(":1")
}

func TestMinReplicas(t *testing.T) {
	e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
	srv := serveTest(t, e)
	e.Do("CONFIG", "SET", "min-replicas-to-write", "1")
	if v := e.Do("SET", "k", "v"); !strings.HasPrefix(v.Str, "NOREPLICAS") {
		t.Error(v)
	}
	srv.replica(t).fullSync()
	if v := e.Do("SET", "k", "v"); v.Str != "OK" {
		t.Error(v)
	}
	e.Advance(11 * time.Second) // more than min-replicas-max-lag
	if v := e.Do("SET", "k", "v"); !strings.HasPrefix(v.Str, "NOREPLICAS") {
		t.Error(v)
	}
}

func TestReplicaComesBack(t *testing.T) {
	e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
	srv := serveTest(t, e)
	r := srv.replica(t)
	id, _ := r.fullSync()
	e.Do("SET", "a", "1")
	e.Do("CLIENT", "KILL", "TYPE", "replica")
	e.Do("SET", "b", "2")
	missed := resp.AppendRequest(resp.AppendRequest(nil, "SELECT", "0"), "SET", "a", "1")
	seen := len(missed)
	missed = resp.AppendRequest(missed, "SET", "b", "2")

	r = srv.replica(t)
	r.send("PSYNC", id, strconv.Itoa(seen+1))
	r.want("+CONTINUE " + id + "\r\n" + string(missed[seen:]))
	if n := e.Do("CLIENT", "KILL", "TYPE", "replica").Int; n != 1 {
		t.Error(n)
	}
	for _, c := range [][2]string{{id, strconv.Itoa(len(missed) + 2)}, {id, "0"}, {strings.Repeat("0", 40), "1"}} {
		r = srv.replica(t)
		r.send("PSYNC", c[0], c[1])
		if line := r.line(); !strings.HasPrefix(line, "+FULLRESYNC "+id) {
			t.Error(c, line)
		}
	}
	// What replaces the data no stream tells: the history ends.
	e.Restore(e.Snapshot())
	if _, err := io.Copy(io.Discard, r.in); err != nil {
		t.Error(err)
	}
	r = srv.replica(t)
	r.send("PSYNC", id, strconv.Itoa(len(missed)+1))
	if line := r.line(); strings.HasPrefix(line, "+FULLRESYNC "+id) {
		t.Error(line)
	}
}

func TestReplicaTimes(t *testing.T) {
	e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
	srv := serveTest(t, e)
	r := srv.replica(t)
	id, _ := r.fullSync()
	e.Advance(10 * time.Second)
	ping := string(resp.AppendRequest(nil, "PING"))
	r.want(ping)
	e.Do("CONFIG", "SET", "repl-ping-replica-period", "3")
	e.Advance(3 * time.Second)
	r.want(ping)
	e.Do("CONFIG", "SET", "repl-ping-replica-period", "3600")
	e.Advance(48 * time.Second) // more than repl-timeout since it came
	if rest, err := io.ReadAll(r.in); err != nil || len(rest) > 0 {
		t.Errorf("%q %v", rest, err)
	}
	if v := e.Do("INFO", "replication").Str; !strings.Contains(v, "connected_slaves:0\r\n") || !strings.Contains(v, "repl_backlog_active:1\r\n") {
		t.Error(v)
	}
	e.Advance(3601 * time.Second) // more than repl-backlog-ttl
	if v := e.Do("INFO", "replication").Str; !strings.Contains(v, "repl_backlog_active:0\r\n") || strings.Contains(v, id) {
		t.Error(v)
	}
}

func TestBacklogIsBounded(t *testing.T) {
	e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
	srv := serveTest(t, e)
	e.Do("CONFIG", "SET", "repl-backlog-size", "16384")
	id, _ := srv.replica(t).fullSync()
	e.Do("CLIENT", "KILL", "TYPE", "replica")
	value := strings.Repeat("x", 1000)
	for range 100 {
		e.Do("SET", "k", value)
	}
	r := &e.core.repl
	if len(r.backlog) > 2*16384 || r.length() != 16384 {
		t.Error(len(r.backlog), r.length())
	}
	back := srv.replica(t)
	back.send("PSYNC", id, strconv.FormatInt(r.first(), 10))
	back.want("+CONTINUE " + id + "\r\n" + string(r.backlog[len(r.backlog)-16384:]))
	late := srv.replica(t)
	late.send("PSYNC", id, strconv.FormatInt(r.first()-1, 10))
	if line := late.line(); !strings.HasPrefix(line, "+FULLRESYNC") {
		t.Error(line)
	}
}

// A replica may not do what other clients do, nor may a client with replies pending, or
// without a connection, become one.
func TestReplicaGates(t *testing.T) {
	e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
	srv := serveTest(t, e)
	r := srv.replica(t)
	r.fullSync()
	r.send("GET", "k")
	r.want("-ERR Replica can't interact with the keyspace\r\n")
	r.send("SYNC")
	r.send("PING")
	r.want("+PONG\r\n")
	if v := e.Do("SYNC"); !v.IsErr() {
		t.Error(v)
	}
	other := srv.dial()
	if _, err := other.nc.Write([]byte("PING\r\nSYNC\r\n")); err != nil {
		t.Fatal(err)
	}
	other.want("+PONG")
	other.want("-ERR SYNC and PSYNC are invalid with pending output")
	if v := e.Do("CLIENT", "LIST", "TYPE", "replica").Str; strings.Count(v, "flags=S ") != 1 {
		t.Error(v)
	}
}

// With rdb-only a client gets the file and nothing else; filters leave things out.
func TestReplicaOnlyFile(t *testing.T) {
	e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
	srv := serveTest(t, e)
	e.Do("SET", "thekey", "v")
	for _, filtered := range []bool{false, true} {
		r := srv.replica(t)
		r.send("REPLCONF", "rdb-only", "1")
		r.want("+OK\r\n")
		if filtered {
			r.send("REPLCONF", "rdb-filter-only", "functions")
			r.want("+OK\r\n")
		}
		r.send("SYNC")
		all, err := io.ReadAll(r.in)
		if err != nil || strings.Contains(string(all), "thekey") == filtered {
			t.Errorf("filtered %v: %q %v", filtered, all, err)
		}
	}
}

// What SCAN meets by chance is no unit; what a transaction meets is part of it.
func TestExpiryUnits(t *testing.T) {
	e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
	srv := serveTest(t, e)
	e.Do("DEBUG", "SET-ACTIVE-EXPIRE", "0")
	for _, c := range []struct{ run, start, end string }{{"SCAN", "", ""}, {"EXEC", "MULTI", "EXEC"}} {
		e.Do("SET", "a", "v", "PX", "1")
		e.Do("SET", "b", "v", "PX", "1")
		e.Advance(time.Second)
		r := srv.replica(t)
		r.fullSync()
		var want []byte
		add := func(args ...string) {
			if args[0] != "" {
				want = resp.AppendRequest(want, args...)
			}
		}
		add(c.start)
		add("SELECT", "0")
		add("UNLINK", "a")
		add("UNLINK", "b")
		add(c.end)
		if c.run == "EXEC" {
			e.Do("MULTI")
			e.Do("EXISTS", "a", "b")
			e.Do("EXEC")
		} else {
			e.Do("SCAN", "0")
		}
		r.want(string(want))
	}
}

// A replica that does not read is given up over the limit of its class, which is not below
// the backlog; one that reads stays.
func TestReplicaOutputLimit(t *testing.T) {
	e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
	srv := serveTest(t, e)
	e.Do("CONFIG", "SET", "client-output-buffer-limit", "replica 100kb 0 0", "repl-backlog-size", "2mb")
	slow, quick := srv.replica(t), srv.replica(t)
	slow.fullSync()
	quick.fullSync()
	value := strings.Repeat("x", 1<<20)
	connected := func() string { return e.Do("INFO", "replication").Str }
	for i := range 8 {
		e.Do("SET", "k", value)
		if i == 0 {
			quick.want(string(resp.AppendRequest(nil, "SELECT", "0")))
		}
		quick.want(string(resp.AppendRequest(nil, "SET", "k", value)))
		if i == 1 && !strings.Contains(connected(), "connected_slaves:2\r\n") {
			t.Error("below the size of the backlog it is given up")
		}
	}
	if v := connected(); !strings.Contains(v, "connected_slaves:1\r\n") {
		t.Error(v)
	}
	if v := e.Do("INFO", "stats").Str; !strings.Contains(v, "client_output_buffer_limit_disconnections:1\r\n") {
		t.Error(v)
	}
}
