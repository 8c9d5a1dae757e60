package engine

import (
	"fmt"
	"testing"
)

func TestPubSubInRESP2(t *testing.T) {
	srv := serveTest(t, newTestEngine(t, nil))
	sub, pub := srv.dial(), srv.dial()
	sub.do("*\n  $subscribe\n  $a\n  :1", "SUBSCRIBE", "a")
	sub.do("*\n  $psubscribe\n  $[ab]*\n  :2", "PSUBSCRIBE", "[ab]*")
	pub.do(":2", "PUBLISH", "a", "hello")
	sub.want("*\n  $message\n  $a\n  $hello")
	sub.want("*\n  $pmessage\n  $[ab]*\n  $a\n  $hello")
	sub.do("*\n  $pong\n  $", "PING")
	sub.do("-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context", "GET", "k")
	sub.do("*\n  $unsubscribe\n  $nosuch\n  :2", "UNSUBSCRIBE", "nosuch")
	sub.do("*\n  $unsubscribe\n  $a\n  :1", "UNSUBSCRIBE")
	sub.do("*\n  $punsubscribe\n  $[ab]*\n  :0", "PUNSUBSCRIBE")
	sub.do("_", "GET", "k")
	pub.do(":0", "PUBLISH", "a", "nobody")
}

func TestPubSubInRESP3(t *testing.T) {
	srv := serveTest(t, newTestEngine(t, nil))
	c := srv.dial()
	c.get("HELLO", "3")
	c.send("SUBSCRIBE", "a", "b")
	c.want(">\n  $subscribe\n  $a\n  :1")
	c.want(">\n  $subscribe\n  $b\n  :2")
	c.send("PUBLISH", "a", "x") // the reply comes ahead of the message to oneself
	c.want(":1")
	c.want(">\n  $message\n  $a\n  $x")
	c.do("_", "GET", "k")
}

func TestKeyspaceNotifications(t *testing.T) {
	srv := serveTest(t, newTestEngine(t, nil))
	sub, pub := srv.dial(), srv.dial()
	pub.do("+OK", "CONFIG", "SET", "notify-keyspace-events", "KEA")
	sub.do("*\n  $psubscribe\n  $__key*\n  :1", "PSUBSCRIBE", "__key*")
	pub.do(":1", "ZADD", "z", "1", "m")
	sub.want("*\n  $pmessage\n  $__key*\n  $__keyspace@0__:z\n  $zadd")
	sub.want("*\n  $pmessage\n  $__key*\n  $__keyevent@0__:zadd\n  $z")
	pub.do(":1", "ZREM", "z", "m")
	for _, event := range []string{"zrem", "del"} {
		sub.want("*\n  $pmessage\n  $__key*\n  $__keyspace@0__:z\n  $" + event)
		sub.want("*\n  $pmessage\n  $__key*\n  $__keyevent@0__:" + event + "\n  $z")
	}
}

func TestASubscriberThatGoesIsForgotten(t *testing.T) {
	e := newTestEngine(t, nil)
	srv := serveTest(t, e)
	pub := srv.dial()
	for i := range 20 {
		sub := srv.dial()
		sub.send("SUBSCRIBE", "a", fmt.Sprint(i))
		sub.get("PING")
		pub.do(":1", "CLIENT", "KILL", "TYPE", "pubsub")
		sub.nc.Close()
	}
	pub.do("*0", "PUBSUB", "CHANNELS")
	pub.do(":0", "PUBLISH", "a", "x")
}
