package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// post sends the payload to an address. What it answers is read as what a command prints.
func (r *Runner) post(ctx context.Context, h *Hook, payload []byte) (e ended) {
	if r.Client == nil {
		return ended{err: errors.New("nothing can be posted here")}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.Run, bytes.NewReader(payload))
	if err != nil {
		return ended{err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range h.Headers {
		req.Header.Set(name, os.Expand(value, func(name string) string {
			if !slices.Contains(h.Env, name) {
				return ""
			}
			value, _ := r.Lookup(name)
			return value
		}))
	}
	resp, err := r.Client.Do(req)
	if err != nil {
		return ended{err: err}
	}
	defer func() { e.err = errors.Join(e.err, resp.Body.Close()) }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxOutput))
	if err != nil {
		return ended{err: err}
	}
	e.stdout = string(body)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		e.exit, e.err = resp.StatusCode, fmt.Errorf("%s answered %s", req.URL.Host, resp.Status)
	}
	return e
}

// answerForm is what a model is told of how to answer.
const answerForm = "\n\nAnswer with nothing but one line of JSON: {\"ok\": true}, or {\"ok\": false, \"reason\": " +
	"\"one sentence\"} if it must not go on."

// ask puts the payload to a small model.
func (r *Runner) ask(ctx context.Context, h *Hook, m troupe.HookMoment, payload []byte) (e ended) {
	if r.Ask == nil {
		return ended{err: errors.New("there is no model to ask")}
	}
	question := strings.ReplaceAll(h.Run, "$ARGUMENTS", "(the text above)") + answerForm
	answer, usage, cost, err := r.Ask(ctx, m.Session, question, string(payload))
	if err != nil {
		return ended{err: err, usage: usage, cost: cost}
	}
	answer = strings.TrimSpace(answer)
	answer = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(answer, "```json"), "```"),
		"```"))
	if !strings.HasPrefix(answer, "{") || !strings.Contains(answer, `"ok"`) {
		return ended{err: fmt.Errorf("the model answered what was not asked for: %s", oneLine(answer)), stdout: answer,
			usage: usage, cost: cost}
	}
	return ended{stdout: answer, usage: usage, cost: cost}
}
