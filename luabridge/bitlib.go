package luabridge

import (
	"math"
	"math/bits"

	lua "github.com/yuin/gopher-lua"
)

func (v *vm) bitLibrary() *lua.LTable {
	funcs := map[string]lua.LGFunction{
		"tobit": func(L *lua.LState) int { return pushBits(L, v.bits(L, 1)) },
		"bnot":  func(L *lua.LState) int { return pushBits(L, ^v.bits(L, 1)) },
		"bswap": func(L *lua.LState) int { return pushBits(L, bits.ReverseBytes32(v.bits(L, 1))) },
		"tohex": v.bitHex,
	}
	for name, op := range map[string]func(a, b uint32) uint32{
		"band": func(a, b uint32) uint32 { return a & b },
		"bor":  func(a, b uint32) uint32 { return a | b },
		"bxor": func(a, b uint32) uint32 { return a ^ b },
	} {
		funcs[name] = func(L *lua.LState) int {
			b := v.bits(L, 1)
			for i := L.GetTop(); i > 1; i-- {
				b = op(b, v.bits(L, i))
			}
			return pushBits(L, b)
		}
	}
	for name, op := range map[string]func(b uint32, n int) uint32{
		"lshift":  func(b uint32, n int) uint32 { return b << n },
		"rshift":  func(b uint32, n int) uint32 { return b >> n },
		"arshift": func(b uint32, n int) uint32 { return uint32(int32(b) >> n) },
		"rol":     bits.RotateLeft32,
		"ror":     func(b uint32, n int) uint32 { return bits.RotateLeft32(b, -n) },
	} {
		funcs[name] = func(L *lua.LState) int {
			b := v.bits(L, 1)
			return pushBits(L, op(b, int(v.bits(L, 2)&31)))
		}
	}
	return v.readOnlyLibrary(bitOrder, funcs, nil)
}

// bits is argument n as 32 bits. Adding 2^52 + 2^51 moves a number's integer
// part to the low end of its mantissa, rounded and modulo 2^32.
func (v *vm) bits(L *lua.LState, n int) uint32 {
	f, ok := toNumber(L.Get(n))
	b := uint32(math.Float64bits(f + 6755399441055744.0))
	if !ok {
		v.typeError(L, n, "number")
	}
	return b
}

func pushBits(L *lua.LState, b uint32) int { return pushNumber(L, float64(int32(b))) }

func (v *vm) bitHex(L *lua.LState) int {
	b := v.bits(L, 1)
	n := int32(8)
	if L.GetTop() >= 2 {
		n = int32(v.bits(L, 2))
	}
	digits := "0123456789abcdef"
	if n < 0 {
		n, digits = -max(n, math.MinInt32+1), "0123456789ABCDEF"
	}
	n = min(n, 8)
	out := make([]byte, n)
	for i := n - 1; i >= 0; i-- {
		out[i] = digits[b&15]
		b >>= 4
	}
	return pushString(L, string(out))
}
