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
// and what the repository's own config names. Who may write those decides what runs, as with a hook itself.
func indirect(top string, gits, protected []string, add func(path, why string)) {
	inside := func(path, why string) {
		if path != top && troupe.Within(path, top) {
			add(path, why)
		}
	}
	for _, git := range gits {
		protected = append(protected, entriesOf(filepath.Join(git, "hooks"))...)
		included(filepath.Join(git, "config"), top, inside, maxSteps)
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

// included reads a config of git for the files that it includes and the folder of hooks that it names.
func included(file, top string, add func(path, why string), steps int) {
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
		switch {
		case value == "":
		case key == "path" && slices.Contains([]string{"include", "includeif"}, section):
			path := rebase(filepath.Dir(file), value)
			add(path, "the repository's config includes it")
			included(path, top, add, steps-1)
		case key == "hookspath" && section == "core":
			add(rebase(top, value), "git runs these: the repository's config says so")
		}
	}
}
