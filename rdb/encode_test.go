package rdb

import (
	"math/rand"
	"strings"
	"testing"
)

func TestChecksum(t *testing.T) {
	if got := checksum(0, "123456789"); got != 0xe9c6d914c4b8d9ca {
		t.Errorf("checksum %x", got)
	}
}

func TestStrings(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	words := []string{"redis", "call", " ", "\n", "KEYS[1]", "x", "\x00", "local "}
	list := []string{"", "0", "-1", "127", "128", "-128", "-129", "32768", "2147483647", "-2147483648", "2147483648", "01", "-0",
		strings.Repeat("a", 21), strings.Repeat("ab", 5000), strings.Repeat("x", 63), strings.Repeat("x", 64), strings.Repeat("x", 20000)}
	for range 2000 {
		var b strings.Builder
		for range r.Intn(400) {
			if r.Intn(4) == 0 {
				b.WriteByte(byte(r.Intn(256)))
			} else {
				b.WriteString(words[r.Intn(len(words))])
			}
		}
		list = append(list, b.String())
	}
	for _, s := range list {
		enc := string(compression(true).appendString(nil, s))
		in := reader{s: enc + "rest"}
		if got := in.str(); got != s || in.err != nil || in.s[in.at:] != "rest" {
			t.Fatalf("%.60q came back as %.60q (%v)", s, got, in.err)
		}
		for n := range min(len(enc), 60) {
			if cut := (reader{s: enc[:n]}); cut.str() == s && cut.err == nil && s != "" {
				t.Fatalf("%.60q read from %d of %d bytes", s, n, len(enc))
			}
		}
	}
}

func TestBrokenRDBStrings(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	whole := compression(true).appendString(nil, strings.Repeat("abcd-efgh-", 50))
	for range 20000 {
		b := append([]byte(nil), whole...)
		for range 1 + r.Intn(4) {
			b[r.Intn(len(b))] = byte(r.Intn(256))
		}
		in := reader{s: string(b)}
		if s := in.str(); len(s) > 1<<20 {
			t.Fatalf("%d bytes from %q", len(s), b)
		}
	}
}

func TestPayloadSeal(t *testing.T) {
	p := seal([]byte("body"), version)
	if body, ok := open(p); !ok || body != "body" {
		t.Errorf("%q %v", body, ok)
	}
	for i := range len(p) {
		b := []byte(p)
		b[i] ^= 1
		if _, ok := open(string(b)); ok {
			t.Errorf("byte %d is not checked", i)
		}
	}
	if _, ok := open("short"); ok {
		t.Error("short payload taken")
	}
}
