//go:build unix

package chat

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/cli/chat/editor"
	"github.com/troupe-dev/troupe/internal/cli/chat/ptytest"
	"github.com/troupe-dev/troupe/internal/cli/console"
	"github.com/troupe-dev/troupe/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files again")

// person is somebody in a conversation at a terminal.
type person struct {
	*ptytest.Terminal
	t    *testing.T
	done chan error
	ints *console.Interrupts
	up   func() // hangs up
	cwd  string
	// seconds is what the clock of the process shows; the events of the fake begin at 0.
	seconds atomic.Int64
}

func sit(t *testing.T, f *fake, b wire.Begin) *person { t.Helper(); return sitAt(t, f, b, 60) }

func sitAt(t *testing.T, f *fake, b wire.Begin, width int) *person {
	t.Helper()
	return sitting(t, b.Cwd, width, func(ctx context.Context, c *console.Console, o Options) error {
		b.Cwd, o.Status = c.Cwd, b.Mode != ""
		return Run(ctx, c, f, b, o)
	})
}

// shortDir is a folder whose name fits into the lines that tests look at, however long that of TMPDIR is.
func shortDir(t *testing.T) string {
	t.Helper()
	whole, err := os.MkdirTemp("/tmp", "ws")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(whole) })
	dir := filepath.Join(whole, "002") // what screens that are kept show of it
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func sitting(t *testing.T, cwd string, width int,
	run func(context.Context, *console.Console, Options) error) *person {
	t.Helper()
	p := &person{Terminal: ptytest.Open(t, width, 30), t: t, done: make(chan error, 1)}
	hang := make(chan struct{})
	p.up = sync.OnceFunc(func() { close(hang) })
	gone := make(chan struct{})
	p.ints = &console.Interrupts{Leave: func(code int) { t.Errorf("left with %d", code) }}
	env := map[string]string{"TERM": "xterm", "NO_COLOR": "1", "HOME": t.TempDir()}
	if p.cwd = cwd; cwd == "" {
		p.cwd = shortDir(t)
	}
	c := &console.Console{
		In: p.TTY, Out: p.TTY, Err: p.TTY, OutTTY: true, Cwd: p.cwd, Version: "test", Interrupts: p.ints,
		Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		Now:    func() time.Time { return time.Unix(p.seconds.Load(), 0) },
	}
	go func() {
		defer close(gone)
		p.done <- run(context.WithoutCancel(t.Context()), c, Options{HangUp: hang, Local: time.UTC})
	}()
	t.Cleanup(func() {
		p.up()
		<-gone
		p.Close()
	})
	return p
}

// sees waits for words at the end of the screen, above and on the prompt.
func (p *person) sees(end string) {
	p.t.Helper()
	p.Until("…"+end, func(s string) bool { return strings.HasSuffix(s, end) })
}

// shows waits for words anywhere on the screen.
func (p *person) shows(words string) {
	p.t.Helper()
	p.Until("…"+words+"…", func(s string) bool { return strings.Contains(s, words) })
}

func (p *person) leaves() {
	p.t.Helper()
	select {
	case err := <-p.done:
		if err != nil {
			p.t.Error(err)
		}
	case <-time.After(2 * time.Minute):
		p.t.Fatalf("the conversation does not end; the screen shows\n%s", p.Shown())
	}
}

func TestConversation(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, what string) {
		switch {
		case what == "hello":
			f.add(rootID, troupe.CallSealed{Reply: 1})
			for _, piece := range []string{"Hel", "lo ", "you"} {
				f.streams(piece)
			}
		case what == "faster":
			f.says("Hello you!")
		case strings.HasPrefix(what, "try"):
			f.ask(wire.Request{ID: "r1", Session: rootID, Path: "main", Tool: "Bash", Action: "rm -rf \u200bbuild",
				Why: "no rule allows it", Grant: "Bash(rm *)", Running: true})
		case strings.HasPrefix(what, "answer r1"):
			f.says("It is gone.")
		}
	})
	p := sit(t, f, wire.Begin{})
	p.sees("\n>")
	p.Keys("hello\r")
	p.sees("\n> hello\nHello you\n»") // what streams is seen before it is whole
	p.Keys("faster\r")
	p.sees("\n» faster\nHello you!\n── done · 0 tool uses · 2k tokens · 1.5 s\n>")
	p.Keys("try\r")
	p.sees("\n┏━ main asks: Bash\n┃   rm -rf \\u{200b}build\n┃ why: no rule allows it\n┃ y  yes, once\n" +
		"┃ s  yes, for this session: Bash(rm *)\n┃ a  yes, always\n" +
		"┃ s and a allow it anything in the folder but at protected\n┃   places, and any host that the settings " +
		"allow\n" +
		"┗━ n  no; n and words says why\ny/s/a/n/? + Enter?")
	if p.Bells() != 1 {
		t.Errorf("the bell rang %d times", p.Bells())
	}
	p.Keys("y\r")
	p.sees("allowed by user at terminal\nIt is gone.\n── done · 0 tool uses · 2k tokens · 1.5 s\n>")
	p.Keys("/cost\r")
	p.sees("\n  limit of cost: $0.2500 of $1.00 used (25 %)\n>")
	p.Keys("/modeel\r")
	p.sees("\nThere is no /modeel. Did you mean /model? Nothing was sent.\n>")
	p.Keys("\x04")
	p.leaves()
	f.heardAll(t, "begin false", "hello", "faster", "try", "answer r1 allow=true session=false")
	if !f.closed {
		t.Error("the tree was not let go of")
	}
}

func TestInterruptAndQuit(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, what string) {
		if what == "work" {
			f.add(childID, troupe.Created{Name: "kid", Title: "dig", Profile: troupe.Profile{Type: "Explore"}},
				troupe.Started{Run: 1})
		}
	})
	p := sit(t, f, wire.Begin{})
	p.sees("\n>")
	p.Keys("work\r")
	p.sees("\n┌─ #1 kid · Explore: dig\n»")
	p.Keys("\x03")
	p.sees("\n── stopped · 0 tool uses · 2k tokens · 1.5 s\n>")
	p.Keys("\x03") // once more, though the run has ended in between
	p.sees("1 agent is at work. (w)ait for the end, (s)top, or (l)eave\nto be resumed later? Anything else goes " +
		"back.\nw/s/l + Enter?")
	p.Keys("w\r")
	p.sees("\nWaiting. Ctrl-C leaves them to be resumed.\n…")
	f.add(childID, ended(troupe.Completed))
	p.leaves()
	p.sees("└─ done · 0 tool uses · 2k tokens · 1.5 s\nGo on later: troupe --continue, or troupe " +
		"--resume\nm00000000000")
	f.heardAll(t, "begin false", "work", "stop m00000000000 now=true tree=false")
}

// TestWordsComeBack: what could not be sent stands on the line again.
func TestWordsComeBack(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, what string) { f.says("heard " + what) })
	p := sit(t, f, wire.Begin{})
	p.sees("\n>")
	p.Keys("hello\r")
	p.sees("heard hello\n── done · 0 tool uses · 2k tokens · 1.5 s\n>")
	f.mu.Lock()
	f.refused = &troupe.UserError{Problem: "process 7 works on this"}
	f.mu.Unlock()
	p.Keys("more\r")
	p.sees("\ntroupe: process 7 works on this\n> more")
	p.Keys("\r")
	p.sees("heard more\n── done · 0 tool uses · 2k tokens · 1.5 s\n>")
}

// TestRemoved: a conversation that somebody has removed can be left, by whatever key, and what
// is said next begins another one.
func TestRemoved(t *testing.T) {
	t.Parallel()
	const said = "\nThis conversation was deleted (m00000000000). Your next\nmessage begins a new one.\n"
	for name, leave := range map[string]func(p *person){
		"/quit":  func(p *person) { p.Keys("/quit\r") },
		"Ctrl-D": func(p *person) { p.Keys("\x04") },
		"Ctrl-C": func(p *person) { p.Keys("\x03"); p.sees("\nOnce more quits.\n>"); p.Keys("\x03") },
		"words": func(p *person) {
			p.Keys("more\r")
			p.sees(said + "> more")
			p.Keys("\r")
			p.sees("heard more\n── done · 0 tool uses · 2k tokens · 1.5 s\n>")
			p.Keys("\x04")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(func(f *fake, what string) { f.says("heard " + what) })
			p := sit(t, f, wire.Begin{})
			p.sees("\n>")
			p.Keys("hello\r")
			p.sees("heard hello\n── done · 0 tool uses · 2k tokens · 1.5 s\n>")
			f.mu.Lock()
			f.gone, f.refused = true, fmt.Errorf("session %s: %w", rootID, troupe.ErrNotFound)
			f.mu.Unlock()
			if name == "words" {
				f.mu.Lock()
				f.read = len(f.log)
				f.mu.Unlock()
			}
			leave(p)
			if name == "words" {
				f.mu.Lock()
				f.gone = false
				f.mu.Unlock()
			}
			p.leaves()
			if name != "words" {
				p.sees(strings.TrimSuffix(said, "\n"))
			}
		})
	}
}

// TestBeforeTheFirstWords: a model and a mode that are chosen before anything was said are what
// the conversation begins with.
func TestBeforeTheFirstWords(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, what string) { f.says("heard " + what) })
	p := sit(t, f, wire.Begin{})
	p.sees("\n>")
	p.Keys("/model\r")
	p.sees("\nanthropic/opus. /model NAME begins with another one.\n>")
	p.Keys("/model nobody\r")
	p.sees("\ntroupe: there is no model nobody\n>")
	p.Keys("/model haiku\r")
	p.sees("\nThe conversation will begin with: anthropic/haiku\n>")
	p.Keys("/mode foo\r")
	p.sees("\ntroupe: there is no permission mode \"foo\"\nThe modes are default, acceptEdits, plan, " +
		"auto, dontAsk,\nbypassPermissions.\n>")
	p.Keys("/mode plan\r")
	p.sees("\nThe conversation will begin with: plan\n>")
	p.Keys("hello\r")
	p.sees("heard hello\n── done · 0 tool uses · 2k tokens · 1.5 s\n>")
	p.Keys("/stop\r")
	p.sees("\nThe main agent is not at work. /stop NAME stops another one;\n/tasks lists what is.\n>")
	p.Keys("\x04")
	p.leaves()
	f.heardAll(t, "begin false haiku plan", "hello")
}

func TestHangUpLeavesAll(t *testing.T) {
	t.Parallel()
	for name, go_ := range map[string]func(p *person){
		"the terminal goes away":  func(p *person) { p.HangUp() },
		"SIGHUP":                  func(p *person) { p.up() },
		"SIGTERM":                 func(p *person) { p.ints.Raise() },
		"the person leaves it so": func(p *person) { p.Keys("/quit\r"); p.sees("w/s/l + Enter?"); p.Keys("l\r") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(func(*fake, string) {})
			p := sit(t, f, wire.Begin{})
			p.sees("\n>")
			p.Keys("work\r")
			p.sees("\n»")
			go_(p)
			p.leaves()
			f.heardAll(t, "begin false", "work")
			if !f.closed {
				t.Error("the tree was not let go of")
			}
		})
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, what string) { f.says("again: " + what) })
	f.before = []wire.Session{{ID: rootID, Root: rootID, Title: "an old one", Status: troupe.Completed}}
	f.happened(rootID, 0, troupe.Created{Profile: troupe.Profile{Type: "main"}}, prompted("hello"),
		troupe.Replied{Reply: 1, Blocks: []troupe.Block{troupe.Text("the last word")}}, ended(troupe.Completed))
	p := sit(t, f, wire.Begin{Continue: true})
	p.sees("Going on with m00000000000: an old one (completed)\n> hello\nthe last word\n" +
		"── done · 0 tool uses · 2k tokens · 1.5 s\n>")
	p.Keys("more\r")
	p.sees("again: more\n── done · 0 tool uses · 2k tokens · 1.5 s\n>")
	p.Keys("/resume nobody\r")
	p.sees("troupe: there is no session nobody\n>")
	p.Keys("and more\r")
	p.sees("again: and more\n── done · 0 tool uses · 2k tokens · 1.5 s\n>")
	p.Keys("/model haiku\r")
	p.sees("From the next reply on: anthropic/haiku\n>")
	p.Keys("/undo\r")
	p.sees("troupe: there is no undo here\n/undo goes back to before the last prompt that changed a\nfile, /undo " +
		"TURN to before that turn; /undo merge ID takes\none merge back, and /undo redo the last undo. " +
		"--force\nreplaces what was changed since too.\n>")
	p.Keys("\x04")
	p.leaves()
	f.heardAll(t, "begin true", "more", "and more", "model haiku")
}

// TestPipe holds a conversation over a pipe: one line is one message, and each is for when
// the one before it is done.
func TestPipe(t *testing.T) {
	t.Parallel()
	f := newFake(func(f *fake, what string) {
		switch {
		case what == "may I":
			f.ask(wire.Request{ID: "r1", Session: rootID, Path: "main", Tool: "Bash", Action: "ls",
				Why: "no rule allows it", Until: time.Unix(7200, 0)})
		case strings.HasPrefix(what, "answer"):
			f.says("Thank you.")
		case what == "background":
			f.add(childID, troupe.Created{Name: "kid", Title: "dig", Profile: troupe.Profile{Type: "Explore"}},
				troupe.Started{Run: 1})
			f.says("It digs.")
			f.add(childID, ended(troupe.Completed))
		default:
			f.says("heard: " + what)
		}
	})
	var out bytes.Buffer
	c := &console.Console{
		In: strings.NewReader("one\n/agents\nmay I\nn not now\n\nbackground\nlast"), Out: &out, Err: io.Discard,
		Interrupts: &console.Interrupts{},
		Lookup:     func(string) (string, bool) { return "", false },
	}
	if err := Run(t.Context(), c, f, wire.Begin{Cwd: t.TempDir()}, Options{Local: time.UTC}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "pipe.txt")
	if *update {
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || out.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s\n(%v)", &out, want, err)
	}
	f.heardAll(t, "begin false", "one", "may I", "answer r1 allow=false session=false not now", "background", "last")
}

// TestPiecesComeBeforeTheirEvent: pieces that wait beside the event that makes them whole are
// shown before it, and so not twice.
func TestPiecesComeBeforeTheirEvent(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	f := newFake(nil)
	trees, _ := newTrees(f, wire.Begin{})
	v := &conversation{trees: trees, c: &console.Console{}, s: editor.OpenPlain(strings.NewReader(""), &out)}
	if err := v.begin(t.Context(), wire.Begin{Resume: "x"}); err != nil {
		t.Fatal(err)
	}
	v.show(t.Context(), wire.Batch{Events: []troupe.Event{{Session: rootID, Seq: 8,
		Body: troupe.CallSealed{Reply: 1}}}})
	whole := troupe.Replied{Reply: 1, Blocks: []troupe.Block{troupe.Text("once and for all")}}
	b := wire.Batch{Events: []troupe.Event{{Session: rootID, Seq: 9, Body: whole}}}
	for _, piece := range []string{"once ", "and"} {
		b.Deltas = append(b.Deltas, wire.Delta{Session: rootID, Text: piece, After: 8})
	}
	v.show(t.Context(), b)
	v.letGo()
	if err := v.s.Close(); err != nil || out.String() != "once and for all\n" {
		t.Errorf("got %q (%v)", &out, err)
	}
}

// lines counts how often a line is asked for.
type lines struct {
	*editor.Plain
	asked int
}

func (l *lines) Next() { l.asked++ }

// TestOneLineAtATime: while a request waits, events of others keep coming. They must not have
// the line behind the answer read before its turn.
func TestOneLineAtATime(t *testing.T) {
	t.Parallel()
	s := &lines{Plain: editor.OpenPlain(strings.NewReader(""), io.Discard)}
	f := newFake(func(*fake, string) {})
	trees, _ := newTrees(f, wire.Begin{})
	v := &conversation{trees: trees, c: &console.Console{}, s: s}
	if err := v.begin(t.Context(), wire.Begin{Prompt: "go"}); err != nil {
		t.Fatal(err)
	}
	asks := func(want int) {
		t.Helper()
		for range 3 { // things happen that have nothing to do with it
			v.ready()
		}
		if s.asked != want {
			t.Fatalf("%d lines were asked for; it should be %d", s.asked, want)
		}
	}
	asks(0)
	f.ask(wire.Request{ID: "r1", Session: rootID, Path: "main", Tool: "Bash", Action: "ls"})
	v.o.Local = time.UTC
	v.requests(t.Context())
	asks(1)
	v.key(t.Context(), editor.Event{Kind: editor.Line, Text: "y", Mark: -1})
	asks(1)
	v.running(rootID, false)
	asks(2)
	v.letGo()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
