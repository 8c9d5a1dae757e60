package luabridge

import (
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// Hidden globals: Go functions that the rewritten program calls. No script can spell these names.
const (
	helperConcat   = "\x00cat"     // operands of a chain of ".."
	helperMod      = "\x00mod"     // a % b
	helperPow      = "\x00pow"     // a ^ b
	helperElement  = "\x00element" // notes that t[k] is about to be set, in scripts that see the order of fields
	helperMul      = "\x00mul"     // a * b
	helperDiv      = "\x00div"     // a / b
	helperLen      = "\x00len"     // #a, in scripts that could be deceived by a metamethod
	helperAppend   = "\x00append"  // a[#a + 1] = b, in scripts that see the order of fields
	helperFields   = "\x00fields"  // {a = f(), b = 2}
	helperErase    = "\x00erase"   // a[b] = nil
	helperFor      = "\x00for"     // bounds of a numeric for: returns them as numbers
	helperLimit    = "\x00limit"   // the upper bound alone
	helperReadonly = "\x00ro"      // an assignment to a read-only table: raises
	helperTable    = "\x00table"   // a constructor cut into pieces
	helperSpread   = "\x00spread"  // a long list: returns its elements
	helperSized    = "\x00sized"   // a constructor with fields: notes how many, which decides the order of pairs
)

const (
	maxHoisted = 16  // parameters that hoisting may give the main function
	wideList   = 100 // longer lists go through a table: the compiler has 200 registers
	flushSize  = 50  // list items that the compiler stores at a time
	maxFlushed = 500 * flushSize
)

// frontEnd turns a script into a tree that gopher-lua's compiler gets right. If hoisted is not empty the chunk
// is "return function(...) body end", to be called with the values of those globals ("KEYS", "redis.call",
// "\x00cat"), in that order. The error is a *syntaxError.
func frontEnd(src string) (chunk []ast.Stmt, hoisted []string, err error) {
	return (&rewriter{}).program(src, scriptName, scriptCalls, hoistGlobals)
}

// hoisting tells what may become a parameter of the main function.
type hoisting uint8

const (
	hoistNothing hoisting = iota
	hoistHelpers          // the functions that rewritten programs call
	hoistGlobals          // and the server's globals: those of a script never change while it runs
)

// program parses and rewrites a chunk.
func (r *rewriter) program(src, name string, calls int, hoist hoisting) ([]ast.Stmt, []string, error) {
	chunk, main, err := parseMain(src, name, calls)
	if err != nil {
		return nil, nil, err
	}
	// Passes over the tree as the script wrote it (coverage, stepping, laws) belong here.
	r.main = main
	r.hoist = hoist > hoistNothing && canHoist(src, main)
	r.all = hoist == hoistGlobals && !strings.Contains(src, "fenv")
	r.ownLen = r.ownLen || makesHoles(src)
	r.ordered = r.watched || r.ownLen || seesOrder(src)
	r.states = []localState{{}}
	tree := r.wrap(r.chunk(chunk))
	if r.holes && !r.ownLen && seesLength(src) {
		*r = rewriter{mark: r.mark, watched: r.watched, backs: r.backs, ownLen: true}
		return r.program(src, name, calls, hoist)
	}
	return tree, r.hoisted, nil
}

// seesOrder reports whether a script may look at the order of a table's fields.
func seesOrder(src string) bool {
	for _, word := range []string{"pairs", "next", "encode", "pack", "foreach", "map", "set=", "set ="} {
		if strings.Contains(src, word) {
			return true
		}
	}
	return false
}

// makesHoles reports whether a script may get lists with holes otherwise than by assignments,
// or metatables that deceive the machine's "#".
func makesHoles(src string) bool {
	for _, word := range []string{"__len", "table.remove", "rawset", "cmsgpack"} {
		if strings.Contains(src, word) {
			return true
		}
	}
	return false
}

// seesLength reports whether a script may ask for the length of a table.
func seesLength(src string) bool {
	return strings.Contains(src, "#") || strings.Contains(src, "table") || strings.Contains(src, "unpack")
}

// canHoist reports whether the main chunk may become a function with parameters.
func canHoist(src string, main *funcScope) bool {
	return main.most+maxHoisted < 150 && !(main.dots && strings.Contains(src, "arg"))
}

// variable is one local variable; fn counts the functions around its declaration.
type variable struct {
	name     string
	fn       int
	captured bool // by a function inside
	counter  bool // of a loop from 1 by 1
}

// scope is one block.
type scope struct {
	outer  *scope
	fn     int
	vars   []*variable
	loop   bool
	leaves []*scope // in a loop: the inner blocks that a break jumps out of
	state  int      // the rewriter's at its start
}

// rewriter replaces what gopher-lua's compiler gets wrong, and what the server does otherwise, by equivalent
// trees. It changes the nodes in place.
type rewriter struct {
	main    *funcScope
	scope   *scope
	fn      int
	hoist   bool
	all     bool // hoist the script's own globals too, not only the helpers
	watched bool // by the user of a debugger
	ordered bool // what is set in tables is followed: who sees the order of keys, or where lists with holes end, sees it
	ownLen  bool // "#" must not be the machine's: a table may have holes, or a metatable that deceives it
	holes   bool // a table may get holes
	leaks   bool // KEYS or ARGV is used otherwise than to read an element or the length
	hoisted []string
	backs   backLines

	mark   bool // lines carry the state, see rewrite_compile.go
	states []localState
	state  int // the innermost visible variable
}

func (r *rewriter) chunk(stmts []ast.Stmt) []ast.Stmt {
	r.open(false)
	defer r.close()
	return r.stmts(stmts)
}

// wrap makes the hoisted names parameters of a function around the chunk.
func (r *rewriter) wrap(chunk []ast.Stmt) []ast.Stmt {
	if len(r.hoisted) == 0 && !r.watched {
		return chunk
	}
	params := &ast.ParList{HasVargs: r.main.dots}
	for _, name := range r.hoisted {
		params.Names = append(params.Names, hoistedName(name))
	}
	fn := at(&ast.FunctionExpr{ParList: params, Stmts: chunk}, 0, r.main.last)
	return []ast.Stmt{at(&ast.ReturnStmt{Exprs: []ast.Expr{fn}}, 1, 1)}
}

// hoistedName is the parameter that stands for a global: a NUL byte before its name.
func hoistedName(name string) string { return "\x00" + strings.TrimPrefix(name, "\x00") }

func (r *rewriter) open(loop bool) {
	r.scope = &scope{outer: r.scope, fn: r.fn, loop: loop, state: r.state}
}

func (r *rewriter) close() {
	r.state = r.scope.state
	r.scope = r.scope.outer
}

func (r *rewriter) declare(names ...string) {
	for _, name := range names {
		r.scope.vars = append(r.scope.vars, &variable{name: name, fn: r.fn})
		r.enterState(name, true)
	}
}

// lookup finds a local variable, of this or of an outer function; nil is a global.
func (r *rewriter) lookup(name string) *variable {
	for s := r.scope; s != nil; s = s.outer {
		for i := len(s.vars) - 1; i >= 0; i-- {
			if s.vars[i].name == name {
				return s.vars[i]
			}
		}
	}
	return nil
}

// local returns the variable if e names a local variable of the current function.
func (r *rewriter) local(e ast.Expr) *variable {
	id, ok := e.(*ast.IdentExpr)
	if !ok {
		return nil
	}
	if v := r.lookup(id.Value); v != nil && v.fn == r.fn {
		return v
	}
	return nil
}

// global returns the name if e names a global variable.
func (r *rewriter) global(e ast.Expr) (string, bool) {
	id, ok := e.(*ast.IdentExpr)
	if !ok || r.lookup(id.Value) != nil {
		return "", false
	}
	return id.Value, true
}

// globalNames are the server's globals that scripts can read; all but _VERSION may be hoisted.
var globalNames = wordSet("KEYS ARGV redis server string table math cjson cmsgpack struct bit coroutine os " +
	"assert collectgarbage error gcinfo getmetatable ipairs load loadstring newproxy next pairs pcall rawequal rawget " +
	"rawset select setmetatable tonumber tostring type unpack xpcall")

// libraries are the read-only tables among the globals.
var libraries = wordSet("redis server string table math cjson cmsgpack struct bit coroutine os _G")

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// hoistable returns the identifier to use for a global, or false if it must stay one.
func (r *rewriter) hoistable(name string, line int) (*ast.IdentExpr, bool) {
	if !r.hoist {
		return nil, false
	}
	known := false
	for _, h := range r.hoisted {
		known = known || h == name
	}
	if !known {
		if len(r.hoisted) == maxHoisted {
			return nil, false
		}
		r.hoisted = append(r.hoisted, name)
	}
	return at(&ast.IdentExpr{Value: hoistedName(name)}, line, 0), true
}

// call builds a call of a helper that gives one value.
func (r *rewriter) call(helper string, line int, args ...ast.Expr) *ast.FuncCallExpr {
	fn, ok := r.hoistable(helper, line)
	if !ok {
		fn = at(&ast.IdentExpr{Value: helper}, line, 0)
	}
	return at(&ast.FuncCallExpr{Func: fn, Args: args, AdjustRet: true}, line, line)
}

func (r *rewriter) stmts(stmts []ast.Stmt) []ast.Stmt {
	for i, s := range stmts {
		stmts[i] = r.stmt(s)
	}
	return stmts
}

func (r *rewriter) block(stmts []ast.Stmt, names ...string) []ast.Stmt {
	r.open(false)
	defer r.close()
	r.declare(names...)
	return r.stmts(stmts)
}

func (r *rewriter) stmt(stmt ast.Stmt) ast.Stmt {
	r.stamp(stmt)
	switch s := stmt.(type) {
	case *ast.AssignStmt:
		return r.assign(s)
	case *ast.LocalAssignStmt:
		r.localAssign(s)
	case *ast.FuncCallStmt:
		s.Expr = r.expr(s.Expr)
	case *ast.DoBlockStmt:
		s.Stmts = r.block(s.Stmts)
	case *ast.WhileStmt:
		return r.while(s)
	case *ast.RepeatStmt:
		r.repeat(s)
	case *ast.IfStmt:
		return r.ifStmt(s)
	case *ast.NumberForStmt:
		return r.numberFor(s)
	case *ast.GenericForStmt:
		return r.genericFor(s)
	case *ast.ReturnStmt:
		s.SetLine(r.stamped(s.LastLine()))
		s.Exprs = r.wide(r.exprs(s.Exprs), s.Line())
	case *ast.BreakStmt:
		r.noteBreak()
	}
	return stmt
}

func (r *rewriter) localAssign(s *ast.LocalAssignStmt) {
	if len(s.Names) == 1 && len(s.Exprs) == 1 {
		if _, ok := s.Exprs[0].(*ast.FunctionExpr); ok { // local function
			r.declare(s.Names...)
			s.Exprs = r.exprs(s.Exprs)
			return
		}
	}
	s.Exprs = r.exprs(s.Exprs)
	r.declare(s.Names...)
}

// constant reports whether e is a constant, and its truth.
func constant(e ast.Expr) (truth, ok bool) {
	switch e.(type) {
	case *ast.NilExpr, *ast.FalseExpr:
		return false, true
	case *ast.TrueExpr, *ast.NumberExpr, *ast.StringExpr:
		return true, true
	}
	return false, false
}

func block(line, last int, stmts ...ast.Stmt) *ast.DoBlockStmt {
	return at(&ast.DoBlockStmt{Stmts: stmts}, line, last)
}

func (r *rewriter) ifStmt(s *ast.IfStmt) ast.Stmt {
	s.Condition = r.expr(s.Condition)
	if truth, ok := constant(s.Condition); ok {
		taken := s.Else
		if truth {
			taken = s.Then
		}
		return block(s.Line(), s.LastLine(), r.block(taken)...)
	}
	s.Then = r.block(s.Then)
	s.Else = r.block(s.Else)
	return s
}

func (r *rewriter) while(s *ast.WhileStmt) ast.Stmt {
	s.Condition = r.expr(s.Condition)
	truth, ok := constant(s.Condition)
	if ok && !truth {
		return block(s.Line(), s.LastLine())
	}
	s.Stmts = r.loop(s.Stmts, nil)
	if ok {
		s.Condition = at(&ast.TrueExpr{}, s.Line(), 0)
		s.Stmts = keepJumpAway(s.Stmts)
	}
	return s
}

func (r *rewriter) repeat(s *ast.RepeatStmt) {
	s.Stmts = r.loop(s.Stmts, func() { s.Condition = r.expr(s.Condition) })
	s.Stmts = keepJumpAway(s.Stmts)
}

// loop rewrites a loop's body; then runs at its end, still inside.
func (r *rewriter) loop(stmts []ast.Stmt, then func(), names ...string) []ast.Stmt {
	r.open(true)
	r.declare(names...)
	if slices.Contains(names, countsUp) {
		r.scope.vars[len(r.scope.vars)-1].counter = true
	}
	marker := r.enterState("(break)", false)
	stmts = r.stmts(stmts)
	if then != nil {
		then()
	}
	s := r.scope
	r.close()
	for _, left := range s.leaves {
		for _, v := range left.vars {
			if v.captured {
				r.states[marker].real = true
				return closeOnBreak(stmts)
			}
		}
	}
	return stmts
}

// noteBreak remembers the blocks between a break and its loop.
func (r *rewriter) noteBreak() {
	loop := r.scope
	for !loop.loop {
		loop = loop.outer
	}
	for s := r.scope; s != loop; s = s.outer {
		loop.leaves = append(loop.leaves, s)
	}
}

// closeOnBreak makes the compiler end captured variables at a break: it does so only if the loop's own block has
// one, so this gives it one that costs two instructions.
func closeOnBreak(body []ast.Stmt) []ast.Stmt {
	const name = "(break)"
	use := &ast.FunctionExpr{ParList: &ast.ParList{}, Stmts: []ast.Stmt{
		&ast.ReturnStmt{Exprs: []ast.Expr{&ast.IdentExpr{Value: name}}},
	}}
	never := &ast.IfStmt{Condition: &ast.FalseExpr{}, Then: []ast.Stmt{
		&ast.LocalAssignStmt{Names: []string{"(use)"}, Exprs: []ast.Expr{use}},
	}}
	return append([]ast.Stmt{&ast.LocalAssignStmt{Names: []string{name}}, never}, body...)
}

// keepJumpAway keeps the first instruction of a loop from being a jump, which the compiler would follow after it
// has replaced its label by a distance.
func keepJumpAway(body []ast.Stmt) []ast.Stmt {
	if !jumpsFirst(body) {
		return body
	}
	guard := block(0, 0, &ast.LocalAssignStmt{Names: []string{"(guard)"}})
	return append([]ast.Stmt{guard}, body...)
}

func jumpsFirst(body []ast.Stmt) bool {
	for _, stmt := range body {
		switch s := stmt.(type) {
		case *ast.BreakStmt:
			return true
		case *ast.DoBlockStmt:
			if len(s.Stmts) == 0 {
				continue
			}
			return jumpsFirst(s.Stmts)
		case *ast.IfStmt:
			_, ok := constant(s.Condition)
			return ok
		case *ast.WhileStmt, *ast.RepeatStmt:
			return false // guarded themselves, or they start with a condition
		}
		return false
	}
	return true // empty: the jump back comes first
}
