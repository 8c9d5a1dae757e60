package echomqsim_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/scripts"
)

// The report measures the simulator side by side with valkey-server and miniredis.
// All of a row's measurements are taken turn by turn (A B C A B C ...), and its ratios
// are made of neighbours, so that a machine that is faster or slower for a while does
// not favour anyone. Absolute figures say little, ratios say a lot.
var (
	benchReport = flag.Bool("bench.report", false, "measure against valkey-server and miniredis and write BENCHMARKS.md")
	benchRounds = flag.Int("bench.rounds", 9, "rounds of each measurement, after one that does not count")
	benchSlice  = flag.Duration("bench.slice", 200*time.Millisecond, "how long one measurement of one server takes")
	benchJobs   = flag.Uint64("bench.jobs", 1_000_000, "the size of a large queue")
	benchOnly   = flag.String("bench.only", "", "measure only the sections that match this regular expression, and write nothing")
)

// peerEnv makes the test binary a miniredis server at the address that it holds, so
// that miniredis is measured in a process of its own as the others are.
const peerEnv = "ECHOMQSIM_BENCH_MINIREDIS"

func TestMain(m *testing.M) {
	if addr := os.Getenv(peerEnv); addr != "" {
		serveMiniredis(addr)
		return
	}
	if setting := os.Getenv(soakEnv); setting != "" {
		soakMain(setting)
		return
	}
	m.Run()
}

// serveMiniredis serves until standard input is closed.
func serveMiniredis(addr string) {
	m := miniredis.NewMiniRedis()
	if err := m.StartAddr(addr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	io.Copy(io.Discard, os.Stdin)
	m.Close()
}

// The three that are compared, in the order of their turns.
const (
	sim = iota
	valkey
	mini
	numPeers
)

var peerNames = [...]string{"echomq-sim", "valkey-server", "miniredis"}

// report collects what is measured.
type report struct {
	t       *testing.T
	binary  string // the simulator's
	text    bytes.Buffer
	targets []string // rows of the table of targets
}

func TestBenchReport(t *testing.T) {
	if !*benchReport {
		t.Skip("takes minutes and a quiet machine: go test -run TestBenchReport -v -timeout 30m . -args -bench.report")
	}
	r := &report{t: t, binary: filepath.Join(t.TempDir(), "echomq-sim")}
	build := exec.Command("go", "build", "-o", r.binary, "./cmd/echomq-sim")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as the README installs it
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	only := regexp.MustCompile(*benchOnly)
	for _, s := range []struct {
		name string
		run  func(*report)
	}{
		{"network", (*report).network}, {"inprocess", (*report).inProcess}, {"start", (*report).start},
		{"memory", (*report).memory}, {"claim", (*report).claim}, {"positions", (*report).positions}, {"snapshot", (*report).snapshot},
	} {
		if only.MatchString(s.name) {
			begin := time.Now()
			s.run(r)
			t.Logf("%s took %v", s.name, time.Since(begin).Round(time.Second))
			runtime.GC()
		}
	}
	out := r.head() + r.text.String()
	fmt.Println(out)
	if *benchOnly == "" {
		writeBetweenMarkers(t, "BENCHMARKS.md", out)
	}
}

// head is the machine, the method and the table of targets.
func (r *report) head() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Machine: %s, %d cores, %s, %s/%s", cpuModel(), runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if date := os.Getenv("ECHOMQSIM_BENCH_DATE"); date != "" {
		fmt.Fprintf(&b, ", %s", date)
	}
	version, _ := exec.Command("valkey-server", "--version").Output()
	fmt.Fprintf(&b, ".\nAgainst: %s, miniredis %s.\n", strings.Join(strings.Fields(string(version))[:3], " "), moduleVersion("github.com/alicebob/miniredis/v2"))
	fmt.Fprintf(&b, "Made by: `go test -count=1 -run TestBenchReport -v -timeout 30m . -args -bench.report -bench.rounds %d -bench.slice %v -bench.jobs %d`.\n\n",
		*benchRounds, *benchSlice, *benchJobs)
	b.WriteString("### Targets\n\nRatios are medians of the rounds, with the lowest and the highest round.\n\n")
	b.WriteString("| | against | ratio | target | met |\n|---|---|---|---|---|\n")
	for _, row := range r.targets {
		b.WriteString(row)
	}
	return b.String()
}

func cpuModel() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	m := regexp.MustCompile(`model name\s*: (.*)`).FindSubmatch(info)
	if m == nil {
		return "unknown CPU"
	}
	return string(m[1])
}

func moduleVersion(path string) string {
	out, _ := exec.Command("go", "list", "-m", "-f", "{{.Version}}", path).Output()
	return strings.TrimSpace(string(out))
}

// writeBetweenMarkers replaces what the last report wrote.
func writeBetweenMarkers(t *testing.T, path, text string) {
	t.Helper()
	const begin, end = "<!-- report -->\n", "<!-- end of report -->\n"
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(old), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no %q ... %q", path, begin, end)
	}
	if err := os.WriteFile(path, []byte(head+begin+"\n"+text+"\n"+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

// series are one figure's values, round by round.
type series []float64

func (s series) median() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// over are the ratios of two series that were measured in turns.
func (s series) over(other series) series {
	out := make(series, min(len(s), len(other)))
	for i := range out {
		out[i] = s[i] / other[i]
	}
	return out
}

// String is the median and, in brackets, the lowest and the highest.
func (s series) String() string {
	if len(s) == 0 {
		return "-"
	}
	return fmt.Sprintf("%s [%s..%s]", short(s.median()), short(slices.Min(s)), short(slices.Max(s)))
}

// short prints about three significant digits.
func short(x float64) string {
	switch {
	case math.IsNaN(x):
		return "-"
	case x >= 1e6:
		return fmt.Sprintf("%.2fM", x/1e6)
	case x >= 1e4:
		return fmt.Sprintf("%.0fk", x/1e3)
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	case x >= 0.1:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.2g", x)
}

// atLeast and atMost enter a row into the table of targets.
func (r *report) atLeast(what, against string, ratio series, limit float64) {
	r.target(what, against, ratio, fmt.Sprintf(">= %v", limit), ratio.median() >= limit)
}

func (r *report) atMost(what, against string, ratio series, limit float64) {
	r.target(what, against, ratio, fmt.Sprintf("<= %v", limit), ratio.median() <= limit)
}

func (r *report) target(what, against string, ratio series, limit string, met bool) {
	yes := map[bool]string{true: "yes", false: "**no**"}[met]
	r.targets = append(r.targets, fmt.Sprintf("| %s | %s | %s | %s | %s |\n", what, against, ratio, limit, yes))
}

func (r *report) printf(format string, args ...any) { fmt.Fprintf(&r.text, format, args...) }

func (r *report) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// peer is a server in a process of its own.
type peer struct {
	r     *report
	name  string
	addr  string
	cmd   *exec.Cmd
	stdin io.Closer
	admin *resp.Client
	ids   nextIDs
}

// command is how a peer is started at an address.
func (r *report) command(which int, addr string) *exec.Cmd {
	switch which {
	case sim:
		return exec.Command(r.binary, "--addr", addr, "--exit-with-stdin")
	case valkey:
		_, port, _ := net.SplitHostPort(addr)
		return exec.Command("valkey-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--dir", r.t.TempDir())
	}
	self, err := os.Executable()
	r.check(err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), peerEnv+"="+addr)
	return cmd
}

// startPeer starts a server and waits for its first PONG.
func (r *report) startPeer(which int) *peer {
	r.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	r.check(err)
	p := &peer{r: r, name: peerNames[which], addr: ln.Addr().String()}
	ln.Close()
	p.cmd = r.command(which, p.addr)
	p.stdin, err = p.cmd.StdinPipe()
	r.check(err)
	r.check(p.cmd.Start())
	r.t.Cleanup(p.stop)
	for deadline := time.Now().Add(10 * time.Second); !p.answers(); {
		if time.Now().After(deadline) {
			r.t.Fatalf("%s does not answer at %s", p.name, p.addr)
		}
		<-time.After(50 * time.Microsecond)
	}
	return p
}

// answers reports whether the server listens and says PONG; miniredis listens before
// it knows its commands.
func (p *peer) answers() bool {
	if p.admin == nil {
		nc, err := net.Dial("tcp", p.addr)
		if err != nil {
			return false
		}
		p.admin = resp.NewClient(nc)
	}
	v, err := p.admin.Do("PING")
	return err == nil && v.Str == "PONG"
}

func (r *report) startAll() (peers [numPeers]*peer) {
	for i := range peers {
		peers[i] = r.startPeer(i)
	}
	return peers
}

func stopAll(peers [numPeers]*peer) {
	for _, p := range peers {
		p.stop()
	}
}

// stop ends the process. A second call does nothing.
func (p *peer) stop() {
	if p.cmd.ProcessState == nil {
		p.stdin.Close()
		p.cmd.Process.Signal(os.Interrupt) // not Kill: valkey-server ends its BGSAVE too
		p.cmd.Wait()
	}
}

func (p *peer) do(args ...string) resp.Value {
	p.r.t.Helper()
	v, err := p.admin.Do(args...)
	if err != nil || v.IsErr() {
		p.r.t.Fatalf("%s: %s: %s %v", p.name, args[0], resp.Format(v), err)
	}
	return v
}

func (p *peer) dial() net.Conn {
	nc, err := net.Dial("tcp", p.addr)
	p.r.check(err)
	return nc
}

// cpu is the time that all threads of the process have run.
func (p *peer) cpu() (total time.Duration) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	for _, f := range files {
		data, _ := os.ReadFile(f)
		ran, _, _ := strings.Cut(string(data), " ")
		ns, _ := strconv.ParseInt(ran, 10, 64)
		total += time.Duration(ns)
	}
	return total
}

// peakRSS is the most memory the process ever had, in bytes.
func (p *peer) peakRSS() float64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		p.r.t.Fatalf("no VmHWM of %s", p.name)
	}
	kb, _ := strconv.ParseFloat(string(m[1]), 64)
	return kb * 1024
}

// load is a workload on some connections to one peer.
type load struct {
	peer  *peer
	conns []*pipeliner
}

func (p *peer) load(w *workload, depth, conns int) *load {
	l := &load{peer: p}
	for range conns {
		var nc io.ReadWriteCloser = p.dial()
		if conns == 1 {
			var err error
			nc, err = blocking(nc.(*net.TCPConn))
			p.r.check(err)
		}
		l.conns = append(l.conns, newPipeliner(nc, w, &p.ids, depth))
	}
	return l
}

func (l *load) close() {
	for _, c := range l.conns {
		c.nc.Close()
	}
}

// reading is what one slice of one load gave.
type reading struct {
	rate     float64 // commands a second
	p50, p99 float64 // of a batch, in microseconds
	cpu      float64 // the server's microseconds a command
}

// slice lets all connections send batches for a while, each at least one.
func (l *load) slice(d time.Duration) reading {
	cpu, begin := l.peer.cpu(), time.Now()
	times := make([]series, len(l.conns))
	errs := make([]error, len(l.conns))
	var wg sync.WaitGroup
	for i, c := range l.conns {
		wg.Go(func() { times[i], errs[i] = c.batches(begin.Add(d)) })
	}
	wg.Wait()
	took := time.Since(begin)
	l.peer.r.check(cmp.Or(errs...))
	all := slices.Sorted(slices.Values(slices.Concat(times...)))
	n := float64(len(all) * len(l.conns[0].slots))
	return reading{
		rate: n / took.Seconds(), p50: all[len(all)/2], p99: all[len(all)*99/100],
		cpu: float64((l.peer.cpu() - cpu).Nanoseconds()) / 1e3 / n,
	}
}

// batches sends batches until a time and returns the microseconds of each.
func (p *pipeliner) batches(until time.Time) (us series, err error) {
	for last := time.Now(); err == nil && (len(us) == 0 || last.Before(until)); {
		err = p.batch()
		now := time.Now()
		us = append(us, float64(now.Sub(last).Nanoseconds())/1e3)
		last = now
	}
	return us, err
}

// readings are those of a load on each peer, round by round.
type readings [numPeers][]reading

// turns measures the loads in turns; nil ones are left out.
func (r *report) turns(loads [numPeers]*load) (all readings) {
	for round := range *benchRounds + 1 {
		for i, l := range loads {
			if l == nil {
				continue
			}
			if v := l.slice(*benchSlice); round > 0 {
				all[i] = append(all[i], v)
			}
		}
	}
	return all
}

func (rs readings) of(peer int, field func(reading) float64) (s series) {
	for _, v := range rs[peer] {
		s = append(s, field(v))
	}
	return s
}

func rate(v reading) float64 { return v.rate }
func p50(v reading) float64  { return v.p50 }
func p99(v reading) float64  { return v.p99 }
func cpu(v reading) float64  { return v.cpu }

// network are the rows in which all three are servers and the client is the same.
func (r *report) network() {
	peers := r.startAll()
	defer stopAll(peers)
	latency := ""
	r.printf("\n### Over TCP\n\nCommands a second; CPU is the server's, in microseconds a command, the median.\n\n")
	r.printf("| command | depth x conns | echomq-sim | valkey | miniredis | sim / valkey | sim / miniredis | CPU sim | CPU valkey |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, row := range []struct {
		work            *workload
		depth, conns    int
		overVal, overMi float64 // targets, 0 for none
	}{
		{&enqWork, 1, 1, 0.95, 9}, {&enqWork, 1, 50, 1.0, 10}, {&enqWork, 64, 1, 1.4, 45}, {&enqWork, 64, 50, 1.4, 45},
		{&pingWork, 64, 1, 0, 0},
		{&setWork, 1, 1, 0, 0}, {&setWork, 64, 1, 1.2, 6}, {&setWork, 64, 50, 1.2, 6},
		{&getWork, 64, 1, 0, 6}, {&getWork, 64, 50, 0, 6},
		{&hsetWork, 64, 1, 1.2, 6}, {&hsetWork, 64, 50, 1.2, 6},
		{&zaddWork, 64, 1, 1.2, 6}, {&zaddWork, 64, 50, 1.2, 6},
		{&zrbsWork, 64, 1, 1.2, 6}, {&zrbsWork, 64, 50, 1.2, 6},
	} {
		rs := r.turns(r.prepareAll(peers, row.work, row.depth, row.conns))
		s, v, m := rs.of(sim, rate), rs.of(valkey, rate), rs.of(mini, rate)
		r.printf("| %s | %d x %d | %s | %s | %s | %s | %s | %s | %s |\n", row.work.name, row.depth, row.conns,
			short(s.median()), short(v.median()), short(m.median()), s.over(v), s.over(m),
			short(rs.of(sim, cpu).median()), short(rs.of(valkey, cpu).median()))
		what := fmt.Sprintf("%s, %d x %d", row.work.name, row.depth, row.conns)
		if row.overVal > 0 {
			r.atLeast(what, "valkey", s.over(v), row.overVal)
		}
		if row.overMi > 0 {
			r.atLeast(what, "miniredis", s.over(m), row.overMi)
		}
		if row.work == &enqWork && row.depth == 64 && row.conns == 1 {
			latency = r.latency(rs)
		}
	}
	r.printf("%s", latency)
}

// latency are the times of ENQ's batches of 64 on one connection.
func (r *report) latency(rs readings) string {
	s, v := rs.of(sim, p99), rs.of(valkey, p99)
	r.atMost("p99 of an ENQ batch, 64 x 1", "valkey", s.over(v), 1.2)
	return fmt.Sprintf("\nA batch of 64 ENQ on one connection, p50 / p99 in microseconds: echomq-sim %s / %s, valkey %s / %s, miniredis %s / %s.\n",
		short(rs.of(sim, p50).median()), short(s.median()), short(rs.of(valkey, p50).median()), short(v.median()),
		short(rs.of(mini, p50).median()), short(rs.of(mini, p99).median()))
}

// prepareAll empties and fills the peers and connects to them.
func (r *report) prepareAll(peers [numPeers]*peer, w *workload, depth, conns int) (loads [numPeers]*load) {
	for i, p := range peers {
		nc := p.dial()
		r.check(prepare(nc, w))
		nc.Close()
		loads[i] = p.load(w, depth, conns)
		r.t.Cleanup(loads[i].close)
	}
	return loads
}

// start measures the time from nothing to the first PONG.
func (r *report) start() {
	var process [numPeers]series
	for round := range *benchRounds + 1 {
		for i := range numPeers {
			begin := time.Now()
			p := r.startPeer(i)
			took := time.Since(begin)
			p.stop()
			if round > 0 {
				process[i] = append(process[i], float64(took.Nanoseconds())/1e6)
			}
		}
	}
	var inProcess [2]series
	for round := range *benchRounds + 1 {
		for i, run := range []func() error{pingSim, pingMiniredis} {
			times, begin := 0, time.Now()
			for ; time.Since(begin) < *benchSlice; times++ {
				r.check(run())
			}
			if round > 0 {
				inProcess[i] = append(inProcess[i], float64(time.Since(begin).Nanoseconds())/1e3/float64(times))
			}
		}
	}
	r.printf("\n### Start to first PONG\n\n| | echomq-sim | valkey | miniredis | sim / valkey | sim / miniredis |\n|---|---|---|---|---|---|\n")
	s, v, m := process[sim], process[valkey], process[mini]
	r.row("process, ms", process, s.over(v), s.over(m))
	r.printf("| New, dial in memory, PING, Close, us | %s | - | %s | - | %s |\n", short(inProcess[0].median()),
		short(inProcess[1].median()), inProcess[0].over(inProcess[1]))
	r.atMost("process start to PONG", "valkey", s.over(v), 0.5)
	r.atMost("process start to PONG", "miniredis", s.over(m), 0.45)
	r.atMost("New, dial in memory, PING", "miniredis", inProcess[0].over(inProcess[1]), 0.4)
}

func pingSim() error {
	srv, err := echomqsim.New(echomqsim.Config{})
	if err != nil {
		return err
	}
	defer srv.Close()
	return pingOnce(srv.Dial())
}

func pingMiniredis() error {
	m := miniredis.NewMiniRedis()
	defer m.Close()
	return pingOnce(m.Dial())
}

func pingOnce(nc net.Conn, err error) error {
	if err != nil {
		return err
	}
	defer nc.Close()
	_, err = nc.Write([]byte("*1\r\n$4\r\nPING\r\n"))
	reply := make([]byte, 7)
	if err == nil {
		_, err = io.ReadFull(nc, reply)
	}
	if err == nil && string(reply) != "+PONG\r\n" {
		err = fmt.Errorf("PING: %q", reply)
	}
	return err
}

// memory fills fresh servers with jobs by ENQ. miniredis gets a tenth of them, as all
// would take it minutes; so it is compared by the bytes that each job adds.
func (r *report) memory() {
	const rounds = 3 // the figures hardly move, and a round is long
	var peak, perJob, rate [numPeers]series
	var fork series
	for range rounds {
		for i := range numPeers {
			jobs := *benchJobs
			if i == mini {
				jobs /= 10
			}
			p := r.startPeer(i)
			p.do("SCRIPT", "LOAD", scripts.Enqueue.Source)
			idle, begin := p.peakRSS(), time.Now()
			r.send(p, &enqWork, jobs)
			rate[i] = append(rate[i], float64(jobs)/time.Since(begin).Seconds())
			peak[i] = append(peak[i], p.peakRSS()/1e6)
			perJob[i] = append(perJob[i], (p.peakRSS()-idle)/float64(jobs))
			if i == valkey {
				fork = append(fork, forkMicros(p))
			}
			p.stop()
		}
	}
	r.printf("\n### Memory\n\nAfter %d jobs by ENQ, depth 64, %d rounds; miniredis has a tenth of the jobs.\n\n", *benchJobs, rounds)
	r.printf("| | echomq-sim | valkey | miniredis | sim / valkey | sim / miniredis |\n|---|---|---|---|---|---|\n")
	r.row("peak RSS, MB", peak, peak[sim].over(peak[valkey]), nil)
	r.row("bytes a job", perJob, perJob[sim].over(perJob[valkey]), perJob[sim].over(perJob[mini]))
	r.row("jobs a second while filling", rate, rate[sim].over(rate[valkey]), rate[sim].over(rate[mini]))
	r.printf("\nvalkey's fork for a BGSAVE of them stalls it for %s us.\n", fork)
	r.atMost("peak RSS after the jobs", "valkey", peak[sim].over(peak[valkey]), 0.9)
	r.atMost("peak RSS for a job", "miniredis", perJob[sim].over(perJob[mini]), 0.2)
}

// row prints a row of all three.
func (r *report) row(what string, of [numPeers]series, overValkey, overMini series) {
	r.printf("| %s | %s | %s | %s | %s | %s |\n", what, short(of[sim].median()), short(of[valkey].median()),
		short(of[mini].median()), overValkey, overMini)
}

// send runs n commands of a workload in batches of 64.
func (r *report) send(p *peer, w *workload, n uint64) {
	l := p.load(w, 64, 1)
	defer l.close()
	for range n / 64 {
		r.check(l.conns[0].batch())
	}
}

// forkMicros is how long valkey-server stands still to begin a BGSAVE.
func forkMicros(p *peer) float64 {
	p.do("BGSAVE")
	m := regexp.MustCompile(`latest_fork_usec:(\d+)`).FindStringSubmatch(p.do("INFO", "stats").Str)
	if m == nil {
		p.r.t.Fatal("no latest_fork_usec")
	}
	us, _ := strconv.ParseFloat(m[1], 64)
	return us
}

// claim measures taking from queues of growing size. All sizes are measured in
// turns, in the same servers.
func (r *report) claim() {
	peers := r.startAll()
	defer stopAll(peers)
	sizes := []uint64{*benchJobs / 1000, *benchJobs / 100, *benchJobs / 10, *benchJobs}
	for _, p := range peers {
		for _, n := range sizes {
			fillPending(r.t, p.do1, fmt.Sprint("pending:", n), 0, n)
		}
		p.ids.n.Store(*benchJobs)
	}
	r.growth(peers, sizes, "claim and push (ZPOPMIN, ZADD)", func(n uint64) *workload { return claimWork(n) })
	r.growth(peers, sizes, "ZRANGEBYSCORE -inf +inf LIMIT 0 10", func(n uint64) *workload {
		return &workload{name: "ZRANGEBYSCORE", want: "*10", args: func(string) []string {
			return []string{"ZRANGEBYSCORE", fmt.Sprint("pending:", n), "-inf", "+inf", "LIMIT", "0", "10"}
		}}
	})
	r.ranks(peers)
}

// do1 is do as a function of the shape that fillPending takes.
func (p *peer) do1(args ...string) resp.Value { return p.do(args...) }

// claimWork alternates between taking the first member and adding a fresh last one.
// A pipeliner encodes a batch in order, so counting its calls tells the two apart.
func claimWork(n uint64) *workload {
	key, calls := fmt.Sprint("pending:", n), 0
	return &workload{name: "claim", args: func(id string) []string {
		if calls++; calls%2 == 1 {
			return []string{"ZPOPMIN", key}
		}
		return []string{"ZADD", key, "0", "JOB" + id}
	}}
}

// growth is a table of one workload over queue sizes: all three with two commands in
// flight, and the two fast ones with 64.
func (r *report) growth(peers [numPeers]*peer, sizes []uint64, title string, work func(n uint64) *workload) {
	shallow, deep := make([]readings, len(sizes)), make([]readings, len(sizes))
	for round := range *benchRounds + 1 {
		for i, n := range sizes {
			a, b := r.growthSlice(peers, work(n), 2, numPeers), r.growthSlice(peers, work(n), 64, mini)
			for p := 0; p < numPeers && round > 0; p++ {
				shallow[i][p] = append(shallow[i][p], a[p]...)
				deep[i][p] = append(deep[i][p], b[p]...)
			}
		}
	}
	micros := func(v reading) float64 { return 1e6 / v.rate }
	r.printf("\n### %s\n\nMicroseconds a command, with two commands in flight and with 64.\n\n", title)
	r.printf("| members | 2: echomq-sim | valkey | miniredis | sim / valkey | miniredis / sim | 64: echomq-sim | valkey | sim / valkey |\n|---|---|---|---|---|---|---|---|---|\n")
	for i, n := range sizes {
		s, v, m := shallow[i].of(sim, micros), shallow[i].of(valkey, micros), shallow[i].of(mini, micros)
		ds, dv := deep[i].of(sim, micros), deep[i].of(valkey, micros)
		r.printf("| %d | %s | %s | %s | %s | %s | %s | %s | %s |\n", n, short(s.median()), short(v.median()), short(m.median()),
			s.over(v), m.over(s), short(ds.median()), short(dv.median()), ds.over(dv))
	}
	last := len(sizes) - 1
	first, end := deep[0].of(sim, micros), deep[last].of(sim, micros)
	r.atMost(fmt.Sprintf("%s, depth 64, %d members", title, sizes[last]), fmt.Sprint("itself at ", sizes[0]), end.over(first), 1.2)
	overMini := func(i int, least float64) {
		ratio := shallow[i].of(mini, micros).over(shallow[i].of(sim, micros))
		r.atLeast(fmt.Sprintf("%s, %d members", title, sizes[i]), "miniredis", ratio, least)
	}
	overMini(0, 12)
	overMini(last, 24_000)
}

// growthSlice is one turn of the first n peers.
func (r *report) growthSlice(peers [numPeers]*peer, w *workload, depth, n int) (rs readings) {
	for i, p := range peers[:n] {
		l := p.load(w, depth, 1)
		rs[i] = append(rs[i], l.slice(*benchSlice/2))
		l.close()
	}
	return rs
}

// ranks measures what walks by position, at the full size.
func (r *report) ranks(peers [numPeers]*peer) {
	key, n := fmt.Sprint("pending:", *benchJobs), *benchJobs
	for _, p := range peers[:mini] {
		p.do("DEL", key)
		fillPending(r.t, p.do1, key, 0, n)
	}
	r.printf("\n### By position, %d members\n\nCommands a second.\n\n| command | depth | echomq-sim | valkey | valkey / sim |\n|---|---|---|---|---|\n", n)
	rank := workload{name: "ZRANK", among: n, args: func(id string) []string { return []string{"ZRANK", key, "JOB" + id} }}
	byIndex := workload{name: "ZRANGE by index", from: n / 10, among: n - n/10, width: len(strconv.FormatUint(n-1, 10)), want: "*1",
		args: func(id string) []string { return []string{"ZRANGE", key, id, id} }} // no leading zeros: they are no index
	for _, w := range []*workload{&rank, &byIndex} {
		for _, depth := range []int{1, 64} {
			var loads [numPeers]*load
			for i := range mini {
				loads[i] = peers[i].load(w, depth, 1)
			}
			rs := r.turns(loads)
			s, v := rs.of(sim, rate), rs.of(valkey, rate)
			r.printf("| %s | %d | %s | %s | %s |\n", w.name, depth, short(s.median()), short(v.median()), v.over(s))
			r.atMost(fmt.Sprintf("time of %s at %d, depth %d", w.name, n, depth), "valkey", v.over(s), 1.2)
			loads[sim].close()
			loads[valkey].close()
		}
	}
}

// snapshot measures what only the simulator has.
func (r *report) snapshot() {
	srv := prepared(r.t, &enqWork)
	q := &queue{r: r, srv: srv}
	q.enqueue(*benchJobs)
	var take, restore series
	for range *benchRounds * 10 {
		begin := time.Now()
		snap := srv.Snapshot()
		taken := time.Now()
		srv.Restore(snap)
		take = append(take, float64(taken.Sub(begin).Nanoseconds())/1e3)
		restore = append(restore, float64(time.Since(taken).Nanoseconds())/1e3)
	}
	r.printf("\n### Snapshots of %d jobs\n\nSnapshot takes %s us, Restore %s us. The table has the times of writes after a snapshot, relative to the\n10,000 before it.\n\n",
		*benchJobs, take, restore)
	r.printf("| | us before | first 10,000 | 10,000 after 100,000 |\n|---|---|---|---|\n")
	r.atMost("us of a snapshot of the jobs", "-", take, 10)
	r.after("enqueue", q, q.enqueue)
	r.after("claim (ZPOPMIN, HSET)", q, q.claim)
}

// after times write before a snapshot, right after it, and later.
func (r *report) after(name string, q *queue, write func(n uint64)) {
	const window = 10_000
	var before, first, later series
	timed := func(to *series) {
		begin := time.Now()
		write(window)
		*to = append(*to, float64(time.Since(begin).Nanoseconds())/1e3/window)
	}
	write(9 * window)
	for range *benchRounds {
		timed(&before)
		snap := q.srv.Snapshot()
		timed(&first)
		write(9 * window)
		timed(&later)
		runtime.KeepAlive(snap)
	}
	r.printf("| %s | %s | %s | %s |\n", name, short(before.median()), first.over(before), later.over(before))
	r.atMost(name+", first 10,000 after a snapshot", "before it", first.over(before), 2.5)
	r.atMost(name+", 100,000 after a snapshot", "before it", later.over(before), 1.2)
}

// queue enqueues and claims in process.
type queue struct {
	r    *report
	srv  *echomqsim.Server
	next uint64
}

func (q *queue) enqueue(n uint64) {
	for range n {
		if v := q.srv.Do(enqueue(digits(q.next))...); v.Int != 1 {
			q.r.t.Fatalf("enqueue: %s", resp.Format(v))
		}
		q.next++
	}
}

func (q *queue) claim(n uint64) {
	for range n {
		v := q.srv.Do("ZPOPMIN", "emq:{mail}:pending")
		if len(v.Elems) == 0 {
			q.r.t.Fatalf("claim: %s", resp.Format(v))
		}
		q.srv.Do("HSET", "emq:{mail}:job:"+v.Elems[0].Str, "state", "active", "attempts", "1")
	}
}
