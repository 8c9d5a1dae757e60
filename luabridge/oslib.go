package luabridge

import (
	lua "github.com/yuin/gopher-lua"
)

// nsPerInstruction is how fast os.clock lets the processor be.
const nsPerInstruction = 10

// osLibrary has os.clock only. It counts instructions: the same script sees the
// same clock every time.
func (v *vm) osLibrary() *lua.LTable {
	return v.readOnlyLibrary(osOrder, map[string]lua.LGFunction{
		"clock": func(L *lua.LState) int {
			return pushNumber(L, float64(v.in.watch.instructions()*nsPerInstruction)/1e9)
		},
	}, nil)
}
