package engine

import (
	"strconv"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var streamPendingCommands = []Spec{
	{Name: "xack", Arity: -4, Flags: Write | Fast,
		Keys: keys(key1(RW | Update)), run: xack,
		Group: "stream", Since: "5.0.0", Complexity: "O(1) for each message ID processed.",
		Summary: "Returns the number of messages that were successfully acknowledged by the consumer group member of a stream.",
		Args:    `key:k#0 group id*`},
	{Name: "xpending", Arity: -3, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: xpending,
		Group: "stream", Since: "5.0.0", Complexity: "O(N) with N being the number of elements returned, so asking for a small fixed number of entries per call is O(1). O(M), where M is the total number of entries scanned when used with the IDLE filter. When the command returns just the summary and the list of consumers is small, it runs in O(1) time; otherwise, an additional O(N) time for iterating every consumer.",
		Summary: "Returns the information and entries from a stream consumer group's pending entries list.",
		History: []string{"6.2.0 Added the `IDLE` option and exclusive range intervals."},
		Tips:    []string{"nondeterministic_output"},
		Args:    `key:k#0 group filters{min-idle-time:i=IDLE@6.2.0? start end count:i consumer?}?`},
}

// xack: XACK key group id [id ...]
func xack(c *Call) resp.Value {
	s, bad := c.readStream(c.Args[1])
	switch {
	case bad != nil:
		return *bad
	case s == nil || s.Group(c.Args[2]) == nil:
		return resp.Zero
	}
	ids, bad := streamIDs(c.Args[3:])
	if bad != nil {
		return *bad
	}
	g := c.write(c.Args[1]).Stream().WriteGroup(c.Args[2])
	acked := 0
	for _, id := range ids {
		if g.RemovePending(id) {
			acked++
		}
	}
	c.streamNoted(c.Args[1], "", acked)
	return resp.Int(int64(acked))
}

// xpendingQuery is XPENDING with an interval.
type xpendingQuery struct {
	minIdle     int64 // milliseconds
	start, end  store.StreamID
	count       int64
	consumer    string
	ofConsumer  bool
	now         int64
	group       *store.StreamGroup
	perConsumer *store.Consumer
}

// xpending: XPENDING key group [[IDLE min-idle-time] start end count [consumer]]
func xpending(c *Call) resp.Value {
	q := xpendingQuery{now: c.ms()}
	summary := len(c.Args) == 3
	if !summary {
		if bad := q.parse(c); bad != nil {
			return *bad
		}
	}
	s, bad := c.readStream(c.Args[1])
	switch {
	case bad != nil:
		return *bad
	case s == nil || s.Group(c.Args[2]) == nil:
		return *noGroup(c.Args[1], c.Args[2], "")
	}
	q.group = s.Group(c.Args[2])
	if summary {
		return pendingSummary(q.group)
	}
	return q.list()
}

func (q *xpendingQuery) parse(c *Call) (bad *resp.Value) {
	if len(c.Args) < 6 || len(c.Args) > 9 {
		return &errSyntax
	}
	i := 3
	if c.is(3, "idle") {
		if q.minIdle, bad = c.intArg(4); bad != nil {
			return bad
		}
		if i = 5; len(c.Args) < 8 {
			return &errSyntax
		}
	}
	if q.count, bad = c.intArg(i + 2); bad != nil {
		return bad
	}
	if i+3 < len(c.Args) {
		q.consumer, q.ofConsumer = c.Args[i+3], true
	}
	q.start, q.end, bad = streamInterval(c.Args[i], c.Args[i+1])
	return bad
}

// pendingSummary is how many entries are pending, the first and the last of them, and
// how many there are for each consumer.
func pendingSummary(g *store.StreamGroup) resp.Value {
	first, ok := g.FirstPending()
	if !ok {
		return resp.Array(resp.Zero, resp.Null, resp.Null, resp.NullArray)
	}
	last, _ := g.LastPending()
	var each []resp.Value
	g.AscendConsumers(func(m *store.Consumer) bool {
		if n := m.PendingLen(); n > 0 {
			each = append(each, resp.Strings(m.Name(), strconv.Itoa(n)))
		}
		return true
	})
	return resp.Array(resp.Int(int64(g.PendingLen())), resp.Bulk(first.ID.String()), resp.Bulk(last.ID.String()),
		resp.Array(each...))
}

// list is the pending entries of the interval.
func (q *xpendingQuery) list() resp.Value {
	if q.ofConsumer {
		if q.perConsumer = q.group.Consumer(q.consumer); q.perConsumer == nil {
			return resp.Array()
		}
	}
	if q.count <= 0 {
		return resp.Array()
	}
	var out []resp.Value
	add := func(p store.Pending) bool {
		if p.ID.Compare(q.end) > 0 {
			return false
		}
		idle := q.now - p.Delivered
		if q.minIdle != 0 && idle < q.minIdle {
			return true
		}
		out = append(out, resp.Array(resp.Bulk(p.ID.String()), resp.Bulk(p.Consumer), resp.Int(max(idle, 0)),
			resp.Int(p.Deliveries)))
		return int64(len(out)) < q.count
	}
	if q.perConsumer != nil {
		q.group.AscendPendingOf(q.perConsumer, q.start, add)
	} else {
		q.group.AscendPending(q.start, add)
	}
	return resp.Array(out...)
}
