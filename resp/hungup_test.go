package resp

import (
	"crypto/tls"
	"io"
	"net"
	"runtime"
	"testing"
)

// acceptedPair is a connection over tr, and the server's side of it.
func acceptedPair(t *testing.T, tr transport) (client net.Conn, server *Conn) {
	t.Helper()
	ln, dial := tr.listen(t)
	client, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	nc, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); nc.Close(); ln.Close() })
	return client, newConn(NewServer(newEcho()), nc)
}

// waitHungUp waits until what the peer did has arrived; the test's time limit ends it.
func waitHungUp(c *Conn) {
	for !c.HungUp() {
		runtime.Gosched()
	}
}

// waysToLeave are how a client hangs up.
var waysToLeave = map[string]func(nc net.Conn) error{
	"close":      net.Conn.Close,
	"half close": func(nc net.Conn) error { return nc.(interface{ CloseWrite() error }).CloseWrite() },
}

func TestHungUp(t *testing.T) {
	tlsOver := func(tr transport) transport {
		return transport{name: "tls over " + tr.name, listen: func(t *testing.T) (net.Listener, func() (net.Conn, error)) {
			ln, dial := tr.listen(t)
			return tls.NewListener(ln, &tls.Config{}), dial
		}}
	}
	kinds := append([]transport{tlsOver(transports[0]), tlsOver(transports[2])}, transports[:3]...)
	for _, tr := range kinds {
		for how, hangUp := range waysToLeave {
			t.Run(tr.name+"/"+how, func(t *testing.T) {
				client, server := acceptedPair(t, tr)
				if server.HungUp() {
					t.Fatal("hung up at the start")
				}
				io.WriteString(client, "PING\r\n")
				if server.HungUp() {
					t.Fatal("hung up while there is something to read")
				}
				if err := hangUp(client); err != nil {
					t.Fatal(err)
				}
				if runtime.GOOS != "linux" { // elsewhere the end is seen once it comes first
					io.ReadFull(transportOf(server.nc), make([]byte, len("PING\r\n")))
				}
				waitHungUp(server)
			})
		}
	}
}

// transportOf is what a TLS connection runs over.
func transportOf(nc net.Conn) net.Conn {
	if wrapped, ok := nc.(*tls.Conn); ok {
		return wrapped.NetConn()
	}
	return nc
}

func TestHungUpAfterAbort(t *testing.T) {
	for _, tr := range transports {
		_, server := acceptedPair(t, tr)
		server.Abort()
		if !server.HungUp() {
			t.Errorf("%s: a connection that was cut counts as alive", tr.name)
		}
	}
}

func TestHungUpOfWhatCannotTell(t *testing.T) {
	client, server := acceptedPair(t, transports[3])
	client.Close()
	if server.HungUp() {
		t.Error("a bare net.Conn shows its end only to who reads it")
	}
}
