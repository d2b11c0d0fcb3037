package wire

import (
	"context"
	"errors"
	"net/http"

	"github.com/troupe-dev/troupe"
)

// Problem is every error that crosses a process: RFC 9457, and what a command needs to fail as it
// would have failed in the process that answered.
type Problem struct {
	Title  string `json:"title" doc:"The status in words"`
	Status int    `json:"status" doc:"The HTTP status"`
	Detail string `json:"detail" doc:"What happened, and to what; for people"`
	Hint   string `json:"hint,omitempty" doc:"What to do next; for people"`
	Code   int    `json:"code,omitempty" doc:"The exit code of a command that fails with this"`
	Kind   string `json:"kind,omitempty" enum:"not_found,exists,ambiguous,asleep,archived,fenced,blocked,changed,newer,limit,unavailable" doc:"What sort of error it is, for programs"`
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// GetStatus and ContentType are what the server's library asks of an answer.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is the type of a Problem's JSON, whatever was asked for.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// kinds are the errors that cross floors, as programs see them.
func kinds() []struct {
	err    error
	name   string
	status int
} {
	return []struct {
		err    error
		name   string
		status int
	}{
		{troupe.ErrNotFound, "not_found", http.StatusNotFound},
		{troupe.ErrExists, "exists", http.StatusConflict},
		{troupe.ErrAmbiguous, "ambiguous", http.StatusConflict},
		{troupe.ErrAsleep, "asleep", http.StatusConflict},
		{troupe.ErrArchived, "archived", http.StatusConflict},
		{troupe.ErrFenced, "fenced", http.StatusConflict},
		{troupe.ErrBlocked, "blocked", http.StatusConflict},
		{troupe.ErrChanged, "changed", http.StatusPreconditionFailed},
		{troupe.ErrNewer, "newer", http.StatusConflict},
		{troupe.ErrCap, "limit", http.StatusConflict},
		{troupe.ErrUnavailable, "unavailable", http.StatusServiceUnavailable},
	}
}

// NewProblem is an error of a use case as another process is told of it.
func NewProblem(err error) *Problem {
	p := &Problem{Status: http.StatusInternalServerError, Detail: err.Error()}
	var user *troupe.UserError
	switch {
	case errors.As(err, &user):
		p.Detail, p.Hint, p.Code = user.Problem, user.Hint, user.Code
		switch p.Code {
		case troupe.ExitUsage:
			p.Status = http.StatusBadRequest
		case troupe.ExitPermission:
			p.Status = http.StatusForbidden
		case 0: // what is asked for cannot be done with what there is, such as an undo of nothing
			p.Status = http.StatusConflict
		}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		p.Status = http.StatusServiceUnavailable
	}
	for _, k := range kinds() {
		if errors.Is(err, k.err) {
			p.Kind, p.Status = k.name, k.status
			break
		}
	}
	p.Title = http.StatusText(p.Status)
	return p
}

// Err is the error of the use case again.
func (p *Problem) Err() error {
	u := &troupe.UserError{Problem: p.Detail, Hint: p.Hint, Code: p.Code}
	for _, k := range kinds() {
		if k.name == p.Kind {
			u.Err = k.err
		}
	}
	return u
}
