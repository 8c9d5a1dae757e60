package echomq_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/echomq/echomq-sim/echomq"
	"github.com/echomq/echomq-sim/scripts"
)

func TestEnqueueSendsTheTransition(t *testing.T) {
	conn := &scriptedConn{answers: []answer{{int64(1), nil}}}
	if v, err := echomq.Enqueue(t.Context(), conn, "orders", jobID, "p\x00q"); v != echomq.Enqueued || err != nil {
		t.Errorf("got %v, %v", v, err)
	}
	want := [][]string{{
		"EVALSHA", scripts.Enqueue.SHA, "2",
		"emq:{orders}:job:" + jobID, "emq:{orders}:pending",
		jobID, "p\x00q",
	}}
	if !reflect.DeepEqual(conn.commands, want) {
		t.Errorf("sent %q\nwant %q", conn.commands, want)
	}
}

func TestEnqueueVerdicts(t *testing.T) {
	errNet := errors.New("connection reset")
	for _, c := range []struct {
		answer answer
		want   echomq.Verdict
		err    error
	}{
		{answer{int64(1), nil}, echomq.Enqueued, nil},
		{answer{int64(0), nil}, echomq.Duplicate, nil},
		{answer{nil, echomq.ServerError("EMQKIND job id must be JOB-namespaced")}, 0, echomq.ErrKind},
		{answer{nil, echomq.ServerError("READONLY no")}, 0, echomq.ServerError("READONLY")},
		{answer{nil, errNet}, 0, errNet},
	} {
		got, err := echomq.Enqueue(t.Context(), &scriptedConn{answers: []answer{c.answer}}, "q", jobID, "p")
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%v: got %v, %v", c.answer, got, err)
		}
	}
}

func TestEnqueueRefusesOtherReplies(t *testing.T) {
	for _, reply := range []any{nil, int64(2), int64(-1), "1", 1, true, []any{int64(1)}, map[string]any{}} {
		v, err := echomq.Enqueue(t.Context(), &scriptedConn{answers: []answer{{reply, nil}}}, "q", jobID, "p")
		var bad *echomq.ReplyError
		if v != 0 || !errors.As(err, &bad) {
			t.Errorf("%v: got %v, %v", reply, v, err)
			continue
		}
		if want := (echomq.ReplyError{Script: "enqueue", Reply: reply}); !reflect.DeepEqual(*bad, want) {
			t.Errorf("got %v, want %v", *bad, want)
		}
	}
}

func TestEnqueueRefusesBeforeTheWire(t *testing.T) {
	for _, c := range []struct {
		queue string
		id    echomq.BrandedID
		err   error
	}{
		{"emq", jobID, echomq.ErrQueueName},
		{"a b", jobID, echomq.ErrQueueName},
		{"q", "JOB1", echomq.ErrBrandedID},
		{"q", "JOBzzzzzzzzzzz", echomq.ErrBrandedID},
	} {
		conn := &scriptedConn{}
		v, err := echomq.Enqueue(t.Context(), conn, c.queue, c.id, "p")
		if v != 0 || !errors.Is(err, c.err) || len(conn.commands) != 0 {
			t.Errorf("%s, %s: got %v, %v after %q", c.queue, c.id, v, err, conn.commands)
		}
	}
}

func TestVerdictString(t *testing.T) {
	for v, want := range map[echomq.Verdict]string{
		echomq.Enqueued: "enqueued", echomq.Duplicate: "duplicate", 0: "verdict(0)", 9: "verdict(9)",
	} {
		if got := v.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
