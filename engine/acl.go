package engine

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
)

// accessControl is the users and what they were refused.
type accessControl struct {
	users map[string]*aclUser
	def   *aclUser // the default user, which is never removed
	log   []*deniedEntry
	// entries counts the entries that the log ever had: the next one's id.
	entries int64
}

// aclUser is one user. Sessions hold the pointer: a change is felt at once.
type aclUser struct {
	name         string
	on, noPass   bool
	skipSanitize bool
	passwords    []string      // SHA-256 in hex, in the order in which they were added
	selectors    []*permission // the root selector first
	unrestricted bool          // some selector allows everything: the gate looks no further
}

// permission is a selector: a command runs if one selector of the user allows all of it.
type permission struct {
	allCommands, allKeys, allChannels bool

	table    *table
	future   bool             // +@all came last of all: commands yet to come are allowed too
	commands []uint64         // a bit for each row of the table, by its id
	firsts   map[int][]string // by row: the first arguments that are allowed of a command that is not
	keys     []keyPattern     // not with allKeys
	channels []string         // not with allChannels
	rules    []string         // what made commands out of all or none: "+get", "-@write"
}

// keyPattern allows the use of the keys that it matches.
type keyPattern struct {
	glob string
	may  keyUse
}

type keyUse uint8

const (
	mayRead keyUse = 1 << iota
	mayWrite
)

// denied is why a user may not run a request. A higher one is told rather than a lower one.
type denied uint8

const (
	allowed denied = iota
	deniedCommand
	deniedKey
	deniedLogin
	deniedChannel
)

// rulebook is what rules are read with.
type rulebook struct {
	table        *table
	channelsOpen bool // acl-pubsub-default is allchannels
}

func (co *core) rulebook() rulebook { return rulebook{co.table, co.set.channelsOpen} }

func newUser(name string, book rulebook) *aclUser {
	return &aclUser{name: name, selectors: []*permission{newPermission(book)}}
}

func newPermission(book rulebook) *permission {
	return &permission{allChannels: book.channelsOpen, table: book.table, commands: make([]uint64, (book.table.rows+63)/64)}
}

// newDefaultUser makes the user that every client is at first: it may do everything.
func newDefaultUser(book rulebook) *aclUser {
	u := newUser(defaultUser, book)
	u.on, u.noPass = true, true
	root := u.selectors[0]
	root.allKeys, root.allChannels = true, true
	root.setAllCommands(true)
	u.settle()
	return u
}

// clone is a copy that shares nothing that changes.
func (u *aclUser) clone() *aclUser {
	v := *u
	v.passwords = slices.Clone(u.passwords)
	v.selectors = make([]*permission, len(u.selectors))
	for i, p := range u.selectors {
		v.selectors[i] = p.clone()
	}
	return &v
}

func (p *permission) clone() *permission {
	q := *p
	q.commands, q.keys = slices.Clone(p.commands), slices.Clone(p.keys)
	q.channels, q.rules = slices.Clone(p.channels), slices.Clone(p.rules)
	q.firsts = maps.Clone(p.firsts)
	for id, list := range q.firsts {
		q.firsts[id] = slices.Clone(list)
	}
	return &q
}

// become gives u all that v has but the name.
func (u *aclUser) become(v *aclUser) {
	name := u.name
	*u = *v
	u.name = name
	u.settle()
}

// settle works out whether the gate can let the user pass.
func (u *aclUser) settle() {
	u.unrestricted = slices.ContainsFunc(u.selectors, func(p *permission) bool {
		return p.allCommands && p.allKeys && p.allChannels
	})
}

// accepts reports whether the user can log in with a password.
func (u *aclUser) accepts(password string) bool {
	if !u.on || u.noPass {
		return u.on
	}
	hash, ok := []byte(hashPassword(password)), 0
	for _, p := range u.passwords {
		ok |= subtle.ConstantTimeCompare(hash, []byte(p))
	}
	return ok == 1
}

func hashPassword(clear string) string {
	sum := sha256.Sum256([]byte(clear))
	return hex.EncodeToString(sum[:])
}

// may reports whether the user may run a request, which fits the row's arity; if
// not, at is the argument that is refused.
func (u *aclUser) may(spec *Spec, args []string) (why denied, at int) {
	if u.unrestricted {
		return allowed, 0
	}
	why = deniedCommand
	keys := requestKeys{spec: spec, args: args}
	for _, p := range u.selectors {
		w, i := p.may(&keys)
		if w == allowed {
			return allowed, 0
		}
		if w > why || w == why && i > at {
			why, at = w, i
		}
	}
	return why, at
}

// mayWithAnyKey reports whether the user may run a request and use any key there is
// in the ways that flags tell, as SORT's BY and GET do.
func (u *aclUser) mayWithAnyKey(spec *Spec, args []string, flags KeyFlags) bool {
	keys := requestKeys{spec: spec, args: args}
	return slices.ContainsFunc(u.selectors, func(p *permission) bool {
		why, _ := p.may(&keys)
		return why == allowed && (p.allKeys || slices.ContainsFunc(p.keys, func(k keyPattern) bool {
			return k.glob == "*" && k.allows(flags)
		}))
	})
}

// requestKeys are the keys of one request, found once for all selectors.
type requestKeys struct {
	spec  *Spec
	args  []string
	refs  []KeyRef
	known bool
}

func (r *requestKeys) list() []KeyRef {
	if !r.known {
		r.refs, _ = r.spec.keysOf(r.args)
		r.known = true
	}
	return r.refs
}

// may checks the command, then its keys, then its channels.
func (p *permission) may(r *requestKeys) (why denied, at int) {
	if !p.mayRun(r.spec, r.args) {
		return deniedCommand, 0
	}
	if !p.allKeys && r.spec.hasKeys() {
		for _, k := range r.list() {
			if !p.mayUse(r.args[k.Index], k.Flags) {
				return deniedKey, k.Index
			}
		}
	}
	if c := r.spec.channels; !p.allChannels && c != nil {
		for i := 1; i < len(r.args) && (i == 1 || !c.one); i++ {
			if !channelAllowed(p.channels, r.args[i], c.patterns) {
				return deniedChannel, i
			}
		}
	}
	return allowed, 0
}

func (p *permission) mayRun(spec *Spec, args []string) bool {
	if p.allCommands || spec.Flags&NoAuth != 0 || p.has(spec.id) {
		return true
	}
	return len(args) > 1 && slices.ContainsFunc(p.firsts[spec.id], func(first string) bool {
		return equalWord(args[1], first)
	})
}

func (p *permission) has(id int) bool { return p.commands[id/64]&(1<<(id%64)) != 0 }

func (p *permission) mayUse(key string, flags KeyFlags) bool {
	return slices.ContainsFunc(p.keys, func(k keyPattern) bool {
		return k.allows(flags) && globMatch(k.glob, key, false)
	})
}

// allows reports whether the pattern gives all the rights that a use needs.
func (k keyPattern) allows(flags KeyFlags) bool {
	var need keyUse
	if flags&Access != 0 {
		need |= mayRead
	}
	if flags&(Insert|Delete|Update) != 0 {
		need |= mayWrite
	}
	return k.may&need == need
}

// channelAllowed matches a channel with the allowed ones. A pattern to subscribe to
// must be allowed word for word.
func channelAllowed(allowed []string, channel string, isPattern bool) bool {
	return slices.ContainsFunc(allowed, func(glob string) bool {
		if isPattern {
			return cString(glob) == cString(channel)
		}
		return globMatch(glob, channel, false)
	})
}

// channelSpec tells which arguments of a command are channels that it uses:
// the first, or all.
type channelSpec struct{ one, patterns bool }

// channelsOf has the commands whose channels need permission. Leaving a channel needs none.
var channelsOf = map[string]*channelSpec{
	"publish": {one: true}, "spublish": {one: true},
	"subscribe": {}, "ssubscribe": {}, "psubscribe": {patterns: true},
}

// deny finds out whether the client's user may run a request, and takes note if not.
func (s *Session) deny(spec *Spec, args []string, where string) denied {
	why, at := s.user.may(spec, args)
	if why == allowed {
		return allowed
	}
	object := spec.Name
	if why != deniedCommand {
		object = args[at]
	}
	s.noteDenied(why, where, object, s.user.name)
	return why
}

// checkAccess is the gate: it refuses what the client's user may not do.
func (s *Session) checkAccess(spec *Spec, args []string, where string) *reject {
	why := s.deny(spec, args, where)
	if why == allowed {
		return nil
	}
	text := s.user.refusal(why, spec, nil)
	return &reject{conn: "NOPERM " + text, script: "ERR ACL failure in script: " + text}
}

// checkQueued is the gate for a command of a transaction: its user may have changed since.
func (s *Session) checkQueued(q *queued) *reject {
	why := s.deny(q.spec, q.args, "multi")
	if why == allowed {
		return nil
	}
	reason := map[denied]string{
		deniedCommand: "no permission to execute the command or subcommand",
		deniedKey:     "no permission to touch the specified keys",
		deniedChannel: "no permission to access one of the channels used as arguments",
	}[why]
	return &reject{conn: "NOPERM ACLs rules changed between the moment the transaction was accumulated and the " +
		"EXEC call. This command is no longer allowed for the following reason: " + reason}
}

// refusal is the text of a denial; object, if given, is the key or channel that it is about.
func (u *aclUser) refusal(why denied, spec *Spec, object *string) string {
	what := "key"
	if why == deniedChannel {
		what = "channel"
	}
	switch {
	case why == deniedCommand:
		return "User " + u.name + " has no permissions to run the '" + spec.Name + "' command"
	case object != nil:
		return "User " + u.name + " has no permissions to access the '" + *object + "' " + what
	}
	return "No permissions to access a " + what
}

// mustAuth reports whether the client has to log in before anything else.
func (s *Session) mustAuth() bool { return !s.authed && !s.core.acl.def.isOpen() }

// isOpen reports whether a client is this user without a word.
func (u *aclUser) isOpen() bool { return u.on && u.noPass }

// setDefaultUser makes the client what it is without having logged in.
func (s *Session) setDefaultUser() {
	s.user = s.core.acl.def
	s.authed = s.user.isOpen()
}

// login makes the client a user's if the password is right.
func (s *Session) login(name, password string, command string) bool {
	u := s.core.acl.users[name]
	if u == nil || !u.accepts(password) {
		s.noteDenied(deniedLogin, s.place(), command, name)
		return false
	}
	s.user, s.authed = u, true
	return true
}

// userNames lists all users in order.
func (a *accessControl) userNames() []string {
	return slices.Sorted(maps.Keys(a.users))
}

// removeUser forgets a user and closes its connections: the caller's own behind the reply.
func (c *Call) removeUser(name string) bool {
	u := c.acl.users[name]
	if u == nil {
		return false
	}
	delete(c.acl.users, name)
	for _, s := range c.clients() {
		if s.user == u {
			s.user, s.authed = c.acl.def, false
			c.expel(s)
		}
	}
	return true
}

// expel closes a client that may not be here any more; the caller itself gets its reply first.
func (c *Call) expel(s *Session) {
	if s == c.Sess {
		s.closing = true
		return
	}
	s.kill(false)
}

// narrowed is the list of all channels that a user will be allowed, if it takes away
// some that it is allowed now.
func (u *aclUser) narrowed(next *aclUser) (channels []string, less bool) {
	for _, p := range next.selectors {
		if p.allChannels {
			return nil, false
		}
		channels = append(channels, p.channels...)
	}
	less = slices.ContainsFunc(u.selectors, func(p *permission) bool {
		return p.allChannels || slices.ContainsFunc(p.channels, func(ch string) bool { return !slices.Contains(channels, ch) })
	})
	return channels, less
}

// listensBeyond reports whether the client has a subscription that channels do not allow.
func (s *Session) listensBeyond(channels []string) bool {
	for kind := range subKinds {
		for name := range s.subs[kind].all() {
			if !channelAllowed(channels, name, kind == subPattern) {
				return true
			}
		}
	}
	return false
}

// replaceUser gives an existing user new rules and closes those of its clients that
// listen to channels that it may not any more.
func (c *Call) replaceUser(u, next *aclUser) {
	if channels, less := u.narrowed(next); less {
		for _, s := range c.clients() {
			if s.user == u && s.listensBeyond(channels) {
				c.expel(s)
			}
		}
	}
	u.become(next)
}

// mergeSelectors joins the arguments from one that begins with ( to one that ends
// with ). open is the argument that begins one without an end.
func mergeSelectors(args []string) (merged []string, open string) {
	var parts []string
	for _, a := range args {
		switch {
		case parts == nil && strings.HasPrefix(a, "(") && !strings.HasSuffix(a, ")"):
			parts = []string{a}
		case parts != nil:
			if parts = append(parts, cString(a)); strings.HasSuffix(a, ")") {
				merged = append(merged, strings.Join(parts, " "))
				parts = nil
			}
		default:
			merged = append(merged, a)
		}
	}
	if parts != nil {
		return nil, parts[0]
	}
	return merged, ""
}

// NeedsPassword reports whether a new client has to log in first.
func (e *Engine) NeedsPassword() bool {
	e.lock()
	defer e.unlock()
	return !e.core.acl.def.isOpen()
}
