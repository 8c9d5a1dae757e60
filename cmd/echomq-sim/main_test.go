package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/echomq/echomq-sim/resp"
)

// start runs the command on a free port and returns the ready line and a stop
// function that closes stdin and gives the exit code.
func start(t *testing.T, args ...string) (line string, stop func() int) {
	t.Helper()
	stdinR, stdinW := io.Pipe()
	stdoutR, stdoutW := io.Pipe()
	code := make(chan int, 1)
	go func() {
		c := run(context.Background(), append(args, "--exit-with-stdin"), stdinR, stdoutW, io.Discard)
		stdoutW.Close()
		code <- c
	}()
	out := bufio.NewReader(stdoutR)
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, out)
	return line, func() int { stdinW.Close(); return <-code }
}

func TestReadyLineAndStdinExit(t *testing.T) {
	line, stop := start(t, "--addr", "127.0.0.1:0", "--ready-json", "--requirepass", "s3cret")
	var ready struct {
		Ready bool
		Addr  string
		Port  int
	}
	if err := json.Unmarshal([]byte(line), &ready); err != nil || !ready.Ready || ready.Port == 0 {
		t.Fatalf("ready line %q: %v", line, err)
	}
	nc, err := net.Dial("tcp", ready.Addr)
	if err != nil {
		t.Fatal(err)
	}
	c := resp.NewClient(nc)
	defer c.Close()
	for _, step := range []struct{ cmd, want string }{
		{"PING", "-NOAUTH Authentication required."},
		{"AUTH s3cret", "+OK"},
		{"PING", "+PONG"},
	} {
		v, err := c.Do(strings.Fields(step.cmd)...)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(resp.Format(v)); got != step.want {
			t.Errorf("%s answered %s, want %s", step.cmd, got, step.want)
		}
	}
	if code := stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if _, err := net.Dial("tcp", ready.Addr); err == nil {
		t.Error("still listening after the end")
	}
}

func TestStartLine(t *testing.T) {
	line, stop := start(t, "--addr", "127.0.0.1:0")
	defer stop()
	if !strings.Contains(line, "ready on 127.0.0.1:") {
		t.Errorf("start line %q", line)
	}
}

func TestBadFlags(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--addr", "nonsense"}, "not HOST:PORT"},
		{[]string{"--addr", "127.0.0.1:99999"}, "not a port"},
		{[]string{"--databases", "0"}, "at least 1"},
		{[]string{"--unixsocketperm", "9"}, "octal"},
		{[]string{"--manual-clock", "tomorrow"}, "manual-clock"},
		{[]string{"--enable-debug-command", "maybe"}, "EnableDebug"},
		{[]string{"--cluster-nodes", "0"}, "must be 1 to 1000"},
		{[]string{"--cluster-nodes", "1001"}, "must be 1 to 1000"},
		{[]string{"--cluster-nodes", "three"}, "invalid value"},
		{[]string{"--cluster-nodes", "3", "--addr", "127.0.0.1:65534"}, "no 3 ports from 65534"},
		{[]string{"--cluster-nodes", "3", "--unixsocket", "s"}, "--unixsocket can't be shared"},
		{[]string{"--cluster-nodes", "3", "--load", "f"}, "--load can't be shared"},
		{[]string{"--cluster-nodes", "3", "--save-on-exit", "f"}, "--save-on-exit can't be shared"},
		{[]string{"--cluster-nodes", "3", "--aclfile", "f"}, "--aclfile can't be shared"},
		{[]string{"extra"}, "unexpected argument"},
		{[]string{"--nosuch"}, "not defined"},
	} {
		var stderr bytes.Buffer
		if code := run(context.Background(), tc.args, strings.NewReader(""), io.Discard, &stderr); code != 2 {
			t.Errorf("%v: exit code %d, want 2", tc.args, code)
		}
		if !strings.Contains(stderr.String(), tc.want) {
			t.Errorf("%v: said %q, want %q in it", tc.args, stderr.String(), tc.want)
		}
	}
}

func TestPortInUse(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var stderr bytes.Buffer
	code := run(context.Background(), []string{"--addr", ln.Addr().String()}, strings.NewReader(""), io.Discard, &stderr)
	if code != 1 || !strings.Contains(stderr.String(), "in use") {
		t.Errorf("exit code %d, said %q", code, stderr.String())
	}
}

func TestLoadAndSaveOnExit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dump.rdb")
	do := func(want string, args []string, cmd ...string) {
		t.Helper()
		line, stop := start(t, append(args, "--addr", "127.0.0.1:0", "--ready-json")...)
		var ready struct{ Addr string }
		if err := json.Unmarshal([]byte(line), &ready); err != nil {
			t.Fatal(err)
		}
		nc, err := net.Dial("tcp", ready.Addr)
		if err != nil {
			t.Fatal(err)
		}
		c := resp.NewClient(nc)
		defer c.Close()
		if v, err := c.Do(cmd...); err != nil || v.Str != want {
			t.Errorf("%q: %v %v", cmd, v, err)
		}
		if code := stop(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
	do("OK", []string{"--save-on-exit", path}, "SET", "k", "v")
	do("v", []string{"--load", path}, "GET", "k")
	for _, tc := range []struct{ path, want string }{
		{path + ".nosuch", "no such file"},
		{os.Args[0], "not an RDB file"},
	} {
		var stderr bytes.Buffer
		code := run(context.Background(), []string{"--load", tc.path, "--addr", "127.0.0.1:0"}, strings.NewReader(""), io.Discard, &stderr)
		if code != 1 || !strings.Contains(stderr.String(), tc.want) {
			t.Errorf("%s: exit code %d, said %q", tc.path, code, stderr.String())
		}
	}
}

// TestShutdown: SHUTDOWN ends the process as a signal does, but for what it says of saving.
func TestShutdown(t *testing.T) {
	for _, tc := range []struct {
		words []string
		saved bool
	}{{[]string{"SHUTDOWN"}, true}, {[]string{"SHUTDOWN", "NOSAVE"}, false}} {
		path := filepath.Join(t.TempDir(), "dump.rdb")
		stdinR, _ := io.Pipe()
		stdoutR, stdoutW := io.Pipe()
		code := make(chan int, 1)
		go func() {
			code <- run(context.Background(), []string{"--addr", "127.0.0.1:0", "--ready-json", "--save-on-exit", path}, stdinR, stdoutW, io.Discard)
		}()
		var ready struct{ Addr string }
		if err := json.NewDecoder(stdoutR).Decode(&ready); err != nil {
			t.Fatal(err)
		}
		nc, err := net.Dial("tcp", ready.Addr)
		if err != nil {
			t.Fatal(err)
		}
		c := resp.NewClient(nc)
		if v, err := c.Do(tc.words...); err == nil {
			t.Errorf("%q answered %v", tc.words, v)
		}
		c.Close()
		if got := <-code; got != 0 {
			t.Errorf("%q: exit code %d", tc.words, got)
		}
		if _, err := os.Stat(path); (err == nil) != tc.saved {
			t.Errorf("%q: saved is %v", tc.words, err == nil)
		}
	}
}

// The collector's percentage is 200 while the heap is small, unless GOGC says otherwise.
func TestTuneCollector(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(123))
	t.Setenv("GOGC", "123")
	tuneCollector()
	if got := debug.SetGCPercent(123); got != 123 {
		t.Errorf("%d with GOGC", got)
	}
	os.Unsetenv("GOGC")
	tuneCollector()
	if got := debug.SetGCPercent(123); got != smallPercent {
		t.Errorf("%d, want %d", got, smallPercent)
	}
}
