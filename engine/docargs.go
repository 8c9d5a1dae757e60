package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

// docArg is one argument of a command's syntax, as COMMAND DOCS describes it.
type docArg struct {
	name, kind        string
	display           string // when it is not the name
	token             string
	hasToken          bool
	keySpec           int // index among the row's key specs; -1 for none
	since, deprecated string
	flags             []string
	args              []docArg // of a block or oneof
}

// docArgKinds are the letters for an argument's type.
var docArgKinds = map[byte]string{'k': "key", 'i': "integer", 'd': "double", 'p': "pattern", 'u': "unix-time", 't': "pure-token"}

// docArgParser reads the notation of Spec.Args: arguments separated by spaces, each
//
//	name [/display] [:type | {arguments} | <alternatives>] [=TOKEN] [#keyspec] [@since] [~deprecated] [?] [*] [+]
//
// without the spaces shown here. type is one of the letters of docArgKinds, none
// means string; {} is a block, <> a oneof. TOKEN may be a quoted Go string. ? is
// optional, * multiple and + multiple with its token repeated.
type docArgParser struct {
	text string
	pos  int
}

// parseDocArgs panics on text that is no such notation: rows are checked by the
// tests of this package.
func parseDocArgs(text string) []docArg {
	p := &docArgParser{text: text}
	args := p.list()
	if p.pos < len(p.text) {
		p.fail("end")
	}
	return args
}

func (p *docArgParser) fail(want string) {
	panic(fmt.Sprintf("engine: argument notation %q: %s expected at %d", p.text, want, p.pos))
}

// peek is the byte at offset n from here, 0 past the end.
func (p *docArgParser) peek(n int) byte {
	if p.pos+n < len(p.text) {
		return p.text[p.pos+n]
	}
	return 0
}

// take consumes b if it stands here.
func (p *docArgParser) take(b byte) bool {
	if p.peek(0) != b {
		return false
	}
	p.pos++
	return true
}

// word consumes bytes until one that stop tells.
func (p *docArgParser) word(stop func(b byte) bool) string {
	from := p.pos
	for p.pos < len(p.text) && !stop(p.text[p.pos]) {
		p.pos++
	}
	if p.pos == from {
		p.fail("a word")
	}
	return p.text[from:p.pos]
}

func (p *docArgParser) list() []docArg {
	var args []docArg
	for {
		args = append(args, p.arg())
		if !p.take(' ') {
			return args
		}
	}
}

func (p *docArgParser) arg() docArg {
	a := docArg{keySpec: -1, kind: "string"}
	a.name = p.word(stopsAt("/:{<=#@~?*+ }>"))
	if p.take('/') {
		a.display = p.displayText()
	}
	p.kind(&a)
	if p.take('=') {
		a.hasToken, a.token = true, p.token()
	}
	if p.take('#') {
		n, err := strconv.Atoi(p.word(stopsAt("@~?*+ }>")))
		if err != nil {
			p.fail("a key spec")
		}
		a.keySpec = n
	}
	if p.take('@') {
		a.since = p.word(stopsAt("~?*+ }>"))
	}
	if p.take('~') {
		a.deprecated = p.word(stopsAt("?*+ }>"))
	}
	for _, f := range []struct {
		mark byte
		name string
	}{{'?', "optional"}, {'*', "multiple"}, {'+', "multiple_token"}} {
		if p.take(f.mark) {
			a.flags = append(a.flags, f.name)
		}
	}
	return a
}

func stopsAt(marks string) func(byte) bool {
	return func(b byte) bool { return strings.IndexByte(marks, b) >= 0 }
}

// displayText may hold colons ("ip:port"), one of which need not begin a type.
func (p *docArgParser) displayText() string {
	from := p.pos
	for p.pos < len(p.text) && !stopsAt("{<=#@~?*+ }>")(p.text[p.pos]) && !p.atType() {
		p.pos++
	}
	return p.text[from:p.pos]
}

// atType reports whether a colon and a type letter stand here.
func (p *docArgParser) atType() bool {
	next := p.peek(2)
	return p.peek(0) == ':' && docArgKinds[p.peek(1)] != "" && (next == 0 || stopsAt("=#@~?*+ }>")(next))
}

func (p *docArgParser) kind(a *docArg) {
	switch {
	case p.atType():
		a.kind = docArgKinds[p.peek(1)]
		p.pos += 2
	case p.take('{'):
		a.kind, a.args = "block", p.list()
		if !p.take('}') {
			p.fail("}")
		}
	case p.take('<'):
		a.kind, a.args = "oneof", p.list()
		if !p.take('>') {
			p.fail(">")
		}
	}
}

func (p *docArgParser) token() string {
	if p.peek(0) != '"' {
		return p.word(stopsAt("#@~?*+ }>"))
	}
	quoted, err := strconv.QuotedPrefix(p.text[p.pos:])
	if err != nil {
		p.fail("a quoted token")
	}
	p.pos += len(quoted)
	token, err := strconv.Unquote(quoted)
	if err != nil {
		p.fail("a quoted token")
	}
	return token
}

// argsDocs is an argument list as COMMAND DOCS shows it.
func argsDocs(args []docArg) resp.Value {
	out := make([]resp.Value, len(args))
	for i := range args {
		out[i] = args[i].docs()
	}
	return resp.Array(out...)
}

func (a *docArg) docs() resp.Value {
	out := []resp.Value{resp.Bulk("name"), resp.Bulk(a.name), resp.Bulk("type"), resp.Bulk(a.kind)}
	add := func(shown bool, name string, v resp.Value) {
		if shown {
			out = append(out, resp.Bulk(name), v)
		}
	}
	display := a.display
	if display == "" {
		display = a.name
	}
	add(a.args == nil, "display_text", resp.Bulk(display))
	add(a.keySpec >= 0, "key_spec_index", resp.Int(int64(a.keySpec)))
	add(a.hasToken, "token", resp.Bulk(a.token))
	add(a.since != "", "since", resp.Bulk(a.since))
	add(a.deprecated != "", "deprecated_since", resp.Bulk(a.deprecated))
	if len(a.flags) > 0 {
		flags := make([]resp.Value, len(a.flags))
		for i, f := range a.flags {
			flags[i] = resp.Simple(f)
		}
		add(true, "flags", resp.Set(flags...))
	}
	if a.args != nil {
		add(true, "arguments", argsDocs(a.args))
	}
	return resp.Map(out...)
}
