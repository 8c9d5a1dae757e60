package engine

import (
	"strings"
	"testing"

	"github.com/echomq/echomq-sim/resp"
)

// A Write over memory returns while what it asked for lasts, whatever that is and however
// short it was when it ran last.
func TestWriteIsNotKept(t *testing.T) {
	e := newBusyEngine(t)
	s := serveTest(t, e)
	c := s.dial()
	loop, find := "for i = 1, tonumber(ARGV[1]) do end", "return (string.rep('a', 300000)):find(ARGV[1])"
	e.Do("FUNCTION", "LOAD", "#!lua name=lib2\nredis.register_function('upto', function(_, argv) "+strings.ReplaceAll(loop, "ARGV", "argv")+" end)")
	for _, run := range [][]string{
		{"EVAL|while true do end|0"},
		{"EVAL|" + loop + "|0|1", "EVAL|" + loop + "|0|1e15"},
		{"EVAL|" + find + "|0|b", "EVAL|" + find + "|0|" + strings.Repeat("a?", 300) + "b"},
		{"FCALL|upto|0|1", "FCALL|upto|0|1e15"},
		{"EVAL|" + loop + "|0|2", "MULTI", "EVAL|" + loop + "|0|1e15", "EXEC"},
	} {
		for _, cmd := range run[:len(run)-1] {
			c.get(strings.Split(cmd, "|")...)
		}
		last := run[len(run)-1]
		c.send(strings.Split(last, "|")...)
		untilBusy(t, e)
		kill := "SCRIPT"
		if strings.HasPrefix(last, "FCALL") {
			kill = "FUNCTION"
		}
		e.Do(kill, "KILL")
		if v, err := c.c.Receive(); err != nil || !strings.Contains(resp.Format(v), "killed by user") {
			t.Errorf("%s: %s %v", run, resp.Format(v), err)
		}
	}
	s.dial().do("+PONG", "PING")
	e.mu.Lock() // as in another's turn
	c.send("PING")
	e.mu.Unlock()
	c.want("+PONG")
}
