package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/echomq/echomq-sim/resp"
)

// slowCommands are the commands in the slow log, the latest first.
func slowCommands(e *Engine) (out []string) {
	for _, entry := range e.Do("SLOWLOG", "GET", "-1").Elems {
		var words []string
		for _, a := range entry.Elems[3].Elems {
			words = append(words, a.Str)
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

func TestSlowlogOfBlockedClients(t *testing.T) {
	e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
	c := serveTest(t, e).dial()
	c.do("+OK", "CLIENT", "SETNAME", "waiter")
	e.Do("CONFIG", "SET", "slowlog-log-slower-than", "0")
	e.Do("SLOWLOG", "RESET")
	c.send("BLPOP", "list", "1")
	e.waitBlocked(1)
	if slices.Contains(slowCommands(e), "BLPOP list 1") {
		t.Error("a command that waits is logged")
	}
	e.Do("RPUSH", "list", "x")
	c.want("*\n  $list\n  $x")
	if got := slowCommands(e); !slices.Contains(got, "BLPOP list 1") {
		t.Errorf("a command that waited is not logged: %q", got)
	}
	e.Do("SLOWLOG", "RESET")
	c.send("BLPOP", "list", "1")
	e.waitBlocked(1)
	e.Advance(2 * time.Second)
	c.want("_*")
	entry := e.Do("SLOWLOG", "GET", "1").Elems[0].Elems
	if entry[3].Elems[0].Str != "BLPOP" || entry[2].Int != 0 || entry[5].Str != "waiter" {
		t.Errorf("a command that timed out: %s", resp.Format(resp.Array(entry...)))
	}
}

// TestDurations: DEBUG SLEEP is the time of its command, of each in a transaction.
func TestDurations(t *testing.T) {
	e := newTestEngine(t, nil)
	e.Do("CONFIG", "SET", "slowlog-log-slower-than", "2000", "latency-monitor-threshold", "2")
	e.Do("MULTI")
	e.Do("DEBUG", "SLEEP", "0.002")
	e.Do("DEBUG", "SLEEP", "0.003")
	e.Do("EXEC")
	log := e.Do("SLOWLOG", "GET", "2").Elems
	if len(log) != 2 || log[0].Elems[3].Elems[2].Str != "0.003" || log[0].Elems[2].Int < 3000 || log[1].Elems[2].Int < 2000 {
		t.Fatalf("%s", resp.Format(resp.Array(log...)))
	}
	latest := e.Do("LATENCY", "LATEST").Elems
	if len(latest) == 0 || latest[0].Elems[0].Str != "command" || latest[0].Elems[3].Int < 5 {
		t.Errorf("LATENCY LATEST: %s", resp.Format(resp.Array(latest...))) // EXEC slept for both
	}
}

func TestLatencySeries(t *testing.T) {
	var l latencySeries
	for i := range int64(200) {
		l.add(latencySample{1000 + i, 100 + i})
		l.add(latencySample{1000 + i, 50})
	}
	if n := len(l.samples); n != maxLatencySamples || l.samples[0] != (latencySample{1040, 140}) || l.max != 299 {
		t.Fatalf("%d samples from %v, the longest %d", n, l.samples[0], l.max)
	}
	lines := strings.Split(l.graph("command", 1259), "\n")
	if lines[0] != "command - high 299 ms, low 140 ms (all time high 299 ms)" || len(lines[2]) != graphColumns {
		t.Errorf("%q", lines)
	}
	if got, want := l.summary(1259), "160 latency spikes (average 219ms, mean deviation 40ms, period 1.37 sec). Worst all time event 299ms."; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for sec, want := range map[int64]string{59: "59s", 60: "1m", 3600: "1h", 86400: "1d"} {
		if got := ago(sec); got != want {
			t.Errorf("%d seconds are %s, want %s", sec, got, want)
		}
	}
}

func TestLatencyLevels(t *testing.T) {
	var h latencyHistogram
	for _, usec := range []int64{0, 1, 2, 33, 34, 66, 528, 529, 1 << 40} {
		h.add(usec)
	}
	if got, want := resp.Format(h.reply().Elems[3]), "%\n  :1  :2\n  :2  :3\n  :33  :4\n  :66  :6\n  :528  :7\n  :1056  :8\n  :1082130  :9"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestParameterNames: no name comes twice, whether it acts or not.
func TestParameterNames(t *testing.T) {
	seen := map[string]bool{}
	e := newTestEngine(t, nil)
	all := parameters()
	for i := range all {
		p := &all[i]
		if seen[p.name] {
			t.Errorf("%s is there twice", p.name)
		}
		seen[p.name] = true
		if p.set == nil {
			continue
		}
		value := p.get(&e.core)
		if why := p.set(&e.core, value); why != "" && !strings.Contains(why, "protected") {
			t.Errorf("%s can't be set to %q, which it is: %s", p.name, value, why)
		}
		if got := p.get(&e.core); got != value {
			t.Errorf("%s was %q, is %q", p.name, value, got)
		}
	}
}

func TestInertParameters(t *testing.T) {
	e := newTestEngine(t, nil)
	const want = "ERR CONFIG SET failed (possibly related to argument 'locale-collate') - this simulator does not act on it, it stays at ''"
	if v := e.Do("CONFIG", "SET", "hz", "50", "locale-collate", "C"); v.Str != want {
		t.Errorf("%s", resp.Format(v))
	}
	if v := e.Do("CONFIG", "GET", "hz"); v.Elems[1].Str != "10" {
		t.Errorf("hz was set: %s", resp.Format(v))
	}
}

func TestErrorsOfScripts(t *testing.T) {
	e := newTestEngine(t, nil)
	for i := range 130 {
		e.Do("EVAL", "return redis.error_reply(ARGV[1] .. ' text')", "0", "CODE"+itoa(i))
	}
	e.Do("INCR")
	info := e.Do("INFO", "errorstats")
	for field, want := range map[string]string{"errorstat_CODE127": "count=1", "errorstat_CODE128": "",
		"errorstat_ERRORSTATS_OVERFLOW": "count=2", "errorstat_ERR": "count=1"} {
		if got := infoField(info, field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
}
