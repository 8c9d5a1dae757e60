package engine

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/echomq/echomq-sim/rdb"
	"github.com/echomq/echomq-sim/store"
)

// WriteRDB writes the snapshot as an RDB file. It may be called while the engine goes on.
// Valkey 8.0 loads the file; if fields of a hash have deadlines it is one that only Valkey
// 9 loads. The error is w's.
func (s *Snapshot) WriteRDB(w io.Writer) error {
	c := rdb.Contents{DBs: s.dbs, Version: ValkeyVersion, Time: s.taken / 1e6, Plain: s.plain}
	for _, lib := range s.functions.libraries {
		c.Libraries = append(c.Libraries, lib.Source)
	}
	return rdb.Write(w, c)
}

// SaveRDB writes all databases and function libraries, as they are at this moment, as an
// RDB file. See Snapshot.WriteRDB.
func (e *Engine) SaveRDB(w io.Writer) error { return e.Snapshot().WriteRDB(w) }

// LoadRDB puts what is in an RDB file in place of all databases and function libraries.
// It reads the files of every server up to Valkey 8, and of Valkey 9. Keys whose time has
// passed are left out. If it returns an error nothing has changed: one of reading, one
// that tells the byte offset and the type of what is broken, or one of a library.
func (e *Engine) LoadRDB(r io.Reader) error {
	var file strings.Builder
	if _, err := io.Copy(&file, r); err != nil {
		return err
	}
	e.lock()
	defer e.unlock()
	s, err := e.core.readRDB(file.String())
	if err != nil {
		return err
	}
	e.core.restore(s)
	e.core.giveUpHistory()
	e.core.serveBlocked()
	return nil
}

// Save writes what SAVE writes, to Config.SaveFile.
func (e *Engine) Save() error {
	e.lock()
	defer e.unlock()
	return e.core.saveFile()
}

// readRDB makes a snapshot of an RDB file.
func (co *core) readRDB(file string) (*Snapshot, error) {
	s := &Snapshot{dbs: make([]*store.DB, len(co.dbs)), functions: &functionSet{}, taken: co.now}
	co.stats.keysLoaded, co.stats.keysLoadedLate = 0, 0
	err := rdb.Read(file, len(s.dbs), &co.limits, rdb.Visitor{
		Key: func(k *rdb.Key) error { return co.loadKey(made(&s.dbs[k.DB], &co.limits), k) },
		Library: func(source string) error {
			next, _, bad := co.addLibrary(s.functions, strings.Clone(source), false)
			if bad != nil {
				return fmt.Errorf("%s", bad.Str)
			}
			s.functions = next
			return nil
		},
		Skipped: func(_ int, name string) { co.log(LogNotice, fmt.Sprintf("rdb: skipping empty key %q", name)) },
	})
	if err != nil {
		co.forgetLibraries(s.functions)
		return nil, err
	}
	return s, nil
}

// loadKey puts a key of a file in a database.
func (co *core) loadKey(db *store.DB, k *rdb.Key) error {
	if k.Expire != 0 && k.Expire < co.ms() {
		co.stats.keysLoadedLate++
		return nil
	}
	if db.Read(k.Name) != nil {
		return fmt.Errorf("%q comes twice in database %d", k.Name, k.DB)
	}
	idle := max(k.Idle, 0)
	k.Value.SetAccess(uint32(max(0, co.now/1e6-idle)))
	k.Value.SetFreq(uint8(max(k.Freq, 0)))
	db.Put(k.Name, k.Value)
	db.SetExpire(k.Name, k.Expire)
	co.stats.keysLoaded++
	return nil
}

// errNoSaveFile is why nothing is saved: a simulator writes no files that nobody asked for.
var errNoSaveFile = fmt.Errorf("engine: no Config.SaveFile to save to")

// saveFile writes an RDB file to Config.SaveFile.
func (co *core) saveFile() error {
	if co.cfg.SaveFile == "" {
		return errNoSaveFile
	}
	if err := replaceFile(co.cfg.SaveFile, co.snapshot().WriteRDB); err != nil {
		return fmt.Errorf("engine: saving to %s: %w", co.cfg.SaveFile, err)
	}
	co.saved()
	return nil
}

// saved notes that everything has been saved.
func (co *core) saved() {
	co.lastSave, co.stats.dirty = co.now, 0
}

// replaceFile writes a file anew: what was there stays until everything is written.
func replaceFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "temp-*.rdb")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
