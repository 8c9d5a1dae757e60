package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

var infoCommands = []Spec{
	{Name: "info", Arity: -1, Flags: Loading | Stale, ACL: []string{"dangerous"}, run: info,
		Group: "server", Since: "1.0.0", Complexity: "O(1)",
		Summary: "Returns information and statistics about the server.",
		History: []string{"7.0.0 Added support for taking multiple section arguments."},
		Tips:    []string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"},
		Args:    `section?*`},
}

// infoSection is one section of INFO.
type infoSection struct {
	name   string // lower case, as clients ask for it
	title  string
	always bool // part of the default reply
	write  func(co *core, w *infoWriter)
}

// infoSections are the sections in the server's order.
var infoSections = []infoSection{
	{"server", "Server", true, infoServer},
	{"clients", "Clients", true, infoClients},
	{"memory", "Memory", true, infoMemory},
	{"persistence", "Persistence", true, infoPersistence},
	{"stats", "Stats", true, infoStats},
	{"replication", "Replication", true, infoReplication},
	{"cpu", "CPU", true, infoCPU},
	{"modules", "Modules", true, func(*core, *infoWriter) {}},
	{"commandstats", "Commandstats", false, infoCommandstats},
	{"errorstats", "Errorstats", true, infoErrorstats},
	{"latencystats", "Latencystats", false, infoLatencystats},
	{"cluster", "Cluster", true, infoCluster},
	{"keyspace", "Keyspace", true, infoKeyspace},
	{"debug", "Debug", false, infoDebug},
}

// infoWriter collects lines of INFO.
type infoWriter struct{ strings.Builder }

func (w *infoWriter) text(name, value string)  { w.WriteString(name + ":" + value + "\r\n") }
func (w *infoWriter) num(name string, n int64) { w.text(name, strconv.FormatInt(n, 10)) }

// zeros writes fields that count what never happens here.
func (w *infoWriter) zeros(names ...string) {
	for _, name := range names {
		w.num(name, 0)
	}
}

// bytes writes a number of bytes, and once more for people.
func (w *infoWriter) bytes(name string, n uint64) {
	w.text(name, strconv.FormatUint(n, 10))
	w.text(name+"_human", humanBytes(n))
}

// humanBytes is a number of bytes such as 512B or 1.50M.
func humanBytes(n uint64) string {
	if n < 1<<10 {
		return strconv.FormatUint(n, 10) + "B"
	}
	f := float64(n)
	for _, unit := range "KMGTP" {
		if f /= 1 << 10; f < 1<<10 || unit == 'P' {
			return fmt.Sprintf("%.2f%c", f, unit)
		}
	}
	return ""
}

// info: INFO [section ...]
func info(c *Call) resp.Value {
	wanted := wantedSections(c.Args[1:])
	w := &infoWriter{}
	for _, s := range infoSections {
		if !wanted[s.name] {
			continue
		}
		if w.Len() > 0 {
			w.WriteString("\r\n")
		}
		w.WriteString("# " + s.title + "\r\n")
		s.write(c.core, w)
	}
	return resp.Verbatim(w.String())
}

// wantedSections are the names of the sections that the arguments of INFO ask
// for. Unknown ones are nobody's.
func wantedSections(args []string) map[string]bool {
	wanted := map[string]bool{}
	if len(args) == 0 {
		args = []string{"default"}
	}
	for _, a := range args {
		switch a = strings.ToLower(a); a {
		case "default", "all", "everything":
			for _, s := range infoSections {
				wanted[s.name] = wanted[s.name] || s.always || a != "default" && s.name != "debug"
			}
		case "module_list":
			wanted["modules"] = true
		default:
			wanted[a] = true
		}
	}
	return wanted
}
