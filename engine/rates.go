package engine

import "fmt"

// The rates of INFO are means over the last samples, one for each 100 ms, as on the
// server. No clock ticks for them: what is missing is made up for when a turn begins. All
// that has happened since the last sample has happened right after it, else the turn in
// which it did would have made the next one.

// What is measured.
const (
	rateCommands = iota
	rateIn
	rateOut
	rateReplication
	rateTurns
	rateTurnUsec
	rateKinds
)

const (
	samplePeriod = 100_000 // microseconds
	rateSamples  = 16
)

type rateSample [rateKinds]int64

// rates are the last samples.
type rates struct {
	at      int64 // Unix microseconds of the last one
	counted rateSample
	samples [rateSamples]rateSample
	next    int
}

// measure takes the samples that are due.
func (co *core) measure() {
	if due := (co.now - co.rates.at) / samplePeriod; due > 0 {
		st := &co.stats
		co.rates.take(due, rateSample{st.commands, st.bytesIn, st.bytesOut, st.replicationOut, st.turns, st.turnUsec})
	}
}

func (r *rates) take(due int64, counters rateSample) {
	sample := &r.samples[r.next]
	for i, n := range counters {
		sample[i] = n - r.counted[i]
	}
	if r.at == 0 { // of what was before there is no knowing when
		*sample = rateSample{}
	}
	r.next = (r.next + 1) % rateSamples
	for range min(due-1, rateSamples) { // in which nothing happened
		r.samples[r.next] = rateSample{}
		r.next = (r.next + 1) % rateSamples
	}
	r.at += due * samplePeriod
	r.counted = counters
}

// perSecond is the mean of what a second brought.
func (r *rates) perSecond(kind int) (sum int64) {
	for _, s := range r.samples {
		sum += s[kind]
	}
	return sum * 1e6 / samplePeriod / rateSamples
}

// kilobytes is perSecond of a number of bytes, as INFO prints it.
func (r *rates) kilobytes(kind int) string {
	return fmt.Sprintf("%.2f", float64(r.perSecond(kind))/1024)
}
