package sim

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/turn"
)

// trees is where folders of sessions lie.
const trees = "/sim-trees/"

// ground is a session's own folder and the refs that keep what is in it. Content is how many effects it has seen; they
// outlive processes.
type ground struct {
	there   bool
	content int
	kept    int // how much of it a ref reaches
	base    string
	toldOf  string // the base that the log names
	told    int    // the content that it names last
}

// places implements session.Workspaces over a model of refs. Every operation stops now and then for long enough to be
// cut off there by the death of its process.
type places struct{ p *process }

func (places) Plan(asks troupe.Session, w session.Wish) (troupe.Workspace, error) {
	if strings.HasPrefix(w.Title, "Twin") {
		return troupe.Workspace{}, fmt.Errorf("there is no repository")
	}
	top := trees + string(w.ID)
	return troupe.Workspace{Kind: w.Kind, Owner: w.ID, Name: "n" + string(w.ID), From: asks.Dir(), Of: asks.Dir(),
		Top:    top,
		Folder: top, Branch: "troupe/" + string(w.ID)}, nil
}

func (w *world) ground(id troupe.SessionID) *ground {
	if w.grounds == nil {
		w.grounds = make(map[troupe.SessionID]*ground)
	}
	g := w.grounds[id]
	if g == nil {
		g = &ground{}
		w.grounds[id] = g
	}
	return g
}

// goesOn lets time pass, and reports whether the process is still there behind it.
func (s places) goesOn(ctx context.Context) bool {
	s.p.w.sleep(ctx, time.Duration(s.p.w.rng.IntN(40))*time.Millisecond)
	return ctx.Err() == nil && !s.p.dead
}

func (s places) Open(ctx context.Context, o session.Opening) (troupe.WorkspaceBase, error) {
	w := s.p.w
	g := w.ground(o.Session.Workspace.Owner)
	if w.one(60) {
		return troupe.WorkspaceBase{}, fmt.Errorf("the disk is full")
	}
	if !s.goesOn(ctx) {
		return troupe.WorkspaceBase{}, context.Canceled
	}
	if g.base == "" {
		w.bases++
		g.base = "base" + strconv.Itoa(w.bases)
	}
	if !s.goesOn(ctx) {
		return troupe.WorkspaceBase{}, context.Canceled
	}
	if !g.there {
		g.there, g.content = true, g.kept
	}
	s.goesOn(ctx)
	return troupe.WorkspaceBase{Commit: g.base}, nil
}

func (s places) Save(ctx context.Context, at troupe.Session, u session.Unsaved) (troupe.Checkpoint, error) {
	g := s.p.w.ground(at.Workspace.Owner)
	if s.p.w.one(60) {
		return troupe.Checkpoint{}, fmt.Errorf("an object cannot be written")
	}
	n := g.content
	if !s.goesOn(ctx) {
		return troupe.Checkpoint{}, context.Canceled
	}
	g.kept = max(g.kept, n)
	return s.p.w.checkpoint(n, u.Last), nil
}

// checkpoint names a content, in which each effect since the last one is a file of its own.
func (w *world) checkpoint(content int, last string) troupe.Checkpoint {
	was, err := strconv.Atoi(last)
	if last != "" && (err != nil || was > content) {
		w.broken("a checkpoint of %d is compared with %q", content, last)
	}
	out := troupe.Checkpoint{Tree: strconv.Itoa(content), Files: content - was}
	for n := was + 1; n <= content && len(out.Changed) < troupe.MostChanged; n++ {
		out.Changed = append(out.Changed, troupe.FileChanged{Path: "e" + strconv.Itoa(n), New: true, Added: 1})
	}
	return out
}

func (s places) Close(ctx context.Context, at troupe.Session, c session.Closing) (troupe.WorkspaceResult, error) {
	work := at.Workspace
	out := troupe.WorkspaceResult{Kind: work.Kind, Name: work.Name, Folder: work.Folder, Branch: work.Branch,
		Kept: c.Stay}
	g := s.p.w.ground(work.Owner)
	if s.p.w.one(60) {
		return out, fmt.Errorf("the caller's repository is locked")
	}
	n := g.content
	if !s.goesOn(ctx) {
		return out, context.Canceled
	}
	g.kept = max(g.kept, n)
	if !s.goesOn(ctx) {
		return out, context.Canceled
	}
	run := s.p.w.checkpoint(g.kept, c.Began)
	out.Base, out.Tip, out.Run = g.base, strconv.Itoa(g.kept), &run
	if c.Stay == "" && g.content == g.kept {
		if c.Going != nil {
			c.Going(ctx)
		}
		g.there, out.Gone = false, true
	}
	s.goesOn(ctx)
	return out, nil
}

// acts notes an effect in the folder that a call acts in. It is false where there is none.
func (w *world) acts(p *process, dir string) bool {
	id, own := strings.CutPrefix(dir, trees)
	if !own {
		return true
	}
	g := w.ground(troupe.SessionID(id))
	if !g.there {
		if !p.zombie && len(w.before) == 0 {
			w.broken("a tool acts in %s, and there is no such folder", dir)
		}
		return false
	}
	g.content++
	return true
}

// placed holds what the log says of a folder against what is so.
func (w *world) placed(s troupe.Session, body troupe.Body) {
	switch b := body.(type) {
	case troupe.WorkspaceReady:
		g := w.ground(s.Workspace.Owner)
		if g.toldOf != "" && g.toldOf != b.Base.Commit {
			w.broken("the base of %s was %s and is %s", s.ID, g.toldOf, b.Base.Commit)
		}
		g.toldOf = b.Base.Commit
	case troupe.WorkspaceSaved:
		if b.Checkpoint.Tree == "" || s.Workspace.Owner != s.ID {
			return
		}
		g := w.ground(s.Workspace.Owner)
		n, _ := strconv.Atoi(b.Checkpoint.Tree)
		if b.Checkpoint.Files != n-g.told {
			w.broken("%s: a checkpoint of %d on one of %d has %d effects", s.ID, n, g.told, b.Checkpoint.Files)
		}
		g.told = n
	case troupe.Ended:
		w.evident(s, b.Outcome)
		if strings.Contains(b.Outcome.Error, "not the one that it worked in") {
			w.broken("%s ended: %s", s.ID, b.Outcome.Error)
		}
		if r := b.Outcome.Workspace; r != nil && r.Into != "" && r.NotMerged == "" {
			for i := range w.ground(s.Workspace.Owner).kept {
				if path := broughtFile(s.Workspace, i); !w.brought[path] {
					w.broken("%s says that its work was merged, and %s is not there", s.ID, path)
				}
			}
		}
		if b.Outcome.Workspace != nil && b.Outcome.Workspace.Gone {
			if n, err := strconv.Atoi(b.Outcome.Workspace.Tip); err != nil || n != w.ground(s.Workspace.Owner).kept {
				w.broken("%s ended with %q, and %d is kept", s.ID, b.Outcome.Workspace.Tip,
					w.ground(s.Workspace.Owner).kept)
			}
		}
	}
}

// evident holds what is said that a run has changed in its folder against what became of that: each effect counts once.
func (w *world) evident(s troupe.Session, o troupe.Outcome) {
	if o.Workspace == nil || o.Workspace.Run == nil {
		return
	}
	n := o.Evidence.More
	seen := map[string]bool{}
	for _, f := range o.Evidence.Files {
		if troupe.Within(f.Path, s.Workspace.Top) {
			n++
		}
		if seen[f.Path] {
			w.broken("%s says twice that it wrote %s", s.ID, f.Path)
		}
		seen[f.Path] = true
	}
	if n != o.Workspace.Run.Files {
		w.broken("%s changed %d files, and says %d", s.ID, o.Workspace.Run.Files, n)
	}
	w.ground(s.Workspace.Owner).told, _ = strconv.Atoi(o.Workspace.Run.Tree)
}

// unreached names a folder that is gone with something that no ref reaches; "" if there is none.
func (w *world) unreached() string {
	for id, g := range w.grounds {
		if !g.there && g.content > g.kept {
			return fmt.Sprintf("the folder of %s is gone, and of its %d effects only %d are kept", id, g.content,
				g.kept)
		}
	}
	return ""
}

// Merge implements session.Workspaces. Each effect that is kept is a file in the caller's tree, once.
func (s places) Merge(ctx context.Context, at troupe.Session, _ session.Into) (out session.Merge, err error) {
	w := s.p.w
	if w.one(40) {
		return out, fmt.Errorf("git cannot merge")
	}
	if w.one(40) {
		out.Conflicts = []string{"both.go"}
		return out, nil
	}
	work := at.Workspace
	for i := range w.ground(work.Owner).kept {
		if path := broughtFile(work, i); !w.brought[path] {
			out.Files = append(out.Files, troupe.FileTouch{Path: path, Wrote: true, New: true})
		}
	}
	if !s.goesOn(ctx) {
		return out, context.Canceled
	}
	out.Write = func(ctx context.Context) error {
		for _, f := range out.Files {
			if !s.goesOn(ctx) {
				return context.Canceled
			}
			if w.one(40) || w.brought[f.Path] {
				return fmt.Errorf("something else has changed %s", f.Path)
			}
			w.bring(f.Path)
		}
		return nil
	}
	return out, nil
}

func broughtFile(w troupe.Workspace, i int) string { return fmt.Sprintf("%s/%s.%d", w.Of, w.Owner, i) }

// bring writes a file of a merge. The log has announced it before.
func (w *world) bring(path string) {
	if !w.announced[path] {
		w.broken("%s is merged, and no log announced it", path)
	}
	if w.brought == nil {
		w.brought = make(map[string]bool)
	}
	w.brought[path] = true
}

// merges: what the end of a run writes of its parent's is what the parent might write without a question, at that
// moment.
func (h *watch) merges(s troupe.Session, e troupe.Event, b troupe.WorkspaceMerged) {
	access := troupe.Access{Class: troupe.ClassEdit}
	for _, f := range b.Files {
		access.Writes = append(access.Writes, f.Path)
	}
	c := &turn.Call{Call: troupe.Call{Name: "MergeWorktree"}}
	var last troupe.Decision
	h.law.chains(s.Parent, e.At, e.At, func(chain []gate.Layer) bool {
		last = h.law.decide(s.Parent, c, access, chain)
		return last.Effect != troupe.Allow
	})
	if last.Effect != troupe.Allow || h.w.climate.judge {
		h.w.broken("session %s: event %d merges what its parent may not write: %+v", s.ID, e.Seq, last)
	}
	if h.w.announced == nil {
		h.w.announced = make(map[string]bool)
	}
	for _, f := range b.Files {
		h.w.announced[f.Path] = true
	}
}
