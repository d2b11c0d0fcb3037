package console

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Colours of a difference, as git has them.
const (
	boldCode  = 1
	redCode   = 31
	greenCode = 32
	cyanCode  = 36
)

// PaintDiff gives the lines of a difference their colours. What a file's lines begin with counts only below “@@”.
func PaintDiff(color bool, text string) string {
	if !color {
		return text
	}
	var b strings.Builder
	head, lines := true, strings.Contains(text, "\n@@ ")
	for line := range strings.Lines(text) {
		line, end := strings.TrimSuffix(line, "\n"), strings.HasSuffix(line, "\n")
		code := 0
		switch {
		case strings.HasPrefix(line, "diff --git "):
			head, code = true, boldCode
		case strings.HasPrefix(line, "@@"):
			head, code = false, cyanCode
		case head:
			code = boldCode
		case strings.HasPrefix(line, "+"):
			code = greenCode
		case strings.HasPrefix(line, "-"):
			code = redCode
		}
		if !lines {
			code = 0 // a --stat, or nothing but modes
		}
		b.WriteString(Paint(true, code, line))
		if end {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// Merged says what came of a merge.
func (c *Console) Merged(m wire.MergedWorktree) error {
	var b strings.Builder
	name := Line(m.Worktree.Name, 64)
	b.WriteString(c.Beside(m.Worktree))
	if m.Worktree.State == wire.WorktreeWorking {
		fmt.Fprintf(&b, "%s is still at work; this is what it has done so far.\n", Line(m.Worktree.Agent, 64))
	}
	short := func(path string) string { return Line(inFolder(m.Folder, path), 0) }
	for _, f := range m.Files {
		fmt.Fprintf(&b, "%-8s %s", Line(string(f.Action), 20), short(f.Path))
		if f.Uncommitted {
			b.WriteString("  which is in no commit of yours")
		}
		switch {
		case f.Over != nil && *f.Over == "" && f.Action == wire.MergeNew:
			b.WriteString("  which was deleted here")
		case f.Over != nil:
			b.WriteString("  in place of " + cmp.Or(Line(worksOf(*f.Over), 0), "what was there"))
		}
		b.WriteString("\n")
	}
	for _, l := range m.Left {
		fmt.Fprintf(&b, "left out %s\n", short(l))
	}
	switch n := Count(len(m.Files), "file"); {
	case len(m.Conflicts) > 0:
		writeConflicts(&b, m)
	case m.Stopped != "" && len(m.Files) > 0:
		fmt.Fprintf(&b, "It stopped after %s: %s.\nRun it again: what was written is not written twice.\n", n,
			Line(m.Stopped, 0))
	case m.Stopped != "":
		fmt.Fprintf(&b, "Nothing was written: %s.\n", Line(m.Stopped, 0))
	case m.Already:
		fmt.Fprintf(&b, "There is nothing to merge: all of %s is there.\n", name)
	case m.Branch != "":
		fmt.Fprintf(&b, "Put %s of %s on the branch %s. Your files are as they were.\n",
			Count(m.Commits, "commit"), name, Line(m.Branch, 0))
	case m.DryRun:
		fmt.Fprintf(&b, "Would write %s of %s, +%d -%d. Nothing was written.\n", n, name, m.Added, m.Removed)
	case len(m.Files) == 0:
		fmt.Fprintf(&b, "Nothing of %s was written.\n", name)
	default:
		see := "git diff"
		if slices.ContainsFunc(m.Files, func(f wire.MergedFile) bool { return f.Action == wire.MergeNew }) {
			see = "git status" // a difference has no new files
		}
		fmt.Fprintf(&b, "Merged %s of %s, +%d -%d. Nothing is committed; see %s.\n", n, name, m.Added, m.Removed, see)
	}
	switch {
	case m.Undo != "":
		fmt.Fprintf(&b, "To take it back: %s\n", Line(m.Undo, 0))
	case len(m.Files) > 0 && !m.DryRun && m.Branch == "":
		b.WriteString("Its session is gone, so troupe undo cannot take it back; git can.\n")
	}
	_, err := fmt.Fprint(c.Out, b.String())
	return err
}

// worksOf names the work of agents; "" is nobody's.
func worksOf(names string) string {
	if names == "" {
		return ""
	}
	return "the work of " + names
}

// Beside says of a worktree that is beside another folder which one that is: what is said of files is about that one.
func (c *Console) Beside(w wire.Worktree) string {
	here, err := filepath.EvalSymlinks(c.Cwd)
	if err != nil || troupe.Within(here, w.Of) {
		return ""
	}
	return fmt.Sprintf("%s is beside another folder: %s\n", Line(w.Name, 64), Line(w.Of, 0))
}

// inFolder shows what begins with a path below a folder from there.
func inFolder(folder, text string) string {
	return strings.TrimPrefix(text, strings.TrimSuffix(folder, "/")+"/")
}

// hunkLines is how many lines of each side of a conflict are shown.
const hunkLines = 20

// writeConflicts shows each place that both sides have changed, and what can be done about it.
func writeConflicts(b *strings.Builder, m wire.MergedWorktree) {
	name := Line(m.Worktree.Name, 64)
	for _, x := range m.Conflicts {
		fmt.Fprintf(b, "conflict %s", Line(inFolder(m.Folder, x.Path), 0))
		if x.Why != "" {
			fmt.Fprintf(b, ": %s", Line(x.Why, 0))
		}
		b.WriteString("\n")
		ours := "yours, in your folder"
		switch {
		case m.Branch != "":
			ours = "yours, on the branch " + Line(m.Branch, 0)
		case x.Ours != "":
			ours = "yours, with the work of " + Line(x.Ours, 64)
		}
		for _, h := range x.Hunks {
			writeSide(b, ours, h.Ours)
			writeSide(b, "base, which both began with", h.Base)
			writeSide(b, "theirs, of "+Line(cmp.Or(x.Theirs, name), 64), h.Theirs)
		}
	}
	if len(m.Unresolved) > 0 {
		names := make([]string, len(m.Unresolved))
		for i, path := range m.Unresolved {
			names[i] = inFolder(m.Folder, path)
		}
		fmt.Fprintf(b, "%s was handed conflicts and still has the markers of them in: %s\n", name,
			Line(strings.Join(names, ", "), 0))
	}
	fmt.Fprintf(b, "Nothing was written: %s.\n", conflictsIn(m))
	if m.Branch == "" {
		fmt.Fprintf(b, "To keep yours, or to take what the agent did, of each of these files as a whole: "+
			"troupe merge %s --take mine, or --take theirs\n", name)
		if branch := Line(m.Worktree.Branch, 0); branch != "" {
			fmt.Fprintf(b, "To resolve it yourself, commit what you have and run: git merge %s\n", branch)
		}
		again := ""
		if len(m.Unresolved) > 0 {
			again = " once more"
		}
		fmt.Fprintf(b, "To have its agent resolve it%s: troupe merge %s --hand-back; then merge again.\n", again, name)
		return
	}
	fmt.Fprintf(b, "Nothing was put on the branch %s.\n", Line(m.Branch, 0))
	if m.Worktree.Dirty > 0 {
		files := make([]string, len(m.Conflicts))
		for i, x := range m.Conflicts {
			files[i] = inFolder(m.Folder, x.Path)
		}
		fmt.Fprintf(b, "%s began with lines that you had not committed, which no branch has: commit %s first.\n", name,
			Line(strings.Join(files, ", "), 0))
	}
	fmt.Fprintf(b, "To bring it to your files instead: troupe merge %s\n", name)
}

func conflictsIn(m wire.MergedWorktree) string {
	if len(m.Conflicts) == 1 {
		return "1 file has conflicts"
	}
	return fmt.Sprintf("%d files have conflicts", len(m.Conflicts))
}

// writeSide shows what one side has at a place.
func writeSide(b *strings.Builder, who string, l wire.WorktreeLines) {
	where := ""
	if l.First > 0 {
		where = fmt.Sprintf(", line %d", l.First)
	}
	fmt.Fprintf(b, "  %s%s:\n", who, where)
	n := 0
	for line := range strings.Lines(l.Text) {
		if n++; n > hunkLines {
			fmt.Fprintf(b, "    … and more\n")
			return
		}
		fmt.Fprintf(b, "    %s\n", Source(strings.TrimRight(line, "\r\n")))
	}
	if n == 0 {
		b.WriteString("    (nothing)\n")
	}
}
