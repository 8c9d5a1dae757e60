package echomqsim_test

import (
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/resp"
)

// Transcripts are the manual of what every command answers: requests with the
// answers that a real server gave. The lines of a file are
//
//	# a comment
//	> SET k v          a request; "2> GET k" is one of a second client
//	+OK                its answer to a RESP3 client, in the notation of resp.Format
//	=resp2             what follows is the answer to a RESP2 client, where it differs
//	% unordered        the next answer is compared as a set
//	% any              of the next answer only the kind is compared
//
// Every file runs on an empty server. With ECHOMQSIM_ORACLE=host:port,
// go test -run TestTranscripts -update has that server write the answers. Those in
// testdata/cluster are a cluster's: of a server with cluster-enabled that has all slots,
// at ECHOMQSIM_ORACLE_CLUSTER.
var update = flag.Bool("update", false, "record the transcripts' answers from $ECHOMQSIM_ORACLE")

// step is one request of a transcript and its answers.
type step struct {
	before []string // comments and blank lines ahead of it, for rewriting
	mode   string   // "", "unordered" or "any"
	client int
	line   string // the request as written
	args   []string
	want   [4]string // by protocol: 2 and 3
}

// doer runs a command and gives its reply.
type doer func(args ...string) (resp.Value, error)

// transcriptOracles are the directories of transcripts, with what names the server that
// recorded them.
var transcriptOracles = [][2]string{{"testdata/oracle", "ECHOMQSIM_ORACLE"}, {"testdata/cluster", "ECHOMQSIM_ORACLE_CLUSTER"},
	{"testdata/sim", ""}}

func TestTranscripts(t *testing.T) {
	for _, d := range transcriptOracles {
		dir, oracle := d[0], d[1]
		cfg := echomqsim.Config{EnableDebug: "yes", Cluster: dir == "testdata/cluster"}
		for _, path := range transcripts(t, dir) {
			name, _ := filepath.Rel("testdata", path)
			t.Run(strings.TrimSuffix(name, ".txt"), func(t *testing.T) {
				steps, tail := parseTranscript(t, path)
				if *update && oracle != "" {
					record(t, oracle, path, steps, tail)
				}
				replay(t, steps, cfg, oracle == "")
			})
		}
	}
}

func transcripts(t *testing.T, dir string) (paths []string) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".txt") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return paths
}

// replay runs the steps over every transport and protocol on a fresh server each.
// Time stands still for transcripts that no server recorded.
func replay(t *testing.T, steps []step, config echomqsim.Config, frozen bool) {
	cfg := func() echomqsim.Config {
		cfg := config
		if frozen {
			cfg.Clock = echomqsim.Manual(time.Time{})
		}
		return cfg
	}
	t.Run("do", func(t *testing.T) {
		srv := echomqsim.RunT(t, cfg())
		check(t, steps, 3, func(int) doer {
			c := srv.NewClient()
			return func(args ...string) (resp.Value, error) { return c.Do(args...), nil }
		})
	})
	for _, proto := range []int{2, 3} {
		t.Run(fmt.Sprintf("pipe-resp%d", proto), func(t *testing.T) {
			srv := echomqsim.RunT(t, cfg())
			check(t, steps, proto, func(int) doer { return client(t, proto, srv.Dial) })
		})
		t.Run(fmt.Sprintf("tcp-resp%d", proto), func(t *testing.T) {
			srv := echomqsim.RunT(t, cfg())
			check(t, steps, proto, func(int) doer {
				return client(t, proto, func() (net.Conn, error) { return net.Dial("tcp", srv.Addr()) })
			})
		})
	}
}

// client connects and chooses the protocol.
func client(t *testing.T, proto int, dial func() (net.Conn, error)) doer {
	t.Helper()
	nc, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	c := resp.NewClient(nc)
	t.Cleanup(func() { c.Close() })
	if proto == 3 {
		if v, err := c.Do("HELLO", "3"); err != nil || v.IsErr() {
			t.Fatalf("HELLO 3: %v %v", resp.Format(v), err)
		}
	}
	return c.Do
}

func check(t *testing.T, steps []step, proto int, connect func(who int) doer) {
	t.Helper()
	clients := map[int]doer{}
	failed := 0
	for i, s := range steps {
		if clients[s.client] == nil {
			clients[s.client] = connect(s.client)
		}
		v, err := clients[s.client](s.args...)
		if err != nil {
			t.Fatalf("step %d, %s: %v", i+1, s.line, err)
		}
		got := render(v, s.mode)
		want := s.want[proto]
		if s.mode == "unordered" {
			if w, _, err := resp.Parse(want); err == nil {
				want = render(w, s.mode)
			}
		}
		if got != want {
			t.Errorf("%s\n got: %s\nwant: %s", s.line, got, want)
			if failed++; failed == 20 {
				t.Fatal("too many differences")
			}
		}
	}
}

// render is the text that answers are compared by.
func render(v resp.Value, mode string) string {
	switch mode {
	case "any":
		return fmt.Sprintf("any kind %d", v.Kind)
	case "unordered":
		sortElems(&v)
	}
	return strings.TrimRight(resp.Format(v), "\n")
}

// sortElems puts an order-free reply into an order: elements, or the pairs of a map.
func sortElems(v *resp.Value) {
	size := 1
	if v.Kind == resp.KindMap || v.Kind == resp.KindPairs {
		size = 2
	}
	var units [][]resp.Value
	for e := range slices.Chunk(v.Elems, size) {
		units = append(units, e)
	}
	slices.SortFunc(units, func(a, b []resp.Value) int {
		return strings.Compare(resp.Format(resp.Array(a...)), resp.Format(resp.Array(b...)))
	})
	v.Elems = slices.Concat(units...)
}

// record has the oracle, which a variable of the environment names, answer every step
// and writes the file anew.
func record(t *testing.T, oracle, path string, steps []step, tail []string) {
	t.Helper()
	addr := os.Getenv(oracle)
	if addr == "" {
		t.Fatalf("-update needs %s=host:port of a valkey-server", oracle)
	}
	dial := oracleDial(addr)
	recordFrom(t, path, steps, tail, func(proto, _ int) doer { return client(t, proto, dial) }, 0)
}

// recordFrom is record with the clients that connect makes; the servers of some of them are
// emptied first.
func recordFrom(t *testing.T, path string, steps []step, tail []string, connect func(proto, who int) doer, emptied ...int) {
	t.Helper()
	for _, proto := range []int{2, 3} {
		clients := map[int]doer{}
		for _, who := range emptied {
			clients[who] = connect(proto, who)
			for _, reset := range [][]string{{"FLUSHALL"}, {"SCRIPT", "FLUSH"}} {
				if _, err := clients[who](reset...); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i := range steps {
			s := &steps[i]
			if clients[s.client] == nil {
				clients[s.client] = connect(proto, s.client)
			}
			v, err := clients[s.client](s.args...)
			if err != nil {
				t.Fatalf("%s: %v", s.line, err)
			}
			s.want[proto] = render(v, s.mode)
		}
	}
	var b strings.Builder
	for _, s := range steps {
		writeStep(&b, s)
	}
	for _, l := range tail {
		fmt.Fprintln(&b, l)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func writeStep(b *strings.Builder, s step) {
	for _, l := range s.before {
		fmt.Fprintln(b, l)
	}
	if s.mode != "" {
		fmt.Fprintln(b, "% "+s.mode)
	}
	if s.client > 0 {
		fmt.Fprint(b, s.client)
	}
	fmt.Fprintf(b, "> %s\n%s\n", s.line, s.want[3])
	if s.want[2] != s.want[3] {
		fmt.Fprintf(b, "=resp2\n%s\n", s.want[2])
	}
}

// parseTranscript reads a file; anything that it does not know is fatal.
func parseTranscript(t *testing.T, path string) (steps []step, tail []string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var before []string
	var answer []string
	mode, proto := "", 3
	flush := func() {
		if len(steps) == 0 || answer == nil {
			return
		}
		s := &steps[len(steps)-1]
		s.want[proto] = strings.Join(answer, "\n")
		if proto == 3 {
			s.want[2] = s.want[3]
		}
		answer = nil
	}
	for n, l := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
		who, request, isRequest := cutRequest(l)
		switch {
		case isRequest:
			flush()
			args, err := splitArgs(request)
			if err != nil || len(args) == 0 {
				t.Fatalf("%s:%d: %v", path, n+1, err)
			}
			steps = append(steps, step{before: before, mode: mode, client: who, line: request, args: args})
			before, mode, proto = nil, "", 3
		case l == "% unordered" || l == "% any":
			flush()
			mode = l[2:]
		case l == "=resp2":
			flush()
			proto = 2
		case strings.HasPrefix(l, "#") && !strings.HasPrefix(l, "#t") && !strings.HasPrefix(l, "#f"), strings.TrimSpace(l) == "":
			before = append(before, l)
		case len(steps) == 0:
			t.Fatalf("%s:%d: an answer before the first request: %q", path, n+1, l)
		default:
			answer = append(answer, l)
		}
	}
	flush()
	if len(steps) == 0 {
		t.Fatalf("%s has no request", path)
	}
	return steps, before
}

// cutRequest takes "> CMD" or "2> CMD" apart.
func cutRequest(l string) (who int, request string, ok bool) {
	head, request, ok := strings.Cut(l, "> ")
	if !ok || len(head) > 1 {
		return 0, "", false
	}
	if head == "" {
		return 0, request, true
	}
	who, err := strconv.Atoi(head)
	return who, request, err == nil
}

// splitArgs splits a request line as valkey-cli does: words, 'raw' and "escaped" strings.
func splitArgs(line string) ([]string, error) {
	var r resp.CommandReader
	if _, err := r.Fill(strings.NewReader(line + "\n")); err != nil {
		return nil, err
	}
	args, ok, err := r.Next(resp.Limits{})
	if err != nil || !ok {
		return nil, fmt.Errorf("request %q: %v", line, err)
	}
	return slices.Clone(args), nil
}
