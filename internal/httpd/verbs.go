package httpd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

func (o *operations) sessions(h huma.API) {
	query(o, h, "list-sessions", func(a api.API, ctx context.Context, in *struct {
		Where

		Parent   troupe.SessionID `query:"parent" doc:"The sub-agents of this session, and no main agents"`
		Status   troupe.Status    `query:"status" doc:"Only sessions that are at this"`
		By       string           `query:"by" doc:"Only trees that the user of this name began"`
		Text     string           `query:"text" maxLength:"200" doc:"Only sessions in whose title or name this stands, without regard to the case of ASCII letters"`
		After    troupe.SessionID `query:"after" doc:"The last session of the page before; a page that is not full is the last"`
		Limit    int              `query:"limit" default:"50" minimum:"0" doc:"How many at the most; 0 is all"`
		Archived bool             `query:"archived" doc:"Only trees that are archived; without it, only those that are not"`
		QuietMS  int64            `query:"quiet_ms" minimum:"0" doc:"Only trees in which nothing is at work and nothing has happened for so long; with a folder and a limit alone"`
	},
	) ([]wire.Session, error) {
		return a.List(ctx, wire.Listing{Cwd: in.Cwd, Parent: in.Parent, Status: in.Status, By: in.By, Text: in.Text,
			After: in.After, Limit: in.Limit, QuietMS: in.QuietMS, Archived: in.Archived})
	})
	query(o, h, "find-session", func(a api.API, ctx context.Context, in *struct {
		Target
		Where
	},
	) (wire.Session, error) {
		return a.Find(ctx, in.ID, in.Cwd)
	})
	querySession(o, h, "tree", api.API.Tree)
	querySession(o, h, "team", api.API.Team)
	querySession(o, h, "report", api.API.Report)
	querySession(o, h, "cost", api.API.Cost)
	querySession(o, h, "context", api.API.Context)
	querySession(o, h, "session-tasks", api.API.Tasks)
	query(o, h, "tasks", func(a api.API, ctx context.Context, _ *struct{}) ([]wire.Task,
		error) {
		return a.Tasks(ctx, "")
	})
}

// beginning is what a run is begun with, and the folder as the caller named it.
type beginning struct {
	Body  wire.Begin
	named string
}

// Resolve is called when what was sent is read.
func (b *beginning) Resolve(huma.Context) []error {
	b.named = b.Body.Cwd
	return nil
}

// waitMost is how long a call waits for the end of a tree before it says that there was none yet.
const waitMost = 20 * time.Second

func (o *operations) runs(h huma.API) {
	query(o, h, "begin", func(a api.API, ctx context.Context, in *beginning) (wire.Begun, error) {
		if in.Body.Exact && in.named != "" && in.Body.Cwd != in.named {
			if _, _, err := o.ground(ctx, "begin").within(in.named); err != nil {
				return wire.Begun{}, err
			}
		}
		begun, err := a.Begin(ctx, in.Body)
		if err == nil && in.named != "" && in.Body.Cwd != in.named && in.Body.Resume == "" {
			if _, _, outside := o.ground(ctx, "begin").within(in.named); outside != nil {
				begun.Warnings = append(begun.Warnings, fmt.Sprintf("the agents work in %s: %s is in none of the "+
					"server's "+
					"folders", in.Body.Cwd, in.named))
			}
		}
		return begun, err
	})
	querySession(o, h, "wait", func(a api.API, ctx context.Context, id troupe.SessionID) (wire.Ended, error) {
		ctx, left := o.held(ctx, "wait", a)
		defer left()
		bounded, done := context.WithTimeout(ctx, waitMost)
		defer done()
		err := a.Wait(bounded, id)
		if errors.Is(err, bounded.Err()) && err != nil {
			return wire.Ended{}, nil
		}
		return wire.Ended{Ended: true}, err
	})
	querySession(o, h, "leave", func(a api.API, ctx context.Context, id troupe.SessionID) (wire.Left, error) {
		left, err := a.Leave(ctx, id)
		return wire.Left{Left: left}, err
	})
	doSession(o, h, "remove", api.API.Remove)
	queryWithBody(o, h, "change-session", api.API.Change)
}

func (o *operations) steering(h huma.API) {
	queryWithBody(o, h, "send", api.API.Send)
	doWithBody(o, h, "stop", api.API.Stop)
	doSession(o, h, "background", api.API.Background)
	queryWithBody(o, h, "sleep", api.API.Sleep)
	doWithBody(o, h, "compact", func(a api.API, ctx context.Context, id troupe.SessionID, v wire.Hint) error {
		return a.Compact(ctx, id, v.Hint)
	})
	doWithBody(o, h, "mode", func(a api.API, ctx context.Context, id troupe.SessionID, v wire.ModeChoice) error {
		return a.SetMode(ctx, id, troupe.Mode(v.Mode))
	})
	queryWithBody(o, h, "model", func(a api.API, ctx context.Context, id troupe.SessionID,
		v wire.ModelChoice) (wire.ModelChoice,
		error) {
		full, err := a.SetModel(ctx, id, v.Model)
		return wire.ModelChoice{Model: full}, err
	})
}

// Asked is the {request} of a path.
type Asked struct {
	meant

	Request string `path:"request" maxLength:"1024" doc:"Its id, or any unique beginning of it; - for the only one that is open"`
}

func (r Asked) id() string {
	if r.Request == wire.OnlyRequest {
		return ""
	}
	return r.Request
}

func (o *operations) requests(h huma.API) {
	query(o, h, "list-requests", func(a api.API, ctx context.Context, in *struct {
		Root string `query:"root" maxLength:"1024" doc:"Only those of the tree of this session"`
	},
	) ([]wire.Request, error) {
		if in.Root == "" {
			return a.Requests(ctx, "")
		}
		a, id, err := identify(ctx, a, in.Root)
		if err != nil {
			return nil, err
		}
		return a.Requests(ctx, id)
	})
	query(o, h, "request", func(a api.API, ctx context.Context, in *Asked) (wire.Request,
		error) {
		return a.Request(ctx, in.id())
	})
	query(o, h, "plans", func(a api.API, ctx context.Context, in *struct {
		Name string `query:"name" maxLength:"1024" doc:"Only this one, with its text; the beginning of its name will do"`
	},
	) ([]wire.Plan, error) {
		return a.Plans(ctx, in.Name)
	})
	do(o, h, "answer", func(a api.API, ctx context.Context, in *struct {
		Asked

		Body wire.Answer
	},
	) error {
		return a.Answer(ctx, in.id(), in.Body)
	})
}

// files registers what is about folders and the files in them.
func (o *operations) files(h huma.API) {
	queryFolder(o, h, "untrusted", api.API.Untrusted)
	do(o, h, "trust", func(a api.API, ctx context.Context,
		in *body[wire.Trust]) error {
		return a.Trust(ctx, in.Body)
	})
	querySession(o, h, "turns", api.API.Turns)
	query(o, h, "plan-undo", func(a api.API, ctx context.Context, in *struct {
		Target

		Turn int  `query:"turn" doc:"Back to before this turn; 0 is the last one with changes to undo"`
		Redo bool `query:"redo" doc:"Take the newest undo back instead"`
	},
	) (wire.Undo, error) {
		a, id, err := identify(ctx, a, in.ID)
		if err != nil {
			return wire.Undo{}, err
		}
		return a.PlanUndo(ctx, id, wire.UndoOrder{Turn: in.Turn, Redo: in.Redo})
	})
	queryWithBody(o, h, "undo", api.API.Undo)
}

// modelName asks which model is meant by a name.
type modelName struct {
	Where

	Name string `query:"name" maxLength:"1024" doc:"What it is asked for by"`
}

// Needs is the right to ask so: a script is a file, of which an error tells.
func (m *modelName) Needs() wire.Demand { return wire.ModelChoice{Model: m.Name}.Needs() }

func (o *operations) machine(h huma.API) {
	queryFolder(o, h, "models", func(a api.API, ctx context.Context, cwd string) (wire.ModelList, error) {
		return a.Machine().Models(ctx, cwd)
	})
	query(o, h, "default-model", func(a api.API, ctx context.Context, in *modelName) (wire.ModelChoice, error) {
		full, err := a.Machine().Model(ctx, in.Name, in.Cwd)
		return wire.ModelChoice{Model: full}, err
	})
	queryFolder(o, h, "doctor", func(a api.API, ctx context.Context, cwd string) (wire.Diagnosis, error) {
		return a.Machine().Doctor(ctx, cwd)
	})
	of(o, h, "agents", api.API.Machine, api.Machine.Agents)
	of(o, h, "hooks", api.API.Setup, api.Setup.Hooks)
	of(o, h, "status-line", api.API.Setup, api.Setup.StatusLine)
	of(o, h, "plugins", api.API.Setup, api.Setup.Plugins)
	of(o, h, "set-plugin", api.API.Setup, api.Setup.SetPlugin)
	of(o, h, "servers", api.API.Serving, api.Serving.Servers)
	change(o, h, "set-server", api.API.Serving, api.Serving.SetServer)
	of(o, h, "login", api.API.Serving, api.Serving.Login)
	of(o, h, "agent", api.API.Machine, api.Machine.Agent)
	queryBody(o, h, "skills", api.API.Skills)
	queryBody(o, h, "workflows", api.API.Workflows)
	queryTagged(o, h, "memories", func(a api.API, ctx context.Context,
		in *body[wire.MemoryQuery]) ([]wire.Memory, error) {
		return a.Setup().Memories(ctx, in.Body)
	})
	change(o, h, "set-memory", api.API.Setup, api.Setup.SetMemory)
	of(o, h, "worktrees", workspaces, api.Workspaces.Worktrees)
	of(o, h, "diff-worktree", workspaces, api.Workspaces.DiffWorktree)
	of(o, h, "merge-worktree", workspaces, api.Workspaces.MergeWorktree)
	of(o, h, "push-worktree", workspaces, api.Workspaces.PushWorktree)
	of(o, h, "prune-worktrees", workspaces, api.Workspaces.PruneWorktrees)
	of(o, h, "rules", api.API.Machine, api.Machine.Rules)
	queryBody(o, h, "explain", func(a api.API, ctx context.Context, x wire.Explain) (wire.Explained, error) {
		if n := len(x.Calls); n > wire.MostCalls {
			return wire.Explained{}, &troupe.UserError{Problem: fmt.Sprintf("%d calls are too many at once", n),
				Hint: fmt.Sprintf("Ask about %d at a time.", wire.MostCalls), Code: troupe.ExitUsage}
		}
		return a.Machine().Explain(ctx, x.Place, x.Calls)
	})
}

// of registers a verb of one noun.
func of[N, B, T any](o *operations, h huma.API, id string, noun func(api.API) N,
	fn func(N, context.Context, B) (T, error)) {
	queryBody(o, h, id, func(a api.API, ctx context.Context, in B) (T, error) { return fn(noun(a), ctx, in) })
}

func users(a api.API) api.People { return a.Server().People() }

func workspaces(a api.API) api.Workspaces { return a.Setup().Workspaces() }

func (o *operations) people(h huma.API) {
	query(o, h, "me", func(a api.API, ctx context.Context, _ *struct{}) (wire.Me,
		error) {
		return a.Server().People().Me(ctx)
	})
	query(o, h, "users", func(a api.API, ctx context.Context, _ *struct{}) ([]wire.User, error) {
		return a.Server().People().Users(ctx)
	})
	query(o, h, "hosted", func(a api.API, ctx context.Context, _ *struct{}) (wire.Hosted, error) {
		return a.Server().Hosting().Hosted(ctx)
	})
	query(o, h, "acts", func(a api.API, ctx context.Context, in *struct {
		By    string `query:"by" doc:"Only what this user did"`
		About string `query:"about" doc:"Only what was about this session, request, user or folder"`
		After string `query:"after" doc:"The last act of the page before"`
		Limit int    `query:"limit" default:"50" minimum:"0" doc:"How many at the most; 0 is all"`
	},
	) ([]wire.Act, error) {
		return a.Server().Acts(ctx, wire.ActQuery{By: in.By, About: in.About, After: in.After, Limit: in.Limit})
	})
	do(o, h, "drain", func(a api.API, ctx context.Context, in *body[wire.Drain]) error {
		return a.Server().Hosting().Drain(ctx, in.Body)
	})
	do(o, h, "pause", func(a api.API, ctx context.Context, in *body[wire.Pause]) error {
		return a.Server().Hosting().Pause(ctx, in.Body)
	})
	change(o, h, "set-user", users, api.People.SetUser)
	query(o, h, "tokens", func(a api.API, ctx context.Context, _ *struct{}) ([]wire.Token, error) {
		return a.Server().People().Tokens(ctx)
	})
	do(o, h, "revoke", func(a api.API, ctx context.Context, in *body[wire.Revoke]) error {
		return a.Server().People().Revoke(ctx, in.Body)
	})
	huma.Register(h, o.operation(h, wire.SignInRoute), func(ctx context.Context, in *body[wire.SignIn],
	) (*body[wire.SignedIn], error) {
		if o.keys == nil {
			return nil, wire.NewProblem(&troupe.UserError{Problem: "this is no server: who calls is known here",
				Hint: "Leave the login out.", Code: troupe.ExitUsage})
		}
		from := calledOf(ctx)
		within, cancel := context.WithTimeout(ctx, keysWait)
		defer cancel()
		out, err := o.keys.SignIn(within, in.Body)
		if err == nil && o.acts != nil {
			var end func(context.Context, error)
			if end, err = o.acts.Begin(ctx, wire.Act{By: out.Name, Right: out.Right, Verb: wire.SignInRoute,
				About: in.Body.Label}); err == nil {
				end(ctx, nil)
			}
		}
		if refusedBy(err) {
			from.refused = "login"
			o.log.WarnContext(ctx, "login refused", "from", from.from, "request_id", from.id)
			return nil, wire.NewProblem(err)
		} else if err != nil {
			return nil, unreachable(o.log, err)
		}
		o.log.InfoContext(ctx, "login", "by", out.Name, "right", out.Right, "from", from.from, "request_id", from.id)
		return &body[wire.SignedIn]{out}, nil
	})
}

// Planned is the {schedule} of a path.
type Planned struct {
	Name string `path:"schedule" maxLength:"64" doc:"The name of a schedule"`
}

func (o *operations) schedules(h huma.API) {
	query(o, h, "schedules", func(a api.API, ctx context.Context, _ *struct{}) ([]wire.Schedule, error) {
		return schedules(a).Schedules(ctx)
	})
	query(o, h, "schedule", func(a api.API, ctx context.Context, in *Planned) (wire.Schedule, error) {
		return schedules(a).Schedule(ctx, in.Name)
	})
	of(o, h, "set-schedule", schedules, api.Schedules.SetSchedule)
	do(o, h, "remove-schedule", func(a api.API, ctx context.Context, in *Planned) error {
		return schedules(a).RemoveSchedule(ctx, in.Name)
	})
	query(o, h, "run-schedule", func(a api.API, ctx context.Context, in *Planned) (wire.Schedule, error) {
		return schedules(a).RunSchedule(ctx, in.Name)
	})
	query(o, h, "pause-schedule", func(a api.API, ctx context.Context, in *struct {
		Planned

		Body wire.SchedulePause
	},
	) (wire.Schedule, error) {
		return schedules(a).PauseSchedule(ctx, in.Name, in.Body)
	})
}

func schedules(a api.API) api.Schedules { return a.Server().Schedules() }
