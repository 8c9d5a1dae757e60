package store

import (
	"encoding/binary"
	"fmt"
	"unsafe"
)

// packed holds fields one after the other: length of the name, length of the value (both
// as varints), name, value. Bytes that are there are never changed by add.
type packed []byte

// slot is where a field lies: its start, and those of its name and value, and its end.
type slot struct{ start, name, value, end int }

// next returns the slot that starts at pos. pos < len(p).
func (p packed) next(pos int) slot {
	at := slot{start: pos}
	var nameLen, valueLen int
	if pos+1 < len(p) && p[pos]|p[pos+1] < 0x80 {
		nameLen, valueLen, at.name = int(p[pos]), int(p[pos+1]), pos+2
	} else {
		a, i := binary.Uvarint(p[pos:])
		b, j := binary.Uvarint(p[pos+i:])
		nameLen, valueLen, at.name = int(a), int(b), pos+i+j
	}
	at.value = at.name + nameLen
	at.end = at.value + valueLen
	return at
}

func (p packed) find(name string) (slot, bool) {
	for pos := 0; pos < len(p); {
		at := p.next(pos)
		if at.value-at.name == len(name) && string(p[at.name:at.value]) == name {
			return at, true
		}
		pos = at.end
	}
	return slot{}, false
}

// text returns bytes as a string without a copy.
func (p packed) text(i, j int) string { return unsafe.String(unsafe.SliceData(p[i:j]), j-i) }

func (p packed) name(at slot) string  { return p.text(at.name, at.value) }
func (p packed) value(at slot) string { return p.text(at.value, at.end) }

// reserve makes room for n more bytes: exactly that much while the pack is small, since
// there are many small ones and most of them do not grow any more.
func (p *packed) reserve(n int) {
	if len(*p)+n <= cap(*p) {
		return
	}
	spare := 0
	if len(*p) > 512 {
		spare = len(*p) / 4
	}
	*p = append(make(packed, 0, roundUp(len(*p)+n+spare)), *p...)
}

// roundUp rounds a size up to what the allocator gives anyway.
func roundUp(n int) int { return (n + 15) &^ 15 }

func (p *packed) add(name, value string) {
	p.reserve(uvarintLen(len(name)) + uvarintLen(len(value)) + len(name) + len(value))
	b := binary.AppendUvarint(*p, uint64(len(name)))
	b = binary.AppendUvarint(b, uint64(len(value)))
	b = append(b, name...)
	*p = append(b, value...)
}

// setValue replaces the value at a slot, in place.
func (p *packed) setValue(at slot, value string) {
	if at.end-at.value == len(value) {
		copy((*p)[at.value:], value)
		return
	}
	nameLen := at.value - at.name
	name := at.start + uvarintLen(nameLen) + uvarintLen(len(value))
	end := name + nameLen + len(value)
	size := len(*p) + end - at.end
	p.reserve(end - at.end)
	old := *p
	b := old[:max(size, len(old))]
	if name < at.name { // the length takes less room, so the name comes first
		copy(b[name:], old[at.name:at.value])
	}
	copy(b[end:], old[at.end:])
	if name > at.name {
		copy(b[name:], b[at.name:at.value])
	}
	w := binary.PutUvarint(b[at.start:], uint64(nameLen))
	binary.PutUvarint(b[at.start+w:], uint64(len(value)))
	copy(b[name+nameLen:], value)
	*p = b[:size]
}

func (p *packed) cut(at slot) { *p = append((*p)[:at.start], (*p)[at.end:]...) }

func uvarintLen(n int) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

func (p packed) check(n int) error {
	seen := map[string]bool{}
	pos := 0
	for pos < len(p) {
		at := p.next(pos)
		if at.end > len(p) {
			return fmt.Errorf("hash: packed field runs over the end")
		}
		seen[string(p[at.name:at.value])] = true
		pos = at.end
		n--
	}
	if n != 0 {
		return fmt.Errorf("hash: packed count is off by %d", n)
	}
	count := 0
	for pos = 0; pos < len(p); pos = p.next(pos).end {
		count++
	}
	if count != len(seen) {
		return fmt.Errorf("hash: packed field twice")
	}
	return nil
}
