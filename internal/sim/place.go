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

// places implements session.Workspaces over a model of git: two repositories, what they hold, and the refs that keep
// it. Every operation is a sequence of durable steps, and may be cut off before each by the death of its process.
type places struct {
	p       *process
	without string // a step that is left out, which is a bug
}

// Without leaves a step out of every operation.
func (s places) Without(step string) session.Workspaces { return places{s.p, step} }

func (places) Plan(asks troupe.Session, w session.Wish) (troupe.Workspace, error) {
	if strings.HasPrefix(w.Title, "Twin") {
		return troupe.Workspace{}, fmt.Errorf("there is no repository")
	}
	if w.Kind == troupe.WorkspaceIsolated { // which is settled here
		w.Kind = troupe.WorkspaceTree
	}
	top := trees + string(w.ID)
	return troupe.Workspace{Kind: w.Kind, Owner: w.ID, Name: "n" + string(w.ID), From: asks.Dir(), Of: asks.Dir(),
		Top:    top,
		Folder: top, Branch: "troupe/" + string(w.ID)}, nil
}

func (w *world) ground(id troupe.SessionID) *ground {
	if w.grounds == nil {
		w.grounds = make(map[troupe.SessionID]*ground)
		w.caller = newRepository(nil)
	}
	g := w.grounds[id]
	if g == nil {
		g = &ground{id: id, keeper: newRepository(w.caller)}
		w.grounds[id] = g
	}
	return g
}

// goesOn lets time pass, and reports whether the process is still there behind it.
func (s places) goesOn(ctx context.Context) bool {
	w := s.p.w
	w.sleep(ctx, time.Duration(w.rng.IntN(40))*time.Millisecond)
	return ctx.Err() == nil && !s.p.dead
}

// step does one thing that outlives the process, which may die before it. It reports whether the process lives.
func (s places) step(ctx context.Context, g *ground, name string, do func()) bool {
	if s.p.w.one(3) && !s.goesOn(ctx) {
		return false
	}
	if s.p.w.one(4) {
		s.p.w.collect()
	}
	if name != s.without {
		do()
		s.p.w.holds(g)
	}
	return true
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
	base := ""
	find := func() { base = w.caller.refs[g.baseRef()] }
	begin := func() {
		if base == "" {
			w.bases++
			base = "base" + strconv.Itoa(w.bases)
			w.caller.objects[base] = commit{of: g.id}
			s.pins(base)
		}
	}
	name := func() { // the ref is made, and never moved: who comes second takes what is there
		if w.caller.refs[g.baseRef()] == "" || s.without == "find the base" {
			w.caller.refs[g.baseRef()] = base
		}
		base = w.caller.refs[g.baseRef()]
		delete(w.caller.pinned, base)
	}
	fill := func() {
		if !g.there {
			g.there, g.content = true, w.kept(g)
		}
	}
	if !s.step(ctx, g, "find the base", find) || !s.step(ctx, g, "make the base", begin) ||
		!s.step(ctx, g, "keep the base", name) || !s.step(ctx, g, "fill", fill) {
		return troupe.WorkspaceBase{}, context.Canceled
	}
	s.goesOn(ctx)
	return troupe.WorkspaceBase{Commit: base}, nil
}

// keeps has the runtime's repository keep what is in the folder.
func (s places) keeps(ctx context.Context, g *ground) (content int, id string, lives bool) {
	content = g.content
	lives = s.goesOn(ctx) &&
		s.step(ctx, g, "take", func() { id = g.take(content, s.p.w.caller.refs[g.baseRef()]) }) &&
		s.step(ctx, g, "keep", func() { g.keeper.forward(savedRef, id) })
	return content, id, lives
}

func (s places) Save(ctx context.Context, at troupe.Session, u session.Unsaved) (troupe.Checkpoint, error) {
	g := s.p.w.ground(at.Workspace.Owner)
	if s.p.w.one(60) {
		return troupe.Checkpoint{}, fmt.Errorf("an object cannot be written")
	}
	n, _, lives := s.keeps(ctx, g)
	if !lives {
		return troupe.Checkpoint{}, context.Canceled
	}
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
	work, w := at.Workspace, s.p.w
	out := troupe.WorkspaceResult{Kind: work.Kind, Name: work.Name, Folder: work.Folder, Branch: work.Branch,
		Kept: c.Stay}
	g := w.ground(work.Owner)
	if w.one(60) {
		return out, fmt.Errorf("the caller's repository is locked")
	}
	n, id, lives := s.keeps(ctx, g)
	if !lives {
		return out, context.Canceled
	}
	if c.Stay == "" && n > 0 {
		if lives, err := s.hand(ctx, g, id); !lives {
			return out, context.Canceled
		} else if err != nil {
			return out, err
		}
	}
	kept := w.kept(g)
	run := w.checkpoint(kept, c.Began)
	out.Base, out.Tip, out.Run = w.caller.refs[g.baseRef()], strconv.Itoa(kept), &run
	if c.Stay == "" {
		leave := func() {
			if g.content == kept {
				g.there, out.Gone = false, true
			}
		}
		if c.Going != nil {
			c.Going(ctx)
		}
		if !s.step(ctx, g, "remove", leave) {
			return out, context.Canceled
		}
	}
	s.goesOn(ctx)
	return out, nil
}

// pins keeps what a ref is about to lead to from being collected.
func (s places) pins(id string) {
	if s.without != "pin" {
		s.p.w.caller.pinned[id] = true
	}
}

// hand has the caller's repository keep a commit. What is handed over is pinned until its ref is there.
func (s places) hand(ctx context.Context, g *ground, id string) (lives bool, err error) {
	caller := s.p.w.caller
	copies := func() {
		caller.objects[id] = g.keeper.objects[id]
		s.pins(id)
	}
	names := func() {
		// Another process that handed the same over may have unpinned it.
		if s.without != "pin" && s.without != "hand over" && !caller.whole(id) {
			err = errLost
			return
		}
		caller.forward(g.tipRef(), id)
	}
	lives = s.step(ctx, g, "hand over", copies) && s.step(ctx, g, "name the tip", names) &&
		s.step(ctx, g, "unpin", func() { delete(caller.pinned, id) })
	return lives, err
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
		w.holds(g)
	case troupe.WorkspaceSaved:
		if b.Checkpoint.Tree == "" || s.Workspace.Owner != s.ID {
			return
		}
		g := w.ground(s.Workspace.Owner)
		n, _ := strconv.Atoi(b.Checkpoint.Tree)
		if b.Checkpoint.Files != n-g.told {
			w.broken("%s: a checkpoint of %d on one of %d has %d effects", s.ID, n, g.told, b.Checkpoint.Files)
		}
		g.told, g.logged = n, max(g.logged, n)
		w.holds(g)
	case troupe.Ended:
		w.evident(s, b.Outcome)
		if strings.Contains(b.Outcome.Error, "not the one that it worked in") {
			w.broken("%s ended: %s", s.ID, b.Outcome.Error)
		}
		if r := b.Outcome.Workspace; r != nil && r.Into != "" && r.NotMerged == "" {
			for i := range w.kept(w.ground(s.Workspace.Owner)) {
				if path := broughtFile(s.Workspace, i); !w.brought[path] {
					w.broken("%s says that its work was merged, and %s is not there", s.ID, path)
				}
			}
		}
		if b.Outcome.Workspace != nil && b.Outcome.Workspace.Gone {
			g := w.ground(s.Workspace.Owner)
			n, err := strconv.Atoi(b.Outcome.Workspace.Tip)
			if kept := w.kept(g); err != nil || n != kept {
				w.broken("%s ended with %q, and %d is kept", s.ID, b.Outcome.Workspace.Tip, kept)
			}
			g.ended = max(g.ended, n)
			w.holds(g)
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
	for i := range w.kept(w.ground(work.Owner)) {
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
