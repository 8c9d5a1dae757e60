package engine

import (
	"fmt"
	"net"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

// endpoint is where a cluster's clients find a node.
type endpoint struct {
	host     string // an IP address
	port     int64
	busPort  int64
	hostname string // empty for none
}

// endpointOf is where the cluster's clients find a node.
func (co *core) endpointOf(n *clusterNode) endpoint {
	if n == co.cluster.self {
		return co.endpoint()
	}
	return n.endpoint
}

// endpoint is where they find this node: at what is announced, else at the first address
// that connections are accepted on.
func (co *core) endpoint() (at endpoint) {
	for _, l := range co.listeners {
		if h, p, err := net.SplitHostPort(l.addr); err == nil && l.network != "unix" {
			at.host, at.port = h, resp.Atoi(p)
			break
		}
	}
	at.busPort, at.hostname = at.port+10000, co.set.announced.hostname
	if set := &co.set.announced; set.host != "" {
		at.host = set.host
	}
	if port := co.set.announced.port; port != 0 {
		at.port = port
	}
	if port := co.set.announced.busPort; port != 0 {
		at.busPort = port
	}
	return at
}

// The values of cluster-preferred-endpoint-type beside ip.
const (
	preferHostname = "hostname"
	preferUnknown  = "unknown-endpoint"
)

func (co *core) preferredEndpoint() string { return co.tuned("cluster-preferred-endpoint-type") }

// preferred is how clients are to call a node. What they can't be told is "?", and nothing
// if they are to stay with the address that they have.
func (co *core) preferred(at endpoint) string {
	switch how := co.preferredEndpoint(); {
	case how == preferUnknown:
		return ""
	case how == preferHostname && at.hostname == "":
		return "?"
	case how == preferHostname:
		return at.hostname
	}
	return at.host
}

// slotsEntry is a node in the reply of CLUSTER SLOTS: what it is called, and what else is
// known of where it is.
func (co *core) slotsEntry(n *clusterNode) resp.Value {
	at, how := co.endpointOf(n), co.preferredEndpoint()
	name := resp.Bulk(co.preferred(at))
	if how == preferUnknown {
		name = resp.Null
	}
	var more []resp.Value
	if how == preferUnknown || how == preferHostname {
		more = append(more, resp.Bulk("ip"), resp.Bulk(at.host))
	}
	if how != preferHostname && at.hostname != "" {
		more = append(more, resp.Bulk("hostname"), resp.Bulk(at.hostname))
	}
	return resp.Array(name, resp.Int(at.port), resp.Bulk(n.id), resp.Map(more...))
}

// text is a node's address in CLUSTER NODES.
func (at endpoint) text() string {
	text := fmt.Sprintf("%s:%d@%d", at.host, at.port, at.busPort)
	if at.hostname != "" {
		text += "," + at.hostname
	}
	return text
}

// announceParam is a parameter of which the other nodes are told.
func announceParam(p parameter) parameter {
	return noticedParam(p, func(cl *cluster) { cl.changed = true })
}

const maxHostname = 256

// setHostname sets cluster-announce-hostname, of which the server checks no more than this.
func setHostname(co *core, value string) (why string) {
	if len(value) >= maxHostname {
		return "Hostnames must be less than 256 characters"
	}
	for _, c := range []byte(value) {
		if !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.') {
			return "Hostnames may only contain alphanumeric characters, hyphens or dots"
		}
	}
	co.set.announced.hostname = strings.Clone(value)
	return ""
}
