package luabridge

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// fieldOrder tells in which order the server fills a table of its own, and for how many
// fields it makes it: both decide how pairs shows them.
type fieldOrder struct {
	size  int
	names string
}

var (
	stringOrder = fieldOrder{15, "byte char dump find format gfind gmatch gsub len lower match rep reverse sub upper"}
	tableOrder  = fieldOrder{9, "concat foreach foreachi getn maxn insert remove setn sort"}
	mathOrder   = fieldOrder{28, "abs acos asin atan2 atan ceil cosh cos deg exp floor fmod frexp ldexp log10 log max min modf pow rad random " +
		"randomseed sinh sin sqrt tanh tan pi huge mod"}
	osOrder        = fieldOrder{1, "clock"}
	coroutineOrder = fieldOrder{6, "create resume running status wrap yield"}
	bitOrder       = fieldOrder{12, "tobit bnot band bor bxor lshift rshift arshift rol ror bswap tohex"}
	structOrder    = fieldOrder{3, "pack unpack size"}
	cmsgpackOrder  = fieldOrder{0, "pack unpack unpack_one unpack_limit _NAME _VERSION _COPYRIGHT _DESCRIPTION"}
	cjsonOrder     = fieldOrder{0, "encode decode encode_sparse_array encode_max_depth decode_max_depth encode_number_precision " +
		"encode_keep_buffer encode_invalid_numbers decode_invalid_numbers new null _NAME _VERSION"}
	redisOrder = fieldOrder{0, "register_function call pcall log LOG_DEBUG LOG_VERBOSE LOG_NOTICE LOG_WARNING REDIS_VERSION_NUM REDIS_VERSION " +
		"VALKEY_VERSION_NUM VALKEY_VERSION SERVER_NAME setresp sha1hex error_reply status_reply set_repl REPL_NONE REPL_AOF " +
		"REPL_SLAVE REPL_REPLICA REPL_ALL acl_check_cmd breakpoint debug replicate_commands"}
	baseOrder = fieldOrder{2, "_G assert collectgarbage error gcinfo getfenv getmetatable load loadstring next pcall rawequal rawget rawset " +
		"select setfenv setmetatable tonumber tostring type unpack xpcall _VERSION ipairs pairs newproxy"}
)

// setFields fills a table with those of the functions and constants that the order names.
func (v *vm) setFields(t *lua.LTable, order fieldOrder, funcs map[string]lua.LGFunction, constants map[string]lua.LValue) {
	if order.size > 0 && t.Metatable == lua.LNil {
		t.Metatable = sizeHint{hash: order.size, sized: true}
	}
	for _, name := range strings.Fields(order.names) {
		if fn, ok := funcs[name]; ok {
			t.RawSetString(name, v.L.NewFunction(fn))
		} else if value, ok := constants[name]; ok {
			t.RawSetString(name, value)
		}
	}
}

// readOnlyLibrary makes a read-only table of Go functions and constants.
func (v *vm) readOnlyLibrary(order fieldOrder, funcs map[string]lua.LGFunction, constants map[string]lua.LValue) *lua.LTable {
	t := v.L.CreateTable(0, len(funcs)+len(constants))
	v.setFields(t, order, funcs, constants)
	return v.lock(t)
}
