package engine

import (
	"container/heap"
	"runtime"
	"sync"
	"time"
)

// Clock is where an engine's time comes from. Nothing else in this project
// reads the time of day.
type Clock interface {
	// Now is the time of day.
	Now() time.Time
	// wake arranges for f to run, in a goroutine of its own, once the clock
	// has reached at; it replaces the former arrangement. A zero at cancels.
	wake(at time.Time, f func())
	// micros is a time in microseconds that is good for differences only, at half the price
	// of Now.
	micros() int64
	// read is Now and micros at one moment.
	read() clockReading
}

// clockReading is a moment in both ways of telling the time: Unix microseconds, and micros.
type clockReading struct{ now, micros int64 }

// Real returns the clock of the machine; inside a testing/synctest bubble that
// is the bubble's clock.
func Real() Clock { return &realClock{} }

type realClock struct {
	timer *time.Timer
}

func (*realClock) Now() time.Time { return time.Now() }

// processStart has a monotonic reading, which Since makes do with.
var processStart = time.Now()

func (*realClock) micros() int64 { return time.Since(processStart).Microseconds() }

func (*realClock) read() clockReading {
	t := time.Now()
	return clockReading{t.UnixMicro(), t.Sub(processStart).Microseconds()}
}

func (r *realClock) wake(at time.Time, f func()) {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	if !at.IsZero() {
		r.timer = time.AfterFunc(time.Until(at), f)
	}
}

// Manual returns a clock that stands still at start until Engine.Advance or
// Engine.SetTime moves it.
func Manual(start time.Time) Clock { return &manualClock{now: start} }

// manualClock needs no wake-ups: whoever moves it fires what is due.
type manualClock struct {
	mu  sync.Mutex
	now time.Time
}

func (m *manualClock) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *manualClock) set(t time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = t
}

func (*manualClock) wake(time.Time, func()) {}

func (m *manualClock) micros() int64 { return m.Now().UnixMicro() }

func (m *manualClock) read() clockReading {
	at := m.micros()
	return clockReading{at, at}
}

// Twin is a further clock like c, of which each engine needs one of its own: one that tells
// the machine's time, or a Manual one that stands still at c's. nil stands for Real().
func Twin(c Clock) Clock {
	if m, ok := c.(*manualClock); ok {
		return Manual(m.Now())
	}
	return Real()
}

// stillClock is another clock that wakes nobody.
type stillClock struct{ Clock }

func (stillClock) wake(time.Time, func()) {}

// stopwatch measures real time, whatever clock the engine has: a script that
// never ends must be noticed even when simulated time stands still.
type stopwatch struct{ start time.Time }

func startWatch() stopwatch { return stopwatch{time.Now()} }

func (w stopwatch) elapsed() time.Duration { return time.Since(w.start) }

// WallTime is real time for the deadlines of connections, whatever clock an engine has;
// inside a testing/synctest bubble it is the bubble's.
type WallTime struct{}

// Until is the time until t.
func (WallTime) Until(t time.Time) time.Duration { return time.Until(t) }

// AfterFunc calls f, in a goroutine of its own, after d.
func (WallTime) AfterFunc(d time.Duration, f func()) *time.Timer { return time.AfterFunc(d, f) }

// ioDeadline is when I/O that begins now must be through. It is real time: the other end
// of a connection has no other.
func ioDeadline(timeout time.Duration) time.Time { return time.Now().Add(timeout) }

// yield lets other goroutines run.
func yield() { runtime.Gosched() }

// deadline is something that happens at a time unless it is cancelled.
type deadline struct {
	at    int64 // Unix microseconds
	seq   uint64
	fire  func() // runs inside a turn
	index int    // in the heap; -1 when fired or cancelled
}

// deadlines is a heap by time, then by age, so that equal times fire in the
// order in which they were set.
type deadlines struct {
	list []*deadline
	seq  uint64
}

func (d *deadlines) Len() int { return len(d.list) }
func (d *deadlines) Less(i, j int) bool {
	a, b := d.list[i], d.list[j]
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}
func (d *deadlines) Swap(i, j int) {
	d.list[i], d.list[j] = d.list[j], d.list[i]
	d.list[i].index, d.list[j].index = i, j
}
func (d *deadlines) Push(x any) {
	t := x.(*deadline)
	t.index = len(d.list)
	d.list = append(d.list, t)
}
func (d *deadlines) Pop() any {
	last := len(d.list) - 1
	t := d.list[last]
	d.list[last] = nil
	d.list = d.list[:last]
	t.index = -1
	return t
}

// set adds a deadline at the given Unix microsecond.
func (d *deadlines) set(at int64, fire func()) *deadline {
	d.seq++
	t := &deadline{at: at, seq: d.seq, fire: fire}
	heap.Push(d, t)
	return t
}

// cancel takes t back; fired and nil deadlines are fine.
func (d *deadlines) cancel(t *deadline) {
	if t != nil && t.index >= 0 {
		heap.Remove(d, t.index)
	}
}

// next is the earliest time, or ok false.
func (d *deadlines) next() (at int64, ok bool) {
	if len(d.list) == 0 {
		return 0, false
	}
	return d.list[0].at, true
}

// pop takes the earliest deadline that is due at now.
func (d *deadlines) pop(now int64) *deadline {
	if at, ok := d.next(); !ok || at > now {
		return nil
	}
	return heap.Pop(d).(*deadline)
}
