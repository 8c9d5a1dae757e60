package resp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll feeds in to a CommandReader, calling Next as often as it yields after
// each read, and returns the requests and the error that ended it.
func readAll(src io.Reader, limits Limits) (requests [][]string, err error) {
	var r CommandReader
	for {
		_, readErr := r.Fill(src)
		if readErr == ErrQueryBuffer {
			return requests, readErr
		}
		for {
			args, ok, err := r.Next(limits)
			if err != nil {
				return requests, err
			}
			if !ok {
				break
			}
			requests = append(requests, append([]string(nil), args...))
		}
		if readErr != nil {
			return requests, nil
		}
	}
}

func ask(args ...string) string {
	v := Strings(args...)
	return string(Append(nil, &v, 2))
}

// What the server makes of each input was asked of it over a socket. An error
// of "" means that it waits for more.
var requestTests = []struct {
	name, in string
	want     []string // each request's words, joined by |
	err      string
}{
	{"one", ask("PING"), []string{"PING"}, ""},
	{"two", ask("GET", "a") + ask("SET", "b", ""), []string{"GET|a", "SET|b|"}, ""},
	{"binary", ask("ECHO", "\r\n\x00$1"), []string{"ECHO|\r\n\x00$1"}, ""},
	{"no arguments", "*0\r\nPING\r\n", []string{"PING"}, ""},
	{"null array", "*-1\r\nPING\r\n", []string{"PING"}, ""},
	{"negative array", "*-10\r\nPING\r\n", []string{"PING"}, ""},
	{"empty lines", "\r\n\n\r\nPING\r\n", []string{"PING"}, ""},
	{"line of blanks makes the next inline", "  \r\n*1\r\n$4\r\nPING\r\n", []string{"*1", "$4", "PING"}, ""},
	{"empty line ends that", "  \r\n\r\n*1\r\n$4\r\nPING\r\n", []string{"PING"}, ""},
	{"bulk as inline", "$4\r\nPING\r\n", []string{"$4", "PING"}, ""},
	{"count not a number", "*x\r\n", nil, "invalid multibulk length"},
	{"count missing", "*\r\n", nil, "invalid multibulk length"},
	{"count with zero", "*01\r\n$4\r\nPING\r\n", nil, "invalid multibulk length"},
	{"count minus zero", "*-0\r\n$4\r\nPING\r\n", nil, "invalid multibulk length"},
	{"count with plus", "*+1\r\n$4\r\nPING\r\n", nil, "invalid multibulk length"},
	{"count too large", "*2147483648\r\n", nil, "invalid multibulk length"},
	{"count just not", "*2147483647\r\n", nil, ""},
	{"line feeds only", "*1\n$4\nPING\n", nil, ""},
	{"byte after CR is not looked at", "*1\rX$4\rXPINGxx", []string{"PING"}, ""},
	{"nor those after a bulk", "*1\r\n$4\r\nPINGxxPING\r\n", []string{"PING", "PING"}, ""},
	{"bulk of 2^63-1", "*1\r\n$9223372036854775807\r\n", nil, "invalid bulk length"},
	{"bulk of 2^64", "*1\r\n$18446744073709551616\r\n", nil, "invalid bulk length"},
	{"negative bulk", "*1\r\n$-9999\r\n", nil, "invalid bulk length"},
	{"null bulk", "*1\r\n$-1\r\n", nil, "invalid bulk length"},
	{"bulk beyond the limit", "*1\r\n$536870913\r\n", nil, "invalid bulk length"},
	{"bulk at the limit", "*1\r\n$536870912\r\n", nil, ""},
	{"bulk not a number", "*1\r\n$x\r\n", nil, "invalid bulk length"},
	{"not a bulk", "*1\r\n:4\r\n", nil, "expected '$', got ':'"},
	{"inline in array", "*1\r\nPING\r\n", nil, "expected '$', got 'P'"},
	{"high byte", "*1\r\n\xff\r\n", nil, "expected '$', got '\xff'"},
	{"line end", "*1\r\n\r\n", nil, "expected '$', got '\r'"},
	{"not a bulk yet", "*1\r\nPING", nil, ""},
	{"after good ones", ask("PING") + ask("GET", "a") + "*1\r\n!4\r\nPING\r\n" + ask("PING"),
		[]string{"PING", "GET|a"}, "expected '$', got '!'"},
	{"inline after good one", "PING\r\nSET a \"b\r\nPING\r\n", []string{"PING"}, "unbalanced quotes in request"},
	{"long count", "*" + strings.Repeat("1", 65536), nil, "too big mbulk count string"},
	{"count just not too long", "*" + strings.Repeat("1", 65535), nil, ""},
	{"long count that ends", "*" + strings.Repeat("1", 70000) + "\r\n", nil, "invalid multibulk length"},
	{"long bulk length", "*1\r\n$" + strings.Repeat("1", 65536), nil, "too big bulk count string"},
	{"bulk length just not too long", "*1\r\n$" + strings.Repeat("1", 65535), nil, ""},
	{"long inline", strings.Repeat("A", 65537), nil, "too big inline request"},
	{"inline just not too long", strings.Repeat("A", 65536), nil, ""},
	{"zero byte hides the line end", "PI\x00NG\r\n", nil, ""},
	{"also in a count", "*1\x00\r\n", nil, ""},
	{"hex escape", `ECHO "\x41\n\q"` + "\r\n", []string{"ECHO|A\nq"}, ""},
	{"half a hex escape", `ECHO "\x4"` + "\r\n", []string{"ECHO|x4"}, ""},
	{"escapes", `ECHO "\n\r\t\b\a\\\""` + "\n", []string{"ECHO|\n\r\t\b\a\\\""}, ""},
	{"single quotes", `ECHO 'a\'b\n'` + "\r\n", []string{`ECHO|a'b\n`}, ""},
	{"quotes in quotes", `ECHO '"' "'"` + "\r\n", []string{`ECHO|"|'`}, ""},
	{"quote within a word", `ECHO a"b c"` + "\r\n", []string{"ECHO|ab c"}, ""},
	{"word after a quote", `ECHO "a"b` + "\r\n", nil, "unbalanced quotes in request"},
	{"word after a single quote", `ECHO 'a'b` + "\r\n", nil, "unbalanced quotes in request"},
	{"escaped end", `ECHO "\"` + "\r\n", nil, "unbalanced quotes in request"},
	{"backslash at the end", `ECHO "\` + "\r\n", nil, "unbalanced quotes in request"},
	{"single quote open", "ECHO 'a\n", nil, "unbalanced quotes in request"},
	{"empty word", `ECHO ""` + "\r\n", []string{"ECHO|"}, ""},
	{"blanks", "\vECHO \v \"a\tb\"\tc \r\n", []string{"ECHO|a\tb|c"}, ""},
	{"vertical tab in a word", "ECHO a\vb\r\n", []string{"ECHO|a\vb"}, ""},
	{"CR in a line", "ECHO a\rb\r\r\n", []string{"ECHO|a|b"}, ""},
}

func TestCommandReader(t *testing.T) {
	for _, tt := range requestTests {
		for _, how := range []struct {
			name string
			src  io.Reader
		}{
			{"whole", strings.NewReader(tt.in)},
			{"bytes", iotest.OneByteReader(strings.NewReader(tt.in))},
		} {
			if how.name == "bytes" && tt.name == "long count that ends" {
				continue // refused before it ends
			}
			if len(tt.in) > 1000 && how.name == "bytes" {
				how.src = &chunkReader{[]byte(tt.in), 1000}
			}
			requests, err := readAll(how.src, Limits{})
			checkRequests(t, tt.name+" in "+how.name, requests, err, tt.want, tt.err)
		}
	}
}

func checkRequests(t *testing.T, name string, requests [][]string, err error, want []string, wantErr string) {
	t.Helper()
	var got []string
	for _, args := range requests {
		got = append(got, strings.Join(args, "|"))
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got requests %q, want %q", name, got, want)
	}
	var protocol *ProtocolError
	switch {
	case wantErr == "" && err != nil:
		t.Errorf("%s: %v", name, err)
	case wantErr != "" && (!errors.As(err, &protocol) || protocol.Reason != wantErr):
		t.Errorf("%s: got error %v, want %q", name, err, wantErr)
	}
}

func TestCommandReaderLimits(t *testing.T) {
	unauth := Limits{Unauthenticated: true}
	for _, tt := range []struct {
		in     string
		limits Limits
		err    string
	}{
		{"*11\r\n", unauth, "unauthenticated multibulk length"},
		{"*10\r\n$16384\r\n", unauth, ""},
		{"*1\r\n$16385\r\n", unauth, "unauthenticated bulk length"},
		{"*1\r\n$536870913\r\n", unauth, "invalid bulk length"},
		{"*2147483648\r\n", unauth, "invalid multibulk length"},
		{"*1\r\n$101\r\n", Limits{MaxBulk: 100}, "invalid bulk length"},
		{"*1\r\n$100\r\n", Limits{MaxBulk: 100}, ""},
		{"*1\r\n$9223372036854775807\r\n", Limits{MaxBulk: 1<<63 - 1}, "invalid bulk length"},
	} {
		requests, err := readAll(strings.NewReader(tt.in), tt.limits)
		checkRequests(t, tt.in, requests, err, nil, tt.err)
	}
}

// The limits that count are those at the time of each request.
func TestCommandReaderLimitsChange(t *testing.T) {
	var r CommandReader
	r.Fill(strings.NewReader(ask("AUTH", "x") + "*11\r\n$1\r\na\r\n"))
	if args, ok, err := r.Next(Limits{Unauthenticated: true}); !ok || err != nil {
		t.Fatal(args, ok, err)
	}
	if _, ok, err := r.Next(Limits{}); ok || err != nil {
		t.Errorf("after AUTH: %v, %v", ok, err)
	}
}

func TestQueryBufferLimit(t *testing.T) {
	pipeline := strings.Repeat(ask("SET", "key", longText), 3000) // 3 MB
	var r CommandReader
	r.Next(Limits{MaxBuffer: 2 << 20})
	src := &chunkReader{[]byte(pipeline), 16 << 10}
	var err error
	for err == nil { // a blocked session: bytes come in, none are taken
		_, err = r.Fill(src)
	}
	if err != ErrQueryBuffer || r.Buffered() <= 2<<20 || r.Buffered() > 2<<20+16<<10 {
		t.Errorf("%v with %d bytes waiting", err, r.Buffered())
	}
	if _, err := readAll(strings.NewReader(pipeline), Limits{MaxBuffer: 64 << 10}); err != nil {
		t.Errorf("taken as they come: %v", err)
	}
	if _, err := readAll(strings.NewReader(pipeline), Limits{Queued: 1 << 30}); err != ErrQueryBuffer {
		t.Errorf("with a long MULTI queue: %v", err)
	}
}

func TestManyArguments(t *testing.T) {
	const count = 1_000_000
	args := make([]string, count)
	for i := range args {
		args[i] = "v"
	}
	src := &chunkReader{[]byte(ask(args...) + ask("PING")), 8 << 10}
	requests, err := readAll(src, Limits{})
	if err != nil || len(requests) != 2 || len(requests[0]) != count {
		t.Fatalf("%d requests, %v", len(requests), err)
	}
}

// A large bulk string must cost a small multiple of its size, and a claimed
// length nothing.
func TestLargeBulk(t *testing.T) {
	const size = 64 << 20
	request := []byte(ask("SET", "k", strings.Repeat("x", size)))
	var r CommandReader
	src := &chunkReader{request, 64 << 10}
	largest := 0
	for src.left() > 0 {
		if _, ok, err := r.Next(Limits{}); ok || err != nil {
			t.Fatal(ok, err)
		}
		r.Fill(src)
		largest = max(largest, cap(r.buf))
		if arrived := len(r.buf); cap(r.buf) > bigBulkGrowth*max(arrived, readBufferSize) {
			t.Fatalf("buffer of %d after %d bytes", cap(r.buf), arrived)
		}
	}
	if largest > len(request)+minReadRoom {
		t.Errorf("buffer of %d for %d bytes", largest, len(request))
	}
	if args, ok, err := r.Next(Limits{}); !ok || err != nil || len(args[2]) != size {
		t.Fatal(ok, err)
	}
	r.Fill(strings.NewReader("P"))
	if cap(r.buf) > readBufferSize {
		t.Errorf("still %d bytes after the large request", cap(r.buf))
	}
}

func TestIdleReaderHoldsNothing(t *testing.T) {
	var r CommandReader
	r.Fill(strings.NewReader(ask("GET", "a")))
	r.release()
	if r.held == nil {
		t.Fatal("released with a request waiting")
	}
	r.Next(Limits{})
	r.release()
	if r.held != nil || r.buf != nil || r.text != "" {
		t.Error("something is held")
	}
}

func TestNextDoesNotAllocatePerArgument(t *testing.T) {
	var r CommandReader
	in := []byte(strings.Repeat(ask("HSET", "key", "field", "value", "f2", "v2"), 50))
	src := bytes.NewReader(in)
	per := testing.AllocsPerRun(20, func() {
		src.Reset(in)
		r.Fill(src)
		count := 0
		for _, ok, _ := r.Next(Limits{}); ok; _, ok, _ = r.Next(Limits{}) {
			count++
		}
		if count != 50 {
			t.Fatalf("%d requests", count)
		}
	})
	if per > 1 {
		t.Errorf("%v allocations per read, want 1", per)
	}
}

// chunkReader yields at most size bytes at a time.
type chunkReader struct {
	rest []byte
	size int
}

func (c *chunkReader) left() int { return len(c.rest) }

func (c *chunkReader) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.size)], c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// FuzzCommandReader checks that cutting the input in pieces does not change what
// is read, and that requests read back from their own encoding.
func FuzzCommandReader(f *testing.F) {
	for _, tt := range requestTests {
		if len(tt.in) < 1000 {
			f.Add([]byte(tt.in), 3)
		}
	}
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		if len(in) > maxLine {
			return // there the outcome depends on the pieces, as in the server
		}
		whole, err := readAll(bytes.NewReader(in), Limits{})
		pieces, err2 := readAll(&chunkReader{in, max(1, size)}, Limits{})
		if !reflect.DeepEqual(whole, pieces) || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("whole: %q, %v\nin pieces of %d: %q, %v", whole, err, size, pieces, err2)
		}
		aheadAgrees(t, in, max(1, size))
		var again []byte
		for _, args := range whole {
			again = append(again, ask(args...)...)
		}
		if back, err := readAll(bytes.NewReader(again), Limits{}); err != nil || !reflect.DeepEqual(back, whole) {
			t.Fatalf("%q read back as %q, %v", whole, back, err)
		}
	})
}

func TestShortHeader(t *testing.T) {
	for _, tt := range []struct {
		in      string
		n, size int
	}{
		{"$1\r\nx", 1, 4}, {"$12\r\n", 12, 5}, {"$999\rx", 999, 6}, {"$7\r\n", 7, 4},
		{"$1234\r\n", 0, 0}, {"$0\r\n", 0, 0}, {"$01\r\n", 0, 0}, {"$\r\n\r\n", 0, 0}, {"$-1\r\n", 0, 0}, {"$+1\r\n", 0, 0},
		{"$12\r", 0, 0}, {"$12", 0, 0}, {"$", 0, 0}, {"", 0, 0}, {"*1\r\n", 0, 0}, {"$1\n\r\n", 0, 0}, {"$1a\r\n", 0, 0},
	} {
		if n, size := shortHeader([]byte(tt.in), '$'); n != tt.n || size != tt.size {
			t.Errorf("%q: %d, %d bytes", tt.in, n, size)
		}
		long, whole := parseLength([]byte(strings.TrimRight(strings.TrimPrefix(tt.in, "$"), "\r\nx")))
		if tt.size > 0 && (!whole || long != int64(tt.n)) {
			t.Errorf("%q: parseLength gives %d, %t", tt.in, long, whole)
		}
	}
}
