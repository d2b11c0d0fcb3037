package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

// withLeave is what the gate's decision about a call comes to with the answer there is, if there is
// one. A no that is there holds, whatever was granted since. A yes counts for an ask only: a rule
// that denies by now denies.
func (c *candidate) withLeave(d troupe.Decision, access troupe.Access) troupe.Decision {
	// A command that may run read-only without being asked about was asked about if it has
	// an answer: that is for what it wanted beyond.
	asked := c.call.Asked
	wanted := asked != nil && len(asked.Wants) > 0
	ans := c.call.Answer
	var lead troupe.Decision
	if ans != nil && ans.Lead && ans.Effect == troupe.Allow {
		if lead = c.asLead(access); !doneByLead(lead) || wanted {
			ans, c.call.Granted, c.call.Asked = nil, nil, nil // by now it could not do that itself
		}
	}
	if d.Auto {
		c.call.Granted, c.call.Lent = slices.Concat(c.call.Granted, c.call.Lent), nil
	}
	if ans != nil && ans.Auto && !d.Auto {
		ans, c.call.Granted, c.call.Asked = nil, nil, nil // by now a person is wanted, or a rule says something
	}
	if ans != nil && ans.Effect == troupe.Allow && asked != nil && !wanted && !asked.Kind.AboutBirths() &&
		asked.Places != placesOf(access, d.Opens) {
		ans = nil // it was for other places: they are asked about anew
		if d.Effect == troupe.Ask {
			d.Why = askedAnew(asked.Places) + d.Why
		}
	}
	switch {
	case ans == nil || d.Effect == troupe.Deny:
	case d.Effect == troupe.Allow && asked != nil && asked.Kind.AboutBirths():
		// Who asked about that sees to it.
	case ans.Effect != troupe.Allow:
		d.Effect, d.Step, d.Why = troupe.Deny, stepAnswer, refusal(*ans)
	case d.Effect == troupe.Allow && wanted && d.Beyond == troupe.Deny:
		d.Effect, d.Why = troupe.Deny, "what it wanted was allowed by "+ans.By+", and by now nothing allows that here"
	case d.Effect == troupe.Ask || wanted:
		d = c.allowedBy(d)
		d.Effect, d.Step = troupe.Allow, stepAnswer
		if ans.Lead && d.Sandbox != "" {
			d.Sandbox = d.Sandbox.Meet(lead.Sandbox)
		}
	}
	if d.Effect == troupe.Ask {
		d = c.afterAuto(d)
	}
	if d.Effect == troupe.Ask && !c.asks && !c.leaves(d) && c.leadsPart(access) != troupe.LeadMay {
		d = gate.WithoutAsker(d)
	}
	return d
}

// askedAnew says why a yes to a question about places does not count. Earlier versions noted no places: what the yes
// was for cannot be known then.
func askedAnew(places string) string {
	if places == "" {
		return "asked again, since the question before notes no places, as those of earlier versions of Troupe: "
	}
	return "asked again, since the yes was for other places: "
}

// placesOf tells by one word where a call would read and write. Its paths are there as they were named and as they
// lead on: a folder that has become a link makes another word of it.
func placesOf(access troupe.Access, opens []string) string {
	all := slices.Concat(access.Reads, access.Writes, opens)
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(all, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// judgeIntent judges a call that the session carries out itself, by rules alone. Settled says that the call
// has its result, or waits for an answer.
func (cs *calls) judgeIntent(i int, access troupe.Access, action func() string) (d troupe.Decision, settled bool,
	err error) {
	c := cs.candidate(i)
	// It names no path and no command: nothing of its folder is looked at, which this goroutine must
	// not wait for.
	d = c.h.gate.Decide(gate.Query{
		Tool: c.call.Name, Access: access, Chain: c.tree.chain.chain(c.self.ID), Judged: c.call.Judged,
	})
	d = c.withLeave(d, access)
	settled, err = cs.applyDecision(i, d, access, func() troupe.RequestBody {
		return troupe.RequestBody{Action: action()}
	})
	return d, settled, err
}

// applyDecision turns a decision into what happens to its call, unless that may go on. ask is what a request
// says besides it.
func (cs *calls) applyDecision(i int, d troupe.Decision, access troupe.Access,
	ask func() troupe.RequestBody) (settled bool, err error) {
	switch d.Effect {
	case troupe.Allow:
		return false, nil
	case troupe.Ask:
		b := ask()
		b.Kind, b.Decision = troupe.RequestPermission, d
		c := cs.candidate(i)
		if c.access = &access; c.leaves(d) {
			cs.forAuto = append(cs.forAuto, autoQuestion{call: i, body: b})
			return true, nil
		}
		return true, cs.a.requests.openRequest(i, b)
	case troupe.Deny:
	}
	return true, cs.finishDenied(i, d)
}

// What decides besides the gate, as decisions name it: an answer, the price of agents, and what
// they will need in the background.
const (
	stepAnswer     troupe.Step = "answer"
	stepCost       troupe.Step = "cost"
	stepBackground troupe.Step = "background"
	stepOfAgent    troupe.Step = "agent" // it asks itself
)

// openRequest asks whoever has the authority. The call waits; nothing else does.
func (rs *requests) openRequest(i int, b troupe.RequestBody) error {
	if err := rs.noteRequest(i, b); err != nil {
		return err
	}
	rs.a.hooks.opened(i)
	return nil
}

func (rs *requests) noteRequest(i int, b troupe.RequestBody) error {
	c := rs.a.st.Calls[i]
	b = rs.a.h.maskRequest(b)
	if b.Tool = c.Name; b.Reason == "" {
		b.Reason = troupe.WaitApproval
	}
	wait := rs.a.tree.settings().AskFor
	if wait <= 0 && b.Lead == troupe.LeadMay {
		wait = leadWait
	}
	if b.Until.IsZero() {
		b.Until = rs.a.h.d.Now().Add(wait)
	}
	err := rs.a.stage(troupe.RequestOpened{ID: rs.a.st.NextRequest(i), Reply: c.Reply, Call: c.Index, RequestBody: b})
	if err != nil || b.Lead == "" {
		return err
	}
	return rs.tellLead(*rs.a.st.Calls[i].Request)
}

// openRequests asks once about several calls: the first one's request is for all of them.
func (rs *requests) openRequests(calls []int, b troupe.RequestBody) error {
	others := b
	others.Action, others.Rules, others.Needs = "see the first of them", nil, nil
	for _, i := range calls[1:] {
		if err := rs.openRequest(i, others); err != nil {
			return err
		}
	}
	b.With = calls[1:]
	return rs.openRequest(calls[0], b)
}

// settle settles what waits for the same answer as a request, and returns the event that settles the request
// itself, as its mail says; nil if it is not open any more.
func (rs *requests) settle(m troupe.Mail) troupe.Body {
	if m.Answer == nil {
		return nil
	}
	c := rs.asked(*m.Answer)
	if c < 0 || !rs.heeds(m, rs.a.st.Calls[c].Request) {
		return nil
	}
	for _, i := range rs.a.st.Calls[c].Request.With {
		if rs.a.st.Calls[i].Request == nil {
			continue // it was settled by itself
		}
		// Those that wait for the same answer are settled with it.
		if err := rs.a.stage(rs.answer(i, *m.Answer, "", m.Caller)); err != nil {
			rs.a.tree.fail(rs.a, fmt.Errorf("session %s: %w", rs.a.id, err))
			return nil
		}
	}
	return rs.answer(c, *m.Answer, m.ID, m.Caller)
}

func (rs *requests) answer(i int, ans troupe.Answer, mail troupe.MailID,
	by *troupe.Caller) troupe.RequestAnswered {
	c := rs.a.st.Calls[i]
	rs.a.hooks.settled(c.Request.ID)
	if q := rs.midway[i]; q != nil && q.id == c.Request.ID {
		q.answer = &ans
	}
	effect := ans.Effect
	if effect != troupe.Allow {
		effect = troupe.Deny
	}
	return troupe.RequestAnswered{
		ID: c.Request.ID, RequestKind: c.Request.Kind, Reply: c.Reply, Call: c.Index, By: ans.By, Effect: effect,
		Note: ans.Note, Rule: ans.Rule,
		Said: ans.Said, Result: ans.Result, Once: ans.Once, Mode: ans.Mode, Mail: mail, Caller: by, Auto: ans.Auto,
		Lead: ans.Lead,
	}
}

// asked finds the call whose open request an answer is for; -1 if there is none.
func (rs *requests) asked(ans troupe.Answer) int {
	return slices.IndexFunc(rs.a.st.Calls, func(c turn.Call) bool {
		return c.Request != nil && (ans.Request == c.Request.ID || ans.Request == "" && ans.Coord == c.Request.Coord)
	})
}

// action is exactly what a call would do, for whoever is asked about it.
// Futile says that it would be refused, and why.
func action(p tool.Prepared, env tool.Env, call troupe.Call) (text string, futile bool) {
	if v, ok := p.(tool.Previewer); ok {
		return v.Preview(env)
	}
	if cmd := p.Access().Command; cmd != "" {
		return cmd, false
	}
	return call.Name + " " + call.Input, false
}

// affordable asks once before agents are started that together would spend more than the
// tree's owner wants to without being asked. The estimate is what an agent with a job of some
// size uses, at the price of its model.
func (bs *births) affordable(births []birth) ([]birth, error) {
	limit := bs.a.tree.limits().AskAbove
	if limit <= 0 || len(births) == 0 {
		return births, nil
	}
	all := bs.expected(births)
	if all <= limit {
		return births, nil
	}
	first := births[0].call
	if c := bs.a.st.Calls[first]; c.Answer != nil && c.Asked != nil && c.Asked.Kind == troupe.RequestCost {
		ans := c.Answer
		if ans.Effect == troupe.Allow {
			return births, nil
		}
		return nil, bs.refuseAll(births, refusal(*ans))
	}
	why := fmt.Sprintf("starting %d agents at once is expected to cost about %s, more than %s (agents.ask_above_usd)",
		len(births), all, limit)
	d := troupe.Decision{Effect: troupe.Ask, Step: stepCost, Why: why}
	if bs.a.tree.settings().AskFor <= 0 {
		return nil, bs.refuseAll(births, why+"; this run cannot ask for permission")
	}
	var calls []int
	var names []string
	for i := range births {
		calls = append(calls, births[i].call)
		names = append(names, births[i].Profile.Kind()+": "+births[i].Title)
	}
	return nil, bs.a.requests.openRequests(calls, troupe.RequestBody{
		Kind: troupe.RequestCost, Decision: d, Action: "start these agents:\n" + strings.Join(names, "\n"),
	})
}

// expected is what births will cost. Besides what each agent uses, forks read what they go on from at each turn; the
// first of those that share it may have to write it to the provider's cache.
func (bs *births) expected(births []birth) (all troupe.Money) {
	written := map[*origin]bool{}
	for i := range births {
		b := &births[i]
		cost := func(u troupe.Usage) troupe.Money {
			c, _ := bs.a.h.d.Models.Cost(b.Profile.Model, u)
			return c
		}
		all += cost(usualAgent())
		if b.from == nil {
			continue
		}
		n := b.from.Context()
		all += usualTurns * cost(troupe.Usage{CacheRead: n})
		if !written[b.from] {
			written[b.from] = true
			all += max(cost(troupe.Usage{CacheWrite: n}), cost(troupe.Usage{Input: n}))
		}
	}
	return all
}

// usualTurns is how many replies a sub-agent with a job of some size has.
const usualTurns = 12

// usualAgent is what it uses: its turns over a context that grows to some 30,000 tokens, most of it read from the
// provider's cache.
func usualAgent() troupe.Usage {
	return troupe.Usage{Input: 30_000, Output: 6_000, CacheRead: 200_000, CacheWrite: 30_000}
}

// byRuntime stands in the log for an answer that no person gave: the time was over, or there was no
// way to ask.
const byRuntime = "nobody"

// refusal says why an answer denies. What the runtime denied in a person's place names no person.
func refusal(ans troupe.Answer) string {
	if ans.By == byRuntime && ans.Note != "" {
		return ans.Note
	}
	who := ans.By
	if you := troupe.You("").Name; who == you || strings.HasPrefix(who, you+" (") {
		who = "the user" // to the model, "you" would be itself
	}
	return "denied by " + who + noteOf(ans)
}

func noteOf(ans troupe.Answer) string {
	if ans.Note == "" {
		return ""
	}
	return ": " + ans.Note
}

func (bs *births) refuseAll(births []birth, why string) error {
	for i := range births {
		if err := bs.a.calls.finishDenied(births[i].call, troupe.Decision{Effect: troupe.Deny, Step: stepCost,
			Why: why}); err != nil {
			return err
		}
	}
	return nil
}

// rejudgeOpen judges calls that wait for an answer once more: what was granted to somebody else meanwhile
// may allow them too. Answers that come later are heard when that is done.
func (rs *requests) rejudgeOpen(ctx context.Context) {
	for i := range rs.a.st.Calls {
		r := rs.a.st.Calls[i].Request
		if r == nil || r.Kind.AboutBirths() || r.Kind.OfAgent() || rs.a.calls.working[i] != nil {
			continue
		}
		t, ok := toolsOf(rs.a, &rs.a.st.Profile).Find(rs.a.st.Calls[i].Name)
		if !ok {
			continue
		}
		c := rs.a.calls.candidate(i)
		rs.a.calls.startJob(ctx, i, func(_ context.Context, job *job) {
			in := inRejudged{call: i, job: job, request: r}
			access, err := t.Access(c.env(), c.call.Input)
			if in.decision, in.version = c.decide(access); err != nil {
				in.decision.Effect = troupe.Deny
			}
			rs.a.post(in)
		})
	}
}

// rejudged settles a request that a rule allows by now.
func (rs *requests) rejudged(ctx context.Context, in inRejudged) error {
	if rs.a.calls.working[in.call] != in.job {
		return nil
	}
	delete(rs.a.calls.working, in.call)
	switch {
	case rs.a.st.Calls[in.call].Request != in.request:
		return nil
	case in.version != rs.a.tree.chain.version(rs.a.id):
		rs.rejudgeOpen(ctx)
		return nil
	}
	return rs.answerIfAllowed(in.call, in.decision)
}

// answerIfAllowed answers the request about a call if the gate allows it by now. That it may run read-only is
// how it came to be asked about, and what it wanted beyond its sandbox is not allowed by what allows
// it in a sandbox.
func (rs *requests) answerIfAllowed(i int, d troupe.Decision) error {
	r := rs.a.st.Calls[i].Request
	if d.Effect != troupe.Allow || gate.IsReadOnlyRun(d) || len(r.Wants) > 0 && d.Sandbox != troupe.LevelNone {
		return nil
	}
	// A yes that waits to be read says the same, and who said it: that belongs into the log.
	if slices.ContainsFunc(rs.a.unread, func(m troupe.Mail) bool {
		return m.Answer != nil && m.Answer.Effect == troupe.Allow && rs.asked(*m.Answer) == i
	}) {
		return nil
	}
	return rs.a.stage(rs.answer(i, troupe.Answer{By: "a rule that was granted since", Effect: troupe.Allow}, "", nil))
}

// readable is the mail that can be heard now: an answer waits while its request is judged anew, so
// that what was granted before it counts first.
func (rs *requests) readable() []troupe.Mail {
	if len(rs.a.calls.working) == 0 {
		return rs.a.unread
	}
	waits := func(m troupe.Mail) bool {
		if m.Answer == nil {
			return false
		}
		i := rs.asked(*m.Answer)
		return i >= 0 && rs.a.calls.working[i] != nil && !rs.a.st.Calls[i].Request.Midway()
	}
	if !slices.ContainsFunc(rs.a.unread, waits) {
		return rs.a.unread
	}
	return slices.DeleteFunc(slices.Clone(rs.a.unread), waits)
}
