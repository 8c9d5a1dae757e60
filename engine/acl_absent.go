package engine

import (
	"slices"
	"strings"
)

// absentCommands are commands of the server that may be missing here. Rules may name
// them: a user who is to be kept from CLUSTER and SHUTDOWN is no error where there are none.
var absentCommands = strings.Fields(`
	bgrewriteaof bitcount bitfield bitfield_ro bitop bitpos cluster|meet cluster|saveconfig failover latency
	latency|doctor latency|graph latency|help latency|histogram latency|history latency|latest latency|reset
	memory|doctor memory|help memory|malloc-stats memory|purge memory|stats migrate module module|help
	module|list module|load module|loadex module|unload psync replconf replicaof restore-asking role shutdown
	slaveof slowlog slowlog|get slowlog|help slowlog|len slowlog|reset sort sort_ro sync wait waitaof
`)

// isAbsent reports whether name is one of them, in lower case.
func isAbsent(name string) bool { return slices.Contains(absentCommands, name) }
