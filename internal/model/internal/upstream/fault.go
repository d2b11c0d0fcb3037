package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/model/internal/sse"
)

// FaultOfStatus classes an answer by its status alone.
func FaultOfStatus(code int) troupe.ModelFault {
	switch {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return troupe.FaultAuth
	case code == http.StatusRequestEntityTooLarge:
		return troupe.FaultTooLong
	case code == http.StatusRequestTimeout || code == http.StatusConflict || code == http.StatusTooManyRequests ||
		code >= 500:
		return troupe.FaultRetry
	default:
		return troupe.FaultBad
	}
}

// refused turns a response that is no stream into an error; nil if it is one.
func (c *Client) refused(res *http.Response) error {
	if media := mediaOf(res); res.StatusCode == http.StatusOK && media != "application/json" && media != "text/html" {
		return nil
	}
	const most = 64 << 10
	text, _ := io.ReadAll(io.LimitReader(res.Body, most)) // what came is all there is to tell
	return c.refusal(res, text)
}

func mediaOf(res *http.Response) string {
	media, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(media))
}

func (c *Client) refusal(res *http.Response, body []byte) error {
	media := mediaOf(res)
	r := c.o.Refusal(res.StatusCode, body)
	if r.Said == "" && media != "text/html" {
		r.Said = string(bytes.TrimSpace(body))
	}
	out := &model.Error{Fault: r.Fault, RetryAfter: c.RetryAfter(res.Header)}
	if out.Fault == "" {
		out.Fault = FaultOfStatus(res.StatusCode)
		if res.StatusCode == http.StatusOK {
			r.Said = fmt.Sprintf("it answered with %s instead of a stream; is %s %s?", media, c.o.Address, c.o.Speaks)
		}
	}
	out.Throttled = out.Fault == troupe.FaultRetry && throttled(res.StatusCode, r.Kind)
	if r.Said == "" {
		r.Said = http.StatusText(res.StatusCode)
	}
	from := c.o.Service
	if res.StatusCode == http.StatusProxyAuthRequired {
		from = "the proxy in HTTP_PROXY"
	}
	what := fmt.Sprintf("%s answered %d", from, res.StatusCode)
	if r.Kind != "" {
		what += " " + r.Kind
	}
	if id := res.Header.Get(c.o.RequestID); id != "" {
		r.Said += " (request " + id + ")"
	}
	if d := out.RetryAfter.Round(time.Second); out.Fault == troupe.FaultRetry && d >= time.Minute {
		r.Said += fmt.Sprintf("; it asks for no other call before %s (in %s)",
			c.o.Now().Add(d).UTC().Format("2006-01-02 15:04 MST"), d)
	}
	out.Message = c.Clean(what + ": " + r.Said)
	return out
}

// overloaded is the status by which Anthropic says that everybody asks too much.
const overloaded = 529

// throttled reports whether a service says that it is asked too much at once.
func throttled(status int, kind string) bool {
	switch kind {
	case "overloaded_error", "rate_limit_error", "rate_limit_exceeded":
		return true
	}
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == overloaded
}

// RetryAfter is how long the service asked to be left alone, in any of the ways it may say
// so; at most a day.
func (c *Client) RetryAfter(h http.Header) time.Duration {
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
		return min(max(at.Sub(c.o.Now()), 0), most)
	}
	if c.o.RetryAfter != nil {
		return min(max(c.o.RetryAfter(h), 0), most)
	}
	return 0
}

// unanswered classes a call that got no answer from a host.
func (c *Client) unanswered(ctx, call context.Context, host string, err error) error {
	var ours *model.Error
	switch {
	case errors.As(err, &ours):
		return ours
	case ctx.Err() != nil, errors.Is(context.Cause(call), errIdle):
		return c.ended(ctx, call, err)
	}
	return c.unreached(host, err)
}

// cut is for a stream that ended before its reply did.
func (c *Client) cut(ctx, call context.Context, d Decoder, err error) error {
	if errors.Is(err, io.EOF) {
		err = errors.New("the stream ended before the reply did")
	}
	if errors.Is(err, sse.ErrTooLarge) {
		return keep(c.exceeds(fmt.Sprintf("more than %d MB", maxStream>>20)), d)
	}
	return keep(c.ended(ctx, call, err), d)
}

// keep puts what had come of a reply into the error that is left of it.
func keep(out *model.Error, d Decoder) *model.Error {
	var estimated bool
	if out.Partial, out.Usage, estimated = d.SoFar(); estimated {
		out.Message += "; what it cost by then is estimated"
	}
	return out
}

// ended says who ended a call: the one who made it, the idle timer, or the network.
func (c *Client) ended(ctx, call context.Context, err error) *model.Error {
	switch {
	case ctx.Err() != nil:
		return &model.Error{Fault: troupe.FaultInterrupted, Message: "the model call was interrupted", Err: ctx.Err()}
	case errors.Is(context.Cause(call), errIdle):
		return &model.Error{
			Fault: troupe.FaultRetry, Err: errIdle,
			Message: fmt.Sprintf("%s sent nothing for %s; the call was given up", c.o.Service, c.o.IdleTimeout),
		}
	case errors.Is(context.Cause(call), errNoContent):
		return &model.Error{
			Fault: troupe.FaultRetry, Err: errNoContent,
			Message: fmt.Sprintf("%s sent nothing of a reply for %s, only signs of life; the call was given up",
				c.o.Service,
				noContent(c.o.IdleTimeout)),
		}
	default:
		return &model.Error{Fault: troupe.FaultRetry, Message: c.Clean(fmt.Sprintf("the connection to %s failed: %v",
			c.o.Service, err))}
	}
}

// failed is for what an event said, or for an event that makes no sense.
func (c *Client) failed(d Decoder, err error) error {
	out := &model.Error{Fault: troupe.FaultRetry}
	var b *Broken
	if errors.As(err, &b) {
		if b.Fault != "" {
			out.Fault = b.Fault
		}
		out.Throttled = out.Fault == troupe.FaultRetry && throttled(0, b.Kind)
		out.Message = c.Clean(c.o.Service + " broke off its reply: " + b.Error())
		return keep(out, d)
	}
	var more *excess
	if errors.As(err, &more) {
		return keep(c.exceeds(more.What), d)
	}
	out.Message = c.Clean(c.o.Service + " sent an event that makes no sense: " + err.Error())
	return keep(out, d)
}

// MaxMessage bounds what an error quotes of what somebody else wrote.
const MaxMessage = 1000

// Clean makes text from outside fit to be shown and kept: no secrets, no control
// characters, not too long.
func (c *Client) Clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return Clip(c.keys.ReplaceAllString(c.scrub.Replace(s), "[key]"))
}

// Clip shortens text to MaxMessage.
func Clip[T ~string | ~[]byte](s T) string {
	if len(s) <= MaxMessage {
		return string(s)
	}
	return strings.ToValidUTF8(string(s[:MaxMessage]), "") + "…"
}

// scrubber takes the key out of text, however it was written there.
func scrubber(key string) *strings.Replacer {
	if key == "" {
		return strings.NewReplacer()
	}
	quoted := strings.Trim(strconv.Quote(key), `"`)
	return strings.NewReplacer(key, "[key]", quoted, "[key]")
}
