package script

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
)

// entry is one reply of a script.
type entry struct {
	line int
	when conditions

	thinking string
	text     string
	calls    []call
	stop     troupe.StopReason
	tokens   *troupe.Usage // nil: estimated

	delay time.Duration // before the first piece
	over  time.Duration // that the pieces take together

	fault *fault
}

type call struct{ tool, input string }

type fault struct {
	name       string
	kind       troupe.ModelFault
	message    string
	retryAfter time.Duration
}

// silent reports whether there is nothing to say before the error.
func (e *entry) silent() bool { return e.thinking == "" && e.text == "" && len(e.calls) == 0 }

func (e *entry) failure(path string, partial []troupe.Block, u troupe.Usage) error {
	return &model.Error{
		Fault: e.fault.kind, Throttled: e.fault.name == "overloaded" || e.fault.name == "rate_limit",
		RetryAfter: e.fault.retryAfter, Partial: partial, Usage: u,
		Message: fmt.Sprintf("%s (scripted: %s:%d)", e.fault.message, path, e.line),
	}
}

func (e *entry) stopReason() troupe.StopReason {
	switch {
	case e.stop != "":
		return e.stop
	case len(e.calls) > 0:
		return troupe.StopToolUse
	default:
		return troupe.StopEndTurn
	}
}

// play says the entry piece by piece and returns what was said, which is all of it unless
// ctx ended first.
func (e *entry) play(ctx context.Context, reply int, sink func(model.Delta)) ([]troupe.Block, error) {
	thinking, text := pieces(e.thinking), pieces(e.text)
	pause := e.over / time.Duration(max(1, len(thinking)+len(text)+len(e.calls)))
	var out []troupe.Block
	say := func(d model.Delta) error {
		if sink != nil {
			sink(d)
		}
		return wait(ctx, pause)
	}
	if len(thinking) > 0 {
		out = append(out, troupe.Block{Type: troupe.ThinkingBlock, Provider: name})
		b := &out[len(out)-1]
		for _, s := range thinking {
			b.Text += s
			if err := say(model.Delta{Thinking: s}); err != nil {
				return out, err
			}
		}
		raw, _ := json.Marshal(map[string]string{"thinking": b.Text}) // a string always encodes
		b.Raw = string(raw)
	}
	if len(text) > 0 {
		out = append(out, troupe.Text(""))
		b := &out[len(out)-1]
		for _, s := range text {
			b.Text += s
			if err := say(model.Delta{Text: s}); err != nil {
				return out, err
			}
		}
	}
	for i, c := range e.calls {
		out = append(out, troupe.Block{Type: troupe.CallBlock, Call: &troupe.Call{
			Reply: reply, Index: i, Name: c.tool, Input: c.input, ProviderID: fmt.Sprintf("call_%d", i),
		}})
		if err := say(model.Delta{Tool: c.tool}); err != nil {
			return out, err
		}
	}
	return out, nil
}

// pieces cuts text about every 20 bytes, behind a space, as replies arrive.
func pieces(s string) []string {
	const size = 20
	var out []string
	for len(s) > size {
		i := strings.IndexByte(s[size:], ' ')
		if i < 0 {
			break
		}
		out = append(out, s[:size+i+1])
		s = s[size+i+1:]
	}
	if s != "" {
		out = append(out, s)
	}
	return out
}

// usage is what the script says, or an estimate from the bytes that were sent: a token for
// every four of them. What was sent before counts as read from a cache.
func (e *entry) usage(r model.Request) troupe.Usage {
	if e.tokens != nil {
		return *e.tokens
	}
	old, fresh := 0, 0
	for i, m := range r.Messages {
		if i < len(r.Messages)-r.Fresh {
			old += len(m)
		} else {
			fresh += len(m)
		}
	}
	if old > 0 {
		old += len(r.Head)
	} else {
		fresh += len(r.Head)
	}
	said := len(e.thinking) + len(e.text)
	for _, c := range e.calls {
		said += len(c.tool) + len(c.input)
	}
	return troupe.Usage{Input: tokens(fresh), CacheRead: tokens(old), Output: tokens(said)}
}

func tokens(n int) int64 { return int64(n+3) / 4 }
