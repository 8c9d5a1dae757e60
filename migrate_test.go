package echomqsim_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/resp"
)

// migrateSteps are requests to a source and a target, T being the target's host and port,
// with their answers: what Valkey's unit/dump asks of MIGRATE, and more.
var migrateSteps = [][3]string{
	{"src", `SET key "Some Value"`, "+OK"},
	{"src", `MIGRATE T key 9 5000`, "+OK"},
	{"src", `EXISTS key`, ":0"},
	{"dst", `GET key`, "$Some Value"},
	{"dst", `TTL key`, ":-1"},
	// copies
	{"src", `RPUSH list a b c d`, ":4"},
	{"src", `MIGRATE T list 9 5000 COPY`, "+OK"},
	{"src", `LLEN list`, ":4"},
	{"dst", `LRANGE list 0 -1`, "*\n  $a\n  $b\n  $c\n  $d"},
	// a key is there
	{"dst", `SET list other`, "+OK"},
	{"src", `MIGRATE T list 9 5000`, "-ERR Target instance replied with error: BUSYKEY Target key name already exists."},
	{"src", `MIGRATE T list 9 5000 COPY REPLACE`, "+OK"},
	{"src", `EXISTS list`, ":1"},
	{"dst", `TYPE list`, "+list"},
	{"src", `MIGRATE T list 9 5000 REPLACE`, "+OK"},
	{"src", `EXISTS list`, ":0"},
	// other types
	{"src", `HSET h f1 1 f2 2`, ":2"},
	{"src", `ZADD z 1.5 a 2 b`, ":2"},
	{"src", `XADD x 1-1 f v`, "$1-1"},
	{"src", `SADD s 1 2 3`, ":3"},
	{"src", `MIGRATE T "" 9 5000 KEYS h z x s`, "+OK"},
	{"src", `DBSIZE`, ":0"},
	{"dst", `HGET h f2`, "$2"},
	{"dst", `ZSCORE z a`, ",1.5"},
	{"dst", `XLEN x`, ":1"},
	{"dst", `SMISMEMBER s 1 4`, "*\n  :1\n  :0"},
	// several keys, of which those move that are there
	{"dst", `FLUSHALL`, "+OK"},
	{"src", `MSET key1 v1 key2 v2 key3 v3`, "+OK"},
	{"src", `MIGRATE T "" 9 5000 KEYS nokey-1 nokey-2 nokey-2`, "+NOKEY"},
	{"src", `MIGRATE T "" 9 5000 KEYS nokey-1 key1 nokey-2 key2 nokey-3 key3`, "+OK"},
	{"src", `EXISTS key1 key2 key3`, ":0"},
	{"dst", `MGET key1 key2 key3`, "*\n  $v1\n  $v2\n  $v3"},
	// those stay that the target does not take
	{"dst", `FLUSHALL`, "+OK"},
	{"src", `MSET a 1 b 2 c 3 d 4 e 5`, "+OK"},
	{"dst", `MSET b x d x`, "+OK"},
	{"src", `MIGRATE T "" 9 5000 KEYS a b c d e`, "-ERR Target instance replied with error: BUSYKEY Target key name already exists."},
	{"src", `EXISTS a c e`, ":0"},
	{"src", `MGET b d`, "*\n  $2\n  $4"},
	{"dst", `MGET a b c d e`, "*\n  $1\n  $x\n  $3\n  $x\n  $5"},
	// the same key twice
	{"src", `MIGRATE T "" 9 5000 REPLACE KEYS b b`, "+OK"},
	{"src", `SET a 2`, "+OK"},
	{"dst", `DEL a`, ":1"},
	{"src", `MIGRATE T "" 9 5000 KEYS a a`, "-ERR Target instance replied with error: BUSYKEY Target key name already exists."},
	{"src", `EXISTS a b`, ":0"},
	// no such database: the key is created in the one that was selected before
	{"src", `SET k v`, "+OK"},
	{"src", `MIGRATE T k 999999 5000`, "-ERR Target instance replied with error: ERR DB index is out of range"},
	{"src", `GET k`, "$v"},
	{"dst", `DEL k`, ":1"},
	// passwords
	{"src", `MIGRATE T k 9 5000 AUTH secret`, "-ERR Target instance replied with error: ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"},
	{"dst", `DEL k`, ":1"},
	{"dst", `CONFIG SET requirepass foobar`, "+OK"},
	{"src", `MIGRATE T k 9 5000 AUTH foobar`, "+OK"},
	{"dst", `GET k`, "$v"},
	{"src", `SET k v2`, "+OK"},
	{"src", `MIGRATE T k 9 5000 REPLACE AUTH wrong`, "-ERR Target instance replied with error: WRONGPASS invalid username-password pair or user is disabled."},
	{"src", `MIGRATE T k 9 5000 REPLACE AUTH2 default foobar`, "+OK"},
	{"src", `SET k v3`, "+OK"},
	{"src", `MIGRATE T k 9 5000 REPLACE AUTH2 nobody foobar`, "-ERR Target instance replied with error: WRONGPASS invalid username-password pair or user is disabled."},
	{"dst", `CONFIG SET requirepass ""`, "+OK"},
	{"src", `MIGRATE T k 9 5000 REPLACE`, "+OK"},
	// transactions and scripts go on with what is left
	{"src", `MSET k 1 other 2`, "+OK"},
	{"src", `WATCH k`, "+OK"},
	{"src2", `MIGRATE T k 9 5000 REPLACE COPY`, "+OK"},
	{"src", `MULTI`, "+OK"},
	{"src", `MIGRATE T k 9 5000 REPLACE`, "+QUEUED"},
	{"src", `GET k`, "+QUEUED"},
	{"src", `SET k 3`, "+QUEUED"},
	{"src", `EXEC`, "*\n  +OK\n  _\n  +OK"},
	{"src", `WATCH k`, "+OK"},
	{"src2", `MIGRATE T k 9 5000 REPLACE`, "+OK"},
	{"src", `MULTI`, "+OK"},
	{"src", `PING`, "+QUEUED"},
	{"src", `EXEC`, "_"},
	{"dst", `GET k`, "$3"},
	{"src", `EVAL "local r = server.call('MIGRATE', ARGV[1], ARGV[2], KEYS[1], 9, 5000); return {r.ok, server.call('EXISTS', KEYS[1])}" 1 other T`, "*\n  $OK\n  :0"},
	{"src", `SET k 4`, "+OK"},
	{"src", `EVAL "server.call('MIGRATE', ARGV[1], ARGV[2], KEYS[1], 9, 5000)" 1 k T`, "-ERR Target instance replied with error: BUSYKEY Target key name already exists. script: 63fdebd9fc1633f3f8f6bdeb8a0fd4dbe7284347, on @user_script:1."},
	// from a database into the first one
	{"src", `SELECT 3`, "+OK"},
	{"src", `SET first 1`, "+OK"},
	{"src", `MIGRATE T first 0 5000`, "+OK"},
	{"src", `SELECT 0`, "+OK"},
	{"dst", `SELECT 0`, "+OK"},
	{"dst", `GET first`, "$1"},
	{"dst", `SELECT 9`, "+OK"},
}

// migrateWays are the servers between which keys move: simulators, and the oracle.
func migrateWays(t *testing.T, f func(t *testing.T, src, dst string)) {
	sim := func(t *testing.T) string {
		return echomqsim.RunT(t, echomqsim.Config{EnableDebug: "yes"}).Addr()
	}
	t.Run("sim-sim", func(t *testing.T) { f(t, sim(t), sim(t)) })
	if oracle := os.Getenv("ECHOMQSIM_ORACLE"); oracle != "" {
		t.Run("sim-oracle", func(t *testing.T) { f(t, sim(t), oracle) })
		t.Run("oracle-sim", func(t *testing.T) { f(t, oracle, sim(t)) })
	}
}

// migrateClient is a RESP3 client of an emptied server.
func migrateClient(t *testing.T, addr string) doer {
	t.Helper()
	do := client(t, 3, func() (net.Conn, error) { return net.Dial("tcp", addr) })
	if v, err := do("FLUSHALL"); err != nil || v.IsErr() {
		t.Fatal(v.Str, err)
	}
	return do
}

// ask sends a request line and compares its answer; T stands for a server's host and port.
func ask(t *testing.T, do doer, target, line, want string) {
	t.Helper()
	host, port, _ := net.SplitHostPort(target)
	var args []string
	words, err := splitArgs(line)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range words {
		if w == "T" {
			args = append(args, host, port)
			continue
		}
		args = append(args, w)
	}
	v, err := do(args...)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if got := strings.TrimRight(resp.Format(v), "\n"); got != want {
		t.Errorf("%s\n got: %s\nwant: %s", line, got, want)
	}
}

func TestMigrate(t *testing.T) {
	migrateWays(t, func(t *testing.T, src, dst string) {
		clients := map[string]doer{"src": migrateClient(t, src), "src2": migrateClient(t, src), "dst": migrateClient(t, dst)}
		ask(t, clients["dst"], "", "SELECT 9", "+OK")
		for _, s := range migrateSteps {
			ask(t, clients[s[0]], dst, s[1], s[2])
		}
	})
}

func TestMigrateTTLAndSize(t *testing.T) {
	migrateWays(t, func(t *testing.T, src, dst string) {
		from, to := migrateClient(t, src), migrateClient(t, dst)
		ask(t, from, "", "SET key v PX 10000", "+OK")
		ask(t, from, dst, "MIGRATE T key 0 5000", "+OK")
		if v, err := to("PTTL", "key"); err != nil || v.Int < 5000 || v.Int > 10000 {
			t.Errorf("PTTL: %v, %v", v, err)
		}
		push := []string{"RPUSH", "list"}
		for i := range 20000 {
			push = append(push, fmt.Sprintf("item %d", i))
		}
		if v, err := from(push...); err != nil || v.IsErr() {
			t.Fatal(v.Str, err)
		}
		from("SET", "big", strings.Repeat("0123456789abcdef", 100000))
		from("SETBIT", "big", "12345", "1")
		want, _ := from("GET", "big")
		ask(t, from, dst, `MIGRATE T "" 0 10000 KEYS list big`, "+OK")
		ask(t, to, "", "LLEN list", ":20000")
		ask(t, to, "", "LINDEX list -1", "$item 19999")
		if v, err := to("GET", "big"); err != nil || v.Str != want.Str {
			t.Errorf("a big string: %d bytes, %v", len(v.Str), err)
		}
	})
}

// fakeReply is what a connection of a fakeTarget reads and writes.
type fakeReply struct {
	requests int
	reply    string
}

// fakeTarget is a server that reads a number of requests on each connection, writes
// something and hangs up; after the last connection none is accepted.
func fakeTarget(t *testing.T, connections ...fakeReply) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { ln.Close(); <-done })
	go func() {
		defer close(done)
		defer ln.Close()
		for _, r := range connections {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			in := resp.NewReader(nc)
			for range r.requests {
				if _, err := in.Read(); err != nil {
					break
				}
			}
			nc.Write([]byte(r.reply))
			nc.Close()
		}
	}()
	return ln.Addr().String()
}

// migrateSources are the servers whose MIGRATE meets strange targets.
func migrateSources(t *testing.T, f func(t *testing.T, src string)) {
	t.Run("sim", func(t *testing.T) { f(t, echomqsim.RunT(t, echomqsim.Config{}).Addr()) })
	if oracle := os.Getenv("ECHOMQSIM_ORACLE"); oracle != "" {
		t.Run("oracle", func(t *testing.T) { f(t, oracle) })
	}
}

func TestMigrateStrangeTargets(t *testing.T) {
	const read = "-IOERR error or timeout reading to target instance"
	long := "-" + strings.Repeat("x", 1200)
	cases := []struct {
		name        string
		connections []fakeReply
		line, want  string
		left        int64 // of the keys a, b and c
	}{
		{"hangs up twice", []fakeReply{{2, ""}, {2, ""}}, "MIGRATE T a 0 5000", read, 3},
		{"hangs up once", []fakeReply{{2, ""}, {2, "+OK\r\n+OK\r\n"}}, "MIGRATE T a 0 5000", "+OK", 2},
		{"answers SELECT only", []fakeReply{{2, "+OK\r\n"}, {2, "+OK\r\n+OK\r\n"}}, "MIGRATE T a 0 5000", "+OK", 2},
		{"hangs up after a key", []fakeReply{{4, "+OK\r\n+OK\r\n"}}, `MIGRATE T "" 0 5000 KEYS a b c`, read, 2},
		{"hangs up after a key of a copy", []fakeReply{{4, "+OK\r\n+OK\r\n"}}, `MIGRATE T "" 0 5000 COPY KEYS a b c`, read, 3},
		{"hangs up after an error", []fakeReply{{4, "+OK\r\n-ONE\r\n"}}, `MIGRATE T "" 0 5000 KEYS a b c`,
			"-ERR Target instance replied with error: ONE", 3},
		{"the first error counts", []fakeReply{{4, "+OK\r\n-ONE\r\n-TWO\r\n+OK\r\n"}}, `MIGRATE T "" 0 5000 KEYS a b c`,
			"-ERR Target instance replied with error: ONE", 2},
		{"refuses AUTH and SELECT", []fakeReply{{5, "-ONE\r\n-TWO\r\n-THREE\r\n+OK\r\n+OK\r\n"}}, `MIGRATE T "" 0 5000 AUTH x KEYS a b c`,
			"-ERR Target instance replied with error: ONE", 3},
		{"refuses SELECT", []fakeReply{{4, "-TWO\r\n-THREE\r\n+OK\r\n+OK\r\n"}}, `MIGRATE T "" 0 5000 KEYS a b c`,
			"-ERR Target instance replied with error: TWO", 3},
		{"ends lines by LF", []fakeReply{{4, "+OK\n-ONE\n+OK\n+OK\n"}}, `MIGRATE T "" 0 5000 KEYS a b c`,
			"-ERR Target instance replied with error: ONE", 1},
		{"answers with an empty line", []fakeReply{{3, "+OK\r\n+OK\r\n\n"}}, `MIGRATE T "" 0 5000 KEYS a b`, read, 2},
		{"answers in other kinds", []fakeReply{{4, ":1\r\n$-1\r\n_\r\n\r\n"}}, `MIGRATE T "" 0 5000 KEYS a b c`, "+OK", 0},
		{"answers at length", []fakeReply{{3, "+OK\r\n" + long + "\r\n"}}, `MIGRATE T "" 0 5000 KEYS a b`,
			"-ERR Target instance replied with error: " + long[1:1023], 2},
	}
	migrateSources(t, func(t *testing.T, src string) {
		do := migrateClient(t, src)
		for _, c := range cases {
			ask(t, do, "", "MSET a 1 b 2 c 3", "+OK")
			ask(t, do, fakeTarget(t, c.connections...), c.line, c.want)
			if v, err := do("EXISTS", "a", "b", "c"); err != nil || v.Int != c.left {
				t.Errorf("%s: %d keys are left, want %d, %v", c.name, v.Int, c.left, err)
			}
		}
		// A connection that was kept has been closed meanwhile.
		ask(t, do, "", "MSET a 1 b 2", "+OK")
		kept := fakeTarget(t, fakeReply{2, "+OK\r\n+OK\r\n"}, fakeReply{2, "+OK\r\n+OK\r\n"})
		ask(t, do, kept, "MIGRATE T a 0 5000", "+OK")
		ask(t, do, kept, "MIGRATE T b 0 5000", "+OK")
		ask(t, do, "", "EXISTS a b", ":0")
		// Nobody answers.
		silent, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		ask(t, do, "", "SET a 1", "+OK")
		ask(t, do, silent.Addr().String(), "MIGRATE T a 0 20", read)
		noise := make([]byte, 32<<20) // which no compression makes small enough for the socket
		rand.NewChaCha8([32]byte{}).Read(noise)
		do("SET", "a", string(noise))
		ask(t, do, silent.Addr().String(), "MIGRATE T a 0 20", "-IOERR error or timeout writing to target instance")
		ask(t, do, "", "STRLEN a", fmt.Sprintf(":%d", 32<<20))
	})
}

// A server that migrates to itself can't answer until it has given up; then it does what
// it was asked for.
func TestMigrateToItself(t *testing.T) {
	migrateSources(t, func(t *testing.T, src string) {
		do := migrateClient(t, src)
		ask(t, do, "", "SET k v", "+OK")
		ask(t, do, src, "MIGRATE T k 9 50", "-IOERR error or timeout reading to target instance")
		ask(t, do, "", "GET k", "$v")
		ask(t, do, "", "SELECT 9", "+OK")
		for v := (resp.Value{}); v.Str != "v"; {
			var err error
			if v, err = do("GET", "k"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Two servers that migrate to each other at once block each other for no longer than
// their timeouts.
func TestMigrateCrosswise(t *testing.T) {
	a, b := echomqsim.RunT(t, echomqsim.Config{}), echomqsim.RunT(t, echomqsim.Config{})
	done := make(chan resp.Value)
	for _, way := range [][2]*echomqsim.Server{{a, b}, {b, a}} {
		host, port, _ := net.SplitHostPort(way[1].Addr())
		way[0].Do("SET", "k", "v")
		go func() { done <- way[0].Do("MIGRATE", host, port, "k", "9", "100") }()
	}
	for range 2 {
		if v := <-done; v.Str != "OK" && !strings.HasPrefix(v.Str, "IOERR ") {
			t.Error(v.Str)
		}
	}
}

// While a server waits for a target nobody else is served; its end ends the wait.
func TestMigrateStopsTheServer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	host, port, _ := net.SplitHostPort(ln.Addr().String())
	srv, err := echomqsim.New(echomqsim.Config{Clock: echomqsim.Manual(time.Time{})})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	srv.Do("SET", "k", "v", "PX", "1000")
	migrated, answered, advanced := make(chan resp.Value, 1), make(chan resp.Value, 1), make(chan struct{})
	begin := func() net.Conn {
		t.Helper()
		go func() { migrated <- srv.NewClient().Do("MIGRATE", host, port, "k", "0", "9223372036854775807") }()
		nc, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return nc
	}
	nc := begin()
	other := make(chan struct{})
	go func() { close(other); answered <- srv.NewClient().Do("GET", "k") }()
	go func() { srv.Advance(2 * time.Second); close(advanced) }()
	<-other
	select {
	case v := <-answered:
		t.Errorf("GET got %v while MIGRATE ran", v)
	case <-advanced:
		t.Error("time passed while MIGRATE ran")
	default:
	}
	nc.Write([]byte("+OK\r\n-NO\r\n"))
	if v := <-migrated; v.Str != "ERR Target instance replied with error: NO" {
		t.Errorf("MIGRATE: %v", v)
	}
	<-answered
	<-advanced
	nc.Close()

	// The connection that was kept is closed, so that another one is made.
	srv.Do("SET", "k", "v")
	nc = begin()
	srv.Close()
	if v := <-migrated; !v.IsErr() {
		t.Errorf("MIGRATE of a closed server: %v", v)
	}
	nc.Close()
}

func TestMigrateKeepsConnections(t *testing.T) {
	dst := echomqsim.RunT(t, echomqsim.Config{})
	src := echomqsim.RunT(t, echomqsim.Config{Clock: echomqsim.Manual(time.Time{})})
	host, port, _ := net.SplitHostPort(dst.Addr())
	kept := func(want string) {
		t.Helper()
		if info := src.Do("INFO", "stats").Str; !strings.Contains(info, "migrate_cached_sockets:"+want+"\r\n") {
			t.Errorf("want %s connections in %s", want, info)
		}
	}
	kept("0")
	for range 2 {
		src.Do("SET", "k", "v")
		if v := src.Do("MIGRATE", host, port, "k", "0", "5000", "REPLACE"); v.Str != "OK" {
			t.Error(v.Str)
		}
		kept("1")
		src.Advance(8 * time.Second)
	}
	kept("1")
	src.Advance(4 * time.Second)
	kept("0")
	// No more than 64.
	for range 70 {
		src.Do("SET", "k", "v")
		addr := fakeTarget(t, fakeReply{2, "+OK\r\n+OK\r\n"})
		host, port, _ := net.SplitHostPort(addr)
		if v := src.Do("MIGRATE", host, port, "k", "0", "5000"); v.Str != "OK" {
			t.Error(v.Str)
		}
	}
	kept("64")
}
