package resp

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// signs are the first characters of values as text. They are those of the wire
// where it has one; & marks Pairs, . None, _* a null array.
const signs = "_\x00+-:$,#(=*%~&>."

// Format returns v as text without a line end at its end; Parse is its inverse.
// Transcripts, traces and test failures use it.
//
// A value without elements is one line: its sign and its text, as in :2, +OK,
// $some text, ,1.5, #t, (123, =txt, _ (null) and _* (null array). A text is
// quoted as in Go if it holds a line end, another unprintable or non-ASCII
// byte, two spaces in a row, a space at either end or a quote at its start.
//
// One with elements is a line with its sign and then one element after the
// other, two spaces further in; without elements it is sign and 0. The entries
// of maps and pairs are a line "key  value" if neither has elements, and one
// after the other otherwise:
//
//	*
//	  :1
//	  %
//	    $name  $"two\r\nlines"
//	    $list
//	    *
//	      $a
//	  ~0
func Format(v Value) string {
	return string(appendText(nil, &v, 0))
}

func hasElems(v *Value) bool { return v.Kind >= KindArray && v.Kind <= KindPush }

func isKeyed(k Kind) bool { return k == KindMap || k == KindPairs }

// appendText writes v with its first line where dst ends and the others indent
// levels in.
func appendText(dst []byte, v *Value, indent int) []byte {
	if !hasElems(v) {
		return appendScalar(dst, v)
	}
	dst = append(dst, signs[v.Kind])
	if len(v.Elems) == 0 {
		return append(dst, '0')
	}
	for i := 0; i < len(v.Elems); i++ {
		dst = append(append(dst, '\n'), strings.Repeat("  ", indent+1)...)
		dst = appendText(dst, &v.Elems[i], indent+1)
		if isKeyed(v.Kind) && i%2 == 0 && i+1 < len(v.Elems) &&
			!hasElems(&v.Elems[i]) && !hasElems(&v.Elems[i+1]) {
			i++
			dst = appendScalar(append(dst, "  "...), &v.Elems[i])
		}
	}
	return dst
}

func appendScalar(dst []byte, v *Value) []byte {
	if v.Kind == KindNullArray {
		return append(dst, "_*"...)
	}
	dst = append(dst, signs[v.Kind])
	switch v.Kind {
	case KindInt:
		return strconv.AppendInt(dst, v.Int, 10)
	case KindDouble:
		return AppendDouble(dst, v.Num())
	case KindBool:
		return append(dst, "ft"[v.Int&1])
	case KindNull, KindNone:
		return dst
	}
	if isBare(v.Str) {
		return append(dst, v.Str...)
	}
	return strconv.AppendQuoteToASCII(dst, v.Str)
}

// isBare reports whether s can stand without quotes.
func isBare(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s == "" || s[0] != '"' && strings.TrimSpace(s) == s && !strings.Contains(s, "  ")
}

var errText = errors.New("resp: not a value as text")

// Parse reads the value that text begins with, which stands at the left margin,
// and returns what follows its last line.
func Parse(text string) (v Value, rest string, err error) {
	return parseText(text, "")
}

// parseText reads a value whose further lines are indented by more than margin.
func parseText(text, margin string) (v Value, rest string, err error) {
	line, rest, _ := strings.Cut(text, "\n")
	if len(line) == 0 {
		return Value{}, text, fmt.Errorf("%w: empty line", errText)
	}
	kind := Kind(strings.IndexByte(signs, line[0]))
	if kind < KindArray || kind > KindPush {
		v, tail, err := parseScalar(line)
		if err == nil && tail != "" {
			err = fmt.Errorf("%w: %q after %q", errText, tail, line)
		}
		return v, rest, err
	}
	v.Kind = kind
	switch line[1:] {
	case "0":
		return v, rest, nil
	case "":
		v.Elems, rest, err = parseElems(rest, margin+"  ", isKeyed(kind))
		return v, rest, err
	}
	return Value{}, text, fmt.Errorf("%w: %q", errText, line)
}

// parseElems reads the elements that stand at margin.
func parseElems(text, margin string, keyed bool) (elems []Value, rest string, err error) {
	for strings.HasPrefix(text, margin) {
		var v Value
		text = text[len(margin):]
		if key, value, ok := parseEntry(text); ok && keyed && len(elems)%2 == 0 {
			elems = append(elems, key, value)
			_, text, _ = strings.Cut(text, "\n")
			continue
		}
		if v, text, err = parseText(text, margin); err != nil {
			return nil, text, err
		}
		elems = append(elems, v)
	}
	if len(elems) == 0 || keyed && len(elems)%2 != 0 {
		return nil, text, fmt.Errorf("%w: elements missing before %.40q", errText, text)
	}
	return elems, text, nil
}

// parseEntry reads a line "key  value".
func parseEntry(text string) (key, value Value, ok bool) {
	line, _, _ := strings.Cut(text, "\n")
	key, tail, err := parseScalar(line)
	if err != nil || !strings.HasPrefix(tail, "  ") {
		return key, value, false
	}
	value, tail, err = parseScalar(tail[2:])
	return key, value, err == nil && tail == ""
}

// parseScalar reads a value of one line, up to two spaces or the end.
func parseScalar(line string) (v Value, tail string, err error) {
	if line == "" {
		return Value{}, "", fmt.Errorf("%w: nothing there", errText)
	}
	sign, text := line[0], line[1:]
	if strings.HasPrefix(text, `"`) && strings.IndexByte("+-$(=", sign) >= 0 {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return Value{}, "", fmt.Errorf("%w: %q", errText, line)
		}
		tail = text[len(quoted):]
		text, err = strconv.Unquote(quoted)
		if err != nil {
			return Value{}, "", fmt.Errorf("%w: %q", errText, line)
		}
	} else if end := strings.Index(text, "  "); end >= 0 {
		text, tail = text[:end], text[end:]
	}
	v, err = scalarText(sign, text)
	return v, tail, err
}

func scalarText(sign byte, text string) (Value, error) {
	switch {
	case sign == '$':
		return Bulk(text), nil
	case sign == '=':
		return Verbatim(text), nil
	case sign == '.' && text == "":
		return None, nil
	case sign == '_' && text == "*":
		return NullArray, nil
	}
	v, err := scalar(sign, text)
	if err != nil {
		return Value{}, fmt.Errorf("%w: %q", errText, string(sign)+text)
	}
	return v, nil
}
