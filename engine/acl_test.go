package engine

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/echomq/echomq-sim/resp"
)

// logged is one entry of ACL LOG by field.
func logged(t *testing.T, e *Engine, i int) map[string]string {
	t.Helper()
	v := e.Do("ACL", "LOG")
	if i >= len(v.Elems) {
		t.Fatalf("ACL LOG has %d entries, no entry %d", len(v.Elems), i)
	}
	fields := map[string]string{}
	for j := 0; j+1 < len(v.Elems[i].Elems); j += 2 {
		fields[v.Elems[i].Elems[j].Str] = strings.TrimSpace(resp.Format(v.Elems[i].Elems[j+1]))
	}
	return fields
}

func wantFields(t *testing.T, got map[string]string, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got[pairs[i]] != pairs[i+1] {
			t.Errorf("%s is %s, want %s", pairs[i], got[pairs[i]], pairs[i+1])
		}
	}
}

func TestACLLog(t *testing.T) {
	e := newManualEngine(t)
	c := serveTest(t, e).dial()
	e.Do("ACL", "SETUSER", "u", "on", ">pw", "~a*", "+get", "+multi", "+exec", "+eval", "+publish")
	c.do("+OK", "AUTH", "u", "pw")
	c.get("GET", "b")
	wantFields(t, logged(t, e, 0), "count", ":1", "reason", "$key", "context", "$toplevel", "object", "$b", "username", "$u",
		"age-seconds", ",0", "entry-id", ":0", "timestamp-created", ":1700000000000", "timestamp-last-updated", ":1700000000000")
	if ci := logged(t, e, 0)["client-info"]; !strings.Contains(ci, "cmd=get user=u ") || !strings.Contains(ci, " flags=N ") {
		t.Errorf("client-info is %s", ci)
	}
	e.Advance(1500 * time.Millisecond)
	c.get("GET", "b") // alike: the same entry
	wantFields(t, logged(t, e, 0), "count", ":2", "age-seconds", ",0", "entry-id", ":0",
		"timestamp-created", ":1700000000000", "timestamp-last-updated", ":1700000001500")
	e.Advance(60001 * time.Millisecond)
	c.get("GET", "b") // too late to be the same
	wantFields(t, logged(t, e, 0), "count", ":1", "entry-id", ":1")
	wantFields(t, logged(t, e, 1), "count", ":2", "entry-id", ":0", "age-seconds", ",60.001")
	c.get("SET", "a", "1")
	wantFields(t, logged(t, e, 0), "reason", "$command", "object", "$set", "entry-id", ":2")
	c.get("PUBLISH", "ch", "m")
	wantFields(t, logged(t, e, 0), "reason", "$channel", "object", "$ch")
	c.get("AUTH", "nobody", "pw")
	wantFields(t, logged(t, e, 0), "reason", "$auth", "object", "$AUTH", "username", "$nobody")
	c.get("EVAL", "return redis.pcall('get','b')", "0")
	wantFields(t, logged(t, e, 0), "reason", "$key", "object", "$b", "context", "$lua")
	c.get("MULTI")
	c.get("GET", "b")
	wantFields(t, logged(t, e, 0), "reason", "$key", "object", "$b", "context", "$multi")
	want := "acl_access_denied_auth:1\r\nacl_access_denied_cmd:1\r\nacl_access_denied_key:5\r\nacl_access_denied_channel:1\r\n"
	if info := e.Do("INFO", "stats").Str; !strings.Contains(info, want) {
		t.Errorf("INFO lacks %q: %s", want, info)
	}
}

func TestACLLogIsBounded(t *testing.T) {
	e := newManualEngine(t)
	for i := range 200 {
		e.Do("AUTH", "u"+strings.Repeat("x", i), "pw")
	}
	if n := len(e.Do("ACL", "LOG", "1000").Elems); n != 128 {
		t.Errorf("%d entries by default, want 128", n)
	}
	e.Do("CONFIG", "SET", "acllog-max-len", "5")
	e.Do("AUTH", "again", "pw")
	if n := len(e.Do("ACL", "LOG", "1000").Elems); n != 5 {
		t.Errorf("%d entries, want 5", n)
	}
}

func TestAWaitingClientNeedsItsRightsStill(t *testing.T) {
	e := newManualEngine(t)
	c := serveTest(t, e).dial()
	e.Do("ACL", "SETUSER", "u", "on", "nopass", "~*", "+@all")
	c.do("+OK", "AUTH", "u", "x")
	c.send("BLPOP", "list", "0")
	e.waitBlocked(1)
	e.Do("ACL", "SETUSER", "u", "resetkeys")
	e.Do("LPUSH", "list", "x")
	c.want("-NOPERM No permissions to access a key")
	if n := e.Do("LLEN", "list").Int; n != 1 {
		t.Errorf("the list has %d elements, want 1", n)
	}
}

func TestClientsOfADeletedUserAreClosed(t *testing.T) {
	e := newManualEngine(t)
	srv := serveTest(t, e)
	a, b, other := srv.dial(), srv.dial(), srv.dial()
	e.Do("ACL", "SETUSER", "u", "on", "nopass", "~*", "&*", "+@all")
	a.do("+OK", "AUTH", "u", "x")
	b.do("+OK", "AUTH", "u", "x")
	b.send("BLPOP", "list", "0")
	e.waitBlocked(1)
	a.do(":1", "ACL", "DELUSER", "u") // its own reply comes first
	a.wantClosed()
	b.wantClosed()
	other.do("+PONG", "PING")
}

func TestSubscribersLoseWhatTheirUserLoses(t *testing.T) {
	for _, tc := range []struct {
		rules  []string
		closed bool
	}{
		{[]string{"resetchannels", "&other"}, true},
		{[]string{"resetchannels", "&ch*", "&more"}, false},
		{[]string{"allchannels"}, false},
		{[]string{"resetchannels", "&ch1"}, false}, // it listens to no other
		{[]string{"resetchannels", "(&ch1)"}, false},
		{[]string{"resetchannels", "(&x)"}, true},
	} {
		e := newManualEngine(t)
		c := serveTest(t, e).dial()
		e.Do("ACL", "SETUSER", "u", "on", "nopass", "&ch*", "+@all")
		c.do("+OK", "AUTH", "u", "x")
		c.get("SUBSCRIBE", "ch1")
		e.Do(append([]string{"ACL", "SETUSER", "u"}, tc.rules...)...)
		if tc.closed {
			c.wantClosed()
			continue
		}
		c.do("*\n  $pong\n  $", "PING")
	}
}

func TestACLFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.acl")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("user alice on nopass ~a* +@all\n\n  user bob off (+get ~b)\r\nuser default on nopass ~* &* +@all -flushall\n")
	e, err := New(Config{ACLFile: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	srv := serveTest(t, e)
	alice, admin := srv.dial(), srv.dial()
	alice.do("+OK", "AUTH", "alice", "x")
	admin.do("-NOPERM User default has no permissions to run the 'flushall' command", "FLUSHALL")
	admin.do("+OK", "ACL", "SETUSER", "carol", "on", "+get")
	admin.do("+OK", "ACL", "SAVE")
	saved, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "user alice on nopass sanitize-payload ~a* resetchannels +@all\n" +
		"user bob off sanitize-payload resetchannels -@all (~b resetchannels -@all +get)\n" +
		"user carol on sanitize-payload resetchannels -@all +get\n" +
		"user default on nopass sanitize-payload ~* &* +@all -flushall\n"
	if string(saved) != want {
		t.Errorf("saved\n%s\nwant\n%s", saved, want)
	}
	write("user dave on\nuser eve bogus +nosuch +alsonot\nuser eve\nnonsense\nuser dave off\nuser x (+get\nuser f\tg on\n")
	admin.do("-\"ERR "+path+":2: Syntax error. "+path+":2: Error in applying operation '+nosuch': Unknown command or category name in ACL. "+
		path+":2: Error in applying operation '+alsonot': Unknown command or category name in ACL. "+
		"WARNING: Duplicate user 'eve' found on line 3. "+path+":4 should start with user keyword followed by the username. "+
		"WARNING: Duplicate user 'dave' found on line 5. "+path+":6: Unmatched parenthesis in selector definition."+
		"'"+path+":7: username 'f\\tg' contains invalid characters. "+
		"WARNING: ACL errors detected, no change to the previously active ACL rules was performed\"", "ACL", "LOAD")
	admin.do("*\n  $alice\n  $bob\n  $carol\n  $default", "ACL", "USERS")
	write("user carol on ~* +@all\n")
	admin.do("+OK", "ACL", "LOAD")
	alice.wantClosed()
	admin.do("*\n  $user carol on sanitize-payload ~* resetchannels +@all\n  $user default on nopass sanitize-payload ~* &* +@all", "ACL", "LIST")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	admin.do("-ERR Error loading ACLs, opening file '"+path+"': No such file or directory", "ACL", "LOAD")
}

func TestUsersOfTheConfig(t *testing.T) {
	e, err := New(Config{Password: "pw", Users: []string{"app on >secret ~app:* +@all -@dangerous", "ro on nopass (%R~* +@read)"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	c := serveTest(t, e).dial()
	c.do("-NOAUTH Authentication required.", "PING")
	c.do("+OK", "AUTH", "app", "secret")
	c.do("+OK", "SET", "app:1", "x")
	c.do("-NOPERM No permissions to access a key", "SET", "b", "x")
	c.do("+OK", "AUTH", "ro", "anything")
	c.do("$x", "GET", "app:1")
	c.do("-NOPERM User ro has no permissions to run the 'set' command", "SET", "app:1", "y")
	c.do("+OK", "AUTH", "pw")
	c.do("$default", "ACL", "WHOAMI")
	for _, tc := range []struct {
		cfg  Config
		want string
	}{
		{Config{Users: []string{"a on", "a off"}}, "twice"},
		{Config{Users: []string{"a bogus"}}, "Error in ACL SETUSER modifier 'bogus': Syntax error"},
		{Config{Users: []string{`"a b" on`}}, "can't contain spaces"},
		{Config{Users: []string{"a (+get"}}, "Unmatched parenthesis"},
		{Config{Users: []string{`a "`}}, "balanced quotes"},
		{Config{Users: []string{""}}, "want a name"},
		{Config{Users: []string{"a"}, ACLFile: "x"}, "together"},
		{Config{ACLFile: filepath.Join(t.TempDir(), "none")}, "No such file or directory"},
		{Config{ACLFile: t.TempDir()}, "Not a regular file"},
		{Config{ProtectedMode: "maybe"}, "ProtectedMode"},
	} {
		if _, err := New(tc.cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: error %v, want %q in it", tc.cfg, err, tc.want)
		}
	}
}

func TestGenpassRepeatsWithTheSeed(t *testing.T) {
	pass := func(seed int64) string {
		e, err := New(Config{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		return e.Do("ACL", "GENPASS", "130").Str
	}
	if a, b := pass(7), pass(7); a != b || len(a) != 33 {
		t.Errorf("passwords %q and %q of one seed, want the same with 33 digits", a, b)
	}
	if pass(7) == pass(8) {
		t.Error("the same password from another seed")
	}
}

// farConn is a connection that seems to come from another machine.
type farConn struct{ net.Conn }

func (farConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 1234} }

func TestProtectedMode(t *testing.T) {
	e := newTestEngine(t, nil)
	srv := serveTest(t, e)
	far := func() *testClient {
		near, server := net.Pipe()
		go srv.wire.ServeConn(farConn{server})
		return newTestClient(t, near)
	}
	v, err := far().c.Receive()
	if err != nil || !strings.HasPrefix(v.Str, "DENIED Running in protected mode because") {
		t.Errorf("a stranger got %s, %v", resp.Format(v), err)
	}
	near := srv.dial()
	near.do("+OK", "CONFIG", "SET", "protected-mode", "no")
	far().do("+PONG", "PING")
	near.do("+OK", "CONFIG", "SET", "protected-mode", "yes", "requirepass", "pw")
	far().do("-NOAUTH Authentication required.", "PING")
	near.do("+OK", "CONFIG", "SET", "requirepass", "")
	if v, err := far().c.Receive(); err != nil || !v.IsErr() {
		t.Errorf("a stranger got %s, %v", resp.Format(v), err)
	}
}

// TestAbsentCommands keeps the list in step with the record of the server: a rule
// may name each of its commands.
func TestAbsentCommands(t *testing.T) {
	e := newManualEngine(t)
	for name := range readCommandTable(t) {
		if v := e.Do("ACL", "SETUSER", "u", "+"+name, "-"+name); v.IsErr() {
			t.Errorf("%s: %s", name, v.Str)
		}
	}
}

func TestRulesNeverPanic(t *testing.T) {
	e := newManualEngine(t)
	for _, rule := range []string{"%", "%R", "%~", "(", ")", "()", "( )", "(()", "+", "-", "+@", "+|", "+a|", "+|a", "|", "~", "&", ">", "<", "#", "!",
		"\x00", "on\x00", "(\x00)", "(+get|\")", "(\")", "+select|a b", "+select|\"", "@", "+config|", "-config|", "(%)", "(%~)", "~\x00"} {
		e.Do("ACL", "SETUSER", "u", rule)
		e.Do("ACL", "GETUSER", "u")
		e.Do("ACL", "LIST")
		e.Do("ACL", "DRYRUN", "u", "get", "k")
		e.Do("ACL", "DRYRUN", "u", "select", "0")
	}
}
