package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The garbage collector is to run less often while the heap is small: marking takes a
// quarter of the processor time of a queue that grows to 100 MB. From smallHeap bytes on
// memory counts more.
const (
	smallHeap    = 128 << 20
	smallPercent = 200
	largePercent = 100
)

// tuneCollector sets the percentage now and after each collection, unless GOGC does.
func tuneCollector() {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	percent := largePercent
	var afterCollection func(struct{})
	afterCollection = func(struct{}) {
		metrics.Read(live)
		want := smallPercent
		if live[0].Value.Uint64() > smallHeap {
			want = largePercent
		}
		if want != percent {
			percent = want
			debug.SetGCPercent(want)
		}
		runtime.AddCleanup(&[32]byte{}, afterCollection, struct{}{})
	}
	afterCollection(struct{}{})
}
