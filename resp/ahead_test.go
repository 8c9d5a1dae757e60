package resp

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestAhead(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, tt := range []struct {
		what, in string
		want     []string
	}{
		{"as many as asked for", ask("GET", "a") + ask("SET", "b", "v") + ask("HGET", "c", "f") + ask("GET", "d"), []string{"b", "c"}},
		{"fewer", ask("GET", "a") + ask("GET", "b"), []string{"b"}},
		{"none", ask("GET", "a"), nil},
		{"bytes of all kinds", ask("GET", "a") + ask("GET", "\r\n$1\r\n"), []string{"\r\n$1\r\n"}},
		{"the last is not all there", ask("GET", "a") + ask("GET", "b") + "*2\r\n$3\r\nGET\r\n$1\r\nc\r", []string{"b"}},
		{"one word only", ask("GET", "a") + ask("PING") + ask("GET", "b"), nil},
		{"an empty word", ask("GET", "a") + ask("GET", ""), nil},
		{"an empty request", ask("GET", "a") + "*0\r\n" + ask("GET", "b"), nil},
		{"an inline request", ask("GET", "a") + "GET b\r\n", nil},
		{"after an inline request", "GET a\r\n" + ask("GET", "b"), nil},
		{"a long word", ask("GET", "a") + ask("SET", "b", long) + ask("GET", "c"), nil},
		{"a fault", ask("GET", "a") + "*2\r\n$3\r\nGET\r\n:1\r\n", nil},
	} {
		var r CommandReader
		r.Fill(strings.NewReader(tt.in))
		if _, ok, err := r.Next(Limits{}); !ok || err != nil {
			t.Fatalf("%s: %t, %v", tt.what, ok, err)
		}
		var keys [2]string
		if got := keys[:r.Ahead(keys[:])]; !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.what, got, tt.want)
		}
	}
}

// aheadAgrees reports whether what Ahead says of in, read in pieces, is what Next says later.
func aheadAgrees(t *testing.T, in []byte, size int) {
	t.Helper()
	var r CommandReader
	var due []string // what Ahead has said of the next requests
	for src := (&chunkReader{in, size}); ; {
		_, readErr := r.Fill(src)
		for {
			args, ok, err := r.Next(Limits{})
			if err != nil {
				return
			}
			if !ok {
				break
			}
			if len(due) > 0 && (len(args) < 2 || args[1] != due[0]) {
				t.Fatalf("in pieces of %d: %q is next, ahead of it the second word was %q", size, args, due[0])
			}
			var keys [3]string
			due = nil
			for _, key := range keys[:r.Ahead(keys[:])] {
				due = append(due, string(bytes.Clone([]byte(key))))
			}
		}
		if readErr != nil {
			return
		}
	}
}
