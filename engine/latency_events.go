package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// latencyEvents are the spikes that latency-monitor-threshold lets through, by event.
type latencyEvents map[string]*latencySeries

// latencySeries are the last spikes of one event, the oldest first, one for each second.
type latencySeries struct {
	samples []latencySample
	max     int64 // of all times, in milliseconds
}

type latencySample struct{ atSec, ms int64 }

// maxLatencySamples is LATENCY_TS_LEN of Valkey's latency.h.
const maxLatencySamples = 160

// sample records that an event took that many microseconds, if it was too long.
func (co *core) sample(event string, usec int64) {
	ms := usec / 1000
	if ms < co.set.latencyThreshold {
		return
	}
	if co.latency == nil {
		co.latency = latencyEvents{}
	}
	series := co.latency[event]
	if series == nil {
		series = &latencySeries{}
		co.latency[event] = series
	}
	series.add(latencySample{co.wallNow() / 1e6, ms})
}

func (l *latencySeries) add(s latencySample) {
	l.max = max(l.max, s.ms)
	if n := len(l.samples); n > 0 && l.samples[n-1].atSec == s.atSec {
		l.samples[n-1].ms = max(l.samples[n-1].ms, s.ms)
		return
	}
	if len(l.samples) == maxLatencySamples {
		l.samples = slices.Delete(l.samples, 0, 1)
	}
	l.samples = append(l.samples, s)
}

func (ev latencyEvents) names() []string { return slices.Sorted(maps.Keys(ev)) }

// lowHigh are the shortest and the longest spike.
func (l *latencySeries) lowHigh() (low, high int64) {
	low, high = l.samples[0].ms, l.samples[0].ms
	for _, s := range l.samples {
		low, high = min(low, s.ms), max(high, s.ms)
	}
	return low, high
}

const (
	graphColumns = 80
	graphRows    = 4
	graphInk     = "_o#" // from low to high within a row
)

// graph draws the spikes, with how long ago they were below them.
func (l *latencySeries) graph(event string, nowSec int64) string {
	low, high := l.lowHigh()
	var b strings.Builder
	fmt.Fprintf(&b, "%s - high %d ms, low %d ms (all time high %d ms)\n", event, high, low, l.max)
	b.WriteString(strings.Repeat("-", graphColumns) + "\n")
	for i, part := range slices.Collect(slices.Chunk(l.samples, graphColumns)) {
		if i > 0 {
			b.WriteByte('\n')
		}
		drawSamples(&b, part, low, high, nowSec)
	}
	return b.String()
}

// drawSamples draws one part of a graph.
func drawSamples(b *strings.Builder, samples []latencySample, low, high, nowSec int64) {
	const steps = int64(len(graphInk) * graphRows)
	for row := range graphRows {
		for _, s := range samples {
			step := min((s.ms-low)*steps/max(high-low, 1), steps-1)
			ink := int(step) - (graphRows-row-1)*len(graphInk)
			switch {
			case ink < 0:
				b.WriteByte(' ')
			case ink < len(graphInk):
				b.WriteByte(graphInk[ink])
			default:
				b.WriteByte('|')
			}
		}
		b.WriteByte('\n')
	}
	labels, longest := make([]string, len(samples)), 0
	for i, s := range samples {
		labels[i] = ago(nowSec - s.atSec)
		longest = max(longest, len(labels[i]))
	}
	b.WriteString(strings.Repeat(" ", len(samples)) + "\n")
	for row := range longest {
		for _, label := range labels {
			if row < len(label) {
				b.WriteByte(label[row])
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteByte('\n')
	}
}

// ago is a number of seconds in the largest unit that it fills.
func ago(sec int64) string {
	switch {
	case sec < 60:
		return strconv.FormatInt(sec, 10) + "s"
	case sec < 3600:
		return strconv.FormatInt(sec/60, 10) + "m"
	case sec < 86400:
		return strconv.FormatInt(sec/3600, 10) + "h"
	}
	return strconv.FormatInt(sec/86400, 10) + "d"
}

// latencyReport is what LATENCY DOCTOR says.
func (co *core) latencyReport() string {
	if len(co.latency) == 0 && co.set.latencyThreshold == 0 {
		return "I'm sorry, Dave, I can't do that. Latency monitoring is disabled in this Valkey instance. You may " +
			"use \"CONFIG SET latency-monitor-threshold <milliseconds>.\" in order to enable it.\n"
	}
	if len(co.latency) == 0 {
		return "No latency spike was observed during the lifetime of this Valkey instance, not in the slightest bit.\n"
	}
	var b strings.Builder
	b.WriteString("Latency spikes are observed in this Valkey instance.\n\n")
	for i, name := range co.latency.names() {
		fmt.Fprintf(&b, "%d. %s: %s\n", i+1, name, co.latency[name].summary(co.now/1e6))
	}
	b.WriteString("\nHere is some advice for you:\n\n")
	for _, advice := range co.latencyAdvice() {
		b.WriteString("- " + advice + "\n")
	}
	return b.String()
}

// summary tells how many spikes there were and how long they took.
func (l *latencySeries) summary(nowSec int64) string {
	n := int64(len(l.samples))
	var sum, deviation int64
	for _, s := range l.samples {
		sum += s.ms
	}
	for _, s := range l.samples {
		deviation += max(sum/n-s.ms, s.ms-sum/n)
	}
	period := max(nowSec-l.samples[0].atSec, 1)
	return fmt.Sprintf("%d latency spikes (average %dms, mean deviation %dms, period %.2f sec). Worst all time event %dms.",
		n, sum/n, deviation/n, float64(period)/float64(n), l.max)
}

// latencyAdvice is the server's advice for the events that there are.
func (co *core) latencyAdvice() (advice []string) {
	command, fast, cycle := co.latency["command"] != nil, co.latency["fast-command"] != nil, co.latency["expire-cycle"] != nil
	setSlowlog := fmt.Sprintf("'CONFIG SET slowlog-log-slower-than %d'.", co.set.latencyThreshold*1000)
	switch {
	case command && (co.set.slowerThan < 0 || co.set.slowlogMax == 0):
		advice = append(advice, "There are latency issues with potentially slow commands you are using. Try to enable "+
			"the Slow Log Valkey feature using the command "+setSlowlog+
			" If the Slow log is disabled Valkey is not able to log slow commands execution for you.")
	case command && co.set.slowerThan/1000 > co.set.latencyThreshold:
		advice = append(advice, "Your current Slow Log configuration only logs events that are slower than your configured latency "+
			"monitor threshold. Please use "+setSlowlog)
	}
	if command {
		advice = append(advice, "Check your Slow Log to understand what are the commands you are running which are too "+
			"slow to execute. Please check https://valkey.io/commands/slowlog for more information.")
	}
	if fast {
		advice = append(advice, "The system is slow to execute Valkey code paths not containing system calls. This usually means the "+
			"system does not provide Valkey CPU time to run for long periods. You should try to:\n"+
			"  1) Lower the system load.\n"+
			"  2) Use a computer / VM just for Valkey if you are running other software in the same system.\n"+
			"  3) Check if you have a \"noisy neighbour\" problem.\n"+
			"  4) Check with 'valkey-cli --intrinsic-latency 100' what is the intrinsic latency in your system.\n"+
			"  5) Check if the problem is allocator-related by recompiling Valkey with MALLOC=libc, if you are "+
			"using Jemalloc. However this may create fragmentation problems.")
	}
	if cycle {
		advice = append(advice, "In order to make the Valkey keys expiring process more incremental, try to set "+
			"the 'hz' configuration parameter to 100 using 'CONFIG SET hz 100'.")
	}
	if command || cycle {
		advice = append(advice, "Deleting, expiring or evicting (because of maxmemory policy) large objects is a "+
			"blocking operation. If you have very large objects that are often deleted, expired, or "+
			"evicted, try to fragment those objects into multiple smaller objects.")
	}
	return advice
}
