package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
)

// TestForkAsksAsItsParent: what a fork may not do unasked is asked about where its parent's calls are, for as long, and
// waits for the answer; where there is no one to ask it is denied, as its parent's is.
func TestForkAsksAsItsParent(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		asks   func(*process)
		result string
	}{
		"a person is there": {asking, "did b"},
		"no one is there":   {func(*process) {}, "this run cannot ask for permission"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(plays{
				"main":   {call("Edit:a"), call("Agent:%A!"), say("ok")},
				"main/A": {call("Edit:b"), say("done")},
			}.reply, tt.asks).beginAs(troupe.Caps{MaxDepth: 1}, careful)
			for _, who := range []string{"", "A"} {
				pass(10 * time.Second)
				rows := h.open()
				if p.settings.AskFor == 0 {
					if len(rows) > 0 {
						t.Errorf("%s: %+v is asked", name, rows)
					}
					continue
				}
				s := h.called(who)
				if len(rows) != 1 || rows[0].Session != s.ID || !rows[0].Until.Equal(rows[0].Opened.Add(time.Hour)) ||
					s.Waiting != troupe.WaitApproval {
					t.Fatalf("%s: %s %q is %s %s, and asked is %+v", name, s.ID, who, s.Status, s.Waiting, rows)
				}
				p.send(allow(s.ID, rows[0].Reply, rows[0].Call, troupe.Allow))
			}
			p.end()
			wants(t, h.result(h.called("A").ID, 1, 0), tt.result)
			h.checkTree()
			checkPrefix(t, p)
		})
	}
}

// open are the rows of what waits for an answer.
func (h *home) open() (out []troupe.Request) {
	h.view(func(r store.Reader) error {
		all, err := r.Requests(store.RequestFilter{Root: h.root})
		for _, q := range all {
			if q.Settled.IsZero() {
				out = append(out, q)
			}
		}
		return err
	})
	return out
}
