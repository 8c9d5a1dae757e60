package resp

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadRoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	var sent3, sent2 []byte
	var values []Value
	for range 3000 {
		v := randomValue(rnd, 4)
		values = append(values, v)
		sent3 = Append(sent3, &v, 3)
		sent2 = Append(sent2, &v, 2)
	}
	r3 := NewReader(bytes.NewReader(sent3))
	r2 := NewReader(iotest.OneByteReader(bytes.NewReader(sent2)))
	for i, want := range values {
		got, err := r3.Read()
		if err != nil || !equalValues(got, want) {
			t.Fatalf("value %d in RESP3: got %s, %v\nwant %s", i, Format(got), err, Format(want))
		}
		got, err = r2.Read()
		if err != nil || !equalValues(got, resp2Form(want)) {
			t.Fatalf("value %d in RESP2: got %s, %v\nsent %s", i, Format(got), err, Format(want))
		}
	}
	for _, r := range []*Reader{r2, r3} {
		if _, err := r.Read(); err != io.EOF {
			t.Errorf("after the last value: %v", err)
		}
	}
}

// resp2Form is what a RESP2 client sees of v.
func resp2Form(v Value) Value {
	switch v.Kind {
	case KindDouble:
		return Bulk(FormatDouble(v.Num()))
	case KindBool:
		return Int(v.Int)
	case KindBigNum, KindVerbatim:
		return Bulk(v.Str)
	}
	if !hasElems(&v) {
		return v
	}
	flat := Array()
	for _, e := range v.Elems {
		flat.Elems = append(flat.Elems, resp2Form(e))
	}
	return flat
}

// randomValue makes every kind that RESP3 can tell apart.
func randomValue(rnd *rand.Rand, depth int) Value {
	kinds := 10
	if depth > 0 {
		kinds = 14
	}
	switch rnd.Intn(kinds) {
	case 0:
		return Null
	case 1:
		return Simple("line " + strings.Repeat("x", rnd.Intn(20)))
	case 2:
		return Err("ERR " + strings.Repeat("y", rnd.Intn(20)))
	case 3, 4:
		return Int(int64(rnd.Uint64()) >> rnd.Intn(64))
	case 5, 6:
		return Bulk(strings.Repeat("a\r\n\x00", rnd.Intn(2000)))
	case 7:
		return Double(rnd.NormFloat64() * math.Pow(10, float64(rnd.Intn(40)-20)))
	case 8:
		return Bool(rnd.Intn(2) == 0)
	case 9:
		if rnd.Intn(2) == 0 {
			return BigNum("-12345678901234567890123")
		}
		return Verbatim("some\ntext")
	}
	kind := []Kind{KindArray, KindMap, KindSet, KindPush}[rnd.Intn(4)]
	v := Value{Kind: kind}
	for range 2 * rnd.Intn(4) {
		v.Elems = append(v.Elems, randomValue(rnd, depth-1))
	}
	return v
}

func TestReadMalformed(t *testing.T) {
	for _, in := range []string{
		"\r\n", "OK\r\n", "+OK\n", ":\r\n", ":1x\r\n", ":99999999999999999999\r\n", "$x\r\n", "$-2\r\n",
		"$9223372036854775807\r\n", "*-2\r\n", "*9223372036854775807\r\n", "%4611686018427387904\r\n",
		"$1\r\nabc\r\n", "#x\r\n", "_x\r\n", ",x\r\n", ",0x1p-2\r\n", ",1e999\r\n", "(\r\n", "(1-\r\n",
		"=3\r\nabc\r\n", "=4\r\nabcd\r\n", "=-1\r\n", "!-1\r\n", "~-1\r\n", "%-1\r\n", "|1\r\n", "$?\r\n", "*?\r\n",
	} {
		if v, err := NewReader(strings.NewReader(in)).Read(); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: got %s, %v", in, Format(v), err)
		}
	}
	for _, in := range []string{"+OK", "+OK\r", "$3\r\nab", "$3\r\nabc", "$3\r\nabc\r", "*2\r\n:1\r\n", "*1\r\n", "$1000000000\r\nabc"} {
		if v, err := NewReader(strings.NewReader(in)).Read(); err != io.ErrUnexpectedEOF {
			t.Errorf("%q: got %s, %v", in, Format(v), err)
		}
	}
}

func TestReadLimits(t *testing.T) {
	r := NewReader(strings.NewReader("*1\r\n*1\r\n*1\r\n:1\r\n"))
	r.MaxDepth = 2
	if _, err := r.Read(); !errors.Is(err, ErrMalformed) {
		t.Errorf("three levels with a limit of two: %v", err)
	}
	for _, in := range []string{"$200\r\n", "*100\r\n", "+" + longText, "*3\r\n$50\r\n" + longText[:50] + "\r\n$50\r\n" + longText[:50] + "\r\n"} {
		r := NewReader(strings.NewReader(in))
		r.MaxSize = 100
		if _, err := r.Read(); !errors.Is(err, ErrMalformed) {
			t.Errorf("%.20q with a limit of 100 bytes: %v", in, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, in := range []string{
		"+OK\r\n-ERR x\r\n:1\r\n$3\r\nabc\r\n*2\r\n_\r\n#t\r\n", "%1\r\n+a\r\n,1.5\r\n", "~1\r\n(12\r\n>1\r\n=5\r\ntxt:a\r\n",
		"*-1\r\n$-1\r\n", "$9223372036854775807\r\n", "*1\r\n$9223372036854775807\r\n", "!3\r\nERR\r\n", "*2147483647\r\n",
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewReader(bytes.NewReader(in))
		r.MaxSize = 1 << 20
		for {
			v, err := r.Read()
			if err != nil {
				return
			}
			wire := Append(nil, &v, 3)
			again, err := NewReader(bytes.NewReader(wire)).Read()
			if v.Kind != KindNullArray && (err != nil || !bytes.Equal(Append(nil, &again, 3), wire)) {
				t.Fatalf("%s sent as %q read as %s, %v", Format(v), wire, Format(again), err)
			}
		}
	})
}
