//go:build !linux || !(amd64 || arm64)

package main

// askForHugePages is for systems that give them on request.
func askForHugePages() {}
