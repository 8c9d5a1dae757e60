package luabridge

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"
	"weak"
)

// interruptText is the virtual machine's message when the watch stops it. No
// script error can have this text unless the watch has tripped as well.
const interruptText = "script interrupted"

var errInterrupted = errors.New(interruptText)

// watch stops a script: it is the context of the Lua state, whose Done the
// virtual machine asks before every instruction. It answers nil until an
// interrupt, the poll hook or the memory limit trips it, and from then on a
// closed channel, so that no pcall in the script can swallow the stop.
type watch struct {
	left    int   // instructions until the next look at the outside
	done    int64 // instructions before the last look
	every   int
	poll    func() (stop bool, reason string)
	limit   uint64 // bytes that the heap may grow during one run
	base    uint64 // smallest heap seen in this run, 0 before the first look
	next    uint64 // heap at which to collect garbage and decide
	tripped bool
	reason  string
	// exhausted tells that the memory limit tripped it.
	exhausted bool
	closed    chan struct{}
	request   atomic.Pointer[string] // set by Interrupt, from any goroutine
	collected atomic.Bool            // garbage was since the last look at the memory
}

var _ context.Context = (*watch)(nil)

// noteCollections lets the watch know of each collection of garbage. Those come with the
// growth of the heap, so a few instructions that take gigabytes are noticed in between.
func (w *watch) noteCollections() {
	var again func(weak.Pointer[watch])
	again = func(p weak.Pointer[watch]) {
		if w := p.Value(); w != nil {
			w.collected.Store(true)
			runtime.AddCleanup(&[32]byte{}, again, p)
		}
	}
	again(weak.Make(w))
}

// start arms the watch for one run.
func (w *watch) start() {
	w.left, w.base, w.tripped, w.exhausted, w.reason = w.every, 0, false, false, ""
	w.request.Store(nil)
}

// Done is nil while the script may go on.
func (w *watch) Done() <-chan struct{} {
	w.left--
	if w.left > 0 && !w.collected.Load() || !w.look() {
		return nil
	}
	return w.closed
}

// Err is the error that the virtual machine raises after Done.
func (w *watch) Err() error { return errInterrupted }

// Deadline reports that there is none.
func (w *watch) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value holds nothing.
func (w *watch) Value(any) any { return nil }

// look asks everything that can stop the script and reports whether it must
// stop.
func (w *watch) look() bool {
	if w.tripped {
		return true
	}
	w.collected.Store(false)
	if w.left > 0 {
		return w.lookAtMemory()
	}
	w.done += int64(w.every)
	w.left = w.every
	if r := w.request.Load(); r != nil {
		return w.trip(*r)
	}
	if w.poll != nil {
		if stop, reason := w.poll(); stop {
			return w.trip(reason)
		}
	}
	return w.lookAtMemory()
}

func (w *watch) lookAtMemory() bool {
	if !w.overMemory() {
		return false
	}
	w.exhausted = true
	return w.trip("not enough memory")
}

// instructions is how many instructions, roughly, have run so far.
func (w *watch) instructions() int64 { return w.done + int64(w.every-w.left) }

func (w *watch) trip(reason string) bool {
	w.tripped, w.reason = true, reason
	return true
}

// overMemory reports whether the heap has grown past the limit during this run.
// Garbage does not count: it is collected before the verdict, and then half of
// the limit must be allocated before the next one.
func (w *watch) overMemory() bool {
	now := heapBytes()
	if w.base == 0 || now < w.base {
		w.base = max(now, 1)
		w.next = w.base + w.limit
	}
	if now < w.next {
		return false
	}
	runtime.GC()
	now = heapBytes()
	w.base = min(w.base, max(now, 1))
	w.next = max(w.base+w.limit, now+w.limit/2)
	return now >= w.base+w.limit
}

func heapBytes() uint64 {
	sample := [1]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample[:])
	return sample[0].Value.Uint64()
}

// step counts n units of work done inside one Go function, which the virtual
// machine cannot interrupt, and stops the script when the watch says so.
func (v *vm) step(n int) {
	w := &v.in.watch
	w.left -= n
	if (w.left <= 0 || w.collected.Load()) && w.look() {
		raise(errInterruptedValue)
	}
}

// grow accounts for a new string of n bytes and refuses one that is too long.
func (v *vm) grow(n int) {
	if n > v.in.maxString {
		raise(errMemoryValue)
	}
	v.step(n >> 6)
}
