package console

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestPulled: an end says where the pull request is, or why there is none and what tries again, and nothing that a
// terminal takes for anything else.
func TestPulled(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]troupe.Pushed{
		"as branch b; pull request https://h/1\\u{001b}[2J; troupe diff fixer": {PullRequest: "https://h/1\x1b[2J"},
		"as branch b; no pull request: no\\u{001b}[2J; troupe push fixer --pull-request tries again; troupe diff": {
			NotOpened: "no\x1b[2J"},
		"as branch b; troupe diff fixer": {},
	} {
		p.To, p.Branch = "https://h/r", "b"
		if got := Workspace(&troupe.WorkspaceResult{Kind: troupe.WorkspaceTree, Name: "fixer", Base: "1", Tip: "2",
			Pushing: troupe.Pushing{Remote: p.To, Pushed: &p}}); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestPushedTo: that there is no pull request is an error, behind what was pushed.
func TestPushedTo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p         troupe.Pushed
		said, bad string
	}{
		{troupe.Pushed{}, "commit 012345678901).\n", ""},
		{troupe.Pushed{PullRequest: "https://h/1"}, "Pull request: https://h/1\n", ""},
		{troupe.Pushed{NotOpened: "not for you"}, "commit 012345678901).\n", "not for you"},
	} {
		var out bytes.Buffer
		c.p.Commit = "0123456789012345"
		w := wire.PushedWorktree{Pushed: c.p}
		err := errors.Join(PushedTo(&Console{Out: &out}, w), NotOpened(w))
		if !strings.HasSuffix(out.String(), c.said) || (err == nil) != (c.bad == "") ||
			err != nil && !strings.HasPrefix(err.Error(), c.bad) {
			t.Errorf("%+v: %q, %v", c.p, out.String(), err)
		}
	}
}
