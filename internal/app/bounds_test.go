package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/wire"
)

// outsideTemp is a folder that is in none for temporary files.
func outsideTemp(t *testing.T) string {
	t.Helper()
	if here, err := os.Getwd(); err != nil || troupe.WithinAny(here, []string{"/tmp", "/var/tmp", os.TempDir()}) {
		t.Skip("the checkout is in a folder for temporary files, where agents of a server may write: ", here, err)
	}
	dir, err := os.MkdirTemp(".", "outside")
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// serverIn is a home whose agents work in a folder, for users of a server.
func serverIn(t *testing.T, folder string) (admin, operator api.API) {
	t.Helper()
	a := serverAt(t, t.TempDir(), folder)
	return a.As(userOf("ann", troupe.RightAdmin)), a.As(userOf("bob", troupe.RightOperator))
}

func userOf(name string, r troupe.Right) troupe.Caller {
	return troupe.Caller{Name: name, Right: r, Surface: troupe.SurfaceServer}
}

func serverAt(t *testing.T, home string, folders ...string) *App {
	t.Helper()
	a, err := Open(t.Context(), Env{
		Lookup: func(name string) (string, bool) { return home, name == "TROUPE_HOME" },
		Now:    time.Now, Log: slog.New(slog.DiscardHandler), Version: "test", Folders: folders,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// asksFor waits for the one request of a tree.
func asksFor(t *testing.T, a api.API, root troupe.SessionID) wire.Request {
	t.Helper()
	for ctx := t.Context(); ctx.Err() == nil; {
		all, err := a.Requests(ctx, root)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) > 0 {
			return all[0]
		}
		<-time.After(10 * time.Millisecond) // another goroutine asks
	}
	t.Fatal("nothing is asked")
	return wire.Request{}
}

// TestServerBounds: at a server agents write nothing outside of its folders, whatever a rule or an answer says, and a
// yes to what holds for later sessions is an admin's.
func TestServerBounds(t *testing.T) {
	t.Parallel()
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out := outsideTemp(t)
	if err := os.MkdirAll(filepath.Join(real, ".git", "hooks"), 0o700); err != nil {
		t.Fatal(err)
	}
	admin, operator := serverIn(t, real)
	begin := func(a api.API, file string, allow ...string) troupe.SessionID {
		t.Helper()
		script := fmt.Sprintf("replies:\n  - turn: 1\n    calls: [{tool: Write, input: {file_path: %q, content: "+
			"x}}]\n  - text: done\n", file)
		name := filepath.Join(real, fmt.Sprintf("s%d.yaml", time.Now().UnixNano()))
		if err := os.WriteFile(name, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := a.Begin(t.Context(), wire.Begin{Prompt: "go", Cwd: real, Model: "script:" + name, AskMS: 60_000,
			Permissions: wire.Permissions{Allow: allow}})
		if err != nil {
			t.Fatal(err)
		}
		return b.Root
	}
	for what, a := range map[string]api.API{"an admin": admin, "an operator": operator} {
		file := filepath.Join(out, "x")
		root := begin(a, file, "Edit(/"+out+"/**)", "Edit")
		if err := a.Wait(t.Context(), root); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s had a file written outside: %v", what, err)
		}
		r, err := a.Report(t.Context(), root)
		if err != nil || !strings.Contains(fmt.Sprint(r.Denials), "this server has agents work in "+real) {
			t.Errorf("%s is told %+v, %v", what, r.Denials, err)
		}
	}
	hook := filepath.Join(real, ".git", "hooks", "pre-commit")
	root := begin(operator, hook)
	q := asksFor(t, operator, root)
	err = operator.Answer(t.Context(), q.ID, wire.Answer{Allow: true})
	var user *troupe.UserError
	if !errors.As(err, &user) || user.Code != troupe.ExitPermission ||
		!strings.Contains(user.Problem, "later sessions") {
		t.Errorf("an operator's yes: %v", err)
	}
	if err := admin.Answer(t.Context(), q.ID, wire.Answer{Allow: true}); err != nil {
		t.Errorf("an admin's: %v", err)
	}
	if err := operator.Wait(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(hook); err != nil {
		t.Error(err)
	}
	root = begin(operator, filepath.Join(real, "plain.txt"))
	if err := operator.Answer(t.Context(), asksFor(t, operator, root).ID, wire.Answer{Allow: true}); err != nil {
		t.Errorf("an operator's yes to a plain file: %v", err)
	}
	if err := operator.Wait(t.Context(), root); err != nil {
		t.Fatal(err)
	}
}

// TestServerBypass: what an admin has work outside of the sandbox, an operator does not set to work.
func TestServerBypass(t *testing.T) {
	t.Parallel()
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(real, "s.yaml"), []byte("replies: [{text: done}, {text: more}]\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	admin, operator := serverIn(t, real)
	b := wire.Begin{Prompt: "go", Cwd: real, Model: "script:s.yaml",
		Permissions: wire.Permissions{Mode: troupe.ModeBypass}}
	if _, err := operator.Begin(t.Context(), b); !refusedForRight(err) {
		t.Errorf("an operator begins one: %v", err)
	}
	begun, err := admin.Begin(t.Context(), b)
	if err == nil {
		err = admin.Wait(t.Context(), begun.Root)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operator.Send(t.Context(), begun.Root, wire.Message{Text: "x"}); !refusedForRight(err) {
		t.Errorf("an operator says something to it: %v", err)
	}
	if left, err := admin.Leave(t.Context(), begun.Root); err != nil || !left {
		t.Fatal(left, err)
	}
	for _, mode := range []troupe.Mode{"", troupe.ModeAcceptEdits} {
		if _, err := operator.Begin(t.Context(), wire.Begin{Resume: string(begun.Root), Prompt: "x",
			Permissions: wire.Permissions{Mode: mode}}); !refusedForRight(err) {
			t.Errorf("an operator goes on with it in mode %q: %v", mode, err)
		}
	}
	if err := operator.Stop(t.Context(), begun.Root, wire.Stop{}); err != nil {
		t.Errorf("an operator stops it: %v", err)
	}
	b.Mode = ""
	if begun, err = operator.Begin(t.Context(), b); err == nil {
		err = operator.Wait(t.Context(), begun.Root)
	}
	if err != nil {
		t.Errorf("an operator begins one that is confined: %v", err)
	}
	if left, err := operator.Leave(t.Context(), begun.Root); err != nil || !left {
		t.Fatal(left, err)
	}
	if _, err := operator.Begin(t.Context(), wire.Begin{Resume: string(begun.Root), Prompt: "x",
		Permissions: wire.Permissions{Mode: troupe.ModeBypass}}); !refusedForRight(err) {
		t.Errorf("an operator takes it out of the sandbox: %v", err)
	}
}

// TestServerAnswers: to what is asked in a tree outside of the sandbox operators say nothing; and to
// nothing that goes beyond do they say yes.
func TestServerAnswers(t *testing.T) {
	t.Parallel()
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const script = `replies:
  - turn: 1
    calls:
      - tool: AskUserQuestion
        input:
          questions:
            - question: which one?
              header: One
              options: [{label: a, description: x}, {label: b, description: y}]
  - text: done
`
	if err := errors.Join(os.MkdirAll(filepath.Join(real, ".git", "hooks"), 0o700),
		os.WriteFile(filepath.Join(real, "s.yaml"), []byte(script), 0o600)); err != nil {
		t.Fatal(err)
	}
	app := serverAt(t, t.TempDir(), real)
	admin, bob := app.As(userOf("ann", troupe.RightAdmin)), userOf("bob", troupe.RightOperator)
	operator := app.As(bob)
	begin := func(mode troupe.Mode) wire.Request {
		t.Helper()
		b, err := admin.Begin(t.Context(), wire.Begin{Prompt: "go", Cwd: real, Model: "script:s.yaml",
			AskMS: 60_000, Attended: true, Permissions: wire.Permissions{Mode: mode}})
		if err != nil {
			t.Fatal(err)
		}
		return asksFor(t, admin, b.Root)
	}
	q := begin(troupe.ModeBypass)
	for _, ans := range []wire.Answer{{Allow: true, Answers: []troupe.Said{{Choices: []string{"a"}}}},
		{Note: "do something else"}, {}} {
		if err := operator.Answer(t.Context(), q.ID, ans); !refusedForRight(err) {
			t.Errorf("an operator says %+v: %v", ans, err)
		}
	}
	q = begin("")
	if err := operator.Answer(t.Context(), q.ID, wire.Answer{Note: "do something else"}); err != nil {
		t.Errorf("an operator says no, and why, to one that is confined: %v", err)
	}
	hook := filepath.Join(real, ".git", "hooks", "x")
	write := func(path string) troupe.Attempt { return troupe.Attempt{Op: troupe.OpWrite, Path: path} }
	decided := func(d troupe.Decision) troupe.RequestBody { return troupe.RequestBody{Decision: d} }
	plain := filepath.Join(real, "x")
	for what, x := range map[string]struct {
		asks    troupe.RequestBody
		refused bool
	}{
		"a yes that opens the sandbox": {troupe.RequestBody{Opens: troupe.LevelNone}, true},
		"one that runs without it":     {decided(troupe.Decision{Sandbox: troupe.LevelNone}), true},
		"one to a protected file":      {decided(troupe.Decision{Protected: true}), true},
		"one that opens places":        {decided(troupe.Decision{Opens: []string{hook}}), true},
		"a command that wants a protected file": {troupe.RequestBody{Wants: []troupe.Attempt{write(plain),
			write(hook)}}, true},
		"one that wants a plain file": {troupe.RequestBody{Wants: []troupe.Attempt{write(plain)}}, false},
		"one that wants the network": {troupe.RequestBody{Wants: []troupe.Attempt{{Op: troupe.OpConnect,
			Path: hook}}}, false},
	} {
		x.asks.Decision.Sandbox = cmp.Or(x.asks.Decision.Sandbox, troupe.LevelWorkspace)
		x.asks.Opens = cmp.Or(x.asks.Opens, troupe.LevelWorkspace)
		err := requests{bound{app, bob}}.mayAnswer(t.Context(), troupe.Request{Root: q.Root, Session: q.Root,
			RequestBody: x.asks})
		if user, ok := errors.AsType[*troupe.UserError](err); ok != x.refused ||
			ok && user.Code != troupe.ExitPermission || !ok && err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestOutsideServer: where agents of a server write, and where those of a home that is none.
func TestOutsideServer(t *testing.T) {
	temp := outsideTemp(t)
	t.Setenv("TMPDIR", temp)
	home, in, work := outsideTemp(t), outsideTemp(t), outsideTemp(t)
	app := serverAt(t, home, in)
	at := &folder{at: session.Place{Cwd: in, Work: troupe.Workspace{Top: work}}}
	for path, may := range map[string]bool{
		in: true, filepath.Join(in, "x"): true, in + "x": false, filepath.Dir(in): false,
		filepath.Join(work, "x"): true, filepath.Join(app.dirs.Worktrees, "x"): true,
		filepath.Join(app.dirs.Data, "plans", "x.md"): true, filepath.Join(app.dirs.Data, "memory", "x.md"): true,
		filepath.Join(app.dirs.Home, ".claude", "agent-memory", "x.md"): true, filepath.Join(temp, "x"): true,
		"/dev/null": true, "/tmp/x": true, app.dirs.Data: false, filepath.Join(app.dirs.Home, ".bashrc"): false,
	} {
		if why := outsideServer(&guard{app: app}, at, path); (why == "") != may {
			t.Errorf("%s: %q", path, why)
		}
	}
	if why := outsideServer(&guard{app: app}, &folder{at: session.Place{Cwd: in}}, "x"); why == "" {
		t.Error("without a folder of its own an agent writes by a name that is none")
	}
	plain := openHome(t, outsideTemp(t))
	defer func() {
		if err := plain.Close(); err != nil {
			t.Error(err)
		}
	}()
	if why := outsideServer(&guard{app: plain}, at, filepath.Dir(in)); why != "" {
		t.Errorf("in a home that is no server: %q", why)
	}
}

// TestKeysAreOfTheirUser: words with a key are given once, and those of another user with the same key are others.
func TestKeysAreOfTheirUser(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte("replies: [{text: a}, {text: b}, {text: c}, "+
		"{text: d}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	admin, operator := serverIn(t, dir)
	b, err := operator.Begin(t.Context(), wire.Begin{Prompt: "go", Cwd: dir, Model: "script:s.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	wait := func() {
		t.Helper()
		if err := operator.Wait(t.Context(), b.Root); err != nil {
			t.Fatal(err)
		}
	}
	wait()
	ids := map[troupe.MailID]bool{}
	for _, a := range []api.API{operator, operator, admin} {
		sent, err := a.Send(t.Context(), b.Root, wire.Message{Text: "x", Spoken: wire.Spoken{Once: "k"}})
		if err != nil {
			t.Fatal(err)
		}
		ids[sent.Mail] = true
		wait()
	}
	if len(ids) != 2 {
		t.Errorf("given were %v", ids)
	}
	events, err := operator.Events(t.Context(), b.Root, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	heard := 0
	for _, e := range events {
		if m, ok := e.Body.(troupe.MailDelivered); ok {
			for _, x := range m.Mail {
				if x.Kind == troupe.MailPrompt {
					heard++
				}
			}
		}
	}
	if heard != 3 {
		t.Errorf("%d words were heard", heard)
	}
}

func refusedForRight(err error) bool {
	var user *troupe.UserError
	return errors.As(err, &user) && user.Code == troupe.ExitPermission &&
		strings.Contains(user.Problem, `takes the right "admin"`)
}

// TestServerMovedAway: a session whose folder is by now a link out of the server's folders goes on no more.
func TestServerMovedAway(t *testing.T) {
	t.Parallel()
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(real, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(real, "s.yaml"), []byte("replies: [{text: done}, {text: more}]\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	_, operator := serverIn(t, real)
	ctx := t.Context()
	begun, err := operator.Begin(ctx, wire.Begin{Prompt: "go", Cwd: sub,
		Model: "script:" + filepath.Join(real, "s.yaml")})
	if err == nil {
		err = operator.Wait(ctx, begun.Root)
	}
	if err != nil {
		t.Fatal(err)
	}
	if left, err := operator.Leave(context.WithoutCancel(ctx), begun.Root); err != nil || !left {
		t.Fatal(left, err)
	}
	if err := errors.Join(os.Remove(sub), os.Symlink(outsideTemp(t), sub)); err != nil {
		t.Fatal(err)
	}
	_, err = operator.Begin(ctx, wire.Begin{Resume: string(begun.Root), Prompt: "x"})
	if err == nil || !strings.Contains(err.Error(), "is in none of the server's folders any more") {
		t.Errorf("it goes on: %v", err)
	}
}

// TestMainIsYourOwn: at a server "main", and what goes on without a name, is the newest session that its user began.
func TestMainIsYourOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte("replies: [{text: done}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	admin, operator := serverIn(t, dir)
	begin := func(a api.API) troupe.SessionID {
		t.Helper()
		b, err := a.Begin(t.Context(), wire.Begin{Prompt: "go", Cwd: dir, Model: "script:s.yaml"})
		if err == nil {
			err = a.Wait(t.Context(), b.Root)
		}
		if err != nil {
			t.Fatal(err)
		}
		return b.Root
	}
	theirs := begin(operator)
	if _, err := admin.Find(t.Context(), "main", dir); !errors.Is(err, troupe.ErrNotFound) {
		t.Errorf("who began none has %v", err)
	}
	begin(admin)
	if s, err := operator.Find(t.Context(), "main", dir); err != nil || s.ID != theirs {
		t.Errorf("main is %s of %s, %v", s.ID, s.By, err)
	}
}

// TestServerFolderIsTheOneChecked: a name that leads out of a server's folders when it is read last begins nothing
// there, at once or by a schedule; and a folder that is swapped for a link behind that has none of what is trusted
// where the link leads.
func TestServerFolderIsTheOneChecked(t *testing.T) {
	t.Parallel()
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out, link := outsideTemp(t), filepath.Join(real, "sub")
	settings := filepath.Join(out, ".claude", "settings.json")
	if err := errors.Join(os.Symlink(out, link), os.Mkdir(filepath.Dir(settings), 0o700), os.WriteFile(settings,
		[]byte(`{"permissions":{"allow":["Edit"]}}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	open := func(in ...string) *App {
		a, err := Open(t.Context(), Env{
			Lookup: func(name string) (string, bool) { return home, name == "TROUPE_HOME" },
			Now:    time.Now, Log: slog.New(slog.DiscardHandler), Version: "test", Folders: in,
		})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	owner := open()
	p, err := readPolicy(owner, out, true)
	if err != nil || !p.trusted() {
		t.Fatal("the owner does not trust it", err)
	}
	if err := owner.Close(); err != nil {
		t.Fatal(err)
	}
	a := open(real)
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	operator := a.As(troupe.Caller{Name: "bob", Right: troupe.RightOperator, Surface: troupe.SurfaceServer})
	const outside = "is in none of these"
	b := wire.Begin{Prompt: "go", Cwd: link, Model: "script:s.yaml"}
	if _, err := operator.Begin(t.Context(), b); err == nil || !strings.Contains(err.Error(), outside) {
		t.Errorf("it begins: %v", err)
	}
	if _, err := operator.Server().Schedules().SetSchedule(t.Context(),
		wire.ScheduleTerms{Name: "x", When: wire.When{EveryMS: 3_600_000},
			Begin: b}); err == nil || !strings.Contains(err.Error(), outside) {
		t.Errorf("it is scheduled: %v", err)
	}
	if _, err := operator.Setup().Workspaces().Worktrees(t.Context(), wire.WorktreeQuery{Cwd: link}); err == nil ||
		!strings.Contains(err.Error(), outside) {
		t.Errorf("worktrees are listed: %v", err)
	}
	if p, err := a.policyOf(link); err == nil {
		t.Errorf("what stands there holds in its place, trusted: %v", p.trusted())
	}
}

// TestServerBypassHoldsEveryVerb: one who only operates sets nothing going in a session that no sandbox confines, or
// that has had none before it planned, by whatever verb. A verb that is new has to be put here.
func TestServerBypassHoldsEveryVerb(t *testing.T) {
	t.Parallel()
	// look, or end something
	free := strings.Fields("Wait Leave Remove Change Stop Sleep Requests Request Plans Turns PlanUndo")
	for _, noun := range []reflect.Type{reflect.TypeFor[api.Runs](), reflect.TypeFor[api.Steering](),
		reflect.TypeFor[api.Requests](), reflect.TypeFor[api.Undoing]()} {
		for m := range noun.Methods() {
			if _, held := heldVerbs()[m.Name]; !held && !slices.Contains(free, m.Name) {
				t.Errorf("%s is in neither list", m.Name)
			}
		}
	}
	for _, mode := range []troupe.Mode{troupe.ModeBypass, troupe.ModePlan} {
		real, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		const script = "replies:\n  - turn: 1\n    calls:\n      - tool: AskUserQuestion\n        input: {questions: " +
			"[{header: H, " +
			"question: Which?, default: A, options: [{label: A, description: a}, {label: B, description: b}]}]}\n  - " +
			"text: done\n"
		if err := os.WriteFile(filepath.Join(real, "s.yaml"), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		admin, operator := serverIn(t, real)
		begun, err := admin.Begin(t.Context(), wire.Begin{Prompt: "go", Cwd: real, Model: "script:s.yaml",
			AskMS:    60_000,
			Attended: true, Permissions: wire.Permissions{Mode: troupe.ModeBypass}})
		if err != nil {
			t.Fatal(err)
		}
		q := asksFor(t, admin, begun.Root)
		if mode == troupe.ModePlan {
			if err := admin.SetMode(t.Context(), begun.Root, mode); err != nil {
				t.Fatal(err)
			}
			untilMode(t, admin, begun.Root, mode)
		}
		for name, does := range heldVerbs() {
			for i, do := range does {
				if err := do(t.Context(), operator, begun.Root, q.ID); !refusedForRight(err) {
					t.Errorf("%s: %s %d: %v", mode, name, i, err)
				}
			}
		}
		if err := operator.Stop(t.Context(), begun.Root, wire.Stop{Now: true, Tree: true}); err != nil {
			t.Error(err)
		}
		if err := operator.Wait(t.Context(), begun.Root); err != nil {
			t.Error(err)
		}
	}
}

type verb = func(ctx context.Context, a api.API, id troupe.SessionID, request string) error

// heldVerbs are those that set something going, each in the ways that there are.
func heldVerbs() map[string][]verb {
	send := func(m wire.Message) verb {
		return func(ctx context.Context, a api.API, id troupe.SessionID, _ string) error {
			_, err := a.Send(ctx, id, m)
			return err
		}
	}
	answer := func(ans wire.Answer) verb {
		return func(ctx context.Context, a api.API, _ troupe.SessionID, q string) error { return a.Answer(ctx, q, ans) }
	}
	begin := func(b wire.Begin) verb {
		return func(ctx context.Context, a api.API, id troupe.SessionID, _ string) error {
			b.Resume = string(id)
			_, err := a.Begin(ctx, b)
			return err
		}
	}
	undo := func(o wire.UndoOrder) verb {
		return func(ctx context.Context, a api.API, id troupe.SessionID, _ string) error {
			_, err := a.Undo(ctx, id, o)
			return err
		}
	}
	return map[string][]verb{
		"Begin": {begin(wire.Begin{Prompt: "x"}), begin(wire.Begin{Taking: wire.Taking{Wake: true}}),
			begin(wire.Begin{Idle: true})},
		"Send": {send(wire.Message{Text: "x"}), send(wire.Message{Text: "x", Fork: true})},
		"Answer": {answer(wire.Answer{Allow: true}), answer(wire.Answer{Note: "do x"}),
			answer(wire.Answer{Allow: true, Answers: []troupe.Said{{Text: "do x"}}})},
		"Background": {func(ctx context.Context, a api.API, id troupe.SessionID, _ string) error {
			return a.Background(ctx, id)
		}},
		"Compact": {func(ctx context.Context, a api.API, id troupe.SessionID, _ string) error {
			return a.Compact(ctx, id, "do x")
		}},
		"SetModel": {func(ctx context.Context, a api.API, id troupe.SessionID, _ string) error {
			_, err := a.SetModel(ctx, id, "script:s.yaml")
			return err
		}},
		"SetMode": {func(ctx context.Context, a api.API, id troupe.SessionID, _ string) error {
			return a.SetMode(ctx, id, troupe.ModeBypass)
		}},
		"Undo": {undo(wire.UndoOrder{Plan: "x"}), undo(wire.UndoOrder{Redo: true})},
	}
}

// untilMode waits until a session has a mode.
func untilMode(t *testing.T, a api.API, root troupe.SessionID, mode troupe.Mode) {
	t.Helper()
	for ctx := t.Context(); ctx.Err() == nil; {
		events, err := a.Follow(ctx, wire.Follow{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		batch, err := events.Next(ctx)
		events.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range batch.Events {
			if b, ok := e.Body.(troupe.AuthorityChanged); ok && b.Authority.Mode == mode &&
				b.Authority.Planning != nil {
				return
			}
		}
		<-time.After(10 * time.Millisecond) // another goroutine changes it
	}
}

// TestServerRulesAreBounded: no rule of an operator, however it is spelled, and whether it came with a run, a
// schedule's or one that goes on, lets an agent write what holds for later sessions: that is asked about, and the yes
// is an admin's. An admin's rule does.
func TestServerRulesAreBounded(t *testing.T) {
	t.Parallel()
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	admin, operator := serverIn(t, real)
	file := filepath.Join(real, ".envrc")
	script := fmt.Sprintf("replies:\n  - turn: 1\n    calls: [{tool: Write, input: {file_path: %q, content: x}}]\n  - "+
		"text: done\n", file)
	if err := os.WriteFile(filepath.Join(real, "s.yaml"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	b := wire.Begin{Prompt: "go", Cwd: real, Model: "script:s.yaml", AskMS: 60_000,
		Permissions: wire.Permissions{Allow: []string{"Edit({.envrc,zz})"}}}
	begun, err := operator.Begin(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	q := asksFor(t, operator, begun.Root)
	if err := operator.Answer(t.Context(), q.ID, wire.Answer{Allow: true, Session: true}); !refusedForRight(err) {
		t.Errorf("an operator's yes: %v", err)
	}
	if err := admin.Answer(t.Context(), q.ID, wire.Answer{Allow: true}); err != nil {
		t.Error(err)
	}
	if err := operator.Wait(t.Context(), begun.Root); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Error(err)
	}
	if begun, err = admin.Begin(t.Context(), b); err == nil {
		err = admin.Wait(t.Context(), begun.Root)
	}
	if _, gone := os.Stat(file); err != nil || gone != nil {
		t.Errorf("an admin's rule: %v, %v", err, gone)
	}
}

// TestOperatorIsNotOfferedAlways: a request says to those who may not have a rule kept that they may not.
func TestOperatorIsNotOfferedAlways(t *testing.T) {
	t.Parallel()
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	admin, operator := serverIn(t, real)
	script := "replies:\n  - turn: 1\n    calls: [{tool: Write, input: {file_path: a.txt, content: x}}]\n  - text: " +
		"done\n"
	if err := os.WriteFile(filepath.Join(real, "s.yaml"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	begun, err := admin.Begin(t.Context(), wire.Begin{Prompt: "go", Cwd: real, Model: "script:s.yaml", AskMS: 60_000})
	if err != nil {
		t.Fatal(err)
	}
	for who, a := range map[bool]api.API{true: operator, false: admin} {
		if q := asksFor(t, a, begun.Root); q.Grant == "" || q.NoAlways != who {
			t.Errorf("it is told %+v", q)
		}
	}
	if err := operator.Answer(t.Context(), asksFor(t, admin, begun.Root).ID, wire.Answer{Allow: true}); err != nil {
		t.Error(err)
	}
	if err := operator.Wait(t.Context(), begun.Root); err != nil {
		t.Error(err)
	}
}

// TestServerUnconfinedCalls: a yes to what an MCP server outside of the sandbox does is an admin's.
func TestServerUnconfinedCalls(t *testing.T) {
	t.Parallel()
	for right, may := range map[troupe.Right]bool{troupe.RightAdmin: true, troupe.RightOperator: false} {
		r := requests{bound{caller: troupe.Caller{Right: right}}}
		q := troupe.Request{RequestBody: troupe.RequestBody{Decision: troupe.Decision{Unconfined: true}}}
		if err := r.mayAnswer(t.Context(), q); refusedForRight(err) == may {
			t.Errorf("it may: %t, and is told %v", may, err)
		}
	}
}

// TestFilesAsModels: no agent's call and no definition of a project has a file read as a model, at a server and without
// one, so that no hidden file is told in what is wrong with it. What a server says of one tells nothing of it.
func TestFilesAsModels(t *testing.T) {
	t.Parallel()
	const secret = "TOKEN=qX7vLp92"
	for _, served := range []bool{false, true} {
		real, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		env := filepath.Join(real, ".env")
		agents := filepath.Join(real, ".claude", "agents")
		if err := os.MkdirAll(agents, 0o700); err != nil {
			t.Fatal(err)
		}
		calls := ""
		for _, m := range []string{"script:.env", "script/" + env, " script/" + env, "workflow/script/" + env} {
			calls += fmt.Sprintf("      - {tool: Agent, input: {description: d, prompt: p, model: %q}}\n", m)
		}
		calls += "      - {tool: Agent, input: {description: d, prompt: p, subagent_type: leak}}\n"
		for name, text := range map[string]string{env: secret, filepath.Join(agents, "leak.md"): "---\nname: leak\n" +
			"description: d\nmodel: script:.env\n---\nx\n", filepath.Join(real,
			"s.yaml"): "replies:\n  - agent: main\n    " +
			"turn: 1\n    calls:\n" + calls + "  - text: done\n"} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var folders []string
		if served {
			folders = []string{real}
		}
		a := serverAt(t, t.TempDir(), folders...)
		admin, operator := a.As(userOf("ann", troupe.RightAdmin)), a.As(userOf("bob", troupe.RightOperator))
		ctx := t.Context()
		begun, err := admin.Begin(ctx, wire.Begin{Prompt: "go", Cwd: real, Model: "script:s.yaml"})
		if err == nil {
			err = admin.Wait(ctx, begun.Root)
		}
		if err != nil {
			t.Fatal(err)
		}
		tree, err := admin.Tree(ctx, begun.Root)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range tree.Sessions {
			if told := logOf(t, admin, s.ID); strings.Contains(told, "qX7") || strings.Contains(s.Model, ".env") {
				t.Errorf("served %t: %s has the model %s and is told %.2000s", served, s.ID, s.Model, told)
			}
		}
		if told := logOf(t, admin, begun.Root); strings.Count(told, "a file is a model only where") < 4 {
			t.Errorf("served %t: it is not told why: %.3000s", served, told)
		}
		if !served {
			continue
		}
		_, err = operator.Begin(ctx, wire.Begin{Prompt: "go", Cwd: real, Role: wire.Role{Agent: "leak"}})
		if err == nil || strings.Contains(err.Error(), "qX7") || strings.Contains(err.Error(), "script") {
			t.Errorf("a project's definition: %v", err)
		}
		_, err = admin.Begin(ctx, wire.Begin{Prompt: "go", Cwd: real, Model: "script:.env"})
		if err == nil || strings.Contains(err.Error(), "qX7") {
			t.Errorf("an admin: %v", err)
		}
	}
}

// logOf is the log of a session, as JSON.
func logOf(t *testing.T, a api.API, id troupe.SessionID) string {
	t.Helper()
	stream, err := a.Follow(t.Context(), wire.Follow{Root: id, Only: id})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	batch, err := stream.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(batch.Events)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
