package luabridge

import (
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// hidden names a variable that no script can spell. The parenthesis tells error texts that it is a temporary.
func hidden(what string, i int) string { return "(" + what + strconv.Itoa(i) + ")" }

func name(s string, line int) *ast.IdentExpr { return at(&ast.IdentExpr{Value: s}, line, 0) }

func localStmt(line int, name string, e ast.Expr) *ast.LocalAssignStmt {
	exprs := hideFromItself([]string{name}, []ast.Expr{e})
	return at(&ast.LocalAssignStmt{Names: []string{name}, Exprs: exprs}, line, line)
}

func (r *rewriter) assign(s *ast.AssignStmt) ast.Stmt {
	for _, target := range s.Lhs {
		r.stamp(target)
	}
	if len(s.Lhs) == 1 && len(s.Rhs) == 1 {
		return r.assignOne(s)
	}
	return r.assignMany(s)
}

// assignOne rewrites "target = value".
func (r *rewriter) assignOne(s *ast.AssignStmt) ast.Stmt {
	target := s.Lhs[0]
	if access, ok := target.(*ast.AttrGetExpr); ok {
		return r.assignField(s, access)
	}
	value := r.expr(s.Rhs[0])
	s.Rhs[0] = value
	id := target.(*ast.IdentExpr)
	switch v := r.lookup(id.Value); {
	case v == nil:
		return r.readonly(id.Line(), value)
	case v.fn != r.fn:
		v.captured = true
		return s
	}
	switch e := value.(type) {
	case *ast.FuncCallExpr:
		e.AdjustRet = false // the target takes one value anyway
	case *ast.Comma3Expr:
		e.AdjustRet = false
	case *ast.LogicalOpExpr: // compiled into the target piece by piece, which the operands would see
		temp := hidden("value", 1)
		s.Rhs[0] = name(temp, s.Line())
		return block(s.Line(), s.LastLine(), localStmt(s.Line(), temp, value), s)
	}
	return s
}

// readonly raises the error for a write to a read-only table after the values have been computed.
func (r *rewriter) readonly(line int, values ...ast.Expr) ast.Stmt {
	call := r.call(helperReadonly, line, values...)
	call.AdjustRet = false
	return at(&ast.FuncCallStmt{Expr: call}, line, line)
}

// library reports whether e is one of the server's read-only tables.
func (r *rewriter) library(e ast.Expr) bool {
	name, ok := r.global(e)
	return ok && libraries[name]
}

// assignField rewrites "object[key] = value". Lua reads a key in a local variable when it stores, after the value.
func (r *rewriter) assignField(s *ast.AssignStmt, access *ast.AttrGetExpr) ast.Stmt {
	if r.library(access.Object) {
		return r.readonly(access.Line(), r.expr(access.Key), r.expr(s.Rhs[0]))
	}
	if _, ok := s.Rhs[0].(*ast.NilExpr); ok {
		if _, named := access.Key.(*ast.StringExpr); !named || r.ordered {
			return r.erase(access)
		}
	}
	if r.ordered && r.appends(access) {
		return r.append(s, access)
	}
	if r.ordered && r.erasable(access, s.Rhs[0]) {
		return r.assignOrErase(s, access)
	}
	if r.ordered && r.needsTemps(access, s.Rhs[0]) {
		return r.assignMany(s)
	}
	r.holes = r.holes || r.sparse(access, s.Rhs[0])
	late := r.local(access.Key) != nil && mayCall(s.Rhs[0])
	access.Object, access.Key = r.expr(access.Object), r.expr(access.Key)
	s.Rhs[0] = r.expr(s.Rhs[0])
	var stmts []ast.Stmt
	line := access.Line()
	if folded(access.Object) || late && r.local(access.Object) == nil {
		temp := hidden("object", 1)
		stmts = append(stmts, localStmt(line, temp, access.Object))
		access.Object = name(temp, line)
	}
	if late {
		temp := hidden("value", 1)
		stmts = append(stmts, localStmt(line, temp, s.Rhs[0]))
		s.Rhs[0] = name(temp, line)
	}
	if stmts = append(stmts, r.noteElement(access, late)...); len(stmts) == 0 {
		return s
	}
	return block(s.Line(), s.LastLine(), append(stmts, s)...)
}

// noteElement are the statements that note an element which is about to be set. The table
// must be in a variable; with kept it may be a temporary one, and the key is in one too or
// constant.
func (r *rewriter) noteElement(access *ast.AttrGetExpr, kept bool) (stmts []ast.Stmt) {
	id, ok := access.Object.(*ast.IdentExpr)
	if !r.ordered || !ok || !kept && r.lookup(id.Value) == nil {
		return nil
	}
	switch key := access.Key.(type) {
	case *ast.StringExpr, *ast.TrueExpr, *ast.FalseExpr, *ast.NilExpr:
		return nil
	case *ast.NumberExpr:
	case *ast.IdentExpr:
		if !kept && r.lookup(key.Value) == nil {
			return nil
		}
	default:
		temp := hidden("key", 1)
		stmts = append(stmts, localStmt(access.Line(), temp, key))
		access.Key = name(temp, access.Line())
	}
	return append(stmts, r.callNote(helperElement, access))
}

// folded reports whether the compiler may take an object for a constant, and then that for a register.
func folded(object ast.Expr) bool {
	switch object.(type) {
	case *ast.ArithmeticOpExpr, *ast.UnaryMinusOpExpr:
		return true
	}
	_, fixed := constant(object)
	return fixed
}

// needsTemps reports whether "object[key] = value" can be noted only if its parts are kept in
// variables: what is noted is an element, or the erasure of a field by a value of nil.
func (r *rewriter) needsTemps(access *ast.AttrGetExpr, value ast.Expr) bool {
	_, named := access.Key.(*ast.StringExpr)
	if computed(access.Object) {
		return !named || mayBeNil(value)
	}
	return r.local(access.Object) != nil && computed(access.Key) && mayBeNil(value)
}

// computed reports whether an expression is neither a constant nor a variable.
func computed(key ast.Expr) bool {
	_, variable := key.(*ast.IdentExpr)
	_, fixed := constant(key)
	return !variable && !fixed
}

// sparse reports whether an assignment may leave holes in a list: unless it is to a name, to
// the list's end, or of something to an element before that or by a loop's counter.
func (r *rewriter) sparse(access *ast.AttrGetExpr, value ast.Expr) bool {
	key, less, more := access.Key, false, false
	if sum, ok := key.(*ast.ArithmeticOpExpr); ok {
		key, less, more = sum.Lhs, sum.Operator == "-", sum.Operator == "+" && isOne(sum.Rhs)
		if !less && !more {
			return true
		}
	}
	switch k := key.(type) {
	case *ast.StringExpr:
		return false
	case *ast.UnaryLenOpExpr:
		return !samePlace(k.Expr, access.Object) || less && mayBeNil(value)
	case *ast.IdentExpr:
		v := r.lookup(k.Value)
		return v == nil || !v.counter || less || more || mayBeNil(value)
	}
	return true
}

// valueFor is the expression whose value the i-th target of an assignment gets, as far as that is known.
func valueFor(s *ast.AssignStmt, i int) ast.Expr {
	last := len(s.Rhs) - 1
	if i < last || i == last && !multiple(s.Rhs[i]) {
		return s.Rhs[i]
	}
	return &ast.NilExpr{}
}

// samePlace reports whether two expressions are the same variable, or field of one.
func samePlace(a, b ast.Expr) bool {
	switch a := a.(type) {
	case *ast.IdentExpr:
		b, ok := b.(*ast.IdentExpr)
		return ok && a.Value == b.Value
	case *ast.StringExpr:
		b, ok := b.(*ast.StringExpr)
		return ok && a.Value == b.Value
	case *ast.AttrGetExpr:
		b, ok := b.(*ast.AttrGetExpr)
		return ok && samePlace(a.Object, b.Object) && samePlace(a.Key, b.Key)
	}
	return false
}

// appends reports whether an assignment is "t[#t + 1] = ..." for a variable t.
func (r *rewriter) appends(access *ast.AttrGetExpr) bool {
	t, ok := access.Object.(*ast.IdentExpr)
	sum, ok2 := access.Key.(*ast.ArithmeticOpExpr)
	if !ok || !ok2 || r.lookup(t.Value) == nil || sum.Operator != "+" || !isOne(sum.Rhs) {
		return false
	}
	length, ok := sum.Lhs.(*ast.UnaryLenOpExpr)
	if !ok {
		return false
	}
	same, ok := length.Expr.(*ast.IdentExpr)
	return ok && same.Value == t.Value
}

// append rewrites it: whether there were other fields before decides their order.
func (r *rewriter) append(s *ast.AssignStmt, access *ast.AttrGetExpr) ast.Stmt {
	args := []ast.Expr{r.expr(access.Object)}
	if mayCall(s.Rhs[0]) {
		args = append(args, r.expr(access.Key)) // comes before the value
	}
	call := r.call(helperAppend, access.Line(), r.single(append(args, r.expr(s.Rhs[0])))...)
	call.AdjustRet = false
	return at(&ast.FuncCallStmt{Expr: call}, access.Line(), access.Line())
}

// erase rewrites "object[key] = nil". The machine would leave the end of an array
// full of nil, and walk over it for every "#"; and when a field was removed decides
// the order of the others.
func (r *rewriter) erase(access *ast.AttrGetExpr) ast.Stmt {
	size, ok := access.Key.(*ast.UnaryLenOpExpr)
	_, named := access.Key.(*ast.StringExpr)
	r.holes = r.holes || !(ok && samePlace(size.Expr, access.Object)) && !named
	erased := *access
	erased.Object, erased.Key = r.expr(access.Object), r.expr(access.Key)
	return r.callNote(helperErase, &erased)
}

// erasable reports whether "object[key] = value" may be an erasure, and is made of names that
// can be used twice.
func (r *rewriter) erasable(access *ast.AttrGetExpr, value ast.Expr) bool {
	object, ok := access.Object.(*ast.IdentExpr)
	if !ok || !mayBeNil(value) || r.lookup(object.Value) == nil || r.local(object) == nil && mayCall(value) {
		return false
	}
	_, fixed := constant(access.Key)
	return fixed || r.local(access.Key) != nil
}

// assignOrErase rewrites "object[key] = value" where that may be an erasure.
func (r *rewriter) assignOrErase(s *ast.AssignStmt, access *ast.AttrGetExpr) ast.Stmt {
	r.holes = r.holes || r.sparse(access, s.Rhs[0])
	line := s.Line()
	var stmts []ast.Stmt
	value := r.expr(s.Rhs[0])
	if r.local(value) == nil {
		temp := hidden("value", 1)
		stmts = append(stmts, localStmt(line, temp, value))
		value = name(temp, line)
	}
	isNil := at(&ast.RelationalOpExpr{Operator: "==", Lhs: value, Rhs: at(&ast.NilExpr{}, line, line)}, line, line)
	erase := r.erase(access)
	access.Object, access.Key = r.expr(access.Object), r.expr(access.Key)
	s.Rhs[0] = value
	set := append(r.noteElement(access, false), s)
	choice := at(&ast.IfStmt{Condition: isNil, Then: []ast.Stmt{erase}, Else: set}, line, s.LastLine())
	return block(line, s.LastLine(), append(stmts, choice)...)
}

// mayCall reports whether evaluating e can run other Lua code, metamethods aside.
func mayCall(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		return true
	case *ast.AttrGetExpr:
		return mayCall(e.Object) || mayCall(e.Key)
	case *ast.LogicalOpExpr:
		return mayCall(e.Lhs) || mayCall(e.Rhs)
	case *ast.RelationalOpExpr:
		return mayCall(e.Lhs) || mayCall(e.Rhs)
	case *ast.ArithmeticOpExpr:
		return mayCall(e.Lhs) || mayCall(e.Rhs)
	case *ast.StringConcatOpExpr:
		return mayCall(e.Lhs) || mayCall(e.Rhs)
	case *ast.UnaryMinusOpExpr:
		return mayCall(e.Expr)
	case *ast.UnaryNotOpExpr:
		return mayCall(e.Expr)
	case *ast.UnaryLenOpExpr:
		return mayCall(e.Expr)
	case *ast.TableExpr:
		return len(e.Fields) > 0
	}
	return false
}

// assignMany rewrites a multiple assignment: targets' tables and keys, then values, go to temporaries; the
// stores happen from right to left.
func (r *rewriter) assignMany(s *ast.AssignStmt) ast.Stmt {
	var stmts []ast.Stmt
	line := r.stamped(s.LastLine())
	keep := func(what string, i int, e ast.Expr, later []ast.Expr) ast.Expr {
		if _, ok := constant(e); ok && what == "key" {
			return e
		}
		if v := r.local(e); v != nil && !r.assigns(later, v) {
			return e
		}
		temp := hidden(what, i)
		stmts = append(stmts, localStmt(e.Line(), temp, r.expr(e)))
		return name(temp, e.Line())
	}
	for i, target := range s.Lhs {
		if a, ok := target.(*ast.AttrGetExpr); ok && !r.library(a.Object) {
			r.holes = r.holes || r.sparse(a, valueFor(s, i))
			a.Object = keep("object", i, a.Object, s.Lhs[i+1:])
			a.Key = keep("key", i, a.Key, s.Lhs[i+1:])
		}
	}
	values := at(&ast.LocalAssignStmt{Exprs: r.exprs(s.Rhs)}, line, line)
	for i := range s.Lhs {
		values.Names = append(values.Names, hidden("value", i))
	}
	values.Exprs = hideFromItself(values.Names, values.Exprs)
	stmts = append(stmts, values)
	for i := len(s.Lhs) - 1; i >= 0; i-- {
		value := name(hidden("value", i), line)
		store := r.store(s.Lhs[i], value, line)
		if a, ok := s.Lhs[i].(*ast.AttrGetExpr); ok && r.ordered && !r.library(a.Object) {
			store = r.noted(a, value, store)
		}
		stmts = append(stmts, store)
	}
	return block(s.Line(), s.LastLine(), stmts...)
}

// noted is a store that is noted, of a value in a variable. The target's parts are in variables too, or constant.
func (r *rewriter) noted(access *ast.AttrGetExpr, value ast.Expr, store ast.Stmt) ast.Stmt {
	line := access.Line()
	isNil := at(&ast.RelationalOpExpr{Operator: "==", Lhs: value, Rhs: at(&ast.NilExpr{}, line, line)}, line, line)
	set := append(r.noteElement(access, true), store)
	return at(&ast.IfStmt{Condition: isNil, Then: []ast.Stmt{r.callNote(helperErase, access)}, Else: set}, line, line)
}

// callNote calls a helper with a target's table and key, whose parts are rewritten already.
func (r *rewriter) callNote(helper string, access *ast.AttrGetExpr) ast.Stmt {
	call := r.call(helper, access.Line(), r.single([]ast.Expr{access.Object, access.Key})...)
	call.AdjustRet = false
	return at(&ast.FuncCallStmt{Expr: call}, access.Line(), access.Line())
}

// assigns reports whether one of targets is the local variable v.
func (r *rewriter) assigns(targets []ast.Expr, v *variable) bool {
	for _, t := range targets {
		if r.local(t) == v {
			return true
		}
	}
	return false
}

// store assigns a temporary to a target whose parts are rewritten already.
func (r *rewriter) store(target ast.Expr, value ast.Expr, line int) ast.Stmt {
	if a, ok := target.(*ast.AttrGetExpr); ok && r.library(a.Object) {
		return r.readonly(a.Line(), value)
	}
	if id, ok := target.(*ast.IdentExpr); ok {
		v := r.lookup(id.Value)
		if v == nil {
			return r.readonly(id.Line(), value)
		}
		v.captured = v.captured || v.fn != r.fn
	}
	return at(&ast.AssignStmt{Lhs: []ast.Expr{target}, Rhs: []ast.Expr{value}}, line, line)
}

// numeric reports whether e can only give a number (or a metamethod's result).
func numeric(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.NumberExpr, *ast.UnaryLenOpExpr, *ast.ArithmeticOpExpr, *ast.UnaryMinusOpExpr:
		return true
	case *ast.FuncCallExpr:
		id, ok := e.Func.(*ast.IdentExpr)
		return ok && (id.Value == helperMod || id.Value == helperPow || id.Value == helperMul || id.Value == helperDiv)
	}
	return false
}

// numberFor converts bounds that may be strings, as Lua does when the loop starts.
func (r *rewriter) numberFor(s *ast.NumberForStmt) ast.Stmt {
	if r.watched {
		r.backs.counting[plainLine(s.Line())] = s.LastLine()
	}
	if s.Step == nil {
		s.Step = at(&ast.NumberExpr{Value: "1"}, s.Line(), 0)
	}
	s.Init, s.Limit, s.Step = r.expr(s.Init), r.expr(s.Limit), r.expr(s.Step)
	index := "(for index)"
	if isOne(s.Init) && isOne(s.Step) {
		index = countsUp
	}
	control := []string{index, "(for limit)", "(for step)", s.Name}
	_, fixed := s.Step.(*ast.NumberExpr)
	switch {
	case numeric(s.Init) && numeric(s.Limit) && numeric(s.Step):
		s.Stmts = r.loop(s.Stmts, nil, control...)
		return s
	case numeric(s.Init) && fixed:
		s.Limit = r.call(helperLimit, s.Line(), s.Limit)
		s.Stmts = r.loop(s.Stmts, nil, control...)
		return s
	}
	s.Stmts = r.loop(s.Stmts, nil, append([]string{hidden("bound", 0), hidden("bound", 1), hidden("bound", 2)}, control...)...)
	line := s.Line()
	call := r.call(helperFor, line, s.Init, s.Limit, s.Step)
	call.AdjustRet = false
	bounds := at(&ast.LocalAssignStmt{Exprs: []ast.Expr{call}}, line, line)
	for i, e := range []*ast.Expr{&s.Init, &s.Limit, &s.Step} {
		temp := hidden("bound", i)
		bounds.Names = append(bounds.Names, temp)
		*e = name(temp, line)
	}
	return block(line, s.LastLine(), bounds, s)
}

// countsUp is the hidden variable of a loop that visits 1, 2, 3...
const countsUp = "(for count)"

func isOne(e ast.Expr) bool {
	n, ok := e.(*ast.NumberExpr)
	return ok && n.Value == "1"
}

// genericFor gives the loop exactly three expressions, or one call: the compiler adjusts nothing else.
func (r *rewriter) genericFor(s *ast.GenericForStmt) ast.Stmt {
	if r.watched {
		r.backs.iterating[plainLine(s.Line())] = s.LastLine()
	}
	s.Exprs = r.exprs(s.Exprs)
	last := s.Exprs[len(s.Exprs)-1]
	locals := append([]string{"(for generator)", "(for state)", "(for control)"}, s.Names...)
	if len(s.Exprs) <= 3 && !multiple(last) || len(s.Exprs) == 1 {
		for len(s.Exprs) < 3 && !multiple(last) {
			s.Exprs = append(s.Exprs, at(&ast.NilExpr{}, s.Line(), 0))
		}
		s.Stmts = keepJumpAway(r.loop(s.Stmts, nil, locals...))
		return s
	}
	state := at(&ast.LocalAssignStmt{Exprs: s.Exprs}, s.Line(), s.Line())
	s.Exprs = nil
	for i := range 3 {
		temp := hidden("for", i)
		state.Names = append(state.Names, temp)
		s.Exprs = append(s.Exprs, name(temp, s.Line()))
	}
	s.Stmts = keepJumpAway(r.loop(s.Stmts, nil, append(state.Names[:3:3], locals...)...))
	return block(s.Line(), s.LastLine(), state, s)
}
