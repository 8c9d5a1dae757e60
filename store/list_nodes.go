package store

import "fmt"

// listNode is a run of a list's elements.
type listNode struct {
	elems *block[string]
	bytes int  // that a server's node would take
	plain bool // one large element, which shares its node with no other
}

func (n *listNode) len() int { return n.elems.len() }

// nodeTree is the nodes of a list, found by their own index or by that of an element: a
// B-tree by position. The zero value is empty. A block may be changed only if it carries
// the tree's own token; that of a node's elements as well.
type nodeTree struct {
	own  *owner
	root part
}

// part is a part of the tree, with the numbers of nodes and elements in it.
type part struct {
	nodes, elems int
	leaf         *block[listNode] // at the bottom
	kids         *block[part]     // above it
}

// owned returns b if it may be changed, or else a copy that may.
func owned[T any](own *owner, b *block[T]) *block[T] {
	if b.own == own {
		return b
	}
	return newBlock(own, b.len()+min(b.len()/16+1, 16), b.items()...)
}

// prepend puts x in front, in amortised constant time.
func (b *block[T]) prepend(x T) {
	if b.lo == 0 {
		n := b.len()
		room := max(4, n/2)
		base := make([]T, room+n, room+n+n/4+1)
		copy(base[room:], b.base)
		b.base, b.lo = base, room
	}
	b.lo--
	b.base[b.lo] = x
}

// fork returns a tree with the same nodes in O(1). t must never be changed again.
func (t *nodeTree) fork() nodeTree { return nodeTree{new(owner), t.root} }

// len returns the number of nodes.
func (t *nodeTree) len() int { return t.root.nodes }

// at returns node k.
func (t *nodeTree) at(k int) listNode {
	b := &t.root
	for b.kids != nil {
		b, k = b.kid(k)
	}
	return b.leaf.items()[k]
}

// kid returns the part that holds node k, and the index there.
func (b *part) kid(k int) (*part, int) {
	kids := b.kids.items()
	i := 0
	for ; k >= kids[i].nodes; i++ {
		k -= kids[i].nodes
	}
	return &kids[i], k
}

// locate returns the node that holds element i, and the position there.
func (t *nodeTree) locate(i int) (k, pos int) {
	b := &t.root
	for b.kids != nil {
		kids := b.kids.items()
		c := 0
		for ; i >= kids[c].elems; c++ {
			i -= kids[c].elems
			k += kids[c].nodes
		}
		b = &kids[c]
	}
	nodes := b.leaf.items()
	c := 0
	for ; i >= nodes[c].len(); c++ {
		i -= nodes[c].len()
	}
	return k + c, i
}

// ref returns node k with elements of its own, to be changed before any other change of
// the tree. more is how many elements the caller is about to add, less than 0 to remove.
func (t *nodeTree) ref(k, more int) *listNode {
	b := &t.root
	for {
		b.elems += more
		if b.kids == nil {
			break
		}
		b.kids = owned(t.own, b.kids)
		b, k = b.kid(k)
	}
	b.leaf = owned(t.own, b.leaf)
	n := &b.leaf.items()[k]
	n.elems = owned(t.own, n.elems)
	return n
}

// insert puts a node at index k.
func (t *nodeTree) insert(k int, n listNode) {
	if t.root.nodes == 0 {
		t.root = part{1, n.len(), newBlock(t.own, 1, n), nil}
		return
	}
	if right, ok := t.put(&t.root, k, n); ok {
		left := t.root
		t.root = part{kids: newBlock(t.own, 4, left, right)}
		t.root.count()
	}
}

// put puts a node into a part. If that had to be divided it returns its right half.
func (t *nodeTree) put(b *part, k int, n listNode) (right part, divided bool) {
	if b.kids == nil {
		b.leaf = owned(t.own, b.leaf)
		b.leaf.insert(k, n)
		b.nodes++
		b.elems += n.len()
		if right.leaf, divided = halve(b.leaf); divided {
			b.count()
			right.count()
		}
		return right, divided
	}
	b.kids = owned(t.own, b.kids)
	kids := b.kids.items()
	i := 0
	for ; k > kids[i].nodes; i++ {
		k -= kids[i].nodes
	}
	if half, ok := t.put(&kids[i], k, n); ok {
		b.kids.insert(i+1, half)
	}
	right.kids, divided = halve(b.kids)
	b.count()
	if divided {
		right.count()
	}
	return right, divided
}

// halve moves the upper half of a block that is too large to a new one.
func halve[T any](b *block[T]) (right *block[T], ok bool) {
	if b.len() <= blockSizes[0] {
		return nil, false
	}
	half := b.len() / 2
	right = newBlock(b.own, blockSizes[0]*3/4, b.items()[half:]...)
	b.cut(half, b.len())
	return right, true
}

// count sets the counts of a part from what is below it.
func (b *part) count() {
	b.nodes, b.elems = 0, 0
	if b.kids == nil {
		b.nodes = b.leaf.len()
		for i := range b.leaf.items() {
			b.elems += b.leaf.items()[i].len()
		}
		return
	}
	for _, kid := range b.kids.items() {
		b.nodes += kid.nodes
		b.elems += kid.elems
	}
}

// cut removes the nodes at indexes i to j, j not included.
func (t *nodeTree) cut(i, j int) {
	if i == j {
		return
	}
	t.take(&t.root, i, j)
	for t.root.kids != nil && t.root.kids.len() == 1 {
		t.root = t.root.kids.items()[0]
	}
	if t.root.nodes == 0 {
		t.root = part{}
	}
}

// take removes nodes from a part.
func (t *nodeTree) take(b *part, i, j int) {
	if b.kids == nil {
		b.leaf = owned(t.own, b.leaf)
		b.leaf.cut(i, j)
		b.count()
		return
	}
	b.kids = owned(t.own, b.kids)
	kids := b.kids.items()
	first, end := len(kids), 0 // the parts that go as a whole
	seam := len(kids)
	for k := range kids {
		n := kids[k].nodes
		switch from, to := max(i, 0), min(j, n); {
		case from >= to:
		case to-from == n:
			first, end, seam = min(first, k), k+1, min(seam, k)
		default:
			t.take(&kids[k], from, to)
			seam = min(seam, k)
		}
		i, j = i-n, j-n
	}
	if first < end {
		b.kids.cut(first, end)
	}
	t.mend(b.kids, seam)
	b.count()
}

// mend joins parts next to part k with their neighbours where two fit well into one.
func (t *nodeTree) mend(kids *block[part], k int) {
	for i := max(k-1, 0); i <= k+1 && i+1 < kids.len(); {
		a, b := &kids.items()[i], kids.items()[i+1]
		if a.width()+b.width() > blockSizes[0]*3/4 {
			i++
			continue
		}
		if a.kids == nil {
			a.leaf = joined(t.own, a.leaf, b.leaf)
		} else {
			a.kids = joined(t.own, a.kids, b.kids)
		}
		a.count()
		kids.cut(i+1, i+2)
	}
}

// width returns the number of parts or nodes in the uppermost block of a part.
func (b *part) width() int {
	if b.kids == nil {
		return b.leaf.len()
	}
	return b.kids.len()
}

// joined returns a with the items of b behind its own.
func joined[T any](own *owner, a, b *block[T]) *block[T] {
	a = owned(own, a)
	for _, x := range b.items() {
		a.insert(a.len(), x)
	}
	return a
}

// ascend calls f for the nodes from k on until it returns false.
func (b *part) ascend(k int, f func(n *listNode) bool) bool {
	if b.kids == nil {
		nodes := b.leaf.items()
		for ; k < len(nodes); k++ {
			if !f(&nodes[k]) {
				return false
			}
		}
		return true
	}
	for i := range b.kids.items() {
		kid := &b.kids.items()[i]
		if k < kid.nodes && !kid.ascend(max(k, 0), f) {
			return false
		}
		k -= kid.nodes
	}
	return true
}

// descend calls f for the nodes from k down until it returns false.
func (b *part) descend(k int, f func(n *listNode) bool) bool {
	if b.kids == nil {
		for ; k >= 0; k-- {
			if !f(&b.leaf.items()[k]) {
				return false
			}
		}
		return true
	}
	kids := b.kids.items()
	start := b.nodes
	for i := len(kids) - 1; i >= 0; i-- {
		start -= kids[i].nodes
		if k >= start && !kids[i].descend(min(k-start, kids[i].nodes-1), f) {
			return false
		}
	}
	return true
}

// check returns the first broken invariant, and the height of the part.
func (b *part) check() (height int, err error) {
	fresh := *b
	fresh.count()
	switch {
	case fresh.nodes != b.nodes || fresh.elems != b.elems:
		return 0, fmt.Errorf("list: counted %d nodes and %d elements, has %d and %d", b.nodes, b.elems, fresh.nodes, fresh.elems)
	case b.width() == 0 || b.width() > blockSizes[0]:
		return 0, fmt.Errorf("list: block of %d", b.width())
	case b.kids == nil:
		return 0, nil
	}
	for i := range b.kids.items() {
		h, err := b.kids.items()[i].check()
		if err != nil {
			return 0, err
		}
		if i > 0 && h != height-1 {
			return 0, fmt.Errorf("list: leaves at heights %d and %d", h, height-1)
		}
		height = h + 1
	}
	return height, nil
}
