package luabridge

import (
	lua "github.com/yuin/gopher-lua"
	"slices"
)

func (v *vm) tableLibrary() *lua.LTable {
	return v.readOnlyLibrary(tableOrder, map[string]lua.LGFunction{
		"concat": v.tabConcat, "foreach": v.tabForeach, "foreachi": v.tabForeachi, "getn": v.tabGetn,
		"insert": v.tabInsert, "maxn": v.tabMaxn, "remove": v.tabRemove, "setn": v.tabSetn,
		"sort": v.tabSort,
	}, nil)
}

func (v *vm) tabConcat(L *lua.LState) int {
	sep := v.optText(L, 2, "")
	t := v.checkTable(L, 1)
	i := v.optInt32(L, 3, 1)
	last := border(t)
	if L.Get(4) != lua.LNil {
		last = v.checkInt32(L, 4)
	}
	out := v.buf[:0]
	for ; i <= last; i++ {
		out = v.appendConcat(L, out, t, i)
		if i < last {
			out = append(out, sep...)
		}
		if len(out) > v.in.maxString {
			raise(errMemoryValue)
		}
		v.step(1)
	}
	v.buf = out[:0]
	if cap(v.buf) > 1<<20 {
		v.buf = nil
	}
	v.grow(len(out))
	return pushString(L, string(out))
}

func (v *vm) appendConcat(L *lua.LState, out []byte, t *lua.LTable, i int) []byte {
	switch x := t.RawGetInt(i).(type) {
	case lua.LString:
		return append(out, x...)
	case lua.LNumber:
		return appendNumber14(out, float64(x))
	default:
		v.errorf(L, "invalid value (%s) at index %d in table for 'concat'", typeName(x), i)
	}
	return out
}

func (v *vm) tabForeach(L *lua.LState) int {
	t, fn := v.checkTable(L, 1), v.checkFunction(L, 2)
	w := walk(t)
	for key, value := w.next(); key != lua.LNil; key, value = w.next() {
		if v.callEach(L, fn, key, value) {
			return 1
		}
		if !w.seek(key) { // fn may have set other fields
			v.runError(L, "invalid key to 'next'")
		}
	}
	return 0
}

func (v *vm) tabForeachi(L *lua.LState) int {
	t := v.checkTable(L, 1)
	fn := v.checkFunction(L, 2)
	n := border(t)
	for i := 1; i <= n; i++ {
		if v.callEach(L, fn, number(int64(i)), t.RawGetInt(i)) {
			return 1
		}
	}
	return 0
}

// callEach calls fn for one field; a result other than nil is left on the stack
// and ends the loop.
func (v *vm) callEach(L *lua.LState, fn, key, value lua.LValue) bool {
	L.Push(fn)
	L.Push(key)
	L.Push(value)
	v.call(L, fn, 2, 1)
	if L.Get(-1) != lua.LNil {
		return true
	}
	L.Pop(1)
	return false
}

func (v *vm) tabGetn(L *lua.LState) int { return pushInt(L, border(v.checkTable(L, 1))) }

func (v *vm) tabSetn(L *lua.LState) int {
	v.checkTable(L, 1)
	v.errorf(L, "'setn' is obsolete")
	return 0
}

func (v *vm) tabMaxn(L *lua.LState) int {
	best := lua.LNumber(0)
	fields(v.checkTable(L, 1), func(key, _ lua.LValue) {
		if n, ok := key.(lua.LNumber); ok && n > best {
			best = n
		}
	})
	return pushNumber(L, float64(best))
}

func (v *vm) tabInsert(L *lua.LState) int {
	t := v.checkTable(L, 1)
	end := border(t) + 1
	pos := end
	switch L.GetTop() {
	case 2:
	case 3:
		pos = v.checkInt32(L, 2)
		if v.readOnly(L.Get(1).(*lua.LTable)) {
			v.runError(L, readOnlyText)
		}
		end = max(end, pos)
		v.step(end - pos)
		if pos < end && t.Metatable.Type() != lua.LTTable {
			noteElement(t, end)
		}
		if pos >= 1 && end == t.Len()+1 && pos < end && isFull(t, pos, end-1) {
			t.Insert(pos, L.Get(3))
			return 0
		}
		for i := end; i > pos; i-- {
			setInt(t, i, getInt(t, i-1))
		}
	default:
		v.errorf(L, "wrong number of arguments to 'insert'")
	}
	v.checkWritable(L, 1)
	v.fillUp(t, pos)
	setInt(t, pos, L.Get(-1))
	return 0
}

// isFull reports whether the elements from one to another in the array are there, so that
// they can be moved without a note.
func isFull(t *lua.LTable, from, to int) bool {
	return !layout.ok || !slices.Contains(tableElements(t)[from-1:to], lua.LNil)
}

// getInt and setInt read and write t[i] for any i, and note what is written.
func getInt(t *lua.LTable, i int) lua.LValue {
	if i >= 1 && i < lua.MaxArrayIndex {
		return t.RawGetInt(i)
	}
	return t.RawGetH(lua.LNumber(i))
}

func setInt(t *lua.LTable, i int, value lua.LValue) { setNoted(t, number(int64(i)), value) }

func (v *vm) tabRemove(L *lua.LState) int {
	t := v.checkTable(L, 1)
	end := border(t)
	pos := v.optInt32(L, 2, end)
	if pos < 1 || pos > end {
		return 0
	}
	v.checkWritable(L, 1)
	v.step(end - pos)
	value := t.RawGetInt(pos)
	if t.Metatable.Type() != lua.LTTable && layout.ok {
		pastOf(t).catchUp(t) // as in erase
	}
	if end < lua.MaxArrayIndex && t.MaxN() == end && isFull(t, pos, end) {
		t.Remove(pos)
	} else {
		for i := pos; i < end; i++ {
			setInt(t, i, getInt(t, i+1))
		}
		setInt(t, end, lua.LNil)
	}
	L.Push(value)
	return 1
}

func (v *vm) tabSort(L *lua.LState) int {
	t := v.checkTable(L, 1)
	n := border(t)
	s := sorter{v: v, L: L, t: t}
	if L.Get(2) != lua.LNil {
		s.fn = v.checkFunction(L, 2)
	}
	if n > 1 {
		v.checkWritable(L, 1)
	}
	s.sort(1, n)
	return 0
}

// sorter sorts the array of a table. The comparisons it makes, and their order,
// are those of Lua 5.1's table.sort: scripts can see both.
type sorter struct {
	v  *vm
	L  *lua.LState
	t  *lua.LTable
	fn *lua.LFunction
}

func (s *sorter) get(i int) lua.LValue { return getInt(s.t, i) }

func (s *sorter) swap(i, j int) {
	a, b := s.get(i), s.get(j)
	setInt(s.t, i, b)
	setInt(s.t, j, a)
}

// less reports whether a comes before b.
func (s *sorter) less(a, b lua.LValue) bool {
	s.v.step(1)
	if s.fn == nil {
		return s.v.lessThan(s.L, a, b)
	}
	s.L.Push(s.fn)
	s.L.Push(a)
	s.L.Push(b)
	s.v.call(s.L, s.fn, 2, 1)
	res := lua.LVAsBool(s.L.Get(-1))
	s.L.Pop(1)
	return res
}

// sort orders elements lo to hi: quicksort with the median of three, smaller
// part first.
func (s *sorter) sort(lo, hi int) {
	for lo < hi {
		if s.less(s.get(hi), s.get(lo)) {
			s.swap(lo, hi)
		}
		if hi-lo == 1 {
			return
		}
		mid := (lo + hi) / 2
		if s.less(s.get(mid), s.get(lo)) {
			s.swap(mid, lo)
		} else if s.less(s.get(hi), s.get(mid)) {
			s.swap(mid, hi)
		}
		if hi-lo == 2 {
			return
		}
		pivot := s.get(mid)
		s.swap(mid, hi-1)
		i := s.partition(lo, hi, pivot)
		s.swap(hi-1, i)
		if i-lo < hi-i {
			s.sort(lo, i-1)
			lo = i + 1
		} else {
			s.sort(i+1, hi)
			hi = i - 1
		}
	}
}

// partition moves smaller elements before larger ones and returns the pivot's
// place.
func (s *sorter) partition(lo, hi int, pivot lua.LValue) int {
	i, j := lo, hi-1
	for {
		for i++; s.less(s.get(i), pivot); i++ {
			if i > hi {
				s.v.errorf(s.L, "invalid order function for sorting")
			}
		}
		for j--; s.less(pivot, s.get(j)); j-- {
			if j < lo {
				s.v.errorf(s.L, "invalid order function for sorting")
			}
		}
		if j < i {
			return i
		}
		s.swap(i, j)
	}
}

// lessThan is the < operator.
func (v *vm) lessThan(L *lua.LState, a, b lua.LValue) bool {
	switch x := a.(type) {
	case lua.LNumber:
		if y, ok := b.(lua.LNumber); ok {
			return x < y
		}
	case lua.LString:
		if y, ok := b.(lua.LString); ok {
			return x < y
		}
	}
	if a.Type() == b.Type() {
		if m := v.metaField(a, "__lt"); m != lua.LNil && m == v.metaField(b, "__lt") {
			L.Push(m)
			L.Push(a)
			L.Push(b)
			v.call(L, m, 2, 1)
			res := lua.LVAsBool(L.Get(-1))
			L.Pop(1)
			return res
		}
	}
	v.runError(L, compareText(typeName(a), typeName(b)))
	return false
}
