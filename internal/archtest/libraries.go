package archtest

import (
	"fmt"
	"slices"
)

// library is a module that is not ours, and its home in the house.
type library struct {
	module string
	homes  []string // patterns of packages; none: tests only
	why    string
}

// libraries lists every module the sources import. One that is not here may not be used: a
// dependency is a decision, and it is written down where it lives.
func libraries() []library {
	return []library{
		{"modernc.org/sqlite", []string{"internal/store/sqlite/..."}, "which SQLite it is, is one package's business"},
		{"github.com/jackc/pgx/v5", []string{"internal/store/postgres/..."},
			"which driver speaks to PostgreSQL is one " +
				"package's business"},
		{"github.com/robfig/cron/v3", []string{"internal/app/schedule"},
			"what a line of cron says is read in one place"},
		{"go.yaml.in/yaml/v4", []string{"internal/model/...", "internal/front/..."},
			"scripts, prices and front matter are the only YAML there is"},
		{"github.com/spf13/cobra", []string{"internal/cli/..."},
			"a use case that knew the command line could not be called from anywhere else"},
		{"github.com/spf13/pflag", []string{"internal/cli/..."},
			"a use case that knew the command line could not be called from anywhere else"},
		{"charm.land/fang/v2", []string{"internal/cli/..."},
			"a use case that knew the command line could not be called from anywhere else"},
		{"charm.land/lipgloss/v2", []string{"internal/cli/...", "internal/tui/..."}, "colours are for surfaces"},
		{"github.com/charmbracelet", []string{"internal/cli/...", "internal/tui/..."}, "terminals are for surfaces"},
		{"github.com/bmatcuk/doublestar/v4", []string{"internal/tool/...", "internal/gate/...", "internal/instruction",
			"internal/skill"},
			"globs are what tools, path rules, and instructions and skills for some files are written in"},
		{"github.com/charlievieth/fastwalk", []string{"internal/tool/..."}, "only tools walk folders"},
		{"github.com/google/jsonschema-go", []string{"internal/schema"},
			"what is bounded before it is used, and fetches nothing, stands in one place"},
		{"github.com/aymanbagabas/go-udiff", []string{"internal/tool/...", "internal/model/replay", "internal/cli/...",
			"internal/workspace/worktree"},
			"diffs are made by tools, replays and merges, and shown by commands"},
		{"golang.org/x/sys", []string{"internal/store/...", "internal/tool/...", "internal/sandbox/...",
			"internal/workspace/...", "internal/config/...", "internal/hidden", "internal/front", "internal/httpd/...",
			"internal/cli/..."},
			"what depends on the system stands in mechanisms and surfaces"},
		{"mvdan.cc/sh/v3", []string{"internal/gate/command"}, "commands are taken apart in one place"},
		{"code.dny.dev/ssrf", []string{"internal/tool/web", "internal/proxy"},
			"which addresses are public is asked where strangers' names are dialled"},
		{"github.com/JohannesKaufmann/html-to-markdown/v2", []string{"internal/tool/web"}, "only WebFetch reads pages"},
		{"golang.org/x/net", []string{"internal/tool/web", "internal/proxy", "internal/gate/rule"},
			"HTML, charsets and international names"},
		{"golang.org/x/time", []string{"internal/httpd"}, "how often callers may call is the server's business"},
		{"golang.org/x/sync", []string{"internal/..."}, "groups of goroutines, without a type of its own in any " +
			"signature"},
		{"golang.org/x/tools", []string{"internal/cli/demo"}, "txtar, the form the demo's project is kept in"},
		{"github.com/danielgtaylor/huma/v2", []string{"internal/httpd/..."},
			"which framework describes the API is the server's business"},
		{"github.com/modelcontextprotocol/go-sdk", []string{"internal/mcp", "internal/mcp/login",
			"internal/cli/mcpserve"},
			"which library speaks MCP is the business of those that call, log in, and are called"},
		{"golang.org/x/oauth2", []string{"internal/mcp/login"},
			"the SDK's types for tokens; only a login holds one, and renews it as the SDK would"},
		{"github.com/creack/pty", nil, "terminals for tests"},
		{"pgregory.net/rapid", nil, "property tests"},
		{"go.uber.org/goleak", nil, "tests that goroutines end"},
		{"github.com/google/go-cmp", nil, "comparisons in tests"},
		{"github.com/rogpeppe/go-internal", []string{"internal/config"},
			"testscript; and its file lock, for the rules that several processes keep in one file"},
	}
}

// libraryHomes: every library is used where its line says. Tests are free, but even they
// use only what is listed.
func libraryHomes(libs []library) func(*tree) []string {
	return func(t *tree) []string {
		var out []string
		check := func(p *pkg, s *source) {
			for imp, spec := range s.imports() {
				if _, ours := t.local(imp); ours || standard(imp) {
					continue
				}
				i := slices.IndexFunc(libs, func(l library) bool { return within(imp, l.module) })
				switch {
				case i < 0:
					out = append(out, t.at(spec, "%s imports %s, which has no home; add it to libraries() in "+
						"internal/archtest/libraries.go and to .golangci.yml, and say in the change why it is worth "+
						"having", p.title(), imp))
				case s.test || isTestHelper(p.path) || coversAny(libs[i].homes, p.path):
				case len(libs[i].homes) == 0:
					out = append(out, t.at(spec, "%s imports %s, which is for tests", p.title(), imp))
				default:
					out = append(out, t.at(spec, "%s imports %s, whose home is %v: %s", p.title(), imp, libs[i].homes,
						libs[i].why))
				}
			}
		}
		t.sources(false, check)
		t.sources(true, check)
		slices.Sort(out)
		return out
	}
}

// unlinted compares the two places that know the homes: an editor shows .golangci.yml while
// one types, so a library that is only here would surprise people later.
func unlinted(libs []library, config string) []string {
	var out []string
	for _, l := range libs {
		if len(l.homes) > 0 && !slices.Contains(editorSilent(), l.module) && !containsLine(config, "- pkg: "+l.module) {
			out = append(out, fmt.Sprintf(".golangci.yml: no depguard rule for %s, which internal/archtest keeps in %v",
				l.module, l.homes))
		}
	}
	return out
}

// editorSilent lists libraries with homes so many that a linter rule would only repeat them.
func editorSilent() []string {
	return []string{"golang.org/x/sys", "golang.org/x/sync", "golang.org/x/tools"}
}
