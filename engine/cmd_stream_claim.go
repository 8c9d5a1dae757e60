package engine

import (
	"cmp"
	"math"
	"strconv"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var streamClaimCommands = []Spec{
	{Name: "xautoclaim", Arity: -6, Flags: Write | Fast,
		Keys: keys(key1(RW | Delete)), run: xautoclaim,
		Group: "stream", Since: "6.2.0", Complexity: "O(1) if COUNT is small.",
		Summary: "Changes, or acquires, ownership of messages in a consumer group, as if the messages were delivered to as consumer group member.",
		History: []string{"7.0.0 Added an element to the reply array, containing deleted entries the command cleared from the PEL"},
		Tips:    []string{"nondeterministic_output"},
		Args:    `key:k#0 group consumer min-idle-time start count:i=COUNT? justid:t=JUSTID?`},
	{Name: "xclaim", Arity: -6, Flags: Write | Fast,
		Keys: keys(key1(RW | Update)), run: xclaim,
		Group: "stream", Since: "5.0.0", Complexity: "O(log N) with N being the number of messages in the PEL of the consumer group.",
		Summary: "Changes, or acquires, ownership of a message in a consumer group, as if the message was delivered a consumer group member.",
		Tips:    []string{"nondeterministic_output"},
		Args:    `key:k#0 group consumer min-idle-time id* ms:i=IDLE? unix-time-milliseconds:u=TIME? count:i=RETRYCOUNT? force:t=FORCE? justid:t=JUSTID? lastid=LASTID?`},
}

// claimer is what XCLAIM and XAUTOCLAIM do with pending entries.
type claimer struct {
	c         *Call
	key       string
	spelled   string // the ID in hand as the client spelled it; empty if it came from here
	s         *store.StreamObj
	g         *store.StreamGroup
	member    *store.Consumer
	minIdle   int64 // milliseconds
	delivered int64 // Unix milliseconds to note as the time of delivery
	retries   int64 // deliveries to note; negative: one more, or as many with JUSTID
	justID    bool
	out       []resp.Value
}

// begin looks the group up to change it, and the consumer, which is made if need be.
func (m *claimer) begin(key, group, consumer string) {
	m.key = key
	m.c.sendNothing() // but each claim
	m.s = m.c.write(key).Stream()
	m.g = m.s.WriteGroup(group)
	m.member = m.c.consumer(key, m.g, consumer)
	m.member.Seen = m.c.ms()
}

// gone drops a pending entry that is no longer in the stream.
func (m *claimer) gone(p store.Pending) {
	m.send(p)
	m.g.RemovePending(p.ID)
	m.c.stats.dirty++
}

// send makes replicas do the same with a pending entry.
func (m *claimer) send(p store.Pending) {
	if m.c.repl.streams() {
		m.c.sendClaim(m.key, m.g, p, cmp.Or(m.spelled, p.ID.String()))
	}
}

// sendClaim makes replicas give a pending entry to its consumer, or drop it if it is no
// longer in the stream.
func (c *Call) sendClaim(key string, g *store.StreamGroup, p store.Pending, id string) {
	c.alsoSend("XCLAIM", key, g.Name(), p.Consumer, "0", id, "TIME", strconv.FormatInt(p.Delivered, 10),
		"RETRYCOUNT", strconv.FormatInt(p.Deliveries, 10), "FORCE", "JUSTID", "LASTID", g.LastID.String())
}

// sendGroupID makes replicas know how far the group has read.
func (c *Call) sendGroupID(key string, g *store.StreamGroup) {
	if c.repl.streams() {
		c.alsoSend("XGROUP", "SETID", key, g.Name(), g.LastID.String(), "ENTRIESREAD", strconv.FormatInt(g.Read, 10))
	}
}

// idle reports whether an entry has been pending for long enough.
func (m *claimer) idle(p store.Pending) bool {
	return m.minIdle == 0 || m.c.ms()-p.Delivered >= m.minIdle
}

// take gives an entry to the consumer.
func (m *claimer) take(e store.StreamEntry, p store.Pending) {
	p.Consumer, p.Delivered = m.member.Name(), m.delivered
	switch {
	case m.retries >= 0:
		p.Deliveries = m.retries
	case !m.justID:
		p.Deliveries++
	}
	m.g.SetPending(p)
	m.send(p)
	m.member.Active = m.c.ms()
	m.c.stats.dirty++
	if m.justID {
		m.out = append(m.out, resp.Bulk(e.ID.String()))
		return
	}
	m.out = append(m.out, streamEntry(e))
}

// xclaimOptions are the arguments of XCLAIM from the IDs on.
type xclaimOptions struct {
	ids       []store.StreamID
	delivered int64 // -1 when not given
	retries   int64 // likewise
	lastID    store.StreamID
	force     bool
	justID    bool
}

// xclaim: XCLAIM key group consumer min-idle-time id [id ...] [IDLE ms] [TIME unix-time-milliseconds] [RETRYCOUNT count] [FORCE] [JUSTID] [LASTID lastid]
func xclaim(c *Call) resp.Value {
	key, group := c.Args[1], c.Args[2]
	s, bad := c.readStream(key)
	switch {
	case bad != nil:
		return *bad
	case s == nil || s.Group(group) == nil:
		return *noGroup(key, group, "")
	}
	m := claimer{c: c}
	if m.minIdle, bad = c.minIdle("XCLAIM"); bad != nil {
		return *bad
	}
	opt := xclaimOptions{delivered: -1, retries: -1}
	if bad = opt.parse(c); bad != nil {
		return *bad
	}
	m.retries, m.justID, m.delivered = opt.retries, opt.justID, opt.delivered
	if m.delivered < 0 || m.delivered > c.ms() {
		m.delivered = c.ms()
	}
	m.begin(key, group, c.Args[3])
	raised, changes := opt.lastID.Compare(m.g.LastID) > 0, c.stats.dirty
	if raised {
		m.g.LastID = opt.lastID
	}
	for i, id := range opt.ids {
		m.spelled = c.Args[5+i]
		m.claim(id, opt.force)
	}
	if raised && c.stats.dirty == changes {
		c.sendGroupID(key, m.g)
		c.stats.dirty++ // a change of its own only if there is no other
	}
	return resp.Array(m.out...)
}

// minIdle is argument 4.
func (c *Call) minIdle(command string) (ms int64, bad *resp.Value) {
	ms, bad = c.claimInt(4, "min-idle-time argument for "+command)
	return max(ms, 0), bad
}

// claimInt is argument i as an integer; what says what it is.
func (c *Call) claimInt(i int, what string) (n int64, bad *resp.Value) {
	if n, bad = c.intArg(i); bad != nil {
		v := resp.Err("ERR Invalid " + what)
		bad = &v
	}
	return n, bad
}

// parse reads IDs as long as there are some, then options.
func (o *xclaimOptions) parse(c *Call) (bad *resp.Value) {
	i := 5
	for ; i < len(c.Args); i++ {
		id, notID := streamID(c.Args[i], 0)
		if notID != nil {
			break
		}
		o.ids = append(o.ids, id)
	}
	for ; i < len(c.Args) && bad == nil; i++ {
		paired := i+1 < len(c.Args)
		switch {
		case c.is(i, "force"):
			o.force = true
		case c.is(i, "justid"):
			o.justID = true
		case c.is(i, "idle") && paired:
			i++
			o.delivered, bad = c.claimInt(i, "IDLE option argument for XCLAIM")
			o.delivered = c.ms() - o.delivered
		case c.is(i, "time") && paired:
			i++
			o.delivered, bad = c.claimInt(i, "TIME option argument for XCLAIM")
		case c.is(i, "retrycount") && paired:
			i++
			o.retries, bad = c.claimInt(i, "RETRYCOUNT option argument for XCLAIM")
		case c.is(i, "lastid") && paired:
			i++
			o.lastID, bad = streamID(c.Args[i], 0)
		default:
			v := resp.Err(oneLine("ERR Unrecognized XCLAIM option '" + cString(c.Args[i]) + "'"))
			bad = &v
		}
	}
	return bad
}

// claim is XCLAIM for one ID.
func (m *claimer) claim(id store.StreamID, force bool) {
	p, pending := m.g.Pending(id)
	e, ok := m.s.Get(id)
	switch {
	case !ok && pending:
		m.gone(p)
	case ok && pending && m.idle(p):
		m.take(e, p)
	case ok && !pending && force:
		m.take(e, store.Pending{ID: id, Deliveries: 1})
	}
}

// xautoclaimOptions are the arguments of XAUTOCLAIM from the start on.
type xautoclaimOptions struct {
	start  store.StreamID
	count  int64
	justID bool
}

const (
	maxAutoclaim      = math.MaxInt64 / 16 // what COUNT may be
	mostAutoclaim     = 1 << 42            // from here on a server lacks the memory, or earlier
	autoclaimAttempts = 10                 // entries that are looked at for each that COUNT allows
)

// xautoclaim: XAUTOCLAIM key group consumer min-idle-time start [COUNT count] [JUSTID]
func xautoclaim(c *Call) resp.Value {
	key, group := c.Args[1], c.Args[2]
	o := c.read(key)
	m := claimer{c: c, delivered: c.ms(), retries: -1}
	var bad *resp.Value
	if m.minIdle, bad = c.minIdle("XAUTOCLAIM"); bad != nil {
		return *bad
	}
	opt := xautoclaimOptions{count: 100}
	if bad = opt.parse(c); bad != nil {
		return *bad
	}
	switch {
	case o != nil && o.Type() != store.Stream:
		return errWrongType
	case o == nil || o.Stream().Group(group) == nil:
		return *noGroup(key, group, "")
	case opt.count >= mostAutoclaim:
		return resp.Err("ERR Insufficient memory, failed allocating transient memory, COUNT too high.")
	}
	m.justID = opt.justID
	m.begin(key, group, c.Args[3])
	cursor, deleted := m.sweep(opt.start, opt.count)
	return resp.Array(resp.Bulk(cursor.String()), resp.Array(m.out...), resp.Array(deleted...))
}

// parse reads the start and the options.
func (o *xautoclaimOptions) parse(c *Call) (bad *resp.Value) {
	if o.start, bad = streamStart(c.Args[5]); bad != nil {
		return bad
	}
	for i := 6; i < len(c.Args); i++ {
		switch {
		case c.is(i, "count") && i+1 < len(c.Args):
			i++
			if o.count, bad = c.intArg(i); bad != nil || o.count < 1 || o.count > maxAutoclaim {
				v := resp.Err("ERR COUNT must be > 0")
				return &v
			}
		case c.is(i, "justid"):
			o.justID = true
		default:
			return &errSyntax
		}
	}
	return nil
}

// sweep goes through the pending entries from start on, and gives up to count of them to
// the consumer or, if they are no longer in the stream, drops them. It returns where to
// go on, 0-0 at the end, and the IDs of those that were dropped.
func (m *claimer) sweep(start store.StreamID, count int64) (cursor store.StreamID, deleted []resp.Value) {
	next, more := m.g.NextPending(start)
	for attempts := count * autoclaimAttempts; more && attempts > 0 && count > 0; attempts-- {
		p := next
		if e, ok := m.s.Get(p.ID); !ok {
			m.gone(p)
			deleted = append(deleted, resp.Bulk(p.ID.String()))
			count--
		} else if m.idle(p) {
			m.take(e, p)
			count--
		}
		if start, more = p.ID.Next(); more {
			next, more = m.g.NextPending(start)
		}
	}
	if more {
		cursor = next.ID
	}
	return cursor, deleted
}
