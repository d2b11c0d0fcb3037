package session_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/tool"
)

// upgrade is a program with another Read, and without Edit.
func upgrade(p *process) {
	p.deps = func(d *session.Deps) {
		d.Tools = d.Tools.Map(func(d tool.Descriptor) tool.Descriptor {
			switch d.Name {
			case "Read":
				d.Description, d.Schema = "Reads more.", []byte(`{"type":"object"}`)
			case "Edit":
				d.Runner = nil
			}
			return d
		})
	}
}

// again goes on with a tree whose root has something else to say.
func (h *home) again(q *process) *process {
	h.t.Helper()
	err := q.hub.Adopt(h.t.Context(), session.Adoption{
		Root: h.root, Expect: h.lease(), Prompt: []troupe.Block{troupe.Text("and now?")},
		MailID: troupe.MailID(fmt.Sprintf("again%d", h.n)),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return q.end()
}

func headsOf(p *process) map[string][]byte {
	heads := make(map[string][]byte)
	for _, r := range p.llm.requests {
		heads[r.Agent.Path] = r.Head
	}
	return heads
}

// TestOfferIsForLife: after an upgrade a session sends the bytes that it sent before, though it
// shares its prompt and the names of its tools with one born since, which is told of the new.
func TestOfferIsForLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		before := headsOf(h.start(once("Read:a")).begin(troupe.Caps{MaxDepth: 1}).end())["main"]
		now := h.start(plays{"main": {{}, {}, call("Edit:f"), say("done")}}.reply, upgrade)
		h.again(now)
		if after := headsOf(now)["main"]; !bytes.Equal(before, after) || !strings.Contains(string(before), `"Edit"`) {
			t.Errorf("the session was told\n%s\nand is told now\n%s", before, after)
		}
		for _, e := range h.events(h.root) {
			if s, ok := e.Body.(troupe.CallSealed); ok && s.Generation > 1 {
				t.Errorf("a new generation, because %q", s.Because)
			}
		}
		if got := h.result(h.root, 3, 0); !strings.HasPrefix(got, `there is no tool "Edit"; the tools here are`) {
			t.Errorf("a tool that is gone answers %q", got)
		}
		// Both in one process, which keeps the heads it has encoded.
		both := h.start(once(), upgrade)
		other := birth("0000000other")
		if err := both.hub.Begin(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		if err := both.hub.Wait(t.Context(), other.Root); err != nil {
			t.Fatal(err)
		}
		fresh := headsOf(both)["main"]
		both.llm.requests = nil
		h.again(both)
		if old := headsOf(both)["main"]; !bytes.Equal(old, before) || bytes.Equal(fresh, old) ||
			!strings.Contains(string(fresh), "Reads more.") {
			t.Errorf("one is told\n%s\nand the other\n%s", fresh, old)
		}
	})
}

func birth(root troupe.SessionID) fleet.Birth {
	return fleet.Birth{
		Root: root, ID: root, Cwd: "/ws", Caps: &troupe.Caps{MaxDepth: 1}, Profile: role("main"),
		Authority: troupe.Authority{Mode: troupe.ModeBypass}, Prompt: []troupe.Block{troupe.Text("go")},
	}
}

// TestOldOffer: a session of a log that holds no offer is told what its tools are now, with the
// bytes that it always sent.
func TestOldOffer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		ctx, st := t.Context(), h.db.Open()
		err := errors.Join(func() error { _, err := st.Register(ctx, troupe.Owner{ID: "of old"}); return err }(),
			st.Update(ctx, h.root, func(tx store.Tx) error {
				_, err := fleet.Spawn(tx, "of old", time.Now(), []fleet.Birth{birth(h.root)})
				return err
			}))
		if err != nil {
			t.Fatal(err)
		}
		p := h.adopt(once("Agent:X"), false, upgrade).end()
		heads := headsOf(p)
		if !strings.Contains(string(heads["main"]), "Reads more.") ||
			strings.Contains(string(heads["main"]), `"Edit"`) {
			t.Errorf("told %s", heads["main"])
		}
		if o := h.profile(h.root).Offer; o != "" {
			t.Errorf("the old log has the offer %q", o)
		}
		for _, s := range h.tree() {
			if o := h.profile(s.ID).Offer; s.Parent != "" && o == "" {
				t.Errorf("%s was born without an offer", s.Name)
			}
		}
	})
}

func (h *home) profile(id troupe.SessionID) troupe.Profile {
	h.t.Helper()
	c, ok := h.events(id)[0].Body.(troupe.Created)
	if !ok {
		h.t.Fatalf("%s begins with something else", id)
	}
	return c.Profile
}
