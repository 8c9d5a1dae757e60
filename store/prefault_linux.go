package store

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

// A heap that grows spends its time on the first touch of pages where that is dear, as under
// a hypervisor: one every ten jobs, as long as two of them. With huge pages an @enqueue takes a
// sixth to a fifth less, and with a system call for many small ones, where huge ones are not to
// be had, a tenth to a sixth. The runtime does not say where the heap grows, but it grows
// upwards, so a block behind all others tells.
const (
	prefaultStep = 256 << 10
	// Blocks come from spans of their own, so that they lag behind what else is allocated.
	prefaultMargin = 128 << 10
	// The runtime maps the heap in pieces of so many bytes. Behind one is nothing to touch.
	prefaultPiece = 4 << 20
	hugePage      = prefaultPiece / 2

	madvHugePage      = 14
	madvPopulateWrite = 23 // since Linux 5.14
	madvCollapse      = 25 // since Linux 6.1
)

var pageSize = uintptr(syscall.Getpagesize())

// hugeFits tells that a huge page is as long as hugePage. A test changes it.
var hugeFits = pageSize == 4<<10

// prefaultAt is where the next block is a sign that the heap has grown as far as what was
// touched ahead. It is of the process, as the heap is.
var prefaultAt atomic.Uintptr

// prefaultNever is a sign that no block gives.
const prefaultNever = ^uintptr(0)

// prefault touches the heap behind a block that was just made, if it is the first so far up.
func prefault(block unsafe.Pointer) {
	at := uintptr(block)
	sign := prefaultAt.Load()
	if at < sign {
		return
	}
	from := (at + pageSize - 1) &^ (pageSize - 1)
	end := (at | (prefaultPiece - 1)) + 1
	to, next := from+prefaultStep+prefaultMargin, from+prefaultStep
	if to >= end {
		to, next = end, end
	}
	// Nothing is touched for the first block: a heap that does not grow needs none of it.
	if !prefaultAt.CompareAndSwap(sign, next) || sign == 0 || from >= to {
		return
	}
	if sign <= end-prefaultPiece && hugeFits && hugePages(end) {
		prefaultAt.CompareAndSwap(next, max(next, end-hugePage))
	} else if madvise(from, to, madvPopulateWrite) == syscall.EINVAL {
		prefaultAt.Store(prefaultNever)
	}
}

// hugePages makes the two halves of the piece that ends there a huge page each: the first, where
// the block is, at once, the second when it is touched. It fails if the kernel will not.
func hugePages(end uintptr) bool {
	madvise(end-prefaultPiece, end, madvHugePage) // all of it: a mapping for each piece, not two
	return madvise(end-prefaultPiece, end-hugePage, madvCollapse) == 0
}

func madvise(from, to, advice uintptr) syscall.Errno {
	_, _, errno := syscall.Syscall(syscall.SYS_MADVISE, from, to-from, advice)
	return errno
}
