package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
)

func TestFindDirs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		env  map[string]string
		want Dirs
		err  string
	}{
		{"one home", map[string]string{"TROUPE_HOME": "/t/", "HOME": "/home/u", "XDG_CONFIG_HOME": "/c"},
			Dirs{"/t", "/t", "/t/run", "/t-worktrees", "/home/u"}, ""},
		{"one home, no user", map[string]string{"TROUPE_HOME": "/t"}, Dirs{"/t", "/t", "/t/run", "/t-worktrees", ""},
			""},
		{"relative home", map[string]string{"TROUPE_HOME": "t", "HOME": "/home/u"}, Dirs{}, "TROUPE_HOME"},
		{"standard", map[string]string{"HOME": "/home/u"}, Dirs{"/home/u/.config/troupe", "/home/u/.local/share/troupe",
			"/home/u/.local/share/troupe/run",
			"/home/u/.local/state/troupe/worktrees", "/home/u"}, ""},
		{"empty means unset", map[string]string{"HOME": "/home/u", "TROUPE_HOME": "", "XDG_DATA_HOME": ""},
			Dirs{"/home/u/.config/troupe", "/home/u/.local/share/troupe", "/home/u/.local/share/troupe/run",
				"/home/u/.local/state/troupe/worktrees", "/home/u"},
			""},
		{"xdg", map[string]string{"HOME": "/home/u", "XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d",
			"XDG_RUNTIME_DIR": "/run/user/7"}, Dirs{"/c/troupe", "/d/troupe", "/run/user/7/troupe",
			"/home/u/.local/state/troupe/worktrees", "/home/u"}, ""},
		{"xdg without a home", map[string]string{"XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d"},
			Dirs{"/c/troupe", "/d/troupe", "/d/troupe/run", "/d/troupe-worktrees", ""}, ""},
		{"relative xdg does not count", map[string]string{"HOME": "/home/u", "XDG_CONFIG_HOME": "c",
			"XDG_DATA_HOME": "/d"}, Dirs{"/home/u/.config/troupe", "/d/troupe", "/d/troupe/run",
			"/home/u/.local/state/troupe/worktrees", "/home/u"}, ""},
		{"nothing", nil, Dirs{}, "TROUPE_HOME"},
		{"half of xdg", map[string]string{"XDG_CONFIG_HOME": "/c"}, Dirs{}, "HOME"},
		{"relative HOME", map[string]string{"HOME": "u"}, Dirs{}, "HOME"},
	}
	for _, test := range tests {
		got, err := FindDirs(func(name string) (string, bool) { v, ok := test.env[name]; return v, ok })
		if test.err != "" {
			var ue *troupe.UserError
			if !errors.As(err, &ue) || !strings.Contains(err.Error(), test.err) || ue.Hint == "" || ue.Code != 2 {
				t.Errorf("%s: error %v", test.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
	d := Dirs{Config: "/c", Data: "/d", Run: "/r", Home: "/h"}
	got := []string{d.Settings(), d.Models(), d.Database(), d.Outputs()}
	want := []string{"/c/settings.json", "/c/models.yaml", "/d/troupe.db", "/d/outputs"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	s, warnings, err := Parse("/c/settings.json", []byte("\ufeff"+`{
		"$schema": "x",
		"model": "opus",
		"permissions": {"defaultMode": "acceptEdits", "allow": ["Bash(ls)", "Edit"], "deny": ["Read(.env)"], "ask": [], "ask_seconds": 30},
		"agents": {"max_depth": 0, "max_active": 3, "max_total": 9, "max_tokens": 5000000000, "max_cost_usd": 2.5,
			"max_seconds": 600, "background_seconds": 0, "fork": true, "wait_above_usd": 3, "ask_above_usd": 1.25, "each_max_tokens": 7, "each_max_cost_usd": 0.5, "each_max_seconds": 60},
		"fallback_model": "haiku", "retry_seconds": 90, "worktree": {"symlinkDirectories": ["target"]},
		"providers": {"ollama": {"base_url": "http://localhost:11434/v1", "window": 8192, "max_requests": 2}, "anthropic": {"max_requests": 4}}
	}`))
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	want := Settings{
		Path: "/c/settings.json", Model: "opus", Worktree: Worktree{Link: []string{"target"}},
		Fallback: "haiku", RetrySeconds: 90,
		Permissions: Permissions{DefaultMode: troupe.ModeAcceptEdits, Allow: []string{"Bash(ls)", "Edit"},
			Deny: []string{"Read(.env)"}, Ask: []string{}, AskSeconds: 30},
		Agents: Agents{
			MaxActive: 3, MaxTotal: 9, MaxTokens: 5_000_000_000, MaxCostUSD: 2.5, MaxSeconds: 600, AskAboveUSD: 1.25,
			WaitAboveUSD: 3, MaxMessages: 20, Fork: true,
			EachTokens: 7, EachCostUSD: 0.5, EachSeconds: 60,
		},
		Sandbox: defaults().Sandbox,
		Providers: map[string]Provider{"ollama": {BaseURL: "http://localhost:11434/v1", Window: 8192, MaxRequests: 2},
			"anthropic": {MaxRequests: 4}},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(troupe.Caps{MaxActive: 3, MaxTotal: 9, MaxTokens: 5_000_000_000, MaxCost: 5 * troupe.Dollar / 2,
		AskAbove: 5 * troupe.Dollar / 4}, s.Caps()); diff != "" {
		t.Error(diff)
	}
	rules := []troupe.Rule{
		{Effect: troupe.Deny, Text: "Read(.env)", Source: "/c/settings.json"},
		{Effect: troupe.Allow, Text: "Bash(ls)", Source: "/c/settings.json"},
		{Effect: troupe.Allow, Text: "Edit", Source: "/c/settings.json"},
	}
	if diff := cmp.Diff(rules, s.Rules()); diff != "" {
		t.Error(diff)
	}
	if s, _, err := Parse("x", []byte("{}")); err != nil || s.Caps() != (troupe.Caps{MaxDepth: 1,
		MaxTotal: 200}) || s.Permissions.DefaultMode != troupe.ModeDefault {
		t.Errorf("defaults: %+v, %v", s, err)
	}
}

func TestParseComplaints(t *testing.T) {
	t.Parallel()
	errs := []struct{ in, says string }{
		{"", "f:1:1: the file is empty"},
		{"[]", `f:1:1: the file must be an object in braces, not a list`},
		{"{\n  \"model\": 5}", `f:2:12: "model" must be a text in quotes, not a number`},
		{`{"model": null}`, "not null"},
		{"{\n\"permissions\": {\n\t\"allow\": [\"Edit\", true]}}",
			`f:3:20: "permissions.allow" must be a text in quotes, not true or false`},
		{`{"permissions": {"deny": "Bash"}}`, `"permissions.deny" must be a list of texts in brackets, not a text`},
		{`{"permissions": {"defaultMode": "yolo"}}`, `"yolo", but the modes are default, acceptEdits`},
		{`{"providers": {"p": {"api": "messages"}}}`, `"providers.p.api" is "messages", but it can only be "chat"`},
		{`{"providers": {"p": {"api": ""}}}`, `it can only be "chat"`},
		{`{"agents": {"max_depth": 1.5}}`, `"agents.max_depth" is 1.5, but must be a whole number`},
		{`{"agents": {"max_depth": -1}}`, "from 0"},
		{`{"agents": {"max_total": 99999999999}}`, "2147483647"},
		{`{"agents": {"max_cost_usd": -0.5}}`, "amount in dollars"},
		{`{"agents": {"max_cost_usd": 1e300}}`, "amount in dollars"},
		{"{\"model\": \"a\", // mine\n}", "f:1:16: this is not JSON"},
		{"{\"model\": \"a\", // mine\n}", "comments are not supported"},
		{"{# mine\n}", "comments are not supported"},
		{"{\"model\": \"a\",\n}", "f:2:1: this is not JSON"},
		{"{\"model\": \"a\",\n}", "comma before the closing bracket"},
		{`{"permissions": {"deny": ["Bash",]}}`, "comma before the closing bracket"},
		{`{"model": "a"`, "f:1:13"},
		{`{"model": "a"} {}`, "f:1:16"},
		{"{\"model\": \"é\xff\"}", "f:1:13: this byte is not valid UTF-8"},
		{`{"permissions": {"deny": ["Bash"]}, "permissions": {}}`, `f:1:37: "permissions" stands here twice`},
		{`{"x": ` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}", "nested too deeply"},
		{strings.Repeat(" ", maxSettings+1), "larger than"},
	}
	for _, test := range errs {
		_, _, err := Parse("f", []byte(test.in))
		var ue *troupe.UserError
		if !errors.As(err, &ue) || !strings.Contains(ue.Problem, test.says) || ue.Hint == "" {
			t.Errorf("%.60q: error %v does not say %q", test.in, err, test.says)
		}
	}
	for _, test := range []struct{ in, says string }{
		{`{"modell": "a"}`, `f:1:2: "modell" is not a setting; did you mean "model"?`},
		{`{"permissions": {"defaultmode": "plan"}}`, `did you mean "defaultMode"?`},
		{`{"agents": {"maxDepth": "x"}}`, `did you mean "max_depth"?`},
		{`{"hoaxes": {"a": [1, {"b": null}]}}`,
			`"hoaxes" is not a setting; known here: agents, allowManagedHooksOnly, allowedHttpHookUrls, deniedMcpServers, disableAllHooks, disabledMcpjsonServers, effort, fallback_model, fetch, handoff, hooks, mcpServers, model, notify, outputStyle, permissions, providers, retry_seconds, sandbox, search, sessions, statusLine, teammate_mode, teams, worktree`},
	} {
		_, warnings, err := Parse("f", []byte(test.in))
		if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], test.says) {
			t.Errorf("%s: %q, %v", test.in, warnings, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"model": "a", "permissions": {"allow": ["x"], "defaultMode": "plan"}, "agents": {"max_cost_usd": 1e3}}`))
	f.Add([]byte("{\"a\": 1, // x\n}"))
	f.Add([]byte("\ufeff{\"agents\": {\"max_depth\": 007}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, warnings, err := Parse("f", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") || len(warnings) > 0 {
				t.Errorf("error %q, warnings %q", err, warnings)
			}
			return
		}
		if c := s.Caps(); c.MaxDepth < 0 || c.MaxActive < 0 || c.MaxTotal < 0 || c.MaxTokens < 0 || c.MaxCost < 0 {
			t.Errorf("a negative cap: %+v", c)
		}
	})
}
