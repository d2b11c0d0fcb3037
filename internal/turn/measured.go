package turn

import (
	"slices"

	"github.com/troupe-dev/troupe"
)

// changes are the files that a run has changed in its folder, as its checkpoints say: whatever changed them.
type changes struct {
	files []troupe.FileTouch
	more  int // that were changed too; one is counted more than once if it was changed by several steps
}

// add counts the files in which a checkpoint differs from the one before.
func (c *changes) add(top string, p troupe.Checkpoint) {
	c.more += p.Files - len(p.Changed)
	c.files = slices.Clip(c.files)
	for _, f := range p.Changed {
		t := troupe.FileTouch{Path: top + "/" + f.Path, Wrote: true, New: f.New, Gone: f.Gone, Added: f.Added,
			Removed: f.Removed}
		i := slices.IndexFunc(c.files, func(has troupe.FileTouch) bool { return has.Path == t.Path })
		switch {
		case i < 0 && len(c.files) >= troupe.MostChanged:
			c.more++
		case i < 0:
			c.files = append(c.files, t)
		case c.files[i].New && t.Gone:
			c.files = slices.Concat(c.files[:i], c.files[i+1:]) // it has come and gone
		default:
			was := c.files[i]
			t.New, t.Added, t.Removed = was.New, was.Added+t.Added, was.Removed+t.Removed
			c.files = slices.Clone(c.files)
			c.files[i] = t
		}
	}
}

// ran takes what a command changed into the evidence of the run, as far as it was watched, behind what was changed
// before it.
func ran(s *State, c *troupe.CommandRun) {
	if c.Unseen() {
		s.Evidence.Unseen++
	}
	if c.Watched == nil || len(c.Watched.Changed) == 0 {
		return
	}
	files := slices.Clip(s.Evidence.Files)
	for _, ch := range c.Watched.Changed {
		i := slices.IndexFunc(files, func(has troupe.FileTouch) bool { return has.Path == ch.Path })
		t := troupe.FileTouch{Path: ch.Path, Wrote: true, New: ch.New, Gone: ch.Gone, Uncounted: true}
		switch {
		case i < 0 && len(files) >= troupe.MostChanged:
			s.Evidence.More++
		case i < 0:
			files = append(files, t)
		case files[i].New && ch.Gone:
			files = slices.Concat(files[:i], files[i+1:]) // it has come and gone
		default:
			files = slices.Clone(files)
			t.New = files[i].New
			t.Added, t.Removed = files[i].Added, files[i].Removed
			files[i] = t
		}
	}
	s.Evidence.Files, s.Evidence.More = files, s.Evidence.More+c.Watched.MoreChanged
	w := *c.Watched // the files are listed once
	w.Changed, w.MoreChanged = nil, 0
	c.Watched = &w
}

// unmeasured reports whether a call that was announced may have changed files, and nothing says which: it was cut off,
// or its tool runs where only its server sees it.
func unmeasured(c *Call, b *troupe.ToolFinished) bool {
	return c.Child == "" && c.Wait == nil && b.Task == nil && len(b.Evidence.Files)+len(b.Evidence.Commands) == 0 &&
		(b.Interrupt || !b.Result.IsError)
}

// Measured is the evidence of the run: of files in a folder that was made for the session what its checkpoints say, of
// others what its tools wrote, and what its commands did as far as they were watched. So no file counts twice that a
// tool and a command have changed. Closed is what became of
// the folder at the end of the run, which says how it differs from what it was when the run began; nil: the folder
// stays, and its steps are added up.
func Measured(s *State, closed *troupe.WorkspaceResult) troupe.Evidence {
	out := s.Evidence
	if !Keeps(s) {
		return out // others act there too
	}
	w, own, unsaved := s.Session.Workspace, s.Place.run, s.Place.Unsaved
	if closed != nil && closed.Run != nil {
		own, unsaved = changes{}, nil
		own.add(w.Top, *closed.Run)
	}
	out.Files, out.More, out.Unseen = nil, 0, 0
	for _, f := range s.Evidence.Files {
		same := func(t troupe.FileTouch) bool { return t.Path == f.Path }
		// What no checkpoint has is known from the tools alone.
		if !troupe.Within(f.Path, w.Top) || slices.Contains(unsaved, f.Path) && !slices.ContainsFunc(own.files, same) {
			out.Files = append(out.Files, f)
		}
	}
	out.Files, out.More = append(out.Files, own.files...), out.More+own.more
	return out
}
