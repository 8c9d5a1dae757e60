package echomqsim

import (
	"io"
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

// LoadRDB puts what is in an RDB file, such as a server's dump.rdb, in place of all
// databases and function libraries. It reads the files of every server up to Valkey 8, and
// of Valkey 9 with the deadlines of hash fields. Keys whose time has passed by the
// server's clock are left out.
//
// An error leaves everything as it was. It tells the byte offset and the type of what is
// broken, or of what is not supported: modules, and the files of Redis 7.4 and later.
func (s *Server) LoadRDB(r io.Reader) error { return s.engine.LoadRDB(r) }

// SaveRDB writes all databases and function libraries, as they are at this moment, as an
// RDB file that Valkey 8.0 loads; if fields of a hash have deadlines it is one that only
// Valkey 9 loads. The same data and time give the same bytes. The error is w's.
func (s *Server) SaveRDB(w io.Writer) error { return s.engine.SaveRDB(w) }

// Save writes what SaveRDB does to Config.SaveFile. What was there before stays until
// everything is written. It is an error if there is no Config.SaveFile.
func (s *Server) Save() error { return s.engine.Save() }

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

// NeedsPassword reports whether a new client has to log in first: the default user
// has a password or is off.
func (s *Server) NeedsPassword() bool { return s.engine.NeedsPassword() }
