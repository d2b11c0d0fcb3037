package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// MergeFlags are those of a merge, on the command line and in a conversation.
func MergeFlags(fs *pflag.FlagSet, m *wire.WorktreeMerge) {
	fs.StringVar(&m.Into, "into", "", "Put its commits on this `BRANCH`")
	fs.StringVar(&m.Take, "take", "", "Of files that conflict take this `SIDE`: mine (your folder) or theirs")
	fs.BoolVar(&m.DryRun, "dry-run", false, "Say what would be written, and write nothing")
	fs.BoolVar(&m.HandBack, "hand-back", false, "Have its agent resolve what conflicts")
}

// CheckMerge refuses flags that do not go together.
func CheckMerge(fs *pflag.FlagSet, m wire.WorktreeMerge) error {
	into := fs.Changed("into")
	switch {
	case into && m.Into == "":
		return Usage("--into takes the name of a branch, and it is empty; is a variable not set?")
	case into && m.Take != "":
		return Usage("--take is for conflicts with your files, and --into writes none of them")
	case into && m.DryRun:
		return Usage("--dry-run says what would be written to your files, and --into writes none")
	case m.HandBack && (into || m.DryRun || m.Take != ""):
		return Usage("--hand-back writes to its worktree alone: leave out --into and --dry-run, and --take")
	}
	return nil
}

// TellHandedBack sends the agent what it is to do, and says what happens now.
func TellHandedBack(ctx context.Context, a api.API, m wire.MergedWorktree) (string, error) {
	if len(m.HandedBack) == 0 && len(m.Conflicts) == 0 {
		return fmt.Sprintf("What conflicted is no conflict any more, and its markers are gone. Now: troupe merge %s\n",
			Line(m.Worktree.Name, 64)), nil
	}
	if m.Worktree.Status == "" {
		return "Its session was removed: resolve them there yourself.\n", nil
	}
	if m.Worktree.Left {
		return "Its agent went back out of it: resolve them there yourself.\n", nil
	}
	top := strings.TrimSuffix(m.Worktree.Folder, "/") + "/"
	var b strings.Builder
	b.WriteString("Your work conflicts with what is in the folder that it is to be merged into. Your worktree has " +
		"what that folder has now.\n")
	if len(m.HandedBack) > 0 {
		b.WriteString("The conflicts are between markers in:\n")
		for _, path := range m.HandedBack {
			b.WriteString("  " + troupe.VisibleLine(strings.TrimPrefix(path, top)) + "\n")
		}
		b.WriteString("Resolve each of them so that what both sides are for is kept, and take the markers out.\n")
	}
	for _, x := range m.Conflicts {
		fmt.Fprintf(&b, "No marker can show this one; change the file so that both sides fit: %s: %s\n",
			troupe.VisibleLine(strings.TrimPrefix(x.Path, top)), troupe.VisibleLine(x.Why))
	}
	t, err := a.Tree(ctx, m.Worktree.Session)
	if err != nil {
		return "", err
	}
	typed := "" // these are no words of the person who merges: some are names of files
	sent, err := a.Send(ctx, m.Worktree.Session, wire.Message{Text: b.String(), Spoken: wire.Spoken{Typed: &typed}})
	if err != nil {
		return "", fmt.Errorf("the conflicts are in the worktree %s, but its agent was not told: %w", m.Worktree.Name,
			err)
	}
	return fmt.Sprintf("%s: %s\nWhen it has ended: troupe merge %s\n", Line(m.Worktree.Agent, 64),
		SentText(t, sent, wire.Message{}), Line(m.Worktree.Name, 64)), nil
}

// HandedBack says what its agent finds now.
func (c *Console) HandedBack(m wire.MergedWorktree, said string) error {
	var b strings.Builder
	b.WriteString(c.Beside(m.Worktree))
	for _, path := range m.HandedBack {
		fmt.Fprintf(&b, "marked   %s\n", Line(inFolder(m.Worktree.Folder, path), 0))
	}
	for _, x := range m.Conflicts {
		fmt.Fprintf(&b, "conflict %s: %s\n", Line(inFolder(m.Worktree.Folder, x.Path), 0),
			Line(x.Why, 0))
	}
	if len(m.HandedBack) > 0 || len(m.Conflicts) > 0 {
		fmt.Fprintf(&b, "Your files are as they were; the conflicts are in %s.\n", Line(m.Worktree.Folder, 0))
	}
	_, err := fmt.Fprint(c.Out, b.String()+said)
	return err
}

// SentText says what happens now with a message.
func SentText(t wire.Tree, s wire.Sent, m wire.Message) string {
	switch {
	case s.Effect == "waits" && m.Fork:
		return strings.Replace(Later(t), "it will be read", "the fork begins", 1)
	case s.Effect == "waits":
		return Later(t)
	case s.Effect == "forks":
		return "a fork of it begins; `troupe tasks " + string(t.Root()) + "` shows it"
	case s.Effect == "resumes":
		return "it had ended and goes on with this"
	case m.Cancel:
		return "it reads this and stops after the step it is in"
	}
	return "it reads this before its next model call"
}

// Later says what becomes of what waits in the home.
func Later(t wire.Tree) string {
	switch {
	case len(t.Sessions) > 0 && !t.Sessions[0].AsleepAt.IsZero():
		return "it is asleep, and reads this when it is woken: troupe wake " + string(t.Root())
	case t.Running && t.Owner.Socket != "":
		return fmt.Sprintf("process %d no longer runs it; it will be read when you resume the session: troupe -p "+
			"--resume %s",
			t.Owner.PID, t.Root())
	case t.Running:
		return fmt.Sprintf("process %d runs it but cannot be reached; it will be read when that process next checks "+
			"for messages",
			t.Owner.PID)
	}
	return fmt.Sprintf("no process is running it; it will be read when you resume the session: troupe -p --resume %s",
		t.Root())
}
