package follow

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// commits appends events to a session's log in one commit, and returns them as the process has them: by its own
// clock, in its own zone.
func (h *home) commits(root, id troupe.SessionID, bodies ...troupe.Body) (out []troupe.Event) {
	h.Helper()
	zone := time.FixedZone("here", 3600)
	err := h.Update(h.Context(), root, func(tx store.Tx) error {
		s, err := tx.Session(id)
		if err != nil {
			return err
		}
		for _, b := range bodies {
			s.Seq++
			out = append(out, troupe.Event{Root: root, Session: id, Seq: s.Seq, At: time.Now().In(zone), Body: b})
		}
		return tx.Append(troupe.Lease{}, s, out)
	})
	if err != nil {
		h.Fatal(err)
	}
	return out
}

func said(text string) troupe.Body {
	return troupe.Replied{Reply: 1, Blocks: []troupe.Block{troupe.Text(text)}}
}

// TestAnnouncedIsNotReadAgain: what this process has written, a follower gets without a look at the store.
func TestAnnouncedIsNotReadAgain(t *testing.T) {
	t.Parallel()
	h := newHome(t, mem())
	ids := h.plant(1, 1)
	f := h.follow(wire.Follow{Root: ids[0]})
	now(t, f)
	before := h.reads.Load()
	for range 10 {
		for _, id := range ids {
			events := h.commits(ids[0], id, said("yes"), troupe.ModelChanged{Model: "m"})
			h.Commit(ids[0], id, events[1].Seq, events)
		}
		if b := now(t, f); len(b.Events) != 4 {
			t.Fatalf("two commits of two events came as %v", b)
		}
	}
	if n := h.reads.Load() - before; n != 0 {
		t.Errorf("twenty commits were read in %d Views", n)
	}
}

// TestKeptIsBounded: of a reader that is far behind some megabytes are kept, and it still gets all.
func TestKeptIsBounded(t *testing.T) {
	t.Parallel()
	h := newHome(t, mem())
	ids := h.plant(1, 2)
	f := h.follow(wire.Follow{Root: ids[0]})
	now(t, f)
	const rounds = 30
	for range rounds {
		for _, id := range ids {
			events := h.commits(ids[0], id, said(strings.Repeat("x", maxKept/20)))
			h.Commit(ids[0], id, events[0].Seq, events)
		}
	}
	total := 0
	for _, n := range f.kept.news {
		for _, e := range n.events {
			total += bytesOf(e.Body)
		}
	}
	if total > maxKept || f.kept.bytes != total {
		t.Errorf("%d bytes are kept, and %d counted; at most %d may be", total, f.kept.bytes, maxKept)
	}
	if got := now(t, f).Events; len(got) != rounds*len(ids) {
		t.Errorf("%d events came", len(got))
	}
}

// TestEveryKindIsCounted: what an event keeps in memory is counted wherever it lies in it.
func TestEveryKindIsCounted(t *testing.T) {
	t.Parallel()
	const much = 1 << 20
	big := strings.Repeat("x", much)
	outcome := troupe.Outcome{Result: big}
	for name, b := range map[string]troupe.Body{
		"mail":          troupe.MailDelivered{Mail: []troupe.Mail{{Kind: troupe.MailTaskEnded, Ended: &outcome}}},
		"a child's end": troupe.ToolFinished{Outcome: &outcome},
		"a request":     troupe.RequestOpened{RequestBody: troupe.RequestBody{Action: big}},
		"evidence":      troupe.ToolFinished{Evidence: troupe.Evidence{Commands: []troupe.CommandRun{{Command: big}}}},
		"rules":         troupe.RequestOpened{RequestBody: troupe.RequestBody{Needs: map[int][]string{1: {big}}}},
		"bytes":         troupe.Replied{Blocks: []troupe.Block{{Image: &troupe.Image{Data: []byte(big)}}}},
	} {
		if n := bytesOf(b); n < much || n > much+much/100 {
			t.Errorf("%s of %d bytes counts as %d", name, much, n)
		}
	}
}

// TestAsTheLogHasIt: however commits are announced, with their events or without, a follower returns what stands in
// the log, each event once and in order.
func TestAsTheLogHasIt(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		h := newHome(t, mem())
		ids := h.plant(1, 2)
		root := ids[0]
		f := h.follow(wire.Follow{Root: root})
		got := make(map[troupe.SessionID][]troupe.Event)
		read := func() {
			for _, e := range now(t, f).Events {
				got[e.Session] = append(got[e.Session], e)
			}
		}
		for range 40 {
			id := ids[rng.IntN(len(ids))]
			bodies := []troupe.Body{said("a"), troupe.ModelChanged{Model: "m"}}[:1+rng.IntN(2)]
			events := h.commits(root, id, bodies...)
			last := events[len(events)-1].Seq
			switch rng.IntN(6) {
			case 0:
				h.Commit(root, id, last, nil)
			case 1: // unannounced: the next commit is announced with a gap before it, or the tree has moved
				h.Moved(root)
			case 2:
			default:
				h.Commit(root, id, last, events)
			}
			if rng.IntN(3) == 0 {
				h.fails.Store(rng.IntN(4) == 0)
				ctx := t.Context()
				if h.fails.Load() {
					_, _ = f.Rest(ctx)
					h.fails.Store(false)
				}
				read()
			}
		}
		events, err := f.Rest(t.Context())
		for _, e := range events {
			got[e.Session] = append(got[e.Session], e)
		}
		for _, id := range ids {
			err = errors.Join(err, h.sameAsLog(id, got[id]))
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func (h *home) sameAsLog(id troupe.SessionID, got []troupe.Event) error {
	return h.View(h.Context(), func(r store.Reader) error {
		want, err := r.Events(id, 0, 0)
		if err == nil && len(want) != len(got) {
			err = fmt.Errorf("%d events came of session %s, which has %d", len(got), id, len(want))
		}
		for i := 0; err == nil && i < len(want); i++ {
			a, b := fmt.Sprintf("%+v", want[i]), fmt.Sprintf("%+v", got[i])
			if a != b {
				err = fmt.Errorf("event %d came as %s; the log has %s", i+1, b, a)
			}
		}
		return err
	})
}
