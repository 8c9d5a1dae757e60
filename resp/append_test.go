package resp

import (
	"math"
	"strings"
	"testing"
)

func TestAppend(t *testing.T) {
	double := Double(1.5)
	for _, tt := range []struct {
		name         string
		v            Value
		resp2, resp3 string
	}{
		{"null", Null, "$-1\r\n", "_\r\n"},
		{"null array", NullArray, "*-1\r\n", "_\r\n"},
		{"simple", OK, "+OK\r\n", "+OK\r\n"},
		{"simple with line ends", Simple("a\r\nb"), "+a  b\r\n", "+a  b\r\n"},
		{"error", Err("ERR no"), "-ERR no\r\n", "-ERR no\r\n"},
		{"error with line ends", Err("ERR got '\n'"), "-ERR got ' '\r\n", "-ERR got ' '\r\n"},
		{"int", Int(-12), ":-12\r\n", ":-12\r\n"},
		{"smallest int", Int(math.MinInt64), ":-9223372036854775808\r\n", ":-9223372036854775808\r\n"},
		{"bulk", Bulk("a\r\n\x00"), "$4\r\na\r\n\x00\r\n", "$4\r\na\r\n\x00\r\n"},
		{"empty bulk", Bulk(""), "$0\r\n\r\n", "$0\r\n\r\n"},
		{"double", double, "$3\r\n1.5\r\n", ",1.5\r\n"},
		{"whole double", Double(3), "$1\r\n3\r\n", ",3\r\n"},
		{"infinite double", Double(math.Inf(-1)), "$4\r\n-inf\r\n", ",-inf\r\n"},
		{"double with a text", DoubleText("0.10000000000000001"), "$19\r\n0.10000000000000001\r\n", ",0.10000000000000001\r\n"},
		{"true", Bool(true), ":1\r\n", "#t\r\n"},
		{"false", Bool(false), ":0\r\n", "#f\r\n"},
		{"big number", BigNum("-123"), "$4\r\n-123\r\n", "(-123\r\n"},
		{"verbatim", Verbatim("a\nb"), "$3\r\na\nb\r\n", "=7\r\ntxt:a\nb\r\n"},
		{"array", Array(One, Null, Array()), "*3\r\n:1\r\n$-1\r\n*0\r\n", "*3\r\n:1\r\n_\r\n*0\r\n"},
		{"map", Map(Bulk("k"), double), "*2\r\n$1\r\nk\r\n$3\r\n1.5\r\n", "%1\r\n$1\r\nk\r\n,1.5\r\n"},
		{"set", Set(One, Zero), "*2\r\n:1\r\n:0\r\n", "~2\r\n:1\r\n:0\r\n"},
		{"pairs", Pairs(Bulk("a"), double, Bulk("b"), Null),
			"*4\r\n$1\r\na\r\n$3\r\n1.5\r\n$1\r\nb\r\n$-1\r\n",
			"*2\r\n*2\r\n$1\r\na\r\n,1.5\r\n*2\r\n$1\r\nb\r\n_\r\n"},
		{"push", Push(Simple("x"), Bool(true)), "*2\r\n+x\r\n:1\r\n", ">2\r\n+x\r\n#t\r\n"},
		{"none", None, "", ""},
	} {
		if got := string(Append(nil, &tt.v, 2)); got != tt.resp2 {
			t.Errorf("%s in RESP2: got %q, want %q", tt.name, got, tt.resp2)
		}
		if got := string(Append([]byte("x"), &tt.v, 3)); got != "x"+tt.resp3 {
			t.Errorf("%s in RESP3: got %q, want %q", tt.name, got, "x"+tt.resp3)
		}
	}
}

func TestAppendDeep(t *testing.T) {
	const depth = 8000
	v := One
	for range depth {
		v = Array(v)
	}
	want := strings.Repeat("*1\r\n", depth) + ":1\r\n"
	if got := string(Append(nil, &v, 3)); got != want {
		t.Errorf("%d bytes for %d levels, want %d", len(got), depth, len(want))
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	v := Map(Bulk("k"), Double(0.1), Simple("a"), Array(Null, One, Verbatim("t")))
	room := make([]byte, 0, 256)
	for _, proto := range []int{2, 3} {
		if n := testing.AllocsPerRun(100, func() { Append(room, &v, proto) }); n != 0 {
			t.Errorf("RESP%d: %v allocations", proto, n)
		}
	}
}
