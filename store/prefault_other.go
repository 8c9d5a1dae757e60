//go:build !linux

package store

import "unsafe"

// prefault is for systems that touch many pages in one call.
func prefault(unsafe.Pointer) {}
