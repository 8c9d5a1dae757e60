package luabridge

import lua "github.com/yuin/gopher-lua"

// keyOrder is the order of a table's keys.
type keyOrder struct {
	t     *lua.LTable
	model *keyTable // of the keys outside of the array part; nil if there were none
	array int       // the last index of the array part
	past  *history  // has the model; nil for a table that no model follows
	shape tableShape
}

func findOrder(t *lua.LTable) *keyOrder {
	o := &keyOrder{t: t}
	if o.past = followed(t); o.past != nil {
		o.model = o.past.model
		o.catchUp()
		return o
	}
	o.model, o.array = modelOf(t)
	if !layout.ok {
		return o
	}
	o.shape = shapeOf(t)
	if o.shape.array > o.array && t.Metatable.Type() != lua.LTTable { // elements among the fields come at any place
		o.past = pastOf(t)
		o.past.keep(t, o.model)
		o.model = o.past.model
	}
	return o
}

// slots are those of the hash part.
func (o *keyOrder) slots() []keyNode {
	if o.model == nil {
		return nil
	}
	return o.model.nodes
}

// holds reports whether the order is still that of t, or is again with the fields that came
// since.
func (o *keyOrder) holds(t *lua.LTable) bool {
	if o == nil || o.t != t || !layout.ok {
		return false
	}
	past := followed(t)
	switch {
	case past != o.past:
		return false
	case past != nil:
		o.catchUp()
		return true
	}
	hint, now := sizeHintOf(t), shapeOf(t)
	if now.array == o.shape.array && now.array <= o.array && o.model != nil && hint.late == 0 && !hint.moved && !hint.apart {
		for ; o.shape.fields < now.fields; o.shape.fields++ {
			o.model.set((*tableKeys(t))[o.shape.fields])
		}
	}
	return now == o.shape && now.array <= o.array
}

// catchUp brings an order whose model follows the table to what the table has now.
func (o *keyOrder) catchUp() {
	o.past.catchUp(o.t)
	o.array = min(o.past.array, o.model.array)
}

// findElements finds those that catchUp does not. It takes time for all elements, so it is for
// walks that take that anyway.
func (o *keyOrder) findElements() bool {
	if o.past == nil || !o.past.findElements(o.t) {
		return false
	}
	o.array = min(o.past.array, o.model.array)
	return true
}

// orderOf is a table's order. One that was found before is taken if it still holds, since
// finding it takes time for all keys.
func (v *vm) orderOf(t *lua.LTable) *keyOrder {
	for _, o := range v.orders {
		if o.holds(t) {
			return o
		}
	}
	copy(v.orders[1:], v.orders[:])
	v.orders[0] = findOrder(t)
	return v.orders[0]
}

// walker walks the fields of a table in Lua's order.
type walker struct {
	t     *lua.LTable
	v     *vm        // knows orders; may be nil
	order *keyOrder  // nil before it is needed
	index int        // last array index returned
	pos   int        // in the order's slots
	early lua.LValue // a key that was returned although it would not have its turn yet; mostly nil
	steps int
}

func (w *walker) needOrder() {
	switch {
	case w.order != nil:
	case w.v != nil:
		w.order = w.v.orderOf(w.t)
	default:
		w.order = findOrder(w.t)
	}
}

// next returns the next field, or LNil.
func (w *walker) next() (key, value lua.LValue) {
	w.steps++
	if w.order == nil {
		value, hint := w.t.RawGetInt(1), sizeHintOf(w.t)
		if w.index == 0 && value != lua.LNil && hint.late == 0 && !hint.apart && followed(w.t) == nil {
			w.index = 1 // most often asked to see whether a table is empty
			return small[1], value
		}
		w.needOrder()
	}
	if key, value = w.nextKnown(); key == lua.LNil && w.steps == 1 && w.order.findElements() {
		w.index, w.pos = 0, 0
		key, value = w.nextKnown()
	}
	if w.early != nil && key == w.early {
		return w.nextKnown()
	}
	return key, value
}

// nextKnown is next for what the order has.
func (w *walker) nextKnown() (key, value lua.LValue) {
	for w.index < w.order.array {
		w.index++
		if value := w.t.RawGetInt(w.index); value != lua.LNil {
			return number(int64(w.index)), value
		}
	}
	if w.pos == 0 && w.order.model != nil {
		w.pos = w.order.model.firstLive()
	}
	for slots := w.order.slots(); w.pos < len(slots); {
		key := slots[w.pos].key
		w.pos++
		if key == nil {
			continue
		}
		if value := w.t.RawGet(key); value != lua.LNil {
			return key, value
		}
	}
	return lua.LNil, lua.LNil
}

// restart begins anew.
func (w *walker) restart() {
	if !w.order.holds(w.t) {
		w.order = nil
	}
	w.index, w.pos, w.early, w.steps = 0, 0, nil, 0
}

// seek continues after key; false when the walk has no such key.
func (w *walker) seek(key lua.LValue) bool {
	if w.order == nil && w.index == 1 && key == small[1] { // it may have been removed since
		w.needOrder()
		return true
	}
	w.needOrder()
	if w.order.past != nil { // fields may have moved since
		w.order.catchUp()
		if w.steps == 1 && w.order.findElements() { // some of them may stand before key
			w.index, w.pos, w.early = 0, 0, key
			return true
		}
	}
	if i := arrayIndex(key); i > 0 && i <= w.order.array {
		w.index, w.pos = i, 0
		return true
	}
	slots := w.order.slots()
	if w.index == w.order.array && w.pos > 0 && w.pos <= len(slots) && slots[w.pos-1].key == key {
		return true
	}
	if w.order.model == nil {
		return false
	}
	i := w.order.model.find(key)
	w.index, w.pos = w.order.array, i+1
	return i >= 0
}

// walk begins a walk of all of t.
func walk(t *lua.LTable) walker {
	w := walker{t: t}
	w.needOrder()
	w.order.findElements()
	return w
}

// fields calls fn for every field of t in Lua's order.
func fields(t *lua.LTable, fn func(key, value lua.LValue)) {
	w := walk(t)
	for key, value := w.next(); key != lua.LNil; key, value = w.next() {
		fn(key, value)
	}
}

// baseNext is next.
func (v *vm) baseNext(L *lua.LState) int {
	t := v.checkTable(L, 1)
	key := L.Get(2)
	w := v.walkFor(t, key)
	if w == nil {
		v.runError(L, "invalid key to 'next'")
	}
	key, value := w.next()
	L.SetTop(0)
	L.Push(key)
	if key == lua.LNil {
		w.t = nil // the walk is over
		return 1
	}
	L.Push(value)
	return 2
}

// walkFor is a walk of t that stands after key; nil when there is no such key. A walk that
// has returned one field at most is begun anew for the next one: whoever asked for it is
// found again at the same place.
func (v *vm) walkFor(t *lua.LTable, key lua.LValue) *walker {
	for i := len(v.walks) - 1; i >= 0; i-- {
		switch w := v.walks[i]; {
		case w.t != t:
		case key == lua.LNil && w.steps <= 1:
			w.restart()
			return w
		case key != lua.LNil && w.seek(key):
			return w
		}
	}
	w := &walker{t: t, v: v}
	if key != lua.LNil && !w.seek(key) {
		return nil
	}
	v.keepWalk(w)
	return w
}

// maxWalks is how many unfinished walks are remembered.
const maxWalks = 8

func (v *vm) keepWalk(w *walker) {
	for i, old := range v.walks {
		if old.t == nil {
			v.walks[i] = w
			return
		}
	}
	if len(v.walks) == maxWalks {
		copy(v.walks, v.walks[1:])
		v.walks = v.walks[:maxWalks-1]
	}
	v.walks = append(v.walks, w)
}
