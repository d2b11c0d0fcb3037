package e2e_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// row is where a cell stands in the table.
type row struct{ project, command, level string }

func (r row) String() string { return r.project + ": " + r.command + " (" + r.level + ")" }

// exceptions are the cells in which the rule may be broken, and how. Each command has a note that says why.
func exceptions() map[row]cell {
	out := map[row]cell{
		{"c", "make asan", "workspace"}:                           fails,
		{"c", "make asan", "read-only"}:                           helpless,
		{"c", "make install PREFIX=$HOME/.local", "workspace"}:    half,
		{"git", "git pull -q --ff-only origin main", "workspace"}: asks,
		{"nested", "cat brings.patch | git am -q", "workspace"}:   half,
		{"nested", "cat brings.patch | git am -q", "read-only"}:   helpless,
		{"shell", "getent hosts localhost", "read-only"}:          noisy,
		{"go", "go test -count=1 ./server", "read-only"}:          asks,
		{"go", "go test -count=1 ./...", "read-only"}:             asks,
		{"npm", "node --test test/server.test.js", "read-only"}:   asks,
		{"npm", "node --test test/any.test.js", "read-only"}:      asks,
		{"python", "python3 serve.py", "read-only"}:               asks,
	}
	for _, apply := range []string{"apply", "am -q"} {
		out[row{"git", "git format-patch -q -o patches topic~1..topic && git " + apply + " patches/*.patch",
			"workspace"}] = asks
	}
	for _, level := range []string{"workspace", "read-only"} {
		out[row{"c", "cc -fsanitize=address -g -o $TMPDIR/app app.c && $TMPDIR/app", level}] = fails
		out[row{"git", "git submodule add -q ../part part", level}] = helpless
		out[row{"npm", "npm install -g --offline --prefix $HOME/.local ./dep", level}] = helpless
	}
	return out
}

// runProjects fills the cells, and holds each against the rule.
func runProjects(t *testing.T, projects []project, environ []string, cells map[row]cell) {
	var mu sync.Mutex
	for _, pr := range projects {
		if name := pr.missing(); name != "" {
			t.Run(pr.name, func(t *testing.T) { t.Skipf("docs/projects.md: there is no %s here", name) })
			continue
		}
		chosen := slices.DeleteFunc(slices.Clone(pr.commands),
			func(e everyday) bool { return !e.sample && !*allProjects })
		if len(chosen) == 0 {
			continue
		}
		t.Run(pr.name, func(t *testing.T) {
			t.Parallel()
			m := pr.make(t, environ)
			t.Run("in", func(t *testing.T) {
				for i, e := range chosen {
					for _, level := range levels() {
						t.Run(fmt.Sprintf("%s-%d", level, i), func(t *testing.T) { // paths are made of it
							t.Parallel()
							c, out := m.try(t, e, level)
							r := row{pr.name, e.command, level}
							if special, ok := exceptions()[r]; !slices.Contains(e.wanted(level), c) &&
								(!ok || c != special || e.why == "") {
								t.Errorf("%s: %s\n%s", r, c, out)
							}
							mu.Lock()
							defer mu.Unlock()
							cells[r] = c
						})
					}
				}
			})
		})
	}
}

const pageHead = `# Projects

What an everyday developer's commands do in real-shaped projects: without a sandbox (plain), in the
workspace sandbox (a rule allows them) and read-only (no rule or answer is about them). This page is written
by ` + "`make test-projects UPDATE=1`" + `, on the real binary, through the Bash tool; ` + "`make test-projects`" + ` compares.

- **works**: it ends as it does without a sandbox, and nothing is said to have been refused.
- **asks**: it is refused before it changes anything, a person is asked, and with a yes, or the rule that the denial
  names, it works.
- anything else breaks the rule: what works plain and stays in the folder works in the workspace; what only
  looks works read-only; what is refused is refused whole, with advice that works. A note says why.
`

func renderPage(projects []project, cells map[row]cell) string {
	var b strings.Builder
	b.WriteString(pageHead)
	for _, pr := range projects {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| command | plain | workspace | read-only |\n| --- | --- | --- | --- |\n",
			pr.name, pr.about)
		var notes []string
		for _, e := range pr.commands {
			mark := ""
			if e.why != "" {
				n := slices.Index(notes, e.why)
				if n < 0 {
					n, notes = len(notes), append(notes, e.why)
				}
				mark = fmt.Sprintf(" (%d)", n+1)
			}
			fmt.Fprintf(&b, "| `%s`%s |", strings.ReplaceAll(e.command, "|", `\|`), mark)
			for _, level := range levels() {
				fmt.Fprintf(&b, " %s |", cells[row{pr.name, e.command, level}])
			}
			b.WriteString("\n")
		}
		for i, n := range notes {
			fmt.Fprintf(&b, "\n(%d) %s\n", i+1, n)
		}
	}
	return b.String()
}

// readPage reads the table back.
func readPage(t *testing.T) map[row]cell {
	t.Helper()
	data, err := os.ReadFile(projectsPage)
	if err != nil && !*update {
		t.Fatal(err)
	}
	cells := make(map[row]cell)
	project := ""
	for line := range strings.Lines(string(data)) {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			project = strings.TrimSpace(name)
		}
		rest, ok := strings.CutPrefix(line, "| `")
		if !ok {
			continue
		}
		end := strings.LastIndex(rest, "`")
		command := strings.ReplaceAll(rest[:end], `\|`, "|")
		parts := strings.Split(strings.TrimSpace(rest[end+1:]), "|")
		for i, level := range levels() {
			cells[row{project, command, level}] = cell(strings.TrimSpace(parts[i+1]))
		}
	}
	return cells
}
