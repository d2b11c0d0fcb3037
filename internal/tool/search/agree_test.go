package search_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/search"
)

// ripgrep skips a test, and says so, where rg is not installed.
func ripgrep(t *testing.T) tool.Runner {
	t.Helper()
	if _, err := exec.LookPath("rg"); err != nil {
		t.Skip("ripgrep is not installed: nothing here shows that it and the own search agree")
	}
	return search.New(search.Options{})[1].Runner
}

// Trees that one of the engines could take otherwise than the other.
func oddTrees() map[string]map[string]string {
	long := strings.Repeat("x", 70_000) + "\n"
	return map[string]map[string]string{
		"names": {
			"new\nline.txt": "needle\n", "a\n./b.txt": "needle\n", "x: WARNING: stopped": "needle\n",
			"12:34-5":   "needle\n",
			"tab\there": "needle\nneedle\n", "\xff\xfe.txt": "needle\n", "quo\"te": "needle\n",
			"sub\n/in\n.txt": "a\nneedle\nb\n",
			" lead":          "needle\n", "trail ": "needle\n", "colon:1:": "needle\n",
		},
		"rules": {
			".git/HEAD":  "x",
			".gitignore": "/top\nsub/deep/*.go\n**/any\n**/a/b\nc/**/d\n*.l?g\n[xy].z\n!keep.log\nend/**\n",
			"top":        "needle\n", "sub/top": "needle\n", "sub/deep/x.go": "needle\n", "sub/deep/y.txt": "needle\n",
			"any": "needle\n", "sub/any/f": "needle\n", "a/b": "needle\n", "q/a/b": "needle\n", "c/d": "needle\n",
			"c/1/2/d": "needle\n", "c/1/2/e": "needle\n", "m.log": "needle\n", "keep.log": "needle\n",
			"x.z":     "needle\n",
			"sub/y.z": "needle\n", "w.z": "needle\n", "end/f": "needle\n", "sub/end/f": "needle\n",
			"sub/.gitignore": "/deep/y.txt\n!x.go\n", "nest/.git/HEAD": "x", "nest/top": "needle\n",
			"nest/m.log": "needle\n",
		},
		"contents": {
			"long.txt": long + "needle\n" + long + long + "needle " + long,
			"edges.txt": strings.Repeat("0123456789abcde\n", 4095) +
				"before\nneedle\nafter\n" + strings.Repeat("0123456789abcde\n", 9000) + "needle",
			"blank.txt": "\n\n\nneedle\n\n\n", "cr.txt": "needle\rneedle\r\nx\r\n",
			"late.bin": strings.Repeat("text\n", 20_000) + "needle\n",
			"fold.txt": "NEEDLE Needle nEEDLE\ntask TAſK tas\u212a\n", "bad.txt": "\xffneedle\xff\nn\xffeedle\n",
			"nonl": "needle", "only": "\n", "two.txt": "one needle two\none two\nneedle one\n",
		},
	}
}

// Whatever files are called and hold, both engines say the same of them.
func TestEnginesAgreeOnOddTrees(t *testing.T) {
	t.Parallel()
	with, without := ripgrep(t), search.New(search.Options{LookPath: noPrograms})[1].Runner
	type m = map[string]any
	for name, files := range oddTrees() {
		dir := tree(t, files)
		for _, q := range []m{
			{"pattern": "needle"}, {"pattern": "needle", "-i": true}, {"pattern": "needle|after"}, {"pattern": "^$"},
			{"pattern": "needle$"}, {"pattern": "TASK", "-i": true}, {"pattern": "one.*two|needle one"},
			{"pattern": "[a-z]eedle"}, {"pattern": "needle", "-C": 2}, {"pattern": "needle", "-A": 3},
			{"pattern": "needle", "-B": 5}, {"pattern": "needle", "glob": "sub/**"},
			{"pattern": "needle", "path": "sub"},
			{"pattern": "needle", "glob": "!**/b"}, {"pattern": "n.edle", "head_limit": 2},
			{"pattern": "before\nneedle", "multiline": true}, {"pattern": "^$", "multiline": true},
		} {
			for _, mode := range []string{"files_with_matches", "content", "count"} {
				q["output_mode"] = mode
				a, aFailed := run(t, with, dir, q)
				b, bFailed := run(t, without, dir, q)
				if aFailed != bFailed || a != b {
					t.Errorf("%s, %v (- ripgrep, + own):\n%s", name, q, cmp.Diff(a, b))
				}
			}
		}
	}
}

// rg is started without settings of the user's: nothing in its environment, and first of all the
// option to read none. A stand-in tells, wherever rg is not installed too.
func TestRipgrepIsStartedBare(t *testing.T) {
	dir := tree(t, map[string]string{"a.txt": "needle\n", "bin/rg": "#!/bin/sh\n" +
		"env > \"${0%/*}/env\"\nfor a; do echo \"$a\"; done > \"${0%/*}/args\"\nprintf './new\\nline.txt\\0'\n"})
	fake := filepath.Join(dir, "bin/rg")
	if err := os.Chmod(fake, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("RIPGREP_CONFIG_PATH", filepath.Join(dir, "rc"))
	t.Setenv("SECRET", "x")
	grep := search.New(search.Options{LookPath: func(string) (string, error) { return fake, nil }})[1]
	env := tool.Env{Cwd: dir, Environ: []string{"RIPGREP_CONFIG_PATH=" + filepath.Join(dir, "rc")}}
	if got, failed := ask(t, grep, env, map[string]any{"pattern": "needle"}); failed || got != "new\nline.txt\n" {
		t.Errorf("%v %q", failed, got)
	}
	read := func(name string) []string {
		b, err := os.ReadFile(filepath.Join(dir, "bin", name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(b)), "\n")
	}
	for _, kv := range read("env") {
		switch key, _, _ := strings.Cut(kv, "="); key {
		case "PWD", "OLDPWD", "SHLVL", "_": // the shell's own
		default:
			if kv != "LC_ALL=C" {
				t.Errorf("rg is given %s", kv)
			}
		}
	}
	args := read("args")
	if args[0] != "--no-config" {
		t.Errorf("rg is called with %q; --no-config must come first", args)
	}
	if n := len(args); args[n-3] != "--regexp=needle" || args[n-2] != "--" || args[n-1] != "./" {
		t.Errorf("rg is called with %q", args)
	}
}

// In content, the lines of a file stand in JSON: none of them can be taken for a file's name.
func TestRipgrepEvents(t *testing.T) {
	t.Parallel()
	events := `{"type":"begin","data":{"path":{"text":"./new\nline.txt"}}}
{"type":"context","data":{"path":{"text":"./new\nline.txt"},"lines":{"text":"before\n"},"line_number":1}}
{"type":"match","data":{"path":{"text":"./new\nline.txt"},"lines":{"text":"x: needle\n"},"line_number":2}}
{"type":"end","data":{"path":{"text":"./new\nline.txt"}}}
{"type":"begin","data":{"path":{"bytes":"Li/8"}}}
{"type":"match","data":{"path":{"bytes":"Li/8"},"lines":{"bytes":"/25lZWRsZQ=="},"line_number":7}}
{"type":"summary","data":{}}
`
	dir := tree(t, map[string]string{"events": events, "rg": "#!/bin/sh\nwhile read -r l; do printf '%s\\n' \"$l\"; " +
		"done < events\n"})
	fake := filepath.Join(dir, "rg")
	if err := os.Chmod(fake, 0o755); err != nil {
		t.Fatal(err)
	}
	grep := search.New(search.Options{LookPath: func(string) (string, error) { return fake, nil }})[1]
	got, failed := ask(t, grep, tool.Env{Cwd: dir}, map[string]any{"pattern": "needle", "output_mode": "content",
		"-B": 1})
	want := "new\nline.txt-1-before\nnew\nline.txt:2:x: needle\n--\n\xfc:7:\uFFFDneedle\n"
	if failed || got != want {
		t.Errorf("%v %q, want %q", failed, got, want)
	}
}

// What rg found is whole when its output has ended, however long its other pipe takes: on a busy machine that can
// be seconds. Here a process holds it.
func TestRipgrepOnABusyMachine(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits more than a second")
	}
	t.Parallel()
	dir := tree(t, map[string]string{"rg": "#!/bin/sh\nprintf './a.txt\\0'\nsleep 1.5 >/dev/null &\n"})
	fake := filepath.Join(dir, "rg")
	if err := os.Chmod(fake, 0o755); err != nil {
		t.Fatal(err)
	}
	grep := search.New(search.Options{LookPath: func(string) (string, error) { return fake, nil }})[1]
	got, failed := ask(t, grep, tool.Env{Cwd: dir}, map[string]any{"pattern": "needle"})
	if failed || got != "a.txt\n" {
		t.Errorf("%v %q", failed, got)
	}
}

// The own search looks into files of any size. Only what must be in memory as a whole has a
// bound, and the result says what was left out for it.
func TestLargeFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("without -short it runs")
	}
	t.Parallel()
	dir := tree(t, map[string]string{"a.txt": "needle\n"})
	const size = 65 << 20
	large := []byte(strings.Repeat("0123456789abcdef0123456789abcde\n", size/32))
	copy(large[len(large)-32:], "needle")
	write := func(name string, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("large.log", large)
	for i := range large {
		if large[i] == '\n' {
			large[i] = ' '
		}
	}
	write("line.log", large)
	grep := search.New(search.Options{LookPath: noPrograms})[1]
	for _, c := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"pattern": "needle"}, "a.txt\nlarge.log\n\n(Not searched to the end: line.log (it has a " +
			"line of more than 64 MB).)"},
		{map[string]any{"pattern": "needle", "output_mode": "content", "path": "large.log"}, fmt.Sprintf(
			"large.log:%d:needle6789abcdef0123456789abcde\n", size/32)},
		{map[string]any{"pattern": "needle\n", "multiline": true}, "a.txt\n\n(Not searched to the end: " +
			"large.log (it is larger than 64 MB), line.log (it is larger than 64 MB).)"},
		{map[string]any{"pattern": "nothing", "multiline": true, "path": "large.log"},
			"No matches.\n(Not searched to " +
				"the end: large.log (it is larger than 64 MB).)"},
	} {
		if got, failed := run(t, grep, dir, c.args); failed || got != c.want {
			t.Errorf("%v: %v %q, want %q", c.args, failed, got, c.want)
		}
	}
}
