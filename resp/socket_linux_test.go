package resp

import (
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// loopPair is a connection over tr, and the server's side as a loop has it.
func loopPair(t *testing.T, tr transport) (client net.Conn, server *Conn) {
	t.Helper()
	ln, dial := tr.listen(t)
	client, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := ln.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	a := &acceptor{raw: raw}
	fd, peer, err := a.next()
	for err == syscall.EAGAIN {
		runtime.Gosched()
		fd, peer, err = a.next()
	}
	if err != nil {
		t.Fatal(err)
	}
	server = newSocketConn(NewServer(newEcho()), fd, peer, ln)
	t.Cleanup(func() { client.Close(); server.io.close(); ln.Close() })
	return client, server
}

func TestSocketAddresses(t *testing.T) {
	client, server := loopPair(t, transports[0])
	if server.RemoteAddr() != client.LocalAddr().String() || server.LocalAddr() != client.RemoteAddr().String() {
		t.Errorf("%s to %s, want %s to %s", server.RemoteAddr(), server.LocalAddr(), client.LocalAddr(), client.RemoteAddr())
	}
	client, server = loopPair(t, transport{listen: listenNet("tcp", ":0")})
	if server.RemoteAddr() != client.LocalAddr().String() {
		t.Errorf("%s, want %s", server.RemoteAddr(), client.LocalAddr())
	}
	client, server = loopPair(t, transports[1])
	if want := client.RemoteAddr().String() + ":0"; server.RemoteAddr() != want || server.LocalAddr() != want {
		t.Errorf("%s to %s, want %s", server.RemoteAddr(), server.LocalAddr(), want)
	}
}

func TestSocketHungUp(t *testing.T) {
	for _, tr := range transports[:2] {
		for how, hangUp := range waysToLeave {
			t.Run(tr.name+"/"+how, func(t *testing.T) {
				client, server := loopPair(t, tr)
				io.WriteString(client, "PING\r\n")
				if server.HungUp() {
					t.Fatal("hung up while there is something to read")
				}
				if err := hangUp(client); err != nil {
					t.Fatal(err)
				}
				waitHungUp(server)
			})
		}
	}
}

func TestSocketAbort(t *testing.T) {
	client, server := loopPair(t, transports[0])
	server.Abort()
	server.Abort()
	if n, err := client.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("%d bytes, %v", n, err)
	}
	server.io.close()
	server.io.close() // the descriptor may be another's now
	if !server.HungUp() {
		t.Error("a connection that was cut counts as alive")
	}
	server.KeepAlive(time.Minute)
}

func TestSocketKeepAlive(t *testing.T) {
	_, server := loopPair(t, transports[0])
	wantKeepAlive(t, server, func(level, name int) (int, error) { return syscall.GetsockoptInt(server.fd, level, name) })
	_, unix := loopPair(t, transports[1])
	unix.KeepAlive(time.Minute) // nothing to probe
}

// While the process is out of descriptors nobody can come, but those who are there are
// served; when one of them leaves it goes on.
// TestAcceptReportedAgain: a listener being closed may be reported until its descriptor is
// gone, while nobody waits for the acceptor's end any more.
func TestAcceptReportedAgain(t *testing.T) {
	ln, _ := transports[0].listen(t)
	raw, err := ln.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	a := &acceptor{server: NewServer(newEcho()), raw: raw, ended: make(chan error, 1), over: true}
	for range 3 {
		if !a.accept() {
			t.Fatal("the loop was handed over")
		}
	}
	if err := <-a.ended; err == nil {
		t.Error("no error")
	}
}

func TestAcceptWithoutDescriptors(t *testing.T) {
	for _, own := range []bool{false, true} {
		srv := NewServer(newEcho())
		srv.OwnThread = own
		ln, dial := listenNet("tcp", "127.0.0.1:0")(t)
		served := make(chan error, 1)
		go func() { served <- srv.Serve(ln) }()
		connect := func() *Client {
			nc, err := dial()
			if err != nil {
				t.Fatal(err)
			}
			return NewClient(nc)
		}
		stays, leaves := connect(), connect()
		for _, c := range []*Client{stays, leaves} {
			mustDo(t, c, "+PONG", "PING")
		}
		held := takeDescriptors(t)
		held[0].Close()
		late := connect()
		late.Send("PING")
		late.Flush()
		for range 100 {
			mustDo(t, stays, "+PONG", "PING")
		}
		leaves.Close() // both ends are in this process
		if v, err := late.Receive(); err != nil || v.Str != "PONG" {
			t.Error(Format(v), err)
		}
		for _, f := range held {
			f.Close()
		}
		srv.Close()
		<-served
		stays.Close()
		late.Close()
	}
}

// takeDescriptors opens files until the process may open no more.
func takeDescriptors(t *testing.T) (held []*os.File) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) })
	few := limit
	few.Cur = 200
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	for range 300 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return held
		}
		held = append(held, f)
	}
	t.Fatal("no end of descriptors")
	return nil
}
