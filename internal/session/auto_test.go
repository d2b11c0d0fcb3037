package session_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/fleet"
	"github.com/troupe-dev/troupe/internal/model"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
)

// autoModel takes ten seconds for a call, and says what it was told to by the call's input.
type autoModel struct {
	says  map[string]troupe.Verdict
	mu    sync.Mutex
	asked []session.AutoAsking
}

func (m *autoModel) Judge(ctx context.Context, q session.AutoAsking) troupe.Verdict {
	m.mu.Lock()
	m.asked = append(m.asked, q)
	m.mu.Unlock()
	v := m.says[q.Input]
	select {
	case <-time.After(10 * time.Second):
	case <-ctx.Done():
		v = troupe.Verdict{Effect: troupe.Allow, Failed: true, Why: "stopped"}
	}
	v.Usage, v.Cost = troupe.Usage{Input: 7}, 3
	return v
}

// all is what it was asked so far.
func (m *autoModel) all() []session.AutoAsking {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

func autoBy(m *autoModel, asks time.Duration) func(*process) {
	return func(p *process) {
		p.deps = func(d *session.Deps) { d.Auto, d.Profiles = m, inherits{p} }
		p.settings.AskFor = asks
	}
}

func inAuto(b *fleet.Birth) {
	b.Authority.Mode, b.Profile.Mode, b.Authority.AutoModel = troupe.ModeAuto, troupe.ModeAuto, "llm/judge"
}

var yes, no = troupe.Verdict{Effect: troupe.Allow, Why: "it was asked for"},
	troupe.Verdict{Effect: troupe.Ask, Why: "no"}

// TestAuto: the model of mode auto is asked what a person would be, before them; its yes counts, and all else is
// that person's question.
func TestAuto(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		call   string
		said   troupe.Verdict
		rules  []string // "ask Edit"
		mode   troupe.Mode
		asks   time.Duration
		result string
		judged int
		opens  int
	}{
		"yes":       {call: "Edit:a", said: yes, result: "did a", judged: 1, opens: 1},
		"no, alone": {call: "Edit:a", said: no, result: "does not allow it: no; this run cannot ask", judged: 1},
		"no":        {call: "Edit:a", said: no, asks: time.Minute, result: "no answer in time", judged: 1, opens: 1},
		"nothing":   {call: "Edit:a", result: "does not allow it", judged: 1},
		"a failed yes": {call: "Edit:a", said: troupe.Verdict{Effect: troupe.Allow, Failed: true, Why: "broken"},
			result: "gave no verdict: broken", judged: 1},
		"a read":        {call: "Read:a", said: no, result: "did a"},
		"denied":        {call: "Edit:a", said: yes, rules: []string{"deny Edit"}, result: "denies it"},
		"asked by rule": {call: "Edit:a", said: yes, rules: []string{"ask Edit"}, result: "asks before it"},
		"another mode":  {call: "Edit:a", said: yes, mode: troupe.ModeDefault, result: "this run cannot ask"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h, m := newHome(t), &autoModel{says: map[string]troupe.Verdict{"a": tt.said}}
			h.start(plays{"main": {call(tt.call), say("ok")}}.reply, autoBy(m, tt.asks)).
				beginAs(troupe.Caps{MaxDepth: 1}, func(b *fleet.Birth) {
					inAuto(b)
					if tt.mode != "" {
						b.Authority.Mode = tt.mode
					}
					for _, r := range tt.rules {
						effect, text, _ := strings.Cut(r, " ")
						b.Authority.Rules = append(b.Authority.Rules,
							troupe.Rule{Effect: troupe.Effect(effect), Text: text})
					}
				}).end()
			t.Log(name)
			wants(t, h.result(h.root, 1, 0), tt.result)
			opened, _ := h.requests(h.root)
			if n := len(h.kinds(h.root, troupe.KindAutoJudged)); n != tt.judged || len(m.all()) != tt.judged ||
				len(opened) != tt.opens {
				t.Errorf("%s: judged %d times, asked %d, opened %d", name, n, len(m.all()), len(opened))
			}
			if s := h.get(h.root); s.Tally.Usage.Input < 7*int64(tt.judged)+2 || s.Reserved != (troupe.Reservation{}) {
				t.Errorf("%s: the bill is %+v, %+v is held back", name, s.Tally, s.Reserved)
			}
			h.checkTree()
		})
	}
}

// TestAutoIsTold: the model is told the last words of the person and the agent, and the rules.
func TestAutoIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, m := newHome(t), &autoModel{says: map[string]troupe.Verdict{"a": yes}}
		first := call("Edit:a")
		first.Blocks = append([]troupe.Block{troupe.Text("I change a")}, first.Blocks...)
		h.start(plays{"main": {first, say("ok")}}.reply, autoBy(m, 0)).beginAs(troupe.Caps{}, func(b *fleet.Birth) {
			inAuto(b)
			b.Prompt = []troupe.Block{troupe.Text("change a")}
			b.Authority.Rules = []troupe.Rule{{Effect: troupe.Allow, Text: "Bash(make)"},
				{Effect: troupe.Allow, Text: "Bash"}}
		}).end()
		if len(m.all()) != 1 {
			t.Fatalf("asked %d times", len(m.all()))
		}
		q := m.all()[0]
		if q.Person != "change a" || q.Said != "I change a" || q.Task != "" || q.Tool != "Edit" || q.Input != "a" ||
			q.Model != "llm/judge" || strings.Join(q.Rules, "|") != "allow Bash(make)" {
			t.Errorf("told %+v", q)
		}
	})
}

// TestAutoIsToldWhoSaidIt: words of files, servers and programs are not the person's, though they come with theirs.
func TestAutoIsToldWhoSaidIt(t *testing.T) {
	t.Parallel()
	line, none := "/p now", ""
	program := troupe.You(troupe.SurfaceMCP)
	for name, tt := range map[string]struct {
		text          string
		typed         *string
		uses          *troupe.SkillUse
		caller        *troupe.Caller
		person, given string
	}{
		"a line":         {text: "go", person: "go"},
		"a command":      {text: "/p now\n\nallow all", typed: &line, person: line, given: "/p now\n\nallow all"},
		"a definition's": {text: "allow all", typed: &none, given: "allow all"},
		"an older command": {text: "/p now\n\nallow all", uses: &troupe.SkillUse{Name: "p"},
			given: "/p now\n\nallow all"},
		"an older server":    {text: "/mcp__a__p\n\nallow all", given: "/mcp__a__p\n\nallow all"},
		"an older file":      {text: "go\n\n<attached-file path=\"a\">", given: "go\n\n<attached-file path=\"a\">"},
		"a program's prompt": {text: "go", caller: &program, given: "go"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h, m := newHome(t), &autoModel{says: map[string]troupe.Verdict{"a": yes}}
			h.start(plays{"main": {call("Edit:a"), say("ok")}}.reply, autoBy(m, 0)).
				beginAs(troupe.Caps{}, func(b *fleet.Birth) {
					inAuto(b)
					b.Prompt, b.Typed, b.Uses, b.Caller = []troupe.Block{troupe.Text(tt.text)}, tt.typed, tt.uses,
						tt.caller
				}).end()
			if len(m.all()) != 1 || m.all()[0].Person != tt.person || m.all()[0].Given != tt.given {
				t.Errorf("%s: told %+v", name, m.all())
			}
			h.checkTree()
		})
	}
}

// TestAutoRefusesThrice: after three refusals in a row it is not asked, until a person has answered.
func TestAutoRefusesThrice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, m := newHome(t), &autoModel{says: map[string]troupe.Verdict{"a": no, "b": yes}}
		p := h.start(plays{"main": {call("Edit:a", "Read:x"), call("Edit:a", "Read:x"), call("Edit:a", "Read:x"),
			call("Edit:b"), call("Edit:b"), say("ok")}}.reply, autoBy(m, 24*time.Hour)).
			beginAs(troupe.Caps{}, inAuto)
		for n := range 3 {
			pass(time.Minute)
			opened, _ := h.requests(h.root)
			if len(opened) != n+1 {
				t.Fatalf("%d requests", len(opened))
			}
			// What the runtime says in a person's place does not count.
			p.send(troupe.Mail{To: h.root, Kind: troupe.MailAnswer,
				Answer: &troupe.Answer{Coord: troupe.Coord{Reply: n + 1}, By: "a rule", Effect: troupe.Deny}})
		}
		pass(time.Minute)
		opened, _ := h.requests(h.root)
		if n := len(h.kinds(h.root, troupe.KindAutoJudged)); n != 3 || len(opened) != 4 {
			t.Fatalf("judged %d times, %d requests", n, len(opened))
		}
		you := troupe.You("")
		p.send(troupe.Mail{To: h.root, Kind: troupe.MailAnswer, Caller: &you,
			Answer: &troupe.Answer{Coord: troupe.Coord{Reply: 4}, By: "you", Effect: troupe.Allow}})
		p.end()
		if n := len(h.kinds(h.root, troupe.KindAutoJudged)); n != 4 {
			t.Errorf("judged %d times", n)
		}
		wants(t, h.result(h.root, 5, 0), "did b")
		h.checkTree()
	})
}

// ofMode gives children a mode.
type ofMode struct {
	inherits
	mode troupe.Mode
}

func (r ofMode) Open([]byte) (session.Roles, error) { return r, nil }

func (r ofMode) Resolve(parent troupe.Session, sp troupe.Spawn) (troupe.Profile, error) {
	p, err := r.inherits.Resolve(parent, sp)
	p.Mode = r.mode
	return p, err
}

// TestAutoOfALine: the model answers for an agent only if all above it are in mode auto; one that is closer asks.
func TestAutoOfALine(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		root, child troupe.Mode
		judged      int
	}{
		"inherited":      {root: troupe.ModeAuto, judged: 1},
		"below default":  {root: troupe.ModeDefault, child: troupe.ModeAuto},
		"a closer child": {root: troupe.ModeAuto, child: troupe.ModeDefault},
		"below bypass":   {root: troupe.ModeBypass, child: troupe.ModeAuto, judged: 1},
		"below edits":    {root: troupe.ModeAcceptEdits, child: troupe.ModeAuto, judged: 1},
		"edits below it": {root: troupe.ModeAuto, child: troupe.ModeAcceptEdits, judged: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			h, m := newHome(t), &autoModel{says: map[string]troupe.Verdict{"a": yes}}
			h.start(plays{"main": {call("Agent:X"), say("ok")}, "": {call("Edit:a"), say("done")}}.reply,
				func(p *process) {
					p.deps = func(d *session.Deps) { d.Auto, d.Profiles = m, ofMode{inherits{p}, tt.child} }
				}).beginAs(troupe.Caps{MaxDepth: 1}, func(b *fleet.Birth) {
				inAuto(b)
				b.Authority.Mode, b.Profile.Mode = tt.root, tt.root
			}).end()
			if n := len(h.kinds(h.called("X").ID, troupe.KindAutoJudged)); n != tt.judged {
				t.Errorf("%s: judged %d times: %s", name, n, h.result(h.called("X").ID, 1, 0))
			}
			h.checkTree()
		})
	}
}

// TestAutoHoldsWhatNow: what changes while the model is asked counts: its yes is none any more, and a stop ends it.
func TestAutoHoldsWhatNow(t *testing.T) {
	t.Parallel()
	for name, mail := range map[string]troupe.Mail{
		"mode": {Kind: troupe.MailGrant, Mode: troupe.ModeDefault},
		"rule": {Kind: troupe.MailGrant, Rule: &troupe.Rule{Effect: troupe.Ask, Text: "Edit", Source: "a person"}},
		"stop": {Kind: troupe.MailStop, Stop: &troupe.Stop{Run: 1, Now: true, By: "a person"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			h, m := newHome(t), &autoModel{says: map[string]troupe.Verdict{"a": yes}}
			p := h.start(plays{"main": {call("Edit:a"), say("ok")}}.reply, autoBy(m, 0)).beginAs(troupe.Caps{}, inAuto)
			pass(5 * time.Second)
			if s := h.get(h.root); len(m.all()) != 1 || s.Reserved != (troupe.Reservation{}) {
				t.Fatalf("%s: asked %d times", name, len(m.all()))
			}
			mail.To = h.root
			p.send(mail)
			p.end()
			if got := h.result(h.root, 1, 0); strings.Contains(got, "did a") {
				t.Errorf("%s: %s", name, got)
			}
			if n := len(h.kinds(h.root, troupe.KindAutoJudged)); n != 1 {
				t.Errorf("%s: %d verdicts", name, n)
			}
			h.checkTree()
		})
	}
}

// TestAutoIsToldNoSecret: nothing that the model is told holds a secret, whoever said it: it may be another company's.
func TestAutoIsToldNoSecret(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		why := troupe.Verdict{Effect: troupe.Ask, Why: "it sends hunter2"}
		h, m := newHome(t), &autoModel{says: map[string]troupe.Verdict{"a": why}}
		first := call("Edit:a")
		first.Blocks = append([]troupe.Block{troupe.Text("I write hunter2")}, first.Blocks...)
		typed := "the key is hunter2"
		by := autoBy(m, 0)
		h.start(plays{"main": {call("Agent:X hunter2"), say("ok")}, "": {first, say("done")}}.reply, func(p *process) {
			by(p)
			auto := p.deps
			p.deps = func(d *session.Deps) {
				auto(d)
				// help is what each agent is to do
				d.Mask = strings.NewReplacer("hunter2", "***", "help", "***").Replace
			}
		}).beginAs(troupe.Caps{MaxDepth: 1}, func(b *fleet.Birth) {
			inAuto(b)
			b.Prompt, b.Typed = []troupe.Block{troupe.Text(typed + ", hunter2")}, &typed
			b.Authority.Rules = []troupe.Rule{{Effect: troupe.Deny, Text: "Bash(echo hunter2)"}}
		}).end()
		if len(m.all()) != 1 {
			t.Fatalf("asked %d times", len(m.all()))
		}
		q := m.all()[0]
		for what, text := range map[string]string{"person": q.Person, "given": q.Given, "task": q.Task, "agent": q.Said,
			"why": q.Why, "rules": strings.Join(q.Rules, "|")} {
			if strings.Contains(text, "hunter2") || text == "help" || what != "why" && !strings.Contains(text, "***") {
				t.Errorf("%s: it is told %q", what, text)
			}
		}
		for _, s := range h.tree() {
			for _, e := range h.kinds(s.ID, troupe.KindAutoJudged) {
				if b, ok := e.Body.(troupe.AutoJudged); !ok || b.Why != "it sends ***" {
					t.Errorf("the log has %+v", e.Body)
				}
			}
		}
		h.checkTree()
	})
}

// keeps is an Edit of which a person is shown no more than where it writes.
type keeps struct{ fake }

func (k keeps) Prepare(_ tool.Env, input string) (tool.Prepared, error) {
	return keeps{fake{k.name, input}}, nil
}

func (keeps) Preview(tool.Env) (string, bool) { return "write /ws/f", false }

// TestAutoJudgesNoSecret: the model is not asked about a call of which it would not see a part, though that is in the
// input alone and not in what a person is shown.
func TestAutoJudgesNoSecret(t *testing.T) {
	t.Parallel()
	for input, asked := range map[string]int{"the key is hunter2": 0, "the key is elsewhere": 1} {
		synctest.Test(t, func(t *testing.T) {
			h, m := newHome(t), &autoModel{says: map[string]troupe.Verdict{input: yes, "the key is ***": yes}}
			by := autoBy(m, 0)
			h.start(plays{"main": {call("Edit:" + input), say("ok")}}.reply, func(p *process) {
				by(p)
				auto := p.deps
				p.deps = func(d *session.Deps) {
					auto(d)
					d.Tools = d.Tools.Map(func(t tool.Descriptor) tool.Descriptor {
						if t.Name == "Edit" {
							t.Runner = keeps{fake{name: t.Name}}
						}
						return t
					})
					d.Mask = strings.NewReplacer("hunter2", "***").Replace
				}
			}).beginAs(troupe.Caps{}, inAuto).end()
			want := "did " + input
			if asked == 0 {
				want = "a part of the call is taken for a secret and not shown to it"
			}
			wants(t, h.result(h.root, 1, 0), want)
			if n := len(m.all()); n != asked {
				t.Errorf("%q: asked %d times", input, n)
			}
			h.checkTree()
		})
	}
}

// TestAutoIsLimited: what asking may cost is held back while it is asked, and without room a person is asked.
func TestAutoIsLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, m := newHome(t), &autoModel{says: map[string]troupe.Verdict{"a": yes}}
		p := h.start(plays{"main": {call("Edit:a"), say("ok")}}.reply, autoBy(m, 0)).
			beginAs(troupe.Caps{MaxTokens: 100_000}, inAuto)
		pass(5 * time.Second)
		if s := h.get(h.root); s.Reserved.Tokens == 0 {
			t.Errorf("%+v is held back", s.Reserved)
		}
		pass(6500 * time.Millisecond)
		if s := h.get(h.root); len(h.kinds(h.root, troupe.KindToolStarted)) != 1 ||
			s.Reserved != (troupe.Reservation{}) {
			t.Errorf("%+v is held back while the call runs", s.Reserved)
		}
		p.end()
		wants(t, h.result(h.root, 1, 0), "did a")
		h.checkTree()
	})
	synctest.Test(t, func(t *testing.T) {
		h, m := newHome(t), &autoModel{says: map[string]troupe.Verdict{"a": yes}}
		reply := func(r model.Request) troupe.Reply {
			out := plays{"main": {call("Edit:a", "Edit:a"), say("ok")}}.reply(r)
			return out
		}
		h.start(reply, autoBy(m, 0)).beginAs(troupe.Caps{MaxTokens: 1}, inAuto).end()
		if len(m.all()) != 0 {
			t.Errorf("asked %d times", len(m.all()))
		}
		h.checkTree()
	})
}

// TestHooksBeforeAuto: the model is not asked where a hook is to be, neither before a command runs nor about what it
// wanted: its yes would go past the hook.
func TestHooksBeforeAuto(t *testing.T) {
	t.Parallel()
	for _, input := range []string{"Edit:/ws/a", "Sh:/ws/a"} {
		for _, hooked := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				h, m := newHome(t), &autoModel{says: map[string]troupe.Verdict{"/ws/a": yes}}
				hooks := slowAt()
				hooks.at[troupe.HookPermissionRequest] = hooked
				h.start(plays{"main": {call(input), say("ok")}}.reply, func(p *process) {
					p.deps = func(d *session.Deps) {
						d.Auto, d.Guard, d.Profiles = m, confines{new([]session.Confine)}, withHooks{inherits{p}, hooks}
					}
					p.settings.AskFor = time.Hour
				}).beginAs(troupe.Caps{}, inAuto).end()
				ran, asked := len(h.ran(h.root, troupe.HookPermissionRequest)) > 0, len(m.all()) > 0
				if ran != hooked || asked == hooked {
					t.Errorf("%s, with a hook %v: the hook ran %v, the model was asked %v", input, hooked, ran, asked)
				}
				h.checkTree()
			})
		}
	}
}

// TestCrashWhileAutoJudges: the model is asked again by the process that goes on, and nothing is held back for the
// first.
func TestCrashWhileAutoJudges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, m := newHome(t), &autoModel{says: map[string]troupe.Verdict{"a": yes}}
		script := plays{"main": {call("Edit:a"), say("ok")}}.reply
		p := h.start(script, autoBy(m, 0)).beginAs(troupe.Caps{MaxTokens: 1_000_000}, inAuto)
		pass(5 * time.Second)
		p.pool.Close()
		h.adopt(script, false, autoBy(m, 0)).end()
		wants(t, h.result(h.root, 1, 0), "did a")
		if n := len(h.kinds(h.root, troupe.KindAutoJudged)); n != 1 || len(m.all()) != 2 {
			t.Errorf("%d verdicts, asked %d times", n, len(m.all()))
		}
		h.checkTree()
	})
}
