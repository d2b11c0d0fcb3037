package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
)

// ReadStatus reads the value of "statusLine", as a hook: its command runs outside of the sandbox as those of hooks do,
// so it is shown, trusted and protected as they are.
func ReadStatus(raw []byte, from Origin) ([]Hook, []Problem) {
	r := reader{from: from}
	if string(raw) == "null" {
		return nil, nil
	}
	r.hook(troupe.HookStatus, "", raw)
	for i := range r.hooks {
		if h := &r.hooks[i]; h.Kind != Command && h.Broken == "" {
			h.Broken = "a status line is a command"
			r.problem("the status line has the type %q, and is a command or none", h.Kind)
		}
	}
	return r.hooks, r.problems
}

// Padding is how many columns the value of "statusLine" leaves free before its text.
func Padding(raw []byte) int {
	var v struct {
		Padding int `json:"padding"`
	}
	if json.Unmarshal(raw, &v) != nil {
		return 0
	}
	return min(max(v.Padding, 0), 40)
}

// Status runs a status line and returns what it printed, without secrets. It is told nothing of how that is shown but
// how wide the screen is.
func (r *Runner) Status(ctx context.Context, h Hook, m troupe.HookMoment, columns int) (string, error) {
	if h.Broken != "" {
		return "", errors.New(h.Broken)
	}
	payload, err := json.Marshal(payloadOf(m))
	if err != nil {
		return "", fmt.Errorf("tell the status line what it is about: %w", err)
	}
	limit := h.Limit()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	own := *r
	if columns > 0 {
		own.Environ = append(own.Environ[:len(own.Environ):len(own.Environ)], fmt.Sprintf("COLUMNS=%d", columns))
	}
	e := own.start(ctx, &h, m, payload)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && e.err != nil:
		return "", fmt.Errorf("it had not ended after %s, and was ended", limit)
	case e.err != nil:
		return "", e.err
	case e.exit != 0:
		said, _, _ := strings.Cut(strings.TrimSpace(e.stderr), "\n")
		return "", errors.New(strings.TrimSuffix(fmt.Sprintf("it ended with exit code %d: %s", e.exit,
			r.short(said, 200)), ": "))
	}
	return r.short(e.stdout, maxSaid), nil
}
