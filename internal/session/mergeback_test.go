package session_test

import (
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
)

// merging are folders whose work can be merged: two files each, of which the caller has some.
type merging struct {
	*folders
	h *home

	mu        sync.Mutex
	has       map[string]bool // by path, in the caller's folder
	twice     []string        // what was written although it was there
	early     []string        // or before the log announced it
	conflicts map[string][]string
	moves     int           // how often a file is found to have changed when it is to be written
	says      bool          // if that is the first one, it is said that nothing was written
	waits     time.Duration // for another merge, before the first one is written
}

func newMerging(h *home) *merging {
	return &merging{folders: newFolders(), h: h, has: make(map[string]bool), conflicts: make(map[string][]string)}
}

func (m *merging) with(p *process) { p.deps = func(d *session.Deps) { d.Workspaces = m } }

func (m *merging) Merge(ctx context.Context, s troupe.Session, _ session.Into) (out session.Merge, err error) {
	name := s.Workspace.Name
	m.note("merge " + name)
	if !passed(ctx, time.Second) {
		return out, ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if out.Conflicts = m.conflicts[name]; out.Conflicts != nil {
		return out, m.fails["merge"]
	}
	for _, n := range []string{"1", "2"} {
		if path := s.Workspace.Of + "/" + name + n; !m.has[path] {
			out.Files = append(out.Files, troupe.FileTouch{Path: path, Wrote: true, New: true, Hash: "h"})
		}
	}
	out.Write = func(ctx context.Context) error { return m.write(ctx, s, out.Files) }
	return out, m.fails["merge"]
}

func (m *merging) write(ctx context.Context, s troupe.Session, files []troupe.FileTouch) error {
	if !passed(ctx, m.waits) {
		return fmt.Errorf("%w: %w", session.ErrUnwritten, ctx.Err())
	}
	ctx = context.WithoutCancel(ctx)
	for i, f := range files {
		if !passed(ctx, time.Second) {
			return ctx.Err()
		}
		m.mu.Lock()
		moved := m.moves > 0
		if moved {
			m.moves--
		} else {
			m.note("write " + f.Path)
			if m.has[f.Path] {
				m.twice = append(m.twice, f.Path)
			}
			if !slices.Contains(m.h.announced(s.ID), f.Path) {
				m.early = append(m.early, f.Path)
			}
			m.has[f.Path] = true
		}
		m.mu.Unlock()
		if moved {
			err := errors.New("it was changed while the merge went on")
			if i == 0 && m.says {
				err = fmt.Errorf("%w: %w", session.ErrUnwritten, err)
			}
			return err
		}
	}
	return nil
}

// passed waits, and reports whether the process is still there.
func passed(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// announced are the files that the log of a session says are about to be written.
func (h *home) announced(id troupe.SessionID) (out []string) {
	for _, e := range h.events(id) {
		if b, ok := e.Body.(troupe.WorkspaceMerged); ok {
			for _, f := range b.Files {
				out = append(out, f.Path)
			}
		}
	}
	return out
}

// begun reports whether something is noted.
func (m *merging) begun(what string) bool {
	m.folders.mu.Lock()
	defer m.folders.mu.Unlock()
	return slices.ContainsFunc(m.notes, func(n string) bool { return strings.HasSuffix(n, what) })
}

func (m *merging) check(t *testing.T) {
	t.Helper()
	if len(m.twice)+len(m.early) > 0 {
		t.Errorf("written twice: %v; before it was announced: %v; %v", m.twice, m.early, m.notes)
	}
}

var works = plays{"main": {call("Agent:^+One", "Agent:^+Two"), say("ok")},
	"main/One": {call("Edit:work"), say("all done")}, "main/Two": {call("Edit:work"), say("all done")}}

// TestMergeBack: the work of agents is merged when they end, one after the other, announced before it is written and
// told with the end.
func TestMergeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		m := newMerging(h)
		p := h.start(works.reply, m.with)
		p.begin(troupe.Caps{MaxDepth: 1}).end()
		var merges []string
		for _, n := range m.notes {
			if strings.Contains(n, "merge") || strings.Contains(n, "write") {
				merges = append(merges, strings.SplitN(n, " ", 2)[1])
			}
		}
		first, second := "One", "Two"
		if merges[0] != "merge One" {
			first, second = second, first
		}
		want := []string{"merge " + first, "write /ws/" + first + "1", "write /ws/" + first + "2", "merge " + second,
			"write /ws/" + second + "1", "write /ws/" + second + "2"}
		if !slices.Equal(merges, want) {
			t.Errorf("it went %v", m.notes)
		}
		for _, name := range []string{"One", "Two"} {
			w := h.ofRun(h.called(name).ID).Workspace
			if w == nil || w.Into != "/ws" || fmt.Sprint(w.Merged) != fmt.Sprintf("[%s1 %s2]", name, name) ||
				w.NotMerged != "" {
				t.Errorf("%s: %+v", name, w)
			}
		}
		last := p.llm.of(h.root)
		if text := string(body(last[len(last)-1])); !strings.Contains(text,
			"it was merged into your folder, uncommitted: One1, One2") {
			t.Error("the parent is not told what was merged")
		}
		m.check(t)
		h.checkTree()
	})
}

// TestMergeBackKilled: wherever a process dies, all of it is merged once, and nothing before the log says so.
func TestMergeBackKilled(t *testing.T) {
	t.Parallel()
	for at := 7 * time.Second; at < 16*time.Second; at += time.Second / 2 {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			m := newMerging(h)
			p := h.start(works.reply, m.with)
			p.begin(troupe.Caps{MaxDepth: 1})
			pass(at)
			p.pool.Close()
			h.adopt(works.reply, false, m.with).end()
			for _, name := range []string{"One", "Two"} {
				w := h.ofRun(h.called(name).ID).Workspace
				if w == nil || w.Into != "/ws" || len(w.Merged) != 2 || !m.has["/ws/"+name+"1"] ||
					!m.has["/ws/"+name+"2"] {
					t.Errorf("killed after %v: %s: %+v, %v", at, name, w, m.notes)
				}
			}
			m.check(t)
			h.checkTree()
		})
	}
}

// TestMergeBackNot: what may not be written without asking is not merged, nor what conflicts, nor the work of an agent
// that did not come to its end; the result says why.
func TestMergeBackNot(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		mode   troupe.Mode
		judge  session.Judge
		change func(*merging)
		why    string
		merged int
		tells  string // to the parent
	}{
		"asked": {mode: troupe.ModeDefault, why: "no rule allows it", tells: "MergeWorktree puts it before a person"},
		"plans": {mode: troupe.ModePlan, why: "mode plan"},
		"conflicts": {change: func(m *merging) { m.conflicts["One"] = []string{"a.go"} },
			why: "it conflicts", tells: "changed the same places in: a.go"},
		"fails":    {change: func(m *merging) { m.fails["merge"] = errors.New("git is gone") }, why: "git is gone"},
		"moves":    {change: func(m *merging) { m.moves = 2 }, merged: 2},
		"for ever": {change: func(m *merging) { m.moves = 9 }, why: "it was changed while", merged: 2},
		"nothing is": {change: func(m *merging) { m.moves, m.says = 9, true },
			why:   "nothing was written: it was changed while",
			tells: "it was not merged, though merge was auto: nothing"},
		"something": {change: func(m *merging) { m.moves, m.says = 1, true }, merged: 2},
		"is judged": {judge: nods{}, why: "hooks are asked"},
	}
	for name, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			m := newMerging(h)
			one := plays{"main": {call("Agent:^+One"), say("ok")}, "main/One": {call("Read:a"), say("all done")}}
			if tt.change != nil {
				tt.change(m)
			}
			p := h.start(one.reply, func(p *process) {
				p.deps = func(d *session.Deps) { d.Workspaces, d.Judge = m, tt.judge }
			})
			p.beginAs(troupe.Caps{MaxDepth: 1}, func(b *fleet.Birth) {
				if tt.mode != "" {
					b.Profile.Mode, b.Authority.Mode = tt.mode, tt.mode
				}
			}).end()
			w := h.ofRun(h.called("One").ID).Workspace
			if w == nil || !strings.Contains(w.NotMerged, tt.why) || tt.why == "" && w.NotMerged != "" ||
				len(w.Merged) != tt.merged {
				t.Errorf("%s: %+v", name, w)
			}
			if tt.why != "" && tt.merged == 0 && len(m.has) > 0 {
				t.Errorf("%s: it wrote %v", name, m.has)
			}
			last := p.llm.of(h.root)
			if text := string(body(last[len(last)-1])); !strings.Contains(text, tt.tells) {
				t.Errorf("%s: the parent is not told %q", name, tt.tells)
			}
			m.check(t)
			h.checkTree()
		})
	}
}

// TestMergeBackStopped: a run that is stopped while its merge is worked out, or waits for another one, ends when its
// folder is looked at once more, and has merged nothing; what was begun to be written is finished.
func TestMergeBackStopped(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		waits  time.Duration
		at     time.Duration // behind the beginning of the merge
		ends   time.Duration // behind the stop
		merged int
	}{
		"worked out": {at: time.Second / 2, ends: time.Second},
		"waits":      {waits: time.Minute, at: 5 * time.Second, ends: time.Second},
		"written":    {at: 1500 * time.Millisecond, ends: 4 * time.Second, merged: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHome(t)
				m := newMerging(h)
				m.waits = tt.waits
				p := h.start(plays{"main": {call("Agent:^+One"), say("ok")},
					"main/One": {call("Edit:work"), say("all done")}}.reply, m.with)
				p.begin(troupe.Caps{MaxDepth: 1})
				for !m.begun("merge One") {
					pass(time.Second / 10)
				}
				pass(tt.at)
				id := h.called("One").ID
				p.stop(id, troupe.Stop{Run: 1, Now: true, By: "you"})
				pass(tt.ends + time.Second/2)
				if s := h.called("One"); s.Status.Live() {
					t.Errorf("it is %s: %v", s.Status, m.notes)
				}
				p.end()
				w := h.ofRun(id).Workspace
				why := "the agent did not come to its end (cancelled)"
				if tt.merged > 0 {
					why = ""
				}
				if w == nil || len(w.Merged) != tt.merged || len(m.has) != tt.merged ||
					!strings.Contains(w.NotMerged, why) || why == "" && w.NotMerged != "" {
					t.Errorf("%+v; wrote %v", w, m.has)
				}
				m.check(t)
				h.checkTree()
			})
		})
	}
}

// nods has nothing to say about any call.
type nods struct{}

func (nods) Judge(context.Context, session.Judging) (troupe.Judgement, error) {
	return troupe.Judgement{By: "a hook"}, nil
}

// TestMergeBackJudgedAnew: what its parent may no longer do when the merge is about to be written is not done.
func TestMergeBackJudgedAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		m := newMerging(h)
		var once sync.Once
		one := plays{"main": {call("Agent:^+One"), say("ok")}, "main/One": {call("Edit:work"), say("all done")}}
		p := h.start(one.reply, func(p *process) {
			p.deps = func(d *session.Deps) {
				d.Workspaces = m
				d.Guard = watchful{confines{new([]session.Confine)}, func(path string) {
					if path == "/ws/One1" {
						once.Do(func() {
							p.send(troupe.Mail{To: h.root, Kind: troupe.MailGrant,
								Rule: &troupe.Rule{Effect: troupe.Deny, Text: "MergeWorktree"}})
							pass(time.Minute)
						})
					}
				}}
			}
		})
		p.begin(troupe.Caps{MaxDepth: 1}).end()
		w := h.ofRun(h.called("One").ID).Workspace
		if w == nil || w.Into != "" || !strings.Contains(w.NotMerged, "MergeWorktree") || len(m.has) > 0 {
			t.Errorf("%+v, written: %v", w, m.has)
		}
		m.check(t)
		h.checkTree()
	})
}

// watchful is a machine that does something whenever it is asked whether a path is hidden.
type watchful struct {
	confines
	do func(path string)
}

func (a watchful) Hidden(session.Place) session.Hidden {
	return session.Hidden{Path: func(path string) (string, bool) {
		a.do(path)
		return "", false
	}}
}
