package engine

import (
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

var configCommands = []Spec{
	{Name: "config", Arity: -2,
		Group: "server", Since: "2.0.0", Complexity: "Depends on subcommand.",
		Summary: "A container for server configuration commands."},
	{Name: "config|get", Arity: -3, Flags: Admin | NoScript | Loading | Stale, run: configGet,
		Group: "server", Since: "2.0.0", Complexity: "O(N) when N is the number of configuration parameters provided",
		Summary: "Returns the effective values of configuration parameters.",
		History: []string{"7.0.0 Added the ability to pass multiple pattern parameters in one call"},
		Args:    `parameter*`},
	{Name: "config|help", Arity: 2, Flags: Loading | Stale, run: configHelp,
		Group: "server", Since: "5.0.0", Complexity: "O(1)",
		Summary: "Returns helpful text about the different subcommands."},
	{Name: "config|resetstat", Arity: 2, Flags: Admin | NoScript | Loading | Stale, run: configResetstat,
		Group: "server", Since: "2.0.0", Complexity: "O(1)",
		Summary: "Resets the server's statistics.",
		Tips:    []string{"request_policy:all_nodes", "response_policy:all_succeeded"}},
	{Name: "config|rewrite", Arity: 2, Flags: Admin | NoScript | Loading | Stale, run: configRewrite,
		Group: "server", Since: "2.8.0", Complexity: "O(1)",
		Summary: "Persists the effective configuration to file.",
		Tips:    []string{"request_policy:all_nodes", "response_policy:all_succeeded"}},
	{Name: "config|set", Arity: -4, Flags: Admin | NoScript | Loading | Stale, run: configSet,
		Group: "server", Since: "2.0.0", Complexity: "O(N) when N is the number of configuration parameters provided",
		Summary: "Sets configuration parameters in-flight.",
		History: []string{"7.0.0 Added the ability to set multiple parameters in one call."},
		Tips:    []string{"request_policy:all_nodes", "response_policy:all_succeeded"},
		Args:    `data{parameter value}*`},
}

// configGet: CONFIG GET parameter [parameter ...]
func configGet(c *Call) resp.Value {
	var out []resp.Value
	seen := map[string]bool{}
	show := func(name string, p *parameter) {
		if key := strings.ToLower(name); !seen[key] {
			seen[key] = true
			out = append(out, resp.Bulk(name), resp.Bulk(p.get(c.core)))
		}
	}
	for _, pattern := range c.Args[2:] {
		if !strings.ContainsAny(pattern, "[*?") {
			if p := findParameter(pattern); p != nil {
				show(pattern, p)
			}
			continue
		}
		all := parameters()
		for i := range all {
			if all[i].use&unlisted == 0 && globMatch(pattern, all[i].name, true) {
				show(all[i].name, &all[i])
			}
		}
	}
	return resp.Map(out...)
}

// configSet: CONFIG SET parameter value [parameter value ...]
func configSet(c *Call) resp.Value {
	pairs := c.Args[2:]
	if len(pairs)%2 != 0 {
		return errSyntax
	}
	chosen, bad := settableParameters(pairs)
	if bad != nil {
		return *bad
	}
	old := make([]string, len(chosen))
	for i, p := range chosen {
		old[i] = p.get(c.core)
	}
	for i, p := range chosen {
		if why := p.set(c.core, pairs[2*i+1]); why != "" {
			for j := i - 1; j >= 0; j-- { // what had been accepted before is accepted again
				chosen[j].set(c.core, old[j])
			}
			return *configSetFailed(p.name, why)
		}
	}
	return resp.OK
}

func configSetFailed(name, why string) *resp.Value {
	v := resp.Err(oneLine("ERR CONFIG SET failed (possibly related to argument '" + cString(name) + "') - " + why))
	return &v
}

// settableParameters are the parameters that the pairs name, if all of them can be set.
func settableParameters(pairs []string) (chosen []*parameter, bad *resp.Value) {
	for i := 0; i < len(pairs); i += 2 {
		name := pairs[i]
		p := findParameter(name)
		switch {
		case p == nil:
			v := resp.Err(oneLine("ERR Unknown option or number of arguments for CONFIG SET - '" + cString(name) + "'"))
			return nil, &v
		case p.set == nil:
			return nil, configSetFailed(name, "can't set immutable config")
		}
		for _, before := range chosen {
			if before == p {
				return nil, configSetFailed(name, "duplicate parameter")
			}
		}
		chosen = append(chosen, p)
	}
	return chosen, nil
}

// configResetstat: CONFIG RESETSTAT
func configResetstat(c *Call) resp.Value {
	c.resetStats()
	return resp.OK
}

// configRewrite: CONFIG REWRITE
func configRewrite(*Call) resp.Value {
	return resp.Err("ERR The server is running without a config file")
}

// configHelp: CONFIG HELP
func configHelp(*Call) resp.Value {
	return helpReply("CONFIG",
		"GET <pattern>",
		"    Return parameters matching the glob-like <pattern> and their values.",
		"SET <directive> <value>",
		"    Set the configuration <directive> to <value>.",
		"RESETSTAT",
		"    Reset statistics reported by the INFO command.",
		"REWRITE",
		"    Rewrite the configuration file.")
}
