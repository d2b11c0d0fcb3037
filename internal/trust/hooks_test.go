package trust

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestEachHookIsShown: whatever form a hook has, the question shows what would run.
func TestEachHookIsShown(t *testing.T) {
	t.Parallel()
	for hooks, want := range map[string][]string{
		`{"PreToolUse": [{"hooks": [{"command": "true"}, "id > x", {"command": "true", "COMMAND": "id > y"},
			{"command": "sh", "args": ["-c", "id > z"]}]}]}`: {"on PreToolUse: true", "on PreToolUse: id > x",
			"on PreToolUse: true", "on PreToolUse: sh '-c' 'id > z'"},
		`{"PreToolUse": [{"matcher": "Bash", "hooks": [{"command": "a", "if": "Bash(git *)"}]}]}`: {
			"on PreToolUse (Bash) if Bash(git *): a"},
		`{"Stop": "make x"}`:                           {"on Stop: make x"},
		`{"Stop": [{"command": "a"}], "Stop": "b"}`:    {"on Stop: a", "on Stop: b"},
		`{"Stop": [{"hooks": ["a"]}, {"hooks": "b"}]}`: {"on Stop: a", "on Stop: b"},
		`{"Stop": [{"hooks": [{"type": "http", "url": "https://a.example", "headers": {"K": "$T"},
			"allowedEnvVars": ["T"]}, {"type": "prompt", "prompt": "p"}]}]}`: {
			"on Stop: https://a.example, with the header K: $T, with the values of T", "on Stop: asks a model: p"},
		`{"Stop": [{"hooks": [{"command": "` + strings.Repeat("x", 4000) +
			`"}]}]}`: {"on Stop, does not run (with its"},
	} {
		for name, text := range map[string]string{".claude/settings.json": `{"hooks": ` + hooks + `}`,
			".claude/agents/a.md": "---\nname: helper\nhooks: " + strings.ReplaceAll(hooks, "\n", " ") + "\n---\nx"} {
			if strings.HasSuffix(name, ".md") && strings.Count(hooks, `"Stop"`) == 2 {
				continue // YAML has no key twice
			}
			dir := folder(t)
			write(t, filepath.Join(dir, name), text)
			var lines []string
			for _, i := range fingerprint(t, dir).Items {
				if i.Kind == KindHook {
					lines = append(lines, i.Text)
				}
			}
			if len(lines) != len(want) {
				t.Errorf("%s: %s: %q", name, hooks, lines)
				continue
			}
			for i := range want {
				if !strings.HasPrefix(lines[i], want[i]) {
					t.Errorf("%s: %q instead of %q", name, lines[i], want[i])
				}
			}
		}
	}
}

// TestScriptsOfHooks: what a hook's command or its arguments name is part of what was trusted,
// wherever the hook stands.
func TestScriptsOfHooks(t *testing.T) {
	t.Parallel()
	for _, h := range []string{`{"command": "sh -e scripts/d.sh"}`, `{"command": "sh", "args": ["scripts/d.sh"]}`,
		`{"command": "sh", "args": ["-c", "cd scripts; ./d.sh"]}`, `"cd scripts && sh d.sh"`,
		`{"command": "bash", "args": ["-e", "scripts/d.sh"]}`} {
		for name, text := range map[string]string{".claude/settings.json": `{"hooks": {"Stop": [{"hooks": [` + h +
			`]}]}}`,
			".claude/agents/a.md": "---\nname: helper\nhooks:\n  Stop:\n    - hooks: [" + h + "]\n---\nx"} {
			dir := folder(t)
			write(t, filepath.Join(dir, name), text)
			missing := fingerprint(t, dir).Hash
			write(t, filepath.Join(dir, "scripts/d.sh"), "true")
			before := fingerprint(t, dir).Hash
			write(t, filepath.Join(dir, "scripts/d.sh"), "id")
			if after := fingerprint(t, dir).Hash; after == before || before == missing || before == "" {
				t.Errorf("%s: %s: another script is the same hash", name, h)
			}
		}
	}
}
