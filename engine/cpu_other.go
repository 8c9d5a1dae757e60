//go:build !unix

package engine

// cpuTime is not known here.
func cpuTime() (user, system float64, ok bool) { return 0, 0, false }
