package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/echomq/echomq-sim/resp"
)

// How much PFSELFTEST does. The server does ten times as much.
const (
	selfTestCycles   = 100
	selfTestElements = 1_000_000
)

// pfselftest: PFSELFTEST
func pfselftest(c *Call) resp.Value {
	for _, test := range []func(*Call) error{selfTestRegisters, selfTestEstimates} {
		if err := test(c); err != nil {
			return resp.Err("ERR " + err.Error())
		}
	}
	return resp.OK
}

// selfTestRegisters writes random values to all registers and reads them again.
func selfTestRegisters(c *Call) error {
	dense := hll{make([]byte, hllDenseSize)}
	var want hllRegisters
	for range selfTestCycles {
		for i := range want {
			want[i] = byte(c.rng.Uint32() & 63)
			dense.denseSet(i, want[i])
		}
		for i := range want {
			if got := dense.denseGet(i); got != want[i] {
				return fmt.Errorf("TESTFAILED Register %d should be %d but is %d", i, want[i], got)
			}
		}
	}
	return nil
}

// selfTestEstimates adds different elements to a dense and to a sparse HyperLogLog and
// looks at what is counted from time to time.
func selfTestEstimates(c *Call) error {
	dense, sparse := newHLL(), newHLL()
	dense.toDense()
	seed, checkpoint := c.rng.Uint64(), uint64(1)
	var element [8]byte
	for n := uint64(1); n <= selfTestElements; n++ {
		binary.LittleEndian.PutUint64(element[:], n^seed)
		dense.add(string(element[:]), 0)
		sparse.add(string(element[:]), c.set.hllSparseMaxBytes)
		if n != checkpoint {
			continue
		}
		a, _ := dense.histogram()
		b, _ := sparse.histogram()
		most := uint64(math.Ceil(1.04 / math.Sqrt(hllRegisterCount) * 6 * float64(n)))
		if n == 10 {
			most = 1
		}
		off := max(int64(n)-a.estimate(), a.estimate()-int64(n))
		switch {
		case int64(n) < c.set.hllSparseMaxBytes/2 && sparse.b[4] != hllSparse:
			return errors.New("TESTFAILED sparse encoding not used")
		case a != b:
			return errors.New("TESTFAILED dense/sparse disagree")
		case uint64(off) > most:
			return fmt.Errorf("TESTFAILED Too big error. card:%d abserr:%d", n, off)
		}
		checkpoint *= 10
	}
	return nil
}
