package session_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
)

// TestNotification: the end of an agent in the background reaches its parent once: in the
// turn it is in if it is busy, as another run if it has nothing to do, and after a restart if
// nobody was there.
func TestNotification(t *testing.T) {
	t.Parallel()
	busy := plays{"main": append([]troupe.Reply{call("Agent:&X")}, reads(5)...)}
	idle := plays{"main": {call("Agent:&X"), say("I wait")}, "main/X": reads(3)}
	tests := map[string]struct {
		plays plays
		down  time.Duration // when the process is ended; 0: never
		run   int           // of the parent that is told
		turns int
	}{
		"busy":                        {busy, 0, 1, 7},
		"idle":                        {idle, 0, 2, 3},
		"down while the agent works":  {idle, 4500 * time.Millisecond, 2, 3},
		"down before it has begun":    {idle, 1500 * time.Millisecond, 2, 3},
		"down while the parent reads": {busy, 2500 * time.Millisecond, 1, 7},
	}
	for name, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(tt.plays.reply).begin(troupe.Caps{MaxDepth: 1})
			all := []*process{p}
			if tt.down > 0 {
				pass(tt.down)
				p.pool.Close()
				p = h.adopt(tt.plays.reply, true)
				all = append(all, p)
			}
			p.end()
			ends := h.ends(h.root)
			if len(ends) != 1 || ends[0].run != tt.run || ends[0].result || ends[0].Status != troupe.Completed {
				t.Errorf("%s: told %+v", name, ends)
			}
			if s := h.get(h.root); s.Status != troupe.Completed || s.Tally.Turns != tt.turns {
				t.Errorf("%s: ended as %s after %d turns: %s", name, s.Status, s.Tally.Turns, s.Error)
			}
			requests := p.llm.of(h.root)
			if seen := string(body(requests[len(requests)-1])); strings.Count(seen,
				"\\u003c/task-notification\\u003e") != 1 {
				t.Errorf("%s: the model does not see the notification once: %s", name, seen)
			}
			h.checkTree()
			checkPrefix(t, all...)
		})
	}
}

// TestGathered: fifty agents that end together cost one turn of their parent, which is told of
// all of them at once; after a restart too.
func TestGathered(t *testing.T) {
	t.Parallel()
	for _, down := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const n = 50
			h := newHome(t)
			calls := make([]string, n)
			for i := range calls {
				calls[i] = fmt.Sprintf("Agent:&A%d", i)
			}
			// One of them takes longer, so that the others' ends wait in the mailbox.
			p := plays{"main": {call(calls...), say("I wait")}, "": reads(1), "main/A0": reads(2)}
			gather := policy(func(p *troupe.Policy) { p.Gather = time.Minute })
			first := h.start(p.reply, gather).begin(troupe.Caps{MaxDepth: 1})
			last := first
			if down {
				pass(4500 * time.Millisecond) // 49 have ended, and nobody was told yet
				if got := len(h.ends(h.root)); got != 0 {
					t.Errorf("%d ends are told already", got)
				}
				first.pool.Close()
				last = h.adopt(p.reply, true, gather)
			}
			last.end()
			if s := h.get(h.root); s.Tally.Turns != 3 || s.Run != 2 {
				t.Errorf("down %v: %d agents that ended together cost %d turns in %d runs", down, n, s.Tally.Turns-2,
					s.Run-1)
			}
			if got := len(h.ends(h.root)); got != n {
				t.Errorf("down %v: told of %d ends of %d", down, got, n)
			}
			h.checkTree()
		})
	}
}

// TestTaskOutput: whoever reads an end is not told of it again; who peeks, or waits in vain, is.
func TestTaskOutput(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		main, x []troupe.Reply
		results int // ends read as results
		runs    int
		last    []string // of the result of the last TaskOutput
	}{
		"waited for": {[]troupe.Reply{call("Agent:&X"), call("TaskOutput:X"), say("ok")}, reads(3), 1, 1,
			[]string{"<status>completed", "read it all"}},
		"read late": {[]troupe.Reply{call("Agent:&X"), call("Read:a", "TaskOutput:x"), say("ok")}, nil, 1, 1,
			[]string{"<status>completed"}},
		"read twice": {[]troupe.Reply{call("Agent:&X"), call("TaskOutput:X"), call("TaskOutput:X"), say("ok")}, nil, 1,
			1, []string{"<status>completed", "done by main/X"}},
		"not in time": {[]troupe.Reply{call("Agent:&X"), call("TaskOutput:X"), say("ok")}, reads(60), 0, 2,
			[]string{"still running"}},
		"listed": {[]troupe.Reply{call("Agent:&X"), call("TaskOutput:"), say("ok")}, reads(3), 0, 2,
			[]string{"X (agent, background): running"}},
		"nobody": {[]troupe.Reply{call("Agent:&X"), call("TaskOutput:Y"), say("ok")}, reads(3), 0, 2,
			[]string{`no task "Y"`, "X (agent"}},
	}
	for name, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			h.start(plays{"main": tt.main, "main/X": tt.x}.reply).begin(troupe.Caps{MaxDepth: 1}).end()
			results := 0
			for _, e := range h.ends(h.root) {
				if e.result {
					results++
				}
			}
			if s := h.get(h.root); results != tt.results || s.Run != tt.runs || len(h.ends(h.root)) != 1 {
				t.Errorf("%s: %d ends of %d were read as results, in %d runs", name, results, len(h.ends(h.root)),
					s.Run)
			}
			reply := len(tt.main) - 1
			calls := len(tt.main[reply-1].Blocks)
			wants(t, h.result(h.root, reply, calls-1), tt.last...)
			h.checkTree()
		})
	}
}

// TestStoppedAndFinished: an agent that is stopped in the moment in which it ends is told of
// once, whichever came first, and can go on.
func TestStoppedAndFinished(t *testing.T) {
	t.Parallel()
	for _, before := range []time.Duration{-time.Millisecond, 0, time.Millisecond, 500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(plays{"main": append([]troupe.Reply{call("Agent:&X")},
				reads(4)...)}.reply).begin(troupe.Caps{MaxDepth: 1})
			pass(2*time.Second - before) // the agent ends at two seconds
			p.stop(h.called("X").ID, troupe.Stop{Now: true, Tree: true, By: "somebody"})
			p.end()
			ends := h.ends(h.root)
			want := troupe.Cancelled
			if before < 0 {
				want = troupe.Completed
			}
			if len(ends) != 1 || (before != 0 && ends[0].Status != want) {
				t.Errorf("stopped %s before its end, told %+v", before, ends)
			}
			h.checkTree()
		})
	}
}

// TestForegroundMoves: an agent that its parent has waited for long enough goes on in the
// background, and so does one that somebody moves; its end is told as any other's.
func TestForegroundMoves(t *testing.T) {
	t.Parallel()
	for _, byHand := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(plays{"main": {call("Agent:X", "Agent:Y"), say("I wait")}, "main/X": reads(10)}.reply,
				policy(func(p *troupe.Policy) {
					if !byHand {
						p.AutoBackground = 5 * time.Second
					}
				})).begin(troupe.Caps{MaxDepth: 1})
			pass(4 * time.Second)
			if s := h.get(h.root); s.Waiting != troupe.WaitChildren {
				t.Errorf("after 4 s main is %s %s", s.Status, s.Waiting)
			}
			if byHand {
				pass(2 * time.Second)
				if !p.hub.Move(p.root, h.called("X").ID, nil, nil) || p.hub.Move(p.root, "nobody", nil, nil) {
					t.Error("X was not moved, or nobody was")
				}
			}
			pass(4 * time.Second) // the next turn is over by now
			if s := h.get(h.root); s.Status != troupe.Completed || s.Run != 1 {
				t.Errorf("after the move main is %s %s in run %d", s.Status, s.Waiting, s.Run)
			}
			wants(t, h.result(h.root, 1, 0), "at work in the background", string(h.called("X").ID))
			wants(t, h.result(h.root, 1, 1), "done by main/Y")
			p.end()
			if ends := h.ends(h.root); len(ends) != 2 || ends[1].Name != "X" || ends[1].run != 2 {
				t.Errorf("told %+v", ends)
			}
			h.checkTree()
		})
	}
}

// TestCommandInBackground: a command is a task of its own. Its end is told once; it goes with
// an agent that ends, and with the process, and both say so.
func TestCommandInBackground(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		main, x []troupe.Reply
		down    bool
		status  troupe.Status // of the command, as main is told
		stopped bool          // X says that it took one with it
	}{
		"ends by itself": {main: []troupe.Reply{call("Bash:&5s"), say("I wait")}, status: troupe.Completed},
		"is stopped": {main: []troupe.Reply{call("Bash:&1h"), call("TaskStop:b1.0"), say("I wait")},
			status: troupe.Cancelled},
		"is stopped first": {main: []troupe.Reply{call("Bash:&never"), call("TaskStop:b1.0"), say("I wait")},
			status: troupe.Cancelled},
		"is waited for": {main: []troupe.Reply{call("Bash:&5s"), call("TaskOutput:b1.0"), say("ok")},
			status: troupe.Completed},
		"goes with its home": {main: []troupe.Reply{call("Bash:&1h"), say("I wait")}, down: true,
			status: troupe.Cancelled},
		"goes with an agent": {main: []troupe.Reply{call("Agent:X"), say("ok")},
			x: []troupe.Reply{call("Bash:&1h"), say("I go")}, stopped: true},
	}
	for name, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			shell := func(p *process) { p.deps = func(d *session.Deps) { d.Tools = shells() } }
			say := plays{"main": tt.main, "main/X": tt.x}.reply
			p := h.start(say, shell).begin(troupe.Caps{MaxDepth: 1})
			if tt.down {
				pass(10 * time.Second)
				p.pool.Close()
				p = h.adopt(say, true, shell)
			}
			p.end()
			ends := h.ends(h.root)
			if len(ends) != 1 {
				t.Fatalf("%s: told %+v", name, ends)
			}
			if e := ends[0]; tt.status != "" && (e.Kind != troupe.TaskShell || e.Status != tt.status ||
				e.Task != "b1.0") {
				t.Errorf("%s: told %+v", name, e)
			}
			if e := ends[0]; tt.stopped != (len(e.Stopped) == 1) {
				t.Errorf("%s: X took %v with it", name, e.Stopped)
			}
			h.checkTree()
		})
	}
}

// A stop of the tree is for commands that outlive a run too, and their ends do not begin another.
func TestStopWithCommandLeft(t *testing.T) {
	t.Parallel()
	for _, now := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			say := plays{"main": {call("Bash:&1h"), say("I wait")}}.reply
			with := func(p *process) { p.deps = func(d *session.Deps) { d.Tools = shells() } }
			p := h.start(say, with).begin(troupe.Caps{MaxDepth: 1})
			pass(10 * time.Second)
			p.stop(h.root, troupe.Stop{Now: now, Tree: true, By: "somebody"})
			pass(10 * time.Second)
			if s := h.get(h.root); s.Run != 1 || !s.Status.Ended() {
				t.Errorf("now %v: run %d is %s", now, s.Run, s.Status)
			}
			p.end()
			h.checkTree()
		})
	}
}

// shells is a set of tools whose commands may run in the background: "&5s" does for five
// seconds, and "&never" is stopped before it begins.
func shells() tool.Set {
	return tools().Map(func(d tool.Descriptor) tool.Descriptor {
		if d.Name == "Bash" {
			d.Runner = command{}
		}
		return d
	})
}

type command struct{ input string }

func (command) Prepare(_ tool.Env, input string) (tool.Prepared, error) { return command{input}, nil }

func (c command) Access() troupe.Access {
	return troupe.Access{Class: troupe.ClassExec, Command: c.input}
}

func (c command) Background() (string, bool) { return c.input, strings.HasPrefix(c.input, "&") }

func (c command) Run(ctx context.Context, _ tool.Env) (tool.Output, error) {
	if c.input == "&never" {
		<-ctx.Done()
		return tool.Output{}, ctx.Err()
	}
	d, err := time.ParseDuration(strings.TrimPrefix(c.input, "&"))
	if err != nil {
		return tool.Output{}, err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return tool.Output{Blocks: []troupe.Block{troupe.Text("slept")}}, nil
	case <-ctx.Done():
		return tool.Errorf("stopped"), nil
	}
}

// TestResultFiles: the final words of a child are kept in a file for a parent that does not wait
// for them, or is shown only their beginning; not for one whose call they answer whole.
func TestResultFiles(t *testing.T) {
	t.Parallel()
	long := say(strings.Repeat("word ", 10_000))
	tests := map[string]struct {
		main, x []troupe.Reply
		move    bool
		down    bool
		files   int
	}{
		"waited for": {main: []troupe.Reply{call("Agent:X"), say("ok")}},
		"waited for, and long": {main: []troupe.Reply{call("Agent:X"), say("ok")}, x: []troupe.Reply{long},
			files: 1},
		"in the background": {main: []troupe.Reply{call("Agent:&X"), say("ok")}, files: 1},
		"moved to the background": {main: []troupe.Reply{call("Agent:X"), say("ok")}, x: reads(5), move: true,
			files: 1},
		"after a restart": {main: []troupe.Reply{call("Agent:X"), say("ok")}, x: reads(5), down: true,
			files: 1},
	}
	for name, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			var mu sync.Mutex
			files := make(map[string]string)
			saves := func(p *process) {
				p.deps = func(d *session.Deps) {
					d.SaveResult = func(file, text string) error {
						mu.Lock()
						defer mu.Unlock()
						files[file] = text
						return nil
					}
				}
			}
			plays := plays{"main": tt.main, "main/X": tt.x}
			p := h.start(plays.reply, saves).begin(troupe.Caps{MaxDepth: 1})
			pass(3 * time.Second)
			x := h.called("X").ID
			if tt.move && !p.hub.Move(p.root, x, nil, nil) {
				t.Errorf("%s: X was not moved", name)
			}
			if tt.down {
				p.pool.Close()
				p = h.adopt(plays.reply, true, saves)
			}
			p.end()
			end := h.ends(h.root)[0]
			if len(files) != tt.files || (tt.files > 0) != (end.Output != "") ||
				files[end.Output] != end.Result && tt.files > 0 {
				t.Errorf("%s: %d files, the end names %q", name, len(files), end.Output)
			}
			if task := h.result(h.root, 1, 0); tt.move || name == "in the background" {
				wants(t, task, "output file (once it has ended): "+end.Output)
			}
		})
	}
}
