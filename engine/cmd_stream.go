package engine

import (
	"strconv"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var streamCommands = []Spec{
	{Name: "xadd", Arity: -5, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Update).note("UPDATE instead of INSERT because of the optional trimming feature")), run: xadd,
		Group: "stream", Since: "5.0.0", Complexity: "O(1) when adding a new entry, O(N) when trimming where N being the number of entries evicted.",
		Summary: "Appends a new message to a stream. Creates the key if it doesn't exist.",
		History: []string{"6.2.0 Added the `NOMKSTREAM` option, `MINID` trimming strategy and the `LIMIT` option.", "7.0.0 Added support for the `<ms>-*` explicit ID form."},
		Tips:    []string{"nondeterministic_output"},
		Args:    `key:k#0 nomkstream:t=NOMKSTREAM@6.2.0? trim{strategy<maxlen:t=MAXLEN minid:t=MINID@6.2.0> operator<equal:t== approximately:t="~">? threshold count:i=LIMIT@6.2.0?}? id-selector<auto-id:t="*" id> data{field value}*`},
	{Name: "xdel", Arity: -3, Flags: Write | Fast,
		Keys: keys(key1(RW | Delete)), run: xdel,
		Group: "stream", Since: "5.0.0", Complexity: "O(1) for each single item to delete in the stream, regardless of the stream size.",
		Summary: "Returns the number of messages after removing them from a stream.",
		Args:    `key:k#0 id*`},
	{Name: "xlen", Arity: 2, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO)), run: xlen,
		Group: "stream", Since: "5.0.0", Complexity: "O(1)",
		Summary: "Return the number of messages in a stream.",
		Args:    `key:k#0`},
	{Name: "xsetid", Arity: -3, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Update)), run: xsetid,
		Group: "stream", Since: "5.0.0", Complexity: "O(1)",
		Summary: "An internal command for replicating stream values.",
		History: []string{"7.0.0 Added the `entries_added` and `max_deleted_entry_id` arguments."},
		Args:    `key:k#0 last-id entries-added:i=ENTRIESADDED@7.0.0? max-deleted-id=MAXDELETEDID@7.0.0?`},
	{Name: "xtrim", Arity: -4, Flags: Write,
		Keys: keys(key1(RW | Delete)), run: xtrim,
		Group: "stream", Since: "5.0.0", Complexity: "O(N), with N being the number of evicted entries. Constant times are very small however, since entries are organized in macro nodes containing multiple entries that can be released with a single deallocation.",
		Summary: "Deletes messages from the beginning of a stream.",
		History: []string{"6.2.0 Added the `MINID` trimming strategy and the `LIMIT` option."},
		Tips:    []string{"nondeterministic_output"},
		Args:    `key:k#0 trim{strategy<maxlen:t=MAXLEN minid:t=MINID@6.2.0> operator<equal:t== approximately:t="~">? threshold count:i=LIMIT@6.2.0?}`},
}

var (
	errStreamZeroID    = resp.Err("ERR The ID specified in XADD must be greater than 0-0")
	errStreamExhausted = resp.Err("ERR The stream has exhausted the last possible ID, unable to add more items")
	errStreamOldID     = resp.Err("ERR The ID specified in XADD is equal or smaller than the target stream top item")
	errStreamTooLarge  = resp.Err("ERR Elements are too large to be stored")
)

// readStream looks a stream up to read it; nil if there is no such key.
func (c *Call) readStream(key string) (*store.StreamObj, *resp.Value) {
	o, bad := c.readAs(key, store.Stream)
	if o == nil {
		return nil, bad
	}
	return o.Stream(), nil
}

// writeStream looks a stream up to change it; nil if there is no such key.
func (c *Call) writeStream(key string) (*store.StreamObj, *resp.Value) {
	o, bad := c.writeAs(key, store.Stream)
	if o == nil {
		return nil, bad
	}
	return o.Stream(), nil
}

// streamNoted reports a change of a stream's groups: it is no modification to those who
// watch the key, but counts as n changes of the data.
func (c *Call) streamNoted(key, event string, n int) {
	c.stats.dirty += int64(n)
	if event != "" {
		c.notify(eventStream, event, key)
	}
}

// xadd: XADD key [NOMKSTREAM] [<MAXLEN | MINID> [= | ~] threshold [LIMIT count]] <* | id> field value [field value ...]
func xadd(c *Call) resp.Value {
	var opt streamTrimOptions
	next, bad := opt.parse(c, true)
	if bad != nil {
		return *bad
	}
	if n := len(c.Args) - next; n < 2 || n%2 != 0 {
		return c.wrongArity()
	}
	if opt.idGiven && opt.seqGiven && opt.id == (store.StreamID{}) {
		return errStreamZeroID
	}
	key := c.Args[1]
	s, bad := c.writeStream(key)
	switch {
	case bad != nil:
		return *bad
	case s == nil && opt.noMake:
		return resp.Null
	case s == nil:
		s = c.makeStream(key)
	}
	id, bad := c.nextID(s, &opt)
	if bad != nil {
		return *bad
	}
	pairs := c.Args[next:]
	if streamBytes(pairs) > maxStreamBytes {
		return errStreamTooLarge
	}
	s.Append(id, pairs)
	c.changed(key, eventStream, "xadd")
	if opt.trims && s.Trim(opt.trim) > 0 {
		c.notify(eventStream, "xtrim", key)
	}
	c.sendXadd(s, &opt, next-1, id)
	return resp.Bulk(id.String())
}

// sendXadd makes replicas add the entry with the same ID, at argument i, and trim as much.
func (c *Call) sendXadd(s *store.StreamObj, opt *streamTrimOptions, i int, id store.StreamID) {
	if !c.repl.streams() {
		return
	}
	c.sendTrim(s, opt)
	if !opt.idGiven || !opt.seqGiven {
		c.sendWith(i, id.String())
	}
}

// sendTrim makes replicas trim as much as approximate trimming has done here.
func (c *Call) sendTrim(s *store.StreamObj, opt *streamTrimOptions) {
	first, some := s.First()
	if !some {
		first.ID = store.MaxStreamID
	}
	switch {
	case !opt.trim.Approx || !c.repl.streams():
		return
	case opt.trim.ByID:
		c.sendWith(opt.at, first.ID.String())
	default:
		c.sendWith(opt.at, strconv.Itoa(s.Len()))
	}
	c.sendWith(opt.at-1, "=")
}

// makeStream puts an empty stream at a key that is not there.
func (c *Call) makeStream(key string) *store.StreamObj {
	o := store.NewStream(&c.limits)
	c.put(key, o)
	return o.Stream()
}

// maxStreamBytes is how long the fields and values of an entry may be together.
const maxStreamBytes = 1 << 30

func streamBytes(pairs []string) (n int) {
	for _, s := range pairs {
		n += len(s)
	}
	return n
}

// nextID is the ID of the entry that XADD is about to add.
func (c *Call) nextID(s *store.StreamObj, opt *streamTrimOptions) (id store.StreamID, bad *resp.Value) {
	last := s.LastID()
	if last == store.MaxStreamID {
		return id, &errStreamExhausted
	}
	id = opt.id
	switch {
	case !opt.idGiven:
		if id = (store.StreamID{Ms: uint64(c.ms())}); id.Ms <= last.Ms {
			id, _ = last.Next()
		}
	case !opt.seqGiven && id.Ms == last.Ms:
		if id, _ = last.Next(); id.Ms != last.Ms {
			return id, &errStreamOldID // no number is left in that millisecond
		}
	}
	if id.Compare(last) <= 0 {
		return id, &errStreamOldID
	}
	return id, nil
}

// xlen: XLEN key
func xlen(c *Call) resp.Value {
	s, bad := c.readStream(c.Args[1])
	switch {
	case bad != nil:
		return *bad
	case s == nil:
		return resp.Zero
	}
	return resp.Int(int64(s.Len()))
}

// xdel: XDEL key id [id ...]
func xdel(c *Call) resp.Value {
	s, bad := c.writeStream(c.Args[1])
	switch {
	case bad != nil:
		return *bad
	case s == nil:
		return resp.Zero
	}
	ids, bad := streamIDs(c.Args[2:])
	if bad != nil {
		return *bad
	}
	deleted := 0
	for _, id := range ids {
		if s.Delete(id) {
			deleted++
		}
	}
	return c.streamCut(c.Args[1], "xdel", deleted)
}

// streamCut reports that n entries were removed, as one event, and replies n.
func (c *Call) streamCut(key, event string, n int) resp.Value {
	if n > 0 {
		c.changed(key, eventStream, event)
		c.stats.dirty += int64(n - 1)
	}
	return resp.Int(int64(n))
}

// xtrim: XTRIM key <MAXLEN | MINID> [= | ~] threshold [LIMIT count]
func xtrim(c *Call) resp.Value {
	var opt streamTrimOptions
	if _, bad := opt.parse(c, false); bad != nil {
		return *bad
	}
	s, bad := c.writeStream(c.Args[1])
	switch {
	case bad != nil:
		return *bad
	case s == nil:
		return resp.Zero
	}
	trimmed := s.Trim(opt.trim)
	c.sendTrim(s, &opt)
	return c.streamCut(c.Args[1], "xtrim", trimmed)
}

// xsetid: XSETID key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]
func xsetid(c *Call) resp.Value {
	id, maxDeleted, added, bad := c.xsetidArgs()
	if bad != nil {
		return *bad
	}
	s, bad := c.writeStream(c.Args[1])
	switch {
	case bad != nil:
		return *bad
	case s == nil:
		return errNoKey
	case id.Compare(s.MaxDeletedID()) < 0:
		return resp.Err("ERR The ID specified in XSETID is smaller than current max_deleted_entry_id")
	}
	if last, ok := s.Last(); ok {
		if id.Compare(last.ID) < 0 {
			return resp.Err("ERR The ID specified in XSETID is smaller than the target stream top item")
		}
		if added >= 0 && int64(s.Len()) > added {
			return resp.Err("ERR The entries_added specified in XSETID is smaller than the target stream length")
		}
	}
	s.SetLastID(id)
	if added >= 0 {
		s.SetAdded(added)
	}
	if maxDeleted != (store.StreamID{}) {
		s.SetMaxDeletedID(maxDeleted)
	}
	c.streamNoted(c.Args[1], "xsetid", 1)
	return resp.OK
}

// xsetidArgs parses the arguments of XSETID; added is -1 when it is not given.
func (c *Call) xsetidArgs() (id, maxDeleted store.StreamID, added int64, bad *resp.Value) {
	added = -1
	if id, bad = streamID(c.Args[2], 0); bad != nil {
		return id, maxDeleted, added, bad
	}
	for i := 3; i < len(c.Args); i += 2 {
		last := i+1 == len(c.Args)
		switch {
		case c.is(i, "entriesadded") && !last:
			if added, bad = c.intArg(i + 1); bad == nil && added < 0 {
				v := resp.Err("ERR entries_added must be positive")
				bad = &v
			}
		case c.is(i, "maxdeletedid") && !last:
			if maxDeleted, bad = streamID(c.Args[i+1], 0); bad == nil && id.Compare(maxDeleted) < 0 {
				v := resp.Err("ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id")
				bad = &v
			}
		default:
			bad = &errSyntax
		}
		if bad != nil {
			return id, maxDeleted, added, bad
		}
	}
	return id, maxDeleted, added, nil
}
