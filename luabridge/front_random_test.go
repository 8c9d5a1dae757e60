package luabridge

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// seedRange is the default range of seeds, or the one seed in ECHOMQSIM_SEED.
func seedRange(t *testing.T, first, count int) (int, int) {
	if s := os.Getenv("ECHOMQSIM_SEED"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n, 1
	}
	return first, count
}

// dice is a small deterministic generator (xorshift64*).
type dice uint64

func newDice(seed int) *dice {
	d := dice(uint64(seed)*0x9E3779B97F4A7C15 + 1)
	for range 4 {
		d.n(2)
	}
	return &d
}

func (d *dice) n(limit int) int {
	x := uint64(*d)
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	*d = dice(x)
	return int((x * 0x2545F4914F6CDD1D) >> 33 % uint64(limit))
}

func (d *dice) pick(items ...string) string { return items[d.n(len(items))] }

// program writes a random script that ends by itself and returns a trace of what it computed.
type program struct {
	*dice
	out   strings.Builder
	vars  [][]string // visible names, a slice for each block
	loops int
	fns   int
	depth int
	size  int
	safe  bool   // operations are guarded, so that the program reaches its end
	line  string // what separates statements
}

// The preamble hides two known differences: the sign of a zero product, and the length of tables with holes.
const preamble = `local out,steps,count={},0,0
local function N(x) if x==0 then return 0 end if type(x)=='number' then return x end return 7 end
local function S(x) if x==0 then return 0 end if type(x)=='string' and #x>99 then return 'L' end if type(x)=='string' or type(x)=='number' then return x end return type(x) end
local function P(x) steps=steps+1 if steps>400 then error('limit',0) end count=count+1 out[count]=(type(x)=='table' and type(x[1])..type(x.f)..type(x[3])) or (x==0 and 0) or (type(x)=='function' and 'F') or tostring(x) return x end
local function T(x) if type(x)=='table' then return x end return {x,f=x} end
local function F(x) if type(x)=='function' then return x end return function(...) return x,... end end
`

func randomProgram(seed int) string {
	p := &program{dice: newDice(seed), line: " "}
	if p.n(3) == 0 {
		p.line = "\n"
	}
	p.safe = seed%5 > 0
	p.out.WriteString(preamble)
	p.vars = [][]string{{}}
	p.body(6 + p.n(8))
	p.out.WriteString("P(" + p.expr(2) + ")" + p.line + "return out")
	return p.out.String()
}

func (p *program) put(format string, args ...any) { fmt.Fprintf(&p.out, format+p.line, args...) }

func (p *program) body(n int) {
	for range n {
		if p.size++; p.size > 60 {
			return
		}
		p.stmt()
	}
}

func (p *program) block(n int) {
	p.vars = append(p.vars, nil)
	p.depth++
	p.body(n)
	if p.loops > 0 && p.n(6) == 0 {
		p.put("break")
	}
	p.depth--
	p.vars = p.vars[:len(p.vars)-1]
}

func (p *program) declare(names ...string) {
	last := len(p.vars) - 1
	p.vars[last] = append(p.vars[last], names...)
}

func (p *program) any() string {
	var all []string
	for _, block := range p.vars {
		all = append(all, block...)
	}
	if len(all) == 0 {
		return "steps"
	}
	return all[p.n(len(all))]
}

// guard makes sure of an operand's type in a safe program.
func (p *program) guard(check, e string) string {
	if p.safe {
		return check + "(" + e + ")"
	}
	return e
}

func (p *program) fresh() string { return p.pick("a", "b", "c", "d", "e", "g", "x", "y") }

func (p *program) list(n int, item func() string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = item()
	}
	return strings.Join(items, ",")
}

func (p *program) target() string {
	switch p.n(4) {
	case 0:
		return p.guard("T", p.any()) + "." + p.pick("f", "k", "n")
	case 1:
		return p.guard("T", p.any()) + "[" + p.guard("S", p.expr(1)) + "]"
	}
	if v := p.any(); v != "steps" {
		return v
	}
	return "out.x"
}

func (p *program) names(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = p.fresh()
	}
	return list
}

func (p *program) stmt() {
	switch k := p.n(16); {
	case k < 4:
		names := p.names(1 + p.n(3))
		if p.n(8) == 0 {
			p.put("local %s", strings.Join(names, ","))
		} else {
			p.put("local %s=%s", strings.Join(names, ","), p.list(1+p.n(3), func() string { return p.expr(2) }))
		}
		p.declare(names...)
	case k < 8:
		p.assign()
	case k < 10:
		p.put("P(%s)", p.expr(3))
	case p.depth > 3:
		p.put("P(%s)", p.any())
	default:
		p.compound(k)
	}
}

func (p *program) assign() {
	names := p.list(1+p.n(3), func() string {
		if p.n(3) > 0 {
			if v := p.any(); v != "steps" {
				return v
			}
		}
		return p.target()
	})
	p.put("%s=%s", names, p.list(1+p.n(3), func() string { return p.expr(2) }))
}

func (p *program) compound(k int) {
	switch k {
	case 10:
		p.put("if %s then", p.expr(2))
		p.block(2)
		if p.n(2) == 0 {
			p.put("elseif %s then", p.expr(2))
			p.block(2)
		}
		if p.n(2) == 0 {
			p.put("else")
			p.block(2)
		}
		p.put("end")
	case 11:
		p.loop("while "+p.pick("true", p.expr(1), p.any()+"~=nil")+" do", "end")
	case 12:
		p.loop("repeat", "until "+p.pick("true", "false", p.expr(1)))
	case 13:
		p.forLoop()
	case 14:
		p.put("do")
		p.block(3)
		p.put("end")
	default:
		p.function()
	}
}

func (p *program) loop(head, tail string) {
	p.put("%s", head)
	p.loops++
	if p.safe {
		p.put("P('l') if steps>60 then break end")
	} else {
		p.put("P('l') if steps>60 then error('limit',0) end")
	}
	p.block(3)
	p.loops--
	p.put("%s", tail)
}

func (p *program) forLoop() {
	name := p.fresh()
	bounds := p.pick("=1,3", "='1',3", "=3,1,-1", "=1,N("+p.any()+")%4", "=1,"+p.guard("N", p.any()), "=1,0")
	if p.n(3) == 0 {
		bounds = "," + p.fresh() + " in ipairs(T(" + p.any() + "))"
	}
	p.put("for %s%s do", name, bounds)
	p.loops++
	p.vars = append(p.vars, []string{name})
	p.put("P(%s) if steps>60 then break end", name)
	p.block(3)
	p.vars = p.vars[:len(p.vars)-1]
	p.loops--
	p.put("end")
}

func (p *program) function() {
	name := p.fresh()
	params := p.names(p.n(3))
	if p.n(2) == 0 {
		p.put("local function %s(%s)", name, strings.Join(params, ","))
		p.declare(name)
	} else {
		p.put("local %s=function(%s)", name, strings.Join(params, ","))
	}
	p.funcBody(params, false)
	p.declare(name)
	if p.n(2) == 0 {
		p.put("P(%s(%s))", name, p.list(p.n(3), func() string { return p.expr(1) }))
	}
}

func (p *program) funcBody(params []string, inline bool) {
	loops := p.loops
	p.loops = 0
	p.vars = append(p.vars, params)
	p.fns++
	p.put("steps=steps+1 if steps>90 then return end")
	p.block(2)
	p.put("return %s", p.list(p.n(3), func() string { return p.expr(1) }))
	p.fns--
	p.vars = p.vars[:len(p.vars)-1]
	p.loops = loops
	if !inline {
		p.put("end")
	}
}

func (p *program) expr(depth int) string {
	if depth <= 0 || p.n(5) == 0 {
		return p.leaf()
	}
	sub := func() string { return p.expr(depth - 1) }
	switch p.n(15) {
	case 0:
		return fmt.Sprintf("N(%s)%sN(%s)", sub(), p.pick("+", "-", "*", "%"), sub())
	case 1:
		return p.guard("N", p.any()) + p.pick("+", "-", "*", "/", "%") + p.guard("N", p.leaf())
	case 2:
		return fmt.Sprintf("S(%s)..S(%s)", sub(), sub())
	case 3:
		return p.guard("S", p.any()) + ".." + p.pick("1 ", "'k'", "2.5 ")
	case 4, 5:
		return fmt.Sprintf("(%s and %s)", sub(), sub())
	case 6, 7:
		return fmt.Sprintf("(%s or %s)", sub(), sub())
	case 8:
		return "not " + sub()
	case 9:
		return fmt.Sprintf("N(%s)%sN(%s)", sub(), p.pick("<", ">", "<=", ">=", "==", "~="), sub())
	case 10:
		return fmt.Sprintf("(%s%s%s)", sub(), p.pick("==", "~="), sub())
	case 11:
		return p.constructor(sub)
	case 12:
		return p.access()
	case 13:
		return fmt.Sprintf("F(%s)(%s)", p.any(), p.list(p.n(3), sub))
	}
	return "P(" + sub() + ")"
}

func (p *program) access() string {
	v := p.guard("T", p.any())
	return p.pick(v+".f", v+"[1]", v+"["+p.guard("N", p.any())+"]", "#S("+p.any()+")", "T("+p.any()+").k", "F("+v+".f)("+p.any()+")")
}

func (p *program) constructor(sub func() string) string {
	return "{" + p.list(p.n(4), func() string {
		switch p.n(4) {
		case 0:
			return p.pick("f", "k", "n") + "=" + sub()
		case 1:
			return "[S(" + sub() + ")]=" + sub()
		}
		return sub()
	}) + "}"
}

func (p *program) leaf() string {
	if p.n(2) == 0 {
		return p.any()
	}
	return p.pick("1", "2", "0", "10", "0.5", "'s'", "'10'", "''", "nil", "true", "false", "P(3)", "{}", "-1")
}

func TestRandomPrograms(t *testing.T) {
	o := dialOracle(t)
	first, count := seedRange(t, 1, 5000)
	different, named := 0, 0
	for seed := first; seed < first+count; seed++ {
		src := randomProgram(seed)
		if want, have := o.eval(t, src), runProgram(src, seed%2 == 0); want != have {
			if withoutName(want) == withoutName(have) {
				named++
				if os.Getenv("ECHOMQSIM_SEED") == "" {
					continue
				}
			}
			different++
			if different <= 20 {
				t.Errorf("seed %d:\n%s\n got  %s\n want %s", seed, strings.TrimPrefix(src, preamble), have, want)
			}
		}
	}
	t.Logf("%d of %d programs differ, %d more in the variable that an error names", different, count, named)
	if named > count/200 {
		t.Errorf("%d wrong variable names in %d programs", named, count)
	}
}

var variableName = regexp.MustCompile(`(local|upvalue|field|global|method) '[^']*' \((a \w+ value)\)`)

// withoutName reduces "local 'x' (a nil value)" to "a nil value".
func withoutName(text string) string { return variableName.ReplaceAllString(text, "$2") }

// TestRandomSyntax breaks valid programs by deleting, doubling, swapping and replacing tokens.
func TestRandomSyntax(t *testing.T) {
	o := dialOracle(t)
	first, count := seedRange(t, 1, 5000)
	valid := []string{}
	for _, c := range append(readCases(t, "run.txt"), readCases(t, "syntax.txt")...) {
		if len(c.src) < 300 {
			valid = append(valid, c.src)
		}
	}
	for seed := first; seed < first+count; seed++ {
		src := mutate(newDice(seed), valid)
		if strings.HasPrefix(src, "#!") {
			continue
		}
		if want, have := o.load(t, src), compiled(src); want != have {
			t.Errorf("seed %d: %q\n got  %s\n want %s", seed, src, have, want)
		}
	}
}

func mutate(d *dice, valid []string) string {
	src := valid[d.n(len(valid))]
	if d.n(3) == 0 {
		src = strings.TrimPrefix(randomProgram(d.n(1000)), preamble)
	}
	tokens := splitTokens(src)
	for range 1 + d.n(2) {
		if len(tokens) < 2 {
			break
		}
		i, j := d.n(len(tokens)), d.n(len(tokens))
		switch d.n(5) {
		case 0:
			tokens = append(tokens[:i:i], tokens[i+1:]...)
		case 1:
			tokens = append(tokens[:i:i], append([]string{tokens[j]}, tokens[i:]...)...)
		case 2:
			tokens[i], tokens[j] = tokens[j], tokens[i]
		case 3:
			tokens[i] = d.pick("end", "(", ")", "{", "}", "[", "]", "'", "\"", "[[", "--", "\n", ",", ";", "..", "...", "=", "==",
				"~", "\x00", "\x01", "\xe9", "0x", "1e", "and", "function", "local", "then", "do", "#", ":", "\\", "return", "break")
		default:
			tokens = tokens[:i]
		}
	}
	return strings.Join(tokens, "")
}

// splitTokens cuts source roughly: words, numbers and single characters.
func splitTokens(src string) []string {
	var tokens []string
	for i := 0; i < len(src); {
		j := i + 1
		for j < len(src) && lexWord(src[i]) && lexWord(src[j]) {
			j++
		}
		tokens = append(tokens, src[i:j])
		i = j
	}
	return tokens
}

func lexWord(c byte) bool { return lexAlpha(int(c)) || lexDigit(int(c)) }

// FuzzParse: no input may panic or hang, and what parses must compile or be refused cleanly.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"return 1", "x=[[a]]", "for i=1,2 do end", "local a,b=b,a", "x={1,a=f()}", "'\\999'", "0x", "--[["} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		_, _, _ = compileSource(src, scriptName, scriptCalls, hoistGlobals)
	})
}

// TestHugeInputs feeds a megabyte of one thing; each must be answered, most with an error.
func TestHugeInputs(t *testing.T) {
	const mega = 1 << 20
	for _, unit := range []string{"(", "a=", "a+", "a..", "a.b", "a,", "a[", "{", "f(", "f()", "not ", "-", "--", "a and ", "do ", "if a then ",
		"function f() ", "x=1 ", "local x ", "local x=a;", "elseif ", "'", "[[", "[", "\n", "a'b'", "a^", "return ", ";", "\x00", "\\", "1", ".", "e"} {
		for _, prefix := range []string{"", "return a"} {
			src := prefix + strings.Repeat(unit, mega/len(unit))
			if _, _, err := compileSource(src, scriptName, scriptCalls, hoistGlobals); err != nil && err.Error() == "" {
				t.Errorf("no text for the error on %.20q", src)
			}
		}
	}
	var many strings.Builder
	for i := range 30000 {
		fmt.Fprintf(&many, "a.b%d=1 ", i)
	}
	if _, _, err := frontEnd(many.String()); err == nil {
		t.Error("too many constants accepted")
	}
	src := "if a then " + strings.Repeat("elseif a then ", mega/14) + "end"
	if _, _, err := frontEnd(src); err == nil {
		t.Error("endless elseif accepted")
	}
}
