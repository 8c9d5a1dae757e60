package store

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"unsafe"
)

// embstrMax is the greatest length in bytes of an "embstr".
const embstrMax = 44

// StringObj is the value of a string. Its bytes may be handed out as a Go string
// without a copy; after that they are never written again, only appended to.
type StringObj struct {
	buf    []byte
	enc    stringEncoding
	shared atomic.Bool // somebody else may hold buf
}

type stringEncoding uint8

const (
	encInt stringEncoding = iota
	encEmbstr
	encRaw
)

// NewString returns a string object as SET makes it.
func NewString(s string) *Object {
	o, _ := newBox[StringObj](String)
	o.SetStr(s)
	return o
}

// NewRawString returns a string object of the given bytes, which are its own from now
// on. It is encoded as "raw" whatever they are.
func NewRawString(b []byte) *Object {
	o, v := newBox[StringObj](String)
	v.buf, v.enc = b, encRaw
	return o
}

func (o *Object) str() *StringObj { return inBox[StringObj](o, String) }

// Str returns the string. It stays as it is, whatever happens to the object, which must
// be a String, here and in the other methods of strings.
func (o *Object) Str() string { return o.str().view() }

// StrLen returns the length of the string in bytes.
func (o *Object) StrLen() int { return len(o.str().buf) }

// StrBytes returns the bytes of the string, to be read until the object is changed.
func (o *Object) StrBytes() []byte { return o.str().buf }

// StrByte returns the byte at position i, 0 behind the end.
func (o *Object) StrByte(i int) byte {
	s := o.str()
	if i >= len(s.buf) {
		return 0
	}
	return s.buf[i]
}

// SetStr sets the string as SET does: encoded as "int" if it is one.
func (o *Object) SetStr(s string) {
	o.SetStrPlain(s)
	if isInt(s) {
		o.str().enc = encInt
	}
}

// SetStrPlain sets the string as INCRBYFLOAT does: never encoded as "int".
func (o *Object) SetStrPlain(s string) {
	v := o.str()
	if v.enc = encEmbstr; len(s) > embstrMax {
		v.enc = encRaw
	}
	if room := cap(v.buf); !v.shared.Load() && len(s) <= room && room <= len(s)+len(s)/4+16 {
		v.buf = append(v.buf[:0], s...)
		return
	}
	v.buf = []byte(s)
	v.shared.Store(false)
}

// AppendStr appends to the string, in amortised O(len(s)), and returns the new length.
func (o *Object) AppendStr(s string) int {
	v := o.str()
	v.enc = encRaw
	v.buf = append(v.buf, s...)
	return len(v.buf)
}

// SetRange writes s at a byte offset, padding with zero bytes as needed, and returns the
// new length. The caller limits offset and length.
func (o *Object) SetRange(offset int, s string) int {
	v := o.str()
	v.enc = encRaw
	if offset < len(v.buf) {
		v.unshare()
	}
	if missing := offset + len(s) - len(v.buf); missing > 0 {
		v.buf = append(v.buf, make([]byte, missing)...)
	}
	copy(v.buf[offset:], s)
	return len(v.buf)
}

// EditStr returns the bytes of the string, encoded as "raw" from now on, to be changed
// in place until the end of the turn.
func (o *Object) EditStr() []byte {
	v := o.str()
	v.enc = encRaw
	v.unshare()
	return v.buf
}

// SetStrRaw makes b the string, encoded as "raw" whatever it holds. It keeps b.
func (o *Object) SetStrRaw(b []byte) {
	v := o.str()
	v.buf, v.enc = b, encRaw
	v.shared.Store(false)
}

// isInt reports whether s is the canonical decimal text of an int64.
func isInt(s string) bool {
	if len(s) == 0 || len(s) > 20 || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == s
}

func (v *StringObj) view() string {
	if !v.shared.Load() {
		v.shared.Store(true)
	}
	return unsafe.String(unsafe.SliceData(v.buf), len(v.buf))
}

// unshare makes the present bytes writable.
func (v *StringObj) unshare() {
	if v.shared.Load() {
		v.buf = append(make([]byte, 0, len(v.buf)+len(v.buf)/8), v.buf...)
		v.shared.Store(false)
	}
}

func (v *StringObj) encoding() string {
	return [...]string{"int", "embstr", "raw"}[v.enc]
}

func (v *StringObj) fork(*Limits) *Object {
	o, c := newBox[StringObj](String)
	c.buf, c.enc = v.buf[:len(v.buf):len(v.buf)], v.enc
	c.shared.Store(true)
	return o
}

func (v *StringObj) size() int { return 32 + cap(v.buf) }

func (v *StringObj) check() error {
	if v.enc == encInt && !isInt(string(v.buf)) {
		return fmt.Errorf("string: encoded as int: %q", v.buf)
	}
	if v.enc == encEmbstr && len(v.buf) > embstrMax {
		return fmt.Errorf("string: embstr of %d bytes", len(v.buf))
	}
	return nil
}
