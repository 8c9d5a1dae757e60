// Package scripts holds the bodies of the protocol's transitions: one Lua file
// is one transition, and its bytes are the protocol. The handles that build the
// keys and run the bodies are in package echomq.
//
// A server knows a script by the SHA-1 of its exact bytes, so a change to a
// comment or to the last newline makes another script.
package scripts

import (
	"crypto/sha1"
	"embed"
)

//go:embed *.lua
var files embed.FS

var all = load()

// Script is one transition's body.
type Script struct {
	Name   string // the file's name without its extension
	Source string // the exact bytes that are sent to the server
	SHA    string // the SHA-1 of Source, 40 lower-case hex digits
}

// Enqueue admits a job: KEYS are the job row and the pending set, ARGV the
// branded id and the payload. It returns 1 when the row was written, 0 when it
// was there before, and an EMQKIND error for an id that is not JOB-namespaced.
var Enqueue = mustGet("enqueue")

// New returns the script with that name and source.
func New(name, source string) Script {
	return Script{Name: name, Source: source, SHA: hexSHA1(source)}
}

// All returns every script, sorted by name.
func All() []Script { return append([]Script(nil), all...) }

// Get returns the script with that name; ok is false when there is none.
func Get(name string) (s Script, ok bool) {
	for _, s := range all {
		if s.Name == name {
			return s, true
		}
	}
	return Script{}, false
}

// load reads the embedded files. They are part of the program, so an error here
// is a broken build.
func load() []Script {
	entries, err := files.ReadDir(".") // sorted by file name
	if err != nil {
		panic(err)
	}
	scripts := make([]Script, len(entries))
	for i, entry := range entries {
		file := entry.Name()
		source, err := files.ReadFile(file)
		if err != nil {
			panic(err)
		}
		scripts[i] = New(file[:len(file)-len(".lua")], string(source))
	}
	return scripts
}

func mustGet(name string) Script {
	s, ok := Get(name)
	if !ok {
		panic("scripts: no file " + name + ".lua")
	}
	return s
}

func hexSHA1(s string) string {
	const digits = "0123456789abcdef"
	sum := sha1.Sum([]byte(s))
	hex := make([]byte, 0, 2*len(sum))
	for _, b := range sum {
		hex = append(hex, digits[b>>4], digits[b&15])
	}
	return string(hex)
}
