package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

// effortOf is what a request asks its model for; "" is nothing.
func effortOf(t *testing.T, r *modeltest.Request) string {
	t.Helper()
	var body struct {
		Output *struct {
			Effort string `json:"effort"`
		} `json:"output_config"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	if body.Output == nil {
		return ""
	}
	return body.Output.Effort
}

// TestEffort: what a definition, a call, a flag and settings say of effort is what the provider is asked for, as far as
// the model takes it, and stays so in another process.
func TestEffort(t *testing.T) {
	t.Parallel()
	p, s := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		if isMain(r) && r.Turn == 1 {
			return modeltest.Calls(
				agentCall("subagent_type", "plain", "prompt", "heir"),
				agentCall("subagent_type", "low", "prompt", "own"),
				agentCall("subagent_type", "low", "prompt", "called", "effort", "xhigh"),
				agentCall("subagent_type", "old", "prompt", "clipped"),
				agentCall("subagent_type", "none", "prompt", "silent"),
				agentCall("subagent_type", "odd", "prompt", "unclear"))
		}
		return modeltest.Text("Done.")
	})
	define := func(name, fields string) {
		p.write("../user/.claude/agents/"+name+".md", "---\nname: "+name+"\ndescription: d\ntools: Read\n"+fields+
			"---\nWork.\n")
	}
	define("plain", "")
	define("low", "effort: Low\n")
	define("old", "model: claude-opus-4-6\neffort: xhigh\n")
	define("none", "model: claude-haiku-4-5\neffort: high\n")
	define("odd", "effort: much\n")
	p.write("../home/settings.json", `{"effort": "max"}`)
	p.run(0, "-p", "go", "--name", "job")
	p.audit("job")
	p.run(0, "-p", "--resume", "job", "again")
	p.run(0, "-p", "--resume", "job", "--effort", "medium", "and again")
	p.audit("job")
	want := map[string]string{"heir": "max", "own": "low", "called": "xhigh", "clipped": "high", "silent": "",
		"unclear": "max"}
	var main []string
	seen := map[string]bool{}
	for _, r := range s.Requests() {
		effort := effortOf(t, r)
		if isMain(r) {
			main = append(main, effort)
			continue
		}
		for prompt, e := range want {
			if !strings.Contains(string(r.Body), prompt) {
				continue
			}
			if seen[prompt] = true; effort != e {
				t.Errorf("the agent told %q is asked for the effort %q, want %q", prompt, effort, e)
			}
		}
	}
	if len(seen) != len(want) {
		t.Errorf("only %v were asked for", seen)
	}
	if got := strings.Join(main, " "); got != "max max max medium" {
		t.Errorf("the main agent is asked for %q", got)
	}

	if r := p.troupe("-p", "--resume", "job", "--model", "claude-opus-4-6", "--effort", "xhigh", "less"); r.code != 0 ||
		!strings.Contains(r.errOut, "does not take the effort xhigh, so it is asked for high") {
		t.Errorf("a resumed session: %d %s", r.code, r.errOut)
	}

	for name, says := range map[string]string{"old": "effort       high (its definition says xhigh)",
		"none": "effort       none (its definition says high)", "plain": "effort       max",
		"low": "effort       low"} {
		if r := p.troupe("agents", "show", name); r.code != 0 || !strings.Contains(r.out, says+"\n") {
			t.Errorf("agents show %s: %d\n%s\n%s", name, r.code, r.out, r.errOut)
		}
	}
	if r := p.troupe("agents", "show", "old"); !strings.Contains(r.errOut, "does not take the effort xhigh") {
		t.Errorf("agents show old does not say so:\n%s", r.errOut)
	}
	if r := p.troupe("agents", "check"); !strings.Contains(r.out+r.errOut, `odd.md:5: there is no effort "much"`) {
		t.Errorf("agents check:\n%s%s", r.out, r.errOut)
	}
	if r := p.troupe("-p", "--effort", "much", "go"); r.code != 2 || !strings.Contains(r.errOut, "low, medium, high") {
		t.Errorf("--effort much: %d %s", r.code, r.errOut)
	}
	if r := p.troupe("-p", "--model", "claude-haiku-4-5", "--effort", "low", "go"); r.code != 0 ||
		!strings.Contains(r.errOut, "is not known to take an effort") {
		t.Errorf("a model without efforts: %d %s", r.code, r.errOut)
	}
}

// TestSkillsModel: the model and the effort of a skill hold for the replies in which it is followed, whoever used it,
// and those of the session again from a person's next prompt on, in another process too. A project's count once it is
// trusted.
func TestSkillsModel(t *testing.T) {
	t.Parallel()
	p, s := newServed(t, func(r *modeltest.Request) modeltest.Reply {
		last := string(r.Messages[len(r.Messages)-1])
		switch {
		case strings.Contains(last, "use it"):
			return modeltest.Calls(modeltest.Call{Name: "Skill", Input: `{"skill":"quick"}`})
		case strings.Contains(last, "Skill quick") && strings.Contains(last, "tool_result"):
			return modeltest.Calls(modeltest.Call{Name: "Glob", Input: `{"pattern":"*"}`})
		}
		return modeltest.Text("Done.")
	})
	p.write("../user/.claude/skills/quick/SKILL.md", "---\ndescription: d\nmodel: haiku\neffort: low\n---\nBe quick.\n")
	p.write(".claude/skills/theirs/SKILL.md", "---\ndescription: d\nmodel: opus\n---\nBe dear.\n")
	p.write("../home/settings.json", `{"effort": "high"}`)
	asked := func(says string, want ...string) {
		t.Helper()
		var got []string
		for _, r := range s.Requests()[s.Count()-len(want):] {
			got = append(got, strings.TrimPrefix(r.Model, "claude-")+" "+effortOf(t, r))
		}
		if strings.Join(got, ", ") != strings.Join(want, ", ") {
			t.Errorf("%s: asked %q, want %q", says, got, want)
		}
	}
	p.run(0, "-p", "--name", "job", "/quick now")
	asked("a person uses it", "haiku-5-5 low")
	p.run(0, "-p", "--resume", "job", "and then")
	asked("their next prompt, in another process", "sonnet-5-5 high")
	p.run(0, "-p", "--resume", "job", "use it")
	asked("a model uses it", "sonnet-5-5 high", "haiku-5-5 low", "haiku-5-5 low")
	p.run(0, "-p", "--resume", "job", "--model", "opus", "other")
	asked("the person's choice", "opus-5-5 high")
	p.run(0, "-p", "--resume", "job", "/quick")
	p.run(0, "-p", "--resume", "job", "last")
	asked("and again, and back to that", "haiku-5-5 low", "opus-5-5 high")
	p.audit("job")

	p.run(0, "-p", "--name", "two", "/theirs")
	asked("a stranger's", "sonnet-5-5 high")
	if r := p.troupe("log", "two"); !strings.Contains(r.out, "do not count: what it asks for is not trusted") {
		t.Errorf("the log does not say so:\n%s", r.out)
	}
	p.run(0, "-p", "--trust", "--name", "three", "/theirs")
	asked("a trusted one's", "opus-5-5 high")
}
