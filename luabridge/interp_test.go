package luabridge

import (
	"fmt"
	"math/rand"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/echomq/echomq-sim/resp"
)

// stubHost answers every command with 0 and counts them.
type stubHost struct {
	calls int
	on    func(args []string) resp.Value
}

func (h *stubHost) Call(args []string) resp.Value {
	h.calls++
	if h.on != nil {
		return h.on(args)
	}
	return resp.Zero
}

func (h *stubHost) Log(int, string) {}

func (h *stubHost) ACLCheck([]string) (bool, string) { return true, "" }
func (h *stubHost) Replicate(bool)                   {}

func mustCompile(t testing.TB, source string) *Script {
	t.Helper()
	s, err := Compile(source)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func eval(t testing.TB, in *Interp, source string) string {
	t.Helper()
	return encoded(in.Run(&stubHost{}, mustCompile(t, source), nil, nil), 2)
}

// endless are scripts that never end by themselves, in Lua or inside one Go
// function.
var endless = []string{
	"while true do end",
	"repeat until false",
	"while true do pcall(error, 'x') end",
	"while true do pcall(function() while true do end end) end",
	"local function f() return f() end return f()",
	"while true do xpcall(function() while true do end end, function() while true do end end) end",
	"local t = setmetatable({}, {__index = function(t, k) while true do end end}) return t.x",
	"coroutine.wrap(function() while true do end end)()",
	"local co = coroutine.wrap(function() while true do pcall(function() while true do end end) end end) while true do co() end",
	"return ('a'):rep(30000):match(('a?'):rep(3000) .. 'b')",
	"return ('a'):rep(3000):match(('.-'):rep(300) .. 'b')",
	"while true do redis.call('ping') end",
	"table.sort({1, 2, 3}, function(a, b) while true do end end)",
	"return ('x'):gsub('.', function() while true do end end)",
	"local s = ('x'):rep(1e6) while true do s:find('yyy') end",
	"load(function() return ' ' end)",
	"for i = 1, math.huge do end",
	"while true do coroutine.create(function() end) end",
	"while true do local s = ('x'):rep(1e5) end",
}

func TestPollStopsEveryScript(t *testing.T) {
	for _, source := range endless {
		polls := 0
		in := New(Options{PollEvery: 20_000, Poll: func() (bool, string) {
			polls++
			return polls >= 3, "Script killed by user with SCRIPT KILL..."
		}})
		got := eval(t, in, source)
		if !strings.HasPrefix(got, "-ERR Script killed by user with SCRIPT KILL... script: "+SHA1Hex(source)+", on ") {
			t.Errorf("%s\n  %q", source, got)
		}
		polls = -1 << 40
		if got := eval(t, in, "return 1"); got != ":1\r\n" {
			t.Errorf("after it: %q", got)
		}
	}
}

func TestInterruptFromAnotherGoroutine(t *testing.T) {
	in := New(Options{})
	in.Interrupt("nobody runs")
	if got := eval(t, in, "return 1"); got != ":1\r\n" {
		t.Fatalf("an interrupt before the run: %q", got)
	}
	started := make(chan struct{})
	first := true
	h := &stubHost{on: func([]string) resp.Value {
		if first {
			first = false
			close(started)
		}
		return resp.Zero
	}}
	go func() {
		<-started
		in.Interrupt("stop")
	}()
	got := in.Run(h, mustCompile(t, "redis.call('ping') while true do pcall(redis.call, 'ping') end"), nil, nil)
	if got.Kind != resp.KindErr || !strings.HasPrefix(got.Str, "ERR stop script: ") {
		t.Fatalf("%+v", got)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	for _, source := range []string{
		"local s = 'x' while true do s = s .. s end",
		"local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1e5) .. i end",
		"local t = {} for i = 1, 1e9 do t[i] = {i} end",
		"local t = {} while true do t[#t + 1] = coroutine.create(function() end) end",
		"return ('x'):rep(2^31 - 1)",
		"return ('x'):rep(2^30)",
		"return string.rep('x', 1e10)",
		"local s = ('x'):rep(1e6) redis.log(3, s, s, s, s, s, s)",
		"redis.call('set', 'k', string.rep('x', 1e10))",
		"local t = {} for i = 1, 1e4 do t[i] = ('x'):rep(1e4) end return table.concat(t, t[1])",
		"return ('x'):rep(1e5):gsub('x', ('y'):rep(1e5))",
		"return string.format(('%s'):rep(2000), unpack((function() local t = {} for i = 1, 2000 do t[i] = ('x'):rep(1e5) end return t end)()))",
		"local s = ('\\1'):rep(1e7) return cjson.encode({s, s, s, s, s, s})",
		"local t = {} for i = 1, 40 do t = {t, t} end return t",
		"local t = {} for i = 1, 40 do t = {t, t} end return cjson.encode(t)",
		// An element with a large index takes memory for those before it.
		"local t = {} for i = 1, 20 do t[i] = {} t[i][1000000] = i end",
		"local t = {} for i = 1, 20 do t[i] = {} rawset(t[i], 1000000, i) end",
		"local t = {} for i = 1, 20 do t[i] = {} table.insert(t[i], 1000000, i) end",
		"return cmsgpack.unpack(('\\220\\0\\20' .. ('\\129\\206\\0\\15\\66\\64\\1'):rep(20)))",
		"return {" + strings.Repeat("{[1000000] = 1}, ", 20) + "}",
		"return {" + strings.Repeat("redis.call('LRANGE', 'list', 0, -1), ", 20) + "}",
	} {
		in := New(Options{MaxMemory: 16 << 20})
		long := make([]resp.Value, 3e5)
		h := &stubHost{on: func(args []string) resp.Value {
			if args[0] == "LRANGE" {
				return resp.Array(long...)
			}
			return resp.Zero
		}}
		got := encoded(in.Run(h, mustCompile(t, source), nil, nil), 2)
		if !strings.Contains(got, "not enough memory") {
			t.Errorf("%s\n  %.200q", source, got)
		}
	}
}

// hostile are scripts that must end with some reply, whatever it is.
var hostile = []string{
	"local t = {} t[1] = t return t",
	"local t = {} t.map = t return t",
	"local t = {} t.map = {a = t} return t",
	"local t = {} t.set = {[t] = true} return t",
	"local t = {} for i = 1, 1e5 do t = {t} end return t",
	"local function f() return 1 + f() end return f()",
	"local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end return f(1e6)",
	"local t = {} for i = 1, 1e6 do t = {t} end return t",
	"local function f() pcall(f) end f()",
	"local t = setmetatable({}, {}) getmetatable(t).__index = t return t.x",
	"local t = setmetatable({}, {__index = function(t, k) return t[k] end}) return t.x",
	"local t = setmetatable({}, {__eq = function(a, b) return a == b end}) return t == setmetatable({}, getmetatable(t))",
	"error({a = 1})",
	"error({err = {}})",
	"error(setmetatable({}, {__index = function() error('x') end}))",
	"error(redis)",
	"return setmetatable({}, {__tostring = error})",
	"xpcall(error, error)",
	"xpcall(error, function() error('again') end)",
	"return tostring(setmetatable({}, {__tostring = function() error({err = 'MY x'}) end}))",
	"return ('x'):rep(1e5):find(('('):rep(20) .. (')'):rep(20))",
	"return #('a'):rep(250000):match(('a'):rep(250000))",
	"return loadstring(('('):rep(1e5))",
	"return cmsgpack.unpack(('\\145'):rep(1e5))",
	"return cmsgpack.unpack('\\221\\255\\255\\255\\255')",
	"return cmsgpack.unpack('\\219\\255\\255\\255\\255')",
	"return struct.unpack('c0', 'abc')",
	"return struct.unpack('Bc0', '\\255abc')",
	"return struct.unpack('>I8c0', ('\\255'):rep(20))",
	"return struct.unpack('i', 'abcdefg', 2^53)",
	"return struct.pack('!1b', 1)",
	"return struct.unpack('i0', 'x')",
	"return struct.pack('i0', 5)",
	"return string.format('%99.99f', 1e300)",
	"return table.concat({}, 'x', 1, -5)",
	"return table.concat({}, 'x', -2^31, -2^31 + 2)",
	"return unpack({}, -2^31, -2^31 + 5)",
	"return unpack({}, 2^31 - 3, 2^31 - 1)",
	"return unpack({}, -1e18, 1e18)",
	"table.insert({}, 2^31 - 1, 1)",
	"table.insert({}, -5, 1)",
	"return select(-1)",
	"return select(2^40)",
	"return ('x'):sub(-2^62, 2^62)",
	"return ('x'):byte(-2^62, 2^62)",
	"return ('x'):find('x', -2^62)",
	"return ('x'):rep(-2^40)",
	"return string.char(2^40)",
	"return next({}, {})",
	"for k in pairs(_G) do end return 1",
	"local t = {} for i = 1, 300 do t[i] = i end for k in pairs(t) do t[k] = nil end return next(t)",
	"coroutine.wrap(function() coroutine.wrap(coroutine.yield)() end)()",
	"local f f = coroutine.wrap(function() f() end) f()",
	"return coroutine.resume(coroutine.create(function() return coroutine.resume(coroutine.running()) end))",
	"local co = coroutine.create(function() coroutine.yield() end) coroutine.resume(co) return coroutine.status(co)",
	"for k in coroutine.yield do end",
	"return redis.call('get', coroutine.yield())",
	"return pcall(redis.call, 'get', coroutine.yield())",
	"local co = coroutine.wrap(function() return redis.call('get', coroutine.yield('a')) end) co()",
	"local co = coroutine.wrap(function() return redis.call(coroutine.yield) end) return co()",
	"return coroutine.wrap(redis.call)('get', 'k')",
	"return coroutine.wrap(function() return pcall(coroutine.yield, redis.call('get', 'k')) end)()",
	"return coroutine.wrap(function() for k in coroutine.yield do end end)()",
	"setfenv(0, {}) return 1",
	"setfenv(1, {}) return redis",
	"setfenv(2, {})",
	"getfenv(1).x = 1",
	"getfenv(0).x = 1",
	"return getmetatable(getfenv()).__newindex",
	"__redis__err__handler(redis)",
	"getmetatable('').__index = nil return ('x'):len()",
	"getmetatable('').__add = error return '1' + 1",
	"return redis.call(setmetatable({}, {__tostring = function() return 'x' end}))",
	"return cjson.decode(('{\"a\":'):rep(5000))",
	"cjson.decode_max_depth(1e9) return cjson.decode(('['):rep(1e6))",
	"cjson.encode_max_depth(1e9) local t = {} t[1] = t return cjson.encode(t)",
	"cjson.encode_sparse_array(true, 0, 0) local t = {} t[2^26] = 1 return #cjson.encode(t)",
	"error(setmetatable({}, {__index = function() error('x', 0) end}))",
	"error(setmetatable({}, {__index = function() error({}) end}))",
	"coroutine.wrap(function() error(setmetatable({}, {__index = error})) end)()",
}

func TestHostile(t *testing.T) {
	in := New(Options{})
	for _, source := range hostile {
		v := in.Run(&stubHost{}, mustCompile(t, source), nil, nil)
		if strings.Contains(v.Str, "internal error") {
			t.Errorf("%s\n  %.300s", source, v.Str)
		}
	}
}

// TestMutants runs random mixtures of the probes' scripts: none may break the
// state or escape.
func TestMutants(t *testing.T) {
	var words []string
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		probes, _ := readProbes(t, file)
		for _, p := range probes {
			words = append(words, regexp.MustCompile(`\w+|\s+|.`).FindAllString(p.script, -1)...)
			words = append(words, "\n")
		}
	}
	r := rand.New(rand.NewSource(1))
	polls := 0
	in := New(Options{PollEvery: 10_000, MaxMemory: 64 << 20, Poll: func() (bool, string) {
		polls++
		return polls > 5, "stop"
	}})
	ran := 0
	for range 20_000 {
		var b strings.Builder
		for range 1 + r.Intn(4) {
			at := r.Intn(len(words) - 40)
			b.WriteString(strings.Join(words[at:at+1+r.Intn(40)], ""))
		}
		s, err := Compile(b.String())
		if err != nil {
			continue
		}
		ran++
		polls = 0
		if v := in.Run(&stubHost{}, s, []string{"k"}, []string{"a"}); strings.Contains(v.Str, "internal error") {
			t.Errorf("%s\n  %.200s", s.Source, v.Str)
		}
	}
	if ran < 100 {
		t.Errorf("only %d of the mixtures compile", ran)
	}
}

// TestReplyNesting has the server's own limits for tables that hold themselves.
func TestReplyNesting(t *testing.T) {
	for source, want := range map[string]int{
		"local t = {} t[1] = t return t":                    7995,
		"local t = {} t.map = {[1] = t} return t":           2665,
		"local t = {} t.set = {[t] = true} return t":        2665,
		"local t = {} t.map = {} t.map[t] = 1 return t":     1999,
		"local t = {} t[1] = {t} return t":                  7995,
		"local t = {} t[1] = {map = {a = t}} return t":      3998,
		"local t = {} t[1] = {set = {[t] = true}} return t": 3998,
	} {
		got := eval(t, New(Options{}), source)
		if n := strings.Count(got, "*1\r\n") + strings.Count(got, "*2\r\n"); n != want {
			t.Errorf("%s: %d levels, want %d", source, n, want)
		}
		if !strings.Contains(got, "-ERR reached lua stack limit\r\n") {
			t.Errorf("%s: no error at the end", source)
		}
	}
}

// TestNothingSurvives runs pairs of scripts: the second must not see the first.
func TestNothingSurvives(t *testing.T) {
	for _, c := range []struct{ first, second, want string }{
		{"x = 1", "return rawget(_G, 'x')", "$-1\r\n"},
		{"rawset(_G, 'x', 1)", "return rawget(_G, 'x')", "$-1\r\n"},
		{"local r = redis r.call = nil", "return type(redis.call)", "$8\r\nfunction\r\n"},
		{"local s = string s.rep = nil", "return ('x'):rep(2)", "$2\r\nxx\r\n"},
		{"getmetatable('').__index = nil", "return ('x'):rep(2)", "$2\r\nxx\r\n"},
		{"getmetatable('').__index.rep = nil", "return ('x'):rep(2)", "$2\r\nxx\r\n"},
		{"setmetatable(string, {})", "return ('x'):rep(2)", "$2\r\nxx\r\n"},
		{"setfenv(0, {}) loadstring('y = 1')()", "return rawget(_G, 'y')", "$-1\r\n"},
		{"setfenv(1, {}) redis = 1", "return type(redis)", "$5\r\ntable\r\n"},
		{"KEYS.x = 1", "return KEYS.x", "$-1\r\n"},
		{"redis.setresp(3)", "return true", ":1\r\n"},
		{"error('x')", "return 1", ":1\r\n"},
		{"local function f() return 1 + f() end f()", "return 1", ":1\r\n"},
		{"local t = {} t.x.y = 1", "return 1", ":1\r\n"},
		{"_G.redis.call = 1", "return type(redis.call)", "$8\r\nfunction\r\n"},
		{"getfenv(0).redis = 1", "return type(redis.call)", "$8\r\nfunction\r\n"},
		{"local m = getmetatable(_G) m.__index = nil", "return nothere", "-ERR"},
	} {
		in := New(Options{})
		eval(t, in, c.first)
		if got := eval(t, in, c.second); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s; %s\n  %q", c.first, c.second, got)
		}
	}
}

// TestKeptTexts: strings share their places with those of runs before, but with none of their
// own run, and with none that a function keeps.
func TestKeptTexts(t *testing.T) {
	const many = 3 * keptTexts
	in := New(Options{})
	host := &stubHost{on: func(args []string) resp.Value { return resp.Bulk(strings.ToUpper(args[1])) }}
	script := mustCompile(t, fmt.Sprintf("local t, n = {}, {} for i = 1, %d do t[#t + 1] = string.sub(ARGV[1], i, i + 3)"+
		" t[#t + 1] = redis.call('upper', t[#t]) n[t[#t]] = i end"+
		" for i = 1, #t, 2 do if n[t[i + 1]] ~= (i + 1) / 2 or t[i]:upper() ~= t[i + 1] then return i end end return t", many))
	lib, err := ParseLibrary("#!lua name=l\nlocal kept = {} redis.register_function('f', function(keys, args)" +
		" kept[#kept + 1] = string.sub(args[1], 1, 2) kept[#kept + 1] = redis.call('upper', kept[#kept]) return kept end)")
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Load(host, lib, nil); err != nil {
		t.Fatal(err)
	}
	var kept []resp.Value
	for _, first := range "axy" {
		var text []byte
		var want []resp.Value
		for i := range many + 3 {
			text = fmt.Appendf(text, "%c%02x", first, i)
		}
		for i := range many {
			sub := string(text[i : i+4])
			want = append(want, resp.Bulk(sub), resp.Bulk(strings.ToUpper(sub)))
		}
		if got := in.Run(host, script, nil, []string{string(text)}); !reflect.DeepEqual(got.Elems, want) {
			t.Errorf("of %q the script makes %v", text, got)
		}
		kept = append(kept, want[0], want[1])
		kept[len(kept)-2].Str, kept[len(kept)-1].Str = kept[len(kept)-2].Str[:2], kept[len(kept)-1].Str[:2]
		if got := in.Call(host, lib, "f", nil, []string{string(text)}); !reflect.DeepEqual(got.Elems, kept) {
			t.Errorf("the function has kept %v, want %v", got, kept)
		}
	}
}

// TestChunkNamesAreForgotten: the names that loadstring is given must not pile up.
func TestChunkNamesAreForgotten(t *testing.T) {
	in := New(Options{})
	name := strings.Repeat("x", maxChunkNames/4)
	script := mustCompile(t, "return loadstring('return 1', ARGV[1])()")
	lib, err := ParseLibrary("#!lua name=l\nlocal kept redis.register_function('f', function(keys, args)" +
		" kept = kept or loadstring('error(1)', args[1]) return loadstring('return 1', args[1])() end)")
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Load(&stubHost{}, lib, nil); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		arg := []string{fmt.Sprint(i, name)}
		if v := in.Run(&stubHost{}, script, nil, arg); v.Int != 1 {
			t.Fatal(v)
		}
		if v := in.Call(&stubHost{}, lib, "f", nil, arg); v.Int != 1 {
			t.Fatal(v)
		}
	}
	if n := len(in.scripts.chunks.names); n != 0 {
		t.Errorf("%d names of scripts' chunks are left", n)
	}
	if n := len(in.functions.chunks.names); n == 0 || n > 4 {
		t.Errorf("%d names of functions' chunks are left, each a quarter of the limit", n)
	}
}

func TestPanicInTheHostDoesNotEscape(t *testing.T) {
	in := New(Options{})
	h := &stubHost{on: func([]string) resp.Value { panic("host bug") }}
	for _, source := range []string{"return redis.call('x')", "return {pcall(redis.call, 'x')}"} {
		v := in.Run(h, mustCompile(t, source), nil, nil)
		if s := fmt.Sprint(v); !strings.Contains(s, "internal error") {
			t.Errorf("%s: %s", source, s)
		}
		if in.scripts != nil {
			t.Error("the state was kept")
		}
		if got := eval(t, in, "return 1"); got != ":1\r\n" {
			t.Errorf("after it: %q", got)
		}
	}
}

// TestSharedScript runs one Script on several interpreters at once.
func TestSharedScript(t *testing.T) {
	s := mustCompile(t, "local t = {a = 1} for i = 1, 1000 do t[i] = i .. '' end return cjson.encode(t)")
	want := New(Options{}).Run(&stubHost{}, s, nil, nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			in := New(Options{})
			for range 5 {
				if got := in.Run(&stubHost{}, s, nil, nil); got.Str != want.Str {
					t.Errorf("%.80q", got.Str)
				}
			}
		})
	}
	wg.Wait()
}

func TestLayoutIsKnown(t *testing.T) {
	if !layout.ok {
		t.Fatal("gopher-lua's structures have changed: see unsafe.go")
	}
}

// TestWithoutLayout checks the fallback: scripts run, errors have positions.
func TestWithoutLayout(t *testing.T) {
	saved := layout
	defer func() { layout = saved }()
	layout = stateLayout{}
	in := New(Options{})
	for source, want := range map[string]string{
		"return 1 + 1": ":2\r\n",
		"local n = 0 local function f() n = n + 1 end f() pcall(error, 'x') return n": ":1\r\n",
		"local t return t.x":       "-ERR user_script:1: attempt to index a nil value",
		"error('x')":               "-ERR user_script:1: x",
		"return redis.call({})":    "-ERR Command arguments must be strings or integers",
		"return nothere":           "-ERR user_script:1: Script attempted to access",
		"return {pcall(error, 1)}": "*2\r\n$-1\r\n$1\r\n1\r\n",
	} {
		if got := eval(t, in, source); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", source, got)
		}
	}
}

const enqueue = `if string.sub(ARGV[1], 1, 3) ~= 'JOB' then
  return redis.error_reply('EMQKIND job id must be JOB-namespaced')
end
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
redis.call('HSET', KEYS[1], 'state', 'pending', 'attempts', '0', 'payload', ARGV[2])
redis.call('ZADD', KEYS[2], 0, ARGV[1])
return 1`

func enqueueRun(t testing.TB) func() resp.Value {
	in, h, s := New(Options{}), &stubHost{}, mustCompile(t, enqueue)
	keys := []string{"emq:{q}:job:JOB1", "emq:{q}:pending"}
	args := []string{"JOB1", strings.Repeat("p", 200)}
	return func() resp.Value { return in.Run(h, s, keys, args) }
}

func TestEnqueueAllocations(t *testing.T) {
	run := enqueueRun(t)
	if v := run(); v.Kind != resp.KindInt || v.Int != 1 {
		t.Fatalf("%+v", v)
	}
	if n := testing.AllocsPerRun(1000, func() { run() }); n > 0 {
		t.Errorf("%v allocations per run", n)
	}
}

func BenchmarkEnqueue(b *testing.B) {
	run := enqueueRun(b)
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
}

func BenchmarkScriptCompile(b *testing.B) {
	for b.Loop() {
		mustCompile(b, enqueue)
	}
}

// TestFreshRandomNumbers has the first numbers of a server that was just started:
// one generator for all scripts, which nothing seeds.
func TestFreshRandomNumbers(t *testing.T) {
	in := New(Options{})
	for _, want := range []string{"0.39646477363839", "0.84048536971234", "0.35333609737146", "0.44658343468168"} {
		if got := eval(t, in, "return tostring(math.random())"); !strings.Contains(got, "\r\n"+want+"\r\n") {
			t.Errorf("%q, want %s", got, want)
		}
	}
}

// What scripts often ask of a table does not take time for all of its keys: each of these
// would take minutes.
func TestQuestionsAboutBigTables(t *testing.T) {
	for _, source := range []string{
		"local t = {} for i = 1, 50000 do t['k' .. i] = i if next(t) == nil then return 0 end end return 1",
		"local t = {} for i = 1, 50000 do t['k' .. i] = i end local n = 0 while next(t) do t[next(t)] = nil n = n + 1 end return n - 49999",
		"local t = {} for i = 1, 50000 do t['k' .. i] = i end for i = 1, 50000 do for k in pairs(t) do break end end return 1",
		"local t = {} for i = 1, 50000 do local k = 'k' .. i t[k] = 1 t[k] = nil if next(t) then return 0 end end return 1",
		"local t = {} for i = 1, 4000 do t[i * 1000] = i end local n = 0 while next(t) do t[next(t)] = nil n = n + 1 end return n - 3999",
		"local t = {} for i = 1, 200000 do t[i] = i end local n = 0 while #t > 0 do n = n + 1 t[n] = nil end return n - 131071",
	} {
		if got := eval(t, New(Options{}), source); got != ":1\r\n" {
			t.Errorf("%s\n  %.200q", source, got)
		}
	}
}
