package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/store"
	"github.com/troupe-dev/troupe/internal/wire"
)

const endsUnread = `
replies:
  - agent: main
    turn: 1
    calls: [{tool: Bash, input: {command: "true", description: Quick, run_in_background: true}}]
  - agent: main
    turn: 2
    calls: [{tool: Write, input: {file_path: b.txt, content: x}}]
  - agent: main
    text: done
`

// TestTaskThatEndedUnread: a command has ended when it has, though its agent waits for leave and
// will read of it much later.
func TestTaskThatEndedUnread(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(endsUnread), 0o600); err != nil {
		t.Fatal(err)
	}
	a := openHome(t, home)
	r, err := you(a).Begin(t.Context(), wire.Begin{Prompt: "go", Cwd: dir, Model: "script:s.yaml",
		AskMS:       (24 * time.Hour).Milliseconds(),
		Permissions: wire.Permissions{Allow: []string{"Bash"}}})
	if err != nil {
		t.Fatal(err)
	}
	for told := false; !told; {
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
		err := a.trees.store.View(t.Context(), func(s store.Reader) error {
			mail, err := s.Unread(r.Root)
			told = len(mail) > 0
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		list, err := you(a).Requests(t.Context(), r.Root)
		if err != nil {
			t.Fatal(err)
		}
		told = told && len(list) > 0
	}
	look := func(when string) {
		t.Helper()
		late, err := Open(t.Context(), Env{
			Lookup: func(name string) (string, bool) { return home, name == "TROUPE_HOME" },
			Now:    func() time.Time { return time.Now().Add(3 * time.Hour) }, Log: slog.New(slog.DiscardHandler),
			Version: "test",
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := late.Close(); err != nil {
				t.Error(err)
			}
		}()
		list, err := you(late).Tasks(t.Context(), r.Root)
		list = slices.DeleteFunc(list, func(x wire.Task) bool { return x.ID == troupe.TaskID(x.Root) })
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %+v, %v", when, list, err)
		}
		if x := list[0]; x.Status != troupe.TaskCompleted || x.Left || x.DurationMS >= time.Hour.Milliseconds() {
			t.Errorf("%s: %+v", when, x)
		}
	}
	look("while it is unread")
	if err := a.Close(); err != nil { // as a crash leaves it
		t.Fatal(err)
	}
	look("when nobody runs the session")
	b := openHome(t, home)
	again, err := you(b).Begin(t.Context(), wire.Begin{Cwd: dir, Resume: string(r.Root), Model: "script:s.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	if err := you(b).Wait(t.Context(), again.Root); err != nil {
		t.Fatal(err)
	}
	look("once it is read")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 19, 9, 0, 0, time.UTC)
	for want, at := range map[string]time.Time{
		"19:10:00":        now.Add(time.Minute),
		"Sat 19:06:51":    time.Date(2026, 11, 21, 19, 6, 51, 0, time.UTC),
		"27 Nov 19:09:00": now.AddDate(0, 0, 7),
		"Fri 23:59:59":    time.Date(2026, 11, 20, 23, 59, 59, 0, time.FixedZone("west", -8*3600)),
	} {
		n := now
		if strings.HasPrefix(want, "Fri") {
			n = at.Add(time.Minute).UTC() // a day later there
		}
		if got := wire.Clock(at, n); got != want {
			t.Errorf("%s is told as %s", at, got)
		}
	}
	s := troupe.Session{Status: troupe.Waiting, Waiting: troupe.WaitApproval, Until: now.Add(24 * time.Hour)}
	if got := doing(s, now); !strings.Contains(got, " until Sat ") && !strings.Contains(got, " until Sun ") {
		t.Errorf("it waits %q", got)
	}
}

const movedLate = `
replies:
  - agent: main
    turn: 1
    calls: [{tool: Bash, input: {command: "echo begun > there; cat go; echo over", timeout: 60000}}]
  - agent: main
    text: done
`

// TestMoveIsRefused: a command whose log cannot be made is not moved to the background; the caller is told why,
// and the command goes on as it was.
func TestMoveIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(movedLate), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"there", "go"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := openHome(t, t.TempDir())
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	r, err := you(a).Begin(t.Context(), wire.Begin{Prompt: "go", Cwd: dir, Model: "script:s.yaml",
		Permissions: wire.Permissions{Allow: []string{"Bash"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(filepath.Join(dir, "there")); err != nil { // it waits for the command
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(a.outputDir(r.Root), "b1.0.log"), 0o700); err != nil {
		t.Fatal(err)
	}
	err = you(a).Background(t.Context(), r.Root)
	if err == nil || !strings.Contains(err.Error(), "b1.0.log") {
		t.Errorf("moving it says %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := you(a).Wait(t.Context(), r.Root); err != nil {
		t.Fatal(err)
	}
	log, err := a.trees.events(t.Context(), r.Root, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range log {
		if f, ok := e.Body.(troupe.ToolFinished); ok && (f.Task != nil || troupe.JoinText(f.Result.Blocks) != "over") {
			t.Errorf("the command ended with %+v", f)
		}
	}
}

// TestTaskThatWorksAgain: an agent that words of another one have set to work again is at work, though the one whose
// task it is has read of its end.
func TestTaskThatWorksAgain(t *testing.T) {
	t.Parallel()
	p := onePlay(t)
	child := troupe.Session{ID: "c00000000000", Root: p.root, Parent: p.root, Status: troupe.Running, Run: 2,
		StartedAt: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)}
	told := troupe.Task{ID: troupe.TaskID(child.ID), Kind: troupe.TaskAgent, Status: troupe.TaskCompleted,
		StartedAt: child.StartedAt.Add(-time.Hour), EndedAt: child.StartedAt.Add(-time.Minute)}
	all := map[troupe.SessionID]troupe.Session{child.ID: child}
	s := sessions{bound{p.a, troupe.You(troupe.SurfaceCommand)}}
	got, err := s.task(nil, troupe.Session{ID: p.root}, Tree{Running: true}, told, all)
	if err != nil || got.Status != troupe.TaskRunning || got.Doing == "" ||
		got.DurationMS > time.Minute.Milliseconds() {
		t.Errorf("%+v, %v", got, err)
	}
	child.Status = troupe.Completed
	all[child.ID] = child
	if got, err = s.task(nil, troupe.Session{ID: p.root}, Tree{Running: true}, told, all); err != nil ||
		got.Status != troupe.TaskCompleted || got.DurationMS != 59*time.Minute.Milliseconds() {
		t.Errorf("of one that has ended: %+v, %v", got, err)
	}
}

// TestDenialsOfAllRuns: what was denied since a person's last words is told, whatever had the main agent run again
// since.
func TestDenialsOfAllRuns(t *testing.T) {
	t.Parallel()
	p := onePlay(t)
	ended := func(tools ...string) {
		o := troupe.Outcome{Session: p.root, Status: troupe.Completed}
		for _, tool := range tools {
			o.Evidence.Denied = append(o.Evidence.Denied, troupe.Denial{Tool: tool})
		}
		p.log(p.root, troupe.Ended{Outcome: o})
	}
	denied := func(run int, last ...troupe.Denial) (tools []string) {
		list, err := p.a.trees.denied(t.Context(), troupe.Session{ID: p.root, Run: run},
			troupe.Outcome{Evidence: troupe.Evidence{Denied: last}})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			tools = append(tools, d.Tool)
		}
		return tools
	}
	ended("Write")
	if got := denied(1, troupe.Denial{Tool: "Write"}); !slices.Equal(got, []string{"Write"}) {
		t.Errorf("of one run: %q", got)
	}
	p.log(p.root, troupe.MailDelivered{Mail: []troupe.Mail{{Kind: troupe.MailTaskEnded, From: "c00000000000"}}})
	ended("Edit", "Bash")
	if got := denied(2); !slices.Equal(got, []string{"Write", "Edit", "Bash"}) {
		t.Errorf("of a prompt: %q", got)
	}
	p.say(p.root, "go on")
	ended("Read")
	if got := denied(3); !slices.Equal(got, []string{"Read"}) {
		t.Errorf("since the last prompt: %q", got)
	}
}
