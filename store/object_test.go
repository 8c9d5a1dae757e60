package store

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

func viewOf(b []byte) string { return unsafe.String(&b[0], len(b)) }

func wantEncoding(t *testing.T, o *Object, want string) {
	t.Helper()
	if got := o.Encoding(); got != want {
		t.Errorf("encoding %q, want %q", got, want)
	}
}

// The expectations of the tests below were recorded from valkey-server 8.0.1, but for
// field deadlines, which it does not have.

func TestStringEncoding(t *testing.T) {
	for s, want := range map[string]string{
		"1": "int", "0": "int", "-1": "int", "01": "embstr", "-0": "embstr", "+1": "embstr", "1 ": "embstr", "": "embstr",
		"9223372036854775807": "int", "9223372036854775808": "embstr", "-9223372036854775808": "int", "1.5": "embstr",
		strings.Repeat("a", 44): "embstr", strings.Repeat("a", 45): "raw",
	} {
		if got := NewString(s).Encoding(); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestStringEncodingSticks(t *testing.T) {
	o := NewString("12")
	o.AppendStr("")
	wantEncoding(t, o, "raw")
	wantEncoding(t, o.Clone(), "raw")
	o.SetStr("13")
	wantEncoding(t, o, "int")
	o.SetStrPlain("3")
	wantEncoding(t, o, "embstr")
	o.SetRange(0, "")
	wantEncoding(t, o, "raw")
	if o.Str() != "3" || o.StrLen() != 1 || o.StrByte(0) != '3' || o.StrByte(1) != 0 {
		t.Errorf("string is %q", o.Str())
	}
}

func TestHashEncoding(t *testing.T) {
	l := DefaultLimits()
	o := NewHash(l)
	h := o.Hash()
	h.Set("a", "1")
	wantEncoding(t, o, "listpack")
	h.Set("b", strings.Repeat("a", 64))
	wantEncoding(t, o, "listpack")
	h.Set("b", strings.Repeat("a", 65))
	wantEncoding(t, o, "hashtable")
	h.Del("b")
	wantEncoding(t, o, "hashtable")
	wantEncoding(t, o.Clone(), "hashtable")

	o = NewHash(l)
	for i := range 512 {
		o.Hash().Set(strconv.Itoa(i), "x")
	}
	wantEncoding(t, o, "listpack")
	o.Hash().Set("512", "x")
	wantEncoding(t, o, "hashtable")

	o = NewHash(l)
	o.Hash().Set("f", "x")
	o.Hash().SetDeadline("f", 0)
	wantEncoding(t, o, "listpack")
	o.Hash().SetDeadline("f", 5)
	o.Hash().SetDeadline("f", 0)
	wantEncoding(t, o, "hashtable")

	l.HashMaxListpackEntries = 2
	o = NewHash(l)
	o.Hash().Expect(2, 0)
	wantEncoding(t, o, "listpack")
	o.Hash().Expect(3, 0) // HSET k a 1 a 1 a 1
	o.Hash().Set("a", "1")
	wantEncoding(t, o, "hashtable")
}

// TestHashOrder pins that a "listpack" keeps the order of insertion, through updates.
func TestHashOrder(t *testing.T) {
	h := NewHash(DefaultLimits()).Hash()
	var want []string
	for i := range 512 {
		f := "f" + strconv.Itoa(i*7919%512)
		want = append(want, f)
		h.Set(f, "x")
	}
	for i := range 512 {
		h.Set("f"+strconv.Itoa(i), strings.Repeat("y", i%64))
	}
	h.Del("f3")
	h.Set("f3", "again")
	i := slices.Index(want, "f3")
	want = append(slices.Delete(want, i, i+1), "f3")
	var got []string
	h.Ascend(func(f, _ string) bool { got = append(got, f); return true })
	if !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
	got = nil
	h.AscendFrom(500, func(f, _ string) bool { got = append(got, f); return true })
	if !slices.Equal(got, want[500:]) {
		t.Errorf("from 500: %v, want %v", got, want[500:])
	}
	h.AscendSorted("f99", func(f, _ string) bool {
		if f != "f99" {
			t.Errorf("first field from f99 is %q", f)
		}
		return false
	})
}

// TestHashLengths crosses the lengths at which the lengths of lengths change.
func TestHashLengths(t *testing.T) {
	h := NewHash(DefaultLimits()).Hash()
	lengths := []int{0, 1, 127, 128, 129, 5, 300, 127, 0, 128, 16383, 16384, 100, 2}
	for _, name := range []int{1, 127, 128, 200} {
		h.Set("before", "b")
		field := strings.Repeat("n", name)
		for _, n := range lengths {
			h.Set(field, strings.Repeat("v", n))
			h.Set("after", "a")
			if v, ok := h.Get(field); !ok || v != strings.Repeat("v", n) {
				t.Fatalf("name of %d, value of %d bytes: got %d bytes", name, n, len(v))
			}
			if err := h.check(); err != nil {
				t.Fatal(err)
			}
		}
		h.Del(field)
	}
	if h.Len() != 2 {
		t.Errorf("%d fields, want 2", h.Len())
	}
}

func TestZSetEncoding(t *testing.T) {
	l := DefaultLimits()
	o := NewZSet(l)
	for i := range 128 {
		o.ZSet().Set(strconv.Itoa(i), 1)
	}
	wantEncoding(t, o, "listpack")
	o.ZSet().Set("128", 1)
	wantEncoding(t, o, "skiplist")
	o.ZSet().RemoveRange(0, 128)
	wantEncoding(t, o, "skiplist")
	wantEncoding(t, o.Clone(), "skiplist")

	o = NewZSet(l)
	o.ZSet().Set(strings.Repeat("a", 64), 1)
	wantEncoding(t, o, "listpack")
	o.ZSet().Set(strings.Repeat("a", 65), 1)
	wantEncoding(t, o, "skiplist")

	l.ZSetMaxListpackEntries = 2
	o = NewZSet(l)
	o.ZSet().Expect(3, 1) // ZADD k 1 a 1 a 1 a
	wantEncoding(t, o, "skiplist")
	l.ZSetMaxListpackEntries = 0
	o = NewZSet(l)
	o.ZSet().Set("a", 1)
	wantEncoding(t, o, "skiplist")
}

// TestNegativeZero pins that a "listpack" has none, that a "skiplist" has, and that an
// equal score is not replaced.
func TestNegativeZero(t *testing.T) {
	minus := math.Copysign(0, -1)
	l := DefaultLimits()
	l.ZSetMaxListpackEntries = 2
	z := NewZSet(l).ZSet()
	for _, m := range []string{"a", "b", "c"} {
		z.Set(m, minus)
	}
	z.Set("c", 0)
	z.Set("d", 0)
	z.Set("d", minus)
	z.Set("e", 1)
	z.Set("e", minus)
	for m, want := range map[string]bool{"a": false, "b": false, "c": true, "d": false, "e": true} {
		if s, _ := z.Score(m); math.Signbit(s) != want {
			t.Errorf("score of %s is %v", m, s)
		}
	}
	if r, _ := z.Rank("e"); r != 4 {
		t.Errorf("rank of e is %d, want 4", r)
	}
}

func TestScoreSpan(t *testing.T) {
	inf := math.Inf(1)
	z := NewZSet(DefaultLimits()).ZSet()
	for i, s := range []float64{-inf, -1, 0, 0, 0.5, 1, 1, inf, inf} {
		z.Set(string(rune('a'+i)), s)
	}
	for _, c := range []struct {
		r          ScoreRange
		first, end int
	}{
		{ScoreRange{Min: -inf, Max: inf}, 0, 9},
		{ScoreRange{Min: -inf, Max: inf, MinEx: true, MaxEx: true}, 1, 7},
		{ScoreRange{Min: inf, Max: inf}, 7, 9},
		{ScoreRange{Min: inf, Max: inf, MinEx: true}, 9, 9},
		{ScoreRange{Min: -inf, Max: -inf}, 0, 1},
		{ScoreRange{Min: 0, Max: 1}, 2, 7},
		{ScoreRange{Min: 0, Max: 1, MinEx: true, MaxEx: true}, 4, 5},
		{ScoreRange{Min: math.Copysign(0, -1), Max: 0, MaxEx: true}, 2, 2},
		{ScoreRange{Min: 1, Max: 0}, 5, 5},
		{ScoreRange{Min: 2, Max: 3}, 7, 7},
	} {
		if first, end := z.ScoreSpan(c.r); first != c.first || end != c.end {
			t.Errorf("%+v: %d %d, want %d %d", c.r, first, end, c.first, c.end)
		}
	}
}

func TestLexSpan(t *testing.T) {
	z := NewZSet(DefaultLimits()).ZSet()
	for _, m := range []string{"", "a", "a\x00", "b", "c", "\xff"} {
		z.Set(m, 7)
	}
	for _, c := range []struct {
		r          LexRange
		first, end int
	}{
		{LexRange{MinInf: LexMinus, MaxInf: LexPlus}, 0, 6},
		{LexRange{MinInf: LexPlus, MaxInf: LexMinus}, 6, 6},
		{LexRange{MinInf: LexMinus, MaxInf: LexMinus}, 0, 0},
		{LexRange{Min: "a", Max: "b"}, 1, 4},
		{LexRange{Min: "a", Max: "b", MinEx: true, MaxEx: true}, 2, 3},
		{LexRange{Min: "", Max: "a", MinEx: true}, 1, 2},
		{LexRange{Min: "aa", MaxInf: LexPlus}, 3, 6},
		{LexRange{Min: "b", Max: "a"}, 3, 3},
	} {
		if first, end := z.LexSpan(c.r); first != c.first || end != c.end {
			t.Errorf("%+v: %d %d, want %d %d", c.r, first, end, c.first, c.end)
		}
	}
	n := 0
	z.AscendSorted("a\x00", func(string, float64) bool { n++; return true })
	if n != 4 {
		t.Errorf("%d members from a NUL on, want 4", n)
	}
}

func TestDueOrder(t *testing.T) {
	db := NewDB(DefaultLimits())
	o := NewHash(db.Limits())
	db.Put("h", o)
	h := o.Hash() // deadlines set through a view got before are found too
	h.Set("f", "1")
	h.Set("g", "1")
	h.SetDeadline("f", 50)
	h.SetDeadline("g", 40)
	db.SetExpire("h", 40)
	db.Put("s", NewString("x"))
	db.SetExpire("s", 45)
	type due struct {
		key   string
		at    int64
		field bool
	}
	next := func() due {
		key, at, field, _ := db.Due(100)
		return due{key, at, field}
	}
	if _, _, _, ok := db.Due(39); ok {
		t.Error("something is due before its deadline")
	}
	if got := next(); got != (due{"h", 40, false}) {
		t.Errorf("first %v", got)
	}
	db.SetExpire("h", 0)
	if got := next(); got != (due{"h", 40, true}) {
		t.Errorf("second %v", got)
	}
	db.Write("h").Hash().Set("g", "2") // HSET takes the deadline away
	if got := next(); got != (due{"s", 45, false}) {
		t.Errorf("third %v", got)
	}
	db.Put("s", NewString("y"))
	if got := next(); got != (due{"h", 50, true}) {
		t.Errorf("fourth %v", got)
	}
	db.Put("i", db.Remove("h")) // RENAME
	if got := next(); got != (due{"i", 50, true}) {
		t.Errorf("fifth %v", got)
	}
	if got := db.Write("i").Hash().PopExpired(50); !slices.Equal(got, []string{"f"}) {
		t.Errorf("expired fields %v", got)
	}
	if at, ok := db.NextDeadline(); ok || db.ExpiresLen() != 0 {
		t.Errorf("left: %d, %d keys", at, db.ExpiresLen())
	}
	if db.SetExpire("none", 1) || db.Write("none") != nil || db.Remove("none") != nil {
		t.Error("an absent key is there")
	}
}

// TestCheckFinds pins that Check notices each kind of damage.
func TestCheckFinds(t *testing.T) {
	for name, damage := range map[string]func(db *DB){
		"key order":      func(db *DB) { db.keys.head.items()[0].key = "zz" },
		"key count":      func(db *DB) { db.keys.n++ },
		"expire count":   func(db *DB) { db.expires++ },
		"expire":         func(db *DB) { db.Write("s").expire = 6 },
		"deadline left":  func(db *DB) { db.due.Set(deadline{at: 1, key: "s"}) },
		"field deadline": func(db *DB) { db.due.Delete(deadline{9, "h", true}) },
		"field index":    func(db *DB) { db.Write("h").Hash().ext.ttl.byTime.Delete(atField{9, "f"}) },
		"hash count":     func(db *DB) { db.Write("h").Hash().n++ },
		"hash twice":     func(db *DB) { h := db.Write("h").Hash(); h.pack.add("f", ""); h.n++ },
		"zset index": func(db *DB) {
			e, _ := db.Write("z").ZSet().members.ref(indexed{member: "3"})
			e.score = 1
		},
		"zset members": func(db *DB) { db.Write("z").ZSet().members.Delete(indexed{member: "3"}) },
		"zset order":   func(db *DB) { db.Write("z").ZSet().members = nil },
		"string int":   func(db *DB) { db.Write("s").str().buf = []byte("x") },
	} {
		db := NewDB(DefaultLimits())
		db.Put("s", NewString("1"))
		db.SetExpire("s", 5)
		db.Put("h", NewHash(db.Limits()))
		db.Write("h").Hash().Set("f", "v")
		db.Write("h").Hash().SetDeadline("f", 9)
		db.Put("z", NewZSet(db.Limits()))
		for i := range 100 {
			db.Write("z").ZSet().Set(strconv.Itoa(i), float64(i))
		}
		if err := db.Check(); err != nil {
			t.Fatal(err)
		}
		damage(db)
		if db.Check() == nil {
			t.Errorf("%s: not noticed", name)
		}
	}
}
