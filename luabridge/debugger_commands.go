package luabridge

import (
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/echomq/echomq-sim/resp"
)

// debugCommand is a command of the debugger. Its answer is shown unless it makes the script
// go on.
type debugCommand struct {
	names string
	least int // arguments, with the name
	run   func(d *Debugger, at *stop, args []string) (goOn bool)
}

var debugCommands []debugCommand

func init() { // or the table would refer to itself
	debugCommands = []debugCommand{
		{"h help", 1, (*Debugger).help},
		{"s step n next", 1, (*Debugger).stepOn},
		{"c continue", 1, func(*Debugger, *stop, []string) bool { return true }},
		{"t trace", 1, (*Debugger).trace},
		{"m maxlen", 1, (*Debugger).limit},
		{"b break", 1, (*Debugger).breakpoints},
		{"e eval", 1, (*Debugger).eval},
		{"a abort", 1, (*Debugger).abort},
		{"r redis v valkey server", 2, (*Debugger).callServer},
		{"p print", 1, (*Debugger).print},
		{"l list", 1, (*Debugger).list},
		{"w whole", 1, (*Debugger).whole},
	}
}

// obey runs a command. It reports whether the script is to go on.
func (d *Debugger) obey(at *stop, args []string) (goOn bool) {
	for _, c := range debugCommands {
		if len(args) >= c.least && slices.Contains(strings.Fields(c.names), strings.ToLower(cString(args[0]))) {
			return c.run(d, at, args)
		}
	}
	d.show("<error> Unknown Lua debugger command or wrong number of arguments.")
	return false
}

func (d *Debugger) help(*stop, []string) bool {
	d.shown = append(d.shown,
		"Lua debugger help:",
		"[h]elp               Show this help.",
		"[s]tep               Run current line and stop again.",
		"[n]ext               Alias for step.",
		"[c]ontinue           Run till next breakpoint.",
		"[l]ist               List source code around current line.",
		"[l]ist [line]        List source code around [line].",
		"                     line = 0 means: current position.",
		"[l]ist [line] [ctx]  In this form [ctx] specifies how many lines",
		"                     to show before/after [line].",
		"[w]hole              List all source code. Alias for 'list 1 1000000'.",
		"[p]rint              Show all the local variables.",
		"[p]rint <var>        Show the value of the specified variable.",
		"                     Can also show global vars KEYS and ARGV.",
		"[b]reak              Show all breakpoints.",
		"[b]reak <line>       Add a breakpoint to the specified line.",
		"[b]reak -<line>      Remove breakpoint from the specified line.",
		"[b]reak 0            Remove all breakpoints.",
		"[t]race              Show a backtrace.",
		"[e]val <code>        Execute some Lua code (in a different callframe).",
		"[v]alkey <cmd>       Execute a command.",
		"[m]axlen [len]       Trim logged replies and Lua var dumps to len.",
		"                     Specifying zero as <len> means unlimited.",
		"[a]bort              Stop the execution of the script. In sync",
		"                     mode dataset changes will be retained.",
		"",
		"Debugger functions you can call from Lua scripts:",
		"server.debug()       Produce logs in the debugger console.",
		"server.breakpoint()  Stop execution like if there was a breakpoint in the",
		"                     next line of code.")
	return false
}

func (d *Debugger) stepOn(*stop, []string) bool {
	d.step = true
	return true
}

func (d *Debugger) abort(at *stop, _ []string) bool {
	raise(at.v.errTable("ERR script aborted for user request"))
	return false
}

func (d *Debugger) list(_ *stop, args []string) bool {
	around, context := d.line, 5
	if len(args) > 1 {
		if n := int(resp.Atoi(args[1])); n > 0 {
			around = n
		}
	}
	if len(args) > 2 {
		context = int(resp.Atoi(args[2]))
	}
	d.listAround(around, context)
	return false
}

func (d *Debugger) whole(*stop, []string) bool {
	d.listAround(1, 1_000_000)
	return false
}

func (d *Debugger) listAround(line, context int) {
	for n := max(1, line-context); n <= min(len(d.source), line+context); n++ {
		d.showSource(n)
	}
}

func (d *Debugger) limit(_ *stop, args []string) bool {
	if len(args) == 2 {
		d.hinted = true
		d.maxLen = int(resp.Atoi(args[1]))
		if d.maxLen != 0 && d.maxLen <= debugMinMaxLen {
			d.maxLen = debugMinMaxLen
		}
	}
	if d.maxLen == 0 {
		d.show("<value> replies are unlimited.")
	} else {
		d.show("<value> replies are truncated at " + strconv.Itoa(d.maxLen) + " bytes.")
	}
	return false
}

// breakpoints lists, sets and removes them.
func (d *Debugger) breakpoints(_ *stop, args []string) bool {
	switch {
	case len(args) > 1:
		for _, arg := range args[1:] {
			d.setBreakpoint(arg)
		}
	case len(d.breaks) == 0:
		d.show("No breakpoints set. Use 'b <line>' to add one.")
	default:
		d.show(strconv.Itoa(len(d.breaks)) + " breakpoints set:")
		for _, n := range d.breaks {
			d.showSource(n)
		}
	}
	return false
}

func (d *Debugger) setBreakpoint(arg string) {
	n, err := strconv.ParseInt(arg, 10, 64)
	i := slices.Index(d.breaks, max(int(n), -int(n)))
	switch {
	case err != nil || strconv.FormatInt(n, 10) != arg:
		d.show("Invalid argument:'" + arg + "'")
	case n == 0:
		d.breaks = nil
		d.show("All breakpoints removed.")
	case n < 0 && i >= 0:
		d.breaks = slices.Delete(d.breaks, i, i+1)
		d.show("Breakpoint removed.")
	case n < 0:
		d.show("No breakpoint in the specified line.")
	case len(d.breaks) == debugMaxBreaks:
		d.show("Too many breakpoints set.")
	case n > int64(len(d.source)) || i >= 0:
		d.show("Wrong line number.")
	default:
		d.breaks = append(d.breaks, int(n))
		d.listAround(int(n), 1)
	}
}

// trace shows the functions of the script that are running, the innermost first.
func (d *Debugger) trace(at *stop, _ []string) bool {
	word := "In "
	for f := at.f; f != nil; f = at.v.skipHelpers(f.Parent) {
		line, ok := f.line()
		if f == at.f {
			line = at.line
		}
		if ok && strings.Contains(f.Fn.Proto.SourceName, scriptName) {
			_, name := at.v.funcName(at.L, f)
			if name == "" {
				name = "top level"
			}
			d.show(word + name + ":")
			d.showSource(line)
		}
		word = "From "
	}
	return false
}

// print shows one variable, or all that are local in the innermost function.
func (d *Debugger) print(at *stop, args []string) bool {
	if len(args) != 2 {
		d.printAll(at)
		return false
	}
	name := cString(args[1])
	for f := at.f; f != nil; f = at.v.skipHelpers(f.Parent) {
		for _, l := range at.locals(f) {
			if l.name == name {
				d.showValue(at.v, "<value> ", l.value)
				return false
			}
		}
	}
	if name == "KEYS" || name == "ARGV" {
		d.showValue(at.v, "<value> ", at.v.globals.RawGetString(name))
		return false
	}
	d.show("No such variable.")
	return false
}

func (d *Debugger) printAll(at *stop) {
	locals := at.locals(at.f)
	for _, l := range locals {
		d.showValue(at.v, "<value> "+l.name+" = ", l.value)
	}
	if len(locals) == 0 {
		d.show("No local variables in the current context.")
	}
}

// local is a local variable.
type local struct {
	name  string
	value lua.LValue
}

// locals are the variables of a frame in the order of their declarations, but for those
// that only the rewritten program has.
func (at *stop) locals(f *frame) (list []local) {
	if f.Fn.IsG {
		return nil
	}
	pc, reg := f.Pc-1, f.LocalBase
	inst := f.Fn.Proto.Code[pc]
	for _, info := range f.Fn.Proto.DbgLocals {
		if info.StartPc >= pc || pc >= info.EndPc {
			continue
		}
		own := opcode(inst) == lua.OP_CLOSURE && info.StartPc == pc-1 && f.LocalBase+argA(inst) == reg
		if !own && isScripts(info.Name) { // else a function that is about to become its own variable
			list = at.appendLocal(list, info.Name, reg)
		}
		reg++
	}
	names, reg := loopControl(f.Fn.Proto, pc)
	for i, name := range names {
		list = at.appendLocal(list, name, f.LocalBase+reg+i)
	}
	return list
}

func (at *stop) appendLocal(list []local, name string, reg int) []local {
	if name == countsUp {
		name = "(for index)"
	}
	value, ok := register(at.L, reg)
	if !ok {
		value = lua.LNil
	}
	return append(list, local{name, value})
}

// isScripts reports whether a variable is the script's own, or Lua's for it, and not the
// rewriter's.
func isScripts(name string) bool {
	return !strings.HasPrefix(name, "\x00") && (!strings.HasPrefix(name, "(") || strings.HasPrefix(name, "(for "))
}

// loopControl are the names of a loop's hidden variables if the instruction belongs to its
// head, and the register of the first: the rewriter knows of them in the body only.
func loopControl(proto *lua.FunctionProto, pc int) (names []string, reg int) {
	inst := proto.Code[pc]
	switch op := opcode(inst); {
	case op == lua.OP_FORPREP, op == lua.OP_FORLOOP:
		return []string{"(for index)", "(for limit)", "(for step)"}, argA(inst)
	case op == lua.OP_JMP && pc > 0 && opcode(proto.Code[pc-1]) == lua.OP_TFORLOOP:
		inst = proto.Code[pc-1]
		fallthrough
	case op == lua.OP_TFORLOOP:
		return []string{"(for generator)", "(for state)", "(for control)"}, argA(inst)
	}
	return nil, 0
}

// eval runs code of the user's own, in a function of its own, and shows its first result.
func (d *Debugger) eval(at *stop, args []string) bool {
	code := strings.Join(args[1:], " ")
	proto, _, err := compile("return "+code, "ldb_eval", scriptCalls, hoistNothing)
	if err != nil {
		proto, _, err = compile(code, "ldb_eval", scriptCalls, hoistNothing)
	}
	if err != nil {
		d.show("<error> " + err.Error())
		return false
	}
	d.evals = true
	value, failed := at.run(at.L.NewFunctionFromProto(proto))
	d.evals = false
	if failed {
		d.show("<error> " + at.v.debugErrorText(value))
		return false
	}
	d.showValue(at.v, "<retval> ", value)
	return false
}

// run calls a function from within the instruction at which the script has stopped.
func (at *stop) run(fn *lua.LFunction) (value lua.LValue, failed bool) {
	v, L := at.v, at.L
	depth, base := v.depth, stackTop(L)
	v.enter()
	v.calling = fn
	v.protected = append(v.protected, protectedCall{base, nil})
	L.Push(fn)
	err := L.PCall(0, 1, v.onPcall)
	v.protected = v.protected[:len(v.protected)-1]
	v.depth = depth
	keepErrorHandler(L)
	if err == nil {
		value = L.Get(-1)
		L.Pop(1)
		return value, false
	}
	if w := &v.in.watch; w.tripped {
		w.tripped = false // what the user ran is over; the script may go on
		return lua.LString("ERR " + w.reason), true
	}
	return errorValue(err), true
}

// debugErrorText is what the user is shown of an error value.
func (v *vm) debugErrorText(value lua.LValue) string {
	if t, ok := value.(*lua.LTable); ok {
		value = t.RawGetString("err")
	}
	return v.tostring(v.L, value)
}

// callServer runs a command of the server and shows it with its reply.
func (d *Debugger) callServer(at *stop, args []string) bool {
	d.step = true // or they would not be shown
	at.v.callHost(args[1:])
	d.step = false
	return false
}
