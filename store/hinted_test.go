package store

import (
	"maps"
	"math/rand/v2"
	"strconv"
	"testing"
)

// hintedPair is a sequence and what it must hold.
type hintedPair struct {
	r *hinted[indexed]
	m map[string]float64
}

// TestHintedModel changes sequences, and copies of them, next to maps: a hint may never lead
// to an element that has gone, moved to another place, or belongs to a copy.
func TestHintedModel(t *testing.T) {
	tinyBlocks(t, [3]int{4, 6, 8})
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 11))
		live := []hintedPair{{&hinted[indexed]{}, map[string]float64{}}}
		for step := range 6000 {
			p := live[rng.IntN(len(live))]
			if rng.IntN(50) == 0 {
				c := p.r.Clone()
				q := hintedPair{&c, maps.Clone(p.m)}
				if len(live) < 4 {
					live = append(live, q)
				} else {
					live[rng.IntN(len(live))] = q
				}
				continue
			}
			p.change(rng, step/700%2 == 0)
		}
		for _, p := range live {
			p.compare(t)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// change looks some members up, the empty one among them, and adds, changes or removes one.
func (p hintedPair) change(rng *rand.Rand, grow bool) {
	name := strconv.Itoa(rng.IntN(300))
	if name == "7" {
		name = ""
	}
	e, to := p.r.ref(indexed{member: name})
	_, known := p.m[name]
	switch op := rng.IntN(10); {
	case known != (e != nil):
		panic("member " + name + " there or not there")
	case known && e.score != p.m[name]:
		panic("score of member " + name)
	case known && (op < 3 || !grow):
		p.r.Delete(indexed{member: name})
		delete(p.m, name)
	case known:
		e.score = rng.Float64()
		p.m[name] = e.score
	case grow || op == 0:
		p.r.insert(to, indexed{name, float64(op)})
		p.m[name] = float64(op)
	}
}

func (p hintedPair) compare(t *testing.T) {
	if err := p.r.check(); err != nil {
		t.Error(err)
	}
	if p.r.Len() != len(p.m) {
		t.Errorf("%d elements, want %d", p.r.Len(), len(p.m))
	}
	p.r.Ascend(0, func(e indexed) bool {
		if score, ok := p.m[e.member]; !ok || score != e.score {
			t.Errorf("%q has %v, want %v", e.member, e.score, score)
		}
		if h, _ := p.r.find(e); h == nil || *h != e {
			t.Errorf("%q found as %v", e.member, h)
		}
		return true
	})
}
