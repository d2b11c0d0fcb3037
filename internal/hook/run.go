package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
)

// Runner runs hooks. It does not change.
type Runner struct {
	Environ []string                    // of commands
	Lookup  func(string) (string, bool) // variables for the headers that name them
	Mask    func(string) string         // takes secrets out of what is kept
	Now     func() time.Time
	// Exec runs a program to its end. What it leaves running goes on; once ctx is over, all that it has started ends.
	Exec   func(ctx context.Context, p Program) (exit int, err error)
	Client *http.Client // reaches what may be reached; nil: no address may be
	// Ask has a small model answer a question about a text; nil: there is none.
	Ask func(ctx context.Context, s troupe.Session, question, text string) (string, troupe.Usage, troupe.Money, error)
}

const (
	maxSaid    = 4_000  // bytes of what it printed that are kept
	maxContext = 10_000 // of what it tells the model
	maxReason  = 2_000
	maxPath    = 4_096
)

// Run runs hooks that are due at a moment, side by side, and makes one word of theirs. Their order is that of the
// list, whichever ends first.
func (r *Runner) Run(ctx context.Context, due []Hook, m troupe.HookMoment) troupe.HookSaid {
	payload, err := json.Marshal(payloadOf(m))
	words, ran := make([]word, len(due)), make([]troupe.HookRan, len(due))
	var all sync.WaitGroup
	for i := range due {
		h := due[i]
		if err != nil {
			h.Broken = "it could not be told what it is about: " + err.Error()
		}
		all.Go(func() { words[i], ran[i] = r.one(ctx, &h, m, payload) })
	}
	all.Wait()
	return together(due, words, ran)
}

// ended is how a run of a hook ended.
type ended struct {
	exit           int
	stdout, stderr string
	err            error // it came to no end of its own
	usage          troupe.Usage
	cost           troupe.Money
}

// record is a run of a hook before anything is known of it.
func (r *Runner) record(h *Hook, m troupe.HookMoment) troupe.HookRan {
	out := troupe.HookRan{Event: m.Event, Source: h.Source, Type: string(h.Kind), Name: r.short(h.Label(), 200),
		Async: h.Async}
	if m.Call != nil {
		out.Coord = &troupe.Coord{Reply: m.Call.Reply, Call: m.Call.Index}
	}
	return out
}

// Begun is what is logged of hooks that nothing waits for, when they begin.
func (r *Runner) Begun(due []Hook, m troupe.HookMoment) (out []troupe.HookRan) {
	for i := range due {
		ran := r.record(&due[i], m)
		ran.Effect = troupe.HookBegun
		out = append(out, ran)
	}
	return out
}

func (r *Runner) one(ctx context.Context, h *Hook, m troupe.HookMoment, payload []byte) (w word, ran troupe.HookRan) {
	begun := r.Now()
	ran = r.record(h, m)
	limit := h.Limit()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var e ended
	switch {
	case h.Broken != "":
		e.err = errors.New(h.Broken)
	default:
		e = r.start(ctx, h, m, payload)
	}
	ran.DurationMS, ran.Exit = max(0, r.Now().Sub(begun).Milliseconds()), e.exit
	ran.Usage, ran.Cost = e.usage, e.cost
	ran.Said = r.short(strings.TrimSpace(strings.TrimSpace(e.stdout)+"\n"+strings.TrimSpace(e.stderr)), maxSaid)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && e.err != nil:
		w.failed = fmt.Sprintf("it had not ended after %s, and was ended", limit)
	case ctx.Err() != nil && e.err != nil && !errors.Is(context.Cause(ctx), ctx.Err()):
		w.failed = "it was ended: " + context.Cause(ctx).Error()
	case ctx.Err() != nil && e.err != nil:
		w.failed = "it was stopped before it had ended"
	case e.err != nil:
		w.failed = e.err.Error()
	default:
		w = read(m.Event, e.exit, e.stdout, e.stderr)
	}
	return r.settle(h, m, w), ran
}

// settle masks and bounds a word, and has a hook that failed before a call deny it.
func (r *Runner) settle(h *Hook, m troupe.HookMoment, w word) word {
	w.failed, w.why = r.short(w.failed, maxReason), r.short(w.why, maxReason)
	w.message, w.stopWhy = r.short(w.message, maxReason), r.short(w.stopWhy, maxReason)
	w.context = r.short(w.context, maxContext)
	if w.failed != "" {
		w.input, w.context, w.effect, w.why = "", "", "", ""
		if m.Event == troupe.HookPreToolUse {
			w.effect, w.why = troupe.Deny, "the hook failed: "+w.failed
		}
	}
	if w.stop && m.Event == troupe.HookPreToolUse {
		w.effect, w.input = troupe.Deny, ""
		if w.why == "" {
			w.why = strings.TrimSuffix("it ends the run: "+w.stopWhy, ": ")
		}
	}
	return w
}

func (r *Runner) short(s string, n int) string {
	s = r.Mask(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD"))
	short, more := cut(s, n)
	if more {
		short += "…"
	}
	return short
}

func (r *Runner) start(ctx context.Context, h *Hook, m troupe.HookMoment, payload []byte) ended {
	switch h.Kind {
	case Command:
		if err := h.unchanged(); err != nil {
			return ended{err: err}
		}
		return r.command(ctx, h, m, payload)
	case HTTP:
		return r.post(ctx, h, payload)
	case Prompt:
		return r.ask(ctx, h, m, payload)
	}
	return ended{err: fmt.Errorf("hooks of the type %q cannot be run here", h.Kind)}
}

// Limit is how long a hook may take.
func (h *Hook) Limit() time.Duration {
	switch {
	case h.Seconds > 0:
		return time.Duration(h.Seconds * float64(time.Second))
	case h.Event == troupe.HookSessionEnd:
		return 10 * time.Second // somebody is leaving
	case h.Event == troupe.HookWorktreeRemove:
		return 30 * time.Second // the end of a run waits for it
	case h.Event == troupe.HookStatus:
		return 5 * time.Second // what it tells grows old
	case h.Kind == Prompt, h.Event == troupe.HookPrompt:
		return 30 * time.Second // a person waits for it
	}
	return 10 * time.Minute
}

// together makes one word of those of several hooks: the strictest effect, with the first reason for it, and all that
// they tell the model. Two inputs that differ are none: which one was meant nobody can know.
func together(due []Hook, words []word, ran []troupe.HookRan) troupe.HookSaid {
	out := troupe.HookSaid{Ran: ran}
	var contexts []string
	for i := range words {
		w := &words[i]
		if strictness(w.effect) > strictness(out.Effect) {
			out.Effect, out.By, out.Why = w.effect, due[i].by(), w.why
		}
		if w.input != "" && out.Input != "" && w.input != out.Input {
			out.Effect, out.By, out.Why = troupe.Deny, due[i].by(),
				"it gives the call another input than another hook does"
		}
		if w.input != "" {
			out.Input = w.input
			if out.By == "" {
				out.By = due[i].by()
			}
		}
		if w.context != "" {
			contexts = append(contexts, w.context)
		}
		if w.stop && !out.Stop {
			out.Stop, out.StopWhy = true, strings.TrimSuffix(due[i].by()+": "+w.stopWhy, ": ")
		}
		ran[i].Effect, ran[i].Why, ran[i].Message = w.did(), w.why, w.message
		if ran[i].Effect == troupe.HookStopped {
			ran[i].Why = w.stopWhy
		}
		if w.failed != "" {
			ran[i].Why = w.failed
		} else {
			ran[i].Path, _ = cut(w.path, maxPath)
		}
	}
	if out.Effect == troupe.Deny {
		out.Input = ""
	}
	out.Context = strings.Join(contexts, "\n\n")
	return out
}

// by names a hook in a sentence.
func (h *Hook) by() string { return fmt.Sprintf("the hook %q (%s)", h.Label(), h.Source) }

// did is the effect of a run as the log has it.
func (w *word) did() troupe.HookEffect {
	switch {
	case w.failed != "":
		return troupe.HookFailed
	case w.effect == troupe.Deny:
		return troupe.HookDenied
	case w.stop:
		return troupe.HookStopped
	case w.effect == troupe.Ask:
		return troupe.HookAsked
	case w.input != "":
		return troupe.HookChanged
	case w.effect == troupe.Allow:
		return troupe.HookAllowed
	case w.context != "":
		return troupe.HookAdded
	}
	return ""
}
