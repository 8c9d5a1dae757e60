package engine

import (
	"runtime/metrics"

	"github.com/echomq/echomq-sim/luabridge"
)

// The policy is noeviction: above maxmemory the commands that may need more
// memory are refused, nothing is removed.

// checkMemory notes whether more memory is in use than maxmemory allows. It is
// asked once before each command of a client, so that a script sees no change.
func (co *core) checkMemory() {
	co.outOfMemory = co.set.maxMemory > 0 && heapInUse() > uint64(co.set.maxMemory)
}

// heapInUse is used_memory: of the whole process, garbage that was not collected yet included.
func heapInUse() uint64 {
	sample := [1]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample[:])
	return sample[0].Value.Uint64()
}

// declaredFlags are the flags of the script or function that a request would run;
// without HasShebang there are none.
func (co *core) declaredFlags(spec *Spec, args []string) (flags luabridge.ScriptFlags) {
	switch spec.Name {
	case "fcall", "fcall_ro":
		if f := co.functions.find(args[1]); f != nil {
			flags = f.Flags
		}
	case "evalsha", "evalsha_ro":
		if s := co.scripts.peek(args[1]); s != nil {
			flags = s.Flags
		}
	case "eval", "eval_ro":
		if f, err := luabridge.ParseFlags(args[1]); err == nil { // a bad line is for EVAL itself to refuse
			flags = f
		}
	}
	return flags
}
