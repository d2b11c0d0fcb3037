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
func (ex *exchange) compactCall(ctx context.Context, act turn.Compact) (again bool, err error) {
	if ok, again, err := ex.openModel(ctx); !ok {
		return again, err
	}
	s := troupe.CallSealed{
		Reply: act.Reply, Generation: ex.a.st.Generation + 1, Model: ex.a.st.Session.Model, Compact: true,
		Encoder: ex.a.convo.provider.Encoder(), Chain: ex.a.st.Chain, Because: "a summary: " + act.Why,
		Reserved: ex.reservation(0),
	}
	messages, err := ex.summaryRequest(ctx, act)
	if err != nil {
		return ex.gone(ctx, err)
	}
	sealed, again, err := ex.seal(ctx, s)
	if err != nil || !sealed {
		return again, err
	}
	ex.a.why = act.Why
	ex.send(ctx, model.Request{
		Agent: ex.agent(act.Reply, act.Attempt),
		Model: ex.a.convo.modelID, Generation: ex.a.st.Generation, Head: ex.a.convo.head, Messages: messages,
		Fresh: 1, FreshBlocks: 1,
	})
	return false, nil
}

// summaryRequest is the conversation with the request for a summary behind it.
func (ex *exchange) summaryRequest(ctx context.Context, act turn.Compact) ([][]byte, error) {
	ask := troupe.Text(summaryWords(ex.a.st.CompactHint()))
	if !act.Clip {
		pending, err := ex.a.convo.transcript.Peek(troupe.Event{Session: ex.a.id}, ex.a.st.Refs())
		if err != nil {
			return nil, err
		}
		if n := len(pending); n > 0 && pending[n-1].Role == troupe.User {
			pending[n-1].Blocks = append(pending[n-1].Blocks, ask)
		} else {
			pending = append(pending, troupe.Message{Role: troupe.User, Blocks: []troupe.Block{ask}})
		}
		return ex.encodeAll(ex.a.convo.messages, pending)
	}
	events, err := ex.retold(ctx)
	if err != nil {
		return nil, err
	}
	text := turn.Digest(turn.Heard(append(events, ex.a.staged.events...)),
		int(ex.windowBytes()/2)>>ex.a.st.CompactFailures())
	return ex.encodeAll(nil, []troupe.Message{{Role: troupe.User, Blocks: []troupe.Block{troupe.Text(text), ask}}})
}

func (ex *exchange) encodeAll(before [][]byte, msgs []troupe.Message) ([][]byte, error) {
	out := append([][]byte(nil), before...)
	for _, m := range msgs {
		b, err := ex.a.convo.provider.EncodeMessage(m)
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
func (ex *exchange) summarised(ctx context.Context, in inModelDone, cost troupe.Money, priced bool) error {
	text := strings.TrimSpace(troupe.JoinText(in.reply.Blocks))
	if text == "" || in.reply.Stop == troupe.StopRefusal || in.reply.Stop == troupe.StopMaxTokens {
		in.err = &model.Error{
			Fault: troupe.FaultBad, Usage: in.reply.Usage, Partial: in.reply.Blocks,
			Message: fmt.Sprintf("the summary did not come about: the model ended with %s and %d bytes of text",
				in.reply.Stop, len(text)),
			Err: errNoSummary,
		}
		return ex.a.stage(ex.modelFailed(in))
	}
	blocks := []troupe.Block{troupe.Text(troupe.Quote("conversation-summary", text))}
	blocks = append(blocks, troupe.Text(ex.restate()))
	words, err := ex.unanswered(ctx)
	if err != nil {
		return err
	}
	if len(words) > 0 {
		blocks = append(blocks, troupe.Text("<system-reminder>\nThis was said to you and is not answered yet, word "+
			"for word:\n</system-reminder>"))
		blocks = append(blocks, words...)
	}
	brief := ex.a.h.brief(ex.a.h.folders.of(ex.a.st.Session.Cwd), ex.a.briefing(), ex.a.tree.kinds())
	brief.Workspace = whereItWorks(ex.a.st.Session.Workspace)
	err = ex.a.stage(troupe.Compacted{
		Generation: ex.a.st.Generation + 1, Blocks: blocks, Brief: brief, Covers: ex.a.st.SealedAt(), Why: ex.a.why,
		Model: in.reply.Model,
		Usage: in.reply.Usage, Cost: cost, Unpriced: !priced, DurationMS: in.took.Milliseconds(),
	})
	ex.a.hooks.tell(troupe.HookPostCompact, turn.Trigger(ex.a.why), map[string]any{"trigger": turn.Trigger(ex.a.why)})
	ex.a.why = ""
	return err
}

// unanswered is what was said to the session up to the call for the summary and had no reply
// yet: it shall not survive in the summary's words alone. It may take a quarter of the window.
func (ex *exchange) unanswered(ctx context.Context) ([]troupe.Block, error) {
	asked := ex.a.st.Asked()
	if len(asked) == 0 || asked[0] > ex.a.st.SealedAt() {
		return nil, nil
	}
	events, err := ex.log(ctx, asked[0]-1)
	if err != nil {
		return nil, err
	}
	events = slices.DeleteFunc(turn.Heard(events), func(e troupe.Event) bool {
		return e.Seq > ex.a.st.SealedAt() || !slices.Contains(asked, e.Seq)
	})
	return turn.Verbatim(events, ex.windowBytes()/4), nil
}

// retold is what is committed of the session's conversation: in a fork that no summary has taken it from, behind that
// of its parent.
func (ex *exchange) retold(ctx context.Context) (events []troupe.Event, err error) {
	if at := ex.a.st.Fork; at != nil && !ex.a.st.Summarized {
		err := ex.ofParent(ctx, func(r store.Reader) (err error) {
			events, err = r.Events(at.Session, 0, int(at.Seq))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	own, err := ex.log(ctx, 0)
	return append(events, own...), err
}

// log reads what is committed of the session's log, from behind an event.
func (ex *exchange) log(ctx context.Context, after int64) (events []troupe.Event, err error) {
	err = ex.a.h.d.Store.View(context.WithoutCancel(ctx), func(r store.Reader) error {
		events, err = r.Events(ex.a.id, after, 0)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", ex.a.id, err)
	}
	return events, nil
}

// windowBytes is about how much text the model's window holds.
func (ex *exchange) windowBytes() int64 {
	if w := ex.a.h.d.Models.Window(ex.a.st.Session.Model); w > 0 {
		return w * 3
	}
	return 400_000
}

var errNoSummary = errors.New("no summary")

// restate says from the session's own state what a summary must not lose: what is at work.
func (ex *exchange) restate() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<system-reminder>\nThe conversation so far was replaced by the summary above. All of it is kept "+
		"in the session's log.\nNow: %s.\n", ex.a.h.d.Now().UTC().Format(time.RFC3339))
	running := 0
	for _, t := range ex.a.st.Tasks {
		if t.Status == troupe.TaskRunning {
			running++
		}
	}
	fmt.Fprintf(&b, "Your tasks, of which %d are at work now (do not start them again; their ends arrive by "+
		"themselves):\n%s\n", running, turn.RenderTasks(ex.a.st.Tasks, nil))
	if files := ex.a.st.Evidence.Files; len(files) > 0 {
		b.WriteString("Files you have written in this run:\n")
		b.WriteString(turn.RenderFiles(files))
	}
	if ex.a.st.Board.Open() {
		fmt.Fprintf(&b, "The list of what is to be done:\n%s\n", ex.a.st.Board)
	}
	b.WriteString("</system-reminder>")
	return b.String()
}
