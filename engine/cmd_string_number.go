package engine

import (
	"math"
	"math/big"
	"strconv"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var stringNumberCommands = []Spec{
	{Name: "decr", Arity: 2, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Access | Update)), run: decr,
		Group: "string", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Decrements the integer value of a key by one. Uses 0 as initial value if the key doesn't exist.",
		Args:    `key:k#0`},
	{Name: "decrby", Arity: 3, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Access | Update)), run: decrby,
		Group: "string", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Decrements a number from the integer value of a key. Uses 0 as initial value if the key doesn't exist.",
		Args:    `key:k#0 decrement:i`},
	{Name: "incr", Arity: 2, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Access | Update)), run: incr,
		Group: "string", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Increments the integer value of a key by one. Uses 0 as initial value if the key doesn't exist.",
		Args:    `key:k#0`},
	{Name: "incrby", Arity: 3, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Access | Update)), run: incrby,
		Group: "string", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Increments the integer value of a key by a number. Uses 0 as initial value if the key doesn't exist.",
		Args:    `key:k#0 increment:i`},
	{Name: "incrbyfloat", Arity: 3, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Access | Update)), run: incrbyfloat,
		Group: "string", Since: "2.6.0", Complexity: "O(1)",
		Summary: "Increment the floating point value of a key by a number. Uses 0 as initial value if the key doesn't exist.",
		Args:    `key:k#0 increment:d`},
}

// addToString adds to the integer at c.Args[1].
func (c *Call) addToString(by int64) resp.Value {
	key := c.Args[1]
	o, bad := c.writeAs(key, store.String)
	if bad != nil {
		return *bad
	}
	n := int64(0)
	if o != nil {
		var ok bool
		if n, ok = parseInt(o.Str()); !ok {
			return errNotInt
		}
	}
	if by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
		return resp.Err("ERR increment or decrement would overflow")
	}
	n += by
	text := strconv.FormatInt(n, 10)
	if o == nil {
		c.put(key, store.NewString(text))
	} else {
		o.SetStr(text)
	}
	c.changed(key, eventString, "incrby")
	return resp.Int(n)
}

// incr: INCR key
func incr(c *Call) resp.Value { return c.addToString(1) }

// decr: DECR key
func decr(c *Call) resp.Value { return c.addToString(-1) }

// incrby: INCRBY key increment
func incrby(c *Call) resp.Value {
	by, bad := c.intArg(2)
	if bad != nil {
		return *bad
	}
	return c.addToString(by)
}

// decrby: DECRBY key decrement
func decrby(c *Call) resp.Value {
	by, bad := c.intArg(2)
	if bad != nil {
		return *bad
	}
	if by == math.MinInt64 {
		return resp.Err("ERR decrement would overflow")
	}
	return c.addToString(-by)
}

// incrbyfloat: INCRBYFLOAT key increment
func incrbyfloat(c *Call) resp.Value {
	key := c.Args[1]
	o, bad := c.writeAs(key, store.String)
	if bad != nil {
		return *bad
	}
	value, ok := new(big.Float), true
	if o != nil {
		value, ok = parseLongDouble(o.Str())
	}
	by, fits := parseLongDouble(c.Args[2])
	if !ok || !fits {
		return errNotFloat
	}
	sum, ok := addLongDouble(value, by)
	if !ok {
		return resp.Err("ERR increment would produce NaN or Infinity")
	}
	text := formatLongDouble(sum)
	if o == nil {
		o = c.newString(key)
	}
	o.SetStrPlain(text)
	c.changed(key, eventString, "incrbyfloat")
	c.sendAs("SET", key, text, "KEEPTTL")
	return resp.Bulk(text)
}
