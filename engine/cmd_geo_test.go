package engine

import (
	"fmt"
	"testing"
)

// The events of members that stay where they are, and of results that are kept.
func TestGeoEvents(t *testing.T) {
	e := zsetEngine(t, 0)
	var got []string
	e.core.onKeyEvent = func(ev KeyEvent) {
		got = append(got, fmt.Sprintf("%c %s %s", ev.Class, ev.Event, ev.Key))
	}
	for _, args := range [][]string{
		{"GEOADD", "k", "1", "1", "a", "2", "2", "b"}, {"GEOADD", "k", "1", "1", "a"},
		{"GEOSEARCHSTORE", "d", "k", "FROMMEMBER", "a", "BYRADIUS", "1000", "km"},
		{"GEOSEARCHSTORE", "d", "k", "FROMLONLAT", "100", "1", "BYRADIUS", "1", "km"},
		{"GEORADIUS", "k", "1", "1", "1", "m", "STORE", "d"}, {"GEORADIUSBYMEMBER", "none", "a", "1", "m", "STORE", "d"},
		{"GEORADIUSBYMEMBER", "none", "a", "1", "m", "STORE", "d"},
	} {
		if v := e.Do(args...); v.IsErr() {
			t.Fatalf("%v: %s", args, v.Str)
		}
	}
	want := []string{"n new k", "z zadd k", "n new d", "z geosearchstore d", "g del d", "n new d", "z georadiusstore d",
		"m keymiss none", "g del d", "m keymiss none"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
