package session_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
)

// movable is a command of shells that can be moved while it runs.
type movable struct {
	command
	runs *atomic.Bool
}

func (m movable) Prepare(_ tool.Env, input string) (tool.Prepared, error) {
	return movable{command{input}, new(atomic.Bool)}, nil
}

func (m movable) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	m.runs.Store(true)
	defer m.runs.Store(false)
	return m.command.Run(ctx, env)
}

func (m movable) Move(log string) (string, error) {
	switch {
	case !m.runs.Load() || !strings.HasSuffix(log, ".log"):
		return "", errors.New("it does not run")
	case strings.HasPrefix(m.input, "59s"):
		return "", errors.New("the disk is full")
	}
	return m.input, nil
}

// TestMoveIsAnswered: who wants something moved hears what came of it. What cannot be moved goes on as it was.
func TestMoveIsAnswered(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{"Bash:60s": "<nil>", "Bash:59s": "the disk is full",
		"Read:60s": session.ErrNotWaited.Error()} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(plays{"main": {call(asked), say("I wait")}}.reply, func(p *process) {
				p.deps = func(d *session.Deps) {
					d.Tools = tools().Map(func(d tool.Descriptor) tool.Descriptor {
						if d.Name == "Bash" {
							d.Runner = movable{}
						}
						return d
					})
				}
			}).begin(troupe.Caps{})
			pass(5 * time.Second)
			var said []string
			if !p.hub.Move(p.root, p.root, nil, func(err error) { said = append(said, fmt.Sprint(err)) }) {
				t.Fatal("main is not there")
			}
			pass(time.Second)
			synctest.Wait() // for the reply, which another goroutine gives
			if !slices.Equal(said, []string{want}) {
				t.Errorf("%s: told %q, not %q", asked, said, want)
			}
			if goesOn := len(h.kinds(h.root, troupe.KindToolFinished)) == 0; goesOn != strings.Contains(want, "disk") {
				t.Errorf("%s: after a second it goes on as it was: %v", asked, goesOn)
			}
			p.end()
			if s := h.get(h.root); s.Status != troupe.Completed {
				t.Errorf("%s: main is %s", asked, s.Status)
			}
			h.checkTree()
		})
	}
}

// TestCommandMoves: what the main agent waits for, agents and commands, goes on in the background when a
// person wants that: the run goes on, and its end is told as any other's.
func TestCommandMoves(t *testing.T) {
	t.Parallel()
	shell := func(p *process) {
		p.deps = func(d *session.Deps) {
			d.Tools = tools().Map(func(d tool.Descriptor) tool.Descriptor {
				if d.Name == "Bash" {
					d.Runner = movable{}
				}
				return d
			})
		}
	}
	tests := map[string]struct {
		first  troupe.Reply
		stop   bool // of the tree, after the move
		status troupe.Status
		took   time.Duration
	}{
		"a command":         {first: call("Bash:60s"), status: troupe.Completed, took: time.Minute},
		"a command stopped": {first: call("Bash:60s"), stop: true, status: troupe.Cancelled, took: 9 * time.Second},
		"an agent and what waits behind it": {first: call("Agent:X", "Bash:20s"), status: troupe.Completed,
			took: 20 * time.Second},
	}
	for name, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(plays{"main": {tt.first, say("I wait")}, "main/X": reads(30)}.reply, shell).
				begin(troupe.Caps{MaxDepth: 1})
			pass(5 * time.Second)
			if !p.hub.Move(p.root, p.root, nil, nil) {
				t.Fatalf("%s: not moved", name)
			}
			pass(5 * time.Second)
			if s := h.get(h.root); len(tt.first.Blocks) == 1 && s.Status != troupe.Completed {
				t.Errorf("%s: after the move main is %s", name, s.Status)
			}
			if len(tt.first.Blocks) == 1 {
				wants(t, h.result(h.root, 1, 0), "moved to the background", "task id: b1.0", "b1.0.log")
			} else {
				wants(t, h.result(h.root, 1, 0), "at work in the background")
			}
			if tt.stop {
				p.stop(h.root, troupe.Stop{Now: true, Tree: true, By: "somebody"})
			}
			p.end()
			ends := h.ends(h.root)
			if len(ends) != 1 || len(tt.first.Blocks) == 1 && (ends[0].Task != "b1.0" || ends[0].Status != tt.status) {
				t.Errorf("%s: told %+v", name, ends)
			}
			if len(ends) == 1 && len(tt.first.Blocks) == 1 {
				if d := time.Duration(ends[0].DurationMS) * time.Millisecond; d < tt.took || d > tt.took+2*time.Second {
					t.Errorf("%s: it took %v", name, d)
				}
			}
			h.checkTree()
		})
	}
}

// TestMoveIsOnRecord: the log names a task that was moved without a secret, and who moved it.
func TestMoveIsOnRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHome(t)
		p := h.start(plays{"main": {call("Bash:60s"), say("I wait")}}.reply, func(p *process) {
			p.deps = func(d *session.Deps) {
				d.Tools = tools().Map(func(d tool.Descriptor) tool.Descriptor {
					if d.Name == "Bash" {
						d.Runner = movable{}
					}
					return d
				})
				d.Mask = func(s string) string { return strings.ReplaceAll(s, "60s", "‹masked›") }
			}
		}).begin(troupe.Caps{})
		pass(5 * time.Second)
		you := troupe.You(troupe.SurfaceChat)
		if !p.hub.Move(p.root, p.root, &you, nil) {
			t.Fatal("not moved")
		}
		p.end()
		moved := false
		for _, e := range h.events(h.root) {
			b, ok := e.Body.(troupe.ToolFinished)
			if !ok || b.Task == nil {
				continue
			}
			moved = true
			if b.Task.Name != "‹masked›" {
				t.Errorf("the task is called %q", b.Task.Name)
			}
			if b.Caller == nil || !reflect.DeepEqual(*b.Caller, you) {
				t.Errorf("it was moved by %v", b.Caller)
			}
		}
		if !moved {
			t.Error("the log has no task")
		}
	})
}

// TestMovedIsAnnounced: a command that only reads is not in the log before its end; one that is moved is, since
// a task has begun.
func TestMovedIsAnnounced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []session.Confine
		h := newHome(t)
		p := h.start(plays{"main": {call("Bash:60s"), say("I wait")}}.reply, func(p *process) {
			p.deps = func(d *session.Deps) {
				d.Guard = confines{&asked}
				d.Tools = tools().Map(func(d tool.Descriptor) tool.Descriptor {
					if d.Name == "Bash" {
						d.Runner = movable{}
					}
					return d
				})
			}
		}).beginAs(troupe.Caps{}, careful)
		pass(5 * time.Second)
		if len(h.kinds(h.root, troupe.KindToolStarted)) != 0 {
			t.Fatal("it was announced before it was moved")
		}
		if !p.hub.Move(p.root, p.root, nil, nil) {
			t.Fatal("not moved")
		}
		p.end()
		began, ended := h.kinds(h.root, troupe.KindToolStarted), h.kinds(h.root, troupe.KindToolFinished)
		if len(began) != 1 || len(ended) != 1 || began[0].Seq > ended[0].Seq {
			t.Errorf("it began as %v and had its result as %v", began, ended)
		}
		h.checkTree()
	})
}

// wanting is a movable command that wants to create a file, and is not let.
type wanting struct{ movable }

func (w wanting) Prepare(_ tool.Env, input string) (tool.Prepared, error) {
	return wanting{movable{command{input}, new(atomic.Bool)}}, nil
}

func (w wanting) Run(ctx context.Context, env tool.Env) (tool.Output, error) {
	out, err := w.movable.Run(ctx, env)
	out.Evidence.Commands = []troupe.CommandRun{{Command: w.input, ExitCode: 1, Watched: &troupe.Watched{
		Attempts: []troupe.Attempt{{Op: troupe.OpCreate, Path: "/ws/a"}}}}}
	return out, err
}

// TestMovedIsNotAsked: what a moved command wanted beyond its sandbox is not asked about, and its end says so and how
// it would be; where nobody can be asked it says nothing of that.
func TestMovedIsNotAsked(t *testing.T) {
	t.Parallel()
	for _, asks := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var asked []session.Confine
			h := newHome(t)
			p := h.start(plays{"main": {call("Bash:60s"), say("I wait")}}.reply, func(p *process) {
				p.settings.AskFor = asks
				p.deps = func(d *session.Deps) {
					d.Guard = confines{&asked}
					d.Tools = tools().Map(func(d tool.Descriptor) tool.Descriptor {
						if d.Name == "Bash" {
							d.Runner = wanting{}
						}
						return d
					})
				}
			}).beginAs(troupe.Caps{}, careful)
			pass(5 * time.Second)
			if !p.hub.Move(p.root, p.root, nil, nil) {
				t.Fatal("not moved")
			}
			p.end()
			ends := h.ends(h.root)
			if len(ends) != 1 || len(h.kinds(h.root, troupe.KindRequestOpened)) != 0 {
				t.Fatalf("told %+v", ends)
			}
			said := strings.Contains(ends[0].Result, "run the command again in the foreground: then it is asked about")
			if said != (asks > 0) {
				t.Errorf("with %v to answer its end says %q", asks, ends[0].Result)
			}
		})
	}
}
