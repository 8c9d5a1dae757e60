package luabridge

import (
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/echomq/echomq-sim/resp"
)

// Console is the user's end of a Debugger.
type Console interface {
	// Show sends lines to the user. They have no line breaks.
	Show(lines []string)
	// Read waits for what the user sends and returns some of it, and nothing once he is gone.
	Read() []byte
	// Overdue reports whether the script has run for too long since it last stopped.
	Overdue() bool
	// Refused reports whether the script's last command was refused before it ran.
	Refused() bool
}

// Debugger lets a user run a script line by line. Its commands, its texts and the lines at
// which it stops are those of the server's debugger, see eval.c. It serves one run.
type Debugger struct {
	console Console
	source  []string // by lines
	breaks  []int    // lines
	step    bool     // the next line stops it, and commands are shown
	called  bool     // redis.breakpoint was: the next line stops it
	line    int      // at which the script is
	shown   []string // to be sent to the user
	input   []byte   // from the user, not obeyed yet
	maxLen  int      // bytes of a value that are shown; 0 is no limit
	hinted  bool     // the user knows of maxLen
	evals   bool     // code of the user's own is running, in which nothing stops
	left    int      // instructions until the next look at the time
}

const (
	debugMaxLen    = 256
	debugMinMaxLen = 60
	debugMaxBreaks = 64
	debugMaxInput  = 1 << 20 // bytes
	debugCountTime = 100_000 // instructions
)

// NewDebugger makes a debugger for one run of a script.
func NewDebugger(source string, c Console) *Debugger {
	d := &Debugger{console: c, step: true, maxLen: debugMaxLen, left: debugCountTime}
	if source = strings.TrimRight(source, "\r\n"); source != "" {
		d.source = strings.Split(source, "\n")
	}
	return d
}

// Debug is Run under a debugger, unless that is nil.
func (in *Interp) Debug(h Host, s *Script, keys, args []string, d *Debugger) resp.Value {
	if d == nil {
		return in.Run(h, s, keys, args)
	}
	s, err := s.forDebugger()
	if err != nil {
		return resp.Err(err.Error())
	}
	in.debugger = d
	defer func() { in.debugger = nil }()
	return in.Run(h, s, keys, args)
}

// End tells the user that there is nothing more to come.
func (d *Debugger) End() {
	d.show("<endsession>")
	d.send()
}

// Evaluates reports whether code of the user's own is running.
func (d *Debugger) Evaluates() bool { return d.evals }

func (d *Debugger) show(line string) { d.shown = append(d.shown, line) }

// showCut shows a line up to the length that the user has chosen.
func (d *Debugger) showCut(line string) {
	if d.maxLen == 0 || len(line) <= d.maxLen {
		d.show(line)
		return
	}
	d.show(line[:d.maxLen] + " ...")
	if !d.hinted {
		d.hinted = true
		d.show("<hint> The above reply was trimmed. Use 'maxlen 0' to disable trimming.")
	}
}

// send sends what there is to show.
func (d *Debugger) send() {
	for i, line := range d.shown {
		d.shown[i] = oneLine(line)
	}
	d.console.Show(d.shown)
	d.shown = nil
}

// showSource shows a line of the script.
func (d *Debugger) showSource(n int) {
	text := "<out of range source code line>"
	if n >= 1 && n <= len(d.source) {
		text = d.source[n-1]
	}
	mark := [...]string{"   ", "  #", "-> ", "->#"}
	i := 0
	if slices.Contains(d.breaks, n) {
		i++
	}
	if n == d.line {
		i += 2
	}
	number := strconv.Itoa(n)
	d.show(mark[i] + number + strings.Repeat(" ", max(0, 3-len(number))) + " " + text)
}

// stepper is the context of a Lua state whose script is debugged: the virtual machine asks
// it before every instruction.
type stepper struct {
	*watch
	v    *vm
	L    *lua.LState
	last []int // by frame: the instruction before
}

// Done is the watch's.
func (s *stepper) Done() <-chan struct{} {
	if stop := s.watch.Done(); stop != nil {
		return stop
	}
	f, d := currentFrame(s.L), s.v.in.debugger
	if f == nil || d == nil || d.evals {
		return nil
	}
	line, begins := s.nextLine(f)
	if d.left--; d.left == 0 {
		d.left = debugCountTime
		d.arrive(&stop{s.v, s.L, f, line}, true)
	}
	if begins {
		d.arrive(&stop{s.v, s.L, f, line}, false)
	}
	return nil
}

// nextLine is the line of the instruction to come, and whether the frame begins it: in a
// function's first instruction, after a jump back, or if it is another line than before
// (traceexec in Lua's lvm.c).
func (s *stepper) nextLine(f *frame) (line int, begins bool) {
	pc, proto := f.Pc-1, f.Fn.Proto
	for len(s.last) <= f.Idx {
		s.last = append(s.last, -1)
	}
	s.last = s.last[:f.Idx+1]
	last := &s.last[f.Idx]
	if pc == 0 || *last >= len(proto.Code) {
		*last = -1
	}
	if line = proto.DbgSourcePositions[pc]; line == 0 {
		return s.v.in.debugger.line, false
	}
	begins = *last < 0 || pc <= *last || line != proto.DbgSourcePositions[*last]
	*last = pc
	return line, begins
}

// stop is where a script has stopped.
type stop struct {
	v    *vm
	L    *lua.LState
	f    *frame
	line int
}

// arrive is called when the script begins a line, or counted: after many instructions.
func (d *Debugger) arrive(at *stop, counted bool) {
	d.line = at.line
	wanted := d.called || slices.Contains(d.breaks, d.line)
	if !strings.Contains(at.f.Fn.Proto.SourceName, scriptName) {
		return
	}
	reason := "step over"
	late := counted && !d.step && !wanted
	switch {
	case late && !d.console.Overdue():
		return
	case late:
		reason = "timeout reached, infinite loop?"
	case d.called:
		reason = "server.breakpoint() called"
	case wanted:
		reason = "break point"
	case !d.step:
		return
	}
	d.step, d.called = false, false
	d.show("* Stopped at " + strconv.Itoa(d.line) + ", stop reason = " + reason)
	d.showSource(d.line)
	d.send()
	if gone := !d.converse(at); gone && late {
		raise(at.v.errTable("ERR timeout during Lua debugging with client closing connection"))
	}
}

// converse obeys the user until the script is to go on. It is false if he is gone: then
// nothing stops the script any more.
func (d *Debugger) converse(at *stop) bool {
	for {
		args := d.command(at)
		if args == nil {
			d.step, d.breaks = false, nil
			return false
		}
		if goOn := d.obey(at, args); goOn {
			return true
		}
		d.send()
	}
}

// command waits for the user's next command, nil if he is gone. What came behind it at the
// same time is dropped.
func (d *Debugger) command(at *stop) []string {
	for {
		args, broken := parseDebugCommand(string(d.input))
		switch {
		case broken:
			raise(at.v.errTable("ERR protocol error"))
		case args != nil:
			d.input = nil
			return args
		}
		more := d.console.Read()
		if len(more) == 0 {
			return nil
		}
		if d.input = append(d.input, more...); len(d.input) > debugMaxInput {
			d.input = nil
			raise(at.v.errTable("ERR max client buffer reached"))
		}
	}
}

// parseDebugCommand reads the array of bulk strings at the start of s, or behind garbage. It
// is nil while that is not whole.
func parseDebugCommand(s string) (args []string, broken bool) {
	if s == "" {
		return nil, false
	}
	i := strings.IndexByte(s, '*')
	if i < 0 {
		return nil, true
	}
	n, rest, whole := debugLength(s[i+1:])
	if !whole {
		return nil, false
	}
	if n <= 0 || n > 1024 {
		return nil, true
	}
	for len(args) < n {
		if rest == "" {
			return nil, false
		}
		if rest[0] != '$' {
			return nil, true
		}
		size, text, whole := debugLength(rest[1:])
		if whole && (size <= 0 || size > 1024) {
			return nil, true
		}
		if !whole || size+2 > len(text) {
			return nil, false
		}
		if text[size:size+2] != "\r\n" {
			return nil, true
		}
		args, rest = append(args, text[:size]), text[size+2:]
	}
	return args, false
}

// debugLength cuts the number off that a line consists of, whatever is behind it.
func debugLength(s string) (n int, rest string, whole bool) {
	line, rest, whole := strings.Cut(s, "\r\n")
	return int(resp.Atoi(line)), rest, whole
}
