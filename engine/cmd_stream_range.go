package engine

import (
	"math"
	"strconv"
	"strings"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var streamRangeCommands = []Spec{
	{Name: "xrange", Arity: -4, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: xrange,
		Group: "stream", Since: "5.0.0", Complexity: "O(N) with N being the number of elements being returned. If N is constant (e.g. always asking for the first 10 elements with COUNT), you can consider it O(1).",
		Summary: "Returns the messages from a stream within a range of IDs.",
		History: []string{"6.2.0 Added exclusive ranges."},
		Args:    `key:k#0 start end count:i=COUNT?`},
	{Name: "xrevrange", Arity: -4, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: xrevrange,
		Group: "stream", Since: "5.0.0", Complexity: "O(N) with N being the number of elements returned. If N is constant (e.g. always asking for the first 10 elements with COUNT), you can consider it O(1).",
		Summary: "Returns the messages from a stream within a range of IDs in reverse order.",
		History: []string{"6.2.0 Added exclusive ranges."},
		Args:    `key:k#0 end start count:i=COUNT?`},
}

var (
	errStreamID    = resp.Err("ERR Invalid stream ID specified as stream command argument")
	errStreamStart = resp.Err("ERR invalid start ID for the interval")
	errStreamEnd   = resp.Err("ERR invalid end ID for the interval")
)

// parseStreamID parses "ms" or "ms-seq" as streamGenericParseIDOrReply of Valkey's
// t_stream.c does; a missing seq is given. anySeq tells that it is "ms-*", which is a
// good ID for XADD only.
func parseStreamID(s string, missing uint64) (id store.StreamID, anySeq, ok bool) {
	if len(s) > 127 {
		return id, false, false
	}
	ms, seq, split := strings.Cut(cString(s), "-")
	if id.Ms, ok = parseUint(ms); !ok {
		return id, false, false
	}
	switch {
	case !split:
		id.Seq = missing
		return id, false, true
	case seq == "*":
		return id, true, true
	}
	id.Seq, ok = parseUint(seq)
	return id, false, ok
}

// parseUint parses a number as string2ull of Valkey's util.c does: what is not an integer
// as the server would print it is left to C's strtoull, with spaces, signs and all.
func parseUint(s string) (n uint64, ok bool) {
	if signed, ok := parseInt(s); ok {
		return uint64(signed), signed >= 0
	}
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	digits := strings.TrimPrefix(s, "-")
	if digits == s {
		digits = strings.TrimPrefix(s, "+")
	}
	if digits == "" || digits[0] < '0' || digits[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if strings.HasPrefix(s, "-") {
		n = -n
	}
	return n, err == nil
}

// streamID parses an ID; a missing second half is given.
func streamID(s string, missing uint64) (store.StreamID, *resp.Value) {
	id, anySeq, ok := parseStreamID(s, missing)
	if !ok || anySeq {
		return id, &errStreamID
	}
	return id, nil
}

// streamBound parses an ID, or - or + for the least and the greatest one.
func streamBound(s string, missing uint64) (store.StreamID, *resp.Value) {
	switch cString(s) {
	case "-":
		return store.StreamID{}, nil
	case "+":
		return store.MaxStreamID, nil
	}
	return streamID(s, missing)
}

// streamIDs parses a list of IDs.
func streamIDs(args []string) ([]store.StreamID, *resp.Value) {
	ids := make([]store.StreamID, len(args))
	for i, arg := range args {
		id, bad := streamID(arg, 0)
		if bad != nil {
			return nil, bad
		}
		ids[i] = id
	}
	return ids, nil
}

// streamStart parses the lower end of an interval, exclusive behind a parenthesis.
func streamStart(s string) (store.StreamID, *resp.Value) {
	if len(s) < 2 || s[0] != '(' {
		return streamBound(s, 0)
	}
	id, bad := streamID(s[1:], 0)
	if bad != nil {
		return id, bad
	}
	id, ok := id.Next()
	if !ok {
		return id, &errStreamStart
	}
	return id, nil
}

// streamEnd parses the upper end of an interval, exclusive behind a parenthesis.
func streamEnd(s string) (store.StreamID, *resp.Value) {
	if len(s) < 2 || s[0] != '(' {
		return streamBound(s, math.MaxUint64)
	}
	id, bad := streamID(s[1:], math.MaxUint64)
	if bad != nil {
		return id, bad
	}
	id, ok := id.Prev()
	if !ok {
		return id, &errStreamEnd
	}
	return id, nil
}

// streamInterval parses an interval.
func streamInterval(low, high string) (start, end store.StreamID, bad *resp.Value) {
	if start, bad = streamStart(low); bad != nil {
		return start, end, bad
	}
	end, bad = streamEnd(high)
	return start, end, bad
}

// streamEntry is an entry as a reply: its ID, and its fields and values.
func streamEntry(e store.StreamEntry) resp.Value {
	pairs := make([]resp.Value, 0, 2*e.Len())
	e.Ascend(func(field, value string) bool {
		pairs = append(pairs, resp.Bulk(field), resp.Bulk(value))
		return true
	})
	return resp.Array(resp.Bulk(e.ID.String()), resp.Array(pairs...))
}

// streamEntries is the entries from start to end as a reply, no more than count if that
// is not 0.
func streamEntries(s *store.StreamObj, start, end store.StreamID, count int64) resp.Value {
	var out []resp.Value
	s.Ascend(start, func(e store.StreamEntry) bool {
		if e.ID.Compare(end) > 0 {
			return false
		}
		out = append(out, streamEntry(e))
		return int64(len(out)) != count
	})
	return resp.Array(out...)
}

// streamEntriesRev is streamEntries in falling order.
func streamEntriesRev(s *store.StreamObj, start, end store.StreamID, count int64) resp.Value {
	var out []resp.Value
	s.Descend(end, func(e store.StreamEntry) bool {
		if e.ID.Compare(start) < 0 {
			return false
		}
		out = append(out, streamEntry(e))
		return int64(len(out)) != count
	})
	return resp.Array(out...)
}

// xrange: XRANGE key start end [COUNT count]
func xrange(c *Call) resp.Value { return c.xrange(2, 3, streamEntries) }

// xrevrange: XREVRANGE key end start [COUNT count]
func xrevrange(c *Call) resp.Value { return c.xrange(3, 2, streamEntriesRev) }

// xrange answers with what entries makes of the interval that arguments low and high are.
func (c *Call) xrange(low, high int,
	entries func(s *store.StreamObj, start, end store.StreamID, count int64) resp.Value) resp.Value {
	start, end, bad := streamInterval(c.Args[low], c.Args[high])
	if bad != nil {
		return *bad
	}
	count, all := int64(0), true
	for i := 4; i < len(c.Args); i += 2 {
		if !c.is(i, "count") || i+1 == len(c.Args) {
			return errSyntax
		}
		if count, bad = c.intArg(i + 1); bad != nil {
			return *bad
		}
		count, all = max(count, 0), false
	}
	s, bad := c.readStream(c.Args[1])
	switch {
	case bad != nil:
		return *bad
	case s == nil:
		return resp.Array()
	case !all && count == 0:
		return resp.NullArray
	}
	return entries(s, start, end, count)
}
