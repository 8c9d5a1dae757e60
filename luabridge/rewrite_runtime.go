package luabridge

import (
	"math"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// frontHelper is a Go function that rewritten programs call under a hidden global name.
type frontHelper struct {
	name string
	fn   lua.LGFunction
}

// frontHelpers must be set in the globals of every state that runs rewritten programs. Their frames are not
// visible to scripts in the reference implementation.
var frontHelpers = []frontHelper{
	{helperConcat, luaConcat},
	{helperMod, luaMod},
	{helperPow, luaPow},
	{helperElement, luaElement},
	{helperMul, luaMul},
	{helperDiv, luaDiv},
	{helperLen, luaLen},
	{helperAppend, luaAppend},
	{helperErase, luaErase},
	{helperFields, luaFields},
	{helperFor, luaFor},
	{helperLimit, luaForLimit},
	{helperReadonly, luaReadonly},
	{helperTable, luaTable},
	{helperSpread, luaSpread},
	{helperSized, luaSized},
}

const (
	maxConcat   = 1 << 29 // bytes in the result of ".."
	numberWidth = 24      // bytes that a number takes as text, at most
)

// callerError raises msg with the position of the code that called the running helper.
func callerError(L *lua.LState, msg string) {
	if f := currentFrame(L); f != nil {
		raise(lua.LString(f.Parent.where() + msg))
	}
	raise(lua.LString(L.Where(1) + " " + msg))
}

// operandError raises Lua's error for argument n of the running helper: "attempt to WHAT local 'x' (a nil value)".
func operandError(L *lua.LState, what string, n int, value lua.LValue) {
	text := "a " + typeName(value) + " value"
	if f := currentFrame(L); f != nil {
		if inst, ok := f.Parent.instruction(); ok {
			text = f.Parent.describe(argA(inst)+n, typeName(value))
		}
	}
	callerError(L, "attempt to "+what+" "+text)
}

// metamethod is the event's handler of a table or userdata, or nil. Strings have none that could differ.
func metamethod(L *lua.LState, event string, values ...lua.LValue) lua.LValue {
	for _, value := range values {
		if _, text := value.(lua.LString); text {
			continue
		}
		if fn := L.GetMetaField(value, event); fn != lua.LNil {
			return fn
		}
	}
	return lua.LNil
}

// callMeta runs a metamethod on two operands. Anything callable will do.
func callMeta(L *lua.LState, fn, left, right lua.LValue) lua.LValue {
	L.Push(fn)
	L.Push(left)
	L.Push(right)
	L.Call(2, 1)
	result := L.Get(-1)
	L.Pop(1)
	return result
}

// luaConcat is ".." for a whole chain of operands.
func luaConcat(L *lua.LState) int {
	n := L.GetTop()
	size := 0
	for i := 1; i <= n; i++ {
		switch v := L.Get(i).(type) {
		case lua.LString:
			size += len(v)
		case lua.LNumber:
			size += numberWidth
		default:
			L.Push(concatSlow(L, n))
			return 1
		}
	}
	L.Push(joinArgs(L, 1, n, size))
	return 1
}

// joinArgs concatenates arguments first..last, all strings or numbers; size is an upper bound.
func joinArgs(L *lua.LState, first, last, size int) lua.LString {
	if size > maxConcat {
		callerError(L, "not enough memory")
	}
	var out strings.Builder
	var digits [2 * numberWidth]byte
	out.Grow(size)
	for i := first; i <= last; i++ {
		switch v := L.Get(i).(type) {
		case lua.LString:
			out.WriteString(string(v))
		case lua.LNumber:
			out.Write(appendNumber14(digits[:0], float64(v)))
		}
	}
	return lua.LString(out.String())
}

// concatSlow works from the right, as Lua does, and asks metamethods for what is neither string nor number.
func concatSlow(L *lua.LState, n int) lua.LValue {
	acc := L.Get(n)
	for i := n - 1; i >= 1; i-- {
		left := L.Get(i)
		a, leftText := toText(left)
		b, rightText := toText(acc)
		if leftText && rightText {
			if len(a)+len(b) > maxConcat {
				callerError(L, "not enough memory")
			}
			acc = lua.LString(a + b)
			continue
		}
		fn := metamethod(L, "__concat", left, acc)
		if fn == lua.LNil {
			if leftText {
				operandError(L, "concatenate", i+1, acc)
			}
			operandError(L, "concatenate", i, left)
		}
		acc = callMeta(L, fn, left, acc)
	}
	return acc
}

// luaMod is "a % b" as Lua 5.1 computes it. The conversion keeps the product from being fused into the subtraction.
func luaMod(L *lua.LState) int {
	return arithmetic(L, "__mod", func(a, b float64) float64 { return a - float64(math.Floor(a/b)*b) })
}

func luaMul(L *lua.LState) int {
	return arithmetic(L, "__mul", func(a, b float64) float64 { return a * b })
}

func luaDiv(L *lua.LState) int {
	return arithmetic(L, "__div", func(a, b float64) float64 { return a / b })
}

// arithmetic is a binary operator.
func arithmetic(L *lua.LState, event string, op func(a, b float64) float64) int {
	left, right := L.Get(1), L.Get(2)
	a, ok := toNumber(left)
	b, ok2 := toNumber(right)
	if ok && ok2 {
		L.Push(lua.LNumber(op(a, b)))
		return 1
	}
	fn := metamethod(L, event, left, right)
	if fn == lua.LNil {
		if !ok {
			operandError(L, "perform arithmetic on", 1, left)
		}
		operandError(L, "perform arithmetic on", 2, right)
	}
	L.Push(callMeta(L, fn, left, right))
	return 1
}

// luaLen is "#": a border of the table that Lua would find, whatever its metatable says.
func luaLen(L *lua.LState) int {
	switch x := L.Get(1).(type) {
	case *lua.LTable:
		L.Push(number(int64(border(x))))
	case lua.LString:
		L.Push(lua.LNumber(len(x)))
	default:
		fn := metamethod(L, "__len", x)
		if fn == lua.LNil {
			operandError(L, "get length of", 1, x)
		}
		L.Push(callMeta(L, fn, x, lua.LNil))
	}
	return 1
}

// luaAppend is "t[#t + 1] = value", given t and value, or t, the key and value.
func luaAppend(L *lua.LState) int {
	object, top := L.Get(1), L.GetTop()
	value := L.Get(top)
	t, ok := object.(*lua.LTable)
	if !ok {
		what := "get length of"
		if object.Type() == lua.LTString {
			what = "index"
		}
		operandError(L, what, 1, object)
	}
	n := 0
	if top == 3 {
		n = L.CheckInt(2)
	} else {
		n = border(t) + 1
	}
	if t.Metatable.Type() == lua.LTTable || n >= lua.MaxArrayIndex {
		L.SetTable(t, number(int64(n)), value)
		return 0
	}
	setNoted(t, number(int64(n)), value)
	return 0
}

// luaElement comes before "t[k] = value".
func luaElement(L *lua.LState) int {
	n := arrayIndex(L.Get(2))
	if t, ok := L.Get(1).(*lua.LTable); ok && n > 0 && n < lua.MaxArrayIndex && t.Metatable.Type() != lua.LTTable {
		noteElement(t, n)
	}
	return 0
}

// luaErase is "t[k] = nil".
func luaErase(L *lua.LState) int {
	object, key := L.Get(1), L.Get(2)
	t, ok := object.(*lua.LTable)
	if !ok && metamethod(L, "__newindex", object) == lua.LNil {
		operandError(L, "index", 1, object)
	}
	n, isNumber := key.(lua.LNumber)
	switch {
	case key == lua.LNil:
		callerError(L, "table index is nil")
	case isNumber && n != n:
		callerError(L, "table index is NaN")
	case ok && t.Metatable.Type() != lua.LTTable:
		erase(t, key)
	default:
		L.SetTable(object, key, lua.LNil)
	}
	return 0
}

// erase sets a field of a table without metatable to nil.
func erase(t *lua.LTable, key lua.LValue) {
	n, ok := key.(lua.LNumber)
	i := int(n)
	if !ok || lua.LNumber(i) != n || i < 1 || i >= lua.MaxArrayIndex {
		noteRemoval(t, key)
		t.RawSet(key, lua.LNil)
		return
	}
	if layout.ok { // Lua's array part stays as it is; what comes to it from now on is followed
		pastOf(t).catchUp(t)
	}
	noteElement(t, i) // it gets a place even if it is not there
	if t.RawGetInt(i) == lua.LNil {
		return
	}
	t.RawSetInt(i, lua.LNil)
	for last := t.Len(); last < i; last++ { // it was the last: the array ends before it now
		t.Remove(-1)
	}
}

// forNumber converts one bound of a numeric for.
func forNumber(L *lua.LState, n int, what string) lua.LValue {
	value := L.Get(n)
	if _, ok := value.(lua.LNumber); ok {
		return value
	}
	f, ok := toNumber(value)
	if !ok {
		callerError(L, "'for' "+what+" must be a number")
	}
	return lua.LNumber(f)
}

// luaFor returns initial value, limit and step of a numeric for as numbers.
func luaFor(L *lua.LState) int {
	for i, what := range [...]string{"initial value", "limit", "step"} {
		L.Push(forNumber(L, i+1, what))
	}
	return 3
}

func luaForLimit(L *lua.LState) int {
	L.Push(forNumber(L, 1, "limit"))
	return 1
}

func luaReadonly(L *lua.LState) int {
	callerError(L, readOnlyText)
	return 0
}

// luaTable joins the pieces of a constructor: {list, count, keyed, ...}; a count of -1 is "all there is".
func luaTable(L *lua.LState) int {
	parts := L.CheckTable(1)
	whole := L.CreateTable(parts.Len()/3*flushSize, 0)
	base := 0
	for i := 1; i < parts.Len(); i += 3 {
		list := parts.RawGetInt(i).(*lua.LTable)
		count := int(parts.RawGetInt(i + 1).(lua.LNumber))
		if count < 0 {
			count = list.MaxN()
		}
		for k := 1; k <= count; k++ {
			if value := list.RawGetInt(k); value != lua.LNil {
				whole.RawSetInt(base+k, value)
			}
		}
		base += count
		parts.RawGetInt(i + 2).(*lua.LTable).ForEach(whole.RawSet)
	}
	L.Push(whole)
	return 1
}

// luaSpread returns count elements of a table and then its other arguments.
func luaSpread(L *lua.LState) int {
	count, list, top := L.CheckInt(1), L.CheckTable(2), L.GetTop()
	for i := 1; i <= count; i++ {
		L.Push(list.RawGetInt(i))
	}
	for i := 3; i <= top; i++ {
		L.Push(L.Get(i))
	}
	return count + top - 2
}

// luaSized notes how many items and fields a constructor has: the order in which Lua
// walks the table depends on it, and where it ends. Items of -1-n are n and all that
// an open call gave. A fourth argument tells how many fields come before [1].
func luaSized(L *lua.LState) int {
	table := L.CheckTable(1)
	hint := sizeHint{hash: L.CheckInt(3), sized: true}
	n := L.CheckInt(2)
	if fixed := -1 - n; fixed >= 0 {
		n = openLen(table, fixed, hint.hash)
		hint.moved = n > fixed
		hint.array = max(n, encodedSize(fixed))
	} else {
		hint.array = encodedSize(n)
	}
	hint.late, hint.apart = L.OptInt(4, 0), L.GetTop() > 3
	table.Metatable = hint
	L.Push(table)
	return 1
}

// luaFields notes a constructor's fields, given the table that luaSized had and all their
// keys, if some of them or of the items are nil, or some have numbers.
func luaFields(L *lua.LState) int {
	table := L.CheckTable(1)
	if layout.ok && (oddFields(L, table) || hasHoles(table)) {
		noteFields(L, table)
	}
	L.SetTop(1)
	return 1
}

// oddFields reports whether some of the keys from argument 2 on are numbers or have no value.
func oddFields(L *lua.LState, table *lua.LTable) bool {
	for i := L.GetTop(); i > 1; i-- {
		if key := L.Get(i); key.Type() == lua.LTNumber || table.RawGet(key) == lua.LNil {
			return true
		}
	}
	return false
}

// hasHoles reports whether some of a constructor's items are nil.
func hasHoles(table *lua.LTable) bool {
	elements, hint := tableElements(table), sizeHintOf(table)
	return len(elements) < hint.array && hint.array <= maxExactSize || slices.Contains(elements, lua.LNil)
}

// maxExactSize is the number of items up to which a constructor makes room for no more.
const maxExactSize = 15

func noteFields(L *lua.LState, table *lua.LTable) {
	past, hint := pastOf(table), sizeHintOf(table)
	past.array, past.fields = table.MaxN(), countFields(table)
	past.model = newKeyTable(0, L.GetTop()-1)
	past.model.t, past.model.array = table, hint.array
	for i := 2; i <= L.GetTop(); i++ {
		if n := arrayIndex(L.Get(i)); n > 0 && n <= hint.array {
			continue
		}
		past.model.set(L.Get(i))
		if table.RawGet(L.Get(i)) == lua.LNil {
			past.model.remove(L.Get(i))
			delete(*keyPlaces(table), L.Get(i)) // as in noteRemoval
		}
	}
	for i := 1; i <= hint.array; i++ {
		if table.RawGetInt(i) != lua.LNil {
			past.model.arrayUsed++
		}
	}
	if hint.moved {
		past.model.reinsert()
	}
}

// encodedSize is the size that Lua gives a constructor's part for n items: its instruction has
// room for four significant bits, rounded up.
func encodedSize(n int) int {
	shift := 0
	for n >= 16 {
		n = (n + 1) >> 1
		shift++
	}
	return n << shift
}

// openLen is how many items a constructor with an open call at its end has, of which fixed
// stand before that call. Of its fields some may be numbers behind the items.
func openLen(table *lua.LTable, fixed, fields int) int {
	last := table.MaxN()
	for key, _ := table.Next(arrayEnd(last)); key != lua.LNil; key, _ = table.Next(key) {
		fields--
	}
	if fields <= 0 {
		return table.Len()
	}
	n := fixed
	for n < last && table.RawGetInt(n+1) != lua.LNil {
		n++
	}
	return n
}
