package store

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// fillJobs puts n jobs as an enqueue script does: a hash each, and one member each in
// one sorted set.
func fillJobs(db *DB, n int) {
	payload := strings.Repeat("p", 100)
	for i := range n {
		enqueue(db, jobKey(i), jobID(i), payload)
	}
}

func jobID(i int) string  { return fmt.Sprintf("%014d", i) }
func jobKey(i int) string { return "echomq:{q}:jobs:" + jobID(i) }

func enqueue(db *DB, key, id, payload string) {
	o := NewHash(db.Limits())
	h := o.Hash()
	h.Expect(3, len("statepending"+"attempts0"+"payload")+len(payload))
	h.Set("state", "pending")
	h.Set("attempts", "0")
	h.Set("payload", payload)
	db.Put(key, o)
	pending := db.Write("echomq:{q}:pending")
	if pending == nil {
		pending = NewZSet(db.Limits())
		db.Put("echomq:{q}:pending", pending)
	}
	pending.ZSet().Set(id, 0)
	db.Due(0) // as at the start of each turn
}

func claim(db *DB) {
	id, _, _ := db.Write("echomq:{q}:pending").ZSet().PopMin()
	db.Write("echomq:{q}:jobs:"+id).Hash().Set("state", "active")
}

// TestSnapshotAllocs pins that a snapshot costs the same however many keys there are.
func TestSnapshotAllocs(t *testing.T) {
	var allocs [2]float64
	for i, n := range []int{1000, 100_000} {
		db := NewDB(DefaultLimits())
		fillJobs(db, n)
		var s *DB
		allocs[i] = testing.AllocsPerRun(100, func() { s = db.Snapshot() })
		if s.Len() != n+1 {
			t.Fatalf("snapshot has %d keys, want %d", s.Len(), n+1)
		}
	}
	if allocs[1] > allocs[0] || allocs[1] > 16 {
		t.Errorf("allocations of a snapshot: %v of 1000 keys, %v of 100000", allocs[0], allocs[1])
	}
}

// TestJobMemory pins the heap bytes and objects that a job takes.
func TestJobMemory(t *testing.T) {
	const n = 50_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC() // what pools held goes at the second one
	runtime.ReadMemStats(&before)
	db := NewDB(DefaultLimits())
	fillJobs(db, n)
	runtime.GC()
	runtime.ReadMemStats(&after)
	perJob := int(after.HeapAlloc-before.HeapAlloc) / n
	objects := float64(after.HeapObjects-before.HeapObjects) / n
	t.Logf("%d bytes and %.2f objects a job", perJob, objects)
	if perJob > 420 || objects > 4.2 {
		t.Errorf("%d bytes and %.2f objects a job, want at most 420 and 4.2", perJob, objects)
	}
	runtime.KeepAlive(db)
}

// TestSnapshotConcurrent reads a snapshot, and writes to others that were taken of it,
// while the source is written to. The race detector is the judge.
func TestSnapshotConcurrent(t *testing.T) {
	db := NewDB(DefaultLimits())
	const n = 2000
	fillJobs(db, n)
	db.Put("text", NewString("abc"))
	db.Write("text").AppendStr("def")
	db.Write(jobKey(5)).Hash().SetDeadline("state", 1000)
	s := db.Snapshot()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if err := s.Check(); err != nil || s.Len() != n+2 || s.Read("text").Str() != "abcdef" {
				t.Errorf("snapshot: %v, %d keys", err, s.Len())
			}
			s.Read(jobKey(5)).Hash().Get("payload")
		})
		wg.Go(func() {
			restored := s.Snapshot()
			restored.Put("copy", s.Read("echomq:{q}:pending").Clone())
			for range n {
				claim(restored)
			}
			restored.Write("text").SetRange(0, "x")
			if err := restored.Check(); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range n {
		claim(db)
		enqueue(db, jobKey(n+i), jobID(n+i), strconv.Itoa(i))
		db.Write(jobKey(i)).SetAccess(uint32(i))
		db.Write("text").SetRange(i%6, "y")
		db.SetExpire(jobKey(i), int64(1+i))
	}
	wg.Wait()
	if got := db.Read("text").Str(); got != "yyyyyy" {
		t.Errorf("text = %q", got)
	}
	if err := db.Check(); err != nil {
		t.Error(err)
	}
	if at, ok := s.NextDeadline(); !ok || at != 1000 || s.ExpiresLen() != 0 {
		t.Errorf("snapshot: next deadline %d %v, %d keys with one", at, ok, s.ExpiresLen())
	}
}

// TestPutForeign pins that an object of another DB, or one that was cloned, is copied.
func TestPutForeign(t *testing.T) {
	a, b := NewDB(DefaultLimits()), NewDB(DefaultLimits())
	o := NewZSet(a.Limits())
	for i := range 500 {
		o.ZSet().Set(strconv.Itoa(i), float64(i))
	}
	a.Put("z", o)
	b.Put("z", o)
	b.Put("c", o.Clone())
	a.Write("z").ZSet().RemoveRange(0, 400)
	b.Write("c").ZSet().Set("0", 1000)
	if n, m := a.Read("z").ZSet().Len(), b.Read("z").ZSet().Len(); n != 100 || m != 500 {
		t.Errorf("%d and %d members, want 100 and 500", n, m)
	}
	if s, _ := b.Read("z").ZSet().Score("0"); s != 0 {
		t.Errorf("score %v, want 0", s)
	}
	for _, db := range []*DB{a, b} {
		if err := db.Check(); err != nil {
			t.Error(err)
		}
	}
}

// TestKeepsNoArguments pins that nothing that is stored lies in the caller's memory.
func TestKeepsNoArguments(t *testing.T) {
	buf := []byte("key field value")
	text := viewOf(buf)
	key, field, value := text[:3], text[4:9], text[10:]
	db := NewDB(DefaultLimits())
	for i, o := range []*Object{NewString(value), NewHash(db.Limits()), NewZSet(db.Limits()), NewHash(db.Limits())} {
		switch i {
		case 1:
			o.Hash().Set(field, value)
			o.Hash().SetDeadline(field, 5)
		case 2:
			o.ZSet().Set(field, 1)
		case 3:
			for j := range 600 {
				o.Hash().Set(strconv.Itoa(j), "x")
			}
			o.Hash().Set(field, value)
		}
		db.Put(strconv.Itoa(i), o)
	}
	db.Put(key, NewString("x"))
	db.SetExpire(key, 7)
	copy(buf, "XXXXXXXXXXXXXXX")
	if err := db.Check(); err != nil {
		t.Fatal(err)
	}
	if db.Read("key") == nil || db.Read("0").Str() != "value" {
		t.Error("key or string value lies in the caller's memory")
	}
	for _, k := range []string{"1", "3"} {
		if v, _ := db.Read(k).Hash().Get("field"); v != "value" {
			t.Errorf("hash %s has %q", k, v)
		}
	}
	if _, ok := db.Read("2").ZSet().Score("field"); !ok {
		t.Error("member lies in the caller's memory")
	}
}
