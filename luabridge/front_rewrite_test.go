package luabridge

import (
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// TestRewritesNeeded shows for each rewrite a program that the compiler gets wrong without it. When one starts to
// fail after an update of gopher-lua, that rewrite may go.
func TestRewritesNeeded(t *testing.T) {
	fifty := strings.Repeat("1,", 50)
	for name, c := range map[string]testCase{
		"multiple assignment":  {"local a,b=1,2 a,b=b,a return {a,b}", "[:2 :1]"},
		"logical to local":     {"local v=2 v=((function() return 7 end)() or 3) and v return v", ":2"},
		"adjusted call":        {"local function g(a) a=(tostring(a)) return a end return g(5)", `"5"`},
		"key read late":        {"local n,t=0,{} local function inc() n=n+1 return n end t[n]=inc() return t[1]", ":1"},
		"keyed call":           {"local f=function() return 9 end return #{1,a=f()}", ":1"},
		"full list then keyed": {"local f=function() return 9 end local t={" + fifty + "k=f()} return t[1]", ":1"},
		"full list then call":  {"local f=function() return 9 end local t={" + fifty + "f()} return {t[1],t[51]}", "[:1 :9]"},
		"many list items":      {"local t={" + strings.Repeat("7,", 25560) + "8} return t[25561]", ":8"},
		"break closes":         {breakCloses, ":3"},
		"for over next":        {"local function f() local a,b,c=1,2,3 end f() local r={} for k in next,{5} do r[1]=k end return r", "[:1]"},
		"for with many states": {"local function it(s,c) if c<s then return c+1 end end local function g() return 2,0 end local n=0 for i in it,g() do n=n+i end return n", ":3"},
		"for with text bounds": {"local n=0 for i='1','3' do n=n+i end return n", ":6"},
		"concat of numbers":    {"return 0.1+0.2 ..''", `"0.3"`},
		"remainder":            {"return tostring(2^60%3)", `"0"`},
		"global assignment":    {"x=1", "-user_script:1: Attempt to modify a readonly table"},
		"library assignment":   {"string.x=1", "-user_script:1: Attempt to modify a readonly table"},
		"wide call":            {"return select('#'" + strings.Repeat(",1", 230) + ")", ":230"},
	} {
		t.Run(name, func(t *testing.T) {
			if have := runProgram(c.src, true); have != c.want {
				t.Errorf("%s gives %s, want %s", c.src, have, c.want)
			}
			if have := runPlain(c.src); have == c.want {
				t.Errorf("not needed any more: %.200s", c.src)
			}
		})
	}
}

const breakCloses = `local f
for i=1,9 do
	if i==3 then local x=i f=function() return x end break end
end
local a,b,c,d,e,g=10,20,30,40,50,60
return f()`

// runPlain compiles the tree as parsed.
func runPlain(src string) string {
	chunk, err := parseChunk(src)
	if err != nil {
		return err.Error()
	}
	proto, err := lua.Compile(chunk, scriptName)
	if err != nil {
		return err.Error()
	}
	return runCompiled(proto, nil)
}

// TestJumpGuard runs loops whose first instruction would be a jump; the compiler misreads some of them.
func TestJumpGuard(t *testing.T) {
	for _, body := range []string{
		"while true do break end", "while true do do break end end", "repeat break until true",
		"for _ in pairs({1}) do break end", "for _ in pairs({1}) do if false then n=1 end n=n+1 end",
		"while true do if true then break end end", "repeat if nil then n=9 end n=n+1 until n>2",
	} {
		src := "local n=0 for i=1,3 do " + body + " end for i=1,3 do if i>1 then " + body + " else n=n+10 end end return 'end'"
		if have := runProgram(src, true); have != `"end"` {
			t.Errorf("%s gives %s", src, have)
		}
	}
}

// TestHideFromItself: "local f = function" does not see the new f.
func TestHideFromItself(t *testing.T) {
	const src = "local f = function() return 5 end do local f = function() return f and f() end return f() end"
	if have := runProgram(src, false); have != ":5" {
		t.Errorf("got %s", have)
	}
}

// TestFrontEnd checks the tree that frontEnd hands out: plain lines, and hoisted names as parameters.
func TestFrontEnd(t *testing.T) {
	chunk, hoisted, err := frontEnd("local a = KEYS[1] .. 'x'\nreturn redis.call('get', a, tostring(ARGV[1]))")
	if err != nil {
		t.Fatal(err)
	}
	if have := strings.Join(hoisted, " "); have != "KEYS \x00cat redis.call tostring ARGV" {
		t.Errorf("hoisted %q", have)
	}
	fn := chunk[0].(*ast.ReturnStmt).Exprs[0].(*ast.FunctionExpr)
	if have := strings.Join(fn.ParList.Names, " "); have != "\x00KEYS \x00cat \x00redis.call \x00tostring \x00ARGV" {
		t.Errorf("parameters %q", have)
	}
	if line := fn.Stmts[1].Line(); line != 2 {
		t.Errorf("line %d", line)
	}
}

// TestNotHoisted: scripts that could tell the difference keep their globals.
func TestNotHoisted(t *testing.T) {
	for _, src := range []string{
		"setfenv(1,{}) return KEYS", "local KEYS=1 return KEYS", "return nope", "redis.x=1", "return _G",
	} {
		_, hoisted, err := frontEnd(src)
		for _, h := range hoisted {
			if !strings.HasPrefix(h, "\x00") {
				t.Errorf("%s: hoisted %q (%v)", src, h, err)
			}
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	src := strings.Repeat("local v = redis.call('hget', KEYS[1], 'f') if v then redis.call('hset', KEYS[1], 'k:' .. v, ARGV[1]) end\n", 10)
	for b.Loop() {
		if _, _, err := compileSource(src, scriptName, scriptCalls, hoistGlobals); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkConcat(b *testing.B) {
	proto, names, err := compileSource("local s='abc' for i=1,1000 do local x='k:'..s..':x' end", scriptName, scriptCalls, hoistGlobals)
	if err != nil {
		b.Fatal(err)
	}
	L := bareState()
	defer L.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := runProto(L, proto, names); err != nil {
			b.Fatal(err)
		}
		L.SetTop(0)
	}
}

func BenchmarkRemainder(b *testing.B) {
	for name, op := range map[string]string{"mod=3": "i%3", "mod=4": "i%4"} {
		b.Run(name, func(b *testing.B) {
			proto, names, err := compileSource("local n=0 for i=1,1000 do n="+op+" end", scriptName, scriptCalls, hoistGlobals)
			if err != nil {
				b.Fatal(err)
			}
			L := bareState()
			defer L.Close()
			for b.Loop() {
				if _, err := runProto(L, proto, names); err != nil {
					b.Fatal(err)
				}
				L.SetTop(0)
			}
		})
	}
}
