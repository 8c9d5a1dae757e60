package engine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/echomq/echomq-sim/store"
)

// The fields of INFO's sections stand in the server's order. A field is left out
// when any value of it would be a lie; zero means that the thing never happens here.

// listener is an address that the server accepts connections on.
type listener struct{ network, addr string }

// Listening tells the engine about an address that connections are accepted on,
// for INFO and CONFIG GET: network is tcp, tls or unix.
func (e *Engine) Listening(addr net.Addr) {
	e.lock()
	defer e.unlock()
	e.core.listeners = append(e.core.listeners, listener{addr.Network(), addr.String()})
}

// tcpPort is the port of the first plain TCP listener, 0 for none.
func (co *core) tcpPort() string { return co.portOf("tcp") }

// tlsPort is that of the first with TLS.
func (co *core) tlsPort() string { return co.portOf("tls") }

func (co *core) portOf(network string) string {
	for _, l := range co.listeners {
		if _, port, err := net.SplitHostPort(l.addr); err == nil && l.network == network {
			return port
		}
	}
	return "0"
}

// tcpHosts are the addresses that TCP listeners are bound to, those with TLS included.
func (co *core) tcpHosts() string {
	var hosts []string
	for _, l := range co.listeners {
		if host, _, err := net.SplitHostPort(l.addr); err == nil && l.network != "unix" {
			hosts = append(hosts, host)
		}
	}
	return strings.Join(hosts, " ")
}

// unixPath is the path of the unix listener, empty for none.
func (co *core) unixPath() string {
	for _, l := range co.listeners {
		if l.network == "unix" {
			return l.addr
		}
	}
	return ""
}

// hexID is a number of 160 bits in hex that stands for this server: the same for
// the same seed. which tells several of them apart.
func (co *core) hexID(which uint64) string {
	r := rand.New(rand.NewPCG(uint64(co.cfg.Seed), which))
	return fmt.Sprintf("%016x%016x%08x", r.Uint64(), r.Uint64(), r.Uint32())
}

func infoServer(co *core, w *infoWriter) {
	upSec := co.now/1e6 - co.startTime/1e6
	w.text("redis_version", redisVersion)
	w.text("server_name", serverName)
	w.text("valkey_version", serverVersion)
	w.text("redis_git_sha1", "00000000")
	w.zeros("redis_git_dirty")
	w.text("redis_build_id", "0000000000000000")
	mode := "server_mode"
	if co.set.redisNamed {
		mode = "redis_mode"
	}
	w.text(mode, co.mode())
	w.text("os", runtime.GOOS+" "+runtime.GOARCH)
	w.num("arch_bits", strconv.IntSize)
	w.text("monotonic_clock", "go")
	w.text("multiplexing_api", "go")
	w.text("gcc_version", "0.0.0")
	w.num("process_id", int64(os.Getpid()))
	w.text("process_supervised", "no")
	w.text("run_id", co.hexID(1))
	w.text("tcp_port", co.tcpPort())
	w.num("server_time_usec", co.now)
	w.num("uptime_in_seconds", upSec)
	w.num("uptime_in_days", upSec/86400)
	hz := findParameter("hz").get(co)
	w.text("hz", hz)
	w.text("configured_hz", hz)
	w.num("lru_clock", co.now/1e6&(1<<24-1))
	if path, err := os.Executable(); err == nil {
		w.text("executable", path)
	}
	w.text("config_file", "")
	w.zeros("io_threads_active")
	w.text("availability_zone", co.set.zone)
	for i, l := range co.listeners {
		bind := l.addr
		if host, port, err := net.SplitHostPort(l.addr); err == nil && l.network != "unix" {
			bind = host + ",port=" + port
		}
		w.text(fmt.Sprintf("listener%d", i), "name="+l.network+",bind="+bind)
	}
}

func infoClients(co *core, w *infoWriter) {
	var maxIn, maxOut, blocked, timed, watching, subscribed int64
	for _, s := range co.sessions {
		maxIn = max(maxIn, int64(s.buffered))
		maxOut = max(maxOut, int64(s.unsent()))
		if s.held != nil {
			blocked++
			if s.held.timer != nil {
				timed++
			}
		}
		if s.subscribed() {
			subscribed++
		}
		if len(s.watched) > 0 {
			watching++
		}
	}
	w.num("connected_clients", int64(len(co.sessions)-len(co.repl.replicas)))
	w.zeros("cluster_connections")
	w.num("maxclients", int64(co.set.maxClients))
	w.num("client_recent_max_input_buffer", maxIn)
	w.num("client_recent_max_output_buffer", maxOut)
	w.num("blocked_clients", blocked)
	w.num("tracking_clients", int64(co.tracking.clients))
	w.num("pubsub_clients", subscribed)
	w.num("watching_clients", watching)
	w.num("clients_in_timeout_table", timed)
	w.num("total_watched_keys", int64(len(co.watchers)))
	w.num("total_blocking_keys", int64(len(co.waiters.byKey)))
	w.num("total_blocking_keys_on_nokey", co.waiters.countNoKey())
}

// infoMemory shows the memory that maxmemory goes by, and that of the whole process as the
// Go runtime counts it.
func infoMemory(co *core, w *infoWriter) {
	use, over, used := readProcessMemory(), co.memoryOverhead(), co.memoryUsed()
	dataset := max(used-over.total(), 0)
	percent := func(a, b int64) string { return fmt.Sprintf("%.2f%%", float64(a)/float64(max(b, 1))*100) }
	w.bytes("used_memory", uint64(used))
	w.bytes("used_memory_rss", uint64(use.total))
	w.bytes("used_memory_peak", uint64(use.peak))
	w.text("used_memory_peak_perc", percent(used, use.peak))
	w.num("used_memory_overhead", over.total())
	w.zeros("used_memory_startup")
	w.num("used_memory_dataset", dataset)
	w.text("used_memory_dataset_perc", percent(dataset, used))
	w.num("used_memory_scripts_eval", over.scripts)
	w.num("number_of_cached_scripts", int64(len(co.scripts.bySHA)))
	w.num("number_of_functions", co.functions.count())
	w.num("number_of_libraries", int64(len(co.functions.libraries)))
	w.num("used_memory_functions", over.functions)
	w.bytes("used_memory_scripts", uint64(over.scripts+over.functions))
	w.bytes("maxmemory", uint64(co.set.maxMemory))
	w.text("maxmemory_policy", co.policy().name)
	w.text("mem_fragmentation_ratio", fmt.Sprintf("%.2f", float64(use.total)/float64(max(used, 1))))
	w.num("mem_fragmentation_bytes", use.total-used)
	w.zeros("mem_not_counted_for_evict")
	w.num("mem_replication_backlog", int64(cap(co.repl.backlog)))
	w.num("mem_total_replication_buffers", int64(cap(co.repl.backlog)))
	w.zeros("mem_clients_slaves")
	w.num("mem_clients_normal", over.clients)
	w.zeros("mem_cluster_links", "mem_aof_buffer")
	w.text("mem_allocator", "go")
	w.zeros("mem_overhead_db_hashtable_rehashing", "active_defrag_running", "lazyfree_pending_objects")
	w.num("lazyfreed_objects", co.stats.lazyFreed)
}

func oneIf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func infoPersistence(co *core, w *infoWriter) {
	w.zeros("loading", "async_loading", "current_cow_peak", "current_cow_size", "current_cow_size_age")
	w.text("current_fork_perc", "0.00")
	w.zeros("current_save_keys_processed", "current_save_keys_total")
	w.num("rdb_changes_since_last_save", co.stats.dirty)
	w.zeros("rdb_bgsave_in_progress")
	w.num("rdb_last_save_time", co.lastSave/1e6)
	status := "ok"
	if co.saveFailed {
		status = "err"
	}
	w.text("rdb_last_bgsave_status", status)
	w.num("rdb_last_bgsave_time_sec", -1)
	w.num("rdb_current_bgsave_time_sec", -1)
	w.num("rdb_saves", co.stats.saves)
	w.zeros("rdb_last_cow_size")
	w.num("rdb_last_load_keys_expired", co.stats.keysLoadedLate)
	w.num("rdb_last_load_keys_loaded", co.stats.keysLoaded)
	w.num("aof_enabled", oneIf(co.set.appendOnly))
	w.zeros("aof_rewrite_in_progress")
	w.num("aof_rewrite_scheduled", oneIf(co.rewriteDue))
	last := int64(-1)
	if co.stats.rewrites > 0 {
		last = 0
	}
	w.num("aof_last_rewrite_time_sec", last)
	w.num("aof_current_rewrite_time_sec", -1)
	w.text("aof_last_bgrewrite_status", "ok")
	w.num("aof_rewrites", co.stats.rewrites)
	w.zeros("aof_rewrites_consecutive_failures")
	w.text("aof_last_write_status", "ok")
	w.zeros("aof_last_cow_size", "module_fork_in_progress", "module_fork_last_cow_size")
}

func infoStats(co *core, w *infoWriter) {
	st := &co.stats
	w.num("total_connections_received", st.connections)
	w.num("total_commands_processed", st.commands)
	w.num("instantaneous_ops_per_sec", co.rates.perSecond(rateCommands))
	w.num("total_net_input_bytes", st.bytesIn)
	w.num("total_net_output_bytes", st.bytesOut)
	w.zeros("total_net_repl_input_bytes")
	w.num("total_net_repl_output_bytes", st.replicationOut)
	w.text("instantaneous_input_kbps", co.rates.kilobytes(rateIn))
	w.text("instantaneous_output_kbps", co.rates.kilobytes(rateOut))
	w.text("instantaneous_input_repl_kbps", "0.00")
	w.text("instantaneous_output_repl_kbps", co.rates.kilobytes(rateReplication))
	w.num("rejected_connections", st.rejectedConns)
	w.num("sync_full", st.fullSyncs)
	w.num("sync_partial_ok", st.partialSyncs)
	w.num("sync_partial_err", st.partialFailed)
	w.num("expired_keys", st.expiredKeys)
	w.text("expired_stale_perc", "0.00")
	w.num("expired_time_cap_reached_count", st.expireCapped)
	w.num("expire_cycle_cpu_milliseconds", st.expireUsec/1000)
	w.num("evicted_keys", st.evictedKeys)
	w.num("evicted_clients", st.evictedClients)
	w.num("evicted_scripts", st.evictedScripts)
	w.zeros("total_eviction_exceeded_time", "current_eviction_exceeded_time")
	w.num("keyspace_hits", st.hits)
	w.num("keyspace_misses", st.misses)
	w.num("pubsub_channels", int64(co.subs[subChannel].names.len()))
	w.num("pubsub_patterns", int64(co.subs[subPattern].names.len()))
	w.num("pubsubshard_channels", int64(co.subs[subShard].names.len()))
	w.zeros("latest_fork_usec")
	w.num("total_forks", st.backgroundJobs)
	w.num("migrate_cached_sockets", int64(len(co.targets.list)))
	w.zeros("slave_expires_tracked_keys",
		"active_defrag_hits", "active_defrag_misses", "active_defrag_key_hits", "active_defrag_key_misses",
		"total_active_defrag_time", "current_active_defrag_time")
	w.num("tracking_total_keys", int64(len(co.tracking.names)))
	w.num("tracking_total_items", int64(co.tracking.items))
	w.num("tracking_total_prefixes", int64(len(co.tracking.prefixes)))
	w.zeros("unexpected_error_replies")
	w.num("total_error_replies", st.errors)
	w.zeros("dump_payload_sanitizations")
	w.num("total_reads_processed", st.reads)
	w.num("total_writes_processed", st.writes)
	w.zeros("io_threaded_reads_processed", "io_threaded_writes_processed", "io_threaded_freed_objects",
		"io_threaded_poll_processed", "io_threaded_total_prefetch_batches", "io_threaded_total_prefetch_entries")
	w.num("client_query_buffer_limit_disconnections", st.tooMuchInput)
	w.num("client_output_buffer_limit_disconnections", st.outputOverflows)
	w.zeros("reply_buffer_shrinks", "reply_buffer_expands")
	w.num("eventloop_cycles", st.turns)
	w.num("eventloop_duration_sum", st.turnUsec)
	w.num("eventloop_duration_cmd_sum", st.commandUsec)
	cycles := co.rates.perSecond(rateTurns)
	w.num("instantaneous_eventloop_cycles_per_sec", cycles)
	w.num("instantaneous_eventloop_duration_usec", co.rates.perSecond(rateTurnUsec)/max(cycles, 1))
	w.num("acl_access_denied_auth", st.denied[deniedLogin])
	w.num("acl_access_denied_cmd", st.denied[deniedCommand])
	w.num("acl_access_denied_key", st.denied[deniedKey])
	w.num("acl_access_denied_channel", st.denied[deniedChannel])
}

func infoReplication(co *core, w *infoWriter) {
	w.text("role", "master")
	r := &co.repl
	w.num("connected_slaves", int64(len(r.replicas)))
	if co.set.minReplicas > 0 && co.set.minReplicasMaxLag > 0 {
		w.num("min_slaves_good_slaves", int64(co.goodReplicas()))
	}
	for i, s := range r.replicas {
		ip, port := s.replicaAddr()
		w.text(fmt.Sprintf("slave%d", i), fmt.Sprintf("ip=%s,port=%d,state=online,offset=%d,lag=%d,type=replica",
			ip, port, s.replica.acked, co.lagSec(s)))
	}
	w.zeros("replicas_waiting_psync")
	w.text("master_failover_state", "no-failover")
	w.text("master_replid", co.replicationID())
	w.text("master_replid2", strings.Repeat("0", 40))
	w.num("master_repl_offset", r.offset)
	w.num("second_repl_offset", -1)
	if !r.streams() {
		w.zeros("repl_backlog_active")
		w.num("repl_backlog_size", co.tunedNumber("repl-backlog-size"))
		w.zeros("repl_backlog_first_byte_offset", "repl_backlog_histlen")
		return
	}
	w.num("repl_backlog_active", 1)
	w.num("repl_backlog_size", r.most)
	w.num("repl_backlog_first_byte_offset", r.first())
	w.num("repl_backlog_histlen", r.length())
}

// infoCPU has no fields on systems that can't tell.
func infoCPU(_ *core, w *infoWriter) {
	user, system, ok := cpuTime()
	if !ok {
		return
	}
	w.text("used_cpu_sys", fmt.Sprintf("%.6f", system))
	w.text("used_cpu_user", fmt.Sprintf("%.6f", user))
	w.text("used_cpu_sys_children", "0.000000")
	w.text("used_cpu_user_children", "0.000000")
}

func infoCommandstats(co *core, w *infoWriter) {
	co.table.each(func(s *Spec) {
		st := co.statsOf(s)
		if st.calls == 0 && st.rejected == 0 && st.failed == 0 {
			return
		}
		perCall := 0.0
		if st.calls > 0 {
			perCall = float64(st.usec) / float64(st.calls)
		}
		w.text("cmdstat_"+s.Name, fmt.Sprintf("calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
			st.calls, st.usec, perCall, st.rejected, st.failed))
	})
}

func infoErrorstats(co *core, w *infoWriter) {
	safe := strings.NewReplacer("#", "_", ":", "_", "\n", "_", "\r", "_")
	for _, code := range slices.Sorted(maps.Keys(co.stats.errorCodes)) {
		w.text("errorstat_"+safe.Replace(code), fmt.Sprintf("count=%d", co.stats.errorCodes[code]))
	}
}

func infoLatencystats(co *core, w *infoWriter) {
	if !co.set.latencyTracking {
		return
	}
	co.table.each(func(s *Spec) {
		if h := co.statsOf(s).latency; h != nil {
			shown := make([]string, len(co.set.percentiles))
			for i, p := range co.set.percentiles {
				shown[i] = fmt.Sprintf("p%s=%.3f", p, h.percentile(leadingFloat(p)))
			}
			w.text("latency_percentiles_usec_"+s.Name, strings.Join(shown, ","))
		}
	})
}

// infoDebug is for who asks for it by name: here turns are the cycles of the server's loop.
func infoDebug(co *core, w *infoWriter) {
	w.zeros("eventloop_duration_aof_sum")
	w.num("eventloop_duration_cron_sum", co.stats.dueUsec)
	w.num("eventloop_duration_max", co.stats.turnMax)
	w.num("eventloop_cmd_per_cycle_max", co.stats.turnCommands)
}

func infoCluster(co *core, w *infoWriter) {
	if co.cluster == nil {
		w.zeros("cluster_enabled")
		return
	}
	w.num("cluster_enabled", 1)
}

func infoKeyspace(co *core, w *infoWriter) {
	for i, db := range co.dbs {
		if db.Len() > 0 {
			w.text(fmt.Sprintf("db%d", i), fmt.Sprintf("keys=%d,expires=%d,avg_ttl=%d",
				db.Len(), db.ExpiresLen(), co.avgTTL(db)))
		}
	}
}

// avgTTLSample is how many keys the average TTL is taken from at most.
const avgTTLSample = 1000

// avgTTL estimates the mean TTL in milliseconds of the keys that have one.
func (co *core) avgTTL(db *store.DB) int64 {
	if db.ExpiresLen() == 0 {
		return 0
	}
	var sum, n, seen int64
	db.Ascend("", func(_ string, o *store.Object) bool {
		if at := o.Expire(); at != 0 {
			sum += max(at-co.ms(), 0)
			n++
		}
		seen++
		return seen < avgTTLSample
	})
	return sum / max(n, 1)
}
