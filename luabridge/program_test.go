package luabridge_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/echomq/echomq-sim/engine"
	"github.com/echomq/echomq-sim/resp"
)

// numberFrom is an environment variable as a number, or what stands in for it.
func numberFrom(variable string, otherwise int) int {
	n, err := strconv.Atoi(os.Getenv(variable))
	if err != nil {
		return otherwise
	}
	return n
}

// TestLivePrograms runs random programs, commands included, on the simulator and on
// the server at ECHOMQSIM_ORACLE, and compares their replies and what they left in
// the keyspace. LUABRIDGE_SEED and LUABRIDGE_COUNT choose others than the usual ones.
func TestLivePrograms(t *testing.T) {
	addr := os.Getenv("ECHOMQSIM_ORACLE")
	if addr == "" {
		t.Skip("ECHOMQSIM_ORACLE is not set")
	}
	seed, count := numberFrom("LUABRIDGE_SEED", 1), numberFrom("LUABRIDGE_COUNT", 2000)
	e, err := engine.New(engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	server := &liveServer{t: t, addr: addr}
	run := func(source string) (have, want []string) {
		for _, cmd := range [][]string{{"FLUSHALL"}, {"EVAL", source, "2", "k1", "k2", "10", "arg two", "-3.5"},
			{"GET", "k1"}, {"HGETALL", "h"}, {"ZRANGE", "z", "0", "-1", "WITHSCORES"}} {
			want = append(want, server.do(cmd...))
			v := e.Do(cmd...)
			have = append(have, masked(string(resp.Append(nil, &v, 3))))
		}
		return have, want
	}
	// explained reports whether the difference goes with what a rewriting removes.
	explained := func(source string, oldnew ...string) bool {
		without := strings.NewReplacer(oldnew...).Replace(source)
		if without == source {
			return false
		}
		have, want := run(without)
		return slices.Equal(have, want) || knownClass(have[1], want[1]) != "" || loose(have[1]) == loose(want[1])
	}
	known, bad := map[string]int{}, 0
	for i := seed; i < seed+count && bad < 10; i++ {
		source := newLuaProgram(int64(i)).source()
		have, want := run(source)
		if slices.Equal(have, want) {
			continue
		}
		class := classOf(source, have[1], want[1], explained)
		if class != "" {
			if known[class]++; testing.Verbose() && known[class] <= 2 {
				t.Logf("%s, seed %d:\n%s\n have %q\n want %q", class, i, strings.TrimPrefix(source, programHead), have[1], want[1])
			}
			continue
		}
		bad++
		t.Errorf("seed %d:\n%s\n have %q\n want %q", i, strings.TrimPrefix(source, programHead), have, want)
	}
	t.Logf("%d programs, differences of known classes: %v", count, known)
	for class, n := range known {
		if n > count/1000+5 {
			t.Errorf("%s: %d of %d programs", class, n, count)
		}
	}
}

// classOf is the class of a difference in a program's reply, empty if it is of none.
func classOf(source, have, want string, explained func(source string, oldnew ...string) bool) string {
	class := knownClass(have, want)
	lengths := strings.Fields("table.remove( tostring( table.insert( tostring( table.sort( tostring( #t2 3 #t1 3")
	switch {
	case class != "" && class != "order of fields":
	case explained(source, fromTheBack, "for i = 1, 3 do t1[i] = i"):
		class = "table filled from the back"
	case class != "":
	case explained(source, "for k, v in pairs(", "for k, v in ipairs("):
		class = "order of fields"
	case explained(source, "(-1 * 0)", "0", "(0 * -1)", "0", "(0 / -1)", "0", "-1 * ", "1 * ", "= -n", "= n"): // something is divided by it
		class = "negative zero"
	case explained(source, lengths...):
		class = "length of a table with holes"
	case explained(source, "#s1", "3", "#s2", "3", "string.len(", "select('#', "):
		class = "length of an address"
	case explained(source, append(lengths, fromTheBack, "for i = 1, 3 do n2 = i", "for k, v in pairs(", "for k, v in ipairs(")...),
		loose(have) == loose(want):
		class = "several of these"
	}
	return class
}

// fromTheBack makes a table whose length and order depend on its history.
const fromTheBack = "for i = 5, 1, -2 do t1[i] = i"

// pointer matches an address, also where a program made upper case of it or turned it round.
var pointer = regexp.MustCompile(`(?i)0x[0-9a-f]+|[0-9a-f]{6,}x0`)

func masked(reply string) string { return pointer.ReplaceAllString(reply, "0x") }

// knownClass names the listed difference (see the package's documentation) that
// explains two replies, or is empty.
func knownClass(have, want string) string {
	sorted := func(s string) string {
		b := []byte(s)
		slices.Sort(b)
		return string(b)
	}
	switch {
	case sorted(have) == sorted(want):
		return "order of fields"
	case strings.Contains(have, "0x") && replaced(have, "", "") == replaced(want, "", ""):
		return "length of an address"
	case withoutSigns(have) == withoutSigns(want):
		return "negative zero"
	case replaced(have, "-nan", "nan") == replaced(want, "-nan", "nan"):
		return "sign of nan"
	case withoutNames(have) == withoutNames(want):
		return "name in an error"
	}
	return ""
}

var bulkLength = regexp.MustCompile(`\$\d+`)

// replaced is a reply with one text in place of another, bulk lengths aside.
func replaced(reply, old, text string) string {
	return strings.ReplaceAll(bulkLength.ReplaceAllString(reply, "$"), old, text)
}

// loose is what is left of a reply without what the classes are about: order, signs of
// zero and nan, names in errors, lengths of addresses.
func loose(s string) string {
	s = strings.NewReplacer("-nan", "nan", "-0", "0").Replace(withoutNames(bulkLength.ReplaceAllString(s, "$")))
	b := []byte(s)
	slices.Sort(b)
	return string(b)
}

// withoutSigns is a reply with zeros that have no sign; what stands before one may be a dash, or
// the space in its place.
func withoutSigns(s string) string { return signedZero.ReplaceAllString(replaced(s, "", ""), "0") }

var signedZero = regexp.MustCompile(`[- ]+0`)

var errorName = regexp.MustCompile(`(local|upvalue|field|global|method) '[^']*' \((a \w+ value)\)|to '[^']*'|\$\d+`)

func withoutNames(s string) string { return errorName.ReplaceAllString(s, "$2") }

// liveServer is a connection that is made anew when the server had to be given up.
type liveServer struct {
	t    *testing.T
	addr string
	c    net.Conn
	r    *bufio.Reader
}

// do sends one command and returns the RESP3 reply as it came.
func (s *liveServer) do(args ...string) string {
	s.t.Helper()
	if s.c == nil {
		network := "tcp"
		if strings.HasPrefix(s.addr, "/") {
			network = "unix"
		}
		c, err := net.Dial(network, s.addr)
		if err != nil {
			s.t.Fatal(err)
		}
		s.c, s.r = c, bufio.NewReader(c)
		s.do("HELLO", "3")
	}
	s.c.SetDeadline(time.Now().Add(10 * time.Second))
	out := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		out = fmt.Appendf(out, "$%d\r\n%s\r\n", len(a), a)
	}
	var raw strings.Builder
	_, err := s.c.Write(out)
	if err == nil {
		err = s.read(&raw)
	}
	if err != nil {
		s.t.Fatalf("server: %v after %.2000q", err, args)
	}
	return masked(raw.String())
}

func (s *liveServer) read(raw *strings.Builder) error {
	line, err := s.r.ReadString('\n')
	if err != nil {
		return err
	}
	raw.WriteString(line)
	n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
	switch line[0] {
	case '$', '=':
		if n >= 0 {
			_, err = io.CopyN(raw, s.r, int64(n)+2)
		}
		return err
	case '%':
		n *= 2
	case '*', '~', '>':
	default:
		return nil
	}
	for range n {
		if err := s.read(raw); err != nil {
			return err
		}
	}
	return nil
}

// luaProgram writes a random program. Its loops are bounded and its strings short.
type luaProgram struct {
	*rand.Rand
	b     strings.Builder
	depth int
	loops int
	left  int // statements
}

func newLuaProgram(seed int64) *luaProgram {
	return &luaProgram{Rand: rand.New(rand.NewSource(seed)), left: 25}
}

const programHead = `local out, steps = {}, 0
local n1, n2, s1, s2, t1, t2, a1, a2 = 1, -2.5, 'abc', ARGV[2], {1, 2, 3}, {x = 1, y = 'b'}, nil, true
local function show(v, d)
  if type(v) ~= 'table' then if v == cjson.null then return 'null' end return type(v) == 'function' and 'f' or tostring(v) end
  if d > 2 then return '..' end
  local r = {}
  for k, x in pairs(v) do r[#r + 1] = tostring(k) .. '=' .. show(x, d + 1) if #r > 30 then break end end
  return '{' .. table.concat(r, ' ') .. '}'
end
local function put(v) steps = steps + 1 if steps > 60 then error('enough', 0) end out[#out + 1] = show(v, 0) end
`

func (p *luaProgram) source() string {
	p.b.WriteString(programHead)
	for range 4 + p.Intn(10) {
		p.stmt()
	}
	p.b.WriteString(p.pick("return out", "put(t1) put(t2) return out", "return {out, "+p.any(1)+"}", "return cjson.encode(t1) .. table.concat(out, ',')",
		"put(n1) put(s1) put(a1) return out"))
	return p.b.String()
}

func (p *luaProgram) pick(list ...string) string { return list[p.Intn(len(list))] }

func (p *luaProgram) line(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

func (p *luaProgram) block() {
	p.depth++
	for range 1 + p.Intn(3) {
		p.stmt()
	}
	p.depth--
}

func (p *luaProgram) stmt() {
	if p.left--; p.left < 0 || p.depth > 3 {
		p.line("put(%s)", p.any(1))
		return
	}
	switch p.Intn(22) {
	case 0, 1:
		p.line("%s = %s", p.pick("n1", "n2"), p.num(2))
	case 2, 3:
		p.line("%s = (%s):sub(1, 60)", p.pick("s1", "s2"), p.str(2))
	case 4:
		p.line("%s = %s", p.pick("t1", "t2"), p.table(2))
	case 5, 6:
		p.line("%s = %s", p.pick("a1", "a2"), p.any(2))
	case 7, 8, 9:
		p.line("%s", p.write())
	case 10, 11, 12:
		p.line("%s = %s", p.pick("a1", "a2"), p.command())
	case 13:
		p.loop()
	case 14:
		p.line("if %s then", p.any(1))
		p.block()
		if p.Intn(2) == 0 {
			p.line("else")
			p.block()
		}
		p.line("end")
	case 15, 16:
		p.line("do local ok, e = pcall(function(...)")
		p.block()
		p.line("return %s end, %s) put(ok) put(e) end", p.any(1), p.any(1))
	case 17:
		p.line("local function f%d(a, ...) n1 = n1 + 1 return %s, ... end put(f%d(%s)) put(select('#', f%d(1, 2, nil)))", p.depth, p.any(2), p.depth, p.any(1), p.depth)
	case 18:
		if p.Intn(6) == 0 {
			p.line("error(%s)", p.pick("'boom'", "{err = 'MY error'}", "'x', 2", "(s1:gsub('%c', ''))", "redis.error_reply('BAD thing')"))
			return
		}
		p.line("n1, n2 = n2, n1")
	default:
		p.line("put(%s)", p.any(2))
	}
}

func (p *luaProgram) loop() {
	p.loops++
	switch p.Intn(4) {
	case 0:
		p.line("for i = %s, %s do n1 = i", p.pick("1", "3", "n1 % 3", "'2'"), p.pick("3", "4", "#t1 % 5", "'3'"))
	case 1:
		// Not over t1 or t2: the body may add fields, and what a loop makes of them is not defined.
		p.line("for k, v in %s(%s) do a1 = v a2 = k", p.pick("pairs", "ipairs"), p.table(1))
	case 2:
		p.line("%s", p.pick(fromTheBack, "for i = 1, 5 do n2 = n2 + i"))
	default:
		p.line("for w in (%s):gmatch('%s') do s1 = w", p.str(1), p.pick("%w+", ".", "(%a)%a"))
	}
	p.line("steps = steps + 1 if steps > 50 then break end")
	p.block()
	p.line("end")
	p.loops--
}

// write changes a table.
func (p *luaProgram) write() string {
	t := p.pick("t1", "t2")
	switch p.Intn(9) {
	case 0:
		return t + "[#" + t + " + 1] = " + p.any(1)
	case 1:
		return "table.insert(" + t + ", " + p.any(1) + ")"
	case 2:
		return "put(table.remove(" + t + "))"
	case 3:
		return "table.sort(" + t + ", function(a, b) return tostring(a) < tostring(b) end)"
	case 4:
		return t + "." + p.field() + " = " + p.any(1)
	case 5:
		return "t2[" + p.str(1) + "] = " + p.any(1)
	case 6:
		return "if #" + t + " > 0 then " + t + "[#" + t + "] = nil end"
	case 7:
		if p.Intn(6) > 0 {
			return t + ".name = " + p.str(1)
		}
		return "setmetatable(" + t + ", {__index = function(_, k) return k end, __add = function(a, b) return 42 end, __tostring = function() return 'T' end})"
	}
	return t + "." + p.field() + ", n1 = " + p.any(1) + ", " + p.num(1)
}

func (p *luaProgram) field() string { return p.pick("x", "y", "id", "name", "state", "delay", "opts") }

// command is a call of a command.
func (p *luaProgram) command() string {
	key := p.pick("KEYS[1]", "KEYS[2]", "'h'", "'z'", "'k' .. n1")
	return p.pick("redis.call", "redis.call", "redis.pcall", "redis.pcall", "server.call") + "(" + p.pick(
		"'SET', KEYS[1], "+p.str(1), "'GET', "+key, "'INCRBY', KEYS[2], "+p.num(1), "'INCRBYFLOAT', 'f', "+p.num(1), "'HSET', 'h', "+p.str(0)+", "+p.str(1),
		"'HGETALL', 'h'", "'HMGET', 'h', 'abc', "+p.str(0), "'ZADD', 'z', "+p.num(1)+", "+p.str(0), "'ZRANGE', 'z', 0, -1, 'WITHSCORES'",
		"'ZSCORE', 'z', "+p.str(0), "'ZINCRBY', 'z', "+p.num(1)+", 'm'", "'DEL', "+key, "'EXISTS', "+key+", KEYS[1]", "'TYPE', "+key, "'TTL', "+key,
		"'NOSUCH', 1", "'GET'", "'STRLEN', "+key, "'APPEND', KEYS[1], "+p.str(0), "'HINCRBY', 'h', 'n', "+p.num(0), "'ZRANGEBYSCORE', 'z', '-inf', "+p.num(0),
		"'GET', "+p.any(1), "'PING', "+p.str(1), "'ECHO', "+p.num(1), "'SETEX', 'k9', 100, "+p.str(0), "'HDEL', 'h', 'abc'", "'ZCARD', "+key, "unpack({'SET', 'k8', "+p.num(1)+"})",
	) + ")"
}

func (p *luaProgram) any(depth int) string {
	switch p.Intn(10) {
	case 0, 1, 2:
		return p.num(depth)
	case 3, 4, 5:
		return p.str(depth)
	case 6:
		return p.table(depth)
	case 7:
		return p.pick("a1", "a2", "nil", "true", "false", "cjson.null")
	case 8:
		return p.boolean(depth)
	}
	return p.pick("a1", "a2", "(select(2, "+p.num(0)+", "+p.str(0)+"))", "t1[1]", "t2.x", "t2[s1]", "t1[#t1]", "type("+p.any(0)+")", "(function() return "+p.num(0)+" end)()")
}

func (p *luaProgram) boolean(depth int) string {
	if depth <= 0 {
		return p.pick("true", "false", "n1 > 0", "a1 == nil", "s1 == s2")
	}
	return p.pick("not "+p.any(depth-1), p.num(depth-1)+" < "+p.num(depth-1), p.str(depth-1)+" <= "+p.str(depth-1), p.any(depth-1)+" == "+p.any(depth-1),
		"("+p.any(depth-1)+" and "+p.any(depth-1)+")", "("+p.any(depth-1)+" or "+p.any(depth-1)+")")
}

// num is a number, now and then something else.
func (p *luaProgram) num(depth int) string {
	if p.Intn(40) == 0 {
		return p.pick("a1", "s1", "nil", "'12'", "ARGV[1]", "'0x10'", "t2.x")
	}
	if depth <= 0 {
		return p.pick("n1", "n2", "0", "1", "2", "10", "-1", "0.5", "#s1", "#t1", "3", "100", "1e15", "2^53", "1/3")
	}
	a, b := p.num(depth-1), p.num(depth-1)
	return p.pick("("+a+" + "+b+")", "("+a+" - "+b+")", "("+a+" * "+b+")", "("+a+" / "+b+")", "("+a+" % "+b+")", "math.floor("+a+")", "-"+p.pick("n1", "n2", "3"),
		"math.max("+a+", "+b+")", "tonumber("+p.str(depth-1)+") or "+b, "bit.band("+a+", 255)", "string.byte("+p.str(depth-1)+") or 0",
		"(string.find("+p.str(depth-1)+", '"+p.pattern()+"') or 0)", "#"+p.pick("s1", "s2", "t1", "t2", "out"), "math.abs("+a+")", "tonumber(ARGV["+p.pick("1", "3")+"])",
		"string.len("+p.str(depth-1)+")", "select('#', "+p.any(0)+", "+p.any(0)+")", "(struct.unpack('>H', struct.pack('>H', 7)))")
}

func (p *luaProgram) pattern() string {
	return p.pick("b", "%w+", "^a", "c$", "[%d.]+", "(.)%1", "%s", "(a)(b)", ".-c", "%p", "x*")
}

// str is a string or a number, now and then something else.
func (p *luaProgram) str(depth int) string {
	if p.Intn(50) == 0 {
		return p.pick("a1", "n1", "nil", "true", "a2")
	}
	if depth <= 0 {
		return p.pick("s1", "s2", "'abc'", "'x y'", "''", "'10'", "ARGV[2]", "'a\\0b'", "'é'", "KEYS[1]", "'line\\nbreak'")
	}
	a := p.str(depth - 1)
	return p.pick("("+a+" .. "+p.str(depth-1)+")", "("+a+" .. "+p.num(depth-1)+")", "string.upper("+a+")", "string.sub("+a+", "+p.pick("1", "-2", "2", "n1")+")",
		"string.rep("+a+", "+p.pick("0", "2", "3")+")", "string.format('%5.1f|%d|%s', "+p.num(depth-1)+", "+p.num(0)+", "+a+")", "string.format('%q', "+a+")",
		"(string.gsub("+a+", '"+p.pattern()+"', "+p.pick("'<%0>'", "'%%'", "string.upper", "{b = 'B'}")+"))", "(string.match("+a+", '"+p.pattern()+"') or 'none')",
		"string.reverse("+a+")", "tostring("+p.pick(p.num(depth-1), "not "+p.any(depth-1), "nil")+")", "cjson.encode("+p.table(depth-1)+"):sub(1, 900)", "table.concat({"+a+", "+p.num(0)+"}, '-')",
		"redis.sha1hex("+p.str(0)+")", "string.char(65, 66)", "tostring(cjson.decode(cjson.encode({v = "+p.pick("1", "0.1", "1e15", "-2.5", "1/3", "2^53")+"})).v)", "cmsgpack.pack("+p.num(depth-1)+")")
}

func (p *luaProgram) table(depth int) string {
	if depth <= 0 {
		return p.pick("{}", "{1, 2}", "{x = 1}")
	}
	var list []string
	for range p.Intn(5) {
		switch p.Intn(4) {
		case 0:
			list = append(list, p.field()+" = "+p.any(depth-1))
		case 1:
			list = append(list, "["+p.str(0)+"] = "+p.any(0))
		default:
			list = append(list, p.any(depth-1))
		}
	}
	made := "{" + strings.Join(list, ", ") + "}"
	return p.pick(made, made, made, "{t1[1], t1[2], t1[3]}", "{t2[1], t2.x, n1}", "cjson.decode(cjson.encode("+made+"))", "cmsgpack.unpack(cmsgpack.pack("+made+"))", "{unpack("+made+")}",
		"cjson.decode('[1, \"x\", {\"b\": 1, \"a\": null, \"cc\": [true]}]')", "{string.find("+p.str(0)+", '"+p.pattern()+"')}")
}
