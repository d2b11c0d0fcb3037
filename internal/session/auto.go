package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

// Auto asks the model of mode auto.
type Auto interface {
	// Judge asks it about one call. It may take seconds and ends with ctx. Whatever goes wrong is a verdict that leaves
	// the call to a person.
	Judge(ctx context.Context, q AutoAsking) troupe.Verdict
}

// AutoAsking is what that model is told of a call. All but Model and Session is data that others wrote.
type AutoAsking struct {
	Session troupe.Session
	ID      string // of the question, unlike that of any other
	Model   string
	Path    string // of the agent: "main/Explore"
	Tool    string
	Input   string
	Action  string   // exactly what would be done, as a person would be shown it
	Why     string   // why a person would be asked
	Wants   []string // what a command wanted beyond its sandbox, all of it
	Rules   []string // those in force
	Said    string   // the agent's last words
	Task    string   // what it was given to do, if another agent did that
	Person  string   // the person's last words, as they were typed
	Given   string   // what the session was told with them, if others' words are in it
	// Masked: a part of the call is taken for a secret. Whoever does not see it cannot judge it.
	Masked bool
}

// autoQuestion is a call about which the model of mode auto is asked, and what a person would be asked else.
type autoQuestion struct {
	call int
	body troupe.RequestBody
	ran  *inToolDone // the run that wanted more; nil: it has not run
}

// inAutoJudged is what the model of mode auto says.
type inAutoJudged struct {
	autoQuestion
	job  *job
	said troupe.Verdict
}

func (inAutoJudged) input() {}

// autoOf is the model of mode auto that is asked about calls of a session; "" if none is.
func autoOf(a *actor) string {
	if a.h.d.Auto == nil || !turn.AsksAuto(&a.st) {
		return ""
	}
	return a.tree.chain.autoModel(a.id)
}

// leaves reports whether the model of mode auto is asked about a call that has not run, before anybody else is: once,
// and not where a person was asked already.
func (c *candidate) leaves(d troupe.Decision) bool {
	return d.Auto && c.auto != "" && c.call.Verdict == nil && c.call.Asked == nil && c.leftToAuto()
}

// leftToAuto is false if a hook wants to be asked before a person is. Then the model of mode auto is not: its yes would
// go past a hook that says no. A replay runs no hooks and asks about what was asked about when it was recorded.
func (c *candidate) leftToAuto() bool {
	if r := c.h.d.Replay; r != nil {
		_, judged := r.Judged(c.self.ID, c.coord())
		return judged
	}
	return c.hooks == nil || !c.hooks.Due(c.ofCall(troupe.HookPermissionRequest, c.call.Call, c.access))
}

// afterAuto says in a decision that asks what the model of mode auto said before.
func (c *candidate) afterAuto(d troupe.Decision) troupe.Decision {
	switch {
	case c.call.Verdict != nil:
		d.Why += notAllowedByAuto(c.call.Verdict)
	case d.Auto && c.auto == "" && c.tree.chain.autoModel(c.self.ID) != "":
		d.Why += "; the model of mode auto did not allow the calls before it, and is not asked again until a person " +
			"has answered"
	}
	return d
}

// notAllowedByAuto is what a person is told of a verdict.
func notAllowedByAuto(v *troupe.Verdict) string {
	switch {
	case v == nil || v.Effect == troupe.Allow:
		return ""
	case v.Failed:
		return fmt.Sprintf("; the model of mode auto (%s) gave no verdict: %s", v.Model, v.Why)
	default:
		return fmt.Sprintf("; the model of mode auto (%s) does not allow it: %s", v.Model, v.Why)
	}
}

// beyondAuto has the model of mode auto asked about what a confined run wanted, if all of that is what a rule for the
// command would give it. It is false if a person is to be asked.
func (cs *calls) beyondAuto(in inToolDone, c turn.Call, d troupe.Decision, wants []troupe.Attempt, more bool,
	out *tool.Output) bool {
	q, asked := cs.places(), cs.candidate(in.call)
	asked.access = &in.judged.access
	if !asked.leftToAuto() || !d.Auto || d.Beyond != troupe.Ask || more || c.Verdict != nil || c.Rounds >= maxRounds ||
		len(wants) > mostListed || autoOf(cs.a) == "" || !gate.AskedOf(&q, cs.a.st.Session.Dir(), wants) {
		return false
	}
	cs.forAuto = append(cs.forAuto, autoQuestion{call: in.call, body: cs.questionAfter(&c, d, wants, more, out),
		ran: &in})
	return true
}

// askAuto asks the model of mode auto what has come up. That it is asked is in the log before, with what it may cost.
func (cs *calls) askAuto(ctx context.Context) error {
	ask := cs.forAuto
	if cs.forAuto = nil; len(ask) == 0 {
		return nil
	}
	name, room := cs.a.tree.chain.autoModel(cs.a.id), true
	each := reservedForAuto(cs.a, name)
	all := troupe.Reservation{Tokens: each.Tokens * int64(len(ask)), Cost: each.Cost * troupe.Money(len(ask))}
	err := cs.a.transact(ctx, func(tx store.Tx, emit func(troupe.Body) error) error {
		if room = true; each != (troupe.Reservation{}) {
			tree, err := tx.Tree(cs.a.root)
			if err != nil {
				return fmt.Errorf("read tree %s: %w", cs.a.root, err)
			}
			over, wait := fleet.Room(tree, all)
			if room = over.Limit == "" && !wait; !room {
				return nil
			}
		}
		for _, q := range ask {
			c := cs.a.st.Calls[q.call]
			if err := emit(troupe.AutoAsked{Reply: c.Reply, Call: c.Index, Model: name, Reserved: each}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, q := range ask {
		asks, at := asking(cs.a, q, name), troupe.Coord{Reply: cs.a.st.Calls[q.call].Reply,
			Call: cs.a.st.Calls[q.call].Index}
		cs.startJob(ctx, q.call, func(ctx context.Context, job *job) {
			said := troupe.Verdict{Model: name, Effect: troupe.Ask, Failed: true,
				Why: "the limits of this tree leave no room to ask it"}
			switch r := cs.a.h.d.Replay; {
			case r != nil:
				said, _ = r.Judged(asks.Session.ID, at)
			case asks.Masked:
				said.Why = "a part of the call is taken for a secret and not shown to it"
			case room:
				said = cs.a.h.judgeAuto(ctx, asks)
			}
			cs.a.post(inAutoJudged{q, job, said})
		}).begin() // a stop ends it, and its verdict is logged: it has cost something
	}
	cs.a.begun = true
	return nil
}

// asked of the model of mode auto is little, and it says little.
const (
	autoInput  = 12_000
	autoOutput = 1000
)

// reservedForAuto is what asking once may use. It is zero in a tree without limits.
func reservedForAuto(a *actor, name string) troupe.Reservation {
	if c := a.tree.limits(); c.MaxTokens == 0 && c.MaxCost == 0 {
		return troupe.Reservation{}
	}
	cost, _ := a.h.d.Models.Cost(name, troupe.Usage{Input: autoInput, Output: autoOutput})
	return troupe.Reservation{Tokens: autoInput + autoOutput, Cost: cost}
}

// asking is what the model is told, but for what is read from the log.
func asking(a *actor, q autoQuestion, name string) AutoAsking {
	c := a.st.Calls[q.call]
	t, _ := a.h.d.Tools.Known(c.Name)
	b := a.h.maskRequest(q.body)
	line := a.tree.chain.chain(a.id)
	out := AutoAsking{Session: a.st.Session, Model: name,
		ID: fmt.Sprintf("%s/auto.%d.%d.%d", a.id, c.Reply, c.Index, c.Rounds), Path: a.tree.chain.path(a.id),
		Tool:  c.Name,
		Input: a.h.d.Mask(t.Advertised(c.Input)), Action: b.Action, Why: b.Decision.Why,
		Said: a.h.d.Mask(turn.LastWords(&a.st))}
	out.Masked = out.Action != q.body.Action || out.Input != t.Advertised(c.Input)
	for _, w := range b.Wants {
		out.Wants = append(out.Wants, w.String())
	}
	for _, r := range gate.InForce(line) {
		if r.Problem == "" {
			out.Rules = append(out.Rules, a.h.d.Mask(string(r.Rule.Effect)+" "+r.Rule.Text))
		}
	}
	return out
}

// judgeAuto asks the model, beside the actor.
func (h *Hub) judgeAuto(ctx context.Context, q AutoAsking) troupe.Verdict {
	err := h.d.Store.View(ctx, func(r store.Reader) error {
		m, err := lastPrompt(r, q.Session.Root, false)
		if q.Person, q.Given = saidIn(m); err == nil && q.Session.Parent != "" {
			m, err = lastPrompt(r, q.Session.ID, true)
			q.Task = troupe.JoinText(m.Blocks)
		}
		return err
	})
	if err != nil {
		return troupe.Verdict{Model: q.Model, Effect: troupe.Ask, Failed: true,
			Why: fmt.Sprintf("what was said could not be read: %v", err)}
	}
	q.Person, q.Given, q.Task = h.d.Mask(q.Person), h.d.Mask(q.Given), h.d.Mask(q.Task)
	said := h.d.Auto.Judge(ctx, q)
	if said.Effect != troupe.Allow || said.Failed {
		said.Effect = troupe.Ask
	}
	said.Model, said.Why = q.Model, h.d.Mask(said.Why)
	return said
}

// wordsPage is how much of a log is read at once, from its end, to find what was said last.
const wordsPage = 200

// lastPrompt is the last prompt in a session's log; of agents, or of people. What came from another home is a file's
// words, and nobody's here.
func lastPrompt(r store.Reader, id troupe.SessionID, ofAgents bool) (last troupe.Mail, err error) {
	s, err := r.Session(id)
	if err != nil {
		return last, fmt.Errorf("read session %s: %w", id, err)
	}
	for to := s.Seq; to > 0; to -= wordsPage {
		from := max(0, to-wordsPage)
		events, err := r.Events(id, from, int(to-from))
		if err != nil {
			return last, fmt.Errorf("read the log of %s: %w", id, err)
		}
		for _, e := range slices.Backward(events) {
			if e.Body.Kind() == troupe.KindImported {
				return last, nil
			}
			b, ok := e.Body.(troupe.MailDelivered)
			for i := len(b.Mail) - 1; ok && i >= 0; i-- {
				if m := b.Mail[i]; m.Kind.Words() && (m.From != "") == ofAgents {
					return m, nil
				}
			}
		}
	}
	return last, nil
}

// saidIn is what a person typed of a prompt, and all of it if that is more. Where that cannot be told, nothing is
// theirs: in what another program or a recording sent, and in commands of versions that did not keep the two apart.
func saidIn(m troupe.Mail) (typed, given string) {
	text := troupe.JoinText(m.Blocks)
	switch {
	case m.Caller != nil && (m.Caller.Surface == troupe.SurfaceMCP || m.Caller.Surface == troupe.SurfaceReplay):
		return "", text
	case m.Typed != nil:
		return *m.Typed, text
	case m.Uses != nil, strings.HasPrefix(text, "/mcp__"), strings.Contains(text, "\n\n<attached-"):
		return "", text
	}
	return text, ""
}

// autoJudged does what the model of mode auto says. Its yes is logged as the answer to what a person would have been
// asked; all else is that question again, and a person's by now.
func (cs *calls) autoJudged(ctx context.Context, in inAutoJudged) error {
	if cs.working[in.call] != in.job {
		return nil
	}
	delete(cs.working, in.call)
	c := cs.a.st.Calls[in.call]
	if err := cs.a.stage(troupe.AutoJudged{Reply: c.Reply, Call: c.Index, Verdict: in.said}); err != nil {
		return err
	}
	if in.said.Effect == troupe.Allow {
		rs := &cs.a.requests
		in.body.Auto = true
		if err := rs.noteRequest(in.call, in.body); err != nil {
			return err
		}
		return cs.a.stage(rs.answer(in.call, troupe.Answer{By: "the model of mode auto (" + in.said.Model + ")",
			Effect: troupe.Allow, Note: in.said.Why, Auto: true}, "", nil))
	}
	if in.ran != nil {
		return cs.ran(ctx, *in.ran)
	}
	return nil
}
