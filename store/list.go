package store

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// ListObj is the value of a list. Its elements lie in the nodes that a server of this
// version would have, since these decide when a "quicklist" is a "listpack" again. A
// "listpack" is one node.
type ListObj struct {
	l     *Limits
	nodes nodeTree
	quick bool // reported as "quicklist"
	fill  int  // the limit of the nodes of a quicklist, in the terms of Limits
	deep  bool // its inner nodes are compressed on a server
}

// NewList returns an empty list. l is consulted by Expect and Shrunk.
func NewList(l *Limits) *Object {
	o, v := newBox[ListObj](List)
	v.l = l
	return o
}

// List returns the object's list, nil if it is of another type.
func (o *Object) List() *ListObj { return inBox[ListObj](o, List) }

// Len returns the number of elements.
func (v *ListObj) Len() int { return v.nodes.root.elems }

// At returns the element at an index. 0 <= i < v.Len().
func (v *ListObj) At(i int) string {
	k, pos := v.nodes.locate(i)
	n := v.nodes.at(k)
	return n.elems.items()[pos]
}

// Ascend calls f for the elements from index i up until it returns false. f must not
// change v.
func (v *ListObj) Ascend(i int, f func(elem string) bool) {
	if i >= v.Len() {
		return
	}
	k, pos := v.nodes.locate(i)
	v.nodes.root.ascend(k, func(n *listNode) bool {
		for _, x := range n.elems.items()[pos:] {
			if !f(x) {
				return false
			}
		}
		pos = 0
		return true
	})
}

// Descend calls f for the elements from index i down until it returns false. f must not
// change v.
func (v *ListObj) Descend(i int, f func(elem string) bool) {
	if i < 0 || v.Len() == 0 {
		return
	}
	k, pos := v.nodes.locate(min(i, v.Len()-1))
	v.nodes.root.descend(k, func(n *listNode) bool {
		items := n.elems.items()
		if pos >= 0 {
			items = items[:pos+1]
		}
		pos = -1
		return descendItems(items, f)
	})
}

// Expect tells that one command is about to add this many elements, of so many bytes
// together: too much for a "listpack" makes a "quicklist" of it. To set an element counts
// as adding it.
func (v *ListObj) Expect(elems, bytes int) {
	size := listpackEmpty
	if v.nodes.len() > 0 {
		size = v.nodes.at(0).bytes
	}
	if exceeds(v.l.ListMaxListpackSize, size+bytes, v.Len()+elems) {
		v.makeQuick()
	}
}

// makeQuick makes a "quicklist" of a "listpack".
func (v *ListObj) makeQuick() {
	if !v.quick {
		v.quick = true
		v.fill = min(max(v.l.ListMaxListpackSize, -len(fillBytes)), maxFill)
		v.deep = v.l.ListCompressDepth != 0
	}
}

// Shrunk tells that elements have gone or become shorter: a "quicklist" of which little
// is left becomes a "listpack".
func (v *ListObj) Shrunk() {
	if !v.quick || v.nodes.len() != 1 {
		return
	}
	n := v.nodes.at(0)
	bytes, elems := fillLimits(v.l.ListMaxListpackSize)
	if !n.plain && n.bytes <= bytes/2 && n.len() <= elems/2 {
		v.quick = false
	}
}

// PushHead adds an element in front.
func (v *ListObj) PushHead(elem string) {
	if v.nodes.len() > 0 && (!v.quick || v.fits(0, elem)) {
		v.addTo(0, 0, elem)
		return
	}
	v.nodes.insert(0, v.newNode(elem))
}

// PushTail adds an element at the end.
func (v *ListObj) PushTail(elem string) {
	last := v.nodes.len() - 1
	if last >= 0 && (!v.quick || v.fits(last, elem)) {
		n := v.nodes.at(last)
		v.addTo(last, n.len(), elem)
		return
	}
	v.nodes.insert(last+1, v.newNode(elem))
}

// PopHead removes the first element and returns it. v must not be empty.
func (v *ListObj) PopHead() string {
	n := v.nodes.at(0)
	elem := n.elems.items()[0]
	v.cutNode(0, 0, 1)
	return elem
}

// PopTail removes the last element and returns it. v must not be empty.
func (v *ListObj) PopTail() string {
	k := v.nodes.len() - 1
	n := v.nodes.at(k)
	last := n.len() - 1
	elem := n.elems.items()[last]
	v.cutNode(k, last, last+1)
	return elem
}

// RemoveRange removes the elements at indexes i to j, j not included.
// 0 <= i <= j <= v.Len().
func (v *ListObj) RemoveRange(i, j int) {
	for i < j {
		k, pos := v.nodes.locate(i)
		n := v.nodes.at(k)
		left := v.Len()
		if pos > 0 || n.len() > j-i {
			v.cutNode(k, pos, min(n.len(), pos+j-i))
		} else { // whole nodes
			end := v.nodes.len()
			if j < left {
				end, _ = v.nodes.locate(j)
			}
			v.nodes.cut(k, end)
		}
		j -= left - v.Len()
	}
}

// Remove removes the elements that equal elem, at most so many of them, from the end on
// if fromTail. It returns their number.
func (v *ListObj) Remove(elem string, most int, fromTail bool) (removed int) {
	k, step := 0, 1
	if fromTail {
		k, step = v.nodes.len()-1, -1
	}
	for ; k >= 0 && k < v.nodes.len() && removed < most; k += step {
		n := v.nodes.at(k)
		kept, hits := without(n.elems.items(), elem, most-removed, fromTail)
		removed += hits
		switch {
		case hits == 0:
		case len(kept) == 0:
			v.nodes.cut(k, k+1)
			k -= max(step, 0) // the next one has come here
		default:
			n := v.nodes.ref(k, -hits)
			n.bytes -= hits * entryBytes(elem)
			n.elems = newBlock(v.nodes.own, len(kept), kept...)
		}
	}
	return removed
}

// without returns items but for those that equal x, of which it drops at most so many.
func without(items []string, x string, most int, fromTail bool) (kept []string, hits int) {
	for _, e := range items {
		if e == x {
			hits++
		}
	}
	if hits == 0 {
		return items, 0
	}
	spare := 0 // the first ones that stay
	if hits > most {
		if fromTail {
			spare = hits - most
		}
		hits = most
	}
	kept = make([]string, 0, len(items)-hits)
	for drop, i := hits, 0; i < len(items); i++ {
		switch {
		case items[i] != x || drop == 0:
			kept = append(kept, items[i])
		case spare > 0:
			spare--
			kept = append(kept, items[i])
		default:
			drop--
		}
	}
	return kept, hits
}

func (v *ListObj) encoding() string {
	if v.quick {
		return "quicklist"
	}
	return "listpack"
}

// ListNodes is what DEBUG OBJECT tells of a "quicklist": how many nodes it has, the limit
// that they were made under, the bytes that they take on a server uncompressed, and whether
// it would compress them.
type ListNodes struct {
	Len, Fill, Bytes int
	Compressed       bool
}

// Nodes returns the facts of a "quicklist".
func (v *ListObj) Nodes() ListNodes {
	bytes := 0
	v.nodes.root.ascendAll(func(n *listNode) { bytes += n.bytes })
	return ListNodes{v.nodes.len(), v.fill, bytes, v.deep}
}

// NodesLen returns ListNodes.Len in O(1).
func (v *ListObj) NodesLen() int { return v.nodes.len() }

func (v *ListObj) fork(l *Limits) *Object {
	o := NewList(cmp.Or(l, v.l))
	c := o.List()
	c.nodes, c.quick, c.fill, c.deep = v.nodes.fork(), v.quick, v.fill, v.deep
	return o
}

func (v *ListObj) size() int {
	n := 80 + 64*v.nodes.len()
	if v.nodes.len() > 0 {
		first := v.nodes.at(0)
		n += v.Len() * (16 + first.bytes/first.len())
	}
	return n
}

func (v *ListObj) check() error {
	if v.nodes.root.nodes == 0 {
		return nil
	}
	if _, err := v.nodes.root.check(); err != nil {
		return err
	}
	if !v.quick && v.nodes.len() != 1 {
		return fmt.Errorf("list: listpack of %d nodes", v.nodes.len())
	}
	var err error
	v.nodes.root.ascendAll(func(n *listNode) {
		if e := n.check(v.quick); e != nil {
			err = e
		}
	})
	return err
}

func (n *listNode) check(quick bool) error {
	bytes := listpackEmpty
	for _, x := range n.elems.items() {
		bytes += entryBytes(x)
	}
	switch {
	case n.len() == 0:
		return fmt.Errorf("list: empty node")
	case n.plain && (!quick || n.len() != 1 || n.bytes != len(n.elems.items()[0])):
		return fmt.Errorf("list: plain node of %d elements", n.len())
	case !n.plain && n.bytes != bytes:
		return fmt.Errorf("list: node counts %d bytes, has %d", n.bytes, bytes)
	}
	return nil
}

func (b *part) ascendAll(f func(n *listNode)) {
	if b.nodes > 0 {
		b.ascend(0, func(n *listNode) bool { f(n); return true })
	}
}

// Bytes of a listpack, as a server keeps it, without entries and of one entry.
const listpackEmpty = 7

func entryBytes(s string) int {
	n := encodedBytes(s)
	return n + 1 + slices.IndexFunc(backLengths[:], func(limit int) bool { return n < limit })
}

// backLengths are the sizes of entries at which the length behind them takes a byte more.
var backLengths = [...]int{128, 16383, 2097151, 268435455, 1 << 62}

func encodedBytes(s string) int {
	n, ok := number(s)
	switch {
	case ok && n >= 0 && n < 128:
		return 1
	case ok && n>>12 == n>>63: // 13 bits with the sign, and so on
		return 2
	case ok && n>>15 == n>>63:
		return 3
	case ok && n>>23 == n>>63:
		return 4
	case ok && n>>31 == n>>63:
		return 5
	case ok:
		return 9
	case len(s) < 64:
		return 1 + len(s)
	case len(s) < 4096:
		return 2 + len(s)
	}
	return 5 + len(s)
}

// number returns the integer of which s is the canonical text.
func number(s string) (n int64, ok bool) {
	if !isInt(s) {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}
