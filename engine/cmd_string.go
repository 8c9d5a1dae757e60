package engine

import (
	"math"
	"slices"
	"strconv"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var stringCommands = []Spec{
	{Name: "get", Arity: 2, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO | Access)), run: get,
		Group: "string", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Returns the string value of a key.",
		Args:    `key:k#0`},
	{Name: "getdel", Arity: 2, Flags: Write | Fast,
		Keys: keys(key1(RW | Access | Delete)), run: getdel,
		Group: "string", Since: "6.2.0", Complexity: "O(1)",
		Summary: "Returns the string value of a key after deleting the key.",
		Args:    `key:k#0`},
	{Name: "getex", Arity: -2, Flags: Write | Fast,
		Keys: keys(key1(RW | Access | Update).note("RW and UPDATE because it changes the TTL")), run: getex,
		Group: "string", Since: "6.2.0", Complexity: "O(1)",
		Summary: "Returns the string value of a key after setting its expiration time.",
		Args:    `key:k#0 expiration<seconds:i=EX milliseconds:i=PX unix-time-seconds:u=EXAT unix-time-milliseconds:u=PXAT persist:t=PERSIST>?`},
	{Name: "getset", Arity: 3, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Access | Update)), run: getset,
		Group: "string", Since: "1.0.0", Complexity: "O(1)",
		Summary:  "Returns the previous string value of a key after setting it to a new value.",
		DocFlags: []string{"deprecated"}, DeprecatedSince: "6.2.0", ReplacedBy: "`SET` with the `!GET` argument",
		Args: `key:k#0 value`},
	{Name: "mget", Arity: -2, Flags: ReadOnly | Fast,
		Keys: keys(keyRange(1, -1, 1, 0, RO|Access)), run: mget,
		Group: "string", Since: "1.0.0", Complexity: "O(N) where N is the number of keys to retrieve.",
		Summary: "Atomically returns the string values of one or more keys.",
		Tips:    []string{"request_policy:multi_shard"},
		Args:    `key:k#0*`},
	{Name: "mset", Arity: -3, Flags: Write | DenyOOM,
		Keys: keys(keyRange(1, -1, 2, 0, OW|Update)), run: mset,
		Group: "string", Since: "1.0.1", Complexity: "O(N) where N is the number of keys to set.",
		Summary: "Atomically creates or modifies the string values of one or more keys.",
		Tips:    []string{"request_policy:multi_shard", "response_policy:all_succeeded"},
		Args:    `data{key:k#0 value}*`},
	{Name: "msetnx", Arity: -3, Flags: Write | DenyOOM,
		Keys: keys(keyRange(1, -1, 2, 0, OW|Insert)), run: msetnx,
		Group: "string", Since: "1.0.1", Complexity: "O(N) where N is the number of keys to set.",
		Summary: "Atomically modifies the string values of one or more keys only when all keys don't exist.",
		Args:    `data{key:k#0 value}*`},
	{Name: "psetex", Arity: 4, Flags: Write | DenyOOM,
		Keys: keys(key1(OW | Update)), run: psetex,
		Group: "string", Since: "2.6.0", Complexity: "O(1)",
		Summary:  "Sets both string value and expiration time in milliseconds of a key. The key is created if it doesn't exist.",
		DocFlags: []string{"deprecated"}, DeprecatedSince: "2.6.12", ReplacedBy: "`SET` with the `PX` argument",
		Args: `key:k#0 milliseconds:i value`},
	{Name: "set", Arity: -3, Flags: Write | DenyOOM,
		Keys: keys(key1(RW | Access | Update | VariableFlags).note("RW and ACCESS due to the optional `GET` argument")), run: set, findKeys: setKeys,
		Group: "string", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Sets the string value of a key, ignoring its type. The key is created if it doesn't exist.",
		History: []string{"2.6.12 Added the `EX`, `PX`, `NX` and `XX` options.", "6.0.0 Added the `KEEPTTL` option.", "6.2.0 Added the `GET`, `EXAT` and `PXAT` option.", "7.0.0 Allowed the `NX` and `GET` options to be used together."},
		Args:    `key:k#0 value condition<nx:t=NX xx:t=XX>@2.6.12? get:t=GET@6.2.0? expiration<seconds:i=EX@2.6.12 milliseconds:i=PX@2.6.12 unix-time-seconds:u=EXAT@6.2.0 unix-time-milliseconds:u=PXAT@6.2.0 keepttl:t=KEEPTTL@6.0.0>?`},
	{Name: "setex", Arity: 4, Flags: Write | DenyOOM,
		Keys: keys(key1(OW | Update)), run: setex,
		Group: "string", Since: "2.0.0", Complexity: "O(1)",
		Summary:  "Sets the string value and expiration time of a key. Creates the key if it doesn't exist.",
		DocFlags: []string{"deprecated"}, DeprecatedSince: "2.6.12", ReplacedBy: "`SET` with the `EX` argument",
		Args: `key:k#0 seconds:i value`},
	{Name: "setnx", Arity: 3, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(OW | Insert)), run: setnx,
		Group: "string", Since: "1.0.0", Complexity: "O(1)",
		Summary:  "Set the string value of a key only when the key doesn't exist.",
		DocFlags: []string{"deprecated"}, DeprecatedSince: "2.6.12", ReplacedBy: "`SET` with the `NX` argument",
		Args: `key:k#0 value`},
}

// setOptions are the options of SET and GETEX.
type setOptions struct {
	nx, xx, get bool
	ttl         ttlOption
	arg         int // the argument of EX, PX, EXAT or PXAT; 0 for none
}

// ttlOption is the one option that says what becomes of the key's TTL.
type ttlOption uint8

const (
	ttlNone ttlOption = iota
	ttlEX
	ttlPX
	ttlEXAT
	ttlPXAT
	ttlKeep
	ttlPersist
)

// ttlWords are the words of ttlOption, in its order.
var ttlWords = [...]string{"", "EX", "PX", "EXAT", "PXAT", "KEEPTTL", "PERSIST"}

// parseSetOptions parses the options from argument i on. Words may be repeated;
// those that contradict each other are a syntax error.
func (c *Call) parseSetOptions(i int, isSet bool) (o setOptions, bad *resp.Value) {
	for ; i < len(c.Args); i++ {
		switch {
		case isSet && !o.xx && c.is(i, "NX"):
			o.nx = true
		case isSet && !o.nx && c.is(i, "XX"):
			o.xx = true
		case isSet && c.is(i, "GET"):
			o.get = true
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

// ttlOptionAt is the option at argument i; ttlNone when there is none or its own
// argument is missing.
func (c *Call) ttlOptionAt(i int, isSet bool) ttlOption {
	for t := ttlEX; t <= ttlPersist; t++ {
		if !c.is(i, ttlWords[t]) {
			continue
		}
		if t <= ttlPXAT && i+1 == len(c.Args) || t == ttlKeep && !isSet || t == ttlPersist && isSet {
			return ttlNone
		}
		return t
	}
	return ttlNone
}

// deadline is the time in Unix milliseconds that the options give; 0 for none.
func (c *Call) deadline(o setOptions) (at int64, bad *resp.Value) {
	if o.arg == 0 {
		return 0, nil
	}
	at, bad = c.intArg(o.arg)
	if bad != nil {
		return 0, bad
	}
	seconds := o.ttl == ttlEX || o.ttl == ttlEXAT
	if at <= 0 || seconds && at > math.MaxInt64/1000 {
		return 0, c.invalidExpire()
	}
	if seconds {
		at *= 1000
	}
	if o.ttl == ttlEX || o.ttl == ttlPX {
		if at > math.MaxInt64-c.ms() {
			return 0, c.invalidExpire()
		}
		at += c.ms()
	}
	return at, nil
}

// setString does the work of SET and its kin. The reply is null when NX or XX
// forbids the change, or the old value with GET.
func (c *Call) setString(key, value string, o setOptions) resp.Value {
	at, bad := c.deadline(o)
	if bad != nil {
		return *bad
	}
	done, refused := resp.OK, resp.Null
	if o.get {
		if done, bad = c.getString(key); bad != nil {
			return *bad
		}
		refused = done
	}
	found := c.live(key)
	if o.nx && found != nil || o.xx && found == nil {
		if found != nil {
			c.refresh(found)
		}
		return refused
	}
	if o.arg != 0 && at <= c.ms() {
		c.remove(key)
		c.sendDeletion(key, lazyExpire)
		return done
	}
	c.sendSet(key, value, at, o)
	if o.ttl == ttlKeep && found != nil {
		at = found.Expire()
	}
	if found != nil && found.Type() == store.String {
		o := c.write(key)
		o.SetStr(value)
	} else {
		c.put(key, store.NewString(value))
	}
	c.db().SetExpire(key, at)
	c.changed(key, eventString, "set")
	if o.arg != 0 {
		c.notify(eventGeneric, "expire", key)
	}
	return done
}

// sendSet makes replicas get what is the same there at any time, and without GET.
func (c *Call) sendSet(key, value string, at int64, o setOptions) {
	switch {
	case !c.repl.streams() || o == setOptions{}:
	case o.arg != 0 && o.ttl != ttlPXAT:
		c.sendAs("SET", key, value, "PXAT", strconv.FormatInt(at, 10))
	case o.get && o.arg == 0 && c.Spec.Name == "getset":
		c.sendWith(0, "SET")
	case o.get && o.arg == 0:
		options := slices.DeleteFunc(slices.Clone(c.Args[3:]), func(a string) bool { return equalWord(a, "get") })
		c.sendAs(append(slices.Clone(c.Args[:3]), options...)...)
	}
}

// getString is the value of key as a reply, null when there is none.
func (c *Call) getString(key string) (v resp.Value, bad *resp.Value) {
	o, bad := c.readAs(key, store.String)
	if o == nil {
		return resp.Null, bad
	}
	return resp.Bulk(o.Str()), nil
}

// set: SET key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT unix-seconds | PXAT unix-milliseconds | KEEPTTL]
func set(c *Call) resp.Value {
	o, bad := c.parseSetOptions(3, true)
	if bad != nil {
		return *bad
	}
	return c.setString(c.Args[1], c.Args[2], o)
}

// setnx: SETNX key value
func setnx(c *Call) resp.Value {
	if v := c.setString(c.Args[1], c.Args[2], setOptions{nx: true}); v.IsNull() {
		return resp.Zero
	}
	return resp.One
}

// setex: SETEX key seconds value
func setex(c *Call) resp.Value {
	return c.setString(c.Args[1], c.Args[3], setOptions{ttl: ttlEX, arg: 2})
}

// psetex: PSETEX key milliseconds value
func psetex(c *Call) resp.Value {
	return c.setString(c.Args[1], c.Args[3], setOptions{ttl: ttlPX, arg: 2})
}

// getset: GETSET key value
func getset(c *Call) resp.Value {
	return c.setString(c.Args[1], c.Args[2], setOptions{get: true})
}

// get: GET key
func get(c *Call) resp.Value {
	v, bad := c.getString(c.Args[1])
	if bad != nil {
		return *bad
	}
	return v
}

// getdel: GETDEL key
func getdel(c *Call) resp.Value {
	v, bad := c.getString(c.Args[1])
	if bad != nil {
		return *bad
	}
	c.remove(c.Args[1])
	c.sendAs("DEL", c.Args[1])
	return v
}

// getex: GETEX key [EX seconds | PX milliseconds | EXAT unix-seconds | PXAT unix-milliseconds | PERSIST]
func getex(c *Call) resp.Value {
	opts, bad := c.parseSetOptions(2, false)
	if bad != nil {
		return *bad
	}
	key := c.Args[1]
	o, bad := c.readAs(key, store.String)
	if bad != nil {
		return *bad
	}
	if o == nil {
		return resp.Null
	}
	at, bad := c.deadline(opts)
	if bad != nil {
		return *bad
	}
	v := resp.Bulk(o.Str())
	switch {
	case opts.arg != 0 && at <= c.ms():
		c.remove(key)
		c.sendDeletion(key, lazyExpire)
	case opts.arg != 0:
		c.db().SetExpire(key, at)
		c.sendExpire(key, at)
		c.changed(key, eventGeneric, "expire")
	case opts.ttl == ttlPersist && o.Expire() != 0:
		c.sendAs("PERSIST", key)
		c.db().SetExpire(key, 0)
		c.changed(key, eventGeneric, "persist")
	}
	return v
}

// mget: MGET key [key ...]
func mget(c *Call) resp.Value {
	out := c.values(len(c.Args) - 1) // nulls
	for i, key := range c.Args[1:] {
		if o := c.read(key); o != nil && o.Type() == store.String {
			out[i] = resp.Bulk(o.Str())
		}
	}
	return resp.Array(out...)
}

// mset: MSET key value [key value ...]
func mset(c *Call) resp.Value {
	if len(c.Args)%2 == 0 {
		return c.wrongArity()
	}
	for i := 1; i < len(c.Args); i += 2 {
		c.setString(c.Args[i], c.Args[i+1], setOptions{})
	}
	return resp.OK
}

// msetnx: MSETNX key value [key value ...]
func msetnx(c *Call) resp.Value {
	if len(c.Args)%2 == 0 {
		return c.wrongArity()
	}
	for i := 1; i < len(c.Args); i += 2 {
		if o := c.live(c.Args[i]); o != nil {
			c.refresh(o)
			return resp.Zero
		}
	}
	mset(c)
	return resp.One
}
