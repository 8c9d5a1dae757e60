package rdb

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/echomq/echomq-sim/store"
)

// Key is a key in a file.
type Key struct {
	DB     int
	Name   string
	Value  *store.Object
	Expire int64 // Unix milliseconds, 0 if the key has no deadline
	Idle   int64 // seconds since the key was used, Unknown if the file does not tell
	Freq   int   // access frequency counter, Unknown if the file does not tell
}

// Unknown is Key.Idle or Key.Freq of a key of which it is not known.
const Unknown = -1

// Visitor takes what is in a file. An error of one of its functions ends the reading.
type Visitor struct {
	Key     func(k *Key) error
	Library func(source string) error // the code of a function library
	// Skipped tells of a key without contents, which old servers wrote and new ones leave
	// out. nil is allowed.
	Skipped func(db int, name string)
}

// Read reads an RDB file: of any version up to 11, and of version 80 of Valkey 9. Values
// are made under limits that the caller keeps. databases is how many there are. The error
// is an *Error, or one that a function of the visitor gave, with the place.
func Read(file string, databases int, l *store.Limits, v Visitor) error {
	r := fileReader{valueReader: valueReader{reader: reader{s: file, what: "header"}, l: l}, v: v, databases: databases}
	r.key.Idle, r.key.Freq = Unknown, Unknown
	r.header()
	for r.err == nil && r.failed == nil && !r.ended {
		r.item()
	}
	if r.failed != nil {
		return r.failed
	}
	if r.end(); r.err != nil {
		return r.err
	}
	return nil
}

type fileReader struct {
	valueReader
	v         Visitor
	databases int
	version   int
	key       Key // as far as it is known
	ended     bool
	failed    error // the visitor's
}

// header reads what the file begins with: "REDIS" and four digits, or "VALKEY" and three.
func (r *fileReader) header() {
	s := r.take(headerLen)
	digits, redis := strings.CutPrefix(s, "REDIS")
	if !redis {
		var valkey bool
		if digits, valkey = strings.CutPrefix(s, "VALKEY"); !valkey {
			r.fail("not an RDB file")
			return
		}
	}
	v, err := strconv.Atoi(digits)
	switch {
	case err != nil:
		r.fail("not an RDB file")
	case v > version && v < versionFields:
		r.fail(fmt.Sprintf("version %d is of a server other than Valkey", v))
	case !known(v) || redis != (v <= version):
		r.fail(fmt.Sprintf("version %d is unknown", v))
	}
	r.version = v
}

// item reads a key, or something else that stands where a key may be.
func (r *fileReader) item() {
	r.what = "operation"
	switch op := r.byte(); op {
	case opExpire:
		r.key.Expire = atLeastOne(signed(littleEndian(r.take(4)), 32) * 1000)
	case opExpireMs:
		r.key.Expire = atLeastOne(r.millis())
	case opIdle:
		r.key.Idle = int64(r.length())
	case opFreq:
		r.key.Freq = int(r.byte())
	case opSelectDB:
		r.selectDB()
	case opResizeDB:
		r.length()
		r.length()
	case opSlotInfo:
		r.length()
		r.length()
		r.length()
	case opAux:
		r.what = "auxiliary field"
		r.str()
		r.str()
	case kindLibrary:
		r.library()
	case kindEarlyLibrary:
		r.fail("a function library in the format of a release candidate")
	case opModuleAux:
		r.fail("data of the module " + moduleName(r.length()) + ", and modules are not supported")
	case opSlotImport:
		r.fail("a cluster's import of slots, which is not supported")
	case opEnd:
		r.ended = true
	default:
		r.keyOf(op)
	}
}

// atLeastOne keeps a deadline at or before the epoch one: 0 stands for none.
func atLeastOne(ms int64) int64 { return max(ms, 1) }

func (r *fileReader) selectDB() {
	n := r.length()
	if n >= uint64(r.databases) {
		r.fail(fmt.Sprintf("has a database %d, and there are %d", n, r.databases))
		return
	}
	r.key.DB = int(n)
}

func (r *fileReader) library() {
	r.what = "function library"
	if source := r.str(); r.err == nil {
		r.visit(r.v.Library(source))
	}
}

// visit notes an error of the visitor.
func (r *fileReader) visit(err error) {
	if err != nil {
		r.failed = fmt.Errorf("rdb: at byte %d, %s: %w", r.at, r.what, err)
	}
}

func (r *fileReader) keyOf(t byte) {
	r.what = "key"
	r.key.Name = r.str()
	r.key.Value = r.value(t)
	switch {
	case r.err != nil:
	case !r.empty:
		r.visit(r.v.Key(&r.key))
	case r.v.Skipped != nil:
		r.v.Skipped(r.key.DB, r.key.Name)
	}
	r.key = Key{DB: r.key.DB, Idle: Unknown, Freq: Unknown}
}

// end checks the checksum. One of 0 was not computed.
func (r *fileReader) end() {
	r.what = "checksum"
	if r.err != nil || r.version < oldestChecked {
		return
	}
	want := checksum(0, r.s[:r.at])
	if got := littleEndian(r.take(8)); r.err == nil && got != 0 && got != want {
		r.fail(fmt.Sprintf("is %016x, should be %016x", got, want))
	}
}

// moduleName is the name in a module's ID: nine characters of six bits, above ten bits of
// a version.
func moduleName(id uint64) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	var name [9]byte
	for i := range name {
		name[i] = letters[id>>(58-6*i)&63]
	}
	return strconv.Quote(string(name[:]))
}
