package apitest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/api"
	"github.com/troupe-dev/troupe/internal/wire"
)

// Absent is no session of a World.
const Absent troupe.SessionID = "zzzz00000000"

// ask is one question to an api. verb is the method it is a question of.
type ask struct {
	verb string
	call func(context.Context, api.API) (any, error)
}

// asks has at least one for every verb, and one for every kind of failure.
func asks() []ask {
	nothing := func(err error) (any, error) { return nil, err }
	var out []ask
	add := func(verb string, call func(context.Context, api.API) (any, error)) {
		out = append(out, ask{verb, call})
	}
	for _, ref := range []string{string(Root), "9m2", "main/Auth Explorer", "../a?b#c%2F/..", "..", "none"} {
		add("Find", func(ctx context.Context, a api.API) (any, error) { return a.Find(ctx, ref, "") })
	}
	for _, cwd := range []string{"/src", "/else&where=1"} {
		add("Find", func(ctx context.Context, a api.API) (any, error) { return a.Find(ctx, "main", cwd) })
	}
	for _, l := range []wire.Listing{{}, {Cwd: "/src", Limit: 7}, {Cwd: "/else"}, {QuietMS: 1500}, {Archived: true},
		{Parent: Root, Status: troupe.Waiting, By: "ann & bob", Text: "a?b", After: Child}} {
		add("List", func(ctx context.Context, a api.API) (any, error) { return a.List(ctx, l) })
	}
	for _, id := range []troupe.SessionID{Root, Child, Absent} {
		add("Tree", func(ctx context.Context, a api.API) (any, error) { return a.Tree(ctx, id) })
		add("Team", func(ctx context.Context, a api.API) (any, error) { return a.Team(ctx, id) })
		add("Report", func(ctx context.Context, a api.API) (any, error) { return a.Report(ctx, id) })
		add("Cost", func(ctx context.Context, a api.API) (any, error) { return a.Cost(ctx, id) })
		add("Context", func(ctx context.Context, a api.API) (any, error) { return a.Context(ctx, id) })
		add("Tasks", func(ctx context.Context, a api.API) (any, error) { return a.Tasks(ctx, id) })
		add("Events", func(ctx context.Context, a api.API) (any, error) { return a.Events(ctx, id, 0, 0) })
		add("Requests", func(ctx context.Context, a api.API) (any, error) { return a.Requests(ctx, id) })
		add("Wait", func(ctx context.Context, a api.API) (any, error) { return nothing(a.Wait(ctx, id)) })
		add("Leave", func(ctx context.Context, a api.API) (any, error) { return a.Leave(ctx, id) })
		add("Remove", func(ctx context.Context, a api.API) (any, error) { return nothing(a.Remove(ctx, id)) })
		for _, c := range []wire.SessionChange{{Rename: "a<b>", Title: "t & u"}, {Archive: true}, {Unarchive: true}} {
			add("Change", func(ctx context.Context, a api.API) (any, error) { return a.Change(ctx, id, c) })
		}
		add("Stop", func(ctx context.Context, a api.API) (any, error) {
			return nothing(a.Stop(ctx, id, wire.Stop{Now: true, Tree: true}))
		})
		add("Background", func(ctx context.Context, a api.API) (any, error) { return nothing(a.Background(ctx, id)) })
		add("Sleep", func(ctx context.Context, a api.API) (any, error) {
			return a.Sleep(ctx, id, wire.Sleep{WithinMS: 7})
		})
		add("Compact", func(ctx context.Context, a api.API) (any,
			error) {
			return nothing(a.Compact(ctx, id, "keep the plan"))
		})
		add("SetMode", func(ctx context.Context, a api.API) (any,
			error) {
			return nothing(a.SetMode(ctx, id, troupe.ModePlan))
		})
		add("SetModel", func(ctx context.Context, a api.API) (any, error) { return a.SetModel(ctx, id, "x/<y>") })
		add("Turns", func(ctx context.Context, a api.API) (any, error) { return a.Turns(ctx, id) })
		add("PlanUndo", func(ctx context.Context, a api.API) (any, error) {
			return a.PlanUndo(ctx, id, wire.UndoOrder{Turn: 3, Redo: true})
		})
		add("Undo", func(ctx context.Context, a api.API) (any, error) {
			return a.Undo(ctx, id, wire.UndoOrder{Plan: "p", Force: true})
		})
		add("Send", func(ctx context.Context, a api.API) (any, error) {
			return a.Send(ctx, id, wire.Message{
				Text: "look at <a> & \u2028b\x00", Cancel: true,
				Spoken: wire.Spoken{Images: []troupe.Image{{MediaType: "image/png", Data: []byte{0, 255}}},
					Read: []troupe.FileTouch{{Path: "/a", Hash: "h"}}, Once: "a key"},
			})
		})
	}
	add("Events", func(ctx context.Context, a api.API) (any, error) { return a.Events(ctx, Root, 1, 1) })
	add("Tasks", func(ctx context.Context, a api.API) (any, error) { return a.Tasks(ctx, "") })
	add("Stop", func(ctx context.Context, a api.API) (any, error) { return nothing(a.Stop(ctx, Root, wire.Stop{})) })
	add("Compact", func(ctx context.Context, a api.API) (any, error) { return nothing(a.Compact(ctx, Root, "")) })
	for _, b := range []wire.Begin{
		{Resume: "gone"},
		{
			Prompt: "do <it>", Cwd: "/src",
			Spoken: wire.Spoken{Typed: new("do"), Once: "k<1>",
				Images: []troupe.Image{{MediaType: "image/png", Data: []byte{1}}}},
			Name: "n", Idle: true,
			Permissions: wire.Permissions{Mode: troupe.ModePlan, Allow: []string{"Read"}, Deny: []string{"Bash"},
				Trust: true},
			Model: "m", Fallback: "f", MaxTurns: 1, MaxUSD: 0.25, MaxTokens: 2, MaxMS: 3,
			Role: wire.Role{Agent: "a", AppendText: "t", Agents: "{}"}, AskMS: 4,
		},
	} {
		add("Begin", func(ctx context.Context, a api.API) (any, error) { return a.Begin(ctx, b) })
	}
	for _, cwd := range []string{"", "/src & more"} {
		add("Untrusted", func(ctx context.Context, a api.API) (any, error) { return a.Untrusted(ctx, cwd) })
		add("Models", func(ctx context.Context, a api.API) (any, error) { return a.Machine().Models(ctx, cwd) })
		add("Model", func(ctx context.Context, a api.API) (any, error) { return a.Machine().Model(ctx, "a/b", cwd) })
		add("Plans", func(ctx context.Context, a api.API) (any, error) { return a.Plans(ctx, cwd) })
		add("Doctor", func(ctx context.Context, a api.API) (any, error) { return a.Machine().Doctor(ctx, cwd) })
	}
	add("Model", func(ctx context.Context, a api.API) (any, error) { return a.Machine().Model(ctx, "none", "") })
	add("Trust", func(ctx context.Context, a api.API) (any, error) {
		return nothing(a.Trust(ctx, wire.Trust{Cwd: "/a", Folder: "/b", Hash: "c"}))
	})
	place := wire.Place{Cwd: "/src", Permissions: wire.Permissions{Mode: troupe.ModePlan, Allow: []string{"Edit(<a>)"},
		Trust: true}, Agents: "{}"}
	add("Agents", func(ctx context.Context, a api.API) (any, error) {
		return a.Machine().Agents(ctx, wire.AgentQuery{Place: place, Check: true, Paths: []string{"a.md"}})
	})
	add("Skills", func(ctx context.Context, a api.API) (any, error) {
		return a.Skills(ctx, wire.SkillQuery{Place: place, Name: "x", Check: true, Paths: []string{"a.md"}})
	})
	add("Workflows", func(ctx context.Context, a api.API) (any, error) {
		return a.Workflows(ctx, wire.WorkflowQuery{Place: place, Name: "x", Paths: []string{"a.yaml"}, Begin: true,
			Inputs: map[string]string{"a": "b"}})
	})
	add("Agent", func(ctx context.Context, a api.API) (any, error) {
		return a.Machine().Agent(ctx, wire.AgentName{Place: place, Name: "Explore"})
	})
	add("Hooks", func(ctx context.Context, a api.API) (any, error) {
		return a.Setup().Hooks(ctx, wire.HookQuery{Place: place, Event: troupe.HookPreToolUse, Tool: "Bash",
			Input: []byte(`{"command":"ls"}`)})
	})
	add("StatusLine", func(ctx context.Context, a api.API) (any, error) {
		return a.Setup().StatusLine(ctx, wire.StatusQuery{Cwd: "/src", Root: "r", Model: "m", Mode: troupe.ModePlan,
			Columns: 3})
	})
	add("Servers", func(ctx context.Context, a api.API) (any, error) {
		return a.Serving().Servers(ctx, wire.ServerQuery{Place: place, Test: "github"})
	})
	add("Plugins", func(ctx context.Context, a api.API) (any, error) {
		return a.Setup().Plugins(ctx, wire.PluginQuery{Place: place, Name: "p@m", Check: true, Paths: []string{"/p"}})
	})
	add("SetPlugin", func(ctx context.Context, a api.API) (any, error) {
		return a.Setup().SetPlugin(ctx, wire.PluginChange{Cwd: "/w", Action: wire.PluginEnable, Name: "p@m"})
	})
	text := "b<c>"
	for _, change := range []*string{nil, &text} {
		add("SetMemory", func(ctx context.Context, a api.API) (any, error) {
			return a.Setup().SetMemory(ctx, wire.MemoryChange{MemoryQuery: wire.MemoryQuery{Cwd: "/w", Agent: "a"},
				Precondition: wire.Precondition{IfNew: true}, Text: change})
		})
	}
	add("Memories", func(ctx context.Context, a api.API) (any, error) {
		return a.Setup().Memories(ctx, wire.MemoryQuery{Cwd: "/w", Agent: "a", Scope: "user", File: "MEMORY.md"})
	})
	for _, name := range []string{"fixer", "none"} {
		q := wire.WorktreeQuery{Cwd: "/w", All: true, Name: name}
		add("Worktrees", func(ctx context.Context, a api.API) (any, error) {
			return a.Setup().Workspaces().Worktrees(ctx, q)
		})
		add("PushWorktree", func(ctx context.Context, a api.API) (any, error) {
			return a.Setup().Workspaces().PushWorktree(ctx, wire.WorktreePush{WorktreeQuery: q, Branch: "b",
				PullRequest: true,
				Base:        "m", Title: "t"})
		})
		add("MergeWorktree", func(ctx context.Context, a api.API) (any, error) {
			return a.Setup().Workspaces().MergeWorktree(ctx,
				wire.WorktreeMerge{WorktreeQuery: q, Into: "b", DryRun: true})
		})
	}
	add("DiffWorktree", func(ctx context.Context, a api.API) (any, error) {
		return a.Setup().Workspaces().DiffWorktree(ctx, wire.WorktreeLook{WorktreeQuery: wire.WorktreeQuery{Name: "x"},
			Stat: true})
	})
	add("PruneWorktrees", func(ctx context.Context, a api.API) (any, error) {
		return a.Setup().Workspaces().PruneWorktrees(ctx, wire.WorktreePrune{Cwd: "/w", All: true,
			Names:  []string{"a", "b"},
			DryRun: true})
	})
	add("SetServer", func(ctx context.Context, a api.API) (any, error) {
		return a.Serving().SetServer(ctx, wire.ServerChange{Precondition: wire.Precondition{IfMatch: `"b"`}, Cwd: "/w",
			Scope: "user", Name: "github",
			Entry: []byte(`{"command":"x"}`)})
	})
	add("Login", func(ctx context.Context, a api.API) (any, error) {
		return a.Serving().Login(ctx, wire.ServerLogin{Cwd: "/w", Name: "github", Action: wire.LoginBegin, ID: "x",
			Scopes: []string{"a", "b"}})
	})
	add("Rules", func(ctx context.Context, a api.API) (any, error) { return a.Machine().Rules(ctx, place) })
	add("Explain", func(ctx context.Context, a api.API) (any, error) {
		return a.Machine().Explain(ctx, place, []wire.Call{{ID: []byte("1"), Tool: "Bash",
			Input: []byte(`{"command":"ls"}`)},
			{ID: []byte(`"x"`), Tool: "Read"}})
	})
	add("Me", func(ctx context.Context, a api.API) (any, error) { return a.Server().People().Me(ctx) })
	add("Users", func(ctx context.Context, a api.API) (any, error) { return a.Server().People().Users(ctx) })
	add("Tokens", func(ctx context.Context, a api.API) (any, error) { return a.Server().People().Tokens(ctx) })
	add("Hosted", func(ctx context.Context, a api.API) (any, error) { return a.Server().Hosting().Hosted(ctx) })
	add("Acts", func(ctx context.Context, a api.API) (any, error) {
		return a.Server().Acts(ctx, wire.ActQuery{By: "ann & bob", About: "/w?x", After: "a+b", Limit: 3})
	})
	add("Pause", func(ctx context.Context, a api.API) (any, error) {
		return nothing(a.Server().Hosting().Pause(ctx, wire.Pause{Where: "/else", End: true}))
	})
	for _, name := range []string{"ada<b>", "none"} {
		add("Drain", func(ctx context.Context, a api.API) (any, error) {
			return nothing(a.Server().Hosting().Drain(ctx, wire.Drain{Worker: troupe.OwnerID(name), WithinMS: 7,
				Cancel: true}))
		})
		add("SetUser", func(ctx context.Context, a api.API) (any, error) {
			return a.Server().People().SetUser(ctx, wire.UserChange{Name: name, Right: troupe.RightViewer,
				Invite: true, Precondition: wire.Precondition{IfMatch: `"a"`}})
		})
		add("Revoke", func(ctx context.Context, a api.API) (any, error) {
			return nothing(a.Server().People().Revoke(ctx, wire.Revoke{ID: name}))
		})
	}
	add("Schedules", func(ctx context.Context, a api.API) (any, error) { return a.Server().Schedules().Schedules(ctx) })
	for _, name := range []string{"nightly", "none", "..", "a/b?c"} {
		add("Schedule", func(ctx context.Context, a api.API) (any,
			error) {
			return a.Server().Schedules().Schedule(ctx, name)
		})
		add("SetSchedule", func(ctx context.Context, a api.API) (any, error) {
			return a.Server().Schedules().SetSchedule(ctx, wire.ScheduleTerms{Name: name,
				When: wire.When{Cron: "0 7 * * 1-5", EveryMS: 1, At: "x", Zone: "Europe/Berlin"},
				Begin: wire.Begin{Prompt: "do <it>", Cwd: "/src", Model: "m",
					Permissions: wire.Permissions{Mode: troupe.ModePlan}},
				Overlap: wire.OverlapQueue, CatchUp: wire.CatchUpAll, MaxRunsPerDay: 3, MaxCostPerDay: 0.25,
				Version: 7})
		})
		add("RemoveSchedule", func(ctx context.Context, a api.API) (any, error) {
			return nothing(a.Server().Schedules().RemoveSchedule(ctx, name))
		})
		add("RunSchedule", func(ctx context.Context, a api.API) (any, error) {
			return a.Server().Schedules().RunSchedule(ctx, name)
		})
		for _, end := range []bool{true, false} {
			add("PauseSchedule", func(ctx context.Context, a api.API) (any, error) {
				return a.Server().Schedules().PauseSchedule(ctx, name, wire.SchedulePause{End: end})
			})
		}
	}
	add("StoredAgents", func(ctx context.Context, a api.API) (any, error) {
		return a.Server().Stored().StoredAgents(ctx)
	})
	for _, name := range []string{"reviewer", "none", "..", "a/b?c"} {
		for i, version := range []string{"", "2"} {
			add("StoredAgent", func(ctx context.Context, a api.API) (any, error) {
				return a.Server().Stored().StoredAgent(ctx, wire.StoredQuery{Name: name, Version: version})
			})
			add("RemoveStoredAgent", func(ctx context.Context, a api.API) (any, error) {
				return nothing(a.Server().Stored().RemoveStoredAgent(ctx, wire.StoredRemoval{Name: name,
					Version: int64(i)}))
			})
		}
		add("SetStoredAgent", func(ctx context.Context, a api.API) (any, error) {
			return a.Server().Stored().SetStoredAgent(ctx, wire.StoredTerms{Name: name, Text: "---\n<x>\n---\n",
				Version: 7, Once: "k"})
		})
	}
	add("Webhooks", func(ctx context.Context, a api.API) (any, error) { return a.Server().Webhooks().Webhooks(ctx) })
	for _, name := range []string{"triage", "none", "..", "a/b?c"} {
		add("Webhook", func(ctx context.Context, a api.API) (any, error) {
			return a.Server().Webhooks().Webhook(ctx, name)
		})
		add("SetWebhook", func(ctx context.Context, a api.API) (any, error) {
			return a.Server().Webhooks().SetWebhook(ctx, wire.WebhookTerms{Name: name, Signed: wire.SignedGitHub,
				Only: []wire.Condition{{Header: "X-GitHub-Event", Is: []string{"issues"}},
					{Value: "a.b", Is: []string{"<c>"}}},
				Begin:   wire.Begin{Prompt: "do {{it}}", Cwd: "/src", Model: "m"},
				Overlap: wire.OverlapQueue, Zone: "Europe/Berlin", MaxRunsPerDay: 3, MaxCostPerDay: 0.25,
				NewSecret: true,
				Version:   7})
		})
		add("RemoveWebhook", func(ctx context.Context, a api.API) (any, error) {
			return nothing(a.Server().Webhooks().RemoveWebhook(ctx, name))
		})
		for _, end := range []bool{true, false} {
			add("PauseWebhook", func(ctx context.Context, a api.API) (any, error) {
				return a.Server().Webhooks().PauseWebhook(ctx, name, wire.WebhookPause{End: end})
			})
		}
	}
	add("Targets", func(ctx context.Context, a api.API) (any, error) { return a.Server().Targets().Targets(ctx) })
	for _, name := range []string{"chat", "none", "..", "a/b?c"} {
		add("Target", func(ctx context.Context, a api.API) (any, error) {
			return a.Server().Targets().Target(ctx, name)
		})
		add("SetTarget", func(ctx context.Context, a api.API) (any, error) {
			return a.Server().Targets().SetTarget(ctx, wire.TargetTerms{Name: name, URL: "https://example.com/<a>?b",
				Events: wire.NoticeEvents(), Folder: "/src", Link: "https://here", Result: true, NewSecret: true,
				Version: 7})
		})
		add("RemoveTarget", func(ctx context.Context, a api.API) (any, error) {
			return nothing(a.Server().Targets().RemoveTarget(ctx, name))
		})
		add("TestTarget", func(ctx context.Context, a api.API) (any, error) {
			return a.Server().Targets().TestTarget(ctx, name)
		})
		add("ReplayTarget", func(ctx context.Context, a api.API) (any, error) {
			return a.Server().Targets().ReplayTarget(ctx, name, wire.Replay{Notice: "msg_<1>"})
		})
	}
	// The request is there, is answered, and is there no more.
	for range 2 {
		for _, id := range []string{"", "9m2", "q/1?x"} {
			add("Request", func(ctx context.Context, a api.API) (any, error) { return a.Request(ctx, id) })
		}
		add("Requests", func(ctx context.Context, a api.API) (any, error) { return a.Requests(ctx, "") })
		add("Answer", func(ctx context.Context, a api.API) (any, error) {
			return nothing(a.Answer(ctx, "q/1?x", wire.Answer{Allow: true}))
		})
		add("Answer", func(ctx context.Context, a api.API) (any, error) {
			return nothing(a.Answer(ctx, "", wire.Answer{Allow: true, Session: true, Note: "ok"}))
		})
	}
	return out
}

// Conform asks the same of a World and of an api that stands before another, one call after the
// other, and wants the same answers, the same errors and the same to be done.
func Conform(t *testing.T, there *World, a api.API) {
	t.Helper()
	here := New()
	asked := []string{"Follow"} // Streams does
	for i, x := range asks() {
		name := fmt.Sprintf("%s (%d)", x.verb, i)
		asked = append(asked, x.verb)
		want, wantErr := x.call(t.Context(), here)
		got, err := x.call(t.Context(), a)
		if d := cmp.Diff(want, got); d != "" && wantErr == nil {
			t.Errorf("%s: the api and the World differ (- +):\n%s", name, d)
		}
		SameError(t, name, err, wantErr)
		if d := cmp.Diff(here.Calls(), there.Calls()); d != "" {
			t.Fatalf("%s: something else was done (- +):\n%s", name, d)
		}
	}
	for _, name := range verbs() {
		if !slices.Contains(asked, name) {
			t.Errorf("nothing is asked of %s", name)
		}
	}
}

// verbs are all that an api can be asked for: a verb without arguments leads to those of a noun.
func verbs() []string { return verbsOf(reflect.TypeFor[api.API]()) }

func verbsOf(noun reflect.Type) (names []string) {
	for m := range noun.Methods() {
		if m.Type.NumIn() == 0 {
			names = append(names, verbsOf(m.Type.Out(0))...)
		} else {
			names = append(names, m.Name)
		}
	}
	return names
}

// SameError wants an error that says and is what another says and is.
func SameError(t *testing.T, name string, got, want error) {
	t.Helper()
	if (got == nil) != (want == nil) {
		t.Errorf("%s: error %v, want %v", name, got, want)
		return
	}
	if want == nil {
		return
	}
	if got.Error() != want.Error() {
		t.Errorf("%s: the error says %q, want %q", name, got, want)
	}
	for _, kind := range []error{troupe.ErrNotFound, troupe.ErrExists, troupe.ErrAmbiguous, troupe.ErrFenced,
		troupe.ErrBlocked, troupe.ErrChanged, troupe.ErrNewer, troupe.ErrCap, troupe.ErrAsleep, troupe.ErrArchived} {
		if errors.Is(got, kind) != errors.Is(want, kind) {
			t.Errorf("%s: errors.Is(err, %v) is %t, want %t", name, kind, errors.Is(got, kind), errors.Is(want, kind))
		}
	}
	var g, w *troupe.UserError
	if errors.As(want, &w) && (!errors.As(got, &g) || g.Problem != w.Problem || g.Hint != w.Hint || g.Code != w.Code) {
		t.Errorf("%s: the error is %+v, want %+v", name, g, w)
	}
}

// Streams follows a World through an api that stands before it: the tree and one session of it, from
// the start and from a place, across Next and Rest. Every event comes once, each session's in order.
func Streams(t *testing.T, w *World, a api.API) {
	t.Helper()
	for _, only := range []troupe.SessionID{"", Child} {
		seen := map[troupe.SessionID]int64{Root: 1}
		s, err := a.Follow(t.Context(), wire.Follow{Root: Root, Only: only, From: seen, Deltas: true,
			Paged: only != ""})
		if err != nil {
			t.Fatal(err)
		}
		last := map[troupe.SessionID]int64{Root: 1}
		n := 0
		take := func(events []troupe.Event) {
			for _, e := range events {
				if e.Seq != last[e.Session]+1 || e.Root != Root || only != "" && e.Session != only {
					t.Errorf("event %d of %s (tree %s) comes after %d", e.Seq, e.Session, e.Root, last[e.Session])
				}
				last[e.Session] = e.Seq
				n++
			}
		}
		var said []wire.Delta
		until := func(done func() bool) {
			for !done() {
				b, err := s.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				said = append(said, b.Deltas...)
				take(b.Events)
			}
		}
		rest := func() {
			events, err := s.Rest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			take(events)
		}
		end := func() int64 { return int64(len(w.logs(Child))) }
		rest()
		w.Commit(Child, troupe.Started{Run: 2})
		until(func() bool { return last[Child] == end() })
		w.Commit(Child, troupe.Started{Run: 3})
		rest() // the stream will bring it too, and no one must see it twice
		w.Commit(Child, troupe.Started{Run: 4})
		w.Commit(Child, troupe.Started{Run: 5})
		until(func() bool { return last[Child] == end() })
		done, cancel := context.WithCancel(t.Context())
		cancel()
		if b, err := s.Next(done); len(b.Events)+len(b.Deltas) > 0 || err != nil {
			t.Errorf("a stream that is done says %v, %v", b, err)
		}
		w.Commit(Child, troupe.Started{Run: 6})
		until(func() bool { return last[Child] == end() }) // it can be asked again
		d := wire.Delta{Session: Child, Text: "<two>\n\nlines", Done: 1, All: 2, After: end(), No: 1}
		w.Say(d)
		until(func() bool { return len(said) > 0 })
		if len(said) != 1 || said[0] != d {
			t.Errorf("the pieces %+v came, want %+v", said, d)
		}
		s.Close()
		if want := int(end()) + map[bool]int{true: len(w.logs(Root)) - 1}[only == ""]; n != want {
			t.Errorf("following %q brought %d events, want %d: %v", only, n, want, last)
		}
	}
	if _, err := a.Follow(t.Context(), wire.Follow{Root: Absent}); err != nil &&
		!strings.Contains(err.Error(), string(Absent)) {
		t.Errorf("following no session: %v", err)
	}
}

func (w *World) logs(id troupe.SessionID) []troupe.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events[id])
}
