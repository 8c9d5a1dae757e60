package echomqsim

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/echomq/echomq-sim/engine"
)

// Cluster is a cluster of simulated servers in this process, without replicas.
type Cluster struct {
	nodes  []*Server
	settle func()

	mu      sync.Mutex
	stopped []bool
}

// NewCluster makes and starts a cluster of n nodes that share the slots equally. Each is
// made with cfg, whose Clock and TLS must be nil, and with Seed one higher than the last one's. If cfg.Addr names a port the nodes
// listen on that one and the following; else each picks a free one.
func NewCluster(cfg Config, n int) (*Cluster, error) {
	if n < 1 || n > maxClusterNodes {
		return nil, fmt.Errorf("echomqsim: a cluster of %d nodes, want 1 to %d", n, maxClusterNodes)
	}
	if cfg.Socket != "" || cfg.SaveFile != "" || cfg.ACLFile != "" {
		return nil, errors.New("echomqsim: the nodes of a cluster can't share files")
	}
	if cfg.Clock != nil {
		return nil, errors.New("echomqsim: the nodes of a cluster go by the machine's clock")
	}
	if cfg.TLS != nil {
		return nil, errors.New("echomqsim: the nodes of a cluster have no TLS, as MIGRATE has none")
	}
	cfg.Cluster = true
	c := &Cluster{stopped: make([]bool, n)}
	var engines []*engine.Engine
	for i := range n {
		s, err := startNode(cfg, i)
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
	return c, nil
}

const maxClusterNodes = 1000

// startNode starts the node number i.
func startNode(cfg Config, i int) (*Server, error) {
	if cfg.Addr != "" {
		host, port, err := net.SplitHostPort(cfg.Addr)
		if err != nil {
			return nil, fmt.Errorf("echomqsim: %w", err)
		}
		if p, err := strconv.Atoi(port); err == nil && p != 0 {
			cfg.Addr = net.JoinHostPort(host, strconv.Itoa(p+i))
		}
	}
	cfg.Seed += int64(i)
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	if err := s.Start(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Nodes are the servers, in the order of the slots that they began with.
func (c *Cluster) Nodes() []*Server { return append([]*Server(nil), c.nodes...) }

// Settle waits until all nodes have heard of what changed before the call.
func (c *Cluster) Settle() { c.settle() }

// Stop closes node number i for good. The others notice at once: as its slots have no node
// then, they answer that the cluster is down. A second Stop does nothing.
func (c *Cluster) Stop(i int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped[i] {
		return nil
	}
	c.stopped[i] = true
	err := c.nodes[i].Close()
	c.nodes[i].engine.NodeDown()
	return err
}

// Close closes all nodes.
func (c *Cluster) Close() error {
	var errs []error
	for _, s := range c.nodes {
		errs = append(errs, s.Close())
	}
	if c.settle != nil {
		c.settle()
	}
	return errors.Join(errs...)
}
