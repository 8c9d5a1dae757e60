package engine

import "math/bits"

// latencyHistogram counts commands by how long they took. Below 16 microseconds
// every number has a bucket of its own, above that eight share each power of two.
type latencyHistogram struct {
	total  int64
	counts [16]*[latencyPart]int64 // of 256 buckets; most commands need few of them
	levels [latencyLevels]int64    // the same by powers of two, as LATENCY HISTOGRAM shows them
}

const (
	latencyPart    = 16
	latencyBuckets = 256
)

// latencyLevels is how many powers of two there are up to a second, where the server's
// histogram ends.
const latencyLevels = 21

// latencyLevelTop is the longest time in microseconds of a level. The server counts
// nanoseconds from 1024 on, to the end of the bucket that such a power begins.
func latencyLevelTop(level int) int64 { return (1032<<level - 1) / 1000 }

func (h *latencyHistogram) add(usec int64) {
	h.total++
	h.count(latencyBucket(usec))
	level := 0
	for level < latencyLevels-1 && usec > latencyLevelTop(level) {
		level++
	}
	h.levels[level]++
}

// count counts one more in a bucket.
func (h *latencyHistogram) count(bucket int) {
	part := &h.counts[bucket/latencyPart]
	if *part == nil {
		*part = new([latencyPart]int64)
	}
	(*part)[bucket%latencyPart]++
}

// latencyBucket is the bucket for a time.
func latencyBucket(usec int64) int {
	if usec = max(usec, 0); usec < 16 {
		return int(usec)
	}
	shift := bits.Len64(uint64(usec)) - 4 // usec>>shift is 8 to 15
	return min(8*shift+int(usec>>shift), latencyBuckets-1)
}

// latencyBucketTop is the longest time in a bucket.
func latencyBucketTop(i int) int64 {
	if i < 16 {
		return int64(i)
	}
	shift := i/8 - 1
	return int64(i%8+9)<<shift - 1
}

// percentile is the time in microseconds that p percent of the commands took at most.
func (h *latencyHistogram) percentile(p float64) float64 {
	left := int64(p / 100 * float64(h.total))
	for i, part := range h.counts {
		if part == nil {
			continue
		}
		for k, n := range part {
			if left -= n; left <= 0 && n > 0 {
				return float64(latencyBucketTop(i*latencyPart + k))
			}
		}
	}
	return 0
}
