// Package sandbox confines the commands that agents run, by means of the kernel.
//
// On Linux a command is born into its confinement: its process makes its own mounts, gives up
// capabilities, enters a Landlock domain and puts a seccomp filter in place before it becomes
// the command. Nothing can get between, nothing has to be undone, and no thread of ours is
// confined. Three parts share the work:
//
//   - Landlock says which files may be written, which TCP ports may be reached, and whom
//     signals may reach. It grants and cannot take back.
//   - A mount namespace takes back: what is protected below a folder that may be written is
//     read-only there, what is hidden is covered by what looks like it and cannot be read. It
//     also keeps folders that protected things lie in from being renamed away. Where there
//     are no namespaces, hidden things are carved out by granting what lies beside them, and
//     protected ones are compared and put back in the end.
//   - The filter refuses what neither of them knows, and tells a listener in this process
//     of each attempt to change a file or to reach somebody.
//
// The listener only ever lets pass what the kernel would refuse by itself; what Landlock
// does not cover (modes, owners, times, extended attributes) and what was granted by a name
// that did not exist yet, the listener does in the command's place, on a descriptor that
// it has looked at. So nothing depends on what a command's memory says at one moment or the
// next. What it records is for people: what was attempted and refused, and whether anything
// had happened before.
//
// One promise is weaker. A protected name that does not exist cannot be covered. The listener
// refuses to make it, which a command with several threads can get around for as long as it
// runs; when it has ended, what appeared is set aside and reported.
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
// missing; tests of this package use them. Nothing can be switched on.
type Options struct {
	// Landlock is the highest version to use; 0 is the kernel's, -1 none.
	Landlock     int
	NoNamespaces bool
	NoNotify     bool
}

// UnavailableError says that a command was not started because it cannot be confined as asked.
type UnavailableError struct {
	Level troupe.Level
	Why   string
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("the %s sandbox is not available here: %s", e.Level, e.Why)
}
