package luabridge

import (
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

func (r *rewriter) exprs(list []ast.Expr) []ast.Expr {
	for i, e := range list {
		list[i] = r.expr(e)
	}
	return list
}

// expr rewrites one expression.
func (r *rewriter) expr(node ast.Expr) ast.Expr {
	r.stamp(node)
	switch e := node.(type) {
	case *ast.IdentExpr:
		return r.ident(e)
	case *ast.AttrGetExpr:
		return r.access(e)
	case *ast.TableExpr:
		return r.table(e)
	case *ast.FuncCallExpr:
		return r.funcCall(e)
	case *ast.LogicalOpExpr:
		return r.logical(e)
	case *ast.RelationalOpExpr:
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	case *ast.StringConcatOpExpr:
		return r.concat(e)
	case *ast.ArithmeticOpExpr:
		return r.arith(e)
	case *ast.UnaryMinusOpExpr:
		e.Expr = r.expr(e.Expr)
	case *ast.UnaryNotOpExpr:
		return r.not(e)
	case *ast.UnaryLenOpExpr:
		e.Expr = r.read(e.Expr)
		if r.ownLen {
			return r.call(helperLen, e.Line(), r.single([]ast.Expr{e.Expr})...)
		}
	case *ast.FunctionExpr:
		r.function(e)
	}
	return node
}

func (r *rewriter) ident(e *ast.IdentExpr) ast.Expr {
	v := r.lookup(e.Value)
	if v != nil {
		v.captured = v.captured || v.fn != r.fn
		return e
	}
	if e.Value == "KEYS" || e.Value == "ARGV" {
		r.leaks = true
	}
	return r.hoistedGlobal(e)
}

// hoistedGlobal is what stands for a global: a parameter, if there is room.
func (r *rewriter) hoistedGlobal(e *ast.IdentExpr) ast.Expr {
	if r.all && globalNames[e.Value] {
		if id, ok := r.hoistable(e.Value, e.Line()); ok {
			return id
		}
	}
	return e
}

// access hoists "library.field"; libraries cannot change.
func (r *rewriter) access(e *ast.AttrGetExpr) ast.Expr {
	if key, ok := e.Key.(*ast.StringExpr); ok && r.all && r.library(e.Object) && plainName(key.Value) {
		library := e.Object.(*ast.IdentExpr).Value
		if library != "_G" {
			if id, ok := r.hoistable(library+"."+key.Value, e.Line()); ok {
				return id
			}
		}
	}
	e.Object, e.Key = r.read(e.Object), r.expr(e.Key)
	return e
}

// read rewrites an operand of which only an element or the length is read.
func (r *rewriter) read(e ast.Expr) ast.Expr {
	if name, ok := r.global(e); ok && (name == "KEYS" || name == "ARGV") {
		r.stamp(e)
		return r.hoistedGlobal(e.(*ast.IdentExpr))
	}
	return r.expr(e)
}

// plainName reports whether s has only letters, digits and underscores.
func plainName(s string) bool {
	for _, c := range []byte(s) {
		if !lexAlpha(int(c)) && !lexDigit(int(c)) {
			return false
		}
	}
	return s != ""
}

func (r *rewriter) function(e *ast.FunctionExpr) {
	r.fn++
	r.open(false)
	r.state = 0
	r.declare(e.ParList.Names...)
	if e.ParList.HasVargs {
		r.declare("arg")
	}
	e.Stmts = r.stmts(e.Stmts)
	r.close()
	r.fn--
}

func (r *rewriter) funcCall(e *ast.FuncCallExpr) ast.Expr {
	if e.Func != nil {
		e.Func = r.expr(e.Func)
	} else {
		e.Receiver = r.expr(e.Receiver)
	}
	e.Args = r.wide(r.exprs(e.Args), e.Line())
	return e
}

// multiple reports whether e gives all its values as the last of a list.
func multiple(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		return !e.AdjustRet
	case *ast.Comma3Expr:
		return !e.AdjustRet
	}
	return false
}

// wide passes the tail of a long list through a table, to save registers.
func (r *rewriter) wide(list []ast.Expr, line int) []ast.Expr {
	if len(list) <= wideList {
		return list
	}
	head, tail := list[:wideList-1:wideList-1], list[wideList-1:]
	var rest []ast.Expr
	if last := len(tail) - 1; multiple(tail[last]) {
		tail, rest = tail[:last], []ast.Expr{tail[last]}
	}
	table := at(&ast.TableExpr{}, line, line)
	for _, e := range tail {
		oneValue(e)
		table.Fields = append(table.Fields, &ast.Field{Value: e})
	}
	count := at(&ast.NumberExpr{Value: strconv.Itoa(len(tail))}, line, 0)
	args := append([]ast.Expr{count, r.pieces(table)}, rest...)
	spread := r.call(helperSpread, line, args...)
	spread.AdjustRet = false
	return append(head, spread)
}

// logical folds constant left operands, whose jumps the compiler gets wrong at the start of a loop.
func (r *rewriter) logical(e *ast.LogicalOpExpr) ast.Expr {
	e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	truth, ok := constant(e.Lhs)
	if !ok {
		return e
	}
	if truth == (e.Operator == "and") {
		oneValue(e.Rhs)
		return e.Rhs
	}
	return e.Lhs
}

func (r *rewriter) not(e *ast.UnaryNotOpExpr) ast.Expr {
	e.Expr = r.expr(e.Expr)
	truth, ok := constant(e.Expr)
	switch {
	case !ok:
		return e
	case truth:
		return at(&ast.FalseExpr{}, e.Line(), 0)
	}
	return at(&ast.TrueExpr{}, e.Line(), 0)
}

// concat makes one call of a whole chain; ".." is right associative, so a long chain nests on the right.
func (r *rewriter) concat(e *ast.StringConcatOpExpr) ast.Expr {
	var operands []ast.Expr
	var rest ast.Expr = e
	for {
		next, ok := rest.(*ast.StringConcatOpExpr)
		if !ok {
			operands = append(operands, r.expr(rest))
			break
		}
		operands = append(operands, r.expr(next.Lhs))
		rest = next.Rhs
	}
	for len(operands) > wideList {
		cut := len(operands) - wideList
		tail := r.call(helperConcat, e.Line(), r.single(operands[cut:])...)
		operands = append(operands[:cut:cut], tail)
	}
	return r.call(helperConcat, e.Line(), r.single(operands)...)
}

// single cuts the last of a list to one value.
func (r *rewriter) single(list []ast.Expr) []ast.Expr {
	oneValue(list[len(list)-1])
	return list
}

// arith sends to helpers what the machine computes otherwise than Lua. Lua's "%" is
// a - floor(a/b)*b, the machine's an exact remainder. And the machine's results are
// never negative zero.
func (r *rewriter) arith(e *ast.ArithmeticOpExpr) ast.Expr {
	helper := ""
	switch {
	case e.Operator == "^":
		if n := powerOf(e.Lhs, e.Rhs); n != nil {
			return n
		}
		helper = helperPow
	case literal(e.Lhs) && literal(e.Rhs) && e.Operator != "%": // computed by the compiler, sign and all
	case e.Operator == "%":
		helper = helperMod
	case e.Operator == "*" && !(positive(e.Lhs) && neverNegated(e.Rhs)) && !(positive(e.Rhs) && neverNegated(e.Lhs)):
		helper = helperMul
	case e.Operator == "/" && !positive(e.Lhs) && !(positive(e.Rhs) && neverNegated(e.Lhs)):
		helper = helperDiv
	}
	e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	if helper == "" {
		return e
	}
	return r.call(helper, e.Line(), r.single([]ast.Expr{e.Lhs, e.Rhs})...)
}

// powerOf is what the compiler would make of a power of two numbers, with our own
// digits; nil if it is not a number that can be written down.
func powerOf(lhs, rhs ast.Expr) ast.Expr {
	x, ok := lhs.(*ast.NumberExpr)
	y, ok2 := rhs.(*ast.NumberExpr)
	if !ok || !ok2 {
		return nil
	}
	a, err := strconv.ParseFloat(x.Value, 64)
	b, err2 := strconv.ParseFloat(y.Value, 64)
	value := power(a, b)
	if err != nil || err2 != nil || !normal(value) {
		return nil
	}
	return at(&ast.NumberExpr{Value: strconv.FormatFloat(value, 'g', -1, 64)}, x.Line(), x.LastLine())
}

// literal reports whether e is made of numbers only.
func literal(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.NumberExpr:
		return true
	case *ast.UnaryMinusOpExpr:
		return literal(e.Expr)
	case *ast.ArithmeticOpExpr:
		return literal(e.Lhs) && literal(e.Rhs)
	}
	return false
}

// positive reports whether e is a number above zero.
func positive(e ast.Expr) bool {
	n, ok := e.(*ast.NumberExpr)
	return ok && strings.Trim(n.Value, "0.-") != "" && !strings.HasPrefix(n.Value, "-")
}

// neverNegated reports whether e is not a negation, which may give negative zero.
func neverNegated(e ast.Expr) bool {
	_, ok := e.(*ast.UnaryMinusOpExpr)
	return !ok
}

func (r *rewriter) table(e *ast.TableExpr) ast.Expr {
	items, keyed, gaps := contents(e)
	r.holes = r.holes || gaps
	for _, f := range e.Fields {
		if f.Key != nil {
			f.Key = r.expr(f.Key)
		}
		f.Value = r.expr(f.Value)
	}
	table := r.pieces(e)
	keys, matter := r.keysOf(e)
	if r.ordered && (keyed > 1 || matter) || r.ownLen && (gaps || oddSize(items)) {
		size := func(n int) ast.Expr { return at(&ast.NumberExpr{Value: strconv.Itoa(n)}, e.Line(), 0) }
		args := []ast.Expr{table, size(items), size(keyed)}
		if late := beforeOne(e); items == 0 && late >= 0 && !(r.ordered && matter) {
			args = append(args, size(late))
		}
		table = r.call(helperSized, e.Line(), args...)
	}
	if r.ordered && matter {
		table = r.call(helperFields, e.Line(), append([]ast.Expr{table}, keys...)...)
	}
	return table
}

// maxNames is how many arguments a call may well have.
const maxNames = 100

// keysOf are the keys of a constructor's fields. They matter if the table does not tell all
// of its own order: if a field may be nil, which has a place all the same, or have a number,
// which may be an element here and a field there, or if an item may be nil.
func (r *rewriter) keysOf(e *ast.TableExpr) (keys []ast.Expr, matter bool) {
	for _, f := range e.Fields {
		switch key := f.Key.(type) {
		case nil:
			matter = matter || mayBeNil(f.Value)
			continue
		case *ast.StringExpr:
			matter = matter || mayBeNil(f.Value)
		case *ast.NumberExpr:
			matter = true
		case *ast.UnaryMinusOpExpr:
			if _, ok := key.Expr.(*ast.NumberExpr); !ok {
				return nil, false
			}
			matter = true
		case *ast.IdentExpr:
			if r.lookup(key.Value) == nil { // else it can be read twice
				return nil, false
			}
			matter = true
		default:
			return nil, false
		}
		keys = append(keys, f.Key)
	}
	return keys, matter && len(keys) <= maxNames
}

// contents counts a constructor's items and fields. A count of -1-n means n items and
// those of an open call behind them. gaps tells that
// items may be nil, or keys numbers, in a way that decides what "#" gives.
func contents(e *ast.TableExpr) (items, keyed int, gaps bool) {
	maybe := 0
	for i, f := range e.Fields {
		if f.Key != nil {
			keyed++
			_, named := f.Key.(*ast.StringExpr)
			gaps = gaps || !named
			continue
		}
		items++
		_, isNil := f.Value.(*ast.NilExpr)
		gaps = gaps || isNil
		if mayBeNil(f.Value) {
			maybe++
		}
		if i == len(e.Fields)-1 && multiple(f.Value) {
			return -items, keyed, true
		}
	}
	return items, keyed, gaps || maybe > 0 && items > 1
}

// beforeOne counts the fields before "[1] = ..."; without that it is -1.
func beforeOne(e *ast.TableExpr) int {
	for i, f := range e.Fields {
		if f.Key != nil && isOne(f.Key) {
			return i
		}
	}
	return -1
}

// oddSize reports whether a list of n items has another size than it would get by
// growing: that is 1, 2, 4, 8...
func oddSize(n int) bool { return n&(n-1) != 0 }

// mayBeNil reports whether an expression can give nil.
func mayBeNil(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.TrueExpr, *ast.FalseExpr, *ast.NumberExpr, *ast.StringExpr, *ast.TableExpr, *ast.FunctionExpr,
		*ast.ArithmeticOpExpr, *ast.StringConcatOpExpr, *ast.UnaryMinusOpExpr, *ast.UnaryNotOpExpr, *ast.UnaryLenOpExpr,
		*ast.RelationalOpExpr:
		return false
	case *ast.LogicalOpExpr:
		return e.Operator == "and" && mayBeNil(e.Lhs) || mayBeNil(e.Rhs)
	}
	return true
}

// pieces repairs a constructor: a keyed last value must not spill into the list, and a list that the compiler
// would store twice, or not at all, is cut into tables {list, count, keyed, list, count, keyed...} for a helper.
func (r *rewriter) pieces(e *ast.TableExpr) ast.Expr {
	items, cut := 0, false
	for i, f := range e.Fields {
		full := items > 0 && items%flushSize == 0
		last := i == len(e.Fields)-1
		if f.Key != nil {
			oneValue(f.Value)
			cut = cut || full
		} else {
			cut = cut || last && full && multiple(f.Value)
			items++
		}
	}
	if !cut && items <= maxFlushed {
		return e
	}
	return r.cut(e)
}

func (r *rewriter) cut(e *ast.TableExpr) ast.Expr {
	line, last := e.Line(), e.LastLine()
	parts := at(&ast.TableExpr{}, line, last)
	list, keyed := at(&ast.TableExpr{}, line, last), at(&ast.TableExpr{}, line, last)
	flush := func(open bool) {
		count := len(list.Fields)
		if open {
			count = -1
		}
		number := at(&ast.NumberExpr{Value: strconv.Itoa(count)}, line, 0)
		for _, part := range []ast.Expr{list, number, keyed} {
			parts.Fields = append(parts.Fields, &ast.Field{Value: part})
		}
		list, keyed = at(&ast.TableExpr{}, line, last), at(&ast.TableExpr{}, line, last)
	}
	for i, f := range e.Fields {
		open := i == len(e.Fields)-1 && f.Key == nil && multiple(f.Value)
		switch {
		case f.Key != nil:
			keyed.Fields = append(keyed.Fields, f)
			continue
		case len(keyed.Fields) > 0, len(list.Fields) == flushSize*200, open && len(list.Fields) > 0:
			flush(false)
		}
		list.Fields = append(list.Fields, f)
		if open {
			flush(true)
		}
	}
	if len(list.Fields)+len(keyed.Fields) > 0 {
		flush(false)
	}
	return r.call(helperTable, line, parts)
}
