package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// Config is what an engine is made with. The zero value is a server with 16
// databases, the machine's clock and no password.
type Config struct {
	// Databases is the number of logical databases; 0 means 16.
	Databases int
	// Cluster makes the engine the one node of a cluster: it has all slots, and one
	// database whatever Databases says.
	Cluster bool
	// Clock is the engine's time; nil means Real().
	Clock Clock
	// Seed feeds the engine's only source of randomness (RANDOMKEY, SPOP, ...).
	// The same seed and the same commands give the same replies. 0 is a seed like any other.
	Seed int64
	// Password is the default user's password, as requirepass sets it; empty means none.
	Password string
	// Users are further users, each "name rule rule ...", in the words of ACL SETUSER.
	Users []string
	// ACLFile is the file that ACL LOAD and SAVE use and whose users there are at the
	// start; empty means none. Not together with Users.
	ACLFile string
	// ProtectedMode says whether only clients on this machine are served while the default
	// user has no password, as protected-mode does: "yes" or "no". Empty means "yes".
	ProtectedMode string
	// EnableDebug says who may use DEBUG, as enable-debug-command does: "no", "local" or "yes". Empty means "no".
	EnableDebug string
	// SaveFile is the path of the RDB file that SAVE and BGSAVE write; empty means that
	// they fail. Nothing else writes to it but DEBUG RELOAD and Engine.Save.
	SaveFile string
	// DialMigrate connects to the target of a MIGRATE, HOST:PORT, with the TLS that this takes;
	// nil means plain TCP. It stands for tls-cluster.
	DialMigrate func(ctx context.Context, addr string) (net.Conn, error)
	// OnShutdown is called, in a goroutine of its own, when a client's SHUTDOWN has ended the
	// engine; it should close the connections.
	OnShutdown func()
	// Log receives what a server would write to its log, redis.log included, from loglevel on,
	// which is notice unless CONFIG SET changes it; nil drops it. It is called inside a turn
	// and must not call back into the engine.
	Log func(level LogLevel, message string)
}

// LogLevel is the severity of a log line, numbered as redis.LOG_DEBUG and its kin are.
type LogLevel int

const (
	LogDebug LogLevel = iota
	LogVerbose
	LogNotice
	LogWarning
)

// Validate reports what a Config asks for that no engine can give.
func (c *Config) Validate() error {
	if c.Databases < 0 {
		return errors.New("config: Databases is negative")
	}
	if max := 1 << 20; c.Databases > max {
		return fmt.Errorf("config: Databases is over %d", max)
	}
	switch c.EnableDebug {
	case "", "no", "local", "yes":
	default:
		return fmt.Errorf("config: EnableDebug is %q, want no, local or yes", c.EnableDebug)
	}
	if p := c.ProtectedMode; p != "" && p != "yes" && p != "no" {
		return fmt.Errorf("config: ProtectedMode is %q, want yes or no", p)
	}
	_, err := c.configuredUsers(rulebook{table: sharedTable()})
	return err
}

// ValkeyVersion is the server whose answers this engine gives; it reports itself
// to old clients as CompatVersion.
const (
	ValkeyVersion = "8.0.1"
	CompatVersion = "7.2.4"
)

// logLevels are the values of loglevel. With the last one nothing is logged.
var logLevels = []string{"debug", "verbose", "notice", "warning", "nothing"}

// String is the level's name.
func (l LogLevel) String() string {
	if l < LogDebug || l > LogWarning {
		return fmt.Sprintf("level(%d)", int(l))
	}
	return logLevels[l]
}
