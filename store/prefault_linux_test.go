package store

import (
	"fmt"
	"syscall"
	"testing"
	"unsafe"
)

// What lies behind the block that gave the sign is in memory before anything uses it. The
// runtime may give pages back at any moment, so it is enough that it holds for one of some.
func TestPrefault(t *testing.T) {
	defer func(fits bool) { hugeFits = fits }(hugeFits)
	t.Run("huge", testPrefault)
	hugeFits = false
	t.Run("small", testPrefault)
}

func testPrefault(t *testing.T) {
	var r runs[indexed]
	missing := 0
	for signs, i := 0, 0; signs < 4; i++ {
		if i > 10_000_000 {
			t.Fatal("the heap grew without a sign")
		}
		before := prefaultAt.Load()
		r.Set(indexed{member: fmt.Sprintf("%08d", i)})
		after := prefaultAt.Load()
		if after == prefaultNever {
			t.Skip("this kernel does not touch pages on request")
		}
		if before == 0 || after-before < prefaultStep {
			continue
		}
		if missing = absent(t, after-prefaultStep/2, after); missing == 0 {
			return
		}
		signs++
	}
	t.Errorf("%d of %d pages are not there", missing, prefaultStep/2/pageSize)
}

// absent returns how many pages are not in memory.
func absent(t *testing.T, from, to uintptr) (n int) {
	from &^= pageSize - 1
	in := make([]byte, (to-from)/pageSize)
	_, _, errno := syscall.Syscall(syscall.SYS_MINCORE, from, to-from, uintptr(unsafe.Pointer(&in[0])))
	if errno != 0 {
		t.Fatal("mincore:", errno)
	}
	for _, b := range in {
		if b&1 == 0 {
			n++
		}
	}
	return n
}
