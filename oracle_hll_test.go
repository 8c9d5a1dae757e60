package echomqsim_test

import (
	"os"
	"strconv"
	"testing"

	echomqsim "github.com/echomq/echomq-sim"
)

// TestOracleHyperLogLog compares HyperLogLogs of thousands of elements, sparse ones that
// become dense and corrupt ones with those of the live server at $ECHOMQSIM_ORACLE, byte
// for byte.
func TestOracleHyperLogLog(t *testing.T) {
	addr := os.Getenv("ECHOMQSIM_ORACLE")
	if addr == "" {
		t.Skip("needs a live valkey-server: ECHOMQSIM_ORACLE=host:port")
	}
	srv := echomqsim.RunT(t, echomqsim.Config{})
	d := &differ{t: t}
	ours, theirs := oracleClient(t, 3, srv.Dial), oracleClient(t, 3, oracleDial(addr))
	defer d.pipeline(theirs, [][]string{{"CONFIG", "SET", "hll-sparse-max-bytes", "3000"}})
	compared := 0
	for seed := *oracleSeed; seed < *oracleSeed+80; seed++ {
		ops := (&generator{r: rng(seed)}).hyperLogLogs()
		compared += len(ops)
		a, b := d.pipeline(ours, ops), d.pipeline(theirs, ops)
		for i, op := range ops {
			if got, want := render(a[i], ""), render(b[i], ""); got != want {
				t.Fatalf("seed %d: command %d: %.200s\n--- simulator:\n%.2000s\n--- server:\n%.2000s", seed, i, quoteArgs(op), got, want)
			}
		}
	}
	t.Logf("%d commands compared", compared)
}

// hyperLogLogs fills HyperLogLogs and reads them after every change.
func (g *generator) hyperLogLogs() [][]string {
	ops := [][]string{{"FLUSHALL"}, {"CONFIG", "SET", "hll-sparse-max-bytes", pick(g, "3000", "3000", "40", "0", "16000", "200")}}
	corrupt, many := g.r.IntN(3) == 0, pick(g, 20, 20, 300)
	for range 150 {
		key := pick(g, "a", "b", "c")
		switch g.r.IntN(10) {
		case 0:
			ops = append(ops, []string{"PFMERGE", key, pick(g, "a", "b", "none"), pick(g, "b", "c")}, []string{"PFCOUNT", "a", "b", "c", "none"})
		case 1:
			ops = append(ops, []string{"PFDEBUG", pick(g, "DECODE", "ENCODING", "DECODE", "TODENSE"), key})
		case 2:
			if corrupt {
				ops = append(ops, g.corruption(key))
			}
		case 3:
			ops = append(ops, []string{"DEL", pick(g, key, "none")})
		default:
			add := []string{"PFADD", key}
			for range g.r.IntN(many) {
				add = append(add, pick(g, "", "x", "element:")+strconv.Itoa(g.r.IntN(1<<g.r.IntN(30))))
			}
			ops = append(ops, add)
		}
		ops = append(ops, []string{"GET", key}, []string{"OBJECT", "ENCODING", key})
		if g.r.IntN(2) == 0 {
			ops = append(ops, []string{"PFCOUNT", key}, []string{"GET", key})
		}
	}
	return ops
}

// corruption is a command that may spoil the HyperLogLog at a key.
func (g *generator) corruption(key string) []string {
	anything := string([]byte{byte(g.r.IntN(256)), byte(g.r.IntN(256))})
	return pick(g, []string{"SETRANGE", key, strconv.Itoa(g.r.IntN(60)), anything}, []string{"APPEND", key, anything[:1]},
		[]string{"APPEND", key, pick(g, "\x7f", "\x40", "\x80", "\x00", "\x7f\xff")},
		[]string{"SETRANGE", key, "15", pick(g, "\x00", "\x80")}, []string{"SETRANGE", key, strconv.Itoa(16 + g.r.IntN(12288)), "\xff\xff\xff"})
}
