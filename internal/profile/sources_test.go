//go:build unix

package profile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe/internal/front"
)

// A cloned repository must not make a prompt of what lies outside it, nor make us wait.
func TestHostileProject(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret.md")
	write(t, secret, "---\nname: leak\ndescription: d\n---\nSECRET")
	for name, prepare := range map[string]func(t *testing.T, agents string) error{
		"a link to a file": func(_ *testing.T, agents string) error {
			return os.Symlink(secret,
				filepath.Join(agents, "leak.md"))
		},
		"a link to a folder": func(_ *testing.T, agents string) error {
			return os.Symlink(filepath.Dir(secret), filepath.Join(agents, "more"))
		},
		"a linked folder": func(t *testing.T, agents string) error {
			if err := os.Remove(agents); err != nil {
				t.Fatal(err)
			}
			return os.Symlink(filepath.Dir(secret), agents)
		},
		"a pipe": func(_ *testing.T, agents string) error {
			return syscall.Mkfifo(filepath.Join(agents, "leak.md"), 0o644)
		},
		"a folder.md": func(_ *testing.T, agents string) error {
			return os.Symlink(".",
				filepath.Join(agents, "leak.md"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			agents := filepath.Join(dir, ".claude", "agents")
			if err := os.MkdirAll(agents, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := prepare(t, agents); err != nil {
				t.Fatal(err)
			}
			set, problems := Load(Sources{Folders: inProject(dir), Tools: allTools()})
			if d, err := set.Lookup("leak"); err == nil {
				t.Errorf("%+v", d)
			}
			if len(problems) == 0 {
				t.Error("nothing was said")
			}
		})
	}
	// In the user's own folder a link is theirs.
	user := t.TempDir()
	if err := os.Symlink(secret, filepath.Join(user, "mine.md")); err != nil {
		t.Fatal(err)
	}
	set, problems := Load(Sources{Folders: append(ofUser(user), inProject(filepath.Join(user, "missing"))...),
		Tools: allTools()})
	if _, err := set.Lookup("leak"); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", err, problems)
	}
	if _, problems = Load(Sources{Folders: append(ofUser(filepath.Join(user, "missing")),
		inProject(user)...)}); len(problems) > 0 {
		t.Errorf("folders that are not there: %v", problems)
	}
}

func TestManyFiles(t *testing.T) {
	t.Parallel()
	user := t.TempDir()
	for i := range 2000 + 1 {
		write(t, filepath.Join(user, fmt.Sprintf("%04d.md", i)), "---\ndescription: d\n---\nBody")
	}
	write(t, filepath.Join(user, "a/b/c/d/e/f.md"), "---\ndescription: d\n---\nBody")
	set, problems := Load(Sources{Folders: ofUser(user)})
	if n := len(set.List()); n != 2000+len(builtins())-1 || len(problems) != 2 {
		t.Errorf("%d types, %v", n, problems)
	}
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	user, project := t.TempDir(), t.TempDir()
	agent := func(name, body string) string {
		return "---\nname: " + name + "\ndescription: d\n---\n" + body + "\n"
	}
	agents := filepath.Join(project, ".claude", "agents")
	write(t, filepath.Join(user, "a.md"), agent("one", "user"))
	write(t, filepath.Join(user, "b.md"), agent("two", "user"))
	write(t, filepath.Join(user, "c.md"), agent("PLAN", "user"))
	write(t, filepath.Join(user, "d.md"), agent("three", "user"))
	write(t, filepath.Join(user, "notes.txt"), "not ours")
	write(t, filepath.Join(agents, "a.md"), agent("One", "project"))
	write(t, filepath.Join(agents, "team", "z.md"), agent("one", "project, again"))
	write(t, filepath.Join(agents, "three.md"), "---\nname: three\n")
	write(t, filepath.Join(agents, "explore.md"), "---\n")
	src := Sources{Folders: append(ofUser(user), inProject(project)...), Tools: allTools(),
		Flag: `{"TWO": {"description": "d", "prompt": "flag"}, "explore": {"description": "mine", "prompt": "flag"}}`}
	set, problems := Load(src)
	got := map[string]string{}
	for _, d := range set.List() {
		got[d.Name] = d.Prompt
	}
	delete(got, "general-purpose")
	for _, d := range builtins() {
		if d.Prompt == got[d.Name] {
			delete(got, d.Name)
		}
	}
	if diff := cmp.Diff(map[string]string{"One": "project", "TWO": "flag", "PLAN": "user", "explore": "flag",
		"three": "user"},
		got); diff != "" {
		t.Error(diff)
	}
	write(t, filepath.Join(user, "e.md"), "---\nname: x\n")
	write(t, filepath.Join(user, "Verification.md"), "---\nname: x\n")
	broken, _ := Load(Sources{Folders: ofUser(user), Tools: allTools()})
	if _, err := broken.Lookup("verification"); err == nil || !strings.Contains(err.Error(), "cannot be used") {
		t.Errorf("a definition of the user's that is broken lets a weaker one of the same name through: %v", err)
	}
	if err := os.Remove(filepath.Join(user, "e.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(user, "Verification.md")); err != nil {
		t.Fatal(err)
	}
	var duplicate bool
	for _, p := range problems {
		duplicate = duplicate || strings.Contains(p.Text, `"one" is already defined in `+
			filepath.Join(agents, "a.md")) && p.Path == filepath.Join(agents, "team", "z.md")
	}
	if !duplicate || len(problems) != 3 {
		t.Errorf("%v", problems)
	}
	again, _ := Load(src)
	if diff := cmp.Diff(set.List(), again.List()); diff != "" {
		t.Error("another order:", diff)
	}
}

func TestManyProblems(t *testing.T) {
	t.Parallel()
	_, problems := load(t, "x.md", "---\ndescription: d\ntools: "+strings.Repeat("x,", 1000)+"\n---\nBody")
	if n := len(problems); n != maxProblems || !strings.Contains(problems[n-1].Text, "more wrong") {
		t.Errorf("%d problems", n)
	}
}

func TestFlag(t *testing.T) {
	t.Parallel()
	set, problems := Load(Sources{Tools: allTools(), Flag: `{
		"good": {"description": "d", "prompt": "p", "tools": ["Read"], "model": "opus"},
		"good": {"description": "d", "prompt": "again"},
		"odd": {
			"description": "d", "prompt": "p",
			"tools": 7, "color": "red", "name": "other"
		},
		"empty": {"description": "d"},
		"list": ["x"],
		"null": null,
		"main": {"description": "d", "prompt": "p"}
	}`})
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	want := []string{
		`--agents:3: the type "good" is already defined in --agents`,
		`--agents:6: the name of an agent is its key, "odd"`,
		`--agents:6: tools cannot be read at "7"`,
		`--agents:8: there is no prompt`,
		`--agents:9: agent "list" is not an object`,
		`--agents:10: agent "null" is not an object`,
		`--agents:11: main is the root agent's own type`,
	}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range got {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
	if d, err := set.Lookup("good"); err != nil || d.Prompt != "p" || d.Source != "--agents" ||
		!slices.Equal(d.Tools, []string{"Read"}) {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := set.Lookup("odd"); err != nil || d.All || len(d.Tools) > 0 {
		t.Errorf("%+v, %v", d, err)
	}
	for _, bad := range []string{"x", "[]", "null", "{\n\"a\": }", `{"a": {"prompt": "p"}`, "{} {}", "\xff",
		strings.Repeat(" ", front.MaxFile) + "x"} {
		set, problems := Load(Sources{Flag: bad})
		if len(problems) != 1 || problems[0].Note || len(set.List()) != len(builtins())-1 {
			t.Errorf("%.20q: %v", bad, problems)
		}
	}
	if _, problems := Load(Sources{Flag: "{\n\"a\": }"}); problems[0].Line != 2 {
		t.Errorf("%v", problems)
	}
}
