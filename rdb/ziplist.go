package rdb

import "strconv"

// The compact encodings of older servers, and the intset. None of them is written any
// more but the latter.

// A ziplist is its size (4 bytes), the offset of its last entry (4 bytes), its number of
// entries (2 bytes, all ones if that is too many), the entries, and an end byte. An entry
// is the size of the one before (1 byte, or 5 that begin with ziplistFar), an encoding of
// 1, 2 or 5 bytes, and the value.
const (
	ziplistHeader = 10
	ziplistEnd    = 0xff
	ziplistFar    = 0xfe
)

// ziplistStrings reads all entries of a ziplist.
func ziplistStrings(s string) (all []string, ok bool) {
	if len(s) < ziplistHeader+1 || littleEndian(s[:4]) != uint64(len(s)) || s[len(s)-1] != ziplistEnd {
		return nil, false
	}
	end := len(s) - 1
	at, before, last := ziplistHeader, 0, -1
	for at < end && s[at] != ziplistEnd {
		prev, prevSize := ziplistPrev(s[at:end])
		if prevSize == 0 || prev != before {
			return nil, false
		}
		elem, size := ziplistValue(s[at+prevSize : end])
		if size == 0 {
			return nil, false
		}
		all = append(all, elem)
		last, before = at, prevSize+size
		at += before
	}
	tail, claimed := littleEndian(s[4:8]), int(littleEndian(s[8:10]))
	switch {
	case at != end,
		last >= 0 && tail != uint64(last),
		tail > uint64(end),
		claimed != manyEntries && claimed != len(all):
		return nil, false
	}
	return all, true
}

// ziplistPrev reads the size of the entry before; size is how many bytes that takes.
func ziplistPrev(s string) (prev, size int) {
	switch {
	case s[0] < ziplistFar:
		return int(s[0]), 1
	case len(s) >= 5:
		return int(min(littleEndian(s[1:5]), 1<<31-1)), 5
	}
	return 0, 0
}

// ziplistValue reads encoding and value of an entry; size is how many bytes these are, 0
// if they are broken.
func ziplistValue(s string) (elem string, size int) {
	if s == "" {
		return "", 0
	}
	head, length := 1, uint64(0)
	switch first := s[0]; {
	case first < 0x40:
		length = uint64(first & 0x3f)
	case first < 0x80 && len(s) > 1:
		head, length = 2, uint64(first&0x3f)<<8|uint64(s[1])
	case first == 0x80 && len(s) > 4:
		head, length = 5, bigEndian(s[1:5])
	default:
		return ziplistInt(s)
	}
	if length > uint64(len(s)-head) {
		return "", 0
	}
	end := head + int(length)
	return s[head:end], end
}

// ziplistInt reads an integer.
func ziplistInt(s string) (elem string, size int) {
	bytes := 0
	switch first := s[0]; {
	case first == 0xfe:
		bytes = 1
	case first == 0xc0:
		bytes = 2
	case first == 0xf0:
		bytes = 3
	case first == 0xd0:
		bytes = 4
	case first == 0xe0:
		bytes = 8
	case first >= 0xf1 && first <= 0xfd:
		return strconv.Itoa(int(first&0x0f) - 1), 1
	default:
		return "", 0
	}
	if len(s) < 1+bytes {
		return "", 0
	}
	n := signed(littleEndian(s[1:1+bytes]), 8*bytes)
	return strconv.FormatInt(n, 10), 1 + bytes
}

// A zipmap is its number of fields (1 byte, zipmapMany or more if that is too many), the
// fields, and an end byte. A field is a length, its name, a length, a byte that tells how
// many unused bytes follow the value, the value, and these. A length is 1 byte, or 5 that
// begin with zipmapFar.
const (
	zipmapMany = 254
	zipmapFar  = 254
	zipmapEnd  = 0xff
)

// zipmapStrings reads the fields and values of a zipmap.
func zipmapStrings(s string) (all []string, ok bool) {
	if len(s) < 2 || s[len(s)-1] != zipmapEnd {
		return nil, false
	}
	in := reader{s: s[:len(s)-1], at: 1}
	length := func() uint64 {
		n := in.byte()
		switch {
		case n < zipmapFar:
			return uint64(n)
		case n == zipmapFar:
			return littleEndian(in.take(4))
		}
		in.fail("end within a zipmap")
		return 0
	}
	for in.err == nil && in.left() > 0 && in.s[in.at] != zipmapEnd {
		name := in.take(length())
		n := length()
		free := in.byte()
		value := in.take(n)
		in.take(uint64(free))
		all = append(all, name, value)
	}
	if in.err != nil || in.left() > 0 || s[0] < zipmapMany && int(s[0]) != len(all)/2 {
		return nil, false
	}
	return all, true
}

// An intset is the size of its integers (4 bytes), their number (4 bytes), and the
// integers, in order.
const intsetHeader = 8

// intsetStrings reads the members of an intset.
func intsetStrings(s string) (all []string, ok bool) {
	if len(s) < intsetHeader {
		return nil, false
	}
	size, n := littleEndian(s[:4]), littleEndian(s[4:8])
	if size != 2 && size != 4 && size != 8 || uint64(len(s)) != intsetHeader+n*size {
		return nil, false
	}
	var last int64
	for at := intsetHeader; at < len(s); at += int(size) {
		v := signed(littleEndian(s[at:at+int(size)]), int(8*size))
		if at > intsetHeader && v <= last {
			return nil, false
		}
		all, last = append(all, strconv.FormatInt(v, 10)), v
	}
	return all, true
}

// intsetText is the intset of integers in order, of so many bytes each.
func intsetText(members []int64, size int) string {
	b := make([]byte, 0, intsetHeader+size*len(members))
	number := func(n int64, size int) {
		for i := range size {
			b = append(b, byte(n>>(8*i)))
		}
	}
	number(int64(size), 4)
	number(int64(len(members)), 4)
	for _, n := range members {
		number(n, size)
	}
	return string(b)
}
