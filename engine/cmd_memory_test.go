package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/echomq/echomq-sim/resp"
)

// TestMemoryStats checks the fields, which are those of valkey-server 8.0.1 in its
// order, and that their numbers fit together.
func TestMemoryStats(t *testing.T) {
	e := newManualEngine(t)
	e.Do("SET", "k", "v", "EX", "100")
	e.Do("SELECT", "3")
	e.Do("MSET", "a", "1", "b", "2")
	stats := e.Do("MEMORY", "STATS")
	var names []string
	number := map[string]int64{}
	for pair := range slices.Chunk(stats.Elems, 2) {
		names = append(names, pair[0].Str)
		number[pair[0].Str] = pair[1].Int
		if pair[1].Kind == resp.KindMap {
			for in := range slices.Chunk(pair[1].Elems, 2) {
				number[pair[0].Str+" "+in[0].Str] = in[1].Int
			}
		}
	}
	want := "peak.allocated total.allocated startup.allocated replication.backlog clients.slaves clients.normal " +
		"cluster.links aof.buffer lua.caches functions.caches db.0 db.3 overhead.db.hashtable.lut " +
		"overhead.db.hashtable.rehashing overhead.total db.dict.rehashing.count keys.count keys.bytes-per-key " +
		"dataset.bytes dataset.percentage peak.percentage allocator.allocated allocator.active allocator.resident " +
		"allocator.muzzy allocator-fragmentation.ratio allocator-fragmentation.bytes allocator-rss.ratio " +
		"allocator-rss.bytes rss-overhead.ratio rss-overhead.bytes fragmentation fragmentation.bytes"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if number["keys.count"] != 3 || number["db.3 overhead.hashtable.main"] != 2*keyOverhead ||
		number["db.0 overhead.hashtable.expires"] != expireOverhead {
		t.Errorf("the keys were not counted: %v", number)
	}
	if sum := number["dataset.bytes"] + number["overhead.total"]; sum != number["total.allocated"] {
		t.Errorf("data and overhead are %d of %d bytes", sum, number["total.allocated"])
	}
	for _, order := range [][2]string{{"allocator.allocated", "allocator.active"}, {"allocator.active", "allocator.resident"},
		{"total.allocated", "peak.allocated"}} {
		if number[order[0]] > number[order[1]] {
			t.Errorf("%s is more than %s: %v", order[0], order[1], number)
		}
	}
}

func TestMemoryDoctorFindsScripts(t *testing.T) {
	e := newManualEngine(t)
	for len(e.core.scripts.bySHA) <= 1000 {
		e.Do("SCRIPT", "LOAD", "return '"+strings.Repeat("x", 8<<10)+string(rune('a'+len(e.core.scripts.bySHA)%26))+
			strings.Repeat("y", len(e.core.scripts.bySHA))+"'")
	}
	report := e.Do("MEMORY", "DOCTOR").Str
	if !strings.HasPrefix(report, doctorIssues+" * ") || !strings.Contains(report, "Many scripts") || !strings.HasSuffix(report, doctorBye) {
		t.Errorf("got %s", report)
	}
}
