//go:build amd64 || arm64

package main

import (
	"bufio"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// The room is advised, the heap grows into it, and none of it is touched before.
func TestAskForHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this kernel has no huge pages to ask for:", err)
	}
	defer debug.FreeOSMemory() // so that the heap is small again
	_, before := advised(t)
	askForHugePages()
	room, resident := advised(t)
	if room < hugeRoom {
		t.Errorf("huge pages are asked for %d bytes, want %d", room, hugeRoom)
	}
	if touched := resident - before; touched > hugeRoom/8 {
		t.Errorf("%d bytes were touched", touched)
	}
	block := make([]byte, hugeRoom/4)
	for i := range block {
		block[i] = 1
	}
	if _, resident := advised(t); resident-before < len(block)/2 {
		t.Errorf("%d bytes are in use with a block of %d of the heap", resident-before, len(block))
	}
	runtime.KeepAlive(block)
}

// advised adds up the mappings of this process for which huge pages are asked: their sizes,
// and how much of them is in memory, in bytes.
func advised(t *testing.T) (room, resident int) {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip("what the test looks at is not there:", err)
	}
	defer f.Close()
	size, rss := 0, 0
	for in := bufio.NewScanner(f); in.Scan(); {
		name, rest, _ := strings.Cut(in.Text(), ":")
		kilobytes, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
		switch name {
		case "Size":
			size = kilobytes << 10
		case "Rss":
			rss = kilobytes << 10
		case "VmFlags":
			if strings.Contains(rest+" ", " hg ") {
				room += size
				resident += rss
			}
		}
	}
	return room, resident
}
