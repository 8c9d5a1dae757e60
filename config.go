package echomqsim

import (
	"crypto/tls"
	"fmt"
	"os"
	"time"

	"github.com/echomq/echomq-sim/engine"
)

// Config is what a Server is made with. The zero value is an empty server with
// 16 databases, the machine's clock and no password.
type Config struct {
	// Addr is the TCP address that Start listens on, HOST:PORT. Port 0 picks a
	// free one. Empty means 127.0.0.1:0.
	Addr string
	// Socket is the path of a unix socket that Start listens on as well; empty means none.
	Socket string
	// SocketPerm are the permissions of Socket; 0 leaves them to the umask.
	SocketPerm os.FileMode
	// Databases is the number of logical databases; 0 means 16.
	Databases int
	// Cluster makes the server the one node of a cluster, as cluster-enabled does: it has
	// all slots, and one database whatever Databases says.
	Cluster bool
	// Password is what clients must AUTH with, as requirepass; empty means none.
	Password string
	// Users are further users, each "name rule rule ..." in the words of ACL SETUSER,
	// such as "app on >secret ~app:* +@all".
	Users []string
	// ACLFile is the file that ACL LOAD and SAVE use and whose users there are at the
	// start; empty means none. Not together with Users.
	ACLFile string
	// ProtectedMode says whether only clients on this machine are served while the
	// default user has no password: "yes" or "no". Empty means "yes".
	ProtectedMode string
	// TLS makes Addr speak TLS only; nil means plain TCP. SelfSigned makes one for
	// tests. Socket and Dial stay plain. With Cluster MIGRATE speaks TLS too, as with tls-cluster.
	TLS *tls.Config
	// OwnThread makes the server wait for its sockets on a thread of its own, on Linux and
	// without TLS. Clients in other processes are served sooner then, and those in this one
	// several times later. As long as one client sends a command at a time, each soon after
	// the last reply, that thread does not sleep. The command of this module sets it.
	OwnThread bool
	// Clock is the server's time: Real() or Manual(start). nil means Real().
	Clock engine.Clock
	// Seed feeds the server's only source of randomness. The same seed and the
	// same commands give the same replies.
	Seed int64
	// EnableDebug says who may use DEBUG: "no" (or empty), "local" or "yes".
	EnableDebug string
	// SaveFile is the path of the RDB file that SAVE, BGSAVE and Server.Save write. Empty
	// means that they fail: a simulator leaves no files behind that nobody asked for.
	// DEBUG RELOAD goes by way of this file, or of memory if there is none.
	SaveFile string
	// Log receives what a server would write to its log, redis.log included, from loglevel
	// on, which is notice unless CONFIG SET changes it; nil drops it. It must not call back
	// into the server. The lines of a cluster's nodes begin with "node 1: ", counted as
	// Cluster.Nodes does from 0.
	Log func(level engine.LogLevel, message string)
}

// Validate reports what the Config asks for that no server can give.
func (c *Config) Validate() error {
	ec := c.engine()
	if err := ec.Validate(); err != nil {
		return err
	}
	if c.SocketPerm != 0 && c.Socket == "" {
		return fmt.Errorf("config: SocketPerm %o without Socket", c.SocketPerm)
	}
	return nil
}

func (c *Config) engine() engine.Config {
	return engine.Config{Databases: c.Databases, Cluster: c.Cluster, Clock: c.Clock, Seed: c.Seed, Password: c.Password,
		Users: c.Users, ACLFile: c.ACLFile, ProtectedMode: c.ProtectedMode, EnableDebug: c.EnableDebug, SaveFile: c.SaveFile, Log: c.Log}
}

// Real returns the machine's clock, which inside a testing/synctest bubble is the bubble's.
func Real() engine.Clock { return engine.Real() }

// Manual returns a clock that stands still until Advance or SetTime moves it. A
// zero start means 2024-01-01 00:00 UTC, so that runs repeat exactly.
func Manual(start time.Time) engine.Clock {
	if start.IsZero() {
		start = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return engine.Manual(start)
}
