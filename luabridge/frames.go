package luabridge

import (
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Fields of an instruction word.
func opcode(inst uint32) int { return int(inst >> 26) }
func argA(inst uint32) int   { return int(inst>>18) & 0xff }
func argB(inst uint32) int   { return int(inst & 0x1ff) }
func argC(inst uint32) int   { return int(inst>>9) & 0x1ff }
func argBx(inst uint32) int  { return int(inst & 0x3ffff) }
func argSbx(inst uint32) int { return int(inst&0x3ffff) - 0x1ffff }

const constantBit = 1 << 8 // set in a B or C operand that names a constant

// isHelper reports whether fn is a function that stands in for a virtual machine
// instruction; such frames do not exist in the reference implementation.
func (v *vm) isHelper(fn *lua.LFunction) bool {
	_, ok := v.helpers[fn]
	return ok
}

// skipHelpers returns the first frame, from f outward, that a script can see.
func (v *vm) skipHelpers(f *frame) *frame {
	for f != nil && v.isHelper(f.Fn) {
		f = f.Parent
	}
	return f
}

// level finds the frame n levels above the running function (0). A frame lost
// to a tail call counts as a level: it gives lost = true.
func (v *vm) level(L *lua.LState, n int) (f *frame, lost bool) {
	f = v.skipHelpers(currentFrame(L))
	for ; n > 0 && f != nil; f = v.skipHelpers(f.Parent) {
		n--
		if !f.Fn.IsG {
			n -= f.TailCall
		}
	}
	if n < 0 {
		return nil, true
	}
	return f, false
}

// line is the source line that f is at; false for a Go function.
func (f *frame) line() (int, bool) {
	if f == nil || f.Fn.IsG || f.Pc < 1 || f.Pc > len(f.Fn.Proto.DbgSourcePositions) {
		return 0, false
	}
	return f.Fn.Proto.DbgSourcePositions[f.Pc-1], true
}

// where is the "source:line: " prefix for the function at a level, "" when that
// is not a Lua function.
func (v *vm) where(L *lua.LState, n int) string {
	if !layout.ok {
		if w := L.Where(n); n > 0 && !strings.HasPrefix(w, "[G]") {
			return w + " "
		}
		return ""
	}
	f, _ := v.level(L, n)
	return f.where()
}

func (f *frame) where() string {
	line, ok := f.line()
	if !ok {
		return ""
	}
	return f.Fn.Proto.SourceName + ":" + strconv.Itoa(line) + ": "
}

// nearestLua is the innermost frame that runs Lua code.
func (v *vm) nearestLua(L *lua.LState) *frame {
	f := v.skipHelpers(currentFrame(L))
	if f != nil && f.Fn.IsG {
		return nil
	}
	return f
}

// funcName is how the caller of f spelled it, and what kind of name that is.
func (v *vm) funcName(L *lua.LState, f *frame) (kind, name string) {
	if f == nil || !f.Fn.IsG && f.TailCall > 0 {
		return "", ""
	}
	p := v.skipHelpers(f.Parent)
	if p == nil || p.Fn.IsG || p.Pc < 1 {
		return "", ""
	}
	inst := p.Fn.Proto.Code[p.Pc-1]
	switch opcode(inst) {
	case lua.OP_CALL, lua.OP_TAILCALL:
		return objectName(p.Fn.Proto, p.Pc-1, argA(inst))
	}
	return "", ""
}

// objectName says what register reg of proto holds just before the instruction
// at pc: "local", "global", "field", "upvalue" or "method" and its name; "" when
// it is a temporary.
func objectName(proto *lua.FunctionProto, pc, reg int) (kind, name string) {
	if name, ok := localName(proto, reg+1, pc); ok {
		return publicName("local", name)
	}
	set := lastSetter(proto, pc, reg)
	if set < 0 {
		return "", ""
	}
	inst := proto.Code[set]
	switch opcode(inst) {
	case lua.OP_GETGLOBAL:
		return publicName("global", constantName(proto, argBx(inst)))
	case lua.OP_MOVE, lua.OP_MOVEN:
		if argB(inst) < reg {
			return objectName(proto, set, argB(inst))
		}
	case lua.OP_GETTABLE, lua.OP_GETTABLEKS:
		return "field", operandName(proto, set, argC(inst))
	case lua.OP_GETUPVAL:
		if b := argB(inst); b < len(proto.DbgUpvalues) {
			return publicName("upvalue", proto.DbgUpvalues[b])
		}
	case lua.OP_SELF:
		return "method", operandName(proto, set, argC(inst))
	}
	return "", ""
}

// publicName turns the name of a hoisted parameter ("\x00KEYS",
// "\x00redis.call") back into what the script wrote.
func publicName(kind, name string) (string, string) {
	if !strings.HasPrefix(name, "\x00") {
		return kind, name
	}
	name = name[1:]
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return "field", name[i+1:]
	}
	return "global", name
}

// localName is the name of the n-th active local variable at pc.
func localName(proto *lua.FunctionProto, n, pc int) (string, bool) {
	for _, v := range proto.DbgLocals {
		if v.StartPc < pc && pc < v.EndPc {
			if n--; n == 0 {
				return v.Name, !strings.HasPrefix(v.Name, "(")
			}
		}
	}
	return "", false
}

// lastSetter is the index of the last instruction before pc that sets reg, as
// far as straight-line reading can tell, or -1.
func lastSetter(proto *lua.FunctionProto, pc, reg int) int {
	last := -1
	for i := 0; i < pc; i++ {
		inst := proto.Code[i]
		switch op := opcode(inst); op {
		case lua.OP_JMP:
			if dest := i + 1 + argSbx(inst); dest > i && dest <= pc {
				i = dest - 1
			}
			continue
		case lua.OP_CLOSURE:
			if argA(inst) == reg {
				last = i
			}
			i += int(proto.FunctionPrototypes[argBx(inst)].NumUpvalues)
			continue
		case lua.OP_MOVEN:
			last, i = movenSetter(proto, i, reg, last)
			continue
		}
		if setsRegister(inst, reg) {
			last = i
		}
	}
	return last
}

// movenSetter handles a group of moves, which the words after it continue.
func movenSetter(proto *lua.FunctionProto, i, reg, last int) (setter, next int) {
	more := argC(proto.Code[i])
	if argA(proto.Code[i]) == reg {
		last = i
	}
	for range more {
		i++
		if argA(proto.Code[i]) == reg {
			last = i
		}
	}
	return last, i
}

// setsRegister reports whether inst writes register reg.
func setsRegister(inst uint32, reg int) bool {
	a := argA(inst)
	switch opcode(inst) {
	case lua.OP_SETGLOBAL, lua.OP_SETUPVAL, lua.OP_SETTABLE, lua.OP_SETTABLEKS,
		lua.OP_EQ, lua.OP_LT, lua.OP_LE, lua.OP_TEST, lua.OP_RETURN,
		lua.OP_SETLIST, lua.OP_CLOSE, lua.OP_NOP:
		return false
	case lua.OP_LOADNIL:
		return reg >= a && reg <= argB(inst)
	case lua.OP_SELF:
		return reg == a || reg == a+1
	case lua.OP_CALL, lua.OP_TAILCALL, lua.OP_VARARG:
		return reg >= a
	case lua.OP_TFORLOOP:
		return reg >= a+2
	}
	return reg == a
}

func constantName(proto *lua.FunctionProto, i int) string {
	if i < len(proto.Constants) {
		if s, ok := proto.Constants[i].(lua.LString); ok {
			return string(s)
		}
	}
	return "?"
}

// operandName is the name in a register-or-constant operand of the instruction at pc, "?"
// unless it is a constant string. The compiler may load that into a register just before.
func operandName(proto *lua.FunctionProto, pc, operand int) string {
	if operand&constantBit != 0 {
		return constantName(proto, operand&^constantBit)
	}
	if pc > 0 {
		inst := proto.Code[pc-1]
		if _, variable := localName(proto, operand+1, pc); !variable && opcode(inst) == lua.OP_LOADK && argA(inst) == operand {
			return constantName(proto, argBx(inst))
		}
	}
	return "?"
}
