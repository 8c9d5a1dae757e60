package engine

import (
	"math"

	"github.com/echomq/echomq-sim/luabridge"
)

// checkMemory makes room if more memory is in use than maxmemory allows, and notes
// whether that failed: then what may need more is refused. It is asked once before each
// command of a client, so that a script sees no change. Nothing goes during a pause.
func (co *core) checkMemory() {
	switch {
	case co.set.maxMemory == 0:
		co.outOfMemory = false
	case co.pause.until != 0:
		co.outOfMemory = co.memoryUsed() > co.set.maxMemory
	default:
		co.outOfMemory = !co.freeMemory()
	}
}

// setMaxMemory sets maxmemory. If more is in use already, keys go as soon as the command
// under way is through.
func setMaxMemory(co *core, value string) (why string) {
	n, why := numberParser(memoryValue).within(value, 0, math.MaxInt64)
	if why != "" {
		return why
	}
	co.set.maxMemory = n
	if n > 0 {
		co.deadlines.set(co.now, co.checkMemory)
	}
	return ""
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
