package engine

// maxGlobStars is how many runs of * may have to be tried; the server gives up beyond that.
const maxGlobStars = 1000

// globMatch reports whether s matches pattern as stringmatchlen of Valkey's
// util.c does: * ? [a-z] [^a-z] \x, over bytes, with nocase in any ASCII case. Its
// time is bounded by the product of the two lengths.
func globMatch(pattern, s string, nocase bool) bool {
	p, i := 0, 0
	retry, from, stars := -1, 0, 0 // where to go on from after a mismatch
	for i < len(s) {
		if p < len(pattern) && pattern[p] == '*' {
			for p++; p < len(pattern) && pattern[p] == '*'; p++ {
			}
			if p == len(pattern) {
				return true
			}
			if stars++; stars > maxGlobStars {
				return false
			}
			retry, from = p, i
			continue
		}
		n, ok := globByte(pattern[p:], s[i], nocase)
		switch {
		case ok:
			p, i = p+n, i+1
		case retry < 0:
			return false
		default: // the last * takes one byte more
			from++
			p, i = retry, from
		}
	}
	for s != "" && p < len(pattern) && pattern[p] == '*' { // not for "": * does not match it
		p++
	}
	return p == len(pattern)
}

// globByte matches the element at the start of pattern, which is no *, with one
// byte. n is the length of the element.
func globByte(pattern string, b byte, nocase bool) (n int, ok bool) {
	if pattern == "" {
		return 0, false
	}
	switch pattern[0] {
	case '?':
		return 1, true
	case '[':
		return globClass(pattern, b, nocase)
	case '\\':
		if len(pattern) >= 2 {
			return 2, globSame(pattern[1], b, nocase)
		}
	}
	return 1, globSame(pattern[0], b, nocase)
}

func globSame(a, b byte, nocase bool) bool {
	return a == b || nocase && lower(a) == lower(b)
}

// globClass matches [...] at the start of pattern; the ] may be missing.
func globClass(pattern string, b byte, nocase bool) (n int, ok bool) {
	i := 1
	not := i < len(pattern) && pattern[i] == '^'
	if not {
		i++
	}
	for i < len(pattern) {
		switch rest := pattern[i:]; {
		case rest[0] == '\\' && len(rest) >= 2:
			ok = ok || rest[1] == b // in this case only, even with nocase
			i += 2
		case rest[0] == ']':
			return i + 1, ok != not
		case len(rest) >= 3 && rest[1] == '-':
			ok = ok || globRange(rest[0], rest[2], b, nocase)
			i += 3
		default:
			ok = ok || globSame(rest[0], b, nocase)
			i++
		}
	}
	return i, ok != not
}

// globRange reports whether b is in a range, whose ends may come in any order.
// Bytes are compared as C's signed chars: those from 0x80 stand below the others.
func globRange(from, to, b byte, nocase bool) bool {
	if int8(from) > int8(to) {
		from, to = to, from
	}
	if nocase {
		from, to, b = lower(from), lower(to), lower(b)
	}
	return int8(from) <= int8(b) && int8(b) <= int8(to)
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		b += 'a' - 'A'
	}
	return b
}
