package engine

import (
	"strings"
	"testing"
	"time"
)

// TestWatchOfStaleKeys replaces a database under watched keys whose time has passed but
// which are still there.
func TestWatchOfStaleKeys(t *testing.T) {
	for _, test := range []struct {
		name, prepare, replace, want string
	}{
		{"flushed", "SET x 1 PX 1", "FLUSHDB", "*\n  +PONG"},
		{"flushed and set", "SET x 1 PX 1", "FLUSHDB; SET x 2", "_"},
		{"swapped away", "SET x 1 PX 1", "SWAPDB 0 1", "*\n  +PONG"},
		{"stale for stale", "SET x 1 PX 1; SELECT 1; SET x 2 PX 1; SELECT 0", "SWAPDB 0 1", "*\n  +PONG"},
		{"stale for nothing", "SELECT 1; SET x 2 PX 1; SELECT 0", "SWAPDB 0 1", "*\n  +PONG"},
		{"live for stale", "SET x 1 PX 1; SELECT 1; SET x 2; SELECT 0", "SWAPDB 0 1", "_"},
		{"stale for live", "SET x 1; SELECT 1; SET x 2 PX 1; SELECT 0", "SWAPDB 0 1", "_"},
	} {
		e := newManualEngine(t)
		run := func(commands string) {
			for _, command := range strings.Split(commands, "; ") {
				e.Do(strings.Fields(command)...)
			}
		}
		run("DEBUG SET-ACTIVE-EXPIRE 0; " + test.prepare)
		e.Advance(2 * time.Millisecond)
		run("WATCH x; " + test.replace + "; MULTI; PING")
		if got := shown(e.Do("EXEC")); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}
