package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/turn"
)

// handoffWithin is how long a result waits for the model that checks it.
const handoffWithin = 30 * time.Second

// checker stands for the model that checks results: it takes its time, up to its bound, and says what the seed says.
type checker struct{ p *process }

// Check implements session.HandoffModel.
func (m checker) Check(ctx context.Context, q session.HandoffAsking) troupe.Verdict {
	w := m.p.w
	took := time.Duration(w.rng.IntN(4000)) * time.Millisecond
	if w.one(10) {
		took = handoffWithin
	}
	w.sleep(ctx, took)
	said := troupe.Verdict{Effect: troupe.Allow, Why: "fine", Usage: troupe.Usage{Input: 20}, Cost: 7}
	switch {
	case ctx.Err() != nil || took == handoffWithin || w.one(8):
		said.Failed, said.Why = true, "it took too long"
	case w.one(2):
		said.Effect, said.Why = troupe.Ask, "it says what it did not do"
	}
	if !m.p.dead && !m.p.zombie {
		w.watch.doubts[q.ID] = said
	}
	return said
}

// results are what is known of results that are checked before they are handed over.
type results struct {
	doubts    map[string]troupe.Verdict        // what the model said, by the question
	asking    map[string]troupe.Event          // that asked it
	settled   map[string]bool                  // its verdict is in the log
	checks    map[troupe.SessionID]int         // the reply whose result an agent checks, or for which there was none
	verifiers []troupe.SessionID               // agents that were born to check in the transaction that is looked at
	named     []troupe.SessionID               // and those that a log has check
	ends      map[troupe.MailID]troupe.Outcome // of runs
}

func newResults() results {
	return results{doubts: make(map[string]troupe.Verdict), asking: make(map[string]troupe.Event),
		settled: make(map[string]bool), checks: make(map[troupe.SessionID]int),
		ends: make(map[troupe.MailID]troupe.Outcome)}
}

func handoffKey(id troupe.SessionID, reply int) string {
	return fmt.Sprintf("%s/handoff.%d", id, reply)
}

// handoffAsked: the model is asked once for a verdict about a reply.
func (h *watch) handoffAsked(e troupe.Event, b troupe.HandoffAsked) {
	key := handoffKey(e.Session, b.Reply)
	if h.settled[key] {
		h.w.broken("session %s: event %d asks again about reply %d, whose verdict is in the log", e.Session, e.Seq,
			b.Reply)
	}
	h.asking[key] = e
}

// handoffJudged: what is logged is what the model said, once.
func (h *watch) handoffJudged(e troupe.Event, b troupe.HandoffJudged) {
	key := handoffKey(e.Session, b.Reply)
	if h.asking[key].Seq == 0 || h.settled[key] {
		h.w.broken("session %s: event %d has a verdict about reply %d that nobody waits for", e.Session, e.Seq, b.Reply)
	}
	delete(h.asking, key)
	h.settled[key] = true
	h.w.res.Handed++
	if said, ok := h.doubts[key]; b.Effect != troupe.Ask && (!ok || said.Failed || said.Effect != b.Effect) {
		h.w.broken("session %s: event %d has the model that checks results say %q; it said %+v", e.Session, e.Seq,
			b.Effect, said)
	}
}

// verifyStarted: what a run hands over is checked once for each reply that it would end with, by the agent that was
// born for that.
func (h *watch) verifyStarted(e troupe.Event, b troupe.VerifyStarted) {
	if h.checks[e.Session] >= b.Reply {
		h.w.broken("session %s: event %d has reply %d checked once more", e.Session, e.Seq, b.Reply)
	}
	h.checks[e.Session] = b.Reply
	if b.Task != nil {
		h.w.res.Verified++
		h.named = append(h.named, troupe.SessionID(b.Task.ID))
	}
}

// checkers: who was born to check is known as that to the run that waits for it, from the same transaction on.
func (h *watch) checkers() {
	for _, id := range h.verifiers {
		if !slices.Contains(h.named, id) {
			h.w.broken("session %s was born to check what %s hands over, and no log says so", id,
				h.states[id].Session.Parent)
		}
	}
	h.verifiers, h.named = nil, nil
}

// verifyEnded: what came of a check is what the agent came to that checked.
func (h *watch) verifyEnded(e troupe.Event, b troupe.VerifyEnded) {
	o, ok := h.ends[troupe.ChildEndedMailID(b.Outcome.Session, b.Outcome.Run)]
	if !ok || o.Status != b.Outcome.Status || o.Result != b.Outcome.Result {
		h.w.broken("session %s: event %d has %s check it and say %q; it ended as %s: %q", e.Session, e.Seq,
			b.Outcome.Session, b.Outcome.Result, o.Status, o.Result)
	}
}

// handed: nothing is handed over before what was to check it has come to its end, and with what that said.
func (h *watch) handed(st *turn.State, e troupe.Event, o troupe.Outcome) {
	h.ends[troupe.ChildEndedMailID(e.Session, o.Run)] = o
	if o.Status != troupe.Completed || st.Session.Depth == 0 || turn.Keeping(st) {
		return
	}
	if st.Profile.Verify {
		h.verified(st, e, o)
	}
	key := handoffKey(e.Session, st.Reply())
	if h.states[h.w.root].Settings.HandoffModel == "" || o.Result == "" {
		return
	}
	flagged := slices.ContainsFunc(o.Flags, func(f troupe.Flag) bool { return f.Rule == troupe.HandoffModelRule })
	said := h.doubts[key]
	switch {
	case !h.settled[key]:
		h.w.broken("session %s: event %d hands over what the model that checks results has said nothing about",
			e.Session, e.Seq)
	case said.Failed != (o.Unchecked != "") && said.Why != "":
		h.w.broken("session %s: event %d hands over a result that was not checked: %q; the model said %+v", e.Session,
			e.Seq, o.Unchecked, said)
	case !said.Failed && flagged != (said.Effect == troupe.Ask):
		h.w.broken("session %s: event %d hands over a result with the flags %+v; the model said %+v", e.Session, e.Seq,
			o.Flags, said)
	}
}

func (h *watch) verified(st *turn.State, e troupe.Event, o troupe.Outcome) {
	v := o.Verified
	if v == nil || h.checks[e.Session] != st.Reply() {
		h.w.broken("session %s: event %d hands over reply %d, which was to be checked and was not: %+v", e.Session,
			e.Seq, st.Reply(), v)
		return
	}
	who := turn.Checker(st)
	said, over := h.ends[troupe.ChildEndedMailID(who, 1)]
	if !over { // it was stopped before it began
		said, over = h.ends[troupe.ChildEndedMailID(who, 0)]
	}
	want := troupe.VerdictOf(said.Result)
	if said.Status != troupe.Completed {
		want = ""
	}
	if v.Session != who || who != "" && (!over || v.Verdict != want) || who == "" && v.Why == "" {
		h.w.broken("session %s: event %d hands over %+v; %q checked it, and ended as %s: %q", e.Session, e.Seq, v, who,
			said.Status, said.Result)
	}
}

// checkedBy: a result waits for the model that checks it no longer than its bound.
func (h *watch) checkedBy(until time.Time) {
	for key, e := range h.asking {
		at := e.At
		if st := h.states[e.Session]; st.SealedAt() > e.Seq || st.Session.Status.Ended() {
			continue // words came meanwhile, and the run has gone on; or it was stopped
		}
		if from := h.taken.At; at.Before(from) {
			at = from
		}
		if at.Before(h.w.stalled) {
			at = h.w.stalled
		}
		if until.After(at.Add(handoffWithin + h.w.grace())) {
			h.w.broken("%s: a result waits since %s for the model that checks it, and until %s", key, at, until)
		}
	}
}
