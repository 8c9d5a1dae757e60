package engine

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/echomq/echomq-sim/resp"
)

// migrateTargets are the connections of MIGRATE, kept for a while after their use, the
// oldest first.
type migrateTargets struct {
	list []*migrateTarget
	end  context.Context // of the engine, which ends all I/O
	stop context.CancelFunc
}

// migrateTarget is a connection to another server.
type migrateTarget struct {
	addr string // as the command spells it
	conn net.Conn
	in   *bufio.Reader
	db   int64     // selected there
	idle *deadline // when the connection is closed unless it is used again
	// detach ends the wait for the engine's end.
	detach func() bool
}

const (
	unknownDB         = -1
	maxMigrateTargets = 64
	migrateTargetIdle = 11       // seconds
	migrateChunk      = 64 << 10 // bytes that are written under one timeout
	maxTargetReply    = 1023     // bytes of a reply's line; what is longer is taken for two
)

func newMigrateTargets() (mt migrateTargets) {
	mt.end, mt.stop = context.WithCancel(context.Background())
	return mt
}

// target is the connection to a migration's target, made if there is none.
func (co *core) target(m *migration) (t *migrateTarget, bad *resp.Value) {
	mt := &co.targets
	i := slices.IndexFunc(mt.list, func(t *migrateTarget) bool { return t.addr == m.addr })
	if i >= 0 {
		co.keepTarget(mt.list[i])
		return mt.list[i], nil
	}
	if len(mt.list) == maxMigrateTargets {
		co.closeTarget(mt.list[co.rng.IntN(len(mt.list))])
	}
	var conn net.Conn
	co.whileAway(func() { conn, bad = co.dialTarget(m) })
	if bad != nil {
		return nil, bad
	}
	t = &migrateTarget{addr: strings.Clone(m.addr), conn: conn, db: unknownDB}
	t.in = bufio.NewReader(conn)
	t.detach = context.AfterFunc(mt.end, func() { conn.Close() })
	mt.list = append(mt.list, t)
	co.keepTarget(t)
	return t, nil
}

func (co *core) dialTarget(m *migration) (net.Conn, *resp.Value) {
	if m.host == "" || m.port < 0 {
		return nil, &errMigrateConnect // Go would take no host for this machine
	}
	dial := co.cfg.DialMigrate
	if dial == nil {
		dial = dialPlain
	}
	ctx, cancel := context.WithTimeout(co.targets.end, ioTimeout(m.timeout))
	defer cancel()
	conn, err := dial(ctx, net.JoinHostPort(m.host, strconv.Itoa(int(uint16(m.port)))))
	var refused *os.SyscallError
	switch {
	case err == nil:
		return conn, nil
	case errors.As(err, &refused) && !refused.Timeout():
		return nil, &errMigrateWrite // the server notices when it writes
	}
	return nil, &errMigrateConnect
}

func dialPlain(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}

// keepTarget puts off the end of a connection that is used.
func (co *core) keepTarget(t *migrateTarget) {
	co.deadlines.cancel(t.idle)
	t.idle = co.deadlines.set((co.now/1e6+migrateTargetIdle)*1e6, func() { co.closeTarget(t) })
}

func (co *core) closeTarget(t *migrateTarget) {
	co.deadlines.cancel(t.idle)
	t.detach()
	t.conn.Close()
	co.targets.list = slices.DeleteFunc(co.targets.list, func(other *migrateTarget) bool { return other == t })
}

// transferred is what came of sending a migration's commands to its target.
type transferred struct {
	written bool
	replies int      // how many keys the target has answered for
	taken   []string // the keys that it has now
	refusal string   // its first error, without the minus sign
	err     error    // the connection's
}

// transfer sends the commands and reads the replies.
func (co *core) transfer(t *migrateTarget, m *migration, restores []byte) *transferred {
	var head []byte
	heads := 0
	if m.auth != nil {
		head = appendCommand(head, m.auth...)
		heads++
	}
	if t.db != m.db {
		head = appendCommand(head, "SELECT", strconv.FormatInt(m.db, 10))
		heads++
	}
	x := &transferred{}
	timeout := ioTimeout(m.timeout)
	co.whileAway(func() {
		if x.err = t.write(append(head, restores...), timeout); x.err == nil {
			x.written = true
			x.read(t, m.keys, heads, timeout)
		}
	})
	return x
}

// read reads the replies to some commands ahead, an error of which is one for every key,
// and to the keys' own.
func (x *transferred) read(t *migrateTarget, keys []string, heads int, timeout time.Duration) {
	ahead, line := "", ""
	for range heads {
		if line, x.err = t.readLine(timeout); x.err != nil {
			return
		}
		if ahead == "" && line[0] == '-' {
			ahead = line
		}
	}
	for _, key := range keys {
		if line, x.err = t.readLine(timeout); x.err != nil {
			return
		}
		x.replies++
		if ahead != "" {
			line = ahead
		}
		switch {
		case line[0] != '-':
			x.taken = append(x.taken, key)
		case x.refusal == "":
			x.refusal = line[1:]
		}
	}
}

// write writes all of b, each chunk within timeout.
func (t *migrateTarget) write(b []byte, timeout time.Duration) error {
	for chunk := range slices.Chunk(b, migrateChunk) {
		if err := t.conn.SetWriteDeadline(ioDeadline(timeout)); err != nil {
			return err
		}
		if _, err := t.conn.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}

var errEmptyLine = errors.New("an empty line")

// readLine reads a line, which is not empty.
func (t *migrateTarget) readLine(timeout time.Duration) (string, error) {
	var line []byte
	for len(line) < maxTargetReply {
		if t.in.Buffered() == 0 {
			if err := t.conn.SetReadDeadline(ioDeadline(timeout)); err != nil {
				return "", err
			}
		}
		b, err := t.in.ReadByte()
		if err != nil {
			return "", err
		}
		if b != '\n' {
			line = append(line, b)
			continue
		}
		if n := len(line); n > 1 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		break
	}
	if len(line) == 0 {
		return "", errEmptyLine
	}
	return string(line), nil
}

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// maxIOTimeout is longer than anybody waits.
const maxIOTimeout = 24 * 365 * time.Hour

// ioTimeout is a timeout that was given in milliseconds.
func ioTimeout(ms int64) time.Duration {
	return time.Duration(min(ms, maxIOTimeout.Milliseconds())) * time.Millisecond
}

// whileAway runs f, which does I/O and leaves the engine alone, in the middle of a command:
// the lock is free meanwhile but, as on a server that waits for its sockets, nobody gets a
// turn until f is through.
func (co *core) whileAway(f func()) {
	co.away = true
	co.engine.mu.Unlock()
	defer func() {
		co.engine.mu.Lock()
		co.away = false
		co.engine.changed.Broadcast()
	}()
	f()
}
