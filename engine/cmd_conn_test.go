package engine

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/echomq/echomq-sim/resp"
)

// TestQuitDropsTheRest: what a client pipelines behind QUIT is not executed.
func TestQuitDropsTheRest(t *testing.T) {
	e := newTestEngine(t, nil)
	c := serveTest(t, e).dial()
	io.WriteString(c.nc, "PING\r\nQUIT\r\nSET k v\r\n")
	c.want("+PONG")
	c.want("+OK")
	c.wantClosed()
	if v := e.Do("EXISTS", "k"); v.Int != 0 {
		t.Error("a command behind QUIT was executed")
	}
}

// TestQuitInProcess: a client that quits is gone, and Engine.Do goes on with another.
func TestQuitInProcess(t *testing.T) {
	e := newTestEngine(t, nil)
	c := e.NewClient()
	if v := c.Do("QUIT"); v.Str != "OK" {
		t.Errorf("QUIT: %s", resp.Format(v))
	}
	if v := c.Do("PING"); !v.IsErr() {
		t.Errorf("PING after QUIT: %s", resp.Format(v))
	}
	e.Do("QUIT")
	if v := e.Do("PING"); v.Str != "PONG" {
		t.Errorf("Do after QUIT: %s", resp.Format(v))
	}
}

func TestClientReplyInPipelines(t *testing.T) {
	for _, tc := range []struct{ name, requests, replies string }{
		{"off and on", "PING a|CLIENT REPLY OFF|PING b|NOSUCH|CLIENT REPLY ON|PING c", "$a +OK $c"},
		{"skip one", "CLIENT REPLY SKIP|PING a|PING b", "$b"},
		{"skip an error", "CLIENT REPLY SKIP|NOSUCH|PING b", "$b"},
		{"skip twice", "CLIENT REPLY SKIP|CLIENT REPLY SKIP|PING a|PING b", "$b"},
		{"skip then on", "CLIENT REPLY SKIP|CLIENT REPLY ON|PING a", "+OK $a"},
		{"skip then off", "CLIENT REPLY SKIP|CLIENT REPLY OFF|PING a|CLIENT REPLY ON|PING b", "+OK $b"},
		{"skip while off", "CLIENT REPLY OFF|CLIENT REPLY SKIP|CLIENT REPLY ON|PING a", "+OK $a"},
		{"reset ends off", "CLIENT REPLY OFF|RESET|PING a", "+RESET $a"},
		{"a bad word", "CLIENT REPLY FOO|PING a", "-\"ERR syntax error\" $a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := serveTest(t, newTestEngine(t, nil)).dial()
			io.WriteString(c.nc, strings.ReplaceAll(tc.requests, "|", "\r\n")+"\r\nPING end\r\n")
			var got []string
			for {
				v, err := c.c.Receive()
				if err != nil {
					t.Fatal(err)
				}
				if v.Str == "end" {
					break
				}
				text := strings.TrimSpace(resp.Format(v))
				if v.IsErr() {
					text = `-"` + v.Str + `"`
				}
				got = append(got, text)
			}
			if all := strings.Join(got, " "); all != tc.replies {
				t.Errorf("got %s, want %s", all, tc.replies)
			}
		})
	}
}

// TestHelloSwitchesProtocols: the reply to HELLO is in the new protocol already,
// and RESET returns to the old one.
func TestHelloSwitchesProtocols(t *testing.T) {
	c := serveTest(t, newTestEngine(t, nil)).dial()
	if v := c.get("HELLO", "3"); v.Kind != resp.KindMap || v.Elems[5].Int != 3 {
		t.Errorf("HELLO 3: %s", resp.Format(v))
	}
	if v := c.get("CONFIG", "GET", "databases"); v.Kind != resp.KindMap {
		t.Errorf("a map in RESP3: %s", resp.Format(v))
	}
	if v := c.get("HELLO", "2"); v.Kind != resp.KindArray || v.Elems[5].Int != 2 {
		t.Errorf("HELLO 2: %s", resp.Format(v))
	}
	c.get("HELLO", "3")
	c.do("+RESET", "RESET")
	if v := c.get("CONFIG", "GET", "databases"); v.Kind != resp.KindArray {
		t.Errorf("a map after RESET: %s", resp.Format(v))
	}
}

func TestMaxClients(t *testing.T) {
	e := newTestEngine(t, nil)
	s := serveTest(t, e)
	e.Do("CONFIG", "SET", "maxclients", "2") // Do's own client is one
	first := s.dial()
	first.do("+PONG", "PING")
	second := s.dial()
	second.want("-ERR max number of clients reached")
	second.wantClosed()
	if got := infoField(e.Do("INFO", "stats"), "rejected_connections"); got != "1" {
		t.Errorf("rejected_connections is %s", got)
	}
}

// clientLine is the line of CLIENT LIST whose name is given, as a map.
func clientLine(t testing.TB, list resp.Value, name string) map[string]string {
	t.Helper()
	for _, l := range strings.Split(strings.TrimSpace(list.Str), "\n") {
		fields := map[string]string{}
		for _, f := range strings.Fields(l) {
			k, v, _ := strings.Cut(f, "=")
			fields[k] = v
		}
		if fields["name"] == name {
			return fields
		}
	}
	t.Fatalf("no client %q in %s", name, list.Str)
	return nil
}

// TestClientListFields: the fields of 8.0.1, in its order, with values that are true.
func TestClientListFields(t *testing.T) {
	e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
	s := serveTest(t, e)
	c, other := s.dial(), s.dial()
	other.do("+OK", "CLIENT", "SETNAME", "other")
	other.do("+OK", "CLIENT", "SETINFO", "LIB-NAME", "lib")
	other.do("+OK", "CLIENT", "SETINFO", "LIB-VER", "1.0")
	other.do("+OK", "CLIENT", "NO-TOUCH", "ON")
	other.do("+OK", "SELECT", "3")
	other.do("+OK", "WATCH", "a", "b")
	other.do("+OK", "MULTI")
	other.do("+QUEUED", "ECHO", "12345")
	e.Advance(5 * time.Second)
	list := c.get("CLIENT", "LIST")
	const order = "id addr laddr fd name age idle flags db sub psub ssub multi watch qbuf qbuf-free argv-mem multi-mem " +
		"rbs rbp obl oll omem tot-mem events cmd user redir resp lib-name lib-ver tot-net-in tot-net-out tot-cmds"
	var names []string
	for _, f := range strings.Fields(strings.Split(list.Str, "\n")[0]) {
		name, _, _ := strings.Cut(f, "=")
		names = append(names, name)
	}
	if got := strings.Join(names, " "); got != order {
		t.Errorf("fields\n got: %s\nwant: %s", got, order)
	}
	line := clientLine(t, list, "other")
	for field, want := range map[string]string{"age": "5", "idle": "5", "flags": "xT", "db": "3", "multi": "1", "watch": "2",
		"multi-mem": "25", "cmd": "echo", "user": "default", "resp": "2", "lib-name": "lib", "lib-ver": "1.0", "tot-cmds": "7",
		"redir": "-1", "argv-mem": "0", "qbuf": "0", "obl": "0", "events": "r"} {
		if line[field] != want {
			t.Errorf("%s is %q, want %q", field, line[field], want)
		}
	}
	if v := c.get("CLIENT", "LIST", "ID", line["id"], "999999", line["id"]); strings.Count(v.Str, "name=other") != 2 {
		t.Errorf("CLIENT LIST ID: %s", v.Str)
	}
	mine := clientLine(t, c.get("CLIENT", "INFO"), "")
	if mine["argv-mem"] != "10" || mine["cmd"] != "client|info" || mine["tot-cmds"] != "2" {
		t.Errorf("CLIENT INFO: %v", mine)
	}
}

// TestNetworkBytes: what CLIENT INFO and INFO count is what went over the wire.
func TestNetworkBytes(t *testing.T) {
	e := newTestEngine(t, nil)
	c := serveTest(t, e).dial()
	io.WriteString(c.nc, "PING\r\nPING\r\n*1\r\n$4\r\nPI")
	c.want("+PONG")
	c.want("+PONG")
	io.WriteString(c.nc, "NG\r\n")
	c.want("+PONG")
	c.do("+OK", "CLIENT", "SETNAME", "me")
	line := clientLine(t, e.Do("CLIENT", "LIST"), "me")
	in := len("PING\r\nPING\r\n*1\r\n$4\r\nPING\r\n*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$2\r\nme\r\n")
	if want := [2]string{itoa(in), itoa(3*len("+PONG\r\n") + len("+OK\r\n"))}; line["tot-net-in"] != want[0] || line["tot-net-out"] != want[1] {
		t.Errorf("in %s out %s, want %v", line["tot-net-in"], line["tot-net-out"], want)
	}
	if got := infoField(e.Do("INFO", "stats"), "total_net_input_bytes"); got != itoa(in) {
		t.Errorf("total_net_input_bytes is %s, want %d", got, in)
	}
}

func TestClientKillOverTCP(t *testing.T) {
	e := newTestEngine(t, nil)
	s := serveTest(t, e)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.wire.Serve(ln)
	dial := func() (c *testClient, addr string) {
		nc, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c = newTestClient(t, nc)
		c.do("+PONG", "PING")
		return c, nc.LocalAddr().String()
	}
	boss, bossAddr := dial()
	victim, addr := dial()
	boss.do("+OK", "CLIENT", "KILL", addr)
	victim.wantClosed()
	victim, addr = dial()
	boss.do(":1", "CLIENT", "KILL", "ADDR", addr, "LADDR", ln.Addr().String(), "TYPE", "normal", "USER", "default")
	victim.wantClosed()
	victim, _ = dial()
	id := victim.get("CLIENT", "ID")
	boss.do(":0", "CLIENT", "KILL", "ID", itoa(int(id.Int)), "LADDR", "127.0.0.1:1")
	victim.do("+PONG", "PING")
	boss.do(":1", "CLIENT", "KILL", "ID", itoa(int(id.Int)))
	victim.wantClosed()
	a, _ := dial()
	b, _ := dial()
	boss.do(":2", "CLIENT", "KILL", "LADDR", ln.Addr().String())
	a.wantClosed()
	b.wantClosed()
	boss.do(":0", "CLIENT", "KILL", "ADDR", bossAddr) // SKIPME is yes
	// The old form may kill its own client, after the reply; nothing runs behind it.
	boss.send("CLIENT", "KILL", bossAddr)
	boss.want("+OK")
	boss.wantClosed()
	boss, _ = dial()
	io.WriteString(boss.nc, "CLIENT KILL TYPE normal SKIPME no\r\nSET k v\r\n")
	boss.want(":1")
	boss.wantClosed()
	if v := e.Do("EXISTS", "k"); v.Int != 0 {
		t.Error("a command behind CLIENT KILL was executed")
	}
}

// TestClientKillMaxAge kills by age in whole seconds.
func TestClientKillMaxAge(t *testing.T) {
	e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
	s := serveTest(t, e)
	old := s.dial()
	old.do("+PONG", "PING")
	e.Advance(10 * time.Second)
	young := s.dial()
	young.do(":0", "CLIENT", "KILL", "MAXAGE", "11")
	young.do(":1", "CLIENT", "KILL", "MAXAGE", "10")
	old.wantClosed()
	young.do("+PONG", "PING")
}

// TestKillWhileInTransaction: a killed client's WATCHes and queue are forgotten.
func TestKillWhileInTransaction(t *testing.T) {
	e := newTestEngine(t, nil)
	s := serveTest(t, e)
	victim, boss := s.dial(), s.dial()
	victim.do("+OK", "WATCH", "k")
	victim.do("+OK", "MULTI")
	victim.do("+QUEUED", "SET", "k", "v")
	boss.do(":1", "CLIENT", "KILL", "TYPE", "normal")
	victim.wantClosed()
	boss.do("+OK", "SET", "k", "w")
	if n := len(e.core.watchers); n != 0 {
		t.Errorf("%d keys are still watched", n)
	}
}

// TestNoTouch: a client's reads leave the access time alone once it asked for it.
func TestNoTouch(t *testing.T) {
	e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
	e.Do("SET", "k", "v")
	e.Advance(100 * time.Second)
	e.Do("CLIENT", "NO-TOUCH", "ON")
	e.Do("GET", "k")
	if v := e.Do("OBJECT", "IDLETIME", "k"); v.Int != 100 {
		t.Errorf("idle for %d seconds after a GET, want 100", v.Int)
	}
	e.Do("CLIENT", "NO-TOUCH", "OFF")
	e.Do("GET", "k")
	if v := e.Do("OBJECT", "IDLETIME", "k"); v.Int != 0 {
		t.Errorf("idle for %d seconds after a touching GET, want 0", v.Int)
	}
}
