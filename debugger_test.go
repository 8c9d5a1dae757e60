package echomqsim_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/resp"
)

// debugStory is a session of the Lua debugger, as a file in testdata/debugger tells it:
//
//	mode SYNC
//	before DEL k
//	eval 1 k v
//	| local a = 1
//	| return a
//	  < *
//	  <   +* Stopped at 1, stop reason = step over
//	> p a
//	  < ...
//	raw "PING\r\n"
//
// After the last one the script is stepped through to its end; then come the reply of EVAL
// and what the connection and the keyspace are like afterwards.
type debugStory struct {
	lines []string // without answers
	mode  string
	calls [][]string // before the script
	keys  []string   // with their count, and the arguments
	code  []string
	moves [][]byte // what the user sends
	at    []int    // the lines in which they stand
}

// maxDebugSteps is after how many steps a story's script is left to itself.
const maxDebugSteps = 60

func parseDebugStory(text string) (s debugStory) {
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, "  <") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "mode":
			s.mode = rest
		case "before":
			s.calls = append(s.calls, debugWords(rest))
		case "eval":
			s.keys = debugWords(rest)
		case "|":
			s.code = append(s.code, rest)
		case ">":
			s.moves = append(s.moves, appendRequest(nil, debugWords(rest)))
			s.at = append(s.at, len(s.lines))
		case "raw":
			raw, _ := strconv.Unquote(rest)
			s.moves = append(s.moves, []byte(raw))
			s.at = append(s.at, len(s.lines))
		}
		s.lines = append(s.lines, line)
	}
	return s
}

// debugWords splits a line at spaces; a word may be quoted as in Go.
func debugWords(line string) (words []string) {
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		word, rest, _ := strings.Cut(line, " ")
		if quoted, err := strconv.QuotedPrefix(line); err == nil {
			rest = line[len(quoted):]
			word, _ = strconv.Unquote(quoted)
		}
		words, line = append(words, word), rest
	}
	return words
}

// debugUser is the user's end of a session.
type debugUser struct {
	t   *testing.T
	nc  net.Conn
	in  *resp.Reader
	out *strings.Builder
}

func (u *debugUser) send(b []byte) {
	if _, err := u.nc.Write(b); err != nil {
		u.t.Fatal(err)
	}
}

var address = regexp.MustCompile(`@0x[0-9a-f]+`)

// hear writes down a reply and reports whether the session is still on.
func (u *debugUser) hear() bool {
	v, err := u.in.Read()
	if err != nil {
		fmt.Fprintf(u.out, "  < end\n")
		return false
	}
	text := address.ReplaceAllString(resp.Format(v), "@0x")
	for _, line := range strings.Split(text, "\n") {
		fmt.Fprintf(u.out, "  < %s\n", line)
	}
	return v.Kind == resp.KindArray && (len(v.Elems) == 0 || v.Elems[len(v.Elems)-1].Str != "<endsession>")
}

// tell plays a story against a server and writes it down with the answers.
func (s *debugStory) tell(t *testing.T, dial func() (net.Conn, error)) string {
	t.Helper()
	ask := client(t, 2, dial)
	for _, call := range append([][]string{{"FLUSHALL"}}, s.calls...) {
		if _, err := ask(call...); err != nil {
			t.Fatal(err)
		}
	}
	nc, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	u := &debugUser{t, nc, resp.NewReader(bufio.NewReader(nc)), &strings.Builder{}}
	u.send(appendRequest(nil, []string{"SCRIPT", "DEBUG", s.mode}))
	u.in.Read()
	u.send(appendRequest(nil, append([]string{"EVAL", strings.Join(s.code, "\n")}, s.keys...)))
	s.play(u)
	u.out.WriteString("afterwards\n")
	u.hear()
	for _, call := range [][]string{{"DBSIZE"}, {"GET", "k"}} {
		v, err := ask(call...)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(u.out, "  < %s\n", resp.Format(v))
	}
	return u.out.String()
}

// play goes through the session up to the reply of EVAL.
func (s *debugStory) play(u *debugUser) {
	write := func(lines []string) {
		for _, line := range lines {
			if line != "afterwards" {
				fmt.Fprintln(u.out, line)
			}
		}
	}
	start := len(s.lines)
	if len(s.at) > 0 {
		start = s.at[0]
	}
	write(s.lines[:start])
	on := u.hear()
	for i, move := range s.moves {
		next := len(s.lines)
		if i+1 < len(s.at) {
			next = s.at[i+1]
		}
		write(s.lines[s.at[i]:next])
		if on {
			u.send(move)
			on = u.hear()
		}
	}
	for n := 0; on; n++ {
		move := "s"
		if n >= maxDebugSteps {
			move = "a"
		}
		u.send(appendRequest(nil, []string{move}))
		on = u.hear()
	}
	u.hear() // the reply of EVAL
}

// TestDebugger compares sessions of SCRIPT DEBUG with those that valkey-server recorded:
// every line at which it stops, and every answer. With ECHOMQSIM_ORACLE=host:port,
// go test -run TestDebugger -update has that server write the answers.
func TestDebugger(t *testing.T) {
	for _, path := range transcripts(t, "testdata/debugger") {
		t.Run(strings.TrimSuffix(path[len("testdata/debugger/"):], ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			story := parseDebugStory(string(text))
			if *update {
				text = []byte(story.tell(t, oracleDial(os.Getenv("ECHOMQSIM_ORACLE"))))
				if err := os.WriteFile(path, text, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			srv := echomqsim.RunT(t, echomqsim.Config{})
			for name, dial := range map[string]func() (net.Conn, error){
				"memory": srv.Dial,
				"tcp":    func() (net.Conn, error) { return net.Dial("tcp", srv.Addr()) },
			} {
				if got := story.tell(t, dial); !bytes.Equal([]byte(got), text) {
					t.Errorf("over %s:\n%s", name, firstDifference(string(text), got))
				}
			}
		})
	}
}

// firstDifference shows two texts from a little before they differ.
func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	i := 0
	for i < min(len(w), len(g)) && w[i] == g[i] {
		i++
	}
	show := func(lines []string) string { return strings.Join(lines[max(0, i-3):min(len(lines), i+3)], "\n") }
	return fmt.Sprintf("line %d\nwant\n%s\ngot\n%s", i+1, show(w), show(g))
}
