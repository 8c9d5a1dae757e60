package engine

import (
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var hashReadCommands = []Spec{
	{Name: "hexists", Arity: 3, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO)), run: hexists,
		Group: "hash", Since: "2.0.0", Complexity: "O(1)",
		Summary: "Determines whether a field exists in a hash.",
		Args:    `key:k#0 field`},
	{Name: "hget", Arity: 3, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO | Access)), run: hget,
		Group: "hash", Since: "2.0.0", Complexity: "O(1)",
		Summary: "Returns the value of a field in a hash.",
		Args:    `key:k#0 field`},
	{Name: "hgetall", Arity: 2, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: hgetall,
		Group: "hash", Since: "2.0.0", Complexity: "O(N) where N is the size of the hash.",
		Summary: "Returns all fields and values in a hash.",
		Tips:    []string{"nondeterministic_output_order"},
		Args:    `key:k#0`},
	{Name: "hkeys", Arity: 2, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: hkeys,
		Group: "hash", Since: "2.0.0", Complexity: "O(N) where N is the size of the hash.",
		Summary: "Returns all fields in a hash.",
		Tips:    []string{"nondeterministic_output_order"},
		Args:    `key:k#0`},
	{Name: "hlen", Arity: 2, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO)), run: hlen,
		Group: "hash", Since: "2.0.0", Complexity: "O(1)",
		Summary: "Returns the number of fields in a hash.",
		Args:    `key:k#0`},
	{Name: "hmget", Arity: -3, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO | Access)), run: hmget,
		Group: "hash", Since: "2.0.0", Complexity: "O(N) where N is the number of fields being requested.",
		Summary: "Returns the values of all fields in a hash.",
		Args:    `key:k#0 field*`},
	{Name: "hrandfield", Arity: -2, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: hrandfield,
		Group: "hash", Since: "6.2.0", Complexity: "O(N) where N is the number of fields returned",
		Summary: "Returns one or more random fields from a hash.",
		Tips:    []string{"nondeterministic_output"},
		Args:    `key:k#0 options{count:i withvalues:t=WITHVALUES?}?`},
	{Name: "hscan", Arity: -3, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: hscan,
		Group: "hash", Since: "2.8.0", Complexity: "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor to return back to 0. N is the number of elements inside the collection.",
		Summary: "Iterates over fields and values of a hash.",
		Tips:    []string{"nondeterministic_output"},
		Args:    `key:k#0 cursor:i pattern:p=MATCH? count:i=COUNT? novalues:t=NOVALUES?`},
	{Name: "hstrlen", Arity: 3, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO)), run: hstrlen,
		Group: "hash", Since: "3.2.0", Complexity: "O(1)",
		Summary: "Returns the length of the value of a field.",
		Args:    `key:k#0 field`},
	{Name: "hvals", Arity: 2, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: hvals,
		Group: "hash", Since: "2.0.0", Complexity: "O(N) where N is the size of the hash.",
		Summary: "Returns all values in a hash.",
		Tips:    []string{"nondeterministic_output_order"},
		Args:    `key:k#0`},
}

// hget: HGET key field
func hget(c *Call) resp.Value {
	h, bad := c.readHash(c.Args[1])
	if bad != nil {
		return *bad
	}
	return fieldReply(h, c.Args[2])
}

// fieldReply is the value of a field, or null; h may be nil.
func fieldReply(h *store.HashObj, field string) resp.Value {
	if h != nil {
		if v, ok := h.Get(field); ok {
			return resp.Bulk(v)
		}
	}
	return resp.Null
}

// hmget: HMGET key field [field ...]
func hmget(c *Call) resp.Value {
	h, bad := c.readHash(c.Args[1])
	if bad != nil {
		return *bad
	}
	out := c.values(len(c.Args) - 2)
	for i, field := range c.Args[2:] {
		out[i] = fieldReply(h, field)
	}
	return resp.Array(out...)
}

// hexists: HEXISTS key field
func hexists(c *Call) resp.Value {
	h, bad := c.readHash(c.Args[1])
	switch {
	case bad != nil:
		return *bad
	case h == nil || !h.Has(c.Args[2]):
		return resp.Zero
	}
	return resp.One
}

// hlen: HLEN key
func hlen(c *Call) resp.Value {
	h, bad := c.readHash(c.Args[1])
	switch {
	case bad != nil:
		return *bad
	case h == nil:
		return resp.Zero
	}
	return resp.Int(int64(h.Len()))
}

// hstrlen: HSTRLEN key field
func hstrlen(c *Call) resp.Value {
	h, bad := c.readHash(c.Args[1])
	switch {
	case bad != nil:
		return *bad
	case h == nil:
		return resp.Zero
	}
	n, _ := h.ValueLen(c.Args[2])
	return resp.Int(int64(n))
}

// hgetall: HGETALL key
func hgetall(c *Call) resp.Value {
	out, bad := c.hashElems(true, true)
	if bad != nil {
		return *bad
	}
	return resp.Map(out...)
}

// hkeys: HKEYS key
func hkeys(c *Call) resp.Value {
	out, bad := c.hashElems(true, false)
	if bad != nil {
		return *bad
	}
	return resp.Array(out...)
}

// hvals: HVALS key
func hvals(c *Call) resp.Value {
	out, bad := c.hashElems(false, true)
	if bad != nil {
		return *bad
	}
	return resp.Array(out...)
}

// hashElems is the fields, the values or both of the hash at c.Args[1].
func (c *Call) hashElems(fields, values bool) (out []resp.Value, bad *resp.Value) {
	h, bad := c.readHash(c.Args[1])
	if h == nil {
		return nil, bad
	}
	size := h.Len()
	if fields && values {
		size *= 2
	}
	out = c.values(size)[:0]
	h.Ascend(func(field, value string) bool {
		if fields {
			out = append(out, resp.Bulk(field))
		}
		if values {
			out = append(out, resp.Bulk(value))
		}
		return true
	})
	return out, nil
}

// hrandfield: HRANDFIELD key [count [WITHVALUES]]
func hrandfield(c *Call) resp.Value {
	count, withValues, bad := c.randArgs("withvalues")
	if bad != nil {
		return *bad
	}
	h, bad := c.readHash(c.Args[1])
	switch {
	case bad != nil:
		return *bad
	case h == nil && len(c.Args) == 2:
		return resp.Null
	case h == nil:
		return resp.Array()
	}
	return c.randomElements(h.Len(), count, withValues, func(i int) (field, value resp.Value) {
		f, v := h.At(i)
		return resp.Bulk(f), resp.Bulk(v)
	})
}

// hscan: HSCAN key cursor [MATCH pattern] [COUNT count] [NOVALUES]
func hscan(c *Call) resp.Value {
	cursor, bad := c.cursorArg(2)
	if bad != nil {
		return *bad
	}
	o, bad := c.readAs(c.Args[1], store.Hash)
	h := c.liveHash(c.Args[1], o)
	switch {
	case bad != nil:
		return *bad
	case h == nil:
		return scanReply(0, nil)
	}
	opt, bad := c.scanOptions(3, store.Hash)
	if bad != nil {
		return *bad
	}
	fields := elements{scope: "hash", packed: o.Encoding() == "listpack", from: h.AscendSorted, pairs: true}
	if fields.packed {
		fields.from = func(_ string, visit func(field, value string) bool) { h.Ascend(visit) }
	}
	return c.scanElements(fields, cursor, &opt)
}
