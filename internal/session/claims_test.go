package session_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/gate"
)

// after checks that one agent began its run when another's had ended.
func (h *home) after(late, early string) {
	h.t.Helper()
	a, b := h.called(early), h.called(late)
	if a.EndedAt.IsZero() || b.StartedAt.Before(a.EndedAt) {
		h.t.Errorf("%s began at %v, and %s ended at %v", late, b.StartedAt, early, a.EndedAt)
	}
	if n := len(h.kinds(b.ID, troupe.KindQueued)); n == 0 {
		h.t.Errorf("the log of %s does not say that it waited", late)
	}
}

// TestWritesQueue: agents of one folder that may change the same file go one after the other, and others side by side.
func TestWritesQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		work := []troupe.Reply{call("Read:a"), call("Read:b"), say("done")}
		p := h.start(plays{"main": {call("Agent:A@src/**", "Agent:B@src/a/*.go", "Agent:C@docs/**", "Agent:D",
			"Agent:^E@src/**"),
			say("ok")}, "": work}.reply, newFolders().with).beginAs(troupe.Caps{MaxDepth: 1}, func(*fleet.Birth) {})
		pass(3 * time.Second)
		if b := h.called("B"); b.Status != troupe.Spawning ||
			b.Error != "waits for main/A, which may change the same files (src/**)" {
			t.Errorf("B is %s: %q", b.Status, b.Error)
		}
		p.end()
		h.after("B", "A")
		for _, name := range []string{"C", "D", "E"} { // other files, all files, another folder
			if s := h.called(name); s.StartedAt.Sub(h.called("A").StartedAt) > time.Second {
				t.Errorf("%s waited until %v", name, s.StartedAt)
			}
		}
		if b := h.called("B"); b.Status != troupe.Completed || b.Error != "" {
			t.Errorf("B is %s: %q", b.Status, b.Error)
		}
	})
}

// TestWritesBelow: an agent below one that is bound does not wait for it; who waits for that one waits for all below it
// too, and one that is stopped waits no longer.
func TestWritesBelow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(plays{
			"main":     {call("&Agent", "Agent:&A@src/**", "Agent:&X@src/a/**", "Agent:&Y@src/**"), say("ok")},
			"main/A":   {call("Agent:&D@src/a/**", "Agent:E@src/a/x"), say("done")},
			"main/A/D": {call("Read:a"), call("Read:b"), call("Read:c"), say("done")},
		}.reply).begin(troupe.Caps{MaxDepth: 2})
		pass(5 * time.Second)
		p.stop(h.called("Y").ID, troupe.Stop{Run: 1, Now: true})
		p.end()
		h.after("E", "D")
		h.after("X", "D")
		h.after("X", "A")
		if d := h.called("D"); len(h.kinds(d.ID, troupe.KindQueued)) > 0 || d.StartedAt.After(h.called("A").EndedAt) {
			t.Errorf("D waited until %v", d.StartedAt)
		}
		if y := h.called("Y"); y.Status != troupe.Cancelled || y.Run != 0 {
			t.Errorf("Y is %s in run %d", y.Status, y.Run)
		}
	})
}

// TestWritesAgain: who waits does so after a restart, and an agent that is set to work again waits for those that have
// begun since.
func TestWritesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		slow := []troupe.Reply{call("Read:a"), call("Read:b"), call("Read:c"), say("done")}
		replies := plays{
			"main": {call("Agent:&A@src/**", "Agent:&B@src/**"), call("TaskOutput:A"), call("SendMessage:A once more"),
				say("ok")},
			"": slow,
		}.reply
		p := h.start(replies).begin(troupe.Caps{MaxDepth: 1})
		pass(3 * time.Second)
		p.pool.Close()
		p = h.adopt(replies, true)
		pass(time.Second)
		if b := h.called("B"); b.Status != troupe.Spawning || !strings.Contains(b.Error, "main/A") {
			t.Errorf("after a restart B is %s: %q", b.Status, b.Error)
		}
		p.end()
		a, b := h.called("A"), h.called("B")
		if a.Run != 2 || a.StartedAt.Before(b.EndedAt) {
			t.Errorf("run %d of A began at %v, and B ended at %v", a.Run, a.StartedAt, b.EndedAt)
		}
		if events := h.kinds(a.ID, troupe.KindQueued); len(events) != 1 {
			t.Errorf("A waited: %v", events)
		}
	})
}

// TestWritesNeverStick plays trees drawn from seeds: agents on three levels, in front and in the background, with and
// without files of their own, few of them at work at once, and the process dies in between. All come to their end, and
// no two at once may change the same file.
func TestWritesNeverStick(t *testing.T) {
	t.Parallel()
	seeds := uint64(300)
	if testing.Short() {
		seeds = 60
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) { playWriters(t, rand.New(rand.NewPCG(seed, 1)), seed) })
		if t.Failed() {
			return
		}
	}
}

func playWriters(t *testing.T, r *rand.Rand, seed uint64) {
	h := newHome(t)
	globs := []string{"src/**", "src/a/**", "src/a/*.go", "docs/**", "*.md", "**", "src/b"}
	plan := plays{}
	var grow func(path string, depth int)
	grow = func(path string, depth int) {
		var replies []troupe.Reply
		for range 1 + r.IntN(2) {
			var calls []string
			for range r.IntN(4) {
				name := fmt.Sprintf("N%d", len(plan)*10+len(calls))
				spec := name
				if r.IntN(3) == 0 {
					spec = "&" + spec
				}
				if r.IntN(3) > 0 {
					spec += "@" + globs[r.IntN(len(globs))]
				}
				calls = append(calls, "Agent:"+spec)
				if plan[path+"/"+name] = []troupe.Reply{call("Read:a"), say("done")}; depth < 3 && r.IntN(2) == 0 {
					grow(path+"/"+name, depth+1)
				}
			}
			if calls != nil {
				replies = append(replies, call(calls...))
			}
		}
		plan[path] = append(replies, say("ok"))
	}
	grow("main", 1)
	p := h.start(plan.reply).begin(troupe.Caps{MaxDepth: 3, MaxActive: r.IntN(4)})
	if r.IntN(3) == 0 {
		pass(time.Duration(r.IntN(20)) * 500 * time.Millisecond)
		p.pool.Close()
		p = h.adopt(plan.reply, true)
	}
	p.end()
	all := h.tree()
	above := func(a, b troupe.Session) bool {
		for id := b.Parent; id != ""; id = h.get(id).Parent {
			if id == a.ID {
				return true
			}
		}
		return false
	}
	tools := gate.NewTools(tools().Facts())
	bound := map[troupe.SessionID][]string{}
	for _, s := range all {
		if b, ok := h.events(s.ID)[0].Body.(troupe.Created); ok && b.Profile.Writes != nil {
			bound[s.ID] = b.Profile.Writes
		}
	}
	line := func(s troupe.Session) (out [][]string) {
		for id := s.ID; id != ""; id = h.get(id).Parent {
			if bound[id] != nil {
				out = append(out, bound[id])
			}
		}
		return out
	}
	// An agent is held to the files of those above it as well.
	meet := func(a, b troupe.Session) bool {
		for _, of := range line(a) {
			for _, other := range line(b) {
				x, _ := tools.Writes(of, "/ws")
				y, _ := tools.Writes(other, "/ws")
				if !gate.MayMeet(x, y) {
					return false
				}
			}
		}
		return true
	}
	for i, a := range all {
		for _, b := range all[i+1:] {
			if bound[a.ID] == nil || bound[b.ID] == nil || above(a, b) || above(b, a) || !meet(a, b) {
				continue
			}
			if a.StartedAt.Before(b.EndedAt) && b.StartedAt.Before(a.EndedAt) {
				t.Errorf("seed %d: %s (%v) and %s (%v) were at work at once", seed, a.Name, bound[a.ID], b.Name,
					bound[b.ID])
			}
		}
	}
	if t.Failed() {
		for _, name := range slices.Sorted(maps.Keys(plan)) {
			t.Logf("%s: %v", name, plan[name])
		}
	}
}
