package echomqsim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/scripts"
)

// soakEnv makes the test binary the client side of TestSoak: "ADDRESS CONNECTIONS ROUNDS
// DURATION", where either ROUNDS or DURATION bounds the work.
const soakEnv = "ECHOMQSIM_SOAK_CLIENT"

// soaker is the client side. Its workers check every reply they get: what a worker asks
// for concerns keys of its own, or totals that come out in one way only.
type soaker struct {
	connect func() (net.Conn, error)
	rounds  int
	until   context.Context // done when the time is over; nil if rounds count
	asked   atomic.Int64    // commands answered as they should be
}

// soakWorkers are the kinds of work and the connections that each takes.
var soakWorkers = []struct {
	conns int
	run   func(*soakTask) error
}{
	{1, soakPipelines}, {2, soakChannels}, {3, soakBlockedPops}, {4, soakTransactions},
	{2, soakHangUps}, {2, soakQueue}, {2, soakTracking}, {1, soakBigValues},
}

// soakTask is one worker.
type soakTask struct {
	*soaker
	id    int
	rng   *rand.Rand
	conns []*resp.Client
}

// soakClient does the work and returns what went wrong first.
func soakClient(setting string) error {
	s := &soaker{}
	var addr string
	var conns int
	var long time.Duration
	var text string
	if _, err := fmt.Sscan(setting, &addr, &conns, &s.rounds, &text); err != nil {
		return err
	}
	if long, _ = time.ParseDuration(text); long > 0 {
		until, cancel := context.WithTimeout(context.Background(), long)
		defer cancel()
		s.until = until
	}
	s.connect = func() (net.Conn, error) { return net.Dial("tcp", addr) }
	over := make(chan struct{})
	defer close(over)
	go s.progress(over)
	return s.work(conns)
}

// prepare loads the script that some workers use.
func (s *soaker) prepare() error {
	c, err := s.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Do("SCRIPT", "LOAD", scripts.Enqueue.Source)
	return err
}

// work runs workers of every kind until the connections are used up.
func (s *soaker) work(conns int) error {
	if err := s.prepare(); err != nil {
		return err
	}
	var wg sync.WaitGroup
	var first error
	var once sync.Once
	for id := 0; conns > 0; id++ {
		kind := soakWorkers[id%len(soakWorkers)]
		conns -= kind.conns
		t := &soakTask{soaker: s, id: id, rng: rand.New(rand.NewPCG(uint64(id), 1))}
		wg.Go(func() {
			if err := t.runOn(kind.conns, kind.run); err != nil {
				once.Do(func() { first = fmt.Errorf("worker %d of kind %d: %w", t.id, t.id%len(soakWorkers), err) })
			}
		})
	}
	wg.Wait()
	fmt.Printf("%d commands answered as they should be\n", s.asked.Load())
	return first
}

// progress prints a line every half minute.
func (s *soaker) progress(over chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-time.After(30 * time.Second):
			fmt.Printf("%d commands so far\n", s.asked.Load())
		}
	}
}

func (t *soakTask) runOn(conns int, run func(*soakTask) error) error {
	for range conns {
		c, err := t.dial()
		if err != nil {
			return err
		}
		defer c.Close()
		t.conns = append(t.conns, c)
	}
	for round := 0; t.more(round); round++ {
		if err := run(t); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	return nil
}

func (s *soaker) more(round int) bool {
	if s.until != nil {
		return s.until.Err() == nil
	}
	return round < s.rounds
}

// soakPatience is how long a reply may take: a lost one is a failure, not a test that hangs.
const soakPatience = 2 * time.Minute

func (s *soaker) dial() (*resp.Client, error) {
	nc, err := s.connect()
	if err != nil {
		return nil, err
	}
	return resp.NewClient(patient{nc}), nil
}

// patient is a connection whose reads fail after soakPatience.
type patient struct{ net.Conn }

func (p patient) Read(b []byte) (int, error) {
	p.SetReadDeadline(time.Now().Add(soakPatience))
	return p.Conn.Read(b)
}

// key is a key of this worker alone.
func (t *soakTask) key(name string) string { return fmt.Sprintf("%s:%d", name, t.id) }

// is checks a reply, printed as resp.Format does, against what it must be.
func (t *soakTask) is(v resp.Value, err error, want string) error {
	if err != nil {
		return fmt.Errorf("instead of %.80s: %w", want, err)
	}
	if got := resp.Format(v); got != want {
		return fmt.Errorf("got %.200s, want %.200s", got, want)
	}
	t.asked.Add(1)
	return nil
}

// do runs one command and checks its reply.
func (t *soakTask) do(c *resp.Client, want string, args ...string) error {
	v, err := c.Do(args...)
	if err := t.is(v, err, want); err != nil {
		return fmt.Errorf("%.100q: %w", args, err)
	}
	return nil
}

// soakPipelines sends long pipelines whose replies are known beforehand.
func soakPipelines(t *soakTask) error {
	c, key := t.conns[0], t.key("counter")
	var want []string
	send := func(reply string, args ...string) {
		want = append(want, reply)
		c.Send(args...)
	}
	send(resp.Format(resp.OK), "SET", key, "0")
	counter := 0
	for i := range 1 + t.rng.IntN(300) {
		tag := fmt.Sprintf("%d-%d", t.id, i)
		switch t.rng.IntN(5) {
		case 0:
			counter++
			send(":"+strconv.Itoa(counter), "INCR", key)
		case 1:
			send("$"+tag, "ECHO", tag)
		case 2:
			send("$"+tag, "EVAL", "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])", "1", t.key("tag"), tag)
		case 3:
			send("$"+strconv.Itoa(counter), "GET", key)
		case 4:
			send("-WRONGTYPE Operation against a key holding the wrong kind of value", "LPUSH", key, tag)
		}
	}
	if err := c.Flush(); err != nil {
		return err
	}
	for i, reply := range want {
		v, err := c.Receive()
		if err := t.is(v, err, reply); err != nil {
			return fmt.Errorf("reply %d of %d: %w", i, len(want), err)
		}
	}
	return nil
}

// soakChannels publishes numbers, all of which must come, in their order.
func soakChannels(t *soakTask) error {
	pub, sub, channel := t.conns[0], t.conns[1], t.key("channel")
	if err := t.do(sub, resp.Format(resp.Array(resp.Bulk("subscribe"), resp.Bulk(channel), resp.Int(1))), "SUBSCRIBE", channel); err != nil {
		return err
	}
	n := 1 + t.rng.IntN(200)
	for i := range n {
		pub.Send("PUBLISH", channel, strconv.Itoa(i))
	}
	if err := pub.Flush(); err != nil {
		return err
	}
	for i := range n {
		v, err := sub.Receive()
		want := resp.Array(resp.Bulk("message"), resp.Bulk(channel), resp.Bulk(strconv.Itoa(i)))
		if err := t.is(v, err, resp.Format(want)); err != nil {
			return err
		}
		v, err = pub.Receive()
		if err := t.is(v, err, ":1"); err != nil {
			return err
		}
	}
	return t.do(sub, resp.Format(resp.Array(resp.Bulk("unsubscribe"), resp.Bulk(channel), resp.Int(0))), "UNSUBSCRIBE", channel)
}

// soakBlockedPops pushes numbers that two blocked clients take: each number once, and
// each client sees them rise.
func soakBlockedPops(t *soakTask) error {
	push, list := t.conns[0], t.key("list")
	n := 2 + t.rng.IntN(60)
	taken := make(chan int, n)
	ends := make(chan error, 2)
	for _, c := range t.conns[1:] {
		go func() { ends <- t.takeAll(c, list, taken) }()
	}
	for i := range n {
		if _, err := push.Do("RPUSH", list, strconv.Itoa(i)); err != nil {
			return err
		}
	}
	push.Do("RPUSH", list, "end", "end")
	if err := errors.Join(<-ends, <-ends); err != nil {
		return err
	}
	close(taken)
	seen := make([]bool, n)
	for i := range taken {
		if seen[i] {
			return fmt.Errorf("%d was given twice", i)
		}
		seen[i] = true
	}
	for i, ok := range seen {
		if !ok {
			return fmt.Errorf("%d was lost", i)
		}
	}
	return t.do(push, ":0", "LLEN", list)
}

func (t *soakTask) takeAll(c *resp.Client, list string, taken chan int) error {
	for last := -1; ; {
		v, err := c.Do("BLPOP", list, "0")
		if err != nil || len(v.Elems) != 2 {
			return fmt.Errorf("BLPOP: %s, %v", resp.Format(v), err)
		}
		t.asked.Add(1)
		i, err := strconv.Atoi(v.Elems[1].Str)
		if err != nil {
			return nil // the end
		}
		if i <= last {
			return fmt.Errorf("%d came after %d", i, last)
		}
		last = i
		taken <- i
	}
}

// soakTransactions has four clients count up one key by WATCH and EXEC.
func soakTransactions(t *soakTask) error {
	key := t.key("watched")
	if err := t.do(t.conns[0], resp.Format(resp.OK), "SET", key, "0"); err != nil {
		return err
	}
	const each = 5
	ends := make(chan error, len(t.conns))
	for _, c := range t.conns {
		go func() {
			var err error
			for i := 0; i < each && err == nil; i++ {
				err = t.countUp(c, key)
			}
			ends <- err
		}()
	}
	var errs []error
	for range t.conns {
		errs = append(errs, <-ends)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return t.do(t.conns[0], "$"+strconv.Itoa(each*len(t.conns)), "GET", key)
}

// countUp adds one to key, again and again until no other client was faster.
func (t *soakTask) countUp(c *resp.Client, key string) error {
	for {
		c.Send("WATCH", key)
		c.Send("GET", key)
		c.Flush()
		c.Receive()
		v, err := c.Receive()
		n, bad := strconv.Atoi(v.Str)
		if err != nil || bad != nil {
			return fmt.Errorf("GET: %s, %v", resp.Format(v), err)
		}
		c.Send("MULTI")
		c.Send("SET", key, strconv.Itoa(n+1))
		c.Send("EXEC")
		c.Flush()
		c.Receive()
		c.Receive()
		if v, err = c.Receive(); err != nil {
			return err
		}
		t.asked.Add(5)
		if !v.IsNull() {
			return t.is(v, nil, resp.Format(resp.Array(resp.OK)))
		}
	}
}

// soakHangUps has clients hang up while they are blocked, inside a request and with
// replies due. What is pushed then must be there for the client that stayed.
func soakHangUps(t *soakTask) error {
	push, stays, list := t.conns[0], t.conns[1], t.key("lossless")
	for i := range 4 {
		c, err := t.dial()
		if err != nil {
			return err
		}
		c.Send("PING")
		c.Send("BLPOP", list, "0")
		c.Flush()
		v, err := c.Receive() // it is blocked when this comes
		c.Close()
		if err := t.is(v, err, "+PONG"); err != nil {
			return err
		}
		if err := t.leaveMidway(); err != nil {
			return err
		}
		if err := t.do(push, ":1", "RPUSH", list, strconv.Itoa(i)); err != nil {
			return err
		}
		if err := t.do(stays, "$"+strconv.Itoa(i), "LPOP", list); err != nil {
			return err
		}
	}
	return nil
}

// leaveMidway sends a pipeline and part of a request, reads one reply and hangs up.
func (t *soakTask) leaveMidway() error {
	nc, err := t.connect()
	if err != nil {
		return err
	}
	defer nc.Close()
	io.WriteString(nc, strings.Repeat("PING\r\n", 20)+"*3\r\n$3\r\nSET\r\n$100\r\nabc")
	_, err = io.ReadFull(patient{nc}, make([]byte, len("+PONG\r\n")))
	return err
}

// soakQueue enqueues jobs, each twice, and claims all of them in the order of their ids.
func soakQueue(t *soakTask) error {
	in, out := t.conns[0], t.conns[1]
	queue := fmt.Sprintf("emq:{soak%d}:", t.id)
	n := 1 + t.rng.IntN(40)
	for i := range n {
		id := "JOB" + digits(uint64(i))
		for _, want := range []string{":1", ":0"} {
			if err := t.do(in, want, "EVALSHA", scripts.Enqueue.SHA, "2", queue+"job:"+id, queue+"pending", id, "payload"); err != nil {
				return err
			}
		}
	}
	for i := range n {
		id := "JOB" + digits(uint64(i))
		if err := t.do(out, resp.Format(resp.Array(resp.Bulk(id), resp.Bulk("0"))), "ZPOPMIN", queue+"pending"); err != nil {
			return err
		}
		if err := t.do(out, ":1", "DEL", queue+"job:"+id); err != nil {
			return err
		}
	}
	return nil
}

// soakTracking checks that whoever has read a key is told of its change, and then reads
// the new value.
func soakTracking(t *soakTask) error {
	reader, writer, key := t.conns[0], t.conns[1], t.key("cached")
	if _, err := reader.Do("HELLO", "3"); err != nil {
		return err
	}
	if err := t.do(reader, resp.Format(resp.OK), "CLIENT", "TRACKING", "on"); err != nil {
		return err
	}
	reader.Pushes()
	reader.Do("GET", key)
	for i := range 20 {
		value := fmt.Sprintf("%d-%d", t.id, i)
		if err := t.do(writer, resp.Format(resp.OK), "SET", key, value); err != nil {
			return err
		}
		v, err := reader.Receive()
		want := resp.Push(resp.Bulk("invalidate"), resp.Array(resp.Bulk(key)))
		if err := t.is(v, err, resp.Format(want)); err != nil {
			return err
		}
		if err := t.do(reader, "$"+value, "GET", key); err != nil {
			return err
		}
	}
	return t.do(reader, resp.Format(resp.OK), "CLIENT", "TRACKING", "off")
}

// soakBigValues moves values that do not fit into one buffer of either side.
func soakBigValues(t *soakTask) error {
	c, key := t.conns[0], t.key("big")
	value := strings.Repeat(fmt.Sprintf("<%d>", t.id), 1+t.rng.IntN(50_000))
	if err := t.do(c, resp.Format(resp.OK), "SET", key, value); err != nil {
		return err
	}
	for range 3 {
		c.Send("GET", key)
		c.Send("STRLEN", key)
	}
	if err := c.Flush(); err != nil {
		return err
	}
	for range 3 {
		v, err := c.Receive()
		if err != nil || v.Str != value {
			return fmt.Errorf("GET gave %d bytes of %d, %v", len(v.Str), len(value), err)
		}
		v, err = c.Receive()
		if err := t.is(v, err, ":"+strconv.Itoa(len(value))); err != nil {
			return err
		}
	}
	return t.do(c, ":1", "DEL", key)
}

// soakMain is what the test binary does in place of tests when soakEnv is set.
func soakMain(setting string) {
	if err := soakClient(setting); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
