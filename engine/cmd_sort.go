package engine

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var sortCommands = []Spec{
	{Name: "sort", Arity: -2, Flags: Write | DenyOOM, NoGroupACL: true, ACL: []string{"dangerous", "list", "set", "sortedset"},
		Keys: keys(key1(RO|Access), unknownKeys(RO|Access).note("For the optional BY/GET keyword. It is marked 'unknown' because the key names derive from the content of the key we sort"), unknownKeys(OW|Update).note("For the optional STORE keyword. It is marked 'unknown' because the keyword can appear anywhere in the argument array")), run: sortCmd, findKeys: sortKeys,
		Group: "generic", Since: "1.0.0", Complexity: "O(N+M*log(M)) where N is the number of elements in the list or set to sort, and M the number of returned elements. When the elements are not sorted, complexity is O(N).",
		Summary: "Sorts the elements in a list, a set, or a sorted set, optionally storing the result.",
		Args:    `key:k#0 by-pattern/pattern:p=BY#1? limit{offset:i count:i}=LIMIT? get-pattern/pattern:p=GET#1?*+ order<asc:t=ASC desc:t=DESC>? sorting:t=ALPHA? destination:k=STORE#2?`},
	{Name: "sort_ro", Arity: -2, Flags: ReadOnly, NoGroupACL: true, ACL: []string{"dangerous", "list", "set", "sortedset"},
		Keys: keys(key1(RO|Access), unknownKeys(RO|Access).note("For the optional BY/GET keyword. It is marked 'unknown' because the key names derive from the content of the key we sort")), run: sortRo, findKeys: sortRoKeys,
		Group: "generic", Since: "7.0.0", Complexity: "O(N+M*log(M)) where N is the number of elements in the list or set to sort, and M the number of returned elements. When the elements are not sorted, complexity is O(N).",
		Summary: "Returns the sorted elements of a list, a set, or a sorted set.",
		Args:    `key:k#0 by-pattern/pattern:p=BY#1? limit{offset:i count:i}=LIMIT? get-pattern/pattern:p=GET#1?*+ order<asc:t=ASC desc:t=DESC>? sorting:t=ALPHA?`},
}

var errSortScore = resp.Err("ERR One or more scores can't be converted into double")

// sortOptions are the options of SORT.
type sortOptions struct {
	by            *sortPattern // nil: by the elements themselves
	unsorted      bool         // a BY without a place for the element
	desc, alpha   bool
	offset, count int64 // a count below 0 is no limit
	get           []*sortPattern
	store         bool
	destination   string
}

// sortPattern is a BY or GET pattern: where the value that belongs to an element stands.
type sortPattern struct {
	self           bool // "#", the element itself
	named          bool // it names a key: prefix, element, suffix
	prefix, suffix string
	field          string // of the hash at that key; empty for a string
}

// parseSortPattern reads a pattern as the server does, to which a zero byte ends it
// where it looks for marks.
func parseSortPattern(p string) *sortPattern {
	marks := cString(p)
	i := strings.IndexByte(marks, '*')
	if i < 0 {
		return &sortPattern{self: marks == "#"}
	}
	s := &sortPattern{named: true, prefix: p[:i], suffix: p[i+1:]}
	if j := strings.Index(marks[i+1:], "->"); j >= 0 && i+1+j+2 < len(marks) {
		s.suffix, s.field = p[i+1:i+1+j], p[i+1+j+2:]
	}
	return s
}

// sortCmd: SORT key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]]
// [ASC | DESC] [ALPHA] [STORE destination]
func sortCmd(c *Call) resp.Value { return c.sort(true) }

// sortRo: SORT_RO key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]]
// [ASC | DESC] [ALPHA]
func sortRo(c *Call) resp.Value { return c.sort(false) }

func (c *Call) sort(mayStore bool) resp.Value {
	opt, bad := c.parseSortOptions(mayStore)
	if bad != nil {
		return *bad
	}
	o := c.read(c.Args[1])
	if o != nil && o.Type() != store.List && o.Type() != store.Set && o.Type() != store.ZSet {
		return errWrongType
	}
	if o != nil && o.Type() == store.Set && opt.unsorted && (opt.store || c.script != nil) {
		opt.unsorted, opt.alpha, opt.by = false, true, nil // what is kept must not depend on the set's order
	}
	elems := c.sortElements(o, opt)
	from, to := opt.window(len(elems))
	if !opt.unsorted {
		if elems, bad = c.sorted(elems, opt, from, to); bad != nil {
			return *bad
		}
	}
	elems = elems[from:to]
	if opt.store {
		return c.sortStore(elems, opt)
	}
	out := make([]resp.Value, 0, len(elems)*max(1, len(opt.get)))
	c.sortResults(elems, opt, func(value string, found bool) {
		if !found {
			out = append(out, resp.Null)
			return
		}
		out = append(out, resp.Bulk(value))
	})
	return resp.Array(out...)
}

func (c *Call) parseSortOptions(mayStore bool) (opt sortOptions, bad *resp.Value) {
	opt.count = -1
	for i := 2; i < len(c.Args); i++ {
		left := len(c.Args) - i - 1
		switch {
		case c.is(i, "asc"):
			opt.desc = false
		case c.is(i, "desc"):
			opt.desc = true
		case c.is(i, "alpha"):
			opt.alpha = true
		case c.is(i, "limit") && left >= 2:
			if opt.offset, bad = c.intArg(i + 1); bad != nil {
				return opt, bad
			}
			if opt.count, bad = c.intArg(i + 2); bad != nil {
				return opt, bad
			}
			i += 2
		case mayStore && c.is(i, "store") && left >= 1:
			i++
			opt.store, opt.destination = true, c.Args[i]
		case c.is(i, "by") && left >= 1:
			i++
			opt.by = parseSortPattern(c.Args[i])
			opt.unsorted = opt.unsorted || !opt.by.named
			if opt.by.named {
				bad = c.sortDenied("BY", c.Args[i])
			}
		case c.is(i, "get") && left >= 1:
			i++
			opt.get = append(opt.get, parseSortPattern(c.Args[i]))
			bad = c.sortDenied("GET", c.Args[i])
		default:
			bad = &errSyntax
		}
		if bad != nil {
			return opt, bad
		}
	}
	return opt, nil
}

// sortDenied is the reply to an option whose pattern may lead to keys that are in other
// slots, or that the user may not read.
func (c *Call) sortDenied(option, pattern string) *resp.Value {
	why := ""
	switch {
	case c.cluster != nil && patternSlot(pattern) != slotOf(c.Args[1]):
		why = "in Cluster mode when keys formed by the pattern may be in different slots."
	case !c.Sess.user.mayWithAnyKey(c.Spec, c.Args, Access):
		why = "due to insufficient ACL permissions."
	default:
		return nil
	}
	v := resp.Err("ERR " + option + " option of SORT denied " + why)
	return &v
}

// window is the part of n elements that LIMIT leaves: from is included, to is not.
func (opt *sortOptions) window(n int) (from, to int) {
	size := int64(n)
	start := min(max(opt.offset, 0), size)
	if opt.count < 0 {
		return int(start), n
	}
	return int(start), int(start + min(opt.count, size-start))
}

// sortElements lists what is to be sorted: in the order of the key, or against it
// when DESC is all the sorting that is wanted of a list or sorted set.
func (c *Call) sortElements(o *store.Object, opt sortOptions) (elems []string) {
	add := func(elem string) bool {
		elems = append(elems, elem)
		return true
	}
	addMember := func(member string, _ float64) bool { return add(member) }
	backward := opt.unsorted && opt.desc
	switch {
	case o == nil:
	case o.Type() == store.Set:
		o.Set().Ascend(add)
	case o.Type() == store.List && backward:
		o.List().Descend(o.List().Len()-1, add)
	case o.Type() == store.List:
		o.List().Ascend(0, add)
	default:
		z := c.write(c.Args[1]).ZSet()
		z.Expect(math.MaxInt, 0) // the server makes a "skiplist" of it for good
		if backward {
			z.Descend(z.Len()-1, addMember)
		} else {
			z.Ascend(0, addMember)
		}
	}
	return elems
}

// sortItem is an element with what it is sorted by.
type sortItem struct {
	elem  string
	score float64
	text  string // with ALPHA
	found bool   // BY led to a text
}

// sorted puts elements in order, as far as the part from one index to another goes.
func (c *Call) sorted(elems []string, opt sortOptions, from, to int) ([]string, *resp.Value) {
	items, valid := make([]sortItem, len(elems)), true
	for i, elem := range elems {
		it := &items[i]
		it.elem, it.text, it.found = elem, elem, true
		if opt.by != nil {
			it.text, it.found = c.sortValue(opt.by, elem)
		}
		if !opt.alpha && it.found {
			var ok bool
			it.score, ok = sortScore(it.text)
			valid = valid && ok
		}
	}
	if !valid {
		return nil, &errSortScore
	}
	compare := opt.comparison()
	if opt.by != nil && (from > 0 || to < len(items)) {
		sortPart(items, from, to, compare)
	} else {
		slices.SortStableFunc(items, compare)
	}
	for i := range items {
		elems[i] = items[i].elem
	}
	return elems, nil
}

// comparison is the order of the elements. Of texts only what stands before a zero
// byte counts, unless the result is stored.
func (opt *sortOptions) comparison() func(a, b sortItem) int {
	ascending := func(a, b sortItem) int {
		switch {
		case !opt.alpha:
			return cmp.Or(cmp.Compare(a.score, b.score), strings.Compare(a.elem, b.elem))
		case !a.found || !b.found:
			return btoi(a.found) - btoi(b.found)
		case opt.store:
			return strings.Compare(a.text, b.text)
		}
		return strings.Compare(cString(a.text), cString(b.text))
	}
	if !opt.desc {
		return ascending
	}
	return func(a, b sortItem) int { return -ascending(a, b) }
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sortValue looks up what a pattern means for an element.
func (c *Call) sortValue(p *sortPattern, elem string) (value string, found bool) {
	if p.self {
		return elem, true
	}
	if !p.named {
		return "", false
	}
	key := p.prefix + elem + p.suffix
	o := c.read(key)
	switch {
	case o == nil:
		return "", false
	case p.field == "" && o.Type() == store.String:
		return o.Str(), true
	case p.field != "" && o.Type() == store.Hash:
		if h := c.liveHash(key, o); h != nil {
			return h.Get(p.field)
		}
	}
	return "", false
}

// sortScore parses a number as SORT does, by C's strtod: spaces may lead, the empty
// string is 0, a zero byte ends it, and what a double can only come near to because
// it is too small is refused.
func sortScore(s string) (float64, bool) {
	if s = cString(s); s == "" {
		return 0, true
	}
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	f, ok := parseFloat(s)
	if ok && f != 0 && math.Abs(f) < minNormal {
		ok = len(s) < longDoubleMaxLen && isExactly(s, f)
	}
	return f, ok
}

// minNormal is the least double of full precision.
const minNormal = 0x1p-1022

// isExactly reports whether the number in s is f itself, not just rounded to it.
func isExactly(s string, f float64) bool {
	exact, ok := new(big.Rat).SetString(clampExponent(s))
	return ok && exact.Cmp(new(big.Rat).SetFloat64(f)) == 0
}

// sortResults gives f what the command answers for the elements: themselves, or what
// the GET patterns find.
func (c *Call) sortResults(elems []string, opt sortOptions, f func(value string, found bool)) {
	for _, elem := range elems {
		if len(opt.get) == 0 {
			f(elem, true)
		}
		for _, p := range opt.get {
			f(c.sortValue(p, elem))
		}
	}
}

// sortStore puts the result at the destination as a list.
func (c *Call) sortStore(elems []string, opt sortOptions) resp.Value {
	o := store.NewList(&c.limits)
	list := o.List()
	c.sortResults(elems, opt, func(value string, _ bool) { list.AppendLoaded(value) })
	n := list.Len()
	if n == 0 {
		c.remove(opt.destination)
		return resp.Zero
	}
	list.Loaded()
	c.put(opt.destination, o)
	c.lchanged(opt.destination, "sortstore", n)
	return resp.Int(int64(n))
}

// sortKeys are the keys of SORT: the last STORE counts.
func sortKeys(args []string) []KeyRef {
	refs := sortRoKeys(args)
	for i := 2; i < len(args); i++ {
		switch {
		case equalWord(args[i], "limit"):
			i += 2
		case equalWord(args[i], "get"), equalWord(args[i], "by"):
			i++
		case equalWord(args[i], "store") && i+1 < len(args):
			refs = append(refs[:1], KeyRef{Index: i + 1, Flags: OW | Update})
		}
	}
	return refs
}

// sortRoKeys are the keys of SORT_RO.
func sortRoKeys([]string) []KeyRef { return []KeyRef{{Index: 1, Flags: RO | Access}} }
