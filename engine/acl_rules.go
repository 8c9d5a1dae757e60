//lint:file-ignore ST1005 the texts of the errors are the server's

package engine

import (
	"errors"
	"slices"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

// What can be wrong with a rule, in the server's words.
var (
	errRuleSyntax   = errors.New("Syntax error")
	errRuleUnknown  = errors.New("Unknown command or category name in ACL")
	errRuleAllKeys  = errors.New("Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns")
	errRuleAllChan  = errors.New("Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels")
	errRuleNoPass   = errors.New("The password you are trying to remove from the user does not exist")
	errRuleHash     = errors.New("The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters")
	errRuleFirstArg = errors.New("Allowing first-arg of a subcommand is not supported")
	errUserName     = errors.New("Usernames can't contain spaces or null characters")
)

func unmatched(open string) error {
	return errors.New("Unmatched parenthesis in acl selector starting at '" + cString(open) + "'.")
}

// applyAll applies rules in their order; the user is spoilt when one is wrong.
func (u *aclUser) applyAll(rules []string, book rulebook) error {
	for _, r := range rules {
		if err := u.apply(r, book); err != nil {
			return errors.New("Error in ACL SETUSER modifier '" + cString(r) + "': " + err.Error())
		}
	}
	return nil
}

// apply changes the user as one rule says.
func (u *aclUser) apply(rule string, book rulebook) error {
	if rule == "" {
		return nil
	}
	switch word := strings.ToLower(cString(rule)); word {
	case "on", "off":
		u.on = word == "on"
	case "skip-sanitize-payload", "sanitize-payload":
		u.skipSanitize = word == "skip-sanitize-payload"
	case "nopass", "resetpass":
		u.noPass, u.passwords = word == "nopass", nil
	case "clearselectors":
		u.selectors = u.selectors[:1]
	case "reset":
		*u = *newUser(u.name, book)
	default:
		return u.applySigned(rule, book)
	}
	return nil
}

// applySigned applies a rule that its first character tells.
func (u *aclUser) applySigned(rule string, book rulebook) error {
	switch {
	case rule[0] == '>' || rule[0] == '#':
		return u.addPassword(rule)
	case rule[0] == '<' || rule[0] == '!':
		return u.dropPassword(rule)
	case rule[0] == '(' && rule[len(rule)-1] == ')':
		p := newPermission(book)
		words, _ := resp.SplitWords(cString(rule[1 : len(rule)-1])) // none at all when a quote is open
		for _, w := range words {
			if err := p.apply(w); err != nil {
				return err
			}
		}
		u.selectors = append(u.selectors, p)
		return nil
	}
	return u.selectors[0].apply(rule)
}

// passwordHash is the hash that a rule gives, in clear behind > and < or hashed.
func passwordHash(rule string) (string, error) {
	if rule[0] == '>' || rule[0] == '<' {
		return hashPassword(rule[1:]), nil
	}
	hash := rule[1:]
	if len(hash) != 64 || strings.Trim(hash, "0123456789abcdef") != "" {
		return "", errRuleHash
	}
	return strings.Clone(hash), nil
}

func (u *aclUser) addPassword(rule string) error {
	hash, err := passwordHash(rule)
	if err != nil {
		return err
	}
	if !slices.Contains(u.passwords, hash) {
		u.passwords = append(u.passwords, hash)
	}
	u.noPass = false
	return nil
}

func (u *aclUser) dropPassword(rule string) error {
	hash, err := passwordHash(rule)
	if err != nil {
		return err
	}
	i := slices.Index(u.passwords, hash)
	if i < 0 {
		return errRuleNoPass
	}
	u.passwords = slices.Delete(u.passwords, i, i+1)
	return nil
}

// apply changes a selector as one rule says.
func (p *permission) apply(rule string) error {
	switch word := strings.ToLower(cString(rule)); word {
	case "allkeys", "~*", "resetkeys":
		p.allKeys, p.keys = word != "resetkeys", nil
	case "allchannels", "&*", "resetchannels":
		p.allChannels, p.channels = word != "resetchannels", nil
	case "allcommands", "+@all":
		p.setAllCommands(true)
	case "nocommands", "-@all":
		p.setAllCommands(false)
	default:
		return p.applySigned(rule)
	}
	return nil
}

func (p *permission) setAllCommands(allow bool) {
	p.allCommands, p.future, p.rules, p.firsts = allow, allow, nil, nil
	for i := range p.commands {
		p.commands[i] = 0
		if allow {
			p.commands[i] = ^uint64(0)
		}
	}
}

func (p *permission) applySigned(rule string) error {
	if rule == "" {
		return errRuleSyntax // inside a selector
	}
	name := cString(rule[1:])
	switch sign := rule[0]; {
	case sign == '~' || sign == '%':
		return p.addKeys(rule)
	case sign == '&':
		return p.addChannels(rule[1:])
	case sign != '+' && sign != '-':
		return errRuleSyntax
	case strings.HasPrefix(name, "@"):
		return p.applyCategory(strings.ToLower(name), sign == '+')
	case sign == '+' && strings.Contains(name, "|"):
		return p.allowPart(name)
	default:
		return p.applyCommand(name, sign == '+')
	}
}

func (p *permission) addKeys(rule string) error {
	if p.allKeys {
		return errRuleAllKeys
	}
	glob, may := rule[1:], mayRead|mayWrite
	if rule[0] == '%' {
		var ok bool
		if glob, may, ok = parseKeyUse(rule[1:]); !ok {
			return errRuleSyntax
		}
	}
	if hasSpace(glob) {
		return errRuleSyntax
	}
	if i := slices.IndexFunc(p.keys, func(k keyPattern) bool { return k.glob == glob }); i >= 0 {
		p.keys[i].may |= may
		return nil
	}
	p.keys = append(p.keys, keyPattern{strings.Clone(glob), may})
	return nil
}

// parseKeyUse reads the R~ or W~ or RW~ of a key pattern; what follows may be left
// out, tilde included.
func parseKeyUse(s string) (glob string, may keyUse, ok bool) {
	for i := range len(s) {
		switch c := s[i]; {
		case (c == 'R' || c == 'r') && may&mayRead == 0:
			may |= mayRead
		case (c == 'W' || c == 'w') && may&mayWrite == 0:
			may |= mayWrite
		case c == '~' && may != 0:
			return s[i+1:], may, true
		default:
			return "", 0, false
		}
	}
	return "", may, may != 0
}

func (p *permission) addChannels(glob string) error {
	switch {
	case p.allChannels:
		return errRuleAllChan
	case hasSpace(glob):
		return errRuleSyntax
	case !slices.Contains(p.channels, glob):
		p.channels = append(p.channels, strings.Clone(glob))
	}
	return nil
}

// hasSpace reports whether s can't stand in a line of rules.
func hasSpace(s string) bool { return strings.ContainsAny(s, " \t\n\v\f\r\x00") }

func (p *permission) applyCategory(name string, allow bool) error {
	category := categoryNamed(name[1:])
	if category == 0 {
		return errRuleUnknown
	}
	p.addRule(name, allow)
	p.table.each(func(s *Spec) {
		if s.categories&category != 0 {
			p.setCommand(s, allow)
		}
	})
	return nil
}

// applyCommand applies +command, -command or -command|subcommand.
func (p *permission) applyCommand(name string, allow bool) error {
	name = strings.ToLower(name)
	if s := p.table.byFullName(name); s != nil {
		p.setCommand(s, allow)
	} else if !isAbsent(name) {
		return errRuleUnknown
	}
	p.addRule(name, allow)
	return nil
}

// allowPart applies +command|subcommand or +command|first-argument.
func (p *permission) allowPart(name string) error {
	i := strings.LastIndexByte(name, '|')
	top, part := strings.ToLower(name[:i]), name[i+1:]
	s := p.table.byFullName(top)
	switch {
	case s == nil && !isAbsent(top):
		return errRuleUnknown
	case strings.Contains(top, "|"):
		return errRuleFirstArg
	case part == "":
		return errRuleSyntax
	case s == nil || s.subs != nil:
		return p.applyCommand(name, true)
	}
	same := func(first string) bool { return equalWord(part, first) }
	if !slices.ContainsFunc(p.firsts[s.id], same) {
		if p.firsts == nil {
			p.firsts = map[int][]string{}
		}
		p.firsts[s.id] = append(p.firsts[s.id], strings.Clone(part))
	}
	p.addRule(strings.ToLower(name), true)
	return nil
}

// setCommand allows or denies a command with all of its subcommands.
func (p *permission) setCommand(s *Spec, allow bool) {
	p.set(s.id, allow)
	delete(p.firsts, s.id)
	for _, sub := range s.subOrder {
		p.set(sub.id, allow)
	}
}

func (p *permission) set(id int, allow bool) {
	if allow {
		p.commands[id/64] |= 1 << (id % 64)
		return
	}
	p.commands[id/64] &^= 1 << (id % 64)
	p.allCommands = false
}

// addRule notes a rule about commands in place of those that it makes void: the same
// with either sign, and those about its subcommands.
func (p *permission) addRule(name string, allow bool) {
	p.rules = slices.DeleteFunc(p.rules, func(old string) bool {
		return old[1:] == name || strings.HasPrefix(old[1:], name+"|")
	})
	sign := "-"
	if allow {
		sign = "+"
	}
	p.rules = append(p.rules, sign+name)
}

// commandRules is what made the allowed commands.
func (p *permission) commandRules() string {
	base := "-@all"
	if p.future {
		base = "+@all"
	}
	return strings.Join(append([]string{base}, p.rules...), " ")
}

func (p *permission) keyRules() []string {
	if p.allKeys {
		return []string{"~*"}
	}
	out := make([]string, len(p.keys))
	for i, k := range p.keys {
		out[i] = map[keyUse]string{mayRead: "%R~", mayWrite: "%W~", mayRead | mayWrite: "~"}[k.may] + k.glob
	}
	return out
}

func (p *permission) channelRules() []string {
	if p.allChannels {
		return []string{"&*"}
	}
	out := make([]string, len(p.channels))
	for i, ch := range p.channels {
		out[i] = "&" + ch
	}
	return out
}

// describe lists the rules that make this selector.
func (p *permission) describe() string {
	words := p.keyRules()
	if !p.allChannels {
		words = append(words, "resetchannels")
	}
	words = append(words, p.channelRules()...)
	return strings.Join(append(words, p.commandRules()), " ")
}

// flags are the user's flags by their names.
func (u *aclUser) flags() []string {
	out := []string{"off"}
	if u.on {
		out[0] = "on"
	}
	if u.noPass {
		out = append(out, "nopass")
	}
	if u.skipSanitize {
		return append(out, "skip-sanitize-payload")
	}
	return append(out, "sanitize-payload")
}

// describe is the user as a line of an ACL file.
func (u *aclUser) describe() string {
	words := append([]string{"user", u.name}, u.flags()...)
	for _, p := range u.passwords {
		words = append(words, "#"+p)
	}
	words = append(words, u.selectors[0].describe())
	for _, p := range u.selectors[1:] {
		words = append(words, "("+p.describe()+")")
	}
	return strings.Join(words, " ")
}
