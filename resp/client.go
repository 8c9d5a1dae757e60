package resp

import (
	"bufio"
	"errors"
	"net"

	"github.com/tidwall/redcon"
)

// Client sends commands over a connection and reads their replies. It is for
// one goroutine at a time.
type Client struct {
	nc      net.Conn
	out     *bufio.Writer
	in      *Reader
	scratch []byte
	pushes  []Value
	due     int // replies to commands sent
}

var errRepliesDue = errors.New("resp: Do while replies are due")

// NewClient returns a client that owns nc.
func NewClient(nc net.Conn) *Client {
	return &Client{nc: nc, out: bufio.NewWriter(nc), in: NewReader(nc)}
}

// Do sends one command and returns its reply, which may be an error reply. The
// error is one of the connection. Pushes that come first are kept for Pushes.
func (c *Client) Do(args ...string) (Value, error) {
	if c.due > 0 {
		return Value{}, errRepliesDue
	}
	if err := c.Send(args...); err != nil {
		return Value{}, err
	}
	if err := c.Flush(); err != nil {
		return Value{}, err
	}
	for {
		v, err := c.Receive()
		if err != nil || v.Kind != KindPush {
			return v, err
		}
		c.pushes = append(c.pushes, v)
	}
}

// Send adds a command to the pipeline, which is written when it is long or
// flushed.
func (c *Client) Send(args ...string) error {
	b := AppendRequest(c.scratch[:0], args...)
	c.scratch = b[:0]
	c.due++
	_, err := c.out.Write(b)
	return err
}

// AppendRequest appends a request as clients send it.
func AppendRequest(b []byte, args ...string) []byte {
	b = redcon.AppendArray(b, len(args))
	for _, arg := range args {
		b = redcon.AppendBulkString(b, arg)
	}
	return b
}

// Flush writes what Send has collected.
func (c *Client) Flush() error { return c.out.Flush() }

// Receive waits for the next reply or push, in the order of arrival. It does
// not flush.
func (c *Client) Receive() (Value, error) {
	v, err := c.in.Read()
	if err == nil && v.Kind != KindPush && c.due > 0 {
		c.due--
	}
	return v, err
}

// Pushes returns the pushes that came during Do since the last call.
func (c *Client) Pushes() []Value {
	pushes := c.pushes
	c.pushes = nil
	return pushes
}

// Close closes the connection.
func (c *Client) Close() error { return c.nc.Close() }
