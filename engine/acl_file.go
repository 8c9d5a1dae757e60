//lint:file-ignore ST1005 the texts of the errors are the server's

package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/echomq/echomq-sim/resp"
)

// maxACLFile bounds the size of the file that ACL LOAD reads.
const maxACLFile = 64 << 20

// initUsers makes the users that there are at the start: from the password, the
// configured users and the ACL file, in this order.
func (co *core) initUsers() error {
	co.acl = accessControl{users: map[string]*aclUser{}, def: newDefaultUser(co.rulebook())}
	co.acl.users[defaultUser] = co.acl.def
	setRequirePass(co, co.cfg.Password)
	users, err := co.cfg.configuredUsers(co.rulebook())
	if err != nil {
		return err
	}
	for _, u := range users {
		if u.name == defaultUser {
			co.acl.def.become(u)
			continue
		}
		u.settle()
		co.acl.users[u.name] = u
	}
	if co.cfg.ACLFile == "" {
		return nil
	}
	filed, err := readACLFile(co.cfg.ACLFile, co.rulebook())
	if err != nil {
		return fmt.Errorf("config: ACLFile: %w", err)
	}
	co.acl.users = co.withDefault(filed)
	return nil
}

// configuredUsers makes the users of Config.Users.
func (c *Config) configuredUsers(book rulebook) ([]*aclUser, error) {
	if len(c.Users) > 0 && c.ACLFile != "" {
		return nil, errors.New("config: Users and ACLFile can't be used together")
	}
	var users []*aclUser
	seen := map[string]bool{}
	for _, line := range c.Users {
		u, err := parseUser(line, book)
		if err != nil {
			return nil, fmt.Errorf("config: Users: %q: %w", line, err)
		}
		if seen[u.name] {
			return nil, fmt.Errorf("config: Users: %q is there twice", u.name)
		}
		seen[u.name] = true
		users = append(users, u)
	}
	return users, nil
}

// parseUser makes a user from "name rule rule ...".
func parseUser(line string, book rulebook) (*aclUser, error) {
	words, ok := resp.SplitWords(line)
	if !ok || len(words) == 0 {
		return nil, errors.New("want a name and rules, with balanced quotes")
	}
	rules, open := mergeSelectors(words[1:])
	switch {
	case open != "":
		return nil, unmatched(open)
	case hasSpace(words[0]):
		return nil, errUserName
	}
	u := newUser(strings.Clone(words[0]), book)
	return u, u.applyAll(rules, book)
}

// withDefault is the table of users as it becomes: the default user itself
// stays, with what users has for it.
func (co *core) withDefault(users map[string]*aclUser) map[string]*aclUser {
	next := users[defaultUser]
	if next == nil {
		next = newDefaultUser(co.rulebook())
	}
	co.acl.def.become(next)
	users[defaultUser] = co.acl.def
	return users
}

// readACLFile makes the users of a file. The error tells all that is wrong with it,
// in the server's words and on one line.
func readACLFile(path string, book rulebook) (map[string]*aclUser, error) {
	text, err := readRegular(path)
	if err != nil {
		return nil, fmt.Errorf("Error loading ACLs, opening file '%s': %s", path, errorText(err))
	}
	users := map[string]*aclUser{}
	var wrong strings.Builder
	for i, line := range strings.Split(cString(text), "\n") {
		if line = strings.Trim(line, " \t\r\n"); line == "" {
			continue
		}
		u, complaint := parseACLLine(line, users, book, fmt.Sprintf("%s:%d", path, i+1))
		wrong.WriteString(complaint)
		if u != nil {
			u.settle()
			users[u.name] = u
		}
	}
	if wrong.Len() > 0 {
		return nil, errors.New(wrong.String() +
			"WARNING: ACL errors detected, no change to the previously active ACL rules was performed")
	}
	return users, nil
}

// parseACLLine makes the user of one line; where is the line's place for the complaint.
func parseACLLine(line string, users map[string]*aclUser, book rulebook, where string) (u *aclUser, complaint string) {
	words := strings.Split(line, " ")
	if words[0] != "user" || len(words) < 2 {
		return nil, where + " should start with user keyword followed by the username. "
	}
	name := words[1]
	if hasSpace(name) {
		return nil, "'" + where + ": username '" + name + "' contains invalid characters. "
	}
	if users[name] != nil {
		number := where[strings.LastIndexByte(where, ':')+1:]
		return nil, "WARNING: Duplicate user '" + name + "' found on line " + number + ". "
	}
	rules, open := mergeSelectors(words[2:])
	if open != "" {
		return nil, where + ": Unmatched parenthesis in selector definition."
	}
	u = newUser(name, book)
	faulty := false
	for _, r := range rules {
		r = strings.Trim(r, "\t\r\n")
		switch err := u.apply(r, book); {
		case err == errRuleUnknown:
			complaint += where + ": Error in applying operation '" + r + "': " + err.Error() + ". "
		case err != nil && !faulty:
			faulty = true
			complaint += where + ": " + err.Error() + ". "
		}
	}
	return u, complaint
}

// readRegular reads a file that is not too large. Anything else that can be opened
// might never end.
func readRegular(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errors.New("Not a regular file")
	case info.Size() > maxACLFile:
		return "", syscall.EFBIG
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxACLFile))
	return string(text), err
}

// errorText is a system error as C's strerror words it.
func errorText(err error) string {
	var code syscall.Errno
	text := err.Error()
	if errors.As(err, &code) {
		text = code.Error()
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// loadACL reads the users from the ACL file. Clients stay with the user of their
// name; those without one are closed, as are those that listen to channels that
// their user may not any more.
func (c *Call) loadACL() error {
	users, err := readACLFile(c.cfg.ACLFile, c.rulebook())
	if err != nil {
		return err
	}
	before := map[*aclUser]*aclUser{}
	for _, u := range c.acl.users { // copies: nobody sees the order
		before[u] = u.clone()
	}
	c.acl.users = c.withDefault(users)
	for _, s := range c.clients() {
		old, next := before[s.user], c.acl.users[s.user.name]
		if next == nil {
			s.user, s.authed = c.acl.def, false
			c.expel(s)
			continue
		}
		s.user = next
		if channels, less := old.narrowed(next); less && s.listensBeyond(channels) {
			c.expel(s)
		}
	}
	return nil
}

// saveACL writes all users to the ACL file, which is replaced at once or not at all.
func (co *core) saveACL() error {
	var b strings.Builder
	for _, name := range co.acl.userNames() {
		b.WriteString(co.acl.users[name].describe() + "\n")
	}
	path := co.cfg.ACLFile
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already when all went well
	_, err = f.WriteString(b.String())
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// setRequirePass gives the default user a password alone, or none if value is empty.
func setRequirePass(co *core, value string) (why string) {
	co.set.requirePass = strings.Clone(value)
	rule := "nopass"
	if value != "" {
		rule = ">" + value
	}
	co.acl.def.passwords, co.acl.def.noPass = nil, false
	if err := co.acl.def.apply(rule, co.rulebook()); err != nil {
		return err.Error()
	}
	return ""
}

func (co *core) pubsubDefault() string {
	if co.set.channelsOpen {
		return "allchannels"
	}
	return "resetchannels"
}

func setPubsubDefault(co *core, value string) (why string) {
	switch {
	case strings.EqualFold(value, "allchannels"):
		co.set.channelsOpen = true
	case strings.EqualFold(value, "resetchannels"):
		co.set.channelsOpen = false
	default:
		return "argument(s) must be one of the following: allchannels, resetchannels"
	}
	return ""
}
