package engine

import "github.com/echomq/echomq-sim/resp"

var shutdownCommands = []Spec{
	{Name: "shutdown", Arity: -1, Flags: Admin | NoScript | Loading | Stale | NoMulti | AllowBusy, run: shutdown,
		Group: "server", Since: "1.0.0", Complexity: "O(N) when saving, where N is the total number of keys in all databases when saving data, otherwise O(1)",
		Summary: "Synchronously saves the database(s) to disk and shuts down the server.",
		History: []string{"7.0.0 Added the `NOW`, `FORCE` and `ABORT` modifiers."},
		Args:    `abort-selector<save-selector-block{save-selector<nosave:t=NOSAVE save:t=SAVE>? now:t=NOW@7.0.0? force:t=FORCE@7.0.0?} abort:t=ABORT@7.0.0>?`},
}

// shutdownOptions are the words of SHUTDOWN.
type shutdownOptions struct{ noSave, save, now, force, abort bool }

func (c *Call) parseShutdown() (o shutdownOptions, ok bool) {
	for i := 1; i < len(c.Args); i++ {
		switch {
		case c.is(i, "nosave"):
			o.noSave = true
		case c.is(i, "save"):
			o.save = true
		case c.is(i, "now"):
			o.now = true
		case c.is(i, "force"):
			o.force = true
		case c.is(i, "abort"):
			o.abort = true
		default:
			return o, false
		}
	}
	return o, !(o.noSave && o.save) && !(o.abort && (o.noSave || o.save || o.now || o.force))
}

// shutdown: SHUTDOWN [NOSAVE | SAVE] [NOW] [FORCE] [ABORT]
//
// It ends the server at once, as there are no replicas to wait for: connections are closed
// without a reply, an in-process client gets OK. Without NOSAVE it writes Config.SaveFile,
// if there is one.
func shutdown(c *Call) resp.Value {
	o, ok := c.parseShutdown()
	switch {
	case !ok:
		return errSyntax
	case o.abort:
		return resp.Err("ERR No shutdown in progress.")
	case c.busy && !o.noSave:
		return c.busyReply()
	}
	if o.save || !o.noSave && c.cfg.SaveFile != "" {
		if err := c.saveFile(); err != nil {
			c.log(LogWarning, err.Error())
			if !o.force {
				return resp.Err("ERR Errors trying to SHUTDOWN. Check logs.")
			}
		}
	}
	c.log(LogNotice, "User requested shutdown...")
	c.engine.closing.Store(true)
	c.closed = true
	c.engine.changed.Broadcast()
	if c.cfg.OnShutdown != nil {
		go c.cfg.OnShutdown()
	}
	if c.Sess.conn == nil {
		return resp.OK
	}
	return resp.None
}
