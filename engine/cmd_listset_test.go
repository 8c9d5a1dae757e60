package engine

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

func listSetEngine(t *testing.T) *Engine {
	t.Helper()
	e, err := New(Config{Clock: Real(), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// The events of commands on lists and sets, as valkey-server 8.0.1 emits them.
func TestListSetEvents(t *testing.T) {
	for _, c := range []struct{ commands, want string }{
		{"RPUSH k a b c|LPUSH k z|LPUSHX none a|RPUSHX k d|LPOP k|LPOP k 0|RPOP k 2|LSET k 0 x|LINSERT k AFTER x y|" +
			"LINSERT k AFTER none y|LREM k 0 none|LREM k 0 y|LTRIM k 0 -1|LMOVE k d LEFT RIGHT|RPOPLPUSH d d|" +
			"LMOVE none d LEFT RIGHT|LMOVE d k RIGHT LEFT|RPUSH k x x|LREM k -2 x|LREM k 0 x|RPUSH k 1 2 3|LTRIM k 5 9|" +
			"RPUSH k 1 2 3|LMPOP 2 none k LEFT COUNT 2|LMPOP 2 none k RIGHT COUNT 5|LPOP k 3|RPUSH k a|RPOP k 10",
			"new k, rpush k, lpush k, rpush k, lpop k, rpop k, lset k, linsert k, lrem k, ltrim k, new d, rpush d, lpop k, " +
				"lpush d, rpop d, lpush k, rpop d, del d, rpush k, lrem k, lrem k, rpush k, ltrim k, del k, new k, rpush k, " +
				"lpop k, rpop k, del k, new k, rpush k, rpop k, del k"},
		{"SADD k a b c d|SADD k a|SREM k none|SREM k a|SMOVE k d b|SMOVE k d none|SADD d c|SMOVE k d c|SMOVE k d d|" +
			"SMOVE d d b|SADD k a b x|SINTERSTORE r k d|SINTERSTORE r k none|SINTERSTORE r k none|SUNIONSTORE r k d|" +
			"SDIFFSTORE r k d|SDIFFSTORE r k k|SADD one x|SPOP one|SADD p 1 2 3 4 5 6 7 8|SPOP p 0|SPOP p 7|SPOP p 5|" +
			"SADD p 1 2|SPOP p 2|SREM k a b x y z|SUNIONSTORE d none",
			"new k, sadd k, srem k, srem k, new d, sadd d, sadd d, srem k, srem k, del k, sadd d, new k, sadd k, new r, " +
				"sinterstore r, del r, new r, sunionstore r, sdiffstore r, del r, new one, sadd one, spop one, del one, " +
				"new p, sadd p, spop p, spop p, del p, new p, sadd p, spop p, del p, srem k, del k, del d"},
	} {
		e := listSetEngine(t)
		var got []string
		e.core.onKeyEvent = func(ev KeyEvent) {
			if ev.Class != byte(eventKeyMiss) {
				got = append(got, ev.Event+" "+ev.Key)
			}
		}
		for _, line := range strings.Split(c.commands, "|") {
			if v := e.Do(strings.Fields(line)...); v.IsErr() {
				t.Fatalf("%s: %s", line, v.Str)
			}
		}
		if events := strings.Join(got, ", "); events != c.want {
			t.Errorf("got  %s\nwant %s", events, c.want)
		}
	}
}

// Members that stay are returned exactly once, whatever happens to others.
func TestSScanGuarantee(t *testing.T) {
	const n = 1000
	e := listSetEngine(t)
	for i := range n {
		e.Do("SADD", "s", fmt.Sprintf("m%04d", i))
	}
	seen := map[string]int{}
	cursor := "0"
	for calls := 0; ; calls++ {
		v := e.Do("SSCAN", "s", cursor, "COUNT", "20")
		for _, member := range texts(v.Elems[1]) {
			seen[member]++
		}
		if cursor = v.Elems[0].Str; cursor == "0" {
			break
		}
		if calls > n {
			t.Fatal("the scan does not end")
		}
		e.Do("SADD", "s", "x"+strconv.Itoa(calls), "a"+strconv.Itoa(calls))
		e.Do("SREM", "s", "a"+strconv.Itoa(calls/2))
		if calls%7 == 0 {
			e.Restore(e.Snapshot())
		}
	}
	for i := range n {
		if member := fmt.Sprintf("m%04d", i); seen[member] != 1 {
			t.Errorf("%s was returned %d times", member, seen[member])
		}
	}
}

// What is popped is gone, the rest is there, and every member has its turn.
func TestSPopAndSRandMember(t *testing.T) {
	e := listSetEngine(t)
	for _, size := range []int{1, 5, 100, 600} {
		for _, prefix := range []string{"", "m"} {
			for _, count := range []int{1, 2, 30, 84, 99, 100, 590, 5000} {
				checkPop(t, e, prefix, size, count)
			}
		}
	}
	drawn := map[string]bool{}
	e.Do("SADD", "s", "1", "2", "3", "4", "5")
	for range 100 {
		for _, m := range texts(e.Do("SRANDMEMBER", "s", "-3")) {
			drawn[m] = true
		}
		if different := texts(e.Do("SRANDMEMBER", "s", "3")); len(different) != 3 || different[0] == different[1] ||
			different[0] == different[2] || different[1] == different[2] {
			t.Fatalf("SRANDMEMBER s 3: %q", different)
		}
	}
	if len(drawn) != 5 {
		t.Errorf("%d of 5 members were ever drawn", len(drawn))
	}
}

func checkPop(t *testing.T, e *Engine, prefix string, size, count int) {
	t.Helper()
	left := map[string]bool{}
	for i := range size {
		m := prefix + strconv.Itoa(i)
		left[m] = true
		e.Do("SADD", "pop", m)
	}
	popped := texts(e.Do("SPOP", "pop", strconv.Itoa(count)))
	if len(popped) != min(size, count) {
		t.Errorf("SPOP %d of %d: %d members", count, size, len(popped))
	}
	for _, m := range popped {
		if !left[m] {
			t.Errorf("SPOP %d of %d: %q is no member or came twice", count, size, m)
		}
		delete(left, m)
	}
	stayed := texts(e.Do("SMEMBERS", "pop"))
	if len(stayed) != len(left) {
		t.Errorf("SPOP %d of %d: %d stayed", count, size, len(stayed))
	}
	for _, m := range stayed {
		if !left[m] {
			t.Errorf("SPOP %d of %d: %q stayed", count, size, m)
		}
	}
	e.Do("DEL", "pop")
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
}
