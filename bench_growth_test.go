package echomqsim_test

import (
	"fmt"
	"strconv"
)

// byPosition are commands whose cost may grow with the number of elements: fill makes
// elements from ARGV[1] to ARGV[2] in a script, key is theirs, args asks for one id.
var byPosition = []struct {
	name, key, fill string
	args            func(key, id string, n uint64) []string
}{
	{"LINDEX, any", "list", "redis.call('RPUSH', KEYS[1], 'element:' .. i)",
		func(key, id string, _ uint64) []string { return []string{"LINDEX", key, id} }},
	{"LRANGE, 10 in the middle", "list", "",
		func(key, _ string, n uint64) []string {
			return []string{"LRANGE", key, strconv.FormatUint(n/2, 10), strconv.FormatUint(n/2+9, 10)}
		}},
	{"ZRANK, any", "zset", "redis.call('ZADD', KEYS[1], i, 'm:' .. i)",
		func(key, id string, _ uint64) []string { return []string{"ZRANK", key, "m:" + id} }},
	{"ZRANGE by index, any", "zset", "",
		func(key, id string, _ uint64) []string { return []string{"ZRANGE", key, id, id} }},
	{"XRANGE, 10 from any", "stream", "redis.call('XADD', KEYS[1], i .. '-1', 'field', 'value')",
		func(key, id string, _ uint64) []string { return []string{"XRANGE", key, id, "+", "COUNT", "10"} }},
	{"SRANDMEMBER", "set", "redis.call('SADD', KEYS[1], 'm:' .. i)",
		func(key, _ string, _ uint64) []string { return []string{"SRANDMEMBER", key} }},
	{"HRANDFIELD", "hash", "redis.call('HSET', KEYS[1], 'f:' .. i, i)",
		func(key, _ string, _ uint64) []string { return []string{"HRANDFIELD", key} }},
}

// positions measures what finds elements by position, at growing sizes.
func (r *report) positions() {
	peers := r.startAll()
	defer stopAll(peers)
	peers[mini].stop()
	r.printf("\n### By position, growing\n\nMicroseconds a command, 64 in flight.\n\n" +
		"| command | elements | echomq-sim | valkey | sim / valkey | sim / itself at the first size | valkey / itself |\n|---|---|---|---|---|---|---|\n")
	sizes := []uint64{1000, 10_000, 100_000, 1_000_000}
	for _, c := range byPosition {
		if c.fill != "" {
			for _, n := range sizes {
				r.fillBoth(peers, fmt.Sprint(c.key, ":", n), c.fill, n)
			}
		}
		var first [numPeers]series
		for i, n := range sizes {
			rs := r.positionReadings(peers, func(id string) []string { return c.args(fmt.Sprint(c.key, ":", n), id, n) }, n)
			s, v := rs.of(sim, microsEach), rs.of(valkey, microsEach)
			if i == 0 {
				first = [numPeers]series{sim: s, valkey: v}
			}
			r.printf("| %s | %d | %s | %s | %s | %s | %s |\n", c.name, n, short(s.median()), short(v.median()), s.over(v),
				s.over(first[sim]), v.over(first[valkey]))
		}
	}
}

func microsEach(v reading) float64 { return 1e6 / v.rate }

// fillBoth gives a key n elements on the two servers, 10,000 for each script.
func (r *report) fillBoth(peers [numPeers]*peer, key, fill string, n uint64) {
	script := "for i = ARGV[1], ARGV[2] do " + fill + " end"
	for _, p := range peers[:mini] {
		for from := uint64(0); from < n; from += 10_000 {
			p.do("EVAL", script, "1", key, strconv.FormatUint(from+1, 10), strconv.FormatUint(min(from+10_000, n), 10))
		}
	}
}

// positionReadings measures one command on both servers in turns. Ids have as many digits
// as n, without leading zeros, and leave room for ten elements behind.
func (r *report) positionReadings(peers [numPeers]*peer, args func(id string) []string, n uint64) readings {
	w := workload{name: "position", from: n / 10, among: n - n/10 - 20, width: len(strconv.FormatUint(n-1, 10)), args: args}
	var loads [numPeers]*load
	for i := range mini {
		loads[i] = peers[i].load(&w, 64, 1)
		defer loads[i].close()
	}
	return r.turns(loads)
}
