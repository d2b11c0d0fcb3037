package schedule

import (
	"errors"
	"os"
	"path/filepath"
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

// TestBeginsByProject: a run begins with the right that its user has by then in its folder, and where a link leads that
// stands there, with the one that they have there.
func TestBeginsByProject(t *testing.T) {
	const viewer, operator, none = troupe.RightViewer, troupe.RightOperator, troupe.RightNone
	for name, x := range map[string]struct {
		at   troupe.Right
		sub  map[string]troupe.Right // of projects, by their folders
		link string                  // where one stands in the place of the folder
		why  string                  // "": a run begins
		by   troupe.Right
	}{
		"of the project":      {none, map[string]troupe.Right{"app": operator}, "", "", operator},
		"of one around it":    {none, map[string]troupe.Right{"": operator}, "", "", operator},
		"of an admin there":   {none, map[string]troupe.Right{"app": troupe.RightAdmin}, "", "", operator},
		"the greater one":     {viewer, map[string]troupe.Right{"app": operator}, "", "", operator},
		"at the server":       {operator, map[string]troupe.Right{"app": viewer}, "", "", operator},
		"a viewer there":      {none, map[string]troupe.Right{"app": viewer}, "", `"operator", and ann has "viewer"`, ""},
		"a viewer below":      {none, map[string]troupe.Right{"": operator, "app": viewer}, "", `ann has "viewer"`, ""},
		"of another project":  {none, map[string]troupe.Right{"web": operator}, "", `ann has "none"`, ""},
		"a link to another":   {none, map[string]troupe.Right{"app": operator}, "web", `ann has "none"`, ""},
		"a link to one's own": {none, map[string]troupe.Right{"app": operator, "web": operator}, "web", "", operator},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, w *world) {
				app, web := filepath.Join(w.folder, "app"), filepath.Join(w.folder, "web")
				if err := errors.Join(os.Mkdir(app, 0o700), os.Mkdir(web, 0o700)); err != nil {
					t.Fatal(err)
				}
				w.set(wire.ScheduleTerms{When: minutes(10)})
				defer w.keep(true).Close()
				if _, err := w.all().change(t.Context(), ann(), "n",
					func(p *plan) error { p.Begin.Cwd = app; return nil }); err != nil {
					t.Fatal(err)
				}
				w.with(func() {
					w.users["ann"], w.projects = x.at, map[string]troupe.Projects{}
					for sub, right := range x.sub {
						w.projects["ann"] = append(w.projects["ann"],
							troupe.Project{Folder: filepath.Join(w.folder, sub), Right: right})
					}
				})
				if x.link != "" {
					if err := errors.Join(os.Remove(app), os.Symlink(web, app)); err != nil {
						t.Fatal(err)
					}
				}
				pass(10*time.Minute + 2*time.Second)
				if x.why != "" {
					w.want(0)
					if why := w.why(); !strings.Contains(why, x.why) {
						t.Errorf("nothing began: %q", why)
					}
					return
				}
				w.want(1)
				if by := w.runs()[0].by; by.Right != x.by || by.Projects != nil {
					t.Errorf("it began as %+v", by)
				}
			})
		})
	}
}
