package e2e_test

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/troupe-dev/troupe"
)

var allProjects = flag.Bool("projects", false, "run every command of docs/projects.md, and not a sample")

// kind is what a developer's command does when nothing confines it.
type kind string

const (
	looks   kind = "looks"   // it changes nothing but temporary files and caches
	changes kind = "changes" // what it changes stays in the folder
	beyond  kind = "beyond"  // it changes what is protected or lies outside, or reaches others
)

// everyday is one command of a project.
type everyday struct {
	kind    kind
	command string
	// sample: it is also run without -projects.
	sample bool
	// why says why the rule does not hold for it; "" for nearly all.
	why string
}

// project is a folder of files with what is done in it.
type project struct {
	name, about string
	needs       []string
	setup       string
	files       []txtar.File
	commands    []everyday
}

// cell is how one command fares in one sandbox.
type cell string

const (
	works    cell = "works"
	noisy    cell = "works, noted as refused" // it ended well, and the agent is told of a refusal
	asks     cell = "asks"                    // refused whole, and works once that is allowed
	half     cell = "refused half-way"
	helpless cell = "refused, and stays so" // the advice does not help
	fails    cell = "fails"                 // and nobody says that it was refused

)

// levels are the columns of the table.
func levels() []string { return []string{"plain", "workspace", "read-only"} }

// wanted are the cells that the rule allows: what works plain and stays in the folder works in the workspace, what
// only looks works read-only, and what is refused is refused whole, with advice that works.
func (e everyday) wanted(level string) []cell {
	switch {
	case level == "plain", e.kind == looks, e.kind == changes && level == "workspace":
		return []cell{works}
	case e.kind == changes:
		return []cell{asks}
	default:
		return []cell{works, asks}
	}
}

func readProjects(t *testing.T) []project {
	t.Helper()
	names, err := filepath.Glob("testdata/projects/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	var list []project
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p := project{name: strings.TrimSuffix(filepath.Base(name), ".txtar"),
			about: strings.TrimSpace(string(a.Comment))}
		for _, f := range a.Files {
			switch f.Name {
			case "needs":
				p.needs = strings.Fields(string(f.Data))
			case "setup":
				p.setup = string(f.Data)
			case "rows":
				p.commands = readCommands(t, name, string(f.Data))
			default:
				p.files = append(p.files, f)
			}
		}
		list = append(list, p)
	}
	return list
}

// readCommands reads lines of a kind, with a star if it is in the sample, and a command. A line that begins with
// "why" says of the command before it why the rule does not hold.
func readCommands(t *testing.T, name, text string) (list []everyday) {
	t.Helper()
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		if word == "why" {
			list[len(list)-1].why = rest
			continue
		}
		word, sample := strings.CutSuffix(word, "*")
		if k := kind(word); rest == "" || k != looks && k != changes && k != beyond {
			t.Fatalf("%s: %q is no command", name, line)
		}
		list = append(list, everyday{kind: kind(word), command: rest, sample: sample})
	}
	return list
}

// missing is the first program that this machine lacks.
func (pr project) missing() string {
	for _, name := range pr.needs {
		if _, err := exec.LookPath(name); err != nil {
			return name
		}
	}
	return ""
}

// made is a project that was set up once, to be copied.
type made struct {
	project
	root    string
	environ []string
}

// shells finds the interpreters themselves where there are stand-ins that choose a version, and the caches in which
// the standard library is compiled already.
func surroundings(t *testing.T) []string {
	t.Helper()
	path := os.Getenv("PATH")
	if out, err := exec.CommandContext(t.Context(), "python3", "-c",
		"import sys; print(sys.executable)").Output(); err == nil {
		path = filepath.Dir(strings.TrimSpace(string(out))) + string(os.PathListSeparator) + path
	}
	environ := []string{"PATH=" + path, "GIT_CONFIG_NOSYSTEM=1", "GIT_EDITOR=true", "GOFLAGS=", "GOTOOLCHAIN=local"}
	if out, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output(); err == nil {
		environ = append(environ, "GOCACHE="+strings.TrimSpace(string(out)))
	}
	return environ
}

// file.allow: a clone of a folder beside is what a submodule from a local source needs.
const userGit = "[protocol \"file\"]\n\tallow = always\n[init]\n\tdefaultBranch = main\n[user]\n\tname = dev\n" +
	"\temail = dev@example.com\n"

func (pr project) make(t *testing.T, environ []string) *made {
	t.Helper()
	m := &made{project: pr, root: t.TempDir(), environ: environ}
	dir := filepath.Join(m.root, "project")
	put := func(name string, data []byte) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := fs.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		if err := os.WriteFile(name, data, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range pr.files {
		put(filepath.Join(dir, f.Name), f.Data)
	}
	put(filepath.Join(m.root, "user", ".gitconfig"), []byte(userGit))
	cmd := exec.CommandContext(t.Context(), "bash", "-ec", pr.setup)
	cmd.Dir = dir
	cmd.Env = append(slices.Clone(environ), "HOME="+filepath.Join(m.root, "user"), "TMPDIR="+m.root)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("set up %s: %v\n%s", pr.name, err, out)
	}
	return m
}

// fresh is a copy of the project with a home of its own.
func (m *made) fresh(t *testing.T) *place {
	t.Helper()
	// The address of a socket has room for a short name, and the folders of tests have long ones.
	temp, err := os.MkdirTemp("", "prj")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	p := newPlace(t, append(slices.Clone(m.environ), "TMPDIR="+temp)...)
	if err := os.RemoveAll(p.dir); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", m.root+"/.", p.root).CombinedOutput(); err != nil {
		t.Fatalf("copy %s: %v\n%s", m.name, err, out)
	}
	return p
}

// do has an agent run a command, and returns what is known of it then.
func (p *place) do(command string, args ...string) (ev troupe.Evidence, out string) {
	p.t.Helper()
	p.calls("main", "{tool: Bash, input: {command: "+quoteYAML(command)+", timeout: 120000}}")
	args = append([]string{"-p", "--model", "script:../s.yaml", "--output-format", "stream-json"}, args...)
	r := p.troupe(append(args, "go")...)
	for line := range strings.Lines(r.out) {
		var e struct {
			Type string
			Data struct{ Outcome troupe.Outcome }
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Type == "session.ended" {
			ev = e.Data.Outcome.Evidence
		}
	}
	return ev, r.out + r.errOut
}

// try runs a command in one sandbox, and follows the advice if it is refused.
func (m *made) try(t *testing.T, e everyday, level string) (c cell, out string) {
	t.Helper()
	command := strings.ReplaceAll(e.command, "$PORT", strconv.Itoa(freePort(t)))
	var args []string
	switch level {
	case "plain":
		args = []string{"--permission-mode", "bypassPermissions"}
	case "workspace":
		args = []string{"--allowed-tools", "Bash"}
	}
	p := m.fresh(t)
	before := p.state()
	ev, out := p.do(command, args...)
	switch well := endedWell(ev); {
	case len(ev.Denied) == 0 && well:
		return works, out
	case len(ev.Denied) == 0:
		return fails, out
	case well && len(ev.Commands) > 0 && ev.Commands[0].Sandbox != "" && e.kind == looks:
		return noisy, out
	}
	if after := p.state(); after != before {
		return half, out + "\nbefore:\n" + before + "\nafter:\n" + after
	}
	again, told := m.advised(t, command, args, ev.Denied)
	if !again {
		return helpless, out + "\nas advised:\n" + told
	}
	return asks, out
}

func endedWell(ev troupe.Evidence) bool {
	return len(ev.Commands) > 0 && ev.Commands[len(ev.Commands)-1].ExitCode == 0
}

// advised does what a denial advises: to give the rules that it names, or else to wait for an answer.
func (m *made) advised(t *testing.T, command string, args []string, denied []troupe.Denial) (well bool, out string) {
	t.Helper()
	var rules []string
	for _, d := range denied {
		if r := rulesIn(d.Why); len(r) > 0 {
			rules = append(rules, r...)
		} else if d.Grant != "" {
			rules = append(rules, d.Grant)
		}
	}
	p := m.fresh(t)
	if len(rules) == 0 {
		return p.answered(command, args...)
	}
	for _, r := range rules {
		args = append(args, "--allowed-tools", r)
	}
	ev, out := p.do(command, args...)
	if endedWell(ev) && len(ev.Denied) == 0 {
		return true, out
	}
	// It wants more than its folder: that can be asked about.
	well, more := m.fresh(t).answered(command, args...)
	return well, out + more
}

func rulesIn(why string) []string {
	_, list, ok := strings.Cut(why, "it needs the rules ")
	if !ok {
		return nil
	}
	list, _, _ = strings.Cut(list, "; this run cannot ask")
	return strings.Split(list, " and ")
}

// answered runs a command and says yes to what it asks.
func (p *place) answered(command string, args ...string) (well bool, out string) {
	p.t.Helper()
	done := make(chan struct{})
	var ev troupe.Evidence
	go func() {
		defer close(done)
		ev, out = p.do(command, append(slices.Clone(args), "--ask", "1m")...)
	}()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return endedWell(ev) && len(ev.Denied) == 0, out
		case <-tick.C:
			if r := p.troupe("requests", "--json"); strings.Contains(r.out, `"id"`) {
				p.troupe("answer", "allow")
			}
		}
	}
}

// state tells what is in the project and beside it. Git's objects, logs and index may change without anything
// being another; of the index it is told what is in it.
func (p *place) state() string {
	p.t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(p.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(p.root, path)
		top, _, _ := strings.Cut(rel, "/")
		switch {
		case rel == "home", rel == "user", d.IsDir() && strings.HasPrefix(rel, "troupe-"):
			return fs.SkipDir
		case top == "s.yaml", d.IsDir():
			if d.IsDir() && (d.Name() == "objects" || d.Name() == "logs") && strings.Contains(rel, "git") {
				return fs.SkipDir
			}
			return nil
		case d.Name() == "index", d.Name() == "COMMIT_EDITMSG", d.Name() == "FETCH_HEAD", d.Name() == "ORIG_HEAD",
			d.Name() == "AUTO_MERGE":
			return nil
		}
		data, err := os.ReadFile(path)
		if d.Type()&fs.ModeSymlink != 0 {
			to, _ := os.Readlink(path)
			data, err = []byte(to), nil
		}
		fmt.Fprintf(&text, "%s %x\n", rel, sha256.Sum256(data))
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.CommandContext(p.t.Context(), "git", "ls-files", "-s")
	cmd.Dir, cmd.Env = p.dir, p.environ
	staged, _ := cmd.Output()
	return text.String() + string(staged)
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatal(l.Addr())
	}
	return at.Port
}

const projectsPage = "../../docs/projects.md"

// TestProjects: an everyday developer's commands in real-shaped projects, without a sandbox and in each. What
// works plain and stays in the folder works in the workspace, what only looks works read-only, and what is refused
// is refused whole, with advice that works. docs/projects.md is what came of it; -projects runs all of it.
func TestProjects(t *testing.T) {
	t.Parallel()
	if p := newPlace(t); len(p.explainLevels()) == 0 || !p.kernel().notify {
		t.Skip("this machine cannot confine commands and watch them")
	}
	page := readPage(t)
	environ := surroundings(t)
	projects := readProjects(t)
	cells := make(map[row]cell)
	t.Run("commands", func(t *testing.T) { runProjects(t, projects, environ, cells) })
	for k, c := range page {
		if _, ran := cells[k]; !ran {
			cells[k] = c
		}
	}
	if *update && *allProjects {
		if err := os.WriteFile(projectsPage, []byte(renderPage(projects, cells)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for r, c := range cells {
		if page[r] != c {
			t.Errorf("%s: %s, and docs/projects.md has %q; look at what changed, then: make test-projects UPDATE=1", r,
				c, page[r])
		}
	}
}
