package engine

import (
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

var latencyCommands = []Spec{
	{Name: "latency", Arity: -2,
		Group: "server", Since: "2.8.13", Complexity: "Depends on subcommand.",
		Summary: "A container for latency diagnostics commands."},
	{Name: "latency|doctor", Arity: 2, Flags: Admin | NoScript | Loading | Stale, run: latencyDoctor,
		Group: "server", Since: "2.8.13", Complexity: "O(1)",
		Summary: "Returns a human-readable latency analysis report.",
		Tips:    []string{"nondeterministic_output", "request_policy:all_nodes", "response_policy:special"}},
	{Name: "latency|graph", Arity: 3, Flags: Admin | NoScript | Loading | Stale, run: latencyGraph,
		Group: "server", Since: "2.8.13", Complexity: "O(1)",
		Summary: "Returns a latency graph for an event.",
		Tips:    []string{"nondeterministic_output", "request_policy:all_nodes", "response_policy:special"},
		Args:    `event`},
	{Name: "latency|help", Arity: 2, Flags: Loading | Stale, run: latencyHelp,
		Group: "server", Since: "2.8.13", Complexity: "O(1)",
		Summary: "Returns helpful text about the different subcommands."},
	{Name: "latency|histogram", Arity: -2, Flags: Admin | NoScript | Loading | Stale, run: latencyHistograms,
		Group: "server", Since: "7.0.0", Complexity: "O(N) where N is the number of commands with latency information being retrieved.",
		Summary: "Returns the cumulative distribution of latencies of a subset or all commands.",
		Tips:    []string{"nondeterministic_output", "request_policy:all_nodes", "response_policy:special"},
		Args:    `command?*`},
	{Name: "latency|history", Arity: 3, Flags: Admin | NoScript | Loading | Stale, run: latencyHistory,
		Group: "server", Since: "2.8.13", Complexity: "O(1)",
		Summary: "Returns timestamp-latency samples for an event.",
		Tips:    []string{"nondeterministic_output", "request_policy:all_nodes", "response_policy:special"},
		Args:    `event`},
	{Name: "latency|latest", Arity: 2, Flags: Admin | NoScript | Loading | Stale, run: latencyLatest,
		Group: "server", Since: "2.8.13", Complexity: "O(1)",
		Summary: "Returns the latest latency samples for all events.",
		Tips:    []string{"nondeterministic_output", "request_policy:all_nodes", "response_policy:special"}},
	{Name: "latency|reset", Arity: -2, Flags: Admin | NoScript | Loading | Stale, run: latencyReset,
		Group: "server", Since: "2.8.13", Complexity: "O(1)",
		Summary: "Resets the latency data for one or more events.",
		Tips:    []string{"request_policy:all_nodes", "response_policy:agg_sum"},
		Args:    `event?*`},
}

// latencyLatest: LATENCY LATEST
func latencyLatest(c *Call) resp.Value {
	var out []resp.Value
	for _, name := range c.latency.names() {
		series := c.latency[name]
		last := series.samples[len(series.samples)-1]
		out = append(out, resp.Array(resp.Bulk(name), resp.Int(last.atSec), resp.Int(last.ms), resp.Int(series.max)))
	}
	return resp.Array(out...)
}

// latencyHistory: LATENCY HISTORY event
func latencyHistory(c *Call) resp.Value {
	var out []resp.Value
	if series := c.latency[cString(c.Args[2])]; series != nil {
		for _, s := range series.samples {
			out = append(out, resp.Array(resp.Int(s.atSec), resp.Int(s.ms)))
		}
	}
	return resp.Array(out...)
}

// latencyReset: LATENCY RESET [event ...]
func latencyReset(c *Call) resp.Value {
	before := len(c.latency)
	if len(c.Args) == 2 {
		clear(c.latency)
	}
	for _, event := range c.Args[2:] {
		delete(c.latency, strings.ToLower(cString(event)))
	}
	return resp.Int(int64(before - len(c.latency)))
}

// latencyGraph: LATENCY GRAPH event
func latencyGraph(c *Call) resp.Value {
	name := cString(c.Args[2])
	series := c.latency[name]
	if series == nil {
		return resp.Err(oneLine("ERR No samples available for event '" + name + "'"))
	}
	return resp.Verbatim(series.graph(name, c.now/1e6))
}

// latencyDoctor: LATENCY DOCTOR
func latencyDoctor(c *Call) resp.Value { return resp.Verbatim(c.latencyReport()) }

// latencyHistograms: LATENCY HISTOGRAM [command ...]
func latencyHistograms(c *Call) resp.Value {
	var out []resp.Value
	show := func(s *Spec) {
		if h := c.statsOf(s).latency; h != nil {
			out = append(out, resp.Bulk(s.Name), h.reply())
		}
	}
	if len(c.Args) == 2 {
		c.table.each(show)
	}
	for _, name := range c.Args[2:] {
		if s := c.table.byFullName(name); s != nil {
			show(s)
			for _, sub := range s.subOrder {
				show(sub)
			}
		}
	}
	return resp.Map(out...)
}

// reply is the histogram with the counts summed up.
func (h *latencyHistogram) reply() resp.Value {
	var levels []resp.Value
	sum := int64(0)
	for level, n := range h.levels {
		if sum += n; n > 0 {
			levels = append(levels, resp.Int(latencyLevelTop(level)), resp.Int(sum))
		}
	}
	return resp.Map(resp.Bulk("calls"), resp.Int(h.total), resp.Bulk("histogram_usec"), resp.Map(levels...))
}

// latencyHelp: LATENCY HELP
func latencyHelp(*Call) resp.Value {
	return helpReply("LATENCY",
		"DOCTOR",
		"    Return a human readable latency analysis report.",
		"GRAPH <event>",
		"    Return an ASCII latency graph for the <event> class.",
		"HISTORY <event>",
		"    Return time-latency samples for the <event> class.",
		"LATEST",
		"    Return the latest latency samples for all events.",
		"RESET [<event> ...]",
		"    Reset latency data of one or more <event> classes.",
		"    (default: reset all data for all event classes)",
		"HISTOGRAM [COMMAND ...]",
		"    Return a cumulative distribution of latencies in the format of a histogram for the specified command names.",
		"    If no commands are specified then all histograms are replied.")
}
