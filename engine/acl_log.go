package engine

import (
	"slices"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

// deniedEntry is an entry of ACL LOG: what was refused, once or more often.
type deniedEntry struct {
	count         int64
	why           denied
	where         string // toplevel, multi or lua
	object        string // the command, key or channel
	user          string
	client        string // the line of CLIENT LIST of the last one
	id            int64
	created, last int64 // Unix milliseconds
}

const (
	denialsWithinMs = 60000 // alike ones are one entry when they are not further apart
	denialsCompared = 10    // as many of the latest entries are looked at
)

// noteDenied counts a denial and writes it to the log.
func (s *Session) noteDenied(why denied, where, object, user string) {
	co := s.core
	co.stats.denied[why]++
	if co.set.aclLogMax == 0 {
		co.acl.log = nil
		return
	}
	from := s
	if co.running != nil {
		from = co.running
	}
	client, now := from.describe(nil), co.ms()
	for i, e := range co.acl.log[:min(denialsCompared, len(co.acl.log))] {
		if e.why == why && e.where == where && max(now-e.last, e.last-now) <= denialsWithinMs && e.object == object && e.user == user {
			e.client, e.last = client, now
			e.count++
			co.acl.log = slices.Insert(slices.Delete(co.acl.log, i, i+1), 0, e)
			return
		}
	}
	e := &deniedEntry{count: 1, why: why, where: where, object: strings.Clone(object), user: strings.Clone(user),
		client: client, id: co.acl.entries, created: now, last: now}
	co.acl.entries++
	co.acl.log = slices.Insert(co.acl.log, 0, e)
	if int64(len(co.acl.log)) > co.set.aclLogMax {
		clear(co.acl.log[co.set.aclLogMax:])
		co.acl.log = co.acl.log[:co.set.aclLogMax]
	}
}

// aclLog: ACL LOG [count | RESET]
func aclLog(c *Call) resp.Value {
	count := int64(10)
	switch {
	case len(c.Args) > 3:
		return c.subcommandSyntax()
	case c.is(2, "reset"):
		c.acl.log = nil
		return resp.OK
	case len(c.Args) == 3:
		var bad *resp.Value
		if count, bad = c.intArg(2); bad != nil {
			return *bad
		}
	}
	count = max(0, min(count, int64(len(c.acl.log))))
	out := make([]resp.Value, count)
	for i, e := range c.acl.log[:count] {
		out[i] = e.reply(c.ms())
	}
	return resp.Array(out...)
}

func (e *deniedEntry) reply(now int64) resp.Value {
	reason := map[denied]string{deniedCommand: "command", deniedKey: "key", deniedChannel: "channel", deniedLogin: "auth"}
	return resp.Map(
		resp.Bulk("count"), resp.Int(e.count),
		resp.Bulk("reason"), resp.Bulk(reason[e.why]),
		resp.Bulk("context"), resp.Bulk(e.where),
		resp.Bulk("object"), resp.Bulk(e.object),
		resp.Bulk("username"), resp.Bulk(e.user),
		resp.Bulk("age-seconds"), resp.Double(float64(now-e.last)/1000),
		resp.Bulk("client-info"), resp.Bulk(e.client),
		resp.Bulk("entry-id"), resp.Int(e.id),
		resp.Bulk("timestamp-created"), resp.Int(e.created),
		resp.Bulk("timestamp-last-updated"), resp.Int(e.last))
}
