// Command echomq-sim serves the simulator over TCP and unix sockets, for clients
// in any language.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/engine"
)

func main() {
	tuneCollector()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// options are the command line.
type options struct {
	cfg        echomqsim.Config
	readyJSON  bool
	stdinExit  bool
	socketPerm string
	manualFrom string
	verbose    bool
	load       string
	nodes      int // of a cluster; 0: a server alone
	tls        tlsOptions
}

// run is main without the process: it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, code := parse(args, stdout, stderr)
	if code >= 0 {
		return code
	}
	defer o.tls.cleanUp()
	servers, err := o.open()
	if err != nil {
		fmt.Fprintln(stderr, "echomq-sim:", err)
		return 1
	}
	defer servers.close()
	announce(&o, servers, stdout, stderr)
	parentGone := make(chan struct{})
	if o.stdinExit {
		go func() {
			io.Copy(io.Discard, stdin)
			close(parentGone)
		}()
	}
	select {
	case <-ctx.Done():
	case <-parentGone:
	case <-servers.done(): // SHUTDOWN of all, which have saved what they were asked to
		return 0
	}
	servers.close() // so that what is saved is what clients were told last
	if o.cfg.SaveFile != "" {
		if err := servers[0].Save(); err != nil {
			fmt.Fprintln(stderr, "echomq-sim:", err)
			return 1
		}
	}
	return 0
}

// servers are what the process serves: one, or the nodes of a cluster.
type servers []*echomqsim.Server

// open makes the servers, which listen.
func (o *options) open() (servers, error) {
	if o.nodes > 0 {
		c, err := echomqsim.NewCluster(o.cfg, o.nodes)
		if err != nil {
			return nil, err
		}
		return c.Nodes(), nil
	}
	srv, err := echomqsim.New(o.cfg)
	if err != nil {
		return nil, err
	}
	if err := startLoaded(srv, o.load); err != nil {
		srv.Close()
		return nil, err
	}
	return servers{srv}, nil
}

// startLoaded loads the RDB file, if there is one, and begins to listen.
func startLoaded(srv *echomqsim.Server, load string) error {
	if load != "" {
		f, err := os.Open(load)
		if err != nil {
			return fmt.Errorf("--load: %w", err)
		}
		defer f.Close()
		if err := srv.LoadRDB(f); err != nil {
			return fmt.Errorf("--load %s: %w", load, err)
		}
	}
	return srv.Start()
}

func (s servers) close() {
	for _, srv := range s {
		srv.Close()
	}
}

// done is closed when all have ended.
func (s servers) done() <-chan struct{} {
	all := make(chan struct{})
	go func() {
		for _, srv := range s {
			<-srv.Done()
		}
		close(all)
	}()
	return all
}

// parse reads the command line; a code of 0 or more means that run is over.
func parse(args []string, stdout, stderr io.Writer) (o options, code int) {
	o.cfg.OwnThread = true
	fs := flag.NewFlagSet("echomq-sim", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() { usage(fs) }
	fs.StringVar(&o.cfg.Addr, "addr", "127.0.0.1:6379", "listen on `HOST:PORT`; port 0 picks a free one")
	fs.StringVar(&o.cfg.Socket, "unixsocket", "", "listen on the unix socket at `PATH` as well")
	fs.StringVar(&o.socketPerm, "unixsocketperm", "", "permissions of the unix socket, `OCTAL` (700)")
	fs.IntVar(&o.cfg.Databases, "databases", 16, "number of logical databases")
	fs.BoolVar(&o.cfg.Cluster, "cluster", false, "be the one node of a cluster, with all slots and one database")
	fs.IntVar(&o.nodes, "cluster-nodes", 0, "be `N` nodes of a cluster, on the port of --addr and the following ones")
	fs.StringVar(&o.cfg.Password, "requirepass", os.Getenv("ECHOMQSIM_PASSWORD"), "`PASSWORD` that clients must AUTH with (default $ECHOMQSIM_PASSWORD)")
	fs.Func("user", "a further user, `\"NAME RULE ...\"` in the words of ACL SETUSER; may be repeated", func(s string) error {
		o.cfg.Users = append(o.cfg.Users, s)
		return nil
	})
	fs.StringVar(&o.cfg.ACLFile, "aclfile", "", "take the users from the `FILE` that ACL LOAD and SAVE use")
	fs.StringVar(&o.cfg.ProtectedMode, "protected-mode", "yes", "serve clients of this machine only while the default user has no password: `yes|no`")
	o.tls.register(fs)
	fs.Int64Var(&o.cfg.Seed, "seed", 0, "seed of the server's randomness: the same seed repeats a run")
	fs.StringVar(&o.cfg.EnableDebug, "enable-debug-command", "no", "who may use DEBUG: `no|local|yes`")
	fs.StringVar(&o.load, "load", "", "begin with what is in the RDB `FILE`, such as a server's dump.rdb")
	fs.StringVar(&o.cfg.SaveFile, "save-on-exit", "", "write an RDB `FILE` when leaving, and when clients ask for it with SAVE or BGSAVE")
	fs.StringVar(&o.manualFrom, "manual-clock", "", "let time stand still at `TIME` (RFC 3339, or 'now')")
	fs.BoolVar(&o.readyJSON, "ready-json", false, "print one line of JSON on stdout when ready, and nothing else there")
	fs.BoolVar(&o.stdinExit, "exit-with-stdin", false, "leave when standard input is closed, as when the parent process ends")
	fs.BoolVar(&o.verbose, "verbose", false, "write the server's log to stderr, from loglevel on")
	version := fs.Bool("version", false, "print the version and leave")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, 0
		}
		return o, 2
	}
	if *version {
		fmt.Fprintf(stdout, "echomq-sim %s (answers as Valkey %s)\n", echomqsim.Version(), engine.ValkeyVersion)
		return o, 0
	}
	if err := o.finish(fs, stderr); err != nil {
		fmt.Fprintln(stderr, "echomq-sim:", err)
		return o, 2
	}
	return o, -1
}

// finish checks what the flag package can't and fills in the rest of the Config.
func (o *options) finish(fs *flag.FlagSet, stderr io.Writer) error {
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; see echomq-sim --help", fs.Arg(0))
	}
	if o.cfg.Databases < 1 {
		return errors.New("--databases must be at least 1")
	}
	host, port, err := net.SplitHostPort(o.cfg.Addr)
	if err != nil {
		return fmt.Errorf("--addr %q is not HOST:PORT", o.cfg.Addr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("--addr: %q is not a port", port)
	}
	if o.socketPerm != "" {
		perm, err := strconv.ParseUint(o.socketPerm, 8, 9)
		if err != nil {
			return fmt.Errorf("--unixsocketperm %q is not an octal mode such as 700", o.socketPerm)
		}
		o.cfg.SocketPerm = os.FileMode(perm)
	}
	if o.manualFrom != "" {
		start, err := manualStart(o.manualFrom)
		if err != nil {
			return err
		}
		o.cfg.Clock = echomqsim.Manual(start)
	}
	if o.verbose {
		o.cfg.Log = func(level engine.LogLevel, msg string) { fmt.Fprintf(stderr, "%s %s\n", level, msg) }
	}
	if err := o.cfg.Validate(); err != nil {
		return err
	}
	if err := o.checkNodes(fs); err != nil {
		return err
	}
	o.cfg.TLS, err = o.tls.config(host)
	return err
}

// checkNodes checks what goes with --cluster-nodes.
func (o *options) checkNodes(fs *flag.FlagSet) error {
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if !given["cluster-nodes"] {
		return nil
	}
	if o.nodes < 1 || o.nodes > echomqsim.MaxClusterNodes {
		return fmt.Errorf("--cluster-nodes must be 1 to %d", echomqsim.MaxClusterNodes)
	}
	for _, name := range []string{"unixsocket", "aclfile", "load", "save-on-exit"} {
		if given[name] {
			return fmt.Errorf("--%s can't be shared by the nodes of --cluster-nodes", name)
		}
	}
	_, port, _ := net.SplitHostPort(o.cfg.Addr)
	if first, _ := strconv.Atoi(port); first+o.nodes-1 > 65535 {
		return fmt.Errorf("--addr: there are no %d ports from %d for --cluster-nodes", o.nodes, first)
	}
	return nil
}

func manualStart(s string) (time.Time, error) {
	if s == "now" {
		return echomqsim.Real().Now(), nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, fmt.Errorf("--manual-clock %q is neither 'now' nor a time such as 2024-01-01T00:00:00Z", s)
	}
	return t, nil
}

func usage(fs *flag.FlagSet) {
	fmt.Fprint(fs.Output(), `echomq-sim: an in-memory Valkey for tests and offline work, no server needed.

usage: echomq-sim [flags]

  echomq-sim                       serve on 127.0.0.1:6379
  echomq-sim --cluster-nodes 3     a cluster on ports 6379, 6380 and 6381
  echomq-sim --addr 127.0.0.1:0 --ready-json --exit-with-stdin
                                   for test suites: read the port from stdout, close stdin to stop

flags:
`)
	fs.VisitAll(func(f *flag.Flag) {
		arg, text := flag.UnquoteUsage(f)
		fmt.Fprintf(fs.Output(), "  --%-28s %s\n", f.Name+" "+arg, text)
	})
}

// place is where a server is, as the ready line tells it.
type place struct {
	Addr string `json:"addr"`
	Host string `json:"host"`
	Port int    `json:"port"`
	URL  string `json:"url"`
}

func (o *options) place(srv *echomqsim.Server) place {
	addr := srv.Addr()
	host, port, _ := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(port)
	return place{addr, host, n, o.url(addr)}
}

// announce says where the servers are, and warns when strangers could reach them.
func announce(o *options, all servers, stdout, stderr io.Writer) {
	addr := all[0].Addr()
	host, port, _ := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		warnOpen(addr, port, !all[0].NeedsPassword(), o.cfg.ProtectedMode == "no", stderr)
	}
	var nodes []place
	list := addr
	for i, srv := range all {
		if o.nodes > 0 {
			nodes = append(nodes, o.place(srv))
		}
		if i > 0 {
			list += ", " + srv.Addr()
		}
	}
	if o.readyJSON {
		json.NewEncoder(stdout).Encode(struct {
			Ready bool `json:"ready"`
			place
			CACert string  `json:"cacert,omitempty"`
			Socket string  `json:"unixsocket,omitempty"`
			PID    int     `json:"pid"`
			Nodes  []place `json:"nodes,omitempty"`
		}{true, o.place(all[0]), o.tls.selfSigned, o.cfg.Socket, os.Getpid(), nodes})
		return
	}
	fmt.Fprintf(stdout, "echomq-sim %s is ready on %s\n", echomqsim.Version(), list)
	if o.cfg.Socket != "" {
		fmt.Fprintf(stdout, "and on the unix socket %s\n", o.cfg.Socket)
	}
	auth, trust := "", ""
	if o.cfg.Password != "" {
		auth = " -a PASSWORD"
	}
	switch {
	case o.tls.selfSigned != "":
		trust = " --tls --cacert " + o.tls.selfSigned
	case o.cfg.TLS != nil:
		trust = " --tls"
	}
	if o.cfg.Cluster || o.nodes > 0 {
		auth += " -c"
	}
	fmt.Fprintf(stdout, "%s, connect with: redis-cli -h %s -p %s%s%s\nstop with Ctrl-C\n", o.url(addr), host, port, auth, trust)
}

// url is the server's address as clients' libraries take it.
func (o *options) url(addr string) string {
	if o.cfg.TLS != nil {
		return "rediss://" + addr
	}
	return "redis://" + addr
}

// warnOpen warns that the server listens to other machines without a password.
func warnOpen(addr, port string, open, unprotected bool, stderr io.Writer) {
	switch {
	case !open:
		return
	case unprotected:
		fmt.Fprintf(stderr, "echomq-sim: WARNING: %s is reachable from other machines, has no password and no protected mode: "+
			"everyone who can reach it can read and change everything; use --requirepass or --addr 127.0.0.1:%s\n", addr, port)
	default:
		fmt.Fprintf(stderr, "echomq-sim: WARNING: %s listens to other machines but has no password: protected mode answers -DENIED "+
			"to all but this machine; use --requirepass, or --protected-mode no on a network that you trust\n", addr)
	}
}
