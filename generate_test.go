package echomqsim_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/resp"
)

// docCommand is a command as COMMAND DOCS describes it.
type docCommand struct {
	words []string // "OBJECT", "ENCODING"
	args  []docArg
}

type docArg struct {
	name, typ, token   string
	optional, multiple bool
	everyToken         bool // the token stands in front of each value
	args               []docArg
}

// oracleCommands reads COMMAND DOCS of the simulator.
func oracleCommands(t *testing.T, srv *echomqsim.Server) []*docCommand {
	t.Helper()
	docs := srv.Do("COMMAND", "DOCS")
	var out []*docCommand
	var walk func(name string, doc map[string]resp.Value)
	walk = func(name string, doc map[string]resp.Value) {
		if subs := doc["subcommands"]; len(subs.Elems) > 0 {
			for i := 0; i < len(subs.Elems); i += 2 {
				walk(subs.Elems[i].Str, fieldsOf(subs.Elems[i+1]))
			}
			return
		}
		if !slices.Contains(oracleGroups, doc["group"].Str) || oracleSkip[name] != "" || oracleNewer[name] || oracleWaits[name] ||
			!strings.Contains(name, *oracleOnly) {
			return
		}
		out = append(out, &docCommand{words: strings.Split(name, "|"), args: argsOf(doc["arguments"])})
	}
	for i := 0; i < len(docs.Elems); i += 2 {
		walk(docs.Elems[i].Str, fieldsOf(docs.Elems[i+1]))
	}
	if len(out) == 0 {
		t.Fatalf("no command takes part: COMMAND DOCS answered %s", resp.Format(docs))
	}
	return out
}

// fieldsOf is a map reply as a Go map.
func fieldsOf(v resp.Value) map[string]resp.Value {
	m := map[string]resp.Value{}
	for i := 0; i+1 < len(v.Elems); i += 2 {
		m[v.Elems[i].Str] = v.Elems[i+1]
	}
	return m
}

func argsOf(v resp.Value) (out []docArg) {
	for _, e := range v.Elems {
		f := fieldsOf(e)
		a := docArg{name: f["name"].Str, typ: f["type"].Str, token: f["token"].Str, args: argsOf(f["arguments"])}
		for _, fl := range f["flags"].Elems {
			a.optional = a.optional || fl.Str == "optional"
			a.multiple = a.multiple || fl.Str == "multiple"
			a.everyToken = a.everyToken || fl.Str == "multiple_token"
		}
		out = append(out, a)
	}
	return out
}

// generator makes random commands: few keys and values, so that they meet.
type generator struct {
	r       *rand.Rand
	enabled []*docCommand
	numkeys int // of the command being made; -1 when it has no such argument
	// lex lets the commands on lexicographic ranges in, and keeps members short: in a
	// skiplist whose scores differ, what such a range finds depends on its random levels.
	// Otherwise SORT is in, which makes skiplists, and numbers out of a double's range are
	// not: after one the server's SORT takes every number for such a one for a while.
	lex    bool
	hll    bool
	lastMs int // of the IDs of stream entries made so far
}

// newGenerator switches some commands off for the whole episode, so that the
// others meet more often.
func newGenerator(seed uint64, commands []*docCommand) *generator {
	g := &generator{r: rng(seed), lex: seed/2%2 == 0}
	share := 0.1 + 0.9*g.r.Float64()
	for _, c := range commands {
		if g.lex && strings.HasPrefix(c.words[0], "sort") || !g.lex && strings.Contains(c.words[0], "lex") {
			continue
		}
		if g.r.Float64() < share {
			g.enabled = append(g.enabled, c)
		}
	}
	if len(g.enabled) == 0 {
		g.enabled = commands
	}
	return g
}

func pick[T any](g *generator, list ...T) T { return list[g.r.IntN(len(list))] }

// command makes one request; a few of them are broken on purpose.
func (g *generator) command() []string {
	c := g.enabled[g.r.IntN(len(g.enabled))]
	g.numkeys, g.hll = -1, strings.HasPrefix(c.words[0], "pf")
	out := slices.Clone(c.words)
	for _, a := range c.args {
		out = g.arg(out, a)
	}
	if has := func(word string) bool { return slices.ContainsFunc(out, equalTo(word)) }; strings.HasPrefix(c.words[0], "sort") && has("BY") && has("ALPHA") {
		out = slices.DeleteFunc(out, equalTo("ALPHA")) // the order of equal weights is that of the server's hash table
	}
	switch g.r.IntN(60) {
	case 0:
		out = append(out, pick(g, "NX", "x", "LIMIT", "", "1"))
	case 1:
		if len(out) > 2 {
			out = out[:len(out)-1]
		}
	case 2:
		if i := 1 + g.r.IntN(len(out)); i < len(out) {
			out[i] = pick(g, "", "abc", "-1", "1.5", " 1", "9223372036854775808", "\x00\xff")
		}
	}
	return out
}

func equalTo(word string) func(string) bool {
	return func(s string) bool { return strings.EqualFold(s, word) }
}

func (g *generator) arg(out []string, a docArg) []string {
	if a.token == "STOREDIST" { // the server's C library gets the last bit wrong at times: see TestOracleGeoDistances
		return out
	}
	if a.optional && (g.r.IntN(3) > 0 || a.token == "BLOCK" && g.r.IntN(8) > 0) { // waiting takes long
		return out
	}
	n := 1
	if a.multiple {
		n = 1 + g.r.IntN(3)
		if a.typ == "key" && g.numkeys >= 0 {
			n = g.numkeys
		}
	}
	for i := range n {
		if a.token != "" && (i == 0 || a.everyToken || a.typ == "pure-token") {
			out = append(out, g.anyCase(a.token))
		}
		out = g.value(out, a)
	}
	return out
}

func (g *generator) anyCase(token string) string {
	if g.r.IntN(4) == 0 {
		return strings.ToLower(token)
	}
	return token
}

func (g *generator) value(out []string, a docArg) []string {
	switch a.token {
	case "BY", "GET":
		if a.typ == "pattern" {
			return append(out, pick(g, "k*", "k*", "k*->a", "k*->", "#", "nosort", "*"))
		}
	case "BLOCK": // no longer than it takes
		return append(out, pick(g, "1", "2", "-1", "x", "1.5"))
	case "IDLE":
		return append(out, g.text("min-idle-time"))
	}
	if a.name == "timeout" {
		return append(out, pick(g, "0.001", "0.01", "1e-3", "-1", "x", "nan"))
	}
	switch a.typ {
	case "block":
		for _, sub := range a.args {
			out = g.arg(out, sub)
		}
		return out
	case "oneof":
		if a.args[0].token == "*" { // an ID of the server's own clock can't be compared
			return g.arg(out, a.args[1])
		}
		chosen := a.args[g.r.IntN(len(a.args))]
		if chosen.token == "BYLEX" && !g.lex {
			return out
		}
		return g.arg(out, chosen)
	case "pure-token":
		return out
	case "key":
		return append(out, pick(g, "k1", "k2", "k3", "k4", "k5", "k\x00\n6"))
	case "integer":
		return append(out, g.integer(a.name))
	case "double":
		return append(out, g.double(a.name))
	case "unix-time":
		return append(out, pick(g, "4102444800", "4102444800000", "1", "0", "-1", "99999999999999999"))
	case "pattern":
		return append(out, pick(g, "*", "k*", "k[1-3]", "?1", "k\\1", "[^k]*", ""))
	}
	return append(out, g.text(a.name))
}

func (g *generator) integer(name string) string {
	switch name {
	case "numkeys":
		g.numkeys = 1 + g.r.IntN(3)
		return strconv.Itoa(g.numkeys)
	case "bit":
		return pick(g, "0", "1", "0", "1", "0", "1", "2")
	case "cursor":
		return "0"
	case "seconds", "milliseconds", "ttl":
		if g.r.IntN(4) == 0 {
			most := pick(g, "9223372036854775807", "0")
			if name == "ttl" {
				most = "0" // RESTORE's sum with the time overflows, which C leaves open
			}
			return pick(g, "0", "-1", most, "x")
		}
		// Far apart: the moment at which a server sets one must not decide what GT and LT find.
		return strconv.Itoa(100_000 * (1 + g.r.IntN(1_000_000)))
	case "destination-db", "db":
		return pick(g, "0", "1", "1", "99")
	case "offset":
		if g.r.IntN(20) == 0 {
			return pick(g, "4294967296", "99999", "-1", "#1", "#x") // what makes strings of 512 MB has transcripts
		}
		return pick(g, "0", "1", "2", "3", "7", "8", "100", "-1")
	}
	if g.r.IntN(25) == 0 {
		return pick(g, "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e3", "01", "+1", "abc", "")
	}
	return pick(g, "0", "1", "2", "3", "5", "10", "100", "-1", "-2", "-3", "-100")
}

func (g *generator) double(name string) string {
	if g.r.IntN(20) > 0 {
		switch name {
		case "longitude":
			return pick(g, "0", "13.361389", "15.087269", "-180", "180", "-0.0001", "-122.4194", "179.99", "2.3522", "1e-7", "181",
				strconv.Itoa(g.r.IntN(361)-180))
		case "latitude":
			return pick(g, "0", "38.115556", "37.502669", "-85.05112878", "85.05112878", "0.0001", "-37.77", "84.9", "48.8566", "-70", "86",
				strconv.Itoa(g.r.IntN(171)-85))
		case "radius", "width", "height":
			return pick(g, "0", "0.1", "1", "50", "200", "5000", "100000", "3000000", "12345.678", "1e7", "2e8", "1e300", "-1")
		}
	}
	if g.r.IntN(20) == 0 {
		return pick(g, "nan", "abc", "", "0x10", " 1", "1 ")
	}
	if g.lex && g.r.IntN(20) == 0 {
		return pick(g, "1e400", "1e-400", "5e-324")
	}
	return pick(g, "0", "1", "-1", "1.5", "3.14159", "-0", "inf", "-inf", "+inf", "1e20", "1e-7", "17179869184", "0.1", "2", "3",
		"123456789012345678", "1.7976931348623157e308")
}

func (g *generator) text(name string) string {
	switch name {
	case "min", "max", "start", "stop":
		return pick(g, "0", "1", "-1", "2", "(1", "(1.5", "-inf", "+inf", "[a", "(a", "[c", "(d", "-", "+", "(inf", "3", "[", "x")
	}
	switch name {
	case "subcommand": // PFDEBUG's
		if g.r.IntN(20) == 0 {
			return "GETREG"
		}
		return pick(g, "DECODE", "DECODE", "encoding", "TODENSE", "x")
	case "element":
		if g.hll {
			return strconv.Itoa(g.r.IntN(1 + g.r.IntN(100_000)))
		}
	case "encoding":
		return pick(g, "u8", "i8", "i5", "u1", "i64", "u63", "i16", "u64", "i0", "x")
	}
	if t, ok := g.streamText(name); ok {
		return t
	}
	if g.r.IntN(40) == 0 {
		if g.lex && name == "member" {
			return strings.Repeat("x", 40)
		}
		return strings.Repeat(pick(g, "x", "ab", "\x00"), pick(g, 40, 65, 200))
	}
	return pick(g, "a", "b", "c", "d", "e", "1", "2", "10", "-5", "3.5", "", "foobar", "\x00\xff", "12345678901234567890", "1e5", "hello world", "0")
}

// streamText is a value for an argument of a stream command. IDs rise most of the time,
// and times are such that the moment of the command makes no difference.
func (g *generator) streamText(name string) (string, bool) {
	switch name {
	case "group":
		return pick(g, "g1", "g1", "g2", ""), true
	case "consumer":
		return pick(g, "c1", "c2", "c3"), true
	case "min-idle-time":
		return pick(g, "0", "0", "0", "1000000000", "-1", "x"), true
	case "id", "end", "threshold", "lastid", "last-id", "max-deleted-id", "new-id":
	default:
		return "", false
	}
	if g.r.IntN(20) == 0 {
		return pick(g, "$", "+", "-", ">", "0", "x", "3-*", "(3", "(2-1", "5", "18446744073709551615-18446744073709551615", "1-x"), true
	}
	ms := 1 + g.r.IntN(g.lastMs+1)
	if name == "id" && g.r.IntN(2) == 0 {
		g.lastMs++
		ms = g.lastMs
	}
	return strconv.Itoa(ms) + pick(g, "-1", "-1", "-0", "-2", ""), true
}
