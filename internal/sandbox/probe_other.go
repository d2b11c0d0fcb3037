//go:build !linux

package sandbox

import (
	"context"
	"runtime"
)

// Probe has nothing to ask here.
func Probe(context.Context) Report {
	why := "not available on " + runtime.GOOS
	return Report{OS: runtime.GOOS, LandlockNote: why, NamespacesNote: why, NotifyNote: why}
}
