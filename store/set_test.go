package store

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

func newSet(l *Limits, members ...string) *Object {
	o := NewSet(l)
	addMembers(o, members...)
	return o
}

// addMembers adds members as one SADD does.
func addMembers(o *Object, members ...string) {
	o.Set().Expect(members[0], len(members))
	for _, m := range members {
		o.Set().Add(m)
	}
}

func numbers(from, to int) (out []string) {
	for i := from; i < to; i++ {
		out = append(out, strconv.Itoa(i))
	}
	return out
}

// The expectations were recorded from valkey-server 8.0.1.

func TestSetEncoding(t *testing.T) {
	l := DefaultLimits()
	a64, a65 := strings.Repeat("a", 64), strings.Repeat("a", 65)
	wantEncoding(t, newSet(l, "1", "2"), "intset")
	wantEncoding(t, newSet(l, "1", "01"), "listpack")
	wantEncoding(t, newSet(l, "a", "1"), "listpack")
	wantEncoding(t, newSet(l, "1", a64), "listpack")
	wantEncoding(t, newSet(l, "1", a65), "hashtable")
	wantEncoding(t, newSet(l, numbers(0, 512)...), "intset")
	wantEncoding(t, newSet(l, append(numbers(0, 127), "a")...), "listpack")
	wantEncoding(t, newSet(l, append(numbers(0, 128), "a")...), "hashtable")
	wantEncoding(t, newSet(l, slices.Repeat([]string{"a"}, 128)...), "listpack")
	wantEncoding(t, newSet(l, slices.Repeat([]string{"a"}, 129)...), "hashtable")
	wantEncoding(t, newSet(l, slices.Repeat([]string{"1"}, 512)...), "intset")
	wantEncoding(t, newSet(l, slices.Repeat([]string{"1"}, 513)...), "hashtable")

	o := newSet(l, numbers(0, 512)...)
	addMembers(o, "512")
	wantEncoding(t, o, "hashtable")
	for _, m := range numbers(1, 513) {
		o.Set().Remove(m)
	}
	wantEncoding(t, o, "hashtable")
	wantEncoding(t, o.Clone(), "hashtable")
	o.Set().Rebuild()
	wantEncoding(t, o, "listpack")
	o.Set().Compact()
	wantEncoding(t, o, "intset")

	o = newSet(l, "a")
	addMembers(o, slices.Repeat([]string{"a"}, 129)...)
	wantEncoding(t, o, "hashtable")

	l.SetMaxListpackValue = 3
	wantEncoding(t, newSet(l, "1000", "a"), "hashtable")
	wantEncoding(t, newSet(l, "-99", "a"), "listpack")
	l.SetMaxIntsetEntries = 0
	wantEncoding(t, newSet(l, "1"), "listpack")
}

func TestSetOrder(t *testing.T) {
	l := DefaultLimits()
	l.SetMaxListpackEntries = 1000
	o := newSet(l, "10", "9", "-1", "9223372036854775807", "-9223372036854775808", "100")
	want := []string{"-9223372036854775808", "-1", "9", "10", "100", "9223372036854775807"}
	wantMembers(t, o, want)
	addMembers(o, "z")
	addMembers(o, "b", "5")
	o.Set().Remove("9")
	addMembers(o, "9")
	want = append(slices.Delete(want, 2, 3), "z", "b", "5", "9")
	wantMembers(t, o, want)

	// What is too long to be looked through goes in byte order, whatever the encoding.
	more := numbers(1000, 1600)
	addMembers(o, more...)
	want = append(want, more...)
	slices.Sort(want)
	wantMembers(t, o, want)
	wantEncoding(t, o, "listpack")
	l.SetMaxIntsetEntries = 1000
	o = newSet(l, more...)
	addMembers(o, "a")
	wantMembers(t, o, append(more, "a"))
	wantEncoding(t, o, "listpack")
}

func wantMembers(t *testing.T, o *Object, want []string) {
	t.Helper()
	var got []string
	o.Set().Ascend(func(m string) bool { got = append(got, m); return true })
	if !slices.Equal(got, want) {
		t.Errorf("members %q, want %q", got, want)
	}
	if err := o.body().check(); err != nil {
		t.Error(err)
	}
}
