package rdb

import (
	"fmt"
	"math"
	"strings"

	"github.com/echomq/echomq-sim/store"
)

// typeNames are the types in errors.
var typeNames = map[byte]string{
	typeString: "string", typeList: "list", typeSet: "set", typeZSetText: "sorted set with scores as text", typeHash: "hash",
	typeZSet: "sorted set", typeModuleEarly: "module value", typeModule: "module value", typeHashZipmap: "hash zipmap",
	typeListZiplist: "list ziplist", typeSetIntset: "intset", typeZSetZiplist: "sorted set ziplist",
	typeHashZiplist: "hash ziplist", typeListQuickZip: "quicklist of ziplists", typeStream1: "stream",
	typeHashListpack: "hash listpack", typeZSetListpack: "sorted set listpack", typeListQuick: "quicklist",
	typeStream2: "stream of version 2", typeSetListpack: "set listpack", typeStream3: "stream of version 3",
	typeHashFields: "hash with field deadlines",
}

// valueReader reads values.
type valueReader struct {
	reader
	l     *store.Limits
	empty bool // the value that was read has nothing in it
}

// value reads a value of a type; nil if it is broken or empty.
func (r *valueReader) value(t byte) *store.Object {
	name, ok := typeNames[t]
	if !ok {
		r.fail(fmt.Sprintf("unknown type %d", t))
		return nil
	}
	r.what, r.empty = name, false
	o := r.valueOf(t)
	if r.err != nil || r.empty {
		return nil
	}
	return o
}

func (r *valueReader) valueOf(t byte) *store.Object {
	switch t {
	case typeString:
		return store.NewString(r.str())
	case typeList:
		return r.list()
	case typeListZiplist:
		return r.listOf(r.compact(ziplistStrings), false)
	case typeListQuick, typeListQuickZip:
		return r.quicklist(t == typeListQuick)
	case typeSet:
		return r.loaded(store.LoadSet(r.l, r.strings(r.count())))
	case typeSetIntset:
		return r.intset()
	case typeSetListpack:
		return r.loaded(store.LoadCompactSet(r.l, r.compact(listpackStrings)))
	case typeZSet, typeZSetText:
		return r.zset(t == typeZSetText)
	case typeZSetListpack:
		return r.compactZSet(listpackStrings)
	case typeZSetZiplist:
		return r.compactZSet(ziplistStrings)
	case typeHash:
		return r.hashOf(r.strings(2*r.count()), false)
	case typeHashFields:
		return r.hashWithDeadlines()
	case typeHashListpack:
		return r.hashOf(r.compact(listpackStrings), true)
	case typeHashZiplist:
		return r.hashOf(r.compact(ziplistStrings), true)
	case typeHashZipmap:
		return r.hashOf(r.compact(zipmapStrings), false)
	case typeStream1, typeStream2, typeStream3:
		return r.stream(t)
	}
	r.fail("modules are not supported")
	return nil
}

// loaded passes on what store made of the elements.
func (r *valueReader) loaded(o *store.Object, ok bool) *store.Object {
	if !ok {
		r.fail("an element comes twice")
	}
	return o
}

// strings reads so many strings, of which there must be some.
func (r *valueReader) strings(n int) (all []string) {
	r.empty = n == 0
	for range n {
		s := r.str()
		if r.err != nil {
			return nil
		}
		all = append(all, s)
	}
	return all
}

// compact reads a string and takes the elements apart that are packed in it.
func (r *valueReader) compact(parse func(string) ([]string, bool)) []string {
	s := r.str()
	if r.err != nil {
		return nil
	}
	all, ok := parse(s)
	if !ok {
		r.fail("broken " + r.what[strings.LastIndexByte(r.what, ' ')+1:])
		return nil
	}
	r.empty = len(all) == 0
	return all
}

func (r *valueReader) list() *store.Object { return r.listOf(r.strings(r.count()), true) }

// listOf makes a list of elements that were not in the nodes of this version.
func (r *valueReader) listOf(elems []string, settle bool) *store.Object {
	o := store.NewList(r.l)
	for _, x := range elems {
		o.List().AppendLoaded(x)
	}
	if settle {
		o.List().Loaded()
	}
	return o
}

// quicklist reads a list by nodes, of this version or of the one before.
func (r *valueReader) quicklist(current bool) *store.Object {
	o := store.NewList(r.l)
	parse := ziplistStrings
	if current {
		parse = listpackStrings
	}
	for range r.count() {
		container := uint64(containerPacked)
		if current {
			container = r.length()
		}
		switch {
		case r.err != nil:
			return nil
		case container == containerPlain:
			elem := r.str()
			if elem == "" {
				r.fail("empty node")
				return nil
			}
			o.List().AppendNode([]string{elem}, true)
		case container == containerPacked:
			if elems := r.compact(parse); len(elems) > 0 {
				o.List().AppendNode(elems, false)
			}
		default:
			r.fail(fmt.Sprintf("unknown kind of node %d", container))
		}
	}
	r.empty = o.List().Len() == 0
	o.List().Loaded()
	return o
}

func (r *valueReader) intset() *store.Object {
	width := 0
	members := r.compact(func(s string) ([]string, bool) {
		all, ok := intsetStrings(s)
		if ok {
			width = int(littleEndian(s[:4]))
		}
		return all, ok && len(all) > 0
	})
	return r.loaded(store.LoadIntset(r.l, members, width))
}

func (r *valueReader) zset(asText bool) *store.Object {
	n := r.count()
	r.empty = n == 0
	var members []string
	var scores []float64
	for range n {
		member, score := r.str(), 0.0
		if asText {
			score = r.textDouble()
		} else {
			score = r.double()
		}
		if math.IsNaN(score) {
			r.fail("a score is not a number")
		}
		if r.err != nil {
			return nil
		}
		members, scores = append(members, member), append(scores, score)
	}
	return r.loaded(store.LoadZSet(r.l, members, scores, false))
}

func (r *valueReader) compactZSet(parse func(string) ([]string, bool)) *store.Object {
	pairs := r.pairs(r.compact(parse))
	var members []string
	var scores []float64
	for i := 0; i < len(pairs); i += 2 {
		score := r.number(pairs[i+1])
		if math.IsNaN(score) {
			r.fail("a score is not a number")
		}
		members, scores = append(members, pairs[i]), append(scores, score)
	}
	if r.err != nil {
		return nil
	}
	return r.loaded(store.LoadZSet(r.l, members, scores, true))
}

// pairs looks whether elements are an even number.
func (r *valueReader) pairs(all []string) []string {
	if len(all)%2 != 0 {
		r.fail("an element without its partner")
		return nil
	}
	return all
}

func (r *valueReader) hashOf(pairs []string, compact bool) *store.Object {
	if pairs = r.pairs(pairs); r.err != nil {
		return nil
	}
	return r.loaded(store.LoadHash(r.l, pairs, compact))
}

// hashWithDeadlines reads a hash of Valkey 9. A field whose time has passed is read like
// any other.
func (r *valueReader) hashWithDeadlines() *store.Object {
	n := r.count()
	r.empty = n == 0
	o := store.NewHash(r.l)
	h := o.Hash()
	h.MakeTable()
	for range n {
		field, value, at := r.str(), r.str(), r.millis()
		if r.err == nil && at < noDeadline {
			r.fail("a field has a deadline before 1970")
		}
		if r.err != nil {
			return nil
		}
		if !h.Set(field, value) {
			return r.loaded(nil, false)
		}
		if at != noDeadline {
			h.SetDeadline(field, max(at, 1))
		}
	}
	return o
}
