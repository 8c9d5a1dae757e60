package resp

import (
	"math"
	"reflect"
	"testing"
)

func TestFormat(t *testing.T) {
	for _, tt := range []struct {
		v    Value
		want string
	}{
		{OK, "+OK"},
		{Err("ERR no such key"), "-ERR no such key"},
		{Int(-2), ":-2"},
		{Null, "_"},
		{NullArray, "_*"},
		{None, "."},
		{Double(1.5), ",1.5"},
		{Double(math.Inf(1)), ",inf"},
		{Bool(true), "#t"},
		{Bool(false), "#f"},
		{BigNum("123"), "(123"},
		{Verbatim("txt"), "=txt"},
		{Bulk(""), "$"},
		{Bulk("plain text"), "$plain text"},
		{Bulk("a\r\n"), `$"a\r\n"`},
		{Bulk(" a"), `$" a"`},
		{Bulk("a  b"), `$"a  b"`},
		{Bulk(`"a"`), `$"\"a\""`},
		{Bulk("\xff\u00e9"), `$"\xff\u00e9"`},
		{Array(), "*0"},
		{Map(), "%0"},
		{Array(One, Array(Bulk("a")), Set()), "*\n  :1\n  *\n    $a\n  ~0"},
		{Map(Bulk("a"), One, Bulk("l"), Array(Null), Bulk("b"), Bulk("")),
			"%\n  $a  :1\n  $l\n  *\n    _\n  $b  $"},
		{Pairs(Bulk("m"), Double(2)), "&\n  $m  ,2"},
		{Push(Bulk("message"), Bulk("ch")), ">\n  $message\n  $ch"},
		{Map(Array(One), Map(One, Zero)), "%\n  *\n    :1\n  %\n    :1  :0"},
	} {
		if got := Format(tt.v); got != tt.want {
			t.Errorf("got %s\nwant %s", got, tt.want)
		}
		got, rest, err := Parse(tt.want + "\n:next")
		if err != nil || rest != ":next" || !reflect.DeepEqual(got, tt.v) {
			t.Errorf("parsed %s: %v, rest %q, error %v", tt.want, got, rest, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"", "\n", "x", ":", ":x", "#x", "_x", ",", "(", "(1x", ".x", "*1", "*", "*\n:1",
		"%\n  :1", "%\n  :1  :2\n  :3", `$"open`, `$"a"b`, `$a  $b`, "*\n  $a  $b", "*\n :1", "\x00", "?",
	} {
		if v, rest, err := Parse(text); err == nil {
			t.Errorf("%q parsed as %v, rest %q", text, v, rest)
		}
	}
}

func TestFormatDeep(t *testing.T) {
	v := One
	for range 500 {
		v = Array(Map(Zero, v))
	}
	got, rest, err := Parse(Format(v))
	if err != nil || rest != "" || !reflect.DeepEqual(got, v) {
		t.Errorf("1000 levels do not read back: rest %q, error %v", rest, err)
	}
}

// FuzzParse checks that what parses reads back from its own text.
func FuzzParse(f *testing.F) {
	f.Add("*\n  $a\n  %\n    $k  :1\n    $l\n    ~0\n:2")
	f.Add("$\"a\\x00\"\n+OK")
	f.Add("&\n  $a  ,1.5\n>\n  _*\n  .")
	f.Fuzz(func(t *testing.T, text string) {
		v, _, err := Parse(text)
		if err != nil {
			return
		}
		again, rest, err := Parse(Format(v))
		if err != nil || rest != "" || !equalValues(again, v) {
			t.Errorf("%q: %v read back as %v, rest %q, error %v", text, v, again, rest, err)
		}
	})
}

// equalValues compares like reflect.DeepEqual but takes no elements and an
// empty slice of them as equal.
func equalValues(a, b Value) bool {
	if a.Kind != b.Kind || a.Int != b.Int || a.Str != b.Str || len(a.Elems) != len(b.Elems) {
		return false
	}
	for i := range a.Elems {
		if !equalValues(a.Elems[i], b.Elems[i]) {
			return false
		}
	}
	return true
}
