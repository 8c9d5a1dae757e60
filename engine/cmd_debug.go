package engine

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/echomq/echomq-sim/rdb"
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var debugCommands = []Spec{
	{Name: "debug", Arity: -2, Flags: Admin | NoScript | Loading | Stale | Protected, run: debug,
		Group: "server", Since: "1.0.0", Complexity: "Depends on subcommand.",
		Summary:  "A container for debugging commands.",
		DocFlags: []string{"syscmd"}},
}

// debugCommand is a subcommand of DEBUG. The server has no rows for them.
type debugCommand struct {
	least, most int // words, DEBUG and the name included
	run         handler
}

// debugSubcommands are the subcommands by their names.
var debugSubcommands = map[string]debugCommand{
	"digest":                     {2, 2, debugDigest},
	"digest-value":               {2, math.MaxInt, debugDigestValue},
	"error":                      {3, 3, debugError},
	"help":                       {2, 2, debugHelp},
	"loadaof":                    {2, 2, debugLoadaof},
	"log":                        {3, 3, debugLog},
	"object":                     {3, 4, debugObject},
	"pause-cron":                 {3, 3, debugPauseCron},
	"populate":                   {3, 5, debugPopulate},
	"protocol":                   {3, 3, debugProtocol},
	"quicklist-packed-threshold": {3, 3, debugQuicklistPackedThreshold},
	"reload":                     {2, math.MaxInt, debugReload},
	"set-active-expire":          {3, 3, debugSetActiveExpire},
	"set-disable-deny-scripts":   {3, 3, debugSetDisableDenyScripts},
	"sleep":                      {3, 3, debugSleep},
}

// debug: DEBUG subcommand [arg ...]
func debug(c *Call) resp.Value {
	d := debugSubcommands[strings.ToLower(c.Args[1])]
	if len(c.Args) < d.least || len(c.Args) > d.most {
		return resp.Err(oneLine("ERR unknown subcommand or wrong number of arguments for '" +
			clip(c.Args[1], 128) + "'. Try DEBUG HELP."))
	}
	return d.run(c)
}

// debugPauseCron: DEBUG PAUSE-CRON 0 | 1
//
// Meanwhile time alone closes no client and expires no key.
func debugPauseCron(c *Call) resp.Value {
	c.cronPaused = resp.Atoi(c.Args[2]) != 0
	return resp.OK
}

// debugSleep: DEBUG SLEEP seconds
func debugSleep(c *Call) resp.Value {
	if usec := leadingFloat(c.Args[2]) * 1e6; usec >= 1 {
		c.stall(int64(min(usec, maxStallUsec)))
	}
	return resp.OK
}

// maxStallUsec is ten years: longer sleeps end no earlier for anybody.
const maxStallUsec = 10 * 365 * 24 * 3600 * 1e6

// stall keeps all clients waiting for a number of microseconds; several stalls
// in one turn add up. It returns at once: until the stall's deadline fires no
// other turn begins, and the reply of the command that stalled is held back.
func (co *core) stall(usec int64) {
	co.slept += usec
	from := co.now
	if co.stalled {
		from = co.stallEnd.at
		co.deadlines.cancel(co.stallEnd)
	}
	co.stalled = true
	co.stallEnd = co.deadlines.set(from+usec, co.endStall)
}

func (co *core) endStall() {
	over := co.stallOver
	co.stalled, co.stallOver = false, nil
	for _, f := range over {
		f()
	}
	co.engine.changed.Broadcast()
}

// leadingFloat reads the number at the start of s as C's strtod does: 0 when
// there is none.
func leadingFloat(s string) float64 {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	for end := min(len(s), 64); end > 0; end-- {
		if f, ok := parseFloat(s[:end]); ok {
			return f
		}
	}
	return 0
}

// debugQuicklistPackedThreshold: DEBUG QUICKLIST-PACKED-THRESHOLD size
func debugQuicklistPackedThreshold(c *Call) resp.Value {
	n, ok := parseMemory(c.Args[2])
	if !ok || n < 0 || n > 1<<32-1<<20 {
		return resp.Err("ERR argument must be a memory value bigger than 1 and smaller than 4gb")
	}
	c.limits.ListPackedThreshold = int(n)
	return resp.OK
}

// debugSetActiveExpire: DEBUG SET-ACTIVE-EXPIRE 0 | 1
func debugSetActiveExpire(c *Call) resp.Value {
	c.activeExpire = resp.Atoi(c.Args[2]) != 0
	return resp.OK
}

// debugSetDisableDenyScripts: DEBUG SET-DISABLE-DENY-SCRIPTS 0 | 1
func debugSetDisableDenyScripts(c *Call) resp.Value {
	c.allowAllInScripts = resp.Atoi(c.Args[2]) != 0
	return resp.OK
}

// debugError: DEBUG ERROR message
func debugError(c *Call) resp.Value { return resp.Err(oneLine(c.Args[2])) }

// debugLog: DEBUG LOG message
func debugLog(c *Call) resp.Value {
	if c.cfg.Log != nil {
		c.cfg.Log(LogWarning, "DEBUG LOG: "+cString(c.Args[2]))
	}
	return resp.OK
}

// maxPopulated is how many keys DEBUG POPULATE makes at most.
const maxPopulated = 1 << 27

// debugPopulate: DEBUG POPULATE count [prefix [size]]
func debugPopulate(c *Call) resp.Value {
	prefix, size := "key", int64(0)
	count, bad := c.positiveArg(2)
	if bad != nil {
		return *bad
	}
	if len(c.Args) > 3 {
		prefix = cString(c.Args[3])
	}
	if len(c.Args) > 4 {
		if size, bad = c.positiveArg(4); bad != nil {
			return *bad
		}
	}
	if count > maxPopulated || size > c.set.protoMaxBulkLen {
		return resp.Err("ERR OOM in dictTryExpand")
	}
	for i := range count {
		key := clip(prefix+":"+strconv.FormatInt(i, 10), 127)
		if c.live(key) != nil {
			continue
		}
		value := "value:" + strconv.FormatInt(i, 10)
		if size > 0 {
			value = (value + strings.Repeat("\x00", max(0, int(size)-len(value))))[:size]
		}
		c.put(key, store.NewString(value))
		c.touch(c.dbIndex(), key)
	}
	return resp.OK
}

// positiveArg is argument i as an integer that is not negative.
func (c *Call) positiveArg(i int) (n int64, bad *resp.Value) {
	if n, bad = c.intArg(i); bad != nil || n < 0 {
		v := resp.Err("ERR value is out of range, must be positive")
		return 0, &v
	}
	return n, nil
}

// debugObject: DEBUG OBJECT key [fast]
//
// The address is always 0: it has no counterpart here.
func debugObject(c *Call) resp.Value {
	o := c.db().Read(c.Args[2])
	if o == nil {
		return errNoKey
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Value at:0x0 refcount:1 encoding:%s", o.Encoding())
	if !c.is(3, "fast") {
		fmt.Fprintf(&b, " serializedlength:%d", rdb.SerializedLen(o, c.compresses()))
	}
	nowSec := c.now / 1e6
	lru := int64(o.Access()) & (1<<24 - 1)
	idle := (nowSec - lru) & (1<<24 - 1)
	fmt.Fprintf(&b, " lru:%d lru_seconds_idle:%d", lru, idle)
	minutes, counter := lru>>8, lru&255 // the clock's bits, read as if they were LFU's
	elapsed := (nowSec/60&0xffff - minutes) & 0xffff
	fmt.Fprintf(&b, " lfu_freq:%d lfu_access_time_minutes:%d", max(counter-elapsed, 0), minutes)
	if o.Encoding() == "quicklist" {
		ql := o.List().Nodes()
		fmt.Fprintf(&b, " ql_nodes:%d ql_avg_node:%.2f ql_listpack_max:%d ql_compressed:%d",
			ql.Len, float64(o.List().Len())/float64(ql.Len), ql.Fill, resp.Bool(ql.Compressed).Int)
		if !c.is(3, "fast") {
			fmt.Fprintf(&b, " ql_uncompressed_size:%d", ql.Bytes)
		}
	}
	return resp.Simple(b.String())
}

// debugProtocol: DEBUG PROTOCOL type
func debugProtocol(c *Call) resp.Value {
	three := func() []resp.Value { return []resp.Value{resp.Int(0), resp.Int(1), resp.Int(2)} }
	switch strings.ToLower(c.Args[2]) {
	case "string":
		return resp.Bulk("Hello World")
	case "integer":
		return resp.Int(12345)
	case "double":
		return resp.Double(3.141)
	case "bignum":
		return resp.BigNum("1234567999999999999999999999999999999")
	case "null":
		return resp.Null
	case "array":
		return resp.Array(three()...)
	case "set":
		return resp.Set(three()...)
	case "map":
		return resp.Map(resp.Int(0), resp.Bool(false), resp.Int(1), resp.Bool(true), resp.Int(2), resp.Bool(false))
	case "attrib":
		return c.debugAttribute()
	case "push":
		return c.debugPush()
	case "true":
		return resp.Bool(true)
	case "false":
		return resp.Bool(false)
	case "verbatim":
		return resp.Verbatim("This is a verbatim\nstring")
	}
	return resp.Err("ERR Wrong protocol type name. Please use one of the following: " +
		"string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false")
}

// debugAttribute writes the one attribute that the server ever sends; no value
// stands for it.
func (c *Call) debugAttribute() resp.Value {
	if s := c.Sess; s.proto == 3 && s.conn != nil {
		about := resp.Map(resp.Bulk("key-popularity"), resp.Array(resp.Bulk("key:123"), resp.Int(90)))
		start := len(s.out)
		s.write(&about)
		if !s.cut {
			s.out[start] = '|'
		}
	}
	return resp.Bulk("Some real reply following the attribute")
}

// debugPush sends a push after a reply.
func (c *Call) debugPush() resp.Value {
	s := c.Sess
	if s.proto < 3 {
		return resp.Err("ERR RESP2 is not supported by this command")
	}
	push := resp.Push(resp.Bulk("server-cpu-usage"), resp.Int(42))
	reply := resp.Bulk("Some real reply following the push reply")
	if s.conn == nil || c.inExec {
		s.push(push)
		return reply
	}
	s.write(&reply)
	return push
}
