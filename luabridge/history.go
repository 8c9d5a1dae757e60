package luabridge

import lua "github.com/yuin/gopher-lua"

// history is kept of a table without metatable from which something was removed, that has
// fields and gets elements, or whose elements were seen to stand among its fields.
type history struct {
	model  *keyTable // of its hash part; nil before that matters
	fields int       // how many of the table's keys are in the model
	array  int       // how long the table's array was then
	before int       // how many keys were forgotten since they are in the model
}

// pastOf is the history of a table without metatable.
func pastOf(t *lua.LTable) *history {
	hint, _ := t.Metatable.(sizeHint)
	if hint.past == nil {
		hint.past = &history{}
		t.Metatable = hint
	}
	return hint.past
}

// followed is the history of a table that a model follows, nil for others.
func followed(t *lua.LTable) *history {
	if hint, _ := t.Metatable.(sizeHint); hint.past != nil && hint.past.model != nil {
		return hint.past
	}
	return nil
}

// keep makes a model of t as it is now the one that follows it.
func (h *history) keep(t *lua.LTable, model *keyTable) {
	if model == nil {
		n, hint := t.MaxN(), sizeHintOf(t)
		if model = newKeyTable(n, 0); n <= hint.array {
			model.array = hint.array
		}
	}
	model.t = t
	h.model, h.fields, h.array = model, len(*tableKeys(t)), t.MaxN()
}

// catchUp brings the model to what t has now, and makes it if there is none.
func (h *history) catchUp(t *lua.LTable) {
	if h.model == nil {
		model, _ := modelOf(t)
		h.keep(t, model)
	}
	keys, n := tableKeys(t), t.MaxN()
	h.array = min(h.array, n) // the slots of elements stay, if they have some
	for h.array < n {
		if h.array++; t.RawGetInt(h.array) != lua.LNil {
			h.model.set(number(int64(h.array)))
		}
	}
	for ; h.fields < len(*keys); h.fields++ {
		h.model.set((*keys)[h.fields])
	}
	if h.fields > 64+2*len(h.model.nodes) { // of keys that came and went
		*keys = h.model.keys((*keys)[:0])
		h.before += h.fields - len(*keys)
		h.fields = len(*keys)
	}
}

// findElements puts elements into the model that were set between others without being noted.
// It reports whether there were some.
func (h *history) findElements(t *lua.LTable) (found bool) {
	elements := tableElements(t)
	for i := h.model.array; i < len(elements); i++ {
		if elements[i] != lua.LNil && h.model.find(number(int64(i+1))) < 0 {
			h.model.insert(number(int64(i + 1)))
			found = true
		}
	}
	return found
}

// noteElement notes that t[n] of a table without metatable is about to change. If the table
// has fields their order depends on when that happens to its elements, and if t[n] is none
// that follows the others that of the elements does.
func noteElement(t *lua.LTable, n int) {
	fields := countFields(t)
	if fields == 0 && followed(t) == nil && n <= t.MaxN()+1 || !layout.ok {
		return
	}
	past := pastOf(t)
	past.catchUp(t)
	if n > past.model.array { // also when it is to be nil
		past.model.set(number(int64(n)))
	}
	if n == 1 && t.RawGetInt(1) == lua.LNil {
		hint := sizeHintOf(t)
		hint.late, hint.sized = fields, true
		t.Metatable = hint
	}
}

// setNoted is "t[key] = value" without metamethods, and notes it. The key is neither nil nor NaN.
func setNoted(t *lua.LTable, key, value lua.LValue) {
	switch i := arrayIndex(key); {
	case t.Metatable.Type() == lua.LTTable:
	case value == lua.LNil:
		erase(t, key)
		return
	case i > 0 && i < lua.MaxArrayIndex:
		noteElement(t, i)
	}
	t.RawSet(key, value)
}

// noteRemoval notes that a field of a table without metatable is about to be removed.
func noteRemoval(t *lua.LTable, key lua.LValue) {
	if !layout.ok {
		return
	}
	past := pastOf(t)
	past.catchUp(t)
	past.model.remove(key)
	delete(*keyPlaces(t), key) // so that it is noted when it is set again
}
