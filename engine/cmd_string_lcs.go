package engine

import (
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

var lcsCommands = []Spec{
	{Name: "lcs", Arity: -3, Flags: ReadOnly,
		Keys: keys(keyRange(1, 1, 1, 0, RO|Access)), run: lcs,
		Group: "string", Since: "7.0.0", Complexity: "O(N*M) where N and M are the lengths of s1 and s2, respectively",
		Summary: "Finds the longest common substring.",
		Args:    `key1:k#0 key2:k#0 len:t=LEN? idx:t=IDX? min-match-len:i=MINMATCHLEN? withmatchlen:t=WITHMATCHLEN?`},
}

// lcsOptions are the options of LCS.
type lcsOptions struct {
	length, ranges, withLen bool
	minLen                  int64 // of a range to be shown
}

func (c *Call) parseLCSOptions() (o lcsOptions, bad *resp.Value) {
	for i := 3; i < len(c.Args); i++ {
		switch {
		case c.is(i, "IDX"):
			o.ranges = true
		case c.is(i, "LEN"):
			o.length = true
		case c.is(i, "WITHMATCHLEN"):
			o.withLen = true
		case c.is(i, "MINMATCHLEN") && i+1 < len(c.Args):
			i++
			if o.minLen, bad = c.intArg(i); bad != nil {
				return o, bad
			}
		default:
			return o, &errSyntax
		}
	}
	if o.length && o.ranges {
		v := resp.Err("ERR If you want both the length and indexes, please just use IDX.")
		return o, &v
	}
	return o, nil
}

// lcs: LCS key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]
func lcs(c *Call) resp.Value {
	var text [2]string
	valid := true
	for i := range text {
		o := c.read(c.Args[1+i])
		switch {
		case o == nil:
		case o.Type() != store.String:
			valid = false
		default:
			text[i] = o.Str()
		}
	}
	if !valid {
		return resp.Err("ERR The specified keys must contain string values")
	}
	opts, bad := c.parseLCSOptions()
	if bad != nil {
		return *bad
	}
	a, b := text[0], text[1]
	if cells := uint64(len(a)+1) * uint64(len(b)+1); cells > uint64(c.set.protoMaxBulkLen)/4 {
		return resp.Err("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len")
	}
	t := newLCSTable(a, b)
	n := resp.Int(int64(t.at(len(a), len(b))))
	switch {
	case opts.ranges:
		return resp.Map(resp.Bulk("matches"), t.ranges(opts), resp.Bulk("len"), n)
	case opts.length:
		return n
	}
	return resp.Bulk(t.text())
}

// lcsTable holds the length of the longest common subsequence of every pair of
// prefixes of a and b.
type lcsTable struct {
	a, b  string
	cells []uint32 // row by row; a row is one prefix of a
}

func newLCSTable(a, b string) *lcsTable {
	width := len(b) + 1
	t := &lcsTable{a, b, make([]uint32, (len(a)+1)*width)}
	for i := range len(a) {
		above, row := t.cells[i*width:(i+1)*width], t.cells[(i+1)*width:(i+2)*width]
		for j := range len(b) {
			if a[i] == b[j] {
				row[j+1] = above[j] + 1
			} else {
				row[j+1] = max(above[j+1], row[j])
			}
		}
	}
	return t
}

func (t *lcsTable) at(i, j int) uint32 { return t.cells[i*(len(t.b)+1)+j] }

// walk follows the subsequence backwards and calls f for each common byte with
// its index in a and in b.
func (t *lcsTable) walk(f func(i, j int)) {
	i, j := len(t.a), len(t.b)
	for i > 0 && j > 0 {
		switch {
		case t.a[i-1] == t.b[j-1]:
			i, j = i-1, j-1
			f(i, j)
		case t.at(i-1, j) > t.at(i, j-1):
			i--
		default:
			j--
		}
	}
}

// text is the subsequence itself.
func (t *lcsTable) text() string {
	out := make([]byte, t.at(len(t.a), len(t.b)))
	n := len(out)
	t.walk(func(i, _ int) {
		n--
		out[n] = t.a[i]
	})
	return string(out)
}

// ranges are the unbroken runs of the subsequence, the last one first.
func (t *lcsTable) ranges(o lcsOptions) resp.Value {
	out := []resp.Value{}
	var i, j, n int // the run under way: where it starts, and its length
	flush := func() {
		if n == 0 || int64(n) < o.minLen {
			return
		}
		m := []resp.Value{lcsRange(i, n), lcsRange(j, n)}
		if o.withLen {
			m = append(m, resp.Int(int64(n)))
		}
		out = append(out, resp.Array(m...))
	}
	t.walk(func(x, y int) {
		if n > 0 && x == i-1 && y == j-1 {
			i, j, n = x, y, n+1
			return
		}
		flush()
		i, j, n = x, y, 1
	})
	flush()
	return resp.Array(out...)
}

func lcsRange(start, n int) resp.Value {
	return resp.Array(resp.Int(int64(start)), resp.Int(int64(start+n-1)))
}
