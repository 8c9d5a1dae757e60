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
//	1>u CMD            a request that is through when no client is blocked any more
//	1>s CMD            likewise, and when the nodes agree about the slots
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
				data = []byte(playStream(t, string(data), streamNode{dial: oracleDial(os.Getenv("ECHOMQSIM_ORACLE"))}))
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
			sameStream(t, path, string(data), playStream(t, string(data), streamNode{dial: srv.Dial}))
		})
	}
}

// sameStream fails at the first line that differs.
func sameStream(t *testing.T, path, recorded, played string) {
	t.Helper()
	have := strings.Split(played, "\n")
	for i, want := range strings.Split(recorded, "\n") {
		if i >= len(have) || have[i] != want {
			t.Fatalf("line %d:\n have %s\n want %s\n in %s", i+1, have[min(i, len(have)-1)], want, path)
		}
	}
}

var blockedFlag = regexp.MustCompile(` flags=\w*b`)

// streamLine takes "1> CMD" and "1>b CMD" apart.
var streamLine = regexp.MustCompile(`^(\d)>([bsu]?) (.+)$`)

// playStream runs a file's requests and returns the file with the answers that came. Clients
// are connected to the nodes in turn: of three, 1 and 4 to the first one.
func playStream(t *testing.T, text string, nodes ...streamNode) string {
	t.Helper()
	p := &streamPlayer{t: t, nodes: nodes}
	for i := range nodes {
		n := &p.nodes[i]
		n.watch = client(t, 2, n.dial)
		for _, reset := range [][]string{{"FLUSHALL"}, {"CONFIG", "SET", "notify-keyspace-events", ""}} {
			if _, err := n.watch(reset...); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(nodes) > 1 {
		p.names = nodeNames(nodes)
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if len(line) > 1 && line[1] == '<' {
			continue
		}
		fmt.Fprintln(&out, line)
		if m := streamLine.FindStringSubmatch(line); m != nil {
			p.play(int(m[1][0]-'0'), m[3], m[2] == "b")
			if m[2] == "u" || m[2] == "s" {
				p.settle(m[2] == "s")
			}
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

// streamNode is a server that clients are connected to. In what is sent to and received from
// the nodes of a cluster @1 and #1 stand for the address and the ID of the first one, in
// requests also &host and &1 for the parts of the address.
type streamNode struct {
	dial     func() (net.Conn, error)
	addr, id string
	watch    doer // a client that takes no part
}

type streamPlayer struct {
	t       *testing.T
	nodes   []streamNode
	names   []string // of addresses and IDs, each ahead of what it stands for
	clients [10]*streamClient
	nonce   int
}

type streamClient struct {
	nc      net.Conn
	node    *streamNode
	id      string
	blocked bool
	closed  bool
	told    bool // that it was closed
	got     []byte
}

func (p *streamPlayer) play(n int, request string, blocks bool) {
	p.t.Helper()
	c := p.client(n)
	request = strings.NewReplacer(p.names...).Replace(request)
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

// settle waits until no client is blocked and, if it says so, the nodes agree about the slots.
func (p *streamPlayer) settle(agree bool) {
	p.t.Helper()
	for _, c := range p.clients {
		for c != nil && !c.closed && p.isBlocked(c) {
		}
	}
	for i := 1; agree && i < len(p.nodes); {
		var views [2]string
		for j := range views {
			v, err := p.nodes[i-j].watch("CLUSTER", "SLOTS")
			if err != nil {
				p.t.Fatal(err)
			}
			views[j] = resp.Format(v)
		}
		if views[0] == views[1] {
			i++
		}
	}
}

// isBlocked asks the server whether it holds a client's reply back.
func (p *streamPlayer) isBlocked(c *streamClient) bool {
	v, err := c.node.watch("CLIENT", "LIST", "ID", c.id)
	if err != nil {
		p.t.Fatal(err)
	}
	return blockedFlag.MatchString(v.Str)
}

func (p *streamPlayer) client(n int) *streamClient {
	if p.clients[n] == nil {
		node := &p.nodes[(n-1)%len(p.nodes)]
		nc, err := node.dial()
		if err != nil {
			p.t.Fatal(err)
		}
		c := &streamClient{nc: nc, node: node}
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
		for i := 0; i < len(p.names); i += 2 {
			if p.names[i][0] == '&' {
				continue
			}
			c.got = bytes.ReplaceAll(c.got, []byte(p.names[i+1]), []byte(p.names[i]))
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
