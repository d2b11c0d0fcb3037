package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
)

// TestWhatSettles: a request is settled by an answer to it, or by a grant that leaves nothing
// of it to be asked; a no holds whatever is granted with it, and a yes allows nothing that was
// forbidden meanwhile.
func TestWhatSettles(t *testing.T) {
	t.Parallel()
	rule := func(text string) troupe.Mail {
		return troupe.Mail{Kind: troupe.MailGrant, Rule: &troupe.Rule{Effect: troupe.Allow, Text: text}}
	}
	deny := func(text string) troupe.Mail {
		return troupe.Mail{Kind: troupe.MailGrant, Rule: &troupe.Rule{Effect: troupe.Deny, Text: text}}
	}
	mode := func(m troupe.Mode) troupe.Mail { return troupe.Mail{Kind: troupe.MailGrant, Mode: m} }
	yes, no := allow("", 1, 0, troupe.Allow), allow("", 1, 0, troupe.Deny)
	tests := map[string]struct {
		call string
		mail []troupe.Mail
		open bool // nothing of it settles the request
		want string
	}{
		"a rule for something else": {call: "Sh:/etc/x", mail: []troupe.Mail{rule("Read")}, open: true,
			want: "denied by somebody"},
		"the rule that it ran by": {call: "Sh:/etc/x", mail: []troupe.Mail{rule("Sh")}, open: true,
			want: "denied by somebody"},
		"a mode for everything": {call: "Sh:/etc/x", mail: []troupe.Mail{mode(troupe.ModeBypass)},
			want: "/etc/x none: 0"},
		"yes, in a stricter mode": {call: "Sh:/etc/x", mail: []troupe.Mail{mode(troupe.ModePlan), yes},
			want: "by now nothing allows that here"},
		"yes, and denied since": {call: "Sh:/etc/x", mail: []troupe.Mail{deny("Sh"), yes},
			want: "permission denied"},
		"no, in a looser mode": {call: "Edit:a", mail: []troupe.Mail{no, mode(troupe.ModeBypass)},
			want: "denied by somebody"},
		"an agent ahead, by a rule": {call: "Agent:&a", mail: []troupe.Mail{rule("Read")}, open: true,
			want: "denied by somebody"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked []session.Confine
				h := newHome(t)
				p := h.start(plays{"main": {call(tt.call), say("ok")}, "main/a": {say("a did")}}.reply,
					func(p *process) {
						p.deps = func(d *session.Deps) {
							d.Guard = confines{&asked}
							d.Profiles = inherits{p}
							p.settings.AskFor = time.Hour
						}
					}).beginAs(troupe.Caps{MaxDepth: 1}, func(b *fleet.Birth) {
					careful(b)
					b.Authority.Rules = []troupe.Rule{{Effect: troupe.Allow, Text: "Sh"}}
				})
				pass(time.Minute)
				mail := tt.mail
				for i := range mail {
					mail[i].To = h.root
				}
				p.send(mail...)
				pass(time.Minute)
				if open := h.get(h.root).Waiting == troupe.WaitApproval; open != tt.open {
					t.Errorf("the request is open: %v, want %v", open, tt.open)
				}
				if no := allow(h.root, 1, 0, troupe.Deny); tt.open {
					p.send(no)
				}
				p.end()
				wants(t, h.result(h.root, 1, 0), tt.want)
				h.checkTree()
			})
		})
	}
}

// TestNoAhead: agents that were refused before they began do not begin because nobody is there
// to be asked any more.
func TestNoAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		reply := plays{"main": {call("Agent:&a"), say("ok")}, "main/a": {say("a did")}}.reply
		with := func(wait time.Duration) func(*process) {
			return func(p *process) {
				p.deps = func(d *session.Deps) {
					d.Profiles = inherits{p}
					p.settings.AskFor = wait
				}
			}
		}
		p := h.start(reply, with(time.Hour)).beginAs(troupe.Caps{MaxDepth: 1}, careful)
		pass(time.Minute)
		p.pool.Close()
		p = h.adopt(reply, true, with(0))
		p.end()
		wants(t, h.result(h.root, 1, 0), "permission denied: this run cannot ask for permission")
		h.checkTree()
	})
}

// slowDisk is a machine whose disk takes ten seconds to say whether a path is hidden.
type slowDisk struct{ confines }

func (slowDisk) Hidden(session.Place) session.Hidden {
	return session.Hidden{Path: func(string) (string, bool) {
		pass(10 * time.Second)
		return "", false
	}}
}

// TestRejudgedTooLate: a call that waits for an answer is judged anew when something is granted, and a
// grant that was narrowed again while that was under way answers nothing.
func TestRejudgedTooLate(t *testing.T) {
	t.Parallel()
	for name, narrow := range map[string][]troupe.Mail{
		"widened":             nil,
		"widened, and back":   {{Kind: troupe.MailGrant, Mode: troupe.ModeDefault}},
		"widened, and denied": {{Kind: troupe.MailGrant, Rule: &troupe.Rule{Effect: troupe.Deny, Text: "Edit"}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(plays{"main": {call("Edit:a"), say("ok")}}.reply, func(p *process) {
				p.deps = func(d *session.Deps) {
					d.Guard = slowDisk{confines{new([]session.Confine)}}
					p.settings.AskFor = time.Hour
				}
			}).beginAs(troupe.Caps{}, careful)
			pass(10 * time.Minute)
			p.send(troupe.Mail{To: h.root, Kind: troupe.MailGrant, Mode: troupe.ModeBypass})
			pass(5 * time.Second)
			for i := range narrow {
				narrow[i].To = h.root
			}
			if _, answered := h.requests(h.root); len(answered) > 0 {
				t.Errorf("%s: judging anew took no time", name)
			}
			if len(narrow) > 0 {
				p.send(narrow...)
			}
			pass(10 * time.Minute)
			_, answered := h.requests(h.root)
			open := h.get(h.root).Waiting == troupe.WaitApproval
			if want := len(narrow) > 0; open != want || len(answered) > 0 == want {
				t.Errorf("%s: it is open: %v, answered %+v", name, open, answered)
			}
			if open {
				p.send(allow(h.root, 1, 0, troupe.Deny))
			}
			p.end()
			h.checkTree()
		})
	}
}
