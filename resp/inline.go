package resp

// SplitWords splits a line into words as an inline request is split, quotes and
// escapes included; false when a quote is left open or does not end its word.
func SplitWords(line string) (words []string, ok bool) { return splitInline(nil, line) }

// splitInline appends the words of an inline request to args. Words may hold
// quoted parts: "..." with \n \r \t \b \a \xHH and \c for any other c, or '...'
// with \' only. A closing quote must end its word. ok is false otherwise.
func splitInline(args []string, line string) (words []string, ok bool) {
	for i := 0; ; {
		for i < len(line) && isSpace(line[i]) {
			i++
		}
		if i == len(line) {
			return args, true
		}
		var word []byte
		if word, i = inlineWord(line, i); i < 0 {
			return nil, false
		}
		args = append(args, string(word))
	}
}

// inlineWord reads the word at i and returns the index after it, -1 when its
// quotes are wrong.
func inlineWord(line string, i int) (word []byte, next int) {
	for ; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\n', '\r', '\t': // not \v and \f, though they separate words
			return word, i
		case '"', '\'':
			if c == '"' {
				word, i = doubleQuoted(word, line, i+1)
			} else {
				word, i = singleQuoted(word, line, i+1)
			}
			if i > len(line) || i < len(line) && !isSpace(line[i]) {
				return nil, -1
			}
			return word, i
		default:
			word = append(word, c)
		}
	}
	return word, i
}

// doubleQuoted reads up to the closing quote and returns the index after it,
// which is beyond the end of the line if there is none.
func doubleQuoted(word []byte, line string, i int) ([]byte, int) {
	for i < len(line) && line[i] != '"' {
		if line[i] != '\\' || i+1 == len(line) {
			word = append(word, line[i])
			i++
			continue
		}
		if hex, ok := hexEscape(line[i+1:]); ok {
			word = append(word, hex)
			i += 4
			continue
		}
		word = append(word, unescape(line[i+1]))
		i += 2
	}
	return word, i + 1
}

func singleQuoted(word []byte, line string, i int) ([]byte, int) {
	for i < len(line) && line[i] != '\'' {
		if line[i] == '\\' && i+1 < len(line) && line[i+1] == '\'' {
			i++
		}
		word = append(word, line[i])
		i++
	}
	return word, i + 1
}

// hexEscape reads the "xHH" of a \xHH.
func hexEscape(s string) (b byte, ok bool) {
	if len(s) < 3 || s[0] != 'x' {
		return 0, false
	}
	hi, ok1 := hexDigit(s[1])
	lo, ok2 := hexDigit(s[2])
	return hi<<4 | lo, ok1 && ok2
}

func hexDigit(c byte) (n byte, ok bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
