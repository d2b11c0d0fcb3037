package console

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

var typed = regexp.MustCompile(`\btroupe\s+(diff|merge|push|worktrees)\b( prune)?`)

// Slashed names the commands that a text advises as they are typed in a conversation, where that has them.
func Slashed(text string) string {
	return typed.ReplaceAllStringFunc(text, func(words string) string {
		if strings.HasSuffix(words, " prune") {
			return words
		}
		return "/" + strings.Fields(words)[1]
	})
}

// Workspace says what became of an agent's own folder, on one line; "" if nothing is to be said: it was removed, for
// nothing was changed in it.
func Workspace(w *troupe.WorkspaceResult) string {
	if w == nil {
		return ""
	}
	name, folder, kept := Line(w.Name, 64), Line(w.Folder, 0), ""
	if w.Kept != "" {
		kept = fmt.Sprintf("; the folder stays (%s): %s", folder, Line(w.Kept, 0))
	}
	what := "its own folder "
	if w.Kind == troupe.WorkspaceTree {
		what = "worktree "
	}
	if w.Unkept != "" {
		return fmt.Sprintf("%s%s: its work could not be kept: %s; it is in %s. %s tries again, and so "+
			"does the next resume of the session", what, name, Line(w.Unkept, 0), folder, bring(w.Remote, name))
	}
	if w.Base == "" && w.Run != nil { // it was saved, and goes on
		return what + name + ": what was done there is saved" + kept + "; troupe diff " + name + ", " +
			bring(w.Remote, name)
	}
	if w.Tip == w.Base {
		if kept == "" {
			return ""
		}
		return what + name + ": no work to merge" + kept
	}
	text := what + name + ": "
	if pruned(w) {
		text += fmt.Sprintf("%s +%d -%d, pruned since; ", Count(w.Files, "file"), w.Added, w.Removed)
		if w.Branch == "" {
			return text + "a branch of yours has it"
		}
		return text + "all of it is in " + Line(w.Branch, 0)
	}
	if w.Branch != "" {
		text += "branch " + Line(w.Branch, 0) + ", "
	}
	text += fmt.Sprintf("%s +%d -%d", Count(w.Files, "file"), w.Added, w.Removed)
	conflicts, why := Count(len(w.Conflicts), "file"), Line(w.NotMerged, 0)
	switch w.MergeState() {
	case troupe.MergeDone:
		return text + ", merged into " + Line(w.Into, 0) + kept
	case troupe.MergeHalf:
		text += fmt.Sprintf(", the merge stopped half-way through %s: %s", Count(len(w.Merged), "file"), why)
	case troupe.MergeConflicts:
		text += ", not merged: conflicts in " + conflicts
	case troupe.MergeWaits:
		text += ", waits for your yes (merge: ask)"
	case troupe.MergeRefused:
		text += ", not merged: " + why
	case troupe.MergeUnclear:
		text += ", and whether it merges is not known: " + Line(w.Unmerged, 0)
	case troupe.MergeNothing, troupe.MergeUnkept, troupe.MergeKept:
		if len(w.Conflicts) > 0 {
			text += ", conflicts in " + conflicts
		}
	}
	switch {
	case w.Pushed != nil:
		return fmt.Sprintf("%s%s; pushed to %s as branch %s%s; troupe diff %s", text, kept, Line(w.Pushed.To, 0),
			Line(w.Pushed.Branch, 0), pulled(w.Pushed, name), name)
	case w.NotPushed != "":
		return fmt.Sprintf("%s%s; not pushed: %s; %s tries again", text, kept, Line(w.NotPushed, 0),
			bring(w.Remote, name))
	}
	return text + kept + "; troupe diff " + name + ", " + bring(w.Remote, name)
}

// pulled says what came of the pull request for a branch; "" where none was wished for.
func pulled(p *troupe.Pushed, name string) string {
	switch {
	case p.PullRequest != "":
		return "; pull request " + Line(p.PullRequest, 0)
	case p.NotOpened != "":
		return fmt.Sprintf("; no pull request: %s; troupe push %s --pull-request tries again", Line(p.NotOpened, 0),
			name)
	}
	return ""
}

// PushedTo says where the work of a worktree was pushed to.
func PushedTo(c *Console, w wire.PushedWorktree) error {
	err := c.Printf("Pushed to %s as branch %s (commit %s).\n", w.Pushed.To, w.Pushed.Branch,
		w.Pushed.Commit[:min(12, len(w.Pushed.Commit))])
	if err == nil && w.Pushed.PullRequest != "" {
		err = c.Printf("Pull request: %s\n", w.Pushed.PullRequest)
	}
	return err
}

// NotOpened is the error that there is no pull request, where one was wished for.
func NotOpened(w wire.PushedWorktree) error {
	if w.Pushed.NotOpened != "" {
		return &troupe.UserError{Problem: Line(w.Pushed.NotOpened, 0), Hint: "The branch is pushed; the same command " +
			"tries again."}
	}
	return nil
}

// bring is the command that brings the work in a worktree to where it is wanted: to the remote of a checkout, which is
// not changed itself, or to the folder that it is beside.
func bring(remote, name string) string {
	if remote != "" {
		return "troupe push " + name
	}
	return "troupe merge " + name
}

// pruned reports whether a report says that a worktree with work is known no more: by its ref, or by none at all.
func pruned(w *troupe.WorkspaceResult) bool {
	return w.Kind == troupe.WorkspaceTree && w.Gone && (w.Branch == "" || strings.HasPrefix(w.Branch, "refs/troupe/"))
}

// WorksIn says of a session that goes on in a folder of its own where its work is; "" if it does not.
func WorksIn(w troupe.Workspace) string {
	if !w.Kind.Made() {
		return ""
	}
	name := Line(w.Name, 64)
	return fmt.Sprintf("its work is in %s; troupe diff %s, %s", Line(w.Folder, 0), name, bring(w.Remote, name))
}
