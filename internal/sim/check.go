package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// rest says what must hold whenever nothing is under way and no timer is set: nothing waits
// for ever.
func (w *world) rest() error {
	err := w.live.hub.Wait(w.expired(), w.root)
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s, whose tree it is, gave up: %w", w.live.owner, err)
	}
	over := err == nil
	for _, id := range w.watch.order {
		st := w.watch.states[id]
		s := st.Session
		if s.Status.Live() {
			return fmt.Errorf("parked for ever: session %s %q is %s %s and nothing is under way", id, s.Name, s.Status,
				s.Waiting)
		}
		in := w.inputs()
		in.Taken.Seq = w.watch.took[id].Seq // each has its own
		if act := turn.Next(st, in); !parks(act) {
			return fmt.Errorf("session %s %q is left alone, and has to do %T %+v", id, s.Name, act, act)
		}
		for _, t := range st.Tasks {
			if t.Status == troupe.TaskRunning {
				return fmt.Errorf("session %s %q has a task that is at work for ever: %s %s", id, s.Name, t.ID, t.Name)
			}
		}
	}
	for _, l := range w.watch.sent {
		m := w.watch.mail[l]
		if !m.delivered && !m.stale(w.watch.states[l.to]) {
			return fmt.Errorf("%s mail %s to session %s is never read", m.Kind, l.id, l.to)
		}
	}
	if err := cmp.Or(w.watch.flowRests(), w.watch.stuckRests()); err != nil {
		return err
	}
	if !over {
		return errors.New("everything has ended, and the hub still waits")
	}
	if g := w.live.gov; g != nil {
		if n, _ := g.real.Waiting("sim"); n > 0 || g.inside != 0 {
			return fmt.Errorf("nothing is under way, and to the governor %d calls are and %d wait", g.inside, n)
		}
	}
	return nil
}

func parks(act turn.Action) bool {
	_, ok := act.(turn.Park)
	return ok
}

// inputs are those of a session to which nothing happens.
func (w *world) inputs() turn.Inputs {
	return turn.Inputs{
		Now: w.now, Taken: w.watch.taken, Settings: w.watch.states[w.root].Settings, Schedule: tools(nil).Schedule,
		Working: func(int) bool { return false }, Told: func(troupe.TaskID, bool) bool { return false },
	}
}

// stale: what a process wrote that had lost the tree reaches nobody until the tree is taken
// over again. It can only have been a stop of a run that is over by now.
func (m *posted) stale(to *turn.State) bool {
	return m.zombie && m.Kind == troupe.MailStop && m.Stop.Run <= to.Session.Run
}

// check says what must hold of what a run left, whatever happened in it. It reads everything
// from the store.
func (w *world) check() error {
	w.res.Sessions = len(w.watch.order)
	h := &history{w: w, ends: make(map[troupe.MailID]int), told: make(map[letter]int)}
	err := w.store.View(w.ctx(), func(r store.Reader) error {
		all, err := r.Sessions(store.Filter{Root: w.root})
		if err != nil {
			return err
		}
		for _, s := range all {
			if err := h.session(watchReader{r, &w.watch}, s); err != nil {
				return fmt.Errorf("session %s %q: %w", s.ID, s.Name, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return h.mail()
}

// history is what the logs of a whole tree say together.
type history struct {
	w    *world
	ends map[troupe.MailID]int // ends of runs that somebody has to be told of, by mail
	told map[letter]int        // mail that reached its receiver's log
}

func (h *history) session(r store.Reader, s troupe.Session) error {
	events, err := r.Events(s.ID, 0, 0)
	if err != nil {
		return err
	}
	st, err := turn.Fold(events)
	switch {
	case err != nil:
		return err
	case st.Session != s:
		return fmt.Errorf("its row differs from its log:\nrow %+v\nlog %+v", s, st.Session)
	}
	l := life{h: h, s: s, results: make(map[troupe.Coord]int), asked: make(map[troupe.Coord]bool),
		open: make(map[troupe.Coord]bool), wanted: make(map[troupe.Coord]bool), begun: make(map[troupe.Coord]bool),
		answers: make(map[troupe.Coord]troupe.RequestAnswered), stops: make(map[int]bool),
		warned: make(map[string]bool), board: make(map[string]troupe.BoardStatus)}
	for _, e := range events {
		if err := l.event(e); err != nil {
			return fmt.Errorf("event %d: %w", e.Seq, err)
		}
	}
	return l.end(&st)
}

// life walks the log of one session.
type life struct {
	h       *history
	s       troupe.Session
	asked   map[troupe.Coord]bool
	results map[troupe.Coord]int
	open    map[troupe.Coord]bool // requests
	wanted  map[troupe.Coord]bool // calls that had run, and wanted more
	begun   map[troupe.Coord]bool
	answers map[troupe.Coord]troupe.RequestAnswered
	unseen  []int64 // content that no model call has sent yet
	summary int64   // the seal of the last call for a summary
	words   map[troupe.SessionID]int
	stops   map[int]bool // runs that somebody stopped
	warned  map[string]bool
	board   map[string]troupe.BoardStatus
	tally   troupe.Tally
	runs    troupe.Tally // as the ends of the runs say
}

func (l *life) event(e troupe.Event) error {
	switch b := e.Body.(type) {
	case troupe.CallSealed:
		return l.sealed(e, b)
	case troupe.Compacted:
		l.bill(b.Usage, b.Cost)
		l.drop(func(seq int64) bool { return seq <= l.summary })
		l.unseen = append(l.unseen, e.Seq)
	case troupe.Replied:
		l.bill(b.Usage, b.Cost)
		l.tally.Turns++
		l.unseen = append(l.unseen, e.Seq)
		for _, block := range b.Blocks {
			if c := block.Call; c != nil {
				l.asked[troupe.Coord{Reply: c.Reply, Call: c.Index}] = true
			}
		}
	case troupe.ModelFailed:
		l.bill(b.Usage, b.Cost)
	case troupe.ToolStarted:
		at := troupe.Coord{Reply: b.Reply, Call: b.Call}
		l.begun[at] = true
		if b.Decision.Step == stepAnswer && l.answers[at].Effect != troupe.Allow {
			return fmt.Errorf("call %v begins by an answer that was %q", at, l.answers[at].Effect)
		}
	case troupe.ToolFinished:
		l.tally.ToolUses++
		l.unseen = append(l.unseen, e.Seq)
		l.told(b.Mail)
		return l.finished(b)
	case troupe.AutoJudged:
		l.bill(b.Usage, b.Cost)
	case troupe.HandoffJudged:
		l.bill(b.Usage, b.Cost)
	case troupe.RequestOpened:
		at := troupe.Coord{Reply: b.Reply, Call: b.Call}
		if l.open[at] {
			return fmt.Errorf("call %v is asked about, and was not answered before", at)
		}
		l.open[at], l.wanted[at] = true, l.wanted[at] || len(b.Wants) > 0
	case troupe.RequestAnswered:
		at := troupe.Coord{Reply: b.Reply, Call: b.Call}
		if !l.open[at] {
			return fmt.Errorf("call %v is answered, and nobody had asked", at)
		}
		delete(l.open, at)
		l.answers[troupe.Coord{Reply: b.Reply, Call: b.Call}] = b
		l.told(b.Mail)
	case troupe.VerifyEnded:
		l.told(b.Mail)
	case troupe.AuthorityChanged:
		l.told(b.Mail)
	case troupe.ModelChanged:
		l.told(b.Mail)
	case troupe.BudgetWarned:
		if l.warned[b.Limit] && b.Limit != troupe.LimitRepeats {
			return fmt.Errorf("it is warned of its limit of %s once more", b.Limit)
		}
		l.warned[b.Limit] = true
		l.unseen = append(l.unseen, e.Seq)
	case troupe.MailDelivered:
		return l.delivered(e, b)
	case troupe.Ended:
		// Who was born idle with a team has ended before anybody could wait for it.
		if idle := l.s.Team != "" && l.s.Coord.Reply == 0 && b.Outcome.Run == 1; l.s.Parent != "" && !idle {
			l.h.ends[troupe.ChildEndedMailID(l.s.ID, b.Outcome.Run)]++
		}
		l.runs = l.runs.Add(b.Outcome.Tally)
		return l.stopped(b.Outcome, e.At)
	case troupe.BoardChanged:
		for _, it := range b.Items {
			l.board[it.ID] = it.Status
		}
	case troupe.Started:
		if b.Keep { // it ends as the run did whose end could not be kept
			l.stops[b.Run] = true
		}
	case troupe.Created, troupe.SettingsChanged:
	}
	return nil
}

func (l *life) bill(u troupe.Usage, c troupe.Money) {
	l.tally.Usage, l.tally.Cost = l.tally.Usage.Add(u), l.tally.Cost+c
}

func (l *life) drop(gone func(int64) bool) {
	var kept []int64
	for _, seq := range l.unseen {
		if !gone(seq) {
			kept = append(kept, seq)
		}
	}
	l.unseen = kept
}

// sealed: a model call sends all that is new, once.
func (l *life) sealed(e troupe.Event, b troupe.CallSealed) error {
	if b.Compact {
		l.summary = e.Seq
		return nil
	}
	refs := make(map[int64]bool, len(b.Refs))
	for _, ref := range b.Refs {
		refs[ref] = true
	}
	n := len(l.unseen)
	l.drop(func(seq int64) bool { return refs[seq] })
	if len(l.unseen) > 0 || n != len(b.Refs) {
		return fmt.Errorf("the model is sent events %v, and never events %v", b.Refs, l.unseen)
	}
	return nil
}

func (l *life) finished(b troupe.ToolFinished) error {
	at := troupe.Coord{Reply: b.Result.Reply, Call: b.Result.Call}
	l.results[at]++
	delete(l.open, at) // the run was stopped before anybody answered
	if b.Interrupt && !l.begun[at] {
		return fmt.Errorf("call %v is said to be interrupted, and had never begun", at)
	}
	key := effectKey(outputDir(l.s.ID), callID(at.Reply, at.Call))
	n := l.h.w.effects[key]
	switch {
	case n == 0 && b.Name == "Edit" && !b.Result.IsError:
		return fmt.Errorf("the edit %v is said to be done, and took no effect", at)
	case !b.Result.IsError && strings.HasPrefix(b.Name, "Task") && l.s.Team == "" &&
		!l.onBoard(troupe.JoinText(b.Result.Blocks)):
		return fmt.Errorf("call %v is told of a list that the log does not have", at)
	case n > 0 && b.Denied != nil && !l.wanted[at]:
		return fmt.Errorf("call %v was denied, and took effect", at)
	}
	return nil
}

// onBoard: what a call is told of an item is what the log says of it.
func (l *life) onBoard(told string) bool {
	var id string
	var status troupe.BoardStatus
	if n, _ := fmt.Sscanf(told, "Task #%s created", &id); n == 1 {
		id, status = strings.TrimSuffix(id, ":"), troupe.BoardPending
	} else if n, _ = fmt.Sscanf(told, "Updated: #%s [%s", &id, &status); n == 2 {
		status = troupe.BoardStatus(strings.TrimSuffix(string(status), "]"))
	}
	return id == "" || l.board[id] == status
}

func (l *life) told(id troupe.MailID) {
	if id != "" {
		l.h.told[letter{l.s.ID, id}]++
	}
}

// delivered: words of one sender arrive in the order in which they were sent.
func (l *life) delivered(e troupe.Event, b troupe.MailDelivered) error {
	words := false
	for _, m := range b.Mail {
		sent := l.h.w.watch.mail[letter{l.s.ID, m.ID}]
		if sent != nil {
			l.told(m.ID)
		}
		if !m.Kind.Control() {
			words = true
		}
		if m.Stop != nil {
			l.stops[m.Stop.Run] = !m.Stop.Void
		}
		if m.Kind != troupe.MailPrompt && m.Kind != troupe.MailMessage || sent == nil {
			continue
		}
		if l.words == nil {
			l.words = make(map[troupe.SessionID]int)
		}
		if sent.order < l.words[m.From] {
			return fmt.Errorf("mail %s arrives behind what was said later", m.ID)
		}
		l.words[m.From] = sent.order
	}
	if words {
		l.unseen = append(l.unseen, e.Seq)
	}
	return nil
}

// stopped: a run ends as stopped only if somebody stopped that run, and a stop ends one run. A member of a team is
// stopped too when its time is up to come to the end that its lead wanted.
func (l *life) stopped(o troupe.Outcome, at time.Time) error {
	run := max(o.Run, 1) // one that never began is stopped by what was meant for its first run
	due := slices.ContainsFunc(l.h.w.watch.sent, func(x letter) bool {
		m := l.h.w.watch.mail[x].Message
		return x.to == l.s.ID && m != nil && m.Type == troupe.MessageShutdown && !m.Until.After(at)
	})
	if o.Status == troupe.Cancelled && !l.stops[run] && !due {
		return fmt.Errorf("run %d was stopped by nobody", o.Run)
	}
	delete(l.stops, run)
	return nil
}

// end says what must hold of a whole log.
func (l *life) end(st *turn.State) error {
	for at := range l.open {
		return fmt.Errorf("the request about call %v has no end", at)
	}
	for at := range l.asked {
		if l.results[at] != 1 {
			return fmt.Errorf("call %v has %d results", at, l.results[at])
		}
	}
	if len(l.results) != len(l.asked) {
		return errors.New("there are results of calls that nobody made")
	}
	if l.tally != l.s.Tally || l.runs != l.s.Tally {
		return fmt.Errorf("its bill is %+v, its log adds up to %+v, its runs to %+v", l.s.Tally, l.tally, l.runs)
	}
	pending := make(map[int64]bool)
	for _, seq := range st.Refs() {
		pending[seq] = true
	}
	for _, seq := range l.unseen {
		if !pending[seq] {
			return fmt.Errorf("event %d will never reach the model", seq)
		}
	}
	return nil
}

// mail: each end was told once, and nothing that was sent is lost or was read twice.
func (h *history) mail() error {
	told := make(map[troupe.MailID]int)
	for l, n := range h.told {
		told[l.id] += n
	}
	for id := range h.ends {
		if told[id] != 1 {
			return fmt.Errorf("the end %s is %d times in the parent's log", id, told[id])
		}
	}
	for _, l := range h.w.watch.sent {
		m := h.w.watch.mail[l]
		if n := h.told[l]; n != 1 && (n > 0 || !m.stale(h.w.watch.states[l.to])) {
			return fmt.Errorf("%s mail %s to session %s is %d times in its log", m.Kind, l.id, l.to, n)
		}
	}
	for _, l := range h.w.people.promised {
		if h.told[l] != 1 {
			return fmt.Errorf("mail %s to session %s was sent, and is %d times in its log", l.id, l.to, h.told[l])
		}
	}
	return nil
}
