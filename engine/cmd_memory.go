package engine

import (
	"fmt"
	runtimedebug "runtime/debug"
	"runtime/metrics"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

var memoryCommands = []Spec{
	{Name: "memory", Arity: -2,
		Group: "server", Since: "4.0.0", Complexity: "Depends on subcommand.",
		Summary: "A container for memory diagnostics commands."},
	{Name: "memory|doctor", Arity: 2, run: memoryDoctor,
		Group: "server", Since: "4.0.0", Complexity: "O(1)",
		Summary: "Outputs a memory problems report.",
		Tips:    []string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"}},
	{Name: "memory|help", Arity: 2, Flags: Loading | Stale, run: memoryHelp,
		Group: "server", Since: "4.0.0", Complexity: "O(1)",
		Summary: "Returns helpful text about the different subcommands."},
	{Name: "memory|malloc-stats", Arity: 2, run: memoryMallocStats,
		Group: "server", Since: "4.0.0", Complexity: "Depends on how much memory is allocated, could be slow",
		Summary: "Returns the allocator statistics.",
		Tips:    []string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"}},
	{Name: "memory|purge", Arity: 2, run: memoryPurge,
		Group: "server", Since: "4.0.0", Complexity: "Depends on how much memory is allocated, could be slow",
		Summary: "Asks the allocator to release memory.",
		Tips:    []string{"request_policy:all_shards", "response_policy:all_succeeded"}},
	{Name: "memory|stats", Arity: 2, run: memoryStats,
		Group: "server", Since: "4.0.0", Complexity: "O(1)",
		Summary: "Returns details about memory usage.",
		Tips:    []string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"}},
	{Name: "memory|usage", Arity: -3, Flags: ReadOnly,
		Keys: keys(keyAt(2, RO)), run: memoryUsage,
		Group: "server", Since: "4.0.0", Complexity: "O(N) where N is the number of samples.",
		Summary: "Estimates the memory usage of a key.",
		Args:    `key:k#0 count:i=SAMPLES?`},
}

// memoryUsage: MEMORY USAGE key [SAMPLES count]
//
// The number is an estimate of what the key takes here, not of what it would take
// on another server.
func memoryUsage(c *Call) resp.Value {
	for i := 3; i < len(c.Args); i++ {
		if !c.is(i, "samples") || i+1 == len(c.Args) {
			return errSyntax
		}
		i++
		n, bad := c.intArg(i)
		if bad != nil {
			return *bad
		}
		if n < 0 {
			return errSyntax
		}
	}
	key := c.Args[2]
	o := c.peek(key)
	if o == nil {
		return resp.Null
	}
	return resp.Int(int64(o.Size() + len(key)))
}

// processMemory is the memory of the whole process as the Go runtime counts it, in bytes.
type processMemory struct {
	allocated int64 // objects, dead ones that were not collected yet included
	active    int64 // the pages that they are in
	resident  int64 // the heap's pages that the system has not got back
	peak      int64 // the most that the heap had: its addresses are kept
	total     int64 // everything that the system has not got back
}

func readProcessMemory() processMemory {
	const class = "/memory/classes/"
	samples := []metrics.Sample{{Name: class + "heap/objects:bytes"}, {Name: class + "heap/unused:bytes"},
		{Name: class + "heap/free:bytes"}, {Name: class + "heap/released:bytes"}, {Name: class + "total:bytes"}}
	metrics.Read(samples)
	n := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	m := processMemory{allocated: n(0), active: n(0) + n(1), total: n(4) - n(3)}
	m.resident = m.active + n(2)
	m.peak = m.resident + n(3)
	return m
}

// memoryOverhead is what is not data, in bytes. What belongs to keys is estimated.
type memoryOverhead struct {
	clients, scripts, functions int64
	dbs                         [][2]int64 // of keys and of deadlines, by database
	keys                        int64      // their number
}

// Bytes per key and per deadline, but for the key's name and value.
const (
	keyOverhead    = 24 + 48
	expireOverhead = 32
)

func (co *core) memoryOverhead() (m memoryOverhead) {
	for _, s := range co.sessions {
		m.clients += int64(s.memory(nil))
	}
	for _, s := range co.scripts.bySHA {
		m.scripts += int64(len(s.Source))
	}
	for _, lib := range co.functions.libraries {
		m.functions += int64(len(lib.Source))
	}
	for _, db := range co.dbs {
		m.keys += int64(db.Len())
		m.dbs = append(m.dbs, [2]int64{keyOverhead * int64(db.Len()), expireOverhead * int64(db.ExpiresLen())})
	}
	return m
}

// total is the sum of all overheads.
func (m *memoryOverhead) total() int64 {
	n := m.clients + m.scripts + m.functions
	for _, db := range m.dbs {
		n += db[0] + db[1]
	}
	return n
}

// mapWriter gathers the fields of a map reply.
type mapWriter []resp.Value

func (w *mapWriter) num(name string, n int64) { *w = append(*w, resp.Bulk(name), resp.Int(n)) }

// ratio is a quotient that is computed with single precision, as the server's are.
func (w *mapWriter) ratio(name string, a, b int64) {
	*w = append(*w, resp.Bulk(name), resp.Double(float64(float32(a)/float32(max(b, 1)))))
}

// memoryStats: MEMORY STATS
func memoryStats(c *Call) resp.Value {
	use, over := readProcessMemory(), c.memoryOverhead()
	dataset := max(use.allocated-over.total(), 0)
	w := &mapWriter{}
	w.num("peak.allocated", use.peak)
	w.num("total.allocated", use.allocated)
	w.num("startup.allocated", 0)
	w.num("replication.backlog", int64(cap(c.repl.backlog)))
	w.num("clients.slaves", 0)
	w.num("clients.normal", over.clients)
	w.num("cluster.links", 0)
	w.num("aof.buffer", 0)
	w.num("lua.caches", over.scripts)
	w.num("functions.caches", over.functions)
	for i, db := range over.dbs {
		if c.dbs[i].Used() {
			in := &mapWriter{}
			in.num("overhead.hashtable.main", db[0])
			in.num("overhead.hashtable.expires", db[1])
			*w = append(*w, resp.Bulk(fmt.Sprintf("db.%d", i)), resp.Map(*in...))
		}
	}
	w.num("overhead.db.hashtable.lut", 0)
	w.num("overhead.db.hashtable.rehashing", 0)
	w.num("overhead.total", over.total())
	w.num("db.dict.rehashing.count", 0)
	w.num("keys.count", over.keys)
	perKey := int64(0)
	if over.keys > 0 {
		perKey = dataset / over.keys
	}
	w.num("keys.bytes-per-key", perKey)
	w.num("dataset.bytes", dataset)
	w.ratio("dataset.percentage", 100*dataset, use.allocated)
	w.ratio("peak.percentage", 100*use.allocated, use.peak)
	use.allocator(w)
	return resp.Map(*w...)
}

// allocator writes what a server tells of its allocator. Go's heap has pages without
// objects and pages with room between them, but no pages that are given back by half.
func (m processMemory) allocator(w *mapWriter) {
	w.num("allocator.allocated", m.allocated)
	w.num("allocator.active", m.active)
	w.num("allocator.resident", m.resident)
	w.num("allocator.muzzy", 0)
	pair := func(name string, a, b int64) {
		w.ratio(name+".ratio", a, b)
		w.num(name+".bytes", a-b)
	}
	pair("allocator-fragmentation", m.active, m.allocated)
	pair("allocator-rss", m.resident, m.active)
	pair("rss-overhead", m.total, m.resident)
	w.ratio("fragmentation", m.total, m.allocated)
	w.num("fragmentation.bytes", m.total-m.allocated)
}

const (
	doctorTooSmall = "Hi Sam, this instance is empty or is using very little memory, my issues detector can't be " +
		"used in these conditions. Please, leave for your mission on Earth and fill it with some data. The new Sam " +
		"and I will be back to our programming as soon as I finished rebooting.\n"
	doctorHealthy = "Hi Sam, I can't find any memory issue in your instance. I can only account for what occurs on " +
		"this base.\n"
	doctorIssues = "Sam, I detected a few issues in this Valkey instance memory implants:\n\n"
	doctorBye    = "I'm here to keep you safe, Sam. I want to help you.\n"
)

// memoryDoctor: MEMORY DOCTOR
//
// It looks for what the server looks for, as far as it can happen here.
func memoryDoctor(c *Call) resp.Value {
	use, over := readProcessMemory(), c.memoryOverhead()
	if use.allocated < 5<<20 {
		return resp.Verbatim(doctorTooSmall)
	}
	var found strings.Builder
	note := func(wrong bool, text string) {
		if wrong {
			found.WriteString(" * " + text + "\n\n")
		}
	}
	note(use.peak*2 > use.allocated*3, "Peak memory: the heap has had more than 150% of what is in use now.")
	note(use.total*10 > use.allocated*14 && use.total-use.allocated > 10<<20,
		"High total RSS: the process holds more than 1.4 times what is in use. MEMORY PURGE gives memory back.")
	note(over.clients/int64(max(len(c.sessions), 1)) > 200<<10, "Big client buffers: more than 200K per client on average.")
	note(len(c.scripts.bySHA) > 1000, "Many scripts: more than 1000 are cached. They go on SCRIPT FLUSH.")
	if found.Len() == 0 {
		return resp.Verbatim(doctorHealthy)
	}
	return resp.Verbatim(doctorIssues + found.String() + doctorBye)
}

// memoryMallocStats: MEMORY MALLOC-STATS
func memoryMallocStats(*Call) resp.Value {
	var samples []metrics.Sample
	for _, d := range metrics.All() {
		if strings.HasPrefix(d.Name, "/memory/") || strings.HasPrefix(d.Name, "/gc/heap/") {
			samples = append(samples, metrics.Sample{Name: d.Name})
		}
	}
	metrics.Read(samples)
	var b strings.Builder
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			fmt.Fprintf(&b, "%s %d\n", s.Name, s.Value.Uint64())
		}
	}
	return resp.Verbatim(b.String())
}

// memoryPurge: MEMORY PURGE
func memoryPurge(*Call) resp.Value {
	runtimedebug.FreeOSMemory()
	return resp.OK
}

// memoryHelp: MEMORY HELP
func memoryHelp(*Call) resp.Value {
	return helpReply("MEMORY",
		"DOCTOR",
		"    Return memory problems reports.",
		"MALLOC-STATS",
		"    Return internal statistics report from the memory allocator.",
		"PURGE",
		"    Attempt to purge dirty pages for reclamation by the allocator.",
		"STATS",
		"    Return information about the memory usage of the server.",
		"USAGE <key> [SAMPLES <count>]",
		"    Return memory in bytes used by <key> and its value. Nested values are",
		"    sampled up to <count> times (default: 5, 0 means sample all).")
}
