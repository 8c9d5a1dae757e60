package rdb

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/echomq/echomq-sim/store"
)

// checkObject puts a value in a database and looks whether all is well with it, and
// whether it survives a way to bytes and back.
func checkObject(t *testing.T, o *store.Object, l *store.Limits) {
	t.Helper()
	db := store.NewDB(l)
	db.Put("k", o)
	if err := db.Check(); err != nil {
		t.Fatal(err)
	}
	first := Dump(o, true)
	again, err := Restore(first, l)
	if err != nil {
		t.Fatalf("what was restored can't be dumped and restored: %v", err)
	}
	if second := Dump(again, true); again.Type() != o.Type() || again.Encoding() == o.Encoding() && second != first {
		t.Fatalf("%s %s dumped as\n%q, then %s %s as\n%q", o.Type(), o.Encoding(), first, again.Type(), again.Encoding(), second)
	}
}

// FuzzRestore feeds types and values to Restore, with a checksum that is right.
func FuzzRestore(f *testing.F) {
	for _, p := range payloads(f) {
		f.Add([]byte(p.payload[:len(p.payload)-footLen]))
	}
	l := store.DefaultLimits()
	f.Fuzz(func(t *testing.T, body []byte) {
		if o, err := Restore(seal(body, version), l); err == nil {
			checkObject(t, o, l)
		}
	})
}

// FuzzRDB feeds files to Read, with a checksum of 0, which is taken for right.
func FuzzRDB(f *testing.F) {
	paths, _ := filepath.Glob("../testdata/rdb/*.rdb")
	for _, path := range paths {
		file, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if len(file) < 1<<12 {
			f.Add(file[:len(file)-8])
		}
	}
	l := store.DefaultLimits()
	f.Fuzz(func(t *testing.T, file []byte) {
		var dbs [2]*store.DB
		for i := range dbs {
			dbs[i] = store.NewDB(l)
		}
		err := Read(string(file)+strings.Repeat("\x00", 8), len(dbs), l, Visitor{
			Key: func(k *Key) error {
				dbs[k.DB].Put(k.Name, k.Value)
				dbs[k.DB].SetExpire(k.Name, k.Expire)
				return nil
			},
			Library: func(string) error { return nil },
		})
		for _, db := range dbs {
			if err := db.Check(); err != nil {
				t.Fatal(err)
			}
		}
		if err == nil {
			if err := Write(io.Discard, Contents{DBs: dbs[:]}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
