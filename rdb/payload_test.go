package rdb

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/echomq/echomq-sim/store"
)

// recorded is a payload in testdata/rdb/payloads.txt.
type recorded struct {
	name, encoding string
	same           bool // the server dumps the same bytes again
	payload        string
}

func payloads(t testing.TB) (all []recorded) {
	t.Helper()
	file, err := os.ReadFile("../testdata/rdb/payloads.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		payload, err := hex.DecodeString(f[4])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, recorded{f[0], f[1], f[3] == "same", string(payload)})
	}
	return all
}

func TestPayloads(t *testing.T) {
	l := store.DefaultLimits()
	for _, p := range payloads(t) {
		o, err := Restore(p.payload, l)
		if err != nil {
			t.Errorf("%s: %v", p.name, err)
			continue
		}
		if o.Encoding() != p.encoding {
			t.Errorf("%s: encoded as %s, want %s", p.name, o.Encoding(), p.encoding)
		}
		if again := Dump(o, true); p.same && p.encoding != "hashtable" && again != p.payload {
			t.Errorf("%s: dumped as\n%q, want\n%q", p.name, again, p.payload)
		}
		checkObject(t, o, l)
	}
}

// Whatever is cut off or changed, nothing but an error comes of it, or a sound value.
func TestBrokenPayloads(t *testing.T) {
	l := store.DefaultLimits()
	for _, p := range payloads(t) {
		body := p.payload[:len(p.payload)-footLen]
		for n := range len(body) {
			if o, err := Restore(seal([]byte(body[:n]), version), l); err == nil {
				checkObject(t, o, l)
			}
			for _, x := range []byte{0x01, 0x80, 0xff} {
				broken := []byte(body)
				broken[n] ^= x
				if o, err := Restore(seal(broken, version), l); err == nil {
					checkObject(t, o, l)
				}
			}
		}
	}
}

// A hash of Valkey 9: the payload says so, and nothing before it takes it.
func TestFieldDeadlines(t *testing.T) {
	l := store.DefaultLimits()
	o := store.NewHash(l)
	o.Hash().Set("f", "v")
	o.Hash().Set("g", "1")
	o.Hash().SetDeadline("g", 1<<41)
	p := Dump(o, true)
	want := "\x16\x02\x01f\x01v\xff\xff\xff\xff\xff\xff\xff\xff\x01g\xc0\x01\x00\x00\x00\x00\x00\x02\x00\x00\x50\x00"
	if !strings.HasPrefix(p, want) || len(p) != len(want)+8 {
		t.Errorf("dumped as %q", p)
	}
	back, err := Restore(p, l)
	if err != nil {
		t.Fatal(err)
	}
	if h := back.Hash(); h.Deadline("f") != 0 || h.Deadline("g") != 1<<41 || back.Encoding() != "hashtable" {
		t.Errorf("deadlines %d and %d, encoding %s", h.Deadline("f"), h.Deadline("g"), back.Encoding())
	}
	for _, v := range []int{12, 79, 81} {
		if _, err := Restore(seal([]byte("\x00\x01x"), v), l); err != ErrSeal {
			t.Errorf("version %d: %v", v, err)
		}
	}
}

// A payload that claims to hold much is refused before room is made for that.
func TestClaims(t *testing.T) {
	l := store.DefaultLimits()
	huge := "\x81\x00\x00\x00\xff\xff\xff\xff\xff"
	for t0 := range byte(23) {
		for _, body := range []string{huge, "\x01" + huge, "\x01\x02" + huge, "\xc3\x05" + huge + "aaaaa", "\xc3" + huge + huge} {
			payload := seal(append([]byte{t0}, body...), version)
			if n := testing.AllocsPerRun(1, func() { Restore(payload, l) }); n > 100 {
				t.Errorf("type %d, %q: %v allocations", t0, body, n)
			}
			if _, err := Restore(payload, l); err == nil && body == huge {
				t.Errorf("type %d, %q: restored", t0, body)
			}
		}
	}
}
