package session_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
)

// membersIn makes members that work in a mode of their own.
type membersIn struct {
	team
	mode troupe.Mode
}

func (o membersIn) Open([]byte) (session.Roles, error) { return o, nil }

func (o membersIn) Resolve(parent troupe.Session, sp troupe.Spawn) (troupe.Profile, error) {
	p, err := o.team.Resolve(parent, sp)
	p.Mode, p.Tools = o.mode, append(p.Tools, "Answer", "Exit")
	return p, err
}

// asksLead has a process with members of a mode, who ask their lead. Answer answers a request: "X plan 1.0 yes".
func asksLead(mode troupe.Mode, askFor time.Duration) func(*process) {
	return func(p *process) {
		inTeam(p)
		with := p.deps
		p.settings.AskFor = askFor
		p.deps = func(d *session.Deps) {
			with(d)
			withPlans(d)
			d.Profiles = membersIn{team{p}, mode}
			var all []tool.Descriptor
			for _, f := range d.Tools.Facts() {
				t, _ := d.Tools.Known(f.Name)
				all = append(all, t)
			}
			d.Tools = tool.NewSet(append(all, tool.Descriptor{ToolFacts: troupe.ToolFacts{Name: "Answer"},
				Intent: func(in string) (troupe.Intent, error) { return answering(in), nil }})...)
		}
	}
}

// memberX is the member that the second reply of the main agent starts.
var memberX = troupe.ChildID("00000000root", troupe.Coord{Reply: 2})

func answering(in string) troupe.Intent {
	f := strings.Fields(in)
	out := troupe.SendMessage{To: f[0], Text: "so it be", Type: troupe.MessagePlanResponse, Approve: f[3] == "yes",
		Re: troupe.AskMailID(troupe.RequestID(string(memberX) + "." + f[2]))}
	if f[1] == "leave" {
		out.Type = troupe.MessagePermissionResponse
	}
	return out
}

func inMode(mode troupe.Mode, rules ...troupe.Rule) func(*fleet.Birth) {
	return func(b *fleet.Birth) {
		b.Profile = leads("main")
		b.Profile.Mode, b.Profile.Tools = "", append(b.Profile.Tools, "Answer")
		b.Authority = troupe.Authority{Mode: mode, Rules: rules}
	}
}

func leadOf(calls ...string) []troupe.Reply {
	out := []troupe.Reply{call("TeamCreate:t"), call("Member:X")}
	for _, c := range calls {
		out = append(out, call("TaskOutput:X"), call(c)) // a message ends the wait
	}
	return append(out, call("TaskOutput:X"), say("ok"))
}

// TestLeadsWord: a lead's no to what a member asks counts. Its yes counts for what it could do itself, and for nothing
// else: whatever its mode was before, whoever asks, and whoever pretends to be it.
func TestLeadsWord(t *testing.T) {
	t.Parallel()
	you := troupe.You(troupe.SurfaceCommand)
	plan := []troupe.Reply{call("Exit:"), call("Edit:a"), say("done")}
	edit := []troupe.Reply{call("Edit:a"), say("done")}
	asks := troupe.Rule{Effect: troupe.Ask, Text: "Edit", Source: "s"}
	mail := func(from troupe.SessionID, reply int, lead bool) func(*process) {
		return func(p *process) {
			m := allow(memberX, reply, 0, troupe.Allow)
			m.From, m.Answer.Lead = from, lead
			p.send(m)
		}
	}
	setMode := func(m troupe.Mode) func(*process) {
		return func(p *process) { p.send(troupe.Mail{To: p.root, Kind: troupe.MailGrant, Mode: m, Caller: &you}) }
	}
	person := func(p *process) {
		m := allow(memberX, 1, 0, troupe.Allow)
		m.Caller = &you
		p.send(m)
	}
	for name, tt := range map[string]struct {
		lead, member troupe.Mode
		rules        []troupe.Rule
		askFor       time.Duration
		main, x      []troupe.Reply
		then         []func(*process) // a minute after the other
		asked        string           // the result of the call that asks
		told         string           // the result of the lead's answer, if there is one
		at           int              // the reply with that answer; 0 is the fourth
		edited       bool
	}{
		"plan, yes": {lead: troupe.ModeAcceptEdits, member: troupe.ModePlan, main: leadOf("Answer:X plan 1.0 yes"),
			x: plan, asked: "The lead of your team approved the plan", told: "it goes on with your answer",
			edited: true},
		"plan, no": {lead: troupe.ModeDefault, member: troupe.ModePlan, askFor: time.Hour,
			main: leadOf("Answer:X plan 1.0 no"), x: plan,
			asked: "The lead of your team did not approve the plan, and said:", told: "it goes on with your answer"},
		"plan, a yes beyond its mode": {lead: troupe.ModeDefault, member: troupe.ModePlan, askFor: time.Hour,
			main: leadOf("Answer:X plan 1.0 yes"), x: plan, asked: "there was no answer in time",
			told: "your own mode does not allow by itself what is asked for, so that your yes does not count"},
		"plan, a yes beyond its mode, and a person's": {lead: troupe.ModeDefault, member: troupe.ModePlan,
			askFor: time.Hour, main: leadOf("Answer:X plan 1.0 yes"), x: plan, then: []func(*process){person},
			asked: "The user approved the plan",
			told:  "your own mode does not allow by itself what is asked for, so that your yes does not count"},
		"plan, its mode is wide enough by then": {lead: troupe.ModeDefault, member: troupe.ModePlan, askFor: time.Hour,
			main: append(leadOf(), call("Answer:X plan 1.0 yes"), say("ok")), x: plan,
			then: []func(*process){setMode(troupe.ModeAcceptEdits), func(p *process) {
				p.send(troupe.Mail{To: p.root, Kind: troupe.MailPrompt, Caller: &you,
					Blocks: []troupe.Block{troupe.Text("answer it")}})
			}}, asked: "there was no answer in time", at: 5,
			told: "Your mode allows it now, but it did not when this was " +
				"asked, and that counts: your yes does not"},
		"plan, a yes past the tool": {lead: troupe.ModeDefault, member: troupe.ModePlan, askFor: time.Hour,
			main: leadOf(), x: plan, then: []func(*process){mail("00000000root", 1, true)},
			asked: "there was no answer in time"},
		"plan, nobody could": {lead: troupe.ModeDefault, member: troupe.ModePlan, main: leadOf(), x: plan,
			asked: "this run cannot ask"},
		"plan, a lead that plans": {lead: troupe.ModePlan, member: troupe.ModePlan, main: leadOf(), x: plan,
			asked: "this run cannot ask"},
		"plan, its mode is another by then": {lead: troupe.ModeAcceptEdits, member: troupe.ModePlan, main: leadOf(),
			x: plan, then: []func(*process){setMode(troupe.ModeDefault), mail("00000000root", 1, true)},
			asked: "its yes does not count any more"},
		"plan, in time": {lead: troupe.ModeAcceptEdits, member: troupe.ModePlan, main: leadOf(), x: plan,
			then: []func(*process){mail("00000000root", 1, true)}, asked: "approved the plan", edited: true},
		"plan, by itself": {lead: troupe.ModeAcceptEdits, member: troupe.ModePlan, main: leadOf(), x: plan,
			then: []func(*process){mail(memberX, 1, true), mail(memberX, 1, false)}, asked: "no answer in time"},
		"plan, by another": {lead: troupe.ModeAcceptEdits, member: troupe.ModePlan, main: leadOf(), x: plan,
			then: []func(*process){mail("another", 1, true), mail("another", 1, false)}, asked: "no answer in time"},
		"leave, yes": {lead: troupe.ModeAcceptEdits, member: troupe.ModeDefault, main: leadOf("Answer:X leave 1.0 yes"),
			x: edit, asked: "did a", told: "it goes on with your answer", edited: true},
		"leave, no": {lead: troupe.ModeAcceptEdits, member: troupe.ModeDefault, main: leadOf("Answer:X leave 1.0 no"),
			x: edit, asked: "denied by the lead of the team: so it be", told: "it goes on with your answer"},
		"leave, answered as a plan": {lead: troupe.ModeAcceptEdits, member: troupe.ModeDefault,
			main: leadOf("Answer:X plan 1.0 yes"), x: edit, asked: "no answer in time",
			told: "does not wait for this answer"},
		"leave, of another's request": {lead: troupe.ModeAcceptEdits, member: troupe.ModeDefault,
			main: leadOf("Answer:X leave 7.0 yes"), x: edit, asked: "no answer in time",
			told: "does not wait for this answer"},
		"leave, a lead that would be asked itself": {lead: troupe.ModeDefault, member: troupe.ModeDefault,
			main: leadOf(), x: edit, asked: "cannot ask"},
		"leave, a rule that asks": {lead: troupe.ModeBypass, member: troupe.ModeDefault, rules: []troupe.Rule{asks},
			main: leadOf(), x: edit, asked: "cannot ask"},
		"leave, its mode is another by then": {lead: troupe.ModeAcceptEdits, member: troupe.ModeDefault, main: leadOf(),
			x: edit, then: []func(*process){setMode(troupe.ModeDefault), mail("00000000root", 1, true)},
			asked: "cannot ask"},
		"leave, a rule that denies by then": {lead: troupe.ModeAcceptEdits, member: troupe.ModeDefault, main: leadOf(),
			x: edit, then: []func(*process){func(p *process) {
				p.send(troupe.Mail{To: p.root, Kind: troupe.MailGrant, Caller: &you,
					Rule: &troupe.Rule{Effect: troupe.Deny, Text: "Edit", Source: "s"}})
			}, mail("00000000root", 1, true)}, asked: "denied"},
		"leave, by another": {lead: troupe.ModeAcceptEdits, member: troupe.ModeDefault, main: leadOf(), x: edit,
			then:  []func(*process){mail("another", 1, true), mail(memberX, 1, true), mail("another", 1, false)},
			asked: "no answer in time"},
		"leave, a member's word for its own": {lead: troupe.ModeAcceptEdits, member: troupe.ModeDefault,
			main: append(leadOf()[:3], call("Member:Y"), call("TaskOutput:Y"), call("TaskOutput:X"), say("ok")),
			x:    edit, asked: "no answer in time"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(plays{"main": tt.main, "main/X": tt.x,
				"main/Y": {call("Answer:X leave 1.0 yes"), say("done")}}.reply,
				asksLead(tt.member, tt.askFor)).beginAs(troupe.Caps{MaxDepth: 1}, inMode(tt.lead, tt.rules...))
			for _, do := range tt.then {
				pass(time.Minute)
				do(p)
			}
			p.end()
			if got := h.result(memberX, 1, 0); !strings.Contains(got, tt.asked) {
				t.Errorf("%s: %q is not in %q", name, tt.asked, got)
			}
			if tt.told != "" {
				if got := h.result(h.root, cmp.Or(tt.at, 4), 0); !strings.Contains(got, tt.told) {
					t.Errorf("%s: the lead is told %q", name, got)
				}
			}
			if got := strings.Contains(fmt.Sprint(h.events(memberX)), "did a"); got != tt.edited {
				t.Errorf("%s: the file was changed: %v", name, got)
			}
			h.checkTree()
			checkPrefix(t, p)
		})
	}
}
