package resp

import (
	"bufio"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The answers in testdata were recorded from the server.
func TestFormatDoubleLikeServer(t *testing.T) {
	file, err := os.Open("testdata/doubles.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	count := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		hex, want, ok := strings.Cut(lines.Text(), " ")
		if !ok || hex == "#" {
			continue
		}
		bits, err := strconv.ParseUint(hex, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		count++
		if got := FormatDouble(math.Float64frombits(bits)); got != want {
			t.Errorf("%s: got %s, server says %s", hex, got, want)
		}
	}
	if count < 500 {
		t.Fatalf("only %d numbers in the recording", count)
	}
}

func TestFormatDoubleReadsBack(t *testing.T) {
	bits := uint64(1)
	for range 20000 {
		bits = bits*6364136223846793005 + 1442695040888963407
		f := math.Float64frombits(bits)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		got, err := strconv.ParseFloat(FormatDouble(f), 64)
		if err != nil || got != f {
			t.Fatalf("%v printed as %s reads back as %v, %v", f, FormatDouble(f), got, err)
		}
	}
	if got := FormatDouble(math.NaN()); got != "nan" {
		t.Errorf("NaN printed as %s", got)
	}
}
