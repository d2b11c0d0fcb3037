package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// maxSteps bounds how many links, or files that include others, are followed.
const maxSteps = 20

// indirect calls add with the places in a project that what is protected leads to: links, one step after another,
// and what the repository's own config names, or the user's. Who may write those decides what runs, as with a hook
// itself.
func indirect(top string, homes, gits, protected []string, add func(path, why string)) {
	inside := func(path, why string) {
		if path != top && troupe.Within(path, top) {
			add(path, why)
		}
	}
	for _, home := range homes {
		c := gitConfig{top: top, home: home, whose: "your config of git", add: inside}
		c.read(filepath.Join(home, ".gitconfig"), maxSteps)
		c.read(filepath.Join(home, ".config", "git", "config"), maxSteps)
	}
	for _, git := range gits {
		protected = append(protected, entriesOf(filepath.Join(git, "hooks"))...)
		c := gitConfig{top: top, whose: "the repository's config", add: inside}
		if len(homes) > 0 {
			c.home = homes[0]
		}
		c.read(filepath.Join(git, "config"), maxSteps)
	}
	for _, folder := range []string{".claude", ".claude/agents"} {
		protected = append(protected, entriesOf(filepath.Join(top, folder))...)
	}
	for _, path := range protected {
		for range maxSteps {
			target, err := os.Readlink(path)
			if err != nil {
				break
			}
			path = rebase(filepath.Dir(path), target)
			inside(path, "a protected link leads here")
		}
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			inside(real, "a protected link leads here")
		}
	}
}

func entriesOf(folder string) []string {
	out := []string{folder}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return out
	}
	for _, e := range entries {
		out = append(out, filepath.Join(folder, e.Name()))
	}
	return out
}

// gitConfig is a config of git that is read for the files that it includes and the folder of hooks that it names.
// What is included on a condition counts whether it holds or not.
type gitConfig struct {
	top, home string
	whose     string
	add       func(path, why string)
}

func (c *gitConfig) read(file string, steps int) {
	text, _, err := readFile(file)
	if err != nil || steps == 0 {
		return
	}
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			head, rest, _ := strings.Cut(line[1:], "]")
			section, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(head)), " ")
			line = strings.TrimSpace(rest)
		}
		key, value, _ := strings.Cut(line, "=")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.Trim(strings.TrimSpace(value), `"`)
		if rest, ok := strings.CutPrefix(value, "~/"); ok && c.home != "" {
			value = filepath.Join(c.home, rest)
		}
		switch {
		case value == "":
		case key == "path" && slices.Contains([]string{"include", "includeif"}, section):
			path := rebase(filepath.Dir(file), value)
			c.add(path, c.whose+" includes it")
			c.read(path, steps-1)
		case key == "hookspath" && section == "core":
			c.hooks(rebase(c.top, value))
		}
	}
}

// hooks adds the folder of the hooks. That can be the project itself: then what lies there under the name of a hook.
func (c *gitConfig) hooks(folder string) {
	why := "git runs these: " + c.whose + " says so"
	c.add(folder, why)
	if folder != c.top {
		return
	}
	for _, name := range hookNames() {
		c.add(filepath.Join(folder, name), why)
	}
}

// hookNames are those of githooks(5).
func hookNames() []string {
	return strings.Fields(`applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit
		prepare-commit-msg commit-msg post-commit pre-rebase post-checkout post-merge pre-push pre-receive update
		proc-receive post-receive post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite
		sendemail-validate fsmonitor-watchman p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit
		post-index-change`)
}
