package anthropic

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model/internal/upstream"
)

type errorBody struct {
	Error struct{ Type, Message string }
}

// faultOf classes an error by the API's own name for it. The API has no name for a prompt
// that is too long, only words; they are looked for in what it calls an invalid request.
func faultOf(kind, message string) troupe.ModelFault {
	switch kind {
	case "overloaded_error", "api_error", "rate_limit_error", "timeout_error":
		return troupe.FaultRetry
	case "authentication_error", "permission_error":
		return troupe.FaultAuth
	case "not_found_error":
		return troupe.FaultNoModel
	case "request_too_large":
		return troupe.FaultTooLong
	case "invalid_request_error":
		if strings.Contains(message, "prompt is too long") || strings.Contains(message, "exceed context limit") {
			return troupe.FaultTooLong
		}
		return troupe.FaultBad
	default:
		return ""
	}
}

// refusal reads an answer that is no stream. The status goes before the name, except where
// it says less.
func refusal(status int, body []byte) upstream.Refusal {
	var e errorBody
	var r upstream.Refusal
	if json.Unmarshal(body, &e) == nil {
		r.Said = e.Error.Message
	}
	r.Kind = e.Error.Type
	switch {
	case status == http.StatusOK:
		r.Fault = faultOf(r.Kind, r.Said)
	case status == http.StatusNotFound && r.Kind == "not_found_error":
		r.Fault = troupe.FaultNoModel
	case status == http.StatusBadRequest && faultOf(r.Kind, r.Said) == troupe.FaultTooLong:
		r.Fault = troupe.FaultTooLong
	default:
		r.Fault = upstream.FaultOfStatus(status)
	}
	return r
}
