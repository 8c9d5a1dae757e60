package luabridge

import (
	"encoding/binary"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// maxPackNesting is the depth at which a table packs as nil.
const maxPackNesting = 16

func (v *vm) cmsgpackLibrary() *lua.LTable {
	return v.readOnlyLibrary(cmsgpackOrder, map[string]lua.LGFunction{
		"pack": v.msgPack, "unpack": v.msgUnpack, "unpack_one": v.msgUnpackOne, "unpack_limit": v.msgUnpackLimit,
	}, map[string]lua.LValue{
		"_NAME": lua.LString("cmsgpack"), "_VERSION": lua.LString("lua-cmsgpack 0.4.0"),
		"_COPYRIGHT":   lua.LString("Copyright (C) 2012, Redis Ltd."),
		"_DESCRIPTION": lua.LString("MessagePack C implementation for Lua"),
	})
}

func (v *vm) msgPack(L *lua.LState) int {
	n := L.GetTop()
	if n == 0 {
		v.argError(L, 0, "MessagePack pack needs input.")
	}
	p := packer{v: v, L: L}
	for i := 1; i <= n; i++ {
		p.value(L.Get(i), 0)
	}
	return pushString(L, string(p.out))
}

// packer appends MessagePack.
type packer struct {
	v   *vm
	L   *lua.LState
	out []byte
}

func (p *packer) value(value lua.LValue, level int) {
	switch x := value.(type) {
	case lua.LString:
		p.text(string(x))
	case lua.LBool:
		if x {
			p.out = append(p.out, 0xc3)
		} else {
			p.out = append(p.out, 0xc2)
		}
	case lua.LNumber:
		p.number(float64(x))
	case *lua.LTable:
		if level < maxPackNesting {
			p.table(p.v.behind(x), level)
			return
		}
		p.out = append(p.out, 0xc0)
	default:
		p.out = append(p.out, 0xc0)
	}
}

func (p *packer) text(s string) {
	p.v.grow(len(p.out) + len(s))
	switch n := len(s); {
	case n < 32:
		p.out = append(p.out, 0xa0|byte(n))
	case n <= math.MaxUint8:
		p.out = append(p.out, 0xd9, byte(n))
	case n <= math.MaxUint16:
		p.out = binary.BigEndian.AppendUint16(append(p.out, 0xda), uint16(n))
	default:
		p.out = binary.BigEndian.AppendUint32(append(p.out, 0xdb), uint32(n))
	}
	p.out = append(p.out, s...)
}

func (p *packer) number(f float64) {
	if n := toInt(f); !math.IsInf(f, 0) && float64(n) == f {
		p.int(n)
		return
	}
	if f32 := float32(f); float64(f32) == f {
		p.out = binary.BigEndian.AppendUint32(append(p.out, 0xca), math.Float32bits(f32))
		return
	}
	p.out = binary.BigEndian.AppendUint64(append(p.out, 0xcb), math.Float64bits(f))
}

func (p *packer) int(n int64) {
	be := binary.BigEndian
	switch {
	case n >= -32 && n <= 127:
		p.out = append(p.out, byte(n))
	case n >= 0 && n <= math.MaxUint8:
		p.out = append(p.out, 0xcc, byte(n))
	case n >= 0 && n <= math.MaxUint16:
		p.out = be.AppendUint16(append(p.out, 0xcd), uint16(n))
	case n >= 0 && n <= math.MaxUint32:
		p.out = be.AppendUint32(append(p.out, 0xce), uint32(n))
	case n >= 0:
		p.out = be.AppendUint64(append(p.out, 0xcf), uint64(n))
	case n >= math.MinInt8:
		p.out = append(p.out, 0xd0, byte(n))
	case n >= math.MinInt16:
		p.out = be.AppendUint16(append(p.out, 0xd1), uint16(n))
	case n >= math.MinInt32:
		p.out = be.AppendUint32(append(p.out, 0xd2), uint32(n))
	default:
		p.out = be.AppendUint64(append(p.out, 0xd3), uint64(n))
	}
}

// header appends an array's (0x90, 0xdc) or a map's (0x80, 0xde) length.
func (p *packer) header(n int, fix, wide byte) {
	switch {
	case n <= 15:
		p.out = append(p.out, fix|byte(n))
	case n <= math.MaxUint16:
		p.out = binary.BigEndian.AppendUint16(append(p.out, wide), uint16(n))
	default:
		p.out = binary.BigEndian.AppendUint32(append(p.out, wide+1), uint32(n))
	}
}

// table packs a table: as an array when its keys are exactly 1 to n.
func (p *packer) table(t *lua.LTable, level int) {
	count, top, array := 0, 0, true
	fields(t, func(key, _ lua.LValue) {
		count++
		n, ok := key.(lua.LNumber)
		if !ok || n <= 0 || n > math.MaxInt32 || n != lua.LNumber(int32(n)) {
			array = false
			return
		}
		top = max(top, int(n))
	})
	p.v.step(count)
	if array && top == count {
		p.header(count, 0x90, 0xdc)
		for i := 1; i <= count; i++ {
			p.value(t.RawGetInt(i), level+1)
		}
		return
	}
	p.header(count, 0x80, 0xde)
	fields(t, func(key, value lua.LValue) {
		p.value(key, level+1)
		p.value(value, level+1)
	})
}

func (v *vm) msgUnpack(L *lua.LState) int { return v.unpackMessages(L, 0, 0) }

func (v *vm) msgUnpackOne(L *lua.LState) int { return v.unpackMessages(L, 1, v.optInt(L, 2, 0)) }

func (v *vm) msgUnpackLimit(L *lua.LState) int {
	limit := v.checkInt(L, 2)
	return v.unpackMessages(L, limit, v.optInt(L, 3, 0))
}

// unpackMessages pushes up to limit values; all of them, and no offset, when
// limit and offset are 0.
func (v *vm) unpackMessages(L *lua.LState, limit, offset int) int {
	all := limit == 0 && offset == 0
	s := v.checkText(L, 1)
	if offset < 0 || limit < 0 {
		v.errorf(L, "Invalid request to unpack with offset of %d and limit of %d.", int32(offset), int32(len(s)))
	}
	if offset > len(s) {
		v.errorf(L, "Start offset %d greater than input length %d.", int32(offset), int32(len(s)))
	}
	if all {
		limit = math.MaxInt32
	}
	L.SetTop(1)
	u := unpacker{v: v, L: L, in: s[offset:]}
	n := 0
	for ; u.in != "" && n < limit; n++ {
		L.Push(u.value(n + 1))
	}
	if all {
		return n
	}
	next := len(s) - len(u.in)
	if u.in == "" {
		next = -1
	}
	L.Insert(lua.LNumber(next), 2)
	return n + 1
}

// unpacker reads MessagePack.
type unpacker struct {
	v  *vm
	L  *lua.LState
	in string
}

// take consumes n bytes, which must be there.
func (u *unpacker) take(n int) string {
	if len(u.in) < n {
		u.v.errorf(u.L, "Missing bytes in input.")
	}
	s := u.in[:n]
	u.in = u.in[n:]
	return s
}

// uint consumes a big-endian integer of n bytes.
func (u *unpacker) uint(n int) uint64 {
	x := uint64(0)
	for _, c := range []byte(u.take(n)) {
		x = x<<8 | uint64(c)
	}
	return x
}

// value reads one value; slots is how much of the stack is in use.
func (u *unpacker) value(slots int) lua.LValue {
	u.v.step(1)
	if slots+1 > maxResults {
		u.v.errorf(u.L, "stack overflow (too many return values at once; use unpack_one or unpack_limit instead.)")
	}
	c := u.take(1)[0]
	switch {
	case c < 0x80:
		return number(int64(c))
	case c < 0x90:
		return u.hash(int(c&0xf), slots)
	case c < 0xa0:
		return u.array(int(c&0xf), slots)
	case c < 0xc0:
		return lua.LString(u.take(int(c & 0x1f)))
	case c >= 0xe0:
		return lua.LNumber(int8(c))
	}
	return u.marked(c, slots)
}

// marked reads a value whose first byte names its type.
func (u *unpacker) marked(c byte, slots int) lua.LValue {
	switch c {
	case 0xc0:
		return lua.LNil
	case 0xc2, 0xc3:
		return lua.LBool(c == 0xc3)
	case 0xca:
		return lua.LNumber(math.Float32frombits(uint32(u.uint(4))))
	case 0xcb:
		return lua.LNumber(math.Float64frombits(u.uint(8)))
	case 0xcc, 0xcd, 0xce, 0xcf:
		return lua.LNumber(int64(u.uint(1 << (c - 0xcc))))
	case 0xd0:
		return lua.LNumber(int8(u.uint(1)))
	case 0xd1:
		return lua.LNumber(int16(u.uint(2)))
	case 0xd2:
		return lua.LNumber(int32(u.uint(4)))
	case 0xd3:
		return lua.LNumber(int64(u.uint(8)))
	case 0xd9, 0xda, 0xdb:
		return lua.LString(u.take(int(u.uint(1 << (c - 0xd9)))))
	case 0xdc, 0xdd:
		return u.array(int(u.uint(2<<(c-0xdc))), slots)
	case 0xde, 0xdf:
		return u.hash(int(u.uint(2<<(c-0xde))), slots)
	}
	u.v.errorf(u.L, "Bad data format in input.")
	return nil
}

func (u *unpacker) array(n, slots int) lua.LValue {
	t := u.L.CreateTable(min(n, len(u.in)), 0)
	for i := 1; i <= n; i++ {
		setNoted(t, number(int64(i)), u.value(slots+2))
	}
	return t
}

func (u *unpacker) hash(n, slots int) lua.LValue {
	t := u.L.CreateTable(0, 0)
	for range n {
		key := u.value(slots + 1)
		u.v.setRaw(u.L, t, key, u.value(slots+2))
	}
	return t
}
