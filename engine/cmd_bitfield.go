package engine

import (
	"strings"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var bitfieldCommands = []Spec{
	{Name: "bitfield", Arity: -2, Flags: Write | DenyOOM,
		Keys: keys(key1(RW | Access | Update | VariableFlags).note("This command allows both access and modification of the key")), run: bitfield, findKeys: bitfieldKeys,
		Group: "bitmap", Since: "3.2.0", Complexity: "O(1) for each subcommand specified",
		Summary: "Performs arbitrary bitfield integer operations on strings.",
		Args:    `key:k#0 operation<get-block{encoding offset:i}=GET write{overflow-block<wrap:t=WRAP sat:t=SAT fail:t=FAIL>=OVERFLOW? write-operation<set-block{encoding offset:i value:i}=SET incrby-block{encoding offset:i increment:i}=INCRBY>}>?*`},
	{Name: "bitfield_ro", Arity: -2, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO | Access)), run: bitfieldRo,
		Group: "bitmap", Since: "6.0.0", Complexity: "O(1) for each subcommand specified",
		Summary: "Performs arbitrary read-only bitfield integer operations on strings.",
		Args:    `key:k#0 get-block{encoding offset:i}=GET?*+`},
}

var (
	errBitfieldType     = resp.Err("ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.")
	errBitfieldOverflow = resp.Err("ERR Invalid OVERFLOW type specified")
	errBitfieldRo       = resp.Err("ERR BITFIELD_RO only supports the GET subcommand")
)

// bitfieldOp is one operation of BITFIELD.
type bitfieldOp struct {
	bitField
	kind     string // get, set or incrby
	value    int64  // to set, or to add
	overflow string // wrap, sat or fail
}

// bitfield: BITFIELD key [GET encoding offset | [OVERFLOW <WRAP | SAT | FAIL>] <SET encoding offset value |
// INCRBY encoding offset increment> [...]]
func bitfield(c *Call) resp.Value { return c.bitfield(true) }

// bitfieldRo: BITFIELD_RO key [GET encoding offset [GET encoding offset ...]]
func bitfieldRo(c *Call) resp.Value { return c.bitfield(false) }

func (c *Call) bitfield(mayWrite bool) resp.Value {
	ops, bad := c.parseBitfield()
	if bad != nil {
		return *bad
	}
	writes, last := false, int64(0)
	for _, op := range ops {
		if op.kind != "get" {
			writes, last = true, max(last, op.offset+int64(op.width)-1)
		}
	}
	switch {
	case !writes:
		return c.readFields(ops)
	case !mayWrite:
		return errBitfieldRo
	}
	o, grew, bad := c.writeBits(last)
	if bad != nil {
		return *bad
	}
	return c.writeFields(o, grew, ops)
}

func (c *Call) parseBitfield() (ops []bitfieldOp, bad *resp.Value) {
	overflow := "wrap"
	for i := 2; i < len(c.Args); {
		left := len(c.Args) - i - 1
		op := bitfieldOp{overflow: overflow}
		switch {
		case c.is(i, "get") && left >= 2:
			op.kind = "get"
		case c.is(i, "set") && left >= 3:
			op.kind = "set"
		case c.is(i, "incrby") && left >= 3:
			op.kind = "incrby"
		case c.is(i, "overflow") && left >= 1:
			overflow = strings.ToLower(cString(c.Args[i+1]))
			if overflow != "wrap" && overflow != "sat" && overflow != "fail" {
				return nil, &errBitfieldOverflow
			}
			i += 2
			continue
		default:
			return nil, &errSyntax
		}
		if op.bitField, bad = c.bitField(i + 1); bad != nil {
			return nil, bad
		}
		i += 3
		if op.kind != "get" {
			if op.value, bad = c.intArg(i); bad != nil {
				return nil, bad
			}
			i++
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// bitField is an encoding and an offset, from argument i on.
func (c *Call) bitField(i int) (f bitField, bad *resp.Value) {
	encoding := cString(c.Args[i])
	if encoding == "" || encoding[0] != 'i' && encoding[0] != 'u' {
		return f, &errBitfieldType
	}
	f.signed = encoding[0] == 'i'
	width, ok := parseInt(encoding[1:])
	if !ok || width < 1 || width > 64 || width == 64 && !f.signed {
		return f, &errBitfieldType
	}
	f.width = int(width)
	f.offset, bad = c.bitOffset(i+1, f.width)
	return f, bad
}

// readFields answers a BITFIELD that changes nothing.
func (c *Call) readFields(ops []bitfieldOp) resp.Value {
	o, bad := c.readAs(c.Args[1], store.String)
	if bad != nil {
		return *bad
	}
	var b []byte
	if o != nil {
		b = o.StrBytes()
	}
	out := c.values(len(ops))
	for i, op := range ops {
		out[i] = resp.Int(op.get(b))
	}
	return resp.Array(out...)
}

// writeFields carries out the operations on a string that is long enough for them. One
// that grew counts as changed by each of them.
func (c *Call) writeFields(o *store.Object, grew bool, ops []bitfieldOp) resp.Value {
	out := c.values(len(ops))
	changes := int64(0)
	for i, op := range ops {
		old := op.get(o.StrBytes())
		if op.kind == "get" {
			out[i] = resp.Int(old)
			continue
		}
		now, ok := op.result(old)
		if !ok {
			out[i] = resp.Null
			continue
		}
		first, _ := op.bytes()
		o.SetRange(first, string(op.put(o.StrBytes(), now)))
		if grew || now != old {
			changes++
		}
		out[i] = resp.Int(old)
		if op.kind == "incrby" {
			out[i] = resp.Int(now)
		}
	}
	if changes > 0 {
		c.changed(c.Args[1], eventString, "setbit")
		c.stats.dirty += changes - 1
	}
	return resp.Array(out...)
}

// result is what the field holds after a change; ok is false when it must not be made.
func (op bitfieldOp) result(old int64) (now int64, ok bool) {
	value, by := op.value, int64(0)
	if op.kind == "incrby" {
		value, by = old, op.value
	}
	beyond := op.bitField.overflow(value, by)
	least, greatest := op.limits()
	switch {
	case beyond == 0 || op.overflow == "wrap":
		return op.extend(uint64(value) + uint64(by)), true
	case op.overflow == "fail":
		return 0, false
	case beyond < 0:
		return least, true
	}
	return greatest, true
}

// bitfieldKeys is the key of BITFIELD, which only reads it when all it does is GET.
func bitfieldKeys(args []string) []KeyRef {
	for i := 2; i < len(args); {
		left := len(args) - i - 1
		switch {
		case equalWord(args[i], "get") && left >= 2:
			i += 3
		case equalWord(args[i], "overflow") && left >= 1:
			i += 2
		default:
			return []KeyRef{{Index: 1, Flags: RW | Access | Update}}
		}
	}
	return []KeyRef{{Index: 1, Flags: RO | Access}}
}
