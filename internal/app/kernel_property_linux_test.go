package app

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/gate/rule"
	"github.com/troupe-dev/troupe/internal/session"
)

// trial is one folder, drawn from a seed, in which the gate is asked about paths and commands of all
// kinds try them.
type trial struct {
	t     *testing.T
	r     *rand.Rand
	g     *guard
	tools *gate.Tools
	chain []gate.Layer
	root  string
	dir   string
	rules []string
	pad   string // the scratchpad, in the folder itself; "" if there is none
}

// names of the trees, paths and rules: what is protected, what is hidden, and what is neither.
func trialNames() []string {
	return []string{"a", "b", "src", "main.go", "notes.md", "x.key", ".env", ".env.local", ".env.example", ".git",
		"HEAD",
		"config", "hooks", "objects", "refs", ".envrc", ".claude", "settings.json", ".github", "workflows", ".vscode",
		"tasks.json", ".mcp.json", ".cargo", "config.toml", ".husky", "node_modules", "with space", "ünï", "-r"}
}

const trialSession = "0123456789ab"

func (tr *trial) name() string {
	names := trialNames()
	name := names[tr.r.IntN(len(names))]
	if tr.r.IntN(12) == 0 {
		name = strings.ToUpper(name)
	}
	return name
}

func (tr *trial) path() string {
	parts := []string{tr.dir}
	if tr.pad != "" && tr.r.IntN(2) == 0 {
		parts[0] = tr.pad
		if tr.r.IntN(4) == 0 {
			parts[0] = filepath.Join(filepath.Dir(tr.pad), "another")
		}
	}
	for range 1 + tr.r.IntN(3) {
		parts = append(parts, tr.name())
	}
	return filepath.Join(parts...)
}

func newTrial(t *testing.T, seed uint64) *trial {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tr := &trial{t: t, r: rand.New(rand.NewPCG(seed, 7)), root: root, dir: filepath.Join(root, "ws")}
	writeFile(t, filepath.Join(tr.dir, "seed"), "seed\n")
	if seed%3 == 0 {
		tr.pad = filepath.Join(tr.dir, "scratchpads", trialSession)
		for _, dir := range []string{tr.pad, filepath.Join(tr.dir, "scratchpads", "another")} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range 12 {
		name := tr.path()
		if os.MkdirAll(filepath.Dir(name), 0o755) == nil {
			_ = os.WriteFile(name, fmt.Appendf(nil, "TOKEN%dTOKEN\n", i), 0o644) // it may be a folder by now
		}
	}
	if tr.r.IntN(2) == 0 {
		for _, name := range []string{"HEAD", "objects/x", "refs/x", "config", "hooks/y"} {
			name = filepath.Join(tr.dir, ".git", name)
			if os.MkdirAll(filepath.Dir(name), 0o755) == nil {
				_ = os.WriteFile(name, []byte("x\n"), 0o644)
			}
		}
	}
	all := []string{"Edit(/src/**)", "Edit(*.md)", "Edit(/a/b)", "Edit(**/b/*)", "Edit(//" + tr.dir[1:] + "/b/**)",
		"Read(/src/**)", "Read(*.key)", "Read(**/a/*.md)", "Write(/b/**)", "Edit(/a/*/main.go)"}
	var rules []rule.Rule
	home := filepath.Join(root, "home")
	a, err := OpenSettings(Env{
		Lookup: func(name string) (string, bool) {
			value, ok := map[string]string{"TROUPE_HOME": home + "/troupe", "HOME": home}[name]
			return value, ok
		},
		Environ: []string{"HOME=" + home}, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	if tr.pad != "" {
		a.dirs.Worktrees = filepath.Join(tr.dir, "worktrees")
	}
	tr.g = a.newGuard(t.Context())
	t.Cleanup(func() {
		if err := tr.g.close(); err != nil {
			t.Error(err)
		}
	})
	known, err := a.known()
	if err != nil {
		t.Fatal(err)
	}
	tr.tools = gate.NewTools(known.Facts())
	for _, text := range all {
		if tr.r.IntN(4) != 0 {
			continue
		}
		one, err := tr.tools.ParseRule(troupe.Rule{Effect: troupe.Deny, Text: text})
		if err != nil {
			t.Fatal(err)
		}
		rules, tr.rules = append(rules, one), append(tr.rules, text)
	}
	allow, err := tr.tools.ParseRule(troupe.Rule{Effect: troupe.Allow, Text: "Bash"})
	if err != nil {
		t.Fatal(err)
	}
	tr.chain = []gate.Layer{{Agent: "main", Mode: troupe.ModeAcceptEdits, Rules: append(rules, allow)}}
	tr.bind()
	return tr
}

// bind has every second trial be one of an agent that was started to change certain files only, and every second of
// these one of an agent below such a one.
func (tr *trial) bind() {
	globs := []string{"/src/**", "*.md", "/a/**", "**/b/*", "/[ab]/*", "/a/b/main.go", "/s*c", "**", "/with space/**"}
	for range tr.r.IntN(2) + tr.r.IntN(2) {
		var p troupe.Profile
		for range 1 + tr.r.IntN(3) {
			p.Writes = append(p.Writes, globs[tr.r.IntN(len(globs))])
		}
		l := tr.tools.Placed(gate.Layer{Agent: "kid", Mode: troupe.ModeAcceptEdits}, &p, troupe.Session{Cwd: tr.dir})
		tr.chain, tr.rules = append(tr.chain, l), append(tr.rules, fmt.Sprintf("writes %q", p.Writes))
	}
}

func (tr *trial) decide(tool string, access troupe.Access) bool {
	q := session.QueryIn(tr.g, troupe.Session{Cwd: tr.dir}, nil, access)
	q.Tool, q.Roots, q.Chain, q.Scratchpad = tool, []string{tr.dir}, tr.chain, tr.pad
	q.Levels = []troupe.Level{troupe.LevelReadOnly, troupe.LevelWorkspace}
	return tr.tools.Decide(q).Effect == troupe.Allow
}

// writable and readable are what the gate says of a path to the file tools.
func (tr *trial) writable(path string) bool {
	return tr.decide("Write", troupe.Access{Class: troupe.ClassEdit, Writes: []string{path}})
}

func (tr *trial) readable(path string) bool {
	return tr.decide("Read", troupe.Access{Class: troupe.ClassRead, Reads: []string{path}})
}

// confine is what a command gets that a rule allows.
func (tr *trial) confine() (*troupe.Confinement, []string) {
	tr.t.Helper()
	roots := []string{tr.dir}
	conf, environ, err := tr.g.Confine(tr.t.Context(), session.Confine{
		Session: troupe.Session{ID: trialSession, Cwd: tr.dir}, Level: troupe.LevelWorkspace, Scratchpad: tr.pad,
		Unreadable: gate.Unreadable(tr.chain, roots, ""), Hides: gate.HidesFor(tr.chain, roots, ""),
		Unwritable: gate.Unwritable(tr.chain, roots, ""), Keeps: gate.Kept(tr.chain, roots, ""),
		Outside: gate.KeptTo(tr.chain, tr.pad), Whole: gate.WholeOf(tr.chain),
	})
	if err != nil {
		tr.t.Fatal(err)
	}
	return conf, environ
}

// run runs a command as one that a rule allows.
func (tr *trial) run(command string) (out string, code int) {
	tr.t.Helper()
	runtime.LockOSThread() // the command ends with the thread
	defer runtime.UnlockOSThread()
	conf, environ := tr.confine()
	bash, err := exec.LookPath("bash")
	if err != nil {
		tr.t.Skip("no bash")
	}
	pr, pw, err := os.Pipe()
	if err != nil {
		tr.t.Fatal(err)
	}
	defer pr.Close()
	cmd, err := tr.g.box.Start(*conf, bash, []string{"bash", "-c", command}, &os.ProcAttr{
		Dir: tr.dir, Env: append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8"}, environ...),
		Files: []*os.File{nil, pw, pw}, Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	_ = pw.Close()
	if err != nil {
		tr.t.Fatal(err)
	}
	var buf bytes.Buffer
	_, _ = io.Copy(&buf, pr)
	state, err := cmd.Process().Wait()
	if err != nil {
		tr.t.Fatal(err)
	}
	cmd.Done()
	return buf.String(), state.ExitCode()
}

// ways are commands that change what lies at a path, or below it. Quoted names and $TMPDIR stand in them.
func writingWays() []string {
	return []string{
		"echo x > %s", "echo x >> %s", "touch %s", "cp seed %s", "cp seed zz; mv zz %s",
		"cp seed $TMPDIR/zz; mv $TMPDIR/zz %s", "ln seed %s", "ln -s seed %s", "ln -s $TMPDIR %s", "mkdir %s",
		"mkdir -p %s/d/e", "mkfifo %s", "tee %s < seed", "dd if=seed of=%s status=none", "rm -rf %s",
		"truncate -s 0 %s",
		"chmod 600 %s", "sed -i s/T/y/ %s", "mv %s zz", "mkdir zz; cp seed zz/config; mv zz %s",
		"mkdir -p $TMPDIR/d; cp seed $TMPDIR/d/hooks; mv $TMPDIR/d %s", "mkdir -p %s; cp seed %s/settings.json",
		"mkdir -p %s; cd %s && mkdir hooks objects refs; cp ../seed HEAD; cp ../seed config", "rm -f %s; ln seed %s",
		"git init -q %s", "install -D seed %s", "tar cf - seed | tar xf - -C %s", "python3 -c 'import os,sys\n" +
			"fd=os.open(os.path.dirname(sys.argv[1]),os.O_TMPFILE|os.O_RDWR)\nos.write(fd,b\"x\")\n" +
			"os.link(f\"/proc/self/fd/{fd}\",sys.argv[1],follow_symlinks=True)' %s",
	}
}

func readingWays() []string {
	return []string{
		"cat %s", "cat < %s", "grep -r TOKEN %s", "cp -r %s $TMPDIR/o; grep -r TOKEN $TMPDIR/o",
		"tar cf - %s | grep -a TOKEN",
		"ln -s %s $TMPDIR/l; cat $TMPDIR/l", "ln %s zz; cat zz", "mv %s zz; cat zz", "cd $(dirname %s); cat *",
		"python3 -c 'import " +
			"mmap,sys\nf=open(sys.argv[1],\"rb\")\nprint(mmap.mmap(f.fileno(),0,prot=mmap.PROT_READ)[:])' %s",
		"find . -type f -exec cat {} +", "head -c 99 /proc/self/cwd/%s", "dd if=%s status=none",
	}
}

// tree is what lies below the folder: of each path its kind and content.
func (tr *trial) tree(top string) map[string]string {
	out := map[string]string{}
	_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == top {
			return nil //nolint:nilerr // it is looked at as far as it goes
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // it is gone
		}
		said := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, _ := os.ReadFile(path) // what cannot be read has its mode
			said += " " + string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			said += " " + strings.ReplaceAll(target, top, "")
		}
		out[path[len(top):]] = said
		return nil
	})
	return out
}

func changed(before, after map[string]string) []string {
	var out []string
	for path := range after {
		if before[path] != after[path] {
			out = append(out, path)
		}
	}
	for path := range before {
		if _, ok := after[path]; !ok {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

func shellQuoted(path string) string { return "'" + path + "'" }

// write has a command change something. What the gate does not let a tool write must be as it was; and if
// it lets everything that the command changes without a sandbox, the sandbox must not stand in its way.
func (tr *trial) write() {
	path := tr.path()
	ways := writingWays()
	way := ways[tr.r.IntN(len(ways))]
	before := tr.tree(tr.dir)
	said := map[string]bool{}
	for p := range before {
		said[p] = tr.writable(tr.dir + p)
	}
	conf, _ := tr.confine()
	copied := filepath.Join(tr.root, "copy")
	if out, err := exec.Command("cp", "-a", tr.dir, copied).CombinedOutput(); err != nil {
		tr.t.Fatalf("%v\n%s", err, out)
	}
	temp := filepath.Join(tr.root, "temp")
	if err := os.MkdirAll(temp, 0o700); err != nil {
		tr.t.Fatal(err)
	}
	free := exec.Command("bash", "-c", strings.ReplaceAll(way, "%s", shellQuoted(copied+path[len(tr.dir):])))
	free.Dir, free.Env = copied, []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8", "TMPDIR=" + temp}
	_, _ = free.CombinedOutput() // it may fail
	would := tr.tree(copied)
	allowed := true
	for _, p := range changed(before, would) {
		if _, ok := said[p]; !ok {
			said[p] = tr.writable(tr.dir + p)
		}
		allowed = allowed && said[p]
		// Nothing but an empty folder may come to be where something protected could lie below, and nothing
		// changes in a folder that is hidden whole.
		allowed = allowed && (!strings.Contains(way, "mv ") && !strings.HasPrefix(would[p], "L") ||
			!conf.Leads(tr.dir+p)) &&
			tr.readable(tr.dir+p)
	}
	// What comes and goes on the way has to be let, too, and so has what gets another name.
	allowed = allowed && (!strings.Contains(way, " zz") || tr.writable(filepath.Join(tr.dir, "zz"))) &&
		(!strings.Contains(way, "ln seed") || tr.writable(filepath.Join(tr.dir, "seed")))
	if strings.HasPrefix(way, "ln seed ") && tr.pad != "" && troupe.Within(path, tr.pad) {
		allowed = false // no file has a name in the scratchpad and one elsewhere
	}
	command := strings.ReplaceAll(way, "%s", shellQuoted(path))
	out, code := tr.run(command)
	after := tr.tree(tr.dir)
	for _, p := range changed(before, after) {
		if _, was := before[p]; !was && !tr.readable(tr.dir+p) {
			continue // what a command makes may have a name that is hidden; then it is
		}
		if ok, known := said[p]; known && !ok || !known && !tr.writable(tr.dir+p) {
			tr.t.Errorf("with the rules %q:\n%s\nchanged %s, which the gate lets no tool write: %q → %q\n%s", tr.rules,
				command, p,
				before[p], after[p], out)
		}
	}
	if allowed && !maps.Equal(would, after) && !strings.Contains(way, "$TMPDIR %s") {
		for _, p := range changed(would, after) {
			tr.t.Errorf("with the rules %q:\n%s\ndid not do what the gate lets tools do: %s is %q, and would be %q "+
				"(exit %d)\n%s",
				tr.rules, command, p, after[p], would[p], code, out)
		}
	}
	for _, dir := range []string{copied, temp} {
		if err := os.RemoveAll(dir); err != nil {
			tr.t.Fatal(err)
		}
	}
}

// read has a command read something. It prints nothing of a file that the gate lets no tool read.
func (tr *trial) read() {
	hidden := map[string]string{}
	files := []string{}
	for p, said := range tr.tree(tr.dir) {
		if _, content, ok := strings.Cut(said, " "); ok && strings.Contains(content, "TOKEN") {
			files = append(files, p)
			if !tr.readable(tr.dir + p) {
				hidden[strings.TrimSpace(content)] = p
			}
		}
	}
	if len(files) == 0 {
		return
	}
	slices.Sort(files)
	path := tr.dir + files[tr.r.IntN(len(files))]
	if tr.r.IntN(4) == 0 {
		path = filepath.Dir(path)
	}
	ways := readingWays()
	command := strings.ReplaceAll(ways[tr.r.IntN(len(ways))], "%s", shellQuoted(path))
	out, _ := tr.run(command)
	for token, p := range hidden {
		if strings.Contains(out, token) {
			tr.t.Errorf("with the rules %q:\n%s\nprinted what is in %s, which the gate lets no tool read\n%s", tr.rules,
				command, p,
				out)
		}
	}
}

func tryKernel(t *testing.T, seed uint64) {
	t.Helper()
	tr := newTrial(t, seed)
	if s := tr.g.box.Support(t.Context()); len(s.Levels()) == 0 || !s.Notify || !s.Namespaces {
		t.Skip("this kernel has not all that the whole sandbox needs")
	}
	for range 6 {
		if tr.r.IntN(3) == 0 {
			tr.read()
		} else {
			tr.write()
		}
	}
}

// TestKernelDoesWhatTheGateSays: in random folders, with random rules, no command changes or prints what the
// gate keeps from tools, and none is held back from what the gate lets them do.
func TestKernelDoesWhatTheGateSays(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "git", "python3", "tar"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: what the kernel does was NOT compared with the gate", program)
		}
	}
	seeds := uint64(60)
	if testing.Short() {
		seeds = 4
	}
	if n, err := strconv.ParseUint(os.Getenv("SEEDS"), 10, 32); err == nil {
		seeds = n
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { tryKernel(t, seed) })
	}
}

// FuzzKernelDoesWhatTheGateSays goes on with other seeds.
func FuzzKernelDoesWhatTheGateSays(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { tryKernel(t, seed) })
}
