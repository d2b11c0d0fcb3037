package router_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/api/apitest"
	"github.com/troupe-dev/troupe/internal/api/router"
	"github.com/troupe-dev/troupe/internal/client"
	"github.com/troupe-dev/troupe/internal/httpd"
	"github.com/troupe-dev/troupe/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// home is a home with one tree. trees are what it shows of it, one look after the other.
type home struct {
	*apitest.World
	trees []wire.Tree
}

func (h *home) Tree(ctx context.Context, id troupe.SessionID) (wire.Tree, error) {
	t, err := h.World.Tree(ctx, id)
	t.Running, t.Here, t.Owner = h.trees[0].Running, h.trees[0].Here, h.trees[0].Owner
	if len(h.trees) > 1 {
		h.trees = h.trees[1:]
	}
	return t, err
}

// Wait and Leave are for the process that runs the tree, which knows that of itself.
func (h *home) Wait(ctx context.Context, root troupe.SessionID) error {
	if !h.trees[0].Here {
		return troupe.ErrFenced
	}
	return h.World.Wait(ctx, root)
}

func (h *home) Leave(ctx context.Context, root troupe.SessionID) (bool, error) {
	if !h.trees[0].Here {
		return false, troupe.ErrFenced
	}
	return h.World.Leave(ctx, root)
}

func running(socket string) wire.Tree {
	return wire.Tree{Running: true, Owner: wire.Owner{PID: 7, Host: "here", Socket: socket}}
}

func dial(socket string) router.Peer { return client.Dial(socket) }

// serve puts a World on a socket.
func serve(t *testing.T, w *apitest.World) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.sock")
	t.Cleanup(serveAt(t)(w, path))
	return path
}

func serveAt(t *testing.T) func(w *apitest.World, path string) (stop func()) {
	return func(w *apitest.World, path string) func() {
		s, err := httpd.Serve(t.Context(), path, w.As, httpd.Options{Temp: os.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		return sync.OnceFunc(func() {
			if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFaults breaks the connection to the process that runs the tree.
func TestFaults(t *testing.T) {
	t.Parallel()
	apitest.Faults(t, serveAt(t), func(w *apitest.World, socket string) api.API {
		return router.New(&home{w, []wire.Tree{running(socket)}}, dial, "")
	})
}

// serving is an api whose server is asked of another one: that of agents' commands is not to be changed.
type serving struct {
	api.API
	other api.API
}

// Setup pushes by the other one too.
func (s serving) Setup() api.Setup { return pushing{s.API.Setup(), s.other} }

type pushing struct {
	api.Setup
	other api.API
}

func (s pushing) Workspaces() api.Workspaces {
	return workspaces{s.Setup.Workspaces(), s.other.Setup().Workspaces()}
}

type workspaces struct {
	api.Workspaces
	other api.Workspaces
}

func (w workspaces) PushWorktree(ctx context.Context, p wire.WorktreePush) (wire.PushedWorktree, error) {
	return w.other.PushWorktree(ctx, p)
}

func (s serving) Server() api.Server { return s.other.Server() }

// TestHere: what the home holds itself is asked of it.
func TestHere(t *testing.T) {
	t.Parallel()
	w := apitest.New()
	a := router.New(w, dial, "7k3f00000000")
	apitest.Conform(t, w, serving{a, router.New(w, dial, "")})
	w = apitest.New()
	apitest.Streams(t, w, router.New(w, dial, ""))
}

// TestPlaces: what is said to a session arrives once, where its tree can be acted on.
func TestPlaces(t *testing.T) {
	t.Parallel()
	there := apitest.New()
	socket := serve(t, there)
	gone := filepath.Join(t.TempDir(), "gone.sock")
	for _, x := range []struct {
		name        string
		trees       []wire.Tree
		here, there int // how many messages arrive
		err         string
	}{
		{name: "nobody runs it", trees: []wire.Tree{{}}, here: 1},
		{name: "a dead process's socket", trees: []wire.Tree{{Owner: wire.Owner{Socket: gone}}}, here: 1},
		{name: "a process runs it", trees: []wire.Tree{running(socket)}, there: 1},
		{name: "this process runs it", trees: []wire.Tree{{Running: true, Here: true, Owner: wire.Owner{Socket: gone}}},
			here: 1},
		{name: "it serves nothing", trees: []wire.Tree{running("")}, here: 1},
		{name: "it ends just now", trees: []wire.Tree{running(gone), {}}, here: 1},
		{name: "it has ended, and lets go later", trees: append(slices.Repeat([]wire.Tree{running(gone)}, 9),
			wire.Tree{}),
			here: 1},
		{name: "another takes over", trees: []wire.Tree{running(gone), running(socket)}, there: 1},
		{name: "it does not answer", trees: []wire.Tree{running(gone)},
			err: "process 7 on here runs session 7k3f00000000, but it does not answer"},
	} {
		h := &home{apitest.New(), x.trees}
		before := len(there.Calls())
		_, err := router.New(h, dial, "").Send(t.Context(), apitest.Root, wire.Message{Text: "x"})
		if n := len(h.Calls()); n != x.here {
			t.Errorf("%s: %d messages in the home, want %d", x.name, n, x.here)
		}
		if n := len(there.Calls()) - before; n != x.there {
			t.Errorf("%s: %d messages in the process, want %d", x.name, n, x.there)
		}
		if (err == nil) != (x.err == "") || err != nil && (!strings.Contains(err.Error(), x.err) ||
			!errors.Is(err, api.ErrUnreachable)) {
			t.Errorf("%s: %v, want %q", x.name, err, x.err)
		}
	}
}

// TestFollowsHome: who wants pieces of replies is told, before anything else, that the process which has them is not
// there: it may have ended since it was seen.
func TestFollowsHome(t *testing.T) {
	t.Parallel()
	for _, tree := range []wire.Tree{{}, running("")} {
		w := apitest.New()
		s, err := router.New(&home{w, []wire.Tree{tree}}, dial, "").Follow(t.Context(),
			wire.Follow{Root: apitest.Root, Deltas: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if b, err := s.Next(t.Context()); err != nil || len(b.Events)+len(b.Deltas) > 0 {
			t.Errorf("running %v: the first batch is %+v, %v", tree.Running, b, err)
		}
		if b, err := s.Next(t.Context()); err != nil || len(b.Events) == 0 {
			t.Errorf("running %v: then %+v, %v", tree.Running, b, err)
		}
	}
}

// TestStopOfNobody: a stop that waited in the home would end the run of the process that goes on
// with the tree, so none is left there.
func TestStopOfNobody(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{true, false} {
		h := &home{apitest.New(), []wire.Tree{{Running: running}}}
		err := router.New(h, dial, "").Stop(t.Context(), apitest.Root, wire.Stop{Now: true})
		if n := len(h.Calls()); err != nil || n > 0 != running {
			t.Errorf("running %v: %d stops, %v", running, n, err)
		}
	}
}

// TestWrites: every verb that says something to a session goes to the process that runs it, and to
// the home for no agent's command.
func TestWrites(t *testing.T) {
	t.Parallel()
	there := apitest.New()
	socket := serve(t, there)
	calls := map[string]func(context.Context, api.API) error{
		"Send": func(ctx context.Context, a api.API) error {
			_, err := a.Send(ctx, apitest.Child, wire.Message{Text: "x"})
			return err
		},
		"Stop":       func(ctx context.Context, a api.API) error { return a.Stop(ctx, apitest.Child, wire.Stop{}) },
		"Background": func(ctx context.Context, a api.API) error { return a.Background(ctx, apitest.Child) },
		"Sleep": func(ctx context.Context, a api.API) error {
			_, err := a.Sleep(ctx, apitest.Root, wire.Sleep{WithinMS: 1})
			return err
		},
		"Compact": func(ctx context.Context, a api.API) error { return a.Compact(ctx, apitest.Root, "") },
		"SetMode": func(ctx context.Context, a api.API) error {
			return a.SetMode(ctx, apitest.Root,
				troupe.ModePlan)
		},
		"SetModel": func(ctx context.Context, a api.API) error {
			_,
				err := a.SetModel(ctx, apitest.Child, "x")
			return err
		},
		"Wait":   func(ctx context.Context, a api.API) error { return a.Wait(ctx, apitest.Root) },
		"Leave":  func(ctx context.Context, a api.API) error { _, err := a.Leave(ctx, apitest.Root); return err },
		"Answer": func(ctx context.Context, a api.API) error { return a.Answer(ctx, "", wire.Answer{}) },
	}
	for m := range reflect.TypeFor[api.Steering]().Methods() {
		if calls[m.Name] == nil {
			t.Errorf("%s is a verb that steers, and is not tried here", m.Name)
		}
	}
	for name, call := range calls {
		h := &home{apitest.New(), []wire.Tree{running(socket)}}
		before := len(there.Calls())
		if err := call(t.Context(), router.New(h, dial, "")); err != nil || len(h.Calls()) > 0 ||
			len(there.Calls()) != before+1 {
			t.Errorf("%s: %v, %v in the home, %d over there", name, err, h.Calls(), len(there.Calls())-before)
		}
		h.trees = []wire.Tree{{}}
		var user *troupe.UserError
		err := call(t.Context(), router.New(h, dial, "7k3f00000000"))
		if !errors.As(err, &user) || user.Code != 3 || len(h.Calls()) > 0 {
			t.Errorf("%s of an agent's command: %v, %v in the home", name, err, h.Calls())
		}
	}
}

// TestLooks: who runs a tree, and whether it hangs, is nothing to those who only look.
func TestLooks(t *testing.T) {
	t.Parallel()
	h := &home{apitest.New(), []wire.Tree{running(filepath.Join(t.TempDir(), "hangs.sock"))}}
	a := router.New(h, dial, "")
	if _, err := a.Report(t.Context(), apitest.Root); err != nil {
		t.Error(err)
	}
	if _, err := a.Tasks(t.Context(), ""); err != nil {
		t.Error(err)
	}
	s, err := a.Follow(t.Context(), wire.Follow{Root: apitest.Root})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if events, err := s.Rest(t.Context()); err != nil || len(events) != 3 {
		t.Errorf("%v, %v", events, err)
	}
}

// TestTakenFrom: a process that waits for a session which another one has by now says so, whether that one answers or
// not.
func TestTakenFrom(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "gone.sock")
	a := router.New(&home{apitest.New(), []wire.Tree{running(gone)}}, dial, "")
	_, left := a.Leave(t.Context(), apitest.Root)
	for name, err := range map[string]error{"wait": a.Wait(t.Context(), apitest.Root), "leave": left} {
		if !errors.Is(err, troupe.ErrFenced) || !errors.Is(err, api.ErrUnreachable) ||
			!strings.Contains(err.Error(), "another process has session 7k3f00000000 now: process 7 on here") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOnce: what may have been done is not done again.
func TestOnce(t *testing.T) {
	t.Parallel()
	n := 0
	broken := errors.New("cut off in the middle")
	h := &home{apitest.New(), []wire.Tree{running("/nowhere")}}
	err := router.New(h, func(string) router.Peer { return &breaks{n: &n, err: broken} }, "").Stop(t.Context(),
		apitest.Root, wire.Stop{})
	if n != 1 || !errors.Is(err, broken) {
		t.Errorf("called %d times: %v", n, err)
	}
}

type breaks struct {
	api.API
	n   *int
	err error
}

func (b *breaks) Stop(context.Context, troupe.SessionID, wire.Stop) error { *b.n++; return b.err }
func (b *breaks) Close()                                                  {}
func (b *breaks) Ping(context.Context) error                              { return nil }

// TestSchedulesOfAgents: a command that an agent has started has nothing begin by itself, and changes none that does,
// but may look.
func TestSchedulesOfAgents(t *testing.T) {
	t.Parallel()
	w := apitest.New()
	all := router.New(w, dial, "7k3f00000000").Server().Schedules()
	_, set := all.SetSchedule(t.Context(), wire.ScheduleTerms{Name: "n"})
	_, ran := all.RunSchedule(t.Context(), "n")
	_, paused := all.PauseSchedule(t.Context(), "n", wire.SchedulePause{})
	for _, err := range []error{set, ran, paused, all.RemoveSchedule(t.Context(), "n")} {
		if user, ok := errors.AsType[*troupe.UserError](err); !ok || user.Code != troupe.ExitPermission ||
			len(w.Calls()) > 0 {
			t.Errorf("%v, %v", err, w.Calls())
		}
	}
	if one, err := all.Schedule(t.Context(), "n"); err != nil || one.Name != "n" {
		t.Error(one, err)
	}
	if list, err := all.Schedules(t.Context()); err != nil || len(list) != 1 {
		t.Error(list, err)
	}
}

// TestWebhooksOfAgents: a command that an agent has started makes no webhook and changes none, but may look.
func TestWebhooksOfAgents(t *testing.T) {
	t.Parallel()
	w := apitest.New()
	all := router.New(w, dial, "7k3f00000000").Server().Webhooks()
	_, set := all.SetWebhook(t.Context(), wire.WebhookTerms{Name: "n"})
	_, paused := all.PauseWebhook(t.Context(), "n", wire.WebhookPause{})
	for _, err := range []error{set, paused, all.RemoveWebhook(t.Context(), "n")} {
		if user, ok := errors.AsType[*troupe.UserError](err); !ok || user.Code != troupe.ExitPermission ||
			len(w.Calls()) > 0 {
			t.Errorf("%v, %v", err, w.Calls())
		}
	}
	if one, err := all.Webhook(t.Context(), "n"); err != nil || one.Name != "n" {
		t.Error(one, err)
	}
	if list, err := all.Webhooks(t.Context()); err != nil || len(list) != 1 {
		t.Error(list, err)
	}
}

// TestServersOfAgents: a command that an agent has started changes nothing of who may use a server and of what runs its
// sessions, but may look.
func TestServersOfAgents(t *testing.T) {
	t.Parallel()
	w := apitest.New()
	s := router.New(w, dial, "7k3f00000000").Server()
	_, set := s.People().SetUser(t.Context(), wire.UserChange{Name: "eve", New: true})
	for name, err := range map[string]error{
		"SetUser": set, "Revoke": s.People().Revoke(t.Context(), wire.Revoke{}),
		"Drain": s.Hosting().Drain(t.Context(), wire.Drain{}), "Pause": s.Hosting().Pause(t.Context(), wire.Pause{}),
	} {
		if user, ok := errors.AsType[*troupe.UserError](err); !ok || user.Code != troupe.ExitPermission ||
			len(w.Calls()) > 0 {
			t.Errorf("%s: %v, %v", name, err, w.Calls())
		}
	}
	if _, err := s.People().Users(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Hosting().Hosted(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestNothingOfServersIsChanged: whatever the parts of a server can do besides looking is refused to a command that an
// agent has started, what comes to them later too.
func TestNothingOfServersIsChanged(t *testing.T) {
	t.Parallel()
	w := apitest.New()
	s := reflect.ValueOf(router.New(w, dial, "7k3f00000000").Server())
	gets := map[string]bool{}
	for _, r := range wire.Routes() {
		gets[r.ID] = r.Method == http.MethodGet
	}
	word := regexp.MustCompile("[A-Z][a-z]*")
	refused := 0
	for i := range s.NumMethod() {
		if m := s.Method(i).Type(); m.NumIn() != 0 || m.NumOut() != 1 || m.Out(0).Kind() != reflect.Interface {
			continue // one of its own, which tests of it hold
		}
		part := s.Method(i).Call(nil)[0].Elem()
		for j := range part.NumMethod() {
			name, m := part.Type().Method(j).Name, part.Method(j)
			id := strings.ToLower(strings.Join(word.FindAllString(name, -1), "-"))
			looks, known := gets[id]
			if !known {
				t.Errorf("%s has no route %s", name, id)
			}
			in := []reflect.Value{reflect.ValueOf(t.Context())}
			for k := 1; k < m.Type().NumIn(); k++ {
				in = append(in, reflect.Zero(m.Type().In(k)))
			}
			out := m.Call(in)
			err, _ := out[len(out)-1].Interface().(error)
			user, ok := errors.AsType[*troupe.UserError](err)
			if is := ok && user.Code == troupe.ExitPermission; is == looks {
				t.Errorf("%s, which looks: %t; refused: %t", name, looks, is)
			} else if is {
				refused++
			}
		}
	}
	if refused < 12 || len(w.Calls()) > 0 {
		t.Errorf("%d are refused; done was %v", refused, w.Calls())
	}
}

// TestMergesOfAgents: a command that an agent has started merges nothing and removes no worktree, but may look.
func TestMergesOfAgents(t *testing.T) {
	t.Parallel()
	w := apitest.New()
	a := router.New(w, dial, "7k3f00000000").Setup().Workspaces()
	q := wire.WorktreeQuery{Name: "fixer"}
	for name, call := range map[string]func(dry bool) error{
		"merge": func(dry bool) error {
			_, err := a.MergeWorktree(t.Context(), wire.WorktreeMerge{WorktreeQuery: q, DryRun: dry})
			return err
		},
		"prune": func(dry bool) error {
			_, err := a.PruneWorktrees(t.Context(), wire.WorktreePrune{DryRun: dry})
			return err
		},
	} {
		before := len(w.Calls())
		var user *troupe.UserError
		if err := call(false); !errors.As(err, &user) || user.Code != troupe.ExitPermission ||
			len(w.Calls()) != before {
			t.Errorf("%s: %v, %v", name, err, w.Calls())
		}
		if err := call(true); err != nil || len(w.Calls()) != before+1 {
			t.Errorf("%s, tried: %v", name, err)
		}
	}
	before := len(w.Calls())
	var user *troupe.UserError
	if _, err := a.PushWorktree(t.Context(), wire.WorktreePush{WorktreeQuery: q}); !errors.As(err, &user) ||
		user.Code != troupe.ExitPermission || len(w.Calls()) != before {
		t.Errorf("push: %v, %v", err, w.Calls())
	}
	if _, err := a.Worktrees(t.Context(), q); err != nil {
		t.Error(err)
	}
}
