package echomqsim_test

import (
	"io"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/resp"
)

// fuzzWords are the arguments that a fuzzed request is made of, behind a command's name.
var fuzzWords = []string{
	"k", "l", "z", "h", "s", "x", "{t}a", "{t}b", "f", "m", "", "0", "1", "-1", "2", "3", "1.5", "inf", "-inf", "nan", "(1", "[a", "-", "+", "$", "*",
	"100", "65536", "1048577", "9223372036854775807", "-9223372036854775808", "0-1", "5-0", "a b\r\n", "\x00\xff", "ch", "ch*",
	"on", "off", "yes", "no", "EX", "PX", "NX", "XX", "GT", "LT", "CH", "INCR", "GET", "KEEPTTL", "COUNT", "MATCH", "LIMIT", "BY", "STORE",
	"WITHSCORES", "REV", "BYSCORE", "BYLEX", "BLOCK", "STREAMS", "GROUP", "CREATE", "MKSTREAM", "MAXLEN", "~", "LEFT", "RIGHT", "MIN", "MAX",
	"BEFORE", "AFTER", "WEIGHTS", "AGGREGATE", "SUM", "FIELDS", "TYPE", "REPLACE", "DB", "OPTIN", "BCAST", "PREFIX", "NOLOOP", "REDIRECT",
	"return redis.call('SET', KEYS[1], ARGV[1])", "return {1, 'a', redis.status_reply('x'), false}", "redis.setresp(3) return {double=1.5}",
	"return redis.pcall(unpack(ARGV))", "error({err='E x'})", "return (", "#!lua name=lib\nredis.register_function('fn', function(k, a) return a end)",
	"fn", "u8", "i16", "#1", "OVERFLOW", "SAT", "m", "km", "FROMLONLAT", "BYRADIUS", "ASC", "~*", "+@all", "-@write", ">pw", "default", "user",
	"maxmemory", "maxmemory-policy", "timeout", "notify-keyspace-events", "KEA", "tracking", "id", "all", "server", "latency", "ON", "NOSAVE",
}

// fuzzFrame reads a request out of a fuzzer's bytes: how many words and which. It returns
// what is left of them.
func fuzzFrame(names []string, in []byte) (frame string, rest []byte) {
	if len(in) < 2 {
		return "", nil
	}
	args := strings.Split(names[(int(in[0])<<8|int(in[1]))%len(names)], "|")
	in = in[2:]
	if len(in) > 0 {
		n := min(int(in[0]%12), len(in)-1)
		for _, b := range in[1 : 1+n] {
			args = append(args, fuzzWords[int(b)%len(fuzzWords)])
		}
		in = in[1+n:]
	}
	var b strings.Builder
	b.WriteString("*" + strconv.Itoa(len(args)) + "\r\n")
	for _, arg := range args {
		b.WriteString("$" + strconv.Itoa(len(arg)) + "\r\n" + arg + "\r\n")
	}
	return b.String(), in
}

// fuzzRun is one server and the connections that a fuzzer's bytes drive.
type fuzzRun struct {
	t     *testing.T
	srv   *echomqsim.Server
	names []string
	conns [3]net.Conn
	now   int // the connection that is written to
	piece int // bytes in one Write; 0 is all of them
}

// step does what the next bytes say.
func (r *fuzzRun) step(in []byte) []byte {
	op, rest := in[0], in[1:]
	switch op % 16 {
	case 0:
		n := min(len(rest), int(op/16)*4)
		r.write(rest[:n])
		return rest[n:]
	case 1:
		r.now = int(op/16) % len(r.conns)
	case 2:
		r.piece = int(op / 16)
	case 3:
		r.closeWrite(r.conns[r.now])
	case 4:
		r.conns[r.now].Close()
		r.conns[r.now] = r.dial(op >= 128)
	case 5:
		r.srv.Advance(time.Millisecond << (op / 16))
	case 6:
		n := min(len(rest), int(op/16))
		r.write([]byte(strings.Repeat(string(rest[:n])+"\r\n", 3)))
		return rest[n:]
	default:
		frame, rest := fuzzFrame(r.names, rest)
		r.write([]byte(frame))
		return rest
	}
	return rest
}

func (r *fuzzRun) dial(tcp bool) net.Conn {
	nc, err := r.srv.Dial()
	if tcp && err == nil {
		nc.Close()
		nc, err = net.Dial("tcp", r.srv.Addr())
	}
	if err != nil { // a SHUTDOWN was among the requests
		nc, _ = net.Pipe()
		nc.Close()
		return nc
	}
	nc.SetDeadline(time.Now().Add(fuzzPatience))
	return nc
}

// fuzzPatience is how long the server may leave a client alone before it counts as hung.
const fuzzPatience = 30 * time.Second

func (r *fuzzRun) write(b []byte) {
	for len(b) > 0 {
		n := len(b)
		if r.piece > 0 {
			n = min(n, r.piece)
		}
		if _, err := r.conns[r.now].Write(b[:n]); err != nil {
			r.mayEnd(err)
			return
		}
		b = b[n:]
	}
}

// mayEnd lets any end of a connection pass but its deadline.
func (r *fuzzRun) mayEnd(err error) {
	if nerr, ok := err.(net.Error); ok && nerr.Timeout() {
		r.t.Fatalf("the server hangs: %v", err)
	}
}

func (r *fuzzRun) closeWrite(nc net.Conn) {
	if half, ok := nc.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
	}
}

// end hangs up halfway on every connection and waits for the server's end of it.
func (r *fuzzRun) end() {
	for _, nc := range r.conns {
		r.closeWrite(nc)
	}
	for _, nc := range r.conns {
		if _, err := io.Copy(io.Discard, nc); err != nil {
			r.mayEnd(err)
		}
		nc.Close()
	}
}

// fuzzed counts the runs of this process, to look for growth now and then.
var fuzzed struct {
	runs, goroutines int
	heap             uint64
}

func lookForGrowth(t *testing.T) {
	fuzzed.runs++
	if fuzzed.runs%5000 != 0 {
		return
	}
	heap, goroutines := liveHeap(), runtime.NumGoroutine()
	if fuzzed.runs == 5000 { // the fuzzer has what it needs itself by now
		fuzzed.heap, fuzzed.goroutines = heap, goroutines
	}
	if heap > fuzzed.heap+32<<20 || goroutines > fuzzed.goroutines+20 {
		t.Fatalf("after %d runs: heap %d, was %d; goroutines %d, were %d", fuzzed.runs, heap, fuzzed.heap, goroutines, fuzzed.goroutines)
	}
}

// FuzzConn drives connections in memory and over TCP: whole requests of every command,
// loose bytes, writes in pieces, half-closed and lost connections, time that moves. No
// input may crash the server, leave a client without its end, break the keyspace or leave
// something behind. All of it is
//
//	go test -run '^$' -fuzz '^FuzzConn$' -fuzztime 10m -fuzzminimizetime 100x .
func FuzzConn(f *testing.F) {
	cfg := echomqsim.Config{Clock: echomqsim.Manual(time.Time{})}
	srv, err := echomqsim.New(cfg)
	if err != nil {
		f.Fatal(err)
	}
	names := commandNames(srv.Do("COMMAND"))
	srv.Close()
	for i := range len(names) { // each command once bare, and once with some words
		f.Add([]byte{7, byte(i >> 8), byte(i), 0, 7, byte(i >> 8), byte(i), 3, 0, 11, byte(i), 0x33, 6, 'P', 'I', 'N', 'G'})
	}
	f.Add([]byte("\x00*1\r\n$4\r\nPING\r\n\x40*3\r\n$-1\r\n\x12\x11\x40*1\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		srv, err := echomqsim.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		srv.Do("CONFIG", "SET", "proto-max-bulk-len", "1mb") // strings and bitmaps stay small
		r := &fuzzRun{t: t, srv: srv, names: names}
		if len(in) > 0 && in[0] >= 128 {
			if err := srv.Start(); err != nil {
				t.Fatal(err)
			}
		}
		for i := range r.conns {
			r.conns[i] = r.dial(i == 0 && srv.Addr() != "")
		}
		for len(in) > 0 {
			in = r.step(in)
		}
		r.end()
		if err := srv.Check(); err != nil {
			t.Fatal(err)
		}
		srv.Close()
		lookForGrowth(t)
	})
}

// commandNames are the commands and subcommands in a reply of COMMAND; subcommands are
// spelled container|name.
func commandNames(commands resp.Value) (names []string) {
	for _, v := range commands.Elems {
		names = append(names, v.Elems[0].Str)
		names = append(names, commandNames(v.Elems[9])...)
	}
	slices.Sort(names) // COMMAND has them in the order of a hash table
	return names
}
