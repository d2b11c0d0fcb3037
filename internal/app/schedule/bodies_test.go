package schedule

import (
	"fmt"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestBodiesAreSwept: of bodies no more is kept for good than of deliveries.
func TestBodiesAreSwept(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		secret := w.hook(wire.WebhookTerms{Signed: wire.SignedGitHub})
		has := func(kind string) int {
			t.Helper()
			all, err := w.s.Records(t.Context(), kind, "", 0)
			if err != nil {
				t.Fatal(err)
			}
			return len(all)
		}
		h := w.hooks()
		for i := range sweepEvery + 1 {
			if i == sweepEvery { // the next one sweeps
				pass(keptFor + time.Hour)
			}
			if _, err := h.Deliver(t.Context(), w.signed(wire.SignedGitHub, secret, fmt.Sprint("d", i),
				fmt.Sprintf(`{"a":%d}`, i))); err != nil {
				t.Fatal(err)
			}
			if i%50 == 49 { // what waits to begin is begun
				k := w.keep(true)
				pass(5 * time.Second)
				k.Close()
			}
		}
		if has(kindDelivery) != 1 || has(kindBody) != 1 {
			t.Errorf("there are %d deliveries and %d bodies", has(kindDelivery), has(kindBody))
		}
	})
}

// TestTwoTakeABody: of two processes that take the same body in at once under two ids, both know it by the first one.
func TestTwoTakeABody(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		secret := w.hook(wire.WebhookTerms{Signed: wire.SignedGitHub})
		var first wire.Delivered
		other := false
		second, err := w.hooksOn(breaking{w.s, func(r store.Record) error {
			if r.Kind == kindBody && !other {
				other = true
				first = w.delivers(w.signed(wire.SignedGitHub, secret, "d1", `{"a":1}`))
			}
			return nil
		}}).Deliver(t.Context(), w.signed(wire.SignedGitHub, secret, "d2", `{"a":1}`))
		if err != nil || second.Session != first.Session || !second.Again {
			t.Errorf("%+v, then %+v, %v", first, second, err)
		}
		if all, err := w.s.Records(t.Context(), kindDelivery, "", 0); err != nil || len(all) != 1 {
			t.Errorf("there are %d deliveries, %v", len(all), err)
		}
		k := w.keep(true)
		pass(5 * time.Second)
		k.Close()
		w.wantHooked(1)
	})
}
