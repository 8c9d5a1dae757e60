package echomqsim_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
)

// floorEnv makes the test binary a server at the address that it holds that answers without
// looking: what is left of a command at a time is the system's part and the client's.
const floorEnv = "ECHOMQSIM_BENCH_FLOOR"

// serveFloor serves until standard input is closed.
func serveFloor(addr string) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			go answer(nc.(*net.TCPConn))
		}
	}()
	io.Copy(io.Discard, os.Stdin)
	ln.Close()
}

// answer takes each read for one command, and does not sleep.
func answer(nc *net.TCPConn) {
	defer nc.Close()
	c, err := looking(nc)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	in := make([]byte, 64<<10)
	for {
		n, err := c.Read(in)
		if err != nil {
			return
		}
		reply := ":1\r\n"
		if bytes.Contains(in[:n], []byte("PING")) {
			reply = "+PONG\r\n" // as who starts it wants to see
		}
		if _, err := io.WriteString(c, reply); err != nil {
			return
		}
	}
}

// floor tells how far ahead of miniredis a server can be at all with one ENQ at a time. It
// takes the simulator's turns.
func (r *report) floor(m *peer) {
	f := r.startPeer(floor)
	defer f.stop()
	nc := m.dial()
	r.check(prepare(nc, &enqWork))
	nc.Close()
	loads := [numPeers]*load{sim: f.load(&enqWork, 1, 1), mini: m.load(&enqWork, 1, 1)}
	defer loads[sim].close()
	defer loads[mini].close()
	rs := r.turns(loads)
	floor, mini := rs.of(sim, rate), rs.of(mini, rate)
	r.printf("\nA server that never sleeps and answers without looking at what it was sent takes %s commands a second at 1 x 1\nhere, %s times as many as miniredis takes ENQs.\n",
		short(floor.median()), floor.over(mini))
}
