package engine

import "github.com/echomq/echomq-sim/resp"

var replicationCommands = []Spec{
	{Name: "replicaof", Arity: 3, Flags: Admin | NoScript | Stale | NoAsyncLoading, run: replicaof,
		Group: "server", Since: "5.0.0", Complexity: "O(1)",
		Summary: "Configures a server as replica of another, or promotes it to a primary.",
		Args:    `args<host-port{host port:i} no-one{no:t=NO one:t=ONE}>`},
	{Name: "role", Arity: 1, Flags: NoScript | Loading | Stale | Fast, ACL: []string{"admin", "dangerous"}, run: role,
		Group: "server", Since: "2.8.12", Complexity: "O(1)",
		Summary: "Returns the replication role."},
	{Name: "slaveof", Arity: 3, Flags: Admin | NoScript | Stale | NoAsyncLoading, run: replicaof,
		Group: "server", Since: "1.0.0", Complexity: "O(1)",
		Summary:  "Sets a server as a replica of another, or promotes it to being a primary.",
		DocFlags: []string{"deprecated"}, DeprecatedSince: "5.0.0", ReplacedBy: "`REPLICAOF`",
		Args: `args<host-port{host port:i} no-one{no:t=NO one:t=ONE}>`},
}

// role: ROLE
//
// The server is always a primary without replicas.
func role(*Call) resp.Value {
	return resp.Array(resp.Bulk("master"), resp.Zero, resp.Array())
}

// replicaof: REPLICAOF | SLAVEOF <host port | NO ONE>
//
// NO ONE has nothing to do: nothing here can become a replica.
func replicaof(c *Call) resp.Value {
	if c.is(1, "no") && c.is(2, "one") {
		return resp.OK
	}
	if port, ok := parseInt(c.Args[2]); !ok || port < 0 || port > 65535 {
		return resp.Err("ERR Invalid master port")
	}
	return resp.Err("ERR this simulator can't be a replica")
}
