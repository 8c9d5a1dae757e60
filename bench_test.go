package echomqsim_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/scripts"
	"github.com/redis/go-redis/v9"
)

// payload is a job's body in all measurements.
var payload = strings.Repeat("0123456789", 10)

// enqueue is the EVALSHA of @enqueue for one job.
func enqueue(id string) []string { return appendEnqueue(nil, id) }

// appendEnqueue appends that to an array that a request before it has used.
func appendEnqueue(to []string, id string) []string {
	const prefix = "emq:{mail}:job:"
	job := prefix + "JOB" + id
	return append(to, "EVALSHA", scripts.Enqueue.SHA, "2", job, "emq:{mail}:pending", job[len(prefix):], payload)
}

// workload is a stream of commands that differ in one number, given as text of one length.
type workload struct {
	name  string
	setup [][]string               // what the commands need to find
	args  func(id string) []string // one command
	among uint64                   // ids repeat from so many; 0 means that each is fresh
	from  uint64                   // the lowest id
	width int                      // digits of an id; 0 means as digits gives them
	want  string                   // the first line of every reply; empty allows any but an error
}

// rows is how many keys, fields or members the commands that need no fresh one choose from.
const rows = 10_000

var (
	enqWork  = workload{name: "ENQ", args: enqueue, want: ":1"}
	pingWork = workload{name: "PING", args: func(string) []string { return []string{"PING"} }, want: "+PONG"}
	setWork  = workload{name: "SET", among: rows, want: "+OK",
		args: func(id string) []string { return []string{"SET", "key:" + id, payload} }}
	getWork = workload{name: "GET", among: rows, want: "$100", setup: fill("SET", "key:", payload),
		args: func(id string) []string { return []string{"GET", "key:" + id} }}
	hsetWork = workload{name: "HSET", among: rows, want: ":0", setup: fill("HSET", "job:", "state", "pending", "attempts", "0", "payload", payload),
		args: func(id string) []string { return []string{"HSET", "job:" + id, "state", "active", "attempts", "1"} }}
	zaddWork = workload{name: "ZADD", among: rows, want: ":0", setup: fillSet("board", rows),
		args: func(id string) []string { return []string{"ZADD", "board", id, "m:" + scrambled(id)} }}
	zrbsWork = workload{name: "ZRANGEBYSCORE", want: "*10", setup: fillSet("due", 100),
		args: func(string) []string { return []string{"ZRANGEBYSCORE", "due", "-inf", "+inf", "LIMIT", "0", "10"} }}
)

// fill is a command for each of the rows.
func fill(name, prefix string, rest ...string) [][]string {
	cmds := make([][]string, rows)
	for i := range cmds {
		cmds[i] = append([]string{name, prefix + digits(uint64(i))}, rest...)
	}
	return cmds
}

// fillSet gives a sorted set n members.
func fillSet(key string, n int) (cmds [][]string) {
	for i := range n {
		cmds = append(cmds, []string{"ZADD", key, strconv.Itoa(i), "m:" + digits(uint64(i))})
	}
	return cmds
}

// scrambled is another of the rows: the score that a member gets has nothing to do with its old one.
func scrambled(id string) string {
	n, _ := strconv.ParseUint(id, 10, 64)
	return digits(n * 7919 % rows)
}

// idWidth is the length of a job's id without its namespace.
const idWidth = 11

// digits is how numbers stand in the commands: all of one length, so that they can be
// replaced in place.
func digits(n uint64) string {
	var b [idWidth]byte
	putDigits(b[:], n)
	return string(b[:])
}

// nextIDs numbers the commands of one server from first to last. Connections share it.
type nextIDs struct{ n atomic.Uint64 }

// id is the number that command i of a workload uses.
func (w *workload) id(i uint64) uint64 {
	if w.among > 0 {
		i = i * 6151 % w.among // prime: all of them, in no order
	}
	return w.from + i
}

// pipeliner sends a workload in batches over one connection. Its requests are
// encoded once; later only their digits change, so that it costs little itself.
type pipeliner struct {
	nc    io.ReadWriteCloser
	in    *bufio.Reader
	work  *workload
	ids   *nextIDs
	buf   []byte
	slots [][][2]int // for each command, where its digits begin and end
}

// newPipeliner encodes a batch of depth commands for nc.
func newPipeliner(nc io.ReadWriteCloser, w *workload, ids *nextIDs, depth int) *pipeliner {
	p := &pipeliner{nc: nc, in: bufio.NewReaderSize(nc, 64<<10), work: w, ids: ids}
	mark := strings.Repeat("9", cmp.Or(w.width, idWidth))
	for range depth {
		at := len(p.buf)
		p.buf = appendRequest(p.buf, w.args(mark))
		var slots [][2]int
		for at < len(p.buf) {
			i := bytes.Index(p.buf[at:], []byte(mark))
			if i < 0 {
				break
			}
			slots = append(slots, [2]int{at + i, at + i + len(mark)})
			at += i + len(mark)
		}
		p.slots = append(p.slots, slots)
	}
	return p
}

func appendRequest(b []byte, args []string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

// batch sends one batch and reads its replies.
func (p *pipeliner) batch() error {
	depth := uint64(len(p.slots))
	first := p.ids.n.Add(depth) - depth
	for i, slots := range p.slots {
		id := p.work.id(first + uint64(i))
		for _, at := range slots {
			putDigits(p.buf[at[0]:at[1]], id)
		}
	}
	if _, err := p.nc.Write(p.buf); err != nil {
		return err
	}
	for range depth {
		if err := p.reply(); err != nil {
			return err
		}
	}
	return nil
}

func putDigits(b []byte, n uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = '0' + byte(n%10)
		n /= 10
	}
}

// reply reads one RESP2 reply and checks its first line.
func (p *pipeliner) reply() error {
	for left, first := 1, true; left > 0; left, first = left-1, false {
		line, err := p.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = line[:len(line)-2]
		if line[0] == '-' || first && p.work.want != "" && string(line) != p.work.want {
			return fmt.Errorf("%s: reply %q, want %q", p.work.name, line, p.work.want)
		}
		if line[0] != '$' && line[0] != '*' {
			continue
		}
		n, err := strconv.Atoi(string(line[1:]))
		if err != nil {
			return err
		}
		if line[0] == '*' {
			left += max(n, 0)
		} else if n >= 0 {
			p.in.Discard(n + 2)
		}
	}
	return nil
}

// prepare empties a server and makes what a workload needs.
func prepare(nc net.Conn, w *workload) error {
	cmds := append([][]string{{"FLUSHALL"}, {"SCRIPT", "LOAD", scripts.Enqueue.Source}}, w.setup...)
	c := resp.NewClient(nc)
	for len(cmds) > 0 {
		part := cmds[:min(len(cmds), 100)]
		cmds = cmds[len(part):]
		for _, args := range part {
			if err := c.Send(args...); err != nil {
				return err
			}
		}
		if err := c.Flush(); err != nil {
			return err
		}
		for range part {
			if v, err := c.Receive(); err != nil || v.IsErr() {
				return fmt.Errorf("%s: %s %v", w.name, resp.Format(v), err)
			}
		}
	}
	return nil
}

// BenchmarkCommand is the whole path of a command: path=do is in process, path=pipe the
// in-memory connection, path=tcp the loopback; depth is the pipeline's.
func BenchmarkCommand(b *testing.B) {
	for _, w := range []*workload{&enqWork, &pingWork, &setWork, &getWork, &hsetWork, &zaddWork, &zrbsWork} {
		b.Run("cmd="+w.name+"/path=do", func(b *testing.B) { benchDo(b, w) })
		for _, path := range []string{"pipe", "tcp"} {
			for _, depth := range []int{1, 64} {
				b.Run(fmt.Sprintf("cmd=%s/path=%s/depth=%d", w.name, path, depth), func(b *testing.B) { benchConn(b, w, path, depth) })
			}
		}
	}
	for _, path := range []string{"pipe", "tcp"} {
		b.Run("cmd=ENQ/path="+path+"/client=go-redis", func(b *testing.B) { benchGoRedis(b, path) })
	}
}

// dialPath connects to srv by memory or by TCP.
func dialPath(b testing.TB, srv *echomqsim.Server, path string) net.Conn {
	b.Helper()
	dial := srv.Dial
	if path == "tcp" {
		dial = func() (net.Conn, error) { return net.Dial("tcp", srv.Addr()) }
	}
	nc, err := dial()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { nc.Close() })
	return nc
}

// prepared is a server that holds what w needs.
func prepared(b testing.TB, w *workload) *echomqsim.Server {
	b.Helper()
	srv := echomqsim.RunT(b, echomqsim.Config{})
	if err := prepare(dialPath(b, srv, "pipe"), w); err != nil {
		b.Fatal(err)
	}
	return srv
}

func benchDo(b *testing.B, w *workload) {
	srv := prepared(b, w)
	b.ReportAllocs()
	i := uint64(0)
	for b.Loop() {
		if v := srv.Do(w.args(digits(w.id(i)))...); v.IsErr() {
			b.Fatal(v.Str)
		}
		i++
	}
}

// benchConn reports times and allocations for each command, not for each batch.
func benchConn(b *testing.B, w *workload, path string, depth int) {
	srv := prepared(b, w)
	p := newPipeliner(dialPath(b, srv, path), w, new(nextIDs), depth)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += depth {
		if err := p.batch(); err != nil {
			b.Fatal(err)
		}
	}
}

func benchGoRedis(b *testing.B, path string) {
	srv := prepared(b, &enqWork)
	opts := redis.Options{}
	c := goRedis(b, srv, opts)
	if path == "tcp" {
		c = redis.NewClient(&redis.Options{Addr: srv.Addr()})
		defer c.Close()
	}
	b.ReportAllocs()
	i := uint64(0)
	for b.Loop() {
		if err := enqueueGoRedis(c, i); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func enqueueGoRedis(c *redis.Client, i uint64) error {
	id := digits(i)
	keys := []string{"emq:{mail}:job:JOB" + id, "emq:{mail}:pending"}
	n, err := c.EvalSha(context.Background(), scripts.Enqueue.SHA, keys, "JOB"+id, payload).Int()
	if err == nil && n != 1 {
		err = fmt.Errorf("enqueue %s: %d", id, n)
	}
	return err
}

// The rest are gates: what the design promises in numbers that no machine changes.

// exact skips a gate where the race detector adds allocations of its own.
func exact(t *testing.T) {
	t.Helper()
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if s.Key == "-race" && s.Value == "true" {
			t.Skip("the race detector changes what is allocated")
		}
	}
}

// TestAllocationsPerCommand holds each path to its allocations: from the parser to
// the written reply over a connection, and from the call to the value in process.
// What the command makes the store keep is part of it.
func TestAllocationsPerCommand(t *testing.T) {
	exact(t)
	for _, g := range []struct {
		work *workload
		conn float64 // a command in a batch of 64, the read's shared cost included
		do   float64 // a command in process, its arguments made beforehand
	}{
		{&enqWork, 14.1, 14},
		{&pingWork, 0.1, 0},
		{&setWork, 2.9, 3},
		{&getWork, 0.1, 0},
		{&hsetWork, 0.9, 1},
		{&zaddWork, 0.1, 0},
		{&zrbsWork, 1.1, 1},
	} {
		t.Run(g.work.name, func(t *testing.T) {
			if n := allocsConn(t, g.work); n > g.conn {
				t.Errorf("%.2f allocations a command over a connection, want at most %v", n, g.conn)
			} else {
				t.Logf("%.2f allocations a command over a connection", n)
			}
			if n := allocsDo(t, g.work); n > g.do {
				t.Errorf("%.2f allocations a command in process, want at most %v", n, g.do)
			} else {
				t.Logf("%.2f allocations a command in process", n)
			}
		})
	}
}

func allocsConn(t *testing.T, w *workload) float64 {
	const depth = 64
	srv := prepared(t, w)
	p := newPipeliner(dialPath(t, srv, "pipe"), w, new(nextIDs), depth)
	return testing.AllocsPerRun(200, func() {
		if err := p.batch(); err != nil {
			t.Fatal(err)
		}
	}) / depth
}

func allocsDo(t *testing.T, w *workload) float64 {
	srv := prepared(t, w)
	const runs = 5000
	cmds := make([][]string, 0, runs+1)
	for i := range uint64(runs + 1) {
		cmds = append(cmds, w.args(digits(w.id(i))))
	}
	i := 0
	return testing.AllocsPerRun(runs, func() {
		if v := srv.Do(cmds[i]...); v.IsErr() {
			t.Fatal(v.Str)
		}
		i++
	})
}

// TestLiveBytesPerJob bounds what a queued job holds: its row, its place in the
// pending set and their share of the trees.
func TestLiveBytesPerJob(t *testing.T) {
	exact(t)
	const jobs, most = 200_000, 350
	srv := prepared(t, &enqWork)
	srv.Do(enqueue(digits(jobs))...) // compiles the script
	before := liveHeap()
	for i := range uint64(jobs) {
		if v := srv.Do(enqueue(digits(i))...); v.Int != 1 {
			t.Fatal(resp.Format(v))
		}
	}
	perJob := float64(liveHeap()-before) / jobs
	if perJob > most {
		t.Errorf("%.0f bytes a job, want at most %d", perJob, most)
	}
	t.Logf("%.0f bytes a job", perJob)
	want(t, srv.Do("ZCARD", "emq:{mail}:pending"), fmt.Sprint(":", jobs+1))
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // what the first one's finalizers let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestClaimsDoNotGrow compares taking the first of 100,000 with taking the first of
// 1,000. Anything that looks at every member would differ a hundredfold.
func TestClaimsDoNotGrow(t *testing.T) {
	srv := echomqsim.RunT(t, echomqsim.Config{})
	for _, n := range []uint64{1_000, 100_000} {
		fillPending(t, srv.Do, fmt.Sprint("pending:", n), 0, n)
	}
	small, large := time.Hour, time.Hour
	for range 20 { // the fastest of many is what the work itself takes
		small = min(small, claimAndPush(srv, "pending:1000"))
		large = min(large, claimAndPush(srv, "pending:100000"))
	}
	if large > 8*small {
		t.Errorf("100 claims take %v of 100,000 members and %v of 1,000", large, small)
	}
	t.Logf("100 claims take %v of 100,000 members and %v of 1,000", large, small)
}

// fillPending adds the members first to first+n-1, all at score 0.
func fillPending(t testing.TB, do func(args ...string) resp.Value, key string, first, n uint64) {
	t.Helper()
	for i := uint64(0); i < n; {
		cmd := []string{"ZADD", key}
		for ; len(cmd) < 2000 && i < n; i++ {
			cmd = append(cmd, "0", "JOB"+digits(first+i))
		}
		if v := do(cmd...); v.IsErr() {
			t.Fatal(v.Str)
		}
	}
}

// claimAndPush takes the first member and puts it back, a hundred times.
func claimAndPush(srv *echomqsim.Server, key string) time.Duration {
	begin := time.Now()
	for range 100 {
		v := srv.Do("ZPOPMIN", key)
		srv.Do("ZADD", key, "0", v.Elems[0].Str)
	}
	return time.Since(begin)
}

// TestSnapshotAllocatesTheSame checks that neither Snapshot nor Restore copies data.
func TestSnapshotAllocatesTheSame(t *testing.T) {
	var snaps, restores []float64
	for _, n := range []uint64{5_000, 50_000} {
		srv := echomqsim.RunT(t, echomqsim.Config{})
		fillPending(t, srv.Do, "pending", 0, n)
		for i := range n {
			srv.Do("SET", "key:"+digits(i), payload)
		}
		fixture := srv.Snapshot()
		snaps = append(snaps, testing.AllocsPerRun(20, func() { srv.Snapshot() }))
		restores = append(restores, testing.AllocsPerRun(20, func() { srv.Restore(fixture) }))
	}
	if snaps[0] != snaps[1] || restores[0] != restores[1] {
		t.Errorf("allocations of small and large: Snapshot %v, Restore %v", snaps, restores)
	}
	t.Logf("allocations of small and large: Snapshot %v, Restore %v", snaps, restores)
}
