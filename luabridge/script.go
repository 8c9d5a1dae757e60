package luabridge

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// ScriptFlags are what a script's shebang line declares.
type ScriptFlags struct {
	HasShebang     bool // without one the script runs in compatibility mode
	NoWrites       bool
	AllowOOM       bool
	AllowStale     bool
	NoCluster      bool
	AllowCrossSlot bool
}

// Script is one compiled script. It is immutable and may be used by any Interp.
type Script struct {
	SHA    string // lower-case hex SHA-1 of Source
	Source string
	Flags  ScriptFlags

	proto *lua.FunctionProto
	binds []string // hoisted globals, in the order of the main function's parameters
	bare  bool     // it may read KEYS and ARGV as globals
	// shares tells whether it does more with KEYS and ARGV than read elements: then
	// each run needs tables of its own.
	shares bool
	brief  bool // it can't run for long, so nothing watches it
	soon   bool // EndsSoon
}

// scriptName is the chunk name in positions: "user_script:1:".
const scriptName = "user_script"

// SHA1Hex is the lower-case hexadecimal SHA-1 by which EVALSHA names a script.
func SHA1Hex(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}

// Compile compiles the source text of an EVAL script. The text of an error is
// the complete error reply: "ERR Error compiling script (new function): ...".
func Compile(source string) (*Script, error) {
	s := &Script{SHA: SHA1Hex(source), Source: source}
	n, err := s.Flags.parse(source)
	if err != nil {
		return nil, err
	}
	if err := s.compile(source[n:], &rewriter{mark: true}, hoistGlobals); err != nil {
		return nil, err
	}
	return s, nil
}

// compile compiles what follows the shebang line.
func (s *Script) compile(text string, r *rewriter, hoist hoisting) error {
	proto, binds, err := r.compileSafely(text, scriptName, scriptCalls, hoist)
	if err != nil {
		return fmt.Errorf("ERR Error compiling script (new function): %s", oneLine(err.Error()))
	}
	s.proto, s.binds, s.shares = proto, binds, r.leaks
	s.bare = readsGlobals(proto) || slices.Contains(binds, "load") || slices.Contains(binds, "loadstring")
	s.brief = !s.bare && isBrief(proto) && !slices.ContainsFunc(binds, needsWatch)
	s.soon = s.brief && !s.takesPatterns()
	return nil
}

// EndsSoon reports whether no arguments make the script run for long.
func (s *Script) EndsSoon() bool { return s.soon }

// takesPatterns reports whether the script may match a pattern, which may try very many ways.
func (s *Script) takesPatterns() bool {
	takesPattern := func(name string) bool {
		name = strings.TrimPrefix(name, "string.")
		return name == "string" || name == "find" || name == "match" || name == "gmatch" || name == "gsub"
	}
	return slices.ContainsFunc(s.binds, takesPattern) || slices.ContainsFunc(s.proto.Constants, func(v lua.LValue) bool {
		name, _ := v.(lua.LString) // of a method
		return takesPattern(string(name))
	})
}

// maxBrief is the number of instructions up to which a script can be brief.
const maxBrief = 2000

// isBrief reports whether a function runs each of its instructions once at most, and can
// call nothing but functions of ours: it has no loops and makes no functions. Those count
// their work themselves. Nor may it set an element: with a large index that takes memory for
// all elements before it.
func isBrief(proto *lua.FunctionProto) bool {
	return len(proto.Code) <= maxBrief && len(proto.FunctionPrototypes) == 0 && !slices.ContainsFunc(proto.Code, mayLast)
}

func mayLast(inst uint32) bool {
	switch opcode(inst) {
	case lua.OP_FORLOOP, lua.OP_FORPREP, lua.OP_TFORLOOP, lua.OP_SETTABLE:
		return true
	case lua.OP_JMP:
		return argSbx(inst) < 0
	}
	return false
}

// needsWatch reports whether a hoisted global needs the watch: os.clock counts its
// instructions, coroutines have one each. Through _G all can be had.
func needsWatch(name string) bool {
	lib, _, _ := strings.Cut(name, ".")
	return lib == "_G" || lib == "os" || lib == "coroutine"
}

// readsGlobals reports whether a function, or one in it, has an instruction that
// reads a global or its environment.
func readsGlobals(proto *lua.FunctionProto) bool {
	for _, inst := range proto.Code {
		if op := opcode(inst); op == lua.OP_GETGLOBAL || op == lua.OP_SETGLOBAL {
			return true
		}
	}
	return slices.ContainsFunc(proto.FunctionPrototypes, readsGlobals)
}

// ParseFlags are the flags that the first line of a script's source declares. The
// text of an error is the complete error reply.
func ParseFlags(source string) (ScriptFlags, error) {
	var f ScriptFlags
	_, err := f.parse(source)
	return f, err
}

// parse reads the shebang line of a script, if there is one, and returns its
// length without the line feed.
func (f *ScriptFlags) parse(source string) (int, error) {
	if !strings.HasPrefix(source, "#!") {
		return 0, nil
	}
	line, _, ok := strings.Cut(source, "\n")
	if !ok {
		return 0, fmt.Errorf("ERR Invalid script shebang")
	}
	words, ok := splitWords(line)
	if !ok || len(words) == 0 {
		return 0, fmt.Errorf("ERR Invalid engine in script shebang")
	}
	if words[0] != "#!lua" {
		return 0, fmt.Errorf("ERR %s", oneLine("Unexpected engine in script shebang: "+words[0]))
	}
	f.HasShebang = true
	for _, w := range words[1:] {
		list, ok := strings.CutPrefix(w, "flags=")
		if !ok {
			return 0, fmt.Errorf("ERR %s", oneLine("Unknown lua shebang option: "+w))
		}
		if err := f.set(list); err != nil {
			return 0, err
		}
	}
	return len(line), nil
}

// set sets the flags in a comma-separated list.
func (f *ScriptFlags) set(list string) error {
	if list == "" {
		return nil
	}
	for _, name := range strings.Split(list, ",") {
		flag := f.byName(name)
		if flag == nil {
			return fmt.Errorf("ERR %s", oneLine("Unexpected flag in script shebang: "+name))
		}
		*flag = true
	}
	return nil
}

// flagNames are the names of all flags, in the server's order.
var flagNames = []string{"no-writes", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys"}

// byName is the flag of that name, or nil.
func (f *ScriptFlags) byName(name string) *bool {
	switch name {
	case "no-writes":
		return &f.NoWrites
	case "allow-oom":
		return &f.AllowOOM
	case "allow-stale":
		return &f.AllowStale
	case "no-cluster":
		return &f.NoCluster
	case "allow-cross-slot-keys":
		return &f.AllowCrossSlot
	}
	return nil
}

// Names are the names of the flags that are set, in the server's order.
func (f ScriptFlags) Names() []string {
	var names []string
	for _, name := range flagNames {
		if *f.byName(name) {
			names = append(names, name)
		}
	}
	return names
}

// compile parses and compiles a chunk. The compiler panics on what it cannot
// express, such as a function that needs more registers than there are.
func compile(text, name string, calls int, hoist hoisting) (proto *lua.FunctionProto, binds []string, err error) {
	return (&rewriter{mark: true}).compileSafely(text, name, calls, hoist)
}

func (r *rewriter) compileSafely(text, name string, calls int, hoist hoisting) (proto *lua.FunctionProto, binds []string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s:1: %s", name, textTooComplex)
		}
	}()
	return r.compile(text, name, calls, hoist)
}

// oneLine makes a text fit for an error reply, which ends at a line break.
func oneLine(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(s)
}

// splitWords splits a line at white space, with "double" (and escapes) and
// 'single' quotes; false when a quote is not closed properly.
func splitWords(line string) ([]string, bool) {
	var words []string
	for {
		for line != "" && isSpace(line[0]) {
			line = line[1:]
		}
		if line == "" {
			return words, true
		}
		word, rest, ok := nextWord(line)
		if !ok {
			return nil, false
		}
		words, line = append(words, word), rest
	}
}

// nextWord reads one word of a line that does not begin with white space.
func nextWord(line string) (word, rest string, ok bool) {
	var b strings.Builder
	quote := byte(0)
	i := 0
	for ; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == 0 && isSpace(c):
			return b.String(), line[i:], true
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
			if i+1 < len(line) && !isSpace(line[i+1]) {
				return "", "", false
			}
		case quote == '"' && c == '\\' && i+1 < len(line), quote == '\'' && strings.HasPrefix(line[i:], `\'`):
			i += unescape(&b, line[i+1:], quote)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), "", quote == 0
}

// unescape writes the character that an escape stands for (s begins after the
// backslash) and returns how many bytes of s it took.
func unescape(b *strings.Builder, s string, quote byte) int {
	if quote == '"' && s[0] == 'x' && len(s) > 2 && hexValue(s[1]) >= 0 && hexValue(s[2]) >= 0 {
		b.WriteByte(byte(hexValue(s[1])<<4 | hexValue(s[2])))
		return 3
	}
	c := s[0]
	if i := strings.IndexByte("nrtba", c); i >= 0 && quote == '"' {
		c = "\n\r\t\b\a"[i]
	}
	b.WriteByte(c)
	return 1
}
