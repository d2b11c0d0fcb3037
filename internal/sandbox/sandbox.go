// Package sandbox will confine what agents run. So far it confines nothing: it only tells
// what this machine's kernel has to offer, for `troupe doctor`.
package sandbox

import "fmt"

// Report is what the kernel offers for confining commands.
type Report struct {
	OS string `json:"os"`
	// Landlock is the version of its interface, 0 if there is none.
	Landlock     int    `json:"landlock"`
	LandlockNote string `json:"landlock_note,omitempty"` // why not
	// Namespaces says whether this user can make a user namespace with a mount namespace
	// in which mounting works. It was tried, not guessed.
	Namespaces     bool   `json:"namespaces"`
	NamespacesNote string `json:"namespaces_note,omitempty"` // why not
	// Notify says whether seccomp can report system calls to a supervisor.
	Notify     bool   `json:"seccomp_notify"`
	NotifyNote string `json:"seccomp_notify_note,omitempty"` // why not
}

// Lines is the report for people, a fact a line.
func (r Report) Lines() []string {
	landlock := "Landlock: not available"
	if r.Landlock > 0 {
		landlock = fmt.Sprintf("Landlock: version %d", r.Landlock)
	}
	return []string{
		landlock + note(r.LandlockNote),
		"user and mount namespaces: " + available(r.Namespaces) + note(r.NamespacesNote),
		"seccomp notifications: " + available(r.Notify) + note(r.NotifyNote),
		"commands are not confined by this version: what they may do is decided by permissions alone",
	}
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
	return " (" + s + ")"
}
