package luabridge

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

func (v *vm) loadString(L *lua.LState) int {
	s := v.checkText(L, 1)
	return v.loadChunk(L, s, v.optText(L, 2, s))
}

func (v *vm) load(L *lua.LState) int {
	fn := v.checkFunction(L, 1)
	name := v.optText(L, 2, "=(load)")
	var text strings.Builder
	for {
		L.Push(fn)
		v.call(L, fn, 0, 1)
		piece := L.Get(-1)
		L.Pop(1)
		if piece == lua.LNil {
			break
		}
		s, ok := toText(piece)
		if !ok {
			L.Push(lua.LNil)
			return 1 + pushString(L, "reader function must return a string")
		}
		if s == "" {
			break
		}
		v.grow(text.Len() + len(s))
		text.WriteString(s)
	}
	return v.loadChunk(L, text.String(), name)
}

// loadChunk pushes the function that a text compiles to, or nil and an error.
func (v *vm) loadChunk(L *lua.LState, text, name string) int {
	short := chunkID(name)
	proto, _, err := compile(text, short, scriptCalls+1+v.depth, hoistNothing)
	if err != nil {
		L.Push(lua.LNil)
		return 1 + pushString(L, err.Error())
	}
	v.chunks.add(short, name)
	L.Push(L.NewFunctionFromProto(proto))
	return 1
}

// chunkNames are the names of the chunks that loadstring made, by how positions show them.
type chunkNames struct {
	names map[string]string
	bytes int
}

// maxChunkNames bounds the bytes of names that are remembered; what is forgotten shows
// in an error's position as positions show it.
const maxChunkNames = 1 << 20

func (c *chunkNames) add(short, name string) {
	if c.bytes += len(name); c.names == nil || c.bytes > maxChunkNames {
		*c = chunkNames{names: map[string]string{}, bytes: len(name)}
	}
	c.names[short] = name
}

// maxChunkID is the longest chunk name in a position.
const maxChunkID = 79

// chunkID is how positions name a chunk: its own name after "=" or "@", else
// [string "its first line"].
func chunkID(name string) string {
	if rest, ok := strings.CutPrefix(name, "="); ok {
		return rest[:min(len(rest), maxChunkID)]
	}
	if rest, ok := strings.CutPrefix(name, "@"); ok {
		const room = maxChunkID - len(" '...' ")
		if len(rest) > room {
			return "..." + rest[len(rest)-room:]
		}
		return rest
	}
	line := name
	if i := strings.IndexAny(name, "\r\n"); i >= 0 {
		line = name[:i]
	}
	const room = maxChunkID + 1 - len(` [string "..."] `) - 1
	cut := len(line) > room
	line = line[:min(len(line), room)]
	if cut || len(line) < len(name) {
		return `[string "` + line + `..."]`
	}
	return `[string "` + line + `"]`
}

func (v *vm) getFenv(L *lua.LState) int {
	if fn, ok := v.fenvTarget(L, true); ok {
		L.Push(fn.Env)
	} else {
		L.Push(v.L.Env)
	}
	return 1
}

// fenvTarget is the function that argument 1 of getfenv or setfenv means: the
// function itself or a level. Level 0, the thread, gives false.
func (v *vm) fenvTarget(L *lua.LState, opt bool) (*lua.LFunction, bool) {
	if fn, ok := L.Get(1).(*lua.LFunction); ok {
		return fn, !fn.IsG
	}
	level := 1
	if !opt || L.Get(1) != lua.LNil {
		level = v.checkInt32(L, 1)
	}
	if level < 0 {
		v.argError(L, 1, "level must be non-negative")
	}
	if level == 0 {
		return nil, false
	}
	f, lost := v.level(L, level)
	if lost {
		v.errorf(L, "no function environment for tail call at level %d", level)
	}
	if f == nil {
		v.argError(L, 1, "invalid level")
	}
	return f.Fn, !f.Fn.IsG
}

func (v *vm) setFenv(L *lua.LState) int {
	env, ok := L.Get(2).(*lua.LTable)
	if !ok {
		v.typeError(L, 2, "table")
	}
	if n, ok := toNumber(L.Get(1)); ok && n == 0 {
		v.L.Env = env // until the end of the script
		L.Push(L.Get(1))
		return 1
	}
	fn, ok := v.fenvTarget(L, false)
	if !ok {
		v.errorf(L, "'setfenv' cannot change environment of given object")
	}
	fn.Env = env
	L.Push(fn)
	return 1
}
