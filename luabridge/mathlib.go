package luabridge

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// drand48 is the state of the server's random number generator: one for the
// process, not reset between scripts.
type drand48 uint64

const drand48Start drand48 = 0x1234ABCD330E

// next returns 31 random bits.
func (r *drand48) next() int32 {
	*r = (*r*0x5deece66d + 0xb) & (1<<48 - 1)
	return int32(*r >> 17)
}

func (r *drand48) seed(n int32) { *r = drand48(uint32(n))<<16 | 0x330E }

func (v *vm) mathLibrary() *lua.LTable {
	funcs := map[string]lua.LGFunction{
		"random": v.mathRandom, "randomseed": v.mathRandomSeed, "fmod": v.mathFmod, "mod": v.mathFmod,
		"modf": v.mathModf, "frexp": v.mathFrexp, "ldexp": v.mathLdexp, "max": v.mathMax, "min": v.mathMin,
	}
	for name, fn := range map[string]func(float64) float64{
		"abs": math.Abs, "acos": math.Acos, "asin": math.Asin, "atan": math.Atan, "ceil": math.Ceil,
		"cos": cosine, "cosh": math.Cosh, "exp": exponential, "floor": math.Floor, "log": naturalLog,
		"log10": decimalLog, "sin": sine, "sinh": math.Sinh, "sqrt": math.Sqrt, "tan": tangent,
		"tanh": math.Tanh,
		"deg":  func(x float64) float64 { return x / (math.Pi / 180) },
		"rad":  func(x float64) float64 { return x * (math.Pi / 180) },
	} {
		funcs[name] = func(L *lua.LState) int {
			x := v.checkNumber(L, 1)
			if x != x && name != "abs" {
				return pushNumber(L, x) // with its sign
			}
			return pushNumber(L, fn(x))
		}
	}
	for name, fn := range map[string]func(x, y float64) float64{"atan2": arc, "pow": power} {
		funcs[name] = func(L *lua.LState) int {
			x := v.checkNumber(L, 1)
			return pushNumber(L, fn(x, v.checkNumber(L, 2)))
		}
	}
	return v.readOnlyLibrary(mathOrder, funcs, map[string]lua.LValue{
		"pi": lua.LNumber(math.Pi), "huge": lua.LNumber(math.Inf(1)),
	})
}

func (v *vm) mathRandom(L *lua.LState) int {
	const top = math.MaxInt32
	r := float64(v.in.rand.next()%top) / top
	switch L.GetTop() {
	case 0:
		return pushNumber(L, r)
	case 1:
		hi := v.checkInt32(L, 1)
		if hi < 1 {
			v.argError(L, 1, "interval is empty")
		}
		return pushNumber(L, math.Floor(r*float64(hi))+1)
	case 2:
		lo, hi := v.checkInt32(L, 1), v.checkInt32(L, 2)
		if lo > hi {
			v.argError(L, 2, "interval is empty")
		}
		return pushNumber(L, math.Floor(r*float64(int32(hi-lo+1)))+float64(lo))
	}
	v.errorf(L, "wrong number of arguments")
	return 0
}

func (v *vm) mathRandomSeed(L *lua.LState) int {
	v.in.rand.seed(int32(v.checkInt32(L, 1)))
	return 0
}

func (v *vm) mathFmod(L *lua.LState) int {
	x := v.checkNumber(L, 1)
	y := v.checkNumber(L, 2)
	return pushNumber(L, invalid(math.Mod(x, y), x, y))
}

func (v *vm) mathModf(L *lua.LState) int {
	x := v.checkNumber(L, 1)
	whole, frac := math.Modf(x)
	if math.IsInf(x, 0) {
		whole, frac = x, math.Copysign(0, x)
	}
	pushNumber(L, whole)
	return 1 + pushNumber(L, math.Copysign(frac, x))
}

func (v *vm) mathFrexp(L *lua.LState) int {
	frac, exp := math.Frexp(v.checkNumber(L, 1))
	pushNumber(L, frac)
	return 1 + pushInt(L, exp)
}

func (v *vm) mathLdexp(L *lua.LState) int {
	x := v.checkNumber(L, 1)
	return pushNumber(L, math.Ldexp(x, v.checkInt32(L, 2)))
}

func (v *vm) mathMax(L *lua.LState) int {
	best := v.checkNumber(L, 1)
	for i := 2; i <= L.GetTop(); i++ {
		if x := v.checkNumber(L, i); x > best {
			best = x
		}
	}
	return pushNumber(L, best)
}

func (v *vm) mathMin(L *lua.LState) int {
	best := v.checkNumber(L, 1)
	for i := 2; i <= L.GetTop(); i++ {
		if x := v.checkNumber(L, i); x < best {
			best = x
		}
	}
	return pushNumber(L, best)
}
