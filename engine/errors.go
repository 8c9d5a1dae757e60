package engine

import (
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

// Error replies that more than one command gives. Texts are the server's own.
var (
	errWrongType    = resp.Err("WRONGTYPE Operation against a key holding the wrong kind of value")
	errSyntax       = resp.Err("ERR syntax error")
	errNotInt       = resp.Err("ERR value is not an integer or out of range")
	errNotFloat     = resp.Err("ERR value is not a valid float")
	errOutOfRange   = resp.Err("ERR index out of range")
	errNoKey        = resp.Err("ERR no such key")
	errDBIndex      = resp.Err("ERR DB index is out of range")
	errNoAuth       = resp.Err("NOAUTH Authentication required.")
	errNoReplicas   = resp.Err("NOREPLICAS Not enough good replicas to write.")
	errOOM          = resp.Err("OOM command not allowed when used memory > 'maxmemory'.")
	errBusy         = resp.Err("BUSY Valkey is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.")
	errBusyFunction = resp.Err("BUSY Valkey is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.")
	errWriteScript  = resp.Err("ERR Can not execute a script with write flag using *_ro command.")
	errScriptOOM    = resp.Err("OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'")
	errExecAbort    = resp.Err("EXECABORT Transaction discarded because of previous errors.")
)

// reject is why a command was refused before it ran. Connections and scripts
// word some refusals differently.
type reject struct {
	conn   string // the whole reply to a client, code word first
	script string // to a script; empty: as for a client
	// redirects tells that the request belongs elsewhere: EXEC passes that on as it is.
	redirects bool
}

func (r *reject) reply(fromScript bool) resp.Value {
	if fromScript && r.script != "" {
		return resp.Err(r.script)
	}
	return resp.Err(r.conn)
}

// rejectUnknown is the refusal of a command or subcommand that has no row.
func rejectUnknown(args []string, container *Spec) *reject {
	const script = "ERR Unknown command called from script"
	if container != nil {
		return &reject{script: script, conn: oneLine("ERR unknown subcommand '" + clip(args[1], 128) +
			"'. Try " + strings.ToUpper(container.Name) + " HELP.")}
	}
	var b strings.Builder
	b.WriteString("ERR unknown command '" + clip(args[0], 128) + "', with args beginning with: ")
	shown := 0
	for _, a := range args[1:] {
		if shown >= 128 {
			break
		}
		a = clip(a, 128-shown)
		b.WriteString("'" + a + "' ")
		shown += len(a) + 3
	}
	return &reject{script: script, conn: oneLine(b.String())}
}

func rejectArity(s *Spec) *reject {
	return &reject{conn: "ERR wrong number of arguments for '" + s.Name + "' command",
		script: "ERR Wrong number of args calling command from script"}
}

// clip is the C string in s, cut to n bytes: the server prints such arguments with %s.
func clip(s string, n int) string {
	if i := strings.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	return s[:min(n, len(s))]
}

// cString is s up to its first NUL.
func cString(s string) string { return clip(s, len(s)) }

// oneLine makes s fit for an error line.
func oneLine(s string) string {
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(s)
}

// errCode is the code word of an error reply, as errorstats counts it.
func errCode(text string) string {
	code, _, found := strings.Cut(text, " ")
	if !found || len(code) > 32 {
		return "ERR"
	}
	return code
}
