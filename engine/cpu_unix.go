//go:build unix

package engine

import "syscall"

// cpuTime is the CPU time that the process has used, in seconds.
func cpuTime() (user, system float64, ok bool) {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return 0, 0, false
	}
	return float64(ru.Utime.Nano()) / 1e9, float64(ru.Stime.Nano()) / 1e9, true
}
