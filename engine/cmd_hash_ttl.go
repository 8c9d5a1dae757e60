package engine

import (
	"math"
	"slices"
	"strconv"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

// The commands on the TTL of hash fields are those of Valkey 9: 8.0.1, which
// everything else here follows, has none.
var hashTTLCommands = []Spec{
	{Name: "hexpire", Arity: -6, Flags: Write | Fast,
		Keys: keys(key1(RW | Update)), run: hexpire,
		Group: "hash", Since: "9.0.0", Complexity: "O(N) where N is the number of specified fields.",
		Summary: "Sets expiry time on hash fields.",
		Args:    `key:k#0 seconds:i condition<nx:t=NX xx:t=XX gt:t=GT lt:t=LT>? fields{numfields:i field*}=FIELDS`},
	{Name: "hexpireat", Arity: -6, Flags: Write | Fast,
		Keys: keys(key1(RW | Update)), run: hexpireat,
		Group: "hash", Since: "9.0.0", Complexity: "O(N) where N is the number of specified fields.",
		Summary: "Sets expiry time on hash fields, as a Unix timestamp.",
		Args:    `key:k#0 unix-time-seconds:u condition<nx:t=NX xx:t=XX gt:t=GT lt:t=LT>? fields{numfields:i field*}=FIELDS`},
	{Name: "hexpiretime", Arity: -5, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO | Access)), run: hexpiretime,
		Group: "hash", Since: "9.0.0", Complexity: "O(N) where N is the number of specified fields.",
		Summary: "Returns the Unix timestamps in seconds at which hash fields expire.",
		Args:    `key:k#0 fields{numfields:i field*}=FIELDS`},
	{Name: "hpersist", Arity: -5, Flags: Write | Fast,
		Keys: keys(key1(RW | Update)), run: hpersist,
		Group: "hash", Since: "9.0.0", Complexity: "O(N) where N is the number of specified fields.",
		Summary: "Removes the expiration time of hash fields.",
		Args:    `key:k#0 fields{numfields:i field*}=FIELDS`},
	{Name: "hpexpire", Arity: -6, Flags: Write | Fast,
		Keys: keys(key1(RW | Update)), run: hpexpire,
		Group: "hash", Since: "9.0.0", Complexity: "O(N) where N is the number of specified fields.",
		Summary: "Sets expiry time on hash fields, in milliseconds.",
		Args:    `key:k#0 milliseconds:i condition<nx:t=NX xx:t=XX gt:t=GT lt:t=LT>? fields{numfields:i field*}=FIELDS`},
	{Name: "hpexpireat", Arity: -6, Flags: Write | Fast,
		Keys: keys(key1(RW | Update)), run: hpexpireat,
		Group: "hash", Since: "9.0.0", Complexity: "O(N) where N is the number of specified fields.",
		Summary: "Sets expiry time on hash fields, as a Unix timestamp in milliseconds.",
		Args:    `key:k#0 unix-time-milliseconds:u condition<nx:t=NX xx:t=XX gt:t=GT lt:t=LT>? fields{numfields:i field*}=FIELDS`},
	{Name: "hpexpiretime", Arity: -5, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO | Access)), run: hpexpiretime,
		Group: "hash", Since: "9.0.0", Complexity: "O(N) where N is the number of specified fields.",
		Summary: "Returns the Unix timestamps in milliseconds at which hash fields expire.",
		Args:    `key:k#0 fields{numfields:i field*}=FIELDS`},
	{Name: "hpttl", Arity: -5, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO | Access)), run: hpttl,
		Group: "hash", Since: "9.0.0", Complexity: "O(N) where N is the number of specified fields.",
		Summary: "Returns the remaining time to live of hash fields in milliseconds.",
		Args:    `key:k#0 fields{numfields:i field*}=FIELDS`},
	{Name: "httl", Arity: -5, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO | Access)), run: httl,
		Group: "hash", Since: "9.0.0", Complexity: "O(N) where N is the number of specified fields.",
		Summary: "Returns the remaining time to live of hash fields in seconds.",
		Args:    `key:k#0 fields{numfields:i field*}=FIELDS`},
}

// What the commands on field TTLs answer for each field.
const (
	fieldMissing  = -2
	fieldNoTTL    = -1
	fieldRefused  = 0 // NX, XX, GT or LT forbids it
	fieldSet      = 1
	fieldDeletion = 2 // the deadline has passed: the field is gone
)

var errNumFields = resp.Err("ERR numfields should be greater than 0 and match the provided number of fields")

// fieldsWord finds the word FIELDS, with at least one argument behind it, from
// argument i on; options stand ahead of it. 0 means that there is none.
func (c *Call) fieldsWord(i int) int {
	for ; i < len(c.Args)-1; i++ {
		if c.is(i, "FIELDS") {
			return i
		}
	}
	return 0
}

// upTo is the call as if its arguments ended before argument end.
func (c *Call) upTo(end int) *Call {
	head := *c
	head.Args = c.Args[:end]
	return &head
}

// fieldList is what stands behind the word FIELDS at argument i and a count: so
// many fields, of size arguments each, and no more; mismatch is the error otherwise.
func (c *Call) fieldList(i, size int, mismatch *resp.Value) (fields []string, bad *resp.Value) {
	n, bad := c.intArg(i + 1)
	if bad != nil {
		return nil, bad
	}
	fields = c.Args[i+2:]
	if n < 1 || n > int64(len(fields)) || int(n)*size != len(fields) {
		return nil, mismatch
	}
	return fields, nil
}

// onlyFields is fieldList for the commands that have no options: key FIELDS numfields field [field ...]
func (c *Call) onlyFields(mismatch *resp.Value) (fields []string, bad *resp.Value) {
	if !c.is(2, "FIELDS") {
		return nil, &errSyntax
	}
	return c.fieldList(2, 1, mismatch)
}

// fieldDeadline is the deadline that argument i gives: base plus so many units,
// all in milliseconds. A negative number is an error, other than for a key.
func (c *Call) fieldDeadline(i int, base, unit int64) (at int64, bad *resp.Value) {
	n, bad := c.intArg(i)
	if bad != nil {
		return 0, bad
	}
	if n < 0 || n > math.MaxInt64/unit || n*unit > math.MaxInt64-base {
		return 0, c.invalidExpire()
	}
	return n*unit + base, nil
}

// hexpire: HEXPIRE key seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]
func hexpire(c *Call) resp.Value { return c.setFieldTTLs(c.ms(), 1000) }

// hpexpire: HPEXPIRE key milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]
func hpexpire(c *Call) resp.Value { return c.setFieldTTLs(c.ms(), 1) }

// hexpireat: HEXPIREAT key unix-time-seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]
func hexpireat(c *Call) resp.Value { return c.setFieldTTLs(0, 1000) }

// hpexpireat: HPEXPIREAT key unix-time-milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]
func hpexpireat(c *Call) resp.Value { return c.setFieldTTLs(0, 1) }

// setFieldTTLs sets the deadlines of fields to base plus the argument, which
// counts units of so many milliseconds.
func (c *Call) setFieldTTLs(base, unit int64) resp.Value {
	word := c.fieldsWord(3)
	if word == 0 {
		return errNumFields
	}
	cond, bad := c.upTo(word).expireCondition()
	if bad != nil {
		return *bad
	}
	fields, bad := c.fieldList(word, 1, &errNumFields)
	if bad != nil {
		return *bad
	}
	at, bad := c.fieldDeadline(2, base, unit)
	if bad != nil {
		return *bad
	}
	key := c.Args[1]
	h, bad := c.writeHash(key)
	if bad != nil {
		return *bad
	}
	out, changed := make([]resp.Value, len(fields)), int64(0)
	for i, field := range fields {
		code := setFieldTTL(h, field, at, c.ms(), cond)
		out[i] = resp.Int(code)
		if code > fieldRefused {
			changed++
		}
	}
	switch {
	case changed == 0:
	case at <= c.ms():
		c.fieldsExpired(key, h, changed)
		c.sendFields("HDEL", fields)
	default:
		c.changedFields(key, "hexpire", changed)
		if c.repl.streams() {
			c.sendWith(0, "HPEXPIREAT")
			c.sendWith(2, strconv.FormatInt(at, 10))
		}
	}
	return resp.Array(out...)
}

// sendFields makes a command on fields of the hash stand for this call in the stream; words
// stand between the key and the fields.
func (c *Call) sendFields(command string, fields []string, words ...string) {
	if c.repl.streams() {
		c.sendAs(slices.Concat([]string{command, c.Args[1]}, words, fields)...)
	}
}

// setFieldTTL sets the deadline of one field, or deletes it when that has passed,
// and returns what to answer. h may be nil.
func setFieldTTL(h *store.HashObj, field string, at, now int64, cond expireCondition) int64 {
	switch {
	case h == nil || !h.Has(field):
		return fieldMissing
	case !cond.allows(h.Deadline(field), at):
		return fieldRefused
	case at <= now:
		h.Del(field)
		return fieldDeletion
	}
	h.SetDeadline(field, at)
	return fieldSet
}

// fieldsExpired tells that a command has deleted n fields by giving them a
// deadline in the past: to everybody else they have expired.
func (c *Call) fieldsExpired(key string, h *store.HashObj, n int64) {
	c.stats.expiredFields += n
	c.changedFields(key, "hexpired", n)
	c.dropEmpty(key, h.Len())
}

// hpersist: HPERSIST key FIELDS numfields field [field ...]
func hpersist(c *Call) resp.Value {
	fields, bad := c.onlyFields(&errNumFields)
	if bad != nil {
		return *bad
	}
	key := c.Args[1]
	h, bad := c.writeHash(key)
	if bad != nil {
		return *bad
	}
	out, changed := make([]resp.Value, len(fields)), int64(0)
	for i, field := range fields {
		switch {
		case h == nil || !h.Has(field):
			out[i] = resp.Int(fieldMissing)
		case h.Deadline(field) == 0:
			out[i] = resp.Int(fieldNoTTL)
		default:
			h.SetDeadline(field, 0)
			out[i] = resp.Int(fieldSet)
			changed++
		}
	}
	if changed > 0 {
		c.changedFields(key, "hpersist", changed)
	}
	return resp.Array(out...)
}

// httl: HTTL key FIELDS numfields field [field ...]
func httl(c *Call) resp.Value { return c.fieldDeadlines(c.ms(), 1000) }

// hpttl: HPTTL key FIELDS numfields field [field ...]
func hpttl(c *Call) resp.Value { return c.fieldDeadlines(c.ms(), 1) }

// hexpiretime: HEXPIRETIME key FIELDS numfields field [field ...]
func hexpiretime(c *Call) resp.Value { return c.fieldDeadlines(0, 1000) }

// hpexpiretime: HPEXPIRETIME key FIELDS numfields field [field ...]
func hpexpiretime(c *Call) resp.Value { return c.fieldDeadlines(0, 1) }

// fieldDeadlines replies with fields' deadlines counted from base, rounded to
// units of so many milliseconds.
func (c *Call) fieldDeadlines(base, unit int64) resp.Value {
	fields, bad := c.onlyFields(&errSyntax) // not the text of the other commands
	if bad != nil {
		return *bad
	}
	h, bad := c.readHash(c.Args[1])
	if bad != nil {
		return *bad
	}
	out := make([]resp.Value, len(fields))
	for i, field := range fields {
		switch {
		case h == nil || !h.Has(field):
			out[i] = resp.Int(fieldMissing)
		case h.Deadline(field) == 0:
			out[i] = resp.Int(fieldNoTTL)
		default:
			out[i] = resp.Int(roundedTime(h.Deadline(field)-base, unit))
		}
	}
	return resp.Array(out...)
}

// roundedTime is a time in milliseconds, rounded to units; not less than 0.
func roundedTime(ms, unit int64) int64 {
	return int64((uint64(max(0, ms)) + uint64(unit/2)) / uint64(unit)) // half a unit may not fit an int64
}
