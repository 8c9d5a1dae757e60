package store

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
)

var benchSizes = []int{1_000, 100_000, 1_000_000}

func forSizes(b *testing.B, f func(b *testing.B, n int)) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) { f(b, n) })
	}
}

func fillRuns(n int) *runs[scored] {
	r := &runs[scored]{}
	for i := range n {
		r.Set(scored{float64(i), "member"})
	}
	return r
}

func BenchmarkRunsInsertRising(b *testing.B) {
	r := &runs[scored]{}
	for i := range b.N {
		r.Set(scored{float64(i), "member"})
	}
}

func BenchmarkRunsInsertRandom(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	r := &runs[scored]{}
	for range b.N {
		r.Set(scored{rng.Float64(), "member"})
	}
}

func BenchmarkRunsPopPush(b *testing.B) {
	forSizes(b, func(b *testing.B, n int) {
		r := fillRuns(n)
		b.ResetTimer()
		for i := range b.N {
			r.PopMin()
			r.Set(scored{float64(n + i), "member"})
		}
	})
}

func BenchmarkRunsGet(b *testing.B) {
	forSizes(b, func(b *testing.B, n int) {
		rng, r := rand.New(rand.NewPCG(1, 2)), fillRuns(n)
		b.ResetTimer()
		for range b.N {
			r.Get(scored{float64(rng.IntN(n)), "member"})
		}
	})
}

func BenchmarkRunsRank(b *testing.B) {
	forSizes(b, func(b *testing.B, n int) {
		rng, r := rand.New(rand.NewPCG(1, 2)), fillRuns(n)
		b.ResetTimer()
		for range b.N {
			r.Rank(scored{float64(rng.IntN(n)), "member"})
		}
	})
}

func BenchmarkRunsAt(b *testing.B) {
	forSizes(b, func(b *testing.B, n int) {
		rng, r := rand.New(rand.NewPCG(1, 2)), fillRuns(n)
		b.ResetTimer()
		for range b.N {
			r.At(rng.IntN(n))
		}
	})
}

func fillList(n int) *ListObj {
	v := NewList(DefaultLimits()).List()
	v.Expect(n, 10*n)
	for i := range n {
		v.PushTail("element" + strconv.Itoa(i))
	}
	return v
}

func BenchmarkListAt(b *testing.B) {
	forSizes(b, func(b *testing.B, n int) {
		rng, v := rand.New(rand.NewPCG(1, 2)), fillList(n)
		b.ResetTimer()
		for range b.N {
			v.At(rng.IntN(n))
		}
	})
}

func BenchmarkListRangeMiddle(b *testing.B) {
	forSizes(b, func(b *testing.B, n int) {
		v := fillList(n)
		b.ResetTimer()
		for range b.N {
			left := 100
			v.Ascend(n/2, func(string) bool { left--; return left > 0 })
		}
	})
}

func BenchmarkListInsertMiddle(b *testing.B) {
	forSizes(b, func(b *testing.B, n int) {
		v := fillList(n)
		b.ResetTimer()
		for range b.N {
			v.Insert(v.Len()/2, "element", true)
		}
	})
}

func BenchmarkListPopPush(b *testing.B) {
	forSizes(b, func(b *testing.B, n int) {
		v := fillList(n)
		b.ResetTimer()
		for range b.N {
			v.PushHead(v.PopTail())
		}
	})
}

func fillSet(n int) *SetObj {
	s := NewSet(DefaultLimits()).Set()
	s.Expect("member", n)
	for i := range n {
		s.Add("member" + strconv.Itoa(i))
	}
	return s
}

func BenchmarkSetAdd(b *testing.B) {
	rng, s := rand.New(rand.NewPCG(1, 2)), fillSet(0)
	for range b.N {
		s.Add("member" + strconv.Itoa(rng.Int()))
	}
}

// BenchmarkSetAt is the draw of a random member.
func BenchmarkSetAt(b *testing.B) {
	forSizes(b, func(b *testing.B, n int) {
		rng, s := rand.New(rand.NewPCG(1, 2)), fillSet(n)
		b.ResetTimer()
		for range b.N {
			s.At(rng.IntN(n))
		}
	})
}

func BenchmarkEnqueue(b *testing.B) {
	db := NewDB(DefaultLimits())
	b.ReportAllocs()
	for i := range b.N {
		enqueue(db, jobKey(i), jobID(i), "payload")
	}
}

func BenchmarkClaim(b *testing.B) {
	forSizes(b, func(b *testing.B, n int) {
		db := NewDB(DefaultLimits())
		fillJobs(db, n)
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			claim(db)
			enqueue(db, jobKey(n+i), jobID(n+i), "payload")
		}
	})
}

func BenchmarkSnapshot(b *testing.B) {
	forSizes(b, func(b *testing.B, n int) {
		db := NewDB(DefaultLimits())
		fillJobs(db, n)
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			db.Snapshot()
		}
	})
}

// BenchmarkAfterSnapshot measures the first 10,000 claims and enqueues after a snapshot
// against 10,000 without one: compare the two.
func BenchmarkAfterSnapshot(b *testing.B) {
	const n, ops = 200_000, 10_000
	for _, snapshot := range []bool{false, true} {
		b.Run(fmt.Sprintf("snapshot=%v", snapshot), func(b *testing.B) {
			db := NewDB(DefaultLimits())
			fillJobs(db, n)
			next := n
			b.ResetTimer()
			for range b.N {
				if snapshot {
					db.Snapshot()
				}
				for range ops {
					claim(db)
					enqueue(db, jobKey(next), jobID(next), "payload")
					next++
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*ops), "ns/claim+enqueue")
		})
	}
}

// BenchmarkRunsMove changes the place of random elements, as ZADD does.
func BenchmarkRunsMove(b *testing.B) {
	forSizes(b, func(b *testing.B, n int) {
		rng, r := rand.New(rand.NewPCG(1, 2)), fillRuns(n)
		b.ResetTimer()
		for range b.N {
			e := r.At(rng.IntN(n))
			r.Delete(e)
			r.Set(scored{rng.Float64() * float64(n), e.member})
		}
	})
}
