package engine

import (
	"math"
	"slices"
	"strconv"

	"github.com/echomq/echomq-sim/rdb"
	"github.com/echomq/echomq-sim/resp"
)

var dumpCommands = []Spec{
	{Name: "dump", Arity: 2, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: dump,
		Group: "generic", Since: "2.6.0", Complexity: "O(1) to access the key and additional O(N*M) to serialize it, where N is the number of objects composing the value and M their average size. For small string values the time complexity is thus O(1)+O(1*M) where M is small, so simply O(1).",
		Summary: "Returns a serialized representation of the value stored at a key.",
		Tips:    []string{"nondeterministic_output"},
		Args:    `key:k#0`},
	{Name: "restore", Arity: -4, Flags: Write | DenyOOM, ACL: []string{"dangerous"},
		Keys: keys(key1(OW | Update)), run: restore,
		Group: "generic", Since: "2.6.0", Complexity: "O(1) to create the new key and additional O(N*M) to reconstruct the serialized value, where N is the number of objects composing the value and M their average size. For small string values the time complexity is thus O(1)+O(1*M) where M is small, so simply O(1). However for sorted set values the complexity is O(N*M*log(N)) because inserting values into sorted sets is O(log(N)).",
		Summary: "Creates a key from the serialized representation of a value.",
		History: []string{"3.0.0 Added the `REPLACE` modifier.", "5.0.0 Added the `ABSTTL` modifier.", "5.0.0 Added the `IDLETIME` and `FREQ` options."},
		Args:    `key:k#0 ttl:i serialized-value replace:t=REPLACE@3.0.0? absttl:t=ABSTTL@5.0.0? seconds:i=IDLETIME@5.0.0? frequency:i=FREQ@5.0.0?`},
	{Name: "restore-asking", Arity: -4, Flags: Write | DenyOOM | Asking, ACL: []string{"dangerous", "keyspace"},
		Keys: keys(key1(OW | Update)), run: restore,
		Group: "server", Since: "3.0.0", Complexity: "O(1) to create the new key and additional O(N*M) to reconstruct the serialized value, where N is the number of objects composing the value and M their average size. For small string values the time complexity is thus O(1)+O(1*M) where M is small, so simply O(1). However for sorted set values the complexity is O(N*M*log(N)) because inserting values into sorted sets is O(log(N)).",
		Summary:  "An internal command for migrating keys in a cluster.",
		DocFlags: []string{"syscmd"},
		History:  []string{"3.0.0 Added the `REPLACE` modifier.", "5.0.0 Added the `ABSTTL` modifier.", "5.0.0 Added the `IDLETIME` and `FREQ` options."},
		Args:     `key:k#0 ttl:i serialized-value replace:t=REPLACE@3.0.0? absttl:t=ABSTTL@5.0.0? seconds:i=IDLETIME@5.0.0? frequency:i=FREQ@5.0.0?`},
}

// dump: DUMP key
func dump(c *Call) resp.Value {
	o := c.read(c.Args[1])
	if o == nil {
		return resp.Null
	}
	return resp.Bulk(rdb.Dump(o, c.compresses()))
}

// compresses reports whether serialized strings are compressed.
func (co *core) compresses() bool { return co.tunedYes("rdbcompression") }

var (
	errBusyKey  = resp.Err("BUSYKEY Target key name already exists.")
	errBadSeal  = resp.Err("ERR " + badSeal)
	errBadValue = resp.Err("ERR Bad data format")
)

// badSeal is why a payload is refused that was not made by DUMP of a known version.
const badSeal = "DUMP payload version or checksum are wrong"

// restoreOptions are the options of RESTORE.
type restoreOptions struct {
	replace, absTTL bool
	idle, freq      int64 // -1 if not given
}

// restore: RESTORE | RESTORE-ASKING key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]
func restore(c *Call) resp.Value {
	opt, bad := c.restoreOptions()
	if bad != nil {
		return *bad
	}
	key := c.Args[1]
	if !opt.replace && c.write(key) != nil {
		return errBusyKey
	}
	ttl, bad := c.intArg(2)
	if bad != nil {
		return *bad
	}
	if ttl < 0 {
		return resp.Err("ERR Invalid TTL value, must be >= 0")
	}
	o, err := rdb.Restore(c.Args[3], &c.limits)
	switch {
	case err == rdb.ErrSeal:
		return errBadSeal
	case err != nil:
		c.log(LogVerbose, err.Error())
		return errBadValue
	}
	if ttl != 0 && !opt.absTTL {
		ttl = min(ttl, math.MaxInt64-c.ms()) + c.ms()
	}
	if ttl != 0 && ttl <= c.ms() {
		c.removeReplaced(key)
		return resp.OK
	}
	c.db().Remove(key)
	c.put(key, o)
	c.db().SetExpire(key, ttl)
	if ttl != 0 && !opt.absTTL && c.repl.streams() {
		c.sendAs(append(slices.Concat(c.Args[:2], []string{strconv.FormatInt(ttl, 10)}, c.Args[3:]), "ABSTTL")...)
	}
	c.setUsage(key, opt)
	c.changed(key, eventGeneric, "restore")
	return resp.OK
}

func (c *Call) restoreOptions() (opt restoreOptions, bad *resp.Value) {
	opt = restoreOptions{idle: -1, freq: -1}
	fail := func(text string) (restoreOptions, *resp.Value) {
		v := resp.Err("ERR " + text)
		return opt, &v
	}
	for i := 4; i < len(c.Args); i++ {
		hasValue := i+1 < len(c.Args)
		switch {
		case c.is(i, "replace"):
			opt.replace = true
		case c.is(i, "absttl"):
			opt.absTTL = true
		case c.is(i, "idletime") && hasValue && opt.freq == -1:
			i++
			if opt.idle, bad = c.intArg(i); bad != nil {
				return opt, bad
			}
			if opt.idle < 0 {
				return fail("Invalid IDLETIME value, must be >= 0")
			}
		case c.is(i, "freq") && hasValue && opt.idle == -1:
			i++
			if opt.freq, bad = c.intArg(i); bad != nil {
				return opt, bad
			}
			if opt.freq < 0 || opt.freq > math.MaxUint8 {
				return fail("Invalid FREQ value, must be >= 0 and <= 255")
			}
		default:
			return opt, &errSyntax
		}
	}
	return opt, nil
}

// removeReplaced removes the key in whose place nothing comes, as the time of what should
// have come has passed.
func (c *Call) removeReplaced(key string) {
	if c.db().Read(key) == nil {
		return
	}
	c.db().Remove(key)
	c.changed(key, eventGeneric, "del")
	c.sendDeletion(key, lazyServerDel)
}

// setUsage sets what RESTORE was told about the use of a key.
func (c *Call) setUsage(key string, opt restoreOptions) {
	o := c.db().Read(key)
	if opt.idle >= 0 {
		o.SetAccess(uint32(max(0, c.now/1e6-opt.idle)))
	}
	if opt.freq >= 0 {
		o.SetFreq(uint8(opt.freq))
	}
}
