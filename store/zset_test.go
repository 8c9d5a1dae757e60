package store

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// A large set has no index while its elements are of one score, gets one with the first that
// is of another, and is the same set all the time. Copies from before stay as they were.
func TestZSetOfOneScore(t *testing.T) {
	tinyBlocks(t, [3]int{4, 6, 8})
	for name, change := range map[string]func(z *ZSetObj, mo *modelObj){
		"another member": func(z *ZSetObj, mo *modelObj) { setBoth(z, mo, "x", 8) },
		"a lower one":    func(z *ZSetObj, mo *modelObj) { setBoth(z, mo, "x", -8) },
		"another score":  func(z *ZSetObj, mo *modelObj) { setBoth(z, mo, "100", 8) },
		"the first":      func(z *ZSetObj, mo *modelObj) { setBoth(z, mo, "0", 8) },
		"infinite":       func(z *ZSetObj, mo *modelObj) { setBoth(z, mo, "50", math.Inf(1)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t, rng: rand.New(rand.NewPCG(1, 12))}
			o := NewZSet(DefaultLimits())
			z, mo := o.ZSet(), &modelObj{scores: map[string]float64{}}
			for _, i := range w.rng.Perm(200) {
				setBoth(z, mo, strconv.Itoa(i), 7)
			}
			z.Remove("99")
			delete(mo.scores, "99")
			old, oldModel := o.Clone(), modelDB{"z": mo}.clone()["z"]
			z = old.Clone().ZSet()
			if z.members != nil {
				t.Fatal("an index that nothing needs")
			}
			w.compareLargeZSet(z, mo)
			change(z, mo)
			if z.members == nil {
				t.Fatal("no index")
			}
			w.compareLargeZSet(z, mo)
			w.compareLargeZSet(old.Clone().ZSet(), oldModel)
		})
	}
}

func setBoth(z *ZSetObj, mo *modelObj, member string, score float64) {
	z.Set(member, score)
	mo.scores[member] = score
}

func (w *world) compareLargeZSet(z *ZSetObj, mo *modelObj) {
	w.t.Helper()
	if err := z.check(); err != nil {
		w.t.Fatal(err)
	}
	if z.Len() != len(mo.scores) {
		w.t.Fatalf("%d members, want %d", z.Len(), len(mo.scores))
	}
	for range 300 {
		w.compareZSet(z, mo)
	}
	for _, m := range []string{"99", "", "zz"} {
		if s, ok := z.Score(m); ok {
			w.t.Fatalf("%q has the score %v", m, s)
		}
	}
	for m, s := range mo.scores {
		if old, existed := z.Set(m, s); !existed || old != s {
			w.t.Fatalf("Set(%q, %v) = %v, %v", m, s, old, existed)
		}
	}
}
