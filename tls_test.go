package echomqsim_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"runtime"
	"strings"
	"testing"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/resp"
	"github.com/redis/go-redis/v9"
)

// tlsServer is a server with a throw-away certificate and what a client needs to trust it.
func tlsServer(t *testing.T, change func(*tls.Config)) (*echomqsim.Server, *tls.Config) {
	t.Helper()
	conf, pem, err := echomqsim.SelfSigned("sim.example")
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(conf)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		t.Fatal("no certificate in the PEM")
	}
	return echomqsim.RunT(t, echomqsim.Config{TLS: conf}), &tls.Config{RootCAs: roots}
}

func TestTLS(t *testing.T) {
	srv, trust := tlsServer(t, nil)
	c := redis.NewClient(&redis.Options{Addr: srv.Addr(), TLSConfig: trust})
	defer c.Close()
	ctx := context.Background()
	if err := c.Set(ctx, "k", strings.Repeat("v", 1<<20), 0).Err(); err != nil {
		t.Fatal(err)
	}
	if v, err := c.Get(ctx, "k").Result(); err != nil || len(v) != 1<<20 {
		t.Fatalf("GET gave %d bytes, %v", len(v), err)
	}
	sub := c.Subscribe(ctx, "ch") // a push has to wake a connection that waits for input
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		srv.Do("PUBLISH", "ch", "m")
		if m, err := sub.ReceiveMessage(ctx); err != nil || m.Payload != "m" {
			t.Fatal(m, err)
		}
	}
	want(t, srv.Do("CONFIG", "GET", "port"), "%\n  $port  $0")
	_, port, _ := net.SplitHostPort(srv.Addr())
	want(t, srv.Do("CONFIG", "GET", "tls-port"), "%\n  $tls-port  $"+port)
}

func TestTLSClientThatHangsUpTakesNothing(t *testing.T) {
	srv, trust := tlsServer(t, nil)
	for range 100 {
		nc, err := tls.Dial("tcp", srv.Addr(), trust)
		if err != nil {
			t.Fatal(err)
		}
		c := resp.NewClient(nc)
		c.Send("BLPOP", "l", "0")
		c.Flush()
		for !strings.Contains(srv.Do("INFO", "clients").Str, "blocked_clients:1") {
			runtime.Gosched()
		}
		nc.Close()
		want(t, srv.Do("RPUSH", "l", "x"), ":1")
		want(t, srv.Do("LPOP", "l"), "$x")
	}
}

func TestTLSNames(t *testing.T) {
	srv, trust := tlsServer(t, nil)
	for name, fits := range map[string]bool{"localhost": true, "127.0.0.1": true, "sim.example": true, "other.example": false} {
		conf := trust.Clone()
		conf.ServerName = name
		nc, err := tls.Dial("tcp", srv.Addr(), conf)
		if (err == nil) != fits {
			t.Errorf("%s: error %v", name, err)
		}
		if err == nil {
			nc.Close()
		}
	}
	if nc, err := tls.Dial("tcp", srv.Addr(), &tls.Config{}); err == nil {
		nc.Close()
		t.Error("trusted without the certificate")
	}
}

func TestTLSClientCertificates(t *testing.T) {
	srv, trust := tlsServer(t, func(c *tls.Config) {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	})
	nc, err := tls.Dial("tcp", srv.Addr(), trust)
	if err != nil {
		return // refused at once
	}
	defer nc.Close()
	nc.Write([]byte("PING\r\n"))
	if n, err := nc.Read(make([]byte, 64)); err == nil {
		t.Errorf("a client without a certificate got %d bytes", n)
	}
}

func TestPlainClientOfATLSServer(t *testing.T) {
	srv, _ := tlsServer(t, nil)
	nc, err := net.Dial("tcp", srv.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.Write([]byte("PING\r\n"))
	buf := make([]byte, 64)
	for {
		n, err := nc.Read(buf)
		if strings.Contains(string(buf[:n]), "PONG") {
			t.Fatal("served without TLS")
		}
		if err != nil {
			return
		}
	}
}
