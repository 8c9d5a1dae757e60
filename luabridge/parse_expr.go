package luabridge

import (
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// kind says what an expression may be used for besides its value.
type kind int

const (
	kindValue    kind = iota
	kindVariable      // a name: can be assigned
	kindIndexed       // a table access: can be assigned
	kindCall          // can be a statement; gives any number of values
	kindVararg
)

// expr is a parsed expression. Until settled it has no code in Lua's compiler; the line where that is
// emitted becomes the node's line, because that is the one in error messages and where debuggers stop.
type expr struct {
	node    ast.Expr
	kind    kind
	pending bool
	depth   int // of the tree below node
}

// settle gives an access or a constant that is still open the line of the last token.
func (p *parser) settle(e *expr) ast.Expr {
	if e.pending {
		e.node.SetLine(p.lastLine)
		e.pending = false
	}
	return e.node
}

// over is the depth of a node above children; deep chains would exhaust the Go stack in the compiler.
func (p *parser) over(depths ...int) int {
	deepest := 0
	for _, d := range depths {
		deepest = max(deepest, d)
	}
	if deepest >= maxChain {
		p.tooComplex()
	}
	p.fn.depth = max(p.fn.depth, deepest+1)
	return deepest + 1
}

// value parses one expression, settled.
func (p *parser) value() ast.Expr {
	e := p.expression(0)
	return p.settle(&e)
}

// values parses a list of expressions; all but the last are settled by the comma after them.
func (p *parser) values() (nodes []ast.Expr) {
	for {
		e := p.expression(0)
		if p.cur.kind != ',' {
			p.width(len(nodes) + 1)
			return append(nodes, p.settle(&e))
		}
		p.advance()
		p.width(len(nodes) + 1)
		nodes = append(nodes, p.settle(&e))
	}
}

// binary operators: priority to the left and to the right.
var priorities = map[tok][2]int{
	'+': {6, 6}, '-': {6, 6}, '*': {7, 7}, '/': {7, 7}, '%': {7, 7}, '^': {10, 9}, tokConcat: {5, 4},
	tokNe: {3, 3}, tokEq: {3, 3}, '<': {3, 3}, tokLe: {3, 3}, '>': {3, 3}, tokGe: {3, 3}, tokAnd: {2, 2}, tokOr: {1, 1},
}

const unaryPriority = 8

// expression parses operands joined by operators that bind tighter than limit.
func (p *parser) expression(limit int) expr {
	p.enter()
	var e expr
	switch op := p.cur.kind; op {
	case tokNot, '-', '#':
		p.advance()
		operand := p.expression(unaryPriority)
		e = p.unary(op, operand)
	default:
		e = p.simple()
	}
	for {
		op := p.cur.kind
		prio, ok := priorities[op]
		if !ok || prio[0] <= limit {
			break
		}
		p.advance()
		p.settle(&e)
		right := p.expression(prio[1])
		e = p.binary(op, e, right)
	}
	p.leave()
	return e
}

func (p *parser) unary(op tok, operand expr) expr {
	x := p.settle(&operand)
	var node ast.Expr
	switch op {
	case tokNot:
		node = &ast.UnaryNotOpExpr{Expr: x}
	case '-':
		node = &ast.UnaryMinusOpExpr{Expr: x}
	default:
		node = &ast.UnaryLenOpExpr{Expr: x}
	}
	return expr{node: at(node, p.lastLine, 0), depth: p.over(operand.depth)}
}

func (p *parser) binary(op tok, left, right expr) expr {
	l, r := left.node, p.settle(&right)
	var node ast.Expr
	switch op {
	case '+', '-', '*', '/', '%', '^':
		node = &ast.ArithmeticOpExpr{Operator: op.String(), Lhs: l, Rhs: r}
	case tokConcat:
		node = &ast.StringConcatOpExpr{Lhs: l, Rhs: r}
	case tokAnd, tokOr:
		node = &ast.LogicalOpExpr{Operator: op.String(), Lhs: l, Rhs: r}
	default:
		node = &ast.RelationalOpExpr{Operator: op.String(), Lhs: l, Rhs: r}
	}
	return expr{node: at(node, p.lastLine, 0), depth: p.over(left.depth, right.depth)}
}

func (p *parser) simple() expr {
	var node ast.Expr
	e := expr{depth: 1, pending: true}
	switch p.cur.kind {
	case tokNumber:
		p.constant(p.cur.text)
		node = &ast.NumberExpr{Value: numberText(p.cur.num)}
	case tokString:
		p.constant(p.cur.str)
		node = &ast.StringExpr{Value: p.cur.str}
	case tokNil:
		node = &ast.NilExpr{}
	case tokTrue:
		node = &ast.TrueExpr{}
	case tokFalse:
		node = &ast.FalseExpr{}
	case tokDots:
		if !p.fn.vararg {
			p.fail("cannot use '...' outside a vararg function")
		}
		p.fn.dots = true
		node, e.kind, e.pending = &ast.Comma3Expr{}, kindVararg, false
	case '{':
		return p.constructor()
	case tokFunction:
		p.advance()
		return p.body(nil, p.lx.line)
	default:
		return p.primary()
	}
	p.advance()
	e.node = at(node, p.lastLine, 0)
	return e
}

// numberText writes a constant so that gopher-lua reads the same number back.
func numberText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func (p *parser) variable() expr {
	name := p.name()
	p.use(name)
	p.constant(name)
	return expr{node: at(&ast.IdentExpr{Value: name}, p.lastLine, 0), kind: kindVariable, pending: true, depth: 1}
}

// prefix parses a name or an expression in parentheses, which gives exactly one value.
func (p *parser) prefix() expr {
	switch p.cur.kind {
	case '(':
		line := p.lx.line
		p.advance()
		e := p.expression(0)
		p.expectMatch(')', '(', line)
		p.settle(&e)
		oneValue(e.node)
		e.kind = kindValue
		return e
	case tokName:
		return p.variable()
	}
	p.fail("unexpected symbol")
	return expr{}
}

// oneValue cuts the results of a call or of "..." to one.
func oneValue(node ast.Expr) {
	switch e := node.(type) {
	case *ast.FuncCallExpr:
		e.AdjustRet = true
	case *ast.Comma3Expr:
		e.AdjustRet = true
	}
}

// primary parses a prefix followed by accesses and calls.
func (p *parser) primary() expr {
	e := p.prefix()
	for {
		switch p.cur.kind {
		case '.', '[':
			p.index(&e)
		case ':':
			p.advance()
			method := p.name()
			p.constant(method)
			p.settle(&e)
			p.call(&e, method)
		case '(', tokString, '{':
			p.settle(&e)
			p.call(&e, "")
		default:
			return e
		}
	}
}

// index parses ".name" (or ":name" in a function statement) or "[expr]".
func (p *parser) index(e *expr) {
	object := p.settle(e)
	dotted := p.cur.kind != '['
	p.advance()
	key, depth := p.key(dotted)
	node := &ast.AttrGetExpr{Object: object, Key: key}
	*e = expr{node: at(node, p.lastLine, 0), kind: kindIndexed, pending: true, depth: p.over(e.depth, depth)}
}

// key parses the name after a dot, or the expression after a bracket and the closing one.
func (p *parser) key(dotted bool) (ast.Expr, int) {
	if dotted {
		name := p.name()
		p.constant(name)
		return at(&ast.StringExpr{Value: name}, p.lastLine, 0), 1
	}
	e := p.expression(0)
	p.settle(&e)
	p.expect(']')
	return e.node, e.depth
}

// call parses arguments; the node's line is that of the opening token, as in Lua.
func (p *parser) call(e *expr, method string) {
	line := p.lx.line
	node := &ast.FuncCallExpr{}
	if method != "" {
		node.Receiver, node.Method = e.node, method
	} else {
		node.Func = e.node
	}
	depth := 1
	switch p.cur.kind {
	case '(':
		node.Args, depth = p.arguments(line)
	case '{':
		table := p.constructor()
		node.Args, depth = []ast.Expr{table.node}, table.depth
	case tokString:
		p.constant(p.cur.str)
		text := &ast.StringExpr{Value: p.cur.str}
		p.advance()
		node.Args = []ast.Expr{at(text, p.lastLine, 0)}
	default:
		p.fail("function arguments expected")
	}
	*e = expr{node: at(node, line, p.lastLine), kind: kindCall, depth: p.over(e.depth, depth)}
}

func (p *parser) arguments(line int) (args []ast.Expr, depth int) {
	if line != p.lastLine {
		p.fail("ambiguous syntax (function call x new statement)")
	}
	p.advance()
	if p.accept(')') {
		return nil, 1
	}
	for {
		e := p.expression(0)
		depth = max(depth, e.depth)
		args = append(args, e.node)
		if p.cur.kind != ',' {
			p.expectMatch(')', '(', line)
			p.settle(&e)
			p.width(len(args) + 1)
			return args, depth
		}
		p.advance()
		p.settle(&e)
		p.width(len(args) + 1)
	}
}

// constructor parses a table. Its node has the line of the first field whose key is computed: only there can it fail.
func (p *parser) constructor() expr {
	line, start := p.lx.line, p.lastLine
	p.expect('{')
	table, depth := &ast.TableExpr{}, 1
	failLine := 0
	var last *expr // the list item that the next separator settles
	for p.cur.kind != '}' {
		field, e, computed := p.field()
		table.Fields = append(table.Fields, field)
		depth = max(depth, e.depth)
		if computed && failLine == 0 {
			failLine = p.lastLine
		}
		last = nil
		if field.Key == nil {
			last = &e
		}
		if !p.accept(',') && !p.accept(';') {
			break
		}
		if last != nil && p.cur.kind != '}' {
			p.settle(last)
			last = nil
		}
	}
	p.expectMatch('}', '{', line)
	if last != nil {
		p.settle(last)
	}
	if failLine == 0 {
		failLine = start
	}
	return expr{node: at(table, failLine, p.lastLine), depth: p.over(depth)}
}

// field parses one entry of a constructor; a keyed one is settled.
func (p *parser) field() (f *ast.Field, e expr, computed bool) {
	f = &ast.Field{}
	depth := 0
	switch {
	case p.cur.kind == tokName && p.lookahead() == '=':
		f.Key, depth = p.key(true)
		p.expect('=')
	case p.cur.kind == '[':
		p.advance()
		f.Key, depth = p.key(false)
		p.expect('=')
		_, text := f.Key.(*ast.StringExpr)
		computed = !text
	}
	e = p.expression(0)
	if f.Key != nil {
		p.settle(&e)
	}
	f.Value = e.node
	e.depth = max(e.depth, depth)
	return f, e, computed
}

// body parses parameters and statements of a function defined at line; params are hidden ones before them.
func (p *parser) body(params []string, line int) expr {
	p.fn = &funcScope{outer: p.fn, line: line}
	p.expect('(')
	p.declare(params...)
	node := &ast.FunctionExpr{ParList: &ast.ParList{}}
	node.ParList.Names = append(params, p.parameters(node.ParList)...)
	p.expect(')')
	node.Stmts = p.block()
	last := p.lx.line
	p.expectMatch(tokEnd, tokFunction, line)
	depth := p.fn.depth
	p.fn = p.fn.outer
	return expr{node: at(node, line, last), depth: p.over(depth)}
}

func (p *parser) parameters(list *ast.ParList) []string {
	var names []string
	if p.cur.kind == ')' {
		return nil
	}
	for {
		switch p.cur.kind {
		case tokName:
			name := p.name()
			p.reserve(len(names))
			names = append(names, name)
		case tokDots:
			p.advance()
			p.reserve(len(names))
			list.HasVargs, p.fn.vararg = true, true
		default:
			p.fail("<name> or '...' expected")
		}
		if list.HasVargs || !p.accept(',') {
			break
		}
	}
	p.declare(names...)
	if list.HasVargs {
		p.declare("arg")
	}
	return names
}
