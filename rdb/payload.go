package rdb

import (
	"encoding/binary"
	"errors"

	"github.com/echomq/echomq-sim/store"
)

// ErrSeal is the error of a payload whose version is unknown or whose checksum is wrong.
var ErrSeal = errors.New("rdb: payload version or checksum are wrong")

// footLen is how long version and checksum at the end of a payload are.
const footLen = 10

// Dump is the payload of DUMP for a value. It is of version 80 if fields of a hash have
// deadlines, of version 11 else. Strings are compressed where that makes them shorter, if
// at all.
func Dump(o *store.Object, compress bool) string {
	v := version
	if hasDeadlines(o) {
		v = versionFields
	}
	return seal(compression(compress).appendValue(nil, o, nil), v)
}

// SerializedLen is how many bytes a value takes in a payload, without its type.
func SerializedLen(o *store.Object, compress bool) int {
	return len(compression(compress).appendValue(nil, o, nil)) - 1
}

// Restore is the value of a payload of DUMP, made under limits that the caller keeps. The
// error is ErrSeal, or an *Error that tells what is broken.
func Restore(payload string, l *store.Limits) (*store.Object, error) {
	if _, ok := open(payload); !ok {
		return nil, ErrSeal
	}
	// As on a server a value may run into the version and checksum.
	r := valueReader{reader: reader{s: payload, what: "type"}, l: l}
	t := r.byte()
	o := r.value(t)
	if r.empty {
		r.fail("nothing in it")
	}
	if r.err != nil {
		return nil, r.err
	}
	return o, nil
}

// Seal makes a payload of a type and a value in their binary form: it adds version 11 and
// the checksum. What they are is not looked at.
func Seal(body []byte) string { return seal(body, version) }

// seal appends version and checksum.
func seal(b []byte, v int) string {
	b = binary.LittleEndian.AppendUint16(b, uint16(v))
	return string(binary.LittleEndian.AppendUint64(b, checksum(0, b)))
}

// open checks version and checksum and returns what stands before them.
func open(s string) (body string, ok bool) {
	if len(s) < footLen {
		return "", false
	}
	body, foot := s[:len(s)-footLen], s[len(s)-footLen:]
	if v := int(littleEndian(foot[:2])); v != 0 && !known(v) {
		return "", false
	}
	return body, littleEndian(foot[2:]) == checksum(0, s[:len(s)-8])
}

// Kinds of entries in a payload of FUNCTION DUMP.
const (
	kindLibrary      = 245
	kindEarlyLibrary = 246 // of a release candidate
)

// Errors of payloads of FUNCTION DUMP.
var (
	ErrEarlyLibrary = errors.New("rdb: function library in the format of a release candidate")
	ErrNotLibrary   = errors.New("rdb: entry is not a function library")
)

// DumpLibraries is the payload of FUNCTION DUMP for the code of libraries.
func DumpLibraries(sources []string, compress bool) string {
	var b []byte
	for _, s := range sources {
		b = compression(compress).appendString(append(b, kindLibrary), s)
	}
	return seal(b, version)
}

// RestoreLibraries calls add with the code of each library in a payload of FUNCTION DUMP,
// until it fails. The error is add's, ErrSeal, ErrEarlyLibrary, ErrNotLibrary, or an
// *Error that tells what is broken.
func RestoreLibraries(payload string, add func(source string) error) error {
	body, ok := open(payload)
	if !ok {
		return ErrSeal
	}
	r := reader{s: body, what: "function library"}
	for r.left() > 0 {
		switch r.byte() {
		case kindLibrary:
		case kindEarlyLibrary:
			return ErrEarlyLibrary
		default:
			return ErrNotLibrary
		}
		source := r.str()
		if r.err != nil {
			return r.err
		}
		if err := add(source); err != nil {
			return err
		}
	}
	return nil
}
