package session

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

//go:embed compact.md
var compactPrompt string

// compactCall asks the model for a summary of the conversation. The whole is sent as it
// stands, so that the provider's cache serves most of it; if that does not fit, or failed
// before, a shorter rendering goes in its place.
func (a *exchange) compactCall(ctx context.Context, act turn.Compact) (again bool, err error) {
	if ok, again, err := a.openModel(ctx); !ok {
		return again, err
	}
	s := troupe.CallSealed{
		Reply: act.Reply, Generation: a.st.Generation + 1, Model: a.st.Session.Model, Compact: true,
		Encoder: a.convo.provider.Encoder(), Chain: a.st.Chain, Because: "a summary: " + act.Why,
		Reserved: a.reservation(),
	}
	messages, err := a.summaryRequest(ctx, act)
	if err != nil {
		return false, err
	}
	sealed, again, err := a.seal(ctx, s)
	if err != nil || !sealed {
		return again, err
	}
	a.why = act.Why
	a.send(ctx, model.Request{
		Agent: a.agent(act.Reply, act.Attempt),
		Model: a.convo.modelID, Generation: a.st.Generation, Head: a.convo.head, Messages: messages,
		Fresh: 1, FreshBlocks: 1,
	})
	return false, nil
}

// summaryRequest is the conversation with the request for a summary behind it.
func (a *exchange) summaryRequest(ctx context.Context, act turn.Compact) ([][]byte, error) {
	ask := troupe.Text(summaryWords(a.st.CompactHint()))
	if !act.Clip {
		pending, err := a.convo.transcript.Peek(troupe.Event{Session: a.id}, a.st.Refs())
		if err != nil {
			return nil, err
		}
		if n := len(pending); n > 0 && pending[n-1].Role == troupe.User {
			pending[n-1].Blocks = append(pending[n-1].Blocks, ask)
		} else {
			pending = append(pending, troupe.Message{Role: troupe.User, Blocks: []troupe.Block{ask}})
		}
		return a.encodeAll(a.convo.messages, pending)
	}
	events, err := a.log(ctx, 0)
	if err != nil {
		return nil, err
	}
	text := turn.Digest(append(events, a.staged.events...), int(a.windowBytes()/2)>>a.st.CompactFailures())
	return a.encodeAll(nil, []troupe.Message{{Role: troupe.User, Blocks: []troupe.Block{troupe.Text(text), ask}}})
}

func (a *exchange) encodeAll(before [][]byte, msgs []troupe.Message) ([][]byte, error) {
	out := append([][]byte(nil), before...)
	for _, m := range msgs {
		b, err := a.convo.provider.EncodeMessage(m)
		if err != nil {
			return nil, fmt.Errorf("encode a message: %w", err)
		}
		out = append(out, b)
	}
	return out, nil
}

func summaryWords(hint string) string {
	words := strings.TrimSpace(compactPrompt)
	if hint != "" {
		words += "\n\nThe person asks you to keep in mind: " + hint
	}
	return words
}

// summarised logs the summary, and with it the beginning of a new generation. A reply that
// is none counts as a failure.
func (a *exchange) summarised(ctx context.Context, in inModelDone, cost troupe.Money, priced bool) error {
	text := strings.TrimSpace(troupe.JoinText(in.reply.Blocks))
	if text == "" || in.reply.Stop == troupe.StopRefusal || in.reply.Stop == troupe.StopMaxTokens {
		in.err = &model.Error{
			Fault: troupe.FaultBad, Usage: in.reply.Usage, Partial: in.reply.Blocks,
			Message: fmt.Sprintf("the summary did not come about: the model ended with %s and %d bytes of text",
				in.reply.Stop, len(text)),
			Err: errNoSummary,
		}
		return a.stage(a.modelFailed(in))
	}
	blocks := []troupe.Block{troupe.Text(troupe.Quote("conversation-summary", text))}
	blocks = append(blocks, troupe.Text(a.restate()))
	words, err := a.unanswered(ctx)
	if err != nil {
		return err
	}
	if len(words) > 0 {
		blocks = append(blocks, troupe.Text("<system-reminder>\nThis was said to you and is not answered yet, word "+
			"for word:\n</system-reminder>"))
		blocks = append(blocks, words...)
	}
	err = a.stage(troupe.Compacted{
		Generation: a.st.Generation + 1, Blocks: blocks, Covers: a.st.SealedAt(), Why: a.why, Model: in.reply.Model,
		Usage: in.reply.Usage, Cost: cost, Unpriced: !priced, DurationMS: in.took.Milliseconds(),
	})
	a.why = ""
	return err
}

// unanswered is what was said to the session up to the call for the summary and had no reply
// yet: it shall not survive in the summary's words alone. It may take a quarter of the window.
func (a *exchange) unanswered(ctx context.Context) ([]troupe.Block, error) {
	asked := a.st.Asked()
	if len(asked) == 0 || asked[0] > a.st.SealedAt() {
		return nil, nil
	}
	events, err := a.log(ctx, asked[0]-1)
	if err != nil {
		return nil, err
	}
	events = slices.DeleteFunc(events, func(e troupe.Event) bool {
		return e.Seq > a.st.SealedAt() || !slices.Contains(asked, e.Seq)
	})
	return turn.Verbatim(events, a.windowBytes()/4), nil
}

// log reads what is committed of the session's log, from behind an event.
func (a *exchange) log(ctx context.Context, after int64) (events []troupe.Event, err error) {
	err = a.h.d.Store.View(context.WithoutCancel(ctx), func(r store.Reader) error {
		events, err = r.Events(a.id, after, 0)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", a.id, err)
	}
	return events, nil
}

// windowBytes is about how much text the model's window holds.
func (a *exchange) windowBytes() int64 {
	if w := a.h.d.Models.Window(a.st.Session.Model); w > 0 {
		return w * 3
	}
	return 400_000
}

var errNoSummary = errors.New("no summary")

// restate says from the session's own state what a summary must not lose: what is at work.
func (a *exchange) restate() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<system-reminder>\nThe conversation so far was replaced by the summary above. All of it is kept "+
		"in the session's log.\nNow: %s.\n", a.h.d.Now().UTC().Format(time.RFC3339))
	running := 0
	for _, t := range a.st.Tasks {
		if t.Status == troupe.TaskRunning {
			running++
		}
	}
	fmt.Fprintf(&b, "Your tasks, of which %d are at work now (do not start them again; their ends arrive by "+
		"themselves):\n%s\n", running, turn.RenderTasks(a.st.Tasks))
	if files := a.st.Evidence.Files; len(files) > 0 {
		b.WriteString("Files you have written in this run:\n")
		for _, f := range files {
			fmt.Fprintf(&b, "%s (+%d -%d)\n", troupe.Escape(f.Path), f.Added, f.Removed)
		}
	}
	b.WriteString("</system-reminder>")
	return b.String()
}
