package echomqsim_test

import (
	"math"
	"os"
	"strconv"
	"testing"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/resp"
)

// TestOracleGeoDistances compares searches of large sets with the live server at
// $ECHOMQSIM_ORACLE, in which many members are equally far away, and the distances that
// STOREDIST stores. Those may differ in the last bit: the server's C library is wrong
// about that in one sine of a thousand.
func TestOracleGeoDistances(t *testing.T) {
	addr := os.Getenv("ECHOMQSIM_ORACLE")
	if addr == "" {
		t.Skip("needs a live valkey-server: ECHOMQSIM_ORACLE=host:port")
	}
	srv := echomqsim.RunT(t, echomqsim.Config{})
	d := &differ{t: t}
	ours, theirs := oracleClient(t, 3, srv.Dial), oracleClient(t, 3, oracleDial(addr))
	off, compared := 0, 0
	for seed := *oracleSeed; seed < *oracleSeed+60; seed++ {
		ops := (&generator{r: rng(seed)}).geoSearches(seed%3 == 0)
		a, b := d.pipeline(ours, ops), d.pipeline(theirs, ops)
		for i, op := range ops {
			if op[0] == "ZRANGE" {
				n, bad := sameDistances(a[i], b[i])
				off += bad
				compared += n
				continue
			}
			if render(a[i], "") != render(b[i], "") {
				t.Fatalf("seed %d: %s\n--- simulator:\n%s\n--- server:\n%s", seed, quoteArgs(op), render(a[i], ""), render(b[i], ""))
			}
		}
	}
	t.Logf("%d distances compared, %d differ in the last bit", compared, off)
	if off*50 > compared {
		t.Errorf("%d of %d distances differ", off, compared)
	}
}

// geoSearches makes a set of members, in whole degrees if coarse, and searches it. After
// every GEOSEARCHSTORE its result is read.
func (g *generator) geoSearches(coarse bool) [][]string {
	place := func() (lon, lat string) {
		if coarse {
			return strconv.Itoa(g.r.IntN(31) - 15), strconv.Itoa(g.r.IntN(31) - 15)
		}
		return strconv.FormatFloat(g.r.Float64()*40-20, 'f', 6, 64), strconv.FormatFloat(g.r.Float64()*40-20, 'f', 6, 64)
	}
	ops := [][]string{{"FLUSHALL"}}
	for i := range 50 + g.r.IntN(400) {
		lon, lat := place()
		ops = append(ops, []string{"GEOADD", "g", lon, lat, "m" + strconv.Itoa(i)})
	}
	for range 40 {
		lon, lat := place()
		search := pick(g, []string{"FROMLONLAT", lon, lat}, []string{"FROMMEMBER", "m" + strconv.Itoa(g.r.IntN(50))})
		size := strconv.Itoa(g.r.IntN(5000))
		search = append(search, pick(g, []string{"BYRADIUS", size, "km"}, []string{"BYBOX", size, strconv.Itoa(g.r.IntN(9000)), "mi"})...)
		search = append(search, pick(g, []string{"ASC"}, []string{"DESC"}, nil)...)
		count := strconv.Itoa(1 + g.r.IntN(60))
		search = append(search, pick(g, nil, nil, []string{"COUNT", count}, []string{"COUNT", count, "ANY"})...)
		store := append([]string{"GEOSEARCHSTORE", "s", "g"}, search...)
		ops = append(ops, append([]string{"GEOSEARCH", "g", pick(g, "WITHDIST", "WITHHASH", "WITHCOORD")}, search...),
			append(store, "STOREDIST"), []string{"ZRANGE", "s", "0", "-1", "WITHSCORES"})
	}
	return ops
}

// sameDistances counts the scores of two replies, and those that differ. One that
// differs by more than the last bit counts for a thousand.
func sameDistances(a, b resp.Value) (n, off int) {
	if len(a.Elems) != len(b.Elems) {
		return 0, 1000
	}
	for i := range a.Elems {
		x, y := a.Elems[i].Elems[1].Num(), b.Elems[i].Elems[1].Num()
		switch {
		case math.Abs(x-y) > 1e-15*math.Abs(y):
			off += 1000
		case x != y:
			off++
		}
	}
	return len(a.Elems), off
}
