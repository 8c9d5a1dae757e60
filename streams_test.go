package echomqsim_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/resp"
)

// Streams are transcripts of several clients at once: the bytes that each receives after
// each request, pushes and messages included. The lines of testdata/streams are
//
//	# a comment
//	1> CMD             a request of client 1; $2 in it is the id of client 2
//	1> CMD ;; CMD      several requests in one packet
//	1>b CMD            a request that blocks
//	2< "bytes"         what a client has received when everything has come to rest
//
// Answers are recorded like those of the other transcripts.
func TestStreams(t *testing.T) {
	paths, err := filepath.Glob("testdata/streams/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no streams: ", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				data = []byte(playStream(t, string(data), oracleDial(os.Getenv("ECHOMQSIM_ORACLE"))))
				if err := os.WriteFile(path, data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			srv := echomqsim.RunT(t, echomqsim.Config{})
			for range 300 { // so that ids of clients are numbers that nothing else is
				nc, err := srv.Dial()
				if err != nil {
					t.Fatal(err)
				}
				nc.Close()
			}
			have := strings.Split(playStream(t, string(data), srv.Dial), "\n")
			for i, want := range strings.Split(string(data), "\n") {
				if i >= len(have) || have[i] != want {
					t.Fatalf("line %d:\n have %s\n want %s\n in %s", i+1, have[min(i, len(have)-1)], want, path)
				}
			}
		})
	}
}

var blockedFlag = regexp.MustCompile(` flags=\w*b`)

// streamLine takes "1> CMD" and "1>b CMD" apart.
var streamLine = regexp.MustCompile(`^(\d)>(b?) (.+)$`)

// playStream runs a file's requests and returns the file with the answers that came.
func playStream(t *testing.T, text string, dial func() (net.Conn, error)) string {
	t.Helper()
	p := &streamPlayer{t: t, dial: dial, watch: client(t, 2, dial)}
	for _, reset := range [][]string{{"FLUSHALL"}, {"CONFIG", "SET", "notify-keyspace-events", ""}} {
		if _, err := p.watch(reset...); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if len(line) > 1 && line[1] == '<' {
			continue
		}
		fmt.Fprintln(&out, line)
		if m := streamLine.FindStringSubmatch(line); m != nil {
			p.play(int(m[1][0]-'0'), m[3], m[2] != "")
			p.collect(int(m[1][0]-'0'), &out)
		}
	}
	for _, c := range p.clients {
		if c != nil {
			c.nc.Close()
		}
	}
	return out.String()
}

type streamPlayer struct {
	t       *testing.T
	dial    func() (net.Conn, error)
	watch   doer // a client that takes no part
	clients [10]*streamClient
	nonce   int
}

type streamClient struct {
	nc      net.Conn
	id      string
	blocked bool
	closed  bool
	told    bool // that it was closed
	got     []byte
}

func (p *streamPlayer) play(n int, request string, blocks bool) {
	p.t.Helper()
	c := p.client(n)
	for i, other := range p.clients {
		if other != nil {
			request = strings.ReplaceAll(request, "$"+strconv.Itoa(i), other.id)
		}
	}
	var out []byte
	for part := range strings.SplitSeq(request, " ;; ") {
		args, err := splitArgs(part)
		if err != nil {
			p.t.Fatal(err)
		}
		out = appendRequest(out, args)
	}
	c.nc.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.nc.Write(out); err != nil {
		p.t.Fatalf("%s: %v", request, err)
	}
	for c.blocked = blocks; blocks && !p.isBlocked(c); {
	}
}

// isBlocked asks the server whether it holds a client's reply back.
func (p *streamPlayer) isBlocked(c *streamClient) bool {
	v, err := p.watch("CLIENT", "LIST", "ID", c.id)
	if err != nil {
		p.t.Fatal(err)
	}
	return blockedFlag.MatchString(v.Str)
}

func (p *streamPlayer) client(n int) *streamClient {
	if p.clients[n] == nil {
		nc, err := p.dial()
		if err != nil {
			p.t.Fatal(err)
		}
		c := &streamClient{nc: nc}
		p.clients[n] = c
		nc.Write(appendRequest(nil, []string{"CLIENT", "ID"}))
		for !bytes.HasSuffix(c.got, []byte("\r\n")) {
			c.read(p.t)
		}
		c.id = strings.TrimSpace(string(c.got[1:]))
		c.got = nil
	}
	return p.clients[n]
}

func (c *streamClient) read(t *testing.T) {
	t.Helper()
	buf := make([]byte, 4096)
	c.nc.SetDeadline(time.Now().Add(10 * time.Second))
	n, err := c.nc.Read(buf)
	c.got = append(c.got, buf[:n]...)
	if err != nil {
		c.closed = true
	}
}

// collect writes what the clients have received, when the one that made a request is
// through with it. A PING of each tells that it was all.
func (p *streamPlayer) collect(asked int, out *strings.Builder) {
	p.t.Helper()
	p.rest(asked)
	for n := range p.clients {
		p.rest(n)
		c := p.clients[n]
		if c == nil || c.told {
			continue
		}
		for i, other := range p.clients {
			if other != nil {
				c.got = bytes.ReplaceAll(c.got, []byte(":"+other.id+"\r\n"), []byte(":$"+strconv.Itoa(i)+"\r\n"))
			}
		}
		if len(c.got) > 0 {
			fmt.Fprintf(out, "%d< %q\n", n, c.got)
		}
		if c.closed {
			fmt.Fprintf(out, "%d< closed\n", n)
			c.told = true
		}
		c.got = nil
	}
}

// rest has a client read everything, unless it is blocked.
func (p *streamPlayer) rest(n int) {
	c := p.clients[n]
	if c == nil || c.closed || c.blocked && p.isBlocked(c) {
		return
	}
	c.blocked = false
	p.sync(c)
}

// sync reads what the client received ahead of the reply to a PING. Of two, as what comes
// at the end of a turn may come behind the first reply.
func (p *streamPlayer) sync(c *streamClient) {
	for range 2 {
		p.nonce++
		mark := fmt.Sprintf("nonce-%d", p.nonce)
		c.nc.Write(appendRequest(nil, []string{"PING", mark}))
		end := []byte(resp2Bulk(mark))
		for !c.closed && !bytes.Contains(c.got, end) {
			c.read(p.t)
		}
		c.got = bytes.Replace(c.got, append([]byte("*2\r\n$4\r\npong\r\n"), end...), nil, 1)
		c.got = bytes.Replace(c.got, end, nil, 1)
	}
}

func resp2Bulk(s string) string {
	v := resp.Bulk(s)
	return string(resp.Append(nil, &v, 2))
}
