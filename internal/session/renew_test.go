package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
)

// changing are roles that a person changes once the session is at work. They keep what they were opened with.
type changing struct {
	inherits
	renewed *bool
	opened  *[]string
}

func (c changing) Open(definitions []byte) (session.Roles, error) {
	*c.opened = append(*c.opened, string(definitions))
	return c, nil
}

// Renew is what they are by now, once.
func (c changing) Renew() (session.Renewal, bool) {
	if *c.renewed {
		return session.Renewal{}, false
	}
	*c.renewed = true
	return session.Renewal{Definitions: fleet.Document{Hash: "h2", Body: []byte("as they are now")},
			Agents: []string{"X"}},
		true
}

// TestRenewedOutlivesTheProcess: the process that goes on with a tree knows the definitions as they were changed while
// another one had it.
func TestRenewedOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		var renewed bool
		var opened []string
		by := func(p *process) {
			p.deps = func(d *session.Deps) { d.Profiles = changing{inherits{p}, &renewed, &opened} }
		}
		reply := plays{"main": {call("Read:a"), say("ok")}}.reply
		p := h.start(reply, by).beginAs(troupe.Caps{}, func(b *fleet.Birth) {
			b.Definitions = fleet.Document{Hash: "h1", Body: []byte("as they were")}
			b.Settings.Definitions = "h1"
		})
		pass(1500 * time.Millisecond)
		p.pool.Close()
		if !renewed {
			t.Fatal("nobody looked for changes")
		}
		opened = nil
		q := h.start(reply, by)
		if err := q.hub.Adopt(h.t.Context(), session.Adoption{Root: h.root, Expect: h.lease(),
			Idle: true}); err != nil {
			t.Fatal(err)
		}
		q.end()
		if len(opened) != 1 || opened[0] != "as they are now" {
			t.Errorf("the next process knows %q", opened)
		}
		h.checkTree()
	})
}
