package resp

import (
	"math"
	"strconv"
)

// Kind tells what a Value is. Each kind has one RESP2 and one RESP3 form; the
// table stands in the package comment.
type Kind uint8

const (
	KindNull      Kind = iota // the zero Value
	KindNullArray             // a null where an array was due: BLPOP's timeout, an aborted EXEC
	KindSimple                // Str, without CR or LF
	KindErr                   // Str, beginning with its code word: "ERR syntax error"
	KindInt                   // Int
	KindBulk                  // Str, any bytes
	KindDouble                // Num; Str is its text where that is not the usual one
	KindBool                  // Int is 0 or 1
	KindBigNum                // Str, decimal digits with an optional sign
	KindVerbatim              // Str; Elems is nil, the format is always "txt"
	KindArray                 // Elems
	KindMap                   // Elems: key, value, key, value, ...
	KindSet                   // Elems
	KindPairs                 // Elems: a, b, a, b, ...; flat in RESP2, an array of pairs in RESP3
	KindPush                  // Elems; out of band in RESP3, a plain array in RESP2
	KindNone                  // no reply: nothing but the pushes in Elems, see Pushes
)

// Value is one reply, or one element of a reply. Values are immutable once
// returned by a command.
type Value struct {
	Kind  Kind
	Int   int64
	Str   string
	Elems []Value
}

// Values that need no arguments.
var (
	Null      = Value{Kind: KindNull}
	NullArray = Value{Kind: KindNullArray}
	None      = Value{Kind: KindNone}
	OK        = Value{Kind: KindSimple, Str: "OK"}
	Zero      = Value{Kind: KindInt}
	One       = Value{Kind: KindInt, Int: 1}
)

// Simple returns a status reply; s must not hold CR or LF.
func Simple(s string) Value { return Value{Kind: KindSimple, Str: s} }

// Err returns an error reply; s begins with its code word.
func Err(s string) Value { return Value{Kind: KindErr, Str: s} }

// Int returns an integer reply.
func Int(n int64) Value { return Value{Kind: KindInt, Int: n} }

// Bulk returns a binary-safe string reply.
func Bulk(s string) Value { return Value{Kind: KindBulk, Str: s} }

// Double returns a floating point reply: a bulk string for RESP2.
func Double(f float64) Value { return Value{Kind: KindDouble, Int: int64(math.Float64bits(f))} }

// DoubleText returns a floating point reply that is written as text, which is a decimal
// number, and is what a reader makes of it: not always the number that was written.
func DoubleText(text string) Value {
	f, _ := strconv.ParseFloat(text, 64) // what is no number reads as 0, as in C
	v := Double(f)
	v.Str = text
	return v
}

// Bool returns a boolean reply: 1 or 0 for RESP2.
func Bool(b bool) Value {
	if b {
		return Value{Kind: KindBool, Int: 1}
	}
	return Value{Kind: KindBool}
}

// BigNum returns a big number reply: a bulk string for RESP2.
func BigNum(s string) Value { return Value{Kind: KindBigNum, Str: s} }

// Verbatim returns a text reply: a bulk string for RESP2.
func Verbatim(s string) Value { return Value{Kind: KindVerbatim, Str: s} }

// Array returns an array of elems, which it keeps.
func Array(elems ...Value) Value { return Value{Kind: KindArray, Elems: elems} }

// Map returns a map of elems: key, value, key, value, ...
func Map(elems ...Value) Value { return Value{Kind: KindMap, Elems: elems} }

// Set returns a set of elems.
func Set(elems ...Value) Value { return Value{Kind: KindSet, Elems: elems} }

// Pairs returns elems (a, b, a, b, ...) flat for RESP2 and as an array of
// two-element arrays for RESP3.
func Pairs(elems ...Value) Value { return Value{Kind: KindPairs, Elems: elems} }

// Push returns an out-of-band message.
func Push(elems ...Value) Value { return Value{Kind: KindPush, Elems: elems} }

// Pushes returns messages that stand where a reply would: the confirmations of
// SUBSCRIBE and its kin.
func Pushes(messages ...Value) Value { return Value{Kind: KindNone, Elems: messages} }

// Strings returns an array of bulk strings.
func Strings(ss ...string) Value {
	elems := make([]Value, len(ss))
	for i, s := range ss {
		elems[i] = Bulk(s)
	}
	return Value{Kind: KindArray, Elems: elems}
}

// Num is the number of a KindDouble value.
func (v Value) Num() float64 { return math.Float64frombits(uint64(v.Int)) }

// TextSize is the number of bytes that all texts in v have, elements included. The encoded
// value has more.
func (v *Value) TextSize() int {
	n := len(v.Str)
	for i := range v.Elems {
		n += v.Elems[i].TextSize()
	}
	return n
}

// IsErr reports whether v is an error reply.
func (v Value) IsErr() bool { return v.Kind == KindErr }

// IsNull reports whether v is one of the two nulls.
func (v Value) IsNull() bool { return v.Kind == KindNull || v.Kind == KindNullArray }

// RESP3 is v as a RESP3 client reads it: pairs become arrays of two and there is
// one null only. Nothing is copied where nothing changes.
func (v Value) RESP3() Value {
	switch v.Kind {
	case KindNullArray:
		return Null
	case KindPairs:
		pairs := make([]Value, 0, len(v.Elems)/2)
		for i := 0; i+1 < len(v.Elems); i += 2 {
			pairs = append(pairs, Array(v.Elems[i].RESP3(), v.Elems[i+1].RESP3()))
		}
		return Array(pairs...)
	}
	for i := range v.Elems {
		if k := v.Elems[i].Kind; k == KindNullArray || k == KindPairs || len(v.Elems[i].Elems) > 0 {
			return v.elementsInRESP3()
		}
	}
	return v
}

func (v Value) elementsInRESP3() Value {
	elems := make([]Value, len(v.Elems))
	for i := range elems {
		elems[i] = v.Elems[i].RESP3()
	}
	v.Elems = elems
	return v
}
