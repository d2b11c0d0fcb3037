package session_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
)

// TestGrantIsLoggedFirst: what was granted to the tree counts for others once it is in the log,
// however long that takes.
func TestGrantIsLoggedFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		edits := []troupe.Reply{call("Edit:a"), say("ok")}
		var late atomic.Bool // the grant's commit
		late.Store(true)
		p := h.start(plays{"main": {call("Agent:&X"), call("Edit:a"), say("I wait")}, "main/X": edits}.reply,
			func(p *process) {
				p.deps = func(d *session.Deps) {
					p.settings.AskFor = time.Hour
					d.Profiles = inherits{p}
					d.Store = slowGrants{d.Store, &late}
				}
			}).beginAs(troupe.Caps{MaxDepth: 1}, func(b *fleet.Birth) {
			b.Authority.Mode, b.Profile.Mode = troupe.ModeDefault, troupe.ModeDefault
		})
		pass(10 * time.Second)
		p.send(allow(h.root, 1, 0, troupe.Allow)) // X may begin, and is granted nothing
		pass(10 * time.Second)                    // both ask
		opened, _ := p.requests(h.root)
		rule := troupe.Rule{Effect: troupe.Allow, Text: opened[1].Decision.Grant, Source: "somebody"}
		if rule.Text == "" {
			t.Fatalf("asked %+v", opened)
		}
		p.send(troupe.Mail{To: h.root, Kind: troupe.MailGrant, Rule: &rule})
		p.end()
		x := h.called("X").ID
		granted := slices.IndexFunc(h.events(h.root),
			func(e troupe.Event) bool { return e.Body.Kind() == troupe.KindAuthorityChanged })
		answered := slices.IndexFunc(h.events(x),
			func(e troupe.Event) bool { return e.Body.Kind() == troupe.KindRequestAnswered })
		if late.Load() || granted < 0 || answered < 0 {
			t.Fatalf("granted %d, answered %d", granted, answered)
		}
		at := h.events(h.root)[granted].At.Add(time.Minute) // when it was committed
		if got := h.events(x)[answered].At; got.Before(at) {
			t.Errorf("X was let at %s by a rule that was in the log at %s", got, at)
		}
		h.checkTree()
	})
}

// slowGrants takes a minute to commit the first grant.
type slowGrants struct {
	store.Store
	late *atomic.Bool
}

var errLater = errors.New("later")

func (s slowGrants) Update(ctx context.Context, root troupe.SessionID, fn func(store.Tx) error) error {
	err := s.Store.Update(ctx, root, func(tx store.Tx) error {
		seen := &seenTx{Tx: tx}
		err := fn(seen)
		grants := slices.ContainsFunc(seen.events,
			func(e troupe.Event) bool { return e.Body.Kind() == troupe.KindAuthorityChanged })
		if err == nil && grants && s.late.CompareAndSwap(true, false) {
			return errLater
		}
		return err
	})
	if errors.Is(err, errLater) {
		pass(time.Minute)
		return s.Store.Update(ctx, root, fn)
	}
	return err
}

// TestReplyIsNotTouched: what a provider returned stays as it was; the coordinates of its calls
// are written into a copy.
func TestReplyIsNotTouched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		kept := call("Read:a")
		h.start(func(r model.Request) troupe.Reply {
			if r.Agent.Reply == 1 {
				return kept
			}
			return say("ok")
		}).begin(troupe.Caps{}).end()
		if at := kept.Blocks[0].Call.Reply; at != 0 {
			t.Errorf("the provider's own reply became reply %d", at)
		}
	})
}
