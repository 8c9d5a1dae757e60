package store

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

type listStep struct{ command, want string }

// listSteps are commands, each with the encoding that valkey-server 8.0.1 reports after it
// and, of a quicklist, the nodes and their bytes. A word like m500 stands for 500 bytes.
var listSteps = []struct {
	fill  int
	steps []listStep
}{
	{3, []listStep{
		{"rpush a b c", "listpack"},
		{"rpush d", "quicklist 2 26"},
		{"lpush 0", "quicklist 3 35"},
		{"linsert after b x", "quicklist 2 31"},
		{"linsert before x y", "quicklist 3 41"},
		{"linsert before a z", "quicklist 3 44"},
		{"linsert after d e", "quicklist 4 54"},
		{"lset 1 P9000", "quicklist 5 9051"},
		{"lset 1 short", "quicklist 5 65"},
		{"lset 0 P8193", "quicklist 5 8249"},
		{"linsert before d P9000", "quicklist 7 17256"},
		{"linsert after d P9000", "quicklist 8 26256"},
		{"linsert before x P9000", "quicklist 9 35256"},
		{"linsert after x P9000", "quicklist 11 44263"},
		{"lrem x", "quicklist 10 44253"},
		{"lpop 3", "quicklist 8 36043"},
		{"lpop 5", "quicklist 4 18020"},
		{"rpop 3", "quicklist 1 9000"},
		{"rpop 1", "none"},
		{"lpop 1", "none"},
		{"rpush q q q", "listpack"},
		{"rpop 2", "listpack"},
	}},
	{-1, []listStep{
		{"rpush m2000 m2001", "listpack"},
		{"rpush m60", "listpack"},
		{"rpush a", "listpack"},
		{"rpush m4000 m4000", "quicklist 3 12103"},
		{"linsert after m60 n500", "quicklist 4 12614"},
		{"linsert before m60 n4000", "quicklist 4 16618"},
		{"lset 0 P4097", "quicklist 5 18711"},
		{"lset 0 a", "quicklist 5 14624"},
		{"lset 1 P5000", "quicklist 6 17619"},
		{"lset 1 m100", "quicklist 6 12729"},
		{"lpop 3", "quicklist 3 8598"},
		{"rpush b", "quicklist 3 8601"},
		{"lrem b", "quicklist 3 8598"},
		{"lset 0 m3000", "quicklist 3 11540"},
		{"lset -1 c", "quicklist 3 7539"},
		{"lpop 1", "quicklist 3 4535"},
		{"lpop 1", "quicklist 3 4031"},
		{"rpush m1900", "quicklist 3 5935"},
		{"rpush m4096", "quicklist 4 10045"},
		{"rpush P4097", "quicklist 5 14142"},
		{"lpop 3", "quicklist 3 10118"},
	}},
	{1, []listStep{
		{"rpush a b", "quicklist 2 20"},
		{"rpop 1", "quicklist 1 10"},
		{"lpush z", "quicklist 2 20"},
		{"linsert before z y", "quicklist 3 30"},
		{"lset 0 P9000", "quicklist 3 9020"},
		{"lset 0 y", "quicklist 3 30"},
		{"lpop 1", "quicklist 2 20"},
	}},
	{-2, []listStep{
		{"rpush m8170", "listpack"},
		{"rpush a", "listpack"},
		{"rpush 1 -1 127 128 -4096 4095 -4097 32767 -32769 8388607 -8388609 2147483647 -2147483649", "quicklist 2 8250"},
		{"rpush m63 m64", "quicklist 2 8382"},
		{"rpush m4095 m4096", "quicklist 3 16591"},
		{"linsert after m63 m8192", "quicklist 4 24797"},
		{"lset 0 m8193", "quicklist 5 24813"},
		{"lpop 1", "quicklist 4 16620"},
	}},
	{-5, []listStep{
		{"rpush m60000", "listpack"},
		{"rpush m5000", "listpack"},
		{"rpush m6000", "quicklist 2 71036"},
		{"lpop 1", "quicklist 2 11028"},
		{"rpush m20000", "quicklist 2 31036"},
	}},
	{0, []listStep{
		{"rpush a", "listpack"},
		{"rpush b", "quicklist 2 20"},
		{"rpop 1", "quicklist 1 10"},
	}},
}

func TestListNodes(t *testing.T) {
	for _, c := range listSteps {
		t.Run(fmt.Sprintf("fill=%d", c.fill), func(t *testing.T) {
			l := DefaultLimits()
			l.ListMaxListpackSize = c.fill
			o := NewList(l)
			for _, step := range c.steps {
				if o.List().Len() == 0 {
					o = NewList(l)
				}
				runListStep(o.List(), strings.Fields(step.command))
				if err := o.body().check(); err != nil {
					t.Fatalf("%s: %v", step.command, err)
				}
				if got := listState(o); got != step.want {
					t.Fatalf("%s: %s, want %s", step.command, got, step.want)
				}
			}
		})
	}
}

func listState(o *Object) string {
	switch ql := o.List().Nodes(); {
	case o.List().Len() == 0:
		return "none"
	case o.Encoding() == "quicklist":
		return fmt.Sprintf("quicklist %d %d", ql.Len, ql.Bytes)
	}
	return o.Encoding()
}

// runListStep does what the command does.
func runListStep(v *ListObj, words []string) {
	var elems []string
	for _, w := range words[1:] {
		if n, err := strconv.Atoi(w[1:]); err == nil && strings.ContainsAny(w[:1], "mnP") {
			w = strings.Repeat(w[:1], n)
		}
		elems = append(elems, w)
	}
	switch words[0] {
	case "rpush", "lpush":
		v.Expect(len(elems), len(strings.Join(elems, "")))
		for _, x := range elems {
			if words[0] == "rpush" {
				v.PushTail(x)
			} else {
				v.PushHead(x)
			}
		}
		return
	case "linsert":
		v.Expect(1, len(elems[2]))
		v.Insert(indexOf(v, elems[1]), elems[2], elems[0] == "after")
		return
	case "lset":
		v.Expect(1, len(elems[1]))
		i, _ := strconv.Atoi(elems[0])
		v.Set((i+v.Len())%v.Len(), elems[1])
	case "lrem":
		v.Remove(elems[0], v.Len(), false)
	case "lpop":
		n, _ := strconv.Atoi(elems[0])
		v.RemoveRange(0, min(n, v.Len()))
	case "rpop":
		n, _ := strconv.Atoi(elems[0])
		v.RemoveRange(max(v.Len()-n, 0), v.Len())
	}
	v.Shrunk()
}

func indexOf(v *ListObj, elem string) (i int) {
	v.Ascend(0, func(x string) bool {
		i++
		return x != elem
	})
	return i - 1
}

// TestListFill pins what LRANGE would show of a list of many nodes, and the fill of nodes.
func TestListFill(t *testing.T) {
	l := DefaultLimits()
	l.ListMaxListpackSize = 1 << 20
	o := NewList(l)
	v := o.List()
	const n = 20_000
	v.Expect(n, n)
	for i := range n {
		v.PushHead(strconv.Itoa(n - 1 - i))
	}
	if ql := v.Nodes(); ql.Len != 10 || ql.Fill != 32767 {
		t.Errorf("%d nodes of fill %d", ql.Len, ql.Fill)
	}
	for i := range n {
		if v.At(i) != strconv.Itoa(i) {
			t.Fatalf("At(%d) = %q", i, v.At(i))
		}
	}
	if err := v.check(); err != nil {
		t.Error(err)
	}
}
