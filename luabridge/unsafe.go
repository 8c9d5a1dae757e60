package luabridge

import (
	"reflect"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// This is the only file that reaches unexported fields of gopher-lua: the call
// frames (for PUC's error texts and positions) and the open upvalues (a failed
// pcall must close those of the frames it unwinds, and no others), and the keys
// of tables (for the order of fields after one was removed). The layout
// is compared with the mirrors below once at start-up; when it differs, frames
// are unknown: errors lose variable names and gopher-lua's own rules for
// upvalues apply.

// frame mirrors gopher-lua's callFrame.
type frame struct {
	Idx        int
	Fn         *lua.LFunction
	Parent     *frame
	Pc         int
	Base       int
	LocalBase  int
	ReturnBase int
	NArgs      int
	NRet       int
	TailCall   int
}

// upvalue mirrors gopher-lua's Upvalue.
type upvalue struct {
	next   *upvalue
	reg    unsafe.Pointer
	index  int
	value  lua.LValue
	closed bool
}

// registry mirrors the start of gopher-lua's registry.
type registry struct {
	array []lua.LValue
	top   int
}

// layout holds the offsets of LState's fields; ok is false when gopher-lua's
// structures are not the ones mirrored here.
var layout = findLayout()

type stateLayout struct {
	ok                                      bool
	reg, currentFrame, uvcache, hasErrorFun uintptr
	array, keys, k2i                        uintptr // in LTable
}

func findLayout() stateLayout {
	st := reflect.TypeOf(lua.LState{})
	reg, ok1 := st.FieldByName("reg")
	cur, ok2 := st.FieldByName("currentFrame")
	uvs, ok3 := st.FieldByName("uvcache")
	hef, ok4 := st.FieldByName("hasErrorFunc")
	table, okTable := findTable()
	ok := ok1 && ok2 && ok3 && ok4 && okTable &&
		sameStruct(reg.Type, reflect.TypeOf((*registry)(nil)), false) &&
		sameStruct(cur.Type, reflect.TypeOf((*frame)(nil)), true) &&
		sameStruct(uvs.Type, reflect.TypeOf((*upvalue)(nil)), true) &&
		hef.Type.Kind() == reflect.Bool
	if !ok {
		return stateLayout{}
	}
	return stateLayout{true, reg.Offset, cur.Offset, uvs.Offset, hef.Offset, table[0], table[1], table[2]}
}

// findTable finds the array, the keys and their places in a table.
func findTable() (offsets [3]uintptr, ok bool) {
	for i, want := range []struct {
		name string
		t    reflect.Type
	}{
		{"array", reflect.TypeFor[[]lua.LValue]()}, {"keys", reflect.TypeFor[[]lua.LValue]()}, {"k2i", reflect.TypeFor[map[lua.LValue]int]()},
	} {
		field, found := reflect.TypeFor[lua.LTable]().FieldByName(want.name)
		if !found || field.Type != want.t {
			return offsets, false
		}
		offsets[i] = field.Offset
	}
	return offsets, true
}

// sameStruct compares what two pointer types point to, field by field: name,
// kind and offset. With whole set neither may have more fields.
func sameStruct(have, want reflect.Type, whole bool) bool {
	if have.Kind() != reflect.Pointer || have.Elem().Kind() != reflect.Struct {
		return false
	}
	h, w := have.Elem(), want.Elem()
	if h.NumField() < w.NumField() || whole && h.NumField() != w.NumField() {
		return false
	}
	for i := range w.NumField() {
		hf, wf := h.Field(i), w.Field(i)
		kind := hf.Type.Kind()
		if kind == reflect.Pointer && wf.Type.Kind() == reflect.UnsafePointer {
			kind = reflect.UnsafePointer
		}
		if hf.Name != wf.Name || hf.Offset != wf.Offset || kind != wf.Type.Kind() {
			return false
		}
	}
	return true
}

// boxed is how an interface value holds a string: its type, and a pointer to it.
type boxed struct {
	tab  unsafe.Pointer
	data *lua.LString
}

var stringBox, boxesWork = findBox()

func findBox() (box boxed, ok bool) {
	want := lua.LValue(lua.LString("probe"))
	if unsafe.Sizeof(want) != unsafe.Sizeof(box) {
		return box, false
	}
	box = *(*boxed)(unsafe.Pointer(&want))
	copied := lua.LString("other")
	have := boxed{box.tab, &copied}
	return box, *(*lua.LValue)(unsafe.Pointer(&have)) == lua.LValue(copied) && *box.data == "probe"
}

// maxKeptBoxes is the length up to which a list keeps its boxes.
const maxKeptBoxes = 256

// boxStrings sets the first elements of the list. They stand in an array of the list's own,
// which the next run uses again: of a run no Lua value is left.
func (s *sharedList) boxStrings(list []string) {
	if !boxesWork {
		for i, text := range list {
			s.t.RawSetInt(i+1, lua.LString(text))
		}
		return
	}
	boxes := s.boxes
	if len(list) > len(boxes) {
		if boxes = make([]lua.LString, len(list)); len(list) <= maxKeptBoxes {
			s.boxes = boxes
		}
	}
	for i, text := range list {
		boxes[i] = lua.LString(text)
		value := boxed{stringBox.tab, &boxes[i]}
		s.t.RawSetInt(i+1, *(*lua.LValue)(unsafe.Pointer(&value)))
	}
	clear(s.boxes[min(len(list), len(s.boxes)):])
}

// keptTexts is for how many of its strings a state keeps the place.
const keptTexts = 64

// text is s as a Lua value. Its place may be one that the next run uses again.
func (v *vm) text(s string) lua.LValue {
	n := len(v.texts)
	if n == cap(v.texts) {
		return lua.LString(s)
	}
	v.texts = append(v.texts, lua.LString(s))
	value := boxed{stringBox.tab, &v.texts[n]}
	return *(*lua.LValue)(unsafe.Pointer(&value))
}

func field[T any](L *lua.LState, offset uintptr) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(L), offset))
}

// tableKeys are a table's keys outside of its array in the order of their first
// assignment, removed ones too. The layout must be known.
func tableKeys(t *lua.LTable) *[]lua.LValue {
	return (*[]lua.LValue)(unsafe.Add(unsafe.Pointer(t), layout.keys))
}

// tableShape tells whether a table has got keys that it never had: how long its array is, and
// how many keys there were outside of it.
type tableShape struct{ array, fields int }

// shapeOf is a table's shape now. The layout must be known.
func shapeOf(t *lua.LTable) tableShape {
	return tableShape{len(tableElements(t)), len(*tableKeys(t))}
}

// tableElements is a table's array, with nil where there are holes. The layout must be known.
func tableElements(t *lua.LTable) []lua.LValue {
	return *(*[]lua.LValue)(unsafe.Add(unsafe.Pointer(t), layout.array))
}

// keyPlaces are the places of a table's keys in tableKeys: one that is in it is not listed
// again. The layout must be known.
func keyPlaces(t *lua.LTable) *map[lua.LValue]int {
	return (*map[lua.LValue]int)(unsafe.Add(unsafe.Pointer(t), layout.k2i))
}

// currentFrame is the running function's frame, nil when frames are unknown.
func currentFrame(L *lua.LState) *frame {
	if !layout.ok {
		return nil
	}
	return *field[*frame](L, layout.currentFrame)
}

// register is the value in an absolute register; false when it has none.
func register(L *lua.LState, index int) (lua.LValue, bool) {
	if !layout.ok {
		return nil, false
	}
	reg := *field[*registry](L, layout.reg)
	if index < 0 || index >= len(reg.array) || reg.array[index] == nil {
		return nil, false
	}
	return reg.array[index], true
}

// stackTop is the absolute register after the last one in use.
func stackTop(L *lua.LState) int {
	if !layout.ok {
		return 0
	}
	return (*field[*registry](L, layout.reg)).top
}

// keepErrorHandler tells gopher-lua that an error handler is still in force. Its
// PCall forgets that when an inner PCall returns, and then an error anywhere
// closes every open upvalue of every frame.
func keepErrorHandler(L *lua.LState) {
	if layout.ok {
		*field[bool](L, layout.hasErrorFun) = true
	}
}

// closeUpvalues closes and unlinks the open upvalues at or above the absolute
// register base.
func closeUpvalues(L *lua.LState, base int) {
	if !layout.ok {
		return
	}
	link := field[*upvalue](L, layout.uvcache)
	for *link != nil {
		uv := *link
		if uv.index < base {
			link = &uv.next
			continue
		}
		(*lua.Upvalue)(unsafe.Pointer(uv)).Close()
		*link = uv.next
	}
}
