package engine

import (
	"fmt"
	"os"
	"strings"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

// debugLoadaof: DEBUG LOADAOF
//
// An append-only file that holds all commands brings back what is there.
func debugLoadaof(c *Call) resp.Value {
	c.restore(c.snapshot())
	return resp.OK
}

// debugReload: DEBUG RELOAD [MERGE] [NOFLUSH] [NOSAVE]
//
// What the server would write to its file is kept in memory, unless there is a
// Config.SaveFile.
func debugReload(c *Call) resp.Value {
	merge, keep, save := false, false, true
	for i := 2; i < len(c.Args); i++ {
		switch {
		case c.is(i, "merge"):
			merge = true
		case c.is(i, "noflush"):
			keep = true
		case c.is(i, "nosave"):
			save = false
		default:
			return resp.Err("ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.")
		}
	}
	if save {
		if err := c.saveForReload(); err != nil {
			c.log(LogWarning, err.Error())
			return errSave
		}
	}
	s, err := c.readSaved()
	if err == nil && keep && !merge {
		err = c.clashes(s)
	}
	switch {
	case err != nil:
		c.log(LogWarning, err.Error())
		return resp.Err("ERR Error trying to load the RDB dump, check server logs.")
	case keep:
		c.merge(s)
	default:
		c.restore(s)
	}
	return resp.OK
}

func (co *core) saveForReload() error {
	if co.cfg.SaveFile != "" {
		return co.saveFile()
	}
	var file strings.Builder
	err := co.snapshot().WriteRDB(&file)
	if err == nil {
		co.reload = file.String()
		co.saved()
	}
	return err
}

// readSaved reads what was saved last.
func (co *core) readSaved() (*Snapshot, error) {
	if co.cfg.SaveFile == "" {
		return co.readRDB(co.reload)
	}
	file, err := os.ReadFile(co.cfg.SaveFile)
	if err != nil {
		return nil, err
	}
	return co.readRDB(string(file))
}

// clashes is the error of a snapshot of which a key or library exists already.
func (co *core) clashes(s *Snapshot) error {
	for i := range s.dbs {
		clash := false
		s.install(i, &co.limits).Ascend("", func(key string, _ *store.Object) bool {
			clash = co.dbs[i].Read(key) != nil
			return !clash
		})
		if clash {
			return fmt.Errorf("engine: a key of database %d exists already", i)
		}
	}
	if _, bad := co.functions.join(s.functions, false); bad != nil {
		return fmt.Errorf("engine: %s", bad.Str)
	}
	return nil
}

// merge adds the keys and libraries of a snapshot to what is there; where both
// have one, the snapshot's stays.
func (co *core) merge(s *Snapshot) {
	for i := range s.dbs {
		s.install(i, &co.limits).Ascend("", func(key string, o *store.Object) bool {
			co.dbAt(i).Put(key, o.Clone())
			co.touch(i, key)
			return true
		})
	}
	if next, bad := co.functions.join(s.functions, true); bad == nil {
		co.restoreFunctions(next)
	}
}
