package luabridge

import (
	"errors"
	"fmt"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// compileFront compiles what frontEnd or frontEndNamed returned. An error is a *syntaxError: the program needs more
// registers or longer jumps than the machine has.
func compileFront(chunk []ast.Stmt, name string) (*lua.FunctionProto, error) {
	proto, err := lua.Compile(chunk, name)
	if err != nil {
		line := 0
		var e *lua.CompileError
		if errors.As(err, &e) {
			line = e.Line
		}
		return nil, &syntaxError{fmt.Sprintf("%s:%d: %s", name, line, textTooComplex)}
	}
	return proto, nil
}
