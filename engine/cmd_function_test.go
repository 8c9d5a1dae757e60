package engine

import (
	"strings"
	"testing"

	"github.com/echomq/echomq-sim/rdb"
)

func loadCounter(t *testing.T, e *Engine, name string) {
	t.Helper()
	code := "#!lua name=" + name + "\nlocal n = 0 redis.register_function('" + name + "', function() n = n + 1 return n end)"
	if v := e.Do("FUNCTION", "LOAD", code); v.IsErr() {
		t.Fatal(v.Str)
	}
}

func TestLibrariesInSnapshots(t *testing.T) {
	e := newBusyEngine(t)
	e.Do("FUNCTION", "FLUSH")
	loadCounter(t, e, "a")
	e.Do("FCALL", "a", "0")
	s := e.Snapshot()
	loadCounter(t, e, "b")
	e.Do("FUNCTION", "DELETE", "a")

	other := newBusyEngine(t)
	for _, e := range []*Engine{e, other, e} {
		e.Restore(s)
		for want := int64(1); want <= 2; want++ { // its variables are new
			if got := e.Do("FCALL", "a", "0"); got.Int != want {
				t.Errorf("a gives %v, want %d", got, want)
			}
		}
		if got := e.Do("FCALL", "b", "0"); got.Str != "ERR Function not found" {
			t.Errorf("b gives %v", got)
		}
		if e.Do("FLUSHALL"); e.Do("FCALL", "a", "0").Int != 3 {
			t.Error("FLUSHALL touched the functions")
		}
	}
}

func TestFunctionLoadHasALimit(t *testing.T) {
	e := newBusyEngine(t)
	code := "#!lua name=x\nwhile true do end"
	dump := rdb.DumpLibraries([]string{code}, true)
	for _, cmd := range [][]string{{"FUNCTION", "LOAD", code}, {"FUNCTION", "RESTORE", dump}} {
		if got := e.Do(cmd...); got.Str != "ERR Error registering functions: ERR FUNCTION LOAD timeout" {
			t.Errorf("%s: %q", cmd[1], got.Str)
		}
	}
	if got := e.Do("FCALL", "count", "0"); got.Int != 1 {
		t.Errorf("afterwards %v", got)
	}
}

func TestFunctionRestore(t *testing.T) {
	e := newBusyEngine(t)
	dump := e.Do("FUNCTION", "DUMP").Str
	list := func() string { return strings.Join(e.libraryNames(), " ") }
	for _, c := range []struct {
		do          []string
		reply, libs string
	}{
		{[]string{"RESTORE", dump}, "ERR Library lib already exists", "lib"},
		{[]string{"RESTORE", dump, "REPLACE"}, "OK", "lib"},
		{[]string{"LOAD", "#!lua name=other\nredis.register_function('z', function() end)"}, "other", "lib other"},
		{[]string{"RESTORE", dump, "FLUSH"}, "OK", "lib"},
		{[]string{"FLUSH"}, "OK", ""},
		{[]string{"LOAD", "#!lua name=other\nredis.register_function('LOOP', function() end)"}, "other", "other"},
		{[]string{"RESTORE", dump, "REPLACE"}, "ERR Function loop already exists", "other"},
		{[]string{"RESTORE", rdb.Seal([]byte{1})}, "ERR given type is not a function", "other"},
		{[]string{"RESTORE", rdb.Seal([]byte{246})}, "ERR Pre-GA function format not supported", "other"},
		{[]string{"RESTORE", rdb.Seal([]byte{245, 0xc3, 1})}, "ERR Failed loading library payload", "other"},
		{[]string{"RESTORE", rdb.Seal(nil), "FLUSH"}, "OK", ""},
	} {
		got := e.Do(append([]string{"FUNCTION"}, c.do...)...)
		if got.Str != c.reply || list() != c.libs {
			t.Errorf("%.30q gives %q and leaves %q", c.do, got.Str, list())
		}
	}
}

func (e *Engine) libraryNames() (names []string) {
	for _, lib := range e.core.functions.libraries {
		names = append(names, lib.Name)
	}
	return names
}
