package echomqsim

import "runtime/debug"

// Version is the module's version as the build recorded it, or "devel".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	const path = "github.com/echomq/echomq-sim"
	if info.Main.Path == path && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Version
		}
	}
	return "devel"
}
