package sim

import (
	"context"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
)

// hooks take their time at the moments of sessions, fail, add words, and refuse ends. What is before a call the judge
// plays.
type hooks struct{ w *world }

// Hooks are those of the tree; some seeds have none.
func (p profiles) Hooks() session.Hooks {
	if !p.w.hooked() {
		return nil
	}
	return hooks(p)
}

func (w *world) hooked() bool { return w.opt.Seed%4 == 1 }

// Due are the moments at which the engine waits for hooks. In some seeds it is all but those before a call, which the
// judge plays, so that what nothing waits for comes as well.
func (h hooks) Due(m troupe.HookMoment) bool {
	switch m.Event {
	case troupe.HookSubagentStart, troupe.HookSubagentStop, troupe.HookStop, troupe.HookPrompt, troupe.HookPostToolUse,
		troupe.HookPreCompact, troupe.HookNotification, troupe.HookWorktreeCreate, troupe.HookWorktreeRemove:
		return true
	default:
		return h.w.opt.Seed%8 == 1 && m.Event != troupe.HookPreToolUse
	}
}

func (hooks) Makes(troupe.HookMoment) bool { return false }

func (hooks) Begun(troupe.HookMoment) []troupe.HookRan { return nil }

func (h hooks) Run(ctx context.Context, m troupe.HookMoment, _ bool) (said troupe.HookSaid) {
	h.w.sleep(ctx, time.Duration(h.w.rng.IntN(3000))*time.Millisecond)
	ran := troupe.HookRan{Event: m.Event, Source: "sim", Type: "command", Name: "hook"}
	said.By = "the hook"
	switch n := h.w.rng.IntN(12); {
	case n < 2 || ctx.Err() != nil:
		ran.Effect, ran.Why = troupe.HookFailed, "it crashed"
	case n < 4 && (m.Event == troupe.HookStop || m.Event == troupe.HookSubagentStop ||
		m.Event == troupe.HookPostToolUse):
		ran.Effect, said.Effect, said.Why = troupe.HookDenied, troupe.Deny, "not yet"
	case n < 6 && m.Event != troupe.HookNotification:
		ran.Effect, said.Context = troupe.HookAdded, "mind the gap"
	}
	said.Ran = []troupe.HookRan{ran}
	return said
}

// pairing is what is known of hooks and of ends, and of questions to the model of mode auto.
type pairing struct {
	autoOpen map[string]bool                    // it was asked, and its verdict is not in the log
	pairs    map[troupe.SessionID]map[int]*pair // what hooks were told of the runs of agents
	folders  map[troupe.SessionID]*pair         // and of their folders
	overdue  map[troupe.SessionID]time.Time     // when it was noticed that their time is up
	list     map[string]*listedItem             // what is to be done, as the calls about it said
	stays    bool                               // the root is idle, and its tree was stopped since somebody spoke
}

// noticed is when the time of a session was up. Where hooks are told of its end, it is when a machine that had slept
// was awake again: what they take is real time.
func (h *watch) noticed(id troupe.SessionID, d time.Time) time.Time {
	if !h.w.hooked() || h.w.now.Before(d) {
		return d
	}
	if h.overdue == nil {
		h.overdue = make(map[troupe.SessionID]time.Time)
	}
	if at, ok := h.overdue[id]; !ok || at.Before(d) {
		h.overdue[id] = h.w.now
	}
	return h.overdue[id]
}

// pair is how often the beginning and the end of a run were told.
type pair struct{ starts, stops int }

// hooked: of each run of an agent hooks are told one beginning and one end, whichever process tells it.
func (h *watch) hooked(e troupe.Event, b troupe.HookRan) {
	h.w.res.Hooks++
	if b.Effect == troupe.HookFailed {
		h.w.res.HooksFailed++
	}
	if b.Event == troupe.HookWorktreeCreate || b.Event == troupe.HookWorktreeRemove {
		h.folderTold(e, b.Event)
		return
	}
	if b.Event != troupe.HookSubagentStart && b.Event != troupe.HookSubagentStop || b.GoesOn {
		return
	}
	runs := h.pairs[e.Session]
	if runs == nil {
		runs = make(map[int]*pair)
		if h.pairs == nil {
			h.pairs = make(map[troupe.SessionID]map[int]*pair)
		}
		h.pairs[e.Session] = runs
	}
	p := runs[b.Run]
	if p == nil {
		p = &pair{}
		runs[b.Run] = p
	}
	if b.Event == troupe.HookSubagentStart {
		p.starts++
	} else {
		p.stops++
	}
	if p.starts > 1 || p.stops > p.starts {
		h.w.broken("session %s: event %d tells hooks of run %d: %d beginnings and %d ends", e.Session, e.Seq, b.Run,
			p.starts, p.stops)
	}
}

// folderTold: hooks are not told that a folder goes before they were told that it is there.
func (h *watch) folderTold(e troupe.Event, event troupe.HookEvent) {
	if h.folders == nil {
		h.folders = make(map[troupe.SessionID]*pair)
	}
	p := h.folders[e.Session]
	if p == nil {
		p = &pair{}
		h.folders[e.Session] = p
	}
	if event == troupe.HookWorktreeCreate {
		p.starts++
	} else {
		p.stops++
	}
	if p.stops > p.starts {
		h.w.broken("session %s: event %d tells hooks of %d folders that go, and of %d that came", e.Session, e.Seq,
			p.stops, p.starts)
	}
}

// unpaired: no run ends whose beginning hooks were told of and whose end they were not.
func (h *watch) unpaired(e troupe.Event, run int) {
	if p := h.pairs[e.Session][run]; p != nil && p.starts != p.stops {
		h.w.broken("session %s: event %d ends run %d, of which hooks were told %d beginnings and %d ends", e.Session,
			e.Seq,
			run, p.starts, p.stops)
	}
}
