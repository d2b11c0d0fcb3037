package search_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/search"
	"github.com/troupe-dev/troupe/internal/tool/tooltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func noPrograms(string) (string, error) { return "", exec.ErrNotFound }

// tree makes files in a new folder.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		// Some are programs: one cannot be started while a process that another test starts has it open for writing.
		syscall.ForkLock.RLock()
		err := os.WriteFile(path, []byte(content), 0o644)
		syscall.ForkLock.RUnlock()
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run makes a call; an *InputError reads like any other error.
func run(t testing.TB, r tool.Runner, dir string, args map[string]any) (string, bool) {
	t.Helper()
	in, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	env := tool.Env{Cwd: dir}
	p, err := r.Prepare(env, string(in))
	if err != nil {
		return err.Error(), true
	}
	out, err := p.Run(t.Context(), env)
	if err != nil {
		t.Fatalf("%s: %v", in, err)
	}
	return troupe.JoinText(out.Blocks), out.IsError
}

func TestConformance(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a.go": "package a\n"})
	env := tool.Env{Cwd: dir}
	for _, look := range []func(string) (string, error){nil, noPrograms} {
		rs := search.New(search.Options{LookPath: look})
		tooltest.Runner(t, rs[0], env, `{"pattern":"**/*.go","path":"."}`, troupe.ClassRead)
		tooltest.Runner(t, rs[1], env,
			`{"pattern":"a","path":".","glob":"*.go","type":"go","output_mode":"content","-i":true,"-n":true,"-A":1,"-B":1,"-C":1,"multiline":true,"head_limit":3}`, troupe.ClassRead)
	}
}

func TestGlob(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		".gitignore": "*.log\n/out\n!keep.log\n", "a.go": "", "b_test.go": "", "sub/c.go": "", "sub/deep/d.go": "",
		"sub/e.txt":      "",
		".github/ci.yml": "", ".git/config": "", "x.log": "", "keep.log": "", "out/o.go": "", "sub/out/p.go": "",
		"sp ace/q.go": "",
	}
	dir := tree(t, files)
	old := time.Now().Add(-time.Hour)
	for name := range files { // all equally old, so that ties go by name
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	newer := old.Add(time.Minute)
	if err := os.Chtimes(filepath.Join(dir, "sub/deep/d.go"), newer, newer); err != nil {
		t.Fatal(err)
	}
	glob := search.New(search.Options{})[0]
	for _, c := range []struct {
		pattern, path, want string
	}{
		{"**/*.go", "", "sub/deep/d.go a.go b_test.go sp ace/q.go sub/c.go sub/out/p.go"},
		{"*.go", "", "a.go b_test.go"},
		{"*.go", "sub", "sub/c.go"},
		{"sub/*.go", "", "sub/c.go"},
		{"./sub/*/*.go", "", "sub/deep/d.go sub/out/p.go"},
		{"../*.go", "sub", "a.go b_test.go"},
		{dir + "/sub/**/*.go", "", "sub/deep/d.go sub/c.go sub/out/p.go"},
		{"{a,b_test}.go", "", "a.go b_test.go"},
		{"{sub/deep/d,a}.go", "", "sub/deep/d.go a.go"},
		{"**/*.{yml,log}", "", ".github/ci.yml keep.log"},
		{"out/*.go", "", "out/o.go"}, // named: then what it holds is listed
		{"a.go", "", "a.go"},
	} {
		got, failed := run(t, glob, dir, map[string]any{"pattern": c.pattern, "path": c.path})
		if got = strings.ReplaceAll(strings.TrimSpace(got), "\n", " "); failed || got != c.want {
			t.Errorf("%s in %q:\n got %s\nwant %s", c.pattern, c.path, got, c.want)
		}
	}
	for pattern, want := range map[string]string{
		"[a": "not a valid pattern", "*/../../x": "may not have ..", "nowhere/*.go": "does not exist",
		"a.go/*": "is a file",
	} {
		if got, failed := run(t, glob, dir, map[string]any{"pattern": pattern}); !failed ||
			!strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
	if got, _ := run(t, glob, dir, map[string]any{"pattern": "*.txt"}); !strings.Contains(got, "**/*.txt looks below") {
		t.Errorf("got %q", got)
	}
	if p, err := glob.Prepare(tool.Env{Cwd: dir}, `{"pattern":"../**/x","path":"sub"}`); err != nil ||
		len(p.Access().Reads) != 1 || p.Access().Reads[0] != dir {
		t.Errorf("declares %+v, %v", p.Access(), err)
	}
}

func TestGlobCap(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 130 {
		files[fmt.Sprintf("f%03d", i)] = ""
	}
	got, _ := run(t, search.New(search.Options{})[0], tree(t, files), map[string]any{"pattern": "**"})
	if !strings.Contains(got, "(The newest 100 of 130 files.") || strings.Count(got, "\n") != 100 {
		t.Errorf("got %s", got)
	}
}

var grepFiles = map[string]string{
	".git/HEAD": "ref: needle\n", ".gitignore": "*.log\nbuild/\n!important.log\n# " +
		"comment\n/top.txt\nnode_modules\nfoo/**/gen\n",
	"a.go":      "package a\n\nfunc Needle() {\n\tx := interface{}(nil)\n\treturn x\n}\n// needle again\n",
	"b/b.go":    "needle\nneedle needle\nother\nother\nother\nother\nneedle\n",
	"b/c.py":    "def needle():\n    pass\n",
	"b.txt":     "no\nNEEDLE\nno\n",
	"crlf.txt":  "one\r\nneedle end\r\nthree\r\n",
	"noeol.txt": "first\nlast needle",
	"x.log":     "needle\n", "important.log": "needle\n", "build/o.go": "needle\n", "top.txt": "needle\n",
	"b/top.txt":           "needle\n",
	"node_modules/m/i.js": "needle\n", ".hidden": "needle\n", ".hid/in.go": "needle\n", ".h.go": "needle\n",
	"foo/x/gen/g.go": "needle\n", "foo/gen/h.go": "needle\n", "foo/gen.go": "needle\n",
	"bin.dat":   "needle\x00needle\n",
	"latin.txt": "caf\xe9 needle\n", "wide.txt": strings.Repeat("w", 900) + " needle\n",
	"b/.ignore": "skip.me\n", "b/skip.me": "needle\n", "b/sub/.gitignore": "!*.log\nlocal\n", "b/sub/y.log": "needle\n",
	"b/sub/local":    "needle\n",
	"sp ace/a b.txt": "needle\n", "utf16.txt": "\xff\xfen\x00e\x00e\x00d\x00l\x00e\x00\n\x00",
	"bom.txt": "\uFEFFneedle\n", "empty": "",
	"-dash.txt": "needle -n\n", "multi.txt": "begin\nneedle\nend\nbegin\nx\nend\n", "ünï.txt": "needle é ſ K\n",
}

// Both engines give the same answer to the same question, to the byte.
func TestEnginesAgree(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("rg"); err != nil {
		t.Skip("ripgrep is not installed")
	}
	repo := tree(t, grepFiles)
	plain := tree(t, grepFiles)
	if err := os.RemoveAll(filepath.Join(plain, ".git")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{repo, plain} {
		for _, l := range []string{"link.go", "dirlink"} {
			if err := os.Symlink(map[string]string{"link.go": "a.go", "dirlink": "b"}[l],
				filepath.Join(dir, l)); err != nil {
				t.Fatal(err)
			}
		}
		if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	with, without := search.New(search.Options{})[1], search.New(search.Options{LookPath: noPrograms})[1]
	type m = map[string]any
	found := 0
	for _, q := range []m{
		{"pattern": "needle"}, {"pattern": "needle", "-i": true}, {"pattern": "needle$"}, {"pattern": "^needle"},
		{"pattern": "end$"}, {"pattern": "interface{}"},
		{"pattern": `func \w+\(`}, {"pattern": `\bneedle\b`}, {"pattern": `ne{2}dle`}, {"pattern": `x|needle`},
		{"pattern": `\s+needle`}, {"pattern": `[^a]needle`}, {"pattern": "^$"},
		{"pattern": "-n"}, {"pattern": "(?i)NEEDLE (again)?"}, {"pattern": "s k", "-i": true}, {"pattern": "zzz"},
		{"pattern": `\pL+ needle`}, {"pattern": "[[:upper:]]{3}"}, {"pattern": "."},
		{"pattern": "needle", "path": "b"}, {"pattern": "needle", "path": "b/b.go"},
		{"pattern": "needle", "path": "x.log"}, {"pattern": "needle", "path": ".hid"},
		{"pattern": "needle", "path": "node_modules"},
		{"pattern": "needle", "path": "b/sub"}, {"pattern": "needle", "path": "-dash.txt"},
		{"pattern": "needle", "path": "link.go"}, {"pattern": "needle", "path": "dirlink"},
		{"pattern": "needle", "path": "ünï.txt"},
		{"pattern": "needle", "glob": "*.go"}, {"pattern": "needle", "glob": "*.{py,log}"},
		{"pattern": "needle", "glob": "!*.go"}, {"pattern": "needle", "glob": "b/**"},
		{"pattern": "needle", "glob": "b/*.go"},
		{"pattern": "needle", "glob": "/*.txt"}, {"pattern": "needle", "glob": "**/*.txt"},
		{"pattern": "needle", "glob": ".hid/**"}, {"pattern": "needle", "glob": "**/*"},
		{"pattern": "needle", "glob": "!b/"}, {"pattern": "needle", "glob": "b.go", "path": "b"},
		{"pattern": "needle", "type": "go"}, {"pattern": "needle", "type": "py"}, {"pattern": "needle", "type": "txt"},
		{"pattern": "needle", "type": "go", "glob": "!b/**"}, {"pattern": "needle", "type": "golang"},
		{"pattern": "needle", "-A": 1}, {"pattern": "needle", "-B": 2}, {"pattern": "needle", "-C": 1},
		{"pattern": "needle", "-C": 9}, {"pattern": "needle", "-n": false},
		{"pattern": "needle", "-C": 1, "-n": false, "path": "b"},
		{"pattern": "needle", "head_limit": 3}, {"pattern": "needle", "head_limit": 0},
		{"pattern": "needle", "-C": 1, "head_limit": 4},
		{"pattern": `begin.*?end`, "multiline": true}, {"pattern": "needle\nend", "multiline": true},
		{"pattern": `\{\n\tx`, "multiline": true}, {"pattern": "^needle$", "multiline": true},
		{"pattern": "needle\n", "multiline": true, "-A": 1}, {"pattern": "begin$", "multiline": true, "-C": 1},
	} {
		for _, mode := range []string{"", "content", "count"} {
			if delete(q, "output_mode"); mode != "" {
				q["output_mode"] = mode
			}
			for name, dir := range map[string]string{"repository": repo, "plain folder": plain} {
				a, aFailed := run(t, with, dir, q)
				b, bFailed := run(t, without, dir, q)
				if aFailed != bFailed || a != b {
					t.Errorf("%v in a %s:\n%s", q, name, cmp.Diff(a, b))
				}
				if !aFailed && a != "No matches." {
					found++
				}
			}
		}
	}
	if found < 250 {
		t.Errorf("only %d of the searches found anything; the test compares nothing", found)
	}
}

// What the answers say, for either engine.
func TestGrep(t *testing.T) {
	t.Parallel()
	dir := tree(t, grepFiles)
	engines := map[string]tool.Runner{"own": search.New(search.Options{LookPath: noPrograms})[1]}
	if _, err := exec.LookPath("rg"); err == nil {
		engines["ripgrep"] = search.New(search.Options{})[1]
	}
	type m = map[string]any
	for name, grep := range engines {
		for _, c := range []struct {
			args   m
			want   string
			failed bool
		}{
			{m{"pattern": "needle", "type": "go"}, ".h.go\na.go\nb/b.go\nfoo/gen.go\n", false},
			{m{"pattern": "needle", "type": "py", "output_mode": "content"}, "b/c.py:1:def needle():\n", false},
			{m{"pattern": "needle", "path": "b/b.go", "output_mode": "content", "-A": 1},
				"b/b.go:1:needle\nb/b.go:2:needle needle\nb/b.go-3-other\n--\nb/b.go:7:needle\n", false},
			{m{"pattern": "needle", "path": "b/b.go", "output_mode": "count"}, "b/b.go:3\n(3 in 1 files.)", false},
			{m{"pattern": "needle", "path": "b/b.go", "output_mode": "content", "head_limit": 1},
				"b/b.go:1:needle\n(2 lines left out. Narrow the search, or raise head_limit.)", false},
			{m{"pattern": "needle", "path": "wide.txt", "output_mode": "content"},
				"wide.txt:1:" + strings.Repeat("w", 500) + "… [line cut]\n", false},
			{m{"pattern": "zzz"}, "No matches.", false},
			{m{"pattern": "("}, "Grep: `pattern` is not a valid regular expression: missing closing ): (", true},
			{m{"pattern": "(?=x)"}, "Grep: `pattern` is not a valid regular expression: invalid or unsupported Perl " +
				"syntax: (?=", true},
			{m{"pattern": ""}, "Grep: `pattern` must not be empty", true},
			{m{"pattern": "a\nb"}, "Grep: `pattern` has a line break in it; set multiline", true},
			{m{"pattern": "x", "glob": "[a"}, "Grep: `glob` is not a valid pattern: check its brackets and braces",
				true},
			{m{"pattern": "x", "type": "golang"}, `There is no type of file "golang"; did you mean go?`, true},
			{m{"pattern": "x", "type": "*.go"}, "Grep: `type` is a name such as go or py; for patterns use glob", true},
			{m{"pattern": "x", "path": "bin.dat"}, "bin.dat is a binary file.", true},
			{m{"pattern": "x", "path": "none"}, "none does not exist. (The working folder is " + dir + ".)", true},
			{m{"pattern": "x", "path": "/dev/zero"}, "/dev/zero is neither a folder nor a regular file.", true},
		} {
			if got, failed := run(t, grep, dir, c.args); got != c.want || failed != c.failed {
				t.Errorf("%s, %v:\n got %q %v\nwant %q", name, c.args, got, failed, c.want)
			}
		}
	}
}

// What rules keep from being read is neither listed nor searched, by whatever name the
// folder goes.
func TestHidden(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"in/a.go": "needle\n", "in/secret/key.go": "needle\n", "in/b.pem": "needle\n"})
	if err := os.Symlink("in", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	env := tool.Env{Cwd: dir, Hidden: func(path string) bool {
		return strings.HasPrefix(path, filepath.Join(dir, "in/secret")) || path == filepath.Join(dir, "link/b.pem")
	}}
	for _, look := range []func(string) (string, error){nil, noPrograms} {
		rs := search.New(search.Options{LookPath: look})
		for _, c := range []struct {
			r        tool.Runner
			in, want string
		}{
			{rs[0], `{"pattern":"**","path":"link"}`, "link/a.go\n"},
			{rs[0], `{"pattern":"in/*/*"}`, "No files."},
			{rs[1], `{"pattern":"needle","path":"link"}`, "link/a.go\n"},
			{rs[1], `{"pattern":"needle","path":"link","output_mode":"count"}`, "link/a.go:1\n(1 in 1 files.)"},
			{rs[1], `{"pattern":"needle","path":"link","output_mode":"content"}`, "link/a.go:1:needle\n"},
		} {
			p, err := c.r.Prepare(env, c.in)
			if err != nil {
				t.Fatal(err)
			}
			out, err := p.Run(t.Context(), env)
			if got := troupe.JoinText(out.Blocks); err != nil || got != c.want {
				t.Errorf("%s: got %q, want %q (%v)", c.in, got, c.want, err)
			}
		}
	}
}

func FuzzInputs(f *testing.F) {
	f.Add(`{"pattern":"a","glob":"!*.go","type":"go","-A":1}`)
	f.Add(`{"pattern":"/x/{a,b}/**/..","path":"~"}`)
	f.Add(`{"pattern":"(?i)\\pL{2,}[^\\n]","multiline":true}`)
	dir := tree(f, map[string]string{"a.go": "x\n", ".gitignore": "y"})
	rs := search.New(search.Options{LookPath: noPrograms})
	f.Fuzz(func(t *testing.T, in string) {
		for _, r := range rs {
			p, err := r.Prepare(tool.Env{Cwd: dir}, in)
			if err != nil {
				var ie *tool.InputError
				if !errors.As(err, &ie) {
					t.Fatalf("%T %v", err, err)
				}
				continue
			}
			for _, path := range p.Access().Reads {
				if !filepath.IsAbs(path) || path != filepath.Clean(path) {
					t.Fatalf("declares %q", path)
				}
				if !strings.HasPrefix(path, dir) {
					return // do not search the machine
				}
			}
			if out, err := p.Run(t.Context(), tool.Env{Cwd: dir}); err != nil {
				t.Fatalf("%v %v", out, err)
			}
		}
	})
}
