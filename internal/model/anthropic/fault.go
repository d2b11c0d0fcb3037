package anthropic

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
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

func faultOfStatus(code int, kind, message string) troupe.ModelFault {
	switch {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return troupe.FaultAuth
	case code == http.StatusRequestEntityTooLarge:
		return troupe.FaultTooLong
	case code == http.StatusRequestTimeout || code == http.StatusConflict || code == http.StatusTooManyRequests || code >= 500:
		return troupe.FaultRetry
	case code == http.StatusNotFound && kind == "not_found_error":
		return troupe.FaultNoModel
	case code == http.StatusBadRequest && faultOf(kind, message) == troupe.FaultTooLong:
		return troupe.FaultTooLong
	default:
		return troupe.FaultBad
	}
}

// refused turns a response that is no stream into an error; nil if it is one.
func (p *Provider) refused(res *http.Response) error {
	media, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	media = strings.ToLower(strings.TrimSpace(media))
	if res.StatusCode == http.StatusOK && media != "application/json" && media != "text/html" {
		return nil
	}
	const most = 64 << 10
	text, _ := io.ReadAll(io.LimitReader(res.Body, most)) // what came is all there is to tell
	var e errorBody
	said := ""
	if json.Unmarshal(text, &e) == nil && e.Error.Message != "" {
		said = e.Error.Message
	} else if media != "text/html" {
		said = string(bytes.TrimSpace(text))
	}
	out := &model.Error{Fault: faultOfStatus(res.StatusCode, e.Error.Type, said), RetryAfter: p.retryAfter(res.Header)}
	if res.StatusCode == http.StatusOK {
		if out.Fault = faultOf(e.Error.Type, said); out.Fault == "" {
			out.Fault = troupe.FaultBad
			said = "it answered with " + media + " instead of a stream; is ANTHROPIC_BASE_URL a Messages API?"
		}
	}
	if said == "" {
		said = http.StatusText(res.StatusCode)
	}
	what := fmt.Sprintf("Anthropic answered %d", res.StatusCode)
	if e.Error.Type != "" {
		what += " " + e.Error.Type
	}
	if id := res.Header.Get("request-id"); id != "" {
		said += " (request " + id + ")"
	}
	out.Message = p.clean(what + ": " + said)
	return out
}

// retryAfter is how long the service asked to be left alone, in any of the ways it may say
// so; at most a day.
func (p *Provider) retryAfter(h http.Header) time.Duration {
	const most = 24 * time.Hour
	seconds := func(s string, unit time.Duration) (time.Duration, bool) {
		f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || !(f > 0) {
			return 0, false
		}
		return time.Duration(min(f*float64(unit), float64(most))), true
	}
	if d, ok := seconds(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	after := h.Get("Retry-After")
	if d, ok := seconds(after, time.Second); ok {
		return d
	}
	if at, err := http.ParseTime(after); err == nil {
		return min(max(at.Sub(p.o.Now()), 0), most)
	}
	return 0
}

// transportError is for a call that got no response.
func (p *Provider) transportError(ctx, call context.Context, err error) error {
	out := p.ended(ctx, call, err)
	var cert *tls.CertificateVerificationError
	switch {
	case out.Fault == troupe.FaultInterrupted:
	case errors.Is(err, errElsewhere):
		out.Fault = troupe.FaultBad
	case errors.As(err, &cert):
		out.Fault = troupe.FaultBad
		out.Message += "; if your network inspects TLS, name its certificate in SSL_CERT_FILE or TROUPE_CA_FILE"
	}
	return out
}

// cut is for a stream that ended before its reply did.
func (p *Provider) cut(ctx, call context.Context, a *accumulator, err error) error {
	if errors.Is(err, io.EOF) {
		err = errors.New("the stream ended before the reply did")
	}
	out := p.ended(ctx, call, err)
	if errors.Is(err, errTooLarge) {
		out.Fault = troupe.FaultBad
	}
	out.Partial, out.Usage = a.content(), a.usage
	return out
}

// ended says who ended a call: the one who made it, the idle timer, or the network.
func (p *Provider) ended(ctx, call context.Context, err error) *model.Error {
	switch {
	case ctx.Err() != nil:
		return &model.Error{Fault: troupe.FaultInterrupted, Message: "the model call was interrupted", Err: ctx.Err()}
	case errors.Is(context.Cause(call), errIdle):
		return &model.Error{
			Fault: troupe.FaultRetry, Err: errIdle,
			Message: fmt.Sprintf("Anthropic sent nothing for %s; the call was given up", p.o.IdleTimeout),
		}
	default:
		return &model.Error{Fault: troupe.FaultRetry, Message: p.clean("the connection to Anthropic failed: " + err.Error())}
	}
}

// failed is for what an event said, or for an event that makes no sense.
func (p *Provider) failed(a *accumulator, err error) error {
	out := &model.Error{Fault: troupe.FaultRetry, Partial: a.content(), Usage: a.usage}
	var se *streamError
	if errors.As(err, &se) {
		if f := faultOf(se.kind, se.message); f != "" {
			out.Fault = f
		}
		out.Message = p.clean("Anthropic broke off its reply: " + se.Error())
		return out
	}
	out.Message = p.clean("Anthropic sent an event that makes no sense: " + err.Error())
	return out
}

// maxMessage bounds what an error quotes of what somebody else wrote.
const maxMessage = 1000

// clean makes text from outside fit to be shown and kept: no secrets, no control
// characters, not too long.
func (p *Provider) clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	s = regexp.MustCompile(`sk-[A-Za-z0-9_-]{6,}`).ReplaceAllString(p.scrub.Replace(s), "[key]")
	return clip([]byte(s))
}

func clip(b []byte) string {
	if len(b) <= maxMessage {
		return string(b)
	}
	return strings.ToValidUTF8(string(b[:maxMessage]), "") + "…"
}

// scrubber takes the key out of text, however it was written there.
func scrubber(key string) *strings.Replacer {
	if key == "" {
		return strings.NewReplacer()
	}
	quoted := strings.Trim(strconv.Quote(key), `"`)
	return strings.NewReplacer(key, "[key]", quoted, "[key]")
}
