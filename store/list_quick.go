package store

// What stands here follows the server's quicklist: in which node an element goes, and when
// nodes are divided and joined.

// Limits of a node. A fill of 0 or more is a number of elements, with bytesBesides as the
// limit of their bytes; one below 0 is an index into fillBytes, -1 the first.
const (
	maxFill      = 1<<15 - 1
	bytesBesides = 8 << 10
	unlimited    = 1 << 62
)

var fillBytes = [5]int{4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10}

// fillLimits returns the limits that a fill stands for.
func fillLimits(fill int) (bytes, elems int) {
	if fill >= 0 {
		return unlimited, max(fill, 1)
	}
	return fillBytes[min(-fill, len(fillBytes))-1], unlimited
}

// exceeds reports whether a node of that size is too large.
func exceeds(fill, bytes, elems int) bool {
	mostBytes, mostElems := fillLimits(fill)
	return bytes > min(mostBytes, largest(fill)) || elems > mostElems
}

// largest is the length of the longest element that goes in a node with others.
func largest(fill int) int {
	if fill >= 0 {
		return bytesBesides
	}
	bytes, _ := fillLimits(fill)
	return bytes
}

// large reports whether an element needs a node of its own.
func (v *ListObj) large(elem string) bool {
	if least := v.l.ListPackedThreshold; least != 0 {
		return v.quick && len(elem) >= least
	}
	return v.quick && len(elem) > largest(v.fill)
}

// fits reports whether there is a node k that takes an element more.
func (v *ListObj) fits(k int, elem string) bool {
	if k < 0 || k >= v.nodes.len() || v.large(elem) {
		return false
	}
	const overhead = 8 // the server's estimate
	n := v.nodes.at(k)
	return !n.plain && !exceeds(v.fill, n.bytes+len(elem)+overhead, n.len()+1)
}

// newNode returns a node of one element.
func (v *ListObj) newNode(elem string) listNode {
	n := listNode{elems: newBlock(v.nodes.own, 1, keep(elem)), plain: v.large(elem)}
	n.bytes = len(elem)
	if !n.plain {
		n.bytes = listpackEmpty + entryBytes(elem)
	}
	return n
}

// addTo puts an element at a position of node k.
func (v *ListObj) addTo(k, pos int, elem string) {
	n := v.nodes.ref(k, 1)
	n.bytes += entryBytes(elem)
	if pos == 0 {
		n.elems.prepend(keep(elem))
	} else {
		n.elems.insert(pos, keep(elem))
	}
}

// cutNode removes the elements at positions i to j of node k, j not included.
func (v *ListObj) cutNode(k, i, j int) {
	n := v.nodes.at(k)
	if j-i == n.len() {
		v.nodes.cut(k, k+1)
		return
	}
	own := v.nodes.ref(k, i-j)
	for _, x := range n.elems.items()[i:j] {
		own.bytes -= entryBytes(x)
	}
	own.elems.cut(i, j)
}

// Insert puts an element in front of the one at index i, or behind it.
func (v *ListObj) Insert(i int, elem string, behind bool) {
	k, pos := v.nodes.locate(i)
	if behind {
		pos++
	}
	n := v.nodes.at(k)
	switch atHead, atTail := pos == 0, pos == n.len(); {
	case !v.quick || v.fits(k, elem):
		v.addTo(k, pos, elem)
	case atTail && v.fits(k+1, elem):
		v.addTo(k+1, 0, elem)
	case atHead && v.fits(k-1, elem):
		left := v.nodes.at(k - 1)
		v.addTo(k-1, left.len(), elem)
	case atTail:
		v.nodes.insert(k+1, v.newNode(elem))
	case atHead:
		v.nodes.insert(k, v.newNode(elem))
	default:
		v.insertInside(k, pos, elem, behind)
	}
}

// insertInside puts an element into a full node, away from its ends, or a large element
// into any.
func (v *ListObj) insertInside(k, pos int, elem string, behind bool) {
	v.divide(k, pos)
	switch {
	case v.large(elem):
		v.nodes.insert(k+1, v.newNode(elem))
	case behind:
		v.addTo(k+1, 0, elem)
		v.joinAround(k)
	default:
		v.addTo(k, pos, elem)
		v.joinAround(k + 1)
	}
}

// Set replaces the element at an index. 0 <= i < v.Len().
func (v *ListObj) Set(i int, elem string) {
	k, pos := v.nodes.locate(i)
	n, large := v.nodes.at(k), v.large(elem)
	switch {
	case n.plain && large:
		own := v.nodes.ref(k, 0)
		own.elems.items()[0], own.bytes = keep(elem), len(elem)
	case n.plain:
		if v.fits(k+1, elem) {
			v.addTo(k+1, 0, elem)
		} else {
			v.nodes.insert(k+1, v.newNode(elem))
		}
		v.nodes.cut(k, k+1)
	case large:
		v.setLarge(k, pos, elem)
	default:
		own := v.nodes.ref(k, 0)
		at := &own.elems.items()[pos]
		own.bytes += entryBytes(elem) - entryBytes(*at)
		*at = keep(elem)
	}
}

// setLarge replaces an element by a large one.
func (v *ListObj) setLarge(k, pos int, elem string) {
	n := v.nodes.at(k)
	if pos < n.len()-1 {
		v.divide(k, pos+1)
	}
	v.nodes.insert(k+1, v.newNode(elem))
	v.cutNode(k, pos, pos+1)
	if pos > 0 {
		v.joinAround(k + 1)
	}
}

// divide moves the elements of node k from a position on to a new node behind it.
func (v *ListObj) divide(k, pos int) {
	n := v.nodes.at(k)
	right := listNode{bytes: listpackEmpty, elems: newBlock(v.nodes.own, 1, n.elems.items()[pos:]...)}
	for _, x := range right.elems.items() {
		right.bytes += entryBytes(x)
	}
	v.cutNode(k, pos, n.len())
	v.nodes.insert(k+1, right)
}

// joinAround joins node k and those next to it where two fit in one, in the server's order.
func (v *ListObj) joinAround(k int) {
	if v.join(k - 2) {
		k--
	}
	v.join(k + 1)
	if v.join(k - 1) {
		k--
	}
	v.join(k)
}

// join joins node k with the one behind it. It reports whether they are there and fit.
func (v *ListObj) join(k int) bool {
	if k < 0 || k+1 >= v.nodes.len() {
		return false
	}
	a, b := v.nodes.at(k), v.nodes.at(k+1)
	bytes := a.bytes + b.bytes - listpackEmpty
	if a.plain || b.plain || exceeds(v.fill, bytes, a.len()+b.len()) {
		return false
	}
	n := v.nodes.ref(k, b.len())
	n.bytes = bytes
	n.elems = joined(v.nodes.own, n.elems, b.elems)
	v.nodes.cut(k+1, k+2)
	return true
}
