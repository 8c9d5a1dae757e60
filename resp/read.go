package resp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// ErrMalformed is wrapped by the errors of Reader.Read for bytes that are not a
// reply, or one beyond the Reader's limits.
var ErrMalformed = errors.New("resp: malformed reply")

// Reader reads replies, RESP2 and RESP3 alike. Attributes and streamed replies
// are not supported. After an error it is of no use.
type Reader struct {
	// MaxDepth is the deepest nesting, MaxSize the bytes of one reply.
	MaxDepth int
	MaxSize  int64

	src  *bufio.Reader
	left int64 // of MaxSize for the reply being read
}

// NewReader returns a reader with limits of 10,000 levels and 1 GB.
func NewReader(src io.Reader) *Reader {
	return &Reader{MaxDepth: 10_000, MaxSize: 1 << 30, src: bufio.NewReader(src)}
}

// Read returns the next reply. Its error is io.EOF if the input ends before
// one, io.ErrUnexpectedEOF if it ends inside, that of the input, or wraps
// ErrMalformed. RESP2 has no own form for most kinds; what comes back is the
// form that was sent: a map is an array, a double a bulk string.
func (r *Reader) Read() (Value, error) {
	r.left = r.MaxSize
	if _, err := r.src.Peek(1); err != nil {
		return Value{}, err
	}
	v, err := r.value(0)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return v, err
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

func (r *Reader) value(depth int) (Value, error) {
	if depth > r.MaxDepth {
		return Value{}, malformed("nested deeper than %d", r.MaxDepth)
	}
	line, err := r.line()
	if err != nil {
		return Value{}, err
	}
	if line == "" {
		return Value{}, malformed("empty line")
	}
	sign, text := line[0], line[1:]
	switch sign {
	case '$', '=', '!':
		return r.bulk(sign, text)
	case '*', '~', '>', '%':
		return r.aggregate(sign, text, depth)
	}
	return scalar(sign, text)
}

// scalar reads the kinds that are one line.
func scalar(sign byte, text string) (Value, error) {
	switch sign {
	case '+':
		return Simple(text), nil
	case '-':
		return Err(text), nil
	case ':':
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return Value{}, malformed("integer %q", text)
		}
		return Int(n), nil
	case ',':
		return parseDouble(text)
	case '(':
		if !isBigNum(text) {
			return Value{}, malformed("big number %q", text)
		}
		return BigNum(text), nil
	case '#':
		if text == "t" || text == "f" {
			return Bool(text == "t"), nil
		}
	case '_':
		if text == "" {
			return Null, nil
		}
	}
	return Value{}, malformed("line %q", string(sign)+text)
}

func parseDouble(text string) (Value, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.ContainsAny(text, "xX_") {
		return Value{}, malformed("double %q", text)
	}
	if math.IsNaN(f) {
		f = math.NaN() // one of the many, so that values compare equal
	}
	return Double(f), nil
}

func isBigNum(text string) bool {
	digits := strings.TrimLeft(text, "+-")
	return digits != "" && len(text)-len(digits) <= 1 && strings.Trim(digits, "0123456789") == ""
}

// line reads up to CRLF, which it takes off.
func (r *Reader) line() (string, error) {
	var long []byte
	for {
		part, err := r.src.ReadSlice('\n')
		if r.left -= int64(len(part)); r.left < 0 {
			return "", r.tooLarge()
		}
		if err != nil && err != bufio.ErrBufferFull {
			return "", err
		}
		if err == nil && long == nil {
			return cutCRLF(part)
		}
		long = append(long, part...)
		if err == nil {
			return cutCRLF(long)
		}
	}
}

func cutCRLF(line []byte) (string, error) {
	n := len(line) - 2
	if n < 0 || line[n] != '\r' {
		return "", malformed("line %q without CR", line)
	}
	return string(line[:n]), nil
}

func (r *Reader) tooLarge() error { return malformed("larger than %d bytes", r.MaxSize) }

// length reads the number of bytes or elements. Each takes at least unit bytes
// of input, which bounds it. null is true for -1.
func (r *Reader) length(text string, unit int64) (n int, null bool, err error) {
	long, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil || long < -1:
		return 0, false, malformed("length %q", text)
	case long > r.left/unit:
		return 0, false, r.tooLarge()
	}
	return int(long), long == -1, nil
}

func (r *Reader) bulk(sign byte, text string) (Value, error) {
	n, null, err := r.length(text, 1)
	if err != nil {
		return Value{}, err
	}
	if null {
		if sign != '$' {
			return Value{}, malformed("length %q", text)
		}
		return Null, nil
	}
	body, err := r.body(n)
	if err != nil {
		return Value{}, err
	}
	switch sign {
	case '!':
		return Err(body), nil
	case '=':
		if len(body) < 4 || body[3] != ':' {
			return Value{}, malformed("verbatim string %.10q", body)
		}
		return Verbatim(body[4:]), nil
	}
	return Bulk(body), nil
}

// body reads n bytes and CRLF. Memory grows with what arrives, not with n.
func (r *Reader) body(n int) (string, error) {
	r.left -= int64(n) + 2
	var b strings.Builder
	if _, err := io.CopyN(&b, r.src, int64(n)); err != nil {
		return "", err
	}
	var end [2]byte
	if _, err := io.ReadFull(r.src, end[:]); err != nil {
		return "", err
	}
	if end != [2]byte{'\r', '\n'} {
		return "", malformed("bulk string without CRLF")
	}
	return b.String(), nil
}

func (r *Reader) aggregate(sign byte, text string, depth int) (Value, error) {
	n, null, err := r.length(text, 3)
	if err != nil {
		return Value{}, err
	}
	if null {
		if sign != '*' {
			return Value{}, malformed("length %q", text)
		}
		return NullArray, nil
	}
	kind := KindArray
	switch sign {
	case '~':
		kind = KindSet
	case '>':
		kind = KindPush
	case '%':
		kind = KindMap
		n *= 2
	}
	var elems []Value
	for range n {
		v, err := r.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		elems = append(elems, v)
	}
	return Value{Kind: kind, Elems: elems}, nil
}

// Atoi reads the number at the start of s as C's atoi does: 0 when there is none.
func Atoi(s string) int64 {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	end := 0
	if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
		end = 1
	}
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, _ := strconv.ParseInt(s[:end], 10, 64) // out of range gives the nearest, no digits 0
	return int64(int32(n))
}
