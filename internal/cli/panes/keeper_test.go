package panes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/troupe-dev/troupe"
)

// shelf is a backend in memory, with room for some panes.
type shelf struct {
	room   int
	next   int
	panes  []Pane
	labels map[ID]Label
	keeps  ID // a pane with words on its line, which does not end when it is asked to
	broken error
}

func (s *shelf) Spawn(_ context.Context, agent troupe.SessionID) (ID, error) {
	if s.broken != nil {
		return "", s.broken
	}
	if len(s.panes) == s.room {
		return "", ErrFull
	}
	s.next++
	id := ID(fmt.Sprint("%", s.next))
	s.panes = append(s.panes, Pane{id, agent})
	return id, nil
}

func (s *shelf) Send(_ context.Context, id ID, l Label) error {
	if s.labels == nil {
		s.labels = make(map[ID]Label)
	}
	s.labels[id] = l
	return nil
}

func (s *shelf) Terminate(ctx context.Context, id ID) error {
	if id == s.keeps {
		return nil
	}
	return s.Kill(ctx, id)
}

func (s *shelf) Kill(_ context.Context, id ID) error {
	s.panes = slices.DeleteFunc(s.panes, func(p Pane) bool { return p.ID == id })
	return nil
}

func (s *shelf) Active(context.Context) ([]Pane, error) { return slices.Clone(s.panes), nil }

// kept is a keeper in a bubble, and what it is told.
type kept struct {
	*Keeper
	t       *testing.T
	s       *shelf
	members []Member
	found   Found
}

func keep(t *testing.T, s *shelf, names ...string) *kept {
	t.Helper()
	k := &kept{t: t, s: s, found: Found{Backend: s}}
	for i, n := range names {
		k.members = append(k.members, Member{ID: troupe.SessionID(strings.ToLower(n)),
			Label: Label{Name: n, Color: 30 + i}})
	}
	k.begin()
	return k
}

func (k *kept) begin() {
	k.Keeper = Keep(context.WithoutCancel(k.t.Context()), func(context.Context) Found { return k.found },
		func(context.Context) ([]Member, error) { return slices.Clone(k.members), nil })
	k.look()
}

func (k *kept) look() { k.Look(); synctest.Wait() }

func (k *kept) order(words string) string {
	k.t.Helper()
	if err := k.Order(words); err != nil {
		k.t.Error(err)
	}
	synctest.Wait()
	return k.hears()
}

// hears is what was said since.
func (k *kept) hears() string {
	var all []string
	for {
		select {
		case text := <-k.Said:
			all = append(all, text)
		default:
			return strings.Join(all, "\n")
		}
	}
}

func (k *kept) shown(want string) {
	k.t.Helper()
	var got []string
	for _, p := range k.s.panes {
		got = append(got, string(p.Agent))
	}
	if g := strings.Join(got, " "); g != want {
		k.t.Errorf("in panes are %q, not %q", g, want)
	}
}

// TestKeeper: each member has one pane with its label; who comes later has one too; one that a person closed stays
// closed until it is shown again; what is hidden is closed; where there is no room it is said.
func TestKeeper(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := keep(t, &shelf{room: 3}, "Ann", "Ben")
		k.shown("ann ben")
		if l := k.s.labels["%2"]; l != (Label{"Ben", 31}) {
			t.Error(l)
		}
		k.members = append(k.members, Member{ID: "carl", Label: Label{Name: "Carl"}},
			Member{ID: "dora", Label: Label{Name: "Dora"}}, Member{ID: "eve", Stopped: true, Label: Label{Name: "Eve"}})
		k.look()
		k.shown("ann ben carl")
		if said := k.hears(); !strings.HasPrefix(said, "No room for a pane: Dora.") {
			t.Error(said)
		}
		k.look()
		if said := k.hears(); said != "" {
			t.Errorf("said again: %s", said)
		}
		_ = k.s.Kill(t.Context(), "%1")
		k.look()
		k.look()
		k.shown("ben carl")
		if said := k.order(""); said != "In panes: Ben, Carl\nWithout: Ann (closed), Dora (no room), Eve (stopped)" {
			t.Error(said)
		}
		if said := k.order("show ann"); !strings.HasPrefix(said, "In panes: Ann, Ben, Carl\n") {
			t.Error(said)
		}
		if said := k.order("show Dora"); !strings.Contains(said, "Dora (no room)") {
			t.Error(said)
		}
		if said := k.order("hide"); !strings.HasPrefix(said, "Without: Ann (hidden), Ben (hidden)") {
			t.Error(said)
		}
		k.look()
		k.shown("")
		k.order("show")
		k.shown("ann ben carl")
		if said := k.order("hide Nobody"); !strings.Contains(said, `there is no member "Nobody"`) {
			t.Error(said)
		}
		if err := k.Order("close all"); err == nil {
			t.Error("any words are an order")
		}
		k.s.keeps = k.s.panes[1].ID
		k.Close(true)
		k.shown("ben")
	})
}

// TestPain40FoundAgain: the panes of a tree whose process is gone stay, and the next one finds them: none is opened
// twice, what there is twice is closed once, and an end that is no leave closes none.
func TestPain40FoundAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := keep(t, &shelf{room: 9}, "Ann", "Ben")
		k.Close(false)
		k.shown("ann ben")
		k.s.panes = append(k.s.panes, Pane{"%8", "ann"})
		k.members = append(k.members, Member{ID: "carl", Label: Label{Name: "Carl"}})
		k.s.labels = nil
		k.begin()
		k.shown("ann ben carl")
		if len(k.s.labels) != 3 {
			t.Errorf("labels %v", k.s.labels)
		}
		k.Close(true)
		k.shown("")
	})
}

// TestPain40FailuresAreTold: that there are no panes, or that one cannot be opened, is said with the reason, once as
// long as it is the same; without a team nothing is looked for.
func TestPain40FailuresAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := keep(t, &shelf{room: 9})
		k.found = Found{Missing: "tmux is not installed"}
		k.look()
		if said := k.order(""); said != "There is no team, whose members would have panes." {
			t.Error(said)
		}
		k.members = []Member{{ID: "ann", Label: Label{Name: "Ann"}}}
		k.look()
		if said := k.hears(); !strings.HasPrefix(said, "The members of the team have no panes: tmux is not "+
			"installed.") {
			t.Error(said)
		}
		k.look()
		if said := k.hears() + k.order("show"); said != "Members have no panes: tmux is not installed." {
			t.Error(said)
		}
		k.Close(true)

		k = keep(t, &shelf{room: 9, broken: errors.New("tmux: no space for new pane")}, "Ann")
		k.look()
		if said := k.hears(); !strings.HasPrefix(said, "Panes: tmux: no space for new pane. The agents go on;") ||
			strings.Count(said, "Panes:") != 1 {
			t.Error(said)
		}
		k.s.broken = nil
		k.look()
		k.shown("ann")
		k.Close(true)

		k = keep(t, &shelf{}, "Ann")
		k.Close(true)
		k.found = Found{}
		k.begin()
		if said := k.hears() + k.order(""); !strings.HasPrefix(said,
			"Members have no panes (teammate_mode in-process)") {
			t.Error(said)
		}
		k.Close(false)
	})
}
