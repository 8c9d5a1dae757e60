package luabridge

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "record testdata/*.txt anew from the server at ECHOMQSIM_ORACLE")

// probe is one script with the answers that a server gave.
//
//	< a script that runs before it, for what it leaves behind
//	> script, in Go quotes if it needs more than one line
//	@ keys and arguments: k1 k2 , a1 a2
//	! args of one redis.call => RESP3 reply ("pairs" before it: arrays of two are pairs)
//	= reply to a RESP2 client
//	3 reply to a RESP3 client
//	~ why our reply differs, in words of the list of known differences in doc.go
//	~2 our reply to a RESP2 client
//	~3 our reply to a RESP3 client
//
// The lines below @ are written by -update, but for the reason of a difference.
type probe struct {
	line       int
	before     []string
	script     string
	quoted     bool
	keys, args []string
	at         string
	calls      []hostCall
	two, three string

	known            string // why ours are others
	ourTwo, ourThree string
}

func readProbes(t *testing.T, file string) (probes []*probe, comments map[int][]string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	comments = map[int][]string{}
	var before []string
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 16<<20)
	for n := 1; scan.Scan(); n++ {
		line := scan.Text()
		mark, rest, _ := strings.Cut(line, " ")
		var p *probe
		if len(probes) > 0 {
			p = probes[len(probes)-1]
		}
		switch mark {
		case "<":
			before = append(before, rest)
		case ">":
			p = &probe{line: n, before: before, script: rest}
			before = nil
			if s, err := strconv.Unquote(rest); err == nil && strings.HasPrefix(rest, `"`) {
				p.script, p.quoted = s, true
			}
			probes = append(probes, p)
		case "@":
			p.at = rest
			keys, args, _ := strings.Cut(rest, ",")
			p.keys, p.args = strings.Fields(keys), strings.Fields(args)
		case "!":
			p.calls = append(p.calls, parseCall(t, rest))
		case "=":
			p.two = unquote(t, rest)
		case "3":
			p.three = unquote(t, rest)
		case "~":
			p.known = rest
		case "~2":
			p.ourTwo = unquote(t, rest)
		case "~3":
			p.ourThree = unquote(t, rest)
		default:
			comments[len(probes)] = append(comments[len(probes)], line)
		}
	}
	return probes, comments
}

func unquote(t *testing.T, s string) string {
	t.Helper()
	u, err := strconv.Unquote(s)
	if err != nil {
		t.Fatalf("bad quotes: %s", s)
	}
	return u
}

func parseCall(t *testing.T, s string) (c hostCall) {
	t.Helper()
	args, raw, _ := strings.Cut(s, " => ")
	for args != "" {
		q, err := strconv.QuotedPrefix(args)
		if err != nil {
			t.Fatalf("bad call: %s", s)
		}
		c.args = append(c.args, unquote(t, q))
		args = strings.TrimSpace(args[len(q):])
	}
	raw, c.pairs = strings.CutPrefix(raw, "pairs ")
	c.raw = unquote(t, raw)
	return c
}

var pointer = regexp.MustCompile(`0x[0-9a-f]{6,}`)

// masked hides what differs from run to run.
func masked(s string) string { return pointer.ReplaceAllString(s, "0xPTR") }

// TestProbes replays the recordings.
func TestProbes(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt")
	if len(files) == 0 {
		t.Fatal("no recordings")
	}
	if *update {
		for _, file := range files {
			record(t, file)
		}
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			probes, _ := readProbes(t, file)
			in := New(Options{})
			for _, p := range probes {
				p.replay(t, in, file)
			}
		})
	}
}

func (p *probe) replay(t *testing.T, in *Interp, file string) {
	t.Helper()
	h := &replayHost{left: p.calls}
	two, three := p.run(in, h)
	if h.bad != "" {
		t.Errorf("%s:%d: %s\n%s", file, p.line, p.script, h.bad)
	}
	wantTwo, wantThree := p.two, p.three
	if p.known != "" {
		if !strings.Contains(documentation(t), p.known) {
			t.Errorf("%s:%d: not in doc.go: %s", file, p.line, p.known)
		}
		wantTwo, wantThree = p.ourTwo, p.ourThree
		if wantTwo == p.two && wantThree == p.three {
			t.Errorf("%s:%d: %s\n  marked as different, but it is not: %s", file, p.line, p.script, p.known)
		}
	}
	if masked(two) != wantTwo {
		t.Errorf("%s:%d: %s\n  have %q\n  want %q", file, p.line, p.script, two, wantTwo)
	} else if masked(three) != wantThree {
		t.Errorf("%s:%d: %s\n  RESP3 have %q\n       want %q", file, p.line, p.script, three, wantThree)
	}
}

// documentation is the text of doc.go on one line.
func documentation(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(string(text), "//", "")), " ")
}

// run compiles and runs the script and encodes its reply for both protocols.
func (p *probe) run(in *Interp, h Host) (two, three string) {
	for _, source := range p.before {
		if s, err := Compile(source); err == nil {
			in.Run(h, s, nil, nil)
		}
	}
	s, err := Compile(p.script)
	if err != nil {
		return "-" + err.Error() + "\r\n", "-" + err.Error() + "\r\n"
	}
	v := in.Run(h, s, p.keys, p.args)
	return encoded(v, 2), encoded(v, 3)
}

// record asks the live server for every answer of a file and writes it back.
func record(t *testing.T, file string) {
	addr := os.Getenv("ECHOMQSIM_ORACLE")
	if addr == "" {
		t.Fatal("-update needs ECHOMQSIM_ORACLE=host:port")
	}
	probes, comments := readProbes(t, file)
	in := New(Options{})
	var out strings.Builder
	for i, p := range probes {
		for _, c := range comments[i] {
			out.WriteString(c + "\n")
		}
		p.ask(t, addr, in)
		p.write(&out)
	}
	for _, c := range comments[len(probes)] {
		out.WriteString(c + "\n")
	}
	if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// ask fills in the server's answers and the calls that our own run makes.
func (p *probe) ask(t *testing.T, addr string, in *Interp) {
	t.Helper()
	argv := append([]string{"EVAL", p.script, strconv.Itoa(len(p.keys))}, p.keys...)
	argv = append(argv, p.args...)
	for proto, answer := range map[int]*string{2: &p.two, 3: &p.three} {
		conn, err := dialProto(addr, proto)
		if err != nil {
			t.Fatalf("line %d: %v", p.line, err)
		}
		conn.do("FLUSHALL")
		for _, source := range p.before {
			conn.do("EVAL", source, "0")
		}
		_, raw, err := conn.do(argv...)
		if err != nil {
			t.Fatalf("line %d: %s: %v", p.line, p.script, err)
		}
		if strings.HasPrefix(raw, "-BUSY") {
			t.Fatalf("line %d: the server is busy", p.line)
		}
		*answer = masked(raw)
		conn.c.Close()
	}
	conn, err := dialProto(addr, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.c.Close()
	conn.do("FLUSHALL")
	h := &liveHost{conn: conn}
	two, three := p.run(in, h)
	p.ourTwo, p.ourThree = masked(two), masked(three)
	p.calls = h.calls
}

func (p *probe) write(out *strings.Builder) {
	script := p.script
	if p.quoted {
		script = strconv.Quote(script)
	}
	for _, source := range p.before {
		fmt.Fprintf(out, "< %s\n", source)
	}
	fmt.Fprintf(out, "> %s\n", script)
	if p.at != "" {
		fmt.Fprintf(out, "@ %s\n", p.at)
	}
	for _, c := range p.calls {
		out.WriteString("!")
		for _, a := range c.args {
			out.WriteString(" " + strconv.Quote(a))
		}
		out.WriteString(" => ")
		if c.pairs {
			out.WriteString("pairs ")
		}
		out.WriteString(strconv.Quote(c.raw) + "\n")
	}
	fmt.Fprintf(out, "= %q\n3 %q\n", p.two, p.three)
	if p.known != "" {
		fmt.Fprintf(out, "~ %s\n~2 %q\n~3 %q\n", p.known, p.ourTwo, p.ourThree)
	}
}
