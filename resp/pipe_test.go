package resp

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// wallTime is real time, as engine.WallTime is for servers.
type wallTime struct{}

func (wallTime) Until(t time.Time) time.Duration                 { return time.Until(t) }
func (wallTime) AfterFunc(d time.Duration, f func()) *time.Timer { return time.AfterFunc(d, f) }

func testPipe() (a, b *memConn) { return newPipe(memAddr(1), memAddr(2), wallTime{}) }

func TestPipeBuffersAndBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := testPipe()
		if n, err := a.Write(make([]byte, pipeLimit)); n != pipeLimit || err != nil {
			t.Fatal(n, err) // no reader is needed
		}
		if n, err := a.TryWrite([]byte("x")); n != 0 || err != nil {
			t.Errorf("TryWrite into a full buffer: %d, %v", n, err)
		}
		written := false
		go func() {
			a.Write(make([]byte, 100))
			written = true
		}()
		synctest.Wait()
		if written {
			t.Error("Write did not wait")
		}
		if n, err := io.ReadFull(b, make([]byte, 50)); n != 50 || err != nil {
			t.Fatal(n, err)
		}
		synctest.Wait()
		if written {
			t.Error("Write did not wait for all of its bytes")
		}
		io.ReadFull(b, make([]byte, 50))
		synctest.Wait()
		if !written {
			t.Error("Write goes on waiting")
		}
		if n, _ := b.Read(make([]byte, 2*pipeLimit)); n != pipeLimit {
			t.Errorf("%d bytes left", n)
		}
	})
}

func TestPipeWritesDoNotMix(t *testing.T) {
	a, b := testPipe()
	var writers sync.WaitGroup
	for _, text := range []string{"a", "b", "c"} {
		writers.Go(func() { a.Write([]byte(strings.Repeat(text, 2*pipeLimit))) })
	}
	go func() {
		writers.Wait()
		a.Close()
	}()
	all, err := io.ReadAll(b)
	if err != nil || len(all) != 6*pipeLimit {
		t.Fatal(len(all), err)
	}
	changes := 0
	for i := 1; i < len(all); i++ {
		if all[i] != all[i-1] {
			changes++
		}
	}
	if changes != 2 {
		t.Errorf("the writes are in %d pieces", changes+1)
	}
}

func TestPipeClose(t *testing.T) {
	one := make([]byte, 1)
	a, b := testPipe()
	a.Write([]byte("x"))
	a.CloseWrite()
	if _, err := a.Write(one); err != net.ErrClosed {
		t.Errorf("Write after CloseWrite: %v", err)
	}
	if n, err := b.Read(one); n != 1 || err != nil {
		t.Errorf("what was written before CloseWrite: %d, %v", n, err)
	}
	if _, err := b.Read(one); err != io.EOF {
		t.Errorf("Read after the peer's CloseWrite: %v", err)
	}
	if _, err := b.Write([]byte("y")); err != nil {
		t.Errorf("the other direction: %v", err)
	}
	if n, err := a.Read(one); n != 1 || err != nil {
		t.Errorf("the other direction: %d, %v", n, err)
	}
	b.Write([]byte("z"))
	b.Close()
	if n, err := a.Read(one); n != 1 || err != nil {
		t.Errorf("what was written before Close: %d, %v", n, err)
	}
	if _, err := a.Read(one); err != io.EOF {
		t.Errorf("Read after the peer's Close: %v", err)
	}
	if _, err := b.Read(one); err != net.ErrClosed {
		t.Errorf("Read after Close: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	a, b = testPipe()
	b.Close()
	if _, err := a.Write(one); err != syscall.EPIPE {
		t.Errorf("Write after the peer's Close: %v", err)
	}
}

func TestPipeCloseWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := testPipe()
		var readErr, writeErr error
		go func() { _, readErr = a.Read(make([]byte, 1)) }()
		go func() { _, writeErr = a.Write(make([]byte, 2*pipeLimit)) }()
		synctest.Wait()
		a.Close()
		synctest.Wait()
		if readErr != net.ErrClosed || writeErr != net.ErrClosed {
			t.Errorf("own Close: %v, %v", readErr, writeErr)
		}
		b.Close()
	})
}

func TestPipeDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := testPipe()
		defer b.Close()
		defer a.Close()
		one := make([]byte, 1)
		start := time.Now()
		a.SetReadDeadline(start.Add(time.Minute))
		if _, err := a.Read(one); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Read: %v", err)
		}
		if waited := time.Since(start); waited != time.Minute {
			t.Errorf("Read waited for %v", waited)
		}
		b.Write([]byte("x"))
		if _, err := a.Read(one); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the deadline does not stay: %v", err)
		}
		a.SetReadDeadline(time.Time{})
		if n, err := a.Read(one); n != 1 || err != nil {
			t.Errorf("without a deadline: %d, %v", n, err)
		}

		a.SetWriteDeadline(time.Now().Add(time.Minute))
		if n, err := a.Write(make([]byte, 2*pipeLimit)); n != pipeLimit || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Write: %d, %v", n, err)
		}
		a.SetDeadline(time.Now().Add(time.Minute))
		a.SetDeadline(time.Now().Add(time.Hour)) // the first timer must not count
		start = time.Now()
		if _, err := a.Read(one); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Hour {
			t.Errorf("Read: %v after %v", err, time.Since(start))
		}
		var netErr net.Error
		if _, err := a.Read(one); !errors.As(err, &netErr) || !netErr.Timeout() {
			t.Errorf("not a timeout: %v", err)
		}
	})
}

func TestPipeDeadlineInThePast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := testPipe()
		defer b.Close()
		defer a.Close()
		var err error
		go func() { _, err = a.Read(make([]byte, 1)) }()
		synctest.Wait()
		a.SetReadDeadline(time.Unix(1, 0))
		synctest.Wait()
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("waiting Read: %v", err)
		}
	})
}

func TestListener(t *testing.T) {
	ln := NewListener(wallTime{})
	client, err := ln.Dial()
	if err != nil {
		t.Fatal(err)
	}
	server, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	other, _ := ln.Dial()
	if client.RemoteAddr().String() != "127.0.0.1:6379" || server.LocalAddr().String() != "127.0.0.1:6379" ||
		client.LocalAddr().String() != server.RemoteAddr().String() ||
		client.LocalAddr().String() == other.LocalAddr().String() {
		t.Error("addresses", client.LocalAddr(), client.RemoteAddr(), server.LocalAddr(), server.RemoteAddr(), other.LocalAddr())
	}
	ln.Close()
	if _, err := other.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("a connection not accepted: %v", err)
	}
	if _, err := ln.Dial(); err != net.ErrClosed {
		t.Errorf("Dial after Close: %v", err)
	}
	if _, err := ln.Accept(); err != net.ErrClosed {
		t.Errorf("Accept after Close: %v", err)
	}
}

// The whole server lives in a bubble: its clock goes on while all wait, and
// nothing is left at the end, or synctest would fail.
func TestServerInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln, h := NewListener(wallTime{}), newEcho()
		s := NewServer(h)
		go s.Serve(ln)
		nc, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		c := NewClient(nc)
		mustDo(t, c, "+PONG", "PING")
		start := time.Now()
		time.AfterFunc(time.Hour, func() { h.pushAll("late") })
		c.Send("BLOCK")
		c.Flush()
		v, err := c.Receive()
		if err != nil || v.Str != "late" || time.Since(start) != time.Hour {
			t.Errorf("%s, %v after %v", Format(v), err, time.Since(start))
		}
		for range 1000 { // 4 MB of replies wait while the clock goes on
			c.Send("BIG", "4000")
		}
		c.Flush()
		<-time.After(time.Hour)
		for i := range 1000 {
			if v, err := c.Receive(); err != nil || len(v.Str) != 4000 {
				t.Fatalf("reply %d: %d bytes, %v", i, len(v.Str), err)
			}
		}
		s.Close()
	})
}
