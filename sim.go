package echomqsim

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"github.com/echomq/echomq-sim/engine"
	"github.com/echomq/echomq-sim/resp"
)

// Server is one simulated server. Its methods may be called from any goroutine.
type Server struct {
	cfg    Config
	engine *engine.Engine
	wire   *resp.Server
	mem    *resp.Listener
	onErr  func(error) // RunT's way to report what Addr can't return
	leave  func()      // called at the end if it is set: the cluster's way to notice

	mu     sync.Mutex
	ln     net.Listener // TCP, nil until Start
	unix   net.Listener
	closed bool
	done   chan struct{} // closed when everything has ended
}

// ErrClosed is returned by Start and Dial once the server is closed.
var ErrClosed = errors.New("echomqsim: server closed")

// New makes a server that listens nowhere yet: Dial and Do work at once, Start
// opens the sockets. Close it when done.
func New(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, mem: resp.NewListener(engine.WallTime{}), done: make(chan struct{})}
	ec := cfg.engine()
	ec.OnShutdown = func() { s.Close() }
	if cfg.Cluster && cfg.TLS != nil {
		ec.DialMigrate = dialNode(cfg.TLS)
	}
	e, err := engine.New(ec)
	if err != nil {
		return nil, err
	}
	s.engine, s.wire = e, resp.NewServer(e)
	s.wire.OnPanic, s.wire.OwnThread = e.ReportPanic, cfg.OwnThread
	go s.wire.Serve(s.mem) // ends with Close, which waits for it
	return s, nil
}

// Start listens on Config.Addr and, when set, Config.Socket.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.start()
}

func (s *Server) start() error {
	if err := s.listen(); err != nil {
		return err
	}
	s.serve()
	return nil
}

// listen opens the sockets.
func (s *Server) listen() error {
	if s.closed {
		return ErrClosed
	}
	if s.ln != nil {
		return errors.New("echomqsim: server already started")
	}
	addr := s.cfg.Addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("echomqsim: %w", err)
	}
	if s.cfg.Socket != "" {
		if s.unix, err = listenUnix(s.cfg.Socket, s.cfg.SocketPerm); err != nil {
			ln.Close()
			return fmt.Errorf("echomqsim: %w", err)
		}
		s.engine.Listening(s.unix.Addr())
	}
	s.ln = ln
	if s.cfg.TLS != nil {
		s.engine.Listening(tlsAddr{ln.Addr()})
	} else {
		s.engine.Listening(ln.Addr())
	}
	return nil
}

// serve accepts connections on what listen has opened.
func (s *Server) serve() {
	if s.unix != nil {
		go s.wire.Serve(s.unix)
	}
	ln := s.ln
	if s.cfg.TLS != nil {
		ln = tls.NewListener(ln, s.cfg.TLS)
	}
	go s.wire.Serve(ln)
}

// listenUnix listens on path, taking the place of a socket that nobody serves any more.
func listenUnix(path string, perm os.FileMode) (net.Listener, error) {
	if fi, err := os.Stat(path); err == nil && fi.Mode()&os.ModeSocket != 0 {
		if c, err := net.Dial("unix", path); err == nil {
			c.Close()
			return nil, fmt.Errorf("unix socket %s is being served by another process", path)
		}
		os.Remove(path)
	}
	ln, err := net.Listen("unix", path)
	if err != nil || perm == 0 {
		return ln, err
	}
	if err := os.Chmod(path, perm); err != nil {
		ln.Close()
		return nil, err
	}
	return ln, nil
}

// Addr is the TCP address that the server listens on, HOST:PORT. A server made
// by RunT starts to listen when it is first asked for; any other answers "" before Start.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ln == nil && s.onErr != nil && !s.closed {
		if err := s.start(); err != nil {
			s.onErr(err)
		}
	}
	if s.ln == nil {
		return ""
	}
	return s.ln.Addr().String()
}

// Dial connects in memory, without a socket. A Write mostly returns when what it asked for
// has been done and the reply can be read; what may last, or has to wait, goes on after it.
func (s *Server) Dial() (net.Conn, error) {
	c, err := s.mem.Dial()
	if err != nil {
		return nil, ErrClosed
	}
	return c, nil
}

// DialContext is Dial in the shape that clients take as their dialer: it
// ignores network and address. For go-redis set it as Options.Dialer.
func (s *Server) DialContext(_ context.Context, _, _ string) (net.Conn, error) { return s.Dial() }

// Do runs one command in process, as a client of its own that speaks RESP3, and
// returns the reply. Error replies are values of kind resp.KindErr.
func (s *Server) Do(args ...string) resp.Value { return s.engine.Do(args...) }

// NewClient makes a further in-process client, with a selected database, a
// transaction and a name of its own.
func (s *Server) NewClient() *engine.Client { return s.engine.NewClient() }

// Close stops the listeners, closes every connection and waits until all
// goroutines of the server have ended. A second Close does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.engine.Close()
	defer close(s.done)
	err := s.wire.Close()
	for _, ln := range []net.Listener{s.ln, s.unix} {
		if ln != nil {
			ln.Close() // if nothing was served on it yet; a second time does nothing
		}
	}
	if s.leave != nil {
		s.leave()
	}
	return err
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Done is closed once the server has ended: by Close, or by a client's SHUTDOWN.
func (s *Server) Done() <-chan struct{} { return s.done }
