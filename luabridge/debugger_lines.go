package luabridge

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// forDebugger is the script as a debugger runs it: its instructions have the lines at which
// the server stops, and the order of all fields is known, as the user sees it.
func (s *Script) forDebugger() (*Script, error) {
	d := &Script{SHA: s.SHA, Source: s.Source}
	n, err := d.Flags.parse(s.Source)
	if err != nil {
		return nil, err
	}
	r := &rewriter{mark: true, watched: true, backs: backLines{map[int]int{}, map[int]int{}}}
	if err := d.compile(s.Source[n:], r, hoistNothing); err != nil {
		return nil, err
	}
	r.backs.setLines(d.proto)
	return d, nil
}

// backLines are the lines of a script's loops at which these jump back, by the lines that
// their heads have.
type backLines struct{ counting, iterating map[int]int }

// setLines gives the instructions of a function, and of those in it, the lines that they
// have from Lua's own compiler, and 0 to those that it would not make.
func (b *backLines) setLines(proto *lua.FunctionProto) {
	for _, inner := range proto.FunctionPrototypes {
		b.setLines(inner)
	}
	lines, before := proto.DbgSourcePositions, 0 // in the loop below: the line of the instruction before
	for pc, inst := range proto.Code {
		op := opcode(inst)
		if op == lua.OP_MOVEN { // several assignments; those that it takes with it follow
			op = lua.OP_MOVE
			proto.Code[pc] = uint32(op)<<26 | inst&(1<<26-1)
		}
		switch op {
		case lua.OP_JMP:
			if pc > 0 && opcode(proto.Code[pc-1]) == lua.OP_TFORLOOP {
				lines[pc] = b.iterating[lines[pc]]
			}
		case lua.OP_FORLOOP:
			lines[pc] = b.counting[lines[pc]]
		case lua.OP_CLOSURE:
			lines[pc] = proto.FunctionPrototypes[argBx(inst)].LastLineDefined
		case lua.OP_SETTABLE, lua.OP_SETTABLEKS, lua.OP_SETLIST:
			lines[pc] = max(lines[pc], before) // a constructor's have the line of its start
		case lua.OP_LOADNIL, lua.OP_MOVE, lua.OP_GETGLOBAL, lua.OP_CLOSE:
			if !luaMakes(proto, pc) {
				lines[pc] = 0
			}
		}
		if lines[pc] > 0 {
			before = lines[pc]
		}
	}
}

// luaMakes reports whether Lua's own compiler would make an instruction that stops a debugger.
func luaMakes(proto *lua.FunctionProto, pc int) bool {
	switch inst := proto.Code[pc]; opcode(inst) {
	case lua.OP_LOADNIL:
		return pc > 0 // registers are nil when a function begins
	case lua.OP_CLOSE:
		return false // it is part of a block's last line
	case lua.OP_MOVE:
		return argA(inst) != argB(inst)
	case lua.OP_GETGLOBAL:
		return !strings.HasPrefix(constantName(proto, argBx(inst)), "\x00") // a helper of the rewriter's
	}
	return true
}
