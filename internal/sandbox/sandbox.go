// Package sandbox confines the commands that agents run, by means of the kernel.
//
// On Linux a command is born into its confinement: its process makes its own mounts, gives up
// capabilities, enters a Landlock domain and puts a seccomp filter in place before it becomes
// the command. Nothing can get between, nothing has to be undone, and no thread of ours is
// confined. Four parts share the work:
//
//   - Landlock says what may be changed, which TCP ports may be reached, and whom signals may
//     reach. It grants by folder and cannot take back, so it grants only what holds nothing that
//     is guarded: the command's temporary folder and build caches.
//   - The listener in this process is told of each attempt to change a file or to reach somebody.
//     In the session's folders it judges the call on its own copy of the arguments, and makes it in
//     the command's place, on folders that it holds open and as the user that asked.
//   - A mount namespace covers what is hidden by what looks like it and cannot be read. Where there
//     are no namespaces, hidden things are carved out by granting what lies beside them.
//   - The filter refuses what none of them knows.
//
// The listener only ever lets pass what the kernel would refuse by itself, or grants whatever it says. So nothing
// depends on what a command's memory says at one moment or the next (ADR 0017). What it records is for people: what was
// attempted and refused, and whether anything had happened before.
//
// Where there is no listener the kernel grants the session's folders. What is guarded there is
// mounted read-only where it exists, or else compared and put back in the end.
//
// Each running command has one goroutine, its listener, which ends when all that the command
// started has ended or when Done is called. It answers one call after the other, in the
// order of the kernel's queue; who waits for an answer is who asked. A Sandbox may be used by
// many goroutines at once. If this process dies, calls that would have been answered fail.
package sandbox

import (
	"fmt"

	"github.com/troupe-dev/troupe"
)

// Options switch off what a kernel offers, so that it can be seen what happens where it is
// missing; tests of this package use them. Nothing of the kernel's can be switched on.
type Options struct {
	// Landlock is the highest version to use; 0 is the kernel's, -1 none.
	Landlock     int
	NoNamespaces bool
	NoNotify     bool
	// Ledgers is a folder of Troupe's own in which is kept what must be put back should this process be killed; see
	// Settle. "": that is not kept.
	Ledgers string
}

// UnavailableError says that a command was not started because it cannot be confined as asked.
type UnavailableError struct {
	Level troupe.Level
	Why   string
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("the %s sandbox is not available here: %s", e.Level, e.Why)
}
