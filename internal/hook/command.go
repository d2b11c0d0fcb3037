package hook

import (
	"bytes"
	"context"
	"io"
	"slices"

	"github.com/troupe-dev/troupe"
)

const maxOutput = 256 << 10 // bytes that are read of each stream; what comes after is let go

// Program is a command that is run by the shell, in a folder, with all of its environment.
type Program struct {
	Command, Dir   string
	Environ        []string
	Session        troupe.Session
	Scope          string // whose the hook is
	Stdin          []byte
	Stdout, Stderr io.Writer
}

// command runs a hook by the shell. At its end in time what it has detached goes on; on a timeout or a stop all that it
// has started ends.
func (r *Runner) command(ctx context.Context, h *Hook, m troupe.HookMoment, payload []byte) (e ended) {
	var stdout, stderr bounded
	e.exit, e.err = r.Exec(ctx, Program{Command: h.Run, Dir: m.Session.Cwd, Stdin: payload,
		Session: m.Session, Scope: h.Scope,
		Environ: append(slices.Clip(r.Environ), environ(h, m)...), Stdout: &stdout, Stderr: &stderr})
	e.stdout, e.stderr = stdout.String(), stderr.String()
	return e
}

// environ is what a command gets besides what every command gets. The mark of an agent keeps it from answering
// requests: what it may say, it says by what it prints.
func environ(h *Hook, m troupe.HookMoment) []string {
	project := h.Folder
	if project == "" {
		project = m.Session.Cwd
	}
	var out []string
	if h.Plugin != "" {
		out = append(out, "CLAUDE_PLUGIN_ROOT="+h.Plugin, "TROUPE_PLUGIN_ROOT="+h.Plugin)
	}
	return append(out,
		"CLAUDE_PROJECT_DIR="+project, "TROUPE_PROJECT_DIR="+project,
		"TROUPE_HOOK_EVENT="+string(m.Event), "TROUPE_SESSION_ID="+string(m.Session.Root),
		"TROUPE_AGENT_NAME="+nameOf(m), "TROUPE_AGENT_TYPE="+m.Session.Type, "TROUPE_AGENT_PATH="+m.Path,
		troupe.AgentVariable+"="+string(m.Session.ID),
	)
}

// bounded keeps the beginning of what is written to it.
type bounded struct{ buf bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if room := maxOutput - b.buf.Len(); room > 0 {
		b.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (b *bounded) String() string { return b.buf.String() }
