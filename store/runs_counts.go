package store

// counts are numbers by id.
type counts struct {
	of     []int32
	free   []int32 // ids that can be given out again
	shared bool    // another sequence holds the slices too
}

// add takes a number in and returns its id.
func (c *counts) add(n int) int32 {
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
func (c *counts) drop(id int32) { c.free = append(c.free, id) }
