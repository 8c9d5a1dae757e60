package engine

import (
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

// clientFilter selects clients for CLIENT KILL. Zero fields select all.
type clientFilter struct {
	id          uint64
	addr, laddr *string
	kind        string
	user        *aclUser
	maxAgeSec   int64
	skipMe      bool
}

func (f *clientFilter) selects(s, me *Session) bool {
	return (f.addr == nil || s.addr() == *f.addr) &&
		(f.laddr == nil || s.laddr() == *f.laddr) &&
		(f.kind == "" || s.kind() == f.kind) &&
		(f.user == nil || s.user == f.user) &&
		(f.id == 0 || s.id == f.id) &&
		(s != me || !f.skipMe) &&
		(f.maxAgeSec == 0 || s.ageSec() >= f.maxAgeSec)
}

// clientKill: CLIENT KILL ip:port | filter value [filter value ...]
func clientKill(c *Call) resp.Value {
	oldForm := len(c.Args) == 3
	f := clientFilter{skipMe: true}
	if oldForm {
		f = clientFilter{addr: &c.Args[2]}
	} else if bad := c.parseClientFilter(&f); bad != nil {
		return *bad
	}
	killed := c.killClients(&f)
	switch {
	case !oldForm:
		return resp.Int(int64(killed))
	case killed == 0:
		return resp.Err("ERR No such client")
	}
	return resp.OK
}

// killClients closes the selected clients; the caller itself gets its reply first.
func (c *Call) killClients(f *clientFilter) (killed int) {
	for _, s := range c.clients() {
		if !f.selects(s, c.Sess) {
			continue
		}
		killed++
		c.expel(s)
	}
	return killed
}

func (c *Call) parseClientFilter(f *clientFilter) *resp.Value {
	fail := func(text string) *resp.Value {
		v := resp.Err(text)
		return &v
	}
	for i := 2; i < len(c.Args); i += 2 {
		if i+1 == len(c.Args) {
			return &errSyntax
		}
		value := c.Args[i+1]
		switch strings.ToLower(c.Args[i]) {
		case "id":
			n, ok := parseInt(value)
			if !ok || n < 1 {
				return fail("ERR client-id should be greater than 0")
			}
			f.id = uint64(n)
		case "maxage":
			n, ok := parseInt(value)
			if !ok {
				return fail("ERR maxage is not an integer or out of range")
			}
			if n <= 0 {
				return fail("ERR maxage should be greater than 0")
			}
			f.maxAgeSec = n
		case "type":
			kind, ok := clientTypes[strings.ToLower(value)]
			if !ok {
				v := unknownClientType(value)
				return &v
			}
			f.kind = kind
		case "addr":
			f.addr = &value
		case "laddr":
			f.laddr = &value
		case "user":
			if f.user = c.acl.users[value]; f.user == nil {
				return fail(oneLine("ERR No such user '" + cString(value) + "'"))
			}
		case "skipme":
			if !c.is(i+1, "yes") && !c.is(i+1, "no") {
				return &errSyntax
			}
			f.skipMe = c.is(i+1, "yes")
		default:
			return &errSyntax
		}
	}
	return nil
}
