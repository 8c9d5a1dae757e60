package engine

import (
	"strconv"
	"strings"
)

// eventClass is a class of keyspace events, one letter of notify-keyspace-events.
type eventClass byte

const (
	eventGeneric eventClass = 'g'
	eventString  eventClass = '$'
	eventList    eventClass = 'l'
	eventSet     eventClass = 's'
	eventHash    eventClass = 'h'
	eventZSet    eventClass = 'z'
	eventExpired eventClass = 'x'
	eventEvicted eventClass = 'e'
	eventStream  eventClass = 't'
	eventKeyMiss eventClass = 'm'
	eventNew     eventClass = 'n'
)

// KeyEvent is one keyspace event, in the order in which the server emits them.
type KeyEvent struct {
	DB    int
	Class byte // the letter of notify-keyspace-events
	Event string
	Key   string
}

// notify emits a keyspace event of the call's database.
func (c *Call) notify(class eventClass, event, key string) {
	c.emit(c.dbIndex(), class, event, key)
}

// emit is the one place that keyspace events pass through.
func (co *core) emit(db int, class eventClass, event, key string) {
	if co.onKeyEvent != nil {
		co.onKeyEvent(KeyEvent{DB: db, Class: byte(class), Event: event, Key: key})
	}
	if co.set.notify == 0 || co.set.notify&notifyFlags(string(class)) == 0 {
		return
	}
	if co.set.notify&notifyFlags("K") != 0 {
		co.publish("__keyspace@"+strconv.Itoa(db)+"__:"+key, event)
	}
	if co.set.notify&notifyFlags("E") != 0 {
		co.publish("__keyevent@"+strconv.Itoa(db)+"__:"+event, key)
	}
}

// notifyLetters are the classes in the order in which the server prints them, the
// two kinds of channel, and the class that "A" does not include.
const (
	notifyLetters = "g$lshzxetdnKEm"
	notifyAll     = "g$lshzxetd"
)

// notifyFlags is a set of letters as bits.
func notifyFlags(letters string) (flags uint32) {
	for _, l := range letters {
		flags |= 1 << strings.IndexRune(notifyLetters, l)
	}
	return flags
}

// parseNotify parses the value of notify-keyspace-events.
func parseNotify(value string) (flags uint32, ok bool) {
	for _, l := range value {
		switch {
		case l == 'A':
			flags |= notifyFlags(notifyAll)
		case !strings.ContainsRune(notifyLetters, l):
			return 0, false
		default:
			flags |= notifyFlags(string(l))
		}
	}
	return flags, true
}

// formatNotify prints the flags as the server does: "A" hides "n" as well.
func formatNotify(flags uint32) string {
	out, letters := "", notifyLetters
	if all := notifyFlags(notifyAll); flags&all == all {
		out, letters = "A", "KEm"
	}
	for _, l := range letters {
		if flags&notifyFlags(string(l)) != 0 {
			out += string(l)
		}
	}
	return out
}
