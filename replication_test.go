package echomqsim_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/resp"
)

// TestReplicationStream plays the requests of testdata/replication and compares what a
// replica is sent after each. The lines are
//
//	# a comment
//	> CMD        a request
//	b> CMD       a request of another client, that blocks
//	= CMD        what the replica is sent for it; times of these years are <ms>
//
// They are recorded like other transcripts, from $ECHOMQSIM_ORACLE.
func TestReplicationStream(t *testing.T) {
	for _, path := range transcripts(t, "testdata/replication") {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				data = []byte(playReplication(t, string(data), oracleDial(os.Getenv("ECHOMQSIM_ORACLE"))))
				if err := os.WriteFile(path, data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			srv := echomqsim.RunT(t, echomqsim.Config{EnableDebug: "yes"})
			have := strings.Split(playReplication(t, string(data), srv.Dial), "\n")
			for i, want := range strings.Split(string(data), "\n") {
				if i >= len(have) || have[i] != want {
					t.Fatalf("line %d:\n have %s\n want %s", i+1, have[min(i, len(have)-1)], want)
				}
			}
		})
	}
}

// replicationPlayer sends requests to a server and reads what its replica is sent.
type replicationPlayer struct {
	t       *testing.T
	dial    func() (net.Conn, error)
	main    doer
	marker  doer // its messages tell where what belongs to a request ends
	replica *resp.Client
	marks   int
}

func playReplication(t *testing.T, text string, dial func() (net.Conn, error)) string {
	t.Helper()
	p := &replicationPlayer{t: t, dial: dial, main: client(t, 2, dial), marker: client(t, 2, dial)}
	for _, args := range [][]string{{"FLUSHALL"}, {"FUNCTION", "FLUSH"}, {"CONFIG", "SET", "repl-ping-replica-period", "3600"}} {
		if v, err := p.main(args...); err != nil || v.IsErr() {
			t.Fatal(args, v, err)
		}
	}
	p.replica = attachReplica(t, dial)
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "= ") {
			continue
		}
		fmt.Fprintln(&out, line)
		who, request, ok := strings.Cut(line, "> ")
		if !ok || who != "" && who != "b" {
			continue
		}
		p.play(request, who == "b")
		p.collect(&out)
	}
	return out.String()
}

func (p *replicationPlayer) play(request string, blocks bool) {
	p.t.Helper()
	args, err := splitArgs(request)
	if err != nil {
		p.t.Fatal(err)
	}
	if !blocks {
		if _, err := p.main(args...); err != nil {
			p.t.Fatal(request, err)
		}
		return
	}
	nc, err := p.dial()
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { nc.Close() })
	if _, err := nc.Write(resp.AppendRequest(nil, args...)); err != nil {
		p.t.Fatal(err)
	}
	for blocked := false; !blocked; {
		v, err := p.marker("CLIENT", "LIST")
		if err != nil {
			p.t.Fatal(err)
		}
		blocked = blockedFlag.MatchString(v.Str)
	}
}

// collect writes what the replica is sent up to the next mark.
func (p *replicationPlayer) collect(out *strings.Builder) {
	p.t.Helper()
	p.marks++
	mark := "mark-" + strconv.Itoa(p.marks)
	if _, err := p.marker("PUBLISH", "marks", mark); err != nil {
		p.t.Fatal(err)
	}
	for {
		v, err := p.replica.Receive()
		if err != nil {
			p.t.Fatal(err)
		}
		words := make([]string, len(v.Elems))
		for i, e := range v.Elems {
			words[i] = someTime.ReplaceAllString(quoteArgs([]string{e.Str}), "<ms>$2")
		}
		if len(words) == 3 && words[2] == mark {
			return
		}
		fmt.Fprintln(out, "=", strings.Join(words, " "))
	}
}

// someTime is a Unix time in milliseconds of these years.
var someTime = regexp.MustCompile(`^(1[5-9]\d{11})(-\d+)?$`)

// attachReplica makes a connection a replica and reads the RDB file.
func attachReplica(t *testing.T, dial func() (net.Conn, error)) *resp.Client {
	t.Helper()
	nc, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := nc.Write([]byte("SYNC\r\n")); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(nc)
	line := "\n"
	for strings.TrimSpace(line) == "" && err == nil { // while its process saves the server sends empty lines
		line, err = in.ReadString('\n')
	}
	n, notNum := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "$")))
	if err != nil || notNum != nil {
		t.Fatalf("SYNC answers %q: %v", line, err)
	}
	if _, err := io.CopyN(io.Discard, in, int64(n)); err != nil {
		t.Fatal(err)
	}
	return resp.NewClient(bufferedConn{nc, in})
}

// bufferedConn is a connection of which something was read already.
type bufferedConn struct {
	net.Conn
	in *bufio.Reader
}

func (b bufferedConn) Read(p []byte) (int, error) { return b.in.Read(p) }

// TestReplica has a valkey-server be a replica of the simulator: it must have the same data
// after the first transfer, after commands of all kinds, and after its connection was lost.
func TestReplica(t *testing.T) {
	binary := os.Getenv("ECHOMQSIM_ORACLE_BINARY")
	if binary == "" {
		binary = "valkey-server"
	}
	if _, err := exec.LookPath(binary); err != nil || os.Getenv("ECHOMQSIM_ORACLE") == "" {
		t.Skip("needs ECHOMQSIM_ORACLE, and valkey-server in PATH or as ECHOMQSIM_ORACLE_BINARY")
	}
	srv := echomqsim.RunT(t, echomqsim.Config{EnableDebug: "yes"})
	fillRandomly(srv, 700)
	replica := startReplica(t, binary, srv.Addr())
	same := func(when string) {
		t.Helper()
		srv.Do("SELECT", "0")
		srv.Do("SET", "a key", when)
		if n := srv.Do("WAIT", "1", "20000").Int; n != 1 {
			t.Fatalf("%s: no replica has all", when)
		}
		theirs, err := replica("DEBUG", "DIGEST")
		if ours := srv.Do("DEBUG", "DIGEST").Str; err != nil || ours != theirs.Str {
			t.Fatalf("%s: digest %s, the replica's %s %v", when, ours, theirs.Str, err)
		}
	}
	same("at first")
	g := newGenerator(1, oracleCommands(t, srv))
	for range 5 {
		for range 2000 {
			srv.Do(g.command()...)
		}
		same("after commands")
		if n := srv.Do("CLIENT", "KILL", "TYPE", "replica").Int; n != 1 {
			t.Fatal("there was no replica to kill: ", n)
		}
	}
	same("in the end")
	if stats := srv.Do("INFO", "stats").Str; !strings.Contains(stats, "sync_full:1\r\nsync_partial_ok:5\r\n") {
		t.Error("a replica that comes back does not get what it has missed: ", stats)
	}
}

// startReplica starts a server that is a replica of another, and connects to it.
func startReplica(t *testing.T, binary, primary string) doer {
	t.Helper()
	dir := t.TempDir()
	host, port, err := net.SplitHostPort(primary)
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	cmd := exec.Command(binary, "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "",
		"--enable-debug-command", "yes", "--replicaof", host, port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for tries := 0; ; tries++ {
		nc, err := net.Dial("unix", socket)
		if err == nil {
			nc.Close()
			return client(t, 2, func() (net.Conn, error) { return net.Dial("unix", socket) })
		}
		if tries > 1e6 {
			t.Fatal(err)
		}
	}
}
