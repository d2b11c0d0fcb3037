package schedule

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

// interposed calls a test before and behind what is written, and behind what is deleted.
type interposed struct {
	rows

	before, behind, deleted func(r store.Record)
}

func (i interposed) PutRecord(ctx context.Context, r store.Record) (int64, error) {
	if i.before != nil {
		i.before(r)
	}
	v, err := i.rows.PutRecord(ctx, r)
	if i.behind != nil && err == nil {
		i.behind(r)
	}
	return v, err
}

func (i interposed) DeleteRecord(ctx context.Context, kind, key string, version int64) error {
	err := i.rows.DeleteRecord(ctx, kind, key, version)
	if i.deleted != nil && err == nil {
		i.deleted(store.Record{Kind: kind, Key: key})
	}
	return err
}

// TestDeliveredAsItFails: a delivery that comes again at the moment at which it is noted that nothing could begin for
// it begins, if its sender is told so: whether the webhook's record has been read by then, or not, and where it was
// refused before it was claimed.
func TestDeliveredAsItFails(t *testing.T) {
	overOf := func(r store.Record) bool { // what came of the delivery is written
		var v delivery
		return r.Kind == kindDelivery && json.Unmarshal(r.Value, &v) == nil && v.Over && v.Why != ""
	}
	planOfIt := func(r store.Record) bool { // the plan is about to be written
		var v plan
		return r.Kind == kindHook && json.Unmarshal(r.Value, &v) == nil && v.Claim == nil && v.Last != nil
	}
	for name, x := range map[string]struct {
		before, behind func(r store.Record) bool
		has            bool
	}{
		"before its webhook is read":    {behind: overOf, has: true},
		"before its webhook is written": {before: planOfIt, has: true},
		"of which none has the folder":  {before: planOfIt},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				secret := w.hook(wire.WebhookTerms{})
				d := func() wire.Delivery { return w.signed(wire.SignedStandard, secret, "d1", `{"a":1}`) }
				w.begin = func(context.Context, wire.Begin) error { return refusal("there is no such model") }
				var told wire.Delivered
				var err error
				n := 0
				come := func(is func(store.Record) bool) func(store.Record) {
					return func(r store.Record) {
						if is == nil || !is(r) {
							return
						}
						if n++; n == 1 {
							w.with(func() { w.begin = nil }) // it is mended meanwhile
							told, err = w.hooks().Deliver(t.Context(), d())
						}
					}
				}
				w.delivers(d())
				if !x.has {
					w.unserve()
				}
				k := w.keepOn(interposed{rows: w.s, before: func(r store.Record) {
					if x.before != nil && x.before(r) {
						w.serves()
					}
					come(x.before)(r)
				}, behind: come(x.behind)}, x.has)
				defer k.Close()
				pass(deliveredWithin + time.Minute)
				if n == 0 || err != nil || told.Session == "" {
					t.Fatalf("told is %+v, %v", told, err)
				}
				if !x.has {
					defer w.keep(true).Close()
				}
				pass(5 * time.Second)
				w.wantHooked(1)
				if got := w.hookNow(); got.Deliveries[0].State != "began" || w.runs()[0].Root != told.Session ||
					got.Queued != 0 {
					t.Errorf("told is %+v, and it is %+v", told, got)
				}
			})
		})
	}
}

// unserve says that no process has the folder any more.
func (w *world) unserve() {
	w.t.Helper()
	r, err := w.s.Record(w.t.Context(), "worker", "w")
	if err != nil || w.s.DeleteRecord(w.t.Context(), "worker", "w", r.Version) != nil {
		w.t.Fatal(err)
	}
}

// TestRemadeAsItIsRemoved: what is delivered to a webhook that is made while one of its name is being removed begins;
// of the one that was removed nothing is left.
func TestRemadeAsItIsRemoved(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		old := w.hook(wire.WebhookTerms{Signed: wire.SignedGitHub})
		w.delivers(w.signed(wire.SignedGitHub, old, "d0", `{"a":0}`))
		var told wire.Delivered
		h := w.hooksOn(interposed{rows: w.s, deleted: func(r store.Record) {
			if r.Kind == kindHook {
				secret := w.hook(wire.WebhookTerms{Signed: wire.SignedGitHub})
				told = w.delivers(w.signed(wire.SignedGitHub, secret, "d1", `{"a":1}`))
			}
		}})
		if err := h.Remove(t.Context(), ann(), "h"); err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{kindDelivery, kindBody} {
			if all, err := w.s.Records(t.Context(), kind, "", 0); err != nil || len(all) != 1 {
				t.Errorf("of the kind %s there are %d, %v", kind, len(all), err)
			}
		}
		defer w.keep(true).Close()
		pass(5 * time.Second)
		w.wantHooked(1)
		if got := w.runs()[0].Root; got != told.Session {
			t.Errorf("begun is %s, and told %+v", got, told)
		}
	})
}
