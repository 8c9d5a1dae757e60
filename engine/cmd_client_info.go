package engine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

// clientTypes are the names that CLIENT LIST and KILL take for a TYPE.
var clientTypes = map[string]string{"normal": "normal", "pubsub": "pubsub", "replica": "replica", "slave": "replica",
	"primary": "primary", "master": "primary"}

// kind is the client's type.
func (s *Session) kind() string {
	if s.isReplica() {
		return "replica"
	}
	if s.subscribed() {
		return "pubsub"
	}
	return "normal"
}

func unknownClientType(name string) resp.Value {
	return resp.Err(oneLine("ERR Unknown client type '" + cString(name) + "'"))
}

// clients lists all clients, the oldest first.
func (co *core) clients() []*Session {
	all := make([]*Session, 0, len(co.sessions))
	for _, s := range co.sessions {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Session) int { return int(a.id) - int(b.id) })
	return all
}

// addr and laddr are the two ends of the client's connection as CLIENT LIST
// prints them.
func (s *Session) addr() string {
	if s.conn == nil {
		return "in-process:0"
	}
	return s.conn.RemoteAddr()
}

func (s *Session) laddr() string {
	if s.conn == nil {
		return "in-process:0"
	}
	return s.conn.LocalAddr()
}

// ageSec and idleSec are whole seconds since the client came and since its last command.
func (s *Session) ageSec() int64  { return s.core.now/1e6 - s.created/1e6 }
func (s *Session) idleSec() int64 { return s.core.now/1e6 - s.lastSeen/1e6 }

// flags are the letters of CLIENT LIST's flags field.
func (s *Session) flags() string {
	var f []byte
	add := func(on bool, letter byte) {
		if on {
			f = append(f, letter)
		}
	}
	add(s.monitor, 'O')
	add(s.isReplica(), 'S')
	add(s.subscribed(), 'P')
	add(s.track.on, 't')
	add(s.track.broken, 'R')
	add(s.track.bcast, 'B')
	add(s.multi != nil, 'x')
	add(s.held != nil, 'b')
	add(s.dirty, 'd')
	add(s.closing && !s.cut, 'c')
	add(s.cut, 'A')
	add(s.conn != nil && strings.HasSuffix(s.laddr(), ":0"), 'U')
	add(s.readOnly, 'r')
	add(s.noEvict, 'e')
	add(s.noTouch, 'T')
	if f == nil {
		return "N"
	}
	return string(f)
}

// describe is the client's line of CLIENT LIST; running is the command that it
// has under way, if it has one.
func (s *Session) describe(running []string) string {
	var b strings.Builder
	for i, f := range append(s.identity(), s.usage(running)...) {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(f.name + "=" + f.text)
	}
	return b.String()
}

// lineField is one name=text of CLIENT LIST.
type lineField struct{ name, text string }

func numField(name string, n int) lineField { return lineField{name, strconv.Itoa(n)} }

// identity are the fields that tell who the client is and what state it is in.
func (s *Session) identity() []lineField {
	fd, queued := -1, -1
	if s.conn != nil {
		fd = s.conn.FD()
	}
	if s.multi != nil {
		queued = len(s.multi.queue)
	}
	return []lineField{
		numField("id", int(s.id)), {"addr", s.addr()}, {"laddr", s.laddr()}, numField("fd", fd), {"name", s.name},
		numField("age", int(s.ageSec())), numField("idle", int(s.idleSec())), {"flags", s.flags()}, numField("db", s.db),
		numField("sub", s.subs[subChannel].len()), numField("psub", s.subs[subPattern].len()), numField("ssub", s.subs[subShard].len()),
		numField("multi", queued), numField("watch", len(s.watched)),
	}
}

// usage are the fields that count bytes and commands.
func (s *Session) usage(running []string) []lineField {
	events, cmd, free := "r", "NULL", 0
	if s.unparsed > 0 {
		free = s.inputHeld - s.unparsed
	}
	unsent := s.unsent()
	blocks := outputBlocks(unsent)
	if unsent > len(s.out) {
		events = "rw"
	}
	if s.lastCmd != nil {
		cmd = s.lastCmd.Name
	}
	return []lineField{
		numField("qbuf", s.unparsed), numField("qbuf-free", free), numField("argv-mem", argsSize(running)), numField("multi-mem", s.multi.size()),
		numField("rbs", cap(s.out)), numField("rbp", cap(s.out)), numField("obl", min(unsent, replyBlock)), numField("oll", blocks),
		numField("omem", blocks*replyBlock), numField("tot-mem", s.memory(running)),
		{"events", events}, {"cmd", cmd}, {"user", s.user.name}, numField("redir", int(s.track.redirection())), numField("resp", s.proto),
		{"lib-name", s.lib.name}, {"lib-ver", s.lib.version},
		numField("tot-net-in", int(s.bytesIn)), numField("tot-net-out", int(s.bytesOut)), numField("tot-cmds", int(s.commands)),
	}
}

// pending is the number of bytes that wait to be sent.
func (s *Session) pending() int {
	if s.conn == nil {
		return 0
	}
	return int(s.bytesOut - s.conn.Written())
}

// size is the length of all queued arguments; of no transaction it is 0.
func (t *transaction) size() int {
	if t == nil {
		return 0
	}
	return t.bytes
}

func argsSize(args []string) int {
	n := 0
	for _, a := range args {
		n += len(a)
	}
	return n
}
