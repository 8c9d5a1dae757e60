package engine

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// Whatever a string holds behind a HyperLogLog's header, the commands answer, and what
// they leave behind is a HyperLogLog that they can read.
func TestHLLCorrupt(t *testing.T) {
	e := zsetEngine(t, 0)
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 3000 {
		body := make([]byte, r.IntN(40))
		for i := range body {
			body[i] = byte(r.Uint32())
		}
		key := "h" + strconv.Itoa(n%3)
		e.Do("SET", key, "HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80"+string(body))
		for _, args := range [][]string{
			{"PFADD", key, strconv.Itoa(n), "a", "b"}, {"PFCOUNT", key}, {"PFCOUNT", "h0", "h1", "h2"}, {"PFDEBUG", "DECODE", key},
			{"PFMERGE", "d", key}, {"PFMERGE", key, "d"}, {"PFDEBUG", "ENCODING", key}, {"PFDEBUG", "TODENSE", key}, {"PFADD", key, "c"},
		} {
			switch v := e.Do(args...); v.Str {
			case errNoHLL.Str, errWrongType.Str:
				t.Fatalf("%q after body %q: %s", args, body, v.Str)
			}
		}
	}
	if v := e.Do("PFCOUNT", "d"); v.IsErr() {
		t.Errorf("the union of what was sound: %s", v.Str)
	}
}

// Estimates stay near the truth on the way from sparse to dense.
func TestHLLEstimate(t *testing.T) {
	e := zsetEngine(t, 0)
	for n := int64(1); n <= 30000; n++ {
		e.Do("PFADD", "h", strconv.FormatInt(n, 10))
		if n%1000 == 0 {
			got := e.Do("PFCOUNT", "h").Int
			if off := max(got-n, n-got); off*25 > n { // 4 %, five standard errors
				t.Errorf("%d elements are estimated as %d", n, got)
			}
		}
	}
	if v := e.Do("PFDEBUG", "ENCODING", "h"); v.Str != "dense" {
		t.Errorf("30000 elements are %s", v.Str)
	}
}
