package echomq

import (
	"context"
	"strconv"

	"github.com/echomq/echomq-sim/scripts"
)

// Verdict is what a transition decided. The zero Verdict means that it decided
// nothing, because of an error.
type Verdict uint8

// The verdicts of Enqueue.
const (
	Enqueued  Verdict = iota + 1 // the row was new: written and made pending
	Duplicate                    // the row was there before: nothing was done
)

// String returns the verdict in lower case.
func (v Verdict) String() string {
	switch v {
	case Enqueued:
		return "enqueued"
	case Duplicate:
		return "duplicate"
	}
	return "verdict(" + strconv.Itoa(int(v)) + ")"
}

// Enqueue puts a job into a queue. To repeat a call is harmless: the second one
// answers Duplicate and leaves the first payload as it is.
//
// A queue's name or an id outside the grammar is a NameError, and nothing is
// sent. An id of another namespace than JOB is refused by the script with
// ErrKind. Every other error is passed on as conn gave it, but for LoadError and
// ReplyError.
func Enqueue(ctx context.Context, conn Conn, queue string, id BrandedID, payload string) (Verdict, error) {
	row, err := JobKey(queue, id)
	if err != nil {
		return 0, err
	}
	pending, err := QueueKey(queue, PendingSuffix)
	if err != nil {
		return 0, err
	}
	reply, err := Script(scripts.Enqueue).Run(ctx, conn, []string{row, pending}, string(id), payload)
	if err != nil {
		return 0, err
	}
	switch reply {
	case int64(1):
		return Enqueued, nil
	case int64(0):
		return Duplicate, nil
	}
	return 0, &ReplyError{Script: scripts.Enqueue.Name, Reply: reply}
}
