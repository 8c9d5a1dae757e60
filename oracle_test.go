package echomqsim_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/resp"
)

// The differential test sends the same random commands to the simulator and to
// the live server at $ECHOMQSIM_ORACLE and compares every reply, then the whole
// keyspace. Commands are made from the simulator's own COMMAND DOCS, so a new
// row takes part without a line here. A difference is shrunk and printed as a
// transcript.
var (
	oracleSeed  = flag.Uint64("oracle.seed", 1, "seed of the first episode of the differential test")
	oracleCount = flag.Int("oracle.n", 20000, "how many commands the differential test sends")
	oracleTime  = flag.Duration("oracle.time", 0, "how long the differential test goes on, instead of -oracle.n")
	oracleOnly  = flag.String("oracle.only", "", "only commands whose name contains this")
)

const episodeLen = 400

// oracleGroups are the groups that take part.
var oracleGroups = []string{"string", "hash", "sorted-set", "list", "set", "generic", "bitmap", "stream", "geo", "hyperloglog"}

// oracleSkip are commands that the test can't compare, each with its reason.
var oracleSkip = map[string]string{
	"object|idletime": "counts real seconds since the key was used",
	"object|refcount": "tells which small integers the server shares, which depends on how each came about",
	"object|freq":     "differs by design: see OBJECT FREQ's transcript",
	"pfselftest":      "always OK, after a second",
	"randomkey":       "random",
	"hrandfield":      "random",
	"zrandmember":     "random",
	"srandmember":     "random",
	"spop":            "random",
	"migrate":         "talks to other servers; TestMigrate compares it",
	"scan":            "cursors differ by design; its guarantee has a test of its own",
	"object|help":     "covered by its transcript",
	"dump":            "what is in a hashtable comes in another order, and stream groups tell real times; TestOracleRDB compares it",
}

// oracleWaits are commands that may wait, on one server after the other: the time
// that passes would show in other replies. Valkey's own suite and blocked_test.go cover them.
var oracleWaits = map[string]bool{"wait": true, "waitaof": true, "bzpopmin": true, "bzpopmax": true, "bzmpop": true, "blpop": true, "brpop": true,
	"blmove": true, "brpoplpush": true, "blmpop": true}

// oracleNewer are commands of later servers than the oracle.
var oracleNewer = map[string]bool{"hexpire": true, "hpexpire": true, "hexpireat": true, "hpexpireat": true, "httl": true,
	"hpttl": true, "hexpiretime": true, "hpexpiretime": true, "hpersist": true, "hgetex": true, "hsetex": true, "hgetdel": true}

// oracleTimes are commands whose integer replies depend on the moment, with the
// tolerance in the reply's own unit.
var oracleTimes = map[string]int64{"ttl": 1, "expiretime": 1, "pttl": 1000, "pexpiretime": 1000}

func TestOracle(t *testing.T) {
	addr := os.Getenv("ECHOMQSIM_ORACLE")
	if addr == "" {
		t.Skip("needs a live valkey-server: ECHOMQSIM_ORACLE=host:port")
	}
	srv := echomqsim.RunT(t, echomqsim.Config{})
	d := &differ{t: t, commands: oracleCommands(t, srv), sim: map[int]*resp.Client{}, oracle: map[int]*resp.Client{}}
	for _, proto := range []int{2, 3} {
		d.sim[proto] = oracleClient(t, proto, srv.Dial)
		d.oracle[proto] = oracleClient(t, proto, oracleDial(addr))
	}
	started, sent := time.Now(), 0
	for seed := *oracleSeed; ; seed++ {
		if *oracleTime > 0 && time.Since(started) > *oracleTime || *oracleTime == 0 && sent >= *oracleCount {
			break
		}
		before := sent
		sent += d.episode(seed)
		if sent/200_000 > before/200_000 {
			t.Logf("%d commands compared so far", sent)
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d commands compared, %d command kinds, seeds from %d", sent, len(d.commands), *oracleSeed)
}

// oracleDial connects to host:port, or to a unix socket when addr is a path.
func oracleDial(addr string) func() (net.Conn, error) {
	network := "tcp"
	if strings.Contains(addr, "/") {
		network = "unix"
	}
	return func() (net.Conn, error) { return net.Dial(network, addr) }
}

func oracleClient(t *testing.T, proto int, dial func() (net.Conn, error)) *resp.Client {
	t.Helper()
	nc, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	c := resp.NewClient(nc)
	t.Cleanup(func() { c.Close() })
	if v, err := c.Do("HELLO", fmt.Sprint(proto)); err != nil || v.IsErr() {
		t.Fatalf("HELLO %d: %v %v", proto, v, err)
	}
	return c
}

// differ compares two servers.
type differ struct {
	t           *testing.T
	commands    []*docCommand
	sim, oracle map[int]*resp.Client
}

// episode runs one seed's commands from an empty keyspace and returns their number.
func (d *differ) episode(seed uint64) int {
	g := newGenerator(seed, d.commands)
	ops := make([][]string, episodeLen)
	for i := range ops {
		ops[i] = g.command()
	}
	proto := 2 + int(seed%2)
	if i := d.firstDifference(proto, ops); i >= 0 {
		d.report(seed, proto, d.shrink(proto, ops[:i+1]))
	}
	return len(ops)
}

// firstDifference runs ops on both and gives the index of the first reply that
// differs, len(ops)-1 when only the keyspaces do, -1 when nothing does.
func (d *differ) firstDifference(proto int, ops [][]string) int {
	// The server's SORT looks at the errno that any earlier command has left; ZADD clears it.
	before := [][]string{{"FLUSHALL"}, {"ZADD", "k", "1", "m"}, {"FLUSHALL"}}
	all := slices.Concat(before, ops)
	ours, theirs := d.pipeline(d.sim[proto], all)[len(before):], d.pipeline(d.oracle[proto], all)[len(before):]
	for i := range ops {
		if !sameReply(ops[i], ours[i], theirs[i]) {
			return i
		}
	}
	if a, b := d.keyspace(d.sim[3]), d.keyspace(d.oracle[3]); a != b {
		return len(ops) - 1
	}
	return -1
}

// pipeline sends all commands and collects the replies.
func (d *differ) pipeline(c *resp.Client, ops [][]string) []resp.Value {
	d.t.Helper()
	for _, op := range ops {
		if err := c.Send(op...); err != nil {
			d.t.Fatal(err)
		}
	}
	if err := c.Flush(); err != nil {
		d.t.Fatal(err)
	}
	out := make([]resp.Value, len(ops))
	for i := range out {
		v, err := c.Receive()
		if err != nil {
			d.t.Fatalf("%q: %v", ops[i], err)
		}
		out[i] = v
	}
	return out
}

// keyspace is a text of everything in databases 0 and 1.
func (d *differ) keyspace(c *resp.Client) string {
	var b strings.Builder
	for _, db := range []string{"1", "0"} {
		keys := d.pipeline(c, [][]string{{"SELECT", db}, {"KEYS", "*"}})[1]
		var names []string
		for _, k := range keys.Elems {
			names = append(names, k.Str)
		}
		slices.Sort(names)
		for _, k := range names {
			r := d.pipeline(c, [][]string{{"TYPE", k}, {"OBJECT", "ENCODING", k}, {"TTL", k}})
			fmt.Fprintf(&b, "%s %q %s %s ttl>0:%v\n", db, k, r[0].Str, r[1].Str, r[2].Int > 0)
			content := d.pipeline(c, [][]string{contentOf(r[0].Str, k)})[0]
			b.WriteString(render(content, "unordered"))
		}
	}
	return b.String()
}

func contentOf(typ, key string) []string {
	switch typ {
	case "hash":
		return []string{"HGETALL", key}
	case "stream":
		return []string{"XRANGE", key, "-", "+"}
	case "list":
		return []string{"LRANGE", key, "0", "-1"}
	case "set":
		return []string{"SMEMBERS", key}
	case "zset":
		return []string{"ZRANGE", key, "0", "-1", "WITHSCORES"}
	}
	return []string{"GET", key}
}

// sameReply compares two replies as far as the command lets them be compared.
func sameReply(op []string, a, b resp.Value) bool {
	name := strings.ToLower(op[0])
	if tol, ok := oracleTimes[name]; ok && a.Kind == resp.KindInt && b.Kind == resp.KindInt && a.Int > 0 && b.Int > 0 {
		return max(a.Int-b.Int, b.Int-a.Int) <= tol
	}
	mode := ""
	switch name {
	case "sort", "sort_ro":
		has := func(word string) bool { return slices.ContainsFunc(op, equalTo(word)) }
		if !has("ALPHA") && !has("BY") || len(a.Elems) == 0 {
			break
		}
		mode = "unordered" // what is equal, or not sorted, may be in the order of a hash table
		if has("LIMIT") {
			return a.Kind == b.Kind && len(a.Elems) == len(b.Elems)
		}
	case "xinfo", "xpending":
		a, b = withoutTimes(a), withoutTimes(b)
	case "keys", "hgetall", "hkeys", "hvals", "hscan", "zscan", "smembers", "sinter", "sunion", "sdiff", "sscan":
		mode = "unordered"
		if len(a.Elems) == 2 && len(b.Elems) == 2 && strings.HasSuffix(name, "scan") {
			if a.Elems[0].Str != "0" || b.Elems[0].Str != "0" {
				return true // a part of an iteration: which part differs by design
			}
			sortElems(&a.Elems[1])
			sortElems(&b.Elems[1])
			if strings.TrimSpace(op[2]) != "0" && partOf(b.Elems[1], a.Elems[1]) {
				return true // the end of an iteration: the server tells by its hash where that begins
			}
			mode = ""
		}
	}
	return render(a, mode) == render(b, mode)
}

// partOf reports whether all elements of one sorted reply are in another.
func partOf(part, all resp.Value) bool {
	for _, e := range part.Elems {
		text := render(e, "")
		if !slices.ContainsFunc(all.Elems, func(e resp.Value) bool { return render(e, "") == text }) {
			return false
		}
	}
	return true
}

// withoutTimes hides what depends on the moment in replies about the consumers of a
// stream: the fields of that name, and the third element of a pending entry or the
// second one where the consumer is not told.
func withoutTimes(v resp.Value) resp.Value {
	elems := slices.Clone(v.Elems)
	for i := range elems {
		e := &elems[i]
		if i > 0 && slices.Contains([]string{"idle", "inactive", "seen-time", "active-time"}, elems[i-1].Str) {
			e.Int = min(e.Int, 0)
		}
		*e = withoutTimes(*e)
	}
	if n := len(elems); (n == 3 || n == 4) && strings.Contains(elems[0].Str, "-") && elems[n-1].Kind == resp.KindInt {
		elems[n-2].Int = 0
	}
	v.Elems = elems
	return v
}

// shrink drops commands as long as the last one still differs.
func (d *differ) shrink(proto int, ops [][]string) [][]string {
	for size := len(ops) / 2; size >= 1; size /= 2 {
		for i := 0; i+size < len(ops); {
			less := slices.Concat(ops[:i], ops[i+size:])
			if d.firstDifference(proto, less) == len(less)-1 {
				ops = less
			} else {
				i += size
			}
		}
	}
	return ops
}

// report prints a shrunk difference as a transcript.
func (d *differ) report(seed uint64, proto int, ops [][]string) {
	d.t.Helper()
	all := append([][]string{{"FLUSHALL"}}, ops...)
	ours, theirs := d.pipeline(d.sim[proto], all), d.pipeline(d.oracle[proto], all)
	var b strings.Builder
	for i, op := range ops {
		fmt.Fprintf(&b, "> %s\n%s\n", quoteArgs(op), render(theirs[i+1], ""))
	}
	last := len(ops)
	d.t.Errorf("seed %d, RESP%d: the simulator differs in the last reply\n%s--- simulator:\n%s\n--- keyspace here:\n%s\n--- keyspace there:\n%s",
		seed, proto, b.String(), render(ours[last], ""), d.keyspace(d.sim[3]), d.keyspace(d.oracle[3]))
}

// quoteArgs writes a request as a transcript does.
func quoteArgs(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if a == "" || strings.ContainsFunc(a, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\'' || r == '\\' }) {
			out[i] = quoteBytes(a)
		}
	}
	return strings.Join(out, " ")
}

func quoteBytes(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= ' ' && c <= '~':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "\\x%02x", c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// rng returns the random source of a seed.
func rng(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x5851f42d4c957f2d)) }
