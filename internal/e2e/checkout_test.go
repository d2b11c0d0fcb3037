package e2e_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/model/modeltest"
)

// copySources copies this project's own Go files (tests apart) into the place and returns
// the packages.
func copySources(t *testing.T, p *place) []string {
	t.Helper()
	root := filepath.Join("..", "..")
	dirs := make(map[string]bool)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			if base := e.Name(); name != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		p.write(name, string(data))
		dirs[filepath.Dir(name)] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// One function without a comment, so that there is always something to find.
	p.write("internal/wire/bare.go", "package wire\n\nfunc Bare() {}\n")
	return slices.Sorted(maps.Keys(dirs))
}

// undocumented is the truth, from Go's own parser: "dir/file.go:Name" of every exported
// function or method without a doc comment.
func undocumented(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.IsExported() && fn.Doc == nil {
				out = append(out, name+":"+fn.Name.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// reader plays the part of a model that has been asked to find every exported function
// without a doc comment, one sub-agent per package. It knows only what it is sent.
type reader struct {
	packages []string
	seen     sync.Map // what was sent about a package, by its path: for the report of a failure
}

const question = "find every exported function without a doc comment, one sub-agent per package"

func (m *reader) answer(r *modeltest.Request) modeltest.Reply {
	main := slices.Contains(r.Tools(), "Agent")
	switch {
	case main && r.Turn == 1:
		var calls []modeltest.Call
		for _, dir := range m.packages {
			calls = append(calls, toolCall("Agent", map[string]any{
				"description": "look through " + strings.ReplaceAll(dir, "/", " "), "subagent_type": "Explore",
				"prompt": "List exported functions without a doc comment in PACKAGE<" + dir + ">.",
			}))
		}
		return modeltest.Calls(calls...)
	case main:
		// The words of the children, as the runtime hands them on.
		found := regexp.MustCompile(`(?m)^MISSING (\S+)$`).FindAllStringSubmatch(r.LastText(), -1)
		var lines []string
		for _, f := range found {
			lines = append(lines, f[1])
		}
		slices.Sort(lines)
		return modeltest.Text(strings.Join(lines, "\n"))
	case r.Turn == 1:
		dir := regexp.MustCompile(`PACKAGE<([^>]*)>`).FindStringSubmatch(r.FirstText())[1]
		return modeltest.Calls(toolCall("Glob", map[string]any{"pattern": "*.go", "path": dir}))
	case r.Turn == 2:
		dir := regexp.MustCompile(`PACKAGE<([^>]*)>`).FindStringSubmatch(r.FirstText())[1]
		glob := "/*.go" // of this folder alone
		return modeltest.Calls(toolCall("Grep", map[string]any{
			"pattern": `^func (\([^)]*\) )?[A-Z]`, "path": dir, "glob": glob, "output_mode": "content", "-n": true,
			"-B": 1, "head_limit": 5000,
		}))
	default:
		dir := regexp.MustCompile(`PACKAGE<([^>]*)>`).FindStringSubmatch(r.FirstText())[1]
		before, _ := m.seen.LoadOrStore(dir, "")
		m.seen.Store(dir, fmt.Sprintf("%vreply %d: %s\n", before, r.Turn, r.LastText()))
		return modeltest.Text(missing(r.LastText()))
	}
}

// report says what is missing or too much, and what the sub-agent of its package had been sent.
func (m *reader) report(t *testing.T, got, want []string) {
	t.Helper()
	for _, name := range slices.Concat(got, want) {
		if slices.Contains(got, name) != slices.Contains(want, name) {
			file, _, _ := strings.Cut(name, ":")
			text, _ := m.seen.Load(filepath.Dir(file))
			t.Errorf("%s: found %v; its agent was sent\n%v", name, slices.Contains(got, name), text)
		}
	}
}

func toolCall(name string, input map[string]any) modeltest.Call {
	b, err := json.Marshal(input)
	if err != nil {
		panic(err) // a map of texts and numbers
	}
	return modeltest.Call{Name: name, Input: string(b)}
}

// missing reads Grep's lines: FILE:N:func … after FILE-N-the line before.
func missing(text string) string {
	match := regexp.MustCompile(`^(\S+\.go):(\d+):func (?:\([^)]*\) )?([A-Z]\w*)`)
	before := ""
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := match.FindStringSubmatch(line); m != nil {
			if !regexp.MustCompile(`^\S+\.go[-:]\d+[-:]//`).MatchString(before) {
				out = append(out, "MISSING "+m[1]+":"+m[3])
			}
		}
		before = line
	}
	return strings.Join(out, "\n")
}

// TestOwnCheckout is a whole job over real HTTP on a copy of this very project: a sub-agent
// per package, real searches, and an answer that is compared with Go's own parser. Once it
// runs through, and once it is killed in the middle and resumed.
func TestOwnCheckout(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{false, true} {
		t.Run(fmt.Sprintf("kill=%v", kill), func(t *testing.T) {
			t.Parallel()
			var m atomic.Pointer[reader] // the server runs before it is known what it will be asked
			srv := modeltest.NewAnthropic(func(r *modeltest.Request) modeltest.Reply { return m.Load().answer(r) },
				modeltest.Options{FirstByte: 20 * time.Millisecond})
			t.Cleanup(srv.Close)
			p := newPlace(t, "ANTHROPIC_API_KEY=test-key-0123456789", "ANTHROPIC_BASE_URL="+srv.URL())
			packages := copySources(t, p)
			p.write("../home/settings.json", `{"agents": {"background_seconds": 0}}`) // however slow the machine is
			m.Store(&reader{packages: packages})
			args := []string{"-p", question}
			if kill {
				killMidway(t, p, srv, args, len(packages))
				args = []string{"-p", "--resume", "main"}
			}
			run := p.run(0, args...)
			want := undocumented(t, p.dir)
			if got := strings.Fields(run.Result); !slices.Equal(got, want) {
				t.Errorf("the team found %d functions, there are %d", len(got), len(want))
				m.Load().report(t, got, want)
			}
			t.Logf("%d packages, %d functions without a comment, %d requests", len(packages), len(want), srv.Count())
			if len(run.Agents) != 1+len(packages) {
				t.Errorf("%d agents for %d packages", len(run.Agents), len(packages))
			}
			p.audit("main")
			if err := srv.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

// killMidway starts a run and kills it once about half of its requests have been made.
func killMidway(t *testing.T, p *place, srv *modeltest.Server, args []string, packages int) {
	t.Helper()
	proc, err := startProcess(p.command(append(args, "--output-format", "stream-json")...))
	if err != nil {
		t.Fatal(err)
	}
	for range proc.lines {
		if srv.Count() > packages*3/2 {
			break
		}
	}
	if err := proc.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if r, err := proc.wait(); err != nil || r.code == 0 {
		t.Fatalf("it was to be killed and ended with %d: %v\n%s", r.code, err, r.errOut)
	}
}
