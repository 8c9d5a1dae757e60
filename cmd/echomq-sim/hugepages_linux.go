//go:build amd64 || arm64

package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"unsafe"
)

// hugeRoom is for how many bytes of heap askForHugePages asks.
const hugeRoom = 512 << 20

// askForHugePages has the heap lie in huge pages as it grows from now on. Where the first
// touch of a page is dear, as under a hypervisor, a queue that grows spends a fifth of its
// time on them. The runtime does not ask, and nobody else knows where the heap will grow:
// so a block is mapped ahead, advised, and given to the heap untouched.
func askForHugePages() {
	if os.Getenv("GOMEMLIMIT") != "" || !mappable(hugeRoom) {
		return
	}
	defer runtime.GC() // after the percentage is back: it is what gives the block to the heap
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	adviseBlock()
}

// mappable reports whether the system has so much address space to give. Where it has not,
// the runtime would end the process.
func mappable(size int) bool {
	probe, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err == nil {
		syscall.Munmap(probe)
	}
	return err == nil
}

// adviseBlock leaves nothing behind that keeps the block. A Builder's buffer is not zeroed,
// as that of a slice may be, which would touch it.
//
//go:noinline
func adviseBlock() {
	var block strings.Builder
	block.Grow(hugeRoom)
	block.WriteByte(0)
	syscall.Madvise(unsafe.Slice(unsafe.StringData(block.String()), hugeRoom), syscall.MADV_HUGEPAGE)
}
