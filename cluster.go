package echomqsim

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/echomq/echomq-sim/engine"
)

// Cluster is a cluster of simulated servers in this process, without replicas.
//
// As on the server, the others answer for a node that was stopped as if it were there until
// cluster-node-timeout has passed: then CLUSTER NODES marks it with fail? and, when most nodes
// that have slots agree, with fail. From then on, with cluster-require-full-coverage, they answer
// that the cluster is down; so does a node that can't reach most others, in any case. A node that
// was started again serves nobody for two seconds; the others trust it again when twice the
// time-out has passed since it failed.
type Cluster struct {
	cfg    Config
	settle func()

	mu    sync.Mutex
	nodes []*Server
}

// MaxClusterNodes is the most that NewCluster makes.
const MaxClusterNodes = 1000

// NewCluster makes and starts a cluster of n nodes that share the slots equally. Each is
// made with cfg, but with Seed one higher than the last one's and, if cfg.Clock is
// Manual, a clock of its own that begins at that one's time: Advance moves them all. If
// cfg.Addr names a port the nodes listen on that one and the following; else each picks a free
// one.
func NewCluster(cfg Config, n int) (*Cluster, error) {
	if err := cfg.checkCluster(n); err != nil {
		return nil, err
	}
	cfg.Cluster = true
	c := &Cluster{cfg: cfg}
	var engines []*engine.Engine
	for i := range n {
		addr := cfg.Addr
		if addr != "" {
			host, port, _ := net.SplitHostPort(addr)
			if p, _ := strconv.Atoi(port); p != 0 {
				addr = net.JoinHostPort(host, strconv.Itoa(p+i))
			}
		}
		s, err := c.newNode(i, addr)
		if err != nil {
			c.Close()
			return nil, err
		}
		c.nodes = append(c.nodes, s)
		engines = append(engines, s.engine)
	}
	var err error
	if c.settle, err = engine.JoinCluster(engines); err != nil {
		c.Close()
		return nil, err
	}
	for _, s := range c.nodes {
		s.serve()
	}
	return c, nil
}

// checkCluster reports what n nodes can't have in common.
func (cfg *Config) checkCluster(n int) error {
	if n < 1 || n > MaxClusterNodes {
		return fmt.Errorf("echomqsim: a cluster of %d nodes, want 1 to %d", n, MaxClusterNodes)
	}
	if n > 1 && (cfg.Socket != "" || cfg.SaveFile != "" || cfg.ACLFile != "") {
		return errors.New("echomqsim: the nodes of a cluster can't share files")
	}
	if cfg.Addr == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(cfg.Addr)
	if err != nil {
		return fmt.Errorf("echomqsim: %w", err)
	}
	if p, _ := strconv.Atoi(port); p+n-1 > 65535 {
		return fmt.Errorf("echomqsim: there are no %d ports from %d", n, p)
	}
	return nil
}

// newNode makes node number i, which listens on addr but serves nobody yet.
func (c *Cluster) newNode(i int, addr string) (*Server, error) {
	cfg := c.cfg
	cfg.Addr = addr
	cfg.Seed += int64(i)
	cfg.Clock = engine.Twin(c.cfg.Clock)
	if log := c.cfg.Log; log != nil {
		cfg.Log = func(level engine.LogLevel, message string) { log(level, fmt.Sprintf("node %d: %s", i, message)) }
	}
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	s.leave = s.engine.NodeDown
	if err := s.listen(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Nodes are the servers, in the order of the slots that they began with. After Start the
// one that was started is another.
func (c *Cluster) Nodes() []*Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.nodes)
}

// Settle waits until all nodes have heard of what changed before the call.
func (c *Cluster) Settle() { c.settle() }

// Stop closes node number i, which others reach no more. If it was stopped before, or by a
// client's SHUTDOWN, it does nothing.
func (c *Cluster) Stop(i int) error { return c.Nodes()[i].Close() }

// Start starts node number i, which was stopped, on its old address. As a server without
// persistence it has its name, its slots and what it knew of the cluster, but no keys, scripts or
// changed parameters.
func (c *Cluster) Start(i int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.nodes[i]
	if !old.isClosed() {
		return fmt.Errorf("echomqsim: node %d has not been stopped", i)
	}
	<-old.done
	c.settle() // the others must notice that it is gone before it is back
	s, err := c.newNode(i, old.ln.Addr().String())
	if err != nil {
		return err
	}
	s.engine.Rejoin(old.engine)
	c.nodes[i] = s
	s.serve()
	return nil
}

// Advance moves the Manual clocks of all nodes forward by d and fires what falls due on the
// way, each at its own time. It panics when the clocks are not Manual.
func (c *Cluster) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	target := engine.Twin(c.cfg.Clock).Now().Add(d)
	for next := target.Add(-1); next.Before(target); {
		c.settle()
		next = target
		var up []*Server
		for _, s := range c.nodes {
			if s.isClosed() {
				continue
			}
			up = append(up, s)
			if at, ok := s.engine.NextDue(); ok && at.Before(next) {
				next = at
			}
		}
		for _, s := range up {
			if next.Before(s.Now()) {
				next = s.Now()
			}
			s.SetTime(next)
		}
	}
	c.settle()
	c.cfg.Clock = Manual(target)
}

// Close closes all nodes.
func (c *Cluster) Close() error {
	var errs []error
	for _, s := range c.Nodes() {
		errs = append(errs, s.Close())
	}
	if c.settle != nil {
		c.settle()
	}
	return errors.Join(errs...)
}

// dialNode connects to another node with TLS, as MIGRATE does with tls-cluster. As on the server, the
// other shows a certificate that the nodes' authorities have signed, for whatever name,
// or the nodes' own.
func dialNode(own *tls.Config) func(ctx context.Context, addr string) (net.Conn, error) {
	conf := &tls.Config{
		Certificates:       own.Certificates,
		MinVersion:         own.MinVersion,
		InsecureSkipVerify: true, // which leaves it to VerifyConnection
		VerifyConnection: func(state tls.ConnectionState) error {
			leaf := state.PeerCertificates[0]
			for _, cert := range own.Certificates {
				if len(cert.Certificate) > 0 && slices.Equal(leaf.Raw, cert.Certificate[0]) {
					return nil
				}
			}
			between := x509.NewCertPool()
			for _, cert := range state.PeerCertificates[1:] {
				between.AddCert(cert)
			}
			_, err := leaf.Verify(x509.VerifyOptions{Roots: own.ClientCAs, Intermediates: between})
			return err
		},
	}
	d := &tls.Dialer{Config: conf}
	return func(ctx context.Context, addr string) (net.Conn, error) { return d.DialContext(ctx, "tcp", addr) }
}
