package engine

import (
	"iter"
	"strconv"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var scanCommands = []Spec{
	{Name: "keys", Arity: 2, Flags: ReadOnly, ACL: []string{"dangerous"}, run: keysCmd,
		Group: "generic", Since: "1.0.0", Complexity: "O(N) with N being the number of keys in the database, under the assumption that the key names in the database and the given pattern have limited length.",
		Summary: "Returns all key names that match a pattern.",
		Tips:    []string{"request_policy:all_shards", "nondeterministic_output_order"},
		Args:    `pattern:p`},
	{Name: "scan", Arity: -2, Flags: ReadOnly | TouchesArbitraryKeys, run: scan,
		Group: "generic", Since: "2.8.0", Complexity: "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor to return back to 0. N is the number of elements inside the collection.",
		Summary: "Iterates over the key names in the database.",
		History: []string{"6.0.0 Added the `TYPE` subcommand."},
		Tips:    []string{"nondeterministic_output", "request_policy:special", "response_policy:special"},
		Args:    `cursor:i pattern:p=MATCH? count:i=COUNT? type=TYPE@6.0.0?`},
}

// scopeKeys is the scope of cursors over the keyspace.
const scopeKeys = "keys"

// keysCmd: KEYS pattern
func keysCmd(c *Call) resp.Value {
	out := []resp.Value{}
	pattern := c.Args[1]
	c.db().Ascend("", func(key string, o *store.Object) bool {
		if (pattern == "*" || globMatch(pattern, key, false)) && !c.expired(o) {
			out = append(out, resp.Bulk(key))
		}
		return true
	})
	return resp.Array(out...)
}

// scan: SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]
func scan(c *Call) resp.Value {
	cursor, bad := c.cursorArg(1)
	if bad != nil {
		return *bad
	}
	opt, bad := c.scanOptions(2, 0)
	if bad != nil {
		return *bad
	}
	out, expired := []resp.Value{}, []string(nil)
	last, seen, more := "", int64(0), false
	visit := func(key string, o *store.Object) bool {
		if more = seen == opt.count; more {
			return false
		}
		seen, last = seen+1, key
		switch {
		case opt.of != 0 && o.Type() != opt.of || !opt.matches(key):
		case c.expired(o):
			expired = append(expired, key)
		default:
			out = append(out, resp.Bulk(key))
		}
		return true
	}
	if behind, ok := c.cursors.resume(scopeKeys, cursor, keysIn(c.db())); ok {
		c.db().After(behind, visit)
	} else {
		c.db().Ascend("", visit)
	}
	next := uint64(0)
	if more {
		next = c.cursors.next(scopeKeys, last)
	}
	for _, key := range expired {
		c.live(key) // to look at it removes it
	}
	return scanReply(next, out)
}

// keysIn is the keys of a database in byte order.
func keysIn(db *store.DB) iter.Seq[string] {
	return func(yield func(string) bool) {
		db.Ascend("", func(key string, _ *store.Object) bool { return yield(key) })
	}
}

// scanReply is the reply of SCAN and its kin; cursor 0 says that nothing is left.
func scanReply(cursor uint64, elems []resp.Value) resp.Value {
	return resp.Array(resp.Bulk(strconv.FormatUint(cursor, 10)), resp.Array(elems...))
}

// scanOptions are the options of SCAN, HSCAN, SSCAN and ZSCAN.
type scanOptions struct {
	count    int64 // elements to look at; 10 unless told
	match    string
	filter   bool       // there is a pattern that does not match everything
	of       store.Type // SCAN's TYPE, or 0
	onlyKeys bool       // NOVALUES, NOSCORES
}

func (o *scanOptions) matches(elem string) bool {
	return !o.filter || globMatch(o.match, elem, false)
}

// elements are those of one collection with what belongs to each, in byte order from
// start on, or in the collection's own order when packed: then all come at once.
type elements struct {
	scope  string // of their cursors
	packed bool
	from   func(start string, visit func(elem, with string) bool)
	pairs  bool // with says something
}

// scanElements is the work of HSCAN, SSCAN and ZSCAN: byte order stays the same
// whatever is added or removed meanwhile.
func (c *Call) scanElements(e elements, cursor uint64, opt *scanOptions) resp.Value {
	behind, resumed := "", false
	if !e.packed {
		behind, resumed = c.cursors.resume(e.scope, cursor, e.names())
	}
	var out []resp.Value
	var last string
	seen, more := int64(0), false
	e.from(behind, func(elem, with string) bool {
		if resumed && elem == behind {
			return true
		}
		if more = !e.packed && seen == opt.count; more {
			return false
		}
		seen, last = seen+1, elem
		if opt.matches(elem) {
			out = append(out, resp.Bulk(elem))
			if e.pairs && !opt.onlyKeys {
				out = append(out, resp.Bulk(with))
			}
		}
		return true
	})
	if !more {
		return scanReply(0, out)
	}
	return scanReply(c.cursors.next(e.scope, last), out)
}

func (e *elements) names() iter.Seq[string] {
	return func(yield func(string) bool) {
		e.from("", func(elem, _ string) bool { return yield(elem) })
	}
}

// scanOptions parses the options from argument i on. elems is the type of the key
// that is iterated over, 0 for the keyspace.
func (c *Call) scanOptions(i int, elems store.Type) (opt scanOptions, bad *resp.Value) {
	opt.count = 10
	for ; i < len(c.Args); i++ {
		paired := i+1 < len(c.Args)
		switch {
		case c.is(i, "count") && paired:
			i++
			if opt.count, bad = c.intArg(i); bad != nil {
				return opt, bad
			}
			if opt.count < 1 {
				return opt, &errSyntax
			}
		case c.is(i, "match") && paired:
			i++
			opt.match, opt.filter = c.Args[i], c.Args[i] != "*"
		case c.is(i, "type") && paired && elems == 0:
			i++
			if opt.of, bad = typeNamed(c.Args[i]); bad != nil {
				return opt, bad
			}
		case c.is(i, "novalues"):
			if opt.onlyKeys = elems == store.Hash; !opt.onlyKeys {
				return opt, &errNoValues
			}
		case c.is(i, "noscores"):
			if opt.onlyKeys = elems == store.ZSet; !opt.onlyKeys {
				return opt, &errNoScores
			}
		default:
			return opt, &errSyntax
		}
	}
	return opt, nil
}

var (
	errNoValues = resp.Err("ERR NOVALUES option can only be used in HSCAN")
	errNoScores = resp.Err("ERR NOSCORES option can only be used in ZSCAN")
)

// typeNamed is the type of a name as TYPE prints it, in any case.
func typeNamed(name string) (store.Type, *resp.Value) {
	for t := store.String; t <= store.Stream; t++ {
		if equalWord(name, t.String()) {
			return t, nil
		}
	}
	bad := resp.Err(oneLine("ERR unknown type name '" + clip(name, len(name)) + "'"))
	return 0, &bad
}
