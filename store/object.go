package store

import (
	"strings"
	"sync/atomic"
	"unsafe"
)

// Type is the type of an object.
type Type uint8

// The types, and in Type.String the names that the TYPE command reports.
const (
	String Type = iota + 1
	List
	Set
	ZSet
	Hash
	Stream
)

var typeNames = [...]string{"none", "string", "list", "set", "zset", "hash", "stream"}

// String returns the type's name in lower case, "none" for what is not a type.
func (t Type) String() string {
	if int(t) >= len(typeNames) {
		return typeNames[0]
	}
	return typeNames[t]
}

// Limits are the thresholds up to which an object reports a compact encoding: numbers of
// elements, and lengths in bytes. They are read at each insertion, so a change shows
// from the next one on.
type Limits struct {
	HashMaxListpackEntries, HashMaxListpackValue int
	ZSetMaxListpackEntries, ZSetMaxListpackValue int
	SetMaxListpackEntries, SetMaxListpackValue   int
	SetMaxIntsetEntries                          int
	// ListMaxListpackSize is a number of elements, or from -1 down one of 4, 8, 16, 32 and 64 KB.
	ListMaxListpackSize int
	// ListCompressDepth is how many nodes at either end a server leaves uncompressed; 0 is all.
	ListCompressDepth int
	// ListPackedThreshold is the length in bytes from which on an element has a node of its
	// own; 0 lets ListMaxListpackSize decide.
	ListPackedThreshold int
	// The nodes that streams are kept in; 0 is no limit.
	StreamNodeMaxEntries, StreamNodeMaxBytes int
}

// DefaultLimits returns the thresholds that a server starts with.
func DefaultLimits() *Limits {
	return &Limits{
		HashMaxListpackEntries: 512, HashMaxListpackValue: 64,
		ZSetMaxListpackEntries: 128, ZSetMaxListpackValue: 64,
		SetMaxListpackEntries: 128, SetMaxListpackValue: 64, SetMaxIntsetEntries: 512,
		ListMaxListpackSize:  -2,
		StreamNodeMaxEntries: 100, StreamNodeMaxBytes: 4096,
	}
}

// body is the value of an object: one implementation per type.
type body interface {
	encoding() string
	// fork returns a new object that shares this value copy-on-write and obeys the given
	// limits, nil for its own. It does not write to the receiver, which must never be
	// changed again.
	fork(l *Limits) *Object
	size() int
	check() error
}

// Object is the value at a key. Only an object got from DB.Write, or one that is not
// in a DB yet, may be changed. See the package comment.
//
// An Object is the beginning of a box, whose type goes with kind. So it does without a
// pointer to what comes right behind it, which would be a sixth of a small hash.
type Object struct {
	own    atomic.Pointer[owner] // of the DB that may change it, nil if it is in none
	expire int64
	access atomic.Uint32
	freq   atomic.Uint32
	epoch  uint32 // DB.epoch when this object was last noted in DB.written
	kind   Type
}

type box[T any] struct {
	Object
	v T
}

// newBox returns an object and its empty value. T goes with kind as in body.
func newBox[T any](kind Type) (*Object, *T) {
	b := &box[T]{}
	b.kind = kind
	return &b.Object, &b.v
}

// inBox returns the object's value, nil if it is of another type.
func inBox[T any](o *Object, kind Type) *T {
	if o.kind != kind {
		return nil
	}
	return &(*box[T])(unsafe.Pointer(o)).v
}

func (o *Object) body() body {
	switch o.kind {
	case String:
		return o.str()
	case List:
		return o.List()
	case Set:
		return o.Set()
	case ZSet:
		return o.ZSet()
	case Hash:
		return o.Hash()
	default:
		return o.Stream()
	}
}

// Type returns the object's type.
func (o *Object) Type() Type { return o.kind }

// Encoding returns the name that OBJECT ENCODING reports. It follows Valkey's rules and
// does not tell how the value is kept here.
func (o *Object) Encoding() string { return o.body().encoding() }

// Expire returns the key's deadline in Unix milliseconds, 0 if it has none.
func (o *Object) Expire() int64 { return o.expire }

// Access returns the access clock in seconds, as last set.
func (o *Object) Access() uint32 { return o.access.Load() }

// SetAccess sets the access clock. It may also be called on an object got from DB.Read;
// snapshots that share the object see it too.
func (o *Object) SetAccess(seconds uint32) {
	if o.access.Load() != seconds {
		o.access.Store(seconds)
	}
}

// Freq returns the access frequency counter.
func (o *Object) Freq() uint8 { return uint8(o.freq.Load()) }

// SetFreq sets the access frequency counter, under the same rule as SetAccess.
func (o *Object) SetFreq(n uint8) {
	if o.freq.Load() != uint32(n) {
		o.freq.Store(uint32(n))
	}
}

// Size estimates the memory that the object holds, in bytes, without its key.
func (o *Object) Size() int { return objectSize + o.body().size() }

// Clone returns a copy that is in no DB, with the same deadline. The two share their
// contents until one is changed, so the cost is O(1). An object or view that DB.Write
// gave out before must not be used for changes any more after this: call Write again.
func (o *Object) Clone() *Object {
	if o.own.Load() != frozen {
		o.own.Store(frozen)
	}
	return o.fork(nil)
}

// frozen is the token of objects that share their contents and may not be changed.
var frozen = new(owner)

// fork returns an object in no DB that shares the contents of a frozen one.
func (o *Object) fork(l *Limits) *Object {
	c := o.body().fork(l)
	c.expire = o.expire
	c.access.Store(o.access.Load())
	c.freq.Store(o.freq.Load())
	return c
}

// Bytes per object header, per element of a sorted sequence and per string header.
const (
	objectSize = 32
	slotSize   = 24
)

// keep returns s in memory of its own: arguments are parts of a connection's buffer.
func keep(s string) string { return strings.Clone(s) }
