package engine

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"

	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

// digest sums up data as DEBUG DIGEST of Valkey's debug.c does: the same data give
// the same digest, whatever the order of unordered things.
type digest [sha1.Size]byte

// xor adds data so that the order of additions makes no difference.
func (d *digest) xor(data []byte) {
	for i, b := range sha1.Sum(data) {
		d[i] ^= b
	}
}

// mix adds data so that the order matters.
func (d *digest) mix(data []byte) {
	d.xor(data)
	*d = sha1.Sum(d[:])
}

func (d *digest) mixString(s string) { d.mix([]byte(s)) }

func (d *digest) mixNumber(n int) { d.mix(binary.BigEndian.AppendUint32(nil, uint32(n))) }

func (d *digest) reply() resp.Value { return resp.Simple(hex.EncodeToString(d[:])) }

// digestTypes are the server's numbers for types.
var digestTypes = map[store.Type]int{store.String: 0, store.List: 1, store.Set: 2, store.ZSet: 3, store.Hash: 4, store.Stream: 6}

// xorObject adds an object.
func (d *digest) xorObject(o *store.Object) {
	d.mixNumber(digestTypes[o.Type()])
	pair := func(name, value string) {
		var e digest
		e.mixString(name)
		e.mixString(value)
		d.xor(e[:])
	}
	switch o.Type() {
	case store.String:
		d.mixString(o.Str())
	case store.List:
		o.List().Ascend(0, func(elem string) bool {
			d.mixString(elem)
			return true
		})
	case store.Set:
		o.Set().Ascend(func(member string) bool {
			d.xor([]byte(member))
			return true
		})
	case store.Hash:
		o.Hash().Ascend(func(field, value string) bool {
			pair(field, value)
			return true
		})
	case store.Stream:
		o.Stream().Ascend(store.StreamID{}, func(e store.StreamEntry) bool {
			d.mixString(strings.Replace(e.ID.String(), "-", ".", 1))
			e.Ascend(func(field, value string) bool {
				d.mixString(field)
				d.mixString(value)
				return true
			})
			return true
		})
	case store.ZSet:
		o.ZSet().Ascend(0, func(member string, score float64) bool {
			pair(member, digestScore(score))
			return true
		})
	}
	if o.Expire() != 0 {
		d.xor([]byte("!!expire!!"))
	}
}

// digestScore is a score's text in a digest.
func digestScore(f float64) string {
	if f == 0 || math.IsInf(f, 0) || math.IsNaN(f) {
		return resp.FormatDouble(f)
	}
	return string(resp.AppendGrisu(nil, f))
}

// debugDigest: DEBUG DIGEST
func debugDigest(c *Call) resp.Value {
	var all digest
	for i, db := range c.dbs {
		if db.Len() == 0 {
			continue
		}
		all.mixNumber(i)
		db.Ascend("", func(key string, o *store.Object) bool {
			var d digest
			d.mixString(key)
			d.xorObject(o)
			all.xor(d[:])
			return true
		})
	}
	return all.reply()
}

// debugDigestValue: DEBUG DIGEST-VALUE [key ...]
func debugDigestValue(c *Call) resp.Value {
	out := make([]resp.Value, 0, len(c.Args)-2)
	for _, key := range c.Args[2:] {
		var d digest
		if o := c.db().Read(key); o != nil {
			d.xorObject(o)
		}
		out = append(out, d.reply())
	}
	return resp.Array(out...)
}
