package store

import (
	"fmt"
	"testing"
)

// Touch knows where the keys are that were looked up, changes nothing, and takes any keys.
func TestTouch(t *testing.T) {
	tinyBlocks(t, [3]int{4, 6, 8})
	db := NewDB(&Limits{})
	keys := make([]string, AtOnce)
	for i := range 100 {
		o := NewHash(db.l)
		if i%2 == 0 {
			o = NewString("")
			o.SetStr(fmt.Sprint("value ", i))
		}
		db.Put(fmt.Sprintf("key:%02d", i), o)
	}
	for i := range keys {
		keys[i] = fmt.Sprintf("key:%02d", 3*i)
		db.Read(keys[i])
	}
	if known := db.Touch(keys); known != len(keys) {
		t.Errorf("%d of %d keys are known after they were looked up", known, len(keys))
	}
	if known := db.Touch([]string{"", "key:", "key:999", "other"}); known != 0 {
		t.Errorf("%d keys are known that are not there", known)
	}
	for _, key := range keys {
		db.Remove(key)
	}
	db.Touch(keys) // where others are by now, or nobody
	if err := db.Check(); err != nil {
		t.Error(err)
	}
	frozen := db.Snapshot()
	for what, db := range map[string]*DB{"none": nil, "an empty one": NewDB(db.l), "a snapshot": frozen, "one just snapshotted": db} {
		if known := db.Touch(keys); known != 0 {
			t.Errorf("%s: %d keys are known", what, known)
		}
	}
}
