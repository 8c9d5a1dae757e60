package engine

import (
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var stringRangeCommands = []Spec{
	{Name: "append", Arity: 3, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Insert)), run: appendCmd,
		Group: "string", Since: "2.0.0", Complexity: "O(1). The amortized time complexity is O(1) assuming the appended value is small and the already present value is of any size, since the dynamic string library used by the server will double the free space available on every reallocation.",
		Summary: "Appends a string to the value of a key. Creates the key if it doesn't exist.",
		Args:    `key:k#0 value`},
	{Name: "getrange", Arity: 4, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: getrange,
		Group: "string", Since: "2.4.0", Complexity: "O(N) where N is the length of the returned string. The complexity is ultimately determined by the returned length, but because creating a substring from an existing string is very cheap, it can be considered O(1) for small strings.",
		Summary: "Returns a substring of the string stored at a key.",
		Args:    `key:k#0 start:i end:i`},
	{Name: "setrange", Arity: 4, Flags: Write | DenyOOM,
		Keys: keys(key1(RW | Update)), run: setrange,
		Group: "string", Since: "2.2.0", Complexity: "O(1), not counting the time taken to copy the new string in place. Usually, this string is very small so the amortized complexity is O(1). Otherwise, complexity is O(M) with M being the length of the value argument.",
		Summary: "Overwrites a part of a string value with another by an offset. Creates the key if it doesn't exist.",
		Args:    `key:k#0 offset:i value`},
	{Name: "strlen", Arity: 2, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO)), run: strlen,
		Group: "string", Since: "2.2.0", Complexity: "O(1)",
		Summary: "Returns the length of a string value.",
		Args:    `key:k#0`},
	{Name: "substr", Arity: 4, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: getrange,
		Group: "string", Since: "1.0.0", Complexity: "O(N) where N is the length of the returned string. The complexity is ultimately determined by the returned length, but because creating a substring from an existing string is very cheap, it can be considered O(1) for small strings.",
		Summary:  "Returns a substring from a string value.",
		DocFlags: []string{"deprecated"}, DeprecatedSince: "2.0.0", ReplacedBy: "`GETRANGE`",
		Args: `key:k#0 start:i end:i`},
}

var errTooLong = resp.Err("ERR string exceeds maximum allowed size (proto-max-bulk-len)")

// tooLong reports whether a string of size bytes and more bytes behind them is
// over the limit.
func (c *Call) tooLong(size, more int64) bool {
	return size > c.set.protoMaxBulkLen-more
}

// newString puts an empty string at key, to be written to.
func (c *Call) newString(key string) *store.Object {
	c.put(key, store.NewString(""))
	return c.write(key)
}

// appendCmd: APPEND key value
func appendCmd(c *Call) resp.Value {
	key, value := c.Args[1], c.Args[2]
	o, bad := c.writeAs(key, store.String)
	if bad != nil {
		return *bad
	}
	length := len(value)
	if o == nil {
		c.put(key, store.NewString(value))
	} else {
		if c.tooLong(int64(o.StrLen()), int64(length)) {
			return errTooLong
		}
		length = o.AppendStr(value)
	}
	c.changed(key, eventString, "append")
	return resp.Int(int64(length))
}

// setrange: SETRANGE key offset value
func setrange(c *Call) resp.Value {
	key, value := c.Args[1], c.Args[3]
	offset, bad := c.intArg(2)
	if bad != nil {
		return *bad
	}
	if offset < 0 {
		return resp.Err("ERR offset is out of range")
	}
	o, bad := c.writeAs(key, store.String)
	switch {
	case bad != nil:
		return *bad
	case value == "" && o == nil:
		return resp.Zero
	case value == "":
		return resp.Int(int64(o.StrLen()))
	case c.tooLong(offset, int64(len(value))):
		return errTooLong
	case o == nil:
		o = c.newString(key)
	}
	length := o.SetRange(int(offset), value)
	c.changed(key, eventString, "setrange")
	return resp.Int(int64(length))
}

// getrange: GETRANGE key start end, and SUBSTR
func getrange(c *Call) resp.Value {
	start, bad := c.intArg(2)
	if bad != nil {
		return *bad
	}
	end, bad := c.intArg(3)
	if bad != nil {
		return *bad
	}
	o, bad := c.readAs(c.Args[1], store.String)
	switch {
	case bad != nil:
		return *bad
	case o == nil || start < 0 && end < 0 && start > end:
		return resp.Bulk("")
	}
	s := o.Str()
	n := int64(len(s))
	if start < 0 {
		start = max(start+n, 0)
	}
	if end < 0 {
		end = max(end+n, 0)
	}
	end = min(end, n-1)
	if start > end {
		return resp.Bulk("")
	}
	return resp.Bulk(s[start : end+1])
}

// strlen: STRLEN key
func strlen(c *Call) resp.Value {
	o, bad := c.readAs(c.Args[1], store.String)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return resp.Zero
	}
	return resp.Int(int64(o.StrLen()))
}
