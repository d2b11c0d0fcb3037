package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/turn"
)

// Plans are the files in which sessions write their plans.
type Plans interface {
	// File is the one of a session, absolute and with links followed; "" if it can have none.
	File(s troupe.Session) string
	// Read is what stands in one; "" if it is not there.
	Read(file string) (string, error)
}

// fileOfPlan is where the session writes its plan.
func fileOfPlan(a *actor) string {
	if a.h.d.Plans == nil {
		return ""
	}
	return a.h.d.Plans.File(a.st.Session)
}

// maxPlan is how many bytes a plan may have: a person reads it whole.
const maxPlan = 100_000

// enterPlan puts the session into plan mode. That takes away and gives nothing, so that nobody is asked; but without a
// person who can approve a plan it would not come out again.
func (rs *requests) enterPlan(ctx context.Context, i int, t tool.Descriptor, in troupe.EnterPlan) error {
	c := rs.a.st.Calls[i]
	_, settled, err := rs.a.calls.judgeIntent(i, t.Intended(in), func() string { return c.Name })
	if err != nil || settled {
		return err
	}
	auth := rs.a.st.Authority
	switch file := fileOfPlan(rs.a); {
	case auth.Mode == troupe.ModePlan:
		return rs.a.stage(resultOf(c, "You are in plan mode already.", false))
	case file == "":
		return rs.a.stage(resultOf(c, "Plan mode was not entered: there is no place for the plan's file. Go on "+
			"without "+
			"it; if the task is only to plan, answer with the plan.", true))
	case rs.a.tree.settings().AskFor <= 0 && rs.a.h.d.Replay == nil:
		return rs.a.stage(resultOf(c, "Plan mode was not entered: this run has no way to approve a plan (troupe -p "+
			"asks with --ask). Go on without it; if the task is only to plan, answer with the plan.", true))
	default:
		auth = auth.InMode(troupe.ModePlan, file)
		if err := rs.a.stage(troupe.AuthorityChanged{Authority: auth, By: "the agent itself"}); err != nil {
			return err
		}
		text := "You are in plan mode now. What holds from now on follows; the plan goes into " + file + "."
		if err := rs.a.stage(resultOf(c, text, false)); err != nil {
			return err
		}
		return rs.a.grant(ctx)
	}
}

// exitPlan puts the plan before a person, or does what that person said. Nothing else ends plan mode here: no rule, no
// mode, no hook and no deadline.
func (rs *requests) exitPlan(ctx context.Context, i int, t tool.Descriptor, in troupe.ExitPlan) error {
	c := rs.a.st.Calls[i]
	if ans, ok := rs.ofAgent(c); ok {
		return rs.planAnswered(ctx, c, ans)
	}
	_, settled, err := rs.a.calls.judgeIntent(i, t.Intended(in), func() string { return c.Name })
	if err != nil || settled {
		return err
	}
	planning := rs.a.st.Authority.Planning
	switch {
	case planning == nil && rs.a.st.Session.Parent != "":
		return rs.a.stage(resultOf(c, "You plan for the agent that started you, and only that one's user ends plan "+
			"mode: answer with the plan.", true))
	case planning == nil:
		return rs.a.stage(resultOf(c, "You are not in plan mode, so there is no plan to approve; go on with the work.",
			true))
	case rs.a.tree.settings().AskFor <= 0 && rs.planPart() != troupe.LeadMay:
		return rs.a.calls.finishDenied(i, troupe.Decision{Effect: troupe.Deny, Step: stepOfAgent,
			Why: "a plan is approved by a person, and this run cannot ask (troupe -p asks with --ask, " +
				"and a " +
				"conversation does). You are still in plan mode: answer with the plan, which is in " + planning.File})
	}
	shown := rs.a.st.Shown
	rs.a.calls.startJob(ctx, i, func(_ context.Context, job *job) {
		read := inPlanRead{call: i, job: job}
		read.text, read.err = planIn(rs.a.h, planning.File, in.Plan, shown)
		rs.a.post(read)
	})
	rs.a.begun = true
	return nil
}

// planIn is the plan in a file. Where there is none, or the one that was shown and not approved, it is the one that was
// sent along, which is written there then.
func planIn(h *Hub, file, sent, shown string) (string, error) {
	text, err := h.d.Plans.Read(file)
	had := strings.TrimSpace(text)
	if err != nil || had != "" && h.d.Mask(had) != shown || strings.TrimSpace(sent) == "" {
		return text, err
	}
	if len(sent) > maxPlan || h.d.SaveResult == nil {
		return sent, nil // what is too long is refused, and not kept
	}
	return sent, h.d.SaveResult(file, sent)
}

// planRead puts the plan that was read before a person.
func (rs *requests) planRead(in inPlanRead) error {
	if rs.a.calls.working[in.call] != in.job {
		return nil
	}
	delete(rs.a.calls.working, in.call)
	planning := rs.a.st.Authority.Planning
	switch {
	case planning == nil: // it was ended by a person meanwhile
		return rs.a.calls.finishText(in.call, "plan mode was ended before the plan was shown; go on with the work")
	case in.err != nil:
		return rs.a.calls.finishText(in.call, fmt.Sprintf("the plan cannot be read: %v", in.err))
	case strings.TrimSpace(in.text) == "":
		return rs.a.calls.finishText(in.call, "there is no plan in "+planning.File+": write it first")
	case len(in.text) > maxPlan:
		return rs.a.calls.finishText(in.call, fmt.Sprintf("the plan has %d bytes, and a person has to read it: "+
			"shorten "+
			"it to at most %d", len(in.text), maxPlan))
	}
	return rs.openRequest(in.call, troupe.RequestBody{
		Kind: troupe.RequestPlan, Action: strings.TrimSpace(in.text), Lead: rs.planPart(),
		Decision: troupe.Decision{Effect: troupe.Ask, Step: stepOfAgent, Why: "this is its plan (" + planning.File +
			"); a yes ends plan mode, and the mode " + string(modeAfter(*planning, "")) + " holds again"},
	})
}

// modeAfter names the mode that holds when a plan was approved.
func modeAfter(p troupe.Planning, wish troupe.Mode) troupe.Mode {
	switch {
	case wish != "":
		return wish
	case p.Before == "":
		return "of the agent above it"
	}
	return p.Before
}

// planAnswered does what was said to a plan. Only a person's yes ends plan mode, or that of a lead which could do
// itself what the plan needs (ADR 0051); what is approved is what was shown, whatever stands in the file by now.
func (rs *requests) planAnswered(ctx context.Context, c turn.Call, ans troupe.Answer) error {
	plan := ""
	if c.Asked != nil {
		plan = c.Asked.Action
	}
	if ans.Lead && ans.Effect == troupe.Allow && rs.planPart() != troupe.LeadMay {
		ans.Effect, ans.Note = troupe.Deny, "its yes does not count any more, since its own mode does not allow by "+
			"itself what a plan needs"
	}
	if ans.Effect != troupe.Allow || c.AnsweredBy == nil && !ans.Lead && rs.a.h.d.Replay == nil {
		return rs.a.stage(resultOf(c, turn.RenderPlanRefused(ans, ans.By == byRuntime), true))
	}
	auth := rs.a.st.Authority
	mode := troupe.Mode("")
	if auth.Planning != nil {
		if mode = auth.Planning.Before; ans.Mode != "" && !ans.Lead {
			mode = ans.Mode
		}
		auth = auth.InMode(mode, "")
		if err := rs.a.stage(troupe.AuthorityChanged{Authority: auth, By: "the approval of the plan by " + ans.By,
			Caller: c.AnsweredBy}); err != nil {
			return err
		}
	}
	if err := rs.a.stage(resultOf(c, turn.RenderPlanApproved(plan, ans.Lead), false)); err != nil {
		return err
	}
	return rs.a.grant(ctx)
}

// ofPlanning says how a session plans: what it may write, and in which steps.
func ofPlanning(b briefing, file string, has func(tool string) bool) string {
	var out strings.Builder
	fmt.Fprintf(&out, "- plan mode: change nothing, whatever rules say, but your plan: %s, which Write and Edit may "+
		"write. "+
		"Work in these steps.\n", file)
	explore, design := "", ""
	if has("Agent") || has("spawn_subagent") {
		explore, design = "; Explore agents can do that side by side", " A Plan agent can work one out for you."
	}
	fmt.Fprintf(&out, "  1. Understand: find out what is there and what is wanted%s.\n", explore)
	fmt.Fprintf(&out, "  2. Design: weigh the ways that there are, and choose one.%s\n", design)
	out.WriteString("  3. Check: read yourself the files that it rests on.")
	if has("AskUserQuestion") && b.asks {
		out.WriteString(" Ask the user what only they can decide.")
	}
	out.WriteString("\n  4. Write the plan: the goal, the steps with their files, and how it is seen to work.\n")
	switch {
	case has("ExitPlanMode") && b.profile.Team != "":
		out.WriteString("  5. ExitPlanMode sends it to the lead of your team, and to the user. Only a yes ends plan " +
			"mode; " +
			"their words tell you what to change.\n")
	case has("ExitPlanMode") && b.asks:
		out.WriteString("  5. ExitPlanMode shows it to the user. Only their yes ends plan mode; their words tell you " +
			"what to " +
			"change.\n")
	default:
		out.WriteString("  5. This run has no way to approve it: end with the plan as your answer.\n")
	}
	return out.String()
}
