package engine

import (
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var bitmapCommands = []Spec{
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

// bitOffset is argument 2 as the place of a bit in a string: its byte and the
// byte's mask.
func (c *Call) bitOffset() (pos int, mask byte, bad *resp.Value) {
	n, ok := parseInt(c.Args[2])
	if !ok || n < 0 || n>>3 >= c.set.protoMaxBulkLen {
		v := resp.Err("ERR bit offset is not an integer or out of range")
		return 0, 0, &v
	}
	return int(n >> 3), 0x80 >> (n & 7), nil
}

func bitValue(b byte) resp.Value {
	if b != 0 {
		return resp.One
	}
	return resp.Zero
}

// getbit: GETBIT key offset
func getbit(c *Call) resp.Value {
	pos, mask, bad := c.bitOffset()
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
	return bitValue(o.StrByte(pos) & mask)
}

// setbit: SETBIT key offset value
func setbit(c *Call) resp.Value {
	pos, mask, bad := c.bitOffset()
	if bad != nil {
		return *bad
	}
	bit := c.Args[3]
	if bit != "0" && bit != "1" {
		return resp.Err("ERR bit is not an integer or out of range")
	}
	key := c.Args[1]
	o, bad := c.writeAs(key, store.String)
	if bad != nil {
		return *bad
	}
	if o == nil {
		o = c.newString(key)
	}
	grows := pos >= o.StrLen()
	was := o.StrByte(pos)
	now := was &^ mask
	if bit == "1" {
		now |= mask
	}
	o.SetRange(pos, string([]byte{now})) // even if nothing changes: the encoding becomes raw
	if grows || now != was {
		c.changed(key, eventString, "setbit")
	}
	return bitValue(was & mask)
}
