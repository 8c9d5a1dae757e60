package resp

import (
	"io"
	"testing"
)

// fakeServer answers a client with fixed bytes and returns what it was sent.
func fakeServer(t *testing.T, answer string) (c *Client, sent func() string) {
	client, server := newPipe(memAddr(1), memAddr(2), wallTime{})
	t.Cleanup(func() { server.Close() })
	if _, err := io.WriteString(server, answer); err != nil {
		t.Fatal(err)
	}
	return NewClient(client), func() string {
		client.CloseWrite()
		b, _ := io.ReadAll(server)
		return string(b)
	}
}

func TestClientKeepsPushesApart(t *testing.T) {
	c, sent := fakeServer(t, ">2\r\n+a\r\n:1\r\n>1\r\n+b\r\n+OK\r\n>1\r\n+c\r\n:2\r\n-ERR no\r\n")
	mustDo(t, c, "+OK", "SET", "k", "")
	if got := Format(Array(c.Pushes()...)); got != "*\n  >\n    +a\n    :1\n  >\n    +b" {
		t.Errorf("pushes %s", got)
	}
	if got := c.Pushes(); len(got) != 0 {
		t.Errorf("pushes again: %v", got)
	}
	c.Send("A")
	c.Send("B")
	if _, err := c.Do("C"); err != errRepliesDue {
		t.Errorf("Do with replies due: %v", err)
	}
	c.Flush()
	for _, want := range []string{">\n  +c", ":2", "-ERR no"} {
		if v, err := c.Receive(); err != nil || Format(v) != want {
			t.Errorf("got %s, %v, want %s", Format(v), err, want)
		}
	}
	if got, want := sent(), ask("SET", "k", "")+ask("A")+ask("B"); got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
}

func TestClientReportsTheEnd(t *testing.T) {
	c, _ := fakeServer(t, "$10\r\nabc")
	c.nc.(*memConn).in.endWriting()
	if _, err := c.Do("GET", "a"); err != io.ErrUnexpectedEOF {
		t.Errorf("inside a reply: %v", err)
	}
	c.Close()
	if _, err := c.Do("GET", "a"); err == nil {
		t.Error("no error after Close")
	}
}
