// Package luabridge runs the server's Lua scripts on gopher-lua. It knows
// nothing of the engine: commands go out through a Caller and come back as
// resp values.
//
//	Compile ──> Script ────────────┐
//	                               ├─> Interp.Run, Interp.Call ──> resp.Value
//	ParseLibrary, Load ─> Library ─┘
//
// Commands and log lines go out through a Host.
//
// A script sees Lua 5.1 as the server has it: the same globals, read-only, the
// same libraries (string, table, math, os.clock, coroutine, cjson, cmsgpack,
// bit, struct, redis alias server), the same texts and positions in errors, the
// same order of a table's fields and the same random numbers. gopher-lua alone
// differs in all of these; what stands between is, by file:
//
//	lex parse* rewrite*   our own front end: Lua 5.1's syntax and messages, and
//	                      trees that gopher-lua's compiler gets right
//	interp sandbox watch  one Lua state for life, read-only tables, interrupts,
//	                      the memory limit
//	call errors frames    pcall and error texts with variable names
//	unsafe                the few unexported fields that needs; checked at start
//	convert redislib      replies and redis.*
//	library               function libraries: loading, registering, calling
//	the *lib files        Lua's libraries; cjson, cmsgpack, bit, struct
//	numbers grisu         numbers as text and back
//	order history walk    the order of fields
//
// # Replies
//
// Script RESP 2 (the default) and 3 (after redis.setresp(3)):
//
//	reply        in Lua, RESP 2    in Lua, RESP 3
//	null         false             nil
//	status       {ok=}             {ok=}
//	error        raised, or {err=} from pcall
//	integer      number            number
//	bulk string  string            string
//	double       string            {double=}
//	bool         number            boolean
//	big number   string            {big_number=}
//	verbatim     string            {verbatim_string={string=,format=}}
//	map          flat table        {map=}
//	set          table             {set={member=true}}
//	pairs        flat table        table of tables
//
// The way back is the same table read from the right; numbers are cut to
// integers, an array ends at its first nil, metatables are not asked.
//
// # Limits
//
// A script stops, with an error that its pcall cannot catch, when Interrupt is
// called, when the Poll hook says so or when the heap grows past MaxMemory. It
// is asked every PollEvery instructions, and inside the library functions that
// can run long. After a lack of memory the next run has a new Lua state.
//
// # Libraries
//
// Functions have a Lua state of their own, as on the server: other globals
// while their library loads than when they are called, no KEYS and ARGV, and
// variables that live from call to call. A state that is lost, or a snapshot
// that is restored, makes a library's code run again before its next call.
//
// # Known differences from the server
//
// Seen by the random programs of program_test.go, each in less than 1 of 1,000:
//
//   - The order of fields, and where a list with holes ends, may differ after
//     setmetatable, when fields are set while pairs runs, and when a constructor sets a
//     field twice, or has computed keys of which some are numbers or nil.
//   - Negative zero is kept by unary minus, *, /, % and ^, but becomes zero in
//     sums, and in products of a positive constant with a variable. Division by it shows
//     in the sign of infinity.
//     The server compiles 0 and -0 of one function to one constant, the first it
//     meets; here each is itself.
//   - The variable that an error names can be missing ('?').
//
// Others:
//
//   - CR and LF in an error's text become spaces. The server sends the text of
//     error("a\nb") as it is, which breaks the protocol.
//   - error({}) without an err field crashes the server; here it is an error.
//   - Replies and cjson or cmsgpack texts that grow beyond the memory limit are an
//     error; the server runs out of memory.
//   - An element with an index below 4,194,304 takes memory for all elements before it, so
//     some tables with few elements of large indexes reach the memory limit, which the
//     server does not have.
//   - Changing the metatable of strings has no effect; in the server it lasts
//     for all later scripts.
//   - The last digits of sin, atan2, sinh and the like can differ; those of x^y,
//     exp and log in few cases of 1,000.
//   - A yield cannot cross a for-in loop's iterator function.
//   - string.dump gives the header of a binary chunk only; nothing loads those.
//   - os.clock counts instructions, 10 ns each. Addresses have fewer digits.
//   - Calls nest 8,000 deep, not 20,000.
//   - Recursion through metamethods ends with "stack overflow", not "C stack
//     overflow", and later.
//   - Two functions of one library whose names differ in case only: the first is
//     the one that can be called.
//   - FUNCTION RESTORE has the time limit of FUNCTION LOAD.
//   - In a statement of several lines a debugger may miss a stop of the server's: at the end
//     of a constructor, or at the "do" of a loop that does not stand in the line of "for". In
//     a loop whose variables functions have captured it may miss the line of its last "end",
//     and it stops at a variable that is set to itself.
package luabridge
