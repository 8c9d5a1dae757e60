package rdb

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"

	"github.com/echomq/echomq-sim/store"
)

// Contents is what a file holds. Values in it are only read.
type Contents struct {
	DBs       []*store.DB // by number
	Libraries []string    // the code of function libraries
	Version   string      // of the server that is named as the file's writer
	Time      int64       // of writing, in Unix seconds
	Plain     bool        // strings are not compressed
}

// Operations in a file, in place of a type.
const (
	opSlotInfo    = 244
	opModuleAux   = 247
	opIdle        = 248
	opFreq        = 249
	opAux         = 250
	opResizeDB    = 251
	opExpireMs    = 252
	opExpire      = 253
	opSelectDB    = 254
	opEnd         = 255
	opSlotImport  = 243
	headerLen     = 9
	chunk         = 1 << 16
	oldestChecked = 5 // the first version with a checksum
)

// Write writes an RDB file. Keys are in byte order, so the same contents give the same
// bytes. The file is of version 80, which Valkey 9 reads, if fields of a hash have
// deadlines, and of version 11 else. The error is w's.
func Write(w io.Writer, c Contents) error {
	out := fileWriter{w: w, z: !compression(c.Plain)}
	out.b = append(out.b, out.header(c.DBs)...)
	out.aux("valkey-ver", c.Version)
	out.aux("redis-bits", "64")
	out.aux("ctime", strconv.FormatInt(c.Time, 10))
	out.aux("aof-base", "0")
	for _, source := range c.Libraries {
		out.b = out.z.appendString(append(out.b, kindLibrary), source)
		out.flush(chunk)
	}
	for i, db := range c.DBs {
		out.db(i, db)
	}
	out.b = append(out.b, opEnd)
	out.flush(0)
	out.b = binary.LittleEndian.AppendUint64(out.b, out.crc)
	out.flush(0)
	return out.err
}

type fileWriter struct {
	w   io.Writer
	z   compression
	b   []byte // not written yet
	crc uint64
	err error
}

// flush writes what there is once it is more than so many bytes.
func (w *fileWriter) flush(most int) {
	if len(w.b) <= most {
		return
	}
	w.crc = checksum(w.crc, w.b)
	if w.err == nil {
		_, w.err = w.w.Write(w.b)
	}
	w.b = w.b[:0]
}

func (w *fileWriter) header(dbs []*store.DB) string {
	for _, db := range dbs {
		newer := false
		db.Ascend("", func(_ string, o *store.Object) bool {
			newer = hasDeadlines(o)
			return !newer && w.err == nil
		})
		if newer {
			return fmt.Sprintf("VALKEY%03d", versionFields)
		}
	}
	return fmt.Sprintf("REDIS%04d", version)
}

func (w *fileWriter) aux(name, value string) {
	w.b = w.z.appendString(w.z.appendString(append(w.b, opAux), name), value)
}

func (w *fileWriter) db(i int, db *store.DB) {
	if db.Len() == 0 {
		return
	}
	w.b = appendLen(append(w.b, opSelectDB), uint64(i))
	w.b = appendLen(append(w.b, opResizeDB), uint64(db.Len()))
	w.b = appendLen(w.b, uint64(db.ExpiresLen()))
	db.Ascend("", func(key string, o *store.Object) bool {
		if at := o.Expire(); at != 0 {
			w.b = appendMillis(append(w.b, opExpireMs), at)
		}
		w.b = w.z.appendValue(w.b, o, func(b []byte) []byte { return w.z.appendString(b, key) })
		w.flush(chunk)
		return w.err == nil
	})
}
