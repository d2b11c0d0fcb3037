package session_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
)

// folders makes folders of sessions that are nothing but notes of what was done to them. They outlive processes.
type folders struct {
	mu    sync.Mutex
	there map[troupe.SessionID]bool
	notes []string
	began time.Time
	fails map[string]error
	takes map[string]time.Duration
	base  string
	files int  // that a folder has: how many are there is told each tenth of a second
	makes bool // a folder that is not there is said to be made
}

func newFolders() *folders {
	return &folders{there: make(map[troupe.SessionID]bool), began: time.Now(), fails: make(map[string]error),
		takes: map[string]time.Duration{"open": 3 * time.Second, "save": time.Second, "close": time.Second}}
}

// with has a process use them.
func (f *folders) with(p *process) { p.deps = func(d *session.Deps) { d.Workspaces = f } }

func (f *folders) Plan(asks troupe.Session, w session.Wish) (troupe.Workspace, error) {
	name := cmp.Or(w.Name, w.Title)
	if name == "Refused" {
		return troupe.Workspace{}, errors.New("there is no repository")
	}
	return troupe.Workspace{Kind: w.Kind, Owner: w.ID, Name: name, From: asks.Dir(), Of: asks.Dir(),
		Top: "/trees/" + name, Folder: "/trees/" + name, Branch: "troupe/" + name}, nil
}

// does notes an operation that begins, and another line when it has ended.
func (f *folders) does(ctx context.Context, op string, s troupe.Session, more string) error {
	name := op + " " + s.Workspace.Name
	f.note(name + more)
	select {
	case <-ctx.Done():
		f.note(name + " cut short")
		return ctx.Err()
	case <-time.After(f.takes[op]):
	}
	f.mu.Lock()
	err := f.fails[op]
	f.there[s.Workspace.Owner] = err == nil && op != "close"
	f.mu.Unlock()
	f.note(name + " done")
	return err
}

func (f *folders) note(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notes = append(f.notes, fmt.Sprintf("%v %s", time.Since(f.began).Round(time.Second), text))
}

func (f *folders) Open(ctx context.Context, o session.Opening) (troupe.WorkspaceBase, error) {
	for done := range f.files {
		<-time.After(time.Second / 10)
		o.Progress(done+1, f.files)
	}
	f.mu.Lock()
	if f.makes && !f.there[o.Session.Workspace.Owner] {
		o.Made()
	}
	f.mu.Unlock()
	base := troupe.WorkspaceBase{Commit: cmp.Or(f.base, "base of "+o.Session.Workspace.Name)}
	return base, f.does(ctx, "open", o.Session, "")
}

func (f *folders) Save(ctx context.Context, s troupe.Session, u session.Unsaved) (troupe.Checkpoint, error) {
	more := " " + strings.Join(u.Files, ",")
	if u.Files == nil {
		more = " all"
	}
	return troupe.Checkpoint{Tree: "tree of " + s.Workspace.Name}, f.does(ctx, "save", s, more)
}

func (f *folders) Close(ctx context.Context, s troupe.Session, c session.Closing) (troupe.WorkspaceResult, error) {
	w, stay := s.Workspace, c.Stay
	if stay != "" {
		stay = " stays: " + stay
	}
	return troupe.WorkspaceResult{Kind: w.Kind, Name: w.Name, Folder: w.Folder, Branch: w.Branch, Base: "b", Tip: "t",
		Commits: 1, Gone: stay == ""}, f.does(ctx, "close", s, stay)
}

// want compares what was done.
func (f *folders) want(t *testing.T, want ...string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.notes, want) {
		t.Errorf("the folders saw\n%s\nand not\n%s", strings.Join(f.notes, "\n"), strings.Join(want, "\n"))
	}
}

// happened lists the events of a session, without those of the model.
func (h *home) happened(id troupe.SessionID) (out []string) {
	for _, e := range h.events(id) {
		switch b := e.Body.(type) {
		case troupe.CallSealed, troupe.Replied, troupe.MailDelivered:
		case troupe.WorkspaceSaved:
			out = append(out, string(e.Body.Kind())+" "+b.Checkpoint.Tree+b.Problem)
		default:
			out = append(out, string(e.Body.Kind()))
		}
	}
	return out
}

// ofRun is how a session's last run ended.
func (h *home) ofRun(id troupe.SessionID) (o troupe.Outcome) {
	for _, e := range h.events(id) {
		if b, ok := e.Body.(troupe.Ended); ok {
			o = b.Outcome
		}
	}
	return o
}

// TestPlace: the folder is made while the model is asked, tools wait for it, what they change is saved while the model
// is asked again, and the run ends when all is kept.
func TestPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, f := newHome(t), newFolders()
		p := h.start(plays{"main": {call("Agent:^Tree"), say("ok")},
			"main/Tree": {call("Read:a"), call("Edit:work"), say("all done")}}.reply, f.with)
		p.begin(troupe.Caps{MaxDepth: 1}).end()
		child := h.called("Tree")
		if child.Status != troupe.Completed || child.Dir() != "/trees/Tree" || child.Cwd != "/ws" {
			t.Errorf("%+v", child)
		}
		if got := strings.Join(h.happened(child.ID), "; "); got != "session.created; session.started; "+
			"workspace.ready; "+
			"tool.finished; tool.started; tool.finished; workspace.saved tree of Tree; session.ended" {
			t.Error(got)
		}
		o := h.ofRun(child.ID)
		if o.Workspace == nil || !o.Workspace.Gone || o.Workspace.Branch != "troupe/Tree" {
			t.Errorf("%+v", o.Workspace)
		}
		if first := string(body(p.llm.of(child.ID)[0])); !strings.Contains(first,
			"/trees/Tree, on the branch troupe/Tree") {
			t.Error("the agent is not told where it is")
		}
		if last := p.llm.of(h.root); !strings.Contains(string(body(last[len(last)-1])), "troupe/Tree") {
			t.Error("the parent is not told of the branch")
		}
		// The model answers after a second each time, the child is born at 1.
		f.want(t, "1s open Tree", "4s open Tree done", "7s save Tree all", "8s save Tree done", "8s close Tree",
			"9s close Tree done")
		h.checkTree()
	})
}

// TestPlaceProgress: how far the making of a folder has come is told a few times a second, behind what is committed by
// then, and of no call.
func TestPlaceProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, f := newHome(t), newFolders()
		f.files = 12
		var got []string
		p := h.start(plays{"main": {call("Agent:^Tree"), say("ok")},
			"main/Tree": {call("Edit:work"), say("all done")}}.reply, func(p *process) {
			p.deps = func(d *session.Deps) {
				d.Workspaces = f
				d.Deltas = func(_, _ troupe.SessionID, d session.Delta) {
					if d.Stage == troupe.StageWorkspace && d.Call == (troupe.Coord{}) {
						got = append(got, fmt.Sprintf("%d of %d behind %d", d.Done, d.All, d.After))
					}
				}
			}
		})
		p.begin(troupe.Caps{MaxDepth: 1}).end()
		// The reply, event 4, came after a second.
		want := "3 of 12 behind 4; 6 of 12 behind 4; 9 of 12 behind 4; 12 of 12 behind 5"
		if got := strings.Join(got, "; "); got != want {
			t.Error(got)
		}
		h.checkTree()
	})
}

// TestNoPlace: where the folder cannot be made, nothing is done, and the parent is told why.
func TestNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, f := newHome(t), newFolders()
		f.fails["open"] = errors.New("the disk is full")
		p := h.start(plays{"main": {call("Agent:^Tree", "Agent:^Refused"), say("ok")},
			"main/Tree": {call("Edit:a"), say("all done")}}.reply, f.with)
		p.begin(troupe.Caps{MaxDepth: 1}).end()
		child := h.called("Tree")
		if child.Status != troupe.Failed || !strings.Contains(child.Error, "the disk is full") {
			t.Errorf("%s: %s", child.Status, child.Error)
		}
		if got := strings.Join(h.happened(child.ID), "; "); got != "session.created; session.started; tool.finished; "+
			"session.ended" {
			t.Error(got)
		}
		last := p.llm.of(h.root)
		for _, want := range []string{"the disk is full", "there is no repository"} {
			if !strings.Contains(string(body(last[len(last)-1])), want) {
				t.Errorf("the parent is not told %q", want)
			}
		}
		f.want(t, "1s open Tree", "4s open Tree done", "4s close Tree", "5s close Tree done")
		h.checkTree()
	})
}

// TestPlaceShared: an agent that is born in the folder of another works there, and keeps it from being removed.
func TestPlaceShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, f := newHome(t), newFolders()
		p := h.start(plays{"main": {call("Agent:^Tree"), say("ok")},
			"main/Tree":    {call("Agent:&In"), say("it works on"), say("now all is done")},
			"main/Tree/In": {call("Edit:a"), call("Edit:b"), say("done")}}.reply, f.with)
		p.begin(troupe.Caps{MaxDepth: 2}).end()
		in, tree := h.called("In"), h.called("Tree")
		if in.Dir() != "/trees/Tree" || in.Workspace.Owner != tree.ID {
			t.Errorf("%+v", in.Workspace)
		}
		if h.ofRun(in.ID).Workspace != nil {
			t.Error("the folder is told as its own")
		}
		if got := fmt.Sprint(f.notes); !strings.Contains(got,
			"close Tree stays: another agent still works in it, or beside it") {
			t.Error(got)
		}
		if tree.Run != 2 || !h.ofRun(tree.ID).Workspace.Gone {
			t.Errorf("after run %d the folder is still there: %v", tree.Run, f.notes)
		}
		h.checkTree()
	})
}

// TestPlaceStopped: a stop while the folder is made ends that, and one while it is closed lets it be kept.
func TestPlaceStopped(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Duration{2500 * time.Millisecond, 7500 * time.Millisecond, 8500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			h, f := newHome(t), newFolders()
			p := h.start(plays{"main": {call("Agent:^Tree"), say("ok")},
				"main/Tree": {call("Read:a"), call("Edit:work"), say("all done")}}.reply, f.with)
			p.begin(troupe.Caps{MaxDepth: 1})
			pass(at)
			p.stop(h.called("Tree").ID, troupe.Stop{Run: 1, Now: true, By: "you"})
			p.end()
			child := h.called("Tree")
			got := fmt.Sprint(f.notes)
			switch {
			case child.Status == troupe.Completed && at < 8*time.Second, child.Status.Live():
				t.Errorf("after %v it is %s", at, child.Status)
			case at < 3*time.Second && (!strings.Contains(got, "open Tree cut short") ||
				!strings.Contains(got, "close Tree done")):
				t.Errorf("after %v: %s", at, got)
			case at > 3*time.Second && !strings.Contains(got, "close Tree done"):
				t.Errorf("after %v: %s", at, got)
			}
			h.checkTree()
		})
	}
}

// TestPlaceKilled: wherever a process dies, the next one does what is left to be done to the folder, and no tool begins
// before it is there.
func TestPlaceKilled(t *testing.T) {
	t.Parallel()
	for at := 500 * time.Millisecond; at < 11*time.Second; at += time.Second / 2 {
		synctest.Test(t, func(t *testing.T) {
			h, f := newHome(t), newFolders()
			model := plays{"main": {call("Agent:^Tree"), say("ok")},
				"main/Tree": {call("Read:a"), call("Edit:work"), say("all done")}}.reply
			p := h.start(model, f.with)
			p.begin(troupe.Caps{MaxDepth: 1})
			pass(at)
			p.pool.Close()
			q := h.adopt(model, false, f.with)
			q.end()
			child := h.called("Tree")
			o := h.ofRun(child.ID)
			if child.Status != troupe.Completed || o.Workspace == nil || !o.Workspace.Gone {
				t.Errorf("killed after %v: %s %+v %v", at, child.Status, o.Workspace, f.notes)
			}
			ready, all := false, h.happened(child.ID)
			for _, k := range all {
				ready = ready || k == "workspace.ready"
				if k == "tool.started" && !ready || k == "tool.finished" && !ready {
					t.Errorf("killed after %v: %v", at, all)
				}
			}
			if n := strings.Count(strings.Join(all, " "), "workspace.ready"); n != 1 {
				t.Errorf("killed after %v: made %d times", at, n)
			}
			h.checkTree()
		})
	}
}

// TestPlaceMovedBase: a folder that began with something else than the log says is not gone on in.
func TestPlaceMovedBase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, f := newHome(t), newFolders()
		model := plays{"main": {call("Agent:^Tree"), say("ok")},
			"main/Tree": {call("Edit:a"), call("Edit:work"), say("all done")}}.reply
		p := h.start(model, f.with)
		p.begin(troupe.Caps{MaxDepth: 1})
		pass(5500 * time.Millisecond)
		p.pool.Close()
		f.base = "another"
		h.adopt(model, false, f.with).end()
		if child := h.called("Tree"); child.Status != troupe.Failed ||
			!strings.Contains(child.Error, "it began with commit base of Tree, and now with another") {
			t.Errorf("%s: %s", child.Status, child.Error)
		}
		h.checkTree()
	})
}

// TestPlaceOfChildAttended: in a conversation, too, the folder of an agent that the main agent started is closed.
func TestPlaceOfChildAttended(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, f := newHome(t), newFolders()
		p := h.start(plays{"main": {call("Agent:^Tree"), say("ok")},
			"main/Tree": {call("Edit:work"), say("done")}}.reply, f.with)
		p.settings.Attended = true
		p.begin(troupe.Caps{MaxDepth: 1}).end()
		if got := fmt.Sprint(f.notes); !strings.Contains(got, "close Tree done") {
			t.Error(got)
		}
		h.checkTree()
	})
}

// TestPlaceWanted: words that come while the folder is closed have the run go on, in the folder as it was.
func TestPlaceWanted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, f := newHome(t), newFolders()
		p := h.start(plays{"main": {call("Agent:^Tree"), say("ok")},
			"main/Tree": {call("Edit:work"), say("all done"), call("Edit:more"), say("more done")}}.reply, f.with)
		p.begin(troupe.Caps{MaxDepth: 1})
		pass(6500 * time.Millisecond)
		p.send(prompt(h.called("Tree").ID, "and more"))
		p.end()
		child := h.called("Tree")
		if child.Result != "more done" || child.Run != 1 {
			t.Errorf("run %d: %s", child.Run, child.Result)
		}
		got := fmt.Sprint(f.notes)
		if strings.Count(got, "open Tree done") != 2 || strings.Count(got, "close Tree done") != 2 {
			t.Error(got)
		}
		h.checkTree()
	})
}

// TestPlaceWantedForWords: so it is when the run goes on without a call: what it ends with is what is closed then.
func TestPlaceWantedForWords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, f := newHome(t), newFolders()
		p := h.start(plays{"main": {call("Agent:^Tree"), say("ok")},
			"main/Tree": {call("Edit:work"), say("all done"), say("nothing more")}}.reply, f.with)
		p.begin(troupe.Caps{MaxDepth: 1})
		pass(6500 * time.Millisecond)
		p.send(prompt(h.called("Tree").ID, "is that all?"))
		p.end()
		if child := h.called("Tree"); child.Result != "nothing more" || child.Run != 1 {
			t.Errorf("run %d: %s", child.Run, child.Result)
		}
		if last := f.notes[len(f.notes)-1]; !strings.HasSuffix(last, "close Tree done") {
			t.Errorf("what was opened stays: %v", f.notes)
		}
		h.checkTree()
	})
}

// withTrees gives the main agent the tools that take it into a worktree and back.
func (f *folders) withTrees(p *process) {
	p.deps = func(d *session.Deps) {
		d.Workspaces = f
		of := func(name string, in troupe.Intent) tool.Descriptor {
			return tool.Descriptor{ToolFacts: troupe.ToolFacts{Name: name, Holder: troupe.MainAgent},
				Intent: func(string) (troupe.Intent, error) { return in, nil }}
		}
		var all []tool.Descriptor
		for _, f := range d.Tools.Facts() {
			t, _ := d.Tools.Known(f.Name)
			all = append(all, t)
		}
		d.Tools = tool.NewSet(append(all, of("In", troupe.EnterWorktree{Name: "mine"}),
			of("Out", troupe.ExitWorktree{}))...)
	}
}

func inTrees(b *fleet.Birth) { b.Profile.Tools = append(b.Profile.Tools, "In", "Out") }

// TestEnterAndExit: a main agent goes into a worktree and back, its tools act where it is, and those born meanwhile
// stay where they were born; nothing is lost where the folder cannot be closed.
func TestEnterAndExit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, f := newHome(t), newFolders()
		p := h.start(plays{"main": {call("In:"), call("Edit:a", "Agent:Kid"), call("In:"), call("Out:"), call("Out:"),
			call("Read:b"), say("ok")}}.reply, f.withTrees)
		p.beginAs(troupe.Caps{MaxDepth: 1}, inTrees).end()
		root, kid := h.get(h.root), h.called("Kid")
		if root.Dir() != "/ws" || root.Workspace.Kind != "" || kid.Dir() != "/trees/mine" {
			t.Errorf("%s %s", root.Dir(), kid.Dir())
		}
		if got := strings.Join(h.happened(h.root), "; "); !strings.Contains(got, "workspace.changed; tool.finished; "+
			"workspace.ready; tool.started") || strings.Count(got, "workspace.changed") != 2 {
			t.Error(got)
		}
		if got := fmt.Sprint(f.notes); strings.Count(got, "close mine done") != 1 {
			t.Error(got)
		}
		last := p.llm.of(h.root)
		for _, want := range []string{"already", "You are back in /ws", "You are in no worktree"} {
			if !strings.Contains(string(body(last[len(last)-1])), want) {
				t.Errorf("the agent is not told %q", want)
			}
		}
		h.checkTree()
	})
	synctest.Test(t, func(t *testing.T) {
		h, f := newHome(t), newFolders()
		f.fails["close"] = errors.New("the disk is full")
		p := h.start(plays{"main": {call("In:"), call("Edit:a"), call("Out:"), say("ok")}}.reply, f.withTrees)
		p.settings.Attended = true
		p.beginAs(troupe.Caps{}, inTrees).end()
		if s := h.get(h.root); s.Dir() != "/trees/mine" {
			t.Errorf("what could not be kept was left: %s", s.Dir())
		}
	})
}

// TestPlaceOfAttended: in a conversation the end of a run saves the folder of the main agent and leaves it; where
// nobody is, it is closed.
func TestPlaceOfAttended(t *testing.T) {
	t.Parallel()
	for attended, want := range map[bool]string{true: "save mine all", false: "close mine"} {
		synctest.Test(t, func(t *testing.T) {
			h, f := newHome(t), newFolders()
			p := h.start(plays{"main": {call("In:"), call("Edit:a"), say("ok")}}.reply, f.withTrees)
			p.settings.Attended = attended
			p.beginAs(troupe.Caps{}, inTrees).end()
			if got := fmt.Sprint(f.notes); !strings.Contains(got, want) || attended == strings.Contains(got, "close") {
				t.Errorf("attended %v: %s", attended, got)
			}
			if o := h.ofRun(h.root); attended != (o.Workspace == nil) {
				t.Errorf("attended %v: %+v", attended, o.Workspace)
			}
			h.checkTree()
		})
	}
}

// TestPlaceOfCommand: a command in the background does not keep a run of the main agent from its end, and goes on: in a
// conversation all is saved once then, and where nobody is the folder is closed and stays.
func TestPlaceOfCommand(t *testing.T) {
	t.Parallel()
	for attended, want := range map[bool]string{true: "save mine all", // beside the reply, and at the end
		false: "close mine stays: commands still run in it"} {
		synctest.Test(t, func(t *testing.T) {
			h, f := newHome(t), newFolders()
			p := h.start(plays{"main": {call("In:"), call("Bash:cat -"), say("ok"), say("it has ended")}}.reply,
				func(p *process) {
					f.withTrees(p)
					trees := p.deps
					p.deps = func(d *session.Deps) {
						d.Tools = tools().Map(func(d tool.Descriptor) tool.Descriptor {
							if d.Name == "Bash" {
								d.Runner = listens{}
							}
							return d
						})
						trees(d)
					}
				})
			p.settings.Attended = attended
			p.beginAs(troupe.Caps{}, inTrees)
			pass(time.Minute)
			if s := h.get(h.root); s.Status != troupe.Completed || s.Result != "ok" {
				t.Errorf("after a minute it is %s: %q", s.Status, s.Result)
			}
			n := 1
			if attended {
				n = 2
			}
			if got := fmt.Sprint(f.notes); strings.Count(got, want) != n {
				t.Error(got)
			}
			p.pool.Close()
		})
	}
}

// listens is a command in the background that reads until it is stopped.
type listens struct{}

func (listens) Prepare(tool.Env, string) (tool.Prepared, error) { return listens{}, nil }
func (listens) Access() troupe.Access {
	return troupe.Access{Class: troupe.ClassExec, Command: "cat -"}
}
func (listens) Background() (string, bool) { return "cat -", true }
func (listens) Run(ctx context.Context, _ tool.Env) (tool.Output, error) {
	<-ctx.Done()
	return tool.Output{}, ctx.Err()
}

// TestPlaceBorrowed: a folder that another agent's borrows from stays as long as that agent works; who is born there
// waits until it is there.
func TestPlaceBorrowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, f := newHome(t), newFolders()
		p := h.start(plays{"main": {call("In:"), call("Agent:&^Kid"), call("Out:"), say("ok")},
			"main/Kid": {call("Edit:a"), call("Edit:b"), call("Edit:c"), say("done")}}.reply, f.withTrees)
		p.settings.Attended = true
		p.beginAs(troupe.Caps{MaxDepth: 1}, inTrees).end()
		kid, got := h.called("Kid"), strings.Join(f.notes, "\n")
		if kid.Workspace.Of != "/trees/mine" && kid.Workspace.From != "/trees/mine" {
			t.Errorf("%+v", kid.Workspace)
		}
		if !strings.Contains(got, "close mine stays: another agent still works in it, or beside it") ||
			strings.Index(got, "open Kid") < strings.Index(got, "open mine done") {
			t.Error(got)
		}
		h.checkTree()
	})
}

// TestPlaceLost: a folder that cannot be saved is looked for before the next call.
func TestPlaceLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, f := newHome(t), newFolders()
		f.fails["save"] = errors.New("it is not there any more")
		p := h.start(plays{"main": {call("Agent:^Tree"), say("ok")},
			"main/Tree": {call("Edit:a"), call("Edit:b"), say("done")}}.reply, f.with)
		p.begin(troupe.Caps{MaxDepth: 1}).end()
		if got := strings.Join(f.notes, "\n"); strings.Count(got, "open Tree done") < 2 {
			t.Error(got)
		}
		if s := h.called("Tree"); s.Status != troupe.Completed {
			t.Errorf("%s: %s", s.Status, s.Error)
		}
	})
}

func (f *folders) Merge(context.Context, troupe.Session, session.Into) (session.Merge, error) {
	return session.Merge{}, errors.ErrUnsupported
}

// TestPlaceMade: nothing is unknown in a folder that was just made, so that its first checkpoint is of what was
// changed.
// One that was found, as after a kill, is looked at as a whole, and so is one into which hooks may have written.
func TestPlaceMade(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*folders, *process)
		want   string
	}{
		"made":  {func(*folders, *process) {}, " save Tree /trees/Tree/a"},
		"found": {func(f *folders, _ *process) { f.makes = false }, " save Tree all"},
		"of hooks": {func(f *folders, p *process) {
			p.deps = func(d *session.Deps) {
				d.Workspaces, d.Profiles = f, withHooks{inherits{p}, slowAt(troupe.HookWorktreeCreate)}
			}
		}, " save Tree all"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h, f := newHome(t), newFolders()
			f.makes = true
			model := plays{"main": {call("Agent:^Tree"), say("ok")},
				"main/Tree": {call("Edit:writes /trees/Tree/a"), say("all done")}}.reply
			p := h.start(model, f.with, func(p *process) { tt.change(f, p) })
			p.begin(troupe.Caps{MaxDepth: 1})
			p.end()
			saves := slices.DeleteFunc(slices.Clone(f.notes), func(n string) bool {
				return !strings.Contains(n, " save Tree ") || strings.HasSuffix(n, "done") ||
					strings.HasSuffix(n, "short")
			})
			if len(saves) == 0 || !strings.HasSuffix(saves[len(saves)-1], tt.want) {
				t.Errorf("%s: %q\n%s", name, saves, strings.Join(f.notes, "\n"))
			}
		})
	}
}

// TestPlaceSavesFirst: what the calls of a reply have changed is saved before a call of the next one changes anything;
// one that only reads waits for nothing. A process that dies in between leaves that to the next.
func TestPlaceSavesFirst(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h, f := newHome(t), newFolders()
			f.takes["save"] = 5 * time.Second
			model := plays{"main": {call("Agent:^Tree"), say("ok")},
				"main/Tree": {call("Edit:a"), call("Read:b", "Edit:c"), say("all done")}}.reply
			p := h.start(model, f.with)
			p.begin(troupe.Caps{MaxDepth: 1})
			if killed {
				pass(8 * time.Second) // the next reply is there, and the save is not done
				p.pool.Close()
				p = h.adopt(model, false, f.with)
			}
			p.end()
			order, edits := []string{}, 0
			for _, e := range h.events(h.called("Tree").ID) {
				switch e.Body.(type) {
				case troupe.ToolStarted:
					edits++
					order = append(order, fmt.Sprint("edit ", edits))
				case troupe.WorkspaceSaved:
					order = append(order, "saved")
				}
			}
			if got := strings.Join(order, ", "); !strings.HasPrefix(got, "edit 1, saved, edit 2") {
				t.Errorf("killed %v: %s\n%v", killed, got, f.notes)
			}
			h.checkTree()
		})
	}
}

// TestPlaceOfReaders: agents that may only read a folder are in one place, however many there are; those that have one
// of their own are not.
func TestPlaceOfReaders(t *testing.T) {
	at := func(kind troupe.WorkspaceKind, owner troupe.SessionID) session.Place {
		return session.PlaceOf(troupe.Session{Cwd: "/p", Workspace: troupe.Workspace{Kind: kind, Owner: owner,
			Name: string(owner), From: "/p", Of: "/p", Top: "/p", Folder: "/p"}})
	}
	if a, b := at(troupe.WorkspaceReadOnly, "a"), at(troupe.WorkspaceReadOnly, "b"); a != b {
		t.Errorf("%+v and %+v", a, b)
	}
	if a, b := at(troupe.WorkspaceCopy, "a"), at(troupe.WorkspaceCopy, "b"); a == b {
		t.Errorf("both are %+v", a)
	}
}

// TestUnkeptAgain: what a process could not keep at the end of an agent is tried once by each process that follows,
// until one could.
func TestUnkeptAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, f := newHome(t), newFolders()
		script := plays{"main": {call("Agent:^One"), say("ok")}, "main/One": {call("Edit:a"), say("done")}}.reply
		f.fails["close"] = errors.New("the disk is full")
		h.start(script, f.with).begin(troupe.Caps{MaxDepth: 1}).end()
		for i, fails := range []error{errors.New("it is full still"), nil, nil} {
			f.fails["close"] = fails
			q := h.adopt(script, true, f.with)
			pass(time.Minute)
			q.end()
			tries := strings.Count(strings.Join(f.notes, "\n"), "close One done")
			if want := min(i+2, 3); tries != want {
				t.Errorf("process %d: it was tried %d times, and not %d", i+2, tries, want)
			}
			if w := h.ofRun(h.called("One").ID).Workspace; w == nil || (w.Unkept == "") != (fails == nil) {
				t.Errorf("process %d: %+v", i+2, w)
			}
		}
		h.checkTree()
	})
}
