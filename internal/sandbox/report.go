package sandbox

import (
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Support is what the kernel offers for confining commands.
type Support struct {
	OS string `json:"os"`
	// Landlock is the version of its interface that is used, 0 if there is none.
	Landlock     int    `json:"landlock"`
	LandlockNote string `json:"landlock_note,omitempty"` // why not, or why less than there is
	// Namespaces says whether this user can make a mount namespace and mount there. It was
	// tried, not guessed.
	Namespaces     bool   `json:"namespaces"`
	NamespacesNote string `json:"namespaces_note,omitempty"` // why not
	// Notify says whether seccomp can report system calls to a supervisor; tried as well.
	Notify     bool   `json:"seccomp_notify"`
	NotifyNote string `json:"seccomp_notify_note,omitempty"` // why not
	// Filter says whether there is seccomp at all.
	Filter bool `json:"seccomp"`
	// Untested: commands are confined in a way that nobody has tried on this system.
	Untested bool `json:"untested,omitempty"`
	// Root: commands run as root, whom some bounds do not bind.
	Root bool `json:"root,omitempty"`

	// OwnView: a command can have a view of processes of its own. It is found out where one is to have that, and told
	// to
	// no one.
	OwnView bool `json:"-"`
	// OwnRoot is the same for a view of files.
	OwnRoot bool `json:"-"`
}

// Levels are the sandboxes that can be had, the closest first.
func (r Support) Levels() []troupe.Level {
	if r.Untested || r.Landlock > 0 && r.Filter {
		return []troupe.Level{troupe.LevelReadOnly, troupe.LevelWorkspace}
	}
	return nil
}

// Lines is the report for people, a fact a line: what there is, and what follows from what
// is missing.
func (r Support) Lines() []string {
	if r.OS == "darwin" {
		return r.darwin()
	}
	landlock := "Landlock: not available"
	if r.Landlock > 0 {
		landlock = fmt.Sprintf("Landlock: version %d", r.Landlock)
	}
	lines := []string{
		landlock + note(r.LandlockNote),
		"user and mount namespaces: " + available(r.Namespaces) + note(r.NamespacesNote),
		"seccomp notifications: " + available(r.Notify) + note(r.NotifyNote),
	}
	if len(r.Levels()) == 0 {
		why := "Landlock"
		if r.Landlock > 0 {
			why = "seccomp"
		}
		return append(lines, "commands cannot be confined without "+why+
			": what they do is judged by reading them, and asked about")
	}
	lines = append(lines, "commands can run read-only and confined to the workspace")
	return append(lines, r.Weaknesses()...)
}

func (r Support) darwin() []string {
	if !r.Untested {
		return []string{"sandbox-exec: not available" + note(r.LandlockNote),
			"commands cannot be confined: what they do is judged by reading them, and asked about"}
	}
	return []string{
		"sandbox-exec: available",
		"commands can run read-only and confined to the workspace; these profiles have not been tested on macOS",
		"what a command attempted is not known, so you are not asked about it",
	}
}

// Weaknesses says what does not hold here, or holds less, and why.
func (r Support) Weaknesses() []string {
	if len(r.Levels()) == 0 || r.OS != "linux" {
		return nil
	}
	var list []string
	say := func(missing bool, text string) {
		if missing {
			list = append(list, text)
		}
	}
	say(r.Landlock < 2, "Landlock 1: in a sandbox nothing can be renamed or linked into another folder")
	say(r.Landlock < 3, "Landlock below 3: in a sandbox files cannot be truncated by name")
	say(r.Landlock < 4, "Landlock below 4: single ports cannot be opened; a sandbox has all of the network or none")
	say(r.Landlock < 5, "Landlock below 5: controls of devices that can be read are not restricted, but for those "+
		"known to be harmful")
	if r.Landlock < 6 {
		if r.Notify {
			list = append(list, "Landlock below 6: signals are kept within the command's session by the listener")
		} else {
			list = append(list, "Landlock below 6 and no notifications: signals are not confined")
		}
	}
	say(!r.Namespaces, "no mount namespace: hidden folders can be listed though not read")
	say(!r.Namespaces && !r.Notify, "no mount namespace and no notifications: protected files are compared and put "+
		"back after each command instead of being read-only")
	say(!r.Namespaces, "no mount namespace: in a folder with a hidden file anywhere below it, no command can read or "+
		"run what it has itself just made there (\"Permission denied\", exit 126); the next command can. To end "+
		"that, let this user make user namespaces, or name the hidden file in sandbox.allow_read")
	say(!r.Notify, "no notifications: what a command attempted is not known; in a sandbox modes, owners and times of "+
		"files cannot be changed, and what a grant names must exist")
	say(r.Root, "commands run as root: the bound on processes does not bind them")
	return list
}

func available(ok bool) string {
	if ok {
		return "available"
	}
	return "not available"
}

func note(s string) string {
	if s == "" {
		return ""
	}
	return " (" + strings.TrimSpace(s) + ")"
}
