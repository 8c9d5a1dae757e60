package resp

// Ahead sets keys to the second words of the requests that follow the one that Next has
// returned, as far as they are there, and returns how many it has set. They are valid until
// the next call of Next. It ends at a request that is not plain, and finds no faults: those
// are Next's.
func (r *CommandReader) Ahead(keys []string) (n int) {
	for at := r.start; n < len(keys); n++ {
		end, key, size := r.plain(at)
		if end == 0 {
			break
		}
		keys[n] = r.text[key-r.textAt:][:size]
		at = end
	}
	return n
}

// plain returns where the request at a position of buf ends, and the place of its second
// word, if all of it is there, and in the text, and its headers are short.
func (r *CommandReader) plain(at int) (end, key, size int) {
	buf := r.buf[:min(len(r.buf), r.textAt+len(r.text))]
	words, header := shortHeader(buf[min(at, len(buf)):], '*')
	if header == 0 || words < 2 {
		return 0, 0, 0
	}
	at += header
	for i := range words {
		length, header := shortHeader(buf[min(at, len(buf)):], '$')
		if at += header; header == 0 || at+length+2 > len(buf) {
			return 0, 0, 0
		}
		if i == 1 {
			key, size = at, length
		}
		at += length + 2
	}
	return at, key, size
}
