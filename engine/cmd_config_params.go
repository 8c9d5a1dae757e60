package engine

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// parameter is one of CONFIG's parameters.
type parameter struct {
	name string
	use  paramUse // unlisted and secret
	get  func(co *core) string
	set  func(co *core, value string) (why string) // why not, or empty; nil for an immutable parameter
}

// parameters is everything that CONFIG knows. An alias is a row of its own.
var parameters = sync.OnceValue(func() []parameter { return append(knownRows(), actingParams...) })

// actingParams are the parameters that something here depends on.
var actingParams = []parameter{
	{name: "activedefrag", get: func(*core) string { return "no" }, set: setActiveDefrag},
	{name: "acl-pubsub-default", get: (*core).pubsubDefault, set: setPubsubDefault},
	fixedParam("aclfile", func(co *core) string { return co.cfg.ACLFile }),
	numberParam("acllog-max-len", 0, math.MaxInt64, func(co *core) *int64 { return &co.set.aclLogMax }),
	textParam("availability-zone", func(co *core) *string { return &co.set.zone }),
	yesNoParam("appendonly", func(co *core) *bool { return &co.set.appendOnly }),
	givenParam("bind", (*core).tcpHosts),
	numberParam("busy-reply-threshold", 0, math.MaxInt64, func(co *core) *int64 { return &co.set.busyReplyMs }),
	{name: "client-output-buffer-limit", get: outputLimitsText, set: setOutputLimits},
	memoryParam("client-query-buffer-limit", 1<<20, func(co *core) *int64 { return &co.set.queryBufferLimit }),
	clusterParam(yesNoParam("cluster-allow-pubsubshard-when-down", func(co *core) *bool { return &co.set.cluster.pubsubWhenDown })),
	clusterParam(yesNoParam("cluster-allow-reads-when-down", func(co *core) *bool { return &co.set.cluster.readsWhenDown })),
	announceParam(numberParam("cluster-announce-bus-port", 0, math.MaxUint16, func(co *core) *int64 { return &co.set.announced.busPort })),
	announceParam(parameter{name: "cluster-announce-hostname", get: func(co *core) string { return co.set.announced.hostname }, set: setHostname}),
	announceParam(textParam("cluster-announce-ip", func(co *core) *string { return &co.set.announced.host })),
	announceParam(numberParam("cluster-announce-port", 0, math.MaxUint16, func(co *core) *int64 { return &co.set.announced.port })),
	fixedParam("cluster-enabled", func(co *core) string { return yesNo(co.cluster != nil) }),
	clusterParam(numberParam("cluster-node-timeout", 0, math.MaxInt64, func(co *core) *int64 { return &co.set.cluster.nodeTimeout })),
	clusterParam(yesNoParam("cluster-require-full-coverage", func(co *core) *bool { return &co.set.cluster.fullCoverage })),
	fixedParam("databases", func(co *core) string { return strconv.Itoa(len(co.dbs)) }),
	savePathParam("dbfilename", filepath.Base),
	savePathParam("dir", absoluteDir),
	yesNoParam("extended-redis-compatibility", func(co *core) *bool { return &co.set.redisNamed }),
	fixedParam("enable-debug-command", func(co *core) string { return co.set.enableDebug }),
	numberParam("hash-max-listpack-entries", 0, math.MaxInt64, func(co *core) *int { return &co.limits.HashMaxListpackEntries }),
	memoryParam("hash-max-listpack-value", 0, func(co *core) *int { return &co.limits.HashMaxListpackValue }),
	numberParam("hash-max-ziplist-entries", 0, math.MaxInt64, func(co *core) *int { return &co.limits.HashMaxListpackEntries }),
	memoryParam("hash-max-ziplist-value", 0, func(co *core) *int { return &co.limits.HashMaxListpackValue }),
	memoryParam("hll-sparse-max-bytes", 0, func(co *core) *int64 { return &co.set.hllSparseMaxBytes }),
	numberParam("latency-monitor-threshold", 0, math.MaxInt64, func(co *core) *int64 { return &co.set.latencyThreshold }),
	yesNoParam("latency-tracking", func(co *core) *bool { return &co.set.latencyTracking }),
	{name: "latency-tracking-info-percentiles", get: func(co *core) string { return strings.Join(co.set.percentiles, " ") }, set: setPercentiles},
	numberParam("list-max-listpack-size", math.MinInt32, math.MaxInt32, func(co *core) *int { return &co.limits.ListMaxListpackSize }),
	numberParam("list-compress-depth", 0, math.MaxInt32, func(co *core) *int { return &co.limits.ListCompressDepth }),
	numberParam("list-max-ziplist-size", math.MinInt32, math.MaxInt32, func(co *core) *int { return &co.limits.ListMaxListpackSize }),
	numberParam("lfu-decay-time", 0, math.MaxInt32, func(co *core) *int64 { return &co.set.lfuDecayTime }),
	numberParam("lfu-log-factor", 0, math.MaxInt32, func(co *core) *int64 { return &co.set.lfuLogFactor }),
	numberParam("lua-time-limit", 0, math.MaxInt64, func(co *core) *int64 { return &co.set.busyReplyMs }),
	numberParam("maxclients", 1, math.MaxUint32, func(co *core) *int { return &co.set.maxClients }),
	{name: "maxmemory", get: func(co *core) string { return strconv.FormatInt(co.set.maxMemory, 10) }, set: setMaxMemory},
	{name: "maxmemory-clients", get: maxMemoryClientsText, set: setMaxMemoryClients},
	{name: "maxmemory-policy", get: func(co *core) string { return co.policy().name }, set: setPolicy},
	numberParam("maxmemory-samples", 1, 64, func(co *core) *int64 { return &co.set.maxMemorySamples }),
	numberParam("min-replicas-max-lag", 0, math.MaxInt32, func(co *core) *int { return &co.set.minReplicasMaxLag }),
	numberParam("min-replicas-to-write", 0, math.MaxInt32, func(co *core) *int { return &co.set.minReplicas }),
	numberParam("min-slaves-max-lag", 0, math.MaxInt32, func(co *core) *int { return &co.set.minReplicasMaxLag }),
	numberParam("min-slaves-to-write", 0, math.MaxInt32, func(co *core) *int { return &co.set.minReplicas }),
	{name: "notify-keyspace-events", get: func(co *core) string { return formatNotify(co.set.notify) }, set: setNotify},
	{name: "port", get: (*core).tcpPort, set: setPort},
	memoryParam("proto-max-bulk-len", 1<<20, func(co *core) *int64 { return &co.set.protoMaxBulkLen }),
	yesNoParam("protected-mode", func(co *core) *bool { return &co.set.protectedMode }),
	{name: "requirepass", use: secret, get: func(co *core) string { return co.set.requirePass }, set: setRequirePass},
	numberParam("slowlog-log-slower-than", -1, math.MaxInt64, func(co *core) *int64 { return &co.set.slowerThan }),
	numberParam("slowlog-max-len", 0, math.MaxInt64, func(co *core) *int64 { return &co.set.slowlogMax }),
	memoryParam("stream-node-max-bytes", 0, func(co *core) *int { return &co.limits.StreamNodeMaxBytes }),
	numberParam("stream-node-max-entries", 0, math.MaxInt64, func(co *core) *int { return &co.limits.StreamNodeMaxEntries }),
	numberParam("set-max-intset-entries", 0, math.MaxInt64, func(co *core) *int { return &co.limits.SetMaxIntsetEntries }),
	numberParam("set-max-listpack-entries", 0, math.MaxInt64, func(co *core) *int { return &co.limits.SetMaxListpackEntries }),
	numberParam("set-max-listpack-value", 0, math.MaxInt64, func(co *core) *int { return &co.limits.SetMaxListpackValue }),
	givenParam("tls-cluster", func(co *core) string { return yesNo(co.cfg.DialMigrate != nil) }),
	numberParam("tcp-keepalive", 0, math.MaxInt32, func(co *core) *int64 { return &co.set.keepAlive }),
	numberParam("timeout", 0, math.MaxInt32, func(co *core) *int64 { return &co.set.idleSeconds }),
	fixedParam("tls-port", (*core).tlsPort),
	numberParam("tracking-table-max-keys", 0, math.MaxInt64, func(co *core) *int64 { return &co.set.trackingMaxKeys }),
	fixedParam("unixsocket", (*core).unixPath),
	numberParam("zset-max-listpack-entries", 0, math.MaxInt64, func(co *core) *int { return &co.limits.ZSetMaxListpackEntries }),
	memoryParam("zset-max-listpack-value", 0, func(co *core) *int { return &co.limits.ZSetMaxListpackValue }),
	numberParam("zset-max-ziplist-entries", 0, math.MaxInt64, func(co *core) *int { return &co.limits.ZSetMaxListpackEntries }),
	memoryParam("zset-max-ziplist-value", 0, func(co *core) *int { return &co.limits.ZSetMaxListpackValue }),
}

func setNotify(co *core, value string) (why string) {
	flags, ok := parseNotify(value)
	if !ok {
		return "Invalid event class character. Use 'Ag$lshzxeKEtmdn'."
	}
	co.set.notify = flags
	return ""
}

// findParameter finds a parameter by its name in any case.
func findParameter(name string) *parameter {
	all := parameters()
	for i := range all {
		if strings.EqualFold(all[i].name, name) {
			return &all[i]
		}
	}
	return nil
}

func isSecretParameter(name string) bool {
	p := findParameter(name)
	return p != nil && p.use&secret != 0
}

// fixedParam is a parameter that only the start of the server sets.
func fixedParam(name string, get func(co *core) string) parameter {
	return parameter{name: name, get: get}
}

// givenParam is a parameter that the server may be told to change, but not this one.
func givenParam(name string, get func(co *core) string) parameter {
	return parameter{name: name, get: get, set: func(co *core, value string) string {
		if value != get(co) {
			return staysText(get(co))
		}
		return ""
	}}
}

// setPort refuses another port in the server's words for one that it can't listen on:
// whoever embeds this one has chosen its listeners.
func setPort(co *core, value string) (why string) {
	n, why := numberParser(integerValue).within(value, 0, math.MaxUint16)
	if why == "" && strconv.FormatInt(n, 10) != co.tcpPort() {
		co.log(LogWarning, "CONFIG SET port: the ports are chosen when the simulator starts")
		return "Unable to listen on this port. Check server logs."
	}
	return why
}

// savePathParam is a parameter that tells a part of the path of Config.SaveFile, nothing
// if there is none. The server lets no client change it, unless it is told to.
func savePathParam(name string, part func(path string) string) parameter {
	return parameter{name: name,
		get: func(co *core) string {
			if co.cfg.SaveFile == "" {
				return ""
			}
			return part(co.cfg.SaveFile)
		},
		set: func(*core, string) string { return "can't set protected config" }}
}

func absoluteDir(path string) string {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return filepath.Dir(path)
	}
	return dir
}

// textParam is a parameter that takes any string.
func textParam(name string, at func(co *core) *string) parameter {
	return parameter{name: name,
		get: func(co *core) string { return *at(co) },
		set: func(co *core, value string) string {
			*at(co) = strings.Clone(value)
			return ""
		}}
}

func yesNoParam(name string, at func(co *core) *bool) parameter {
	return parameter{name: name,
		get: func(co *core) string { return yesNo(*at(co)) },
		set: func(co *core, value string) string {
			text, why := yesNoValue("", value)
			if why == "" {
				*at(co) = text == "yes"
			}
			return why
		}}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

type integer interface{ ~int | ~int64 }

// numberParam is a parameter that takes an integer from lowest to highest.
func numberParam[T integer](name string, lowest, highest int64, at func(co *core) *T) parameter {
	return numericParam(name, lowest, highest, at, integerValue)
}

// memoryParam is a parameter that takes a number of bytes, with a unit if need be.
func memoryParam[T integer](name string, lowest int64, at func(co *core) *T) parameter {
	return numericParam(name, lowest, math.MaxInt64, at, memoryValue)
}

func numericParam[T integer](name string, lowest, highest int64, at func(co *core) *T, parse numberParser) parameter {
	return parameter{name: name,
		get: func(co *core) string { return strconv.FormatInt(int64(*at(co)), 10) },
		set: func(co *core, value string) string {
			n, why := parse.within(value, lowest, highest)
			if why == "" {
				*at(co) = T(n)
			}
			return why
		}}
}

// numberParser reads a number, or tells why not.
type numberParser func(value string) (n int64, why string)

func (parse numberParser) within(value string, lowest, highest int64) (n int64, why string) {
	if n, why = parse(value); why != "" {
		return 0, why
	}
	if n < lowest || n > highest {
		return 0, fmt.Sprintf("argument must be between %d and %d inclusive", lowest, highest)
	}
	return n, ""
}

func integerValue(value string) (n int64, why string) {
	n, ok := parseInt(value)
	if !ok {
		return 0, "argument couldn't be parsed into an integer"
	}
	return n, ""
}

func memoryValue(value string) (n int64, why string) {
	n, ok := parseMemory(value)
	if !ok {
		return 0, "argument must be a memory value"
	}
	return n, ""
}

var memoryUnits = map[string]uint64{"": 1, "b": 1, "k": 1e3, "kb": 1 << 10, "m": 1e6, "mb": 1 << 20, "g": 1e9, "gb": 1 << 30}

// parseMemory parses a number of bytes as memtoull of Valkey's util.c does: no
// digits are 0, k is 1000 and kb 1024. What no int64 holds comes out as -1.
func parseMemory(s string) (n int64, ok bool) {
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	unit, known := memoryUnits[strings.ToLower(s[digits:])]
	if !known || digits >= 128 {
		return 0, false
	}
	if digits == 0 {
		return 0, true
	}
	v, err := strconv.ParseUint(s[:digits], 10, 64)
	if err != nil || v > math.MaxInt64/unit {
		return -1, true
	}
	return int64(v * unit), true
}
