package engine

import (
	"slices"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var streamReadCommands = []Spec{
	{Name: "xread", Arity: -4, Flags: ReadOnly | Blocking,
		Keys: keys(keyword("STREAMS", 1, -1, 1, 2, RO|Access)), run: xread,
		Group: "stream", Since: "5.0.0",
		Summary: "Returns messages from multiple streams with IDs greater than the ones requested. Blocks until a message is available otherwise.",
		Args:    `count:i=COUNT? milliseconds:i=BLOCK? streams{key:k#0* id*}=STREAMS`},
	{Name: "xreadgroup", Arity: -7, Flags: Write | Blocking,
		Keys: keys(keyword("STREAMS", 4, -1, 1, 2, RO|Access)), run: xreadgroup,
		Group: "stream", Since: "5.0.0", Complexity: "For each stream mentioned: O(M) with M being the number of elements returned. If M is constant (e.g. always asking for the first 10 elements with COUNT), you can consider it O(1). On the other side when XREADGROUP blocks, XADD will pay the O(N) time in order to serve the N clients blocked on the stream getting new data.",
		Summary: "Returns new or historical messages from a stream for a consumer in a group. Blocks until a message is available otherwise.",
		Args:    `group-block{group consumer}=GROUP count:i=COUNT? milliseconds:i=BLOCK? noack:t=NOACK? streams{key:k#0* id*}=STREAMS`},
}

// xreadQuery is a parsed XREAD or XREADGROUP.
type xreadQuery struct {
	group, consumer string
	ofGroup, noAck  bool
	count           int64 // 0 is no limit
	blocks          bool
	until           int64 // when to stop waiting, in Unix milliseconds; 0 is never
	first           int   // index of the first key
	keys            []string
	ids             []store.StreamID // after which to read; MaxStreamID is XREADGROUP's >
}

// xread: XREAD [COUNT count] [BLOCK milliseconds] STREAMS key [key ...] id [id ...]
func xread(c *Call) resp.Value { return c.xread(false) }

// xreadgroup: XREADGROUP GROUP group consumer [COUNT count] [BLOCK milliseconds] [NOACK] STREAMS key [key ...] id [id ...]
func xreadgroup(c *Call) resp.Value { return c.xread(true) }

func (c *Call) xread(group bool) resp.Value {
	q := xreadQuery{ofGroup: group}
	if bad := q.parse(c); bad != nil {
		return *bad
	}
	if bad := q.resolve(c); bad != nil {
		return *bad
	}
	c.sendNothing() // but what is delivered
	var out []resp.Value
	for i, key := range q.keys {
		entries, served := q.serve(c, i)
		switch {
		case !served:
		case c.proto() == 2:
			out = append(out, resp.Array(resp.Bulk(key), entries))
		default:
			out = append(out, resp.Bulk(key), entries)
		}
	}
	switch {
	case out == nil:
		return q.wait(c)
	case c.proto() == 2:
		return resp.Array(out...)
	}
	return resp.Map(out...)
}

// parse reads the options and finds keys and IDs.
func (q *xreadQuery) parse(c *Call) (bad *resp.Value) {
	hasGroup := false
	for i := 1; i < len(c.Args) && q.first == 0; i++ {
		more := len(c.Args) - 1 - i
		switch {
		case c.is(i, "block") && more > 0:
			i++
			q.blocks = true
			q.until, bad = c.timeoutMs(i)
		case c.is(i, "count") && more > 0:
			i++
			q.count, bad = c.intArg(i)
			q.count = max(q.count, 0)
		case c.is(i, "streams") && more > 0:
			q.first = i + 1
		case c.is(i, "group") && more > 1:
			hasGroup = true
			q.group, q.consumer = c.Args[i+1], c.Args[i+2]
			i += 2
			bad = q.onlyGroup("GROUP")
		case c.is(i, "noack"):
			q.noAck = true
			bad = q.onlyGroup("NOACK")
		default:
			bad = &errSyntax
		}
		if bad != nil {
			return bad
		}
	}
	n := len(c.Args) - q.first
	switch {
	case q.first == 0:
		return &errSyntax
	case n%2 != 0:
		return q.unbalanced(c)
	case q.ofGroup && !hasGroup:
		v := resp.Err("ERR Missing GROUP option for XREADGROUP")
		return &v
	}
	q.keys = c.Args[q.first : q.first+n/2]
	return nil
}

// onlyGroup refuses an option of XREADGROUP to XREAD.
func (q *xreadQuery) onlyGroup(option string) *resp.Value {
	if q.ofGroup {
		return nil
	}
	v := resp.Err("ERR The " + option + " option is only supported by XREADGROUP. You called XREAD instead.")
	return &v
}

func (q *xreadQuery) unbalanced(c *Call) *resp.Value {
	symbol := "$"
	if q.ofGroup {
		symbol = ">"
	}
	v := resp.Err("ERR Unbalanced '" + c.Spec.Name + "' list of streams: for each stream key an ID or '" + symbol +
		"' must be specified.")
	return &v
}

// resolve looks keys and groups up, and finds out after which IDs to read.
func (q *xreadQuery) resolve(c *Call) *resp.Value {
	q.ids = make([]store.StreamID, len(q.keys))
	for i, key := range q.keys {
		s, bad := c.readStream(key)
		if bad != nil {
			return bad
		}
		if q.ofGroup && (s == nil || s.Group(q.group) == nil) {
			return noGroup(key, q.group, " in XREADGROUP with GROUP option")
		}
		if q.ids[i], bad = q.after(s, c.Args[q.first+len(q.keys)+i]); bad != nil {
			return bad
		}
	}
	return nil
}

// noGroup is the refusal to commands that need a group.
func noGroup(key, group, where string) *resp.Value {
	v := resp.Err(oneLine("NOGROUP No such key '" + cString(key) + "' or consumer group '" + cString(group) + "'" + where))
	return &v
}

// after is the ID that an ID argument stands for. s may be nil.
func (q *xreadQuery) after(s *store.StreamObj, arg string) (id store.StreamID, bad *resp.Value) {
	switch symbol := cString(arg); {
	case symbol == ">" && q.ofGroup:
		return store.MaxStreamID, nil
	case symbol == ">":
		v := resp.Err("ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.")
		return id, &v
	case symbol != "$" && symbol != "+":
		return streamID(arg, 0)
	case q.ofGroup:
		v := resp.Err("ERR The " + symbol + " ID is meaningless in the context of XREADGROUP: you want to read the history of " +
			"this consumer by specifying a proper ID, or use the > ID to get new messages. The " + symbol +
			" ID would just return an empty result set.")
		return id, &v
	case s == nil:
		return id, nil
	case symbol == "$":
		return s.LastID(), nil
	}
	id, ok := s.LastID().Prev()
	if !ok {
		v := resp.Err("ERR the stream last element ID is 0-0")
		return id, &v
	}
	return id, nil
}

// serve reads from stream i, if there is something that the client may get at once.
func (q *xreadQuery) serve(c *Call, i int) (entries resp.Value, ok bool) {
	s, _ := c.readStream(q.keys[i])
	if s == nil {
		return resp.Null, false
	}
	if q.ofGroup {
		return q.serveGroup(c, i)
	}
	if last, ok := s.Last(); !ok || last.ID.Compare(q.ids[i]) <= 0 {
		return resp.Null, false
	}
	start, _ := q.ids[i].Next()
	return streamEntries(s, start, store.MaxStreamID, q.count), true
}

func (q *xreadQuery) serveGroup(c *Call, i int) (entries resp.Value, ok bool) {
	key := q.keys[i]
	s := c.write(key).Stream()
	g := s.WriteGroup(q.group)
	known := g.Consumer(q.consumer) != nil
	member := c.consumer(key, g, q.consumer)
	if !known && q.noAck {
		c.alsoSend("XGROUP", "CREATECONSUMER", key, q.group, q.consumer)
	}
	member.Seen = c.ms()
	if q.ids[i] != store.MaxStreamID {
		c.stats.dirty++
		return q.history(c, s, g, q.ids[i]), true
	}
	if last, ok := s.Last(); !ok || last.ID.Compare(g.LastID) <= 0 {
		return resp.Null, false
	}
	c.stats.dirty++
	entries = q.deliver(c, key, s, g)
	c.sendGroupID(key, g)
	return entries, true
}

// consumer is the consumer of a group, which is made if there is none of that name.
func (c *Call) consumer(key string, g *store.StreamGroup, name string) *store.Consumer {
	if g.AddConsumer(name, c.ms()) {
		c.streamNoted(key, "xgroup-createconsumer", 1)
	}
	return g.WriteConsumer(name)
}

// deliver reads what the group has not been given yet.
func (q *xreadQuery) deliver(c *Call, key string, s *store.StreamObj, g *store.StreamGroup) resp.Value {
	member := g.WriteConsumer(q.consumer)
	start, _ := g.LastID.Next()
	var out []resp.Value
	s.Ascend(start, func(e store.StreamEntry) bool {
		s.Advance(g, e.ID)
		out = append(out, streamEntry(e))
		if !q.noAck {
			p := store.Pending{ID: e.ID, Consumer: q.consumer, Delivered: c.ms(), Deliveries: 1}
			g.SetPending(p)
			if c.repl.streams() {
				c.sendClaim(key, g, p, e.ID.String())
			}
			member.Active = c.ms()
		}
		return int64(len(out)) != q.count
	})
	return resp.Array(out...)
}

// history reads again what was delivered to the consumer and is pending. Of an entry
// that was deleted since only the ID is left.
func (q *xreadQuery) history(c *Call, s *store.StreamObj, g *store.StreamGroup, after store.StreamID) resp.Value {
	start, _ := after.Next()
	var pending []store.Pending
	g.AscendPendingOf(g.Consumer(q.consumer), start, func(p store.Pending) bool {
		pending = append(pending, p)
		return int64(len(pending)) != q.count
	})
	out := make([]resp.Value, len(pending))
	for i, p := range pending {
		e, ok := s.Get(p.ID)
		if !ok {
			out[i] = resp.Array(resp.Bulk(p.ID.String()), resp.NullArray)
			continue
		}
		p.Delivered = c.ms()
		p.Deliveries++
		g.SetPending(p)
		out[i] = streamEntry(e)
	}
	return resp.Array(out...)
}

// wait is what becomes of a read that nothing was there for. The command is run again
// as it would read now: $ stands for the last ID at this moment.
func (q *xreadQuery) wait(c *Call) resp.Value {
	if !q.blocks || !c.canBlock() {
		return resp.NullArray
	}
	args := slices.Clone(c.Args)
	for i, id := range q.ids {
		if arg := &args[q.first+len(q.keys)+i]; cString(*arg) == "$" {
			*arg = id.String()
		}
	}
	c.Args = args
	v := c.block(q.keys, store.Stream, q.until, resp.NullArray)
	c.Sess.held.blocked.noKey = q.ofGroup // it ends with an error when the key goes
	return v
}
