package cmd

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// mostCommands bounds how many commands are listed under a plan; --list has them all.
const mostCommands = 20

// shortIn shows a path below the session's folder from there.
func shortIn(s wire.Session, path string) string {
	if rel, err := filepath.Rel(s.Cwd, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return console.Line(path, 0)
}

func lineCounts(added, removed int) string {
	if added == 0 && removed == 0 {
		return "-"
	}
	return fmt.Sprintf("+%d -%d", added, removed)
}

// refused reports whether nothing would be put back: files stay, and nobody wants the others without them.
func refused(u wire.Undo, force bool) bool {
	left := staying(u, force)
	return left > 0 && !force || left == len(u.Files)
}

// staying counts the files that cannot be put back.
func staying(u wire.Undo, force bool) (left int) {
	for _, f := range u.Files {
		if f.Stays(force) {
			left++
		}
	}
	return left
}

// fileOutcome says in words what happens to a file.
func fileOutcome(f wire.UndoFile, force, redo bool) string {
	text := "put back"
	switch {
	case f.Stays(force):
		return "stays: " + console.Line(f.Problem, 0)
	case f.Action == wire.UndoRemove:
		if text = "removed (it was not there)"; redo {
			text = "removed again"
		}
	case f.Action == wire.UndoCreate:
		text = "made again"
	}
	if f.Obstacle != wire.ObstacleNone {
		text += ", although " + console.Line(f.Problem, 0)
	}
	if f.Mixed && f.Obstacle == wire.ObstacleNone {
		text += "; what something else changed in between goes too"
	}
	return text
}

func writePlan(c *console.Console, s wire.Session, u wire.Undo, force bool) error {
	switch {
	case u.Type == wire.RedoType && u.Merge != nil:
		_ = c.Printf("session  %s: bring the merge of %s back\n", s.ID, console.Line(u.Merge.Name, 64))
	case u.Type == wire.RedoType:
		_ = c.Printf("session  %s: take back what was undone last\n", s.ID)
	case u.Merge != nil:
		_ = c.Printf("session  %s: take back merge %s of %s, and nothing else\n", s.ID,
			console.Line(u.Merge.ID, 20),
			console.Line(u.Merge.Name, 64))
	default:
		_ = c.Printf("session  %s: back to before turn %d\n", s.ID, u.Turn)
	}
	if len(u.Files) > 0 {
		w := c.Table(console.Column{Title: "FILE"}, console.Column{Title: "LINES"},
			console.Column{Title: "WHAT HAPPENS"})
		for _, f := range u.Files {
			what := fileOutcome(f, force, u.Type == wire.RedoType)
			if refused(u, force) && !f.Stays(force) {
				what = "would be " + what
			}
			w.Row(shortIn(s, f.Path), lineCounts(f.Added, f.Removed), what)
		}
		if err := w.Write(); err != nil {
			return err
		}
	}
	fmt.Fprint(c.Out, console.KeptAs(u))
	for _, m := range u.Merges {
		_ = c.Printf("The merge of %s was made since, and is taken back too.\n", console.Line(m.Name, 64))
	}
	if n := len(u.Same); n > 0 {
		_ = c.Printf("(%s as before already)\n", console.Count(n, "file"))
	}
	for _, path := range u.Links {
		_ = c.Printf("%s stays as it is: links are not put back\n", shortIn(s, path))
	}
	for _, g := range u.Gone {
		_ = c.Printf("The worktree %s is gone, and nothing is put back there. %s\n", console.Line(g.Name, 0),
			keptOf(g))
	}
	if n := len(u.Commands); n > 0 {
		fmt.Fprintln(c.Out, "\nCommands that ran since; what they changed is not known and is not undone:")
		for _, cmd := range u.Commands[:min(n, mostCommands)] {
			_ = c.Printf("  turn %d, %s: %s\n", cmd.Turn, console.Line(cmd.Agent, 0), commandText(cmd, 100))
		}
		if n > mostCommands {
			_ = c.Printf("  … and %d more (see --list)\n", n-mostCommands)
		}
	}
	if len(u.Files) == 0 {
		fmt.Fprintln(c.Out, "There is nothing to put back.")
	}
	return nil
}

// keptOf says where the work of a folder is that is gone.
func keptOf(g wire.GoneFolder) string {
	if g.Pruned {
		return "It was pruned: you have its work, or have discarded it."
	}
	if g.Branch != "" {
		return "Its work is on the branch " + console.Line(g.Branch, 0) + "; to see it: troupe diff " +
			console.Line(g.Name, 0)
	}
	return "Its work is kept: troupe diff " + console.Line(g.Name, 0)
}

// commandText is one that ran, and how it ended.
func commandText(cmd wire.Command, width int) string {
	text := console.Line(cmd.Text, width)
	if cmd.Tool != "Bash" {
		text = console.Line(cmd.Tool, 40) + " " + text
	}
	switch {
	case cmd.State != wire.CommandEnded:
		text += " (" + string(cmd.State) + ")"
	case *cmd.ExitCode != 0:
		text += fmt.Sprintf(" (exit code %d)", *cmd.ExitCode)
	}
	return text
}

func writeTurns(c *console.Console, s wire.Session, turns []wire.Turn) error {
	quiet := 0
	for _, t := range turns {
		if len(t.Files)+len(t.Commands) == 0 {
			quiet++
		} else if err := writeTurn(c, s, t); err != nil {
			return err
		}
		for _, m := range t.Merges {
			if m.By != "" {
				continue
			}
			_ = c.Printf("merge %s  %s  %s  to take it back: --merge %s%s\n", console.Line(m.ID, 20), clock(m.At),
				console.Line(m.Name, 60), console.Line(m.ID, 20), undoneState(m.Undone))
			if err := writeChanges(c, s, m.Files); err != nil {
				return err
			}
			quiet = min(quiet, len(turns)-1)
		}
	}
	switch {
	case quiet == len(turns):
		_ = c.Printf("Session %s has changed nothing in %s.\n", s.ID, console.Count(len(turns), "turn"))
	case quiet > 0:
		_ = c.Printf("(%d of %s changed nothing)\n", quiet, console.Count(len(turns), "turn"))
	}
	return nil
}

func clock(at time.Time) string { return at.Local().Format("2006-01-02 15:04:05") }

func undoneState(undone bool) string {
	if undone {
		return "  (undone)"
	}
	return ""
}

// writeTurn is one turn with what it changed, what agents merged in it, and what it ran.
func writeTurn(c *console.Console, s wire.Session, t wire.Turn) error {
	_ = c.Printf("turn %d  %s  %s%s\n", t.Number, clock(t.At), console.Line(t.Asked, 60), undoneState(t.Undone))
	if err := writeChanges(c, s, t.Files); err != nil {
		return err
	}
	for _, f := range t.Forks {
		_ = c.Printf("  fork %s  you asked it: %s\n", console.Line(f.Agent, 60), console.Line(f.Asked, 60))
	}
	for _, m := range t.Merges {
		if m.By != "" {
			_ = c.Printf("  merged %s  (%s, %s; to take it back alone: --merge %s)%s\n", console.Line(m.Name, 60),
				console.Line(m.By, 60), console.Count(len(m.Files), "file"), console.Line(m.ID, 20),
				undoneState(m.Undone))
		}
	}
	for _, cmd := range t.Commands {
		unknown := "; what it changed is not known"
		if cmd.Known {
			unknown = ""
		}
		_ = c.Printf("  ran %s  (%s%s)\n", commandText(cmd, 80), console.Line(cmd.Agent, 60), unknown)
	}
	return nil
}

func writeChanges(c *console.Console, s wire.Session, list []wire.FileChange) error {
	w := c.Table(make([]console.Column, 3)...)
	for _, f := range list {
		name := shortIn(s, f.Path)
		if f.New {
			name += " (new)"
		}
		w.Row("  "+name, lineCounts(f.Added, f.Removed), console.Line(strings.Join(f.Agents, ", "), 60))
	}
	return w.Write()
}
