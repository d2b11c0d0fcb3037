package app

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

const (
	leftAlone = `
replies:
  - {agent: main, turn: 1, attempt: 1, delay: 1h, text: late}
  - {agent: main, error: no_model}
`
	goesOn = `
replies:
  - agent: main
    turn: 1
    calls: [{tool: Agent, input: {description: look, prompt: look, subagent_type: scout}}]
  - agent: scout
    turn: 1
    calls: [{tool: Write, input: {file_path: b.txt, content: x}}]
  - {text: done}
`
	scout = `{"scout": {"description": "looks", "prompt": "You are a scout.", "tools": ["Write"]}}`
)

// TestSettingsAreInTheLog: a process that knows nothing of a run but what the database has goes on
// with it as the one before: with the same types of agents, patience and fallback.
func TestSettingsAreInTheLog(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"left.yaml": leftAlone, "on.yaml": goesOn} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := openHome(t, home)
	r, err := you(a).Begin(t.Context(), wire.Begin{
		Prompt: "go", Cwd: dir, Model: "script:left.yaml", Fallback: "script:on.yaml", Role: wire.Role{Agents: scout},
		AskMS: (24 * time.Hour).Milliseconds(),
	})
	if err != nil {
		t.Fatal(err)
	}
	f := a.followers.Follow(wire.Follow{Root: r.Root})
	for sealed := false; !sealed; {
		b, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range b.Events {
			sealed = sealed || e.Body.Kind() == troupe.KindCallSealed
		}
	}
	f.Close()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}

	b := openHome(t, home)
	e, err := b.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ad := session.Adoption{Root: r.Root}
	err = b.trees.store.View(t.Context(), func(rd store.Reader) error {
		ad.Expect, err = rd.Lease(r.Root)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.hub.Adopt(t.Context(), ad); err != nil {
		t.Fatal(err)
	}
	q := asked(t, b, r.Root)
	if wait := q.Until.Sub(q.Since); wait < 23*time.Hour {
		t.Errorf("the request waits for %s", wait)
	}
	if err := you(b).Stop(t.Context(), r.Root, wire.Stop{Now: true, Tree: true}); err != nil {
		t.Fatal(err)
	}
	if err := e.hub.Leave(t.Context(), r.Root); err != nil {
		t.Fatal(err)
	}
	if e.hub.Knows(r.Root) {
		t.Error("the tree was left, and is hosted still")
	}
	s, err := you(b).Find(t.Context(), string(q.Session), dir)
	if err != nil || s.Type != "scout" || s.Model != "script/"+filepath.Join(dir, "on.yaml") {
		t.Errorf("what asks is %+v: %v", s, err)
	}

	// Resumed by a person: those types stay, the patience is that of whoever resumes it.
	again, err := you(b).Begin(t.Context(), wire.Begin{Prompt: "go on", Cwd: dir, Resume: string(r.Root)})
	if err != nil {
		t.Fatal(err)
	}
	if err := api.Finish(t.Context(), you(b), again.Root); err != nil {
		t.Fatal(err)
	}
	events, err := b.trees.events(t.Context(), r.Root, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var settings []troupe.Settings
	for _, ev := range events {
		switch body := ev.Body.(type) {
		case troupe.Created:
			settings = append(settings, *body.Settings)
		case troupe.SettingsChanged:
			settings = append(settings, body.Settings)
		}
	}
	if len(settings) != 2 || settings[1].AskFor != 0 || settings[1].Fallback != settings[0].Fallback ||
		settings[1].Definitions != settings[0].Definitions {
		t.Errorf("the settings in the log are %+v", settings)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// asked waits for the one request of a tree.
func asked(t *testing.T, a *App, root troupe.SessionID) wire.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		list, err := you(a).Requests(ctx, root)
		if err != nil {
			events, _ := a.trees.events(t.Context(), root, 0, 0)
			for _, e := range events {
				t.Logf("%d %s %.300v", e.Seq, e.Body.Kind(), e.Body)
			}
			t.Fatal(err)
		}
		if len(list) > 0 {
			return list[0]
		}
	}
}

// TestAskSeconds: requests wait for a person who is there for as long as the settings say, unless it
// was said how long; where nobody is there they do not wait.
func TestAskSeconds(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(home, "settings.json"): `{"permissions": {"ask_seconds": 30}}`,
		filepath.Join(dir, "s.yaml"):         "replies:\n  - text: done\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := openHome(t, home)
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, x := range []struct {
		attended bool
		ms       int64
		want     time.Duration
	}{{true, 0, 30 * time.Second}, {true, 1000, time.Second}, {false, 0, 0}, {false, 1000, time.Second}} {
		r, err := you(a).Begin(t.Context(), wire.Begin{
			Prompt: "go", Cwd: dir, Model: "script:s.yaml", Attended: x.attended, AskMS: x.ms,
		})
		if err != nil {
			t.Fatal(err)
		}
		events, err := a.trees.events(t.Context(), r.Root, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		if created, ok := events[0].Body.(troupe.Created); !ok || created.Settings.AskFor != x.want {
			t.Errorf("%+v: %+v", x, events[0].Body)
		}
	}
}
