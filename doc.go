// Package echomqsim is an in-memory Valkey for tests and offline work, written
// in Go: a single-threaded engine owns the keyspace, runs real, unmodified Lua
// scripts, and answers the RESP protocol, so that clients in any language talk
// to it with no server installed.
//
// # Basics
//
//	srv := echomqsim.RunT(t, echomqsim.Config{}) // closed by t.Cleanup
//	rdb := redis.NewClient(&redis.Options{Addr: srv.Addr()})
//
// RunT costs no socket until Addr is asked for. Dial and DialContext connect in
// memory; Do runs a command without any connection. A server made with a Manual
// clock stands still until Advance moves it, and whatever falls due on the way
// (expiry, time-outs) happens then, in order. Snapshot and Restore put the whole
// keyspace aside and back in constant time.
//
// Any number of servers live side by side in one process. A server that is made
// inside a testing/synctest bubble lives in that bubble's time; connect to it
// with Dial or DialContext there, since real sockets stop a bubble's clock.
//
// # One command's path
//
// resp/server.go reads and parses; engine.Session.Turn takes the engine's one
// lock for all commands of that read; engine/dispatch.go finds the command's row,
// passes the gates and calls the handler in engine/cmd_<group>.go, which works on
// store/<type>.go and returns a resp.Value; resp/append.go encodes it for the
// client's protocol; after the lock is gone the connection writes once. A script
// enters dispatch again with every redis.call.
package echomqsim
