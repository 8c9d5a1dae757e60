//go:build !linux

package resp

// newPoller has nothing here that keeps the order of arrival: each socket gets a goroutine.
func newPoller() poller { return nil }
