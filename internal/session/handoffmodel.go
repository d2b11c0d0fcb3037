package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// HandoffModel asks the model of the user's choice about what an agent hands to its parent.
type HandoffModel interface {
	// Check asks it once. It takes no longer than its bound and ends with ctx. Whatever goes wrong is a verdict that
	// has Failed.
	Check(ctx context.Context, q HandoffAsking) troupe.Verdict
}

// HandoffAsking is what that model is told. All but Model is data that others wrote.
type HandoffAsking struct {
	ID         string // of the question, unlike that of any other
	Model      string
	Path       string // of the agent
	Task       string // what it was given to do
	Transcript string // what it did, as far as that fits
	Measured   string // what the runtime measured of it
	Result     string
}

// inHandoffJudged is what it says about a reply.
type inHandoffJudged struct {
	reply int
	said  troupe.Verdict
}

func (inHandoffJudged) input() {}

// before has a run that is about to hand over a result wait for the model that checks results. It reports whether the
// end can be logged now. A run that ends otherwise waits only for what a question under way has cost.
//
// One that hooks were told the end of comes to that whatever is due by now; it waits no longer for a verdict then.
func (hd *handing) before(ctx context.Context, act, due turn.Action) (now bool, err error) {
	end, ends := act.(turn.End)
	name := hd.a.tree.settings().HandoffModel
	switch {
	case !ends:
		return true, nil
	case end.Status != troupe.Completed || end.Result == "" || hd.a.st.Session.Depth == 0 || name == "" ||
		hd.a.h.d.Handoff == nil || hd.a.h.d.Replay != nil || turn.Keeping(&hd.a.st):
		if hd.cancel != nil {
			hd.cancel()
		}
		return hd.cancel == nil, nil
	case hd.cancel != nil:
		if stops(due) {
			hd.cancel()
		}
		return false, nil
	case turn.Handed(&hd.a.st) != nil:
		return true, nil
	}
	return false, hd.ask(ctx, name, end.Result)
}

// stops reports whether a run would not be completed any more, or is about to hear that it is to stop.
func stops(due turn.Action) bool {
	switch act := due.(type) {
	case turn.End:
		return act.Status != troupe.Completed
	case turn.Interrupt:
		return true
	case turn.Deliver:
		return slices.ContainsFunc(act.Mail, func(m troupe.Mail) bool {
			return m.Kind == troupe.MailStop && m.Stop.Task == ""
		})
	}
	return false
}

// ask asks. That it is asked is in the log before, with what it may cost.
func (hd *handing) ask(ctx context.Context, name, result string) error {
	each, room, reply := hd.reserved(name), true, hd.a.st.Reply()
	err := hd.a.transact(ctx, func(tx store.Tx, emit func(troupe.Body) error) error {
		if room = true; each != (troupe.Reservation{}) {
			tree, err := tx.Tree(hd.a.root)
			if err != nil {
				return fmt.Errorf("read tree %s: %w", hd.a.root, err)
			}
			// What is held back for one that was lost with its process is given back with this event.
			tree.Reserved = tree.Reserved.Minus(hd.a.st.Session.Reserved)
			over, wait := fleet.Room(tree, each)
			room = over.Limit == "" && !wait
		}
		asked := troupe.HandoffAsked{Reply: reply, Model: name}
		if room {
			asked.Reserved = each
		}
		return emit(asked)
	})
	if err != nil {
		return err
	}
	h := hd.a.h
	q := HandoffAsking{ID: fmt.Sprintf("%s/handoff.%d", hd.a.id, reply), Model: name,
		Path:   hd.a.tree.chain.path(hd.a.id),
		Result: h.d.Mask(result), Measured: turn.RenderMeasured(turn.Measured(&hd.a.st, hd.a.place.closed))}
	id := hd.a.id
	hd.cancel = hd.a.goCancel(ctx, func(ctx context.Context) {
		said := troupe.Verdict{Model: name, Failed: true, Why: "the limits of this tree leave no room to ask it"}
		if room {
			said = checkByModel(ctx, h, id, q)
		}
		if said.Effect != troupe.Allow || said.Failed {
			said.Effect = troupe.Ask
		}
		said.Model, said.Why = name, plain(h.d.Mask(said.Why))
		hd.a.post(inHandoffJudged{reply, said})
	})
	return nil
}

// judged notes what it said.
func (hd *handing) judged(in inHandoffJudged) error {
	hd.cancel = nil
	return hd.a.stage(troupe.HandoffJudged{Reply: in.reply, Verdict: in.said})
}

// said is what the check by a model adds to an outcome.
func (hd *handing) said(o *troupe.Outcome) {
	switch v := turn.Handed(&hd.a.st); {
	case v == nil || o.Status != troupe.Completed:
	case v.Failed:
		o.Unchecked = "the model that checks results (" + v.Model + ") gave no verdict: " + v.Why
	case v.Effect == troupe.Ask:
		o.Flags = append(o.Flags, troupe.Flag{Rule: troupe.HandoffModelRule,
			Why: fmt.Sprintf("is doubted by %s: %q", v.Model, v.Why)})
	}
}

// What such a question and its answer take, about.
const (
	handoffInput  = 30_000
	handoffOutput = 1000
)

// reserved is what asking once may use. It is zero in a tree without limits.
func (hd *handing) reserved(name string) troupe.Reservation {
	if c := hd.a.tree.limits(); c.MaxTokens == 0 && c.MaxCost == 0 {
		return troupe.Reservation{}
	}
	cost, _ := hd.a.h.d.Models.Cost(name, troupe.Usage{Input: handoffInput, Output: handoffOutput})
	return troupe.Reservation{Tokens: handoffInput + handoffOutput, Cost: cost}
}

// checkByModel reads what the agent did, and asks. It runs beside the actor.
func checkByModel(ctx context.Context, h *Hub, id troupe.SessionID, q HandoffAsking) troupe.Verdict {
	var told transcript
	err := h.d.Store.View(ctx, func(r store.Reader) error {
		told = transcript{}
		for from := int64(0); ; {
			events, err := r.Events(id, from, logPage)
			if err != nil {
				return fmt.Errorf("read the log of %s: %w", id, err)
			}
			if len(events) == 0 {
				return nil
			}
			for _, e := range events {
				told.take(e.Body)
			}
			from = events[len(events)-1].Seq
		}
	})
	if err != nil {
		return troupe.Verdict{Failed: true, Why: fmt.Sprintf("what the agent did could not be read: %v", err)}
	}
	q.Task, q.Transcript = h.d.Mask(told.task), h.d.Mask(told.text())
	return h.d.Handoff.Check(ctx, q)
}

// transcript is what an agent was told and did, for a model to read: the first words whole, each thing after them
// shortened, and of these the last that fit.
type transcript struct {
	task  string
	lines []string
	size  int
	left  int // lines that did not fit
}

const (
	mostTask       = 8_000
	mostLine       = 1_500
	mostTranscript = 64_000
)

func (t *transcript) add(who, text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	short, more := turn.Cap(text, mostLine)
	if more > 0 {
		short += fmt.Sprintf(" [%d more bytes]", more)
	}
	t.lines = append(t.lines, who+": "+short)
	for t.size += len(t.lines[len(t.lines)-1]); t.size > mostTranscript; t.lines = t.lines[1:] {
		t.size -= len(t.lines[0])
		t.left++
	}
}

func (t *transcript) text() string {
	text := strings.Join(t.lines, "\n")
	if t.left > 0 {
		text = fmt.Sprintf("[%d earlier entries are left out]\n", t.left) + text
	}
	return text
}

func (t *transcript) take(b troupe.Body) {
	switch b := b.(type) {
	case troupe.MailDelivered:
		for _, m := range b.Mail {
			switch {
			case m.Kind.Words() && t.task == "":
				t.task, _ = turn.Cap(troupe.JoinText(m.Blocks), mostTask)
			case m.Kind.Words():
				t.add("told", troupe.JoinText(m.Blocks))
			case m.Ended != nil:
				t.add("an agent or command of its own ended", m.Ended.Result)
			}
		}
	case troupe.Replied:
		for _, block := range b.Blocks {
			switch {
			case block.Type == troupe.CallBlock && block.Call != nil:
				t.add("calls "+block.Call.Name, block.Call.Input)
			case block.Type == troupe.TextBlock:
				t.add("says", block.Text)
			}
		}
	case troupe.ToolFinished:
		t.add("result of "+b.Name, troupe.JoinText(b.Result.Blocks))
	case troupe.Compacted:
		t.add("a summary of what was before", troupe.JoinText(b.Blocks))
	}
}
