package echomq_test

import (
	"cmp"
	"errors"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/echomq/echomq-sim/echomq"
)

type idVector struct {
	id        echomq.BrandedID
	snowflake echomq.Snowflake
	unixMs    int64
	node, seq int
	stream    string
}

var idVectors = []idVector{
	{"USR0KHTOWnGLuC", 274557032793636864, 1769526697641, 0, 0, "1769526697641-0"},
	{"USR0NgWEfAEJfs", 320636799581945856, 1780512970164, 0, 0, "1780512970164-0"},
	{"EVT000xY9Wvvcd", 209715201620567, 1704117200000, 395, 2647, "1704117200000-1620567"},
	{"JOB00000000000", 0, echomq.EpochUnixMs, 0, 0, "1704067200000-0"},
	{"JOBAzL8n0Y58m7", echomq.MaxSnowflake, echomq.EpochUnixMs + 1<<41 - 1, echomq.MaxNode, echomq.MaxSeq, "3903090455551-4194303"},
	{"JOB09nSpDrNwci", 132633958809600000, 1735689600000, 0, 0, "1735689600000-0"},
	{"JOB09nSpDrNwcj", 132633958809600001, 1735689600000, 0, 1, "1735689600000-1"},
	{"JOB09nSpDrNxgm", 132633958809604096, 1735689600000, 1, 0, "1735689600000-4096"},
	{"JOB09nSpDrfXkm", 132633958813794304, 1735689600001, 0, 0, "1735689600001-0"},
	{"JOB0JZGkPhnV4B", 264905530269515783, 1767225600123, 4, 7, "1767225600123-16391"},
}

func TestIDVectors(t *testing.T) {
	for _, v := range idVectors {
		id, err := echomq.ParseID(string(v.id))
		if err != nil || id != v.id || !id.Valid() {
			t.Errorf("ParseID(%s) = %s, %v", v.id, id, err)
		}
		s, err := id.Snowflake()
		if err != nil {
			t.Error(err)
		}
		got := idVector{v.id, s, s.UnixMs(), s.Node(), s.Seq(), s.StreamID()}
		if got != v {
			t.Errorf("got  %v\nwant %v", got, v)
		}
		if want := time.UnixMilli(v.unixMs).UTC(); s.Time() != want {
			t.Errorf("%s: time %v, want %v", id, s.Time(), want)
		}
		if back, err := echomq.FormatID(id.Namespace(), s); err != nil || back != id {
			t.Errorf("FormatID(%s, %d) = %s, %v", id.Namespace(), s, back, err)
		}
	}
}

func TestInvalidIDs(t *testing.T) {
	for _, s := range []string{
		"", "JOB", "JOB0JZGkPhnV4", "JOB0JZGkPhnV4BB",
		"job0JZGkPhnV4B", "J0B0JZGkPhnV4B", "JO[0JZGkPhnV4B", "JO@0JZGkPhnV4B", "ÉB0JZGkPhnV4B0",
		"JOB0JZGkPhnV4-", "JOB0JZGkPhn 4B", "JOB0JZGkPhnV4\x00", "JOB/JZGkPhnV4B", "JOB0JZGkPhn:4B",
		"JOB0JZGkPh`V4B", "JOB0JZGkPhnV4{",
		"XXXzzzzzzzzzzz", "JOBAzL8n0Y58m8", "JOBAzL8n0Y58mA", "JOBB0000000000",
	} {
		id, err := echomq.ParseID(s)
		var refused *echomq.NameError
		if id != "" || !errors.Is(err, echomq.ErrBrandedID) || !errors.As(err, &refused) || refused.Name != s {
			t.Errorf("ParseID(%q) = %q, %v", s, id, err)
		}
		raw := echomq.BrandedID(s)
		if n, err := raw.Snowflake(); n != 0 || !errors.Is(err, echomq.ErrBrandedID) {
			t.Errorf("Snowflake of %q = %d, %v", s, n, err)
		}
		if raw.Valid() || raw.Namespace() != "" {
			t.Errorf("%q passes for valid, in namespace %q", s, raw.Namespace())
		}
	}
}

func TestFormatIDRefuses(t *testing.T) {
	for _, namespace := range []string{"", "JO", "JOBS", "job", "J B", "É1"} {
		if id, err := echomq.FormatID(namespace, 1); id != "" || !errors.Is(err, echomq.ErrBrandedID) {
			t.Errorf("FormatID(%q, 1) = %q, %v", namespace, id, err)
		}
	}
	if id, err := echomq.FormatID("JOB", -1); id != "" || !errors.Is(err, echomq.ErrBrandedID) {
		t.Errorf("FormatID(JOB, -1) = %q, %v", id, err)
	}
}

// In one namespace the order of ids is the order of their snowflakes.
func TestIDOrderIsIntegerOrder(t *testing.T) {
	numbers := sampleSnowflakes()
	for _, a := range numbers {
		x := formatID(t, "JOB", a)
		if back, err := x.Snowflake(); err != nil || back != a {
			t.Fatalf("%d became %s and %d, %v", a, x, back, err)
		}
		for _, b := range numbers {
			if y := formatID(t, "JOB", b); x.Compare(y) != cmp.Compare(a, b) {
				t.Fatalf("%s.Compare(%s) = %d, but the numbers are %d and %d", x, y, x.Compare(y), a, b)
			}
		}
	}
	if formatID(t, "AZZ", echomq.MaxSnowflake).Compare(formatID(t, "BAA", 0)) != -1 {
		t.Error("the namespace must count first")
	}
}

func TestSnowflakePartsMakeTheWhole(t *testing.T) {
	for _, s := range sampleSnowflakes() {
		whole := (s.UnixMs()-echomq.EpochUnixMs)<<22 | int64(s.Node())<<12 | int64(s.Seq())
		if whole != int64(s) {
			t.Errorf("%d falls into %d %d %d", s, s.UnixMs(), s.Node(), s.Seq())
		}
	}
}

// sampleSnowflakes returns the neighbourhood of every power of two and of 62,
// and some numbers spread over the whole range.
func sampleSnowflakes() []echomq.Snowflake {
	const top = int64(echomq.MaxSnowflake)
	numbers := []echomq.Snowflake{0, echomq.MaxSnowflake, echomq.MaxSnowflake - 1}
	for _, base := range []int64{2, 62} {
		for n := base; ; n *= base {
			numbers = append(numbers, echomq.Snowflake(n-1), echomq.Snowflake(n), echomq.Snowflake(n+1))
			if n > top/base {
				break
			}
		}
	}
	spread := uint64(1)
	for range 200 {
		spread = spread*6364136223846793005 + 1442695040888963407
		numbers = append(numbers, echomq.Snowflake(spread>>1))
	}
	return numbers
}

func FuzzParseID(f *testing.F) {
	for _, v := range idVectors {
		f.Add(string(v.id))
	}
	f.Add("XXXzzzzzzzzzzz")
	f.Add("JOBAzL8n0Y58m8")
	f.Add("job00000000000")
	f.Add("")
	form := regexp.MustCompile(`\A[A-Z]{3}[0-9A-Za-z]{11}\z`)
	f.Fuzz(func(t *testing.T, s string) {
		id, err := echomq.ParseID(s)
		number := decodeBase62(s)
		if valid := form.MatchString(s) && number.IsInt64(); valid != (err == nil) {
			t.Fatalf("ParseID(%q) = %v, the model says %v", s, err, valid)
		}
		if err != nil {
			if id != "" || !errors.Is(err, echomq.ErrBrandedID) {
				t.Fatalf("ParseID(%q) = %q, %v", s, id, err)
			}
			return
		}
		n, err := id.Snowflake()
		if err != nil || int64(n) != number.Int64() {
			t.Fatalf("%s is %d, %v; the model says %d", id, n, err, number)
		}
		if back := formatID(t, id.Namespace(), n); back != id {
			t.Fatalf("%s became %s", id, back)
		}
	})
}

// decodeBase62 is the model: what follows the third byte, as a number of any
// size.
func decodeBase62(s string) *big.Int {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	n := new(big.Int)
	for i := 3; i < len(s); i++ {
		n.Mul(n, big.NewInt(62))
		n.Add(n, big.NewInt(int64(strings.IndexByte(digits, s[i]))))
	}
	return n
}

func TestStreamWindow(t *testing.T) {
	at := time.UnixMilli(1704117200000)
	floor, ceiling := echomq.StreamFloor(at), echomq.StreamCeiling(at)
	if floor != "1704117200000-0" || ceiling != "1704117200000-4194303" {
		t.Errorf("the window is %s to %s", floor, ceiling)
	}
}

func formatID(t *testing.T, namespace string, s echomq.Snowflake) echomq.BrandedID {
	t.Helper()
	id, err := echomq.FormatID(namespace, s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// fakeClock is a clock that a test sets.
type fakeClock struct{ unixMs int64 }

func (c *fakeClock) now() time.Time { return time.UnixMilli(c.unixMs) }

func newMinter(t *testing.T, node int, now func() time.Time) *echomq.Minter {
	t.Helper()
	m, err := echomq.NewMinter(node, now)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func next(t *testing.T, m *echomq.Minter) echomq.Snowflake {
	t.Helper()
	s, err := m.Next()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMintVector(t *testing.T) {
	clock := &fakeClock{1767225600123}
	m := newMinter(t, 4, clock.now)
	for range 7 {
		next(t, m)
	}
	if id, err := m.Mint("JOB"); id != "JOB0JZGkPhnV4B" || err != nil {
		t.Errorf("Mint = %s, %v", id, err)
	}
	if id, err := m.Mint("job"); id != "" || !errors.Is(err, echomq.ErrBrandedID) {
		t.Errorf("Mint(job) = %s, %v", id, err)
	}
}

func TestMinterNodes(t *testing.T) {
	clock := &fakeClock{1767225600123}
	for _, node := range []int{0, 1, 512, echomq.MaxNode} {
		if s := next(t, newMinter(t, node, clock.now)); s.Node() != node || s.UnixMs() != clock.unixMs || s.Seq() != 0 {
			t.Errorf("node %d minted %d, %d, %d", node, s.UnixMs(), s.Node(), s.Seq())
		}
	}
	for _, node := range []int{-1, echomq.MaxNode + 1} {
		if m, err := echomq.NewMinter(node, clock.now); m != nil || !errors.Is(err, echomq.ErrNode) {
			t.Errorf("node %d: %v, %v", node, m, err)
		}
	}
}

// A real clock can only be bounded from below.
func TestMinterDefaultClock(t *testing.T) {
	const written = 1735689600000 // 2025-01-01T00:00:00Z
	if s := next(t, newMinter(t, 0, nil)); s.UnixMs() < written {
		t.Errorf("minted at %d: not the real clock", s.UnixMs())
	}
}

func TestMinterIsMonotone(t *testing.T) {
	const start = 1767225600123
	clock := &fakeClock{start}
	m := newMinter(t, 4, clock.now)
	last := echomq.Snowflake(-1)
	mint := func() echomq.Snowflake {
		s := next(t, m)
		if s <= last || s.Node() != 4 {
			t.Fatalf("minted %d of node %d after %d", s, s.Node(), last)
		}
		last = s
		return s
	}

	for range echomq.MaxSeq + 1 {
		mint()
	}
	if last.UnixMs() != start || last.Seq() != echomq.MaxSeq {
		t.Errorf("the burst ends at %d, %d", last.UnixMs(), last.Seq())
	}
	if s := mint(); s.UnixMs() != start+1 || s.Seq() != 0 {
		t.Errorf("beyond the burst: %d, %d; want the next millisecond, 0", s.UnixMs(), s.Seq())
	}
	clock.unixMs = start - 60_000
	if s := mint(); s.UnixMs() != start+1 || s.Seq() != 1 {
		t.Errorf("the clock stepped back: %d, %d; want the successor", s.UnixMs(), s.Seq())
	}
	clock.unixMs = start + 5
	if s := mint(); s.UnixMs() != start+5 || s.Seq() != 0 {
		t.Errorf("the clock is ahead again: %d, %d", s.UnixMs(), s.Seq())
	}
}

func TestMinterAtTheEndsOfTime(t *testing.T) {
	const lastMs = echomq.EpochUnixMs + 1<<41 - 1
	clock := &fakeClock{echomq.EpochUnixMs - 1}
	m := newMinter(t, 0, clock.now)
	if a, b := next(t, m), next(t, m); a != 0 || b != 1 {
		t.Errorf("before the epoch: %d, %d", a, b)
	}
	for _, unixMs := range []int64{lastMs + 1, 1 << 61} {
		clock.unixMs = unixMs
		if s, err := m.Next(); s != 0 || !errors.Is(err, echomq.ErrClock) {
			t.Errorf("at %d: %d, %v", unixMs, s, err)
		}
	}
	if id, err := m.Mint("JOB"); id != "" || !errors.Is(err, echomq.ErrClock) {
		t.Errorf("Mint past the end: %q, %v", id, err)
	}
	clock.unixMs = echomq.EpochUnixMs + 1
	if s := next(t, m); s.UnixMs() != clock.unixMs {
		t.Errorf("a wrong clock spoiled the minter: %d", s)
	}
	clock.unixMs = lastMs
	for range echomq.MaxSeq + 1 {
		next(t, m)
	}
	if s, err := m.Next(); !errors.Is(err, echomq.ErrClock) {
		t.Errorf("after the last one: %d, %v", s, err)
	}
}

func TestMinterIsConcurrent(t *testing.T) {
	const goroutines, each = 8, 2000
	clock := &fakeClock{1767225600123}
	m := newMinter(t, 1, clock.now)
	minted := make([][]echomq.Snowflake, goroutines)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for range each {
				s, err := m.Next()
				if err != nil {
					t.Error(err)
					return
				}
				minted[g] = append(minted[g], s)
			}
		})
	}
	wg.Wait()
	for g, ids := range minted {
		if !slices.IsSorted(ids) {
			t.Errorf("goroutine %d saw its ids out of order", g)
		}
	}
	all := slices.Concat(minted...)
	slices.Sort(all)
	if got := len(slices.Compact(all)); got != goroutines*each {
		t.Errorf("%d different ids of %d", got, goroutines*each)
	}
}
