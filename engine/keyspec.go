package engine

import (
	"errors"
	"strings"
)

// KeyFlags tell what a command does with a key.
type KeyFlags uint16

const (
	RO KeyFlags = 1 << iota
	RW
	OW
	RM
	Access
	Update
	Insert
	Delete
	NotKey
	Incomplete
	VariableFlags
)

var keyFlagNames = []string{"RO", "RW", "OW", "RM", "access", "update", "insert", "delete", "not_key", "incomplete",
	"variable_flags"}

// KeySpec tells where keys stand among a command's arguments, in the terms of
// the server's COMMAND INFO: where to begin, and how to go on from there.
type KeySpec struct {
	Flags KeyFlags
	Notes string

	begin    beginKind
	index    int    // beginIndex
	keyword  string // beginKeyword
	startAt  int
	find     findKind
	last     int // findRange: relative to the first; negative counts from the end
	step     int
	limit    int // findRange with last -1: the keys end at 1/limit of what is left
	numIdx   int // findNum, relative to the beginning
	firstKey int
}

type beginKind uint8
type findKind uint8

const (
	beginIndex beginKind = iota
	beginKeyword
	beginUnknown
)

const (
	findRange findKind = iota
	findNum
	findUnknown
)

func keys(specs ...KeySpec) []KeySpec { return specs }

func key1(f KeyFlags) KeySpec { return keyAt(1, f) }

func keyAt(i int, f KeyFlags) KeySpec { return keyRange(i, 0, 1, 0, f) }

func keyRange(i, last, step, limit int, f KeyFlags) KeySpec {
	return KeySpec{Flags: f, index: i, last: last, step: step, limit: limit}
}

func keyNum(i, numIdx, first, step int, f KeyFlags) KeySpec {
	return KeySpec{Flags: f, index: i, find: findNum, numIdx: numIdx, firstKey: first, step: step}
}

func keyword(word string, startAt, last, step, limit int, f KeyFlags) KeySpec {
	return KeySpec{Flags: f, begin: beginKeyword, keyword: word, startAt: startAt, last: last, step: step, limit: limit}
}

// unknownKeys is a part of the keys that only the command itself can find.
func unknownKeys(f KeyFlags) KeySpec {
	return KeySpec{Flags: f, begin: beginUnknown, find: findUnknown}
}

func (k KeySpec) note(s string) KeySpec {
	k.Notes = s
	return k
}

func (k *KeySpec) validate() error {
	switch {
	case k.Flags&(RO|RW|OW|RM) == 0 && k.Flags&NotKey == 0:
		return errors.New("a key spec without RO, RW, OW or RM")
	case k.begin == beginIndex && k.index < 1:
		return errors.New("a key spec that begins before the first argument")
	case k.find != findUnknown && k.step < 1:
		return errors.New("a key spec without a step")
	case (k.begin == beginUnknown) != (k.find == findUnknown):
		return errors.New("a key spec that is unknown by half")
	}
	return nil
}

// KeyRef is one key of a request: its place among the arguments and its use.
type KeyRef struct {
	Index int
	Flags KeyFlags
}

// keysOf lists the keys of a request that fits the row's arity. ok is false when
// it has none or does not fit the row's key specs ("Invalid arguments specified for command").
func (s *Spec) keysOf(args []string) (refs []KeyRef, ok bool) {
	if refs, ok = s.specKeys(args); ok {
		return refs, len(refs) > 0
	}
	if s.findKeys != nil {
		refs = s.findKeys(args)
	} else {
		refs = s.countedKeys(args)
	}
	return refs, len(refs) > 0
}

// specKeys collects what all key specs find; false when one does not fit or
// can't tell how the keys are used.
func (s *Spec) specKeys(args []string) (refs []KeyRef, fit bool) {
	for i := range s.Keys {
		k := &s.Keys[i]
		if k.Flags&NotKey != 0 {
			continue
		}
		if refs, fit = k.collect(refs, args); !fit || k.Flags&VariableFlags != 0 {
			return nil, false
		}
	}
	return refs, true
}

// collect appends the keys that this spec finds; false when the arguments do
// not hold what it promises, or it knows only a part of the keys.
func (k *KeySpec) collect(refs []KeyRef, args []string) ([]KeyRef, bool) {
	first, found := k.beginning(args)
	if !found {
		return refs, k.begin != beginUnknown // an optional keyword may be absent
	}
	last := 0
	switch k.find {
	case findRange:
		last = k.rangeEnd(first, len(args))
	case findNum:
		if first+k.numIdx >= len(args) {
			return refs, false
		}
		n, ok := parseInt(args[first+k.numIdx])
		if !ok || n < 0 {
			return refs, false
		}
		first += k.firstKey
		last = first + int(int32(n)) - 1 // the server cuts the count to 32 bits
	case findUnknown:
		return refs, false
	}
	if first >= len(args) || last >= len(args) || last < first {
		return refs, false
	}
	for i := first; i <= last; i += k.step {
		refs = append(refs, KeyRef{Index: i, Flags: k.Flags})
	}
	return refs, k.Flags&Incomplete == 0
}

func (k *KeySpec) rangeEnd(first, argc int) int {
	switch {
	case k.last >= 0:
		return first + k.last
	case k.limit <= 1:
		return argc + k.last
	default:
		return first + (argc-first)/k.limit + k.last
	}
}

// beginning finds the argument at which the search for keys begins.
func (k *KeySpec) beginning(args []string) (int, bool) {
	switch k.begin {
	case beginIndex:
		return k.index, true
	case beginKeyword:
		i, end, by := k.startAt, len(args)-1, 1
		if k.startAt < 0 {
			i, end, by = len(args)+k.startAt, 0, -1
		}
		for ; i != end && i > 0 && i < len(args); i += by {
			if strings.EqualFold(args[i], k.keyword) {
				return i + 1, true
			}
		}
	}
	return 0, false
}

// deriveRange computes the first/last/step of COMMAND and the movablekeys flag
// from the key specs, as populateCommandLegacyRangeSpec of Valkey's server.c does.
func (s *Spec) deriveRange() {
	plain := func(k *KeySpec) bool { return k.begin == beginIndex && k.find == findRange }
	if len(s.Keys) == 1 && plain(&s.Keys[0]) {
		k := &s.Keys[0]
		s.first, s.last, s.step = k.index, k.absLast(), k.step
		if k.Flags&Incomplete != 0 {
			s.Flags |= MovableKeys
		}
		return
	}
	for i := range s.Keys {
		k := &s.Keys[i]
		if !plain(k) || k.step != 1 || s.last != 0 && s.last != k.index-1 {
			s.Flags |= MovableKeys // not part of one unbroken range
			continue
		}
		if k.Flags&Incomplete != 0 {
			s.Flags |= MovableKeys
		}
		if s.first == 0 {
			s.first, s.step = k.index, 1
		}
		s.last = k.absLast()
	}
}

// absLast is the last key's index; negative values count from the end.
func (k *KeySpec) absLast() int {
	if k.last >= 0 {
		return k.last + k.index
	}
	return k.last
}
