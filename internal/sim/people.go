package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/turn"
)

// people are those who talk to the tree from outside, at any time and to anybody in it.
type people struct {
	spoken   int
	asked    []question                           // every request there was
	promised []letter                             // mail of which they were told that it is sent
	tasks    map[troupe.SessionID][]troupe.TaskID // that each session was told of
	said     map[troupe.MailID]saying
	drafts   map[troupe.MailID]saying // what was said last under an id; the first that was sent counts
}

// question is a request that was opened.
type question struct {
	session troupe.SessionID
	troupe.RequestOpened
	at time.Time // of the commit
}

// saying is what somebody said to a request or granted, in their own copy.
type saying struct {
	answer *troupe.Answer
	rule   troupe.Rule
	mode   troupe.Mode
	at     time.Time
}

// left reports whether somebody still has something to say.
func (p *people) left(w *world) bool { return p.spoken < w.climate.words }

func (p *people) note(id troupe.SessionID, t *troupe.Task) {
	if t == nil {
		return
	}
	if p.tasks == nil {
		p.tasks = make(map[troupe.SessionID][]troupe.TaskID)
	}
	if !slices.Contains(p.tasks[id], t.ID) {
		p.tasks[id] = append(p.tasks[id], t.ID)
	}
}

// anybody draws a session of the tree.
func (w *world) anybody() *turn.State {
	ids := w.watch.order
	return w.watch.states[ids[w.rng.IntN(len(ids))]]
}

// speak has somebody do something about the tree, through the process that owns it. Open
// requests are mostly answered; everything else happens a few times.
func (w *world) speak() {
	if w.live == nil || w.live.dead || w.live == w.left || len(w.watch.order) == 0 {
		return
	}
	if q, open := w.request(); open && !w.one(4) {
		w.answer(q)
		return
	}
	if !w.people.left(w) {
		return
	}
	w.people.spoken++
	w.res.Words++
	if len(w.before) > 0 && w.one(6) {
		w.mistake()
		return
	}
	s := w.anybody()
	id := s.Session.ID
	if w.one(12) && s.Session.Parent != "" {
		w.trace("move %s to the background: %v", id, w.live.hub.Move(w.root, id, nil, nil))
		return
	}
	w.tell(func(tx store.Tx) ([]troupe.Mail, error) { return w.mail(tx, id) })
}

// urgent reports whether a request is open, and nothing else is to be done before somebody's
// patience ends.
func (w *world) urgent() bool {
	if slices.ContainsFunc(w.tasks, func(t *task) bool { return !t.off && !t.proc.dead && !t.at.After(w.now) }) {
		return false
	}
	_, open := w.request()
	return open
}

// request finds a request that is open, or one that was.
func (w *world) request() (question, bool) {
	for i := len(w.people.asked) - 1; i >= 0 && i > len(w.people.asked)-20; i-- {
		q := w.people.asked[i]
		if w.open(q) {
			return q, true
		}
	}
	if n := len(w.people.asked); n > 0 {
		return w.people.asked[w.rng.IntN(n)], false
	}
	return question{}, false
}

func (w *world) open(q question) bool {
	st := w.watch.states[q.session]
	return st != nil && slices.ContainsFunc(st.Calls, func(c turn.Call) bool {
		return c.Request != nil &&
			c.Request.ID == q.ID
	})
}

// answer answers a request: perhaps with a rule for the whole tree, perhaps twice.
func (w *world) answer(q question) {
	if i := slices.IndexFunc(w.people.asked, func(old question) bool {
		return old.session == q.session && old.Reply == q.Reply && old.Call == q.Call
	}); w.one(3) {
		late := w.people.asked[i] // the first about this call, which may be another one
		w.tell(func(store.Tx) ([]troupe.Mail, error) { return w.answers(late), nil })
	}
	w.tell(func(store.Tx) ([]troupe.Mail, error) { return w.answers(q), nil })
	if w.one(5) {
		w.tell(func(store.Tx) ([]troupe.Mail, error) { return w.answers(q), nil })
	}
}

func (w *world) answers(q question) []troupe.Mail {
	ans := troupe.Answer{Request: q.ID, By: "somebody", Effect: troupe.Allow}
	no := 3
	if w.watch.often[effectKey(outputDir(q.session), callID(q.Reply, q.Call))] > 1 {
		no = 20 // who has said yes goes on saying yes
	}
	if w.one(no) {
		ans.Effect, ans.Note = troupe.Deny, "rather not"
	}
	var out []troupe.Mail
	for _, rule := range q.Leave(q.session, troupe.Coord{Reply: q.Reply, Call: q.Call}, "somebody") {
		if ans.Effect == troupe.Allow {
			out = append(out, w.grant(w.root, rule))
		}
	}
	if ans.Effect == troupe.Allow && q.Decision.Grant != "" && w.one(4) {
		ans.Rule = q.Decision.Grant
		if q.Decision.Wider != "" && w.one(2) {
			ans.Rule = q.Decision.Wider
		}
		out = append(out, w.grant(w.root, troupe.Rule{Effect: troupe.Allow, Text: ans.Rule, Source: "somebody"}))
	}
	you := troupe.You("")
	m := troupe.Mail{Kind: troupe.MailAnswer, Answer: &ans}
	switch q.RequestBody.Kind {
	case troupe.RequestQuestion:
		ans.Said = []troupe.Said{{Choices: []string{[]string{"left", "right"}[w.rng.IntN(2)]}}}
	case troupe.RequestTool:
		if ans.Effect == troupe.Allow {
			ans.Result = &troupe.Carried{Text: fmt.Sprintf("what came of %s", q.ID), IsError: w.one(4)}
		}
	case troupe.RequestPlan:
		if w.one(3) {
			ans.Mode = troupe.ModeAcceptEdits
		}
		if !w.one(4) { // else it is nobody's who could approve a plan
			m.Caller = &you
		}
	case troupe.RequestPermission, troupe.RequestCost, troupe.RequestBackground:
	}
	// Mostly as the surfaces do, which have one answer to a request; sometimes as others may.
	if !w.one(3) {
		m.ID = troupe.AnswerMailID(q.ID)
	}
	return append(out, w.letterTo(q.session, m))
}

func (w *world) letterTo(to troupe.SessionID, m troupe.Mail) troupe.Mail {
	w.seq++
	if m.ID == "" {
		m.ID = troupe.MailID(fmt.Sprintf("%s:%d", m.Kind, w.seq))
	}
	m.Root, m.To, m.SentAt = w.root, to, w.now
	said := saying{mode: m.Mode, at: w.now}
	switch m.Kind {
	case troupe.MailAnswer:
		ans := *m.Answer
		said.answer = &ans
	case troupe.MailGrant:
		if m.Rule != nil {
			said.rule = *m.Rule
		}
	default:
		return m
	}
	if w.people.said == nil {
		w.people.said, w.people.drafts = make(map[troupe.MailID]saying), make(map[troupe.MailID]saying)
	}
	w.people.drafts[m.ID] = said
	return m
}

func (w *world) grant(to troupe.SessionID, rule troupe.Rule) troupe.Mail {
	return w.letterTo(to, troupe.Mail{Kind: troupe.MailGrant, Rule: &rule})
}

// empower changes what a tree, or a part of it, may do: by a mode, stricter or looser, or by a rule.
func (w *world) empower(to troupe.SessionID) []troupe.Mail {
	if !w.one(4) {
		to = w.root
	}
	if w.one(2) {
		return []troupe.Mail{w.grant(to, drawRule(w.rng))}
	}
	modes := troupe.Modes()
	return []troupe.Mail{w.letterTo(to, troupe.Mail{Kind: troupe.MailGrant, Mode: modes[w.rng.IntN(len(modes))]})}
}

// mail draws what somebody says to a session.
func (w *world) mail(tx store.Reader, to troupe.SessionID) ([]troupe.Mail, error) {
	n := w.rng.IntN(28)
	switch {
	case n >= 26:
		return []troupe.Mail{w.letterTo(to, troupe.Mail{Kind: troupe.MailFork,
			OfTeam: troupe.OfTeam{Forked: &troupe.Forked{Title: "beside it"}},
			Blocks: []troupe.Block{troupe.Text("do it beside")}})}, nil
	case n < 7:
		var out []troupe.Mail
		for range 1 + w.rng.IntN(3) {
			word := troupe.Text(fmt.Sprintf("a word (%d)", w.seq))
			out = append(out, w.letterTo(to, troupe.Mail{Kind: troupe.MailPrompt, Blocks: []troupe.Block{word}}))
		}
		if w.one(4) {
			return w.halt(tx, to, out, troupe.Stop{Tree: true, By: "somebody"})
		}
		return out, nil
	case n < 12:
		w.res.Stops++
		return w.halt(tx, to, nil, troupe.Stop{Now: w.one(2), Tree: w.one(2), By: "somebody"})
	case n < 14 && (to != w.root || !w.follows()): // of a workflow the surfaces refuse it
		return []troupe.Mail{w.letterTo(to, troupe.Mail{Kind: troupe.MailCompact,
			Blocks: []troupe.Block{troupe.Text("keep the names")}})}, nil
	case n < 16:
		name := []string{"sim/one", "sim/two", "sim/gone"}[w.rng.IntN(3)]
		return []troupe.Mail{w.letterTo(to, troupe.Mail{Kind: troupe.MailModel, Model: w.moved(to, name)})}, nil
	case n < 18:
		return []troupe.Mail{w.letterTo(to, troupe.Mail{Kind: troupe.MailNotice,
			Blocks: []troupe.Block{troupe.Text("something has changed")}})}, nil
	case n < 24:
		return w.empower(to), nil
	}
	if q, _ := w.request(); q.session != "" && w.one(2) {
		return w.answers(q), nil // perhaps too late
	}
	nobody := troupe.Answer{Request: troupe.NewRequestID(to, troupe.Coord{Reply: 1 + w.rng.IntN(3)}, 1), By: "somebody",
		Effect: troupe.Allow}
	return []troupe.Mail{w.letterTo(to, troupe.Mail{Kind: troupe.MailAnswer, Answer: &nobody})}, nil
}

// halt adds a stop, addressed as the surfaces do.
func (w *world) halt(tx store.Reader, to troupe.SessionID, out []troupe.Mail, st troupe.Stop) ([]troupe.Mail, error) {
	w.seq++
	mail, err := session.StopTree(tx, to, st, w.now, troupe.MailID(fmt.Sprintf("stop:%d", w.seq)))
	return append(out, mail...), err
}

// mistake has somebody speak through a process that has lost the tree. It must say so.
func (w *world) mistake() {
	p := w.before[w.rng.IntN(len(w.before))]
	here, err := p.hub.Send(w.ctx(), w.root, func(store.Tx) ([]troupe.Mail, error) {
		return []troupe.Mail{w.letterTo(w.root, troupe.Mail{Kind: troupe.MailPrompt,
			Blocks: []troupe.Block{troupe.Text("a word")}})}, nil
	})
	if here && !errors.Is(err, troupe.ErrFenced) && !errors.Is(err, errCrash) {
		w.broken("%s has lost the tree, and takes mail for it: %v", p.owner, err)
	}
}

// tell sends mail through the process that owns the tree.
func (w *world) tell(build func(store.Tx) ([]troupe.Mail, error)) {
	var mail []troupe.Mail
	here, err := w.live.hub.Send(w.ctx(), w.root, func(tx store.Tx) ([]troupe.Mail, error) {
		var err error
		mail, err = build(tx)
		return mail, err
	})
	switch {
	case !here && w.sleeps(): // it would wait in the home
	case !here:
		w.broken("%s owns the tree, and does not host it", w.live.owner)
	case err == nil:
		w.promise(mail)
	case !errors.Is(err, errCrash):
		w.broken("say something: %w", err)
	}
}

func (w *world) promise(mail []troupe.Mail) {
	for _, m := range mail {
		w.people.promised = append(w.people.promised, letter{m.To, m.ID})
	}
}

// letter leaves mail for a tree that nobody owns now.
func (w *world) letter() {
	if !w.people.left(w) || len(w.watch.order) == 0 {
		return
	}
	w.people.spoken++
	w.res.Words++
	to := w.anybody().Session.ID
	var mail []troupe.Mail
	var seen *watchTx
	err := w.store.Update(w.ctx(), w.root, func(tx store.Tx) error {
		seen = &watchTx{Tx: tx, p: w.live}
		var err error
		if q, open := w.request(); open && w.one(3) {
			mail = w.answers(q)
		} else {
			mail, err = w.mail(tx, to)
		}
		for _, m := range mail {
			if err == nil {
				_, err = seen.Send(m)
			}
		}
		return err
	})
	if err != nil {
		w.broken("leave mail: %w", err)
		return
	}
	w.watch.committed(w.live, seen)
	w.promise(mail)
}
