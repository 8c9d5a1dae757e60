package luabridge

import (
	"math"

	lua "github.com/yuin/gopher-lua"

	"github.com/echomq/echomq-sim/resp"
)

// fromReply converts a command's reply for the script, by its RESP version.
func (v *vm) fromReply(r *resp.Value) lua.LValue {
	switch r.Kind {
	case resp.KindInt:
		return number(r.Int)
	case resp.KindBulk:
		return v.text(r.Str)
	case resp.KindNull, resp.KindNullArray:
		if v.in.resp == 3 {
			return lua.LNil
		}
		return lua.LFalse
	case resp.KindSimple:
		return v.record("ok", lua.LString(r.Str))
	case resp.KindErr:
		t := v.errTable(trimLine(r.Str))
		t.RawSetString(relayedField, lua.LTrue)
		return t
	case resp.KindArray, resp.KindPush:
		return v.fromElems(r.Elems)
	case resp.KindPairs:
		return v.fromPairs(r.Elems)
	case resp.KindMap:
		return v.fromMap(r.Elems)
	case resp.KindSet:
		return v.fromSet(r.Elems)
	}
	return v.fromScalar(r)
}

// fromScalar converts the kinds that only RESP3 has.
func (v *vm) fromScalar(r *resp.Value) lua.LValue {
	three := v.in.resp == 3
	switch r.Kind {
	case resp.KindDouble:
		if three {
			return v.record("double", lua.LNumber(r.Num()))
		}
		if r.Str != "" {
			return lua.LString(r.Str)
		}
		return lua.LString(formatDouble(r.Num()))
	case resp.KindBool:
		if three {
			return lua.LBool(r.Int != 0)
		}
		return number(r.Int)
	case resp.KindBigNum:
		if three {
			return v.record("big_number", lua.LString(r.Str))
		}
		return lua.LString(r.Str)
	case resp.KindVerbatim:
		if !three {
			return lua.LString(r.Str)
		}
		t := v.L.CreateTable(0, 2)
		t.RawSetString("string", lua.LString(r.Str))
		t.RawSetString("format", lua.LString("txt"))
		return v.record("verbatim_string", t)
	}
	return lua.LNil
}

// formatDouble is a double as RESP2 spells it in a bulk string.
func formatDouble(f float64) string {
	switch {
	case f != f:
		return "nan"
	case f == 0 && math.Signbit(f):
		return "-0"
	}
	return formatArg(f)
}

// record is a table with one field.
func (v *vm) record(name string, value lua.LValue) *lua.LTable {
	t := v.L.CreateTable(0, 1)
	t.RawSetString(name, value)
	return t
}

func (v *vm) fromElems(elems []resp.Value) lua.LValue {
	v.step(len(elems))
	t := v.L.CreateTable(len(elems), 0)
	for i := range elems {
		if value := v.fromReply(&elems[i]); value == lua.LNil || followed(t) != nil {
			setNoted(t, number(int64(i+1)), value)
		} else {
			t.RawSetInt(i+1, value)
		}
	}
	return t
}

// fromPairs converts pairs: flat for RESP2, an array of arrays of two for RESP3.
func (v *vm) fromPairs(elems []resp.Value) lua.LValue {
	if v.in.resp != 3 {
		return v.fromElems(elems)
	}
	t := v.L.CreateTable(len(elems)/2, 0)
	for i := 0; i+1 < len(elems); i += 2 {
		t.Append(v.fromElems(elems[i : i+2]))
	}
	return t
}

func (v *vm) fromMap(elems []resp.Value) lua.LValue {
	if v.in.resp != 3 {
		return v.fromElems(elems)
	}
	v.step(len(elems))
	t := v.L.CreateTable(0, len(elems)/2)
	for i := 0; i+1 < len(elems); i += 2 {
		if key := v.fromReply(&elems[i]); key != lua.LNil {
			setNoted(t, key, v.fromReply(&elems[i+1]))
		}
	}
	return v.record("map", t)
}

func (v *vm) fromSet(elems []resp.Value) lua.LValue {
	if v.in.resp != 3 {
		return v.fromElems(elems)
	}
	v.step(len(elems))
	t := v.L.CreateTable(0, len(elems))
	for i := range elems {
		if key := v.fromReply(&elems[i]); key != lua.LNil {
			setNoted(t, key, lua.LTrue)
		}
	}
	return v.record("set", t)
}

// maxReplySlots is how many stack slots the conversion of one reply may take in
// the reference implementation: it bounds the nesting of tables.
const maxReplySlots = 7994

// replyWriter converts a script's result to a reply.
type replyWriter struct {
	v     *vm
	nodes int
}

// reply converts a script's result.
func (v *vm) reply(value lua.LValue) resp.Value {
	w := replyWriter{v: v}
	return w.value(value, 0)
}

// value converts one value; slots counts the stack below it.
func (w *replyWriter) value(value lua.LValue, slots int) resp.Value {
	if w.nodes++; w.nodes&1023 == 0 {
		w.v.stepReply(w.nodes)
	}
	if slots > maxReplySlots {
		return resp.Err("ERR reached lua stack limit")
	}
	switch x := value.(type) {
	case lua.LString:
		return resp.Bulk(string(x))
	case lua.LNumber:
		return resp.Int(toInt(float64(x)))
	case lua.LBool:
		switch {
		case w.v.in.resp == 3:
			return resp.Bool(bool(x))
		case bool(x):
			return resp.One
		}
		return resp.Null
	case *lua.LTable:
		return w.table(w.v.behind(x), slots)
	}
	return resp.Null
}

// table converts a table: by the first of the known fields that has the right
// type, else as an array that ends at the first nil.
func (w *replyWriter) table(t *lua.LTable, slots int) resp.Value {
	if reply, ok := w.tagged(t, slots); ok {
		return reply
	}
	elems := make([]resp.Value, 0, t.Len())
	for i := 1; ; i++ {
		value := t.RawGetInt(i)
		if value == lua.LNil {
			return resp.Array(elems...)
		}
		elems = append(elems, w.value(value, slots+1))
	}
}

// tagged converts the tables that stand for other replies than arrays.
func (w *replyWriter) tagged(t *lua.LTable, slots int) (resp.Value, bool) {
	if text, ok := toTag(t, "err"); ok {
		w.v.in.relayed = slots == 0 && t.RawGetString(relayedField) == lua.LTrue
		return resp.Err(oneLine(cString(text))), true
	}
	if text, ok := toTag(t, "ok"); ok {
		return resp.Simple(oneLine(cString(text))), true
	}
	if f, ok := t.RawGetString("double").(lua.LNumber); ok {
		return resp.Double(float64(f)), true
	}
	if text, ok := toTag(t, "big_number"); ok {
		return resp.BigNum(oneLine(text)), true
	}
	if sub, ok := t.RawGetString("verbatim_string").(*lua.LTable); ok {
		_, ok1 := toTag(sub, "format")
		text, ok2 := toTag(sub, "string")
		if ok1 && ok2 {
			return resp.Verbatim(text), true
		}
	}
	if sub, ok := t.RawGetString("map").(*lua.LTable); ok {
		return w.mapping(w.v.behind(sub), slots+1), true
	}
	if sub, ok := t.RawGetString("set").(*lua.LTable); ok {
		return w.set(w.v.behind(sub), slots+1), true
	}
	return resp.Value{}, false
}

// toTag is a field that counts only when it is a string.
func toTag(t *lua.LTable, name string) (string, bool) {
	s, ok := t.RawGetString(name).(lua.LString)
	return string(s), ok
}

func (w *replyWriter) mapping(t *lua.LTable, slots int) resp.Value {
	var elems []resp.Value
	fields(t, func(key, value lua.LValue) {
		elems = append(elems, w.value(key, slots+3), w.value(value, slots+2))
	})
	return resp.Map(elems...)
}

func (w *replyWriter) set(t *lua.LTable, slots int) resp.Value {
	var elems []resp.Value
	fields(t, func(key, _ lua.LValue) {
		elems = append(elems, w.value(key, slots+2))
	})
	return resp.Set(elems...)
}

// stepReply keeps a huge result (tables that contain each other many times)
// from running away.
func (v *vm) stepReply(nodes int) {
	if nodes > v.in.maxString/64 {
		raise(errMemoryValue)
	}
	v.step(1024)
}
