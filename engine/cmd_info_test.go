package engine

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/echomq/echomq-sim/resp"
)

func itoa(n int) string { return strconv.Itoa(n) }

// infoField is the value of a field of INFO, empty if there is none.
func infoField(info resp.Value, name string) string {
	for _, l := range strings.Split(info.Str, "\r\n") {
		if k, v, ok := strings.Cut(l, ":"); ok && k == name {
			return v
		}
	}
	return ""
}

// sectionsOf are the titles in a reply of INFO.
func sectionsOf(info resp.Value) string {
	var out []string
	for _, l := range strings.Split(info.Str, "\r\n") {
		if title, ok := strings.CutPrefix(l, "# "); ok {
			out = append(out, title)
		}
	}
	return strings.Join(out, " ")
}

func TestInfoSections(t *testing.T) {
	e := newTestEngine(t, nil)
	const byDefault = "Server Clients Memory Persistence Stats Replication CPU Modules Errorstats Cluster Keyspace"
	const all = "Server Clients Memory Persistence Stats Replication CPU Modules Commandstats Errorstats Latencystats Cluster Keyspace"
	for args, want := range map[string]string{
		"": byDefault, "default": byDefault, "all": all, "Everything": all, "nosuch": "", "CPU server cpu": "Server CPU",
		"default commandstats": strings.Replace(byDefault, "Modules", "Modules Commandstats", 1),
		"module_list":          "Modules", "all nosuch": all,
	} {
		if got := sectionsOf(e.Do(append([]string{"INFO"}, strings.Fields(args)...)...)); got != want {
			t.Errorf("INFO %s\n got: %s\nwant: %s", args, got, want)
		}
	}
	if v := e.Do("INFO", "cluster", "modules"); v.Str != "# Modules\r\n\r\n# Cluster\r\ncluster_enabled:0\r\n" {
		t.Errorf("%q", v.Str)
	}
}

func TestInfoValues(t *testing.T) {
	e := newTestEngine(t, Manual(time.Unix(1e9, 0)))
	e.Do("SET", "k", "v")
	e.Do("SET", "ttl", "v", "EX", "100")
	e.Do("GET", "k")
	e.Do("GET", "nosuch")
	e.Do("NOSUCH")
	e.Do("SET", "k")
	e.Do("SET", "k", "v", "FOO")
	e.Do("INCR", "k")
	e.Do("ZADD", "k", "1", "m")
	e.Advance(50 * time.Second)
	all := e.Do("INFO", "all")
	for field, want := range map[string]string{
		"redis_version": "7.2.4", "server_name": "valkey", "valkey_version": "8.0.1", "tcp_port": "0",
		"uptime_in_seconds": "50", "server_time_usec": "1000000050000000", "maxmemory_policy": "noeviction",
		"connected_clients": "1", "maxclients": "10000", "rdb_changes_since_last_save": "2", "role": "master",
		"keyspace_hits": "1", "keyspace_misses": "1", "total_error_replies": "5", "total_commands_processed": "7",
		"errorstat_ERR": "count=4", "errorstat_WRONGTYPE": "count=1",
		"cmdstat_set":                  "calls=3,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls=1",
		"cmdstat_incr":                 "calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=1",
		"db0":                          "keys=2,expires=1,avg_ttl=50000",
		"latency_percentiles_usec_get": "p50=0.000,p99=0.000,p99.9=0.000",
	} {
		if got := infoField(all, field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	e.Advance(100 * time.Second)
	if got := infoField(e.Do("INFO", "stats"), "expired_keys"); got != "1" {
		t.Errorf("expired_keys is %s", got)
	}
	e.Do("CONFIG", "RESETSTAT")
	all = e.Do("INFO", "all")
	for field, want := range map[string]string{"keyspace_hits": "0", "errorstat_ERR": "", "cmdstat_set": "", "expired_keys": "0",
		"rdb_changes_since_last_save": "2", "total_error_replies": "0"} {
		if got := infoField(all, field); got != want {
			t.Errorf("after RESETSTAT %s is %q, want %q", field, got, want)
		}
	}
	e.Do("CONFIG", "SET", "latency-tracking", "no")
	if got := infoField(e.Do("INFO", "latencystats"), "latency_percentiles_usec_config|set"); got != "" {
		t.Errorf("latency is shown though it is not tracked: %s", got)
	}
}

// TestInfoListeners: addresses that the engine is told of are shown.
func TestInfoListeners(t *testing.T) {
	e := newTestEngine(t, nil)
	e.Listening(fakeAddr{"tcp", "127.0.0.1:7000"})
	e.Listening(fakeAddr{"unix", "/tmp/x.sock"})
	info := e.Do("INFO", "server")
	for field, want := range map[string]string{"tcp_port": "7000", "listener0": "name=tcp,bind=127.0.0.1,port=7000",
		"listener1": "name=unix,bind=/tmp/x.sock"} {
		if got := infoField(info, field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	for name, want := range map[string]string{"port": "7000", "bind": "127.0.0.1", "unixsocket": "/tmp/x.sock"} {
		if v := e.Do("CONFIG", "GET", name); len(v.Elems) != 2 || v.Elems[1].Str != want {
			t.Errorf("CONFIG GET %s: %s", name, resp.Format(v))
		}
	}
}

type fakeAddr struct{ network, text string }

func (a fakeAddr) Network() string { return a.network }
func (a fakeAddr) String() string  { return a.text }

func TestHumanBytes(t *testing.T) {
	for n, want := range map[uint64]string{0: "0B", 1023: "1023B", 1024: "1.00K", 949432: "927.18K", 7208960: "6.88M",
		25276063744: "23.54G", 1 << 40: "1.00T", 1 << 50: "1.00P", math.MaxUint64: "16384.00P"} {
		if got := humanBytes(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

// TestLatencyBuckets: buckets follow each other without a gap and are no wider
// than an eighth of their times.
func TestLatencyBuckets(t *testing.T) {
	next := int64(0)
	for i := range latencyBuckets - 1 {
		top := latencyBucketTop(i)
		if latencyBucket(next) != i || latencyBucket(top) != i || top < next || top-next > next/8 {
			t.Fatalf("bucket %d is %d to %d; they are put into %d and %d", i, next, top, latencyBucket(next), latencyBucket(top))
		}
		next = top + 1
	}
	if last := latencyBuckets - 1; latencyBucket(math.MaxInt64) != last || latencyBucket(-1) != 0 {
		t.Error("times out of range have no bucket")
	}
	var h latencyHistogram
	for i := range int64(1000) {
		h.add(i)
	}
	for p, want := range map[float64]float64{50: 511, 99: 1023, 0: 0} {
		if got := h.percentile(p); got != want {
			t.Errorf("percentile %v is %v, want %v", p, got, want)
		}
	}
}

func TestParseMemory(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "100": 100, "1b": 1, "1k": 1000, "1KB": 1024, "2m": 2e6, "2mB": 2 << 20,
		"3g": 3e9, "3gb": 3 << 30, "gb": 0, "": 0, "9223372036854775807": math.MaxInt64, "9223372036854775808": -1,
		"99999999999999999999": -1, "9999999999gb": -1, "007k": 7000} {
		if got, ok := parseMemory(text); !ok || got != want {
			t.Errorf("%q is %d %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"-1", "1.5gb", "1tb", " 1", "1 ", "1kk", "x", strings.Repeat("1", 128)} {
		if _, ok := parseMemory(text); ok {
			t.Errorf("%q was taken for a size", text)
		}
	}
}

func TestLaxNumbers(t *testing.T) {
	for text, want := range map[string]int64{"12": 12, "12x": 12, " \t12": 12, "-3-": -3, "+4": 4, "x": 0, "": 0, "-": 0, "007": 7} {
		if got := resp.Atoi(text); got != want {
			t.Errorf("resp.Atoi(%q) is %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]float64{"1.5": 1.5, "1.5x": 1.5, " 2": 2, "1e2": 100, "1e": 1, "-1": -1, "x": 0, "": 0, ".5": .5} {
		if got := leadingFloat(text); got != want {
			t.Errorf("leadingFloat(%q) is %v, want %v", text, got, want)
		}
	}
}

func TestShutdown(t *testing.T) {
	done := make(chan struct{})
	e, err := New(Config{OnShutdown: func() { close(done) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	s := serveTest(t, e)
	c, other := s.dial(), s.dial()
	other.do("+PONG", "PING")
	other.send("BLPOP", "list", "0")
	c.do("-ERR Errors trying to SHUTDOWN. Check logs.", "SHUTDOWN", "SAVE")
	c.do("+PONG", "PING")
	c.send("SHUTDOWN", "NOSAVE")
	c.wantClosed()
	<-done
	if v := e.Do("PING"); v.Kind != resp.KindErr {
		t.Errorf("a command after SHUTDOWN: %s", resp.Format(v))
	}
}
