package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/echomq/echomq-sim/luabridge"
	"github.com/echomq/echomq-sim/resp"
	"github.com/echomq/echomq-sim/store"
)

// Engine is one server: its keyspace, clients, scripts and time. Its methods
// may be called from any goroutine; each takes a turn.
type Engine struct {
	mu sync.Mutex // held for one turn; never over I/O or a wait
	// changed is broadcast when a stall ends and when an in-process client
	// gets the reply that it waits for.
	changed   *sync.Cond
	closing   atomic.Bool // Close was called: a running script must end
	debuggers sync.WaitGroup
	forks     atomic.Int32 // of its debuggers
	core      core
}

// core is everything the engine owns. Only code inside a turn reaches it.
type core struct {
	engine       *Engine
	cfg          Config
	table        *table
	acl          accessControl
	recent       [32]lookedUp    // by a hash of the name
	commandStats []*commandStats // by Spec.id; nil for what was not called yet
	set          *settings
	dbs          []*store.DB
	limits       store.Limits
	dice         *rand.PCG // of rng
	rng          *rand.Rand

	clock       Clock
	now         int64        // Unix microseconds, fixed for one command, EXEC or script
	ticked      clockReading // when the clock was last asked for the time of day
	lap         lap          // of the script or transaction under way
	startTime   int64        // Unix microseconds
	deadlines   deadlines
	armed       int64  // what the clock was last asked to wake us for; 0 is nothing
	reload      string // the RDB file of the last DEBUG RELOAD
	lastSave    int64  // Unix microseconds
	saveFailed  bool   // the last BGSAVE
	rewriteDue  bool   // BGREWRITEAOF in a transaction asked for it
	stalled     bool   // DEBUG SLEEP: no turn begins until the stall's deadline fires
	away        bool   // a command does I/O: no turn begins until it is through
	closed      bool
	memory      usedMemory
	evicting    bool // keys are going, before the client's command runs
	evictFrom   int  // the database that a random victim is looked for first
	outOfMemory bool // when the client's current command began

	sessions     map[uint64]*Session
	clientMemory clientMemory
	overfull     []*Session // closed at the end of the turn, as they do not read their output
	evictLater   bool       // not at the end of this turn
	idleEnd      *deadline  // the next look at idle clients
	idleFor      int64      // the timeout in seconds that it was set for
	nextID       uint64
	watchers     map[watchKey][]*watcher
	waiters      waiters
	cluster      *cluster // nil: not a node of a cluster
	resets       uint64   // CLUSTER RESET HARD, each of which makes a new node of it
	subs         [subKinds]subscriptions
	tracking     tracking
	repl         replication
	running      *Session   // whose command runs just now; nil between commands
	turnOf       *resp.Conn // whose turn it is; nil outside the turns of connections
	heldOn       uint64     // calls of holdOn
	scripts      *scriptCache
	lua          *luabridge.Interp

	functions     *functionSet
	fastFunctions map[*function]bool // those whose last run was short
	stats         serverStats
	rates         rates
	calls         [8]Call // the calls under way, outermost first
	depth         int
	elems         []resp.Value // of the reply of the client's command under way, see Call.values
	turn          turnStart
	slept         int64 // microseconds for which commands have stalled the server
	slowlog       slowlog
	latency       latencyEvents
	cursors       cursorTable
	targets       migrateTargets
	builtin       *Client    // Engine.Do's
	monitors      []*Session // in the order in which they came
	pause         pause
	resuming      bool       // runPostponed is at work
	ahead         *Session   // whose further commands come before those of other resumed clients
	resumed       []*Session // what they sent waited for the end of a pause and is to run now

	run  *scriptRun // the script or function under way; it is runs
	runs scriptRun
	// relayed tells that the reply of the script that just ended is the error of one
	// of its commands, which is counted already.
	relayed  bool
	scripted bool // a script has just ended
	busy     bool // it has run for too long: other clients get BUSY

	debugger  *luabridge.Debugger // of the script under way, nil for most
	debugging *debugSession       // has the turn, though it may be away

	stallEnd          *deadline
	stallOver         []func() // what happens when the stall ends
	listeners         []listener
	activeExpire      bool
	cronPaused        bool // DEBUG PAUSE-CRON
	allowAllInScripts bool // DEBUG SET-DISABLE-DENY-SCRIPTS
	onKeyEvent        func(KeyEvent)
}

// New makes an engine.
func New(cfg Config) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return newEngine(cfg, sharedTable())
}

// newEngine is New for a valid configuration; the commands are those of a table.
func newEngine(cfg Config, t *table) (*Engine, error) {
	if cfg.Databases == 0 {
		cfg.Databases = 16
	}
	if cfg.Cluster {
		cfg.Databases = 1
	}
	if cfg.Clock == nil {
		cfg.Clock = Real()
	}
	e := &Engine{}
	e.changed = sync.NewCond(&e.mu)
	co := &e.core
	co.engine, co.cfg, co.clock, co.activeExpire = e, cfg, cfg.Clock, true
	co.sessions, co.watchers = map[uint64]*Session{}, map[watchKey][]*watcher{}
	co.stats.errorCodes = map[string]int64{}
	co.dice = rand.NewPCG(uint64(cfg.Seed), 0x9e3779b97f4a7c15)
	co.rng = rand.New(co.dice)
	co.table = t
	co.commandStats = make([]*commandStats, co.table.rows)
	co.set = newSettings(co)
	co.limits = *store.DefaultLimits()
	co.dbs = make([]*store.DB, cfg.Databases)
	if err := co.initUsers(); err != nil {
		return nil, err
	}
	co.scripts = newScriptCache()
	co.functions, co.fastFunctions = &functionSet{}, map[*function]bool{}
	if cfg.Cluster {
		co.cluster = co.newCluster()
	}
	co.targets = newMigrateTargets()
	co.tick()
	co.startTime, co.lastSave = co.now, co.now
	return e, nil
}

// maxReusedElems bounds the memory that is kept for replies: 64 bytes each.
const maxReusedElems = 128

// lock begins a turn: alone, and not while DEBUG SLEEP stalls the server.
func (e *Engine) lock() {
	e.mu.Lock()
	for (e.core.stalled || e.core.away || e.core.busy) && !e.core.closed {
		e.changed.Wait()
	}
	e.begin()
}

// lockForCommand begins the turn of a client's commands, or of a new client. It
// gets in while a script is busy, to be told so by the gates.
func (e *Engine) lockForCommand() {
	e.lockForTurn(nil)
}

func (e *Engine) mustWait() bool { return (e.core.stalled || e.core.away) && !e.core.closed }

// lockForTurn is lockForCommand for what came over a connection, unless that is nil. Replies
// of others that are held back meanwhile do not wait with it.
func (e *Engine) lockForTurn(conn *resp.Conn) {
	e.mu.Lock()
	if conn != nil && e.mustWait() {
		conn.Waits()
	}
	for e.mustWait() {
		if conn != nil && e.core.debugging != nil {
			conn.TakesLong() // or nobody would read what the debugger's user sends
		}
		e.changed.Wait()
	}
	e.begin()
}

// lockForClient is lockForCommand for a new client, which need not wait for the end of a
// debugger's session: its connection would keep the loop.
func (e *Engine) lockForClient() {
	e.mu.Lock()
	for e.mustWait() && e.core.debugging == nil {
		e.changed.Wait()
	}
	e.begin()
}

// tryLock is lockForCommand for a goroutine that must not be kept. It is false if it would
// have to wait, or if the turn may run what others have sent.
func (e *Engine) tryLock() bool {
	if !e.mu.TryLock() {
		return false
	}
	co := e.core
	if co.stalled || co.away || co.busy || len(co.pause.waiting)+len(co.resumed) > 0 || co.ahead != nil {
		e.mu.Unlock()
		return false
	}
	e.begin()
	return true
}

// lockForTime takes the lock for what time itself brings about: it gets in while
// the server is stalled, to end that, but not into the turn of a busy script or of a
// command that does I/O.
func (e *Engine) lockForTime() {
	e.mu.Lock()
	for (e.core.away || e.core.busy) && !e.core.closed {
		e.changed.Wait()
	}
}

// begin samples the time and lets happen what fell due before this turn; inside
// the turn of a busy script, or of I/O that is not through, time stands still.
func (e *Engine) begin() {
	if e.core.busy || e.core.away {
		return
	}
	e.core.depth, e.core.run, e.core.running, e.core.resuming = 0, nil, nil, false // a turn that panicked may have left them
	if e.core.repl.streams() {
		e.core.repl.calls = [8]streamed{} // likewise
	}
	e.core.tick()
	e.core.turn = turnStart{e.core.now, e.core.stats.commands}
	e.core.measure()
	e.core.fireDue()
}

// unlock ends a turn.
func (e *Engine) unlock() {
	e.core.countTurn()
	e.core.tuneCluster()
	e.core.endTurn()
	e.spreadNews()
	e.mu.Unlock()
}

// endTurn does what waits for the end of a turn.
func (co *core) endTurn() {
	co.endTracking()
	co.closeOverfull()
	if !co.evictLater {
		co.evictClients()
	}
	co.evictLater = false
	co.applyIdleTimeout()
	co.arm()
}

// tick samples the clock. It is called once per execution unit. Within a millisecond the
// time of day goes on as differences do, which are told at half the price.
func (co *core) tick() {
	const fresh = 1000
	if passed := co.clock.micros() - co.ticked.micros; passed < fresh && co.ticked.now != 0 {
		co.now = co.ticked.now + passed
		return
	}
	co.ticked = co.clock.read()
	co.now = co.ticked.now
}

// ms is the current command's time in Unix milliseconds.
func (co *core) ms() int64 { return co.now / 1000 }

// arm asks the clock to wake the engine for the earliest thing that is due.
func (co *core) arm() {
	at, ok := co.nextDue()
	if co.closed || !ok {
		at = 0
	}
	if at == co.armed {
		return
	}
	co.armed = at
	if at == 0 {
		co.clock.wake(time.Time{}, nil)
		return
	}
	co.clock.wake(time.UnixMicro(at), co.engine.wake)
}

// armedUnknown is core.armed between the clock's call and the next arm.
const armedUnknown = -1

// dbAt returns a database. It is made when it is first asked for, as most servers use one.
func (co *core) dbAt(i int) *store.DB {
	if db := co.dbs[i]; db != nil {
		return db
	}
	return made(&co.dbs[i], &co.limits)
}

// made returns the database that stands in a slice, where it is put if there is none.
func made(db **store.DB, l *store.Limits) *store.DB {
	if *db == nil {
		*db = store.NewDB(l)
	}
	return *db
}

// nextDue is the time of the earliest deadline or expiry.
func (co *core) nextDue() (at int64, ok bool) {
	at, ok = co.deadlines.next()
	if !co.activeExpire || co.cronPaused || co.stalled || co.paused() {
		return at, ok
	}
	for _, db := range co.dbs {
		ms, due := db.NextDeadline()
		if us := saturatedMicros(ms); due && (!ok || us < at) {
			at, ok = us, true
		}
	}
	return at, ok
}

// wake is the clock's call: a turn in which only what is due happens.
func (e *Engine) wake() {
	e.lockForTime()
	e.core.armed = armedUnknown
	e.begin()
	e.unlock()
}

// fireDue runs deadlines and expires keys up to now, in the order of their times.
func (co *core) fireDue() {
	if co.armed == 0 || co.armed > co.now {
		return // what arm found at the end of the last turn still holds
	}
	began, expired := co.moment(), co.stats.expiredKeys
	co.fireAll()
	co.countDue(began, co.stats.expiredKeys > expired)
}

// fireAll is fireDue without looking at the clock.
func (co *core) fireAll() {
	for range maxDuePerTurn {
		at, ok := co.nextDue()
		if !ok || at > co.now || co.closed {
			return
		}
		if d, ok := co.deadlines.next(); ok && d <= at {
			co.deadlines.pop(co.now).fire()
			continue
		}
		if !co.expireNext() {
			return
		}
		co.serveBlocked()
	}
	co.stats.expireCapped++
}

// maxDuePerTurn bounds the work that waits in front of a command when very many
// keys expire at once; the rest expires lazily or in the next turn.
const maxDuePerTurn = 1000

// Advance moves a manual clock forward by d, firing everything that falls due on
// the way at its own time and in order. It panics on an engine with a real clock,
// as that is a mistake in the test that calls it.
func (e *Engine) Advance(d time.Duration) {
	e.SetTime(e.manual().Now().Add(d))
}

// SetTime moves a manual clock to t. Going back fires nothing.
func (e *Engine) SetTime(t time.Time) {
	m := e.manual()
	target := t.UnixMicro()
	for {
		e.lockForTime()
		at, ok := e.core.nextDue()
		if !ok || at > target {
			m.set(t)
			e.core.tick()
			e.mu.Unlock()
			return
		}
		if at > e.core.clock.Now().UnixMicro() {
			m.set(time.UnixMicro(at))
		}
		e.core.tick()
		e.core.fireDue()
		e.core.endTurn()
		e.spreadNews()
		e.mu.Unlock()
	}
}

// NextDue is when the next thing falls due; ok is false if nothing does.
func (e *Engine) NextDue() (at time.Time, ok bool) {
	e.lockForTime()
	defer e.mu.Unlock()
	us, ok := e.core.nextDue()
	return time.UnixMicro(us), ok
}

func (e *Engine) manual() *manualClock {
	m, ok := e.core.cfg.Clock.(*manualClock)
	if !ok {
		panic("engine: only an engine with a Manual clock can be moved in time")
	}
	return m
}

// Now is the engine's time.
func (e *Engine) Now() time.Time { return e.core.cfg.Clock.Now() }

// Snapshot is the state of all databases and function libraries at one moment. It
// is immutable and may be kept, read and restored any number of times, on this
// engine or another.
type Snapshot struct {
	mu        sync.Mutex // a copy writes to its source, and engines may share a snapshot
	dbs       []*store.DB
	functions *functionSet
	taken     int64 // Unix microseconds
	plain     bool  // in a file its strings are not to be compressed
}

// install returns a copy of database i that its new owner may write to, within the owner's
// limits: those of whom the snapshot comes from may change at any time.
func (s *Snapshot) install(i int, l *store.Limits) *store.DB {
	s.mu.Lock()
	defer s.mu.Unlock()
	db := s.dbs[i].Snapshot()
	db.SetLimits(l)
	return db
}

// Snapshot takes the state of all databases in constant time: nothing is copied
// until one side writes.
func (e *Engine) Snapshot() *Snapshot {
	e.lock()
	defer e.unlock()
	return e.core.snapshot()
}

func (co *core) snapshot() *Snapshot {
	s := &Snapshot{dbs: make([]*store.DB, len(co.dbs)), functions: co.functions, taken: co.now, plain: !co.compresses()}
	for i, db := range co.dbs {
		s.dbs[i] = db.Snapshot()
	}
	return s
}

// Restore puts all databases and function libraries back to a snapshot, in constant
// time. Clients, cached scripts and the clock stay as they are. Databases beyond the
// snapshot's are emptied. Libraries begin with fresh variables.
func (e *Engine) Restore(s *Snapshot) {
	e.lock()
	defer e.unlock()
	e.core.restore(s)
	e.core.giveUpHistory()
	e.core.serveBlocked()
}

func (co *core) restore(s *Snapshot) {
	for i := range co.dbs {
		var db *store.DB
		if i < len(s.dbs) {
			db = s.install(i, &co.limits)
		}
		co.touchAll(i, db)
		co.dbs[i] = db
	}
	co.trackFlush()
	co.restoreFunctions(s.functions)
}

// Close ends the engine: no deadline fires any more and waiting in-process
// clients return. Connections are the server's to close.
func (e *Engine) Close() {
	e.closing.Store(true)
	e.mu.Lock()
	e.core.closed = true
	e.core.targets.stop()
	e.core.arm()
	e.changed.Broadcast()
	e.mu.Unlock()
	e.debuggers.Wait()
}

// Do runs one command as an in-process client of its own and returns the reply
// as a RESP3 client sees it. State such as SELECT stays with this client from
// call to call; NewClient makes further ones.
func (e *Engine) Do(args ...string) resp.Value {
	e.lockForCommand()
	defer e.unlock()
	return e.builtinClient().do(args)
}

// Check verifies every invariant of the keyspace.
func (e *Engine) Check() error {
	e.lock()
	defer e.unlock()
	for i, db := range e.core.dbs {
		if err := db.Check(); err != nil {
			return fmt.Errorf("db %d: %w", i, err)
		}
	}
	return nil
}

// ReportPanic logs a fault of this package that a connection ran into. The
// connection is closed, the server lives on.
func (e *Engine) ReportPanic(v any, stack []byte) {
	if log := e.core.cfg.Log; log != nil { // whatever loglevel says, which only turns may read
		log(LogWarning, fmt.Sprintf("internal error: %v\n%s", v, stack))
	}
}

// log writes a line to the log, if there is one and the line is important enough.
func (co *core) log(level LogLevel, text string) {
	if co.cfg.Log != nil && int(level) >= slices.Index(logLevels, co.tuned("loglevel")) {
		co.cfg.Log(level, text)
	}
}
