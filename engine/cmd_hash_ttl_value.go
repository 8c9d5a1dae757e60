package engine

import (
	"strconv"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var hashTTLValueCommands = []Spec{
	{Name: "hgetdel", Arity: -5, Flags: Write | Fast,
		Keys: keys(key1(RW | Access | Delete)), run: hgetdel,
		Group: "hash", Since: "9.1.0", Complexity: "O(N) where N is the number of fields to be retrieved and deleted.",
		Summary: "Returns the values of one or more fields and deletes them from a hash.",
		Args:    `key:k#0 fields{numfields:i field*}=FIELDS`},
	{Name: "hgetex", Arity: -5, Flags: Write | Fast,
		Keys: keys(key1(RW | Access)), run: hgetex,
		Group: "hash", Since: "9.0.0", Complexity: "O(N) where N is the number of specified fields.",
		Summary: "Returns the values of one or more fields of a hash after setting or removing their expiration time.",
		Args:    `key:k#0 expiration<seconds:i=EX milliseconds:i=PX unix-time-seconds:u=EXAT unix-time-milliseconds:u=PXAT persist:t=PERSIST>? fields{numfields:i field*}=FIELDS`},
	{Name: "hsetex", Arity: -6, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Insert)), run: hsetex,
		Group: "hash", Since: "9.0.0", Complexity: "O(N) where N is the number of specified fields.",
		Summary: "Sets the values of one or more fields of a hash, and optionally their expiration time.",
		History: []string{"9.1.0 Added the `NX` and `XX` options."},
		Args:    `key:k#0 key-condition<nx:t=NX xx:t=XX>@9.1.0? fields-condition<fnx:t=FNX fxx:t=FXX>? expiration<seconds:i=EX milliseconds:i=PX unix-time-seconds:u=EXAT unix-time-milliseconds:u=PXAT keepttl:t=KEEPTTL>? fields{numfields:i data{field value}*}=FIELDS`},
}

// hgetdel: HGETDEL key FIELDS numfields field [field ...]
func hgetdel(c *Call) resp.Value {
	fields, bad := c.onlyFields(&errNumFields)
	if bad != nil {
		return *bad
	}
	key := c.Args[1]
	h, bad := c.writeHash(key)
	if bad != nil {
		return *bad
	}
	out, gone := make([]resp.Value, len(fields)), int64(0)
	for i, field := range fields {
		out[i] = fieldReply(h, field)
		if h != nil && h.Del(field) {
			gone++
		}
	}
	if gone > 0 {
		c.changedFields(key, "hdel", gone)
		c.dropEmpty(key, h.Len())
	}
	return resp.Array(out...)
}

// fieldOptions are the options of HGETEX and HSETEX.
type fieldOptions struct {
	nx, xx   bool // the key must not, must exist
	fnx, fxx bool // none, all of the fields must exist
	ttl      ttlOption
	arg      int // the argument of EX, PX, EXAT or PXAT; 0 for none
}

// parseFieldOptions parses the options of a call that ends with them.
func (c *Call) parseFieldOptions(isSet bool) (o fieldOptions, bad *resp.Value) {
	for i := 2; i < len(c.Args); i++ {
		switch {
		case isSet && !o.xx && c.is(i, "NX"):
			o.nx = true
		case isSet && !o.nx && c.is(i, "XX"):
			o.xx = true
		case isSet && !o.fxx && c.is(i, "FNX"):
			o.fnx = true
		case isSet && !o.fnx && c.is(i, "FXX"):
			o.fxx = true
		default:
			t := c.ttlOptionAt(i, isSet)
			if t == ttlNone || o.ttl != ttlNone && o.ttl != t {
				return o, &errSyntax
			}
			o.ttl = t
			if t <= ttlPXAT {
				i++
				o.arg = i
			}
		}
	}
	return o, nil
}

// optionDeadline is the deadline in Unix milliseconds that the options give; 0 for none.
func (c *Call) optionDeadline(o fieldOptions) (at int64, bad *resp.Value) {
	base, unit := int64(0), int64(1)
	if o.ttl == ttlEX || o.ttl == ttlPX {
		base = c.ms()
	}
	if o.ttl == ttlEX || o.ttl == ttlEXAT {
		unit = 1000
	}
	if o.arg == 0 {
		return 0, nil
	}
	return c.fieldDeadline(o.arg, base, unit)
}

// hgetex: HGETEX key [EX seconds | PX milliseconds | EXAT unix-seconds | PXAT unix-milliseconds | PERSIST]
// FIELDS numfields field [field ...]
func hgetex(c *Call) resp.Value {
	word := c.fieldsWord(2)
	if word == 0 {
		return errNumFields
	}
	o, bad := c.upTo(word).parseFieldOptions(false)
	if bad != nil {
		return *bad
	}
	fields, bad := c.fieldList(word, 1, &errNumFields)
	if bad != nil {
		return *bad
	}
	key := c.Args[1]
	h, bad := c.readHash(key)
	if bad != nil {
		return *bad
	}
	at, bad := c.optionDeadline(o)
	if bad != nil {
		return *bad
	}
	if h != nil && o.ttl != ttlNone {
		h, _ = c.writeHash(key) // what was read is not ours to change
	}
	out, changed := make([]resp.Value, len(fields)), int64(0)
	for i, field := range fields {
		out[i] = fieldReply(h, field)
		if h != nil && o.apply(h, field, at, c.ms()) {
			changed++
		}
	}
	switch {
	case changed == 0:
	case o.ttl == ttlPersist:
		c.changedFields(key, "hpersist", changed)
		c.sendFields("HPERSIST", fields, "FIELDS", strconv.Itoa(len(fields)))
	case at <= c.ms():
		c.fieldsExpired(key, h, changed)
		c.sendFields("HDEL", fields)
	default:
		c.changedFields(key, "hexpire", changed)
		c.sendFields("HPEXPIREAT", fields, strconv.FormatInt(at, 10), "FIELDS", strconv.Itoa(len(fields)))
	}
	return resp.Array(out...)
}

// apply does to a field's TTL what the options of HGETEX say, at being their
// deadline, and reports whether that changed anything.
func (o *fieldOptions) apply(h *store.HashObj, field string, at, now int64) bool {
	switch {
	case o.ttl == ttlNone:
		return false
	case o.ttl == ttlPersist:
		return h.Deadline(field) != 0 && h.SetDeadline(field, 0)
	case at <= now:
		return h.Del(field)
	}
	return h.SetDeadline(field, at)
}

// hsetex: HSETEX key [NX | XX] [FNX | FXX] [EX seconds | PX milliseconds | EXAT unix-seconds | PXAT unix-milliseconds |
// KEEPTTL] FIELDS numfields field value [field value ...]
func hsetex(c *Call) resp.Value {
	word := c.fieldsWord(2)
	if word == 0 {
		return errNumFields
	}
	o, bad := c.upTo(word).parseFieldOptions(true)
	if bad != nil {
		return *bad
	}
	pairs, bad := c.fieldList(word, 2, &errNumFields)
	if bad != nil {
		return *bad
	}
	h, bad := c.writeHash(c.Args[1])
	switch {
	case bad != nil:
		return *bad
	case o.nx && h != nil, o.xx && h == nil:
		return resp.Zero
	}
	at, bad := c.optionDeadline(o)
	switch {
	case bad != nil:
		return *bad
	case !o.allowFields(h, pairs):
		return resp.Zero
	case o.arg != 0 && at <= c.ms():
		c.setExpired(pairs)
	default:
		c.setWithTTL(pairs, o, at)
	}
	return resp.One
}

// allowFields reports whether FNX and FXX let the fields be set; h may be nil.
func (o *fieldOptions) allowFields(h *store.HashObj, pairs []string) bool {
	if !o.fnx && !o.fxx {
		return true
	}
	for i := 0; i < len(pairs); i += 2 {
		if there := h != nil && h.Has(pairs[i]); there != o.fxx {
			return false
		}
	}
	return true
}

// setWithTTL is the change that HSETEX makes.
func (c *Call) setWithTTL(pairs []string, o fieldOptions, at int64) {
	key := c.Args[1]
	h, _ := c.makeHash(key) // of the right type: the caller has looked
	for i := 0; i < len(pairs); i += 2 {
		if o.ttl == ttlKeep {
			h.SetKeepTTL(pairs[i], pairs[i+1])
			continue
		}
		h.Set(pairs[i], pairs[i+1])
		h.SetDeadline(pairs[i], at)
	}
	c.changedFields(key, "hset", int64(len(pairs)/2))
	if o.arg != 0 {
		c.sendWith(o.arg-1, "PXAT")
		c.sendWith(o.arg, strconv.FormatInt(at, 10))
		c.notify(eventHash, "hexpire", key)
	}
}

// setExpired is the change that HSETEX makes when the deadline has passed: the
// fields expire as soon as they are set.
func (c *Call) setExpired(pairs []string) {
	key := c.Args[1]
	h, _ := c.makeHash(key) // of the right type: the caller has looked
	gone := int64(0)
	fields := make([]string, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		fields = append(fields, pairs[i])
		if h.Del(pairs[i]) {
			gone++
		}
	}
	if gone > 0 {
		c.modified(key)
		c.stats.dirty += gone - 1
	}
	c.sendFields("HDEL", fields)
	c.stats.expiredFields += int64(len(pairs) / 2)
	for _, event := range []string{"hset", "hexpire", "hexpired"} {
		c.notify(eventHash, event, key)
	}
	c.dropEmpty(key, h.Len())
}
