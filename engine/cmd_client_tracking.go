package engine

import (
	"slices"
	"strings"

	"github.com/echomq/echomq-sim/resp"
)

var trackingCommands = []Spec{
	{Name: "client|caching", Arity: 3, Flags: NoScript | Loading | Stale, run: clientCaching,
		Group: "connection", Since: "6.0.0", Complexity: "O(1)",
		Summary: "Instructs the server whether to track the keys in the next request.",
		Args:    `mode<yes:t=YES no:t=NO>`},
	{Name: "client|getredir", Arity: 2, Flags: NoScript | Loading | Stale, run: clientGetredir,
		Group: "connection", Since: "6.0.0", Complexity: "O(1)",
		Summary: "Returns the client ID to which the connection's tracking notifications are redirected."},
	{Name: "client|tracking", Arity: -3, Flags: NoScript | Loading | Stale, run: clientTrackingCmd,
		Group: "connection", Since: "6.0.0", Complexity: "O(1). Some options may introduce additional complexity.",
		Summary: "Controls server-assisted client-side caching for the connection.",
		Args:    `status<on:t=ON off:t=OFF> client-id:i=REDIRECT? prefix=PREFIX?*+ bcast:t=BCAST? optin:t=OPTIN? optout:t=OPTOUT? noloop:t=NOLOOP?`},
	{Name: "client|trackinginfo", Arity: 2, Flags: NoScript | Loading | Stale, run: clientTrackinginfo,
		Group: "connection", Since: "6.2.0", Complexity: "O(1)",
		Summary: "Returns information about server-assisted client-side caching for the connection."},
}

// clientTrackingCmd: CLIENT TRACKING ON | OFF [REDIRECT client-id] [PREFIX prefix [PREFIX
// prefix ...]] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]
func clientTrackingCmd(c *Call) resp.Value {
	opt, bad := c.trackingOptions()
	switch {
	case bad != nil:
		return *bad
	case c.is(2, "off"):
		c.Sess.stopTracking()
		return resp.OK
	case !c.is(2, "on"):
		return errSyntax
	}
	if why := opt.conflict(&c.Sess.track); why != "" {
		return resp.Err("ERR " + why)
	}
	c.startTracking(opt)
	return resp.OK
}

// trackingOptions parses what stands behind ON or OFF.
func (c *Call) trackingOptions() (opt clientTracking, bad *resp.Value) {
	for i := 3; i < len(c.Args); i++ {
		more := i+1 < len(c.Args)
		switch {
		case c.is(i, "redirect") && more:
			if i++; opt.redirect != 0 {
				return opt, &errTwoRedirects
			}
			if opt.redirect, bad = c.intArg(i); bad != nil {
				return opt, bad
			}
			if c.sessions[uint64(opt.redirect)] == nil {
				return opt, &errNoRedirect
			}
		case c.is(i, "bcast"):
			opt.bcast = true
		case c.is(i, "optin"):
			opt.optIn = true
		case c.is(i, "optout"):
			opt.optOut = true
		case c.is(i, "noloop"):
			opt.noLoop = true
		case c.is(i, "prefix") && more:
			i++
			opt.prefixes = append(opt.prefixes, c.Args[i])
		default:
			return opt, &errSyntax
		}
	}
	return opt, nil
}

var (
	errTwoRedirects = resp.Err("ERR A client can only redirect to a single other client")
	errNoRedirect   = resp.Err("ERR The client ID you want redirect to does not exist")
)

// conflict tells why the options do not go together, or not with how the client tracks
// keys already; or it is empty.
func (opt *clientTracking) conflict(now *clientTracking) (why string) {
	const switching = "mode before disabling tracking for this client, and then re-enabling it with a different mode."
	switch {
	case !opt.bcast && len(opt.prefixes) > 0:
		return "PREFIX option requires BCAST mode to be enabled"
	case now.on && now.bcast != opt.bcast:
		return "You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode."
	case opt.bcast && (opt.optIn || opt.optOut):
		return "OPTIN and OPTOUT are not compatible with BCAST"
	case opt.optIn && opt.optOut:
		return "You can't specify both OPTIN mode and OPTOUT mode"
	case opt.optIn && now.optOut || opt.optOut && now.optIn:
		return "You can't switch OPTIN/OPTOUT " + switching
	}
	return opt.overlap(now.prefixes)
}

// overlap tells which two prefixes would tell of the same key twice.
func (opt *clientTracking) overlap(present []string) (why string) {
	overlaps := func(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }
	const end = "'. Prefixes for a single client must not overlap."
	among := overlapping(slices.Concat(present, opt.prefixes))
	for i, prefix := range opt.prefixes {
		if !among[prefix] {
			continue
		}
		for _, other := range present {
			if overlaps(prefix, other) {
				return oneLine("Prefix '" + cString(prefix) + "' overlaps with an existing prefix '" + cString(other) + end)
			}
		}
		for _, other := range opt.prefixes[i+1:] {
			if overlaps(prefix, other) {
				return oneLine("Prefix '" + cString(prefix) + "' overlaps with another provided prefix '" + cString(other) + end)
			}
		}
	}
	return ""
}

// overlapping are those of a list that begin with another of them, or with which one begins.
func overlapping(list []string) map[string]bool {
	slices.Sort(list)
	found := map[string]bool{}
	for i, at := 1, 0; i < len(list); i++ { // all that begin with list[at] follow it
		if strings.HasPrefix(list[i], list[at]) {
			found[list[i]], found[list[at]] = true, true
		} else {
			at = i
		}
	}
	return found
}

// startTracking begins to track keys for the client, or changes how.
func (c *Call) startTracking(opt clientTracking) {
	s := c.Sess
	if !s.track.on {
		c.tracking.clients++
	}
	prefixes := opt.prefixes
	if opt.bcast && len(prefixes) == 0 {
		prefixes = []string{""}
	}
	opt.on, opt.caching, opt.prefixes = true, s.track.caching, s.track.prefixes
	s.track = opt
	c.trackPrefixes(s, prefixes)
}

// clientCaching: CLIENT CACHING YES | NO
func clientCaching(c *Call) resp.Value {
	t := &c.Sess.track
	switch {
	case !t.on:
		return resp.Err("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled")
	case c.is(2, "yes") && !t.optIn:
		return resp.Err("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.")
	case c.is(2, "no") && !t.optOut:
		return resp.Err("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.")
	case !c.is(2, "yes") && !c.is(2, "no"):
		return errSyntax
	}
	t.caching = true
	return resp.OK
}

// redirection is what CLIENT LIST, GETREDIR and TRACKINGINFO report: the id of the client
// that is told instead, 0 for the client itself, -1 without tracking.
func (t *clientTracking) redirection() int64 {
	if !t.on {
		return -1
	}
	return t.redirect
}

// clientGetredir: CLIENT GETREDIR
func clientGetredir(c *Call) resp.Value { return resp.Int(c.Sess.track.redirection()) }

// clientTrackinginfo: CLIENT TRACKINGINFO
func clientTrackinginfo(c *Call) resp.Value {
	t := &c.Sess.track
	return resp.Map(
		resp.Bulk("flags"), resp.Set(t.flags()...),
		resp.Bulk("redirect"), resp.Int(t.redirection()),
		resp.Bulk("prefixes"), resp.Strings(t.prefixes...))
}

// flags names how keys are tracked.
func (t *clientTracking) flags() (flags []resp.Value) {
	for _, f := range []struct {
		on   bool
		name string
	}{{t.on, "on"}, {!t.on, "off"}, {t.bcast, "bcast"}, {t.optIn, "optin"}, {t.optIn && t.caching, "caching-yes"},
		{t.optOut, "optout"}, {t.optOut && t.caching, "caching-no"}, {t.noLoop, "noloop"}, {t.broken, "broken_redirect"}} {
		if f.on {
			flags = append(flags, resp.Bulk(f.name))
		}
	}
	return flags
}
