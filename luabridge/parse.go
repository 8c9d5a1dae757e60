package luabridge

import (
	"fmt"

	"github.com/yuin/gopher-lua/ast"
)

// Limits of Lua 5.1 (luaconf.h, llimits.h), and two of our own that bound the depth of the tree.
const (
	maxLevels      = 200 // nested syntax and C calls
	maxLocals      = 200
	maxUpvalues    = 60
	maxStack       = 250
	maxChain       = 4000 // operators applied one to the result of the other
	maxElseifs     = 4000
	manyConstants  = 5000  // from here on they are counted exactly
	maxConstants   = 20000 // different ones in a function: the compiler searches them one by one
	scriptCalls    = 0     // C calls that the server has open when it compiles a script
	textTooComplex = "function or expression too complex"
)

// parseChunk parses a script, shebang removed, into gopher-lua's tree. The error is a *syntaxError with Lua's text.
func parseChunk(src string) ([]ast.Stmt, error) {
	return parseNamed(src, scriptName, scriptCalls)
}

// parseNamed parses a chunk whose name in messages is name, with calls C calls open.
func parseNamed(src, name string, calls int) ([]ast.Stmt, error) {
	chunk, _, err := parseMain(src, name, calls)
	return chunk, err
}

// parseMain also returns what the parser learned of the main function.
func parseMain(src, name string, calls int) (chunk []ast.Stmt, main *funcScope, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*syntaxError)
			if !ok {
				panic(r)
			}
			chunk, main, err = nil, nil, e
		}
	}()
	p := &parser{lx: lexer{src: src, name: name, line: 1}, lastLine: 1, levels: calls}
	p.fn = &funcScope{vararg: true}
	p.advance()
	chunk = p.block()
	p.check(tokEOF)
	p.fn.last = p.lastLine
	return chunk, p.fn, nil
}

// funcScope is what the parser knows of the function that it is in.
type funcScope struct {
	outer  *funcScope
	line   int // where it is defined; 0 for the main chunk
	last   int // of the main chunk: the line of its last token
	vararg bool
	active []string // visible local variables
	upvals []string // variables of outer functions in use
	loops  int      // open loops
	most   int      // the most local variables visible at once
	dots   bool     // the function uses "..."
	depth  int      // the deepest expression so far

	mentions  int                 // constants seen, with repetitions
	constants map[string]struct{} // different ones among the later of them
}

type parser struct {
	lx       lexer
	cur      token
	ahead    *token
	lastLine int // line of the last token consumed
	levels   int
	fn       *funcScope
}

// advance consumes the current token.
func (p *parser) advance() {
	p.lastLine = p.lx.line
	if p.ahead != nil {
		p.cur, p.ahead = *p.ahead, nil
		return
	}
	p.cur = p.lx.next()
}

func (p *parser) lookahead() tok {
	t := p.lx.next()
	p.ahead = &t
	return t.kind
}

// fail raises a syntax error near the current token.
func (p *parser) fail(msg string) { p.lx.fail(msg, p.cur) }

func (p *parser) tooComplex() { p.fail(textTooComplex) }

func (p *parser) accept(t tok) bool {
	if p.cur.kind != t {
		return false
	}
	p.advance()
	return true
}

func (p *parser) check(t tok) {
	if p.cur.kind != t {
		p.fail("'" + t.String() + "' expected")
	}
}

func (p *parser) expect(t tok) {
	p.check(t)
	p.advance()
}

// expectMatch wants the token what that closes who, opened at line.
func (p *parser) expectMatch(what, who tok, line int) {
	if p.accept(what) {
		return
	}
	if line == p.lx.line {
		p.check(what)
	}
	p.fail(fmt.Sprintf("'%s' expected (to close '%s' at line %d)", what, who, line))
}

func (p *parser) name() string {
	p.check(tokName)
	name := p.cur.str
	p.advance()
	return name
}

func (p *parser) enter() {
	if p.levels++; p.levels > maxLevels {
		p.lx.failBare("chunk has too many syntax levels")
	}
}

func (p *parser) leave() { p.levels-- }

// constant notes a number or string in the current function.
func (p *parser) constant(text string) {
	fn := p.fn
	if fn.mentions++; fn.mentions <= manyConstants {
		return
	}
	if fn.constants == nil {
		fn.constants = map[string]struct{}{}
	}
	fn.constants[text] = struct{}{}
	if len(fn.constants) > maxConstants {
		p.lx.failBare("constant table overflow")
	}
}

// limit raises Lua's error for a function that has more than max of what.
func (p *parser) limit(fn *funcScope, n, max int, what string) {
	if n <= max {
		return
	}
	if fn.line == 0 {
		p.lx.failBare(fmt.Sprintf("main function has more than %d %s", max, what))
	}
	p.lx.failBare(fmt.Sprintf("function at line %d has more than %d %s", fn.line, max, what))
}

// declare makes names visible; reserved says how many others are declared but not yet visible.
func (p *parser) declare(names ...string) {
	p.fn.active = append(p.fn.active, names...)
	p.fn.most = max(p.fn.most, len(p.fn.active))
}

// reserve checks that one more local variable fits after pending ones that are not visible yet.
func (p *parser) reserve(pending int) {
	p.limit(p.fn, len(p.fn.active)+pending+1, maxLocals, "local variables")
}

// use notes that the current function reads or writes the variable name.
func (p *parser) use(name string) { p.resolve(p.fn, name) }

// resolve finds the variable for fn and reports whether it is not global; each function between counts an upvalue.
func (p *parser) resolve(fn *funcScope, name string) bool {
	if fn == nil {
		return false
	}
	for i := len(fn.active) - 1; i >= 0; i-- {
		if fn.active[i] == name {
			return true
		}
	}
	if !p.resolve(fn.outer, name) {
		return false
	}
	for _, u := range fn.upvals {
		if u == name {
			return true
		}
	}
	p.limit(fn, len(fn.upvals)+1, maxUpvalues, "upvalues")
	fn.upvals = append(fn.upvals, name)
	return true
}

// scoped runs body and forgets the local variables that it declared.
func (p *parser) scoped(body func() []ast.Stmt) []ast.Stmt {
	n := len(p.fn.active)
	stmts := body()
	p.fn.active = p.fn.active[:n]
	return stmts
}

// loop parses the block of a loop.
func (p *parser) loop(body func() []ast.Stmt) []ast.Stmt {
	p.fn.loops++
	stmts := p.scoped(body)
	p.fn.loops--
	return stmts
}

func blockEnds(t tok) bool {
	return t == tokElse || t == tokElseif || t == tokEnd || t == tokUntil || t == tokEOF
}

// block parses statements up to a token that closes a block.
func (p *parser) block() []ast.Stmt {
	p.enter()
	var stmts []ast.Stmt
	for last := false; !last && !blockEnds(p.cur.kind); {
		var stmt ast.Stmt
		stmt, last = p.statement()
		stmts = append(stmts, stmt)
		p.accept(';')
	}
	p.leave()
	return stmts
}

// at sets the first and last line of a node.
func at[N ast.PositionHolder](node N, line, last int) N {
	node.SetLine(line)
	node.SetLastLine(last)
	return node
}

// statement parses one statement; last is true for return and break, which end a block.
func (p *parser) statement() (stmt ast.Stmt, last bool) {
	line := p.lx.line
	switch p.cur.kind {
	case tokIf:
		return p.ifStmt(line), false
	case tokWhile:
		return p.whileStmt(line), false
	case tokDo:
		p.advance()
		stmt = &ast.DoBlockStmt{Stmts: p.scoped(p.block)}
		p.expectMatch(tokEnd, tokDo, line)
	case tokFor:
		return p.forStmt(line), false
	case tokRepeat:
		stmt = p.repeatStmt(line)
	case tokFunction:
		return p.functionStmt(line), false
	case tokLocal:
		p.advance()
		if p.accept(tokFunction) {
			stmt = p.localFunction()
		} else {
			stmt = p.localStmt()
		}
	case tokReturn:
		stmt, last = p.returnStmt(), true
	case tokBreak:
		p.advance()
		if p.fn.loops == 0 {
			p.fail("no loop to break")
		}
		stmt, last = &ast.BreakStmt{}, true
	default:
		return p.exprStmt(), false
	}
	return at(stmt, line, p.lastLine), last
}

// ifStmt gives each part the line of its last token, where Lua jumps to the end.
func (p *parser) ifStmt(line int) ast.Stmt {
	stmt := p.thenPart()
	tail := stmt
	for n := 0; p.cur.kind == tokElseif; n++ {
		if n == maxElseifs {
			p.fail("control structure too long")
		}
		next := p.thenPart()
		tail.Else = []ast.Stmt{next}
		tail = next
	}
	if p.accept(tokElse) {
		tail.Else = p.scoped(p.block)
		if len(tail.Else) == 0 { // the compiler would leave out the jump over it, where debuggers stop
			tail.Else = []ast.Stmt{&ast.DoBlockStmt{}}
		}
	}
	p.expectMatch(tokEnd, tokIf, line)
	return stmt
}

func (p *parser) thenPart() *ast.IfStmt {
	p.advance()
	cond := p.value()
	p.expect(tokThen)
	stmt := &ast.IfStmt{Condition: cond, Then: p.scoped(p.block)}
	return at(stmt, p.lastLine, p.lastLine)
}

// whileStmt gives the loop the last line of its body, where Lua jumps back.
func (p *parser) whileStmt(line int) ast.Stmt {
	p.advance()
	cond := p.value()
	p.expect(tokDo)
	stmt := at(&ast.WhileStmt{Condition: cond, Stmts: p.loop(p.block)}, line, p.lastLine)
	p.expectMatch(tokEnd, tokWhile, line)
	return stmt
}

func (p *parser) repeatStmt(line int) ast.Stmt {
	p.advance()
	stmt := &ast.RepeatStmt{}
	stmt.Stmts = p.scoped(func() []ast.Stmt { // the condition sees the block's variables
		p.fn.loops++
		body := p.block()
		p.expectMatch(tokUntil, tokRepeat, line)
		stmt.Condition = p.value()
		p.fn.loops--
		return body
	})
	return stmt
}

// forStmt gives the loop as its last line the one of its jump back: that of the body's end, or of its own
// beginning if it counts.
func (p *parser) forStmt(line int) ast.Stmt {
	p.advance()
	first := p.name()
	var stmt ast.Stmt
	switch p.cur.kind {
	case '=':
		stmt = p.numberFor(first)
	case ',', tokIn:
		stmt = p.genericFor(first)
	default:
		p.fail("'=' or 'in' expected")
	}
	if _, counts := stmt.(*ast.NumberForStmt); counts {
		stmt.SetLastLine(line)
	} else {
		stmt.SetLastLine(p.lastLine)
	}
	p.expectMatch(tokEnd, tokFor, line)
	return stmt
}

// numberFor parses from the '='. Its line is that of "do", where Lua checks the bounds.
func (p *parser) numberFor(name string) ast.Stmt {
	for i := range 4 {
		p.reserve(i)
	}
	p.advance()
	stmt := &ast.NumberForStmt{Name: name, Init: p.value()}
	p.expect(',')
	stmt.Limit = p.value()
	if p.accept(',') {
		stmt.Step = p.value()
	}
	line := p.lx.line
	stmt.Stmts = p.forBody("(for index)", "(for limit)", "(for step)", name)
	return at(stmt, line, 0)
}

func (p *parser) forBody(names ...string) []ast.Stmt {
	return p.loop(func() []ast.Stmt {
		p.expect(tokDo)
		p.declare(names...)
		return p.scoped(p.block)
	})
}

// genericFor parses from what follows the first name. Its line is that of the iterator's first token.
func (p *parser) genericFor(first string) ast.Stmt {
	for i := range 4 {
		p.reserve(i)
	}
	names := []string{first}
	for p.accept(',') {
		p.check(tokName)
		names = append(names, p.cur.str)
		p.advance()
		p.reserve(len(names) + 2)
	}
	p.expect(tokIn)
	line := p.lx.line
	stmt := &ast.GenericForStmt{Names: names, Exprs: p.values()}
	stmt.Stmts = p.forBody(append([]string{"(for generator)", "(for state)", "(for control)"}, names...)...)
	return at(stmt, line, 0)
}

// localFunction is the only form in which a function sees its own name.
func (p *parser) localFunction() ast.Stmt {
	p.check(tokName)
	name := p.cur.str
	p.advance()
	p.reserve(0)
	p.declare(name)
	fn := p.body(nil, p.lx.line)
	return &ast.LocalAssignStmt{Names: []string{name}, Exprs: []ast.Expr{fn.node}}
}

func (p *parser) localStmt() ast.Stmt {
	stmt := &ast.LocalAssignStmt{}
	for {
		p.check(tokName)
		stmt.Names = append(stmt.Names, p.cur.str)
		p.advance()
		p.reserve(len(stmt.Names) - 1)
		if !p.accept(',') {
			break
		}
	}
	if p.accept('=') {
		stmt.Exprs = p.values()
		stmt.Exprs = hideFromItself(stmt.Names, stmt.Exprs)
	}
	p.declare(stmt.Names...)
	return stmt
}

// hideFromItself adds a nil to "local f = function", which the compiler would else take for "local function f".
func hideFromItself(names []string, exprs []ast.Expr) []ast.Expr {
	if len(names) == 1 && len(exprs) == 1 {
		if fn, ok := exprs[0].(*ast.FunctionExpr); ok {
			return append(exprs, at(&ast.NilExpr{}, fn.LastLine(), 0))
		}
	}
	return exprs
}

// functionStmt parses "function a.b:c() ... end" as the assignment that it is.
func (p *parser) functionStmt(line int) ast.Stmt {
	p.advance()
	p.check(tokName)
	target := p.variable()
	for p.cur.kind == '.' {
		p.index(&target)
	}
	var params []string
	if p.cur.kind == ':' {
		params = []string{"self"}
		p.index(&target)
	}
	fn := p.body(params, line)
	target.node.SetLine(line)
	stmt := &ast.AssignStmt{Lhs: []ast.Expr{target.node}, Rhs: []ast.Expr{fn.node}}
	return at(stmt, line, p.lastLine)
}

func (p *parser) returnStmt() ast.Stmt {
	p.advance()
	stmt := &ast.ReturnStmt{}
	if !blockEnds(p.cur.kind) && p.cur.kind != ';' {
		stmt.Exprs = p.values()
	}
	return stmt
}

// width refuses a list that Lua's registers cannot hold.
func (p *parser) width(n int) {
	if len(p.fn.active)+n >= maxStack {
		p.tooComplex()
	}
}

// exprStmt parses a call or an assignment.
func (p *parser) exprStmt() ast.Stmt {
	line := p.lx.line
	e := p.primary()
	if e.kind == kindCall {
		stmt := &ast.FuncCallStmt{Expr: e.node}
		return at(stmt, line, p.lastLine)
	}
	return p.assignment(e, line)
}

// assignment parses the rest of an assignment whose first target is e.
func (p *parser) assignment(e expr, line int) ast.Stmt {
	stmt := &ast.AssignStmt{}
	for {
		if e.kind != kindVariable && e.kind != kindIndexed {
			p.fail("syntax error")
		}
		stmt.Lhs = append(stmt.Lhs, e.node)
		if !p.accept(',') {
			break
		}
		e = p.primary()
		p.limit(p.fn, len(stmt.Lhs), maxLevels-p.levels, "variables in assignment")
	}
	p.expect('=')
	stmt.Rhs = p.values()
	for _, target := range stmt.Lhs {
		target.SetLine(p.lastLine) // the store happens at the end of the statement
	}
	return at(stmt, line, p.lastLine)
}
