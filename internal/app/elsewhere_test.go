package app

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/gate/rule"
	"github.com/troupe-dev/troupe/internal/session"
	"github.com/troupe-dev/troupe/internal/tool"
)

// TestHiddenElsewhere: patterns of rules and settings about files outside of the project bind commands as names do,
// and one that is not searched is told.
func TestHiddenElsewhere(t *testing.T) {
	t.Parallel()
	for pattern, covers := range map[string]string{
		"~/private": "all", "~/private/**": "all", "~/private/*": "all", "~/private/**/*": "all",
		"~/private/*.txt": "plan.txt", "~/pri*/PLAN.txt": "plan.txt", "~/private/**/key.p?m": "deep/er/key.pem",
		"~/private/deep/": "deep", "~/**/*.pem": "?", "~/more/**/key.pem": "../more/a/key.pem",
		"~/more/*.md": "../more/notes.md", "~/none/**": "none", "~/none/**/x": "none", "~/none/*.x": "none",
	} {
		for _, by := range []string{"rule", "setting"} {
			t.Run(by+" "+pattern, func(t *testing.T) {
				t.Parallel()
				g, dir := guardedFolder(t)
				home := filepath.Join(filepath.Dir(dir), "home")
				for _, name := range []string{"private/plan.txt", "private/deep/er/key.pem", "private/other.md",
					"more/a/key.pem", "more/notes.md"} {
					writeFile(t, filepath.Join(home, name), "x")
				}
				settings := `{"permissions": {"additionalDirectories": ["~/more"]}`
				c := session.Confine{Session: troupe.Session{ID: "s1", Cwd: dir}, Level: troupe.LevelWorkspace}
				var denied []gate.Layer
				if by == "setting" {
					settings += `, "sandbox": {"deny_read": ["` + pattern + `"]}`
				} else {
					known, err := g.app.known()
					if err != nil {
						t.Fatal(err)
					}
					tools := gate.NewTools(known.Facts())
					r, err := tools.ParseRule(troupe.Rule{Text: "Read(" + pattern + ")", Effect: troupe.Deny})
					if err != nil {
						t.Fatal(err)
					}
					denied = []gate.Layer{{Rules: []rule.Rule{r}}}
					c.Hides = gate.HidesFor(denied, []string{dir}, home)
					c.Unreadable = gate.Unreadable(denied, []string{dir}, home)
				}
				writeFile(t, filepath.Join(home, "troupe/settings.json"), settings+"}")
				out, _, err := g.Confine(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				isHidden := func(name string) bool { return troupe.WithinAny(filepath.Join(home, name), out.Hidden) }
				gr, err := g.folder(session.PlaceOf(c.Session))
				if err != nil {
					t.Fatal(err)
				}
				_, unsearched, err := elsewhere(t.Context(), g, gr, append(gr.hidden.Globs(), c.Unreadable...))
				if err != nil || (len(unsearched) > 0) != (covers == "?") {
					t.Errorf("not searched: %q, %v", unsearched, err)
				}
				for _, name := range []string{"plan.txt", "deep/er/key.pem", "other.md", "../more/a/key.pem",
					"../more/notes.md"} {
					want := covers == "all" && !strings.HasPrefix(name, "../") ||
						troupe.Within(filepath.Clean("/"+name), filepath.Clean("/"+covers)) ||
						covers == "?" && name == "../more/a/key.pem"
					if got := isHidden("private/" + name); got != want {
						t.Errorf("private/%s is hidden: %t\n%s", name, got, strings.Join(out.Hidden, "\n"))
					}
				}
				if slices.ContainsFunc(out.Hidden, func(h string) bool { return troupe.Within(tool.Resolve(dir), h) }) {
					t.Errorf("the project is hidden: %q", out.Hidden)
				}
			})
		}
	}
}
