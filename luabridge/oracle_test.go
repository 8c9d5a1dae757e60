package luabridge

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/echomq/echomq-sim/resp"
)

// respConn is a connection to a live server, for recording and comparing.
type respConn struct {
	c net.Conn
	r *bufio.Reader
}

func dialProto(addr string, proto int) (*respConn, error) {
	c, err := net.Dial(oracleNetwork(addr), addr)
	if err != nil {
		return nil, err
	}
	c.SetDeadline(time.Now().Add(5 * time.Second))
	conn := &respConn{c, bufio.NewReader(c)}
	if proto == 3 {
		_, _, err = conn.do("HELLO", "3")
	}
	return conn, err
}

// do sends one command and returns its reply as a value and as bytes.
func (c *respConn) do(args ...string) (resp.Value, string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(c.c, b.String()); err != nil {
		return resp.Value{}, "", err
	}
	var raw strings.Builder
	v, err := readReply(c.r, &raw)
	return v, raw.String(), err
}

// readReply reads one reply; raw gets its bytes.
func readReply(r *bufio.Reader, raw *strings.Builder) (resp.Value, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return resp.Value{}, err
	}
	raw.WriteString(line)
	text := strings.TrimSuffix(line[1:], "\r\n")
	n, _ := strconv.Atoi(text)
	switch line[0] {
	case '+':
		return resp.Simple(text), nil
	case '-':
		return resp.Err(text), nil
	case ':':
		i, err := strconv.ParseInt(text, 10, 64)
		return resp.Int(i), err
	case '_':
		return resp.Null, nil
	case '#':
		return resp.Bool(text == "t"), nil
	case '(':
		return resp.BigNum(text), nil
	case ',':
		f, _ := strtod(text)
		return resp.Double(f), nil
	case '$', '=':
		return readBulk(r, raw, line[0], n)
	}
	return readAggregate(r, raw, line[0], n)
}

func readBulk(r *bufio.Reader, raw *strings.Builder, kind byte, n int) (resp.Value, error) {
	if n < 0 {
		return resp.Null, nil
	}
	buf := make([]byte, n+2)
	if _, err := io.ReadFull(r, buf); err != nil {
		return resp.Value{}, err
	}
	raw.Write(buf)
	if kind == '=' {
		return resp.Verbatim(string(buf[4:n])), nil
	}
	return resp.Bulk(string(buf[:n])), nil
}

func readAggregate(r *bufio.Reader, raw *strings.Builder, kind byte, n int) (resp.Value, error) {
	if n < 0 {
		return resp.NullArray, nil
	}
	if kind == '%' {
		n *= 2
	}
	elems := make([]resp.Value, 0, min(n, 1<<16))
	for range n {
		v, err := readReply(r, raw)
		if err != nil {
			return v, err
		}
		elems = append(elems, v)
	}
	switch kind {
	case '*':
		return resp.Array(elems...), nil
	case '%':
		return resp.Map(elems...), nil
	case '~':
		return resp.Set(elems...), nil
	case '>':
		return resp.Push(elems...), nil
	}
	return resp.Value{}, fmt.Errorf("unknown reply type %q", kind)
}

// encode appends a value as the server sends it.
func encode(b *strings.Builder, v resp.Value, proto int) {
	three := proto == 3
	bulk := func(s string) { fmt.Fprintf(b, "$%d\r\n%s\r\n", len(s), s) }
	switch v.Kind {
	case resp.KindNull, resp.KindNullArray:
		b.WriteString(map[bool]string{true: "_\r\n", false: "$-1\r\n"}[three])
	case resp.KindSimple:
		b.WriteString("+" + v.Str + "\r\n")
	case resp.KindErr:
		b.WriteString("-" + v.Str + "\r\n")
	case resp.KindInt:
		fmt.Fprintf(b, ":%d\r\n", v.Int)
	case resp.KindBool:
		if three {
			b.WriteString("#" + "ft"[v.Int:v.Int+1] + "\r\n")
		} else {
			fmt.Fprintf(b, ":%d\r\n", v.Int)
		}
	case resp.KindBulk:
		bulk(v.Str)
	case resp.KindDouble:
		if three {
			b.WriteString("," + formatDouble(v.Num()) + "\r\n")
		} else {
			bulk(formatDouble(v.Num()))
		}
	case resp.KindBigNum:
		if three {
			b.WriteString("(" + v.Str + "\r\n")
		} else {
			bulk(v.Str)
		}
	case resp.KindVerbatim:
		if three {
			fmt.Fprintf(b, "=%d\r\ntxt:%s\r\n", len(v.Str)+4, v.Str)
		} else {
			bulk(v.Str)
		}
	default:
		encodeAggregate(b, v, proto)
	}
}

func encodeAggregate(b *strings.Builder, v resp.Value, proto int) {
	n, mark := len(v.Elems), "*"
	if proto == 3 {
		switch v.Kind {
		case resp.KindMap:
			n, mark = n/2, "%"
		case resp.KindSet:
			mark = "~"
		}
	}
	fmt.Fprintf(b, "%s%d\r\n", mark, n)
	for _, e := range v.Elems {
		encode(b, e, proto)
	}
}

func encoded(v resp.Value, proto int) string {
	var b strings.Builder
	encode(&b, v, proto)
	return b.String()
}

// hostCall is one redis.call: what it asked and what it got.
type hostCall struct {
	args  []string
	pairs bool   // the reply's arrays of two are pairs: flat in RESP2
	raw   string // RESP3
}

func (c hostCall) value() resp.Value {
	var raw strings.Builder
	v, err := readReply(bufio.NewReader(strings.NewReader(c.raw)), &raw)
	if err != nil {
		return resp.Err("ERR bad recording: " + err.Error())
	}
	if c.pairs {
		var flat []resp.Value
		for _, e := range v.Elems {
			flat = append(flat, e.Elems...)
		}
		return resp.Pairs(flat...)
	}
	return v
}

// liveHost sends commands to a live server and notes them.
type liveHost struct {
	conn  *respConn
	calls []hostCall
	log   []string
}

// scriptErrors are the server's texts for a client and for a script.
var scriptErrors = []struct{ client, script string }{
	{"-ERR unknown command", "-ERR Unknown command called from script\r\n"},
	{"-ERR wrong number of arguments", "-ERR Wrong number of args calling command from script\r\n"},
}

// notFromScripts are commands that a script may not call.
const notFromScripts = " eval evalsha multi exec subscribe config client hello wait script "

func (h *liveHost) Call(args []string) resp.Value {
	call := hostCall{args: append([]string(nil), args...)}
	if strings.Contains(notFromScripts, " "+strings.ToLower(args[0])+" ") {
		call.raw = "-ERR This Redis command is not allowed from script\r\n"
	} else {
		_, raw, err := h.conn.do(args...)
		if err != nil {
			raw = "-ERR oracle: " + err.Error() + "\r\n"
		}
		for _, e := range scriptErrors {
			if strings.HasPrefix(raw, e.client) {
				raw = e.script
			}
		}
		call.raw = raw
	}
	last := strings.ToLower(args[len(args)-1])
	call.pairs = last == "withscores" && strings.HasPrefix(call.raw, "*") && strings.Contains(call.raw, "\r\n*2\r\n")
	h.calls = append(h.calls, call)
	return call.value()
}

func (h *liveHost) Log(level int, msg string) { h.log = append(h.log, fmt.Sprint(level, " ", msg)) }

func (h *liveHost) Replicate(bool) {}

func (h *liveHost) ACLCheck(args []string) (bool, string) {
	if args[0] == "bogus" {
		return false, "ERR Invalid command passed to server.acl_check_cmd()"
	}
	return true, ""
}

// replayHost answers from a recording.
type replayHost struct {
	liveHost
	left []hostCall
	bad  string
}

func (h *replayHost) Call(args []string) resp.Value {
	if len(h.left) == 0 {
		h.bad = fmt.Sprintf("call %q is not in the recording", args)
		return resp.Err("ERR not recorded")
	}
	c := h.left[0]
	h.left = h.left[1:]
	if fmt.Sprintf("%q", c.args) != fmt.Sprintf("%q", args) {
		h.bad = fmt.Sprintf("call %q, recorded %q", args, c.args)
	}
	return c.value()
}
