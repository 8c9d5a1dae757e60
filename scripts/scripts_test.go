package scripts_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/echomq/echomq-sim/scripts"
)

// pinned holds the SHA-1 of every script, as sha1sum prints it. Servers and
// other clients know a script by it: a new value is a new protocol.
var pinned = map[string]string{
	"enqueue": "89d238ef4865b4c2cfb12884e41780250948703f",
}

func TestSHAIsPinned(t *testing.T) {
	for _, s := range scripts.All() {
		if want, ok := pinned[s.Name]; !ok || s.SHA != want {
			t.Errorf("%s: SHA is %s, pinned is %q", s.Name, s.SHA, want)
		}
	}
	if got := len(scripts.All()); got != len(pinned) {
		t.Errorf("%d scripts, %d are pinned", got, len(pinned))
	}
}

func TestEmbeddingKeepsTheBytes(t *testing.T) {
	paths, err := filepath.Glob("*.lua")
	if err != nil {
		t.Fatal(err)
	}
	if got := len(scripts.All()); got != len(paths) {
		t.Fatalf("All has %d scripts, the folder %d files", got, len(paths))
	}
	for _, path := range paths {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, ok := scripts.Get(strings.TrimSuffix(path, ".lua"))
		if !ok {
			t.Errorf("Get finds nothing for %s", path)
		}
		if s.Source != string(file) {
			t.Errorf("%s: the source differs from the file", path)
		}
		if !strings.HasSuffix(s.Source, "\n") || strings.Contains(s.Source, "\r") {
			t.Errorf("%s: must end in a newline and hold no carriage return", path)
		}
	}
}

func TestHeaderComment(t *testing.T) {
	for _, s := range scripts.All() {
		header := regexp.MustCompile(`^-- the @` + regexp.QuoteMeta(s.Name) + ` script — \S`)
		if !header.MatchString(s.Source) {
			t.Errorf("%s: the first line must be %q and a purpose", s.Name, "-- the @"+s.Name+" script — ")
		}
	}
}

func TestAllIsSortedAndACopy(t *testing.T) {
	list := scripts.All()
	byName := func(a, b scripts.Script) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(list, byName) {
		t.Errorf("not sorted: %v", list)
	}
	list[0].Source = "return 2"
	if scripts.All()[0].Source == list[0].Source {
		t.Error("a change to the answer of All changed the scripts")
	}
}

func TestGet(t *testing.T) {
	if s, ok := scripts.Get("enqueue"); !ok || s != scripts.Enqueue {
		t.Errorf("Get(enqueue) = %v, %v", s, ok)
	}
	for _, name := range []string{"", "ENQUEUE", "enqueue.lua", "no-such"} {
		if s, ok := scripts.Get(name); ok || s != (scripts.Script{}) {
			t.Errorf("Get(%q) = %v, %v", name, s, ok)
		}
	}
}

// The digest of the empty string and of "abc" are the published ones.
func TestNew(t *testing.T) {
	for source, sha := range map[string]string{
		"":    "da39a3ee5e6b4b0d3255bfef95601890afd80709",
		"abc": "a9993e364706816aba3e25717850c26c9cd0d89d",
	} {
		want := scripts.Script{Name: "x", Source: source, SHA: sha}
		if got := scripts.New("x", source); got != want {
			t.Errorf("New = %v, want %v", got, want)
		}
	}
}
