package engine

import (
	"math"
	"math/big"
	"strconv"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var hashCommands = []Spec{
	{Name: "hdel", Arity: -3, Flags: Write | Fast,
		Keys: keys(key1(RW | Delete)), run: hdel,
		Group: "hash", Since: "2.0.0", Complexity: "O(N) where N is the number of fields to be removed.",
		Summary: "Deletes one or more fields and their values from a hash. Deletes the hash if no fields remain.",
		History: []string{"2.4.0 Accepts multiple `field` arguments."},
		Args:    `key:k#0 field*`},
	{Name: "hincrby", Arity: 4, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Access | Update)), run: hincrby,
		Group: "hash", Since: "2.0.0", Complexity: "O(1)",
		Summary: "Increments the integer value of a field in a hash by a number. Uses 0 as initial value if the field doesn't exist.",
		Args:    `key:k#0 field increment:i`},
	{Name: "hincrbyfloat", Arity: 4, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Access | Update)), run: hincrbyfloat,
		Group: "hash", Since: "2.6.0", Complexity: "O(1)",
		Summary: "Increments the floating point value of a field by a number. Uses 0 as initial value if the field doesn't exist.",
		Args:    `key:k#0 field increment:d`},
	{Name: "hmset", Arity: -4, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Update)), run: hmset,
		Group: "hash", Since: "2.0.0", Complexity: "O(N) where N is the number of fields being set.",
		Summary:  "Sets the values of multiple fields.",
		DocFlags: []string{"deprecated"}, DeprecatedSince: "4.0.0", ReplacedBy: "`HSET` with multiple field-value pairs",
		Args: `key:k#0 data{field value}*`},
	{Name: "hset", Arity: -4, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Update)), run: hset,
		Group: "hash", Since: "2.0.0", Complexity: "O(1) for each field/value pair added, so O(N) to add N field/value pairs when the command is called with multiple field/value pairs.",
		Summary: "Creates or modifies the value of a field in a hash.",
		History: []string{"4.0.0 Accepts multiple `field` and `value` arguments."},
		Args:    `key:k#0 data{field value}*`},
	{Name: "hsetnx", Arity: 4, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Insert)), run: hsetnx,
		Group: "hash", Since: "2.0.0", Complexity: "O(1)",
		Summary: "Sets the value of a field in a hash only when the field doesn't exist.",
		Args:    `key:k#0 field value`},
}

// readHash looks a hash up for reading; nil if there is none. Fields whose time
// has passed are removed first, so that no command sees them.
func (c *Call) readHash(key string) (h *store.HashObj, bad *resp.Value) {
	o, bad := c.readAs(key, store.Hash)
	return c.liveHash(key, o), bad
}

// writeHash looks a hash up for a change; nil if there is none.
func (c *Call) writeHash(key string) (h *store.HashObj, bad *resp.Value) {
	o, bad := c.writeAs(key, store.Hash)
	return c.liveHash(key, o), bad
}

// liveHash is the hash in o without the fields whose time has passed; nil when
// nothing is left of it.
func (c *Call) liveHash(key string, o *store.Object) *store.HashObj {
	if o == nil {
		return nil
	}
	h := o.Hash()
	if at := h.MinDeadline(); at == 0 || at > c.ms() {
		return h
	}
	c.expireFields(c.dbIndex(), key)
	if o = c.db().Write(key); o == nil {
		return nil
	}
	return o.Hash()
}

// makeHash is writeHash that makes the hash when there is none.
func (c *Call) makeHash(key string) (h *store.HashObj, bad *resp.Value) {
	h, bad = c.writeHash(key)
	if h != nil || bad != nil {
		return h, bad
	}
	o := store.NewHash(&c.limits)
	c.put(key, o)
	return o.Hash(), nil
}

// hset: HSET key field value [field value ...]
func hset(c *Call) resp.Value {
	added, bad := c.setFields()
	if bad != nil {
		return *bad
	}
	return resp.Int(added)
}

// hmset: HMSET key field value [field value ...]
func hmset(c *Call) resp.Value {
	if _, bad := c.setFields(); bad != nil {
		return *bad
	}
	return resp.OK
}

func (c *Call) setFields() (added int64, bad *resp.Value) {
	if len(c.Args)%2 != 0 {
		v := c.wrongArity()
		return 0, &v
	}
	key, pairs := c.Args[1], c.Args[2:]
	h, bad := c.makeHash(key)
	if bad != nil {
		return 0, bad
	}
	size := 0
	for _, s := range pairs {
		size += len(s)
	}
	h.Expect(len(pairs)/2, size)
	for i := 0; i < len(pairs); i += 2 {
		if h.Set(pairs[i], pairs[i+1]) {
			added++
		}
	}
	c.changedFields(key, "hset", int64(len(pairs)/2))
	return added, nil
}

// changedFields records that n fields of a hash were changed, with one event.
func (c *Call) changedFields(key, event string, n int64) {
	c.changed(key, eventHash, event)
	c.stats.dirty += n - 1
}

// hsetnx: HSETNX key field value
func hsetnx(c *Call) resp.Value {
	key := c.Args[1]
	h, bad := c.makeHash(key)
	switch {
	case bad != nil:
		return *bad
	case h.Has(c.Args[2]):
		return resp.Zero
	}
	h.Set(c.Args[2], c.Args[3])
	c.changed(key, eventHash, "hset")
	return resp.One
}

// hdel: HDEL key field [field ...]
func hdel(c *Call) resp.Value {
	key := c.Args[1]
	h, bad := c.writeHash(key)
	switch {
	case bad != nil:
		return *bad
	case h == nil:
		return resp.Zero
	}
	gone := int64(0)
	for _, field := range c.Args[2:] {
		if h.Del(field) {
			gone++
		}
	}
	if gone > 0 {
		c.changedFields(key, "hdel", gone)
		c.dropEmpty(key, h.Len())
	}
	return resp.Int(gone)
}

// hincrby: HINCRBY key field increment
func hincrby(c *Call) resp.Value {
	key, field := c.Args[1], c.Args[2]
	by, bad := c.intArg(3)
	if bad != nil {
		return *bad
	}
	h, bad := c.writeHash(key)
	if bad != nil {
		return *bad
	}
	n := int64(0)
	if h != nil {
		if text, ok := h.Get(field); ok {
			if n, ok = parseInt(text); !ok {
				return resp.Err("ERR hash value is not an integer")
			}
		}
	}
	if by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
		return resp.Err("ERR increment or decrement would overflow")
	}
	n += by
	c.setCounted(key, field, strconv.FormatInt(n, 10), "hincrby")
	return resp.Int(n)
}

// hincrbyfloat: HINCRBYFLOAT key field increment
func hincrbyfloat(c *Call) resp.Value {
	key, field := c.Args[1], c.Args[2]
	by, ok := parseLongDouble(c.Args[3])
	switch {
	case !ok:
		return errNotFloat
	case by.IsInf():
		return resp.Err("ERR value is NaN or Infinity")
	}
	h, bad := c.writeHash(key)
	if bad != nil {
		return *bad
	}
	value := new(big.Float)
	if h != nil {
		if text, there := h.Get(field); there {
			if value, ok = parseLongDouble(text); !ok {
				return resp.Err("ERR hash value is not a float")
			}
		}
	}
	sum, ok := addLongDouble(value, by)
	if !ok {
		return resp.Err("ERR increment would produce NaN or Infinity")
	}
	text := formatLongDouble(sum)
	c.setCounted(key, field, text, "hincrbyfloat")
	c.sendAs("HSET", key, field, text)
	return resp.Bulk(text)
}

// setCounted stores the result of a count; a field's TTL stays.
func (c *Call) setCounted(key, field, text, event string) {
	h, _ := c.makeHash(key) // of the right type: the caller has looked
	h.SetKeepTTL(field, text)
	c.changed(key, eventHash, event)
}
