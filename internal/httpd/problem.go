package httpd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/troupe-dev/troupe"
)

// Problem is every error this API answers with: RFC 9457, and what a command needs to fail
// as it would have failed in the process that runs the session.
type Problem struct {
	Title  string `json:"title" doc:"The status in words"`
	Status int    `json:"status" doc:"The HTTP status"`
	Detail string `json:"detail" doc:"What happened, and to what; for people"`
	Hint   string `json:"hint,omitempty" doc:"What to do next; for people"`
	Code   int    `json:"code,omitempty" doc:"The exit code of a command that fails with this"`
	Kind   string `json:"kind,omitempty" enum:"not_found,exists,ambiguous,fenced,newer,limit" doc:"What sort of error it is, for programs"`
}

const problemType = "application/problem+json"

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return problemType }

// kind is one of the errors that cross floors, as programs see it.
type kind struct {
	err    error
	name   string
	status int
}

func kinds() []kind {
	return []kind{
		{troupe.ErrNotFound, "not_found", http.StatusNotFound},
		{troupe.ErrExists, "exists", http.StatusConflict},
		{troupe.ErrAmbiguous, "ambiguous", http.StatusConflict},
		{troupe.ErrFenced, "fenced", http.StatusConflict},
		{troupe.ErrNewer, "newer", http.StatusConflict},
		{troupe.ErrCap, "limit", http.StatusConflict},
	}
}

// problem turns an error of a use case into an answer.
func problem(err error) *Problem {
	p := &Problem{Status: http.StatusInternalServerError, Detail: err.Error()}
	var user *troupe.UserError
	switch {
	case errors.As(err, &user):
		p.Detail, p.Hint, p.Code = user.Problem, user.Hint, user.Code
		if p.Code == wrongUsage {
			p.Status = http.StatusBadRequest
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

// wrongUsage is the exit code of a command that was called in a wrong way.
const wrongUsage = 2

// ownProblem words what huma found wrong with a request. It is the API's only transformer.
func ownProblem(_ huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	p := &Problem{Title: http.StatusText(m.Status), Status: m.Status, Detail: m.Detail}
	var wrong []string
	for _, e := range m.Errors {
		if e != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %s", cmp.Or(e.Location, "request"), e.Message))
		}
	}
	if len(wrong) > 0 {
		p.Detail += ": " + strings.Join(wrong, "; ")
	}
	if m.Status < http.StatusInternalServerError {
		p.Code, p.Hint = wrongUsage, "GET /openapi.yaml describes what can be sent."
	}
	return p, nil
}

// writeProblem answers outside of any operation.
func writeProblem(w http.ResponseWriter, p *Problem) {
	p.Title = http.StatusText(p.Status)
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	// Whoever asked may have gone; there is nobody else to tell.
	_ = json.NewEncoder(w).Encode(p)
}
