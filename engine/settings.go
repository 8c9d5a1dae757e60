package engine

import (
	"cmp"
	"net"
	"time"

	"github.com/echomq/echomq-sim/resp"
)

// settings are the configuration parameters that act, with the values that they
// have now. CONFIG GET and SET see them through the table in cmd_config.go.
type settings struct {
	notify           uint32 // notify-keyspace-events
	requirePass      string
	maxClients       int
	maxMemory        int64 // bytes, 0: no limit
	maxMemoryClients int64 // bytes, or percent of maxMemory if negative; 0: no limit
	outputLimits     [outputClasses]outputLimit
	idleSeconds      int64 // timeout: after which idle clients are closed; 0: never
	keepAlive        int64 // tcp-keepalive: seconds, 0: none
	busyReplyMs      int64
	appendOnly       bool // commands that need the file answer as if it were there
	maxMemoryPolicy  int  // in policies
	maxMemorySamples int64
	lfuLogFactor     int64
	lfuDecayTime     int64 // minutes
	trackingMaxKeys  int64 // 0 is no limit
	protoMaxBulkLen  int64
	enableDebug      string // yes, no or local
	queryBufferLimit int64
	announced        endpoint // cluster-announce-*, empty or 0 for what was not set
	cluster          clusterSettings
	latencyTracking  bool
	// hllSparseMaxBytes is the size up to which a HyperLogLog stays sparse.
	hllSparseMaxBytes              int64
	aclLogMax                      int64 // acllog-max-len
	channelsOpen                   bool  // acl-pubsub-default is allchannels
	protectedMode                  bool
	minReplicas, minReplicasMaxLag int   // 0: nothing is asked for
	latencyThreshold               int64 // latency-monitor-threshold in milliseconds, 0: nothing is recorded
	slowerThan                     int64 // slowlog-log-slower-than in microseconds, negative: nothing is logged
	slowlogMax                     int64
	percentiles                    []string          // latency-tracking-info-percentiles
	redisNamed                     bool              // extended-redis-compatibility
	zone                           string            // availability-zone
	tuned                          map[string]string // the other parameters that were set
}

func newSettings(co *core) *settings {
	return &settings{
		requirePass:       co.cfg.Password,
		maxClients:        10000,
		outputLimits:      defaultOutputLimits(),
		keepAlive:         300,
		maxMemorySamples:  5,
		lfuLogFactor:      10,
		lfuDecayTime:      1,
		busyReplyMs:       5000,
		trackingMaxKeys:   1_000_000,
		protoMaxBulkLen:   512 << 20,
		enableDebug:       cmp.Or(co.cfg.EnableDebug, "no"),
		queryBufferLimit:  1 << 30,
		latencyTracking:   true,
		hllSparseMaxBytes: 3000,
		aclLogMax:         128,
		protectedMode:     co.cfg.ProtectedMode != "no",
		minReplicasMaxLag: 10,
		slowerThan:        10000,
		slowlogMax:        128,
		percentiles:       []string{"50", "99", "99.9"},
		tuned:             map[string]string{},
		cluster:           clusterSettings{nodeTimeout: 15000, fullCoverage: true, pubsubWhenDown: true},
	}
}

// busyThreshold is the time after which a running script lets other clients in.
func (co *settings) busyThreshold() time.Duration {
	return time.Duration(co.busyReplyMs) * time.Millisecond
}

// inputLimits are the parser's limits that hold for this client now.
func (s *Session) inputLimits() resp.Limits {
	set := s.core.set
	return resp.Limits{MaxBulk: set.protoMaxBulkLen, MaxBuffer: set.queryBufferLimit, Queued: int64(s.multi.size()), Unauthenticated: s.mustAuth()}
}

// protectedAllowed reports whether enable-debug-command lets this client use DEBUG.
// enable-module-command is always no.
func (s *Session) protectedAllowed(spec *Spec) bool {
	if isModuleCommand(spec) {
		return false
	}
	switch s.core.set.enableDebug {
	case "yes":
		return true
	case "local":
		return s.isLocal()
	}
	return false
}

// isLocal reports whether the client is in process, on a unix socket or on the loopback interface.
func (s *Session) isLocal() bool { return s.conn == nil || localConn(s.conn) }

func localConn(conn *resp.Conn) bool {
	host, _, err := net.SplitHostPort(conn.RemoteAddr())
	ip := net.ParseIP(host)
	return err != nil || ip == nil || ip.IsLoopback()
}

// tooOpen reports whether protected-mode keeps a connection out: it comes from
// elsewhere, and nothing but this would stop it.
func (co *core) tooOpen(conn *resp.Conn) bool {
	return co.set.protectedMode && co.acl.def.noPass && !localConn(conn)
}

// deniedText is what such a connection is told.
const deniedText = "DENIED Running in protected mode because protected mode is enabled and no password is set for the " +
	"default user. In this mode connections are only accepted from the loopback interface. If you want to connect " +
	"from external computers, you may adopt one of the following solutions: 1) Just disable protected mode sending " +
	"the command 'CONFIG SET protected-mode no' from the loopback interface by connecting from the same host the " +
	"server is running, however MAKE SURE it's not publicly accessible from internet if you do so. Use CONFIG " +
	"REWRITE to make this change permanent. 2) Alternatively you can just disable the protected mode by editing " +
	"the configuration file, and setting the protected mode option to 'no', and then restarting the server. 3) If " +
	"you started the server manually just for testing, restart it with the '--protected-mode no' option. 4) Set up " +
	"an authentication password for the default user. NOTE: You only need to do one of the above things in order " +
	"for the server to start accepting connections from the outside."
