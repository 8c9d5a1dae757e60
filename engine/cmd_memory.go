package engine

import "github.com/echomq/echomq-sim/resp"

var memoryCommands = []Spec{
	{Name: "memory", Arity: -2,
		Group: "server", Since: "4.0.0", Complexity: "Depends on subcommand.",
		Summary: "A container for memory diagnostics commands."},
	{Name: "memory|usage", Arity: -3, Flags: ReadOnly,
		Keys: keys(keyAt(2, RO)), run: memoryUsage,
		Group: "server", Since: "4.0.0", Complexity: "O(N) where N is the number of samples.",
		Summary: "Estimates the memory usage of a key.",
		Args:    `key:k#0 count:i=SAMPLES?`},
}

// memoryUsage: MEMORY USAGE key [SAMPLES count]
//
// The number is an estimate of what the key takes here, not of what it would take
// on another server.
func memoryUsage(c *Call) resp.Value {
	for i := 3; i < len(c.Args); i++ {
		if !c.is(i, "samples") || i+1 == len(c.Args) {
			return errSyntax
		}
		i++
		n, bad := c.intArg(i)
		if bad != nil {
			return *bad
		}
		if n < 0 {
			return errSyntax
		}
	}
	key := c.Args[2]
	o := c.peek(key)
	if o == nil {
		return resp.Null
	}
	return resp.Int(int64(o.Size() + len(key)))
}
