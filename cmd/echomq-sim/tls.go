package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"

	echomqsim "github.com/echomq/echomq-sim"
)

// tlsOptions are the flags about TLS.
type tlsOptions struct {
	on                    bool
	cert, key, ca, client string
	selfSigned            string // the file with the throw-away certificate; empty: none was made
}

func (o *tlsOptions) register(fs *flag.FlagSet) {
	fs.BoolVar(&o.on, "tls", false, "speak TLS on --addr, with a throw-away certificate unless one is given")
	fs.StringVar(&o.cert, "tls-cert-file", "", "server certificate, `PEM` file; implies --tls")
	fs.StringVar(&o.key, "tls-key-file", "", "private key of the certificate, `PEM` file")
	fs.StringVar(&o.ca, "tls-ca-cert-file", "", "certificates that clients' are checked against, `PEM` file")
	fs.StringVar(&o.client, "tls-auth-clients", "", "must clients have a certificate: `yes|no|optional` (default yes with --tls-ca-cert-file, else no)")
}

// config makes Config.TLS for the host of --addr; nil means no TLS.
func (o *tlsOptions) config(host string) (*tls.Config, error) {
	if o.cert == "" && !o.on {
		if o.key+o.ca+o.client != "" {
			return nil, errors.New("flags about TLS without --tls")
		}
		return nil, nil
	}
	if (o.cert == "") != (o.key == "") {
		return nil, errors.New("--tls-cert-file and --tls-key-file go together")
	}
	c, err := o.certificate(host)
	if err == nil {
		err = o.checkClients(c)
	}
	if err != nil {
		o.cleanUp()
		return nil, err
	}
	return c, nil
}

// certificate is the server's side: the given certificate, or one made for the host
// and left in a file for clients to trust.
func (o *tlsOptions) certificate(host string) (*tls.Config, error) {
	if o.cert != "" {
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert-file: %w", err)
		}
		return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
	}
	c, pem, err := echomqsim.SelfSigned(namesOf(host)...)
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp("", "echomq-sim-*.pem")
	if err != nil {
		return nil, err
	}
	o.selfSigned = f.Name()
	_, err = f.Write(pem)
	return c, errors.Join(err, f.Close())
}

// namesOf are the names that a server on host may be called by: all addresses of
// the machine when it listens on all of them.
func namesOf(host string) []string {
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return []string{host}
	}
	var names []string
	if name, err := os.Hostname(); err == nil {
		names = append(names, name)
	}
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok {
			names = append(names, n.IP.String())
		}
	}
	return names
}

// checkClients sets what clients have to show.
func (o *tlsOptions) checkClients(c *tls.Config) error {
	if o.ca != "" {
		pem, err := os.ReadFile(o.ca)
		if err != nil {
			return fmt.Errorf("--tls-ca-cert-file: %w", err)
		}
		c.ClientCAs = x509.NewCertPool()
		if !c.ClientCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("--tls-ca-cert-file: no certificate in %s", o.ca)
		}
	}
	switch {
	case o.client == "no" || o.client == "" && o.ca == "":
		return nil
	case o.client != "" && o.client != "yes" && o.client != "optional":
		return fmt.Errorf("--tls-auth-clients %q is not yes, no or optional", o.client)
	case o.ca == "":
		return errors.New("--tls-auth-clients needs --tls-ca-cert-file")
	}
	c.ClientAuth = tls.RequireAndVerifyClientCert
	if o.client == "optional" {
		c.ClientAuth = tls.VerifyClientCertIfGiven
	}
	return nil
}

// cleanUp removes the throw-away certificate.
func (o *tlsOptions) cleanUp() {
	if o.selfSigned != "" {
		os.Remove(o.selfSigned)
	}
}
