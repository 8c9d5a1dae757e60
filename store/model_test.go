package store

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The model of a keyspace: plain maps, copied as a whole for a snapshot.
type (
	modelDB  map[string]*modelObj
	modelObj struct {
		typ    Type
		str    string
		fields map[string]modelField
		scores map[string]float64
		elems  []string
		names  map[string]bool
		stream *modelStream
		expire int64
	}
	modelField struct {
		value string
		at    int64
	}
)

func (m modelDB) clone() modelDB {
	c := modelDB{}
	for k, o := range m {
		d := *o
		d.fields, d.scores = maps.Clone(o.fields), maps.Clone(o.scores)
		d.stream = o.stream.clone()
		d.elems, d.names = slices.Clone(o.elems), maps.Clone(o.names)
		c[k] = &d
	}
	return c
}

type world struct {
	t    *testing.T
	rng  *rand.Rand
	live []*branch
	now  int64
	kept [][2]string // what the store handed out, and a copy made at that time
}

type branch struct {
	db *DB
	m  modelDB
}

func TestModel(t *testing.T) {
	kinds := map[string]func(*world, *branch, string){
		"string": (*world).stepString, "hash": (*world).stepHash, "zset": (*world).stepZSet,
		"list": (*world).stepList, "set": (*world).stepSet, "stream": (*world).stepStream,
		"mixed": func(w *world, b *branch, key string) {
			steps := map[Type]func(*world, *branch, string){String: (*world).stepString, Hash: (*world).stepHash,
				ZSet: (*world).stepZSet, List: (*world).stepList, Set: (*world).stepSet, Stream: (*world).stepStream}
			typ := []Type{String, Hash, ZSet, List, Set, Stream}[w.rng.IntN(6)]
			if mo := b.m[key]; mo != nil {
				typ = mo.typ
			}
			steps[typ](w, b, key)
		},
	}
	for name, step := range kinds {
		t.Run(name, func(t *testing.T) {
			tinyBlocks(t, [3]int{4, 6, 8})
			for seed := range uint64(4) {
				t.Run("seed"+strconv.Itoa(int(seed)), func(t *testing.T) {
					w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 11)), now: 1}
					l := DefaultLimits()
					l.HashMaxListpackEntries, l.ZSetMaxListpackEntries = 40, 40
					l.SetMaxListpackEntries, l.SetMaxIntsetEntries = 20, 30
					l.ListMaxListpackSize = []int{1, 3, -1, -2}[seed]
					l.StreamNodeMaxEntries = 3
					w.live = []*branch{{NewDB(l), modelDB{}}}
					w.run(step)
				})
			}
		})
	}
}

func (w *world) run(step func(*world, *branch, string)) {
	keys := []int{12, 120}[w.rng.IntN(2)]
	for n := range 2500 {
		b := w.live[w.rng.IntN(len(w.live))]
		key := "k" + strconv.Itoa(w.rng.IntN(keys))
		switch op := w.rng.IntN(100); {
		case op < 3:
			w.snapshot(b)
		case op < 20:
			w.stepKey(b, key)
		default:
			step(w, b, key)
		}
		if n%20 == 0 {
			for _, b := range w.live {
				w.compare(b)
			}
		}
	}
	for _, k := range w.kept {
		if k[0] != k[1] {
			w.t.Fatalf("a string that was handed out has changed from %q to %q", k[1], k[0])
		}
	}
}

func (w *world) keep(s string) {
	if len(w.kept) < 20_000 {
		w.kept = append(w.kept, [2]string{s, strings.Clone(s)})
	}
}

// snapshot adds a snapshot, or replaces a branch by it: the source or another one.
func (w *world) snapshot(b *branch) {
	s := &branch{b.db.Snapshot(), b.m.clone()}
	if len(w.live) < 8 {
		w.live = append(w.live, s)
		return
	}
	w.live[w.rng.IntN(len(w.live))] = s
}

func (w *world) number(n int) string { return strconv.Itoa(w.rng.IntN(n)) }

// text returns a value: often short, sometimes long.
func (w *world) text() string {
	switch w.rng.IntN(12) {
	case 0:
		return strings.Repeat("L", 60+w.rng.IntN(120))
	case 1:
		return ""
	}
	return "v" + w.number(1000)
}

// stepKey does what commands on keys of any type do.
func (w *world) stepKey(b *branch, key string) {
	mo, other := b.m[key], "k"+w.number(12)
	switch op := w.rng.IntN(10); {
	case op < 2:
		o := b.db.Remove(key)
		if (o != nil) != (mo != nil) {
			w.t.Fatalf("Remove(%q) = %v", key, o)
		}
		if delete(b.m, key); o != nil && w.rng.IntN(2) == 0 { // rename
			b.db.Put(other, o)
			b.m[other] = mo
		}
	case op < 4 && mo != nil: // copy
		b.db.Put(other, b.db.Read(key).Clone())
		b.m[other] = modelDB{"": mo}.clone()[""]
	case op < 8:
		at := int64(w.rng.IntN(3)) * (w.now + int64(w.rng.IntN(200)))
		if b.db.SetExpire(key, at) != (mo != nil) {
			w.t.Fatalf("SetExpire(%q)", key)
		}
		if mo != nil {
			mo.expire = at
		}
	case op < 9:
		w.now += int64(w.rng.IntN(30))
		w.expire(b)
	case w.rng.IntN(20) == 0:
		b.db.Flush()
		clear(b.m)
	}
}

// expire removes what is due, as an engine does, and compares each answer of Due.
func (w *world) expire(b *branch) {
	for {
		key, at, field, ok := b.db.Due(w.now)
		first := b.m.nextDeadline()
		if ok != (first != 0 && first <= w.now) || ok && at != first {
			w.t.Fatalf("Due(%d) = %q %d %v %v, want %d", w.now, key, at, field, ok, first)
		}
		if !ok {
			return
		}
		if !field {
			b.db.Remove(key)
			delete(b.m, key)
			continue
		}
		for _, f := range b.db.Write(key).Hash().PopExpired(w.now) {
			if mf := b.m[key].fields[f]; mf.at == 0 || mf.at > w.now {
				w.t.Fatalf("PopExpired(%d) took %q of %d", w.now, f, mf.at)
			}
			delete(b.m[key].fields, f)
		}
		if b.db.Read(key).Hash().Len() == 0 {
			b.db.Remove(key)
			delete(b.m, key)
		}
	}
}

func (m modelDB) nextDeadline() (first int64) {
	note := func(at int64) {
		if at != 0 && (first == 0 || at < first) {
			first = at
		}
	}
	for _, o := range m {
		note(o.expire)
		for _, f := range o.fields {
			note(f.at)
		}
	}
	return first
}

func (w *world) stepString(b *branch, key string) {
	mo, s := b.m[key], w.text()
	if w.rng.IntN(3) == 0 {
		s = w.number(2000)
	}
	if mo == nil {
		b.db.Put(key, NewString(s))
		b.m[key] = &modelObj{typ: String, str: s}
		return
	}
	o := b.db.Write(key)
	switch w.rng.IntN(5) {
	case 0:
		o.SetStr(s)
		mo.str = s
	case 1:
		mo.str += s
		if n := o.AppendStr(s); n != len(mo.str) {
			w.t.Fatalf("AppendStr = %d, want %d", n, len(mo.str))
		}
	case 2, 3:
		at := w.rng.IntN(len(mo.str) + 5)
		raw := []byte(mo.str)
		raw = append(raw, make([]byte, max(0, at+len(s)-len(raw)))...)
		copy(raw[at:], s)
		mo.str = string(raw)
		if n := o.SetRange(at, s); n != len(mo.str) {
			w.t.Fatalf("SetRange = %d, want %d", n, len(mo.str))
		}
	}
	w.keep(o.Str())
}

func (w *world) stepHash(b *branch, key string) {
	mo := b.m[key]
	if mo == nil {
		o := NewHash(b.db.Limits())
		b.db.Put(key, o)
		o.Hash().Set("f0", "first")
		mo = &modelObj{typ: Hash, fields: map[string]modelField{"f0": {value: "first"}}}
		b.m[key] = mo
	}
	h, f, v := b.db.Write(key).Hash(), "f"+w.number([]int{6, 300}[int(key[1])%2]), w.text()
	old, had := mo.fields[f]
	switch w.rng.IntN(8) {
	case 0, 1, 2:
		if h.Set(f, v) == had {
			w.t.Fatalf("Set(%q) of a field that was there: %v", f, had)
		}
		mo.fields[f] = modelField{value: v}
	case 3:
		if h.SetKeepTTL(f, v) == had {
			w.t.Fatalf("SetKeepTTL(%q) of a field that was there: %v", f, had)
		}
		mo.fields[f] = modelField{v, old.at}
	case 4:
		if h.Del(f) != had {
			w.t.Fatalf("Del(%q) of a field that was there: %v", f, had)
		}
		if delete(mo.fields, f); len(mo.fields) == 0 {
			b.db.Remove(key)
			delete(b.m, key)
		}
	case 5:
		at := int64(w.rng.IntN(3)) * (w.now + int64(w.rng.IntN(200)))
		if h.SetDeadline(f, at) != had {
			w.t.Fatalf("SetDeadline(%q) of a field that was there: %v", f, had)
		}
		if had {
			mo.fields[f] = modelField{old.value, at}
		}
	default:
		got, ok := h.Get(f)
		if ok != had || got != old.value {
			w.t.Fatalf("Get(%q) = %q %v, want %q %v", f, got, ok, old.value, had)
		}
		w.keep(got)
	}
}

func (w *world) stepZSet(b *branch, key string) {
	mo := b.m[key]
	if mo == nil {
		o := NewZSet(b.db.Limits())
		o.ZSet().Set("m0", 0)
		b.db.Put(key, o)
		mo = &modelObj{typ: ZSet, scores: map[string]float64{"m0": 0}}
		b.m[key] = mo
	}
	z, m, score := b.db.Write(key).ZSet(), "m"+w.number([]int{6, 300}[int(key[1])%2]), w.score(key)
	old, had := mo.scores[m]
	switch w.rng.IntN(10) {
	case 0:
		i := w.rng.IntN(z.Len() + 1)
		j := min(z.Len(), i+w.rng.IntN(5))
		for _, e := range mo.sorted()[i:j] {
			delete(mo.scores, e.member)
		}
		z.RemoveRange(i, j)
	case 1, 2:
		w.pop(z, mo)
	case 3, 4:
		if z.Remove(m) != had {
			w.t.Fatalf("Remove(%q) of a member that was there: %v", m, had)
		}
		delete(mo.scores, m)
	default:
		if got, existed := z.Set(m, score); existed != had || got != old {
			w.t.Fatalf("Set(%q) = %v %v, want %v %v", m, got, existed, old, had)
		}
		mo.scores[m] = score
	}
	if z.Len() == 0 {
		b.db.Remove(key)
		delete(b.m, key)
	}
}

// score is one of some, and in every other large set one for long.
func (w *world) score(key string) float64 {
	if key[1]%4 == 3 && w.rng.IntN(100) > 0 {
		return 0
	}
	return float64(w.rng.IntN(9))
}

func (w *world) pop(z *ZSetObj, mo *modelObj) {
	all := mo.sorted()
	want, pop := all[0], z.PopMin
	if w.rng.IntN(2) == 0 {
		want, pop = all[len(all)-1], z.PopMax
	}
	if m, s, ok := pop(); !ok || m != want.member || s != want.score {
		w.t.Fatalf("pop = %q %v, want %v", m, s, want)
	}
	delete(mo.scores, want.member)
}

func (mo *modelObj) sorted() (all []scored) {
	for m, s := range mo.scores {
		all = append(all, scored{s, m})
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.member, b.member))
	})
	return all
}

// compare reads a whole branch and compares it with its model.
func (w *world) compare(b *branch) {
	if err := b.db.Check(); err != nil {
		w.t.Fatal(err)
	}
	keys := slices.Sorted(maps.Keys(b.m))
	var got []string
	b.db.Ascend("", func(key string, o *Object) bool {
		if k, _ := b.db.At(len(got)); k != key || b.db.Read(key) != o {
			w.t.Fatalf("At or Read disagree with Ascend about %q", key)
		}
		got = append(got, key)
		return true
	})
	if !slices.Equal(got, keys) || b.db.Len() != len(keys) {
		w.t.Fatalf("keys %v, want %v", got, keys)
	}
	expires := 0
	for _, key := range keys {
		o, mo := b.db.Read(key), b.m[key]
		if o.Type() != mo.typ || o.Expire() != mo.expire {
			w.t.Fatalf("%q is a %v until %d, want %v %d", key, o.Type(), o.Expire(), mo.typ, mo.expire)
		}
		if mo.expire != 0 {
			expires++
		}
		w.compareObject(key, o, mo)
	}
	if at, _ := b.db.NextDeadline(); at != b.m.nextDeadline() || b.db.ExpiresLen() != expires {
		w.t.Fatalf("next deadline %d, %d keys with one, want %d, %d", at, b.db.ExpiresLen(), b.m.nextDeadline(), expires)
	}
	w.compareAfter(b, keys)
}

func (w *world) compareAfter(b *branch, keys []string) {
	key := "k" + w.number(120)
	want := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k <= key })
	var got []string
	b.db.After(key, func(k string, _ *Object) bool { got = append(got, k); return true })
	if !slices.Equal(got, want) {
		w.t.Fatalf("keys after %q: %v, want %v", key, got, want)
	}
}

func (w *world) compareObject(key string, o *Object, mo *modelObj) {
	var got, want string
	switch mo.typ {
	case String:
		got, want = o.Str(), mo.str
	case Hash:
		got, want = dumpHash(w.t, o.Hash()), mo.dumpFields()
	case ZSet:
		got, want = dumpZSet(o.ZSet()), fmt.Sprint(mo.sorted())
		w.compareZSet(o.ZSet(), mo)
	case Stream:
		got, want = dumpStream(o.Stream()), mo.stream.dump()
		w.compareStream(o.Stream(), mo.stream)
	case List:
		got, want = fmt.Sprintf("%q", dumpList(w.t, o.List())), fmt.Sprintf("%q", mo.elems)
	case Set:
		got, want = dumpSet(w.t, o.Set()), fmt.Sprint(slices.Sorted(maps.Keys(mo.names)))
	}
	if got != want {
		w.t.Fatalf("%q holds\n%s, want\n%s", key, got, want)
	}
}

func (mo *modelObj) dumpFields() string {
	var all []string
	for f, v := range mo.fields {
		all = append(all, fmt.Sprintf("%s=%s@%d", f, v.value, v.at))
	}
	slices.Sort(all)
	return fmt.Sprint(len(all), all)
}

func dumpHash(t *testing.T, h *HashObj) string {
	var all []string
	h.Ascend(func(field, value string) bool {
		if f, v := h.At(len(all)); f != field || v != value {
			t.Fatalf("At(%d) = %q %q, Ascend says %q %q", len(all), f, v, field, value)
		}
		if n, ok := h.ValueLen(field); !ok || n != len(value) {
			t.Fatalf("ValueLen(%q) = %d %v", field, n, ok)
		}
		all = append(all, fmt.Sprintf("%s=%s@%d", field, value, h.Deadline(field)))
		return true
	})
	n := 0
	h.AscendSorted("", func(string, string) bool { n++; return true })
	slices.Sort(all)
	return fmt.Sprint(min(n, h.Len()), all)
}

func dumpZSet(z *ZSetObj) string {
	var all []scored
	z.Ascend(0, func(m string, s float64) bool { all = append(all, scored{s, m}); return true })
	return fmt.Sprint(all)
}

func (w *world) compareByName(z *ZSetObj, mo *modelObj, from string) {
	var got, want []indexed
	z.AscendSorted(from, func(m string, s float64) bool { got = append(got, indexed{m, s}); return true })
	for _, m := range slices.Sorted(maps.Keys(mo.scores)) {
		if m >= from {
			want = append(want, indexed{m, mo.scores[m]})
		}
	}
	if !slices.Equal(got, want) {
		w.t.Fatalf("AscendSorted(%q) = %v, want %v", from, got, want)
	}
}

// compareZSet compares ranks and the span of a random range.
func (w *world) compareZSet(z *ZSetObj, mo *modelObj) {
	all := mo.sorted()
	i := w.rng.IntN(len(all))
	if m, s := z.At(i); m != all[i].member || s != all[i].score {
		w.t.Fatalf("At(%d) = %q %v, want %v", i, m, s, all[i])
	}
	rank, ok := z.Rank(all[i].member)
	if s, _ := z.Score(all[i].member); !ok || rank != i || s != all[i].score {
		w.t.Fatalf("Rank(%q) = %d %v, Score %v, want %d %v", all[i].member, rank, ok, s, i, all[i].score)
	}
	w.compareByName(z, mo, all[i].member)
	r := ScoreRange{float64(w.rng.IntN(10)), float64(w.rng.IntN(10)), w.rng.IntN(2) == 0, w.rng.IntN(2) == 0}
	var want []scored
	for _, e := range all {
		if (e.score > r.Min || e.score == r.Min && !r.MinEx) && (e.score < r.Max || e.score == r.Max && !r.MaxEx) {
			want = append(want, e)
		}
	}
	first, end := z.ScoreSpan(r)
	if end-first != len(want) || len(want) > 0 && all[first] != want[0] {
		w.t.Fatalf("ScoreSpan(%v) = %d %d of %v, want %v", r, first, end, all, want)
	}
}
