package echomqsim

import (
	"time"

	"github.com/echomq/echomq-sim/engine"
)

// Snapshot is the state of all databases at one moment. It may be kept and
// restored any number of times, on this server or another.
type Snapshot = engine.Snapshot

// Snapshot takes the state of all databases in constant time, however much they hold.
func (s *Server) Snapshot() *Snapshot { return s.engine.Snapshot() }

// Restore puts all databases back to a snapshot, in constant time. Clients,
// scripts and the clock stay as they are.
func (s *Server) Restore(snap *Snapshot) { s.engine.Restore(snap) }

// Advance moves a Manual clock forward by d and fires what falls due on the way,
// each at its own time and in order: expiry, blocking time-outs, DEBUG SLEEP.
// It panics when the server's clock is not Manual.
func (s *Server) Advance(d time.Duration) { s.engine.Advance(d) }

// SetTime moves a Manual clock to t. Going back fires nothing.
func (s *Server) SetTime(t time.Time) { s.engine.SetTime(t) }

// Now is the server's time.
func (s *Server) Now() time.Time { return s.engine.Now() }

// Check verifies every invariant of the keyspace. RunT does so when a test ends.
func (s *Server) Check() error { return s.engine.Check() }
