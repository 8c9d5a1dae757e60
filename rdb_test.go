package echomqsim_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	echomqsim "github.com/echomq/echomq-sim"
	"github.com/echomq/echomq-sim/resp"
)

// rdbFiles are files that servers wrote, with the number of keys and the DEBUG DIGEST that
// valkey-server 8.0.1 has of each after loading it.
var rdbFiles = map[string]struct {
	keys   int64
	digest string
}{
	"encodings":          {13, "e9abcce40e69c9faa766aba4e264e823edff741d"},
	"hash-zipmap":        {1, "3ca39ed0cb3b979b5b125ae0d1e54f2c40b7c5e6"},
	"hash-ziplist":       {1, "3ca39ed0cb3b979b5b125ae0d1e54f2c40b7c5e6"},
	"zset-ziplist":       {1, "fa1ca919dcef4dea3e3e609298a9e329d3bb7c61"},
	"list-quicklist":     {1, "3d77c75a5b6cc5319b4ecf6e95101ed07ddd139e"},
	"corrupt_empty_keys": {0, "0000000000000000000000000000000000000000"},
	"valkey-8.0.1":       {28, "a2007afc81186c99f49c7bc34769f74feeb896df"},
}

func rdbFile(t *testing.T, name string) []byte {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("testdata/rdb", name+".rdb"))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// newRDBServer makes a server at a time at which nothing in the files has expired.
func newRDBServer(t *testing.T, cfg echomqsim.Config) *echomqsim.Server {
	t.Helper()
	cfg.EnableDebug, cfg.Clock = "yes", echomqsim.Manual(time.Time{})
	return echomqsim.RunT(t, cfg)
}

func TestLoadRDB(t *testing.T) {
	for name, want := range rdbFiles {
		srv := newRDBServer(t, echomqsim.Config{})
		if err := srv.LoadRDB(bytes.NewReader(rdbFile(t, name))); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := srv.Do("DEBUG", "DIGEST").Str; got != want.digest {
			t.Errorf("%s: digest %s, want %s", name, got, want.digest)
		}
		var saved bytes.Buffer
		if err := srv.SaveRDB(&saved); err != nil {
			t.Fatal(err)
		}
		other := newRDBServer(t, echomqsim.Config{})
		if err := other.LoadRDB(&saved); err != nil {
			t.Errorf("%s, saved: %v", name, err)
		}
		if got := other.Do("DEBUG", "DIGEST").Str; got != want.digest {
			t.Errorf("%s, saved and loaded: digest %s, want %s", name, got, want.digest)
		}
	}
}

func TestLoadedRDB(t *testing.T) {
	srv := newRDBServer(t, echomqsim.Config{})
	srv.Do("SET", "old", "v")
	if err := srv.LoadRDB(bytes.NewReader(rdbFile(t, "valkey-8.0.1"))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ cmd, want string }{
		{"EXISTS old", ":0"},
		{"PEXPIRETIME string", ":4102444800000"},
		{"PTTL string-int", ":-1"},
		{"FCALL two 0", ":2"},
		{"XPENDING stream-3 g", "*\n  :1\n  $1-1\n  $1-1\n  *\n    *\n      $c\n      $1"},
		{"OBJECT ENCODING list-plain", "$quicklist"},
		{"DBSIZE", ":28"},
		{"SELECT 9", "+OK"},
		{"GET other", "$db"},
	} {
		if got := strings.TrimSpace(resp.Format(srv.Do(strings.Fields(c.cmd)...))); got != c.want {
			t.Errorf("%s: %s, want %s", c.cmd, got, c.want)
		}
	}
}

// A file that can't be loaded as a whole changes nothing.
func TestLoadBrokenRDB(t *testing.T) {
	srv := newRDBServer(t, echomqsim.Config{})
	srv.Do("SET", "k", "v")
	srv.Do("FUNCTION", "LOAD", "#!lua name=mine\nredis.register_function('one', function() return 1 end)")
	before := srv.Do("DEBUG", "DIGEST").Str
	file := rdbFile(t, "valkey-8.0.1")
	changed := func(at int, x byte) []byte {
		b := bytes.Clone(file)
		b[at] = x
		return b
	}
	type broken struct{ name, file, want string }
	list := []broken{
		{"empty", "", "at byte 0, header: ends too early"},
		{"text", "not an RDB file at all", "at byte 9, header: not an RDB file"},
		{"of Redis 7.4", "REDIS0012\xff", "version 12 is of a server other than Valkey"},
		{"of Valkey 81", "VALKEY081\xff", "version 81 is unknown"},
		{"database 16", "REDIS0004\xfe\x10\xff", "at byte 11, operation: has a database 16, and there are 16"},
		{"type 8", "REDIS0004\x08\x01k\xff", "at byte 12, key: unknown type 8"},
		{"module", "REDIS0004\x07\x01k\x00\xff", "module value: modules are not supported"},
		{"module data", "REDIS0004\xf7\x81\x25\xc9\x65\xaa\xbb\xcc\xdd\xee\x02\x02", "and modules are not supported"},
		{"a key twice", "REDIS0004\x00\x01k\x01a\x00\x01k\x01b\xff", `"k" comes twice in database 0`},
		{"early functions", "REDIS0010\xf6", "release candidate"},
		{"broken library", "REDIS0004\xf5\x05#!lua\xff", "function library: ERR"},
		{"checksum", string(changed(len(file)-1, file[len(file)-1]^1)), "checksum: is"},
	}
	for n := range len(file) {
		list = append(list, broken{fmt.Sprintf("cut at %d", n), string(file[:n]), "rdb: at byte "})
	}
	for _, b := range list {
		if err := srv.LoadRDB(strings.NewReader(b.file)); err == nil || !strings.Contains(err.Error(), b.want) {
			t.Errorf("%s: error %v, want %q", b.name, err, b.want)
		}
	}
	if after := srv.Do("DEBUG", "DIGEST").Str; after != before || srv.Do("FCALL", "one", "0").Int != 1 || srv.Do("FCALL", "two", "0").Str == "" {
		t.Errorf("digest %s, was %s", after, before)
	}
}

// Deadlines of fields go by way of a file of Valkey 9.
func TestRDBFieldDeadlines(t *testing.T) {
	srv := newRDBServer(t, echomqsim.Config{})
	srv.Do("HSET", "h", "f", "v", "g", "w")
	srv.Do("HEXPIRE", "h", "100", "FIELDS", "1", "f")
	var file bytes.Buffer
	if err := srv.SaveRDB(&file); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(file.String(), "VALKEY080") {
		t.Errorf("file begins with %q", file.String()[:9])
	}
	srv.Do("FLUSHALL")
	if err := srv.LoadRDB(&file); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(resp.Format(srv.Do("HTTL", "h", "FIELDS", "2", "f", "g"))); got != "*\n  :100\n  :-1" {
		t.Errorf("HTTL: %s", got)
	}
	if got := srv.Do("DEBUG", "RELOAD"); got.Str != "OK" {
		t.Errorf("DEBUG RELOAD: %v", got)
	}
	srv.Advance(101 * time.Second)
	if got := srv.Do("HLEN", "h").Int; got != 1 {
		t.Errorf("%d fields are left", got)
	}
}

func TestSaveFile(t *testing.T) {
	srv := newRDBServer(t, echomqsim.Config{})
	for _, cmd := range []string{"SAVE", "BGSAVE", "BGSAVE SCHEDULE"} {
		if got := srv.Do(strings.Fields(cmd)...); got.Str != "ERR" || !got.IsErr() {
			t.Errorf("%s without a file: %v", cmd, got)
		}
	}
	if err := srv.Save(); err == nil {
		t.Error("saved to no file")
	}
	path := filepath.Join(t.TempDir(), "dump.rdb")
	srv = newRDBServer(t, echomqsim.Config{SaveFile: path})
	started := srv.Do("LASTSAVE").Int
	srv.Do("SET", "k", "v")
	srv.Advance(5 * time.Second)
	do := func(cmd, want string) {
		t.Helper()
		if got := srv.Do(strings.Fields(cmd)...); got.Str != want {
			t.Errorf("%s: %v, want %s", cmd, got, want)
		}
	}
	do("BGSAVE NOW", "ERR syntax error")
	if _, err := os.Stat(path); err == nil {
		t.Error("a file before anybody saved")
	}
	do("SAVE", "OK")
	if got := srv.Do("LASTSAVE").Int; got != started+5 {
		t.Errorf("LASTSAVE %d, started %d", got, started)
	}
	do("SET k w", "OK")
	do("DEBUG RELOAD NOSAVE", "OK")
	do("GET k", "v")
	do("SET k w", "OK")
	do("BGSAVE", "Background saving started")
	do("FLUSHALL", "OK")
	do("DEBUG RELOAD NOSAVE", "OK")
	do("GET k", "w")
	do("MULTI", "OK")
	do("SET k x", "QUEUED")
	do("BGSAVE", "QUEUED")
	if got := srv.Do("EXEC"); len(got.Elems) != 2 || got.Elems[1].Str != "Background saving scheduled" {
		t.Errorf("EXEC: %v", got)
	}
	srv.Advance(time.Second)
	do("SET k y", "OK")
	do("DEBUG RELOAD NOSAVE", "OK")
	do("GET k", "x")
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("files %v, %v", left, err)
	}
	srv = newRDBServer(t, echomqsim.Config{SaveFile: filepath.Join(path, "under", "a-file")})
	do("SAVE", "ERR")
	do("BGSAVE", "Background saving started")
	if got := srv.Do("INFO", "persistence").Str; !strings.Contains(got, "rdb_last_bgsave_status:err") {
		t.Error(got)
	}
}

// TestPayloadDigests compares what became of the recorded payloads with what the server
// made of them.
func TestPayloadDigests(t *testing.T) {
	srv := newRDBServer(t, echomqsim.Config{})
	file, err := os.ReadFile("testdata/rdb/payloads.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		f := strings.Fields(line)
		if f[0] == "#" {
			continue
		}
		payload, err := hex.DecodeString(f[4])
		if err != nil {
			t.Fatal(err)
		}
		if got := srv.Do("RESTORE", f[0], "0", string(payload)); got.Str != "OK" {
			t.Errorf("%s: %v", f[0], got)
		}
		if got := srv.Do("DEBUG", "DIGEST-VALUE", f[0]).Elems[0].Str; got != f[2] {
			t.Errorf("%s: digest %s, want %s", f[0], got, f[2])
		}
	}
}

// TestOracleRDB has the live server load what the simulator saves, and the other way
// round. The server must be on this machine and let its directory be written to.
func TestOracleRDB(t *testing.T) {
	addr := os.Getenv("ECHOMQSIM_ORACLE")
	if addr == "" {
		t.Skip("needs a live valkey-server: ECHOMQSIM_ORACLE=host:port")
	}
	c := oracleClient(t, 3, oracleDial(addr))
	oracle := func(args ...string) resp.Value {
		t.Helper()
		v, err := c.Do(args...)
		if err != nil || v.IsErr() {
			t.Fatalf("%q: %v %v", args, v, err)
		}
		return v
	}
	conf := oracle("CONFIG", "GET", "dir", "dbfilename").Elems
	path := filepath.Join(conf[1].Str, conf[3].Str)
	if conf[0].Str != "dir" {
		path = filepath.Join(conf[3].Str, conf[1].Str)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Skip(err)
	}
	srv := echomqsim.RunT(t, echomqsim.Config{EnableDebug: "yes"})
	fillRandomly(srv, 2000)
	var saved bytes.Buffer
	if err := srv.SaveRDB(&saved); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, saved.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	oracle("DEBUG", "RELOAD", "NOSAVE")
	want := srv.Do("DEBUG", "DIGEST").Str
	if got := oracle("DEBUG", "DIGEST").Str; got != want {
		t.Errorf("the server has digest %s of the simulator's file, want %s", got, want)
	}
	oracle("SAVE")
	theirs, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.LoadRDB(bytes.NewReader(theirs)); err != nil {
		t.Fatal(err)
	}
	if got := srv.Do("DEBUG", "DIGEST").Str; got != want {
		t.Errorf("the simulator has digest %s of the server's file, want %s", got, want)
	}
	compareDumps(t, srv, oracle)
	oracle("FLUSHALL")
}

// compareDumps compares the payloads of all keys of database 0, and has each side restore
// the other's.
func compareDumps(t *testing.T, srv *echomqsim.Server, oracle func(...string) resp.Value) {
	t.Helper()
	dumped, failed := 0, 0
	for _, k := range srv.Do("KEYS", "*").Elems {
		ours, theirs := srv.Do("DUMP", k.Str).Str, oracle("DUMP", k.Str).Str
		if oracle("OBJECT", "ENCODING", k.Str).Str != "hashtable" {
			dumped++
			if ours != theirs {
				t.Errorf("%s dumped as\n%q, by the server as\n%q", k.Str, ours, theirs)
				failed++
			}
		}
		want := oracle("DEBUG", "DIGEST-VALUE", k.Str).Elems[0].Str
		oracle("RESTORE", "copy", "0", ours, "REPLACE")
		srv.Do("RESTORE", "copy", "0", theirs, "REPLACE")
		a, b := oracle("DEBUG", "DIGEST-VALUE", "copy").Elems[0].Str, srv.Do("DEBUG", "DIGEST-VALUE", "copy").Elems[0].Str
		if srv.Do("PTTL", k.Str).Int == -1 && (a != want || b != want) {
			t.Errorf("%s has digest %s, restored from the simulator's payload %s, here from the server's %s", k.Str, want, a, b)
			failed++
		}
		if failed > 5 {
			t.FailNow()
		}
	}
	t.Logf("%d payloads are equal byte for byte", dumped)
}

// fillRandomly makes keys of all types, in two databases, some with a TTL, and a library.
func fillRandomly(srv *echomqsim.Server, keys int) {
	r := rand.New(rand.NewPCG(1, 2))
	value := func() string {
		switch r.IntN(4) {
		case 0:
			return fmt.Sprint(r.Int64N(1<<r.IntN(62)+1) - 5)
		case 1:
			return strings.Repeat("ab", r.IntN(100))
		case 2:
			return strings.Repeat(string(rune('a'+r.IntN(3))), 60+r.IntN(10)) + fmt.Sprint(r.IntN(100))
		}
		return fmt.Sprint("v", r.IntN(1000))
	}
	srv.Do("FUNCTION", "LOAD", "#!lua name=lib\nserver.register_function('two', function() return 2 end)")
	for i := range keys {
		key := fmt.Sprint("key:", i)
		db := r.IntN(2)
		srv.Do("SELECT", fmt.Sprint(db))
		size := 1 + r.IntN(12)
		if r.IntN(20) == 0 {
			size = 200
		}
		for j := range size {
			switch i % 7 {
			case 0:
				srv.Do("SET", key, value())
			case 1:
				srv.Do("RPUSH", key, value(), value())
			case 2:
				srv.Do("SADD", key, fmt.Sprint(r.Int64N(1<<40)))
			case 3:
				srv.Do("SADD", key, value())
			case 4:
				srv.Do("HSET", key, value(), value())
			case 5:
				srv.Do("ZADD", key, fmt.Sprint(r.NormFloat64()), value())
			case 6:
				srv.Do("XADD", key, fmt.Sprintf("%d-%d", j/3+1, j+1), value(), value(), "f", value())
			}
		}
		if i%7 == 6 {
			srv.Do("XDEL", key, "1-2", "2-5")
			srv.Do("XGROUP", "CREATE", key, "g", "0")
			srv.Do("XREADGROUP", "GROUP", "g", "c", "COUNT", "3", "STREAMS", key, ">")
		}
		if r.IntN(5) == 0 {
			srv.Do("EXPIRE", key, fmt.Sprint(1000+r.IntN(100000)))
		}
	}
	srv.Do("SELECT", "0")
}
