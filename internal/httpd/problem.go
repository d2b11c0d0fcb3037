package httpd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

const problemType = "application/problem+json"

// ownProblem words what huma found wrong with a request. It is the API's only transformer.
func ownProblem(hc huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	if m.Status == http.StatusInternalServerError && calledOf(hc.Context()).unread {
		m = &huma.ErrorModel{Status: http.StatusBadRequest, Detail: "the body of the request does not come whole"}
	}
	p := &wire.Problem{Title: http.StatusText(m.Status), Status: m.Status, Detail: m.Detail}
	var wrong []string
	for _, e := range m.Errors {
		if e != nil {
			if strings.HasPrefix(e.Message, "json: ") { // Go's words, of types of ours
				e.Message = "a number in it is too large"
			}
			wrong = append(wrong, fmt.Sprintf("%s: %s", cmp.Or(e.Location, "request"), e.Message))
		}
	}
	if len(wrong) > 0 {
		p.Detail += ": " + strings.Join(wrong, "; ")
	}
	if m.Status < http.StatusInternalServerError {
		p.Code, p.Hint = troupe.ExitUsage, "GET /openapi.yaml describes what can be sent."
	}
	return p, nil
}

// writeProblem answers outside of any operation.
func writeProblem(w http.ResponseWriter, p *wire.Problem) {
	p.Title = http.StatusText(p.Status)
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	// Whoever asked may have gone; there is nobody else to tell.
	_ = json.NewEncoder(w).Encode(p)
}
