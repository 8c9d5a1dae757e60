package engine

import (
	"math"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var objectCommands = []Spec{
	{Name: "object", Arity: -2, NoGroupACL: true,
		Group: "generic", Since: "2.2.3", Complexity: "Depends on subcommand.",
		Summary: "A container for object introspection commands."},
	{Name: "object|encoding", Arity: 3, Flags: ReadOnly,
		Keys: keys(keyAt(2, RO)), run: objectEncoding,
		Group: "generic", Since: "2.2.3", Complexity: "O(1)",
		Summary: "Returns the internal encoding of an object.",
		Tips:    []string{"nondeterministic_output"},
		Args:    `key:k#0`},
	{Name: "object|freq", Arity: 3, Flags: ReadOnly,
		Keys: keys(keyAt(2, RO)), run: objectFreq,
		Group: "generic", Since: "4.0.0", Complexity: "O(1)",
		Summary: "Returns the logarithmic access frequency counter of an object.",
		Tips:    []string{"nondeterministic_output"},
		Args:    `key:k#0`},
	{Name: "object|help", Arity: 2, Flags: Loading | Stale, run: objectHelp,
		Group: "generic", Since: "6.2.0", Complexity: "O(1)",
		Summary: "Returns helpful text about the different subcommands."},
	{Name: "object|idletime", Arity: 3, Flags: ReadOnly,
		Keys: keys(keyAt(2, RO)), run: objectIdletime,
		Group: "generic", Since: "2.2.3", Complexity: "O(1)",
		Summary: "Returns the time since the last access to an object.",
		Tips:    []string{"nondeterministic_output"},
		Args:    `key:k#0`},
	{Name: "object|refcount", Arity: 3, Flags: ReadOnly,
		Keys: keys(keyAt(2, RO)), run: objectRefcount,
		Group: "generic", Since: "2.2.3", Complexity: "O(1)",
		Summary: "Returns the reference count of a value of a key.",
		Tips:    []string{"nondeterministic_output"},
		Args:    `key:k#0`},
}

// inspect finds the key of an OBJECT subcommand; nil is answered with a null. The
// look-up is no access to the key and emits no event.
func (c *Call) inspect() *store.Object {
	o := c.live(c.Args[2])
	if o == nil {
		c.stats.misses++
	} else {
		c.stats.hits++
	}
	return o
}

// objectEncoding: OBJECT ENCODING key
func objectEncoding(c *Call) resp.Value {
	o := c.inspect()
	if o == nil {
		return resp.Null
	}
	return resp.Bulk(o.Encoding())
}

// objectFreq: OBJECT FREQ key
func objectFreq(c *Call) resp.Value {
	o := c.inspect()
	switch {
	case o == nil:
		return resp.Null
	case !c.countsUses():
		return resp.Err("ERR An LFU maxmemory policy is not selected, access frequency not tracked. " + adjustText)
	}
	return resp.Int(int64(c.decayedFreq(o)))
}

const adjustText = "Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust."

// objectIdletime: OBJECT IDLETIME key
func objectIdletime(c *Call) resp.Value {
	o := c.inspect()
	switch {
	case o == nil:
		return resp.Null
	case c.countsUses():
		return resp.Err("ERR An LFU maxmemory policy is selected, idle time not tracked. " + adjustText)
	}
	return resp.Int(max(0, c.now/1e6-int64(o.Access())))
}

// sharedInts is the number of small integers that the server keeps one object of each.
const sharedInts = 10000

// objectRefcount: OBJECT REFCOUNT key
func objectRefcount(c *Call) resp.Value {
	o := c.inspect()
	if o == nil {
		return resp.Null
	}
	if o.Encoding() == "int" && (c.set.maxMemory == 0 || !c.policy().marksObjects()) {
		if n, ok := parseInt(o.Str()); ok && n >= 0 && n < sharedInts {
			return resp.Int(math.MaxInt32)
		}
	}
	return resp.One
}

// objectHelp: OBJECT HELP
func objectHelp(*Call) resp.Value {
	return helpReply("OBJECT",
		"ENCODING <key>",
		"    Return the kind of internal representation used in order to store the value",
		"    associated with a <key>.",
		"FREQ <key>",
		"    Return the access frequency index of the <key>. The returned integer is",
		"    proportional to the logarithm of the recent access frequency of the key.",
		"IDLETIME <key>",
		"    Return the idle time of the <key>, that is the approximated number of",
		"    seconds elapsed since the last access to the key.",
		"REFCOUNT <key>",
		"    Return the number of references of the value associated with the specified",
		"    <key>.")
}
