// Package store holds the data: keyspaces (DB) of objects (Object), each a string, a
// list, a set, a hash, a sorted set and so on, with deadlines and snapshots. It knows no
// client, no reply and no clock: times come in as Unix milliseconds.
//
// # Who may change what
//
// A DB and its objects belong to one goroutine at a time: the one that has the turn.
// Nothing here locks. The exception is a snapshot: as long as it is not written to, any
// number of goroutines may read it and take snapshots of it, while its source goes on.
//
// Objects are shared between a DB and its snapshots. Each carries the token of the DB
// that may change it:
//
//   - Read returns an object that may be shared. It must not be changed, but for its
//     access clock and frequency. It is the cheaper one.
//   - Write returns an object that is this DB's own, having replaced a shared one by a
//     copy that shares its contents. It may be changed until the end of the turn.
//   - Put takes an object over. Remove hands one over, to be put elsewhere.
//   - Snapshot and Object.Clone make objects shared: after them, call Write again.
//
// Below the objects the same rule holds for the blocks of a list or a large collection,
// and for the bytes of a string or a small hash: what somebody else may see is copied
// before it is changed. So strings that are returned stay as they are, and strings that
// are passed in are copied; but for a key that was looked up in vain: see DB.ForgetKey.
//
// The index of deadlines follows the fields of hashes by itself: Write and Put note
// hashes, and Due, NextDeadline, Snapshot and Check look at the noted ones first.
//
// # Cost
//
// n is the number of keys, fields or members.
//
//	Read, Write, Put, Remove, SetExpire    O(log n)
//	Due, NextDeadline, Snapshot, Flush     O(1)
//	DB.At, Rank, RemoveRange, spans        O(log n) + a walk over n/1000 counts
//	first change of an object after a
//	snapshot of its DB                     O(log n) + one block (24 KB), node or small value
//	Hash Get, Set, Del: packed             O(n), up to 512 fields
//	Hash Get, Set, Del: large              O(log n)
//	ZSet Set, Remove, Score                O(log n); up to 64 members O(n)
//	PopMin, PopMax                         O(1) + O(log n) for the member index
//	List push and pop, At, Ascend          O(log n)
//	List Set, Insert, RemoveRange          O(log n) + one node (8 KB on a server, here up to 44)
//	Set Has, Add, Remove: listpack         O(n), up to 512 members
//	Set Has, Add, Remove: others           O(log n)
//	Stream Append, Get, Delete             O(log n)
//	Stream Trim                            O(log n) + the blocks of what goes
//	Stream RadixNodes                      O(nodes of the stream)
//	StreamGroup SetPending, RemovePending  O(log n) + O(log consumers)
//	first change of a group after a
//	snapshot                               O(1) for the group, O(log n) + one block for its entries
//	AppendStr                              amortised O(length appended)
//	Clone of an object                     O(1)
//
// # Names and order
//
// Encoding returns what a server would report, which says nothing about how a value is
// kept here. A hash that reports "listpack" shows its fields in the order of insertion,
// as servers do, up to 512 fields and 64 KB; larger ones are in the byte order of the
// field names. One that reports "hashtable" does so beyond 128 fields and 16 KB. A set that
// reports "listpack" keeps the order of insertion up to 512 members, an "intset" that of
// the numbers, and all others are in byte order.
//
// A list is in the nodes that a server would have: only so can it report "listpack" again
// when the server does. Of a stream's nodes only begin, end and size are kept, for clients
// see by approximate trimming and by XINFO where they are.
//
// # Adding a type
//
// A type is one file: a struct that implements body, a constructor that allocates it
// together with its Object, and a method of Object that returns it.
package store
