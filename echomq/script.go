package echomq

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/echomq/echomq-sim/scripts"
)

// Conn sends one command to a server and waits for its reply. Args are the
// command's name and arguments, any bytes.
//
// A reply is nil for a null, an int64 for an integer, a string for a simple or
// bulk string, and a []any of the same for an array; what else RESP3 can say
// may have any Go type, no handle relies on it. An error reply is returned as an
// error that errors.As finds to be a ServerError. Any other error means that no
// reply came, and that the command may or may not have run.
//
// On a cluster Do must bring EVALSHA to the node of its first key, and SCRIPT LOAD to
// every primary.
type Conn interface {
	Do(ctx context.Context, args ...string) (any, error)
}

// ConnFunc is a function as a Conn. The examples make one from go-redis and from
// rueidis.
type ConnFunc func(ctx context.Context, args ...string) (any, error)

// Do calls f.
func (f ConnFunc) Do(ctx context.Context, args ...string) (any, error) { return f(ctx, args...) }

// ServerError is the text of an error reply. Its first word is its code, and the
// code is the contract: errors.Is matches a ServerError that is nothing but the
// code, such as ErrKind or ServerError("WRONGTYPE").
type ServerError string

// The codes that handles tell apart.
const (
	ErrKind     ServerError = "EMQKIND"  // the job's id is not JOB-namespaced
	ErrNoScript ServerError = "NOSCRIPT" // the server does not hold the script
)

// Error returns the server's text.
func (e ServerError) Error() string { return string(e) }

// Code returns the first word.
func (e ServerError) Code() string {
	code, _, _ := strings.Cut(string(e), " ")
	return code
}

// Is reports whether target is a ServerError and e's code.
func (e ServerError) Is(target error) bool {
	code, ok := target.(ServerError)
	return ok && string(code) == e.Code()
}

// LoadError reports that a server took a script but answered another digest
// than the SHA-1 of the bytes that were sent: something on the way changed them.
type LoadError struct {
	Script string // the script's name
	Want   string // the SHA-1 of its source
	Got    any    // the reply of SCRIPT LOAD
}

// Error names the script and both digests.
func (e *LoadError) Error() string {
	return fmt.Sprintf("echomq: SCRIPT LOAD of %s answered %v, not %s", e.Script, e.Got, e.Want)
}

// ReplyError reports a reply that the script never gives.
type ReplyError struct {
	Script string // the script's name
	Reply  any
}

// Error names the script and the reply.
func (e *ReplyError) Error() string {
	return fmt.Sprintf("echomq: script %s answered %T %v", e.Script, e.Reply, e.Reply)
}

// Script is a body of package scripts that can be run.
type Script scripts.Script

// NewScript returns a script of the caller's own. The name appears in errors.
func NewScript(name, source string) Script { return Script(scripts.New(name, source)) }

// Run runs the script with the given KEYS and ARGV and returns its reply. It
// sends the digest first; a server that does not hold the script gets the source
// by SCRIPT LOAD, then the digest once more. Errors are those of conn, and
// LoadError.
func (s Script) Run(ctx context.Context, conn Conn, keys []string, argv ...string) (any, error) {
	command := append([]string{"EVALSHA", s.SHA, strconv.Itoa(len(keys))}, keys...)
	command = append(command, argv...)
	reply, err := conn.Do(ctx, command...)
	if !errors.Is(err, ErrNoScript) {
		return reply, err
	}
	if err := s.load(ctx, conn); err != nil {
		return nil, err
	}
	return conn.Do(ctx, command...)
}

func (s Script) load(ctx context.Context, conn Conn) error {
	reply, err := conn.Do(ctx, "SCRIPT", "LOAD", s.Source)
	if err != nil {
		return err
	}
	if reply != s.SHA {
		return &LoadError{Script: s.Name, Want: s.SHA, Got: reply}
	}
	return nil
}
