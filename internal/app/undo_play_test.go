package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/files"
)

// failer is what testing.T and rapid.T share.
type failer interface {
	Helper()
	Context() context.Context
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// play is one tree whose log is written by the test, event by event, while real tools work
// on real files.
type play struct {
	t     failer
	a     *App
	dir   string
	root  troupe.SessionID
	now   *time.Time
	tools map[string]tool.Runner
	cast  map[troupe.SessionID]*role
}

// role is one session of it.
type role struct {
	s     troupe.Session
	reply int
	call  int
	seen  map[string]string
}

const playOwner = troupe.OwnerID("0wner0000000")

// playHouse is a home with a clock that only the test moves.
func playHouse(t *testing.T, home string) (*App, *time.Time) {
	t.Helper()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	a, err := Open(t.Context(), Env{
		Lookup: func(name string) (string, bool) { return home, name == "TROUPE_HOME" },
		Now:    func() time.Time { now = now.Add(time.Second); return now },
		Log:    slog.New(slog.DiscardHandler), Version: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a, &now
}

func newPlay(t failer, a *App, now *time.Time, dir string) *play {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &play{t: t, a: a, dir: dir, now: now, tools: map[string]tool.Runner{}, cast: map[troupe.SessionID]*role{}}
	for _, r := range files.New(files.Options{}) {
		p.tools[r.Spec().Name] = r
	}
	return p
}

func onePlay(t *testing.T) *play {
	t.Helper()
	a, now := playHouse(t, t.TempDir())
	p := newPlay(t, a, now, t.TempDir())
	p.begin("r00t00000000", "go")
	return p
}

func (p *play) update(fn func(store.Tx) error) {
	p.t.Helper()
	if err := p.a.trees.store.Update(p.t.Context(), p.root, fn); err != nil {
		p.t.Fatal(err)
	}
}

func (p *play) begin(id troupe.SessionID, prompt string) {
	p.t.Helper()
	p.root = id
	p.insert(troupe.Session{ID: id, Root: id, Cwd: p.dir, Status: troupe.Running, Run: 1}, &troupe.Caps{})
	p.say(id, prompt)
}

func (p *play) insert(s troupe.Session, caps *troupe.Caps) {
	p.t.Helper()
	s.CreatedAt, s.StartedAt, s.Model, s.Type = p.a.env.Now(), p.a.env.Now(), "script/x", "main"
	p.update(func(tx store.Tx) error { return tx.Insert(s, troupe.Lease{Owner: playOwner, Epoch: 1}, caps) })
	p.cast[s.ID] = &role{s: s, seen: map[string]string{}}
	p.log(s.ID, troupe.Created{Parent: s.Parent, Coord: s.Coord, Cwd: s.Cwd, Caps: caps})
}

// child is born from a call that the parent has just made.
func (p *play) child(parent troupe.SessionID, name string, background bool) troupe.SessionID {
	p.t.Helper()
	up := p.cast[parent]
	at := troupe.Coord{Reply: up.reply, Call: up.call}
	up.call++
	id := troupe.ChildID(parent, at)
	p.insert(troupe.Session{ID: id, Root: p.root, Parent: parent, Coord: at, Name: name, Depth: up.s.Depth + 1,
		Cwd: p.dir, Status: troupe.Running, Run: 1}, nil)
	p.log(parent, troupe.ToolStarted{Reply: at.Reply, Call: at.Call, Name: "Agent", Child: id})
	if background {
		p.log(parent, troupe.ToolFinished{
			Name: "Agent", Result: troupe.Result{Reply: at.Reply, Call: at.Call},
			Task: &troupe.Task{ID: troupe.TaskID(id), Kind: troupe.TaskAgent, Background: true},
		})
	}
	p.turn(id)
	return id
}

func (p *play) log(id troupe.SessionID, bodies ...troupe.Body) {
	p.t.Helper()
	s := &p.cast[id].s
	var events []troupe.Event
	for _, b := range bodies {
		s.Seq++
		events = append(events, troupe.Event{Root: p.root, Session: id, Seq: s.Seq, At: p.a.env.Now(), Body: b})
	}
	p.update(func(tx store.Tx) error { return tx.Append(troupe.Lease{Owner: playOwner, Epoch: 1}, *s, events) })
}

func (p *play) say(id troupe.SessionID, text string) {
	p.t.Helper()
	p.log(id, troupe.MailDelivered{Mail: []troupe.Mail{{Kind: troupe.MailPrompt,
		Blocks: []troupe.Block{troupe.Text(text)}}}})
}

// turn begins the next reply, with more calls than will be made.
func (p *play) turn(id troupe.SessionID) {
	p.t.Helper()
	ac := p.cast[id]
	ac.reply++
	ac.call = 0
	r := troupe.Replied{Reply: ac.reply}
	for i := range 4 {
		r.Blocks = append(r.Blocks, troupe.Block{Type: troupe.CallBlock, Call: &troupe.Call{
			Reply: ac.reply, Index: i, Name: "Bash", Input: fmt.Sprintf(`{"command":"command %d of %d"}`, i, ac.reply),
		}})
	}
	p.log(id, r)
}

// use runs a tool as the session's driver does, and logs it.
func (p *play) use(id troupe.SessionID, name string, input map[string]any) tool.Output {
	p.t.Helper()
	ac := p.cast[id]
	env := tool.Env{
		Cwd: p.dir, Keep: p.a.contents(p.root).Put,
		Seen: func(path string) (string, bool) { h, ok := ac.seen[path]; return h, ok },
	}
	in, err := json.Marshal(input)
	if err != nil {
		p.t.Fatal(err)
	}
	call, err := p.tools[name].Prepare(env, string(in))
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := call.Run(p.t.Context(), env)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, f := range out.Evidence.Files {
		ac.seen[f.Path] = f.Hash
	}
	p.finished(id, name, out, nil)
	return out
}

func (p *play) finished(id troupe.SessionID, name string, out tool.Output, task *troupe.Task) {
	p.t.Helper()
	ac := p.cast[id]
	p.log(id, troupe.ToolStarted{Reply: ac.reply, Call: ac.call, Name: name}, troupe.ToolFinished{
		Name: name, Result: troupe.Result{Reply: ac.reply, Call: ac.call, IsError: out.IsError}, Evidence: out.Evidence,
		Task: task,
	})
	ac.call++
}

// write reads a file that is there, so that it may be written, and writes it.
func (p *play) write(id troupe.SessionID, name, content string) {
	p.t.Helper()
	if _, err := os.Lstat(p.path(name)); err == nil {
		p.use(id, "Read", map[string]any{"file_path": name})
	}
	if out := p.use(id, "Write", map[string]any{"file_path": name, "content": content}); out.IsError {
		p.t.Fatalf("write %s: %s", name, troupe.JoinText(out.Blocks))
	}
}

func (p *play) bash(id troupe.SessionID, command string) {
	p.t.Helper()
	p.finished(id, "Bash", tool.Output{Evidence: troupe.Evidence{Commands: []troupe.CommandRun{{Command: command}}}},
		nil)
}

func (p *play) path(name string) string { return filepath.Join(p.dir, name) }

func (p *play) put(name, content string) {
	p.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(p.path(name)), 0o755),
		os.WriteFile(p.path(name), []byte(content), 0o644)); err != nil {
		p.t.Fatal(err)
	}
}

// disk is every file of the folder.
func (p *play) disk() map[string]string {
	p.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(p.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(p.dir, path)
		out[name] = string(b)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

func (p *play) want(what string, want map[string]string) {
	p.t.Helper()
	if d := cmp.Diff(want, p.disk()); d != "" {
		p.t.Errorf("%s: the folder is not as it should be:\n%s", what, d)
	}
}

func (p *play) plan(turn int) Undo {
	p.t.Helper()
	u, err := p.undo().planUndo(p.t.Context(), p.root, turn)
	if err != nil {
		p.t.Fatal(err)
	}
	return u
}

func (p *play) apply(u Undo, force bool) undoReport {
	p.t.Helper()
	r, err := p.undo().applyUndo(p.t.Context(), u, force)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

func (p *play) redo() Undo {
	p.t.Helper()
	u, err := p.undo().planRedo(p.t.Context(), p.root)
	if err != nil {
		p.t.Fatal(err)
	}
	return u
}

// undo is the noun for the person of the home.
func (p *play) undo() undoing { return undoing{bound{p.a, troupe.You(troupe.SurfaceCommand)}} }
