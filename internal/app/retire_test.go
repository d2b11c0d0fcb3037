package app

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestKeepDays: what the settings do not keep goes when a run has ended, and nothing else does.
func TestKeepDays(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(dir, "s.yaml"):         "replies: [{text: done}]",
		filepath.Join(home, "settings.json"): `{"sessions": {"keep_days": 30}}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	days := func(n int) time.Time { return time.Now().Add(time.Duration(n) * 24 * time.Hour) }
	open := func(day int) *App {
		a, err := Open(t.Context(), Env{
			Lookup: func(name string) (string, bool) { return home, name == "TROUPE_HOME" },
			Now:    func() time.Time { return days(day) }, Log: slog.New(slog.DiscardHandler), Version: "test",
		})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	run := func(day int, resume troupe.SessionID) troupe.SessionID {
		a := open(day)
		r, err := you(a).Begin(t.Context(), wire.Begin{Prompt: "go", Cwd: dir, Model: "script:s.yaml",
			Resume: string(resume)})
		if err == nil {
			err = you(a).Wait(t.Context(), r.Root)
		}
		if err = errors.Join(err, a.Close()); err != nil {
			t.Fatal(err)
		}
		return r.Root
	}
	old, gone, archived := run(-70, ""), run(-60, ""), run(-60, "")
	then := open(-59)
	if _, err := you(then).Change(t.Context(), archived, wire.SessionChange{Archive: true}); err != nil {
		t.Fatal(err)
	}
	if err := then.Close(); err != nil {
		t.Fatal(err)
	}
	run(-45, old) // one that was gone on with is young again
	young := run(-20, "")
	last := run(-16, "")

	a := openHome(t, home)
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	for id, want := range map[troupe.SessionID]bool{old: true, gone: false, archived: true, young: true, last: true} {
		if _, err := you(a).Tree(t.Context(), id); (err == nil) != want {
			t.Errorf("session %s, kept %v: %v", id, want, err)
		}
	}
}
