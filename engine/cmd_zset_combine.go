package engine

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var zsetCombineCommands = []Spec{
	{Name: "zdiff", Arity: -3, Flags: ReadOnly,
		Keys: keys(keyNum(1, 0, 1, 1, RO|Access)), run: zdiff,
		Group: "sorted-set", Since: "6.2.0", Complexity: "O(L + (N-K)log(N)) worst case where L is the total number of elements in all the sets, N is the size of the first set, and K is the size of the result set.",
		Summary: "Returns the difference between multiple sorted sets.",
		Args:    `numkeys:i key:k#0* withscores:t=WITHSCORES?`},
	{Name: "zdiffstore", Arity: -4, Flags: Write | DenyOOM,
		Keys: keys(key1(OW|Update), keyNum(2, 0, 1, 1, RO|Access)), run: zdiffstore,
		Group: "sorted-set", Since: "6.2.0", Complexity: "O(L + (N-K)log(N)) worst case where L is the total number of elements in all the sets, N is the size of the first set, and K is the size of the result set.",
		Summary: "Stores the difference of multiple sorted sets in a key.",
		Args:    `destination:k#0 numkeys:i key:k#1*`},
	{Name: "zinter", Arity: -3, Flags: ReadOnly,
		Keys: keys(keyNum(1, 0, 1, 1, RO|Access)), run: zinter,
		Group: "sorted-set", Since: "6.2.0", Complexity: "O(N*K)+O(M*log(M)) worst case with N being the smallest input sorted set, K being the number of input sorted sets and M being the number of elements in the resulting sorted set.",
		Summary: "Returns the intersect of multiple sorted sets.",
		Args:    `numkeys:i key:k#0* weight:i=WEIGHTS?* aggregate<sum:t=SUM min:t=MIN max:t=MAX>=AGGREGATE? withscores:t=WITHSCORES?`},
	{Name: "zintercard", Arity: -3, Flags: ReadOnly,
		Keys: keys(keyNum(1, 0, 1, 1, RO|Access)), run: zintercard,
		Group: "sorted-set", Since: "7.0.0", Complexity: "O(N*K) worst case with N being the smallest input sorted set, K being the number of input sorted sets.",
		Summary: "Returns the number of members of the intersect of multiple sorted sets.",
		Args:    `numkeys:i key:k#0* limit:i=LIMIT?`},
	{Name: "zinterstore", Arity: -4, Flags: Write | DenyOOM,
		Keys: keys(key1(OW|Update), keyNum(2, 0, 1, 1, RO|Access)), run: zinterstore,
		Group: "sorted-set", Since: "2.0.0", Complexity: "O(N*K)+O(M*log(M)) worst case with N being the smallest input sorted set, K being the number of input sorted sets and M being the number of elements in the resulting sorted set.",
		Summary: "Stores the intersect of multiple sorted sets in a key.",
		Args:    `destination:k#0 numkeys:i key:k#1* weight:i=WEIGHTS?* aggregate<sum:t=SUM min:t=MIN max:t=MAX>=AGGREGATE?`},
	{Name: "zunion", Arity: -3, Flags: ReadOnly,
		Keys: keys(keyNum(1, 0, 1, 1, RO|Access)), run: zunion,
		Group: "sorted-set", Since: "6.2.0", Complexity: "O(N)+O(M*log(M)) with N being the sum of the sizes of the input sorted sets, and M being the number of elements in the resulting sorted set.",
		Summary: "Returns the union of multiple sorted sets.",
		Args:    `numkeys:i key:k#0* weight:i=WEIGHTS?* aggregate<sum:t=SUM min:t=MIN max:t=MAX>=AGGREGATE? withscores:t=WITHSCORES?`},
	{Name: "zunionstore", Arity: -4, Flags: Write | DenyOOM,
		Keys: keys(key1(OW|Update), keyNum(2, 0, 1, 1, RO|Access)), run: zunionstore,
		Group: "sorted-set", Since: "2.0.0", Complexity: "O(N)+O(M log(M)) with N being the sum of the sizes of the input sorted sets, and M being the number of elements in the resulting sorted set.",
		Summary: "Stores the union of multiple sorted sets in a key.",
		Args:    `destination:k#0 numkeys:i key:k#1* weight:i=WEIGHTS?* aggregate<sum:t=SUM min:t=MIN max:t=MAX>=AGGREGATE?`},
}

var (
	errNotWeight     = resp.Err("ERR weight value is not a float")
	errNegativeLimit = resp.Err("ERR LIMIT can't be negative")
)

// zcombine is the work of ZUNION, ZINTER, ZDIFF and their kin.
type zcombine struct {
	op         zsetOp
	store      bool // the result goes to a key
	countOnly  bool // ZINTERCARD
	inputs     []zinput
	aggregate  func(a, b float64) float64
	withScores bool
	limit      int64 // ZINTERCARD's; 0: none
}

type zsetOp uint8

const (
	zUnion zsetOp = iota
	zInter
	zDiff
)

// zinput is one of the sets that are combined. Its object is nil for an absent key. A set
// that is not sorted has the score 1 for all members.
type zinput struct {
	o      *store.Object
	weight float64
}

// zscored is a member of a result.
type zscored struct {
	member string
	score  float64
}

// zunion: ZUNION numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX>] [WITHSCORES]
func zunion(c *Call) resp.Value { return c.zcombine(zcombine{op: zUnion}) }

// zinter: ZINTER numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX>] [WITHSCORES]
func zinter(c *Call) resp.Value { return c.zcombine(zcombine{op: zInter}) }

// zdiff: ZDIFF numkeys key [key ...] [WITHSCORES]
func zdiff(c *Call) resp.Value { return c.zcombine(zcombine{op: zDiff}) }

// zintercard: ZINTERCARD numkeys key [key ...] [LIMIT limit]
func zintercard(c *Call) resp.Value { return c.zcombine(zcombine{op: zInter, countOnly: true}) }

// zunionstore: ZUNIONSTORE destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX>]
func zunionstore(c *Call) resp.Value { return c.zcombine(zcombine{op: zUnion, store: true}) }

// zinterstore: ZINTERSTORE destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX>]
func zinterstore(c *Call) resp.Value { return c.zcombine(zcombine{op: zInter, store: true}) }

// zdiffstore: ZDIFFSTORE destination numkeys key [key ...]
func zdiffstore(c *Call) resp.Value { return c.zcombine(zcombine{op: zDiff, store: true}) }

func (c *Call) zcombine(z zcombine) resp.Value {
	if bad := z.parse(c); bad != nil {
		return *bad
	}
	if z.op != zDiff {
		// As on the server, whose sums of floats depend on this order.
		slices.SortStableFunc(z.inputs, func(a, b zinput) int { return cmp.Compare(a.len(), b.len()) })
	}
	if z.countOnly {
		return resp.Int(z.count())
	}
	result := z.result()
	slices.SortFunc(result, func(a, b zscored) int {
		return cmp.Or(cmp.Compare(a.score, b.score), strings.Compare(a.member, b.member))
	})
	if z.store {
		return c.zstore(c.Args[1], c.newZSet(result), c.Spec.Name)
	}
	out := make([]resp.Value, 0, 2*len(result))
	for _, e := range result {
		out = append(out, resp.Bulk(e.member))
		if z.withScores {
			out = append(out, resp.Double(e.score))
		}
	}
	if z.withScores {
		return resp.Pairs(out...)
	}
	return resp.Array(out...)
}

// newZSet makes a sorted set of members in order.
func (c *Call) newZSet(members []zscored) *store.Object {
	longest := 0
	for _, e := range members {
		longest = max(longest, len(e.member))
	}
	o := store.NewZSet(&c.limits)
	o.ZSet().Expect(len(members), longest)
	for _, e := range members {
		o.ZSet().Set(e.member, e.score)
	}
	return o
}

// parse looks up the inputs and reads the options, in the server's order: a key of
// a wrong type is found before an error in the options.
func (z *zcombine) parse(c *Call) *resp.Value {
	at := 1 // of numkeys
	if z.store {
		at = 2
	}
	n, bad := c.intArg(at)
	switch {
	case bad != nil:
		return bad
	case n < 1:
		v := resp.Err("ERR at least 1 input key is needed for '" + c.Spec.Name + "' command")
		return &v
	case n > int64(len(c.Args)-at-1):
		return &errSyntax
	}
	z.inputs = make([]zinput, n)
	for i := range z.inputs {
		if z.inputs[i], bad = c.zinput(c.Args[at+1+i]); bad != nil {
			return bad
		}
	}
	return z.options(c, at+1+int(n))
}

// zinput looks up a set to be combined, sorted or not.
func (c *Call) zinput(key string) (zinput, *resp.Value) {
	o := c.read(key)
	if o != nil && o.Type() != store.ZSet && o.Type() != store.Set {
		return zinput{}, &errWrongType
	}
	return zinput{o, 1}, nil
}

// options reads the options from argument i on.
func (z *zcombine) options(c *Call, i int) *resp.Value {
	z.aggregate = addScores
	weighted := z.op != zDiff && !z.countOnly
	for i < len(c.Args) {
		left := len(c.Args) - i
		var bad *resp.Value
		switch {
		case weighted && left > len(z.inputs) && c.is(i, "weights"):
			bad = z.weights(c.Args[i+1:])
			i += 1 + len(z.inputs)
		case weighted && left >= 2 && c.is(i, "aggregate"):
			bad = z.aggregateBy(c, i+1)
			i += 2
		case !z.store && !z.countOnly && c.is(i, "withscores"):
			z.withScores = true
			i++
		case z.countOnly && left >= 2 && c.is(i, "limit"):
			var ok bool
			if z.limit, ok = parseInt(c.Args[i+1]); !ok || z.limit < 0 {
				bad = &errNegativeLimit
			}
			i += 2
		default:
			bad = &errSyntax
		}
		if bad != nil {
			return bad
		}
	}
	return nil
}

func (z *zcombine) weights(args []string) *resp.Value {
	for i := range z.inputs {
		w, ok := parseFloat(args[i])
		if !ok {
			return &errNotWeight
		}
		z.inputs[i].weight = w
	}
	return nil
}

func (z *zcombine) aggregateBy(c *Call, i int) *resp.Value {
	switch {
	case c.is(i, "sum"):
		z.aggregate = addScores
	case c.is(i, "min"):
		z.aggregate = minScore
	case c.is(i, "max"):
		z.aggregate = maxScore
	default:
		return &errSyntax
	}
	return nil
}

// addScores adds; infinities of different signs give 0.
func addScores(a, b float64) float64 { return zeroForNaN(a + b) }

// minScore returns a unless b is less, so NaN never wins.
func minScore(a, b float64) float64 {
	if b < a {
		return b
	}
	return a
}

// maxScore returns a unless b is greater, so NaN never wins.
func maxScore(a, b float64) float64 {
	if b > a {
		return b
	}
	return a
}

// zeroForNaN makes 0 of what zero times infinity gives.
func zeroForNaN(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return f
}

func (in *zinput) len() int {
	switch {
	case in.o == nil:
		return 0
	case in.o.Type() == store.Set:
		return in.o.Set().Len()
	}
	return in.o.ZSet().Len()
}

// each calls f for the members until it returns false.
func (in *zinput) each(f func(member string, score float64) bool) {
	switch {
	case in.o == nil:
	case in.o.Type() == store.Set:
		in.o.Set().Ascend(func(member string) bool { return f(member, 1) })
	default:
		in.o.ZSet().Ascend(0, f)
	}
}

func (in *zinput) find(member string) (score float64, ok bool) {
	switch {
	case in.o == nil:
		return 0, false
	case in.o.Type() == store.Set:
		return 1, in.o.Set().Has(member)
	}
	return in.o.ZSet().Score(member)
}

// result is the members of the result, in no order.
func (z *zcombine) result() (out []zscored) {
	switch z.op {
	case zUnion:
		return z.union()
	case zInter:
		z.intersect(func(e zscored) bool {
			out = append(out, e)
			return true
		})
		return out
	}
	z.inputs[0].each(func(member string, score float64) bool {
		if !z.foundBeyondFirst(member) {
			out = append(out, zscored{member, score})
		}
		return true
	})
	return out
}

func (z *zcombine) foundBeyondFirst(member string) bool {
	for i := range z.inputs[1:] {
		if _, ok := z.inputs[i+1].find(member); ok {
			return true
		}
	}
	return false
}

func (z *zcombine) union() (out []zscored) {
	place := make(map[string]int, z.inputs[len(z.inputs)-1].len())
	for i := range z.inputs {
		in := &z.inputs[i]
		in.each(func(member string, score float64) bool {
			score = zeroForNaN(in.weight * score)
			if k, ok := place[member]; ok {
				out[k].score = z.aggregate(out[k].score, score)
			} else {
				place[member] = len(out)
				out = append(out, zscored{member, score})
			}
			return true
		})
	}
	return out
}

// intersect calls f for the members that are in all inputs until it returns false.
func (z *zcombine) intersect(f func(e zscored) bool) {
	least := &z.inputs[0]
	least.each(func(member string, score float64) bool {
		score = zeroForNaN(least.weight * score)
		for i := range z.inputs[1:] {
			in := &z.inputs[i+1]
			other, ok := in.find(member)
			if !ok {
				return true
			}
			score = z.aggregate(score, in.weight*other)
		}
		return f(zscored{member, score})
	})
}

// count is how many members all inputs have in common, up to the limit.
func (z *zcombine) count() (n int64) {
	z.intersect(func(zscored) bool {
		n++
		return n != z.limit
	})
	return n
}
