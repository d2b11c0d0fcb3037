package client

import (
	"cmp"
	"context"
	"strconv"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

var _ api.API = (*Client)(nil)

// Find implements api.Sessions, as do the methods below.
func (c *Client) Find(ctx context.Context, ref, cwd string) (wire.Session, error) {
	return get[wire.Session](ctx, c, "find-session", ref, queryOf("cwd", cwd))
}

func (c *Client) List(ctx context.Context, l wire.Listing) ([]wire.Session, error) {
	query := queryOf("cwd", l.Cwd, "parent", string(l.Parent), "status", string(l.Status), "by", l.By, "text", l.Text,
		"after", string(l.After), "limit", strconv.Itoa(l.Limit), "quiet_ms", strconv.FormatInt(l.QuietMS, 10))
	if l.Archived {
		query.Set("archived", "true")
	}
	return get[[]wire.Session](ctx, c, "list-sessions", "", query)
}

func (c *Client) Tree(ctx context.Context, id troupe.SessionID) (wire.Tree, error) {
	return get[wire.Tree](ctx, c, "tree", string(id), nil)
}

func (c *Client) Team(ctx context.Context, id troupe.SessionID) (wire.Team, error) {
	return get[wire.Team](ctx, c, "team", string(id), nil)
}

func (c *Client) Report(ctx context.Context, id troupe.SessionID) (wire.Report, error) {
	return get[wire.Report](ctx, c, "report", string(id), nil)
}

func (c *Client) Cost(ctx context.Context, id troupe.SessionID) (wire.Cost, error) {
	return get[wire.Cost](ctx, c, "cost", string(id), nil)
}

func (c *Client) Context(ctx context.Context, id troupe.SessionID) (wire.Context, error) {
	return get[wire.Context](ctx, c, "context", string(id), nil)
}

func (c *Client) Tasks(ctx context.Context, id troupe.SessionID) ([]wire.Task, error) {
	if id == "" {
		return get[[]wire.Task](ctx, c, "tasks", "", nil)
	}
	return get[[]wire.Task](ctx, c, "session-tasks", string(id), nil)
}

// Begin implements api.Runs, as do the methods below. The run is one of the process over there.
func (c *Client) Begin(ctx context.Context, b wire.Begin) (wire.Begun, error) {
	if b.Resume != "" || b.Continue {
		return postFor[wire.Begun](ctx, c, "begin", "", b)
	}
	return once[wire.Begun](ctx, c, "begin", "", &b, &b.Once)
}

func (c *Client) Wait(ctx context.Context, root troupe.SessionID) error {
	for {
		if w, err := postFor[wire.Ended](ctx, c, "wait", string(root), nil); err != nil || w.Ended {
			return err
		}
	}
}

func (c *Client) Leave(ctx context.Context, root troupe.SessionID) (bool, error) {
	l, err := postFor[wire.Left](ctx, c, "leave", string(root), nil)
	return l.Left, err
}

func (c *Client) Remove(ctx context.Context, root troupe.SessionID) error {
	return post(ctx, c, "remove", string(root), nil)
}

func (c *Client) Change(ctx context.Context, root troupe.SessionID, s wire.SessionChange) (wire.Session, error) {
	return postFor[wire.Session](ctx, c, "change-session", string(root), s)
}

// Send implements api.Steering, as do the methods below.
func (c *Client) Send(ctx context.Context, id troupe.SessionID, m wire.Message) (wire.Sent, error) {
	return once[wire.Sent](ctx, c, "send", string(id), &m, &m.Once)
}

func (c *Client) Stop(ctx context.Context, id troupe.SessionID, s wire.Stop) error {
	return post(ctx, c, "stop", string(id), s)
}

func (c *Client) Background(ctx context.Context, id troupe.SessionID) error {
	return post(ctx, c, "background", string(id), nil)
}

func (c *Client) Sleep(ctx context.Context, root troupe.SessionID, o wire.Sleep) (wire.Slept, error) {
	return postFor[wire.Slept](ctx, c, "sleep", string(root), o)
}

func (c *Client) Compact(ctx context.Context, id troupe.SessionID, hint string) error {
	return post(ctx, c, "compact", string(id), wire.Hint{Hint: hint})
}

func (c *Client) SetMode(ctx context.Context, root troupe.SessionID, mode troupe.Mode) error {
	return post(ctx, c, "mode", string(root), wire.ModeChoice{Mode: string(mode)})
}

func (c *Client) SetModel(ctx context.Context, id troupe.SessionID, name string) (string, error) {
	m, err := postFor[wire.ModelChoice](ctx, c, "model", string(id), wire.ModelChoice{Model: name})
	return m.Model, err
}

// Requests implements api.Requests, as do the methods below.
func (c *Client) Requests(ctx context.Context, root troupe.SessionID) ([]wire.Request, error) {
	return get[[]wire.Request](ctx, c, "list-requests", "", queryOf("root", string(root)))
}

func (c *Client) Request(ctx context.Context, id string) (wire.Request, error) {
	return get[wire.Request](ctx, c, "request", cmp.Or(id, wire.OnlyRequest), nil)
}

func (c *Client) Answer(ctx context.Context, id string, a wire.Answer) error {
	return post(ctx, c, "answer", cmp.Or(id, wire.OnlyRequest), a)
}

func (c *Client) Plans(ctx context.Context, name string) ([]wire.Plan, error) {
	return get[[]wire.Plan](ctx, c, "plans", "", queryOf("name", name))
}

// Untrusted implements api.Trusting, as does Trust.
func (c *Client) Untrusted(ctx context.Context, cwd string) ([]wire.Untrusted, error) {
	return get[[]wire.Untrusted](ctx, c, "untrusted", "", queryOf("cwd", cwd))
}

func (c *Client) Trust(ctx context.Context, t wire.Trust) error { return post(ctx, c, "trust", "", t) }

// Turns implements api.Undoing, as do the methods below.
func (c *Client) Turns(ctx context.Context, root troupe.SessionID) ([]wire.Turn, error) {
	return get[[]wire.Turn](ctx, c, "turns", string(root), nil)
}

func (c *Client) PlanUndo(ctx context.Context, root troupe.SessionID, o wire.UndoOrder) (wire.Undo, error) {
	query := queryOf("turn", strconv.Itoa(o.Turn), "redo", strconv.FormatBool(o.Redo))
	return get[wire.Undo](ctx, c, "plan-undo", string(root), query)
}

func (c *Client) Undo(ctx context.Context, root troupe.SessionID, o wire.UndoOrder) (wire.Undo, error) {
	return postFor[wire.Undo](ctx, c, "undo", string(root), o)
}

// Models implements api.Machine, as do the methods below.
func (c machine) Models(ctx context.Context, cwd string) (wire.ModelList, error) {
	return get[wire.ModelList](ctx, c.to, "models", "", queryOf("cwd", cwd))
}

func (c machine) Model(ctx context.Context, name, cwd string) (string, error) {
	m, err := get[wire.ModelChoice](ctx, c.to, "default-model", "", queryOf("name", name, "cwd", cwd))
	return m.Model, err
}

func (c machine) Doctor(ctx context.Context, cwd string) (wire.Diagnosis, error) {
	return get[wire.Diagnosis](ctx, c.to, "doctor", "", queryOf("cwd", cwd))
}

func (c machine) Agents(ctx context.Context, q wire.AgentQuery) (wire.AgentList, error) {
	return postFor[wire.AgentList](ctx, c.to, "agents", "", q)
}

// Skills implements api.Using.
func (c *Client) Skills(ctx context.Context, q wire.SkillQuery) (wire.SkillList, error) {
	return postFor[wire.SkillList](ctx, c, "skills", "", q)
}

// Workflows implements api.Using.
func (c *Client) Workflows(ctx context.Context, q wire.WorkflowQuery) (wire.WorkflowList, error) {
	return postFor[wire.WorkflowList](ctx, c, "workflows", "", q)
}

func (c machine) Agent(ctx context.Context, n wire.AgentName) (wire.AgentProfile, error) {
	return postFor[wire.AgentProfile](ctx, c.to, "agent", "", n)
}

func (c machine) Rules(ctx context.Context, p wire.Place) (wire.RuleList, error) {
	return postFor[wire.RuleList](ctx, c.to, "rules", "", p)
}

// Setup implements api.API.
func (c *Client) Setup() api.Setup { return setup{c} }

// Machine implements api.API.
func (c *Client) Machine() api.Machine { return machine{c} }

// Serving implements api.API.
func (c *Client) Serving() api.Serving { return serving{c} }

// machine implements api.Machine.
type machine struct{ to *Client }

// serving implements api.Serving.
type serving struct{ to *Client }

// setup implements api.Setup.
type setup struct{ to *Client }

func (c setup) Hooks(ctx context.Context, q wire.HookQuery) (wire.HookList, error) {
	return postFor[wire.HookList](ctx, c.to, "hooks", "", q)
}

func (c setup) StatusLine(ctx context.Context, q wire.StatusQuery) (wire.StatusLine, error) {
	return postFor[wire.StatusLine](ctx, c.to, "status-line", "", q)
}

func (c setup) Plugins(ctx context.Context, q wire.PluginQuery) (wire.PluginList, error) {
	return postFor[wire.PluginList](ctx, c.to, "plugins", "", q)
}

func (c setup) SetPlugin(ctx context.Context, p wire.PluginChange) (wire.PluginList, error) {
	return postFor[wire.PluginList](ctx, c.to, "set-plugin", "", p)
}

func (c serving) Servers(ctx context.Context, q wire.ServerQuery) (wire.ServerList, error) {
	return postFor[wire.ServerList](ctx, c.to, "servers", "", q)
}

func (c serving) Login(ctx context.Context, l wire.ServerLogin) (wire.ServerLogged, error) {
	return postFor[wire.ServerLogged](ctx, c.to, "login", "", l)
}

func (c serving) SetServer(ctx context.Context, s wire.ServerChange) (wire.ServerChanged, error) {
	return postFor[wire.ServerChanged](ctx, c.to, "set-server", "", s)
}

func (c machine) Explain(ctx context.Context, p wire.Place, calls []wire.Call) (wire.Explained, error) {
	return postFor[wire.Explained](ctx, c.to, "explain", "", wire.Explain{Place: p, Calls: calls})
}

// Workspaces implements api.Setup.
func (c setup) Workspaces() api.Workspaces { return workspaces(c) }

// workspaces implements api.Workspaces.
type workspaces struct{ to *Client }

func (c workspaces) Worktrees(ctx context.Context, q wire.WorktreeQuery) ([]wire.Worktree, error) {
	return postFor[[]wire.Worktree](ctx, c.to, "worktrees", "", q)
}

func (c workspaces) DiffWorktree(ctx context.Context, l wire.WorktreeLook) (wire.WorktreeDiff, error) {
	return postFor[wire.WorktreeDiff](ctx, c.to, "diff-worktree", "", l)
}

func (c workspaces) MergeWorktree(ctx context.Context, m wire.WorktreeMerge) (wire.MergedWorktree, error) {
	return postFor[wire.MergedWorktree](ctx, c.to, "merge-worktree", "", m)
}

func (c workspaces) PushWorktree(ctx context.Context, p wire.WorktreePush) (wire.PushedWorktree, error) {
	return postFor[wire.PushedWorktree](ctx, c.to, "push-worktree", "", p)
}

func (c workspaces) PruneWorktrees(ctx context.Context, p wire.WorktreePrune) ([]wire.PrunedWorktree, error) {
	return postFor[[]wire.PrunedWorktree](ctx, c.to, "prune-worktrees", "", p)
}

// Memories implements api.Setup.
func (c setup) Memories(ctx context.Context, q wire.MemoryQuery) ([]wire.Memory, error) {
	return postFor[[]wire.Memory](ctx, c.to, "memories", "", q)
}

// SetMemory implements api.Setup.
func (c setup) SetMemory(ctx context.Context, m wire.MemoryChange) (wire.Memory, error) {
	return postFor[wire.Memory](ctx, c.to, "set-memory", "", m)
}

// Server implements api.API.
func (c *Client) Server() api.Server { return server{c} }

// server implements api.Server, and api.Hosting.
type server struct{ to *Client }

// People implements api.Server.
func (c server) People() api.People { return people(c) }

// Hosting implements api.Server.
func (c server) Hosting() api.Hosting { return c }

// Acts implements api.Server.
func (c server) Acts(ctx context.Context, q wire.ActQuery) ([]wire.Act, error) {
	return get[[]wire.Act](ctx, c.to, "acts", "", queryOf("by", q.By, "about", q.About, "after", q.After, "limit",
		strconv.Itoa(q.Limit)))
}

// Hosted implements api.Hosting, as do the methods below.
func (c server) Hosted(ctx context.Context) (wire.Hosted, error) {
	return get[wire.Hosted](ctx, c.to, "hosted", "", nil)
}

func (c server) Drain(ctx context.Context, d wire.Drain) error {
	return post(ctx, c.to, "drain", "", d)
}

func (c server) Pause(ctx context.Context, p wire.Pause) error {
	return post(ctx, c.to, "pause", "", p)
}

// people implements api.People.
type people struct{ to *Client }

func (c people) Me(ctx context.Context) (wire.Me, error) {
	return get[wire.Me](ctx, c.to, "me", "", nil)
}

func (c people) Users(ctx context.Context) ([]wire.User, error) {
	return get[[]wire.User](ctx, c.to, "users", "", nil)
}

func (c people) SetUser(ctx context.Context, u wire.UserChange) (wire.UserChanged, error) {
	return postFor[wire.UserChanged](ctx, c.to, "set-user", "", u)
}

func (c people) Tokens(ctx context.Context) ([]wire.Token, error) {
	return get[[]wire.Token](ctx, c.to, "tokens", "", nil)
}

func (c people) Revoke(ctx context.Context, r wire.Revoke) error {
	return post(ctx, c.to, "revoke", "", r)
}

// Stored implements api.Server.
func (c server) Stored() api.Stored { return stored(c) }

// Schedules implements api.Server.
func (c server) Schedules() api.Schedules { return schedules(c) }

// schedules implements api.Schedules.
type schedules struct{ to *Client }

func (c schedules) Schedules(ctx context.Context) ([]wire.Schedule, error) {
	return get[[]wire.Schedule](ctx, c.to, "schedules", "", nil)
}

func (c schedules) Schedule(ctx context.Context, name string) (wire.Schedule, error) {
	return get[wire.Schedule](ctx, c.to, "schedule", name, nil)
}

func (c schedules) SetSchedule(ctx context.Context, t wire.ScheduleTerms) (wire.Schedule, error) {
	return postFor[wire.Schedule](ctx, c.to, "set-schedule", "", t)
}

func (c schedules) RemoveSchedule(ctx context.Context, name string) error {
	return post(ctx, c.to, "remove-schedule", name, nil)
}

func (c schedules) RunSchedule(ctx context.Context, name string) (wire.Schedule, error) {
	return postFor[wire.Schedule](ctx, c.to, "run-schedule", name, nil)
}

func (c schedules) PauseSchedule(ctx context.Context, name string, p wire.SchedulePause) (wire.Schedule, error) {
	return postFor[wire.Schedule](ctx, c.to, "pause-schedule", name, p)
}

// Webhooks implements api.Server.
func (c server) Webhooks() api.Webhooks { return webhooks(c) }

// webhooks implements api.Webhooks.
type webhooks struct{ to *Client }

func (c webhooks) Webhooks(ctx context.Context) ([]wire.Webhook, error) {
	return get[[]wire.Webhook](ctx, c.to, "webhooks", "", nil)
}

func (c webhooks) Webhook(ctx context.Context, name string) (wire.Webhook, error) {
	return get[wire.Webhook](ctx, c.to, "webhook", name, nil)
}

func (c webhooks) SetWebhook(ctx context.Context, t wire.WebhookTerms) (wire.WebhookChanged, error) {
	return postFor[wire.WebhookChanged](ctx, c.to, "set-webhook", "", t)
}

func (c webhooks) RemoveWebhook(ctx context.Context, name string) error {
	return post(ctx, c.to, "remove-webhook", name, nil)
}

func (c webhooks) PauseWebhook(ctx context.Context, name string, p wire.WebhookPause) (wire.Webhook, error) {
	return postFor[wire.Webhook](ctx, c.to, "pause-webhook", name, p)
}

// Targets implements api.Server.
func (c server) Targets() api.Targets { return targets(c) }

// targets implements api.Targets.
type targets struct{ to *Client }

func (c targets) Targets(ctx context.Context) ([]wire.Target, error) {
	return get[[]wire.Target](ctx, c.to, "targets", "", nil)
}

func (c targets) Target(ctx context.Context, name string) (wire.Target, error) {
	return get[wire.Target](ctx, c.to, "target", name, nil)
}

func (c targets) SetTarget(ctx context.Context, t wire.TargetTerms) (wire.TargetChanged, error) {
	return postFor[wire.TargetChanged](ctx, c.to, "set-target", "", t)
}

func (c targets) RemoveTarget(ctx context.Context, name string) error {
	return post(ctx, c.to, "remove-target", name, nil)
}

func (c targets) TestTarget(ctx context.Context, name string) (wire.NoticeTry, error) {
	return postFor[wire.NoticeTry](ctx, c.to, "test-target", name, nil)
}

func (c targets) ReplayTarget(ctx context.Context, name string, r wire.Replay) (wire.Replayed, error) {
	return postFor[wire.Replayed](ctx, c.to, "replay-target", name, r)
}
