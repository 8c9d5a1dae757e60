package engine

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
}
