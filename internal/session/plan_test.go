package session_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
)

// planFiles has one plan for every session.
type planFiles struct{ text string }

func (planFiles) File(s troupe.Session) string  { return "/plans/" + string(s.ID) + ".md" }
func (f planFiles) Read(string) (string, error) { return f.text, nil }

// withPlans adds the tools that deal with a person.
func withPlans(d *session.Deps) {
	d.Plans = planFiles{"# do it"}
	of := func(name string, holder troupe.Holder, in troupe.Intent) tool.Descriptor {
		return tool.Descriptor{ToolFacts: troupe.ToolFacts{Name: name, Holder: holder},
			Intent: func(string) (troupe.Intent, error) { return in, nil }}
	}
	var all []tool.Descriptor
	for _, f := range d.Tools.Facts() {
		t, _ := d.Tools.Known(f.Name)
		all = append(all, t)
	}
	d.Tools = tool.NewSet(append(all, of("Enter", troupe.MainAgent, troupe.EnterPlan{}),
		of("Exit", troupe.Planners, troupe.ExitPlan{}),
		of("Ask", troupe.NamedAgents, troupe.AskUser{Questions: []troupe.Question{{Header: "H", Text: "Q?",
			Default: "A",
			Options: []troupe.Option{{Label: "A"}, {Label: "B"}}}}}))...)
}

func modesOf(h *home) (modes []string) {
	for _, e := range h.events(h.root) {
		if b, ok := e.Body.(troupe.AuthorityChanged); ok {
			modes = append(modes, string(b.Authority.Mode))
		}
	}
	return modes
}

// TestNoRuleAnswers: while a question or a plan waits, no rule, no mode and no answer without a person behind it
// settles it. A person's yes to the plan brings the mode before back, once.
func TestNoRuleAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(plays{"main": {call("Ask:"), call("Enter:"), call("Exit:"), call("Exit:"), say("ok")}}.reply,
			func(p *process) {
				p.deps = withPlans
				p.settings.AskFor = time.Hour
			}).beginAs(troupe.Caps{}, func(b *fleet.Birth) {
			b.Authority.Mode, b.Profile.Mode = troupe.ModeAcceptEdits, ""
			b.Profile.Tools = append(b.Profile.Tools, "Ask", "Enter", "Exit")
		})
		you := troupe.You(troupe.SurfaceCommand)
		grant := func() {
			for _, name := range []string{"Ask", "Exit"} {
				p.send(troupe.Mail{To: h.root, Kind: troupe.MailGrant,
					Rule: &troupe.Rule{Effect: troupe.Allow, Text: name,
						Source: "somebody"}})
			}
			pass(time.Minute)
		}
		answer := func(reply int, by *troupe.Caller) {
			m := allow(h.root, reply, 0, troupe.Allow)
			m.Caller, m.Answer.Said = by, []troupe.Said{{Choices: []string{"B"}}}
			p.send(m)
			pass(time.Minute)
		}
		pass(time.Minute)
		grant()
		if _, answered := h.requests(h.root); len(answered) != 0 {
			t.Fatalf("a question was answered by %+v", answered)
		}
		answer(1, &you)
		grant()
		if _, answered := h.requests(h.root); len(answered) != 1 {
			t.Fatalf("a plan was answered by %+v", answered)
		}
		answer(3, nil) // of something that is no person
		if got := modesOf(h); got[len(got)-1] != "plan" {
			t.Fatalf("the modes are %q", got)
		}
		answer(4, &you)
		p.end()
		got := strings.Join(modesOf(h), " ")
		if n := strings.Count(got, "plan acceptEdits"); n != 1 || !strings.HasSuffix(got, "acceptEdits") {
			t.Errorf("the modes are %q", got)
		}
		wants(t, h.result(h.root, 1, 0), "H: B")
		wants(t, h.result(h.root, 3, 0), "still in plan mode")
		wants(t, h.result(h.root, 4, 0), "# do it")
		h.checkTree()
	})
}

// TestWhoApproves: a plan is approved by the owner of the home or by a user of a server who may answer, and by no one
// else.
func TestWhoApproves(t *testing.T) {
	t.Parallel()
	for right, may := range map[troupe.Right]bool{troupe.RightOwner: true, troupe.RightOperator: true,
		troupe.RightAdmin: true, troupe.RightViewer: false, troupe.RightParent: false, troupe.RightSystem: false} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(plays{"main": {call("Enter:"), call("Exit:"), say("ok")}}.reply, func(p *process) {
				p.deps = withPlans
				p.settings.AskFor = time.Hour
			}).beginAs(troupe.Caps{}, func(b *fleet.Birth) {
				b.Profile.Mode = ""
				b.Profile.Tools = append(b.Profile.Tools, "Enter", "Exit")
			})
			pass(time.Minute)
			m := allow(h.root, 2, 0, troupe.Allow)
			m.Caller = &troupe.Caller{Name: "ann", Right: right, Surface: troupe.SurfaceServer}
			p.send(m)
			p.end()
			got := h.result(h.root, 2, 0)
			if approved := strings.Contains(got, "approved the plan"); approved != may {
				t.Errorf("%s: %s", right, got)
			}
			h.checkTree()
		})
	}
}

// TestPlanIsBounded: a plan that no person would read is not put before one, and neither is none.
func TestPlanIsBounded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, result string
		opened       int
	}{
		{strings.Repeat("x", 100_000), "no answer in time", 1},
		{strings.Repeat("x", 100_001), "shorten it to at most 100000", 0},
		{" \n", "write it first", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			h.start(plays{"main": {call("Enter:"), call("Exit:"), say("ok")}}.reply, func(p *process) {
				p.deps = func(d *session.Deps) {
					withPlans(d)
					d.Plans = planFiles{tt.text}
				}
				p.settings.AskFor = time.Minute
			}).beginAs(troupe.Caps{}, func(b *fleet.Birth) {
				b.Authority.Mode, b.Profile.Mode = troupe.ModeAcceptEdits, ""
				b.Profile.Tools = append(b.Profile.Tools, "Enter", "Exit")
			}).end()
			if opened, _ := h.requests(h.root); len(opened) != tt.opened {
				t.Errorf("a plan of %d bytes was put before a person %d times", len(tt.text), len(opened))
			}
			wants(t, h.result(h.root, 2, 0), tt.result)
			h.checkTree()
		})
	}
}
