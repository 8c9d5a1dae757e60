package store

import (
	"cmp"
	"fmt"
	"strings"
	"sync/atomic"
)

// HashObj is the value of a hash. A small one is packed into one byte slice, in order of
// insertion; a large one is a sorted sequence, in order of field names.
//
// A field may have a deadline. It counts as a field until it is removed.
type HashObj struct {
	pack   packed
	l      *Limits
	n      uint16      // fields in pack
	table  bool        // reported as "hashtable"
	shared atomic.Bool // somebody else may hold parts of pack
	ext    *hashExt
}

// hashExt is what small hashes without deadlines do not need.
type hashExt struct {
	large  bool
	fields runs[hashField] // if large
	ttl    fieldTTLs
}

type hashField struct{ name, value string }

func (a hashField) compare(b hashField) int { return strings.Compare(a.name, b.name) }

// Up to these sizes a hash is packed: one that reports "listpack", so that its fields
// keep the order of insertion as on a server, and one that reports "hashtable".
const (
	packListFields, packListBytes   = 512, 1 << 20
	packTableFields, packTableBytes = 128, 16 << 10
)

// NewHash returns an empty hash. l is consulted at every insertion.
func NewHash(l *Limits) *Object {
	o, h := newBox[HashObj](Hash)
	h.l = l
	return o
}

// Hash returns the object's hash, nil if it is of another type.
func (o *Object) Hash() *HashObj { return inBox[HashObj](o, Hash) }

func (h *HashObj) large() bool { return h.ext != nil && h.ext.large }

func (h *HashObj) extend() *hashExt {
	if h.ext == nil {
		h.ext = &hashExt{}
	}
	return h.ext
}

// Len returns the number of fields.
func (h *HashObj) Len() int {
	if h.large() {
		return h.ext.fields.Len()
	}
	return int(h.n)
}

// Get returns the value of a field.
func (h *HashObj) Get(field string) (value string, ok bool) {
	if h.large() {
		f, ok := h.ext.fields.Get(hashField{name: field})
		return f.value, ok
	}
	at, ok := h.pack.find(field)
	if !ok {
		return "", false
	}
	value = h.pack.value(at)
	if len(h.pack) > 1024 {
		return keep(value), true // cheaper than having to copy the pack at the next write
	}
	h.share()
	return value, true
}

// Has reports whether there is such a field.
func (h *HashObj) Has(field string) bool {
	_, ok := h.ValueLen(field)
	return ok
}

// ValueLen returns the length of a field's value in bytes.
func (h *HashObj) ValueLen(field string) (n int, ok bool) {
	if h.large() {
		f, ok := h.ext.fields.Get(hashField{name: field})
		return len(f.value), ok
	}
	at, ok := h.pack.find(field)
	return at.end - at.value, ok
}

// At returns the field at index i of the iteration order. 0 <= i < h.Len().
func (h *HashObj) At(i int) (field, value string) {
	if h.large() {
		f := h.ext.fields.At(i)
		return f.name, f.value
	}
	h.share()
	at := h.pack.next(0)
	for ; i > 0; i-- {
		at = h.pack.next(at.end)
	}
	return h.pack.name(at), h.pack.value(at)
}

// Ascend calls f for all fields in order until it returns false. f must not change h.
func (h *HashObj) Ascend(f func(field, value string) bool) {
	if h.large() {
		h.ext.fields.Ascend(0, func(e hashField) bool { return f(e.name, e.value) })
		return
	}
	h.share()
	for pos := 0; pos < len(h.pack); {
		at := h.pack.next(pos)
		if !f(h.pack.name(at), h.pack.value(at)) {
			return
		}
		pos = at.end
	}
}

// AscendFrom calls f for the fields from index i on in order until it returns false.
func (h *HashObj) AscendFrom(i int, f func(field, value string) bool) {
	if h.large() {
		h.ext.fields.Ascend(i, func(e hashField) bool { return f(e.name, e.value) })
		return
	}
	h.Ascend(func(field, value string) bool {
		i--
		return i >= 0 || f(field, value)
	})
}

// AscendSorted calls f for the fields that are not less than from in byte order until it
// returns false. f must not change h. A packed hash is sorted for it.
func (h *HashObj) AscendSorted(from string, f func(field, value string) bool) {
	var sorted *runs[hashField]
	if h.large() {
		sorted = &h.ext.fields
	} else {
		sorted = &runs[hashField]{}
		h.Ascend(func(field, value string) bool {
			sorted.Set(hashField{field, value})
			return true
		})
	}
	sorted.AscendFrom(hashField{name: from}, func(e hashField) bool { return f(e.name, e.value) })
}

// Expect tells that one command is about to set this many fields, repeated ones counted:
// too many make the hash a "hashtable" even if fewer fields come of it. bytes is the
// total length of the names and values, used to make room at once; 0 is allowed.
func (h *HashObj) Expect(fields, bytes int) {
	if fields > h.l.HashMaxListpackEntries {
		h.table = true
	}
	if !h.large() && bytes > 0 && fields <= packTableFields && bytes <= packTableBytes {
		h.pack.reserve(bytes + 2*fields)
	}
}

// Set sets a field and drops its deadline. It tells whether the field is new.
func (h *HashObj) Set(field, value string) (created bool) {
	if h.ext != nil {
		h.ext.ttl.set(field, 0)
	}
	return h.SetKeepTTL(field, value)
}

// SetKeepTTL sets a field and keeps its deadline. It tells whether the field is new.
func (h *HashObj) SetKeepTTL(field, value string) (created bool) {
	if len(field) > h.l.HashMaxListpackValue || len(value) > h.l.HashMaxListpackValue {
		h.table = true
	}
	if h.large() {
		created = h.setLarge(field, value)
	} else {
		created = h.setPacked(field, value)
	}
	if created && h.Len() > h.l.HashMaxListpackEntries {
		h.table = true
	}
	if !h.large() && h.outgrown() {
		h.unpack()
	}
	return created
}

func (h *HashObj) outgrown() bool {
	if h.table {
		return h.n > packTableFields || len(h.pack) > packTableBytes
	}
	return h.n > packListFields || len(h.pack) > packListBytes
}

func (h *HashObj) setLarge(field, value string) (created bool) {
	fields := &h.ext.fields
	at, i, found := fields.find(hashField{name: field})
	if found {
		fields.mutable(at).items()[i].value = keep(value)
		return false
	}
	fields.insert(at, i, hashField{keep(field), keep(value)})
	return true
}

func (h *HashObj) setPacked(field, value string) (created bool) {
	at, ok := h.pack.find(field)
	if !ok {
		h.pack.add(field, value)
		h.n++
		return true
	}
	h.unshare()
	h.pack.setValue(at, value)
	return false
}

// unpack makes a large hash of a packed one.
func (h *HashObj) unpack() {
	ext := h.extend()
	for pos := 0; pos < len(h.pack); {
		at := h.pack.next(pos)
		ext.fields.Set(hashField{keep(h.pack.name(at)), keep(h.pack.value(at))})
		pos = at.end
	}
	ext.large = true
	h.pack, h.n = nil, 0
}

// Del removes a field with its deadline. It tells whether there was one.
func (h *HashObj) Del(field string) bool {
	if h.ext != nil {
		h.ext.ttl.set(field, 0)
	}
	if h.large() {
		_, ok := h.ext.fields.Delete(hashField{name: field})
		return ok
	}
	at, ok := h.pack.find(field)
	if ok {
		h.unshare()
		h.pack.cut(at)
		h.n--
	}
	return ok
}

// share notes that parts of the pack have been handed out as strings.
func (h *HashObj) share() {
	if !h.shared.Load() {
		h.shared.Store(true)
	}
}

// unshare makes the present bytes of the pack writable.
func (h *HashObj) unshare() {
	if h.shared.Load() {
		h.pack = append(make(packed, 0, len(h.pack)), h.pack...)
		h.shared.Store(false)
	}
}

func (h *HashObj) encoding() string {
	if h.table {
		return "hashtable"
	}
	return "listpack"
}

func (h *HashObj) fork(l *Limits) *Object {
	o := NewHash(cmp.Or(l, h.l))
	c := o.Hash()
	c.pack, c.n, c.table = h.pack[:len(h.pack):len(h.pack)], h.n, h.table
	c.shared.Store(true)
	if h.ext != nil {
		c.ext = &hashExt{large: h.ext.large, fields: h.ext.fields.fork(), ttl: h.ext.ttl.fork()}
	}
	return o
}

func (h *HashObj) size() int {
	n := 48 + cap(h.pack)
	if h.ext == nil {
		return n
	}
	n += h.ext.ttl.size()
	if h.large() {
		n += h.ext.fields.Len() * (32 + sampleSize(&h.ext.fields, func(f hashField) int { return len(f.name) + len(f.value) }))
	}
	return n
}

// sampleSize returns the mean of f over the first elements of a sequence.
func sampleSize[T ordered[T]](r *runs[T], f func(T) int) int {
	const sample = 16
	n, sum := 0, 0
	r.Ascend(0, func(x T) bool {
		n++
		sum += f(x)
		return n < sample
	})
	return sum / max(n, 1)
}

func (h *HashObj) check() error {
	if h.large() {
		if err := h.ext.fields.check(); err != nil {
			return fmt.Errorf("hash: %w", err)
		}
	} else if err := h.pack.check(int(h.n)); err != nil {
		return err
	}
	if h.large() && len(h.pack) != 0 {
		return fmt.Errorf("hash: packed and large")
	}
	if !h.table && h.outgrown() {
		return fmt.Errorf("hash: packed beyond the limits")
	}
	if h.ext == nil {
		return nil
	}
	return h.ext.ttl.check(h)
}
