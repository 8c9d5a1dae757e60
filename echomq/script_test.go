package echomq_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/echomq/echomq-sim/echomq"
)

// answer is one reply of a scriptedConn.
type answer struct {
	reply any
	err   error
}

// scriptedConn gives its answers one by one and keeps the commands. To ask for
// more than it has is an error that no handle knows.
type scriptedConn struct {
	answers  []answer
	commands [][]string
}

var errNoAnswer = errors.New("more commands than answers")

func (c *scriptedConn) Do(_ context.Context, args ...string) (any, error) {
	c.commands = append(c.commands, args)
	if len(c.commands) > len(c.answers) {
		return nil, errNoAnswer
	}
	a := c.answers[len(c.commands)-1]
	return a.reply, a.err
}

const noScript = echomq.ServerError("NOSCRIPT No matching script. Please use EVAL.")

func TestRun(t *testing.T) {
	errNet := errors.New("connection reset")
	refused := echomq.ServerError("EMQSTALE job gone")
	const source = "return 7"
	script := echomq.NewScript("seven", source)
	evalsha := []string{"EVALSHA", script.SHA, "1", "k", "a", "b"}
	load := []string{"SCRIPT", "LOAD", source}

	for name, c := range map[string]struct {
		answers  []answer
		commands [][]string
		want     answer
	}{
		"cached":          {[]answer{{int64(7), nil}}, [][]string{evalsha}, answer{int64(7), nil}},
		"refused":         {[]answer{{nil, refused}}, [][]string{evalsha}, answer{nil, refused}},
		"no network":      {[]answer{{nil, errNet}}, [][]string{evalsha}, answer{nil, errNet}},
		"null":            {[]answer{{nil, nil}}, [][]string{evalsha}, answer{nil, nil}},
		"loaded":          {[]answer{{nil, noScript}, {script.SHA, nil}, {int64(7), nil}}, [][]string{evalsha, load, evalsha}, answer{int64(7), nil}},
		"load fails":      {[]answer{{nil, noScript}, {nil, errNet}}, [][]string{evalsha, load}, answer{nil, errNet}},
		"flushed between": {[]answer{{nil, noScript}, {script.SHA, nil}, {nil, noScript}}, [][]string{evalsha, load, evalsha}, answer{nil, noScript}},
	} {
		conn := &scriptedConn{answers: c.answers}
		reply, err := script.Run(t.Context(), conn, []string{"k"}, "a", "b")
		if got := (answer{reply, err}); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
		if !reflect.DeepEqual(conn.commands, c.commands) {
			t.Errorf("%s: sent %q, want %q", name, conn.commands, c.commands)
		}
	}
}

func TestRunWithoutKeys(t *testing.T) {
	script := echomq.NewScript("seven", "return 7")
	conn := &scriptedConn{answers: []answer{{int64(7), nil}}}
	if _, err := script.Run(t.Context(), conn, nil); err != nil {
		t.Fatal(err)
	}
	if want := [][]string{{"EVALSHA", script.SHA, "0"}}; !reflect.DeepEqual(conn.commands, want) {
		t.Errorf("sent %q, want %q", conn.commands, want)
	}
}

func TestLoadAnswersAnotherDigest(t *testing.T) {
	script := echomq.NewScript("seven", "return 7")
	for _, got := range []any{"da39a3ee5e6b4b0d3255bfef95601890afd80709", "OK", nil, int64(1), []any{"x"}} {
		conn := &scriptedConn{answers: []answer{{nil, noScript}, {got, nil}, {int64(7), nil}}}
		reply, err := script.Run(t.Context(), conn, nil)
		var bad *echomq.LoadError
		if !errors.As(err, &bad) || reply != nil || len(conn.commands) != 2 {
			t.Errorf("%v: got %v, %v after %q", got, reply, err, conn.commands)
			continue
		}
		want := echomq.LoadError{Script: "seven", Want: script.SHA, Got: got}
		if !reflect.DeepEqual(*bad, want) {
			t.Errorf("got %v, want %v", *bad, want)
		}
	}
}

func TestRunPassesTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	conn := echomq.ConnFunc(func(ctx context.Context, _ ...string) (any, error) { return nil, ctx.Err() })
	if _, err := echomq.NewScript("seven", "return 7").Run(ctx, conn, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestServerError(t *testing.T) {
	kind := echomq.ServerError("EMQKIND job id must be JOB-namespaced")
	if kind.Code() != "EMQKIND" || kind.Error() != "EMQKIND job id must be JOB-namespaced" {
		t.Errorf("got %q, %q", kind.Code(), kind.Error())
	}
	for _, c := range []struct {
		err, target error
		want        bool
	}{
		{kind, echomq.ErrKind, true},
		{echomq.ErrKind, echomq.ErrKind, true},
		{kind, kind, true},
		{kind, echomq.ErrNoScript, false},
		{kind, echomq.ServerError("EMQKIND other words"), false},
		{kind, echomq.ServerError(""), false},
		{echomq.ServerError("EMQKINDLY x"), echomq.ErrKind, false},
		{echomq.ServerError("ERR EMQKIND"), echomq.ErrKind, false},
		{errors.New("EMQKIND job id must be JOB-namespaced"), echomq.ErrKind, false},
	} {
		if got := errors.Is(c.err, c.target); got != c.want {
			t.Errorf("errors.Is(%q, %q) = %v", c.err, c.target, got)
		}
	}
}

func TestErrorTexts(t *testing.T) {
	for want, err := range map[string]error{
		"echomq: SCRIPT LOAD of seven answered OK, not ab12": &echomq.LoadError{Script: "seven", Want: "ab12", Got: "OK"},
		"echomq: script enqueue answered string 1":           &echomq.ReplyError{Script: "enqueue", Reply: "1"},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
