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
	busyReplyMs      int64
	trackingMaxKeys  int64 // 0 is no limit
	protoMaxBulkLen  int64
	enableDebug      string // yes, no or local
	queryBufferLimit int64
	announceIP       string // cluster-announce-ip
	latencyTracking  bool
	// hllSparseMaxBytes is the size up to which a HyperLogLog stays sparse.
	hllSparseMaxBytes int64
}

func newSettings(co *core) *settings {
	return &settings{
		requirePass:       co.cfg.Password,
		maxClients:        10000,
		busyReplyMs:       5000,
		trackingMaxKeys:   1_000_000,
		protoMaxBulkLen:   512 << 20,
		enableDebug:       cmp.Or(co.cfg.EnableDebug, "no"),
		queryBufferLimit:  1 << 30,
		latencyTracking:   true,
		hllSparseMaxBytes: 3000,
	}
}

// busyThreshold is the time after which a running script lets other clients in.
func (co *settings) busyThreshold() time.Duration {
	return time.Duration(co.busyReplyMs) * time.Millisecond
}

// inputLimits are the parser's limits that hold for this client now.
func (s *Session) inputLimits() resp.Limits {
	set := s.core.set
	return resp.Limits{MaxBulk: set.protoMaxBulkLen, MaxBuffer: set.queryBufferLimit, Unauthenticated: s.mustAuth()}
}

// mustAuth reports whether the client has to log in before anything else.
func (s *Session) mustAuth() bool { return !s.authed && s.core.set.requirePass != "" }

// protectedAllowed reports whether enable-debug-command lets this client use DEBUG.
func (s *Session) protectedAllowed() bool {
	switch s.core.set.enableDebug {
	case "yes":
		return true
	case "local":
		return s.isLocal()
	}
	return false
}

// isLocal reports whether the client is in process, on a unix socket or on the loopback interface.
func (s *Session) isLocal() bool {
	if s.conn == nil {
		return true
	}
	host, _, err := net.SplitHostPort(s.conn.RemoteAddr())
	ip := net.ParseIP(host)
	return err != nil || ip == nil || ip.IsLoopback()
}
