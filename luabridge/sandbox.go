package luabridge

import (
	lua "github.com/yuin/gopher-lua"
)

const readOnlyText = "Attempt to modify a readonly table"

// A read-only table is an empty one whose metatable refers to the real table.
// The virtual machine finds fields through __index and is stopped by
// __newindex; the library functions that read or write tables without
// metamethods ask behind and readOnly.

// lock returns the read-only face of a table.
func (v *vm) lock(real *lua.LTable) *lua.LTable {
	meta := v.L.CreateTable(0, 2)
	meta.RawSetString("__index", real)
	meta.RawSetString("__newindex", v.refuseWrite)
	face := v.L.CreateTable(0, 0)
	face.Metatable = meta
	v.locked[meta] = real
	return face
}

// behind is the table whose fields a script sees in t.
func (v *vm) behind(t *lua.LTable) *lua.LTable {
	if meta, ok := t.Metatable.(*lua.LTable); ok {
		if real, ok := v.locked[meta]; ok {
			return real
		}
	}
	return t
}

// readOnly reports whether t may not be changed.
func (v *vm) readOnly(t *lua.LTable) bool {
	meta, ok := t.Metatable.(*lua.LTable)
	if !ok {
		return false
	}
	_, ok = v.locked[meta]
	return ok
}

// refuse is the __newindex of read-only tables.
func (v *vm) refuse(L *lua.LState) int {
	v.runError(L, readOnlyText)
	return 0
}

// refuseUnknown makes reading a field that t does not have an error. It returns
// the metatable.
func (v *vm) refuseUnknown(t *lua.LTable) *lua.LTable {
	meta := v.L.CreateTable(0, 1)
	meta.RawSetString("__index", v.unknown)
	t.Metatable = meta
	return meta
}

// unknownGlobal is the __index of the tables of globals.
func (v *vm) unknownGlobal(L *lua.LState) int {
	name, ok := toText(L.Get(2))
	if !ok {
		v.errorf(L, "Second argument to luaProtectedTableError must be a string or number")
	}
	v.errorf(L, "Script attempted to access nonexistent global variable '%s'", name)
	return 0
}

// metatable is what getmetatable shows of a value, before __metatable.
func (v *vm) metatable(value lua.LValue) lua.LValue {
	switch x := value.(type) {
	case *lua.LTable:
		real := v.behind(x)
		if real == v.globals {
			return v.globalsMeta
		}
		if meta, ok := real.Metatable.(*lua.LTable); ok {
			return meta
		}
	case *lua.LUserData:
		if meta, ok := x.Metatable.(*lua.LTable); ok {
			return meta
		}
	case lua.LString:
		return v.stringMeta()
	}
	return lua.LNil
}

// stringMeta is the metatable of strings as scripts see it: only __index. It is
// a copy, because the real one must not change.
func (v *vm) stringMeta() *lua.LTable {
	meta := v.L.CreateTable(0, 1)
	meta.RawSetString("__index", v.stringLib)
	return meta
}

// metaField is the metamethod of a value for an event, nil when it has none.
func (v *vm) metaField(value lua.LValue, event string) lua.LValue {
	if meta, ok := v.metatable(value).(*lua.LTable); ok {
		return v.behind(meta).RawGetString(event)
	}
	return lua.LNil
}

// helper makes a function that stands in for an instruction: errors and
// positions look through its frame.
func (v *vm) helper(fn lua.LGFunction) *lua.LFunction {
	f := v.L.NewFunction(fn)
	v.helpers[f] = struct{}{}
	return f
}
