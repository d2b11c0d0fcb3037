package chat

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	rootID  = troupe.SessionID("m00000000000")
	childID = troupe.SessionID("a00000000000")
)

// fake is a conversation in memory: a log, and a script of what happens when it is told something.
type fake struct {
	api.API // what a conversation does not ask for
	// heard is called with every message, and with "stop", "answer ID", … for the rest.
	heard func(f *fake, what string)

	mu       sync.Mutex
	log      []troupe.Event
	read     int
	seq      map[troupe.SessionID]int64
	live     map[troupe.SessionID]bool
	changed  chan struct{} // closed and replaced at every change
	requests []wire.Request
	tasks    []wire.Task
	told     []string
	deltas   []wire.Delta
	before   []wire.Session
	history  []troupe.Event // what happened before it was taken up
	closed   bool
	gone     bool // somebody has removed it
	refused  error
	unbegun  error // why no conversation begins
	turns    []wire.Turn
	undo     wire.Undo
	undoes   map[int]wire.Undo // by turn
	slow     bool              // what is said waits for the end of a step
	back     bool              // the clock runs backwards
	// line is the status line of the settings; nil: none is set.
	line func(wire.StatusQuery) wire.StatusLine
	next *wire.Report // of the next run, which is under way whenever one has ended
}

func newFake(heard func(f *fake, what string)) *fake {
	return &fake{heard: heard, seq: make(map[troupe.SessionID]int64), live: make(map[troupe.SessionID]bool),
		changed: make(chan struct{})}
}

// fakeMachine and fakeServing are its nouns: what it does not have of them is not asked for.
type (
	fakeMachine struct {
		api.Machine
		f *fake
	}
	fakeServing struct {
		api.Serving
		f *fake
	}
)

func (f *fake) Machine() api.Machine { return fakeMachine{f: f} }
func (f *fake) Serving() api.Serving { return fakeServing{f: f} }

func (m fakeMachine) Model(ctx context.Context, name, cwd string) (string, error) {
	return m.f.Model(ctx, name, cwd)
}

func (m fakeMachine) Agents(_ context.Context, q wire.AgentQuery) (wire.AgentList, error) {
	list := wire.AgentList{Agents: []wire.AgentType{{Name: "Explore", Description: "Searches.", Source: "built-in",
		Scope: "built-in", Tools: []string{"Read", "Grep"}}}}
	if q.Agents != "" {
		list.Agents = append(list.Agents, wire.AgentType{Name: "mine", Source: "--agents", Scope: "flag"})
	}
	return list, nil
}

func (m fakeMachine) Rules(ctx context.Context, p wire.Place) (wire.RuleList, error) {
	return m.f.Rules(ctx, p)
}

func (m fakeServing) Servers(ctx context.Context, q wire.ServerQuery) (wire.ServerList, error) {
	return m.f.Servers(ctx, q)
}

func (f *fake) Model(_ context.Context, name, _ string) (string, error) {
	switch name {
	case "":
		name = "opus"
	case "nobody":
		return "", &troupe.UserError{Problem: "there is no model nobody"}
	}
	return "anthropic/" + name, nil
}

func (f *fake) Rules(context.Context, wire.Place) (wire.RuleList, error) {
	return wire.RuleList{Mode: troupe.ModeDefault}, nil
}

func (f *fake) Find(_ context.Context, ref, _ string) (wire.Session, error) {
	if ref == "nobody" {
		return wire.Session{}, &troupe.UserError{Problem: "there is no session nobody"}
	}
	return wire.Session{ID: rootID}, nil
}

func (f *fake) Tree(context.Context, troupe.SessionID) (wire.Tree, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone {
		return wire.Tree{}, fmt.Errorf("read tree %s: %w", rootID, troupe.ErrNotFound)
	}
	out := wire.Tree{Here: len(f.log)+len(f.history) > 0}
	for _, e := range slices.Concat(f.history, f.log) {
		if b, ok := e.Body.(troupe.Created); ok {
			out.Sessions = append(out.Sessions, wire.Session{ID: e.Session, Parent: b.Parent, Name: b.Name,
				Type: b.Profile.Type, Title: b.Title})
		}
	}
	return out, nil
}

func (f *fake) Begin(_ context.Context, b wire.Begin) (wire.Begun, error) {
	if err := f.unbegun; err != nil {
		return wire.Begun{}, err
	}
	f.tell(strings.TrimSpace(fmt.Sprintf("begin %s%v %s %s", b.Resume, b.Continue, b.Model, b.Mode)))
	if len(f.history) == 0 {
		f.add(rootID, troupe.Created{Profile: troupe.Profile{Type: cmp.Or(b.Agent, "main")},
			Workspace: worksIn(b.Worktree)})
	}
	if b.Prompt != "" {
		f.add(rootID, troupe.Started{Run: 1})
		f.hear(wire.Message{Text: b.Prompt})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	after := make(map[troupe.SessionID]int64)
	for _, e := range f.history {
		after[e.Session] = e.Seq
	}
	return wire.Begun{Root: rootID, Before: f.before, After: after}, nil
}

// happened notes what happened at a time before the conversation goes on.
func (f *fake) happened(id troupe.SessionID, at int64, bodies ...troupe.Body) {
	for _, b := range bodies {
		f.seq[id]++
		f.history = append(f.history, troupe.Event{Root: rootID, Session: id, Seq: f.seq[id], At: time.Unix(at, 0),
			Body: b})
	}
}

func (f *fake) Events(_ context.Context, id troupe.SessionID, after int64, _ int) ([]troupe.Event, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []troupe.Event
	for _, e := range slices.Concat(f.history, f.log) {
		if e.Session == id && e.Seq > after {
			out = append(out, e)
		}
	}
	return out, nil
}

func (f *fake) Follow(context.Context, wire.Follow) (api.Stream, error) { return f, nil }

func (f *fake) hear(m wire.Message) {
	f.tell(m.Text)
	if f.heard != nil {
		f.heard(f, m.Text)
	}
}

func (f *fake) tell(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, what)
	f.wake()
}

// wake tells everybody who waits. The mutex is held.
func (f *fake) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fake) add(id troupe.SessionID, bodies ...troupe.Body) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range bodies {
		f.seq[id]++
		at := time.Unix(int64(len(f.log)), 0)
		if f.back {
			at = time.Unix(1000-int64(len(f.log)), 0)
		}
		f.log = append(f.log, troupe.Event{Root: rootID, Session: id, Seq: f.seq[id], At: at, Body: b})
		switch b.(type) {
		case troupe.Started:
			f.live[id] = true
		case troupe.Ended:
			delete(f.live, id)
		}
	}
	f.wake()
}

// prompted is the delivery of a person's words.
func prompted(text string) troupe.MailDelivered {
	return troupe.MailDelivered{Mail: []troupe.Mail{{ID: troupe.MailID("m:" + text), Kind: troupe.MailPrompt,
		Blocks: []troupe.Block{troupe.Text(text)}}}}
}

// streams has a piece of the main agent's reply come.
func (f *fake) streams(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deltas = append(f.deltas, wire.Delta{Session: rootID, Text: text, After: f.seq[rootID]})
	f.wake()
}

// prints has a command of the main agent's print something.
func (f *fake) prints(call troupe.Coord, tail string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deltas = append(f.deltas, wire.Delta{Session: rootID, Call: call, Output: tail, After: f.seq[rootID]})
	f.wake()
}

// waits has something keep a command of the main agent's from running.
func (f *fake) waits(call troupe.Coord, stage troupe.Stage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deltas = append(f.deltas, wire.Delta{Session: rootID, Call: call, Stage: stage, After: f.seq[rootID]})
	f.wake()
}

// makes tells how far the main agent's folder has come.
func (f *fake) makes(done, all int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deltas = append(f.deltas, wire.Delta{Session: rootID, Stage: troupe.StageWorkspace, Done: done, All: all,
		After: f.seq[rootID]})
	f.wake()
}

// says has the main agent say something and end its run.
func (f *fake) says(text string) {
	end := ended(troupe.Completed)
	end.Outcome.Result = text
	f.add(rootID, troupe.Replied{Reply: 1, Blocks: []troupe.Block{troupe.Text(text)}}, end)
}

func ended(s troupe.Status) troupe.Ended {
	return troupe.Ended{Outcome: troupe.Outcome{Status: s, DurationMS: 1500,
		Tally: troupe.Tally{Usage: troupe.Usage{Input: 2000}}}}
}

func (f *fake) ask(all ...wire.Request) {
	f.mu.Lock()
	f.requests = append(f.requests, all...)
	f.mu.Unlock()
	for _, r := range all {
		f.add(r.Session, troupe.RequestOpened{Reply: 1, RequestBody: troupe.RequestBody{Reason: troupe.WaitApproval,
			Tool: r.Tool, Action: r.Action}})
	}
}

func (f *fake) until(ctx context.Context, ok func() bool) bool {
	for {
		f.mu.Lock()
		done, changed := ok(), f.changed
		f.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

func (f *fake) Next(ctx context.Context) (wire.Batch, error) {
	f.until(ctx, func() bool { return f.read < len(f.log) || len(f.deltas) > 0 })
	f.mu.Lock()
	defer f.mu.Unlock()
	b := wire.Batch{Deltas: f.deltas, Events: slices.Clone(f.log[f.read:])}
	f.read, f.deltas = len(f.log), nil
	f.wake() // for who waits until it was taken
	return b, nil
}

func (f *fake) Rest(context.Context) ([]troupe.Event, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := slices.Clone(f.log[f.read:])
	f.read = len(f.log)
	return out, nil
}

func (f *fake) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}

func (f *fake) Wait(ctx context.Context, _ troupe.SessionID) error {
	f.until(ctx, func() bool { return len(f.live) == 0 })
	return nil
}

func (f *fake) Send(_ context.Context, to troupe.SessionID, m wire.Message) (wire.Sent, error) {
	if to != rootID {
		f.tell("to " + string(to) + ": " + m.Text)
		return wire.Sent{Session: to, Mail: "mailB", Effect: "steers"}, nil
	}
	f.mu.Lock()
	if err := f.refused; err != nil {
		f.refused = nil
		f.mu.Unlock()
		return wire.Sent{}, err
	}
	working := f.live[rootID]
	n := len(f.told)
	f.mu.Unlock()
	id := troupe.MailID(fmt.Sprintf("mail%d", n))
	effect := "steers"
	if !working {
		effect = "resumes"
		f.add(rootID, troupe.Started{Run: n})
	}
	if !f.slow {
		f.add(rootID, troupe.MailDelivered{Mail: []troupe.Mail{{ID: id, Kind: troupe.MailPrompt,
			Blocks: []troupe.Block{troupe.Text(m.Text)}}}})
	}
	f.hear(m)
	return wire.Sent{Session: rootID, Mail: id, Effect: effect}, nil
}

func (f *fake) Stop(_ context.Context, id troupe.SessionID, s wire.Stop) error {
	f.tell(fmt.Sprintf("stop %s now=%v tree=%v", id, s.Now, s.Tree))
	f.mu.Lock()
	working, child := f.live[rootID], f.live[childID]
	f.mu.Unlock()
	if working && id == rootID {
		f.add(rootID, ended(troupe.Cancelled))
	}
	if child && (s.Tree || id == childID) {
		f.add(childID, ended(troupe.Cancelled))
	}
	return nil
}

func (f *fake) Background(_ context.Context, id troupe.SessionID) error {
	f.tell("background " + string(id))
	if f.heard != nil {
		f.heard(f, "background "+string(id))
	}
	return nil
}

func (f *fake) Compact(_ context.Context, _ troupe.SessionID, hint string) error {
	f.tell("compact " + hint)
	return nil
}

func (f *fake) Turns(context.Context, troupe.SessionID) ([]wire.Turn, error) { return f.turns, nil }

func (f *fake) PlanUndo(_ context.Context, _ troupe.SessionID, o wire.UndoOrder) (wire.Undo, error) {
	if len(f.turns) > 0 {
		f.tell(strings.TrimSpace(fmt.Sprintf("undo %d %s", o.Turn, o.Merge)))
	}
	if o.Merge != "" {
		return wire.Undo{Merge: &wire.MergeRef{ID: o.Merge, Name: "fixer"}, Plan: "p",
			Files: []wire.UndoFile{{Path: "/ws/m", Action: wire.UndoRemove}}}, nil
	}
	if u, ok := f.undoes[o.Turn]; ok {
		return u, nil
	}
	if f.undo.Turn > 0 || f.undo.Type == wire.RedoType {
		return f.undo, nil
	}
	return wire.Undo{}, &troupe.UserError{Problem: "there is no undo here"}
}

func (f *fake) SetMode(context.Context, troupe.SessionID, troupe.Mode) error { return nil }

func (f *fake) SetModel(_ context.Context, _ troupe.SessionID, name string) (string, error) {
	f.tell("model " + name)
	return "anthropic/" + name, nil
}

func (f *fake) Answer(_ context.Context, request string, a wire.Answer) error {
	f.mu.Lock()
	i := slices.IndexFunc(f.requests, func(r wire.Request) bool { return strings.HasPrefix(r.ID, request) })
	if i < 0 {
		f.mu.Unlock()
		return fmt.Errorf("request %s: %w", request, troupe.ErrNotFound)
	}
	if a.Session && f.refused != nil {
		f.mu.Unlock()
		return f.refused
	}
	r := f.requests[i]
	f.requests = slices.Delete(f.requests, i, i+1)
	f.mu.Unlock()
	effect := troupe.Deny
	if a.Allow {
		effect = troupe.Allow
	}
	f.add(r.Session, troupe.RequestAnswered{Reply: 1, By: "user at terminal", Effect: effect, Note: a.Note})
	what := fmt.Sprintf("answer %s allow=%v session=%v %s", request, a.Allow, a.Session, a.Note)
	f.tell(strings.TrimSpace(what))
	if f.heard != nil {
		f.heard(f, strings.TrimSpace(what))
	}
	return nil
}

func (f *fake) Tasks(context.Context, troupe.SessionID) ([]wire.Task, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tasks, nil
}

func (f *fake) Requests(context.Context, troupe.SessionID) ([]wire.Request, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests), nil
}

func (f *fake) Cost(context.Context, troupe.SessionID) (wire.Cost, error) {
	return wire.Cost{CostUSD: 0.25, Usage: troupe.Usage{Input: 1000, Output: 200},
		Limits: []wire.Limit{{Name: "cost_usd", Used: 0.25, Limit: 1}}}, nil
}

func (f *fake) Report(context.Context, troupe.SessionID) (wire.Report, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone {
		return wire.Report{}, fmt.Errorf("read tree %s: %w", rootID, troupe.ErrNotFound)
	}
	if f.next != nil {
		return *f.next, nil
	}
	// as of now: the next run may have begun
	run := wire.Report{Type: "result", SessionID: rootID, Status: troupe.Running}
	for _, e := range f.log {
		if b, ok := e.Body.(troupe.Replied); ok && e.Session == rootID {
			run.Result = troupe.JoinText(b.Blocks)
		}
		if b, ok := e.Body.(troupe.Created); ok {
			a := wire.Session{ID: e.Session, Name: b.Name, Path: "main", Type: b.Profile.Type, Model: "anthropic/opus",
				Status: troupe.Completed}
			if e.Session != rootID {
				a.Path = "main/" + b.Name
			}
			if f.live[e.Session] {
				a.Status = troupe.Running
			}
			run.Agents = append(run.Agents, a)
		}
	}
	return run, nil
}

func (f *fake) List(context.Context, wire.Listing) ([]wire.Session, error) {
	return []wire.Session{{ID: rootID, Title: "an old one", Status: troupe.Completed, CreatedAt: time.Unix(0, 0)}}, nil
}

// heardAll is what the fake was told, waited for until it is n things.
func (f *fake) heardAll(t *testing.T, want ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	f.until(ctx, func() bool { return len(f.told) >= len(want) })
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.told, want) {
		t.Errorf("it was told\n%q\nand not\n%q", f.told, want)
	}
}

// Skills implements api.Using.
func (f *fake) Skills(_ context.Context, q wire.SkillQuery) (wire.SkillList, error) {
	return wire.SkillList{Skills: []wire.Skill{{Name: "ship", Source: q.Cwd + "/.claude/skills/ship/SKILL.md",
		Description: "Ships what is ready, after all tests have passed and the notes are written.", People: true,
		Models: true, Tools: []string{"Read", "Bash"}}}}, nil
}

// Undo implements api.Undoing.
func (f *fake) Undo(_ context.Context, _ troupe.SessionID, o wire.UndoOrder) (wire.Undo, error) {
	f.tell(fmt.Sprintf("undone %d forced %v", o.Turn, o.Force))
	return f.undo, nil
}
