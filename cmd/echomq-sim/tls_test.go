package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/resp"
)

type tlsReady struct{ Addr, URL, CACert string }

// ping is what PING answers over TLS.
func ping(addr string, conf *tls.Config) (string, error) {
	nc, err := tls.Dial("tcp", addr, conf)
	if err != nil {
		return "", err
	}
	c := resp.NewClient(nc)
	defer c.Close()
	v, err := c.Do("PING")
	return v.Str, err
}

func trusting(t *testing.T, path string) *tls.Config {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		t.Fatalf("no certificate in %s", path)
	}
	return &tls.Config{RootCAs: pool}
}

func TestThrowAwayCertificate(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	line, stop := start(t, "--addr", "127.0.0.1:0", "--ready-json", "--tls")
	var ready tlsReady
	if err := json.Unmarshal([]byte(line), &ready); err != nil || ready.URL != "rediss://"+ready.Addr {
		t.Fatalf("ready line %q: %v", line, err)
	}
	if got, err := ping(ready.Addr, trusting(t, ready.CACert)); got != "PONG" {
		t.Errorf("PING answered %q, %v", got, err)
	}
	stop()
	if _, err := os.Stat(ready.CACert); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", ready.CACert, err)
	}
}

// certFiles writes a certificate and its key to files.
func certFiles(t *testing.T) (cert, key string) {
	t.Helper()
	conf, certPEM, err := echomqsim.SelfSigned()
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(conf.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for path, text := range map[string][]byte{cert: certPEM, key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestGivenCertificate(t *testing.T) {
	cert, key := certFiles(t)
	line, stop := start(t, "--addr", "127.0.0.1:0", "--ready-json", "--tls-cert-file", cert, "--tls-key-file", key)
	defer stop()
	var ready tlsReady
	if err := json.Unmarshal([]byte(line), &ready); err != nil || ready.CACert != "" {
		t.Fatalf("ready line %q: %v", line, err)
	}
	if got, err := ping(ready.Addr, trusting(t, cert)); got != "PONG" {
		t.Errorf("PING answered %q, %v", got, err)
	}
}

func TestClientCertificates(t *testing.T) {
	cert, key := certFiles(t)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		mode             string
		without, foreign bool // is a client served without a certificate, with another's?
	}{{"yes", false, false}, {"optional", true, false}, {"no", true, true}} {
		line, stop := start(t, "--addr", "127.0.0.1:0", "--ready-json", "--tls-cert-file", cert, "--tls-key-file", key,
			"--tls-ca-cert-file", cert, "--tls-auth-clients", tc.mode)
		var ready tlsReady
		if err := json.Unmarshal([]byte(line), &ready); err != nil {
			t.Fatal(err)
		}
		plain := trusting(t, cert)
		if got, err := ping(ready.Addr, plain); (got == "PONG") != tc.without {
			t.Errorf("%s: without a certificate PING answered %q, %v", tc.mode, got, err)
		}
		foreign := plain.Clone()
		foreign.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		if got, err := ping(ready.Addr, foreign); (got == "PONG") != tc.foreign { // a server's certificate, no client's
			t.Errorf("%s: with a certificate of another use PING answered %q, %v", tc.mode, got, err)
		}
		stop()
	}
}

func TestBadTLSFlags(t *testing.T) {
	cert, key := certFiles(t)
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--tls-auth-clients", "no"}, "without --tls"},
		{[]string{"--tls-cert-file", cert}, "go together"},
		{[]string{"--tls", "--tls-key-file", key}, "go together"},
		{[]string{"--tls-cert-file", key, "--tls-key-file", cert}, "--tls-cert-file"},
		{[]string{"--tls", "--tls-ca-cert-file", key}, "no certificate in"},
		{[]string{"--tls", "--tls-ca-cert-file", "/nosuch"}, "--tls-ca-cert-file"},
		{[]string{"--tls", "--tls-auth-clients", "yes"}, "needs --tls-ca-cert-file"},
		{[]string{"--tls", "--tls-auth-clients", "maybe"}, "not yes, no or optional"},
		{[]string{"--user", "a bogus"}, "Syntax error"},
		{[]string{"--protected-mode", "maybe"}, "ProtectedMode"},
	} {
		t.Setenv("TMPDIR", t.TempDir())
		var stderr bytes.Buffer
		if code := run(context.Background(), tc.args, strings.NewReader(""), io.Discard, &stderr); code != 2 {
			t.Errorf("%v: exit code %d, want 2", tc.args, code)
		}
		if !strings.Contains(stderr.String(), tc.want) {
			t.Errorf("%v: said %q, want %q in it", tc.args, stderr.String(), tc.want)
		}
		if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
			t.Errorf("%v: left %v", tc.args, left)
		}
	}
}

func TestWarningOfAnOpenServer(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"--addr", "0.0.0.0:0"}, "protected mode answers -DENIED"},
		{[]string{"--addr", "0.0.0.0:0", "--protected-mode", "no"}, "everyone who can reach it"},
		{[]string{"--addr", "0.0.0.0:0", "--requirepass", "x"}, ""},
		{[]string{"--addr", "0.0.0.0:0", "--user", "default on >x ~* +@all"}, ""},
		{[]string{"--addr", "127.0.0.1:0"}, ""},
	} {
		var stderr bytes.Buffer
		if code := run(context.Background(), append(tc.args, "--exit-with-stdin"), strings.NewReader(""), io.Discard, &stderr); code != 0 {
			t.Errorf("%v: exit code %d", tc.args, code)
		}
		if got := stderr.String(); tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%v: said %q, want %q in it", tc.args, got, tc.want)
		}
	}
}
