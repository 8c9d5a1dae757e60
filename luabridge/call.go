package luabridge

import (
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/echomq/echomq-sim/resp"
)

// maxGoDepth is how many Go functions that call back into Lua may nest.
const maxGoDepth = 198

// failure is how a script ended in an error.
type failure struct {
	msg    string
	source string // "" when unknown
	line   int
	set    bool
}

// protectedCall is one running pcall or xpcall.
type protectedCall struct {
	base    int        // absolute register of the called function
	handler lua.LValue // xpcall's second argument, nil for pcall
}

// enter counts a Go function that is about to call Lua.
func (v *vm) enter() {
	if v.depth >= maxGoDepth {
		raise(errDepthValue)
	}
	v.depth++
}

// call calls the function below the top nargs values, for a Go function.
func (v *vm) call(L *lua.LState, fn lua.LValue, nargs, nret int) {
	v.enter()
	v.calling = fn
	L.Call(nargs, nret)
	v.depth--
}

// handleError is the error handler of a whole script: it keeps what the error
// reply needs, as long as the failed frames are there.
func (v *vm) handleError(L *lua.LState) int {
	value := v.translate(L, L.Get(1))
	v.failed = failure{set: true}
	v.failed.source, v.failed.line = v.position(L, 0)
	if v.in.watch.tripped {
		v.failed.msg = "ERR " + v.in.watch.reason
	} else {
		v.failed.msg = v.errorText(L, value)
	}
	L.Push(lua.LNil)
	return 1
}

// errorText is the error reply's text for an error value.
func (v *vm) errorText(L *lua.LState, value lua.LValue) string {
	t, ok := value.(*lua.LTable)
	if !ok {
		return "ERR " + v.tostring(L, value)
	}
	v.in.relayed = t.RawGetString(relayedField) == lua.LTrue
	if msg, ok := toText(L.GetField(t, "err")); ok {
		return msg
	}
	return "ERR error object is a table without an err field"
}

// position is where the function at a level stands, or its caller when that is a
// Go function.
func (v *vm) position(L *lua.LState, level int) (source string, line int) {
	f, lost := v.level(L, level)
	if f != nil && f.Fn.IsG {
		f, lost = v.level(L, level+1)
	}
	switch {
	case lost:
		return "=(tail call)", -1
	case f == nil:
		return "", 0
	case f.Fn.IsG:
		return "=[C]", -1
	}
	line, _ = f.line()
	return v.source(f.Fn.Proto.SourceName), line
}

// source is the chunk name that debug information holds: "@user_script", or the
// text itself for a chunk made by loadstring.
func (v *vm) source(name string) string {
	if s, ok := v.chunks.names[name]; ok {
		return s
	}
	return "@" + name
}

// errorReply is the reply of a script that failed.
func (v *vm) errorReply(label string, err error) resp.Value {
	f := v.failed
	v.failed = failure{}
	if !f.set {
		f = v.lateFailure(err)
	}
	f.msg = cString(f.msg)
	if f.source == "" {
		return resp.Err(oneLine(f.msg))
	}
	return resp.Err(oneLine(f.msg + " script: " + label + ", on " + f.source + ":" + strconv.Itoa(f.line) + "."))
}

// lateFailure reads an error whose handler could not run: the call stack was
// full. The virtual machine's text tells the position.
func (v *vm) lateFailure(err error) failure {
	text := err.Error()
	own := false
	if api, ok := err.(*lua.ApiError); ok {
		_, own = api.Object.(raised)
		text = api.Object.String()
	}
	switch {
	case v.in.watch.tripped:
		return failure{msg: "ERR " + v.in.watch.reason}
	case own: // the handler itself failed: a metamethod of the error value
		return failure{msg: "ERR " + text}
	}
	pos, msg, ok := strings.Cut(text, ": ")
	name, line, ok2 := strings.Cut(pos, ":")
	n, err := strconv.Atoi(line)
	if !ok || !ok2 || err != nil {
		v.broken = true
		return failure{msg: "ERR internal error: " + text}
	}
	if strings.Contains(msg, "overflow") {
		msg = "stack overflow"
	}
	return failure{msg: "ERR " + pos + ": " + msg, source: v.source(name), line: n}
}

// handlePcall is the error handler of pcall and xpcall.
func (v *vm) handlePcall(L *lua.LState) int {
	value := v.translate(L, L.Get(1))
	p := v.protected[len(v.protected)-1]
	if p.handler != nil {
		L.Push(p.handler)
		L.Push(value)
		v.call(L, p.handler, 1, 1)
		value = L.Get(-1)
	}
	closeUpvalues(L, p.base)
	L.Push(value)
	return 1
}

// protect calls the function at index 1 with the values above it; the results
// take their place. On an error it returns the error value.
func (v *vm) protect(L *lua.LState, handler lua.LValue) (lua.LValue, bool) {
	nargs := L.GetTop() - 1
	depth := v.depth
	if depth >= maxGoDepth {
		return errDepthValue, false
	}
	v.depth++
	v.calling = L.Get(1)
	v.protected = append(v.protected, protectedCall{stackTop(L) - nargs - 1, handler})
	err := L.PCall(nargs, lua.MultRet, v.onPcall)
	v.protected = v.protected[:len(v.protected)-1]
	v.depth = depth
	keepErrorHandler(L)
	if err == nil {
		return nil, true
	}
	if v.in.watch.tripped {
		raise(errInterruptedValue)
	}
	return errorValue(err), false
}

// errorValue is the error value that a protected call ended with.
func errorValue(err error) lua.LValue {
	obj := lua.LValue(lua.LString(err.Error()))
	if api, ok := err.(*lua.ApiError); ok {
		obj = api.Object
	}
	switch x := obj.(type) {
	case lua.LString:
		if strings.HasSuffix(string(x), " overflow") {
			return lua.LString(strings.Replace(string(x), ": registry ", ": stack ", 1))
		}
	case raised:
		return x.value
	}
	return obj
}

// pcall is the server's pcall: an error table gives its text.
func (v *vm) pcall(L *lua.LState) int {
	if L.GetTop() == 0 {
		L.Push(lua.LFalse)
		return 1 + pushString(L, "attempt to call a boolean value")
	}
	value, ok := v.protect(L, nil)
	if ok {
		L.Insert(lua.LTrue, 1)
		return L.GetTop()
	}
	if t, ok := value.(*lua.LTable); ok {
		if msg := L.GetField(t, "err"); msg.Type() == lua.LTString || msg.Type() == lua.LTNumber {
			value = msg
		}
	}
	L.SetTop(0)
	L.Push(lua.LFalse)
	L.Push(value)
	return 2
}

// xpcall calls a function with an error handler.
func (v *vm) xpcall(L *lua.LState) int {
	handler := v.checkAny(L, 2)
	fn := L.Get(1)
	L.SetTop(0)
	L.Push(fn)
	value, ok := v.protect(L, handler)
	if ok {
		L.Insert(lua.LTrue, 1)
		return L.GetTop()
	}
	L.SetTop(0)
	L.Push(lua.LFalse)
	L.Push(value)
	return 2
}
