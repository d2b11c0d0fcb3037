package app

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/hook"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/all"
)

// TestHookRules: a hook with a rule runs for the calls that the rule speaks of, in doubt for more; one whose rule
// cannot be read runs for all that its matcher covers, and that is said.
func TestHookRules(t *testing.T) {
	t.Parallel()
	list, err := all.Tools(all.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tools := tool.NewSet(list...)
	rules := hookRules(gate.NewTools(tools.Facts()), "/home/u")
	for _, tt := range []struct {
		rule, matcher string
		tool, input   string
		want          int
	}{
		{"Bash(git *)", "", "Bash", `{"command": "git push"}`, 1},
		{"Bash(git *)", "", "Bash", `{"command": "ls"}`, 0},
		{"Bash(git *)", "", "Bash", `{"command": "cd x && A=b git push | cat"}`, 1},
		{"Bash(git *)", "", "Bash", `{"command": "echo $(git push)"}`, 1},
		{"Bash(git *)", "", "Bash", `{"command": "$X push"}`, 1}, // it may be git
		{"Bash(git *)", "", "Write", `{"file_path": "/p/git", "content": "x"}`, 0},
		{"Bash(git *)", "Write", "Bash", `{"command": "git push"}`, 0},
		{"Edit(*.ts)", "Edit|Write", "Write", `{"file_path": "/p/a.ts", "content": "x"}`, 1},
		{"Edit(*.ts)", "Edit|Write", "Write", `{"file_path": "/p/a.go", "content": "x"}`, 0},
		{"Edit(/src/**)", "", "Write", `{"file_path": "/p/src/x/a.go", "content": "x"}`, 1},
		{"Edit(/src/**)", "", "Write", `{"file_path": "/p/a.go", "content": "x"}`, 0},
		{"Agent(Explore)", "", "Agent", `{"subagent_type": "Explore", "description": "d", "prompt": "p"}`, 1},
		{"Agent(Explore)", "", "Agent", `{"subagent_type": "Plan", "description": "d", "prompt": "p"}`, 0},
		{"Task(Explore)", "", "Agent", `{"subagent_type": "Explore", "description": "d", "prompt": "p"}`, 1},
		{"WebFetch(domain:a.example)", "", "WebFetch", `{"url": "https://a.example/x", "prompt": "p"}`, 1},
		{"WebFetch(domain:a.example)", "", "WebFetch", `{"url": "https://b.example/x", "prompt": "p"}`, 0},
		// These cannot be read: the hook runs, if its matcher covers the call.
		{"Bash(git *", "", "Bash", `{"command": "ls"}`, 1},
		{"Bahs(git *)", "", "Bash", `{"command": "ls"}`, 1},
		{"NoSuchTool", "", "Bash", `{"command": "ls"}`, 1},
		{"Agent(a, b)", "Bash", "Agent", `{"subagent_type": "Plan", "description": "d", "prompt": "p"}`, 0},
	} {
		h := hook.Hook{Event: troupe.HookPreToolUse, Matcher: tt.matcher, If: tt.rule}
		m := troupe.HookMoment{Event: troupe.HookPreToolUse, Match: []string{tt.tool},
			Session: troupe.Session{Cwd: "/p"}, Call: &troupe.Call{Name: tt.tool, Input: tt.input}}
		d, _ := tools.Find(tt.tool)
		access, err := d.Access(tool.Env{Cwd: "/p", Seen: func(string) (string, bool) { return "", false }}, tt.input)
		if err != nil {
			t.Fatal(tt.input, err)
		}
		m.Access = &access
		set := hook.NewSet([]hook.Hook{h}, rules)
		if got := len(set.Of(m, false)); got != tt.want {
			t.Errorf("%s (%s) of %s %s: %d", tt.rule, tt.matcher, tt.tool, tt.input, got)
		}
		if m.Access = nil; tt.matcher == "" && len(set.Of(m, false)) != 1 {
			t.Errorf("%s of a call of which nothing is known does not run", tt.rule)
		}
		unread := strings.Contains(tt.rule, "git *") && !strings.HasSuffix(tt.rule, ")") ||
			strings.HasPrefix(tt.rule, "Ba"+"hs") || tt.rule == "NoSuchTool" || strings.Contains(tt.rule, ", ")
		if got := h.Unread(rules); (got != "") != unread {
			t.Errorf("%s is said to be unread: %q", tt.rule, got)
		}
	}
	// At a moment without a call no rule is about it, and the person is told when it is read.
	hooks, odd := hook.Read(json.RawMessage(`{"Stop": [{"hooks": [{"command": "a", "if": "Bash(git *)"}]}]}`),
		hook.Origin{})
	if due := hook.NewSet(hooks, rules).Of(troupe.HookMoment{Event: troupe.HookStop}, false); len(due) != 0 ||
		len(odd) != 1 || odd[0].Note {
		t.Errorf("at a moment without a call: %+v, told %+v", due, odd)
	}
}
