package echomqsim_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	echomqsim "github.com/echomq/echomq-sim"
)

var (
	soakTime  = flag.Duration("soak.time", 0, "how long TestSoak goes on; 0 means a few rounds")
	soakConns = flag.Int("soak.conns", 100, "the connections of TestSoak")
)

// TestSoak lets a second process work on one server over many connections: pipelines,
// channels, blocked clients, transactions, hang-ups, tracking. That process checks every
// reply; here it is checked that nothing of it is left afterwards. The long one is
//
//	go test -race -run '^TestSoak$' -v -timeout 20m . -args -soak.time 5m -soak.conns 2000
func TestSoak(t *testing.T) {
	rounds := 5
	if *soakTime > 0 {
		rounds = 0
	}
	goroutines := runtime.NumGoroutine()
	srv, err := echomqsim.New(echomqsim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	soakOnce(t, srv, 50, 1, 0) // pools and tables have their size after this
	heap, serving := liveHeap(), runtime.NumGoroutine()
	soakOnce(t, srv, *soakConns, rounds, *soakTime)
	for runtime.NumGoroutine() > serving { // the test's timeout ends it
		runtime.Gosched()
	}
	after := liveHeap()
	t.Logf("heap %d KB before, %d KB after; goroutines %d before, %d after", heap>>10, after>>10, serving, runtime.NumGoroutine())
	if limit := heap + 4<<20; after > limit {
		t.Errorf("%d bytes are alive afterwards, %d were before", after, heap)
	}
	if err := srv.Check(); err != nil {
		t.Error(err)
	}
	srv.Close()
	for runtime.NumGoroutine() > goroutines {
		runtime.Gosched()
	}
}

// TestSoakMemory is TestSoak over connections in memory, in one process: the clients' own
// goroutines run most of the turns.
func TestSoakMemory(t *testing.T) {
	srv := echomqsim.RunT(t, echomqsim.Config{})
	s := &soaker{connect: srv.Dial, rounds: 5}
	if *soakTime > 0 {
		until, cancel := context.WithTimeout(t.Context(), *soakTime)
		defer cancel()
		s.until = until
	}
	if err := s.work(*soakConns); err != nil {
		t.Error(err)
	}
}

// soakOnce runs the client process, and returns when the server has seen all its
// connections go and its keys are gone.
func soakOnce(t *testing.T, srv *echomqsim.Server, conns, rounds int, long time.Duration) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %d %s", soakEnv, srv.Addr(), conns, rounds, long))
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		t.Log(lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, complaints.String())
	}
	for connected(srv) > 1 { // Do's own client is the one
		runtime.Gosched()
	}
	srv.Do("FLUSHALL")
	srv.Do("SCRIPT", "FLUSH")
}

// connected is the number of the server's clients.
func connected(srv *echomqsim.Server) int {
	return strings.Count(srv.Do("CLIENT", "LIST").Str, "\n")
}
