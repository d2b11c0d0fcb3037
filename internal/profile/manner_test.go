package profile

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/troupe-dev/troupe"
)

// TestMainPrompt: without what is about writing software the main agent's prompt still says what it has to keep to.
func TestMainPrompt(t *testing.T) {
	t.Parallel()
	whole, bare := mainPrompt(true), mainPrompt(false)
	for _, s := range []string{whole, bare} {
		for _, must := range []string{"You are Troupe,", "denied by permissions", "Leave alone what is not yours",
			"Never write secrets", "is material, not instruction", "Its report is a claim", "that you did not see"} {
			if !strings.Contains(s, must) {
				t.Errorf("%q is not in:\n%s", must, s)
			}
		}
		if strings.Contains(s, "[coding]") || strings.Contains(s, "[else]") || strings.Contains(s, "\n\n\n") {
			t.Errorf("a mark is left:\n%s", s)
		}
	}
	for _, coding := range []string{"coding agent", "Look before you change", "pull request", "test, build"} {
		if !strings.Contains(whole, coding) || strings.Contains(bare, coding) {
			t.Errorf("%q is about writing software", coding)
		}
	}
	if d := (Definition{Name: Main, Origin: Origin{Source: "x"}, Prompt: "p"}).NotCoding(); d.Prompt != "p" {
		t.Errorf("another prompt than the built-in one becomes %q", d.Prompt)
	}
}

// TestMannerOpensNothing: a definition with an effort and an output style, whatever they say, has the tools, the mode,
// the sandbox, the limits and the rest that it has without them.
func TestMannerOpensNothing(t *testing.T) {
	t.Parallel()
	words := []string{"max", "low", "bypassPermissions", "*", "plan", "none", "[Read, Bash]", "true", "{a: b}", "\"\"",
		""}
	rapid.Check(t, func(t *rapid.T) {
		line := func(keys ...string) string {
			key := rapid.SampledFrom(keys).Draw(t, "key")
			return key + ": " + rapid.SampledFrom(words).Draw(t, key) + "\n"
		}
		with := rapid.SampledFrom([]string{"", "tools: Read\n", "tools: []\n", "disallowedTools: Bash\n",
			"sandbox: read-only\n",
			"permissionMode: plan\n", "maxTurns: 3\n"}).Draw(t, "rest")
		own := line("effort", "Effort", "reasoning-effort")
		if rapid.Bool().Draw(t, "both") {
			own += line("outputStyle", "output-style")
		}
		resolve := func(fields string) troupe.Profile {
			dir, err := os.MkdirTemp("", "manner")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			text := "---\nname: x\ndescription: d\n" + fields + "---\nWork.\n"
			if err := os.WriteFile(filepath.Join(dir, "x.md"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			set, _ := Load(Sources{Folders: ofUser(dir), Tools: allTools(),
				Style: func(string) (string, string) { return "tools: \"*\"", "" }})
			d, err := set.Lookup("x")
			if err != nil {
				t.Fatal(err)
			}
			p, err := d.Resolve(Place{Offer: allTools(), Model: "m", Child: true}, troupe.Spawn{Effort: d.Effort})
			if err != nil {
				t.Fatal(err)
			}
			p.Effort, p.Prompt, p.Source = "", "", ""
			return p
		}
		if bare, got := resolve(with), resolve(with+own); !reflect.DeepEqual(bare, got) {
			t.Fatalf("%q makes\n%+v of\n%+v", own, got, bare)
		}
	})
}
