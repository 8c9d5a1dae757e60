package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/echomq/echomq-sim/resp"
)

// Flags are a command's behaviour flags, in the order in which COMMAND prints them.
// The last three are never printed, as on the server.
type Flags uint32

const (
	Write Flags = 1 << iota
	ReadOnly
	DenyOOM
	Admin
	PubSub
	NoScript
	Blocking
	Loading
	Stale
	SkipMonitor
	SkipSlowlog
	Asking
	Fast
	NoAuth
	NoMandatoryKeys
	NoAsyncLoading
	NoMulti
	MovableKeys // derived from the key specs
	AllowBusy
	MayReplicate
	Protected
	TouchesArbitraryKeys
)

var flagNames = []string{"write", "readonly", "denyoom", "admin", "pubsub", "noscript", "blocking", "loading", "stale",
	"skip_monitor", "skip_slowlog", "asking", "fast", "no_auth", "no_mandatory_keys", "no_async_loading", "no_multi",
	"movablekeys", "allow_busy"}

// handler is the work of one command. It runs inside a turn.
type handler func(c *Call) resp.Value

// Spec is a command's row: all that the server knows of a command but for its
// code. Rows stand beside their handlers; COMMAND, the gates, key extraction,
// ACL categories and the README's table are derived from them.
type Spec struct {
	Name       string // lower case; "client|kill" for a subcommand
	Arity      int    // with the name itself; negative: at least
	Flags      Flags
	NoGroupACL bool     // the group's ACL category does not apply
	ACL        []string // categories beyond those that flags and group imply
	Keys       []KeySpec
	run        handler                              // nil for a container
	findKeys   func(args []string) []KeyRef         // overrides Keys where they can't tell
	pace       func(s *Session, args []string) pace // nil: paceBrief

	Group, Since, Complexity, Summary string
	DocFlags                          []string
	DeprecatedSince, ReplacedBy       string
	History                           []string // "6.2.0 Added the `GT` option."
	Tips                              []string
	Args                              string // the argument tree, in the notation of docargs.go

	categories categories
	subs       map[string]*Spec
	subOrder   []*Spec
	upper      string
	inMulti    bool         // runs at once between MULTI and EXEC
	forgets    bool         // refers to none of its arguments once it is through
	inPubSub   bool         // a RESP2 client may give it while subscribed
	channels   *channelSpec // nil: it uses none
	first      int          // legacy key range, as COMMAND prints it
	last, step int
	id         int // its place in core.commandStats
}

// commandStats is one line of INFO commandstats.
type commandStats struct {
	calls, usec, rejected, failed int64
	latency                       *latencyHistogram // nil until the first call
}

// categories is a set of ACL categories.
type categories uint32

// The categories in the server's order.
const (
	catKeyspace categories = 1 << iota
	catRead
	catWrite
	catSet
	catSortedSet
	catList
	catHash
	catString
	catBitmap
	catHyperLogLog
	catGeo
	catStream
	catPubSub
	catAdmin
	catFast
	catSlow
	catBlocking
	catDangerous
	catConnection
	catTransaction
	catScripting
)

// aclCategories are their names.
var aclCategories = []string{"keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap",
	"hyperloglog", "geo", "stream", "pubsub", "admin", "fast", "slow", "blocking", "dangerous", "connection",
	"transaction", "scripting"}

// groupCategory maps a group to the ACL category that its commands have.
var groupCategory = map[string]categories{"string": catString, "hash": catHash, "set": catSet, "sorted-set": catSortedSet,
	"list": catList, "stream": catStream, "bitmap": catBitmap, "hyperloglog": catHyperLogLog, "geo": catGeo,
	"connection": catConnection, "transactions": catTransaction, "scripting": catScripting, "generic": catKeyspace}

// flagCategories are the categories that flags imply, as in setImplicitACLCategories of Valkey's server.c.
var flagCategories = []struct {
	flag Flags
	have categories
}{{Write, catWrite}, {ReadOnly, catRead}, {Admin, catAdmin | catDangerous}, {PubSub, catPubSub}, {Fast, catFast}, {Blocking, catBlocking}}

// categoryNamed is the category of a name in lower case, 0 if there is none.
func categoryNamed(name string) categories {
	if i := slices.Index(aclCategories, name); i >= 0 {
		return 1 << i
	}
	return 0
}

func (c categories) names() (names []string) {
	for i, name := range aclCategories {
		if c&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// table is a command table.
type table struct {
	byName map[string]*Spec // lower and upper case names of top-level commands
	order  []*Spec          // top-level commands by name
	rows   int              // subcommands included
}

// sharedTable is the one table of all engines of the process: no engine writes to it.
var sharedTable = sync.OnceValue(func() *table { return newTable(commandGroups()) })

// newTable builds the table of the groups' own rows, which it completes: a copy would be 45
// pages more to touch at the start of a process. It panics on a row that contradicts itself:
// that is a fault in this package, found by the first test that makes an engine.
func newTable(groups [][]Spec) *table {
	t := &table{byName: make(map[string]*Spec, 512)} // two spellings of each name
	var subs []*Spec
	for _, rows := range groups {
		for i := range rows {
			s := &rows[i]
			s.finish()
			s.id = t.rows
			t.rows++
			if strings.Contains(s.Name, "|") {
				subs = append(subs, s)
				continue
			}
			if t.byName[s.Name] != nil {
				panic("engine: two rows for " + s.Name)
			}
			t.byName[s.Name] = s
			t.byName[s.upper] = s
			t.order = append(t.order, s)
		}
	}
	for _, s := range subs {
		t.addSub(s)
	}
	byName := func(a, b *Spec) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(t.order, byName)
	for _, s := range t.order {
		slices.SortFunc(s.subOrder, byName)
	}
	return t
}

func (t *table) addSub(s *Spec) {
	container, name, _ := strings.Cut(s.Name, "|")
	parent := t.byName[container]
	if parent == nil {
		panic("engine: no row for the container of " + s.Name)
	}
	if parent.subs == nil {
		parent.subs = map[string]*Spec{}
	}
	if parent.subs[name] != nil {
		panic("engine: two rows for " + s.Name)
	}
	parent.subs[name] = s
	parent.subs[strings.ToUpper(name)] = s
	parent.subOrder = append(parent.subOrder, s)
}

// finish derives what a row does not spell out.
func (s *Spec) finish() {
	if s.Arity == 0 || s.Summary == "" || s.Group == "" || s.Since == "" {
		panic("engine: incomplete row " + s.Name)
	}
	s.deriveCategories()
	s.deriveRange()
	s.upper = strings.ToUpper(s.Name)
	s.inMulti, s.inPubSub = runsInMulti[s.Name], inPubSub[s.Name]
	s.channels = channelsOf[s.Name]
	s.forgets = s.Flags&Blocking == 0 && (s.categories&plainData != 0 || forgetful[s.Name])
	for _, k := range s.Keys {
		if err := k.validate(); err != nil {
			panic(fmt.Sprintf("engine: %s: %v", s.Name, err))
		}
	}
}

// plainData are the types whose commands give arguments to nobody but the store, which
// copies what it keeps; forgetful are others of which that is known.
const plainData = catString | catHash | catSet | catSortedSet | catList

var forgetful = map[string]bool{"del": true, "unlink": true, "exists": true, "type": true, "touch": true,
	"expire": true, "pexpire": true, "expireat": true, "pexpireat": true, "persist": true, "ttl": true, "pttl": true,
	"evalsha": true, "evalsha_ro": true, "ping": true}

func (s *Spec) deriveCategories() {
	for _, name := range s.ACL {
		category := categoryNamed(name)
		if category == 0 {
			panic("engine: unknown ACL category " + name)
		}
		s.categories |= category
	}
	if !s.NoGroupACL {
		s.categories |= groupCategory[s.Group]
	}
	for _, implied := range flagCategories {
		if s.Flags&implied.flag != 0 && (implied.flag != ReadOnly || s.categories&catScripting == 0) {
			s.categories |= implied.have
		}
	}
	if s.categories&catFast == 0 {
		s.categories |= catSlow
	}
}

// lookup finds the row for a request: a container's subcommand when there is
// one. found is the top-level row even when the subcommand is unknown.
func (t *table) lookup(args []string) (spec, found *Spec) {
	s := t.byName[args[0]]
	if s == nil {
		if s = t.byName[strings.ToLower(args[0])]; s == nil {
			return nil, nil
		}
	}
	if s.subs == nil {
		return s, s
	}
	if len(args) == 1 {
		return s, s
	}
	sub := s.subs[args[1]]
	if sub == nil {
		sub = s.subs[strings.ToLower(args[1])]
	}
	return sub, s
}

// lookedUp is a row that was looked up not long ago.
type lookedUp struct {
	spec *Spec
	name string // as it was spelled
}

// lookup is table.lookup, quicker for commands that were looked up not long ago.
func (co *core) lookup(args []string) (spec, found *Spec) {
	name := args[0]
	n := len(name)
	if n == 0 {
		return nil, nil
	}
	// These factors give the 40 commands that job queues use most 28 places.
	recent := &co.recent[(4*n+3*int(name[0])+3*int(name[n-1])+5*int(name[n/2]))%len(co.recent)]
	if recent.name == name {
		return recent.spec, recent.spec
	}
	spec, found = co.table.lookup(args)
	if spec == nil || spec.subs != nil || spec != found {
		return spec, found
	}
	switch name { // not the argument itself, which keeps a whole read alive
	case spec.Name:
		*recent = lookedUp{spec, spec.Name}
	case spec.upper:
		*recent = lookedUp{spec, spec.upper}
	}
	return spec, found
}

// byFullName finds "get" or "client|kill", in any case.
func (t *table) byFullName(name string) *Spec {
	top, sub, nested := strings.Cut(name, "|")
	s, _ := t.lookup([]string{top})
	if s == nil || !nested {
		return s
	}
	return s.subs[strings.ToLower(sub)]
}

// each visits all rows, subcommands after their container.
func (t *table) each(f func(s *Spec)) {
	for _, s := range t.order {
		f(s)
		for _, sub := range s.subOrder {
			f(sub)
		}
	}
}

// arityOK reports whether a request of n words, name included, fits the row.
func (s *Spec) arityOK(n int) bool {
	return n == s.Arity || s.Arity < 0 && n >= -s.Arity
}
