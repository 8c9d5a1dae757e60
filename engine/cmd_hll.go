package engine

import (
	"strconv"
	"strings"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var hllCommands = []Spec{
	{Name: "pfadd", Arity: -2, Flags: Write | DenyOOM | Fast,
		Keys: keys(key1(RW | Insert)), run: pfadd,
		Group: "hyperloglog", Since: "2.8.9", Complexity: "O(1) to add every element.",
		Summary: "Adds elements to a HyperLogLog key. Creates the key if it doesn't exist.",
		Args:    `key:k#0 element?*`},
	{Name: "pfcount", Arity: -2, Flags: ReadOnly | MayReplicate,
		Keys: keys(keyRange(1, -1, 1, 0, RW|Access).note("RW because it may change the internal representation of the key, and propagate to replicas")), run: pfcount,
		Group: "hyperloglog", Since: "2.8.9", Complexity: "O(1) with a very small average constant time when called with a single key. O(N) with N being the number of keys, and much bigger constant times, when called with multiple keys.",
		Summary: "Returns the approximated cardinality of the set(s) observed by the HyperLogLog key(s).",
		Args:    `key:k#0*`},
	{Name: "pfdebug", Arity: 3, Flags: Write | DenyOOM | Admin,
		Keys: keys(keyAt(2, RW|Access)), run: pfdebug,
		Group: "hyperloglog", Since: "2.8.9", Complexity: "N/A",
		Summary:  "Internal commands for debugging HyperLogLog values.",
		DocFlags: []string{"syscmd"},
		Args:     `subcommand key:k#0`},
	{Name: "pfmerge", Arity: -2, Flags: Write | DenyOOM,
		Keys: keys(key1(RW|Access|Insert), keyRange(2, -1, 1, 0, RO|Access)), run: pfmerge,
		Group: "hyperloglog", Since: "2.8.9", Complexity: "O(N) to merge N HyperLogLogs, but with high constant times.",
		Summary: "Merges one or more HyperLogLog values into a single key.",
		Args:    `destkey:k#0 sourcekey:k#1?*`},
	{Name: "pfselftest", Arity: 1, Flags: Admin, run: pfselftest,
		Group: "hyperloglog", Since: "2.8.9", Complexity: "N/A",
		Summary:  "An internal command for testing HyperLogLog values.",
		DocFlags: []string{"syscmd"}},
}

var (
	errNoHLL      = resp.Err("WRONGTYPE Key is not a valid HyperLogLog string value.")
	errHLLCorrupt = resp.Err("INVALIDOBJ Corrupted HLL object detected")
	errHLLNoKey   = resp.Err("ERR The specified key does not exist")
	errHLLDense   = resp.Err("ERR HLL encoding is not sparse")
)

// checkHLL reports what keeps an object from being a HyperLogLog. The content of a
// sparse one may still be wrong.
func checkHLL(o *store.Object) (bad *resp.Value) {
	if o.Type() != store.String {
		return &errWrongType
	}
	var header [hllHeader]byte
	for i := range header {
		header[i] = o.StrByte(i)
	}
	size, encoding := o.StrLen(), header[4]
	if size < hllHeader || string(header[:4]) != hllMagic || encoding > hllSparse || encoding == hllDense && size != hllDenseSize {
		return &errNoHLL
	}
	return nil
}

// editHLL is the HyperLogLog at a key that holds one, to be changed. It becomes a "raw"
// string even if it is not.
func (c *Call) editHLL(key string) (*store.Object, hll) {
	o := c.write(key)
	return o, hll{o.EditStr()}
}

// pfadd: PFADD key [element [element ...]]
func pfadd(c *Call) resp.Value {
	key := c.Args[1]
	o := c.write(key)
	updated := 0
	h := newHLL()
	if o == nil {
		o = store.NewString("")
		c.put(key, o)
		o = c.write(key)
		updated++
	} else {
		if bad := checkHLL(o); bad != nil {
			return *bad
		}
		h = hll{o.EditStr()}
	}
	for _, element := range c.Args[2:] {
		changed, ok := h.add(element, c.set.hllSparseMaxBytes)
		if !ok {
			o.SetStrRaw(h.b)
			return errHLLCorrupt
		}
		if changed {
			updated++
		}
	}
	if updated == 0 {
		return resp.Zero
	}
	h.spoilCount()
	o.SetStrRaw(h.b)
	c.changed(key, eventString, "pfadd")
	c.stats.dirty += int64(updated - 1)
	return resp.One
}

// pfcount: PFCOUNT key [key ...]
func pfcount(c *Call) resp.Value {
	if len(c.Args) > 2 {
		var union hllRegisters
		if _, bad := c.mergeHLL(&union, c.Args[1:]); bad != nil {
			return *bad
		}
		histogram := union.histogram()
		return resp.Int(histogram.estimate())
	}
	key := c.Args[1]
	o := c.read(key)
	if o == nil {
		return resp.Zero
	}
	if bad := checkHLL(o); bad != nil {
		return *bad
	}
	_, h := c.editHLL(key)
	if n, known := h.count(); known {
		return resp.Int(n)
	}
	histogram, ok := h.histogram()
	if !ok {
		return errHLLCorrupt
	}
	n := histogram.estimate()
	h.setCount(n)
	c.modified(key)
	return resp.Int(n)
}

// mergeHLL puts the greater of each register into union. dense tells whether one of
// the keys holds a dense one.
func (c *Call) mergeHLL(union *hllRegisters, keys []string) (dense bool, bad *resp.Value) {
	for _, key := range keys {
		o := c.read(key)
		if o == nil {
			continue
		}
		if bad := checkHLL(o); bad != nil {
			return false, bad
		}
		text := o.Str()
		dense = dense || text[4] == hllDense
		if !eachRegister(text, func(i int, value byte) { union[i] = max(union[i], value) }) {
			return false, &errHLLCorrupt
		}
	}
	return dense, nil
}

// pfmerge: PFMERGE destkey [sourcekey [sourcekey ...]]
func pfmerge(c *Call) resp.Value {
	key := c.Args[1]
	var union hllRegisters
	dense, bad := c.mergeHLL(&union, c.Args[1:])
	if bad != nil {
		return *bad
	}
	if c.live(key) == nil {
		o := store.NewString("")
		o.SetStrRaw(newHLL().b)
		c.put(key, o)
	}
	o, h := c.editHLL(key)
	if dense && !h.toDense() {
		return errHLLCorrupt
	}
	for i, value := range union {
		if value > 0 {
			h.set(i, value, c.set.hllSparseMaxBytes)
		}
	}
	h.spoilCount()
	o.SetStrRaw(h.b)
	c.changed(key, eventString, "pfadd")
	return resp.OK
}

// pfdebug: PFDEBUG <GETREG | DECODE | ENCODING | TODENSE> key
func pfdebug(c *Call) resp.Value {
	key := c.Args[2]
	o := c.write(key)
	if o == nil {
		return errHLLNoKey
	}
	if bad := checkHLL(o); bad != nil {
		return *bad
	}
	o, h := c.editHLL(key)
	switch {
	case c.is(1, "getreg"):
		if _, bad := c.makeDense(o, &h); bad != nil {
			return *bad
		}
		return h.registers()
	case c.is(1, "decode"):
		if h.b[4] != hllSparse {
			return errHLLDense
		}
		return resp.Bulk(h.decode())
	case c.is(1, "encoding"):
		if h.b[4] == hllDense {
			return resp.Simple("dense")
		}
		return resp.Simple("sparse")
	case c.is(1, "todense"):
		v, bad := c.makeDense(o, &h)
		if bad != nil {
			return *bad
		}
		return v
	}
	return resp.Err(oneLine("ERR Unknown PFDEBUG subcommand '" + cString(c.Args[1]) + "'"))
}

// makeDense makes a sparse HyperLogLog dense. It tells whether it was sparse.
func (c *Call) makeDense(o *store.Object, h *hll) (resp.Value, *resp.Value) {
	if h.b[4] == hllDense {
		return resp.Zero, nil
	}
	if !h.toDense() {
		return resp.Null, &errHLLCorrupt
	}
	o.SetStrRaw(h.b)
	c.stats.dirty++
	return resp.One, nil
}

// registers are the registers of a dense HyperLogLog.
func (h hll) registers() resp.Value {
	out := make([]resp.Value, hllRegisterCount)
	for i := range out {
		out[i] = resp.Int(int64(h.denseGet(i)))
	}
	return resp.Array(out...)
}

// decode is the content of a sparse HyperLogLog as text.
func (h hll) decode() string {
	var out []string
	text := string(h.b)
	for i := hllHeader; i < len(text); {
		run := sparseRun(text, i)
		switch {
		case run.value > 0:
			out = append(out, "v:"+strconv.Itoa(int(run.value))+","+strconv.Itoa(run.length))
		case run.size == 2:
			out = append(out, "Z:"+strconv.Itoa(run.length))
		default:
			out = append(out, "z:"+strconv.Itoa(run.length))
		}
		i += run.size
	}
	return strings.Join(out, " ")
}
