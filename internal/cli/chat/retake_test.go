package chat

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/cli/home"
	"github.com/troupe-dev/troupe/internal/wire"
)

// begin begins a conversation with words.
func begin(t *testing.T, a api.API, b wire.Begin, words string) *tree {
	t.Helper()
	ts, first := newTrees(a, b)
	first.Prompt = words
	tree, err := ts.begin(t.Context(), first, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tree.close)
	return tree
}

// send is what the conversation does with words.
func send(ctx context.Context, t *tree, words string) error {
	return t.held(ctx, func() error {
		_, err := t.api.Send(ctx, t.root, wire.Message{Text: words})
		return err
	})
}

// replies reads on until the main agent has ended its run n times, and lists what it said.
func replies(t *testing.T, tree *tree, n int) (said []string) {
	t.Helper()
	for n > 0 {
		select {
		case f := <-tree.batches:
			if f.err != nil {
				t.Fatalf("%v; it said %q", f.err, said)
			}
			for _, e := range f.Events {
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
		case <-time.After(2 * time.Minute):
			t.Fatalf("no more comes; it said %q", said)
		}
	}
	return said
}

// runs has a prompt run in a home, and waits for its end.
func runs(t *testing.T, a api.API, b wire.Begin, root troupe.SessionID) {
	t.Helper()
	if root != "" {
		b = wire.Begin{Cwd: b.Cwd, Resume: string(root), Prompt: b.Prompt}
	}
	begun, err := a.Begin(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Wait(t.Context(), begun.Root); err != nil {
		t.Fatal(err)
	}
}

// elsewhere opens the home once more, as another process does.
func elsewhere(t *testing.T, c *console.Console, fn func(other *home.Home)) {
	t.Helper()
	if err := c.With(t.Context(), troupe.SurfaceHeadless, func(h *home.Home) error { fn(h); return nil }); err != nil {
		t.Fatal(err)
	}
}

// TestTakenMeanwhile: a conversation that waits at its prompt loses its tree to whoever goes on
// with it. The next words take it up again, and what came meanwhile is shown before.
func TestTakenMeanwhile(t *testing.T) {
	t.Parallel()
	inHome(t, strings.NewReader(""), io.Discard, func(c *console.Console, h *home.Home, b wire.Begin) {
		tree := begin(t, h.API, b, "hello")
		replies(t, tree, 1)
		elsewhere(t, c, func(other *home.Home) {
			runs(t, other.API, wire.Begin{Cwd: b.Cwd, Prompt: "look around"}, tree.root)
		})
		if err := send(t.Context(), tree, "thanks"); err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(replies(t, tree, 2), "|"); !strings.HasPrefix(said,
			"I will have somebody look.|There are three.|") {
			t.Errorf("it said %q", said)
		}
		if err := h.API.Wait(t.Context(), tree.root); err != nil {
			t.Error(err)
		}

		// While the other one is at work, nothing is sent, and what to do is said.
		elsewhere(t, c, func(other *home.Home) {
			begun, err := other.API.Begin(t.Context(), wire.Begin{Cwd: b.Cwd, Resume: string(tree.root),
				Prompt: "write it",
				AskMS:  time.Hour.Milliseconds()})
			if err != nil {
				t.Fatal(err)
			}
			f, err := other.API.Follow(t.Context(), wire.Follow{Root: begun.Root, From: begun.After})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for waits := false; !waits; {
				b, err := f.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range b.Events {
					_, is := e.Body.(troupe.RequestOpened)
					waits = waits || is
				}
			}
			err = send(t.Context(), tree, "more")
			var said *troupe.UserError
			if !errors.As(err, &said) || !strings.Contains(said.Problem, "nothing was sent") ||
				!strings.Contains(said.Hint, "troupe send "+string(tree.root)) {
				t.Errorf("%v", err)
			}
		})
		if err := send(t.Context(), tree, "more"); err != nil {
			t.Error(err)
		}
		if err := h.API.Stop(t.Context(), tree.root, wire.Stop{Now: true, Tree: true}); err != nil {
			t.Error(err)
		}
		if err := h.API.Wait(t.Context(), tree.root); err != nil {
			t.Error(err)
		}
	})
}

// TestResumeTaken: /resume of a conversation that another process has gone on with takes it up
// too, and one that was removed is told by the error that the conversation looks for.
func TestResumeTaken(t *testing.T) {
	t.Parallel()
	inHome(t, strings.NewReader(""), io.Discard, func(c *console.Console, h *home.Home, b wire.Begin) {
		tree := begin(t, h.API, b, "hello")
		replies(t, tree, 1)
		hello := func(other *home.Home) { runs(t, other.API, wire.Begin{Cwd: b.Cwd, Prompt: "hello"}, tree.root) }
		elsewhere(t, c, hello)
		again, err := tree.begin(t.Context(), wire.Begin{Cwd: b.Cwd, Resume: string(tree.root)}, true)
		if err != nil {
			t.Fatal(err)
		}
		defer again.close()
		if now, err := h.API.Tree(t.Context(), tree.root); err != nil || !now.Here {
			t.Errorf("%+v %v", now, err)
		}
		// What is open here nobody removes; what another process had last, and left, is free.
		elsewhere(t, c, hello)
		elsewhere(t, c, func(other *home.Home) {
			if err := other.API.Remove(t.Context(), tree.root); err != nil {
				t.Fatal(err)
			}
		})
		if err := send(t.Context(), tree, "more"); !errors.Is(err, troupe.ErrNotFound) {
			t.Errorf("%v", err)
		}
		if _, err := h.API.Report(t.Context(), tree.root); !errors.Is(err, troupe.ErrNotFound) {
			t.Errorf("%v", err)
		}
	})
}

// TestFlagsOfABirth: what the command line asks of a session that was born long ago is refused.
// Of one that is resumed in the middle of a conversation nobody has asked it.
func TestFlagsOfABirth(t *testing.T) {
	t.Parallel()
	inHome(t, strings.NewReader(""), io.Discard, func(c *console.Console, h *home.Home, b wire.Begin) {
		elsewhere(t, c, func(other *home.Home) {
			b := b
			b.Prompt = "hello"
			runs(t, other.API, b, "")
		})
		for name, set := range map[string]func(*wire.Begin){
			"the name":                      func(b *wire.Begin) { b.Name = "x" },
			"the limit of turns":            func(b *wire.Begin) { b.MaxTurns = 1 },
			"the limit of time":             func(b *wire.Begin) { b.MaxMS = 1000 },
			"appended to the system prompt": func(b *wire.Begin) { b.AppendText = "x" },
			"the worktree":                  func(b *wire.Begin) { b.Worktree = new("z") },
			"where it works":                func(b *wire.Begin) { b.Workspace = troupe.WorkspaceCopy },
		} {
			b := b
			b.Continue = true
			set(&b)
			out := &strings.Builder{}
			talks := &console.Console{In: strings.NewReader(""), Out: out, Err: out, Cwd: b.Cwd, Now: c.Now,
				Lookup: c.Lookup, Interrupts: c.Interrupts}
			var said *troupe.UserError
			if err := Run(t.Context(), talks, h.API, b, Options{}); !errors.As(err, &said) ||
				said.Code != troupe.ExitUsage || !strings.Contains(said.Problem, name) {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := Drive(t.Context(), talks, h.API, b); !errors.As(err, &said) ||
				!strings.Contains(said.Problem, name) {
				t.Errorf("%s, driven: %v", name, err)
			}
		}
		b.MaxTurns, b.Worktree = 1, new("")
		ts, _ := newTrees(h.API, b)
		next := resumable(ts.next)
		next.Continue = true
		tree, err := ts.begin(t.Context(), next, false)
		if err != nil {
			t.Fatal(err)
		}
		if ts.next.Worktree == nil {
			t.Error("new ones are not in worktrees any more")
		}
		tree.close()
	})
}

// TestFirstModel: a conversation begins with what was chosen before its first words.
func TestFirstModel(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	in := strings.NewReader("/mode plan\n/model script:s.yaml\n/model\nhello\n")
	inHome(t, in, &out, func(c *console.Console, h *home.Home, b wire.Begin) {
		b.Model = ""
		if err := Run(t.Context(), c, h.API, b, Options{}); err != nil {
			t.Error(err)
		}
		list, err := h.API.List(t.Context(), wire.Listing{Cwd: b.Cwd, Limit: 1})
		if err != nil || len(list) != 1 || !strings.HasPrefix(list[0].Model, "script/") {
			t.Fatalf("%+v %v\n%s", list, err, &out)
		}
		events, err := h.API.Events(t.Context(), list[0].ID, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := events[0].Body.(troupe.Created); !ok || b.Authority.Mode != "plan" {
			t.Errorf("%+v", events[0].Body)
		}
	})
}
