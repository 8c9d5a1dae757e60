package engine

import (
	"math"
	"strings"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var listEditCommands = []Spec{
	{Name: "linsert", Arity: 5, Flags: Write | DenyOOM,
		Keys: keys(key1(RW | Insert)), run: linsert,
		Group: "list", Since: "2.2.0", Complexity: "O(N) where N is the number of elements to traverse before seeing the value pivot. This means that inserting somewhere on the left end on the list (head) can be considered O(1) and inserting somewhere on the right end (tail) is O(N).",
		Summary: "Inserts an element before or after another element in a list.",
		Args:    `key:k#0 where<before:t=BEFORE after:t=AFTER> pivot element`},
	{Name: "lpos", Arity: -3, Flags: ReadOnly,
		Keys: keys(key1(RO | Access)), run: lpos,
		Group: "list", Since: "6.0.6", Complexity: "O(N) where N is the number of elements in the list, for the average case. When searching for elements near the head or the tail of the list, or when the MAXLEN option is provided, the command may run in constant time.",
		Summary: "Returns the index of matching elements in a list.",
		Args:    `key:k#0 element rank:i=RANK? num-matches:i=COUNT? len:i=MAXLEN?`},
	{Name: "lrem", Arity: 4, Flags: Write,
		Keys: keys(key1(RW | Delete)), run: lrem,
		Group: "list", Since: "1.0.0", Complexity: "O(N+M) where N is the length of the list and M is the number of elements removed.",
		Summary: "Removes elements from a list. Deletes the list if the last element was removed.",
		Args:    `key:k#0 count:i element`},
	{Name: "lset", Arity: 4, Flags: Write | DenyOOM,
		Keys: keys(key1(RW | Update)), run: lset,
		Group: "list", Since: "1.0.0", Complexity: "O(N) where N is the length of the list. Setting either the first or the last element of the list is O(1).",
		Summary: "Sets the value of an element in a list by its index.",
		Args:    `key:k#0 index:i element`},
	{Name: "ltrim", Arity: 4, Flags: Write,
		Keys: keys(key1(RW | Delete)), run: ltrim,
		Group: "list", Since: "1.0.0", Complexity: "O(N) where N is the number of elements to be removed by the operation.",
		Summary: "Removes elements from both ends a list. Deletes the list if all elements were trimmed.",
		Args:    `key:k#0 start:i stop:i`},
}

var errRankZero = resp.Err("ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... " +
	"or use negative to start from the end of the list")

// linsert: LINSERT key <BEFORE | AFTER> pivot element
func linsert(c *Call) resp.Value {
	behind := c.is(2, "after")
	if !behind && !c.is(2, "before") {
		return errSyntax
	}
	key, pivot, elem := c.Args[1], c.Args[3], c.Args[4]
	o, bad := c.writeAs(key, store.List)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return resp.Zero
	}
	v := o.List()
	v.Expect(1, len(elem)) // whether the pivot is there or not
	at, i := -1, 0
	v.Ascend(0, func(e string) bool {
		if e == pivot {
			at = i
		}
		i++
		return at < 0
	})
	if at < 0 {
		return resp.Int(-1)
	}
	v.Insert(at, elem, behind)
	c.lchanged(key, "linsert", 1)
	return resp.Int(int64(v.Len()))
}

// lset: LSET key index element
func lset(c *Call) resp.Value {
	key, elem := c.Args[1], c.Args[3]
	o, bad := c.writeAs(key, store.List)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return errNoKey
	}
	index, bad := c.intArg(2)
	if bad != nil {
		return *bad
	}
	v := o.List()
	v.Expect(1, len(elem))                     // whether the index is in range or not
	i, ok := listIndex(v, int64(int32(index))) // the server takes no more bits here
	if !ok {
		return errOutOfRange
	}
	v.Set(i, elem)
	v.Shrunk()
	c.lchanged(key, "lset", 1)
	return resp.OK
}

// lrem: LREM key count element
func lrem(c *Call) resp.Value {
	count, bad := c.longArg(2)
	if bad != nil {
		return *bad
	}
	o, bad := c.writeAs(c.Args[1], store.List)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return resp.Zero
	}
	fromTail := count < 0
	if fromTail {
		count = -count
	} else if count == 0 {
		count = math.MaxInt64
	}
	n := o.List().Remove(c.Args[3], int(count), fromTail)
	if n > 0 {
		c.lremoved(c.Args[1], o.List(), "lrem", n)
	}
	return resp.Int(int64(n))
}

// longArg is argument i as an integer that has an opposite.
func (c *Call) longArg(i int) (n int64, bad *resp.Value) {
	if n, bad = c.intArg(i); bad == nil && n == math.MinInt64 {
		bad = &errRandCount
	}
	return n, bad
}

// ltrim: LTRIM key start stop
func ltrim(c *Call) resp.Value {
	start, stop, bad := c.rangeArgs()
	if bad != nil {
		return *bad
	}
	o, bad := c.writeAs(c.Args[1], store.List)
	switch {
	case bad != nil:
		return *bad
	case o == nil:
		return resp.OK
	}
	v := o.List()
	before := v.Len()
	from, to := listSpan(v, start, stop)
	v.RemoveRange(to, before)
	v.RemoveRange(0, from)
	c.lremoved(c.Args[1], v, "ltrim", before-v.Len())
	return resp.OK
}

// lposOptions are the options of LPOS.
type lposOptions struct {
	rank, count, maxLen int64
	many                bool // COUNT was given
}

// lpos: LPOS key element [RANK rank] [COUNT num-matches] [MAXLEN len]
func lpos(c *Call) resp.Value {
	opt, bad := c.lposOptions()
	if bad != nil {
		return *bad
	}
	o, bad := c.readAs(c.Args[1], store.List)
	if bad != nil {
		return *bad
	}
	var found []resp.Value
	if o != nil {
		found = opt.search(o.List(), c.Args[2])
	}
	switch {
	case opt.many:
		return resp.Array(found...)
	case len(found) == 0:
		return resp.Null
	}
	return found[0]
}

func (c *Call) lposOptions() (opt lposOptions, bad *resp.Value) {
	opt.rank, opt.count = 1, 1
	for i := 3; i < len(c.Args); i += 2 {
		paired := i+1 < len(c.Args)
		switch {
		case paired && c.is(i, "rank"):
			if opt.rank, bad = c.longArg(i + 1); bad == nil && opt.rank == 0 {
				bad = &errRankZero
			}
		case paired && c.is(i, "count"):
			opt.many = true
			opt.count, bad = c.notNegative(i + 1)
		case paired && c.is(i, "maxlen"):
			opt.maxLen, bad = c.notNegative(i + 1)
		default:
			bad = &errSyntax
		}
		if bad != nil {
			return opt, bad
		}
	}
	return opt, nil
}

// notNegative is argument i, the value of the option before it, as a number from 0 on.
func (c *Call) notNegative(i int) (n int64, bad *resp.Value) {
	n, ok := parseInt(c.Args[i])
	if !ok || n < 0 {
		v := resp.Err("ERR " + strings.ToUpper(cString(c.Args[i-1])) + " can't be negative")
		return 0, &v
	}
	return n, nil
}

// search is the indexes of the elements that were asked for.
func (opt *lposOptions) search(v *store.ListObj, elem string) (found []resp.Value) {
	walk, index, step := v.Ascend, 0, 1
	skip, left := opt.rank-1, opt.maxLen
	if opt.rank < 0 {
		walk, index, step = v.Descend, v.Len()-1, -1
		skip = -opt.rank - 1
	}
	walk(index, func(e string) bool {
		if e == elem {
			if skip--; skip < 0 {
				found = append(found, resp.Int(int64(index)))
			}
		}
		index += step
		left--
		return left != 0 && (opt.count == 0 || int64(len(found)) < opt.count)
	})
	return found
}
