package engine

import (
	"iter"
	"strconv"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

// cursorTable serves SCAN and its kin. A cursor stands for the last element
// that a call returned: it is a hash of that element, and the iteration goes on
// behind it in byte order. So every element that is there from the start to the
// end is returned, and a repeated call repeats its reply. The table only saves
// looking for the element; what it forgets can still be found. Only when the
// element is gone as well does the iteration begin anew.
// The zero table is ready to use.
type cursorTable struct {
	lasts map[uint64]string
	ring  []uint64 // the ids in lasts; once full, in the order of their arrival from head on
	head  int      // where the next one goes when it is full
}

const (
	cursorMemory = 4096    // cursors remembered
	cursorMaxLen = 4 << 10 // a longer element is not remembered but looked for
	// cursorBits keeps cursors exact in clients that read them as float64.
	cursorBits = 53
)

// cursorID is the cursor behind the element last. Scope keeps the keyspace, the
// fields of hashes and so on apart. It is never 0, which ends an iteration.
func cursorID(scope, last string) uint64 {
	h := fnv1a(fnv1a(14695981039346656037, scope)*31, last)
	return max(1, (h^h>>cursorBits)&(1<<cursorBits-1))
}

// fnv1a goes on from h with the 64-bit FNV-1a hash of s.
func fnv1a(h uint64, s string) uint64 {
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// next returns the cursor behind last and remembers it.
func (t *cursorTable) next(scope, last string) uint64 {
	id := cursorID(scope, last)
	if len(last) > cursorMaxLen || t.lasts[id] == last && last != "" {
		return id
	}
	if t.lasts == nil {
		t.lasts = make(map[uint64]string)
	}
	if _, known := t.lasts[id]; !known {
		t.enter(id)
	}
	t.lasts[id] = strings.Clone(last)
	return id
}

// enter puts an id into the ring, in the place of the oldest one when it is full.
func (t *cursorTable) enter(id uint64) {
	if len(t.ring) < cursorMemory {
		t.ring = append(t.ring, id)
		return
	}
	delete(t.lasts, t.ring[t.head])
	t.ring[t.head] = id
	t.head = (t.head + 1) % cursorMemory
}

// last returns the element that a cursor of next stands for, if it is remembered.
func (t *cursorTable) last(scope string, cursor uint64) (string, bool) {
	last, ok := t.lasts[cursor]
	return last, ok && cursorID(scope, last) == cursor
}

// resume is last with a search through all elements for a cursor that was
// forgotten. ok is false when there is nothing to go on from: a cursor that was
// made up begins at the start, as cursor 0 does.
func (t *cursorTable) resume(scope string, cursor uint64, all iter.Seq[string]) (last string, ok bool) {
	if cursor == 0 {
		return "", false
	}
	if last, ok = t.last(scope, cursor); ok {
		return last, true
	}
	for elem := range all {
		if cursorID(scope, elem) == cursor {
			return elem, true
		}
	}
	return "", false
}

var errCursor = resp.Err("ERR invalid cursor")

// cursorArg is argument i as a cursor.
func (c *Call) cursorArg(i int) (cursor uint64, bad *resp.Value) {
	cursor, ok := parseCursor(c.Args[i])
	if !ok {
		return 0, &errCursor
	}
	return cursor, nil
}

// parseCursor parses as string2ull of Valkey's util.c does: a negative number in its
// usual form is refused, anything else is for C's strtoull.
func parseCursor(s string) (uint64, bool) {
	s = clip(s, len(s))
	if n, ok := parseInt(s); ok {
		return uint64(n), n >= 0
	}
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	digits := s
	if s != "" && (s[0] == '-' || s[0] == '+') {
		digits = s[1:]
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if s != digits && s[0] == '-' {
		n = -n
	}
	return n, err == nil
}
