package engine

import (
	"math"
	"strconv"

	"github.com/echomq/echomq-sim/resp"
)

var expireCommands = []Spec{
	{Name: "expire", Arity: -3, Flags: Write | Fast,
		Keys: keys(key1(RW | Update)), run: expire,
		Group: "generic", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Sets the expiration time of a key in seconds.",
		History: []string{"7.0.0 Added options: `NX`, `XX`, `GT` and `LT`."},
		Args:    `key:k#0 seconds:i condition<nx:t=NX xx:t=XX gt:t=GT lt:t=LT>@7.0.0?`},
	{Name: "expireat", Arity: -3, Flags: Write | Fast,
		Keys: keys(key1(RW | Update)), run: expireat,
		Group: "generic", Since: "1.2.0", Complexity: "O(1)",
		Summary: "Sets the expiration time of a key to a Unix timestamp.",
		History: []string{"7.0.0 Added options: `NX`, `XX`, `GT` and `LT`."},
		Args:    `key:k#0 unix-time-seconds:u condition<nx:t=NX xx:t=XX gt:t=GT lt:t=LT>@7.0.0?`},
	{Name: "expiretime", Arity: 2, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO | Access)), run: expiretime,
		Group: "generic", Since: "7.0.0", Complexity: "O(1)",
		Summary: "Returns the expiration time of a key as a Unix timestamp.",
		Args:    `key:k#0`},
	{Name: "persist", Arity: 2, Flags: Write | Fast,
		Keys: keys(key1(RW | Update)), run: persist,
		Group: "generic", Since: "2.2.0", Complexity: "O(1)",
		Summary: "Removes the expiration time of a key.",
		Args:    `key:k#0`},
	{Name: "pexpire", Arity: -3, Flags: Write | Fast,
		Keys: keys(key1(RW | Update)), run: pexpire,
		Group: "generic", Since: "2.6.0", Complexity: "O(1)",
		Summary: "Sets the expiration time of a key in milliseconds.",
		History: []string{"7.0.0 Added options: `NX`, `XX`, `GT` and `LT`."},
		Args:    `key:k#0 milliseconds:i condition<nx:t=NX xx:t=XX gt:t=GT lt:t=LT>@7.0.0?`},
	{Name: "pexpireat", Arity: -3, Flags: Write | Fast,
		Keys: keys(key1(RW | Update)), run: pexpireat,
		Group: "generic", Since: "2.6.0", Complexity: "O(1)",
		Summary: "Sets the expiration time of a key to a Unix milliseconds timestamp.",
		History: []string{"7.0.0 Added options: `NX`, `XX`, `GT` and `LT`."},
		Args:    `key:k#0 unix-time-milliseconds:u condition<nx:t=NX xx:t=XX gt:t=GT lt:t=LT>@7.0.0?`},
	{Name: "pexpiretime", Arity: 2, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO | Access)), run: pexpiretime,
		Group: "generic", Since: "7.0.0", Complexity: "O(1)",
		Summary: "Returns the expiration time of a key as a Unix milliseconds timestamp.",
		Args:    `key:k#0`},
	{Name: "pttl", Arity: 2, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO | Access)), run: pttl,
		Group: "generic", Since: "2.6.0", Complexity: "O(1)",
		Summary: "Returns the expiration time in milliseconds of a key.",
		History: []string{"2.8.0 Added the -2 reply."},
		Tips:    []string{"nondeterministic_output"},
		Args:    `key:k#0`},
	{Name: "ttl", Arity: 2, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO | Access)), run: ttl,
		Group: "generic", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Returns the expiration time in seconds of a key.",
		History: []string{"2.8.0 Added the -2 reply."},
		Tips:    []string{"nondeterministic_output"},
		Args:    `key:k#0`},
}

// expire: EXPIRE key seconds [NX | XX | GT | LT]
func expire(c *Call) resp.Value { return c.expireAt(c.ms(), 1000) }

// pexpire: PEXPIRE key milliseconds [NX | XX | GT | LT]
func pexpire(c *Call) resp.Value { return c.expireAt(c.ms(), 1) }

// expireat: EXPIREAT key unix-time-seconds [NX | XX | GT | LT]
func expireat(c *Call) resp.Value { return c.expireAt(0, 1000) }

// pexpireat: PEXPIREAT key unix-time-milliseconds [NX | XX | GT | LT]
func pexpireat(c *Call) resp.Value { return c.expireAt(0, 1) }

// expireAt sets a key's deadline to base plus the argument, which counts units of
// so many milliseconds. A deadline that is not in the future deletes the key.
func (c *Call) expireAt(base, unit int64) resp.Value {
	cond, bad := c.expireCondition()
	if bad != nil {
		return *bad
	}
	at, bad := c.intArg(2)
	if bad != nil {
		return *bad
	}
	if at > math.MaxInt64/unit || at < math.MinInt64/unit || at*unit > math.MaxInt64-base {
		return *c.invalidExpire()
	}
	at = at*unit + base
	key := c.Args[1]
	o := c.write(key)
	switch {
	case o == nil || !cond.allows(o.Expire(), at):
		return resp.Zero
	case at <= c.ms():
		c.remove(key)
		c.sendDeletion(key, lazyExpire)
	default:
		if c.Spec.Name != "pexpireat" && c.repl.streams() {
			c.sendWith(0, "PEXPIREAT")
			c.sendWith(2, strconv.FormatInt(at, 10))
		}
		c.db().SetExpire(key, at)
		c.changed(key, eventGeneric, "expire")
	}
	return resp.One
}

// expireCondition tells when a deadline may be set: NX, XX, GT, LT.
type expireCondition struct{ nx, xx, gt, lt bool }

func (c *Call) expireCondition() (cond expireCondition, bad *resp.Value) {
	fail := func(text string) (expireCondition, *resp.Value) {
		v := resp.Err(text)
		return cond, &v
	}
	for i := 3; i < len(c.Args); i++ {
		switch {
		case c.is(i, "nx"):
			cond.nx = true
		case c.is(i, "xx"):
			cond.xx = true
		case c.is(i, "gt"):
			cond.gt = true
		case c.is(i, "lt"):
			cond.lt = true
		default:
			return fail(oneLine("ERR Unsupported option " + clip(c.Args[i], len(c.Args[i]))))
		}
	}
	if cond.nx && (cond.xx || cond.gt || cond.lt) {
		return fail("ERR NX and XX, GT or LT options at the same time are not compatible")
	}
	if cond.gt && cond.lt {
		return fail("ERR GT and LT options at the same time are not compatible")
	}
	return cond, nil
}

// allows reports whether a deadline old, 0 for none, may be replaced by at. None
// counts as later than any other.
func (e expireCondition) allows(old, at int64) bool {
	switch {
	case e.nx && old != 0, e.xx && old == 0:
		return false
	case e.gt && (old == 0 || at <= old), e.lt && old != 0 && at >= old:
		return false
	}
	return true
}

// persist: PERSIST key
func persist(c *Call) resp.Value {
	key := c.Args[1]
	if o := c.write(key); o == nil || o.Expire() == 0 {
		return resp.Zero
	}
	c.db().SetExpire(key, 0)
	c.changed(key, eventGeneric, "persist")
	return resp.One
}

// ttl: TTL key
func ttl(c *Call) resp.Value { return c.deadlineOf(c.ms(), 1000) }

// pttl: PTTL key
func pttl(c *Call) resp.Value { return c.deadlineOf(c.ms(), 1) }

// expiretime: EXPIRETIME key
func expiretime(c *Call) resp.Value { return c.deadlineOf(0, 1000) }

// pexpiretime: PEXPIRETIME key
func pexpiretime(c *Call) resp.Value { return c.deadlineOf(0, 1) }

// deadlineOf replies with a key's deadline counted from base, rounded to units of
// so many milliseconds; -1 without a deadline, -2 without a key.
func (c *Call) deadlineOf(base, unit int64) resp.Value {
	o := c.peek(c.Args[1])
	switch {
	case o == nil:
		return resp.Int(-2)
	case o.Expire() == 0:
		return resp.Int(-1)
	}
	left := uint64(max(0, o.Expire()-base)) // half a unit may be more than an int64 has room for
	return resp.Int(int64((left + uint64(unit/2)) / uint64(unit)))
}
