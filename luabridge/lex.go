package luabridge

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// tok is a token kind. Kinds below tokFirst are single bytes standing for themselves.
type tok int

const (
	tokFirst tok = 256 + iota
	tokAnd
	tokBreak
	tokDo
	tokElse
	tokElseif
	tokEnd
	tokFalse
	tokFor
	tokFunction
	tokIf
	tokIn
	tokLocal
	tokNil
	tokNot
	tokOr
	tokRepeat
	tokReturn
	tokThen
	tokTrue
	tokUntil
	tokWhile
	tokConcat
	tokDots
	tokEq
	tokGe
	tokLe
	tokNe
	tokNumber
	tokName
	tokString
	tokEOF
)

var tokText = [...]string{
	"and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil", "not",
	"or", "repeat", "return", "then", "true", "until", "while", "..", "...", "==", ">=", "<=", "~=",
	"<number>", "<name>", "<string>", "<eof>",
}

var keywords = func() map[string]tok {
	m := make(map[string]tok, 21)
	for t := tokAnd; t <= tokWhile; t++ {
		m[tokText[t-tokAnd]] = t
	}
	return m
}()

// String names the token kind as Lua 5.1 prints it in messages.
func (t tok) String() string {
	switch {
	case t >= tokAnd:
		return tokText[t-tokAnd]
	case t < 32 || t == 127:
		return fmt.Sprintf("char(%d)", int(t))
	}
	return string([]byte{byte(t)})
}

// token is one lexical element: text is what error messages quote, str and num are its value.
type token struct {
	kind tok
	text string
	str  string
	num  float64
}

// syntaxError is a refused chunk; its text is complete, with position and token.
type syntaxError struct{ msg string }

// Error returns the message as Lua words it: "user_script:LINE: ... near 'TOKEN'".
func (e *syntaxError) Error() string { return e.msg }

const eof = -1

// lexer splits Lua 5.1 source into tokens. Errors leave it by panic(*syntaxError), caught in parseNamed.
type lexer struct {
	src   string
	name  string
	pos   int
	line  int
	saved []byte // the raw text of the token being read
}

func (lx *lexer) peek() int {
	if lx.pos < len(lx.src) {
		return int(lx.src[lx.pos])
	}
	return eof
}

func (lx *lexer) save(c int) { lx.saved = append(lx.saved, byte(c)) }

func (lx *lexer) take() {
	lx.save(lx.peek())
	lx.pos++
}

// accept takes the current byte if it is in set; a NUL byte always is, as in the C lexer.
func (lx *lexer) accept(set string) bool {
	c := lx.peek()
	if c == eof || c != 0 && strings.IndexByte(set, byte(c)) < 0 {
		return false
	}
	lx.take()
	return true
}

func (lx *lexer) newline() bool { c := lx.peek(); return c == '\n' || c == '\r' }

// skipNewline passes one line end, of one byte or of two different ones.
func (lx *lexer) skipNewline() {
	first := lx.peek()
	lx.pos++
	if lx.newline() && lx.peek() != first {
		lx.pos++
	}
	lx.line++
}

// fail raises msg; near is quoted unless it is the NUL byte, which C takes for "no token".
func (lx *lexer) fail(msg string, near token) {
	if near.kind == 0 {
		lx.failBare(msg)
	}
	text := near.kind.String()
	if near.kind >= tokNumber && near.kind <= tokString {
		text, _, _ = strings.Cut(near.text, "\x00")
	}
	panic(&syntaxError{fmt.Sprintf("%s:%d: %s near '%s'", lx.name, lx.line, msg, text)})
}

func (lx *lexer) failBare(msg string) {
	panic(&syntaxError{fmt.Sprintf("%s:%d: %s", lx.name, lx.line, msg)})
}

// failHere raises msg near the unfinished token of the given kind.
func (lx *lexer) failHere(msg string, kind tok) {
	lx.fail(msg, token{kind: kind, text: string(lx.saved)})
}

func lexDigit(c int) bool { return c >= '0' && c <= '9' }

func lexAlpha(c int) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

func lexSpace(c int) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// next reads one token.
func (lx *lexer) next() token {
	for {
		lx.saved = lx.saved[:0]
		c := lx.peek()
		switch {
		case c == eof:
			return token{kind: tokEOF}
		case lx.newline():
			lx.skipNewline()
		case lexSpace(c):
			lx.pos++
		case c == '-':
			lx.pos++
			if lx.peek() != '-' {
				return token{kind: '-'}
			}
			lx.pos++
			lx.comment()
		default:
			return lx.element(c)
		}
	}
}

func (lx *lexer) element(c int) token {
	switch {
	case lexAlpha(c):
		return lx.nameToken()
	case lexDigit(c):
		return lx.number()
	}
	switch c {
	case '[':
		sep := lx.separator()
		if sep >= 0 {
			return lx.longString(sep, true)
		}
		if sep != -1 {
			lx.failHere("invalid long string delimiter", tokString)
		}
		return token{kind: '['}
	case '=':
		return lx.pair('=', tokEq)
	case '<':
		return lx.pair('<', tokLe)
	case '>':
		return lx.pair('>', tokGe)
	case '~':
		return lx.pair('~', tokNe)
	case '"', '\'':
		return lx.quoted(c)
	case '.':
		return lx.dots()
	}
	lx.pos++
	return token{kind: tok(c)}
}

func (lx *lexer) pair(single, double tok) token {
	lx.pos++
	if lx.peek() != '=' {
		return token{kind: single}
	}
	lx.pos++
	return token{kind: double}
}

func (lx *lexer) dots() token {
	lx.take()
	if lx.accept(".") {
		if lx.accept(".") {
			return token{kind: tokDots}
		}
		return token{kind: tokConcat}
	}
	if !lexDigit(lx.peek()) {
		return token{kind: '.'}
	}
	return lx.number()
}

func (lx *lexer) nameToken() token {
	start := lx.pos
	for lexAlpha(lx.peek()) || lexDigit(lx.peek()) {
		lx.pos++
	}
	word := lx.src[start:lx.pos]
	if kind, ok := keywords[word]; ok {
		return token{kind: kind}
	}
	return token{kind: tokName, text: word, str: word}
}

func (lx *lexer) comment() {
	if lx.peek() == '[' {
		if sep := lx.separator(); sep >= 0 {
			lx.saved = lx.saved[:0]
			lx.longString(sep, false)
			return
		}
	}
	for !lx.newline() && lx.peek() != eof {
		lx.pos++
	}
}

// separator passes "[==" or "]==" and returns the number of '=' if the same bracket follows, else -count-1.
func (lx *lexer) separator() int {
	bracket, count := lx.peek(), 0
	lx.take()
	for lx.peek() == '=' {
		lx.take()
		count++
	}
	if lx.peek() == bracket {
		return count
	}
	return -count - 1
}

func (lx *lexer) longString(sep int, keep bool) token {
	lx.take()
	if lx.newline() {
		lx.skipNewline()
	}
	for {
		switch c := lx.peek(); c {
		case eof:
			if keep {
				lx.failHere("unfinished long string", tokEOF)
			}
			lx.failHere("unfinished long comment", tokEOF)
		case '[':
			if lx.separator() == sep {
				lx.take()
				if sep == 0 {
					lx.fail("nesting of [[...]] is deprecated", token{kind: '['})
				}
			}
		case ']':
			if lx.separator() == sep {
				lx.take()
				return lx.longToken(sep, keep)
			}
		case '\n', '\r':
			lx.save('\n')
			lx.skipNewline()
		default:
			lx.take()
		}
		if !keep {
			lx.saved = lx.saved[:0]
		}
	}
}

func (lx *lexer) longToken(sep int, keep bool) token {
	if !keep {
		return token{}
	}
	text := string(lx.saved)
	return token{kind: tokString, text: text, str: text[2+sep : len(text)-2-sep]}
}

func (lx *lexer) quoted(quote int) token {
	lx.take()
	for lx.peek() != quote {
		switch lx.peek() {
		case eof:
			lx.failHere("unfinished string", tokEOF)
		case '\n', '\r':
			lx.failHere("unfinished string", tokString)
		case '\\':
			lx.pos++
			lx.escape()
		default:
			lx.take()
		}
	}
	lx.take()
	text := string(lx.saved)
	return token{kind: tokString, text: text, str: text[1 : len(text)-1]}
}

const escapeNames, escapeValues = "abfnrtv", "\a\b\f\n\r\t\v"

// escape reads what follows a backslash; an unknown letter stands for itself.
func (lx *lexer) escape() {
	c := lx.peek()
	switch {
	case c == eof:
	case lx.newline():
		lx.save('\n')
		lx.skipNewline()
	case lexDigit(c):
		lx.decimalEscape()
	case strings.IndexByte(escapeNames, byte(c)) >= 0:
		lx.save(int(escapeValues[strings.IndexByte(escapeNames, byte(c))]))
		lx.pos++
	default:
		lx.take()
	}
}

func (lx *lexer) decimalEscape() {
	value := 0
	for i := 0; i < 3 && lexDigit(lx.peek()); i++ {
		value = 10*value + lx.peek() - '0'
		lx.pos++
	}
	if value > 255 {
		lx.failHere("escape sequence too large", tokString)
	}
	lx.save(value)
}

func (lx *lexer) number() token {
	for lexDigit(lx.peek()) || lx.peek() == '.' {
		lx.take()
	}
	if lx.accept("Ee") {
		lx.accept("+-")
	}
	for lexAlpha(lx.peek()) || lexDigit(lx.peek()) {
		lx.take()
	}
	text := string(lx.saved)
	value, ok := numeral(text)
	if !ok {
		lx.failHere("malformed number", tokNumber)
	}
	return token{kind: tokNumber, text: text, num: value}
}

// numeral converts a number token the way C's strtod does; text after a NUL byte does not count.
func numeral(text string) (float64, bool) {
	text, _, _ = strings.Cut(text, "\x00")
	if strings.Contains(text, "_") {
		return 0, false
	}
	hex := len(text) > 1 && (text[1] == 'x' || text[1] == 'X')
	if hex && !strings.ContainsAny(text, "pP") {
		text += "p0"
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(value, 0) {
		return 0, false
	}
	return value, true
}
