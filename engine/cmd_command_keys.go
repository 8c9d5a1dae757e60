package engine

import (
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

// commandGetkeys: COMMAND GETKEYS command [arg ...]
func commandGetkeys(c *Call) resp.Value {
	return c.requestKeys(func(key string, _ KeyFlags) resp.Value { return resp.Bulk(key) })
}

// commandGetkeysandflags: COMMAND GETKEYSANDFLAGS command [arg ...]
func commandGetkeysandflags(c *Call) resp.Value {
	return c.requestKeys(func(key string, f KeyFlags) resp.Value {
		return resp.Array(resp.Bulk(key), statusSet(keyFlagNames, uint32(f)))
	})
}

// requestKeys lists the keys of the request that follows the subcommand.
func (c *Call) requestKeys(show func(key string, f KeyFlags) resp.Value) resp.Value {
	args := c.Args[2:]
	spec, _ := c.table.lookup(args)
	switch {
	case spec == nil:
		return resp.Err("ERR Invalid command specified")
	case !spec.hasKeys():
		return resp.Err("ERR The command has no key arguments")
	case !spec.arityOK(len(args)):
		return resp.Err("ERR Invalid number of arguments specified for command")
	}
	refs, ok := spec.keysOf(args)
	if !ok && spec.Flags&NoMandatoryKeys == 0 {
		return resp.Err("ERR Invalid arguments specified for command")
	}
	out := make([]resp.Value, len(refs))
	for i, r := range refs {
		out[i] = show(args[r.Index], r.Flags)
	}
	return resp.Array(out...)
}

// hasKeys reports whether requests of this row can name keys.
func (s *Spec) hasKeys() bool {
	for i := range s.Keys {
		if s.Keys[i].Flags&NotKey == 0 {
			return true
		}
	}
	return s.findKeys != nil
}

// countedKeys finds the keys after a count that the key specs refuse, in the
// lax way of genericGetKeys of Valkey's db.c: the count is read as C's atoi does,
// nothing is known of the keys' use, and a destination comes last.
func (s *Spec) countedKeys(args []string) []KeyRef {
	var counted *KeySpec
	dest := 0
	for i := range s.Keys {
		switch k := &s.Keys[i]; {
		case k.begin == beginIndex && k.find == findNum:
			counted = k
		case k.begin == beginIndex && k.find == findRange:
			dest = k.index
		}
	}
	if counted == nil {
		return nil
	}
	first := counted.index + counted.firstKey
	n := resp.Atoi(args[counted.index+counted.numIdx])
	if n < 1 || n > int64(len(args)-first) {
		return nil
	}
	var refs []KeyRef
	for i := range int(n) {
		refs = append(refs, KeyRef{Index: first + i})
	}
	if dest > 0 {
		refs = append(refs, KeyRef{Index: dest})
	}
	return refs
}

// setKeys are the keys of SET, whose GET option makes it read as well.
func setKeys(args []string) []KeyRef {
	flags := OW | Update
	for _, a := range args[min(3, len(args)):] {
		if strings.EqualFold(a, "get") {
			flags = RW | Access | Update
			break
		}
	}
	return []KeyRef{{Index: 1, Flags: flags}}
}
