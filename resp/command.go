package resp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"unsafe"
)

// Sizes in bytes, and counts, that the server's protocol fixes.
const (
	maxLine            = 64 << 10 // an inline request or a length line without its end
	maxUnauthArgs      = 10
	maxUnauthBulk      = 16384
	maxUnauthBuffer    = 1 << 20
	defaultMaxBulk     = 512 << 20
	defaultMaxBuffer   = 1 << 30
	readBufferSize     = 32 << 10
	minReadRoom        = 4 << 10
	keptArgs           = 1024 // longer argument slices are not kept for reuse
	bigBulk            = 32 << 10
	bigBulkGrowth      = 4
	requestBufferLimit = math.MaxInt / 2 // keeps sums of lengths from overflowing
)

// Limits bound what a client may send. They may differ from one request to the
// next, because a client that has not logged in yet gets less.
type Limits struct {
	MaxBulk         int64 // proto-max-bulk-len, bytes; 0 means 512 MB
	MaxBuffer       int64 // client-query-buffer-limit, bytes; 0 means 1 GB
	Queued          int64 // bytes in the MULTI queue; they count as buffered
	Unauthenticated bool  // a password is due: 10 arguments of 16 KB, 1 MB in all
}

func (l Limits) maxBulk() int64 {
	if l.MaxBulk <= 0 {
		return defaultMaxBulk
	}
	return min(l.MaxBulk, requestBufferLimit)
}

func (l Limits) maxBuffer() int64 {
	if l.Unauthenticated {
		return maxUnauthBuffer
	}
	if l.MaxBuffer <= 0 {
		return defaultMaxBuffer
	}
	return l.MaxBuffer
}

// ProtocolError is a request that cannot be read on from. The reply is
// "-ERR " + Error(); then the connection is closed.
type ProtocolError struct{ Reason string }

func (e *ProtocolError) Error() string { return "Protocol error: " + e.Reason }

// ErrQueryBuffer is Fill's answer when a client has more bytes waiting than its
// limits allow. The connection is closed without a reply.
var ErrQueryBuffer = errors.New("resp: query buffer limit reached")

// CommandReader takes requests, inline or as arrays of bulk strings, out of the
// bytes of a connection as they arrive. The zero value is ready for use. While
// no byte is waiting it holds no buffer.
//
// redcon's parser is not used: it panics on some lengths, starts from the front at each call,
// and knows no limits. With every header checked before it saw it, it took 6 % of a SET's time.
type CommandReader struct {
	held   *readBuffers // nil while no byte is waiting
	buf    []byte       // bytes read; those before start are done with
	start  int          // where the request being read begins
	pos    int          // how far it has been checked
	multi  int          // its bulk strings that are still due; 0 before its header
	due    int          // bytes due at pos for a bulk string and its CRLF; 0 before its header
	inline bool         // after a line of blanks the server takes the next line as inline too
	text   string       // copy of buf[textAt:] that arguments are cut from
	textAt int
	lent   bool // requests were cut from it that Done has not been called for
	kept   bool // arguments cut from it are in use for good
	limits Limits
	err    error
}

// readBuffers is what an active CommandReader needs; idle ones share them.
type readBuffers struct {
	bytes []byte
	parts []part // of the request being read, as far as it has been checked
	args  []string
	text  []byte // the memory of CommandReader.text, if that was not too long
}

// part is a bulk string's place: the bytes from the request's start to it, and its length.
type part struct{ at, n int }

var readBufferPool = sync.Pool{New: func() any {
	return &readBuffers{bytes: make([]byte, 0, readBufferSize)}
}}

// Fill reads once from src. It returns src's error, or ErrQueryBuffer when more
// is waiting than the limits of the last Next allow.
func (r *CommandReader) Fill(src io.Reader) (int, error) {
	n, err := src.Read(r.space())
	if n > 0 {
		return n, r.added(n)
	}
	return 0, err
}

// Buffered is the number of bytes that have arrived and belong to no request
// returned so far.
func (r *CommandReader) Buffered() int { return len(r.buf) - r.start }

// Unparsed is the number of bytes that have arrived and belong to no whole argument so far.
func (r *CommandReader) Unparsed() int { return len(r.buf) - max(r.pos, r.start) }

// Held is the memory that waiting bytes take, in bytes.
func (r *CommandReader) Held() int {
	if r.Buffered() == 0 {
		return 0
	}
	held := cap(r.buf)
	if n := cap(r.held.parts); n > keptArgs {
		held += n * int(unsafe.Sizeof(part{}))
	}
	return held
}

// Next returns the next whole request; ok is false while none is there. Empty
// requests are skipped. An error is a *ProtocolError and final.
//
// The slice is valid until the next call of Next or Fill. The strings do not
// change unless Done says that they may, but each one keeps the bytes of a whole
// read alive: clone what is stored.
func (r *CommandReader) Next(limits Limits) (args []string, ok bool, err error) {
	r.limits = limits
	for r.err == nil && r.start < len(r.buf) {
		var whole bool
		if args, whole, r.err = r.next(); !whole {
			break
		}
		if len(args) > 0 {
			return args, true, nil
		}
	}
	return nil, false, r.err
}

// Rest takes the bytes that have arrived and belong to no request returned so far: they are
// of another protocol.
func (r *CommandReader) Rest() []byte {
	rest := bytes.Clone(r.buf[r.start:])
	r.start, r.pos, r.multi, r.due = len(r.buf), len(r.buf), 0, 0
	return rest
}

// Done tells that the requests returned so far are done with. Unless something keeps their
// arguments their memory is used again, for those of later reads; without Done it never is.
func (r *CommandReader) Done(keeps bool) {
	r.lent, r.kept = false, r.kept || keeps
	if raceDetector && !r.kept && r.held != nil && r.start == len(r.buf) {
		for i := range r.held.text { // tests are to notice what was kept all the same
			r.held.text[i] = '!'
		}
	}
}

// next reads one request, which has no arguments when it is an empty one.
func (r *CommandReader) next() (args []string, whole bool, err error) {
	if r.inline || r.buf[r.start] != '*' {
		return r.nextInline()
	}
	if whole, err = r.check(); !whole {
		return nil, false, err
	}
	args = r.split()
	r.start = r.pos
	return args, true, nil
}

// check goes on with the request at start and reports whether all of it is
// there. What it has seen it does not look at again. At the ends of lines it skips two
// bytes without looking, as the server does.
func (r *CommandReader) check() (whole bool, err error) {
	if r.multi == 0 {
		if ok, err := r.multibulkHeader(); !ok {
			return false, err
		}
	}
	for r.multi > 0 {
		if r.due == 0 {
			if ok, err := r.bulkHeader(); !ok {
				return false, err
			}
		}
		if len(r.buf)-r.pos < r.due {
			return false, nil
		}
		r.held.parts = append(r.held.parts, part{r.pos - r.start, r.due - 2})
		r.pos += r.due
		r.due = 0
		r.multi--
	}
	return true, nil
}

// multibulkHeader reads "*n". Requests of no or a negative number of arguments
// are complete with it.
func (r *CommandReader) multibulkHeader() (ok bool, err error) {
	r.held.parts = r.held.parts[:0]
	if n, size := shortHeader(r.buf[r.pos:], '*'); size > 0 && n <= maxUnauthArgs {
		r.pos += size
		r.multi = n
		return true, nil
	}
	line, ok := r.line()
	if !ok {
		return false, r.lineTooLong("too big mbulk count string")
	}
	n, ok := parseLength(line[1:])
	if !ok || n > math.MaxInt32 {
		return false, &ProtocolError{"invalid multibulk length"}
	}
	if n > maxUnauthArgs && r.limits.Unauthenticated {
		return false, &ProtocolError{"unauthenticated multibulk length"}
	}
	r.pos += len(line) + 2
	if n <= 0 {
		r.start = r.pos
		n = 0
	}
	r.multi = int(n)
	return true, nil
}

func (r *CommandReader) bulkHeader() (ok bool, err error) {
	if n, size := shortHeader(r.buf[r.pos:], '$'); size > 0 && int64(n) <= r.limits.maxBulk() {
		r.pos += size
		r.due = n + 2
		return true, nil
	}
	line, ok := r.line()
	if !ok {
		return false, r.lineTooLong("too big bulk count string")
	}
	if first := r.buf[r.pos]; first != '$' {
		return false, &ProtocolError{fmt.Sprintf("expected '$', got '%s'", []byte{first})}
	}
	n, ok := parseLength(line[1:])
	if !ok || n < 0 || n > r.limits.maxBulk() {
		return false, &ProtocolError{"invalid bulk length"}
	}
	if n > maxUnauthBulk && r.limits.Unauthenticated {
		return false, &ProtocolError{"unauthenticated bulk length"}
	}
	r.pos += len(line) + 2
	r.due = int(n) + 2
	return true, nil
}

// shortHeader reads a header of one to three digits that does not begin with 0, as almost
// all are. A size of 0 means that it is another one, or not all there.
func shortHeader(b []byte, sign byte) (n, size int) {
	if len(b) < 4 || b[0] != sign || b[1] == '0' {
		return 0, 0
	}
	for i, c := range b[1:min(len(b)-1, 5)] {
		switch {
		case c >= '0' && c <= '9':
			n = 10*n + int(c-'0')
		case c == '\r' && i > 0:
			return n, i + 3
		default:
			return 0, 0
		}
	}
	return 0, 0
}

// line returns the header line at pos up to its CR, once the byte after that
// is there as well.
func (r *CommandReader) line() (line []byte, ok bool) {
	rest := r.buf[r.pos:]
	end := lineEnd(rest, '\r')
	if end < 0 || end+1 == len(rest) {
		return nil, false
	}
	return rest[:end], true
}

// lineTooLong is the error for a line whose end does not come, nil while it
// still may.
func (r *CommandReader) lineTooLong(reason string) error {
	rest := r.buf[r.pos:]
	if len(rest) > maxLine && lineEnd(rest, '\r') < 0 {
		return &ProtocolError{reason}
	}
	return nil
}

// lineEnd finds end in b. As in the server a NUL byte hides what follows it.
func lineEnd(b []byte, end byte) int {
	i := bytes.IndexByte(b, end)
	if i >= 0 && bytes.IndexByte(b[:i], 0) >= 0 {
		return -1
	}
	return i
}

// parseLength reads a decimal number in its only spelling: no plus sign, no
// leading zeros.
func parseLength(b []byte) (n int64, ok bool) {
	negative := len(b) > 1 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	if len(b) == 0 || b[0] == '0' && (len(b) > 1 || negative) {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' || n > (math.MaxInt64-int64(c-'0'))/10 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

// split cuts a checked request into arguments. They are taken from one string
// per read, made when the first request of that read is complete.
func (r *CommandReader) split() []string {
	if r.start == r.pos {
		return nil
	}
	if r.pos > r.textAt+len(r.text) {
		r.setText(r.buf[r.start:])
	}
	r.lent = true
	args, text := r.held.args[:0], r.text[r.start-r.textAt:]
	for _, p := range r.held.parts {
		args = append(args, text[p.at:p.at+p.n])
	}
	r.held.args = args
	return args
}

// setText makes the text a copy of b: where the last one was, if nobody refers to that.
func (r *CommandReader) setText(b []byte) {
	r.textAt = r.start
	h := r.held
	r.leaveText()
	if len(b) > readBufferSize {
		r.text = string(b)
		return
	}
	h.text = append(h.text[:0], b...)
	r.text = unsafe.String(unsafe.SliceData(h.text), len(h.text))
}

// leaveText leaves the memory of the text to who refers to it.
func (r *CommandReader) leaveText() {
	if r.lent || r.kept {
		r.held.text = nil
		r.lent, r.kept = false, false
	}
}

func (r *CommandReader) nextInline() (args []string, whole bool, err error) {
	rest := r.buf[r.start:]
	end := lineEnd(rest, '\n')
	if end < 0 {
		if len(rest) > maxLine {
			err = &ProtocolError{"too big inline request"}
		}
		return nil, false, err
	}
	line := bytes.TrimSuffix(rest[:end], []byte{'\r'})
	args, ok := splitInline(r.held.args[:0], string(line))
	if !ok {
		return nil, false, &ProtocolError{"unbalanced quotes in request"}
	}
	r.start += end + 1
	r.pos = r.start
	r.held.args = args
	r.inline = len(args) == 0 && len(line) > 0
	return args, true, nil
}

// space returns room for the next read, at least one byte.
func (r *CommandReader) space() []byte {
	if r.held == nil {
		r.held = readBufferPool.Get().(*readBuffers)
		r.buf = r.held.bytes
	}
	if r.start == len(r.buf) {
		r.rewind()
	}
	if room := cap(r.buf) - len(r.buf); room < minReadRoom && room < r.missing() {
		r.makeRoom()
	}
	return r.buf[len(r.buf):cap(r.buf)]
}

// missing is the number of bytes the bulk string at pos still lacks, or more
// than any buffer has when that is not known.
func (r *CommandReader) missing() int {
	if n := r.due - (len(r.buf) - r.pos); n > 0 {
		return n
	}
	return math.MaxInt
}

// rewind starts the buffer anew when all of it has been used; after a large
// request the large buffer goes.
func (r *CommandReader) rewind() {
	r.buf = r.held.bytes
	r.start, r.pos = 0, 0
	r.text, r.textAt = "", 0
}

// makeRoom moves the waiting bytes to the front or to a larger buffer. It never
// takes more than four times what has arrived, whatever length a header claims,
// and copies each byte a bounded number of times.
func (r *CommandReader) makeRoom() {
	waiting := r.buf[r.start:]
	to := r.buf[:0]
	if r.start < cap(r.buf)/2 {
		size := 2 * cap(r.buf)
		if missing := r.missing(); r.due > bigBulk && missing < math.MaxInt {
			size = max(min(bigBulkGrowth*len(waiting), len(waiting)+missing), len(waiting)+minReadRoom)
		}
		to = make([]byte, 0, size)
	}
	r.buf = append(to, waiting...)
	r.textAt -= r.start
	r.pos -= r.start
	r.start = 0
}

// added takes note of n bytes read into space.
func (r *CommandReader) added(n int) error {
	r.buf = r.buf[:len(r.buf)+n]
	if int64(r.Unparsed())+r.limits.Queued > r.limits.maxBuffer() {
		return ErrQueryBuffer
	}
	return nil
}

// release gives the buffers back if no byte is waiting, so that an idle
// connection costs none.
func (r *CommandReader) release() {
	if r.held == nil || r.start < len(r.buf) {
		return
	}
	h := r.held
	r.leaveText()
	clear(h.args)
	h.args, h.parts = h.args[:0], h.parts[:0]
	if cap(h.args) > keptArgs {
		h.args, h.parts = nil, nil
	}
	r.rewind()
	r.held, r.buf = nil, nil
	readBufferPool.Put(h)
}
