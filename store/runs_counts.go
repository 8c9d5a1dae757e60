package store

import "slices"

// counts are numbers by id. Their owner changes them in place, unless they are shared.
type counts struct {
	of     []int32
	free   []int32 // ids that can be given out again
	shared bool    // somebody else holds the slices
}

// change makes the slices this owner's own.
func (c *counts) change() {
	if c.shared {
		c.of, c.free, c.shared = slices.Clone(c.of), slices.Clone(c.free), false
	}
}

func (c *counts) set(id int32, n int) {
	c.change()
	c.of[id] = int32(n)
}

// add takes a number in and returns its id.
func (c *counts) add(n int) int32 {
	c.change()
	if last := len(c.free) - 1; last >= 0 {
		id := c.free[last]
		c.free = c.free[:last]
		c.of[id] = int32(n)
		return id
	}
	c.of = append(c.of, int32(n))
	return int32(len(c.of) - 1)
}

// drop takes a number out.
func (c *counts) drop(id int32) {
	c.change()
	c.free = append(c.free, id)
}
