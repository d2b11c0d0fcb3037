// Package api is what all surfaces speak: the use cases of Troupe as a few interfaces by noun,
// over the types of package wire and the vocabulary. The app implements them in its own process,
// package client over HTTP, and api/router finds the process that runs a tree and calls one of
// the two. They answer alike, errors included; package apitest is the suite that holds them to it.
//
// An API belongs to one caller (see troupe.Caller), who stands on every event that its calls
// cause. All methods may be called from several goroutines at once. A call ends with its context;
// what it asked for may have happened by then.
package api

import (
	"context"
	"errors"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// ErrUnreachable means that a process could not be called: nothing was asked of it, and nothing done.
var ErrUnreachable = errors.New("the process does not answer on its socket")

// ErrSilent means that a process takes calls and does not answer them: it is stopped, or hangs.
var ErrSilent = errors.New("the process takes calls and does not answer")

// ErrLost means that a process went away before it had answered: what was asked of it may have been done.
var ErrLost = errors.New("the process went away before it had answered")

// HeldError is the refusal of what another process's having a tree in hand stands against.
type HeldError struct{ Root troupe.SessionID }

func (e *HeldError) Error() string {
	return "session " + string(e.Root) + " is in the hands of another process"
}

// API is all that a surface can ask for.
type API interface {
	Sessions
	Measures
	Runs
	Steering
	Requests
	Following
	Trusting
	Undoing
	Using
	// Setup is what is set up for sessions.
	Setup() Setup
	// Serving is about MCP servers.
	Serving() Serving
	// Machine is about what there is on this machine and what would hold in a folder.
	Machine() Machine
	// Server is about a server, its users and its processes.
	Server() Server
}

// Sessions looks at sessions and trees. It answers from the log, whoever runs them.
type Sessions interface {
	// Find resolves what people type for a session: an id or the beginning of one, a name, a path
	// such as "main/Auth Explorer", or the bare name of an agent. "main" is the newest main agent
	// of the folder cwd. Only Find tells a session's Result.
	Find(ctx context.Context, ref, cwd string) (wire.Session, error)
	// List returns main agents, or the sub-agents of a session, the newest first, a page at a time.
	List(ctx context.Context, l wire.Listing) ([]wire.Session, error)
	// Tree reads the whole tree that a session belongs to.
	Tree(ctx context.Context, id troupe.SessionID) (wire.Tree, error)
	// Team is the roster of the team that the main agent of a session leads. It has no members if there is none.
	Team(ctx context.Context, id troupe.SessionID) (wire.Team, error)
	// Events reads up to limit events of one session after a number; 0 is no limit.
	Events(ctx context.Context, id troupe.SessionID, after int64, limit int) ([]troupe.Event, error)
}

// Measures says what trees and contexts come to, and what is at work. It answers from the log, as Sessions does.
type Measures interface {
	// Report is what the last run of the tree that a session belongs to came to.
	Report(ctx context.Context, id troupe.SessionID) (wire.Report, error)
	// Cost is the bill of the tree that a session belongs to, with its limits.
	Cost(ctx context.Context, id troupe.SessionID) (wire.Cost, error)
	// Context is what the next model call of a session sends, by where it comes from.
	Context(ctx context.Context, id troupe.SessionID) (wire.Context, error)
	// Tasks lists what is, or was, at work for a session and for all below it, and a main agent at
	// work as its own task; without a session, that of every tree with something at work.
	Tasks(ctx context.Context, id troupe.SessionID) ([]wire.Task, error)
}

// Runs sets trees to work in the process that answers, and ends that.
type Runs interface {
	// Begin begins a tree, or goes on with one, and returns at once.
	Begin(ctx context.Context, b wire.Begin) (wire.Begun, error)
	// Wait returns when every session of a tree has ended. The tree is run by the process that answers.
	Wait(ctx context.Context, root troupe.SessionID) error
	// Leave lets go of a tree that is over: from then on mail to it waits in the home for the
	// process that goes on with it. It returns false, and lets go of nothing, if something is at
	// work in it.
	Leave(ctx context.Context, root troupe.SessionID) (bool, error)
	// Remove forgets a whole tree: logs, mail and stored output. One that a live process has in
	// hand is refused.
	Remove(ctx context.Context, root troupe.SessionID) error
	// Change renames a main agent, archives its tree or takes it out of the archive. One in which something is at
	// work, or that a live process has in hand, is not archived. Nothing of an archived tree goes on: what would, mail
	// included, is troupe.ErrArchived.
	Change(ctx context.Context, root troupe.SessionID, c wire.SessionChange) (wire.Session, error)
}

// Steering changes what sessions do while they live. All but Background and Sleep is mail: it is committed
// before it is acted on, and waits in the home if no process runs the tree.
type Steering interface {
	// Send gives a session words: steering while it works, another run when it had ended.
	Send(ctx context.Context, id troupe.SessionID, m wire.Message) (wire.Sent, error)
	// Stop ends the run of a session, of all of a tree, or one command in the background.
	Stop(ctx context.Context, id troupe.SessionID, s wire.Stop) error
	// Background has a sub-agent that its parent waits for go on by itself; of a main agent that is at
	// work, every agent and command that it waits for.
	Background(ctx context.Context, id troupe.SessionID) error
	// Sleep puts a whole tree away, whether a process runs it or none: nothing of it goes on before it is woken, by
	// Begin. Who waits for it is told troupe.ErrAsleep.
	Sleep(ctx context.Context, root troupe.SessionID, o wire.Sleep) (wire.Slept, error)
	// Compact has a session shorten its conversation; hint says what to keep.
	Compact(ctx context.Context, id troupe.SessionID, hint string) error
	// SetMode changes the permission mode of a tree, from the next call on.
	SetMode(ctx context.Context, root troupe.SessionID, mode troupe.Mode) error
	// SetModel moves a session to another model, and returns that model's full name.
	SetModel(ctx context.Context, id troupe.SessionID, name string) (full string, err error)
}

// Requests are the questions that wait for an answer.
type Requests interface {
	// Requests lists the open requests of a tree, or of all trees.
	Requests(ctx context.Context, root troupe.SessionID) ([]wire.Request, error)
	// Request finds the one open request whose id is, or begins with, id. Without an id there must
	// be just one.
	Request(ctx context.Context, id string) (wire.Request, error)
	// Answer answers a request, named as for Request.
	Answer(ctx context.Context, id string, a wire.Answer) error
	// Plans lists the plans that sessions have written, the last changed first. With a name, or the beginning of
	// one, it is that plan alone, with its text.
	Plans(ctx context.Context, name string) ([]wire.Plan, error)
}

// Following follows trees.
type Following interface {
	// Follow begins to follow a tree, or one session of it. Close must be called on the stream.
	Follow(ctx context.Context, f wire.Follow) (Stream, error)
}

// Stream brings the committed events of a tree, each session's in order and none twice, and pieces
// of replies on their way. It belongs to one goroutine. A slow reader holds no agent up: events
// wait for it in the log, and deltas may be dropped.
type Stream interface {
	// Next waits until there is something to tell. The batch may be empty, and is when ctx is done.
	Next(ctx context.Context) (wire.Batch, error)
	// Rest returns the events that were committed since the last batch, without waiting.
	Rest(ctx context.Context) ([]troupe.Event, error)
	Close()
}

// Trusting is about folders whose own files would allow something.
type Trusting interface {
	// Untrusted lists the folders to decide about before work begins in cwd.
	Untrusted(ctx context.Context, cwd string) ([]wire.Untrusted, error)
	// Trust trusts a folder with what a person was shown, and no more than that: if its files have
	// changed since, it is refused.
	Trust(ctx context.Context, t wire.Trust) error
}

// Undoing puts files back that a tree's tools have changed.
type Undoing interface {
	// Turns lists the turns of a tree with what each changed.
	Turns(ctx context.Context, root troupe.SessionID) ([]wire.Turn, error)
	// PlanUndo works out what an undo would do. It changes nothing.
	PlanUndo(ctx context.Context, root troupe.SessionID, o wire.UndoOrder) (wire.Undo, error)
	// Undo carries out the undo that o.Plan names; if it would be another one by now, it is refused.
	Undo(ctx context.Context, root troupe.SessionID, o wire.UndoOrder) (wire.Undo, error)
}

// Using is about what people wrote for sessions to use.
type Using interface {
	// Skills lists the skills and commands that there are at a place, or one with its text, and looks at their files.
	Skills(ctx context.Context, q wire.SkillQuery) (wire.SkillList, error)
	// Workflows lists the workflows that there are at a place, or looks at files; for the one that is to begin it
	// says with what prompt.
	Workflows(ctx context.Context, q wire.WorkflowQuery) (wire.WorkflowList, error)
}

// Machine is about what holds in a folder on the machine that answers.
type Machine interface {
	// Models lists the models of every provider that is configured.
	Models(ctx context.Context, cwd string) (wire.ModelList, error)
	// Model is the full name of the model that a new session would begin with if it was asked for
	// by this name; "" leaves the choice to the settings.
	Model(ctx context.Context, name, cwd string) (full string, err error)
	// Doctor looks at everything that a run in cwd would need.
	Doctor(ctx context.Context, cwd string) (wire.Diagnosis, error)
	// Agents lists the types of agent that can be started at a place, and looks at their files.
	Agents(ctx context.Context, q wire.AgentQuery) (wire.AgentList, error)
	// Agent says what an agent of a type would be born with.
	Agent(ctx context.Context, n wire.AgentName) (wire.AgentProfile, error)
	// Rules lists what holds for a run at a place.
	Rules(ctx context.Context, p wire.Place) (wire.RuleList, error)
	// Explain says what the gate would answer to calls at a place, in their order.
	Explain(ctx context.Context, p wire.Place, calls []wire.Call) (wire.Explained, error)
}

// Setup is about what is set up for sessions: what runs at certain moments of them, and plugins, which are folders of
// agents, skills, commands, hooks and MCP servers.
type Setup interface {
	// Memories lists what agents have kept that work in a folder, or what one file of it holds.
	Memories(ctx context.Context, q wire.MemoryQuery) ([]wire.Memory, error)
	// SetMemory makes a text what a file of a memory holds, or forgets the file or all of it.
	SetMemory(ctx context.Context, c wire.MemoryChange) (wire.Memory, error)
	// Hooks lists the hooks that are set at a place. With an event it runs those that are due at a made-up one.
	Hooks(ctx context.Context, q wire.HookQuery) (wire.HookList, error)
	// StatusLine runs the command that a person's settings have for a line of the conversation.
	StatusLine(ctx context.Context, q wire.StatusQuery) (wire.StatusLine, error)
	// Plugins lists the plugins that there are, and looks at their files.
	Plugins(ctx context.Context, q wire.PluginQuery) (wire.PluginList, error)
	// SetPlugin enables or disables a plugin, or adds or removes a folder.
	SetPlugin(ctx context.Context, c wire.PluginChange) (wire.PluginList, error)
	// Workspaces are the folders that sessions have of their own.
	Workspaces() Workspaces
}

// Workspaces is about folders that sessions have of their own: worktrees, copies and empty ones.
type Workspaces interface {
	// Worktrees lists them, the oldest first.
	Worktrees(ctx context.Context, q wire.WorktreeQuery) ([]wire.Worktree, error)
	// DiffWorktree shows what was changed in one since its base, committed or not.
	DiffWorktree(ctx context.Context, l wire.WorktreeLook) (wire.WorktreeDiff, error)
	// MergeWorktree writes what was done in one to the folder that it is from, or puts its commits on a branch there.
	// With conflicts nothing is written. It is the caller's own act, which no rule judges, and so what is protected is
	// left out.
	MergeWorktree(ctx context.Context, m wire.WorktreeMerge) (wire.MergedWorktree, error)
	// PushWorktree pushes what was done in one as a branch, where the folder that it is from is a checkout.
	PushWorktree(ctx context.Context, p wire.WorktreePush) (wire.PushedWorktree, error)
	// PruneWorktrees removes those whose work is elsewhere, or which have none. Those that stay are told with the
	// reason.
	PruneWorktrees(ctx context.Context, p wire.WorktreePrune) ([]wire.PrunedWorktree, error)
}

// Serving is about MCP servers.
type Serving interface {
	// Servers lists the MCP servers that are written down at a place, with what is known of each. It starts none but
	// one that is to be tested.
	Servers(ctx context.Context, q wire.ServerQuery) (wire.ServerList, error)
	// SetServer writes an entry down, or takes it out.
	SetServer(ctx context.Context, c wire.ServerChange) (wire.ServerChanged, error)
	// Login logs the user in to a server, in two calls that the same process answers, or out. Nothing but this begins
	// a login.
	Login(ctx context.Context, l wire.ServerLogin) (wire.ServerLogged, error)
}

// Server is about a server.
type Server interface {
	// People is about who may use it.
	People() People
	// Hosting is about what keeps its sessions going.
	Hosting() Hosting
	// Schedules is about what begins by itself.
	Schedules() Schedules
	// Webhooks is about what begins when something is delivered.
	Webhooks() Webhooks
	// Targets is about programs elsewhere that are told what happens.
	Targets() Targets
	// Stored is about agents whose definitions are kept in its database.
	Stored() Stored
	// Acts lists what its users did, and its own admin on its machine, the newest first.
	Acts(ctx context.Context, q wire.ActQuery) ([]wire.Act, error)
}

// Hosting is about what keeps the sessions of a server going. What is changed holds for all processes of its database.
type Hosting interface {
	// Hosted tells which processes run sessions, which sessions are kept going, and where none are begun.
	Hosted(ctx context.Context) (wire.Hosted, error)
	// Drain has a process take on nothing any more, and end once nothing is at work in it.
	Drain(ctx context.Context, d wire.Drain) error
	// Pause has nothing begun in a folder and nothing taken up there, until it is ended.
	Pause(ctx context.Context, p wire.Pause) error
}

// People is about who may use a server. Without one, the person of the home is all there is.
type People interface {
	// Me is who calls.
	Me(ctx context.Context) (wire.Me, error)
	// Users lists those who may use the server, by name.
	Users(ctx context.Context) ([]wire.User, error)
	// SetUser adds, changes, invites or removes one. The last admin stays.
	SetUser(ctx context.Context, c wire.UserChange) (wire.UserChanged, error)
	// Tokens lists the tokens that hold.
	Tokens(ctx context.Context) ([]wire.Token, error)
	// Revoke has a token hold no more: that of the call, or, for admins, any.
	Revoke(ctx context.Context, r wire.Revoke) error
}

// Schedules is about runs that a server begins by itself. Who made one may change it, and whoever administers.
type Schedules interface {
	// Schedules lists them by name.
	Schedules(ctx context.Context) ([]wire.Schedule, error)
	// Schedule is one by its name.
	Schedule(ctx context.Context, name string) (wire.Schedule, error)
	// SetSchedule makes one, or changes the terms of the one that has t's name and version.
	SetSchedule(ctx context.Context, t wire.ScheduleTerms) (wire.Schedule, error)
	// RemoveSchedule forgets one. What it began goes on.
	RemoveSchedule(ctx context.Context, name string) error
	// RunSchedule has one begin a run now, also if it is paused, and waits until that was born.
	RunSchedule(ctx context.Context, name string) (wire.Schedule, error)
	// PauseSchedule pauses one, or has it go on from now.
	PauseSchedule(ctx context.Context, name string, p wire.SchedulePause) (wire.Schedule, error)
}

// Webhooks is about runs that begin when a program elsewhere says so. Who made one may change it, and whoever
// administers.
type Webhooks interface {
	// Webhooks lists them by name.
	Webhooks(ctx context.Context) ([]wire.Webhook, error)
	// Webhook is one by its name, with its newest deliveries.
	Webhook(ctx context.Context, name string) (wire.Webhook, error)
	// SetWebhook makes one, or changes the terms of the one that has t's name and version. Its secret is told here
	// alone.
	SetWebhook(ctx context.Context, t wire.WebhookTerms) (wire.WebhookChanged, error)
	// RemoveWebhook forgets one. What it began goes on.
	RemoveWebhook(ctx context.Context, name string) error
	// PauseWebhook has one take no deliveries, or take them again.
	PauseWebhook(ctx context.Context, name string, p wire.WebhookPause) (wire.Webhook, error)
}

// Targets is about addresses at which programs elsewhere are told what happens: of admins.
type Targets interface {
	// Targets lists them by name.
	Targets(ctx context.Context) ([]wire.Target, error)
	// Target is one by its name, with the newest notices that were given up.
	Target(ctx context.Context, name string) (wire.Target, error)
	// SetTarget makes one, or changes the terms of the one that has t's name and version; one that was stopped is told
	// again. Its secret is told here alone.
	SetTarget(ctx context.Context, t wire.TargetTerms) (wire.TargetChanged, error)
	// RemoveTarget forgets one, with what was to be delivered to it.
	RemoveTarget(ctx context.Context, name string) error
	// TestTarget posts a notice of its own to one, once.
	TestTarget(ctx context.Context, name string) (wire.NoticeTry, error)
	// ReplayTarget has notices that were given up be delivered anew.
	ReplayTarget(ctx context.Context, name string, r wire.Replay) (wire.Replayed, error)
}

// Stored is about agents whose definitions are kept in the database. Who made one may change it, and whoever
// administers.
type Stored interface {
	// StoredAgents lists them by name, those that were removed included.
	StoredAgents(ctx context.Context) ([]wire.StoredAgent, error)
	// StoredAgent is one, in a version, with its text.
	StoredAgent(ctx context.Context, q wire.StoredQuery) (wire.StoredAgent, error)
	// SetStoredAgent makes one, or the next version of the one that has t's name and version.
	SetStoredAgent(ctx context.Context, t wire.StoredTerms) (wire.StoredAgent, error)
	// RemoveStoredAgent has one start nothing any more. Its versions stay.
	RemoveStoredAgent(ctx context.Context, r wire.StoredRemoval) error
}

// Finish waits until a tree is over and lets go of it: when it returns, nothing that is said to
// the tree wakes it there any more, and so nothing that has just begun is cut off.
func Finish(ctx context.Context, r Runs, root troupe.SessionID) error {
	for {
		if err := r.Wait(ctx, root); err != nil {
			return err
		}
		if left, err := r.Leave(ctx, root); left || err != nil {
			return err
		}
	}
}
