package panes

import (
	"context"
	"os/exec"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Place is where a conversation is held.
type Place struct {
	Lookup func(name string) (string, bool) // environment variables
	Viewer []string                         // the command that shows an agent, without the agent
	Root   troupe.SessionID                 // of the tree
	// Call runs programs; nil: for real.
	Call func(ctx context.Context, program string, args ...string) (string, error)
	// Find looks a program up; nil: in the PATH.
	Find func(program string) (string, error)
}

func (p Place) get(name string) string { v, _ := p.Lookup(name); return v }

func (p Place) has(program string) bool {
	if p.Find == nil {
		p.Find = exec.LookPath
	}
	_, err := p.Find(program)
	return err == nil
}

func (p Place) call() call {
	if p.Call == nil {
		return run
	}
	return p.Call
}

// Found is what panes can be had.
type Found struct {
	Backend Backend // nil: none
	// Missing says what is not there that panes would need; "": they are not wanted.
	Missing string
	// How says how a person comes to see the panes; "": they are beside the conversation.
	How string
}

// How the two programs come to be there.
const (
	getTmux = "tmux (Debian: apt install tmux; macOS: brew install tmux)"
	getIt2  = "it2 (uv tool install it2, and allow it in iTerm2: Settings, General, Magic, Enable Python API)"
)

// Detect finds out where panes can be had: in the tmux that the conversation runs in, else in the iTerm2, else in a
// tmux session beside it.
func Detect(ctx context.Context, mode troupe.TeammateMode, p Place) Found {
	inTmux := p.get("TMUX") != "" && p.get("TMUX_PANE") != ""
	iterm := p.get("ITERM_SESSION_ID")
	switch {
	case mode == troupe.TeammatesInProcess:
		return Found{}
	case mode == troupe.TeammatesITerm2 && iterm == "":
		return Found{Missing: "this terminal is not one of iTerm2's"}
	case mode == troupe.TeammatesITerm2 && !p.has("it2"):
		return Found{Missing: getIt2 + " is not installed"}
	case mode == troupe.TeammatesITerm2, mode == troupe.TeammatesAuto && !inTmux && iterm != "" && p.has("it2"):
		_, own, _ := strings.Cut(iterm, ":")
		return Found{Backend: newITerm(p, ID(own))}
	}
	missing := tmuxMissing(ctx, p)
	switch {
	case missing == "" && inTmux:
		return Found{Backend: newTmux(p, ID(p.get("TMUX_PANE")))}
	case missing == "":
		t := newTmux(p, "")
		return Found{Backend: t, How: "tmux attach -t " + t.session}
	case mode == troupe.TeammatesAuto && !inTmux && iterm != "":
		return Found{Missing: "in iTerm2 it takes " + getIt2 + ", or " + missing}
	}
	return Found{Missing: missing}
}

// tmuxMissing says what there is not of tmux; "" if it can be used. Panes have options of their own since 3.0.
func tmuxMissing(ctx context.Context, p Place) string {
	if !p.has("tmux") {
		return getTmux + " is not installed"
	}
	out, err := p.call()(ctx, "tmux", "-V")
	if err != nil {
		return err.Error()
	}
	version := strings.TrimSpace(out)
	digits := strings.TrimLeft(version, "abcdefghijklmnopqrstuvwxyz -")
	major, _, _ := strings.Cut(digits, ".")
	if n, err := strconv.Atoi(major); err == nil && n < 3 {
		return "tmux 3.0 or later: this is " + version
	}
	return ""
}

// Left is for a viewer that ends as it should, and closes its pane with that. Without it tmux looks at how the viewer
// ended, and before 3.5 it sometimes never learns that: the pane would stay. A pane that is not of Troupe's stays as
// it is.
func (p Place) Left(ctx context.Context) {
	id := p.get("TMUX_PANE")
	if p.get("TMUX") == "" || id == "" || strings.Trim(id, "%0123456789") != "" {
		return
	}
	_, _ = p.call()(ctx, "tmux", "if-shell", "-F", "-t", id, "#{"+optionSession+"}",
		"set-option -p -t "+id+" remain-on-exit off") // before 3.2 there is none, and panes close
}
