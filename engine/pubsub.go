package engine

import (
	"slices"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

// subKind is a kind of subscription.
type subKind int

const (
	subChannel subKind = iota
	subPattern
	subShard
	subKinds
)

// The first word of the messages about each kind of subscription.
var (
	subscribeWord   = [subKinds]string{"subscribe", "psubscribe", "ssubscribe"}
	unsubscribeWord = [subKinds]string{"unsubscribe", "punsubscribe", "sunsubscribe"}
)

// subscriptions are those of one kind, of all clients.
type subscriptions struct {
	byName map[string][]*Session // in the order in which they subscribed
	names  nameSet               // in the order of their first subscription
}

func (u *subscriptions) add(name string, s *Session) {
	if u.byName == nil {
		u.byName = map[string][]*Session{}
	}
	u.names.add(name)
	u.byName[name] = append(u.byName[name], s)
}

func (u *subscriptions) remove(name string, s *Session) {
	list := u.byName[name]
	i := slices.Index(list, s)
	if list = slices.Delete(list, i, i+1); len(list) > 0 {
		u.byName[name] = list
		return
	}
	delete(u.byName, name)
	u.names.remove(name)
}

// subscribe adds one subscription and returns its confirmation, which comes also
// when it is there already.
func (s *Session) subscribe(kind subKind, name string) resp.Value {
	name = strings.Clone(name)
	if s.subs[kind].add(name) {
		s.nameBytes += nameSize(name)
		s.core.subs[kind].add(name, s)
	}
	return s.confirmation(subscribeWord[kind], resp.Bulk(name), kind)
}

// unsubscribe ends one subscription and returns the confirmation, which comes also
// when there is none.
func (s *Session) unsubscribe(kind subKind, name string) resp.Value {
	if s.subs[kind].remove(name) {
		s.nameBytes -= nameSize(name)
		s.core.subs[kind].remove(name, s)
	}
	return s.confirmation(unsubscribeWord[kind], resp.Bulk(name), kind)
}

// unsubscribeAll ends all subscriptions of a kind and returns the confirmations, at least one.
func (s *Session) unsubscribeAll(kind subKind) []resp.Value {
	if s.subs[kind].len() == 0 {
		return []resp.Value{s.confirmation(unsubscribeWord[kind], resp.Null, kind)}
	}
	var out []resp.Value
	for _, name := range slices.Collect(s.subs[kind].all()) {
		out = append(out, s.unsubscribe(kind, name))
	}
	return out
}

// endSubscriptions ends all of them without a word.
func (s *Session) endSubscriptions() {
	for kind := range subKinds {
		if s.subs[kind].len() > 0 {
			s.unsubscribeAll(kind)
		}
	}
}

// confirmation tells the client of a change and how many subscriptions it has now:
// shard channels count apart from the others.
func (s *Session) confirmation(word string, name resp.Value, kind subKind) resp.Value {
	n := s.subs[subChannel].len() + s.subs[subPattern].len()
	if kind == subShard {
		n = s.subs[subShard].len()
	}
	return resp.Push(resp.Bulk(word), name, resp.Int(int64(n)))
}

// subscribed reports whether the client is in the mode that subscriptions bring.
func (s *Session) subscribed() bool {
	return s.subs[subChannel].len()+s.subs[subPattern].len()+s.subs[subShard].len() > 0
}

// publish delivers a message and returns how many it went to.
func (co *core) publish(channel, message string) int64 {
	n := co.publishTo(subChannel, channel, resp.Push(resp.Bulk("message"), resp.Bulk(channel), resp.Bulk(message)))
	for pattern := range co.subs[subPattern].names.all() {
		if globMatch(pattern, channel, false) {
			n += co.publishTo(subPattern, pattern, resp.Push(resp.Bulk("pmessage"), resp.Bulk(pattern), resp.Bulk(channel), resp.Bulk(message)))
		}
	}
	return n
}

// publishTo delivers one message to the subscribers of one name.
func (co *core) publishTo(kind subKind, name string, message resp.Value) int64 {
	list := co.subs[kind].byName[name]
	for _, s := range list {
		s.deliver(message)
	}
	return int64(len(list))
}

// deliver pushes a message, behind the reply of the command that the client runs
// itself just now.
func (s *Session) deliver(v resp.Value) {
	if s.core.running == s && !s.core.evicting {
		s.after = append(s.after, v)
		return
	}
	s.push(v)
}

// deliverAfter writes what was pushed to the client while its own command ran.
func (s *Session) deliverAfter() {
	for _, v := range s.after {
		s.push(v)
	}
	s.after = s.after[:0]
}
