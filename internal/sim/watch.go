package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// watch looks at every commit. It keeps its own fold of each log, and says at once what can be
// said of one step; the rest waits for the whole history (check.go).
type watch struct {
	w      *world
	states map[troupe.SessionID]*turn.State
	order  []troupe.SessionID // of birth
	born   int                // since the last words of a person
	events map[troupe.SessionID][]troupe.Event
	mail   map[letter]*posted
	sent   []letter // in order
	// begun are calls that the log said would begin, as their tools name them; often is how often
	// each was asked about.
	begun   map[string]*beginning
	often   map[string]int
	law     law
	seals   map[troupe.SessionID]troupe.CallSealed // the last of each session
	because map[troupe.SessionID]bool              // the next seal may begin another generation
	asked   map[troupe.SessionID][]asked           // words that no reply has followed yet
	taken   turn.Taken                             // when the tree was taken over
	took    map[troupe.SessionID]turn.Taken        // and when each session at work was
	late    map[troupe.SessionID]int               // model calls past the tree's time, in a row
	docket  docket
	teamwork
	together
}

// together is what is known of how sessions end, stop, check and lead each other.
type together struct {
	pairing
	haltings
	results
	flow
	leading
}

// haltings are runs that somebody stopped.
type haltings struct {
	halted map[troupe.SessionID]*halted
	halts  map[troupe.SessionID]int // runs that were told to stop, as far as they have read it
}

// halted is a session at work whose tree somebody stopped.
type halted struct {
	run, calls int // which run, and the model calls it has begun since
}

// asked are words of people and agents.
type asked struct {
	seq  int64 // of the event that put them into the conversation
	text string
}

// letter is one piece of mail.
type letter struct {
	to troupe.SessionID
	id troupe.MailID
}

// posted is what became of it.
type posted struct {
	troupe.Mail
	order     int
	zombie    bool // its sender had lost the tree
	delivered bool
}

func newWatch(w *world) watch {
	return watch{
		w: w, states: make(map[troupe.SessionID]*turn.State),
		events: make(map[troupe.SessionID][]troupe.Event),
		mail:   make(map[letter]*posted), begun: make(map[string]*beginning), often: make(map[string]int),
		law: law{w: w, gate: gate.NewTools(tools(nil).Facts()), parties: make(map[troupe.SessionID]*party),
			said: make(map[troupe.Fork]int), asked: make(map[askedFor]sentFor)},
		seals: make(map[troupe.SessionID]troupe.CallSealed), because: make(map[troupe.SessionID]bool),
		together: together{haltings: haltings{make(map[troupe.SessionID]*halted), make(map[troupe.SessionID]int)},
			results: newResults(), flow: newFlow()},
		asked: make(map[troupe.SessionID][]asked), late: make(map[troupe.SessionID]int),
		took: make(map[troupe.SessionID]turn.Taken),
	}
}

// committed takes in a transaction that was committed.
func (h *watch) committed(p *process, t *watchTx) {
	if t.claimed && (h.w.live != p || h.w.left == p) {
		if h.w.live != nil && h.w.live != p {
			h.w.live.zombie = true
			h.w.before = append(h.w.before, h.w.live)
		}
		h.w.live, h.w.left, p.zombie = p, nil, false
		h.w.before = slices.DeleteFunc(h.w.before, func(x *process) bool { return x == p })
		clear(h.halted) // whoever takes a tree over wants it to go on
		h.stays = false
		for _, id := range t.claims {
			h.took[id] = turn.Taken{At: h.w.now, Seq: h.states[id].Session.Seq}
		}
		h.taken = h.took[h.w.root]
		h.w.trace("the tree is %s's", p.owner)
	}
	for _, m := range t.mail {
		if held, err := h.w.leaseOf(m.From); p.zombie && (err != nil || held.Owner != p.owner) {
			h.w.broken("%s has lost session %s, and sends %s mail for it: %s", p.owner, m.From, m.Kind, m.ID)
		}
		h.posted(m, p.zombie)
		if m.Board != nil && m.Board.Intent() == nil {
			h.team.answers = append(h.team.answers, m)
		}
	}
	for _, a := range t.appends {
		p.logged[a.row.ID] = a.row.Seq
		if p.zombie {
			h.lost(p, a)
		}
		h.appended(a)
	}
	if t.claimed {
		h.law.claimed()
	}
	if h.states[h.w.root] != nil {
		h.claims()
	}
	h.checkers()
	h.teamBegins()
	for _, l := range t.read {
		if m := h.mail[l]; m == nil || m.delivered {
			h.w.broken("mail %s to session %s was delivered twice, or never sent", l.id, l.to)
		} else {
			m.delivered = true
		}
	}
	if len(t.appends) > 0 {
		h.sums()
		h.docket.check(h)
	}
}

// lost: a process that has lost the tree advances nobody. Sessions that have ended are left
// to it until the new owner needs them; what they are told does not matter to anybody yet.
func (h *watch) lost(p *process, a appended) {
	for _, e := range a.events {
		if k := e.Body.Kind(); k != troupe.KindMailDelivered && k != troupe.KindAuthorityChanged &&
			k != troupe.KindModelChanged {
			h.w.broken("%s has lost the tree, and logs %s as event %d of session %s", p.owner, k, e.Seq, a.row.ID)
		}
	}
}

func (h *watch) posted(m troupe.Mail, zombie bool) {
	l := letter{m.To, m.ID}
	h.sent = append(h.sent, l)
	if said, ok := h.w.people.drafts[m.ID]; ok {
		h.w.people.said[m.ID] = said
	}
	h.mail[l] = &posted{Mail: m, order: len(h.sent), zombie: zombie}
	h.w.trace("  %s to %s: %s", m.Kind, m.To, m.ID)
	h.offered(m)
	h.leadSays(m)
	switch {
	case m.Kind == troupe.MailStop && !(m.Stop.Tree && m.From == ""):
		h.cut = true
	case m.Kind == troupe.MailStop:
		h.cut = true
		h.stopped(m.To)
		if m.To == h.w.root {
			h.stays = h.idle(m.To)
		}
	case m.From == "" && m.Wakes():
		h.stays = false
	}
}

// idle: the run of a session is over, and nothing is on its way that begins another.
func (h *watch) idle(id troupe.SessionID) bool {
	st := h.states[id]
	return st != nil && st.Session.Status.Ended() && !slices.ContainsFunc(h.sent, func(l letter) bool {
		m := h.mail[l]
		return l.to == id && !m.delivered && st.WokenBy(m.Mail)
	})
}

// stopped notes whom a stop of a tree has to reach.
func (h *watch) stopped(top troupe.SessionID) {
	below := map[troupe.SessionID]bool{top: true}
	for _, id := range h.order {
		s := h.states[id].Session
		below[id] = below[id] || below[s.Parent]
		if !below[id] || !s.Status.Live() {
			continue
		}
		run := max(s.Run, 1)
		if before := h.halted[id]; before == nil || before.run != run {
			h.halted[id] = &halted{run: run}
		}
	}
}

func (h *watch) appended(a appended) {
	st := h.states[a.row.ID]
	if st == nil {
		st = new(turn.State)
		h.states[a.row.ID] = st
		h.order = append(h.order, a.row.ID)
		h.born++
	}
	for _, e := range a.events {
		if b, ok := e.Body.(troupe.MailDelivered); ok && slices.ContainsFunc(b.Mail, troupe.Mail.PersonsPrompt) {
			h.born = 0
		}
		h.event(st, e)
		if err := st.Apply(e); err != nil {
			h.w.broken("logged although it cannot be: %w", err)
			return
		}
	}
	if st.Session != a.row {
		h.w.broken("session %s: its row differs from its log:\nrow %+v\nlog %+v", a.row.ID, a.row, st.Session)
	}
	h.needless(st, a.events)
}

// event says what can be said of one event, given the state before it.
func (h *watch) event(st *turn.State, e troupe.Event) {
	id := e.Session
	if h.w.opt.Trace != nil {
		h.w.trace("  %s %d: %s %s", id, e.Seq, e.Body.Kind(), brief(e.Body))
	}
	h.docket.note(e)
	switch b := e.Body.(type) {
	case troupe.CallSealed:
		before, had := h.seals[id]
		if had && b.Generation != before.Generation && !h.because[id] && b.Because == "" {
			h.w.broken("session %s: event %d begins generation %d without a reason", id, e.Seq, b.Generation)
		}
		if !b.Compact && b.Because != "" {
			h.w.broken("session %s: event %d begins generation %d: %s", id, e.Seq, b.Generation, b.Because)
		}
		if l, t := st.Profile.Limits, st.Session.Tally; (l.MaxTurns > 0 && st.RunTurns() >= l.MaxTurns) ||
			(l.MaxTokens > 0 && t.Usage.Total() >= l.MaxTokens) || (l.MaxCost > 0 && t.Cost >= l.MaxCost) {
			h.w.broken("session %s: event %d begins a model call beyond its limits %+v: %d replies in this run, %+v",
				id, e.Seq, l, st.RunTurns(), t)
		}
		if id == h.w.root && h.stays {
			h.w.broken("session %s: event %d begins a model call, and nobody has spoken since the whole tree was "+
				"stopped", id, e.Seq)
		}
		h.inTime(st, e)
		h.dismissed(e, st.Session)
		h.seals[id], h.because[id] = b, b.Compact
		if x := h.halted[id]; x != nil && x.run == st.Session.Run {
			// One call may have been on its way already.
			if x.calls++; x.calls > 1 {
				h.w.broken("session %s: event %d begins a model call, and its tree was stopped long before", id, e.Seq)
			}
		}
	case troupe.ModelChanged, troupe.Compacted:
		h.because[id] = true
	case troupe.MailDelivered:
		for _, m := range b.Mail {
			h.told(st, e, m.Stop)
			h.team.heard(m)
			h.stepTold(e, m)
			h.stepEnds(e, m)
			if m.Ended != nil && m.Ended.Team != "" {
				h.rested = e.Seq
			}
			for i := 0; m.Kind == troupe.MailPrompt && i < len(m.Blocks); i++ {
				h.asked[id] = append(h.asked[id], asked{e.Seq, m.Blocks[i].Text})
			}
		}
	case troupe.Replied:
		h.law.said[troupe.Fork{Session: id, Generation: st.Generation, Seq: e.Seq}] = b.Reply
		h.asked[id] = slices.DeleteFunc(h.asked[id], func(a asked) bool { return a.seq <= st.SealedAt() })
	case troupe.WorkspaceReady:
		h.w.placed(st.Session, b)
	case troupe.WorkspaceMerged:
		h.merges(st.Session, e, b)
	case troupe.WorkspaceSaved:
		h.w.placed(st.Session, b)
	case troupe.WorkspaceChanged:
		h.law.moved(id, e.Seq, b)
	case troupe.Started:
		h.alone(e)
	case troupe.HandoffAsked:
		h.handoffAsked(e, b)
	case troupe.HandoffJudged:
		h.handoffJudged(e, b)
	case troupe.VerifyStarted:
		h.verifyStarted(e, b)
	case troupe.VerifyEnded:
		h.verifyEnded(e, b)
	case troupe.Ended:
		h.handed(st, e, b.Outcome)
		h.w.placed(st.Session, b)
		delete(h.halted, id)
		h.unpaired(e, st.Session.Run)
	case troupe.HookRan:
		h.hooked(e, b)
	case troupe.ToolJudged:
		h.judged(e, b)
	case troupe.AutoAsked:
		h.autoAsked(st, e, b)
	case troupe.AutoJudged:
		h.autoJudged(st, e, b)
	case troupe.ToolStarted:
		h.began(st, e, b)
		h.coordinates(e, b.Name, false)
		h.w.people.note(id, b.Task)
	case troupe.ToolFinished:
		h.w.people.note(id, b.Task)
		h.coordinates(e, b.Name, b.Result.IsError)
		h.listed(st, e, b)
		h.sends(e, b)
		h.team.heard(troupe.Mail{Ended: b.Outcome})
		if b.Outcome != nil && b.Outcome.Team != "" {
			h.rested = e.Seq
		}
	case troupe.BoardChanged:
		h.w.res.Listed++
		h.owns(e, b)
		h.board = e.Seq
	case troupe.TeamChanged:
		h.disbands(e, b)
		if h.w.climate.begun && st.Session.Run == 0 {
			h.whole, h.joined = true, b.Members
		}
	case troupe.RequestOpened:
		want := e.At.Add(h.states[h.w.root].Settings.AskFor)
		if b.Lead != "" && want.Equal(e.At) {
			want = want.Add(leadWait)
		}
		if b.RequestBody.Kind == troupe.RequestTool {
			want = e.At.Add(clientTime)
		}
		if !b.Until.Equal(want) {
			h.w.broken("session %s: the request of event %d waits until %s, and the run was started to wait until %s",
				id, e.Seq, b.Until, want)
		}
		h.opened(st, e, b)
		h.asksLead(st, e, b)
	case troupe.RequestAnswered:
		h.answered(st, e, b)
	case troupe.AuthorityChanged:
		h.granted(st, e, b)
	case troupe.Created:
		h.law.born(id, e.Seq, b)
		h.bornBound(e, b)
		h.stepBegins(e, b)
		if b.Coord.Call == troupe.VerifyCall {
			h.verifiers = append(h.verifiers, id)
		}
		if b.Profile.Team != "" {
			h.w.res.Members++
		}
	}
	if b, ok := e.Body.(troupe.Compacted); ok {
		h.w.res.Summaries++
		h.restated(st, b)
		h.listRestated(st, b)
	}
}

// inTime: when the time of a tree is up, whoever is at work below the root is stopped soon,
// also when the root has ended. What somebody sets going later is another matter.
func (h *watch) inTime(st *turn.State, e troupe.Event) {
	s := st.Session
	d := h.states[h.w.root].Deadline(h.taken)
	if s.Parent == "" || d.IsZero() || e.At.Before(d) || !s.StartedAt.Before(d) {
		h.late[s.ID] = 0
		return
	}
	if h.late[s.ID]++; h.late[s.ID] > 3 {
		h.w.broken("session %s: event %d begins a model call, and the time of its tree was up at %s", s.ID, e.Seq, d)
	}
}

// idles: nothing can be done but to let time pass until then. No session works past its own time by more
// than the grace, whatever it is doing, if the machine keeps up.
func (h *watch) idles(until time.Time) {
	if h.w.live == nil || h.w.live.dead || h.w.live == h.w.left || len(h.w.coming) > 0 {
		return // nobody is there to end it
	}
	h.checkedBy(until)
	h.circle(until)
	for _, id := range h.order {
		st := h.states[id]
		d := st.Deadline(h.took[id])
		noticed := h.noticed(id, d)
		if noticed.Before(h.w.stalled) {
			noticed = h.w.stalled
		}
		if began := st.Session.StartedAt; noticed.Before(began) {
			noticed = began // a run that began when its time was up already
		}
		if st.Session.Status.Live() && st.Session.Run > 0 && !d.IsZero() && until.After(noticed.Add(h.w.grace())) {
			h.w.broken("session %s: its time was up at %s, and it is %s and waits until %s", id, d,
				st.Session.Status.For(st.Session.Waiting), until)
		}
	}
}

// grace is what a session may take to come to its end when its time is up: where hooks are told of ends, their
// patience besides for each level of the tree.
func (w *world) grace() time.Duration {
	// Folders of sessions are closed before their ends, one level after the other.
	closing := time.Duration(w.climate.caps.MaxDepth+1) * 200 * time.Millisecond
	if w.hooked() {
		return closing + time.Second + time.Duration(w.climate.caps.MaxDepth+1)*5*time.Second
	}
	return closing + time.Second
}

// restated: a summary names what is at work, and what was not answered yet stands behind it
// word for word.
func (h *watch) restated(st *turn.State, b troupe.Compacted) {
	text := troupe.JoinText(b.Blocks)
	for _, t := range st.Tasks {
		if t.Status == troupe.TaskRunning && !strings.Contains(text, string(t.ID)) {
			h.w.broken("session %s: its summary does not name task %s, which is at work", st.Session.ID, t.ID)
		}
	}
	blocks := b.Blocks
	for _, a := range h.asked[st.Session.ID] {
		i := slices.IndexFunc(blocks, func(x troupe.Block) bool { return x.Text == a.text })
		room := h.w.climate.window * 3 / 4 // a quarter of the window, in bytes
		if long := room > 0 && int64(len(a.text)) > room/2; long {
			continue // as much of it as fits
		}
		if a.seq <= b.Covers && i < 0 {
			h.w.broken("session %s: %q was said to it and not answered, and stands nowhere but in a summary's words",
				st.Session.ID, a.text)
		}
		blocks = blocks[i+1:]
	}
}

// sums: after every commit the tree is what its sessions add up to, and within its caps.
func (h *watch) sums() {
	var tree troupe.Tree
	err := h.w.store.View(context.Background(), func(r store.Reader) error {
		var err error
		tree, err = r.Tree(h.w.root)
		return err
	})
	if err != nil {
		h.w.broken("read the tree: %w", err)
		return
	}
	want := troupe.Tree{Root: tree.Root, Name: tree.Name, Caps: tree.Caps, Total: len(h.order) - 1,
		SincePrompt: h.born}
	members := 0 // which do not count while they are idle, when others are born
	for _, id := range h.order {
		s := &h.states[id].Session
		want.Tally = want.Tally.Add(s.Tally)
		want.Reserved = want.Reserved.Add(s.Reserved)
		if s.Active() {
			want.Active++
		}
		if s.Team != "" {
			members++
		}
	}
	c := h.w.climate.caps
	switch {
	case tree != want:
		h.w.broken("the tree differs from its sessions:\ntree     %+v\nsessions %+v", tree, want)
	case c.MaxTotal > 0 && tree.SincePrompt-members > c.MaxTotal:
		h.w.broken("%d sessions were born since a prompt, under a cap of %d", tree.SincePrompt, c.MaxTotal)
	}
}

func callID(reply, call int) string { return fmt.Sprintf("r%dc%d", reply, call) }

func effectKey(dir, call string) string { return dir + "/" + call }

// brief is what a trace shows of an event.
func brief(body troupe.Body) string {
	switch b := body.(type) {
	case troupe.Created:
		return fmt.Sprintf("%q under %s", b.Name, b.Parent)
	case troupe.Started:
		return fmt.Sprint(b.Run)
	case troupe.CallSealed:
		return fmt.Sprintf("reply %d generation %d compact %v refs %v", b.Reply, b.Generation, b.Compact, b.Refs)
	case troupe.Replied:
		text := fmt.Sprintf("%s %q", b.Stop, troupe.JoinText(b.Blocks))
		for _, block := range b.Blocks {
			if block.Call != nil {
				text += fmt.Sprintf(" %s(%s)", block.Call.Name, block.Call.Input)
			}
		}
		return text
	case troupe.ModelFailed:
		return fmt.Sprintf("%s attempt %d: %s", b.Fault, b.Attempt, b.Message)
	case troupe.ToolStarted:
		return fmt.Sprintf("%d.%d %s child %s wait %+v by %+v", b.Reply, b.Call, b.Name, b.Child, b.Wait, b.Decision)
	case troupe.AuthorityChanged:
		return fmt.Sprintf("%+v by %s", b.Authority.Rules, b.By) + briefMode(b.Authority)
	case troupe.ToolFinished:
		return fmt.Sprintf("%d.%d %s mail %s: %.60q", b.Result.Reply, b.Result.Call, b.Name, b.Mail,
			troupe.JoinText(b.Result.Blocks))
	case troupe.MailDelivered:
		var ids []troupe.MailID
		for _, m := range b.Mail {
			ids = append(ids, m.ID)
		}
		return fmt.Sprint(ids)
	case troupe.RequestOpened:
		return fmt.Sprintf("%d.%d %s until %s with %v", b.Reply, b.Call, b.Tool, b.Until.Format("04:05"), b.With) +
			fmt.Sprintf(" %+v wants %v rules %q", b.Decision, b.Wants, b.Rules)
	case troupe.HookRan:
		return fmt.Sprintf("%s of run %d %s", b.Event, b.Run, b.Effect)
	case troupe.RequestAnswered:
		return fmt.Sprintf("%d.%d %s by %s", b.Reply, b.Call, b.Effect, b.By)
	case troupe.Ended:
		return fmt.Sprintf("%s %s %s", b.Outcome.Status, b.Outcome.Cause, b.Outcome.Error)
	}
	return ""
}
