package engine

import (
	"strings"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var bitmapCommands = []Spec{
	{Name: "bitcount", Arity: -2, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: bitcount,
		Group: "bitmap", Since: "2.6.0", Complexity: "O(N)",
		Summary: "Counts the number of set bits (population counting) in a string.",
		History: []string{"7.0.0 Added the `BYTE|BIT` option.", "8.0.0 `end` made optional; when called without argument the command reports the last BYTE."},
		Args:    `key:k#0 range{start:i end-unit-block{end:i unit<byte:t=BYTE bit:t=BIT>@7.0.0?}?}?`},
	{Name: "bitop", Arity: -4, Flags: Write | DenyOOM,
		Keys: keys(keyAt(2, OW|Update), keyRange(3, -1, 1, 0, RO|Access)), run: bitop,
		Group: "bitmap", Since: "2.6.0", Complexity: "O(N)",
		Summary: "Performs bitwise operations on multiple strings, and stores the result.",
		Args:    `operation<and:t=AND or:t=OR xor:t=XOR not:t=NOT> destkey:k#0 key:k#1*`},
	{Name: "bitpos", Arity: -3, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: bitpos,
		Group: "bitmap", Since: "2.8.7", Complexity: "O(N)",
		Summary: "Finds the first set (1) or clear (0) bit in a string.",
		History: []string{"7.0.0 Added the `BYTE|BIT` option."},
		Args:    `key:k#0 bit:i range{start:i end-unit-block{end:i unit<byte:t=BYTE bit:t=BIT>@7.0.0?}?}?`},
	{Name: "getbit", Arity: 3, Flags: ReadOnly | Fast,
		Keys: keys(key1(RO | Access)), run: getbit,
		Group: "bitmap", Since: "2.2.0", Complexity: "O(1)",
		Summary: "Returns a bit value by offset.",
		Args:    `key:k#0 offset:i`},
	{Name: "setbit", Arity: 4, Flags: Write | DenyOOM,
		Keys: keys(key1(RW | Access | Update)), run: setbit,
		Group: "bitmap", Since: "2.2.0", Complexity: "O(1)",
		Summary: "Sets or clears the bit at offset of the string value. Creates the key if it doesn't exist.",
		Args:    `key:k#0 offset:i value:i`},
}

var errBitOffset = resp.Err("ERR bit offset is not an integer or out of range")

// bitOffset is argument i as the number of a bit in a string. Behind a "#" it counts
// fields of the given width; 0 lets none in.
func (c *Call) bitOffset(i, width int) (offset int64, bad *resp.Value) {
	text, unit := c.Args[i], int64(1)
	if width > 0 && text != "" && text[0] == '#' {
		text, unit = text[1:], int64(width)
	}
	offset, ok := parseInt(text)
	offset *= unit // may wrap around, as on the server
	if !ok || offset < 0 || offset>>3 >= c.set.protoMaxBulkLen {
		return 0, &errBitOffset
	}
	return offset, nil
}

// bitMask is the place of a bit in a string: its byte and the byte's mask.
func bitMask(offset int64) (pos int, mask byte) { return int(offset >> 3), 0x80 >> (offset & 7) }

func bitValue(b byte) resp.Value {
	if b != 0 {
		return resp.One
	}
	return resp.Zero
}

// getbit: GETBIT key offset
func getbit(c *Call) resp.Value {
	offset, bad := c.bitOffset(2, 0)
	if bad != nil {
		return *bad
	}
	o, bad := c.readAs(c.Args[1], store.String)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return resp.Zero
	}
	pos, mask := bitMask(offset)
	return bitValue(o.StrByte(pos) & mask)
}

// setbit: SETBIT key offset value
func setbit(c *Call) resp.Value {
	offset, bad := c.bitOffset(2, 0)
	if bad != nil {
		return *bad
	}
	bit := c.Args[3]
	if bit != "0" && bit != "1" {
		return resp.Err("ERR bit is not an integer or out of range")
	}
	o, grows, bad := c.writeBits(offset)
	if bad != nil {
		return *bad
	}
	pos, mask := bitMask(offset)
	was := o.StrByte(pos)
	now := was &^ mask
	if bit == "1" {
		now |= mask
	}
	if grows || now != was {
		o.SetRange(pos, string([]byte{now}))
		c.changed(c.Args[1], eventString, "setbit")
	}
	return bitValue(was & mask)
}

// writeBits is the string at c.Args[1] for a change of its bits up to last. It is made
// or grows as need be, and becomes a "raw" one, even if no bit is changed then.
func (c *Call) writeBits(last int64) (o *store.Object, grew bool, bad *resp.Value) {
	key := c.Args[1]
	o, bad = c.writeAs(key, store.String)
	if bad != nil {
		return nil, false, bad
	}
	if o == nil {
		o = c.newString(key)
	}
	pos := int(last >> 3)
	if grew = pos >= o.StrLen(); grew {
		o.SetRange(pos, "\x00")
	} else {
		o.SetRange(0, "")
	}
	return o, grew, nil
}

// bitSpan is the [start [end [BYTE | BIT]]] of BITCOUNT and BITPOS.
type bitSpan struct {
	start, end int64
	hasEnd     bool
	inBits     bool
}

// bitSpan parses a span from argument i on.
func (c *Call) bitSpan(i int) (s bitSpan, bad *resp.Value) {
	s.end = -1
	if len(c.Args) > i+3 {
		return s, &errSyntax
	}
	if len(c.Args) > i {
		if s.start, bad = c.intArg(i); bad != nil {
			return s, bad
		}
	}
	if len(c.Args) == i+3 {
		if s.inBits = c.is(i+2, "bit"); !s.inBits && !c.is(i+2, "byte") {
			return s, &errSyntax
		}
	}
	if s.hasEnd = len(c.Args) > i+1; s.hasEnd {
		s.end, bad = c.intArg(i + 1)
	}
	return s, bad
}

// within is the first and the last bit of the span in a string of n bytes; there is
// none if first > last.
func (s bitSpan) within(n int) (first, last int64) {
	unit, size := int64(8), int64(n)
	if s.inBits {
		unit, size = 1, size*8
	}
	from := func(x int64) int64 {
		if x < 0 {
			x += size
		}
		return max(x, 0)
	}
	start, end := from(s.start), min(from(s.end), size-1)
	if start > end {
		return 0, -1
	}
	return start * unit, end*unit + unit - 1
}

// bitcount: BITCOUNT key [start [end [BYTE | BIT]]]
func bitcount(c *Call) resp.Value {
	span, bad := c.bitSpan(2)
	if bad != nil {
		return *bad
	}
	o, bad := c.readAs(c.Args[1], store.String)
	switch {
	case bad != nil:
		return *bad
	case o == nil, span.start < 0 && span.end < 0 && span.start > span.end:
		return resp.Zero
	}
	first, last := span.within(o.StrLen())
	return resp.Int(countBits(o.StrBytes(), first, last))
}

// bitpos: BITPOS key bit [start [end [BYTE | BIT]]]
func bitpos(c *Call) resp.Value {
	bit, bad := c.intArg(2)
	if bad != nil {
		return *bad
	}
	if bit != 0 && bit != 1 {
		return resp.Err("ERR The bit argument must be 1 or 0.")
	}
	span, bad := c.bitSpan(3)
	if bad != nil {
		return *bad
	}
	o, bad := c.readAs(c.Args[1], store.String)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return resp.Int(-bit) // nothing but zeros
	}
	first, last := span.within(o.StrLen())
	pos := findBit(o.StrBytes(), first, last, bit == 1)
	if pos < 0 && first <= last && bit == 0 && !span.hasEnd {
		pos = last + 1 // the string goes on with zeros
	}
	return resp.Int(pos)
}

// bitop: BITOP <AND | OR | XOR | NOT> destkey key [key ...]
func bitop(c *Call) resp.Value {
	op := bitOperations[strings.ToLower(cString(c.Args[1]))]
	if op == 0 {
		return errSyntax
	}
	if op == bitNot && len(c.Args) != 4 {
		return resp.Err("ERR BITOP NOT must be called with a single source key.")
	}
	sources := make([][]byte, len(c.Args)-3)
	length := 0
	for i, key := range c.Args[3:] {
		o, bad := c.readAs(key, store.String)
		if bad != nil {
			return *bad
		}
		if o != nil {
			sources[i] = o.StrBytes()
			length = max(length, len(sources[i]))
		}
	}
	dest := c.Args[2]
	if length == 0 {
		c.remove(dest)
		return resp.Zero
	}
	c.put(dest, store.NewRawString(combineBits(op, sources, length)))
	c.changed(dest, eventString, "set")
	return resp.Int(int64(length))
}
