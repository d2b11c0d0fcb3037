package fleet_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/store/memstore"
)

const root = troupe.SessionID("00000000root")

// spawn carries births out against a tree with these caps; the root is born first.
func spawn(t *testing.T, st store.Store, births ...fleet.Birth) []fleet.Born {
	t.Helper()
	var out []fleet.Born
	err := st.Update(t.Context(), root, func(tx store.Tx) error {
		var err error
		out, err = fleet.Spawn(tx, "owner", time.Unix(1, 0), births)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func newTree(t *testing.T, caps troupe.Caps) store.Store {
	t.Helper()
	st := memstore.New(memstore.Options{}).Open()
	spawn(t, st, fleet.Birth{Root: root, ID: root, Cwd: "/", Title: "job", Caps: &caps})
	return st
}

func child(call int, name, title string) fleet.Birth {
	return fleet.Birth{Root: root, Parent: root, Coord: troupe.Coord{Reply: 1, Call: call}, Name: name, Title: title,
		Depth: 1, Cwd: "/", Prompt: []troupe.Block{troupe.Text("go")}}
}

func TestBirthIsRepeatable(t *testing.T) {
	t.Parallel()
	st := newTree(t, troupe.Caps{MaxDepth: 1, MaxTotal: 1})
	first := spawn(t, st, child(0, "", "look"))[0]
	again := spawn(t, st, child(0, "", "look"))[0]
	if first.Refused != nil || again.Refused != nil || !again.Existed ||
		again.State.Session.ID != first.State.Session.ID {
		t.Errorf("the same call gave birth to %+v and then %+v", first.State.Session, again)
	}
	if tree := read(t, st); tree.Total != 1 || tree.Active != 1 {
		t.Errorf("the tree counts %d births and %d at work", tree.Total, tree.Active)
	}
}

func TestCaps(t *testing.T) {
	t.Parallel()
	deep := child(0, "", "deep")
	deep.Depth = 2
	tests := map[string]struct {
		caps   troupe.Caps
		births []fleet.Birth
		want   []string // status, or "refused"
	}{
		"over the active cap they queue": {troupe.Caps{MaxDepth: 1, MaxActive: 1},
			[]fleet.Birth{child(0, "", "a"), child(1, "", "b")}, []string{"running", "spawning"}},
		"over the total cap refused": {troupe.Caps{MaxDepth: 1, MaxTotal: 1},
			[]fleet.Birth{child(0, "", "a"), child(1, "", "b")}, []string{"running", "refused"}},
		"too deep":     {troupe.Caps{MaxDepth: 1}, []fleet.Birth{deep}, []string{"refused"}},
		"switched off": {troupe.Caps{}, []fleet.Birth{child(0, "", "a")}, []string{"refused"}},
		"a taken name": {troupe.Caps{MaxDepth: 1},
			[]fleet.Birth{child(0, "Twin", ""), child(1, "twin", ""), child(2, "Other", "")},
			[]string{"running", "refused", "running"}},
	}
	for name, tt := range tests {
		for i, b := range spawn(t, newTree(t, tt.caps), tt.births...) {
			got := string(b.State.Session.Status)
			if b.Refused != nil {
				got = "refused"
				if !errors.Is(b.Refused, troupe.ErrCap) && !errors.Is(b.Refused, troupe.ErrExists) {
					t.Errorf("%s: refused with %v", name, b.Refused)
				}
			}
			if got != tt.want[i] {
				t.Errorf("%s: birth %d is %s, want %s (%v)", name, i, got, tt.want[i], b.Refused)
			}
		}
	}
}

// TestRoom: a call fits if it, what was used and what others have reserved reach a limit and do not pass it.
func TestRoom(t *testing.T) {
	t.Parallel()
	used := troupe.Tally{Usage: troupe.Usage{Input: 1, Output: 1, CacheRead: 1, CacheWrite: 1}, Cost: 4, Turns: 4}
	for name, caps := range map[string]troupe.Caps{
		"tokens": {MaxTokens: 10}, "cost": {MaxCost: 10}, "turns": {MaxTurns: 10},
	} {
		for wants, fits := range map[int]bool{3: true, 4: false} {
			tree := troupe.Tree{Caps: caps, Tally: used, Reserved: troupe.Reservation{Tokens: 3, Cost: 3, Turns: 3}}
			r := troupe.Reservation{Tokens: int64(wants), Cost: troupe.Money(wants), Turns: wants}
			if over, wait := fleet.Room(tree, r); over.Limit != "" || wait == fits {
				t.Errorf("%s: 4 used, 3 reserved and %d wanted of 10: %q, it waits: %v", name, wants, over.Words, wait)
			}
			// Alone it may try whatever is left.
			tree.Reserved = troupe.Reservation{}
			if over, wait := fleet.Room(tree, r); over.Limit != "" || wait {
				t.Errorf("%s: 4 used and %d wanted of 10: %q, it waits: %v", name, wants, over.Words, wait)
			}
		}
	}
}

// TestAgain: a call that failed at a price is not made again if the same price passes a limit.
func TestAgain(t *testing.T) {
	t.Parallel()
	used := troupe.Tally{Usage: troupe.Usage{Input: 3, Output: 3}, Cost: 6}
	for name, caps := range map[string]troupe.Caps{"tokens": {MaxTokens: 10}, "cost": {MaxCost: 10}} {
		for before, again := range map[int]bool{4: true, 5: false} {
			why := fleet.Again(troupe.Tree{Caps: caps, Tally: used},
				troupe.Reservation{Tokens: int64(before), Cost: troupe.Money(before)})
			if (why.Limit == "") != again {
				t.Errorf("%s: 6 used and %d before of 10: %q", name, before, why.Words)
			}
		}
	}
}

func TestSpentTree(t *testing.T) {
	t.Parallel()
	for _, caps := range []troupe.Caps{{MaxDepth: 1, MaxTokens: 10}, {MaxDepth: 1, MaxCost: 5}} {
		st := newTree(t, caps)
		err := st.Update(t.Context(), root, func(tx store.Tx) error {
			return tx.AddTree(root, troupe.TreeDelta{Tally: troupe.Tally{Usage: troupe.Usage{Output: 10}, Cost: 5}})
		})
		if err != nil {
			t.Fatal(err)
		}
		if b := spawn(t, st, child(0, "", "a"))[0]; !errors.Is(b.Refused, troupe.ErrCap) {
			t.Errorf("%+v: another agent was born: %v", caps, b.Refused)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	st := newTree(t, troupe.Caps{MaxDepth: 1})
	births := make([]fleet.Birth, 40)
	for i := range births {
		births[i] = child(i, "", "look/around\x1b")
	}
	seen := make(map[string]bool)
	for i, b := range append(spawn(t, st, births[:20]...), spawn(t, st, births[20:]...)...) {
		name := b.State.Session.Name
		if b.Refused != nil || seen[name] || fleet.CheckName(name) != nil {
			t.Errorf("birth %d: name %q, %v", i, name, b.Refused)
		}
		seen[name] = true
	}
	if !seen["Look around"] || !seen["Look around 2"] {
		t.Errorf("names are %v", seen)
	}
	for _, bad := range []string{"a/b", " a", "a\n", fmt.Sprintf("%060d", 1)} {
		if fleet.CheckName(bad) == nil {
			t.Errorf("the name %q passes", bad)
		}
	}
}

func read(t *testing.T, st store.Store) (tree troupe.Tree) {
	t.Helper()
	err := st.View(t.Context(), func(r store.Reader) (err error) {
		tree, err = r.Tree(root)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// clashes counts the births that met a taken name.
type clashes struct {
	store.Tx
	n *int
}

func (c clashes) Insert(s troupe.Session, l troupe.Lease, caps *troupe.Caps) error {
	err := c.Tx.Insert(s, l, caps)
	if errors.Is(err, troupe.ErrExists) {
		*c.n++
	}
	return err
}

// TestNamesOfMany: the agents of one reply that have one description are numbered one after the other, though they
// are born in several transactions, and each of these meets one taken name and not one for each of its births.
func TestNamesOfMany(t *testing.T) {
	t.Parallel()
	st := newTree(t, troupe.Caps{MaxDepth: 1})
	const size, batches = 20, 5
	met := 0
	for from := 0; from < size*batches; from += size {
		var births []fleet.Birth
		for i := range size {
			births = append(births, child(from+i, "", "look"))
		}
		var out []fleet.Born
		err := st.Update(t.Context(), root, func(tx store.Tx) (err error) {
			out, err = fleet.Spawn(clashes{tx, &met}, "owner", time.Unix(1, 0), births)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range out {
			want := fmt.Sprintf("Look %d", from+i+1)
			if from+i == 0 {
				want = "Look"
			}
			if b.State.Session.Name != want {
				t.Errorf("the %dth is named %q, want %q", from+i+1, b.State.Session.Name, want)
			}
		}
	}
	if met != batches-1 {
		t.Errorf("%d taken names were met in %d transactions", met, batches)
	}
}
