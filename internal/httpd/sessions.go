package httpd

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Detail is the projection of one session: who it is and how far it has come.
type Detail struct {
	ID       troupe.SessionID  `json:"id"`
	Root     troupe.SessionID  `json:"root" doc:"The main agent of its tree"`
	Parent   troupe.SessionID  `json:"parent" doc:"Empty for a main agent"`
	Coord    troupe.Coord      `json:"coord" doc:"The call of the parent that asked for it"`
	Name     string            `json:"name,omitempty"`
	Title    string            `json:"title"`
	Depth    int               `json:"depth"`
	Cwd      string            `json:"cwd"`
	Type     string            `json:"type"`
	Model    string            `json:"model"`
	Status   troupe.Status     `json:"status"`
	Waiting  troupe.WaitReason `json:"waiting,omitempty"`
	Cause    troupe.Cause      `json:"cause,omitempty"`
	Run      int               `json:"run" doc:"0 before it first started; each return from an end begins another"`
	Seq      int64             `json:"seq" doc:"The number of its last event"`
	Progress Progress          `json:"progress"`
	Result   string            `json:"result,omitempty"`
	Error    string            `json:"error,omitempty"`
	Times    Times             `json:"times"`
}

// Progress is what a session has used, over all its runs.
type Progress struct {
	Usage    troupe.Usage `json:"usage"`
	CostUSD  float64      `json:"cost_usd"`
	Turns    int          `json:"turns"`
	ToolUses int          `json:"tool_uses"`
}

// Times are when a session was born, and when its current run began and ended.
type Times struct {
	Created time.Time `json:"created"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	Until   time.Time `json:"until,omitzero" doc:"When a waiting session goes on by itself"`
}

func newDetail(s troupe.Session) Detail {
	return Detail{
		ID: s.ID, Root: s.Root, Parent: s.Parent, Coord: s.Coord, Name: s.Name, Title: s.Title, Depth: s.Depth,
		Cwd: s.Cwd, Type: s.Type, Model: s.Model, Status: s.Status, Waiting: s.Waiting, Cause: s.Cause,
		Run: s.Run, Seq: s.Seq, Result: s.Result, Error: s.Error,
		Progress: Progress{Usage: s.Tally.Usage, CostUSD: s.Tally.Cost.Dollars(), Turns: s.Tally.Turns, ToolUses: s.Tally.ToolUses},
		Times:    Times{Created: s.CreatedAt.UTC(), Started: s.StartedAt.UTC(), Ended: s.EndedAt.UTC(), Until: s.Until.UTC()},
	}
}

// sessions registers what reads sessions.
func (o *operations) sessions(api huma.API) {
	get(api, "/v1/sessions", "list-sessions", "List main agents' sessions, the newest first",
		func(ctx context.Context, in *struct {
			Cwd   string `query:"cwd" doc:"Only those of this folder"`
			Limit int    `query:"limit" default:"50" minimum:"0" doc:"How many at the most; 0 is all"`
		},
		) ([]wire.Session, error) {
			return o.cases.Read.List(ctx, in.Cwd, in.Limit)
		})
	get(api, "/v1/sessions/{id}", "find-session", "Find a session by what people call it",
		func(ctx context.Context, in *struct {
			Target

			Cwd string `query:"cwd" doc:"The folder in which main is the newest session"`
		},
		) (Detail, error) {
			s, err := o.cases.Read.Find(ctx, in.ID, in.Cwd)
			return newDetail(s), err
		})
	get(api, "/v1/sessions/{id}/report", "report", "What the whole tree of a session has come to",
		func(ctx context.Context, in *struct{ Target }) (wire.Run, error) {
			s, err := o.session(ctx, in.ID)
			if err != nil {
				return wire.Run{}, err
			}
			return o.cases.Read.Report(ctx, s.Root)
		})
	get(api, "/v1/sessions/{id}/cost", "cost", "The bill of a tree, agent by agent, and its limits",
		func(ctx context.Context, in *struct{ Target }) (wire.Cost, error) {
			id, err := o.id(ctx, in.ID)
			if err != nil {
				return wire.Cost{}, err
			}
			return o.cases.Read.Cost(ctx, id)
		})
	get(api, "/v1/sessions/{id}/tasks", "session-tasks", "What is at work for a session and for all below it",
		func(ctx context.Context, in *struct{ Target }) ([]wire.Task, error) {
			id, err := o.id(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			return o.cases.Read.Tasks(ctx, id)
		})
	get(api, "/v1/tasks", "tasks", "What is at work in every live tree",
		func(ctx context.Context, _ *struct{}) ([]wire.Task, error) { return o.cases.Read.Tasks(ctx, "") })
}

// control registers what is done to sessions.
func (o *operations) control(api huma.API) {
	op := operation(api, http.MethodPost, "/v1/sessions/{id}/messages", "send", "Say something to a session: steer it, or have it go on")
	op.MaxBodyBytes = maxMessage
	huma.Register(api, op, func(ctx context.Context, in *struct {
		Target

		Body wire.Message
	},
	) (*body[wire.Sent], error) {
		id, err := o.id(ctx, in.ID)
		if err != nil {
			return nil, problem(err)
		}
		sent, err := o.cases.Do.Send(ctx, id, in.Body)
		if err != nil {
			return nil, problem(err)
		}
		return &body[wire.Sent]{sent}, nil
	})
	post(api, "/v1/sessions/{id}/stop", "stop", "End a session's run; all of it can be resumed",
		func(ctx context.Context, in *struct {
			Target

			Body wire.Stop
		},
		) error {
			id, err := o.id(ctx, in.ID)
			if err != nil {
				return err
			}
			return o.cases.Do.Stop(ctx, id, in.Body)
		})
	post(api, "/v1/sessions/{id}/background", "background", "Let a sub-agent go on in the background, so that its parent does",
		func(ctx context.Context, in *struct{ Target }) error {
			id, err := o.id(ctx, in.ID)
			if err != nil {
				return err
			}
			return o.cases.Do.Background(ctx, id)
		})
	post(api, "/v1/sessions/{id}/compact", "compact", "Have a session shorten its conversation",
		func(ctx context.Context, in *struct {
			Target

			Body struct {
				Hint string `json:"hint,omitempty" doc:"What the summary should keep"`
			}
		},
		) error {
			id, err := o.id(ctx, in.ID)
			if err != nil {
				return err
			}
			return o.cases.Do.Compact(ctx, id, in.Body.Hint)
		})
}

// requests registers what is asked and answered.
func (o *operations) requests(api huma.API) {
	get(api, "/v1/requests", "list-requests", "List the open requests",
		func(ctx context.Context, in *struct {
			Root string `query:"root" maxLength:"1024" doc:"Only those of the tree of this session"`
		},
		) ([]wire.Request, error) {
			if in.Root == "" {
				return o.cases.Read.Requests(ctx, "")
			}
			id, err := o.id(ctx, in.Root)
			if err != nil {
				return nil, err
			}
			return o.cases.Read.Requests(ctx, id)
		})
	post(api, "/v1/requests/{request}/answer", "answer", "Answer a request",
		func(ctx context.Context, in *struct {
			Request string `path:"request" maxLength:"1024" doc:"Its id, or any unique beginning of it"`
			Body    wire.Answer
		},
		) error {
			a := in.Body
			a.By = who(ctx) // never what the caller claims
			return o.cases.Do.Answer(ctx, in.Request, a)
		})
}
