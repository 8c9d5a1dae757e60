package engine

import "github.com/echomq/echomq-sim/resp"

// There is no append-only file: what these commands ask for of it has happened at once if it
// is nothing, and never happens otherwise.

var waitCommands = []Spec{
	{Name: "wait", Arity: 3, Flags: Blocking, NoGroupACL: true, ACL: []string{"connection"}, run: wait,
		Group: "generic", Since: "3.0.0", Complexity: "O(1)",
		Summary: "Blocks until the asynchronous replication of all preceding write commands sent by the connection is completed.",
		Tips:    []string{"request_policy:all_shards", "response_policy:agg_min"},
		Args:    `numreplicas:i timeout:i`},
	{Name: "waitaof", Arity: 4, Flags: Blocking, NoGroupACL: true, ACL: []string{"connection"}, run: waitaof,
		Group: "generic", Since: "7.2.0", Complexity: "O(1)",
		Summary: "Blocks until all of the preceding write commands sent by the connection are written to the append-only file of the primary and/or replicas.",
		Tips:    []string{"request_policy:all_shards", "response_policy:agg_min"},
		Args:    `numlocal:i numreplicas:i timeout:i`},
}

// wait: WAIT numreplicas timeout
func wait(c *Call) resp.Value {
	replicas, bad := c.intArg(1)
	if bad != nil {
		return *bad
	}
	repl, written := &c.repl, c.Sess.written
	return c.waitForReplicas(2, func() (resp.Value, bool) {
		n := repl.countAcks(written, false)
		return resp.Int(n), n >= replicas
	})
}

// waitaof: WAITAOF numlocal numreplicas timeout
func waitaof(c *Call) resp.Value {
	local, ok := parseInt(c.Args[1])
	switch {
	case !ok:
		return errNotInt
	case local < 0 || local > 1:
		return resp.Err("ERR value is out of range, value must between 0 and 1")
	}
	replicas, ok := parseInt(c.Args[2])
	if !ok || replicas < 0 {
		return errNotPositive
	}
	if _, bad := c.timeoutMs(3); bad != nil {
		return *bad
	}
	if local > 0 && !c.set.appendOnly {
		return resp.Err("ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.")
	}
	repl, written := &c.repl, c.Sess.written
	return c.waitForReplicas(3, func() (resp.Value, bool) {
		n := repl.countAcks(written, true)
		return resp.Array(resp.Int(local), resp.Int(n)), n >= replicas // what DEBUG LOADAOF brings back is up to date at once
	})
}

// waitForReplicas answers with what acks gives, when that is enough or when the time-out in
// argument i is over.
func (c *Call) waitForReplicas(i int, acks func() (reply resp.Value, enough bool)) resp.Value {
	at, bad := c.timeoutMs(i)
	if bad != nil {
		return *bad
	}
	if reply, enough := acks(); enough || !c.canBlock() {
		return reply
	}
	v := c.hold(&blocking{acks: acks}, at)
	c.repl.waiting = append(c.repl.waiting, c.Sess)
	c.askForAcks()
	return v
}
