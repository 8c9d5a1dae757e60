package resp

import "testing"

// waits lets a client come at the given look of each of n waits, and returns in how many it
// was seen, and how often was looked in all.
func (p *patience) try(n, comesAt int) (seen, looks int) {
	for range n {
		now := 0
		if p.reward(func() bool { now++; return now == comesAt }) {
			seen++
		}
		looks += now
	}
	return seen, looks
}

func TestPatienceLearns(t *testing.T) {
	p := patience{most: mostLooks}
	for _, tc := range []struct {
		what              string
		waits, comesAt    int
		leastSeen, looked int
	}{
		{"a client that is quick", 1000, 20, 1000 - freshTry, 1000 * 20},
		{"one that takes a little longer", 1000, 60, 1000 - freshTry, 1000 * 60},
		{"one that does not come in time", 1000, mostLooks + 1, 0, 1000 * mostLooks / freshTry * 3 / 2},
		{"the first again", 1000, 20, 1000 - freshTry, 1000 * 20},
	} {
		seen, looks := p.try(tc.waits, tc.comesAt)
		if seen < tc.leastSeen || looks > tc.looked+mostLooks {
			t.Errorf("%s: seen in %d of %d waits after %d looks, want at least %d and at most %d looks",
				tc.what, seen, tc.waits, looks, tc.leastSeen, tc.looked)
		}
	}
}

func TestPatienceThatHasNone(t *testing.T) {
	var p patience
	if seen, looks := p.try(1000, 1); seen+looks > 0 {
		t.Errorf("seen in %d waits after %d looks", seen, looks)
	}
}
