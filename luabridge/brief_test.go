package luabridge

import (
	"testing"

	"github.com/echomq/echomq-sim/scripts"
)

// Scripts that can't run for long are not watched; all others must be.
func TestBriefScripts(t *testing.T) {
	for _, tt := range []struct {
		source string
		brief  bool
	}{
		{scripts.Enqueue.Source, true},
		{"return redis.call('GET', KEYS[1])", true},
		{"if ARGV[1] then return 1 else return string.rep('x', 3) end", true},
		{"while true do end", false},
		{"for i = 1, 2 do end", false},
		{"for k in pairs(KEYS) do end", false},
		{"repeat local x = ARGV[1] until x", false},
		{"return (function() return 1 end)()", false},
		{"return loadstring(ARGV[1])()", false},
		{"return load(ARGV[1])", false},
		{"return _G.loadstring('while true do end')()", false},
		{"return _G['loadstring']('while true do end')()", false},
		{"return getfenv(0).loadstring('while true do end')()", false},
		{"return os.clock()", false},
		{"local o = os return o.clock()", false},
		{"return coroutine.create(redis.call)", false},
	} {
		s, err := Compile(tt.source)
		if err != nil {
			t.Fatal(err)
		}
		if s.brief != tt.brief {
			t.Errorf("%s: brief %t", tt.source, s.brief)
		}
	}
}
