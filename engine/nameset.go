package engine

import (
	"iter"
	"slices"
)

// nameSet is a set of names in the order in which they were added. Adding and removing take
// the same time however many there are. The zero value is empty.
type nameSet struct {
	at    map[string]int // by name, the place in order
	order []orderedName
}

// orderedName is a name, or a gap where one was.
type orderedName struct {
	name string
	gone bool
}

func (n *nameSet) len() int { return len(n.at) }

func (n *nameSet) has(name string) bool {
	_, ok := n.at[name]
	return ok
}

// add reports whether the name is new.
func (n *nameSet) add(name string) bool {
	if n.has(name) {
		return false
	}
	if n.at == nil {
		n.at = map[string]int{}
	}
	n.at[name] = len(n.order)
	n.order = append(n.order, orderedName{name: name})
	return true
}

// remove reports whether the name was there.
func (n *nameSet) remove(name string) bool {
	i, ok := n.at[name]
	if !ok {
		return false
	}
	delete(n.at, name)
	n.order[i] = orderedName{gone: true}
	if len(n.at) < len(n.order)/2 {
		n.closeGaps()
	}
	return true
}

func (n *nameSet) closeGaps() {
	n.order = slices.Clone(slices.DeleteFunc(n.order, func(o orderedName) bool { return o.gone }))
	for i, o := range n.order {
		n.at[o.name] = i
	}
}

// all are the names, in order. None may be added or removed meanwhile.
func (n *nameSet) all() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, o := range n.order {
			if !o.gone && !yield(o.name) {
				return
			}
		}
	}
}
