package sim

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/turn"
)

// autoModel stands for the model of mode auto: it takes its time, and allows what the seed says.
type autoModel struct{ p *process }

// Judge implements session.Auto.
func (m autoModel) Judge(ctx context.Context, q session.AutoAsking) troupe.Verdict {
	w := m.p.w
	w.sleep(ctx, time.Duration(w.rng.IntN(4000))*time.Millisecond)
	said := troupe.Verdict{Effect: troupe.Ask, Why: "rather not", Usage: troupe.Usage{Input: 20}, Cost: 7}
	switch {
	case ctx.Err() != nil || w.one(8):
		said.Failed = true
	case !w.one(3):
		said.Effect, said.Why = troupe.Allow, "it was asked for"
	}
	// What a process hears that has lost the tree is not logged.
	if _, known := w.autoSaid[q.ID]; !m.p.dead && (!m.p.zombie || !known) {
		w.autoSaid[q.ID] = said.Effect
	}
	return said
}

func autoKey(id troupe.SessionID, c *turn.Call) string {
	return fmt.Sprintf("%s/auto.%d.%d.%d", id, c.Reply, c.Index, c.Rounds)
}

// autoAsked and autoJudged: each verdict is logged once, as it was said, after it was logged that it is asked for.
func (h *watch) autoAsked(st *turn.State, e troupe.Event, b troupe.AutoAsked) {
	if h.autoOpen == nil {
		h.autoOpen = make(map[string]bool)
	}
	h.autoOpen[autoKey(e.Session, &st.Calls[b.Call])] = true
}

func (h *watch) autoJudged(st *turn.State, e troupe.Event, b troupe.AutoJudged) {
	key := autoKey(e.Session, &st.Calls[b.Call])
	said, known := h.w.autoSaid[key]
	switch open := h.autoOpen[key]; {
	case b.Effect == troupe.Allow && (!known || said != troupe.Allow || b.Failed):
		h.w.broken("session %s: event %d has the model of mode auto allow call %d.%d; it said %q", e.Session, e.Seq,
			b.Reply, b.Call, said)
	case !open && !b.Failed:
		h.w.broken("session %s: event %d has a verdict about call %d.%d that was not asked for, or one more", e.Session,
			e.Seq, b.Reply, b.Call)
	}
	delete(h.autoOpen, key)
	h.w.res.Verdicts++
}

// letByAuto reports whether the model of mode auto has just said yes to a call.
func (h *watch) letByAuto(id troupe.SessionID, c *turn.Call) bool {
	st := h.states[id]
	if st == nil || st.Reply() != c.Reply || c.Index >= len(st.Calls) {
		return false
	}
	return h.w.autoSaid[autoKey(id, &st.Calls[c.Index])] == troupe.Allow
}

// answeredByModel: the model of mode auto answers only what it allowed just now, and opens nothing but the folder and
// the network.
func (h *watch) answeredByModel(st *turn.State, e troupe.Event, b troupe.RequestAnswered) {
	c := &st.Calls[b.Call]
	if c.Verdict == nil || c.Verdict.Effect != troupe.Allow || b.Effect != troupe.Allow ||
		h.w.autoSaid[autoKey(e.Session, c)] != troupe.Allow {
		h.w.broken("session %s: event %d has the model of mode auto answer for call %d.%d, and it said %+v", e.Session,
			e.Seq, b.Reply, b.Call, c.Verdict)
	}
	for _, a := range c.Request.Wants {
		if a.Changes() && (a.Path == guarded || !strings.HasPrefix(a.Path, "/sim/")) || a.Op == troupe.OpUnseen {
			h.w.broken("session %s: event %d has the model of mode auto let call %d.%d %s %s", e.Session, e.Seq,
				b.Reply,
				b.Call, a.Op, a.Path)
		}
	}
}

// letByModel: what runs by the yes of the model is in mode auto for each agent of the line that does not allow it by
// itself, and no rule of the line denies it or asks about it. Rules are compared here by their text, and not by the
// gate.
func letByModel(law troupe.Decision, chain []gate.Layer, c *turn.Call) bool {
	auto := false
	for i := range chain {
		auto = auto || chain[i].Mode == troupe.ModeAuto
		for _, r := range chain[i].Rules {
			if r.Written.Effect != troupe.Allow && isAbout(r.Written.Text, c) {
				return false
			}
		}
	}
	return auto && law.Auto
}

// isAbout reports whether a rule as drawRule draws them is about a call.
func isAbout(text string, c *turn.Call) bool {
	tool, arg, _ := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	input := strings.TrimPrefix(c.Input, "&")
	switch {
	case tool != c.Name:
		return false
	case arg == "":
		return true
	case strings.HasPrefix(arg, "//"):
		return strings.HasPrefix(input, strings.TrimSuffix(arg[1:], "**"))
	case strings.HasSuffix(arg, ":*"):
		return strings.HasPrefix(input, strings.TrimSuffix(arg, ":*"))
	}
	return input == arg
}
