package engine

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

// knownRows are the parameters that knownParams tells of, aliases included.
func knownRows() (rows []parameter) {
	for i := range knownParams {
		k := &knownParams[i]
		rows = append(rows, k.row(k.name))
		if k.alias != "" {
			rows = append(rows, k.row(k.alias))
		}
	}
	return rows
}

func (k *knownParam) row(name string) parameter {
	p := parameter{name: name, use: k.use, get: k.get}
	if k.use&immutable != 0 {
		return p
	}
	parse := newValueParser(k.values)
	p.set = func(co *core, value string) string {
		old := k.get(co)
		value, why := parse(old, value)
		switch {
		case why != "":
			return why
		case k.use&inert != 0 && value != old:
			return staysText(old)
		}
		co.set.tuned[k.name] = strings.Clone(value)
		return ""
	}
	return p
}

func (k *knownParam) get(co *core) string {
	if value, ok := co.set.tuned[k.name]; ok {
		return value
	}
	return k.value
}

// tuned is the value of a parameter of knownParams.
func (co *core) tuned(name string) string {
	i := slices.IndexFunc(knownParams, func(k knownParam) bool { return k.name == name })
	return knownParams[i].get(co)
}

// tunedNumber is that of one that is a number.
func (co *core) tunedNumber(name string) int64 {
	n, _ := parseInt(co.tuned(name))
	return n
}

// tunedYes is that of one that is yes or no.
func (co *core) tunedYes(name string) bool { return co.tuned(name) == "yes" }

// staysText is why a parameter that clients would notice can't be changed here.
func staysText(value string) string {
	return "this simulator does not act on it, it stays at '" + value + "'"
}

// valueParser gives a new value the form in which CONFIG GET shows it, or tells why it
// can't be one. old is the value until now.
type valueParser func(old, value string) (text, why string)

// newValueParser understands the values column of knownParams: a kind and what it allows.
func newValueParser(spec string) valueParser {
	kind, rest, _ := strings.Cut(spec, " ")
	words := strings.Fields(rest)
	switch kind {
	case "bool":
		return yesNoValue
	case "int":
		return numberValue(integerValue, words)
	case "mem":
		return numberValue(memoryValue, words)
	case "percent":
		return percentValue(numberValue(memoryValue, words))
	case "enum", "flags":
		return func(_, value string) (string, string) { return oneOf(words, value, kind == "flags") }
	case "save":
		return savePoints
	case "text":
		return func(_, value string) (string, string) { return value, "" }
	}
	panic("engine: no such kind of parameter: " + spec)
}

func yesNoValue(_, value string) (text, why string) {
	if text = strings.ToLower(value); text != "yes" && text != "no" {
		return "", "argument must be 'yes' or 'no'"
	}
	return text, ""
}

var numberBounds = map[string]int64{"max": math.MaxInt64, "maxint": math.MaxInt32, "minint": math.MinInt32}

func numberValue(parse numberParser, bounds []string) valueParser {
	bound := func(i int) int64 {
		if n, named := numberBounds[bounds[i]]; named {
			return n
		}
		return resp.Atoi(bounds[i])
	}
	return func(_, value string) (text, why string) {
		n, why := parse.within(value, bound(0), bound(1))
		if len(bounds) == 4 { // the server then takes the nearest that makes sense
			n = min(max(n, bound(2)), bound(3))
		}
		return strconv.FormatInt(n, 10), why
	}
}

// percentValue also takes a number from 0 to 100 with a percent sign behind it.
func percentValue(orElse valueParser) valueParser {
	return func(old, value string) (text, why string) {
		digits, percent := strings.CutSuffix(value, "%")
		n, ok := parseInt(digits)
		switch {
		case !percent:
			if _, ok := parseMemory(value); ok {
				return orElse(old, value)
			}
			fallthrough
		case !ok || n < 0:
			return "", "argument must be a memory or percent value"
		case n > 100:
			return "", "percentage argument must be less or equal to 100"
		}
		return value, ""
	}
}

// oneOf takes one of the words, or several with spaces between them.
func oneOf(words []string, value string, several bool) (text, why string) {
	given := []string{value}
	if several {
		given = strings.Split(value, " ")
	}
	chosen := map[string]bool{}
	for _, g := range given {
		g = strings.ToLower(g)
		if !slices.Contains(words, g) {
			return "", "argument(s) must be one of the following: " + strings.Join(words, ", ")
		}
		chosen[g] = true
	}
	if several && len(chosen) > 1 {
		delete(chosen, words[0]) // it stands for none of the others
	}
	var out []string
	for _, w := range words {
		if chosen[w] {
			out = append(out, w)
		}
	}
	return strings.Join(out, " "), ""
}

// savePoints takes pairs of seconds and changes.
func savePoints(_, value string) (text, why string) {
	var points []string
	if value != "" {
		points = strings.Split(value, " ")
	}
	if len(points)%2 != 0 {
		return "", "Invalid save parameters"
	}
	for i, p := range points {
		if n, err := strconv.ParseInt(p, 10, 64); err != nil || n < 0 || i%2 == 0 && n < 1 {
			return "", "Invalid save parameters"
		}
	}
	return value, ""
}

// setActiveDefrag refuses what a server refuses that was built without its own allocator.
func setActiveDefrag(_ *core, value string) (why string) {
	text, why := yesNoValue("", value)
	if text == "yes" {
		return "Active defragmentation cannot be enabled: it requires a server compiled with a modified Jemalloc " +
			"like the one shipped by default with the source distribution"
	}
	return why
}

// setPercentiles takes the percentiles that INFO latencystats shows.
func setPercentiles(co *core, value string) (why string) {
	var out []string
	if value != "" {
		for _, p := range strings.Split(value, " ") {
			f, ok := parseFloat(p)
			if !ok {
				return "Invalid latency-tracking-info-percentiles parameters"
			}
			if f < 0 || f > 100 {
				return "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]"
			}
			out = append(out, fmt.Sprint(f))
		}
	}
	co.set.percentiles = out
	return ""
}
