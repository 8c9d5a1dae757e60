package engine

import (
	"math"
	"strconv"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

// parseInt parses an integer as string2ll of Valkey's util.c does: no sign but a
// minus, no leading zeros or spaces, 64 bits.
func parseInt(s string) (int64, bool) {
	if !canonicalInt(s) {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// canonicalInt reports whether s is spelled as the server itself would print an integer.
func canonicalInt(s string) bool {
	if s == "0" {
		return true
	}
	s = strings.TrimPrefix(s, "-")
	if s == "" || len(s) > 19 || s[0] < '1' || s[0] > '9' {
		return false
	}
	for i := 1; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// intArg is argument i as an integer.
func (c *Call) intArg(i int) (n int64, bad *resp.Value) {
	n, ok := parseInt(c.Args[i])
	if !ok {
		return 0, &errNotInt
	}
	return n, nil
}

// parseFloat parses a double as C's strtod does over the whole of s; nan is refused.
func parseFloat(s string) (float64, bool) {
	switch s {
	case "-inf":
		return math.Inf(-1), true
	case "+inf", "inf":
		return math.Inf(1), true
	case "":
		return 0, false
	}
	if c := s[0]; len(s) == 1 && c >= '0' && c <= '9' {
		return float64(c - '0'), true
	}
	for i := range len(s) {
		if c := s[i]; c == '_' || c <= ' ' {
			return 0, false
		}
	}
	if hasHexPrefix(s) && !strings.ContainsAny(s, "pP") {
		s += "p0" // C takes hex without an exponent, Go does not
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		if ne, ok := err.(*strconv.NumError); !ok || ne.Err != strconv.ErrRange {
			return 0, false
		}
		if math.IsInf(f, 0) || f == 0 {
			return 0, false // ERANGE
		}
	}
	return f, !math.IsNaN(f) && (f != 0 || writtenAsZero(s))
}

// writtenAsZero reports whether the number in s, which reads as 0, is not just too
// small for a double: that is ERANGE to C, but no error to Go.
func writtenAsZero(s string) bool {
	exponent := "eE"
	if hasHexPrefix(s) {
		exponent = "pP"
	}
	if i := strings.IndexAny(s, exponent); i >= 0 {
		s = s[:i]
	}
	return strings.Trim(s, "+-0xX.") == ""
}

func hasHexPrefix(s string) bool {
	s = strings.TrimLeft(s, "+-")
	return len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')
}

// is reports whether argument i is the given word, in any case.
func (c *Call) is(i int, word string) bool {
	return i < len(c.Args) && equalWord(c.Args[i], word)
}

// equalWord compares as the server compares C strings: a zero byte ends s, and
// only ASCII letters have cases.
func equalWord(s, word string) bool {
	if i := strings.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	return len(s) == len(word) && strings.EqualFold(s, word)
}

// invalidExpire is the reply to a TTL that no key can have.
func (c *Call) invalidExpire() *resp.Value {
	v := resp.Err("ERR invalid expire time in '" + c.Spec.Name + "' command")
	return &v
}

// subcommandSyntax is the reply to a subcommand with arguments that it does not take.
func (c *Call) subcommandSyntax() resp.Value {
	container, _, _ := strings.Cut(c.Spec.Name, "|")
	return resp.Err(oneLine("ERR unknown subcommand or wrong number of arguments for '" + clip(c.Args[1], 128) +
		"'. Try " + strings.ToUpper(container) + " HELP."))
}

// helpReply is the reply of a container's HELP: lines are its own, the frame is
// that of addReplyHelp in Valkey's networking.c.
func helpReply(name string, lines ...string) resp.Value {
	out := []resp.Value{resp.Simple(name + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")}
	for _, l := range append(lines, "HELP", "    Print this help.") {
		out = append(out, resp.Simple(l))
	}
	return resp.Array(out...)
}

var (
	errMPopNumKeys = resp.Err("ERR numkeys should be greater than 0")
	errMPopCount   = resp.Err("ERR count should be greater than 0")
)

// mpopArgs parses numkeys key [key ...] <FIRST | LAST> [COUNT count] from argument i on.
func (c *Call) mpopArgs(i int, first, last string) (keys []string, fromLast bool, count int64, bad *resp.Value) {
	fail := func(v *resp.Value) ([]string, bool, int64, *resp.Value) { return nil, false, 0, v }
	n, ok := parseInt(c.Args[i])
	if !ok || n < 1 {
		return fail(&errMPopNumKeys)
	}
	if n > int64(len(c.Args)-i-2) {
		return fail(&errSyntax)
	}
	where := i + 1 + int(n)
	keys = c.Args[i+1 : where]
	fromLast = c.is(where, last)
	if !fromLast && !c.is(where, first) {
		return fail(&errSyntax)
	}
	switch {
	case len(c.Args) == where+1:
		return keys, fromLast, 1, nil
	case !c.is(where+1, "count") || len(c.Args) == where+2:
		return fail(&errSyntax)
	}
	if count, ok = parseInt(c.Args[where+2]); !ok || count < 1 {
		return fail(&errMPopCount)
	}
	if len(c.Args) > where+3 {
		return fail(&errSyntax)
	}
	return keys, fromLast, count, nil
}
