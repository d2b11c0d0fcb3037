package apitest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// asksFirst writes a file, which it has to ask for, and then says something for as long as it is asked.
const asksFirst = `
replies:
  - agent: main
    turn: 1
    text: I will write it.
    calls: [{tool: Write, input: {file_path: b.txt, content: "x\n"}}]
  - agent: main
    text: done
`

// hasChild waits for an agent that never comes to an end by itself.
const hasChild = `
replies:
  - agent: main
    turn: 1
    calls: [{tool: Agent, input: {description: look, prompt: look, subagent_type: Explore}}]
  - agent: Explore
    delay: 10h
    text: late
  - agent: main
    text: done
`

// live is a play of Live.
type live struct {
	t      *testing.T
	a      api.API
	dir    string
	caller troupe.Caller
	wrote  []string // verbs that write, as far as they were played
}

// Live plays trees of agents through an api, with a script in the place of a model: everything that
// can be asked for, in the order in which people do. The api begins its trees in the home of an app
// and must reach them. caller is who must stand on every event that a verb causes.
func Live(t *testing.T, a api.API, caller troupe.Caller) {
	t.Helper()
	l := &live{t: t, a: a, dir: real(t), caller: caller}
	l.write("asks.yaml", asksFirst)
	l.write("child.yaml", hasChild)
	l.write(".claude/settings.json", `{"permissions": {"allow": ["Bash(make)"]}}`)
	l.trust()
	root, late := l.asks()
	l.undo(root)
	l.goesOn(root)
	l.whole(root, late)
	l.sleep(root)
	l.leave(root)
	l.archive(root)
	l.child()
	l.fork()
	l.carriesOut()
	l.machine()
	// What writes was played, or it leaves no event: a new verb has to be put into one of the lists.
	looks := []string{
		"Me", "Tokens", "Users", "Agent", "Agents", "Context", "Cost", "Doctor", "Events", "Explain", "Find", "Follow",
		"Hooks", "List", "Model",
		"Models",
		"Memories", "Plans", "PlanUndo", "Plugins", "Report",
		"Request", "Requests",
		"Rules", "Servers", "Skills", "StatusLine", "Tasks", "Team", "Tree", "Turns", "Untrusted", "Wait", "Workflows",
		"DiffWorktree", "Worktrees", "Schedule", "Schedules", "Webhook", "Webhooks", "Target", "Targets",
		"StoredAgent", "StoredAgents",
	}
	// Nothing of these is in a log, or the log is gone.
	silent := []string{"Leave", "Login", "MergeWorktree", "PruneWorktrees", "PushWorktree", "Remove", "SetMemory",
		"SetPlugin",
		"SetServer", "SetUser", "Revoke", "Trust", "Acts", "Hosted", "Drain", "Pause",
		"SetSchedule", "RemoveSchedule", "RunSchedule", "PauseSchedule", "SetWebhook", "RemoveWebhook", "PauseWebhook",
		"SetTarget", "RemoveTarget", "TestTarget", "ReplayTarget",
		"SetStoredAgent", "RemoveStoredAgent"}
	for _, name := range verbs() {
		if !slices.Contains(slices.Concat(looks, silent, l.wrote), name) {
			t.Errorf("it is not known whether %s puts its caller on what it causes", name)
		}
	}
}

// real is a folder by its real name.
func real(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (l *live) write(name, text string) {
	l.t.Helper()
	name = filepath.Join(l.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		l.t.Fatal(err)
	}
}

// ok ends the play if something failed.
func (l *live) ok(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// fails wants an error for people that is of a kind; nil is any.
func (l *live) fails(what string, err, kind error) {
	l.t.Helper()
	var user *troupe.UserError
	if !errors.As(err, &user) || user.Hint == "" || kind != nil && !errors.Is(err, kind) {
		l.t.Errorf("%s: %v", what, err)
	}
}

func (l *live) events(id troupe.SessionID) []troupe.Event {
	l.t.Helper()
	events, err := l.a.Events(l.t.Context(), id, 0, 0)
	l.ok(err)
	return events
}

// caused wants an event of a session, behind a number, that a verb has caused, with the caller on it.
func (l *live) caused(verb string, id troupe.SessionID, after int64, pick func(troupe.Body) (*troupe.Caller, bool)) {
	l.t.Helper()
	l.wrote = append(l.wrote, verb)
	for _, e := range l.events(id) {
		if e.Seq <= after {
			continue
		}
		if c, ok := pick(e.Body); ok {
			if c == nil || !reflect.DeepEqual(*c, l.caller) {
				l.t.Errorf("%s: event %d (%s) is caused by %+v, want %+v", verb, e.Seq, e.Body.Kind(), c, l.caller)
			}
			return
		}
	}
	l.t.Errorf("%s has caused no such event", verb)
}

func mailOf(kind troupe.MailKind) func(troupe.Body) (*troupe.Caller, bool) {
	return func(b troupe.Body) (*troupe.Caller, bool) {
		d, _ := b.(troupe.MailDelivered)
		for _, m := range d.Mail {
			if m.Kind == kind && m.From == "" {
				return m.Caller, true
			}
		}
		return nil, false
	}
}

func started(b troupe.Body) (*troupe.Caller, bool) {
	s, ok := b.(troupe.Started)
	return s.Caller, ok
}

func authority(b troupe.Body) (*troupe.Caller, bool) {
	s, ok := b.(troupe.AuthorityChanged)
	return s.Caller, ok
}

// seq is the number of a session's last event.
func (l *live) seq(id troupe.SessionID) int64 { return int64(len(l.events(id))) }

// until reads a stream until a look says that it is enough.
func (l *live) until(s api.Stream, done func() bool) {
	l.t.Helper()
	for !done() {
		_, err := s.Next(l.t.Context())
		l.ok(err)
	}
}

func (l *live) trust() {
	l.t.Helper()
	ctx := l.t.Context()
	list, err := l.a.Untrusted(ctx, l.dir)
	l.ok(err)
	if len(list) != 1 || list[0].Folder != l.dir || len(list[0].Lines) == 0 {
		l.t.Fatalf("not trusted is %+v", list)
	}
	u := list[0]
	l.fails("trust of something else", l.a.Trust(ctx, wire.Trust{Cwd: l.dir, Folder: u.Folder, Hash: "other"}),
		troupe.ErrNotFound)
	l.ok(l.a.Trust(ctx, wire.Trust{Cwd: l.dir, Folder: u.Folder, Hash: u.Hash}))
	if list, err := l.a.Untrusted(ctx, l.dir); err != nil || len(list) > 0 {
		l.t.Errorf("not trusted is still %+v, %v", list, err)
	}
}

// asks begins a tree that asks before it writes, and allows it. The stream that it returns was begun
// with the tree, and was never read.
func (l *live) asks() (troupe.SessionID, api.Stream) {
	l.t.Helper()
	ctx, a := l.t.Context(), l.a
	_, err := a.Begin(ctx, wire.Begin{Prompt: "go", Cwd: l.dir, Model: "script:asks.yaml",
		Permissions: wire.Permissions{Mode: "reckless"}})
	l.fails("a mode that is none", err, nil)
	b, err := a.Begin(ctx, wire.Begin{Prompt: "go", Cwd: l.dir, Name: "job", Model: "script:asks.yaml",
		AskMS: 3_600_000})
	l.ok(err)
	late, err := a.Follow(ctx, wire.Follow{Root: b.Root})
	l.ok(err)
	s, err := a.Follow(ctx, wire.Follow{Root: b.Root, From: b.After, Deltas: true})
	l.ok(err)
	defer s.Close()
	var open []wire.Request
	l.until(s, func() bool {
		open, err = a.Requests(ctx, b.Root)
		l.ok(err)
		return len(open) > 0
	})
	if r, err := a.Request(ctx, ""); err != nil || !reflect.DeepEqual(r, open[0]) || r.Root != b.Root ||
		r.Tool != "Write" {
		l.t.Errorf("the request is %+v, %v; want %+v", r, err, open[0])
	}
	if t, err := a.Tree(ctx, b.Root); err != nil || !t.Running || t.Owner.PID != os.Getpid() || t.Root() != b.Root {
		l.t.Errorf("the tree is %+v, %v", t, err)
	}
	for _, ref := range []string{"job", string(b.Root)} {
		if f, err := a.Find(ctx, ref, l.dir); err != nil || f.ID != b.Root || !f.Running || f.Path != "job" {
			l.t.Errorf("%s is %+v, %v", ref, f, err)
		}
	}
	l.fails("a request that is none", a.Answer(ctx, "zzz", wire.Answer{Allow: true}), troupe.ErrNotFound)
	l.ok(a.Answer(ctx, open[0].ID[:len(open[0].ID)-1], wire.Answer{Allow: true, Session: true}))
	l.ok(a.Wait(ctx, b.Root))
	l.fails("an answer that comes late", a.Answer(ctx, open[0].ID, wire.Answer{}), troupe.ErrNotFound)
	if r, err := a.Report(ctx, b.Root); err != nil || r.Status != troupe.Completed || r.Result != "done" ||
		len(r.Agents) != 1 {
		l.t.Errorf("it came to %+v, %v", r, err)
	}
	if list, err := a.List(ctx, wire.Listing{Cwd: l.dir, Limit: 1}); err != nil || len(list) != 1 ||
		list[0].ID != b.Root || list[0].Tree == nil {
		l.t.Errorf("listed are %+v, %v", list, err)
	}
	before := len(l.events(b.Root))
	for range 2 {
		if _, err := a.Send(ctx, b.Root, wire.Message{Text: "once more", Spoken: wire.Spoken{Once: "k"}}); err != nil {
			l.t.Errorf("words with a key: %v", err)
		}
		l.ok(a.Wait(ctx, b.Root))
	}
	heard := 0
	for _, e := range l.events(b.Root)[before:] {
		if d, ok := e.Body.(troupe.MailDelivered); ok {
			heard += len(d.Mail)
		}
	}
	if heard != 1 {
		l.t.Errorf("what was said twice with one key was heard %d times", heard)
	}
	for _, x := range []struct {
		what string
		l    wire.Listing
		want int
	}{
		{"its name", wire.Listing{Text: "JOB", Status: troupe.Completed}, 1},
		{"another text", wire.Listing{Text: "jobless"}, 0},
		{"another status", wire.Listing{Text: "job", Status: troupe.Failed}, 0},
		{"another person", wire.Listing{Text: "job", By: "none of them"}, 0},
		{"behind it", wire.Listing{Text: "job", After: b.Root}, 0},
		{"below it", wire.Listing{Parent: b.Root}, 0},
	} {
		x.l.Cwd = l.dir
		if list, err := a.List(ctx, x.l); err != nil || len(list) != x.want {
			l.t.Errorf("%s: listed are %+v, %v", x.what, list, err)
		}
	}
	_, err = a.List(ctx, wire.Listing{After: "none"})
	l.fails("a page behind none", err, troupe.ErrNotFound)
	_, err = a.List(ctx, wire.Listing{Parent: "none"})
	l.fails("the sub-agents of none", err, troupe.ErrNotFound)
	var user *troupe.UserError
	_, err = a.List(ctx, wire.Listing{Status: "busy"})
	if !errors.As(err, &user) || user.Code != troupe.ExitUsage || !strings.Contains(user.Hint, "max_turns") {
		l.t.Errorf("an unknown status: %v", err)
	}
	if c, err := a.Cost(ctx, b.Root); err != nil || len(c.Agents) != 1 {
		l.t.Errorf("it cost %+v, %v", c, err)
	}
	if c, err := a.Context(ctx, b.Root); err != nil || c.Session.ID != b.Root || c.Bytes == 0 || len(c.Parts) < 3 {
		l.t.Errorf("its context is %+v, %v", c, err)
	}
	l.caused("Begin", b.Root, 0, func(b troupe.Body) (*troupe.Caller, bool) {
		c, ok := b.(troupe.Created)
		return c.Caller, ok
	})
	l.caused("Begin", b.Root, 0, mailOf(troupe.MailPrompt))
	l.caused("Begin", b.Root, 0, started)
	l.caused("Answer", b.Root, 0, authority)
	l.caused("Answer", b.Root, 0, func(b troupe.Body) (*troupe.Caller, bool) {
		r, ok := b.(troupe.RequestAnswered)
		return r.Caller, ok
	})
	return b.Root, late
}

// undo puts back what was written, once.
func (l *live) undo(root troupe.SessionID) {
	l.t.Helper()
	ctx, name := l.t.Context(), filepath.Join(l.dir, "b.txt")
	turns, err := l.a.Turns(ctx, root)
	if err != nil || len(turns) < 1 || len(turns[0].Files) != 1 || turns[0].Files[0].Path != name {
		l.t.Fatalf("the turns are %+v, %v", turns, err)
	}
	p, err := l.a.PlanUndo(ctx, root, wire.UndoOrder{})
	if err != nil || len(p.Files) != 1 || p.Files[0].Action != wire.UndoRemove || p.Applied || p.Turn != 1 {
		l.t.Fatalf("planned is %+v, %v", p, err)
	}
	_, err = l.a.Undo(ctx, root, wire.UndoOrder{Plan: "another"})
	l.fails("an undo that was not shown", err, troupe.ErrFenced)
	l.write("b.txt", "changed\n")
	_, err = l.a.Undo(ctx, root, wire.UndoOrder{Plan: p.Plan, Force: true})
	l.fails("an undo that would be another one by now", err, troupe.ErrFenced)
	l.write("b.txt", "x\n")
	u, err := l.a.Undo(ctx, root, wire.UndoOrder{Plan: p.Plan})
	if err != nil || !u.Applied || len(u.Files) != 1 || u.TakeBack == "" {
		l.t.Errorf("undone is %+v, %v", u, err)
	}
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		l.t.Errorf("what was undone is there: %v", err)
	}
	_, err = l.a.PlanUndo(ctx, root, wire.UndoOrder{})
	l.fails("nothing to undo", err, nil)
}

// goesOn says more to a tree that is over.
func (l *live) goesOn(root troupe.SessionID) {
	l.t.Helper()
	ctx, a := l.t.Context(), l.a
	_, err := a.Send(ctx, root, wire.Message{})
	l.fails("nothing to send", err, nil)
	_, err = a.Send(ctx, Absent, wire.Message{Text: "x"})
	l.fails("words for no session", err, troupe.ErrNotFound)
	l.fails("a mode that is none", a.SetMode(ctx, root, "reckless"), nil)
	at := l.seq(root)
	l.ok(a.SetMode(ctx, root, troupe.ModePlan))
	if full, err := a.SetModel(ctx, root, "script:child.yaml"); err != nil || full == "" {
		l.t.Errorf("the model is %q, %v", full, err)
	}
	if sent, err := a.Send(ctx, root, wire.Message{Text: "more"}); err != nil || sent.Effect != "resumes" {
		l.t.Errorf("sent is %+v, %v", sent, err)
	}
	l.ok(a.Wait(ctx, root))
	l.caused("Send", root, at, mailOf(troupe.MailPrompt))
	l.caused("Send", root, at, started)
	l.caused("Undo", root, 0, mailOf(troupe.MailNotice))
	l.caused("SetMode", root, at, authority)
	l.caused("SetModel", root, at, func(b troupe.Body) (*troupe.Caller, bool) {
		m, ok := b.(troupe.ModelChanged)
		return m.Caller, ok
	})
	l.ok(a.Compact(ctx, root, "keep it"))
	l.ok(a.Wait(ctx, root))
	l.caused("Compact", root, at, mailOf(troupe.MailCompact))
}

// whole wants a stream that was not read for long to bring everything once, in order.
func (l *live) whole(root troupe.SessionID, s api.Stream) {
	l.t.Helper()
	defer s.Close()
	events, err := s.Rest(l.t.Context())
	l.ok(err)
	for i, e := range events {
		if e.Seq != int64(i+1) || e.Session != root {
			l.t.Errorf("event %d is %d of %s", i+1, e.Seq, e.Session)
		}
	}
	if int64(len(events)) != l.seq(root) {
		l.t.Errorf("a slow reader got %d events of %d", len(events), l.seq(root))
	}
}

// sleep puts a tree away that a process has in hand, and wakes it.
func (l *live) sleep(root troupe.SessionID) {
	l.t.Helper()
	ctx, a := l.t.Context(), l.a
	at := l.seq(root)
	if s, err := a.Sleep(ctx, root, wire.Sleep{WithinMS: 1000}); err != nil || s.Session != root || s.Models > 0 {
		l.t.Fatalf("put away: %+v, %v", s, err)
	}
	l.caused("Sleep", root, at, func(b troupe.Body) (*troupe.Caller, bool) {
		s, ok := b.(troupe.Slept)
		return s.Caller, ok
	})
	_, err := a.Sleep(ctx, root, wire.Sleep{})
	l.fails("one that sleeps is put away", err, troupe.ErrAsleep)
	_, err = a.Begin(ctx, wire.Begin{Resume: "job", Cwd: l.dir, Prompt: "now"})
	l.fails("one that sleeps is gone on with", err, troupe.ErrAsleep)
	if f, err := a.Find(ctx, "job", l.dir); err != nil || f.AsleepAt.IsZero() || f.Running {
		l.t.Errorf("it is %+v, %v", f, err)
	}
	if b, err := a.Begin(ctx, wire.Begin{Resume: "job", Cwd: l.dir, Taking: wire.Taking{Wake: true}}); err != nil ||
		b.Root != root {
		l.t.Fatalf("woken: %+v, %v", b, err)
	}
	l.caused("Begin", root, at, func(b troupe.Body) (*troupe.Caller, bool) {
		w, ok := b.(troupe.Woke)
		return w.Caller, ok
	})
	l.ok(a.Wait(ctx, root))
	_, err = a.Begin(ctx, wire.Begin{Resume: "job", Cwd: l.dir, Taking: wire.Taking{Wake: true}})
	l.fails("one that is awake is woken", err, nil)
}

func (l *live) leave(root troupe.SessionID) {
	l.t.Helper()
	ctx, a := l.t.Context(), l.a
	l.fails("a tree that a process has in hand is removed", a.Remove(ctx, root), nil)
	_, err := a.Change(ctx, root, wire.SessionChange{Archive: true})
	l.fails("a tree that a process has in hand is archived", err, nil)
	before := l.seq(root)
	if s, err := a.Change(ctx, root, wire.SessionChange{Title: "The <job>"}); err != nil || s.Title != "The <job>" {
		l.t.Errorf("named in the process that has it: %+v, %v", s, err)
	}
	l.caused("Change", root, before, change)
	if left, err := a.Leave(ctx, root); err != nil || !left {
		l.t.Errorf("left: %t, %v", left, err)
	}
	l.fails("waiting for a tree that was left", a.Wait(ctx, root), troupe.ErrFenced)
	at := l.seq(root)
	if sent, err := a.Send(ctx, root, wire.Message{Text: "later"}); err != nil || sent.Effect != "waits" {
		l.t.Errorf("sent is %+v, %v", sent, err)
	}
	b, err := a.Begin(ctx, wire.Begin{Resume: "job", Cwd: l.dir, Prompt: "now", Model: "script:asks.yaml"})
	if err != nil || b.Root != root || b.After[root] != at || len(b.Before) != 1 {
		l.t.Fatalf("resumed is %+v, %v", b, err)
	}
	l.ok(api.Finish(ctx, a, root))
	l.caused("Begin", root, at, started)
	l.caused("Begin", root, at, mailOf(troupe.MailPrompt))
	l.caused("Begin", root, at, func(b troupe.Body) (*troupe.Caller, bool) {
		m, ok := b.(troupe.ModelChanged)
		return m.Caller, ok
	})
}

func change(b troupe.Body) (*troupe.Caller, bool) {
	c, ok := b.(troupe.SessionChanged)
	return c.Caller, ok
}

// archive names a tree that no process has, leaves it out of lists, and takes it back.
func (l *live) archive(root troupe.SessionID) {
	l.t.Helper()
	ctx, a := l.t.Context(), l.a
	at := l.seq(root)
	if s, err := a.Change(ctx, root, wire.SessionChange{Rename: "done"}); err != nil || s.Name != "done" {
		l.t.Fatalf("named %+v, %v", s, err)
	}
	l.caused("Change", root, at, change)
	_, err := a.Find(ctx, "job", l.dir)
	l.fails("it is found by the name it had", err, troupe.ErrNotFound)
	if s, err := a.Change(ctx, root, wire.SessionChange{Archive: true}); err != nil || !s.Archived {
		l.t.Fatalf("archived %+v, %v", s, err)
	}
	listed := func(archived bool) bool {
		all, err := a.List(ctx, wire.Listing{Cwd: l.dir, Archived: archived})
		l.ok(err)
		return slices.ContainsFunc(all, func(s wire.Session) bool { return s.ID == root })
	}
	if listed(false) || !listed(true) {
		l.t.Error("it is in the wrong list")
	}
	if s, err := a.Find(ctx, "main", l.dir); err == nil && s.ID == root {
		l.t.Error("it is main")
	}
	at = l.seq(root)
	_, err = a.Send(ctx, root, wire.Message{Text: "still there?"})
	l.fails("one that is archived is sent words", err, troupe.ErrArchived)
	_, err = a.SetModel(ctx, root, "script:asks.yaml")
	l.fails("one that is archived has another model", err, troupe.ErrArchived)
	_, err = a.Begin(ctx, wire.Begin{Resume: "done", Cwd: l.dir, Prompt: "now"})
	l.fails("one that is archived is gone on with", err, troupe.ErrArchived)
	_, err = a.Sleep(ctx, root, wire.Sleep{})
	l.fails("one that is archived is put away", err, troupe.ErrArchived)
	if n := l.seq(root); n != at {
		l.t.Errorf("%d events were logged of it", n-at)
	}
	if s, err := a.Change(ctx, root, wire.SessionChange{Unarchive: true, Rename: "job"}); err != nil || s.Archived ||
		s.Status.Live() || listed(true) || !listed(false) {
		l.t.Errorf("out of the archive it is %+v, %v", s, err)
	}
	_, err = a.Change(ctx, root, wire.SessionChange{})
	l.fails("nothing is changed", err, nil)
	_, err = a.Change(ctx, root, wire.SessionChange{Rename: "main"})
	l.fails("it is named main", err, nil)
}

// child moves an agent to the background and stops it there.
func (l *live) child() {
	l.t.Helper()
	ctx, a := l.t.Context(), l.a
	b, err := a.Begin(ctx, wire.Begin{Prompt: "go", Cwd: l.dir, Model: "script:child.yaml"})
	l.ok(err)
	s, err := a.Follow(ctx, wire.Follow{Root: b.Root})
	l.ok(err)
	defer s.Close()
	var child wire.Session
	l.until(s, func() bool {
		t, err := a.Tree(ctx, b.Root)
		l.ok(err)
		if len(t.Sessions) < 2 || t.Sessions[0].Waiting != troupe.WaitChildren {
			return false
		}
		child = t.Sessions[1]
		return child.Status == troupe.Waiting
	})
	if child.Parent != b.Root || child.Type != "Explore" || child.Tree != nil || child.Path != "main/"+child.Name {
		l.t.Errorf("the child is %+v", child)
	}
	if left, err := a.Leave(ctx, b.Root); err != nil || left {
		l.t.Errorf("a tree at work was left: %t, %v", left, err)
	}
	l.ok(a.Background(ctx, child.ID))
	l.until(s, func() bool {
		tasks, err := a.Tasks(ctx, b.Root)
		l.ok(err)
		return slices.ContainsFunc(tasks, func(t wire.Task) bool {
			return t.Background &&
				t.ID == troupe.TaskID(child.ID)
		})
	})
	l.caused("Background", b.Root, 0, func(b troupe.Body) (*troupe.Caller, bool) {
		f, ok := b.(troupe.ToolFinished)
		return f.Caller, ok && f.Task != nil
	})
	at := l.seq(child.ID)
	patience, cancel := context.WithCancel(ctx)
	cancel()
	if err := a.Wait(patience, b.Root); !errors.Is(err, context.Canceled) {
		l.t.Errorf("waiting without patience: %v", err)
	}
	l.ok(a.Stop(ctx, child.ID, wire.Stop{Now: true}))
	l.ok(a.Wait(ctx, b.Root))
	l.fails("the main agent, which waits for nothing, in the background", a.Background(ctx, b.Root), nil)
	l.caused("Stop", child.ID, at, mailOf(troupe.MailStop))
	if c, err := a.Find(ctx, string(child.ID), ""); err != nil || c.Status != troupe.Cancelled || c.Running {
		l.t.Errorf("the child is %+v, %v", c, err)
	}
}

const says = `
replies:
  - agent: fork
    turn: 1
    text: did it beside
  - agent: main
    text: done
`

// fork has a fork of a session do something: it goes on from what the session knows, which is not woken by its end.
func (l *live) fork() {
	l.t.Helper()
	ctx, a := l.t.Context(), l.a
	l.write("says.yaml", says)
	b, err := a.Begin(ctx, wire.Begin{Prompt: "go", Cwd: l.dir, Model: "script:says.yaml"})
	l.ok(err)
	l.ok(a.Wait(ctx, b.Root))
	at := l.seq(b.Root)
	sent, err := a.Send(ctx, b.Root, wire.Message{Text: "beside it", Fork: true})
	if err != nil || sent.Effect != "forks" {
		l.t.Errorf("sent is %+v, %v", sent, err)
	}
	l.ok(a.Wait(ctx, b.Root))
	l.caused("Send", b.Root, at, mailOf(troupe.MailFork))
	t, err := a.Tree(ctx, b.Root)
	l.ok(err)
	if len(t.Sessions) != 2 || t.Sessions[1].Type != troupe.ForkAgent || t.Sessions[1].Status != troupe.Completed ||
		t.Sessions[0].Run != 1 {
		l.t.Errorf("the tree is %+v", t.Sessions)
	}
	_, err = a.Send(ctx, t.Sessions[1].ID, wire.Message{Text: "again", Fork: true})
	l.fails("the fork of a fork", err, nil)
}

// agents looks at the types of agent.
func (l *live) agents() {
	l.t.Helper()
	ctx, a := l.t.Context(), l.a
	l.write("kinds/reviewer.md", "---\ndescription: d\ntools: Read\n---\nReview.")
	list, err := a.Machine().Agents(ctx, wire.AgentQuery{Place: wire.Place{Cwd: l.dir}, Check: true,
		Paths: []string{filepath.Join(l.dir, "kinds")}})
	if err != nil || len(list.Agents) == 0 || list.Problems == nil || len(list.Files) != 1 ||
		list.Files[0].Name != "reviewer" || !list.Files[0].Loaded ||
		!slices.Equal(list.Files[0].Tools, []string{"Read"}) {
		l.t.Errorf("the agents are %+v, %v", list, err)
	}
	p, err := a.Machine().Agent(ctx, wire.AgentName{Place: wire.Place{Cwd: l.dir}, Name: "explore"})
	if err != nil || p.Name != "Explore" || p.Sandbox != troupe.LevelReadOnly || len(p.Has) == 0 {
		l.t.Errorf("Explore is %+v, %v", p, err)
	}
	_, err = a.Machine().Agent(ctx, wire.AgentName{Place: wire.Place{Cwd: l.dir}, Name: "nothing"})
	l.fails("a type that there is not", err, nil)
}

// skills looks at skills and commands, and says one.
func (l *live) skills() {
	l.t.Helper()
	ctx, a := l.t.Context(), l.a
	l.write(".claude/commands/greet.md", "---\ndescription: d\nallowed-tools: Read\n---\nGreet $1.")
	place := wire.Place{Cwd: l.dir}
	list, err := a.Skills(ctx, wire.SkillQuery{Place: place, Check: true})
	if err != nil || len(list.Skills) != 1 || list.Skills[0].Name != "greet" || !list.Skills[0].People ||
		len(list.Files) != 1 || !list.Files[0].Loaded || !slices.Equal(list.Files[0].Tools, []string{"Read"}) {
		l.t.Errorf("the skills are %+v, %v", list, err)
	}
	list, err = a.Skills(ctx, wire.SkillQuery{Place: place, Name: "/Greet"})
	if err != nil || len(list.Skills) != 1 || list.Skills[0].Text != "Greet $1." {
		l.t.Errorf("the skill is %+v, %v", list, err)
	}
	_, err = a.Skills(ctx, wire.SkillQuery{Place: place, Name: "nothing"})
	l.fails("a skill that there is not", err, nil)
}

// workflows looks at workflows, and asks what one begins with.
func (l *live) workflows() {
	l.t.Helper()
	ctx, a := l.t.Context(), l.a
	l.write(".troupe/workflows/greet.yaml", "inputs: {who: }\nsteps:\n- {name: hi, prompt: Greet them.}\n")
	l.write(".troupe/workflows/bad.yaml", "steps: 3\n")
	place := wire.Place{Cwd: l.dir}
	list, err := a.Workflows(ctx, wire.WorkflowQuery{Place: place})
	if err != nil || len(list.Workflows) != 1 || list.Workflows[0].Name != "greet" || len(list.Problems) != 1 ||
		list.Workflows[0].Inputs[0] != (wire.WorkflowInput{Name: "who"}) || list.Workflows[0].Prompt != "" {
		l.t.Errorf("the workflows are %+v, %v", list, err)
	}
	q := wire.WorkflowQuery{Place: place, Name: "greet", Begin: true}
	_, err = a.Workflows(ctx, q)
	l.fails("a workflow without its input", err, nil)
	q.Inputs = map[string]string{"who": "us"}
	list, err = a.Workflows(ctx, q)
	if err != nil || len(list.Workflows) != 1 || !strings.Contains(list.Workflows[0].Prompt, "Greet them.") {
		l.t.Errorf("the workflow is %+v, %v", list, err)
	}
	_, err = a.Workflows(ctx, wire.WorkflowQuery{Place: place, Name: "nothing"})
	l.fails("a workflow that there is not", err, nil)
}

func (l *live) machine() {
	l.t.Helper()
	ctx, a := l.t.Context(), l.a
	if m, err := a.Machine().Models(ctx, l.dir); err != nil || m.Aliases == nil || m.Models == nil ||
		m.Problems == nil {
		l.t.Errorf("the models are %+v, %v", m, err)
	}
	if full, err := a.Machine().Model(ctx, "script:asks.yaml", l.dir); err != nil || full == "" {
		l.t.Errorf("the model is %q, %v", full, err)
	}
	_, err := a.Machine().Model(ctx, "no/such", l.dir)
	l.fails("a model that is none", err, nil)
	if c, err := a.Machine().Doctor(ctx, l.dir); err != nil || c.Version == "" || len(c.Agents) == 0 {
		l.t.Errorf("the doctor found %+v, %v", c, err)
	}
	l.agents()
	if p, err := a.Plans(ctx, ""); err != nil || len(p) != 0 {
		l.t.Errorf("the plans are %+v, %v", p, err)
	}
	_, err = a.Plans(ctx, "none")
	l.fails("a plan that is none", err, troupe.ErrNotFound)
	if h, err := a.Setup().Hooks(ctx, wire.HookQuery{Place: wire.Place{Cwd: l.dir}}); err != nil || len(h.Hooks) != 0 ||
		h.Ran != nil {
		l.t.Errorf("the hooks are %+v, %v", h, err)
	}
	line, err := a.Setup().StatusLine(ctx, wire.StatusQuery{Cwd: l.dir})
	if err != nil || line != (wire.StatusLine{}) {
		l.t.Errorf("the status line is %+v, %v", line, err)
	}
	l.servers()
	l.plugins()
	l.skills()
	l.workflows()
	l.memories()
	l.worktrees()
	place := wire.Place{Cwd: l.dir, Permissions: wire.Permissions{Deny: []string{"Bash(rm:*)"}}}
	if r, err := a.Machine().Rules(ctx, place); err != nil || r.Untrusted || len(r.Rules) != 2 {
		l.t.Errorf("the rules are %+v, %v", r, err)
	}
	x, err := a.Machine().Explain(ctx, place, []wire.Call{
		{ID: []byte("1"), Tool: "Bash", Input: []byte(`{"command":"rm -r x","description":"x"}`)},
		{ID: []byte("2"), Tool: "Bash", Input: []byte(`{"command":"make","description":"x"}`)},
	})
	if err != nil || len(x.Verdicts) != 2 || x.Verdicts[0].Decision != troupe.Deny ||
		x.Verdicts[1].Decision != troupe.Allow || string(x.Verdicts[1].ID) != "2" {
		l.t.Errorf("explained is %+v, %v", x, err)
	}
}

func (l *live) plugins() {
	l.t.Helper()
	ctx, a := l.t.Context(), l.a
	l.write("plug/plugin.json", `{"name": "plug"}`)
	l.write("plug/agents/one.md", "---\nname: one\ndescription: d\n---\nYou are one.")
	set := func(action wire.PluginAction, name string) wire.PluginList {
		l.t.Helper()
		list, err := a.Setup().SetPlugin(ctx, wire.PluginChange{Cwd: l.dir, Action: action, Name: name})
		if err != nil {
			l.t.Errorf("%s %s: %v", action, name, err)
		}
		return list
	}
	set(wire.PluginAdd, "plug")
	if list := set(wire.PluginEnable, "plug"); len(list.Plugins) != 1 || list.Plugins[0].State != "on" ||
		!slices.Equal(list.Plugins[0].Agents, []string{"plug:one"}) {
		l.t.Errorf("the plugin is %+v", list)
	}
	place := wire.Place{Cwd: l.dir}
	if p, err := a.Machine().Agent(ctx, wire.AgentName{Place: place, Name: "plug:one"}); err != nil ||
		p.Scope != "plugin" {
		l.t.Errorf("the plugin's agent is %+v, %v", p, err)
	}
	set(wire.PluginDisable, "plug")
	if list, err := a.Setup().Plugins(ctx, wire.PluginQuery{Place: place}); err != nil || len(list.Plugins) != 1 ||
		list.Plugins[0].State != "off" {
		l.t.Errorf("the plugins are %+v, %v", list, err)
	}
	set(wire.PluginRemove, "plug")
	_, err := a.Setup().Plugins(ctx, wire.PluginQuery{Place: place, Name: "plug"})
	l.fails("a plugin that there is not", err, troupe.ErrNotFound)
}

func (l *live) servers() {
	l.t.Helper()
	ctx, a := l.t.Context(), l.a
	q := wire.ServerQuery{Place: wire.Place{Cwd: l.dir}}
	c := wire.ServerChange{Cwd: l.dir, Name: "live", Entry: []byte(`{"command": "no-such-program-here"}`)}
	if s, err := a.Serving().SetServer(ctx, c); err != nil || s.File == "" {
		l.t.Errorf("the change is %+v, %v", s, err)
	}
	if s, err := a.Serving().Servers(ctx, q); err != nil || len(s.Servers) != 1 ||
		s.Servers[0].Line != "no-such-program-here" {
		l.t.Errorf("the servers are %+v, %v", s, err)
	}
	q.Test = "live"
	if s, err := a.Serving().Servers(ctx, q); err != nil || len(s.Servers) != 1 || s.Servers[0].Failed == "" {
		l.t.Errorf("the server is %+v, %v", s, err)
	}
	login := wire.ServerLogin{Cwd: l.dir, Name: "live", Action: wire.LoginOut}
	if s, err := a.Serving().Login(ctx, login); err != nil || s.Gone {
		l.t.Errorf("a login that there was not: %+v, %v", s, err)
	}
	login.Action = wire.LoginBegin
	if _, err := a.Serving().Login(ctx, login); err == nil || !strings.Contains(err.Error(), "has no login") {
		l.t.Errorf("a login at a program: %v", err)
	}
	c.Entry = nil
	if _, err := a.Serving().SetServer(ctx, c); err != nil {
		l.t.Error(err)
	}
	_, err := a.Serving().Login(ctx, login)
	l.fails("a login at a server that there is not", err, troupe.ErrNotFound)
	_, err = a.Serving().Servers(ctx, q)
	l.fails("a server that there is not", err, troupe.ErrNotFound)
}

// memories keeps something for a type of agents, reads it, and forgets it.
func (l *live) memories() {
	l.t.Helper()
	q := wire.MemoryQuery{Cwd: l.dir, Agent: "keeper", Scope: troupe.MemoryProject, File: troupe.MemoryFile}
	text := "Tabs, not spaces.\n"
	if m, err := l.a.Setup().SetMemory(l.t.Context(), wire.MemoryChange{MemoryQuery: q, Text: &text}); err != nil ||
		len(m.Files) != 1 {
		l.t.Errorf("a memory became %+v, %v", m, err)
	}
	if m, err := l.a.Setup().Memories(l.t.Context(), q); err != nil || len(m) != 1 || m[0].Text != text {
		l.t.Errorf("the memories are %+v, %v", m, err)
	}
	if _, err := l.a.Setup().SetMemory(l.t.Context(), wire.MemoryChange{MemoryQuery: q}); err != nil {
		l.t.Errorf("forget: %v", err)
	}
	q.File = "none.md"
	_, err := l.a.Setup().Memories(l.t.Context(), q)
	l.fails("a file that is none", err, troupe.ErrNotFound)
}

// worktrees looks for some where there are none.
func (l *live) worktrees() {
	l.t.Helper()
	ctx, w := l.t.Context(), l.a.Setup().Workspaces()
	q := wire.WorktreeQuery{Cwd: l.dir}
	if list, err := w.Worktrees(ctx, q); err != nil || list == nil || len(list) != 0 {
		l.t.Errorf("the worktrees are %+v, %v", list, err)
	}
	if list, err := w.PruneWorktrees(ctx, wire.WorktreePrune{Cwd: l.dir}); err != nil || list == nil || len(list) != 0 {
		l.t.Errorf("pruned are %+v, %v", list, err)
	}
	q.Name = "none-such"
	_, err := w.DiffWorktree(ctx, wire.WorktreeLook{WorktreeQuery: q})
	l.fails("the difference of a worktree that there is not", err, troupe.ErrNotFound)
	_, err = w.MergeWorktree(ctx, wire.WorktreeMerge{WorktreeQuery: q})
	l.fails("a merge of a worktree that there is not", err, troupe.ErrNotFound)
	_, err = w.PruneWorktrees(ctx, wire.WorktreePrune{Cwd: l.dir, Names: []string{q.Name}})
	l.fails("to prune a worktree that there is not", err, troupe.ErrNotFound)
}
