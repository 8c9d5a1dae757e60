package engine

import (
	"slices"
	"strings"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var multiCommands = []Spec{
	{Name: "discard", Arity: 1, Flags: NoScript | Loading | Stale | Fast | AllowBusy, run: discard,
		Group: "transactions", Since: "2.0.0", Complexity: "O(N), when N is the number of queued commands",
		Summary: "Discards a transaction."},
	{Name: "exec", Arity: 1, Flags: NoScript | Loading | Stale | SkipSlowlog, run: exec, pace: execPace,
		Group: "transactions", Since: "1.2.0", Complexity: "Depends on commands in the transaction",
		Summary: "Executes all commands in a transaction."},
	{Name: "multi", Arity: 1, Flags: NoScript | Loading | Stale | Fast | NoMulti | AllowBusy, run: multi,
		Group: "transactions", Since: "1.2.0", Complexity: "O(1)",
		Summary: "Starts a transaction."},
	{Name: "unwatch", Arity: 1, Flags: NoScript | Loading | Stale | Fast | AllowBusy, run: unwatch,
		Group: "transactions", Since: "2.2.0", Complexity: "O(1)",
		Summary: "Forgets about watched keys of a transaction."},
	{Name: "watch", Arity: -2, Flags: NoScript | Loading | Stale | Fast | NoMulti | AllowBusy,
		Keys: keys(keyRange(1, -1, 1, 0, RO)), run: watch,
		Group: "transactions", Since: "2.2.0", Complexity: "O(1) for every key.",
		Summary: "Monitors changes to keys to determine the execution of a transaction.",
		Args:    `key:k#0*`},
}

// transaction is an open MULTI.
type transaction struct {
	queue  []queued
	bytes  int   // of their arguments, as the server counts them
	flags  Flags // of all of them, as they were when they were queued
	spoilt bool  // a command was refused while queueing
}

// pointerSize is what the server counts for each argument beyond its text.
const pointerSize = 8

type queued struct {
	spec *Spec
	args []string
}

// watchKey is a key that WATCH names.
type watchKey struct {
	db  int
	key string
}

// runsInMulti are the commands that run at once between MULTI and EXEC.
var runsInMulti = map[string]bool{"exec": true, "discard": true, "multi": true, "watch": true, "quit": true, "reset": true}

// multi: MULTI
func multi(c *Call) resp.Value {
	if c.Sess.multi != nil {
		return resp.Err("ERR MULTI calls can not be nested")
	}
	c.Sess.multi = &transaction{}
	return resp.OK
}

// discard: DISCARD
func discard(c *Call) resp.Value {
	if c.Sess.multi == nil {
		return resp.Err("ERR DISCARD without MULTI")
	}
	c.Sess.endMulti()
	return resp.OK
}

// execPace is no more than open: its replies are one.
func execPace(s *Session, _ []string) pace {
	if s.multi != nil && slices.ContainsFunc(s.multi.queue, func(q queued) bool { return q.spec.pace != nil }) {
		return paceOpen
	}
	return paceBrief
}

// exec: EXEC
func exec(c *Call) resp.Value {
	s := c.Sess
	if s.multi == nil {
		return resp.Err("ERR EXEC without MULTI")
	}
	c.sendNothing() // but what it runs
	tx, dirty := s.multi, s.dirty || s.watchExpired()
	defer s.endMulti() // until then CLIENT LIST and ACL LOG see a client inside a transaction
	s.unwatch()
	if tx.spoilt {
		return errExecAbort
	}
	if dirty {
		return resp.NullArray
	}
	replies := make([]resp.Value, len(tx.queue))
	for i, q := range tx.queue {
		if rej := s.checkQueued(&q); rej != nil {
			c.countError(rej.conn)
			replies[i] = rej.reply(false)
			continue
		}
		replies[i] = c.core.call(s, q.spec, q.args, nil, true)
	}
	return resp.Array(replies...)
}

// endMulti leaves the transaction and forgets the watched keys.
func (s *Session) endMulti() {
	s.multi = nil
	s.unwatch()
}

// watch: WATCH key [key ...]
func watch(c *Call) resp.Value {
	s := c.Sess
	if s.multi != nil {
		return resp.Err("ERR WATCH inside MULTI is not allowed")
	}
	if s.dirty {
		return resp.OK // EXEC will fail whatever else is watched
	}
	for _, key := range c.Args[1:] {
		o := c.db().Read(key)
		s.watch(watchKey{c.dbIndex(), key}, o != nil && c.expired(o))
	}
	return resp.OK
}

// unwatch: UNWATCH
func unwatch(c *Call) resp.Value {
	c.Sess.unwatch()
	return resp.OK
}

// watcher is one client's watch of one key.
type watcher struct {
	session *Session
	key     watchKey
	expired bool // the key's time had passed already: its removal is no change
}

func (s *Session) watch(k watchKey, expired bool) {
	if slices.ContainsFunc(s.core.watchers[k], func(w *watcher) bool { return w.session == s }) {
		return
	}
	k.key = strings.Clone(k.key)
	s.nameBytes += nameSize(k.key)
	w := &watcher{s, k, expired}
	s.watched = append(s.watched, w)
	s.core.watchers[k] = append(s.core.watchers[k], w)
}

func (s *Session) unwatch() {
	for _, w := range s.watched {
		s.nameBytes -= nameSize(w.key.key)
		list := s.core.watchers[w.key]
		i := slices.Index(list, w)
		if list = slices.Delete(list, i, i+1); len(list) == 0 {
			delete(s.core.watchers, w.key)
		} else {
			s.core.watchers[w.key] = list
		}
	}
	s.watched, s.dirty = nil, false
}

// watchExpired reports whether the time of a watched key has passed since WATCH,
// though it was not removed yet.
func (s *Session) watchExpired() bool {
	for _, w := range s.watched {
		if o := s.core.dbs[w.key.db].Read(w.key.key); !w.expired && o != nil && s.core.expired(o) {
			return true
		}
	}
	return false
}

// touchWatched spoils the transactions that watch a key.
func (co *core) touchWatched(k watchKey) {
	for _, w := range co.watchers[k] {
		if w.expired {
			w.expired = false // it is gone now; from here on a change counts
			if co.dbs[k.db].Read(k.key) == nil {
				continue
			}
		}
		w.session.dirty = true
	}
}

// replaced tells the watcher that the whole database is: was and becomes are the objects
// at its key, nil for none. What is gone in fact, only not removed yet, is no loss.
func (w *watcher) replaced(was, becomes *store.Object) {
	stale := becomes != nil && w.session.core.expired(becomes)
	switch {
	case w.expired && becomes == nil:
		w.expired = false
	case w.expired && stale:
	case was == nil && stale:
		w.expired = true
	default:
		w.session.dirty = true
	}
}
