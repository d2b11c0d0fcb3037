//go:build unix

package chat

import (
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestBannerAndStatus: what the conversation works with is said at the beginning, above the prompt, and by
// /status; a mode in which nothing is asked is warned of; /mode marks the one that holds.
func TestBannerAndStatus(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		return newFake(func(f *fake, _ string) {
			f.add(rootID, troupe.CallSealed{Reply: 1, Model: "anthropic/opus"},
				troupe.Replied{Reply: 1, Cost: troupe.Dollars(0.25), Blocks: []troupe.Block{troupe.Text("hi")}},
				ended(troupe.Completed))
		})
	}
	screens(t, "status", f, wire.Begin{Permissions: wire.Permissions{Mode: troupe.ModeBypass}},
		func(p *person, _ *fake) {
			p.shows("troupe test · anthropic/opus · mode bypassPermissions ·")
			p.shows("Warning: in the mode bypassPermissions every call runs")
			p.Keys("hello\r")
			p.shows(" · $0.2500\n>")
			p.Keys("/mode\r")
			p.shows("\n* bypassPermissions\n")
			p.Keys("/clear\r")
			p.shows("begins a new conversation")
			p.Keys("/status\r")
			p.shows("none yet")
		})
}

// TestNoProviderIsSaid: at the start, and what could not be sent is not put in front of what is typed next.
func TestNoProviderIsSaid(t *testing.T) {
	t.Parallel()
	f := newFake(nil)
	p := sitAt(t, f, wire.Begin{Model: "nobody"}, 100)
	p.shows("there is no model nobody")
	p.sees("\n>")
	f.mu.Lock()
	f.unbegun = &troupe.UserError{Problem: "no key"}
	f.mu.Unlock()
	p.Keys("hello\r")
	p.sees("troupe: no key\nNot sent; Up brings it back.\n>")
	p.Keys("/help\r")
	p.shows("all that an agent said and did")
}
