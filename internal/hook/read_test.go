package hook

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
)

// TestRead: public configurations in every form in which they are found.
func TestRead(t *testing.T) {
	t.Parallel()
	from := Origin{Source: "s.json", Scope: "user"}
	hook := func(event troupe.HookEvent, matcher string, kind Kind, run string) Hook {
		return Hook{Event: event, Matcher: matcher, Kind: kind, Run: run, Origin: from}
	}
	for name, tt := range map[string]struct {
		in    string
		want  []Hook
		tells string
	}{
		"the usual form": {
			in: `{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "a"}, {"type": "command",
				"command": "b", "timeout": 5, "async": true}]}]}`,
			want: []Hook{hook("PreToolUse", "Bash", Command, "a"), func() Hook {
				h := hook("PreToolUse", "Bash", Command, "b")
				h.Seconds, h.Async = 5, true
				return h
			}()},
		},
		"no matcher, and several groups": {
			in:   `{"Stop": [{"hooks": [{"type": "command", "command": "a"}]}, {"matcher": "*", "hooks": [{"command": "b"}]}]}`,
			want: []Hook{hook("Stop", "", Command, "a"), hook("Stop", "*", Command, "b")},
		},
		"a command alone": {in: `{"PostToolUse": "npm run test:migrations"}`,
			want: []Hook{hook("PostToolUse", "", Command, "npm run test:migrations")}},
		"a hook without its group": {in: `{"Stop": [{"type": "command", "command": "a"}]}`,
			want: []Hook{hook("Stop", "", Command, "a")}},
		"addresses and prompts": {
			in: `{"Stop": [{"hooks": [{"type": "http", "url": "https://a.example/x", "headers": {"A": "$B"},
				"allowedEnvVars": ["B"]}, {"type": "prompt", "prompt": "done? $ARGUMENTS"}]}]}`,
			want: []Hook{func() Hook {
				h := hook("Stop", "", HTTP, "https://a.example/x")
				h.Headers, h.Env = map[string]string{"A": "$B"}, []string{"B"}
				return h
			}(), hook("Stop", "", Prompt, "done? $ARGUMENTS")},
		},
		"a moment twice loses none": {
			in:   `{"Stop": [{"hooks": [{"command": "a"}]}], "Stop": [{"hooks": [{"command": "b"}]}]}`,
			want: []Hook{hook("Stop", "", Command, "a"), hook("Stop", "", Command, "b")},
		},
		"arguments": {in: `{"Stop": [{"hooks": [{"command": "./x", "args": ["a b", "it's"]}]}]}`,
			want: []Hook{hook("Stop", "", Command, `./x 'a b' 'it'\''s'`)}},
		"a moment that there is not": {in: `{"PostToolBatch": [{"hooks": [{"command": "a"}]}]}`,
			tells: "PostToolBatch"},
		"null": {in: `{"Stop": null}`},
		"a type that cannot be run": {in: `{"PreToolUse": [{"hooks": [{"type": "agent", "prompt": "look"}]}]}`,
			want: []Hook{func() Hook {
				h := hook("PreToolUse", "", Command, "look")
				h.Broken = `hooks of the type "agent" cannot be run here`
				return h
			}()}, tells: `"agent"`},
		"nothing to run": {in: `{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command"}]}]}`,
			want: []Hook{func() Hook {
				h := hook("PreToolUse", "Bash", Command, "")
				h.Broken = "it says nothing to run"
				return h
			}()}, tells: "nothing to run"},
		"a timeout of nothing": {in: `{"Stop": [{"hooks": [{"command": "a", "timeout": -1}]}]}`,
			want: []Hook{hook("Stop", "", Command, "a")}, tells: "timeout -1"},
	} {
		got, problems := Read([]byte(tt.in), from)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		told := ""
		for _, p := range problems {
			told += p.Text + "\n"
		}
		if tt.tells == "" && told != "" || !strings.Contains(told, tt.tells) {
			t.Errorf("%s: it tells %q, and not of %q", name, told, tt.tells)
		}
	}
}

// TestUnreadableGuardsRefuse: what was meant to guard and cannot be read guards all the same.
func TestUnreadableGuardsRefuse(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`"x"`, `[]`, `7`, `{"PreToolUse": 7}`, `{"PreToolUse": [7]}`,
		`{"PreToolUse": [{"hooks": [7]}]}`,
		`{"PreToolUse": [{"hooks": {"command": 7}}]}`,
		`{"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "http"}]}]}`} {
		hooks, problems := Read([]byte(in), Origin{Source: "s.json"})
		if len(problems) == 0 {
			t.Errorf("%s: it tells nothing", in)
		}
		due := NewSet(hooks, nil).Of(troupe.HookMoment{Event: troupe.HookPreToolUse, Match: []string{"Bash"}}, false)
		said := runner(t).Run(t.Context(), due, troupe.HookMoment{Event: troupe.HookPreToolUse, Call: &troupe.Call{}})
		if said.Effect != troupe.Deny {
			t.Errorf("%s: it says %+v", in, said)
		}
	}
}

// TestMatchers: absent, empty and a star cover all; names are exact; the rest is found anywhere.
func TestMatchers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		matcher string
		names   []string
		want    bool
	}{
		{"", []string{"Bash"}, true}, {"*", []string{"Bash"}, true}, {"Bash", []string{"Bash"}, true},
		{"Bash", []string{"BashOutput"}, false}, {"bash", []string{"Bash"}, false},
		{"Edit|Write", []string{"Write"}, true}, {"Edit | Write", []string{"Write"}, true},
		{"Edit|Write", []string{"NotebookEdit"}, false}, {"Notebook.*", []string{"NotebookEdit"}, true},
		{"^Read$", []string{"Read"}, true}, {"mcp__memory__.*", []string{"mcp__memory__create"}, true},
		{"mcp__.*__write.*", []string{"mcp__fs__write_file"}, true}, {"mcp__memory", []string{"mcp__memory__x"}, true},
		{"mcp__memory", []string{"mcp__memory2__x"}, false}, {"mcp__a__b", []string{"mcp__a__b__c"}, false},
		{"Task", []string{"Agent", "Task"}, true}, {"^(?!Read).*$", []string{"Bash"}, true},
		{"[", []string{"Bash"}, true}, {"Bash", nil, true},
		{"Bash, Edit", []string{"Edit"}, true}, {"Bash,Edit|Write", []string{"Bash"}, true},
		{"Bash, Edit", []string{"Write"}, false}, {",", []string{"Bash"}, true},
	} {
		if got := newMatcher(tt.matcher).matches(tt.names); got != tt.want {
			t.Errorf("%q on %q: %v", tt.matcher, tt.names, got)
		}
	}
}

// TestScope: the hooks of a definition hold for its agents and for all below, and their Stop is those agents' own end.
func TestScope(t *testing.T) {
	t.Parallel()
	s := NewSet([]Hook{{Event: troupe.HookPreToolUse, Origin: Origin{Agent: "Guarded"}},
		{Event: troupe.HookStop, Origin: Origin{Agent: "guarded"}}}, nil)
	for _, tt := range []struct {
		event troupe.HookEvent
		line  []string
		want  int
	}{
		{troupe.HookPreToolUse, []string{"main"}, 0}, {troupe.HookPreToolUse, []string{"main", "guarded"}, 1},
		{troupe.HookPreToolUse, []string{"main", "guarded", "Explore"}, 1},
		{troupe.HookSubagentStop, []string{"main", "guarded"}, 1}, {troupe.HookStop, []string{"guarded"}, 1},
		{troupe.HookSubagentStop, []string{"main", "guarded", "Explore"}, 0}, {troupe.HookStop, []string{"main"}, 0},
	} {
		if got := len(s.Of(troupe.HookMoment{Event: tt.event, Line: tt.line}, false)); got != tt.want {
			t.Errorf("%s of %v: %d hooks", tt.event, tt.line, got)
		}
	}
	// Those of a skill hold for whoever has used that very file, and for all below; their Stop is the end of the
	// former.
	s = NewSet([]Hook{{Event: troupe.HookPreToolUse, Origin: Origin{Source: "/a/SKILL.md", Skill: "a"}},
		{Event: troupe.HookStop, Origin: Origin{Source: "/a/SKILL.md", Skill: "a"}}}, nil)
	a, b := []string{"/a/SKILL.md"}, []string{"/b/SKILL.md"}
	for _, tt := range []struct {
		event       troupe.HookEvent
		skills, own []string
		want        int
	}{
		{troupe.HookPreToolUse, nil, nil, 0}, {troupe.HookPreToolUse, a, a, 1}, {troupe.HookPreToolUse, a, nil, 1},
		{troupe.HookPreToolUse, b, b, 0}, {troupe.HookPostToolUse, a, a, 0},
		{troupe.HookStop, a, a, 1}, {troupe.HookSubagentStop, a, a, 1}, {troupe.HookSubagentStop, a, nil, 0},
	} {
		m := troupe.HookMoment{Event: tt.event, Line: []string{"main"}, Skills: tt.skills, Own: tt.own}
		if got := len(s.Of(m, false)); got != tt.want {
			t.Errorf("%s with %v, %v its own: %d hooks", tt.event, tt.skills, tt.own, got)
		}
	}
}
