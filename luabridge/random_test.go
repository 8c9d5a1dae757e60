package luabridge

import (
	"fmt"
	"maps"
	"math"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// generators make random scripts, each of one kind, whose replies must be those
// of the server.
var generators = map[string]func(r *rand.Rand) string{
	"order":   randomOrder,
	"format":  randomFormat,
	"pattern": randomPattern,
	"number":  randomNumber,
	"text":    randomTonumber,
	"json":    randomJSON,
	"sort":    randomSort,
	"error":   randomError,
	"reply":   randomReply,
	"struct":  randomStruct,
	"double":  randomDoubleReply,
}

// TestLive compares random scripts with the live server at ECHOMQSIM_ORACLE.
// LUABRIDGE_SEED and LUABRIDGE_COUNT choose others than the usual ones.
func TestLive(t *testing.T) {
	addr := os.Getenv("ECHOMQSIM_ORACLE")
	if addr == "" {
		t.Skip("ECHOMQSIM_ORACLE is not set")
	}
	seed, count := 1, 300
	if n, err := strconv.Atoi(os.Getenv("LUABRIDGE_SEED")); err == nil {
		seed = n
	}
	if n, err := strconv.Atoi(os.Getenv("LUABRIDGE_COUNT")); err == nil {
		count = n
	}
	for _, kind := range slices.Sorted(maps.Keys(generators)) {
		t.Run(kind, func(t *testing.T) {
			r := rand.New(rand.NewSource(int64(seed)))
			in := New(Options{})
			bad := 0
			for range count {
				source := generators[kind](r)
				conn, err := dialProto(addr, 2)
				if err != nil {
					t.Fatal(err)
				}
				_, want, err := conn.do("EVAL", source, "0")
				conn.c.Close()
				if err != nil {
					t.Logf("server: %v: %s", err, source)
					continue
				}
				got, _ := (&probe{script: source}).run(in, &stubHost{})
				if masked(got) != masked(want) {
					if bad++; bad <= 5 {
						t.Errorf("%s\n  have %q\n  want %q", source, got, want)
					}
				}
			}
			if bad > 0 {
				t.Errorf("%d of %d differ", bad, count)
			}
		})
	}
}

var fieldNames = strings.Fields("id name state attempts payload delay priority timestamp opts data retries to subject " +
	"a b c d e f g x y z key value lock token worker parent children progress result error stack finishedOn processedOn")

func pick[T any](r *rand.Rand, list []T) T { return list[r.Intn(len(list))] }

// randomOrder builds a table in one of the ways whose order is known.
func randomOrder(r *rand.Rand) string {
	names := append([]string(nil), fieldNames...)
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:1+r.Intn(20)]
	var b strings.Builder
	b.WriteString("local t = {")
	cut := 0
	if r.Intn(2) == 0 {
		cut = r.Intn(len(names) + 1)
	}
	if r.Intn(4) == 0 {
		b.WriteString("1, 2, 3, ")
	}
	for i, n := range names[:cut] {
		fmt.Fprintf(&b, "%s = %d, ", n, i)
	}
	b.WriteString("} ")
	for i, n := range names[cut:] {
		fmt.Fprintf(&b, "t.%s = %d ", n, i)
	}
	if r.Intn(3) == 0 {
		fmt.Fprintf(&b, "t.%s = 'again' ", pick(r, names))
	}
	if r.Intn(3) == 0 { // removed, never to come again, and others added
		for _, n := range names[:1+r.Intn(len(names))] {
			fmt.Fprintf(&b, "t.%s = nil ", n)
		}
		for i := range r.Intn(4) {
			fmt.Fprintf(&b, "t.new%d = %d ", i, i)
		}
	}
	b.WriteString(pick(r, []string{
		"return cjson.encode(t)", "return cmsgpack.pack(t)", "return cjson.encode(cjson.decode(cjson.encode(t)))",
		"local o = {} for k, v in pairs(t) do o[#o + 1] = tostring(k) end return o",
		"local o, k = {}, nil repeat k = next(t, k) o[#o + 1] = tostring(k) until k == nil return o",
		"return {map = t}",
	}))
	return b.String()
}

func randomDouble(r *rand.Rand) string {
	switch r.Intn(7) {
	case 0:
		return strconv.Itoa(r.Intn(2000) - 1000)
	case 1:
		return strconv.FormatFloat(r.NormFloat64()*100, 'g', 1+r.Intn(17), 64)
	case 2:
		return strconv.FormatFloat(r.Float64(), 'e', r.Intn(17), 64)
	case 3:
		return strconv.FormatInt(r.Int63(), 10)
	case 4:
		return fmt.Sprintf("%de%d", r.Intn(100000), r.Intn(60)-30)
	case 5:
		return fmt.Sprintf("%d/%d", r.Intn(1000), 1+r.Intn(1000))
	}
	return fmt.Sprintf("2^%d", r.Intn(140)-70)
}

func randomNumber(r *rand.Rand) string {
	n := randomDouble(r)
	return pick(r, []string{
		"return tostring(" + n + ")", "return (" + n + ") .. ''", "return cjson.encode({" + n + "})",
		"return table.concat({" + n + "}, ',')", "return " + n, "return {double = " + n + "}",
		"return string.format('%.17g', " + n + ")", "return cmsgpack.pack(" + n + ")",
		"return tostring(tonumber('" + n + "'))", "return {bit.tobit(" + n + "), bit.tohex(" + n + ")}",
		"return {tostring(math.floor(" + n + ")), tostring(math.ceil(" + n + ")), tostring((" + n + ") % 7)}",
	})
}

func randomTonumber(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.Intn(6) {
		b.WriteString(pick(r, []string{"0", "1", "9", "e", "E", "+", "-", ".", "x", "X", "0x", "p", " ", "\\t", "f", "inf", "nan", "_", "\\0", "(", "10"}))
	}
	return fmt.Sprintf("return {tostring(tonumber('%s')), tostring(tonumber('%s', %d)), tostring(pcall(function() return '%s' + 0 end))}",
		b.String(), b.String(), 2+r.Intn(35), b.String())
}

func randomFormat(r *rand.Rand) string {
	var f strings.Builder
	f.WriteByte('%')
	for _, c := range "-+ #0" {
		if r.Intn(5) == 0 {
			f.WriteRune(c)
		}
	}
	if r.Intn(2) == 0 {
		fmt.Fprint(&f, r.Intn(25))
	}
	if r.Intn(2) == 0 {
		fmt.Fprintf(&f, ".%d", r.Intn(20))
	}
	verb := pick(r, strings.Split("cdiouxXeEfgGqsy", ""))
	arg := randomDouble(r)
	if verb == "c" { // the terminator ends the item: not for width tests
		arg = strconv.Itoa(1 + r.Intn(255))
	}
	if verb == "q" {
		return `return string.format('%q', 'a"b\\c\n\r\0d')`
	}
	if verb == "s" {
		arg = pick(r, []string{"'hello'", "1.5", "'a\\0b'", "''", "'" + strings.Repeat("x", 90+r.Intn(20)) + "'"})
	}
	return "return string.format('<" + f.String() + verb + ">', " + arg + ")"
}

func randomPattern(r *rand.Rand) string {
	var p strings.Builder
	for range 1 + r.Intn(5) {
		p.WriteString(pick(r, []string{"a", "b", ".", "%a", "%d", "%s", "%w", "[ab]", "[^a]", "[a-c]", "(", ")", "()", "^", "$", "%1", "%f[b]",
			"%bab", "%", "[", "[]]", "%%", "-", "*", "+", "?", "c", "[%d_]", "[^%s]", "\\0", "(a)", "(.-)", "([ab]*)"}))
	}
	var s strings.Builder
	for range r.Intn(12) {
		s.WriteString(pick(r, []string{"a", "b", "c", "1", " ", "_", "-", "\\0", "ab", "%", "]"}))
	}
	return fmt.Sprintf(pick(r, []string{
		"return {string.find('%[2]s', '%[1]s')}", "return {string.match('%[2]s', '%[1]s')}",
		"return {string.find('%[2]s', '%[1]s', %[3]d)}", "return {string.gsub('%[2]s', '%[1]s', '<%%0>')}",
		"return {string.gsub('%[2]s', '%[1]s', '%%1', %[3]d)}", "return {pcall(string.gsub, '%[2]s', '%[1]s', {a = 1, b = 'x'})}",
		"local t = {} for a, b in string.gmatch('%[2]s', '%[1]s') do t[#t + 1] = tostring(a) .. tostring(b) end return t",
	}), p.String(), s.String(), r.Intn(8)-3)
}

func randomJSON(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.Intn(8) {
		b.WriteString(pick(r, []string{"{", "}", "[", "]", ":", ",", `"a"`, `"b"`, "1", "-2.5", "true", "null", " ", "{}", "[]", `"\\u00e9"`, `"\\n"`,
			`{"a":1}`, `[1,2,`, `{"k":[`, "]}", "1e5", "0x1f", "nan", "01", `"\\ud83d\\ude00"`, `"x`, "tru"}))
	}
	return "local ok, v = pcall(cjson.decode, '" + b.String() + "') if ok then return cjson.encode(v) end return v"
}

func randomSort(r *rand.Rand) string {
	var b strings.Builder
	for range r.Intn(40) {
		fmt.Fprintf(&b, "%d, ", r.Intn(20))
	}
	by := pick(r, []string{"", ", function(a, b) n = n + 1 return a < b end", ", function(a, b) n = n + 1 return a > b end",
		", function(a, b) n = n + 1 return a % 3 < b % 3 end"})
	return "local n, t = 0, {" + b.String() + "} table.sort(t" + by + ") t[#t + 1] = n return t"
}

// randomError makes an error in a random expression.
func randomError(r *rand.Rand) string {
	value := func() string {
		return pick(r, []string{"nil", "t", "t.x", "t.y.z", "s", "n", "'str'", "5", "true", "f", "f()", "{}", "t[1]", "u", "ARGV[1]", "redis.nope", "t[s]", "(n)"})
	}
	op := func() string {
		return pick(r, []string{" + ", " - ", " * ", " / ", " % ", " ^ ", " .. ", " < ", " <= ", " > ", " == "})
	}
	expr := pick(r, []string{
		value() + op() + value(), value() + op() + value() + op() + value(), "-" + value(), "#" + value(), value() + ".a.b", value() + "()",
		value() + ":m()", "string.rep(" + value() + ", " + value() + ")", "tonumber(" + value() + ", " + value() + ")",
		"math.floor(" + value() + ")", "ipairs(" + value() + ")", "table.concat(" + value() + ")", "('x'):rep(" + value() + ")",
		"string.format('%d %s', " + value() + ", " + value() + ")", "setmetatable(" + value() + ", " + value() + ")",
		"cjson.decode(" + value() + ")", "table.insert(" + value() + ", " + value() + ")", "unpack(" + value() + ")", "select(" + value() + ")",
		"(" + value() + ")(" + value() + ")", "next(" + value() + ", " + value() + ")", "rawget(" + value() + ")", "string.sub(" + value() + ")",
	})
	expr = strings.ReplaceAll(strings.ReplaceAll(expr, "5.a", "(5).a"), "5:", "(5):")
	for _, lit := range []string{"nil", "'str'", "5", "true", "{}"} {
		for _, after := range []string{"(", ".a", ":m"} {
			if strings.HasPrefix(expr, lit+after) {
				expr = "(" + lit + ")" + expr[len(lit):]
			}
		}
	}
	pre := "local u = nil local t, s, n = {y = 1}, 'abc', 7 local function f() return nil end "
	return pre + pick(r, []string{
		"local r = " + expr + " return type(r)",
		"\nlocal r\nr = " + expr + "\nreturn type(r)",
		"local function g() local r = " + expr + " return type(r) end return g()",
		"local function g() return (" + expr + ") end return type(g())",
		"return {pcall(function() return type(" + expr + ") end)}",
		"for i = 1, 2 do local w = i local r = " + expr + " end return 1",
		"if t then local q = 1 end local r = " + expr + " return type(r)",
		"t.k = " + expr + " return type(t.k)",
	})
}

func randomReply(r *rand.Rand) string {
	var value func(depth int) string
	value = func(depth int) string {
		if depth > 3 {
			return "1"
		}
		switch r.Intn(12) {
		case 0:
			return "{ok = '" + pick(r, fieldNames) + "'}"
		case 1:
			return "{err = 'MY " + pick(r, fieldNames) + "'}"
		case 2:
			return "{double = " + strconv.Itoa(r.Intn(100)) + ".5}"
		case 3:
			return "{map = {a = " + value(depth+1) + "}}"
		case 4:
			return "{set = {a = true}}"
		case 5, 6, 7:
			var b strings.Builder
			for range r.Intn(4) {
				b.WriteString(value(depth+1) + ", ")
			}
			return "{" + b.String() + "}"
		case 8:
			return pick(r, []string{"true", "false", "nil", "print == nil", "cjson.null", "tostring"})
		case 9:
			return "{big_number = '123', 5}"
		}
		return pick(r, []string{"1", "'x'", "-7.9", "''"})
	}
	return pick(r, []string{"", "redis.setresp(3) "}) + "return " + strings.ReplaceAll(value(0), "print == nil", "1 == 2")
}

func randomStruct(r *rand.Rand) string {
	var f strings.Builder
	args := ""
	for range 1 + r.Intn(5) {
		opt := pick(r, []string{"b", "B", "h", "H", "l", "L", "i", "I", "i3", "I5", "f", "d", "x", "s", "c2", ">", "<", "!", "!4", "!2", " "})
		f.WriteString(opt)
		switch opt[0] {
		case 's', 'c':
			args += ", 'abc'"
		case 'x', '>', '<', '!', ' ':
		default:
			args += ", " + strconv.Itoa(r.Intn(70000)-30000)
		}
	}
	fm := "'" + f.String() + "'"
	return "local p = struct.pack(" + fm + args + ") local r = {p, pcall(struct.unpack, " + fm + ", p)} r[#r + 1] = tostring(pcall(struct.size, " + fm + ")) " +
		"for i = 2, #r do r[i] = tostring(r[i]) end return r"
}

// randomDoubleReply prints doubles of all magnitudes.
func randomDoubleReply(r *rand.Rand) string {
	var b strings.Builder
	for range 50 {
		fmt.Fprintf(&b, "{double = %s}, {double = tonumber('%s')}, ", randomDouble(r),
			strconv.FormatFloat(math.Float64frombits(r.Uint64()), 'e', -1, 64))
	}
	return "return {" + b.String() + "}"
}
