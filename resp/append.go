package resp

import (
	"strconv"
	"strings"

	"github.com/tidwall/redcon"
)

// Append appends v to dst as a client of protocol version proto (2 or 3) reads
// it, and returns the extended slice. It is the only encoder.
func Append(dst []byte, v *Value, proto int) []byte {
	switch v.Kind {
	case KindSimple:
		return redcon.AppendString(dst, v.Str)
	case KindErr:
		return redcon.AppendError(dst, v.Str)
	case KindInt:
		return redcon.AppendInt(dst, v.Int)
	case KindBulk:
		return redcon.AppendBulkString(dst, v.Str)
	case KindArray:
		return appendElems(redcon.AppendArray(dst, len(v.Elems)), v.Elems, proto)
	case KindNone:
		return appendElems(dst, v.Elems, proto)
	}
	if proto == 3 {
		return append3(dst, v)
	}
	return append2(dst, v)
}

// append2 encodes the kinds that RESP2 lacks with what it has.
func append2(dst []byte, v *Value) []byte {
	switch v.Kind {
	case KindNullArray:
		return append(dst, "*-1\r\n"...)
	case KindDouble:
		var text [32]byte
		return redcon.AppendBulk(dst, appendNumber(text[:0], v))
	case KindBool:
		return redcon.AppendInt(dst, v.Int)
	case KindBigNum, KindVerbatim:
		return redcon.AppendBulkString(dst, v.Str)
	case KindMap, KindSet, KindPairs, KindPush:
		return appendElems(redcon.AppendArray(dst, len(v.Elems)), v.Elems, 2)
	}
	return redcon.AppendNull(dst)
}

// append3 encodes the kinds that only RESP3 has.
func append3(dst []byte, v *Value) []byte {
	switch v.Kind {
	case KindDouble:
		return append(appendNumber(append(dst, ','), v), "\r\n"...)
	case KindBool:
		if v.Int != 0 {
			return append(dst, "#t\r\n"...)
		}
		return append(dst, "#f\r\n"...)
	case KindBigNum:
		return appendLine(dst, '(', v.Str)
	case KindVerbatim:
		dst = append(appendHeader(dst, '=', len(v.Str)+4), "txt:"...)
		return append(append(dst, v.Str...), "\r\n"...)
	case KindMap:
		return appendElems(appendHeader(dst, '%', len(v.Elems)/2), v.Elems, 3)
	case KindSet:
		return appendElems(appendHeader(dst, '~', len(v.Elems)), v.Elems, 3)
	case KindPush:
		return appendElems(appendHeader(dst, '>', len(v.Elems)), v.Elems, 3)
	case KindPairs:
		return appendPairs(dst, v.Elems)
	}
	return append(dst, "_\r\n"...)
}

// appendNumber appends the text of a double.
func appendNumber(dst []byte, v *Value) []byte {
	if v.Str != "" {
		return append(dst, v.Str...)
	}
	return AppendDouble(dst, v.Num())
}

func appendElems(dst []byte, elems []Value, proto int) []byte {
	for i := range elems {
		dst = Append(dst, &elems[i], proto)
	}
	return dst
}

func appendPairs(dst []byte, elems []Value) []byte {
	dst = redcon.AppendArray(dst, len(elems)/2)
	for i := 0; i+1 < len(elems); i += 2 {
		dst = appendElems(redcon.AppendArray(dst, 2), elems[i:i+2], 3)
	}
	return dst
}

func appendHeader(dst []byte, sign byte, n int) []byte {
	return append(strconv.AppendInt(append(dst, sign), int64(n), 10), "\r\n"...)
}

// appendLine writes text as a line of its own, so line ends in it become spaces.
func appendLine(dst []byte, sign byte, text string) []byte {
	dst = append(dst, sign)
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\r' || c == '\n' {
			c = ' '
		}
		dst = append(dst, c)
	}
	return append(dst, "\r\n"...)
}

// AppendQuoted appends s between quotes, as the server shows what clients sent: with \n and
// its like, and \x.. for what is not printable ASCII.
func AppendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := range len(s) {
		c := s[i]
		e := strings.IndexByte("\n\r\t\a\b", c)
		switch {
		case c == '\\' || c == '"':
			dst = append(dst, '\\', c)
		case c >= ' ' && c <= '~':
			dst = append(dst, c)
		case e >= 0:
			dst = append(dst, '\\', "nrtab"[e])
		default:
			dst = append(dst, '\\', 'x', hex[c>>4], hex[c&15])
		}
	}
	return append(dst, '"')
}
