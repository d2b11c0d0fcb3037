package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model/internal/upstream"
)

// failure is an error in any of the forms that servers have for it:
//
//	{"error":{"message":…,"type":…,"param":…,"code":"…" or 400}}   OpenAI, llama.cpp, Ollama
//	{"object":"error","message":…,"type":…,"param":…,"code":404}  vLLM until lately
//	{"error":"…"}                                                 Ollama, some gateways
//	{"detail":"…"}                                                gateways
//	{"type":"error","code":…,"message":…,"param":…}               in streams of the Responses API
//	{"type":"error","error":{"type":…,"code":…,"message":…}}      there too
type failure struct {
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Param   string          `json:"param"`
	Code    any             `json:"code"`
	Error   json.RawMessage `json:"error"`
	Detail  string          `json:"detail"`
}

// parseFailure reads what it can of an error.
func parseFailure(body []byte) (f failure) {
	_ = json.Unmarshal(body, &f) // a field of another type than ours does not harm the rest
	if len(f.Error) > 0 {
		var inner failure
		if json.Unmarshal(f.Error, &inner.Message) != nil {
			_ = json.Unmarshal(f.Error, &inner)
		}
		f = inner
	}
	if f.Message == "" {
		f.Message = f.Detail
	}
	if f.Type == "error" { // the event's name, and none of the error
		f.Type = ""
	}
	return f
}

// code is the name that a server gives an error, and status the number.
func (f failure) code() string {
	s, _ := f.Code.(string)
	if _, err := strconv.Atoi(s); err == nil {
		return ""
	}
	return s
}

func (f failure) status() int {
	switch c := f.Code.(type) {
	case float64:
		return int(c)
	case string:
		n, _ := strconv.Atoi(c) // 0 is no status
		return n
	default:
		return 0
	}
}

func (f failure) kind() string {
	if c := f.code(); c != "" {
		return c
	}
	return f.Type
}

// faultOf classes an error by what the server calls it, and by its words only where no
// name exists; "" if neither says more than the status does.
//
// A quota that is used up comes as 429, like a call too many. But no waiting helps: the
// account must be paid for or its limit raised, and whoever owns the key must do that. So
// it is a fault of the key.
func faultOf(status int, f failure) troupe.ModelFault {
	for _, name := range []string{f.code(), f.Type} {
		switch name {
		case "context_length_exceeded", "exceed_context_size_error", "string_above_max_length":
			return troupe.FaultTooLong
		case "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "account_deactivated",
			"invalid_api_key":
			return troupe.FaultAuth
		case "model_not_found", "DeploymentNotFound":
			return troupe.FaultNoModel
		case "invalid_prompt", "bio_policy", "cyber_policy", "data_residency_mismatch", "invalid_encrypted_content":
			return troupe.FaultBad // the same request is refused again
		}
		if strings.Contains(name, "image") && !strings.HasPrefix(name, "failed_to_download") {
			return troupe.FaultBad // of the many codes for an image that cannot be used
		}
	}
	if f.Param == "reasoning_effort" { // see refusal
		return troupe.FaultNoModel
	}
	said := strings.ToLower(f.Message)
	switch status {
	case http.StatusPaymentRequired:
		return troupe.FaultAuth
	case http.StatusNotFound:
		if name := f.kind(); (name == "not_found_error" || name == "NotFoundError") && !saysNoPath(said) {
			return troupe.FaultNoModel // as gateways and vLLM name a model that is not there
		}
		if f.Param == "model" || strings.Contains(said, "model") {
			return troupe.FaultNoModel
		}
	case http.StatusTooManyRequests:
		// More at once than the key may send in a minute: only less helps.
		if strings.HasPrefix(said, "request too large") {
			return troupe.FaultTooLong
		}
	case http.StatusUnauthorized, http.StatusForbidden:
	default:
		if saysTooLong(said) {
			return troupe.FaultTooLong
		}
		if status == http.StatusBadRequest && strings.HasPrefix(said, "model not exist") { // DeepSeek
			return troupe.FaultNoModel
		}
	}
	return ""
}

// saysNoPath tells an address that is not there from a model that is not: llama.cpp says "File Not Found".
func saysNoPath(said string) bool {
	for _, word := range []string{"file", "path", "route", "url", "endpoint"} {
		if strings.Contains(said, word) {
			return true
		}
	}
	return false
}

// saysTooLong knows the words of vLLM ("This model's maximum context length is …"),
// llama.cpp ("the request exceeds the available context size"), Ollama ("prompt too long;
// exceeded max context length"), and of gateways that pass on what others said.
func saysTooLong(said string) bool {
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(said, w) {
				return true
			}
		}
		return false
	}
	return has("context length", "context window", "context size", "model length") &&
		has("exceed", "maximum", "too long", "longer", "larger than") ||
		has("prompt is too long", "prompt too long", "input is too long")
}

// refusal reads an answer that is no stream, and says what to do about those that a setting helps with. Some of
// OpenAI's models cannot do without reasoning, and with it the service offers them no tools over Chat Completions:
// there, such a model is not to be had, and another one helps.
func refusal(provider string) func(int, []byte) upstream.Refusal {
	return func(status int, body []byte) upstream.Refusal {
		f := parseFailure(body)
		r := upstream.Refusal{Kind: f.kind(), Said: f.Message, Fault: faultOf(status, f)}
		switch {
		case f.Param == "reasoning_effort":
			r.Said += fmt.Sprintf(" (this model has tools only over the Responses API: set providers.%s.api to "+
				"\"responses\" in the settings, or choose another model)", provider)
		case f.code() == "invalid_encrypted_content":
			r.Said += fmt.Sprintf(" (the service cannot read the thoughts of its earlier replies any more: start a "+
				"new "+
				"session, or set providers.%s.api to \"chat\" in the settings, which goes on without them)", provider)
		}
		if r.Fault == "" && status == http.StatusOK && (f.Message != "" || f.kind() != "") {
			r.Fault = upstream.FaultOfStatus(f.status())
		}
		return r
	}
}

// brokenResponse reads the error of a reply that failed.
func brokenResponse(failure []byte) error {
	if !present(failure) {
		return &upstream.Broken{Said: "its reply failed, and it did not say why"}
	}
	return broken(append(append([]byte(`{"error":`), failure...), '}'))
}

// broken reads an error in the middle of a stream. Of one that has no name that is known,
// the number may say more, if it is a status.
func broken(data []byte) error {
	f := parseFailure(data)
	status := f.status()
	b := &upstream.Broken{Kind: f.kind(), Said: f.Message, Fault: faultOf(status, f)}
	if b.Fault == "" {
		if status >= 400 && status < 600 {
			b.Fault = upstream.FaultOfStatus(status)
		} else if f.Type == "invalid_request_error" || f.Type == "BadRequestError" {
			b.Fault = troupe.FaultBad
		}
	}
	if b.Said == "" {
		b.Said = string(data)
	}
	return b
}

// untilReset reads OpenAI's own headers: the time until a limit is back where it began. It
// is more than has to be waited, so it is asked only when nothing else is said, and the
// limit that is used up, if one says so, goes before the others.
func untilReset(h http.Header) time.Duration {
	var used, any time.Duration
	for _, of := range []string{"requests", "tokens"} {
		d := duration(h.Get("X-Ratelimit-Reset-" + of))
		if h.Get("X-Ratelimit-Remaining-"+of) == "0" {
			used = max(used, d)
		}
		if any == 0 || d > 0 && d < any {
			any = d
		}
	}
	if used > 0 {
		return used
	}
	return any
}

// duration reads "6m0s", "12ms", and plain seconds.
func duration(s string) time.Duration {
	if d, err := time.ParseDuration(s); err == nil {
		return d
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && f > 0 && f < 1e6 {
		return time.Duration(f * float64(time.Second))
	}
	return 0
}
