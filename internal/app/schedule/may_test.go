package schedule

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestStopsAsWhoMay: the last run goes on where its user may not begin the one for which it would be stopped.
func TestStopsAsWhoMay(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"a viewer": func(w *world) { w.users["ann"] = troupe.RightViewer },
		"removed":  func(w *world) { delete(w.users, "ann") },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				w.set(wire.ScheduleTerms{When: minutes(10), Overlap: wire.OverlapCancel})
				defer w.keep(true).Close()
				pass(10*time.Minute + 2*time.Second)
				w.want(1)
				w.with(func() { change(w) })
				pass(10 * time.Minute)
				if got := w.stopped(); len(got) != 0 {
					t.Errorf("stopped are %v", got)
				}
				if s := w.one(); !strings.Contains(s.Last.Why, "could not be stopped: ") || s.Queued != 0 {
					t.Errorf("it is %+v", s)
				}
				w.with(func() { w.users["ann"] = troupe.RightOperator })
				pass(10 * time.Minute)
				if got := w.stopped(); len(got) != 1 {
					t.Errorf("with the right again stopped are %v", got)
				}
			})
		})
	}
}

// TestNothingOwedToStopFor: a delivery waits, and no run is stopped for it, also by terms that none can be given.
func TestNothingOwedToStopFor(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		secret := w.hook(wire.WebhookTerms{Overlap: wire.OverlapQueue})
		k := w.keep(true)
		w.delivers(w.signed(wire.SignedStandard, secret, "d1", `{"a":1}`))
		pass(2 * time.Second)
		w.delivers(w.signed(wire.SignedStandard, secret, "d2", `{"a":2}`))
		k.Close()
		r, p, err := w.hooks().read(t.Context(), "h")
		if err != nil {
			t.Fatal(err)
		}
		p.Overlap = wire.OverlapCancel
		if err := w.hooks().write(t.Context(), &r, p); err != nil {
			t.Fatal(err)
		}
		w.stop = refusal("it stops for no one")
		defer w.keep(true).Close()
		pass(5 * time.Second)
		w.over()
		pass(2 * time.Second)
		w.wantHooked(2)
	})
}

// TestRefusedAtTheDoor: what its webhook's user may not begin is not taken, and the webhook says so; with the right
// again the same delivery is.
func TestRefusedAtTheDoor(t *testing.T) {
	for name, change := range map[string]func(w *world){
		`it takes the right "operator", and ann has "viewer"`: func(w *world) { w.users["ann"] = troupe.RightViewer },
		"ann is no user of this server any more":              func(w *world) { delete(w.users, "ann") },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				secret := w.hook(wire.WebhookTerms{})
				d := func() wire.Delivery { return w.signed(wire.SignedStandard, secret, "d1", `{"a":1}`) }
				defer w.keep(true).Close()
				w.with(func() { change(w) })
				for range mostFailed + 1 {
					out, err := w.hooks().Deliver(t.Context(), d())
					if !errors.Is(err, troupe.ErrBlocked) || out != (wire.Delivered{}) ||
						strings.Contains(err.Error(), "ann") {
						t.Errorf("told is %+v, %v", out, err)
					}
					pass(2 * time.Second)
				}
				if got := w.hookNow(); got.Paused != "" || got.Unserved != name || len(got.Deliveries) != 0 {
					t.Errorf("it is %+v", got)
				}
				w.with(func() { w.users["ann"] = troupe.RightOperator })
				w.delivers(d())
				pass(2 * time.Second)
				w.wantHooked(1)
			})
		})
	}
}

// TestBrokenHasNoSenders: who delivers to a webhook whose record cannot be read is told what any stranger is.
func TestBrokenHasNoSenders(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		secret := w.hook(wire.WebhookTerms{})
		r, err := w.s.Record(t.Context(), kindHook, "h")
		if err != nil {
			t.Fatal(err)
		}
		r.Value = append([]byte(`{"zone":7,`), r.Value[1:]...) // all else can be read
		if _, err := w.s.PutRecord(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		for name, d := range map[string]wire.Delivery{
			"a stranger": {Hook: "h", Body: []byte("{}")},
			"its sender": w.signed(wire.SignedStandard, secret, "d1", `{"a":1}`),
		} {
			if out, err := w.hooks().Deliver(t.Context(), d); err == nil || err.Error() != stranger().Error() ||
				out != (wire.Delivered{}) {
				t.Errorf("%s is told %+v, %v", name, out, err)
			}
		}
	})
}
