package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
)

// confines is a machine with both sandboxes. It keeps what it was asked to confine.
type confines struct{ asked *[]session.Confine }

func (confines) Machine() ([]troupe.Level, []string) {
	return []troupe.Level{troupe.LevelReadOnly, troupe.LevelWorkspace}, []string{"mount namespaces"}
}
func (confines) Protected(session.Place) session.Protected { return session.Protected{} }
func (confines) Git(session.Place) session.Git             { return session.Git{} }

func (confines) Resolve(path string) string { return path }

func (confines) HiddenFiles(session.Place) []string { return nil }

func (confines) Hidden(session.Place) session.Hidden { return session.Hidden{} }

func (c confines) Confine(_ context.Context, q session.Confine) (*troupe.Confinement, []string, error) {
	*c.asked = append(*c.asked, q)
	out := troupe.Confinement{Level: q.Level}
	for _, g := range q.Granted {
		out.Writable = append(out.Writable, g.Path)
	}
	return &out, nil, nil
}

// confined runs a command as its words say: each names a path that it creates, path->to is a link, host:port is
// reached, and false fails. What it may not is seen.
func (f fake) confined(env tool.Env) tool.Output {
	run := troupe.CommandRun{Command: f.input, Sandbox: troupe.LevelNone}
	if env.Confine != nil {
		run.Sandbox, run.Watched = env.Confine.Level, new(troupe.Watched)
		for _, w := range strings.Fields(f.input) {
			if w == "late" { // it comes as far as that only with what it wanted before
				if run.Sandbox != troupe.LevelGranted {
					continue
				}
				w = "/ws/late"
			}
			a := troupe.Attempt{Op: troupe.OpCreate, Path: w}
			if path, to, ok := strings.Cut(w, "->"); ok {
				a.Path, a.Kind, a.To = path, troupe.KindLink, to
			}
			if strings.Contains(w, ":") {
				a.Op, a.Path = troupe.OpConnect, strings.TrimSuffix(w, ":")
			}
			free := env.Confine.Level == troupe.LevelWorkspace && strings.HasPrefix(w, "/ws/") ||
				slices.Contains(env.Confine.Writable, w)
			if w != "false" && !free {
				run.Watched.Attempts = append(run.Watched.Attempts, a)
				run.ExitCode = 1
			}
		}
	}
	return tool.Output{
		Blocks:   []troupe.Block{troupe.Text(fmt.Sprintf("%s %s: %d", f.input, run.Sandbox, run.ExitCode))},
		Evidence: troupe.Evidence{Commands: []troupe.CommandRun{run}},
	}
}

// TestBeyondTheSandbox: a command runs read-only without a question; what it wanted more is
// asked about once it has run, with exactly that, and it runs again with leave for exactly
// that. Until the answer comes it waits in the log, over a restart too.
func TestBeyondTheSandbox(t *testing.T) {
	t.Parallel()
	const yes, no = troupe.Allow, troupe.Deny
	tests := map[string]struct {
		command string
		mode    troupe.Mode
		rule    string
		answers []troupe.Effect
		alone   bool
		denied  int // is on record that often
		down    bool
		asked   []string // what each request said was wanted
		levels  []troupe.Level
		result  string
		gives   []string // what each request says that a yes gives, as far as it is looked at
	}{
		"reads only": {command: "false", levels: []troupe.Level{"read-only"},
			result: "false read-only: 0"},
		"wants to write, allowed": {command: "/ws/a", answers: []troupe.Effect{yes}, asked: []string{"create /ws/a"},
			levels: []troupe.Level{"read-only", "granted"}, result: "/ws/a granted: 0",
			gives: []string{"exactly that"}},
		"wants more then": {command: "/ws/a late", answers: []troupe.Effect{yes, yes},
			asked:  []string{"create /ws/a", "create /ws/late"},
			levels: []troupe.Level{"read-only", "granted", "workspace"}, result: "/ws/a late workspace: 0",
			gives: []string{"exactly that", "anywhere in /ws but at protected places"}},
		"wants to write, refused": {command: "/ws/a", answers: []troupe.Effect{no}, asked: []string{"create /ws/a"},
			levels: []troupe.Level{"read-only"}, result: "denied by somebody: so it be\n\nConfined, without what it " +
				"wanted, it had printed:\n/ws/a read-only: 1"},
		"over a restart": {command: "/ws/a", answers: []troupe.Effect{yes}, down: true,
			asked: []string{"create /ws/a"}, levels: []troupe.Level{"read-only", "granted"},
			result: "/ws/a granted: 0"},
		"wants one thing after another": {
			command: "/ws/a 10.0.0.1:443 /etc/x", answers: []troupe.Effect{yes},
			asked:  []string{"create /ws/a, /etc/x; reach 10.0.0.1:443"},
			levels: []troupe.Level{"read-only", "granted"}, result: "granted: 0",
		},
		"wants to listen": {
			command: "127.0.0.1:0", answers: []troupe.Effect{no}, asked: []string{"listen on a port of this machine"},
			levels: []troupe.Level{"read-only"}, result: "denied by somebody",
		},
		"nobody is there": {command: "/ws/a", alone: true, denied: 1, levels: []troupe.Level{"read-only"},
			result: "this run cannot ask for permission"},
		"plan never asks": {command: "/ws/a", mode: troupe.ModePlan, denied: 1, levels: []troupe.Level{"read-only"},
			result: "Permission denied for what it attempted beyond reading"},
		"allowed by rule": {command: "/ws/a", rule: "Sh", levels: []troupe.Level{"workspace"},
			result: "/ws/a workspace: 0"},
		"rule, and beyond": {command: "/etc/x", rule: "Sh", answers: []troupe.Effect{yes},
			asked: []string{"create /etc/x"}, levels: []troupe.Level{"workspace", "workspace"},
			result: "/etc/x workspace: 0"},
		"rule, beyond, nobody is there": {
			command: "/etc/x", rule: "Sh", alone: true, denied: 1,
			levels: []troupe.Level{"workspace"}, result: "beyond its workspace; this run cannot ask for permission " +
				"(with " +
				"--ask the run would wait for an answer)",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked []session.Confine
				h := newHome(t)
				reply := plays{"main": {call("Sh:" + tt.command), say("ok")}}.reply
				there := func(p *process) {
					p.deps = func(d *session.Deps) {
						d.Guard = confines{&asked}
						if !tt.alone {
							p.settings.AskFor = time.Hour
						}
					}
				}
				p := h.start(reply, there).beginAs(troupe.Caps{}, func(b *fleet.Birth) {
					careful(b)
					if tt.mode != "" {
						b.Authority.Mode = tt.mode
					}
					if tt.rule != "" {
						b.Authority.Rules = []troupe.Rule{{Effect: troupe.Allow, Text: tt.rule}}
					}
				})
				for range tt.answers {
					pass(time.Minute)
					if s := h.get(h.root); s.Waiting != troupe.WaitApproval {
						t.Fatalf("it is %s %s", s.Status, s.Waiting)
					}
					if tt.down {
						p.pool.Close()
						p = h.adopt(reply, true, there)
					}
					p.send(allow(h.root, 1, 0, tt.answers[0]))
				}
				p.end()
				opened, _ := h.requests(h.root)
				var wanted []string
				for i, o := range opened {
					if i < len(tt.gives) {
						wants(t, o.Decision.Why, "yes", tt.gives[i])
					}
					wants(t, o.Decision.Why, "does without mount namespaces")
					wanted = append(wanted, session.Wanted(o.Wants))
				}
				var levels []troupe.Level
				for _, c := range asked {
					levels = append(levels, c.Level)
				}
				if !slices.Equal(wanted, tt.asked) || !slices.Equal(levels, tt.levels) {
					t.Errorf("asked about %q, want %q; ran %q, want %q", wanted, tt.asked, levels, tt.levels)
				}
				wants(t, h.result(h.root, 1, 0), tt.result)
				denied := 0
				for _, e := range h.events(h.root) {
					if f, ok := e.Body.(troupe.ToolFinished); ok {
						denied += len(f.Evidence.Denied)
					}
				}
				if denied != tt.denied {
					t.Errorf("%d denials are on record, want %d", denied, tt.denied)
				}
				h.checkTree()
				checkPrefix(t, p)
			})
		})
	}
}

// TestLeaveIsForWhatWasWanted: a yes to what a command wanted opens the network to its next run only
// if it looked up a name; an address that it wanted is all that it gets.
func TestLeaveIsForWhatWasWanted(t *testing.T) {
	t.Parallel()
	for command, reach := range map[string]bool{"/ws/a": false, "10.0.0.1:443": false, "/ws/a 10.0.0.1:443": false,
		"udp:": true} {
		synctest.Test(t, func(t *testing.T) {
			var asked []session.Confine
			h := newHome(t)
			p := h.start(plays{"main": {call("Sh:" + command), say("ok")}}.reply, func(p *process) {
				p.deps = func(d *session.Deps) {
					d.Guard = confines{&asked}
					p.settings.AskFor = time.Hour
				}
			}).beginAs(troupe.Caps{}, careful)
			pass(time.Minute)
			p.send(allow(h.root, 1, 0, troupe.Allow))
			p.end()
			if len(asked) != 2 || asked[0].Reach || asked[1].Reach != reach {
				t.Errorf("%s: it ran as %+v, want the network the second time: %v", command, asked, reach)
			}
			h.checkTree()
		})
	}
}

// TestStoppedWhileAsked: a command that ran confined, and waits for an answer about what it wanted, has run: a
// stop says so, and what it printed.
func TestStoppedWhileAsked(t *testing.T) {
	t.Parallel()
	for _, now := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var asked []session.Confine
			h := newHome(t)
			p := h.start(plays{"main": {call("Sh:/ws/a"), say("ok")}}.reply, func(p *process) {
				p.deps = func(d *session.Deps) {
					d.Guard = confines{&asked}
					p.settings.AskFor = time.Hour
				}
			}).beginAs(troupe.Caps{}, careful)
			pass(time.Minute)
			p.stop(h.root, troupe.Stop{Now: now, By: "you"})
			p.end()
			result := h.result(h.root, 1, 0)
			wants(t, result, "it ran read-only and wanted to create /ws/a", "it was not run again: the run was stopped",
				"Confined, without what it wanted, it had printed:\n/ws/a read-only: 1")
			if strings.HasPrefix(result, "not run") {
				t.Errorf("now %v: %s", now, result)
			}
			h.checkTree()
		})
	}
}

// TestRequestIsMasked: what a request keeps of a confined run holds no secret, wherever that stood.
func TestRequestIsMasked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []session.Confine
		h := newHome(t)
		p := h.start(plays{"main": {call("Sh:/ws/secret /ws/l->/ws/secret"), say("ok")}}.reply, func(p *process) {
			p.deps = func(d *session.Deps) {
				d.Guard, d.Mask = confines{&asked}, func(s string) string {
					return strings.ReplaceAll(s, "secret",
						"‹…›")
				}
				p.settings.AskFor = time.Hour
			}
		}).beginAs(troupe.Caps{}, careful)
		pass(time.Minute)
		opened, _ := h.requests(h.root)
		if len(opened) != 1 {
			t.Fatalf("%d requests", len(opened))
		}
		told, err := json.Marshal(opened[0].RequestBody)
		if err != nil || strings.Contains(string(told), "secret") {
			t.Errorf("the request says %s, %v", told, err)
		}
		wants(t, session.Wanted(opened[0].Wants), "create /ws/‹…›", "make the link /ws/l to /ws/‹…›")
		wants(t, opened[0].Output, "/ws/l->/ws/‹…› read-only: 1")
		p.send(allow(h.root, 1, 0, troupe.Deny))
		p.end()
		h.checkTree()
	})
}

// TestAskedAhead: agents that are to work in the background are asked about together before
// they begin, with the rules that they will need; leave is leave for those.
func TestAskedAhead(t *testing.T) {
	t.Parallel()
	for _, answer := range []troupe.Effect{troupe.Allow, troupe.Deny} {
		synctest.Test(t, func(t *testing.T) {
			h := newHome(t)
			p := h.start(plays{
				"main":   {call("Agent:&a", "Agent:&b"), say("they work"), say("they are done")},
				"main/a": {call("Edit:x"), say("a did")},
				"main/b": {say("b did")},
			}.reply, func(p *process) {
				p.deps = func(d *session.Deps) {
					p.settings.AskFor = time.Hour
					d.Profiles = inherits{p}
				}
			}).beginAs(troupe.Caps{MaxDepth: 1}, careful)
			pass(time.Minute)
			opened, _ := h.requests(h.root)
			if len(opened) != 2 || !slices.Equal(opened[1].Rules, []string{"Edit(/**)"}) ||
				!slices.Equal(opened[1].With, []int{1}) {
				t.Fatalf("asked %+v", opened)
			}
			wants(t, opened[1].Action, "may edit any file in this folder: Edit(/**)")
			wants(t, opened[1].Decision.Why, "yes allows it to these agents and to those that they start")
			if rules := opened[0].Rules; len(rules) > 0 {
				t.Errorf("who answers the second one's request by itself, and not the first's, grants %q", rules)
			}
			var mail []troupe.Mail
			for _, r := range opened[1].Rules {
				mail = append(mail, troupe.Mail{To: h.root, Kind: troupe.MailGrant,
					Rule: &troupe.Rule{Effect: troupe.Allow, Text: r}})
			}
			if answer == troupe.Deny {
				mail = nil
			}
			p.send(append(mail, allow(h.root, 1, 0, answer))...)
			p.end()
			if answer == troupe.Deny {
				wants(t, h.result(h.root, 1, 0), "denied by somebody")
				wants(t, h.result(h.root, 1, 1), "denied by somebody")
			} else {
				wants(t, h.result(troupe.ChildID(h.root, troupe.Coord{Reply: 1}), 1, 0), "did x")
			}
			h.checkTree()
		})
	}
}

// TestBackgroundIsAskedFirst: a command in the background is asked about before it begins where there is somebody
// to ask, for later nobody waits for it; where there is not it runs read-only.
func TestBackgroundIsAskedFirst(t *testing.T) {
	t.Parallel()
	for _, asks := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var asked []session.Confine
			h := newHome(t)
			p := h.start(plays{"main": {call("Bash:&5s"), say("I wait")}}.reply, func(p *process) {
				p.deps = func(d *session.Deps) {
					d.Guard, d.Tools = confines{&asked}, shells()
					if asks {
						p.settings.AskFor = time.Hour
					}
				}
			}).beginAs(troupe.Caps{}, careful)
			pass(time.Minute)
			opened, _ := h.requests(h.root)
			if (len(opened) == 1) != asks || (len(asked) == 0) != asks {
				t.Fatalf("somebody is there: %v; asked %+v, ran as %+v", asks, opened, asked)
			}
			if asks {
				wants(t, opened[0].Decision.Why, "it runs in the background")
				p.send(allow(h.root, 1, 0, troupe.Deny))
			}
			p.end()
			h.checkTree()
		})
	}
}
