package sim

import (
	"context"
	"errors"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/turn"
)

// judge takes its time for each call, and then says what the seed says.
type judge struct{ p *process }

func (j judge) Judge(ctx context.Context, q session.Judging) (troupe.Judgement, error) {
	w := j.p.w
	w.sleep(ctx, time.Duration(w.rng.IntN(4000))*time.Millisecond)
	said := troupe.Judgement{By: "the hook"}
	var failed error
	switch n := w.rng.IntN(20); {
	case n < 1: // a guard that has fallen over guards nothing, so the call is denied
		failed = errors.New("it crashed")
	case n < 2:
		said.Effect, said.Why = troupe.Deny, "rather not"
	case n < 4:
		said.Effect = troupe.Ask
	case n < 7:
		said.Effect = troupe.Allow
	}
	heard := said
	if failed != nil {
		heard.Effect, heard.Why = troupe.Deny, "it could not be judged: it crashed"
	}
	key := verdictKey(q.Session.ID, q.Call.Reply, q.Call.Index)
	// What a process hears that has lost the tree counts for what it still reads, and is not logged.
	if _, known := w.verdicts[key]; ctx.Err() == nil && !j.p.dead && (!j.p.zombie || !known) {
		w.verdicts[key] = heard
	}
	return said, failed
}

func verdictKey(id troupe.SessionID, reply, call int) string {
	return effectKey(outputDir(id), callID(reply, call))
}

// verdict is what the judge said last about a call; nil: it was not asked.
func (w *world) verdict(id troupe.SessionID, c *turn.Call) *troupe.Judgement {
	if said, ok := w.verdicts[verdictKey(id, c.Reply, c.Index)]; ok {
		return &said
	}
	return nil
}

// judged: what is logged of a judgement is what was said.
func (h *watch) judged(e troupe.Event, b troupe.ToolJudged) {
	h.w.res.Judged++
	c := turn.Call{Call: troupe.Call{Reply: b.Reply, Index: b.Call}}
	if said := h.w.verdict(e.Session, &c); said == nil || *said != b.Judgement {
		h.w.broken("session %s: event %d has call %d.%d judged %+v; what was said is %+v", e.Session, e.Seq, b.Reply,
			b.Call, b.Judgement, said)
	}
}

// mayBegin: no call begins that was not judged, or to which the judge said no, or whose run was told
// to stop before.
func (h *watch) mayBegin(st *turn.State, e troupe.Event, b troupe.ToolStarted) {
	c := &st.Calls[b.Call]
	switch {
	case h.halts[e.Session] == st.Session.Run:
		h.w.broken("session %s: event %d starts call %d.%d, and its run was told to stop before", e.Session, e.Seq,
			b.Reply, b.Call)
	case !h.w.climate.judge:
	case c.Judged == nil:
		h.w.broken("session %s: event %d starts call %d.%d, which was not judged", e.Session, e.Seq, b.Reply, b.Call)
	case c.Judged.Effect == troupe.Deny, c.Judged.Effect == troupe.Ask && c.Answer == nil:
		h.w.broken("session %s: event %d starts call %d.%d, which was judged %+v and answered %+v", e.Session, e.Seq,
			b.Reply, b.Call, c.Judged, c.Answer)
	}
}

// told notes a stop that a session has read, or that was taken back.
func (h *watch) told(st *turn.State, e troupe.Event, s *troupe.Stop) {
	switch {
	case s == nil || s.Task != "" || s.Run != st.Session.Run:
	case s.Void:
		delete(h.halts, e.Session)
	default:
		h.halts[e.Session] = s.Run
	}
}
