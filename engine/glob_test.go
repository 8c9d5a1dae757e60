package engine

import (
	"strings"
	"testing"
)

// The answers are the server's: KEYS for globMatch, CONFIG GET for nocase.
func TestGlobMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true}, {"", "a", false}, {"a", "", false}, {"*", "", false}, {"*", "a", true}, {"**", "ab", true},
		{"a*", "a", true}, {"a**", "a", true}, {"*a", "a", true}, {"*a", "ba", true}, {"*ab", "aab", true}, {"*ab", "aba", false},
		{"a*b*c", "axbxc", true}, {"a*b*c", "axcxb", false}, {"?", "", false}, {"?", "a", true}, {"a?c", "abc", true},
		{"[abc]", "b", true}, {"[abc]", "d", false}, {"[^abc]", "d", true}, {"[^abc]", "a", false}, {"[a-c]", "b", true},
		{"[c-a]", "b", true}, {"[a-]", "-", false}, {"[a-]", "^", true}, {"[-a]", "-", true}, {"[]", "a", false}, {"[^]", "a", true},
		{"[", "[", false}, {"[", "a", false}, {"[^", "a", true}, {"[a", "a", true}, {"[a-b", "b", true}, {"[\\", "\\", true},
		{"[\\]]", "]", true}, {"[\\a-c]", "b", false}, {"\\", "\\", true}, {"\\*", "*", true}, {"\\*", "a", false},
		{"\\a", "a", true}, {"a\\", "a\\", true}, {"[\x80-\x90]", "\x85", true}, {"[a-\xff]", "\xff", true},
		{"[a-\xff]", "A", true}, {"[a-\xff]", "\x80", false}, {"[a-\xff]", "b", false}, {"a\x00b", "a\x00b", true}, {"A", "a", false},
	} {
		if got := globMatch(c.pattern, c.s, false); got != c.want {
			t.Errorf("%q, %q: %v", c.pattern, c.s, got)
		}
	}
}

func TestGlobMatchNoCase(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"MAX*", "maxclients", true}, {"[A-M]ax*", "maxclients", true}, {"[^M]*", "maxclients", false},
		{"[\\M]*", "maxclients", false}, {"\\Max*", "maxclients", true}, {"[M]ax*", "maxclients", true},
		{"max", "MAX", true}, {"\xc4", "\xe4", false},
	} {
		if got := globMatch(c.pattern, c.s, true); got != c.want {
			t.Errorf("%q, %q: %v", c.pattern, c.s, got)
		}
	}
}

// Patterns that take a backtracking matcher for ever, and the server's limit on stars.
func TestGlobMatchIsBounded(t *testing.T) {
	s := strings.Repeat("a", 5000)
	for _, c := range []struct {
		pattern string
		want    bool
	}{
		{strings.Repeat("a*", 100) + "b", false}, {strings.Repeat("*?", 500) + "b", false}, {strings.Repeat("*[a-a]", 900) + "b", false},
		{strings.Repeat("*a", 1000), true}, {strings.Repeat("*a", 1001), false}, {strings.Repeat("*a", 1000) + "*", true},
		{strings.Repeat("*", 5000), true},
	} {
		if got := globMatch(c.pattern, s, false); got != c.want {
			t.Errorf("%.20q... of %d bytes: %v", c.pattern, len(c.pattern), got)
		}
	}
}
