package luabridge

import (
	"math"
	"math/bits"

	lua "github.com/yuin/gopher-lua"
)

// The order in which Lua 5.1 walks a table is a fact that scripts can see:
// cjson.encode and cmsgpack.pack write fields in it. gopher-lua keeps keys in
// the order of their first assignment, so inserting them in that order into a
// model of Lua's hash part gives Lua's order, as long as the array part had its
// usual history. Once a field is removed the model stays with the table, and
// what happens to it from then on happens to the model as well; see history.

// keyNode is one slot of the modelled hash part.
type keyNode struct {
	key  lua.LValue // nil when free
	next int32      // index of the next slot in the chain, -1 at its end
	dead bool       // the key was removed; see gone
}

// keyTable models the hash part of a Lua 5.1 table.
type keyTable struct {
	nodes     []keyNode
	free      int         // all slots from here on are taken
	array     int         // size of the array part
	arrayUsed int         // how many of it are in use
	first     int         // all slots before are free or dead
	t         *lua.LTable // which it follows; nil while it is made of what t has by now
}

// gone reports whether a slot's key has no value: it takes room until the next move, or until
// one comes that belongs there. Elements are not told of, they are looked for.
func (t *keyTable) gone(n *keyNode) bool {
	return n.dead || t.t != nil && arrayIndex(n.key) > 0 && t.t.RawGet(n.key) == lua.LNil
}

// newKeyTable models a table whose array part holds 1..n and whose hash part
// was made for nh fields.
func newKeyTable(n, nh int) *keyTable {
	t := &keyTable{arrayUsed: n}
	if n > 0 {
		t.array = 1 << bits.Len(uint(n-1))
	}
	t.setSize(nh)
	return t
}

func (t *keyTable) setSize(n int) {
	size := 0
	if n > 0 {
		size = 1 << bits.Len(uint(n-1))
	}
	t.nodes = make([]keyNode, size)
	t.free, t.first = size, 0
}

// position is the slot where a key belongs.
func (t *keyTable) position(key lua.LValue) int {
	size := uint32(len(t.nodes))
	switch k := key.(type) {
	case lua.LString:
		return int(stringHash(string(k)) & (size - 1))
	case lua.LNumber:
		if k == 0 {
			return 0
		}
		b := math.Float64bits(float64(k))
		return int((uint32(b) + uint32(b>>32)) % ((size - 1) | 1))
	case lua.LBool:
		if k {
			return int(1 & (size - 1))
		}
	}
	return 0
}

// stringHash is the server's hash of a string: over all of its bytes.
func stringHash(s string) uint32 {
	h := uint32(len(s))
	for i := len(s); i > 0; i-- {
		h ^= h<<5 + h>>2 + uint32(s[i-1])
	}
	return h
}

// find is the slot that has a key, -1 if there is none.
func (t *keyTable) find(key lua.LValue) int {
	if len(t.nodes) == 0 {
		return -1
	}
	i := t.position(key)
	for i >= 0 && t.nodes[i].key != key {
		i = t.nodes[i].after()
	}
	return i
}

// after is the slot behind n in its chain. A free one is in none.
func (n *keyNode) after() int {
	if n.key == nil {
		return -1
	}
	return int(n.next)
}

// set gives a key a value that it had not. It may be in the table, dead.
func (t *keyTable) set(key lua.LValue) {
	i := t.find(key)
	if i < 0 {
		t.insert(key)
		return
	}
	t.nodes[i].dead = false
	t.first = min(t.first, i)
}

// remove takes a key's value. One that is not in the table gets a slot first: Lua makes room
// for a value of nil like for any other.
func (t *keyTable) remove(key lua.LValue) {
	if t.find(key) < 0 {
		t.insert(key)
	}
	if i := t.find(key); i >= 0 {
		t.nodes[i].dead = true
	}
}

// firstLive is the first slot that may have a key with a value. A script that takes one field
// after the other out of a table does not have to look at all those again that are gone.
func (t *keyTable) firstLive() int {
	for t.first < len(t.nodes) && (t.nodes[t.first].key == nil || t.nodes[t.first].dead) {
		t.first++
	}
	return t.first
}

// keys appends the keys that have a value and are not elements.
func (t *keyTable) keys(list []lua.LValue) []lua.LValue {
	for i := len(t.nodes) - 1; i >= 0; i-- {
		n := &t.nodes[i]
		if index := arrayIndex(n.key); n.key != nil && !n.dead && (index == 0 || index >= lua.MaxArrayIndex) {
			list = append(list, n.key)
		}
	}
	return list
}

// insert adds a key that is not in the table.
func (t *keyTable) insert(key lua.LValue) {
	if i := arrayIndex(key); i > 0 && i <= t.array {
		t.arrayUsed++
		return
	}
	if len(t.nodes) == 0 {
		t.grow(key)
		return
	}
	mp := t.position(key)
	t.first = 0
	if t.nodes[mp].key == nil {
		t.nodes[mp] = keyNode{key: key, next: -1}
		return
	} else if t.gone(&t.nodes[mp]) {
		t.nodes[mp].key, t.nodes[mp].dead = key, false
		return
	}
	slot := t.freeSlot()
	if slot < 0 {
		t.grow(key)
		return
	}
	home := t.position(t.nodes[mp].key)
	if home == mp { // the new key goes to the free slot, second in the chain
		t.nodes[slot] = keyNode{key: key, next: t.nodes[mp].next}
		t.nodes[mp].next = int32(slot)
		return
	}
	for int(t.nodes[home].next) != mp { // the other key moves out
		home = int(t.nodes[home].next)
	}
	t.nodes[home].next = int32(slot)
	t.nodes[slot] = t.nodes[mp]
	t.nodes[mp] = keyNode{key: key, next: -1}
}

func (t *keyTable) freeSlot() int {
	for t.free > 0 {
		t.free--
		if t.nodes[t.free].key == nil {
			return t.free
		}
	}
	return -1
}

// arrayIndex is a key's index if it may live in the array part, else 0.
func arrayIndex(key lua.LValue) int {
	if n, ok := key.(lua.LNumber); ok && n >= 1 && n <= 1<<26 && n == lua.LNumber(int(n)) {
		return int(n)
	}
	return 0
}

// grow sizes both parts anew, so that the array part is more than half full,
// and then inserts key.
func (t *keyTable) grow(key lua.LValue) {
	var counts [28]int // counts[i]: keys in (2^(i-1), 2^i]
	total, ints := 1, 0
	for i := 1; i <= t.array && (t.t != nil || i <= t.arrayUsed); i++ {
		if t.t == nil || t.t.RawGetInt(i) != lua.LNil {
			counts[bits.Len(uint(i-1))]++
			ints++
		}
	}
	total += ints
	for i := range t.nodes {
		if n := &t.nodes[i]; n.key != nil && !t.gone(n) {
			total++
			if i := arrayIndex(n.key); i > 0 {
				counts[bits.Len(uint(i-1))]++
				ints++
			}
		}
	}
	if i := arrayIndex(key); i > 0 {
		counts[bits.Len(uint(i-1))]++
		ints++
	}
	size, inArray := arraySize(counts[:], ints)
	t.resize(size, total-inArray)
	t.insert(key)
}

// resize gives both parts another size. As in Lua, what has no room in the array part any more
// is the first in the hash part.
func (t *keyTable) resize(array, hash int) {
	was := t.array
	t.array = array
	if t.t == nil {
		t.array = max(was, array)
	}
	old := t.nodes
	t.setSize(hash)
	for i := t.array + 1; i <= was; i++ {
		if t.t.RawGetInt(i) != lua.LNil {
			t.insert(number(int64(i)))
		}
	}
	for i := len(old) - 1; i >= 0; i-- {
		if old[i].key != nil && !t.gone(&old[i]) {
			t.insert(old[i].key)
		}
	}
}

// reinsert is what becomes of the hash part when the array part changes its size.
func (t *keyTable) reinsert() { t.resize(t.array, len(t.nodes)) }

// arraySize picks the largest power of two of which more than half is used.
func arraySize(counts []int, ints int) (size, used int) {
	sum := 0
	for i, n := range counts {
		if 1<<i/2 >= ints {
			break
		}
		sum += n
		if n > 0 && sum > 1<<i/2 {
			size, used = 1<<i, sum
		}
		if sum == ints {
			break
		}
	}
	return size, used
}

// sizeHint is kept in the Metatable field of a table whose history matters: the
// virtual machine ignores metatables that are not tables.
type sizeHint struct {
	array, hash int // sizes of both parts that the constructor asked for
	late        int // how many other fields were there before the first element
	// moved tells that the array part was made larger when the constructor's fields were
	// there: they were put in anew.
	moved bool
	apart bool // the constructor had no elements but "[1] = ...": a field like the others
	sized bool // the table is not one that grew from nothing, element by element
	past  *history
}

func (sizeHint) String() string       { return "nil" }
func (sizeHint) Type() lua.LValueType { return lua.LTNil }

// sizeHintOf is what is known of a table's constructor. Its size of the array part
// held only until a field found no room in the hash part.
func sizeHintOf(t *lua.LTable) sizeHint {
	h, _ := t.Metatable.(sizeHint)
	if h.array == 0 {
		return h
	}
	room := 0
	if h.hash > 0 {
		room = 1 << bits.Len(uint(h.hash-1))
	}
	last := t.MaxN()
	for i := h.array + 1; i <= last && room >= 0; i++ {
		if t.RawGetInt(i) != lua.LNil {
			room--
		}
	}
	if countFields(t) > room {
		h.array = 0
	}
	return h
}

// countFields is how many fields of t were set outside of its array, also those that were
// removed.
func countFields(t *lua.LTable) int {
	if hint, _ := t.Metatable.(sizeHint); hint.past != nil {
		return hint.past.before + len(fieldsSet(t))
	}
	return len(fieldsSet(t))
}

// fieldsSet are the keys outside of t's array, in the order of their first
// assignment. Removed ones are among them if the layout of tables is known.
func fieldsSet(t *lua.LTable) (keys []lua.LValue) {
	if layout.ok {
		return *tableKeys(t)
	}
	for key, _ := t.Next(arrayEnd(t.MaxN())); key != lua.LNil; key, _ = t.Next(key) {
		keys = append(keys, key)
	}
	return keys
}

// modelOf is a model of t's hash part, nil if it has none, and the last index of the array part.
func modelOf(t *lua.LTable) (model *keyTable, array int) {
	last, prefix := t.MaxN(), 0
	for prefix < last && t.RawGetInt(prefix+1) != lua.LNil {
		prefix++
	}
	fields, hint := fieldsSet(t), sizeHintOf(t)
	if len(fields) == 0 && prefix == last && !hint.apart {
		return nil, last
	}
	start := prefix
	if hint.late > 0 || hint.apart {
		start = 0
	}
	if last <= hint.array {
		start = last // a constructor may have holes
	}
	model = newKeyTable(start, hint.hash)
	if start <= hint.array {
		model.array = hint.array
	}
	late := min(hint.late, len(fields))
	for _, key := range fields[:late] {
		model.set(key) // one that was removed is listed twice
	}
	for i := start + 1; i <= last; i++ { // as if they had been set in this order
		if t.RawGetInt(i) != lua.LNil {
			model.insert(number(int64(i)))
		}
	}
	for n, key := range fields[late:] {
		if hint.moved && n == hint.hash {
			model.reinsert()
			hint.moved = false
		}
		model.set(key)
	}
	if hint.moved {
		model.reinsert()
	}
	return model, min(last, model.array)
}

// dense reports whether more than half of t[1..n] is set, so that Lua keeps it in the array
// part.
func dense(t *lua.LTable, n int) bool {
	used, half := 0, 1<<bits.Len(uint(n-1))/2
	for i := n; i > 0 && used <= half && used+i > half; i-- {
		if t.RawGetInt(i) != lua.LNil {
			used++
		}
	}
	return used > half
}

// border is what "#" gives of a table: where Lua's binary search over the array
// part finds an element that is followed by nil.
func border(t *lua.LTable) int {
	if past := followed(t); past != nil {
		past.catchUp(t)
		return past.model.border()
	}
	n, hint := t.Len(), sizeHintOf(t)
	size := 1 << bits.Len(uint(n-1))
	switch {
	case n <= hint.array:
		size = hint.array
	case hint.array > 0 && t.RawGetInt(hint.array) != lua.LNil: // the rest is in the hash part
		return hashBorder(t, hint.array)
	}
	if (n > 2 || hint.sized && n == 2) && t.RawGetInt(1) == lua.LNil && size != hint.array && !dense(t, n) {
		return 0
	}
	alone := n > 2 && size != hint.array && t.RawGetInt(n-1) == lua.LNil && !dense(t, n)
	if n == 0 || n == size && !alone {
		return n
	}
	return halve(t, 0, size)
}

// border is that of the table which the model follows.
func (t *keyTable) border() int {
	switch {
	case t.array > 0 && t.t.RawGetInt(t.array) == lua.LNil:
		return halve(t.t, 0, t.array)
	case len(t.nodes) == 0:
		return t.array
	}
	return hashBorder(t.t, t.array)
}

// halve finds a border between low, which has a value or is 0, and high, which has none.
func halve(t *lua.LTable, low, high int) int {
	for high-low > 1 {
		if m := (low + high) / 2; t.RawGetInt(m) == lua.LNil {
			high = m
		} else {
			low = m
		}
	}
	return low
}

// hashBorder goes on from i, the end of a full array part, as Lua does: in steps that
// double, and then back by halves.
func hashBorder(t *lua.LTable, i int) int {
	low, high := i, i+1
	for t.RawGetInt(high) != lua.LNil {
		low, high = high, 2*high
	}
	return halve(t, low, high)
}

// arrayEnd is the key after which Next leaves an array of length n.
func arrayEnd(n int) lua.LValue {
	if n == 0 {
		return lua.LNil
	}
	return lua.LNumber(n)
}
