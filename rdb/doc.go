// Package rdb turns values and whole keyspaces into the bytes that a server keeps them
// in, and back: the payloads of DUMP and RESTORE, and RDB files.
//
// It writes what Valkey 8.0.1 writes, in the encoding that each value reports, so that
// the bytes are the server's own wherever the server's order is determined: strings,
// lists, what is in a listpack or an intset, sorted sets and streams. A "hashtable" is
// written in the order that package store keeps it in. The one thing that version does
// not have is a hash whose fields have deadlines: it is written as Valkey 9 does, as
// type 22 in a payload or file of version 80.
//
// It reads all of that, and every older encoding that Valkey 8.0.1 reads. All input is
// taken for broken until proved sound: each count and length is held against what is
// there before anything is allocated for it, and everything inside a value is checked, as
// a server does when sanitize-dump-payload is set.
package rdb
