package luabridge

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

const (
	maxStructInt   = 32 // bytes of an integer
	maxStructAlign = 8
)

// structFormat reads a format string of the struct library.
type structFormat struct {
	v     *vm
	L     *lua.LState
	rest  string
	big   bool
	align int
	pos   int // bytes packed, read or counted
}

func (v *vm) structLibrary() *lua.LTable {
	return v.readOnlyLibrary(structOrder, map[string]lua.LGFunction{
		"pack": v.structPack, "unpack": v.structUnpack, "size": v.structSize,
	}, nil)
}

func (v *vm) structFormat(L *lua.LState) *structFormat {
	return &structFormat{v: v, L: L, rest: cString(v.checkText(L, 1)), align: 1}
}

// next returns the next option, its size and the padding before it.
func (f *structFormat) next() (opt byte, size, pad int, ok bool) {
	if f.rest == "" {
		return 0, 0, 0, false
	}
	opt = f.rest[0]
	f.rest = f.rest[1:]
	size = f.size(opt)
	if size > 0 && opt != 'c' {
		unit := min(size, f.align)
		pad = (unit - f.pos&(unit-1)) & (unit - 1)
	}
	return opt, size, pad, true
}

func (f *structFormat) size(opt byte) int {
	switch opt {
	case 'B', 'b', 'x':
		return 1
	case 'H', 'h':
		return 2
	case 'L', 'l', 'T', 'd':
		return 8
	case 'f':
		return 4
	case 'c':
		return f.number(1)
	case 'i', 'I':
		n := f.number(4)
		if n > maxStructInt {
			f.v.errorf(f.L, "integral size %d is larger than limit of %d", n, maxStructInt)
		}
		return n
	}
	return 0
}

// number reads a decimal number, or gives def.
func (f *structFormat) number(def int) int {
	if f.rest == "" || !isDigit(f.rest[0]) {
		return def
	}
	n := 0
	for f.rest != "" && isDigit(f.rest[0]) {
		n = n*10 + int(f.rest[0]-'0')
		if n > math.MaxInt32 {
			f.v.errorf(f.L, "integral size overflow")
		}
		f.rest = f.rest[1:]
	}
	return n
}

// control handles the options that are no items.
func (f *structFormat) control(opt byte) {
	switch opt {
	case ' ':
	case '>':
		f.big = true
	case '<':
		f.big = false
	case '!':
		n := f.number(maxStructAlign)
		if n <= 0 || n&(n-1) != 0 {
			f.v.errorf(f.L, "alignment %d is not a power of 2", n)
		}
		f.align = n
	default:
		f.v.argError(f.L, 1, fmt.Sprintf("invalid format option '%s'", cString(string([]byte{opt}))))
	}
}

func (v *vm) structPack(L *lua.LState) int {
	f := v.structFormat(L)
	L.Push(lua.LNil) // the first missing argument is a nil
	var out []byte
	arg := 2
	for {
		opt, size, pad, ok := f.next()
		if !ok {
			return pushString(L, string(out))
		}
		out = append(out, make([]byte, pad)...)
		before := len(out)
		switch opt {
		case 'b', 'B', 'h', 'H', 'l', 'L', 'T', 'i', 'I':
			out = f.appendInt(out, toUint(v.checkNumber(L, arg)), size)
			arg++
		case 'x':
			out = append(out, 0)
		case 'f', 'd':
			out = f.appendFloat(out, v.checkNumber(L, arg), size)
			arg++
		case 'c', 's':
			s := v.checkText(L, arg)
			arg++
			if size == 0 {
				size = len(s)
			}
			if len(s) < size {
				v.argError(L, arg, "string too short")
			}
			v.grow(len(out) + size)
			out = append(out, s[:size]...)
			if opt == 's' {
				out = append(out, 0)
			}
		default:
			f.control(opt)
		}
		f.pos += pad + len(out) - before
	}
}

func (f *structFormat) appendInt(out []byte, n uint64, size int) []byte {
	start := len(out)
	for range size {
		out = append(out, byte(n))
		n >>= 8
	}
	if f.big {
		reverse(out[start:])
	}
	return out
}

func reverse(b []byte) {
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
}

func (f *structFormat) appendFloat(out []byte, x float64, size int) []byte {
	if size == 4 {
		return f.appendInt(out, uint64(math.Float32bits(float32(x))), 4)
	}
	return f.appendInt(out, math.Float64bits(x), 8)
}

// int reads an integer of any size; only its low 64 bits count.
func (f *structFormat) int(data string, signed bool) float64 {
	b := []byte(data)
	if !f.big {
		reverse(b)
	}
	n := uint64(0)
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	if !signed {
		return float64(n)
	}
	if shift := 64 - 8*len(b); shift > 0 {
		return float64(int64(n<<shift) >> shift)
	}
	return float64(int64(n))
}

func (f *structFormat) float(data string) float64 {
	b := []byte(data)
	if f.big {
		reverse(b)
	}
	if len(b) == 4 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

func (v *vm) structUnpack(L *lua.LState) int {
	f := v.structFormat(L)
	data := v.checkText(L, 2)
	start := v.optInt(L, 3, 1)
	if start <= 0 {
		v.argError(L, 3, "offset must be 1 or greater")
	}
	f.pos = start - 1
	n := 0
	for {
		opt, size, pad, ok := f.next()
		if !ok {
			break
		}
		f.pos += pad
		f.need(data, size)
		if n+L.GetTop()+2 > maxResults {
			v.errorf(L, "stack overflow (too many results)")
		}
		size, n = f.read(data, opt, size, n)
		f.pos += size
	}
	return n + pushInt(L, f.pos+1)
}

func (f *structFormat) need(data string, size int) {
	if size > len(data) || f.pos > len(data)-size {
		f.v.argError(f.L, 2, "data string too short")
	}
}

// read pushes one item and returns its size and the new count of results.
func (f *structFormat) read(data string, opt byte, size, n int) (int, int) {
	switch opt {
	case 'b', 'h', 'l', 'i':
		return size, n + pushNumber(f.L, f.int(data[f.pos:f.pos+size], true))
	case 'B', 'H', 'L', 'T', 'I':
		return size, n + pushNumber(f.L, f.int(data[f.pos:f.pos+size], false))
	case 'x':
	case 'f', 'd':
		return size, n + pushNumber(f.L, f.float(data[f.pos:f.pos+size]))
	case 'c':
		if size == 0 {
			x, ok := toNumber(f.L.Get(-1))
			if n == 0 || !ok {
				f.v.errorf(f.L, "format 'c0' needs a previous size")
			}
			f.L.Pop(1)
			n--
			size = int(toInt(x))
			if size < 0 {
				size = math.MaxInt
			}
			f.need(data, size)
		}
		return size, n + pushString(f.L, data[f.pos:f.pos+size])
	case 's':
		end := strings.IndexByte(data[f.pos:], 0)
		if end < 0 {
			f.v.errorf(f.L, "unfinished string in data")
		}
		return end + 1, n + pushString(f.L, data[f.pos:f.pos+end])
	default:
		f.control(opt)
	}
	return size, n
}

func (v *vm) structSize(L *lua.LState) int {
	f := v.structFormat(L)
	for {
		opt, size, pad, ok := f.next()
		if !ok {
			return pushInt(L, f.pos)
		}
		f.pos += pad
		switch {
		case opt == 's':
			v.argError(L, 1, "option 's' has no fixed size")
		case opt == 'c' && size == 0:
			v.argError(L, 1, "option 'c0' has no fixed size")
		case !isAlnum(opt):
			f.control(opt)
		}
		f.pos += size
	}
}
