package engine

import (
	"math/big"
	"slices"
	"strconv"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

// Blocking is: register the client under its keys, return, and run the same
// handler again when one of the keys was touched. Waiters of a key are served in
// the order in which they blocked, keys in the order in which they became ready,
// after the whole command, EXEC or script that touched them.

// blocking is what a blocked client waits for; without keys it is the time alone.
type blocking struct {
	db    int
	keys  []string
	of    store.Type                             // what a key must hold to be worth another try
	noKey bool                                   // a key that goes or changes its type is worth one too
	late  resp.Value                             // the reply when the time is over
	acks  func() (reply resp.Value, enough bool) // of replicas, for which it waits
	spec  *Spec
	args  []string
}

// waiters are the clients blocked on keys, and the keys that were touched since.
type waiters struct {
	byKey   map[watchKey][]*Session // in the order in which they blocked
	ready   []watchKey              // in the order in which they were touched
	isReady map[watchKey]bool
	serving bool
}

// block makes the client wait until one of keys holds a value of type t, and the
// handler is run again. atMs is the Unix millisecond at which the wait ends with a
// null array; 0 waits for ever. Where no command may wait, inside EXEC or a script,
// nothing is the reply at once.
func (c *Call) block(keys []string, t store.Type, atMs int64, nothing resp.Value) resp.Value {
	if !c.canBlock() {
		return nothing
	}
	return c.hold(&blocking{db: c.dbIndex(), keys: slices.Clone(keys), of: t, late: resp.NullArray}, atMs)
}

// orBlock is the reply v of a command that found something in keys; if it is null the
// client waits for it, as with block.
func (c *Call) orBlock(v resp.Value, keys []string, t store.Type, atMs int64) resp.Value {
	if !v.IsNull() {
		return v
	}
	return c.block(keys, t, atMs, v)
}

// popFirst gives the first of keys that holds something, which must be of type t, to pop;
// the reply is a null array if there is none.
func (c *Call) popFirst(keys []string, t store.Type, pop func(key string, o *store.Object) resp.Value) resp.Value {
	for _, key := range keys {
		o, bad := c.writeAs(key, t)
		switch {
		case bad != nil:
			return *bad
		case o != nil:
			return pop(key, o)
		}
	}
	return resp.NullArray
}

// popOrBlock is popFirst on the keys in front of a time-out, the last argument, and waits
// for one of them.
func (c *Call) popOrBlock(t store.Type, pop func(key string, o *store.Object) resp.Value) resp.Value {
	last := len(c.Args) - 1
	at, bad := c.timeoutSeconds(last)
	if bad != nil {
		return *bad
	}
	keys := c.Args[1:last]
	return c.orBlock(c.popFirst(keys, t, pop), keys, t, at)
}

// hold makes the client wait for what b says, until the Unix millisecond atMs; 0 is for ever.
func (c *Call) hold(b *blocking, atMs int64) resp.Value {
	s := c.Sess
	if s.held == nil {
		s.held = &held{}
		if atMs > 0 {
			s.held.timer = c.deadlines.set(saturatedMicros(atMs), func() { s.giveUp(b.lateReply()) })
		}
	}
	b.spec, b.args = c.Spec, slices.Clone(c.Args)
	s.held.blocked = b
	c.waiters.add(s)
	return resp.None
}

// lateReply is the reply when the time is over.
func (b *blocking) lateReply() resp.Value {
	if b.acks != nil {
		v, _ := b.acks()
		return v
	}
	return b.late
}

func (w *waiters) add(s *Session) {
	if w.byKey == nil {
		w.byKey, w.isReady = map[watchKey][]*Session{}, map[watchKey]bool{}
	}
	b := s.held.blocked
	for _, key := range b.keys {
		k := watchKey{b.db, key}
		if list := w.byKey[k]; len(list) == 0 || list[len(list)-1] != s { // a key may be named twice
			w.byKey[k] = append(list, s)
		}
	}
}

// remove takes a client out of the lists of its keys.
func (w *waiters) remove(s *Session) {
	b := s.held.blocked
	for _, key := range b.keys {
		k := watchKey{b.db, key}
		list := w.byKey[k]
		if i := slices.Index(list, s); i >= 0 {
			list = slices.Delete(list, i, i+1)
		}
		if len(list) == 0 {
			delete(w.byKey, k)
		} else {
			w.byKey[k] = list
		}
	}
	s.held.blocked = nil
}

// touched notes that a key changed; those that nobody waits for are not noted.
func (w *waiters) touched(k watchKey) {
	if len(w.byKey[k]) > 0 && !w.isReady[k] {
		w.isReady[k] = true
		w.ready = append(w.ready, k)
	}
}

// countNoKey counts the keys whose waiters would also like to know that it is gone.
func (w *waiters) countNoKey() (n int64) {
	for _, list := range w.byKey {
		if slices.ContainsFunc(list, func(s *Session) bool { return s.held.blocked.noKey }) {
			n++
		}
	}
	return n
}

// serveBlocked gives the clients that wait for touched keys another try, until
// no touched key is left: serving one may touch others, as BLMOVE does.
func (co *core) serveBlocked() {
	w := &co.waiters
	if w.serving {
		return
	}
	w.serving = true
	for len(w.ready) > 0 {
		k := w.ready[0]
		w.ready = w.ready[1:]
		delete(w.isReady, k)
		co.serveKey(k)
	}
	w.ready = nil
	w.serving = false
}

// serveKey gives each client that waits for k one more try, the oldest first.
func (co *core) serveKey(k watchKey) {
	for _, s := range slices.Clone(co.waiters.byKey[k]) {
		if s.gone || s.held == nil || s.held.blocked == nil || !slices.Contains(co.waiters.byKey[k], s) {
			continue
		}
		b := s.held.blocked
		o := co.dbs[k.db].Read(k.key)
		if o != nil && co.expired(o) {
			o = nil
		}
		if (b.noKey || o != nil && o.Type() == b.of) && !s.dropDead() {
			co.retry(s)
		}
	}
}

// dropDead drops a waiting client that has hung up, and reports whether it has. Its own
// goroutine may be late to hear of it, and what the client would be given were lost.
func (s *Session) dropDead() bool {
	if s.conn == nil || !s.conn.HungUp() {
		return false
	}
	s.closing = true // runs nothing more
	s.drop()
	return true
}

// retry runs a blocked client's command again. If it blocks again it keeps its
// deadline and goes to the end of the lists, as on the server.
func (co *core) retry(s *Session) {
	b := s.held.blocked
	co.waiters.remove(s)
	if s.mustWait(b.spec, b.args) {
		s.endHold()
		s.postpone(b.args)
		return
	}
	co.running = s
	var v resp.Value
	if rej := s.gates(b.spec, b.args); rej != nil { // its user's rights may have changed
		v = s.rejected(b.spec, b.args, rej)
	} else {
		v = co.call(s, b.spec, b.args, nil, false)
	}
	co.running = nil
	if s.held != nil && s.held.blocked == nil {
		s.release(v)
		s.deliverAfter()
	}
}

// unblock ends the wait of a client before its time, as CLIENT UNBLOCK does.
func (s *Session) unblock(withError bool) {
	v := s.held.blocked.lateReply()
	if withError {
		v = resp.Err("UNBLOCKED client unblocked via CLIENT UNBLOCK")
	}
	s.giveUp(v)
}

// giveUp ends the wait of a client with a reply that its command did not give.
func (s *Session) giveUp(v resp.Value) {
	b := s.held.blocked
	s.core.finished(s, b.spec, b.args, v, s.held.spent)
	s.release(v)
}

// isBlocked reports whether the client's command waits for something.
func (s *Session) isBlocked() bool { return s.held != nil && s.held.blocked != nil }

var (
	errTimeoutFloat = resp.Err("ERR timeout is not a float or out of range")
	errTimeoutInt   = resp.Err("ERR timeout is not an integer or out of range")
	errTimeoutRange = resp.Err("ERR timeout is out of range")
	errTimeoutSign  = resp.Err("ERR timeout is negative")
)

// timeoutSeconds is argument i, a time-out in seconds with decimals, as the Unix
// millisecond at which it ends; 0 when there is none.
func (c *Call) timeoutSeconds(i int) (atMs int64, bad *resp.Value) {
	f, ok := parseLongDouble(c.Args[i])
	if !ok {
		return 0, &errTimeoutFloat
	}
	if f.IsInf() && f.Sign() > 0 {
		return 0, &errTimeoutRange
	}
	if f.IsInf() {
		return 0, &errTimeoutSign
	}
	ms, _ := new(big.Float).SetPrec(longDoublePrec).Mul(f, big.NewFloat(1000)).Int(nil)
	if exact := new(big.Float).SetInt(ms); exact.Cmp(new(big.Float).Mul(f, big.NewFloat(1000))) < 0 {
		ms.Add(ms, big.NewInt(1)) // rounded up
	}
	if !ms.IsInt64() && ms.Sign() > 0 {
		return 0, &errTimeoutRange
	}
	if !ms.IsInt64() {
		return 0, &errTimeoutSign
	}
	return c.timeoutAt(ms.Int64())
}

// timeoutMs is argument i, a time-out in milliseconds, likewise.
func (c *Call) timeoutMs(i int) (atMs int64, bad *resp.Value) {
	ms, ok := parseInt(c.Args[i])
	if !ok {
		return 0, &errTimeoutInt
	}
	return c.timeoutAt(ms)
}

func (c *Call) timeoutAt(ms int64) (atMs int64, bad *resp.Value) {
	switch {
	case ms < 0:
		return 0, &errTimeoutSign
	case ms == 0:
		return 0, nil
	case ms > maxInt64-c.ms():
		return 0, &errTimeoutRange
	}
	return c.ms() + ms, nil
}

const maxInt64 = int64(^uint64(0) >> 1)

// saturatedMicros is a Unix millisecond in microseconds, the latest there is when
// it does not fit.
func saturatedMicros(ms int64) int64 { return min(ms, maxInt64/1000) * 1000 }

var blockedCommands = []Spec{
	{Name: "client|unblock", Arity: -3, Flags: Admin | NoScript | Loading | Stale, run: clientUnblock,
		Group: "connection", Since: "5.0.0", Complexity: "O(log N) where N is the number of client connections",
		Summary: "Unblocks a client blocked by a blocking command from a different connection.",
		Args:    `client-id:i unblock-type<timeout:t=TIMEOUT error:t=ERROR>?`},
}

// clientUnblock: CLIENT UNBLOCK client-id [TIMEOUT | ERROR]
func clientUnblock(c *Call) resp.Value {
	withError := false
	if len(c.Args) == 4 {
		withError = c.is(3, "error")
		if !withError && !c.is(3, "timeout") {
			return resp.Err("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
		}
	}
	id, err := strconv.ParseUint(c.Args[2], 10, 64)
	if _, ok := parseInt(c.Args[2]); !ok {
		return errNotInt
	}
	target := c.sessions[id]
	if err != nil || target == nil || !target.isBlocked() {
		return resp.Zero
	}
	target.unblock(withError)
	return resp.One
}
