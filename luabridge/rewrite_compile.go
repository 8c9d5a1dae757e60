package luabridge

import (
	"errors"
	"fmt"
	"sort"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// Names of local variables. Error texts name the variable in a register, but gopher-lua records wrong ends of
// scopes. So the rewriter writes into each node's line, above the real one, which variables are visible there;
// after compilation every instruction tells it, and both the lines and the variables' ranges are set right.

const stateShift = 32

// localState is a variable, and through before all that are visible with it. State 0 is "none".
type localState struct {
	name   string
	before int
	real   bool // it has a register
}

// enterState makes a variable the innermost visible one and returns its state.
func (r *rewriter) enterState(name string, real bool) int {
	r.states = append(r.states, localState{name: name, before: r.state, real: real})
	r.state = len(r.states) - 1
	return r.state
}

// stamped adds the current state to a line that has none.
func (r *rewriter) stamped(line int) int {
	if !r.mark || line>>stateShift != 0 {
		return line
	}
	return line | (r.state+1)<<stateShift
}

func (r *rewriter) stamp(node ast.PositionHolder) { node.SetLine(r.stamped(node.Line())) }

func plainLine(line int) int { return line & (1<<stateShift - 1) }

// compileSource parses, rewrites and compiles a chunk named name, with calls C calls open. What hoist
// names becomes parameters: if hoisted is not empty, proto takes their values as arguments. The error is a
// *syntaxError.
func compileSource(src, name string, calls int, hoist hoisting) (proto *lua.FunctionProto, hoisted []string, err error) {
	r := &rewriter{mark: true}
	return r.compile(src, name, calls, hoist)
}

func (r *rewriter) compile(src, name string, calls int, hoist hoisting) (proto *lua.FunctionProto, hoisted []string, err error) {
	chunk, hoisted, err := r.program(src, name, calls, hoist)
	if err != nil {
		return nil, nil, err
	}
	proto, err = compileFront(chunk, name)
	if err != nil {
		return nil, nil, err
	}
	params := []string(nil)
	if len(hoisted) > 0 || r.watched {
		proto = proto.FunctionPrototypes[0]
		for _, global := range hoisted {
			params = append(params, hoistedName(global))
		}
	}
	proto.IsVarArg &^= lua.VarArgNeedsArg // the main function has no "arg"
	r.setRanges(proto, params)
	return proto, hoisted, nil
}

// compileFront compiles what frontEnd returned. An error is a *syntaxError: the program needs more
// registers or longer jumps than the machine has.
func compileFront(chunk []ast.Stmt, name string) (*lua.FunctionProto, error) {
	proto, err := lua.Compile(chunk, name)
	if err != nil {
		line := 0
		var e *lua.CompileError
		if errors.As(err, &e) {
			line = plainLine(e.Line)
		}
		return nil, &syntaxError{fmt.Sprintf("%s:%d: %s", name, line, textTooComplex)}
	}
	return proto, nil
}

// setRanges restores the lines of proto and of the functions in it and sets its variables: active at pc if
// StartPc < pc+1 and pc < EndPc, as LFunction.LocalName counts. params come before those of the script.
func (r *rewriter) setRanges(proto *lua.FunctionProto, params []string) {
	proto.LineDefined, proto.LastLineDefined = plainLine(proto.LineDefined), plainLine(proto.LastLineDefined)
	last := map[int]*lua.DbgLocalInfo{}
	var used []int
	state := 0
	for pc, line := range proto.DbgSourcePositions {
		if s := line >> stateShift; s > 0 {
			state = s - 1
		}
		proto.DbgSourcePositions[pc] = plainLine(line)
		for s := state; s > 0; s = r.states[s].before {
			if info := last[s]; info != nil {
				info.EndPc = pc + 1
			} else if r.states[s].real {
				last[s] = &lua.DbgLocalInfo{Name: r.states[s].name, StartPc: pc - 1, EndPc: pc + 1}
				used = append(used, s)
			}
		}
	}
	sort.Ints(used)
	proto.DbgLocals = proto.DbgLocals[:0]
	for _, name := range params {
		proto.DbgLocals = append(proto.DbgLocals, &lua.DbgLocalInfo{Name: name, StartPc: -1, EndPc: len(proto.Code)})
	}
	for _, s := range used {
		proto.DbgLocals = append(proto.DbgLocals, last[s])
	}
	for _, inner := range proto.FunctionPrototypes {
		r.setRanges(inner, nil)
	}
}
