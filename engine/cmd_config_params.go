package engine

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// parameter is one of CONFIG's parameters. Only those that act are here.
type parameter struct {
	name string
	get  func(co *core) string
	set  func(co *core, value string) (why string) // why not, or empty; nil for an immutable parameter
}

// parameters is everything that CONFIG knows. An alias is a row of its own.
var parameters = []parameter{
	fixed("bind", (*core).tcpHosts),
	number("busy-reply-threshold", 0, math.MaxInt64, func(co *core) *int64 { return &co.set.busyReplyMs }),
	memory("client-query-buffer-limit", 1<<20, func(co *core) *int64 { return &co.set.queryBufferLimit }),
	fixed("databases", func(co *core) string { return strconv.Itoa(len(co.dbs)) }),
	fixed("enable-debug-command", func(co *core) string { return co.set.enableDebug }),
	number("hash-max-listpack-entries", 0, math.MaxInt64, func(co *core) *int { return &co.limits.HashMaxListpackEntries }),
	memory("hash-max-listpack-value", 0, func(co *core) *int { return &co.limits.HashMaxListpackValue }),
	number("hash-max-ziplist-entries", 0, math.MaxInt64, func(co *core) *int { return &co.limits.HashMaxListpackEntries }),
	memory("hash-max-ziplist-value", 0, func(co *core) *int { return &co.limits.HashMaxListpackValue }),
	yesNo("latency-tracking", func(co *core) *bool { return &co.set.latencyTracking }),
	number("lua-time-limit", 0, math.MaxInt64, func(co *core) *int64 { return &co.set.busyReplyMs }),
	number("maxclients", 1, math.MaxUint32, func(co *core) *int { return &co.set.maxClients }),
	fixed("port", (*core).tcpPort),
	memory("proto-max-bulk-len", 1<<20, func(co *core) *int64 { return &co.set.protoMaxBulkLen }),
	text("requirepass", func(co *core) *string { return &co.set.requirePass }),
	fixed("unixsocket", (*core).unixPath),
	number("zset-max-listpack-entries", 0, math.MaxInt64, func(co *core) *int { return &co.limits.ZSetMaxListpackEntries }),
	memory("zset-max-listpack-value", 0, func(co *core) *int { return &co.limits.ZSetMaxListpackValue }),
	number("zset-max-ziplist-entries", 0, math.MaxInt64, func(co *core) *int { return &co.limits.ZSetMaxListpackEntries }),
	memory("zset-max-ziplist-value", 0, func(co *core) *int { return &co.limits.ZSetMaxListpackValue }),
}

// findParameter finds a parameter by its name in any case.
func findParameter(name string) *parameter {
	for i := range parameters {
		if strings.EqualFold(parameters[i].name, name) {
			return &parameters[i]
		}
	}
	return nil
}

// fixed is a parameter that only the start of the server sets.
func fixed(name string, get func(co *core) string) parameter {
	return parameter{name: name, get: get}
}

// text is a parameter that takes any string.
func text(name string, at func(co *core) *string) parameter {
	return parameter{name: name,
		get: func(co *core) string { return *at(co) },
		set: func(co *core, value string) string {
			*at(co) = strings.Clone(value)
			return ""
		}}
}

func yesNo(name string, at func(co *core) *bool) parameter {
	return parameter{name: name,
		get: func(co *core) string {
			if *at(co) {
				return "yes"
			}
			return "no"
		},
		set: func(co *core, value string) string {
			yes := strings.EqualFold(value, "yes")
			if !yes && !strings.EqualFold(value, "no") {
				return "argument must be 'yes' or 'no'"
			}
			*at(co) = yes
			return ""
		}}
}

type integer interface{ ~int | ~int64 }

// number is a parameter that takes an integer from lowest to highest.
func number[T integer](name string, lowest, highest int64, at func(co *core) *T) parameter {
	return numeric(name, lowest, highest, at, func(value string) (int64, string) {
		n, ok := parseInt(value)
		if !ok {
			return 0, "argument couldn't be parsed into an integer"
		}
		return n, ""
	})
}

// memory is a parameter that takes a number of bytes, with a unit if need be.
func memory[T integer](name string, lowest int64, at func(co *core) *T) parameter {
	return numeric(name, lowest, math.MaxInt64, at, func(value string) (int64, string) {
		n, ok := parseMemory(value)
		if !ok {
			return 0, "argument must be a memory value"
		}
		return n, ""
	})
}

func numeric[T integer](name string, lowest, highest int64, at func(co *core) *T, parse func(string) (int64, string)) parameter {
	return parameter{name: name,
		get: func(co *core) string { return strconv.FormatInt(int64(*at(co)), 10) },
		set: func(co *core, value string) string {
			n, why := parse(value)
			if why != "" {
				return why
			}
			if n < lowest || n > highest {
				return fmt.Sprintf("argument must be between %d and %d inclusive", lowest, highest)
			}
			*at(co) = T(n)
			return ""
		}}
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
