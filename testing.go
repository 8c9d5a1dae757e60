package echomqsim

// TB is the part of testing.TB that RunT needs.
type TB interface {
	Helper()
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
	Failed() bool
}

// RunT returns a fresh server for one test and closes it when the test ends,
// after checking that its keyspace is in order. It opens no socket until Addr is
// asked for, unless cfg names an address. When the test fails, the seed is logged.
func RunT(t TB, cfg Config) *Server {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatalf("echomqsim: %v", err)
		return nil
	}
	s.onErr = func(err error) { t.Fatalf("%v", err) }
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("echomqsim: the server's seed was %d", cfg.Seed)
		}
		bad := s.Check()
		s.Close()
		if bad != nil {
			t.Fatalf("echomqsim: the keyspace broke: %v", bad)
		}
	})
	if cfg.Addr != "" || cfg.Socket != "" {
		if err := s.Start(); err != nil {
			t.Fatalf("%v", err)
		}
	}
	return s
}
