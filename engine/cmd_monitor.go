package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

var monitorCommands = []Spec{
	{Name: "monitor", Arity: 1, Flags: Admin | NoScript | Loading | Stale, run: monitor,
		Group: "server", Since: "1.0.0",
		Summary: "Listens for all requests received by the server in real-time."},
}

// monitor: MONITOR
func monitor(c *Call) resp.Value {
	s := c.Sess
	if c.inExec || s.conn == nil { // who gets one reply for each command can't take more
		return resp.Err("ERR MONITOR isn't allowed for DENY BLOCKING client")
	}
	if s.monitor {
		return resp.None
	}
	s.monitor = true
	c.monitors = append(c.monitors, s)
	return resp.OK
}

// stopMonitor ends MONITOR.
func (s *Session) stopMonitor() {
	if s.monitor {
		s.monitor = false
		s.core.monitors = slices.DeleteFunc(s.core.monitors, func(m *Session) bool { return m == s })
	}
}

// feedMonitors shows a request to the monitors.
func (c *Call) feedMonitors() {
	if len(c.monitors) == 0 {
		return
	}
	from := c.Sess.addr()
	switch {
	case c.script != nil:
		from = "lua"
	case c.Sess.conn != nil && strings.HasSuffix(c.Sess.laddr(), ":0"):
		from = "unix:" + strings.TrimSuffix(c.Sess.laddr(), ":0")
	}
	text := fmt.Appendf(nil, "%d.%06d [%d %s]", c.now/1e6, c.now%1e6, c.dbIndex(), from)
	for i, a := range c.Args {
		if c.Spec.hides(c.Args, i) {
			a = redacted
		}
		text = resp.AppendQuoted(append(text, ' '), a)
	}
	line := resp.Simple(string(text))
	for _, m := range c.monitors {
		if c.script != nil || c.Spec.Flags&SkipMonitor != 0 {
			m.push(line) // a script's reply is still to come, whoever runs it
		} else {
			m.deliver(line)
		}
	}
}

// redacted is what logs and monitors are shown in place of a secret.
const redacted = "(redacted)"

// hides reports whether argument i is kept from monitors and the slow log: names and
// passwords.
func (s *Spec) hides(args []string, i int) bool {
	switch s.Name {
	case "auth":
		return len(args) <= 3 && i > 0
	case "migrate":
		return migrateHides(args, i)
	case "acl|setuser", "acl|deluser":
		return i > 1
	case "acl|getuser":
		return i == 2
	case "config|set":
		return len(args)%2 == 0 && i > 2 && i%2 == 1 && isSecretParameter(args[i-1])
	case "hello":
		if n, ok := parseInt(args[min(1, len(args)-1)]); !ok || n != 2 && n != 3 {
			return false
		}
		for j := 2; j < len(args); j++ {
			switch more := len(args) - 1 - j; {
			case equalWord(args[j], "auth") && more >= 2:
				if i == j+1 || i == j+2 {
					return true
				}
				j += 2
			case equalWord(args[j], "setname") && more >= 1:
				j++
			default:
				return false
			}
		}
	}
	return false
}
