package console

import (
	"cmp"
	"fmt"
	"time"

	"github.com/troupe-dev/troupe/internal/wire"
)

// WorktreeList shows the folders that agents have of their own. all: those beside every folder.
func (c *Console) WorktreeList(list []wire.Worktree, all bool) error {
	if len(list) == 0 {
		text := "No agent has a folder of its own beside this one; --all lists those beside others."
		if all {
			text = "No agent has a folder of its own. One that is started with isolation: worktree has."
		}
		_, err := fmt.Fprintln(c.Out, text)
		return err
	}
	type col = Column
	columns := []col{{Title: "NAME"}, {Title: "AGENT", Spare: 3}, {Title: "AGE", Spare: 2}, {Title: "BRANCH", Spare: 5},
		{Title: "SIZE", Spare: 4}}
	if all {
		columns = append(columns, col{Title: "BESIDE", Spare: 1})
	}
	t := c.Table(append(columns, col{Title: "HOLDS", Uncut: true})...).Whole()
	for _, w := range list {
		row := []any{Line(w.Name, 40), Line(worktreeOwner(w), 32), worktreeAge(c.Now().Sub(w.Made)),
			Line(cmp.Or(w.Branch, "-"), 48), Size(w.Bytes)}
		if all {
			row = append(row, Line(c.ShortPath(w.Of), 40))
		}
		t.Row(append(row, Line(WorktreeHolds(w), 0))...)
	}
	return t.Write()
}

// worktreeOwner is the agent whose it is, and its session.
func worktreeOwner(w wire.Worktree) string {
	if w.Agent == "" {
		return "(removed) " + string(w.Session)
	}
	return w.Agent + " " + string(w.Session)
}

// WorktreeHolds says in words what is in it.
func WorktreeHolds(w wire.Worktree) (text string) {
	switch w.State {
	case wire.WorktreeWorking:
		return "at work"
	case wire.WorktreeEmpty:
		text = "nothing"
	case wire.WorktreeMerged:
		text = "merged"
		if n := len(w.Declined); n > 0 {
			text += ", yours kept in " + Count(n, "file")
		}
	case wire.WorktreeUnmerged:
		text = "unmerged: "
		if w.Pushed {
			text = "pushed, and unmerged here: "
		}
		text += worktreeSums(w.WorktreeSums)
		if n := len(w.Conflicts); n > 0 {
			text += fmt.Sprintf(", conflicts in %s", Count(n, "file"))
		}
		if !w.There && w.Branch != "" {
			text += "; folder gone, kept on " + w.Branch
		}
		if w.Problem != "" && !(w.There && w.Kept != "") { // else that is said of the folder
			text += "; whether your files have it is not known: " + w.Problem
		}
	case wire.WorktreeUnknown:
		text = "not known: " + w.Problem
	}
	if w.Asleep {
		text += "; its session is asleep"
	} else if w.Status.Live() && w.State != wire.WorktreeWorking {
		text += "; its session was left behind"
	}
	if w.There && w.Kept != "" && w.State != wire.WorktreeUnknown {
		text += "; folder stays: " + w.Kept
	}
	return text
}

// worktreeSums are how much was changed.
func worktreeSums(s wire.WorktreeSums) string {
	if s.Files == 0 && s.Commits > 0 {
		return Count(s.Commits, "commit")
	}
	return fmt.Sprintf("%s +%d -%d", Count(s.Files, "file"), s.Added, s.Removed)
}

// worktreeAge is how long ago something was, in one unit.
func worktreeAge(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = max(0, d); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < day:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d/day))
}

// Size is how much of the disk something takes.
func Size(n int64) string {
	const step = 1024
	size := float64(n)
	for _, unit := range []string{"B", "KB", "MB", "GB"} {
		switch {
		case unit == "B" && size < step:
			return fmt.Sprintf("%d B", n)
		case size < step && size < 10:
			return fmt.Sprintf("%.1f %s", size, unit)
		case size < step:
			return fmt.Sprintf("%.0f %s", size, unit)
		}
		size /= step
	}
	return fmt.Sprintf("%.1f TB", size)
}
