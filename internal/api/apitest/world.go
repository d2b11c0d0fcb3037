// Package apitest holds every implementation of the api to the same: Conform asks one that stands
// before another for every verb, Live plays a tree of agents through it, and Faults breaks the
// connection it works over. A World is an api in memory for tests of what stands before it: it
// answers as an open home does, with the same kinds of errors in the same order. Its methods may be
// called from several goroutines; streams are woken by Commit and hold no goroutine.
package apitest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Ids of the sessions of a new World.
const (
	Root    troupe.SessionID = "7k3f00000000"
	Child   troupe.SessionID = "9m2000000000"
	Request                  = "9m2000000000-1.0"
)

// Born is when everything of a new World happened.
func Born() time.Time { return time.Date(2026, 11, 21, 9, 0, 0, 123_000_000, time.UTC) }

// World is a home with one tree: a main agent and a child that waits for permission.
type World struct {
	mu       sync.Mutex
	changed  chan struct{} // closed by each commit
	sessions []troupe.Session
	events   map[troupe.SessionID][]troupe.Event
	deltas   []wire.Delta
	requests []wire.Request
	calls    []string
	caller   troupe.Caller
}

// New makes a World.
func New() *World {
	main := troupe.Session{
		ID: Root, Root: Root, Name: "job", Title: "fix <the> test & more", Cwd: "/src", Type: "main", Model: "script/x",
		Status:  troupe.Waiting,
		Waiting: troupe.WaitChildren, Run: 1, Seq: 2, CreatedAt: Born(), StartedAt: Born(),
		Tally: troupe.Tally{Usage: troupe.Usage{Input: 10, Output: 5}, Cost: troupe.Dollars(0.000000123), Turns: 1,
			ToolUses: 1},
	}
	child := troupe.Session{
		ID: Child, Root: Root, Parent: Root, Coord: troupe.Coord{Reply: 1}, Name: "Auth Explorer", Depth: 1,
		Cwd: "/src", Type: "Explore", Model: "script/x",
		Status: troupe.Waiting, Waiting: troupe.WaitApproval, Run: 1, Seq: 1, CreatedAt: Born(), StartedAt: Born(),
		Until: Born().Add(time.Hour),
	}
	w := &World{
		changed: make(chan struct{}), sessions: []troupe.Session{main, child},
		events: make(map[troupe.SessionID][]troupe.Event),
		requests: []wire.Request{{
			ID: Request, Session: Child, Root: Root, Path: "main/Auth Explorer", Kind: troupe.RequestPermission,
			Tool:   "Bash",
			Action: "rm -rf build\u202e && echo <done>", Why: "no rule allows it", Grant: "Bash(rm -rf build)",
			Since: Born(), Until: Born().Add(time.Hour), Running: true, Calls: 1,
		}},
	}
	w.events[Root] = []troupe.Event{
		{Root: Root, Session: Root, Seq: 1, At: Born(), Body: troupe.Created{Name: "job",
			Title: "fix <the> test & more", Cwd: "/src"}},
		{Root: Root, Session: Root, Seq: 2, At: Born(), Body: troupe.Started{Run: 1}},
	}
	w.events[Child] = []troupe.Event{{Root: Root, Session: Child, Seq: 1, At: Born(), Body: troupe.Started{Run: 1}}}
	return w
}

// Calls lists what was done to the World, in order.
func (w *World) Calls() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}

// Settle has all sessions work in a folder.
func (w *World) Settle(cwd string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.sessions {
		w.sessions[i].Cwd = cwd
	}
}

// As is the World for one caller.
func (w *World) As(c troupe.Caller) api.API {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.caller = c
	return w
}

// Caller is who asked last for a World of theirs.
func (w *World) Caller() troupe.Caller {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.caller
}

// Say has the streams that ask for them bring a piece of a reply.
func (w *World) Say(d wire.Delta) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deltas = append(w.deltas, d)
	close(w.changed)
	w.changed = make(chan struct{})
}

// Commit appends an event to a session's log and wakes who follows.
func (w *World) Commit(id troupe.SessionID, b troupe.Body) {
	w.mu.Lock()
	defer w.mu.Unlock()
	seq := int64(len(w.events[id]) + 1)
	w.events[id] = append(w.events[id], troupe.Event{Root: Root, Session: id, Seq: seq,
		At: Born().Add(time.Duration(seq)), Body: b})
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *World) did(format string, args ...any) {
	w.calls = append(w.calls, fmt.Sprintf(format, args...))
}

func (w *World) session(id troupe.SessionID) (troupe.Session, error) {
	for _, s := range w.sessions {
		if s.ID == id {
			return s, nil
		}
	}
	return troupe.Session{}, notFound(string(id))
}

func notFound(ref string) error {
	return &troupe.UserError{Problem: fmt.Sprintf("there is no session %q", ref), Hint: "`troupe sessions` lists them.",
		Code: troupe.ExitUsage, Err: troupe.ErrNotFound}
}

// Find and the methods below implement api.API.
func (w *World) Find(_ context.Context, ref, cwd string) (wire.Session, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []troupe.Session
	for _, s := range w.sessions {
		switch {
		case ref == w.path(s), ref == "main" && s.Parent == "" && (cwd == "" || cwd == s.Cwd), ref == "main/"+s.Name:
			return w.shape(s), nil
		case troupe.IsIDPrefix(ref) && strings.HasPrefix(string(s.ID), ref):
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return wire.Session{}, notFound(ref)
	case 1:
		return w.shape(found[0]), nil
	}
	return wire.Session{}, &troupe.UserError{Problem: "several begin so", Hint: "Type more.", Code: troupe.ExitUsage,
		Err: troupe.ErrAmbiguous}
}

func (w *World) path(s troupe.Session) string {
	if s.Parent == "" {
		return s.Name
	}
	return "job/" + s.Name
}

func (w *World) shape(s troupe.Session) wire.Session {
	out := wire.NewSession(s, w.path(s), Born().Add(time.Second))
	out.Running = true
	if s.Parent == "" {
		out.Tree = &wire.Sums{Agents: 1, Usage: s.Tally.Usage}
	}
	return out
}

func (w *World) List(_ context.Context, l wire.Listing) ([]wire.Session, error) {
	if l.Cwd != "" && l.Cwd != "/src" {
		return []wire.Session{}, nil
	}
	out := w.shape(w.sessions[0])
	out.Title = fmt.Sprintf("limit %d", l.Limit)
	out.DurationMS, out.Archived = l.QuietMS, l.Archived
	return []wire.Session{out}, nil
}

func (w *World) Tree(_ context.Context, id troupe.SessionID) (wire.Tree, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.session(id); err != nil {
		return wire.Tree{}, err
	}
	out := wire.Tree{Running: true, Here: true, Owner: wire.Owner{PID: 7, Host: "here", Socket: "/run/a.sock"}}
	for _, s := range w.sessions {
		out.Sessions = append(out.Sessions, w.shape(s))
	}
	return out, nil
}

func (w *World) Team(_ context.Context, id troupe.SessionID) (wire.Team, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.session(id)
	return wire.Team{Name: "login", Members: []wire.Teammate{{ID: s.ID, Name: "Bob", State: wire.TeammateIdle,
		Said: "a\nb <c>", Items: []string{"1"}}}}, err
}

func (w *World) Report(_ context.Context, root troupe.SessionID) (wire.Report, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.session(root)
	if err != nil {
		return wire.Report{}, err
	}
	out := wire.Report{Type: "result", SessionID: s.Root, Status: troupe.Waiting, Result: "a\nb <c>", CostUSD: 0.1}
	for _, s := range w.sessions {
		out.Agents = append(out.Agents, w.shape(s))
	}
	return out, nil
}

func (w *World) Events(_ context.Context, id troupe.SessionID, after int64, limit int) ([]troupe.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.session(id); err != nil {
		return nil, err
	}
	all := w.events[id]
	all = all[min(int(after), len(all)):]
	if limit > 0 {
		all = all[:min(limit, len(all))]
	}
	return slices.Clone(all), nil
}

func (w *World) Tasks(_ context.Context, id troupe.SessionID) ([]wire.Task, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id != "" {
		if _, err := w.session(id); err != nil {
			return nil, err
		}
	}
	return []wire.Task{{
		Session: Root, Root: Root, Path: "main", ID: troupe.TaskID(Child), Kind: troupe.TaskAgent,
		Name: "Auth Explorer", Title: "trace <auth>",
		Status: troupe.TaskRunning, Background: id == "", DurationMS: 1500, Doing: "waits for approval",
	}}, nil
}

func (w *World) Requests(_ context.Context, root troupe.SessionID) ([]wire.Request, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := []wire.Request{}
	for _, r := range w.requests {
		if root == "" || r.Root == root {
			out = append(out, r)
		}
	}
	return out, nil
}

func (w *World) Context(_ context.Context, id troupe.SessionID) (wire.Context, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.session(id)
	if err != nil {
		return wire.Context{}, err
	}
	return wire.Context{Session: wire.Session{ID: s.ID, Name: s.Name}, Window: 200_000, Tokens: 1234, Bytes: 4000,
		Parts: []troupe.ContextPart{{Kind: troupe.ContextInstructions, Name: "/src/CLAUDE.md", Count: 1, Bytes: 4000,
			Tokens: 1234}}}, nil
}

func (w *World) Cost(_ context.Context, id troupe.SessionID) (wire.Cost, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.session(id)
	if err != nil {
		return wire.Cost{}, err
	}
	return wire.Cost{
		SessionID: id, Usage: s.Tally.Usage, CostUSD: 0.0123, Unpriced: []string{"script/x"},
		Limits: []wire.Limit{{Name: "tokens", Used: 15, Limit: 1000}, {Name: "cost_usd", Used: 0.0123, Limit: 5}},
		Agents: []wire.Account{{Session: w.shape(s)}},
	}, nil
}

func (w *World) Send(_ context.Context, id troupe.SessionID, m wire.Message) (wire.Sent, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.session(id); err != nil {
		return wire.Sent{}, err
	}
	w.did("send %s %q %d images cancel=%t once=%s", id, m.Text, len(m.Images), m.Cancel, m.Once)
	return wire.Sent{Session: id, Mail: "prompt:1", Effect: "steers"}, nil
}

func (w *World) Stop(_ context.Context, id troupe.SessionID, s wire.Stop) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.session(id); err != nil {
		return err
	}
	w.did("stop %s %+v", id, s)
	return nil
}

func (w *World) Background(_ context.Context, id troupe.SessionID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.session(id); err != nil {
		return err
	}
	if id == Root {
		return &troupe.UserError{Problem: "the main agent has no background", Hint: "Name a sub-agent.",
			Code: troupe.ExitUsage}
	}
	w.did("background %s", id)
	return nil
}

func (w *World) Sleep(_ context.Context, id troupe.SessionID, o wire.Sleep) (wire.Slept, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.session(id); err != nil {
		return wire.Slept{}, err
	}
	if id != Root {
		return wire.Slept{}, fmt.Errorf("put session %s away: %w", id, troupe.ErrAsleep)
	}
	w.did("sleep %s %+v", id, o)
	return wire.Slept{Session: id, Models: 2, Calls: []string{"Bash"}, Commands: []string{"make <all>"},
		Folders: []wire.SleptFolder{{Name: "fix", Folder: "/w/fix", Why: "it has ignored files"}}}, nil
}

func (w *World) Compact(_ context.Context, id troupe.SessionID, hint string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.session(id); err != nil {
		return err
	}
	if id == Child {
		return fmt.Errorf("compact session %s: %w", id, troupe.ErrFenced)
	}
	w.did("compact %s %q", id, hint)
	return nil
}

func (w *World) Begin(_ context.Context, b wire.Begin) (wire.Begun, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if b.Resume == "gone" {
		return wire.Begun{}, notFound(b.Resume)
	}
	asked, err := json.Marshal(b) // with what pointers lead to
	w.did("begin %s %v", asked, err)
	return wire.Begun{
		Root: Root, Warnings: []string{"a <warning>"}, Before: []wire.Session{w.shape(w.sessions[0])},
		After: map[troupe.SessionID]int64{Root: 2},
	}, nil
}

func (w *World) Wait(_ context.Context, root troupe.SessionID) error { return w.order("wait", root) }

func (w *World) Leave(_ context.Context, root troupe.SessionID) (bool, error) {
	return root == Root, w.order("leave", root)
}

func (w *World) Remove(_ context.Context, root troupe.SessionID) error {
	return w.order("remove", root)
}

func (w *World) Change(_ context.Context, root troupe.SessionID, c wire.SessionChange) (wire.Session, error) {
	if c.Archive && root == Child {
		return wire.Session{}, fmt.Errorf("change session %s: %w", root, troupe.ErrArchived)
	}
	if err := w.order("change", root, c); err != nil {
		return wire.Session{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.session(root)
	out := w.shape(s)
	out.Name, out.Title, out.Archived = c.Rename, c.Title, c.Archive
	return out, err
}

// order notes an order to a session, with what goes with it.
func (w *World) order(verb string, id troupe.SessionID, with ...any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.session(id); err != nil {
		return err
	}
	w.did("%s %s %+v", verb, id, with)
	return nil
}

func (w *World) SetMode(_ context.Context, root troupe.SessionID, mode troupe.Mode) error {
	return w.order("mode", root, mode)
}

func (w *World) SetModel(_ context.Context, id troupe.SessionID, name string) (string, error) {
	return "script/" + name, w.order("model", id, name)
}

func (w *World) find(id string) (int, error) {
	for i, r := range w.requests {
		if strings.HasPrefix(r.ID, id) {
			return i, nil
		}
	}
	return 0, &troupe.UserError{Problem: "there is no open request " + id, Hint: "`troupe requests` lists them.",
		Code: troupe.ExitUsage, Err: troupe.ErrNotFound}
}

func (w *World) Request(_ context.Context, id string) (wire.Request, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, err := w.find(id)
	if err != nil {
		return wire.Request{}, err
	}
	return w.requests[i], nil
}

func (w *World) Answer(_ context.Context, id string, a wire.Answer) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, err := w.find(id)
	if err == nil {
		w.did("answer %s allow=%t session=%t %q", w.requests[i].ID, a.Allow, a.Session, a.Note)
		w.requests = slices.Delete(w.requests, i, i+1)
	}
	return err
}

func (w *World) Plans(_ context.Context, name string) ([]wire.Plan, error) {
	return []wire.Plan{{Name: "a<b>", File: "/p/a.md", Session: Child, Root: Root, State: wire.PlanWaits,
		Request: Request, Changed: Born(), Text: name}}, nil
}

func (w *World) Untrusted(_ context.Context, cwd string) ([]wire.Untrusted, error) {
	return []wire.Untrusted{{Folder: cwd, Lines: []string{"allow <Bash>"}, Changed: true, Added: []string{"allow"},
		Hash: "h"}}, nil
}

func (w *World) Trust(_ context.Context, t wire.Trust) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.did("trust %+v", t)
	return nil
}

func (w *World) Turns(_ context.Context, root troupe.SessionID) ([]wire.Turn, error) {
	code := 3
	return []wire.Turn{{
		Number: 1, At: Born(), Asked: "x", Files: []wire.FileChange{{Path: "/a", Agents: []string{"main"}, Writes: 1,
			New: true, Added: 2}},
		Commands: []wire.Command{{Turn: 1, Agent: "main", Tool: "Bash", Text: "make", State: wire.CommandEnded,
			ExitCode: &code}},
	}}, w.order("turns", root)
}

func (w *World) PlanUndo(_ context.Context, root troupe.SessionID, o wire.UndoOrder) (wire.Undo, error) {
	return wire.Undo{
		Type: wire.UndoType, Session: root, Turn: o.Turn, Plan: "p", Left: []wire.UndoFile{}, Same: []string{"/b"},
		Commands: []wire.Command{},
		Files: []wire.UndoFile{{Path: "/a", Action: wire.UndoRemove, Obstacle: wire.ObstacleChanged, Problem: "p",
			Added: 1}},
	}, w.order("plan", root, o)
}

func (w *World) Undo(_ context.Context, root troupe.SessionID, o wire.UndoOrder) (wire.Undo, error) {
	return wire.Undo{Type: wire.RedoType, Session: root, Applied: true, TakeBack: "troupe undo", Plan: o.Plan},
		w.order("undo", root, o)
}

func (w *World) Models(_ context.Context, cwd string) (wire.ModelList, error) {
	return wire.ModelList{Default: cwd, Aliases: map[string]string{"a": "b"},
		Models: []wire.ModelRow{{Name: "x/y", Window: 5, Input: 0.25}}}, nil
}

func (w *World) Model(_ context.Context, name, cwd string) (string, error) {
	if name == "none" {
		return "", &troupe.UserError{Problem: "there is no model none", Hint: "`troupe models` lists them.",
			Code: troupe.ExitUsage}
	}
	return "script/" + name + cwd, nil
}

func (w *World) Doctor(_ context.Context, cwd string) (wire.Diagnosis, error) {
	return wire.Diagnosis{Version: "1", Config: cwd, Window: &wire.WindowCheck{Model: "m", Claimed: 7},
		Waiting: []wire.WaitingSession{{ID: Root, Until: Born()}}}, nil
}

// Agents implements api.Machine.
func (w *World) Agents(_ context.Context, q wire.AgentQuery) (wire.AgentList, error) {
	return wire.AgentList{Agents: []wire.AgentType{{Name: "a", Source: q.Cwd, Tools: []string{}}},
		Files:    []wire.AgentCheck{{Path: fmt.Sprint(q.Paths, q.Check), Loaded: true, Warnings: []string{"a:1: odd"}}},
		Problems: []string{}}, nil
}

// Skills implements api.Using.
func (w *World) Skills(_ context.Context, q wire.SkillQuery) (wire.SkillList, error) {
	return wire.SkillList{Skills: []wire.Skill{{Name: "s" + q.Name, Source: q.Cwd, Tools: []string{}}},
		Files:    []wire.SkillCheck{{Path: fmt.Sprint(q.Paths, q.Check), Loaded: true, Warnings: []string{"a:1: odd"}}},
		Problems: []string{}}, nil
}

// Workflows implements api.Using.
func (w *World) Workflows(_ context.Context, q wire.WorkflowQuery) (wire.WorkflowList, error) {
	return wire.WorkflowList{Workflows: []wire.Workflow{{Name: "w" + q.Name, Source: q.Cwd,
		Inputs: []wire.WorkflowInput{{Name: "in", Default: &q.Name}},
		Steps:  []wire.WorkflowStep{{Name: fmt.Sprint(q.Paths, q.Inputs, q.Begin), Needs: []string{}}}}},
		Problems: []string{}}, nil
}

// Agent implements api.Machine.
func (w *World) Agent(_ context.Context, n wire.AgentName) (wire.AgentProfile, error) {
	return wire.AgentProfile{AgentType: wire.AgentType{Name: n.Name, Source: n.Cwd}, Resolved: "x/y",
		Has: []wire.ToolOf{{Tool: "Read", Has: true, Why: "all"}}, Notes: []string{}}, nil
}

// Setup implements api.API.
func (w *World) Setup() api.Setup { return setup{w} }

// Machine implements api.API.
func (w *World) Machine() api.Machine { return w }

// Serving implements api.API.
func (w *World) Serving() api.Serving { return w }

// setup implements api.Setup.
type setup struct{ *World }

// Hooks implements api.Setup.
func (setup) Hooks(_ context.Context, q wire.HookQuery) (wire.HookList, error) {
	return wire.HookList{Hooks: []wire.HookRow{{Event: q.Event, Type: "command", Run: q.Tool + string(q.Input)}},
		Problems: []string{}, Ran: []troupe.HookRan{{Event: q.Event, Name: "sh", Effect: troupe.HookDenied}},
		Follows: q.Cwd}, nil
}

// StatusLine implements api.Setup.
func (setup) StatusLine(_ context.Context, q wire.StatusQuery) (wire.StatusLine, error) {
	return wire.StatusLine{Text: q.Cwd + string(q.Root) + q.Model + string(q.Mode), Padding: q.Columns, Command: "c",
		Failed: "f"}, nil
}

// Servers implements api.Serving.
func (w *World) Servers(_ context.Context, q wire.ServerQuery) (wire.ServerList, error) {
	return wire.ServerList{Servers: []wire.ServerRow{{Name: q.Test, Source: q.Cwd,
		Tools: []wire.ServerTool{{Name: "t"}}}},
		Problems: []string{}}, nil
}

// Plugins implements api.Setup.
func (setup) Plugins(_ context.Context, q wire.PluginQuery) (wire.PluginList, error) {
	return wire.PluginList{Plugins: []wire.PluginRow{{ID: q.Name, Folder: q.Cwd, State: "on", Agents: q.Paths,
		Warnings: []string{"odd"}}},
		Problems: []string{fmt.Sprint(q.Check)}}, nil
}

// SetPlugin implements api.Setup.
func (setup) SetPlugin(_ context.Context, c wire.PluginChange) (wire.PluginList, error) {
	return wire.PluginList{Plugins: []wire.PluginRow{{ID: c.Name, Folder: c.Cwd, Why: string(c.Action)}}}, nil
}

// Workspaces implements api.Setup.
func (w setup) Workspaces() api.Workspaces { return workspaces(w) }

// workspaces implements api.Workspaces.
type workspaces struct{ *World }

// Worktrees implements api.Workspaces.
func (workspaces) Worktrees(_ context.Context, q wire.WorktreeQuery) ([]wire.Worktree, error) {
	if q.Name == "none" {
		return nil, noWorktree()
	}
	return []wire.Worktree{{Name: q.Name, Of: q.Cwd, There: q.All, Made: Born(), Changed: Born(),
		State:        wire.WorktreeUnmerged,
		WorktreeSums: wire.WorktreeSums{Files: 1, Added: 2, Conflicts: []string{"a<b>"}}}}, nil
}

func noWorktree() error {
	return &troupe.UserError{Problem: "no <worktree>", Hint: "h", Err: troupe.ErrNotFound}
}

// DiffWorktree implements api.Workspaces.
func (workspaces) DiffWorktree(_ context.Context, l wire.WorktreeLook) (wire.WorktreeDiff, error) {
	return wire.WorktreeDiff{Text: fmt.Sprint(l.Name, l.Stat)}, nil
}

// MergeWorktree implements api.Workspaces.
func (w workspaces) MergeWorktree(_ context.Context, m wire.WorktreeMerge) (wire.MergedWorktree, error) {
	if m.Name == "none" {
		return wire.MergedWorktree{}, noWorktree()
	}
	w.did("merge %s %s %t", m.Name, m.Into, m.DryRun)
	return wire.MergedWorktree{Branch: m.Into, Files: []wire.MergedFile{{Path: "/a<b>", Action: wire.MergeNew}},
		Conflicts: []wire.WorktreeConflict{{Path: "c", Hunks: []wire.WorktreeHunk{
			{Ours: wire.WorktreeLines{First: 3, Text: "x\n"}}}}}}, nil
}

// PushWorktree implements api.Workspaces.
func (w workspaces) PushWorktree(_ context.Context, p wire.WorktreePush) (wire.PushedWorktree, error) {
	if p.Name == "none" {
		return wire.PushedWorktree{}, noWorktree()
	}
	w.did("push %s %s %t %s %s", p.Name, p.Branch, p.PullRequest, p.Base, p.Title)
	return wire.PushedWorktree{Worktree: wire.Worktree{Name: p.Name, Made: Born()},
		Pushed: troupe.Pushed{To: "https://x/<y>.git", Branch: p.Branch, Commit: "c", PullRequest: "https://x/1",
			NotOpened: "no"}}, nil
}

// PruneWorktrees implements api.Workspaces.
func (w workspaces) PruneWorktrees(_ context.Context, p wire.WorktreePrune) ([]wire.PrunedWorktree, error) {
	w.did("prune %v %t", p.Names, p.DryRun)
	return []wire.PrunedWorktree{{Worktree: wire.Worktree{Of: p.Cwd, Made: Born()}, Removed: p.All, Why: "y"}}, nil
}

// Memories implements api.Setup.
func (w setup) Memories(_ context.Context, q wire.MemoryQuery) ([]wire.Memory, error) {
	return []wire.Memory{{Agent: "a<b>" + q.Agent, Scope: q.Scope, Folder: q.Cwd, Files: []string{q.File}, Text: "t",
		ETag: `"m1"`}}, nil
}

// SetMemory implements api.Setup.
func (w setup) SetMemory(_ context.Context, c wire.MemoryChange) (wire.Memory, error) {
	if c.Text == nil {
		return wire.Memory{}, &troupe.UserError{Problem: "no <memory>", Err: troupe.ErrNotFound}
	}
	w.did("memory %s %q %+v", c.Agent, *c.Text, c.Precondition)
	return wire.Memory{Agent: c.Agent, Files: []string{}, Text: *c.Text, ETag: `"m2"`}, nil
}

// SetServer implements api.Serving.
func (w *World) SetServer(_ context.Context, c wire.ServerChange) (wire.ServerChanged, error) {
	w.did("server %s %+v", c.Name, c.Precondition)
	return wire.ServerChanged{File: c.Cwd + c.Scope + c.Name, Notes: []string{string(c.Entry)}, ETag: `"s2"`}, nil
}

// Login implements api.Serving.
func (w *World) Login(_ context.Context, l wire.ServerLogin) (wire.ServerLogged, error) {
	return wire.ServerLogged{ID: l.ID, Address: l.Cwd + l.Name, Redirect: fmt.Sprint(l.Action, l.Scopes),
		Server: &wire.ServerRow{Name: l.Name}, Gone: true}, nil
}

func (w *World) Rules(_ context.Context, p wire.Place) (wire.RuleList, error) {
	return wire.RuleList{Mode: p.Mode, Rules: []wire.RuleRow{{Rule: fmt.Sprint(p.Allow, p.Deny, p.Trust)}},
		Warnings: []string{p.Cwd + p.Agents}}, nil
}

func (w *World) Explain(_ context.Context, p wire.Place, calls []wire.Call) (wire.Explained, error) {
	var out wire.Explained
	for _, c := range calls {
		out.Verdicts = append(out.Verdicts, wire.Verdict{ID: c.ID, Decision: troupe.Ask,
			Why: p.Cwd + c.Tool + string(c.Input)})
	}
	return out, nil
}

// Server implements api.API.
func (w *World) Server() api.Server { return server{w} }

// server implements api.Server, and api.Hosting.
type server struct{ *World }

// People implements api.Server.
func (w server) People() api.People { return people(w) }

// Hosting implements api.Server.
func (w server) Hosting() api.Hosting { return w }

// Acts implements api.Server.
func (server) Acts(_ context.Context, q wire.ActQuery) ([]wire.Act, error) {
	return []wire.Act{{ID: q.After, At: Born(), By: q.By, Verb: "drain", About: q.About, Outcome: wire.ActDone,
		Problem: strings.Repeat("p", q.Limit)}}, nil
}

// Hosted implements api.Hosting, as do the methods below.
func (server) Hosted(context.Context) (wire.Hosted, error) {
	return wire.Hosted{Workers: []wire.Worker{{ID: "w<1>", PID: 7, Host: "h", Folders: []string{"/src"}, Since: Born(),
		Draining: &wire.Draining{By: "ann", Since: Born(), Until: Born()}}},
		Sessions: []wire.KeptGoing{{ID: Root, State: "parked", Since: Born(), Tries: 3, Failed: 1, Why: "why?"}},
		Paused:   []wire.Paused{{Folder: "/else", By: "ann", Since: Born()}}}, nil
}

func (w server) Drain(_ context.Context, d wire.Drain) error {
	if d.Worker == "none" {
		return noUser()
	}
	w.did("drain %s %d %t", d.Worker, d.WithinMS, d.Cancel)
	return nil
}

func (w server) Pause(_ context.Context, p wire.Pause) error {
	w.did("pause %s %t", p.Where, p.End)
	return nil
}

// people implements api.People.
type people struct{ *World }

// Me implements api.People, as do the methods below.
func (people) Me(context.Context) (wire.Me, error) {
	return wire.Me{Name: "ada<b>", Right: troupe.RightOperator, Version: "v", Folders: []string{"/src"}}, nil
}

func (people) Users(context.Context) ([]wire.User, error) {
	return []wire.User{{Name: "ada<b>", Right: troupe.RightAdmin, CreatedAt: Born()}}, nil
}

func (w people) SetUser(_ context.Context, c wire.UserChange) (wire.UserChanged, error) {
	if c.Name == "none" {
		return wire.UserChanged{}, noUser()
	}
	if c.IfNew && c.Name == "there" {
		return wire.UserChanged{}, &troupe.UserError{Problem: "it is there", Hint: "h", Code: troupe.ExitUsage,
			Err: troupe.ErrExists}
	}
	w.did("user %s %s %t %t %+v", c.Name, c.Right, c.Remove, c.Invite, c.Precondition)
	u := wire.User{Name: c.Name, Right: c.Right, CreatedAt: Born(), ETag: `"u2"`}
	return wire.UserChanged{User: u, Code: "c", Until: Born()}, nil
}

func (people) Tokens(context.Context) ([]wire.Token, error) {
	return []wire.Token{{ID: "t", User: "ada<b>", Label: "l", CreatedAt: Born(), ExpiresAt: Born(), Yours: true}}, nil
}

func (w people) Revoke(_ context.Context, r wire.Revoke) error {
	if r.ID == "none" {
		return noUser()
	}
	w.did("revoke %s", r.ID)
	return nil
}

func noUser() error {
	return &troupe.UserError{Problem: "no <user>", Hint: "h", Code: troupe.ExitUsage, Err: troupe.ErrNotFound}
}

// Schedules implements api.Server.
func (w server) Schedules() api.Schedules { return schedules(w) }

// schedules implements api.Schedules.
type schedules struct{ *World }

// planned is a schedule with all that one can say.
func planned(t wire.ScheduleTerms) wire.Schedule {
	return wire.Schedule{ScheduleTerms: t, By: "ada<b>", Paused: "p", Next: Born(), Queued: 1, RunsToday: 2,
		CostToday: 0.5, Unserved: "u",
		Last: &wire.ScheduleRun{At: Born(), Root: Root, Why: "y", Status: troupe.Running}}
}

// Schedules implements api.Schedules, as do the methods below.
func (schedules) Schedules(context.Context) ([]wire.Schedule, error) {
	return []wire.Schedule{planned(wire.ScheduleTerms{Name: "n"})}, nil
}

func (schedules) Schedule(_ context.Context, name string) (wire.Schedule, error) {
	if name == "none" {
		return wire.Schedule{}, noSchedule(troupe.ErrNotFound)
	}
	return planned(wire.ScheduleTerms{Name: name}), nil
}

func (w schedules) SetSchedule(_ context.Context, t wire.ScheduleTerms) (wire.Schedule, error) {
	if t.Name == "none" {
		return wire.Schedule{}, noSchedule(troupe.ErrChanged)
	}
	w.did("schedule %+v", t)
	return planned(t), nil
}

func (w schedules) RemoveSchedule(_ context.Context, name string) error {
	return w.plan("remove", name)
}

func (w schedules) RunSchedule(_ context.Context, name string) (wire.Schedule, error) {
	return planned(wire.ScheduleTerms{Name: name}), w.plan("run", name)
}

func (w schedules) PauseSchedule(_ context.Context, name string, p wire.SchedulePause) (wire.Schedule, error) {
	return planned(wire.ScheduleTerms{Name: name}), w.plan(fmt.Sprintf("pause %t", p.End), name)
}

func (w schedules) plan(verb, name string) error {
	if name == "none" {
		return noSchedule(troupe.ErrNotFound)
	}
	w.did("%s schedule %s", verb, name)
	return nil
}

func noSchedule(err error) error {
	return &troupe.UserError{Problem: "no <schedule>", Hint: "h", Code: troupe.ExitUsage, Err: err}
}

// Webhooks implements api.Server.
func (w server) Webhooks() api.Webhooks { return webhooks(w) }

// webhooks implements api.Webhooks.
type webhooks struct{ *World }

// hooked is a webhook with all that one can say.
func hooked(t wire.WebhookTerms) wire.Webhook {
	return wire.Webhook{WebhookTerms: t, Address: "/a", By: "ada<b>", Paused: "p", Queued: 1, RunsToday: 2,
		CostToday: 0.5,
		Unserved:  "u", Last: &wire.ScheduleRun{At: Born(), Root: Root, Why: "y", Status: troupe.Running},
		Deliveries: []wire.WebhookDelivery{{ID: "i", At: Born(), State: "failed", Root: Root, Why: "y"}}}
}

// Webhooks implements api.Webhooks, as do the methods below.
func (webhooks) Webhooks(context.Context) ([]wire.Webhook, error) {
	return []wire.Webhook{hooked(wire.WebhookTerms{Name: "n"})}, nil
}

func (webhooks) Webhook(_ context.Context, name string) (wire.Webhook, error) {
	if name == "none" {
		return wire.Webhook{}, noSchedule(troupe.ErrNotFound)
	}
	return hooked(wire.WebhookTerms{Name: name}), nil
}

func (w webhooks) SetWebhook(_ context.Context, t wire.WebhookTerms) (wire.WebhookChanged, error) {
	if t.Name == "none" {
		return wire.WebhookChanged{}, noSchedule(troupe.ErrChanged)
	}
	w.did("webhook %+v", t)
	return wire.WebhookChanged{Webhook: hooked(t), Secret: "s"}, nil
}

func (w webhooks) RemoveWebhook(_ context.Context, name string) error {
	return schedules(w).plan("remove hook", name)
}

func (w webhooks) PauseWebhook(_ context.Context, name string, p wire.WebhookPause) (wire.Webhook, error) {
	return hooked(wire.WebhookTerms{Name: name}), schedules(w).plan(fmt.Sprintf("pause hook %t", p.End), name)
}

// Targets implements api.Server.
func (w server) Targets() api.Targets { return targets(w) }

// targets implements api.Targets.
type targets struct{ *World }

// aimed is a target with all that one can say.
func aimed(t wire.TargetTerms) wire.Target {
	try := wire.NoticeTry{ID: "msg_1", Type: wire.NoticeSessionEnded, At: Born(), Status: 500, Why: "y"}
	return wire.Target{TargetTerms: t, By: "ada<b>", Stopped: "s", Waiting: 1, Dead: 2, Delivered: 3, Failed: 4,
		Dropped: 5, Last: &try, Letters: []wire.DeadLetter{{NoticeTry: try, Tries: 8, Session: Root}}}
}

// Targets implements api.Targets, as do the methods below.
func (targets) Targets(context.Context) ([]wire.Target, error) {
	return []wire.Target{aimed(wire.TargetTerms{Name: "n", Events: wire.NoticeEvents()})}, nil
}

func (targets) Target(_ context.Context, name string) (wire.Target, error) {
	if name == "none" {
		return wire.Target{}, noSchedule(troupe.ErrNotFound)
	}
	return aimed(wire.TargetTerms{Name: name}), nil
}

func (w targets) SetTarget(_ context.Context, t wire.TargetTerms) (wire.TargetChanged, error) {
	if t.Name == "none" {
		return wire.TargetChanged{}, noSchedule(troupe.ErrChanged)
	}
	w.did("target %+v", t)
	return wire.TargetChanged{Target: aimed(t), Secret: "s"}, nil
}

func (w targets) RemoveTarget(_ context.Context, name string) error {
	return schedules(w).plan("remove target", name)
}

func (w targets) TestTarget(_ context.Context, name string) (wire.NoticeTry, error) {
	return *aimed(wire.TargetTerms{}).Last, schedules(w).plan("test target", name)
}

func (w targets) ReplayTarget(_ context.Context, name string, r wire.Replay) (wire.Replayed, error) {
	return wire.Replayed{Notices: 2}, schedules(w).plan("replay target "+r.Notice, name)
}
