package session_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
)

// TestSummaryRestatesBrief: where a session is and which agents it can start is not left to the words of a summary.
func TestSummaryRestatesBrief(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		main := append([]troupe.Reply{call("Agent:Slow")}, reads(12)...)
		p := h.start(filling(plays{"main": main, "main/Slow": reads(20)}),
			window(160)).begin(troupe.Caps{MaxDepth: 1}).end()
		for id, agents := range map[troupe.SessionID]string{h.root: "agents: helper\n", h.called("Slow").ID: ""} {
			all := h.compactions(id)
			if len(all) == 0 || all[0].Brief == nil {
				t.Fatalf("%s was never shortened, or has no brief then: %+v", id, all)
			}
			b := all[0].Brief
			if !strings.HasPrefix(b.Place, "env") || b.Agents != agents || !strings.Contains(b.Holds, "llm/one") {
				t.Errorf("%s is told %+v, want the agents %q", id, b, agents)
			}
			said := false
			for _, r := range p.llm.of(id) {
				text := string(body(r))
				place, summary := strings.Index(text, "env"), strings.Index(text, "conversation-summary")
				said = said || place >= 0 && place < summary
			}
			if !said {
				t.Errorf("no request of %s has its place before the summary", id)
			}
		}
		h.checkTree()
		checkPrefix(t, p)
	})
}

// TestChangesAreTold: a mode that changes while sessions are at work is told to each that it holds for, once.
func TestChangesAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(plays{"main": append([]troupe.Reply{call("Agent:&X")}, reads(8)...), "main/X": reads(8)}.reply,
			func(p *process) {
				p.deps = func(d *session.Deps) { d.Profiles = inherits{p} }
			}).beginAs(troupe.Caps{MaxDepth: 1}, func(b *fleet.Birth) {
			b.Authority.Mode, b.Profile.Mode = troupe.ModeDefault, troupe.ModeDefault
		})
		pass(3 * time.Second)
		p.send(troupe.Mail{To: h.root, Kind: troupe.MailGrant, Mode: troupe.ModePlan})
		p.end()
		for _, id := range []troupe.SessionID{h.root, h.called("X").ID} {
			all := p.llm.of(id)
			first, last := string(body(all[0])), string(body(all[len(all)-1]))
			if !strings.Contains(first, "mode default. A change of a file is refused") {
				t.Errorf("%s begins without a word of its mode:\n%s", id, first)
			}
			if n := strings.Count(last, "This holds from now on:"); n != 1 ||
				!strings.Contains(last, "mode plan. Nothing is to be changed") {
				t.Errorf("%s is told of changes %d times:\n%s", id, n, last)
			}
		}
		h.checkTree()
		checkPrefix(t, p)
	})
}
