package engine

import (
	"bufio"
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/echomq/echomq-sim/resp"
)

// The command table of a valkey-server 8.0.1, and the part of the README that is
// made from it. With ECHOMQSIM_ORACLE=host:port, go test ./engine -run
// 'TestCommandTable|TestReadme' -update has that server write the first and
// writes the second anew.
const (
	commandsFile = "../testdata/commands.txt"
	readmeFile   = "../README.md"
	tableStart   = "<!-- support table -->"
	tableEnd     = "<!-- /support table -->"
)

var updateTable = flag.Bool("update", false, "record the command table from $ECHOMQSIM_ORACLE and write the README's table")

// newerCommand reports whether a row is of a later server than the recorded one.
func newerCommand(s *Spec) bool { return strings.HasPrefix(s.Since, "9.") }

// recordedCommand is what the server says of one command, without its subcommands.
type recordedCommand struct{ group, info, docs string }

// TestCommandTable compares every row with the record of the server.
func TestCommandTable(t *testing.T) {
	if *updateTable {
		recordCommandTable(t)
	}
	record := readCommandTable(t)
	newTestCore(t).table.each(func(s *Spec) {
		r, ok := record[s.Name]
		if !ok {
			if !newerCommand(s) {
				t.Errorf("%s: the server has no such command", s.Name)
			}
			return
		}
		info, docs := s.info(), s.docs()
		if got := compactInfo(info); got != r.info {
			t.Errorf("COMMAND INFO %s\n got: %s\nwant: %s", s.Name, got, r.info)
		}
		if got := compactDocs(docs); got != r.docs {
			t.Errorf("COMMAND DOCS %s\n got: %s\nwant: %s", s.Name, got, r.docs)
		}
	})
}

// TestMissingCommands lists what the server has and this engine has not.
func TestMissingCommands(t *testing.T) {
	have := map[string]bool{}
	newTestCore(t).table.each(func(s *Spec) { have[s.Name] = true })
	record := readCommandTable(t)
	var missing []string
	for name := range record {
		if !have[name] {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	t.Logf("%d of %d commands of the server are missing: %s", len(missing), len(record), strings.Join(missing, " "))
	if len(record) != serverCommands {
		t.Errorf("the record has %d commands, want %d", len(record), serverCommands)
	}
}

// serverCommands is how many commands and subcommands valkey-server 8.0.1 has.
const serverCommands = 373

// compact is a reply as text: name for a bulk string, +name for a status, [array],
// (set) and {map}.
func compact(v resp.Value) string {
	switch v.Kind {
	case resp.KindInt:
		return strconv.FormatInt(v.Int, 10)
	case resp.KindSimple:
		return "+" + v.Str
	case resp.KindBulk:
		if v.Str == "" || strings.Trim(v.Str, "0123456789-") == "" || strings.ContainsAny(v.Str, " +\"'`[](){}\\") {
			return strconv.Quote(v.Str)
		}
		return v.Str
	}
	var parts []string
	for _, e := range v.Elems {
		parts = append(parts, compact(e))
	}
	all := strings.Join(parts, " ")
	switch v.Kind {
	case resp.KindArray:
		return "[" + all + "]"
	case resp.KindSet:
		return "(" + all + ")"
	case resp.KindMap:
		return "{" + all + "}"
	}
	panic(fmt.Sprintf("a reply of kind %d", v.Kind))
}

// compactInfo is an element of COMMAND INFO without its last part, the subcommands.
func compactInfo(v resp.Value) string { return compact(resp.Array(v.Elems[:len(v.Elems)-1]...)) }

// compactDocs is an entry of COMMAND DOCS without its subcommands.
func compactDocs(v resp.Value) string {
	var kept []resp.Value
	for pair := range slices.Chunk(v.Elems, 2) {
		if pair[0].Str != "subcommands" {
			kept = append(kept, pair...)
		}
	}
	return compact(resp.Map(kept...))
}

func readCommandTable(t *testing.T) map[string]recordedCommand {
	t.Helper()
	f, err := os.Open(commandsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	record := map[string]recordedCommand{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		l := lines.Text()
		if strings.HasPrefix(l, "#") {
			continue
		}
		what, rest, _ := strings.Cut(l, " ")
		name, value, ok := strings.Cut(rest, " ")
		r := record[name]
		switch what {
		case "group":
			r.group = value
		case "info":
			r.info = value
		case "docs":
			r.docs = value
		default:
			ok = false
		}
		if !ok {
			t.Fatalf("%s:%d: %q", commandsFile, n, l)
		}
		record[name] = r
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return record
}

// recordCommandTable has the oracle write the record.
func recordCommandTable(t *testing.T) {
	t.Helper()
	addr := os.Getenv("ECHOMQSIM_ORACLE")
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatalf("ECHOMQSIM_ORACLE=%s: %v", addr, err)
	}
	c := resp.NewClient(nc)
	defer c.Close()
	do := func(args ...string) resp.Value {
		v, err := c.Do(args...)
		if err != nil || v.IsErr() {
			t.Fatalf("%v: %v %s", args, err, v.Str)
		}
		return v
	}
	do("HELLO", "3")
	var names []string
	for _, v := range do("COMMAND", "LIST").Elems {
		names = append(names, v.Str)
	}
	slices.Sort(names)
	var b strings.Builder
	fmt.Fprintln(&b, "# COMMAND INFO and COMMAND DOCS of valkey-server 8.0.1, subcommands apart.")
	for _, name := range names {
		docs := do("COMMAND", "DOCS", name).Elems[1]
		for pair := range slices.Chunk(docs.Elems, 2) {
			if pair[0].Str == "group" {
				fmt.Fprintf(&b, "group %s %s\n", name, pair[1].Str)
			}
		}
		fmt.Fprintf(&b, "info %s %s\n", name, compactInfo(do("COMMAND", "INFO", name).Elems[0]))
		fmt.Fprintf(&b, "docs %s %s\n", name, compactDocs(docs))
	}
	if err := os.WriteFile(commandsFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// SupportTable is the README's table: which of the server's commands this engine
// has, by group. Containers that do nothing by themselves are left out.
func SupportTable(t *testing.T) string {
	record := readCommandTable(t)
	container := map[string]bool{}
	for name := range record {
		if top, _, ok := strings.Cut(name, "|"); ok && top != "command" {
			container[top] = true
		}
	}
	have := map[string][]string{}
	missing := map[string][]string{}
	groups := map[string]bool{}
	table := newTestCore(t).table
	for _, name := range slices.Sorted(maps.Keys(record)) {
		group := record[name].group
		groups[group] = true
		title := "`" + strings.ToUpper(strings.ReplaceAll(name, "|", " ")) + "`"
		switch {
		case container[name]:
		case table.byFullName(name) != nil:
			have[group] = append(have[group], title)
		default:
			missing[group] = append(missing[group], title)
		}
	}
	table.each(func(s *Spec) {
		if _, ok := record[s.Name]; !ok {
			have[s.Group] = append(have[s.Group], "`"+strings.ToUpper(s.Name)+"` ("+s.Since+")")
		}
	})
	var b strings.Builder
	b.WriteString("| Group | | Supported | Missing |\n|---|---|---|---|\n")
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		fmt.Fprintf(&b, "| %s | %d/%d | %s | %s |\n", g, len(have[g]), len(have[g])+len(missing[g]),
			strings.Join(have[g], " "), strings.Join(missing[g], " "))
	}
	return b.String()
}

// TestReadmeTable: the README tells what is supported.
func TestReadmeTable(t *testing.T) {
	data, err := os.ReadFile(readmeFile)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	head, rest, ok := strings.Cut(text, tableStart)
	_, tail, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		t.Fatalf("%s lacks %s or %s", readmeFile, tableStart, tableEnd)
	}
	want := head + tableStart + "\n" + SupportTable(t) + tableEnd + tail
	if text == want {
		return
	}
	if !*updateTable {
		t.Fatalf("%s does not show the present state of the command table; write it with -update", readmeFile)
	}
	if err := os.WriteFile(readmeFile, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestDocArgs: what the notation means, and that nothing else passes for it.
func TestDocArgs(t *testing.T) {
	for text, want := range map[string]string{
		"key:k#0": `[{name key type key display_text key key_spec_index 0}]`,
		"a/b=TOK@1.2.3~4.5.6?*+": `[{name a type string display_text b token TOK since 1.2.3 deprecated_since 4.5.6 ` +
			`flags (+optional +multiple +multiple_token)}]`,
		"addr/ip:port=ADDR? n:i": `[{name addr type string display_text ip:port token ADDR flags (+optional)} ` +
			`{name n type integer display_text n}]`,
		`x<a:t="~" b{c:d d:u}=B>*`: `[{name x type oneof flags (+multiple) arguments [{name a type pure-token display_text a token ~} ` +
			`{name b type block token B arguments [{name c type double display_text c} {name d type unix-time display_text d}]}]}]`,
	} {
		if got := compact(argsDocs(parseDocArgs(text))); got != want {
			t.Errorf("%s\n got: %s\nwant: %s", text, got, want)
		}
	}
	for _, text := range []string{"", "a ", " a", "a{", "a{b", "a{b>", "a}", "a=", `a="`, "a#x", "a:k:i", "a@", "a  b"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was taken for an argument list", text)
				}
			}()
			parseDocArgs(text)
		}()
	}
}
