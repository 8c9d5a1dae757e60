package echomqsim_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"
	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/scripts"
	"github.com/redis/go-redis/v9"
)

// way is one of the ways to run ENQ in a test.
type way struct {
	name string
	make func(r *report, valkey string) stepENQ
}

// stepENQ runs job i, whose request is made already for those that take one: the client's own
// share is small here as it is over the network.
type stepENQ func(i uint64, request []string) error

// ways take the address of a valkey-server that has the script.
var ways = []way{
	{"echomq-sim: Do", func(r *report, _ string) stepENQ { return stepDo(r.sim()) }},
	{"echomq-sim: memory", func(r *report, _ string) stepENQ { return r.over(r.sim().Dial()) }},
	{"echomq-sim: TCP", func(r *report, _ string) stepENQ { return r.over(net.Dial("tcp", r.sim().Addr())) }},
	{"valkey-server: TCP", func(r *report, valkey string) stepENQ { return r.over(net.Dial("tcp", valkey)) }},
	{"echomq-sim: go-redis, memory", func(r *report, _ string) stepENQ {
		return r.goRedis(&redis.Options{Addr: "127.0.0.1:6379", Dialer: r.sim().DialContext})
	}},
	{"echomq-sim: go-redis, TCP", func(r *report, _ string) stepENQ {
		return r.goRedis(&redis.Options{Addr: r.sim().Addr()})
	}},
	{"miniredis: Dispatch", func(r *report, _ string) stepENQ { return stepDispatch(r.miniredis()) }},
	{"miniredis: Dial", func(r *report, _ string) stepENQ { return r.over(r.miniredis().Dial()) }},
	{"miniredis: go-redis, Dial", func(r *report, _ string) stepENQ {
		return r.goRedis(&redis.Options{Addr: "127.0.0.1:6379", Dialer: miniDialer(r.miniredis())})
	}},
}

// inProcess compares the ways to run ENQ in a test: no connection at all, the
// in-memory connection, go-redis, and servers over TCP, one command at a time.
func (r *report) inProcess() {
	server := r.startPeer(valkey)
	defer server.stop()
	server.do("SCRIPT", "LOAD", scripts.Enqueue.Source)
	var list []*variant
	for _, w := range ways {
		list = append(list, r.startVariant(w.name, server.addr))
	}
	for round := range *benchRounds + 1 {
		for _, v := range list {
			if rate := v.measure(r, *benchSlice/2); round > 0 {
				v.rate = append(v.rate, rate)
			}
		}
	}
	rates := map[string]series{}
	r.printf("\n### In process\n\nENQ, one at a time, each way in a process of its own.\n\n| path | a second | microseconds | Do / this |\n|---|---|---|---|\n")
	for _, v := range list {
		v.stop()
		rates[v.name] = v.rate
		r.printf("| %s | %s | %s | %s |\n", v.name, short(v.rate.median()), short(1e6/v.rate.median()), list[0].rate.over(v.rate))
	}
	do := rates["echomq-sim: Do"]
	r.atLeast("ENQ in process, no connection", "valkey over TCP", do.over(rates["valkey-server: TCP"]), 5)
	r.atLeast("ENQ in process, no connection", "miniredis, Dispatch", do.over(rates["miniredis: Dispatch"]), 45)
	goRedis := rates["echomq-sim: go-redis, memory"]
	r.atLeast("go-redis over memory", "go-redis over TCP", goRedis.over(rates["echomq-sim: go-redis, TCP"]), 2.5)
	r.atLeast("go-redis over memory", "go-redis on miniredis, Dial", goRedis.over(rates["miniredis: go-redis, Dial"]), 28)
}

// variantEnv makes TestBenchVariant run the way that it names; the address of a
// valkey-server follows.
const variantEnv = "ECHOMQSIM_BENCH_VARIANT"

// variant is a way in a process of its own: none pays for the garbage of another.
type variant struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	rate series // a second, round by round
}

func (r *report) startVariant(name, valkey string) *variant {
	self, err := os.Executable()
	r.check(err)
	v := &variant{name: name, cmd: exec.Command(self, "-test.run", "^TestBenchVariant$")}
	v.cmd.Env = append(os.Environ(), variantEnv+"="+name+" "+valkey)
	v.cmd.Stderr = os.Stderr
	v.in, err = v.cmd.StdinPipe()
	r.check(err)
	out, err := v.cmd.StdoutPipe()
	r.check(err)
	v.out = bufio.NewScanner(out)
	r.check(v.cmd.Start())
	r.t.Cleanup(v.stop)
	return v
}

func (v *variant) stop() {
	v.in.Close()
	for v.out.Scan() { // or else it could not end
	}
	v.cmd.Wait()
}

// measure returns the enqueues a second.
func (v *variant) measure(r *report, slice time.Duration) (rate float64) {
	fmt.Fprintln(v.in, slice)
	for v.out.Scan() {
		if n, _ := fmt.Sscanf(v.out.Text(), "rate %g", &rate); n == 1 {
			return rate
		}
		r.t.Log(v.out.Text())
	}
	r.t.Fatalf("the process of %q has ended", v.name)
	return 0
}

// TestBenchVariant is the process of a variant: it reads how long to run and writes the rate.
func TestBenchVariant(t *testing.T) {
	setting := os.Getenv(variantEnv)
	if setting == "" {
		t.Skip("TestBenchReport starts it as a process of its own")
	}
	at := strings.LastIndexByte(setting, ' ')
	i := slices.IndexFunc(ways, func(w way) bool { return w.name == setting[:at] })
	step, next := ways[i].make(&report{t: t}, setting[at+1:]), uint64(0)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		slice, err := time.ParseDuration(in.Text())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("rate %g\n", rateOf(t, step, &next, slice))
	}
}

// rateOf runs jobs for a while and returns how many a second. The time in which requests are
// made does not count.
func rateOf(t *testing.T, step stepENQ, next *uint64, slice time.Duration) float64 {
	n, took := 0, time.Duration(0)
	var requests [16][]string
	for ; took < slice; n += len(requests) {
		for k := range requests {
			requests[k] = appendEnqueue(requests[k][:0], digits(*next+uint64(k)))
		}
		begin := time.Now()
		for _, request := range requests {
			if err := step(*next, request); err != nil {
				t.Fatal(err)
			}
			*next++
		}
		took += time.Since(begin)
	}
	return float64(n) / took.Seconds()
}

// sim is a simulator that has the script.
func (r *report) sim() *echomqsim.Server { return prepared(r.t, &enqWork) }

// miniredis is one without a listener that has the script.
func (r *report) miniredis() *miniredis.Miniredis {
	m := miniredis.NewMiniRedis()
	r.t.Cleanup(m.Close)
	nc, err := m.Dial()
	r.check(err)
	r.check(prepare(nc, &enqWork))
	nc.Close()
	return m
}

func miniDialer(m *miniredis.Miniredis) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) { return m.Dial() }
}

// over enqueues over a connection, without a client library.
func (r *report) over(nc net.Conn, err error) stepENQ {
	r.check(err)
	r.t.Cleanup(func() { nc.Close() })
	p := newPipeliner(nc, &enqWork, new(nextIDs), 1)
	return func(uint64, []string) error { return p.batch() }
}

func (r *report) goRedis(options *redis.Options) stepENQ {
	c := redis.NewClient(options)
	r.t.Cleanup(func() { c.Close() })
	return func(i uint64, _ []string) error { return enqueueGoRedis(c, i) }
}

func stepDo(srv *echomqsim.Server) stepENQ {
	return func(_ uint64, request []string) error {
		if v := srv.Do(request...); v.Int != 1 {
			return fmt.Errorf("enqueue: %s", resp.Format(v))
		}
		return nil
	}
}

// stepDispatch calls miniredis without a connection, as its own direct API does.
func stepDispatch(m *miniredis.Miniredis) stepENQ {
	var out bytes.Buffer
	w := bufio.NewWriter(&out)
	p := miniserver.NewPeer(w)
	return func(_ uint64, request []string) error {
		out.Reset()
		m.Server().Dispatch(p, request)
		w.Flush()
		if out.String() != ":1\r\n" {
			return fmt.Errorf("miniredis enqueue: %q", out.String())
		}
		return nil
	}
}
