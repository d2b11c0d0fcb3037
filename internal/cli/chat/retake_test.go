package chat

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

// replies reads on until the main agent has ended its run n times, and lists what it said.
func replies(t *testing.T, f Follower, n int) (said []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for n > 0 {
		events, err := f.Next(ctx)
		if err != nil || ctx.Err() != nil {
			t.Fatalf("%v; it said %q", err, said)
		}
		for _, e := range events {
			switch b := e.Body.(type) {
			case troupe.Replied:
				if text := troupe.JoinText(b.Blocks); e.Session == e.Root && text != "" {
					said = append(said, text)
				}
			case troupe.Ended:
				if e.Session == e.Root {
					n--
				}
			}
		}
	}
	return said
}

// elsewhere opens the home once more, as another process does.
func elsewhere(t *testing.T, c *console.Console, fn func(other *app.App)) {
	t.Helper()
	if err := c.With(t.Context(), func(a *app.App) error { fn(a); return nil }); err != nil {
		t.Fatal(err)
	}
}

// TestTakenMeanwhile: a conversation that waits at its prompt loses its tree to whoever goes on
// with it. The next words take it up again, and what came meanwhile is shown before.
func TestTakenMeanwhile(t *testing.T) {
	t.Parallel()
	home(t, strings.NewReader(""), io.Discard, func(c *console.Console, a *app.App, r app.Request) {
		b := Local(a, r)
		tree, err := b.Begin(t.Context(), Opening{Message: wire.Message{Text: "hello"}})
		if err != nil {
			t.Fatal(err)
		}
		defer tree.Events.Close()
		replies(t, tree.Events, 1)
		elsewhere(t, c, func(other *app.App) {
			run, err := other.Start(t.Context(), app.Request{Cwd: r.Cwd, Resume: string(tree.Root), Prompt: "look around"})
			if err != nil {
				t.Fatal(err)
			}
			if err := run.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
		if _, err := b.Talk.Send(t.Context(), tree.Root, wire.Message{Text: "thanks"}); err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(replies(t, tree.Events, 2), "|"); !strings.HasPrefix(said, "I will have somebody look.|There are three.|") {
			t.Errorf("it said %q", said)
		}
		if err := tree.Wait(t.Context()); err != nil {
			t.Error(err)
		}

		// While the other one is at work, nothing is sent, and what to do is said.
		elsewhere(t, c, func(other *app.App) {
			run, err := other.Start(t.Context(), app.Request{Cwd: r.Cwd, Resume: string(tree.Root), Prompt: "write it", AskFor: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			f := run.Follow(t.Context(), false)
			defer f.Close()
			for waits := false; !waits; {
				events, err := f.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range events.Events {
					_, is := e.Body.(troupe.RequestOpened)
					waits = waits || is
				}
			}
			_, err = b.Talk.Send(t.Context(), tree.Root, wire.Message{Text: "more"})
			var said *troupe.UserError
			if !errors.As(err, &said) || !strings.Contains(said.Problem, "nothing was sent") || !strings.Contains(said.Hint, "troupe send "+string(tree.Root)) {
				t.Errorf("%v", err)
			}
		})
		if _, err := b.Talk.Send(t.Context(), tree.Root, wire.Message{Text: "more"}); err != nil {
			t.Error(err)
		}
		if err := b.Talk.Stop(t.Context(), tree.Root, wire.Stop{Now: true, Tree: true}); err != nil {
			t.Error(err)
		}
		if err := tree.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestResumeTaken: /resume of a conversation that another process has gone on with takes it up
// too, and one that was removed is told by the error that the conversation looks for.
func TestResumeTaken(t *testing.T) {
	t.Parallel()
	home(t, strings.NewReader(""), io.Discard, func(c *console.Console, a *app.App, r app.Request) {
		b := Local(a, r)
		tree, err := b.Begin(t.Context(), Opening{Message: wire.Message{Text: "hello"}})
		if err != nil {
			t.Fatal(err)
		}
		defer tree.Events.Close()
		replies(t, tree.Events, 1)
		elsewhere(t, c, func(other *app.App) {
			run, err := other.Start(t.Context(), app.Request{Cwd: r.Cwd, Resume: string(tree.Root), Prompt: "hello"})
			if err != nil {
				t.Fatal(err)
			}
			if err := run.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
		again, err := b.Begin(t.Context(), Opening{Resume: string(tree.Root)})
		if err != nil {
			t.Fatal(err)
		}
		defer again.Events.Close()
		if held, err := a.Holds(t.Context(), tree.Root); err != nil || !held {
			t.Errorf("%v %v", held, err)
		}
		// What is open here nobody removes; what another process had last, and left, is free.
		elsewhere(t, c, func(other *app.App) {
			run, err := other.Start(t.Context(), app.Request{Cwd: r.Cwd, Resume: string(tree.Root), Prompt: "hello"})
			if err != nil {
				t.Fatal(err)
			}
			if err := run.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
		elsewhere(t, c, func(other *app.App) {
			if err := other.Remove(t.Context(), tree.Root); err != nil {
				t.Fatal(err)
			}
		})
		if _, err := b.Talk.Send(t.Context(), tree.Root, wire.Message{Text: "more"}); !errors.Is(err, troupe.ErrNotFound) {
			t.Errorf("%v", err)
		}
		if _, err := b.Look.Report(t.Context(), tree.Root); !errors.Is(err, troupe.ErrNotFound) {
			t.Errorf("%v", err)
		}
	})
}

// TestFlagsOfABirth: what the command line asks of a session that was born long ago is refused.
// Of one that is resumed in the middle of a conversation nobody has asked it.
func TestFlagsOfABirth(t *testing.T) {
	t.Parallel()
	home(t, strings.NewReader(""), io.Discard, func(c *console.Console, a *app.App, r app.Request) {
		elsewhere(t, c, func(other *app.App) {
			run, err := other.Start(t.Context(), app.Request{Cwd: r.Cwd, Model: r.Model, Prompt: "hello"})
			if err != nil {
				t.Fatal(err)
			}
			if err := run.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
		for name, set := range map[string]func(*app.Request){
			"--name": func(r *app.Request) { r.Name = "x" }, "--max-turns": func(r *app.Request) { r.MaxTurns = 1 },
			"--max-time": func(r *app.Request) { r.MaxTime = time.Second }, "--append-system-prompt": func(r *app.Request) { r.AppendText = "x" },
		} {
			r := r
			set(&r)
			out := &strings.Builder{}
			talks := &console.Console{In: strings.NewReader(""), Out: out, Err: out, Cwd: r.Cwd, Now: c.Now, Lookup: c.Lookup, Interrupts: c.Interrupts}
			var said *troupe.UserError
			if err := Run(t.Context(), talks, Local(a, r), Options{Cwd: r.Cwd, Opening: Opening{Continue: true}}); !errors.As(err, &said) || said.Code != console.ExitUsage || !strings.Contains(said.Problem, name) {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := Drive(t.Context(), talks, Local(a, r), Opening{Continue: true}); !errors.As(err, &said) || !strings.Contains(said.Problem, name) {
				t.Errorf("%s, driven: %v", name, err)
			}
		}
		r.MaxTurns = 1
		tree, err := Local(a, r).Begin(t.Context(), Opening{Continue: true})
		if err != nil {
			t.Fatal(err)
		}
		tree.Events.Close()
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestFirstModel: a conversation begins with what was chosen before its first words.
func TestFirstModel(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	home(t, strings.NewReader("/mode plan\n/model script:s.yaml\n/model\nhello\n"), &out, func(c *console.Console, a *app.App, r app.Request) {
		r.Model = ""
		if err := Run(t.Context(), c, Local(a, r), Options{Cwd: r.Cwd}); err != nil {
			t.Error(err)
		}
		list, err := a.List(t.Context(), r.Cwd, 1)
		if err != nil || len(list) != 1 || !strings.HasPrefix(list[0].Model, "script/") {
			t.Fatalf("%+v %v\n%s", list, err, &out)
		}
		events, err := a.Events(t.Context(), list[0].ID, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := events[0].Body.(troupe.Created); !ok || b.Authority.Mode != "plan" {
			t.Errorf("%+v", events[0].Body)
		}
	})
}
