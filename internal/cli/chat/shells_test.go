//go:build unix

package chat

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// TestBackgroundCommandInHand: a command in the background is stopped and read by its id.
func TestBackgroundCommandInHand(t *testing.T) {
	t.Parallel()
	out := filepath.Join(shortDir(t), "b14.txt")
	if err := os.WriteFile(out, []byte(strings.Repeat("early\n", 100)+"tick 1\ntick 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFake(func(f *fake, _ string) { f.says("ok") })
	f.tasks = []wire.Task{{Session: rootID, Path: "main", ID: "b14.0", Kind: troupe.TaskShell, Name: "Count",
		Status: troupe.TaskRunning, Background: true, Output: out, DurationMS: 4000}}
	p := sitAt(t, f, wire.Begin{}, 100)
	p.sees("\n>")
	p.Keys("go\r")
	p.sees("1.5 s\n>")
	for _, word := range []string{"/log", "/show"} {
		p.Keys(word + " b14.0\r")
		p.Until(word, func(s string) bool {
			_, s, ok := strings.Cut(s, "> "+word+" b14.0\n")
			return ok && strings.HasPrefix(s, "── b14.0 Count · at work for 4.0 s\nearly\n") &&
				strings.Contains(s, "tick 2\n── that is its end; all of it: "+out[:20])
		})
	}
	p.Keys("/stop b14.0\r")
	p.shows("b14.0 is stopped; its agent is told.")
	f.heardAll(t, "begin false", "go", "stop m00000000000 now=false tree=false")
	p.Keys("/stop b15.0\r")
	p.shows("is no agent here")
}

// TestForegroundCommand: what a command in the background prints is followed until its end; Esc and Ctrl-B put it
// back, stop nothing, and a key that comes just after its end stops nothing either.
func TestForegroundCommand(t *testing.T) {
	t.Parallel()
	out := filepath.Join(shortDir(t), "b14.txt")
	prints := func(text string) {
		file, err := os.OpenFile(out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = file.WriteString(text)
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	prints(strings.Repeat("early\n", 100) + "tick 1\n")
	f := newFake(func(f *fake, _ string) {
		f.add(rootID, troupe.CallSealed{Reply: 1, Model: "anthropic/opus"})
	})
	f.tasks = []wire.Task{{Session: rootID, Path: "main", ID: "b14.0", Kind: troupe.TaskShell, Name: "Count",
		Status: troupe.TaskRunning, Background: true, Output: out, DurationMS: 4000}}
	p := sit(t, f, wire.Begin{})
	p.sees("\n>")
	p.Keys("go\r")
	p.seconds.Store(20)
	p.shows("waiting for opus · 18 s · Esc stops")
	for _, key := range []string{"\x1b", "\x02"} {
		p.Keys("/fg b14.0\r")
		p.sees("tick 1\n… waiting for opus · 18 s\n· b14.0 Count · Esc or Ctrl-B returns, it goes on\n»")
		p.shows("── b14.0 Count · at work for 4.0 s\n… 77 lines before; all of it:")
		p.Keys(key)
		p.sees("── back in the conversation\n… waiting for opus · 18 s · Esc stops\n»")
	}
	p.Keys("/fg b14.0\r")
	p.shows("Ctrl-B returns")
	prints("tick 2\n")
	p.sees("tick 1\ntick 2\n… waiting for opus · 18 s\n· b14.0 Count · Esc or Ctrl-B returns, it goes on\n»")
	f.add(rootID, troupe.MailDelivered{Mail: []troupe.Mail{{ID: "e", Kind: troupe.MailTaskEnded,
		Ended: &troupe.Outcome{Kind: troupe.TaskShell, Task: "b14.0", Name: "Count", Status: troupe.Completed}}}})
	p.shows("── back in the conversation\n● b14.0 completed: Count\n")
	p.Keys("\x1b")
	p.shows("What was shown had just ended, and nothing was stopped.")
	f.heardAll(t, "begin false", "go")
	p.Keys("\x1b")
	f.heardAll(t, "begin false", "go", "stop m00000000000 now=true tree=false")
}

// TestCommandMovedToBackground: Ctrl-B has a command that is waited for go on in the background, and /background does;
// the conversation says under which id, and goes on.
func TestCommandMovedToBackground(t *testing.T) {
	t.Parallel()
	f := func() *fake {
		return newFake(func(f *fake, what string) {
			switch what {
			case "serve":
				f.add(rootID, troupe.CallSealed{Reply: 1, Model: "anthropic/opus"}, troupe.Replied{Reply: 1,
					Blocks: []troupe.Block{callBlock(1, 0, "Bash", `{"command":"npm start"}`),
						callBlock(1, 1, "Bash", `{"command":"npm run watch -- --with-all-that-it-can-be-told-of"}`)}})
				f.prints(troupe.Coord{Reply: 1}, "listening on 8080\n")
			case "background " + string(rootID):
				for i, id := range []troupe.TaskID{"b1.0", "b1.1"} {
					moved := finished(1, i, "Bash", "it was moved to the background, where it goes on.")
					moved.Task = &troupe.Task{ID: id, Kind: troupe.TaskShell, Status: troupe.TaskRunning,
						Background: true}
					moved.Caller = &troupe.Caller{Name: "you"}
					f.add(rootID, moved)
				}
				f.says("It listens.")
			}
		})
	}
	for name, keys := range map[string]string{"background-key": "\x02", "background-word": "/background\r"} {
		screens(t, name, f, wire.Begin{}, func(p *person, f *fake) {
			p.Keys("serve\r")
			p.seconds.Store(9)
			p.shows("listening on 8080")
			p.Keys(keys)
			f.heardAll(t, "begin false", "serve", "background m00000000000")
			p.sees("4 s\n>")
		})
	}
}

// TestForegroundCommandEnds: a command whose end its agent has not read, because it waits for something else, is not
// followed for ever.
func TestForegroundCommandEnds(t *testing.T) {
	t.Parallel()
	out := filepath.Join(shortDir(t), "b1.0.txt")
	if err := os.WriteFile(out, []byte("ready\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFake(func(f *fake, _ string) { f.add(rootID, troupe.CallSealed{Reply: 1, Model: "anthropic/opus"}) })
	f.tasks = []wire.Task{{Session: rootID, Path: "main", ID: "b1.0", Kind: troupe.TaskShell, Name: "Serve",
		Status: troupe.TaskRunning, Background: true, Output: out}}
	p := sit(t, f, wire.Begin{})
	p.sees("\n>")
	p.Keys("go\r")
	p.sees("»")
	p.Keys("/fg b1.0\r")
	p.shows("Ctrl-B returns")
	f.mu.Lock()
	f.tasks = []wire.Task{{Session: rootID, Path: "main", ID: "b1.0", Kind: troupe.TaskShell,
		Status: troupe.TaskCompleted, Output: out}}
	f.mu.Unlock()
	p.shows("── back in the conversation")
}
