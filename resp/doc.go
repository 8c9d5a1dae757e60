// Package resp is the wire: reply values, their encoding in RESP2 and RESP3,
// request parsing, the server's connection loop and a small client. It knows
// nothing of commands or data; the engine plugs in through Handler.
//
// # Kinds
//
// A Value has one form per protocol version. Append writes exactly these bytes
// (CRLF after each header and body left out):
//
//	Kind       RESP2               RESP3               example of a source
//	Null       $-1                 _                   GET of a missing key
//	NullArray  *-1                 _                   BLPOP timeout, aborted EXEC
//	Simple     +text               +text               SET
//	Err        -CODE text          -CODE text          any refusal
//	Int        :n                  :n                  HSET
//	Bulk       $len bytes          $len bytes          GET
//	Double     $len text           ,text               ZSCORE
//	Bool       :1 or :0            #t or #f            scripts
//	BigNum     $len digits         (digits             scripts
//	Verbatim   $len bytes          =len+4 txt:bytes    INFO, CLIENT LIST
//	Array      *n                  *n                  LRANGE
//	Map        *2n, flat           %n                  HGETALL
//	Set        *n                  ~n                  SMEMBERS
//	Pairs      *2n, flat           *n of *2            ZRANGE WITHSCORES
//	Push       *n                  >n                  pub/sub, tracking
//	None       nothing             nothing             CLIENT REPLY OFF
//
// CR and LF inside Simple, Err and BigNum become spaces, because nothing else
// marks the end of those lines. None is for whole replies only: as an element
// it would make its array one short. Map and Pairs hold an even number of
// elements.
//
// # Server
//
// A loop serves all sockets, and another all connections in memory: read what came
// first, let its Session take a turn, write, go on with what came next. So commands of
// several clients run in the order in which they were sent, as on the server. It reads
// on while the client is blocked in a command, so a hang-up is noticed; blocked is a
// state of the Session. A turn that takes long gives the loop to another goroutine. The
// loop of the memory has none while nothing is to be done, and then is mostly run by the
// goroutine of the client that writes.
// Output that the peer does not take at once is left to a goroutine that lives only
// until it is written, so a client may send any number of commands before it reads the
// first reply.
//
// TLS, wrapped connections, and sockets of systems without epoll have a goroutine for
// each connection, and the scheduler decides between those that have input.
//
// Goroutines, channels and timers belong to a Server, a Listener or a
// connection, none to the package, so all of it works inside a testing/synctest
// bubble when it is used with NewListener.
package resp
