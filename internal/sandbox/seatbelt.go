package sandbox

import (
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// seatbelt is a confinement as sandbox-exec of macOS reads it, where the last rule that
// matches decides. It was written from what is published about that language and has not been
// tried: see Report.Untested. What was attempted it cannot tell.
func seatbelt(c troupe.Confinement) string {
	var b strings.Builder
	b.WriteString("(version 1)\n(allow default)\n")
	// Others that would act in the command's place, unconfined.
	b.WriteString("(deny appleevent-send)\n(deny job-creation)\n(deny lsopen)\n(deny process-info* (target " +
		"others))\n(deny signal (target others))\n(deny mach-register)\n(deny system-socket)\n")
	b.WriteString("(deny file-write*)\n")
	writable := append(slices.Clone(c.Writable), c.Scratch...)
	if c.Temp != "" {
		writable = append(writable, c.Temp)
	}
	for _, p := range allResolved(writable, false) {
		fmt.Fprintf(&b, "(allow file-write* (subpath %s))\n", quoted(p))
	}
	for _, d := range []string{"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/stdout",
		"/dev/stderr"} {
		fmt.Fprintf(&b, "(allow file-write-data (literal %s))\n", quoted(d))
	}
	for _, p := range allResolved(c.Protected, true) {
		fmt.Fprintf(&b, "(deny file-write* (subpath %s))\n", quoted(p))
		// A folder on the way must not be renamed, or another could be put in its place.
		for _, w := range allResolved(writable, false) {
			if troupe.Within(p, w) {
				for dir := up(p); dir != w && troupe.Within(dir, w); dir = up(dir) {
					fmt.Fprintf(&b, "(deny file-write-unlink (literal %s))\n", quoted(dir))
				}
			}
		}
	}
	for _, p := range allResolved(c.Hidden, true) {
		fmt.Fprintf(&b, "(deny file-read* (subpath %s))\n(deny file-write* (subpath %s))\n", quoted(p), quoted(p))
	}
	b.WriteString("(deny file-write-setugid)\n") // of what may be written, too
	switch n := c.Network; {
	case n.Proxy > 0:
		fmt.Fprintf(&b, "(deny network*)\n(allow network-outbound (remote tcp \"localhost:%d\"))\n", n.Proxy)
	case n.All:
		b.WriteString("(deny network* (remote unix-socket))\n")
	default:
		b.WriteString("(deny network*)\n")
		for _, p := range n.Ports {
			fmt.Fprintf(&b, "(allow network-outbound (remote tcp \"*:%d\"))\n", p)
		}
	}
	return b.String()
}

// up is the folder that a cleaned path lies in.
func up(path string) string {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 1)]
}

// quoted is a string of that language.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
