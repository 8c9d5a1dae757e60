package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/echomq/echomq-sim/resp"
)

// usesOfArguments are ways in which an argument stays in use, each with what shows it.
var usesOfArguments = map[string]func(c, other *testClient, overwrite func()){
	"absent key": func(c, _ *testClient, _ func()) {
		c.do("+OK", "SET", "bbbb", "v")
		c.do("_", "GET", "aaaa")
		c.do("$v", "GET", "bbbb")
	},
	"transaction": func(c, _ *testClient, overwrite func()) {
		c.do("+OK", "MULTI")
		c.do("+QUEUED", "SET", "a", "1")
		c.do("+QUEUED", "SET", "b", "2")
		c.get("EXEC")
		overwrite()
		c.do("$1", "GET", "a")
	},
	"name": func(c, _ *testClient, overwrite func()) {
		c.do("+OK", "CLIENT", "SETNAME", "somebody")
		overwrite()
		c.do("$somebody", "CLIENT", "GETNAME")
	},
	"watched key": func(c, other *testClient, overwrite func()) {
		c.do("+OK", "WATCH", "watched")
		overwrite()
		other.do("+OK", "SET", "watched", "1")
		c.do("+OK", "MULTI")
		c.do("_*", "EXEC")
	},
	"subscription": func(c, other *testClient, overwrite func()) {
		c.get("HELLO", "3")
		c.get("SUBSCRIBE", "channel")
		overwrite()
		other.do(":1", "PUBLISH", "channel", "message")
	},
	"waiting client": func(c, other *testClient, overwrite func()) {
		other.send("BLPOP", "list", "0")
		for !strings.Contains(c.get("CLIENT", "LIST").Str, "flags=b ") {
		}
		overwrite()
		c.do(":1", "RPUSH", "list", "x")
		other.want("*\n  $list\n  $x")
	},
	"error of a script": func(c, _ *testClient, overwrite func()) {
		sha := c.get("SCRIPT", "LOAD", "return redis.error_reply(ARGV[1])").Str
		c.get("EVALSHA", sha, "0", "MYCODE text")
		overwrite()
		if !strings.Contains(c.get("INFO", "errorstats").Str, "errorstat_MYCODE:count=1") {
			c.t.Error("the code is gone")
		}
	},
	"variable of a library": func(c, _ *testClient, overwrite func()) {
		c.get("FUNCTION", "LOAD", "#!lua name=l\nlocal kept redis.register_function('f', function(keys, args) kept = kept or args[1] return kept end)")
		c.do("$first", "FCALL", "f", "0", "first")
		overwrite()
		c.do("$first", "FCALL", "f", "0", "second")
	},
	"script": func(c, _ *testClient, overwrite func()) {
		sha := c.get("EVAL", "return redis.sha1hex('return 1')", "0").Str
		c.do(":1", "EVAL", "return 1", "0")
		overwrite()
		c.do(":1", "EVALSHA", sha, "0")
	},
	"slow log": func(c, _ *testClient, overwrite func()) {
		c.do("+OK", "CONFIG", "SET", "slowlog-log-slower-than", "0")
		c.do("_", "GET", "slow")
		overwrite()
		if !strings.Contains(resp.Format(c.get("SLOWLOG", "GET", "-1")), "$slow\n") {
			c.t.Error("the entry is gone")
		}
	},
	"tracked key": func(c, other *testClient, overwrite func()) {
		c.get("HELLO", "3")
		c.do("+OK", "CLIENT", "TRACKING", "ON")
		c.get("GET", "tracked")
		overwrite()
		other.do("+OK", "SET", "tracked", "1")
		if v := c.get("PING"); !strings.Contains(resp.Format(v), "tracked") {
			c.t.Errorf("got %s ahead of the reply", resp.Format(v))
		}
	},
}

// TestArgumentsInUse: the memory of one read's arguments serves for the next one's, so
// whatever goes on referring to an argument must have said so. Under the race detector the
// arguments are overwritten at once, in all tests; here it is the next requests that do.
func TestArgumentsInUse(t *testing.T) {
	for name, test := range usesOfArguments {
		t.Run(name, func(t *testing.T) {
			srv := serveTest(t, newTestEngine(t, Manual(time.Unix(1e9, 0))))
			c := srv.dial()
			test(c, srv.dial(), func() {
				for i := range 3 {
					c.send("SET", fmt.Sprint("other", i), strings.Repeat("#", 500))
					for v, err := c.c.Receive(); v.Kind == resp.KindPush; v, err = c.c.Receive() {
						if err != nil {
							t.Fatal(err)
						}
					}
				}
			})
		})
	}
}

// TestStoredArguments is the same for all that commands store.
func TestStoredArguments(t *testing.T) {
	e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
	c := serveTest(t, e).dial()
	rows := [][]string{
		{"SET", "string", "text"}, {"APPEND", "appended", "text"}, {"SETRANGE", "range", "1", "text"}, {"MSET", "m1", "text", "m2", "text"},
		{"HSET", "hash", "f1", "v1", "f2", "v2"}, {"HSET", "long", strings.Repeat("f", 99), strings.Repeat("v", 99)},
		{"ZADD", "zset", "1", "m1", "2", "m2"}, {"SADD", "set", "m1", "m2"}, {"SADD", "ints", "1", "2"},
		{"RPUSH", "list", "e1", "e2"}, {"LINSERT", "list", "BEFORE", "e2", "e3"}, {"LSET", "list", "0", "e4"},
		{"XADD", "stream", "1-1", "f", "v"}, {"XGROUP", "CREATE", "stream", "group", "0"},
		{"XREADGROUP", "GROUP", "group", "consumer", "STREAMS", "stream", ">"}, {"EXPIRE", "string", "100"}, {"SETEX", "brief", "100", "text"},
		{"GETEX", "appended", "EX", "100"}, {"HEXPIRE", "hash", "100", "FIELDS", "1", "f1"}, {"PFADD", "log", "a", "b"},
	}
	for _, args := range rows {
		c.get(args...)
		c.get("SET", "other", strings.Repeat("#", 500))
	}
	dump := func(c *testClient) (text string) {
		keys := c.get("KEYS", "*").Elems
		slices.SortFunc(keys, func(a, b resp.Value) int { return strings.Compare(a.Str, b.Str) })
		for _, k := range keys {
			text += k.Str + resp.Format(c.get("DUMP", k.Str)) + resp.Format(c.get("PTTL", k.Str))
		}
		return text + resp.Format(c.get("XINFO", "STREAM", "stream", "FULL"))
	}
	direct := serveTest(t, newTestEngine(t, Manual(time.Unix(1e9, 0)))).dial()
	direct.c.Send("MULTI") // there every argument stays in use
	for _, args := range append(rows, []string{"SET", "other", strings.Repeat("#", 500)}, []string{"EXEC"}) {
		direct.c.Send(args...)
	}
	direct.c.Flush()
	for range len(rows) + 3 {
		direct.c.Receive()
	}
	if got, want := dump(c), dump(direct); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if err := e.Check(); err != nil {
		t.Error(err)
	}
}
