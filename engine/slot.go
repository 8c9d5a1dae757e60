package engine

import "strings"

// slotCount is the number of hash slots that the keys of a cluster are divided among.
const slotCount = 16384

// slotOf is the slot of a key, or of the tag in braces that it holds.
func slotOf(key string) int {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	return int(crc16(key) % slotCount)
}

// patternSlot is the slot of all keys that a pattern can match, -1 if they may differ.
func patternSlot(pattern string) int {
	if i := strings.IndexAny(pattern, `*?[\`); i >= 0 {
		open := strings.IndexByte(pattern[:i], '{')
		if open < 0 {
			return -1
		}
		if end := strings.IndexByte(pattern[open:i], '}'); end < 2 {
			return -1 // no tag in front of it
		}
	}
	return slotOf(pattern)
}

// crc16 is CRC-16/XMODEM: polynomial 0x1021, initial value 0, not reflected.
func crc16(s string) (crc uint16) {
	for i := range len(s) {
		crc = crc<<8 ^ crc16Table[byte(crc>>8)^s[i]]
	}
	return crc
}

var crc16Table = func() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			carry := crc & 0x8000
			if crc <<= 1; carry != 0 {
				crc ^= 0x1021
			}
		}
		table[i] = crc
	}
	return table
}()

// slotKeys are the indexes of the arguments that decide where a request belongs: its
// keys, and the channels of sharded pub/sub.
func (s *Spec) slotKeys(args []string) []KeyRef {
	switch {
	case s.findKeys != nil:
		return s.findKeys(args)
	case s.Flags&MovableKeys != 0:
		refs, _ := s.keysOf(args)
		return refs
	case s.first == 0:
		return nil
	}
	last := s.last
	if last < 0 {
		last += len(args)
	}
	var refs []KeyRef
	for i := s.first; i <= last; i += s.step {
		if i >= len(args) {
			return nil
		}
		refs = append(refs, KeyRef{Index: i})
	}
	return refs
}
