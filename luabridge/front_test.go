package luabridge

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// The files in testdata/front hold programs and the answers of valkey-server 8.0.1, one pair of quoted strings a
// line. With ECHOMQSIM_ORACLE=host:port they are compared live; with ECHOMQSIM_RECORD=1 also, they are rewritten.

type oracleConn struct {
	conn net.Conn
	r    *bufio.Reader
}

// dialOracle connects to the reference server, or skips the test.
func dialOracle(t *testing.T) *oracleConn {
	addr := os.Getenv("ECHOMQSIM_ORACLE")
	if addr == "" {
		t.Skip("ECHOMQSIM_ORACLE is not set")
	}
	conn, err := net.Dial(oracleNetwork(addr), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &oracleConn{conn, bufio.NewReader(conn)}
}

// oracleNetwork is unix for a path, else tcp.
func oracleNetwork(addr string) string {
	if strings.HasPrefix(addr, "/") {
		return "unix"
	}
	return "tcp"
}

func (o *oracleConn) do(t *testing.T, args ...string) string {
	var req strings.Builder
	fmt.Fprintf(&req, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&req, "$%d\r\n%s\r\n", len(a), a)
	}
	o.conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := o.conn.Write([]byte(req.String())); err != nil {
		t.Fatal(err)
	}
	answer, err := o.read()
	if err != nil {
		t.Fatalf("%v after %q", err, args)
	}
	return answer
}

// read renders one reply in the notation of show.
func (o *oracleConn) read() (string, error) {
	line, err := o.r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	n, _ := strconv.Atoi(line[1:])
	switch line[0] {
	case '$', '*':
		if n < 0 {
			return "nil", nil
		}
	}
	switch line[0] {
	case '$':
		buf := make([]byte, n+2)
		for got := 0; got < len(buf); {
			k, err := o.r.Read(buf[got:])
			if err != nil {
				return "", err
			}
			got += k
		}
		return strconv.Quote(string(buf[:n])), nil
	case '*':
		parts := make([]string, n)
		for i := range parts {
			if parts[i], err = o.read(); err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(parts, " ") + "]", nil
	}
	return line, nil
}

func (o *oracleConn) load(t *testing.T, src string) string {
	answer := o.do(t, "SCRIPT", "LOAD", src)
	if !strings.HasPrefix(answer, "-") {
		return "ok"
	}
	return strings.TrimPrefix(answer, "-ERR Error compiling script (new function): ")
}

// eval runs a program on the server; of an error only Lua's own text is kept.
func (o *oracleConn) eval(t *testing.T, src string) string {
	answer := o.do(t, "EVAL", src, "0")
	if text, ok := strings.CutPrefix(answer, "-"); ok {
		text, _, _ = strings.Cut(text, " script: ")
		return "-" + strings.TrimPrefix(text, "ERR ")
	}
	return answer
}

type testCase struct{ src, want string }

func readCases(t *testing.T, file string) []testCase {
	data, err := os.ReadFile("testdata/front/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []testCase
	for i, line := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
		src, err := strconv.QuotedPrefix(line)
		if err != nil {
			t.Fatalf("%s:%d: %v", file, i+1, err)
		}
		c := testCase{}
		c.src, _ = strconv.Unquote(src)
		c.want, _ = strconv.Unquote(strings.TrimSpace(line[len(src):]))
		cases = append(cases, c)
	}
	return cases
}

// replay compares every recorded answer with got; with a server at hand it asks again first.
func replay(t *testing.T, file string, ask func(*oracleConn, string) string, got func(string) string) {
	cases := readCases(t, file)
	if os.Getenv("ECHOMQSIM_RECORD") != "" {
		o := dialOracle(t)
		var out strings.Builder
		for i := range cases {
			cases[i].want = ask(o, cases[i].src)
			fmt.Fprintf(&out, "%q %q\n", cases[i].src, cases[i].want)
		}
		if err := os.WriteFile("testdata/front/"+file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range cases {
		if have := got(c.src); have != c.want {
			t.Errorf("%q\n got  %s\n want %s", c.src, have, c.want)
		}
	}
	t.Logf("%s: %d programs", file, len(cases))
}

// compiled is what SCRIPT LOAD would answer: "ok" or the error text.
func compiled(src string) string {
	if _, err := parseChunk(src); err != nil {
		return oneLineText(err.Error())
	}
	return "ok"
}

// oneLineText is how the server puts a message in an error reply.
func oneLineText(s string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(s) }

func TestSyntax(t *testing.T) {
	replay(t, "syntax.txt", func(o *oracleConn, src string) string { return o.load(t, src) }, compiled)
}

func TestRun(t *testing.T) {
	for _, hoist := range []bool{false, true} {
		t.Run(fmt.Sprintf("hoist=%v", hoist), func(t *testing.T) {
			replay(t, "run.txt", func(o *oracleConn, src string) string { return o.eval(t, src) },
				func(src string) string { return runProgram(src, hoist) })
		})
	}
}

// runProgram runs a script on a bare state with a few functions, and renders its reply or error as eval does.
func runProgram(src string, hoist bool) string {
	mode := hoistNothing
	if hoist {
		mode = hoistGlobals
	}
	proto, names, err := compileSource(src, scriptName, scriptCalls, mode)
	if err != nil {
		return "-Error compiling script (new function): " + oneLineText(err.Error())
	}
	return runCompiled(proto, names)
}

// runCompiled runs a main function whose parameters are the globals names.
func runCompiled(proto *lua.FunctionProto, names []string) string {
	L := bareState()
	defer L.Close()
	result, err := runProto(L, proto, names)
	if err != nil {
		return "-" + oneLineText(err.Error())
	}
	return show(result)
}

func runProto(L *lua.LState, proto *lua.FunctionProto, names []string) (lua.LValue, error) {
	v := &vm{helpers: map[*lua.LFunction]struct{}{}}
	handler := L.NewFunction(func(L *lua.LState) int {
		L.Push(v.translate(L, L.Get(1)))
		return 1
	})
	v.helpers[handler] = struct{}{}
	L.Push(L.NewFunctionFromProto(proto))
	for _, name := range names {
		L.Push(globalValue(L, name))
	}
	if err := L.PCall(len(names), 1, handler); err != nil {
		var api *lua.ApiError
		if errors.As(err, &api) && api.Object != nil {
			return nil, errors.New(lua.LVAsString(api.Object))
		}
		return nil, err
	}
	return L.Get(-1), nil
}

// globalValue finds a hoisted name: "x", "lib.x" or a helper.
func globalValue(L *lua.LState, name string) lua.LValue {
	library, field, ok := strings.Cut(name, ".")
	if !ok {
		return L.G.Global.RawGetString(name)
	}
	return L.GetField(L.G.Global.RawGetString(library), field)
}

func bareState() *lua.LState {
	L := lua.NewState(lua.Options{SkipOpenLibs: true, CallStackSize: 4000, RegistryMaxSize: 1 << 20})
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath} {
		L.Push(L.NewFunction(open))
		L.Call(0, 0)
	}
	for _, h := range frontHelpers {
		L.SetGlobal(h.name, L.NewFunction(h.fn))
	}
	L.SetGlobal("KEYS", L.NewTable())
	L.SetGlobal("ARGV", L.NewTable())
	L.SetGlobal("redis", L.NewTable())
	L.SetGlobal("tostring", L.NewFunction(func(L *lua.LState) int {
		if n, ok := L.Get(1).(lua.LNumber); ok {
			L.Push(lua.LString(formatNumber14(float64(n))))
		} else {
			L.Push(lua.LString(L.ToStringMeta(L.Get(1)).String()))
		}
		return 1
	}))
	v := &vm{}
	L.SetGlobal("error", L.NewFunction(func(L *lua.LState) int {
		where := ""
		if level := L.OptInt(2, 1); level > 0 {
			where = v.where(L, level)
		}
		raise(lua.LString(where + lua.LVAsString(L.Get(1))))
		return 0
	}))
	meta := L.NewTable()
	L.SetField(meta, "__index", L.NewFunction(func(L *lua.LState) int {
		v.errorf(L, "Script attempted to access nonexistent global variable '%s'", L.CheckString(2))
		return 0
	}))
	L.G.Global.Metatable = meta
	L.SetField(L.GetGlobal("table"), "concat", L.NewFunction(func(L *lua.LState) int {
		var parts []string
		for i := 1; i <= L.CheckTable(1).Len(); i++ {
			s, _ := toText(L.CheckTable(1).RawGetInt(i))
			parts = append(parts, s)
		}
		L.Push(lua.LString(strings.Join(parts, L.OptString(2, ""))))
		return 1
	}))
	return L
}

// show renders a script's result as the server's reply would be.
func show(value lua.LValue) string {
	switch v := value.(type) {
	case lua.LString:
		return strconv.Quote(string(v))
	case lua.LNumber:
		return ":" + strconv.FormatInt(toInt(float64(v)), 10)
	case lua.LBool:
		if v {
			return ":1"
		}
	case *lua.LTable:
		var parts []string
		for i := 1; ; i++ {
			item := v.RawGetInt(i)
			if item == lua.LNil {
				return "[" + strings.Join(parts, " ") + "]"
			}
			parts = append(parts, show(item))
		}
	}
	return "nil"
}
