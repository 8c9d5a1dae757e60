package luabridge

import (
	"testing"

	"github.com/echomq/echomq-sim/scripts"
)

// Scripts that can't run for long are not watched; all others must be. Those that match a
// pattern are not watched either, but may run for long.
func TestBriefScripts(t *testing.T) {
	for _, tt := range []struct {
		source string
		brief  bool
		soon   bool
	}{
		{scripts.Enqueue.Source, true, true},
		{"return redis.call('GET', KEYS[1])", true, true},
		{"if ARGV[1] then return 1 else return string.rep('x', 3) end", true, true},
		{"while true do end", false, false},
		{"for i = 1, 2 do end", false, false},
		{"for k in pairs(KEYS) do end", false, false},
		{"repeat local x = ARGV[1] until x", false, false},
		{"return (function() return 1 end)()", false, false},
		{"return loadstring(ARGV[1])()", false, false},
		{"return load(ARGV[1])", false, false},
		{"return _G.loadstring('while true do end')()", false, false},
		{"return _G['loadstring']('while true do end')()", false, false},
		{"return getfenv(0).loadstring('while true do end')()", false, false},
		{"return os.clock()", false, false},
		{"local o = os return o.clock()", false, false},
		{"return coroutine.create(redis.call)", false, false},
		{"return string.find(ARGV[1], ARGV[2])", true, false},
		{"return ARGV[1]:gsub('a-b', '')", true, false},
		{"local s = string return s[ARGV[1]](ARGV[2], ARGV[3])", true, false},
		{"local f = ARGV[1].match return f(ARGV[1], ARGV[2])", true, false},
	} {
		s, err := Compile(tt.source)
		if err != nil {
			t.Fatal(err)
		}
		if s.brief != tt.brief || s.EndsSoon() != tt.soon {
			t.Errorf("%s: brief %t, ends soon %t", tt.source, s.brief, s.EndsSoon())
		}
	}
}
