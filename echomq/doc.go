// Package echomq is the host side of the EchoMQ protocol: the key grammar, the
// branded ids and the named handles.
//
// # Two beats
//
// A transition is read in two beats. Beat one is the handle, a function of this
// package such as [Enqueue]: it builds the keys that the transition touches,
// hands them over declared in KEYS, puts the values into ARGV, and turns the
// script's reply into a [Verdict]. Beat two is the script's body, a file of
// package scripts: it runs on the server, whole or not at all, and is the same
// for every language.
//
// Rules that must hold for every client stand in the body. The handle refuses
// only what has no key: a queue's name or an id outside the grammar.
//
// # Any server
//
// A handle talks to a [Conn], one method that sends a command. A few lines make
// one from go-redis, from rueidis or from the simulator; see the examples of
// [ConnFunc]. This package imports no client, so it adds none to a program.
//
// The simulator is for tests and for development. Code that has outgrown it
// keeps its handles and changes the address: the same calls run on Valkey,
// since the scripts are sent to whichever server is there, by digest first and
// with their source when it does not hold them yet.
//
// # Ids
//
// A [BrandedID] sorts as it was minted, so a sorted set of ids with equal scores
// is a queue. Mint them with a [Minter], one node number for each process.
package echomq
