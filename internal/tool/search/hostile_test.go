package search_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/tool"
	"github.com/troupe-dev/troupe/internal/tool/search"
)

// ask makes a call in env and returns what it shows.
func ask(t *testing.T, r tool.Runner, env tool.Env, args map[string]any) (string, bool) {
	t.Helper()
	in, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Prepare(env, string(in))
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Run(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	return troupe.JoinText(out.Blocks), out.IsError
}

// What is hidden stays hidden: a file, a folder with all below it though only the folder is
// named, a path given directly, and what a link leads to.
func TestHiddenEverywhere(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"a.txt": "needle\n", ".env": "needle secret\n", "keys/deep/id": "needle secret\n",
		"sub/.env": "needle secret\n", "sub/b.txt": "needle\n",
	})
	for link, target := range map[string]string{"innocent.txt": ".env", "open": "keys", "sub/loop": "..",
		"gone": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	env := tool.Env{Cwd: dir, Hidden: func(path string) bool {
		return filepath.Base(path) == ".env" || path == filepath.Join(dir, "keys") // not what is below it
	}}
	type m = map[string]any
	for name, look := range map[string]func(string) (string, error){"ripgrep": nil, "own": noPrograms} {
		rs := search.New(search.Options{LookPath: look})
		for _, c := range []struct {
			r      tool.Runner
			args   m
			want   string
			failed bool
		}{
			{rs[1].Runner, m{"pattern": "needle", "glob": "**/{*,.*}"}, "a.txt\nsub/b.txt\n", false},
			{rs[1].Runner, m{"pattern": "needle", "glob": ".env"}, "No matches.", false},
			{rs[1].Runner, m{"pattern": "needle", "output_mode": "content"}, "a.txt:1:needle\nsub/b.txt:1:needle\n",
				false},
			{rs[1].Runner, m{"pattern": "needle", "output_mode": "count"}, "a.txt:1\nsub/b.txt:1\n(2 in 2 files.)",
				false},
			{rs[1].Runner, m{"pattern": "needle", "path": ".env"}, ".env is kept from being searched", true},
			{rs[1].Runner, m{"pattern": "needle", "path": "innocent.txt"}, "innocent.txt is kept from being searched",
				true},
			{rs[1].Runner, m{"pattern": "needle", "path": "keys"}, "keys is kept from being searched", true},
			{rs[1].Runner, m{"pattern": "needle", "path": "open"}, "open is kept from being searched", true},
			{rs[1].Runner, m{"pattern": "needle", "path": "sub/loop"}, "sub/loop/a.txt\nsub/loop/sub/b.txt\n", false},
			{rs[0].Runner, m{"pattern": "keys/**"}, "keys is kept", true},
			{rs[0].Runner, m{"pattern": "**", "path": "open"}, "open is kept", true},
			{rs[0].Runner, m{"pattern": "**/{*.txt,.env,id}"}, "a.txt sub/b.txt", false},
			{rs[0].Runner, m{"pattern": "*", "path": "."}, "a.txt gone", false},
		} {
			got, failed := ask(t, c.r, env, c.args)
			if c.r == rs[0].Runner && !failed {
				lines := strings.Fields(got)
				got = strings.Join(sorted(lines), " ")
				c.want = strings.Join(sorted(strings.Fields(c.want)), " ")
			}
			if failed != c.failed || failed && !strings.Contains(got, c.want) || !failed && got != c.want {
				t.Errorf("%s, %v: %v %q, want %q", name, c.args, failed, got, c.want)
			}
			if strings.Contains(got, "secret") || strings.Contains(got, "deep") {
				t.Errorf("%s, %v shows %q", name, c.args, got)
			}
		}
	}
}

// What is hidden in a folder is asked for once a folder, under both its names where a link led to
// it, and never about one that is hidden, or below one that is.
func TestHiddenIsAskedByFolder(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"ws/a.txt": "needle\n", "ws/open/b.txt": "needle\n", "ws/open/key": "needle\n",
		"ws/shut/deep/c.txt": "needle\n",
		"ws/free/d.txt":      "needle\n", "ws/free/key": "needle\n",
	})
	if err := os.Symlink("ws", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var asked []string
	env := tool.Env{Cwd: dir, Hidden: func(path string) bool {
		return strings.HasSuffix(path, "ws/open/key") || strings.HasSuffix(path, "link/shut")
	}}
	env.HiddenIn = func(folder string) func(string) bool {
		mu.Lock()
		defer mu.Unlock()
		rel, err := filepath.Rel(dir, folder)
		if err != nil {
			t.Error(err)
		}
		asked = append(asked, rel)
		switch rel {
		case "ws/open":
			return func(name string) bool { return name == "key" }
		case "link":
			return func(name string) bool { return name == "shut" }
		}
		return nil
	}
	rs := search.New(search.Options{LookPath: noPrograms})
	for _, c := range []struct {
		r    tool.Runner
		args map[string]any
	}{
		{rs[1].Runner, map[string]any{"pattern": "needle", "path": "link"}},
		{rs[0].Runner, map[string]any{"pattern": "**/*", "path": "link"}},
	} {
		asked = nil
		got, failed := ask(t, c.r, env, c.args)
		if lines := sorted(strings.Fields(got)); failed ||
			!slices.Equal(lines, []string{"link/a.txt", "link/free/d.txt", "link/free/key", "link/open/b.txt"}) {
			t.Errorf("%v: %v %q", c.args, failed, lines)
		}
		if !slices.Equal(sorted(asked), []string{"link", "link/free", "link/open", "ws", "ws/free", "ws/open"}) {
			t.Errorf("%v: asked about %q", c.args, asked)
		}
	}
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

// Neither the project's files nor the environment make rg run anything or read its settings.
func TestRipgrepRunsNothing(t *testing.T) {
	if _, err := exec.LookPath("rg"); err != nil {
		t.Skip("ripgrep is not installed")
	}
	dir := tree(t, map[string]string{
		"a.txt": "needle\n", "--pre=sh": "needle\n", ".ripgreprc": "--pre=./evil\n--hidden\n",
		"ripgreprc": "--pre=./evil\n", "z": "touch PWNED\nneedle\n",
		"evil": "#!/bin/sh\ntouch PWNED\n", "--files": "needle\n", ".rgignore": "", "-f": "x\n",
	})
	if err := os.Chmod(filepath.Join(dir, "evil"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("RIPGREP_CONFIG_PATH", filepath.Join(dir, ".ripgreprc"))
	grep := search.New(search.Options{})[1]
	env := tool.Env{Cwd: dir, Environ: []string{"RIPGREP_CONFIG_PATH=" + filepath.Join(dir, "ripgreprc")}}
	for _, c := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"pattern": "needle"}, "--files\n--pre=sh\na.txt\nz\n"},
		{map[string]any{"pattern": "needle", "path": "--pre=sh", "output_mode": "content"}, "--pre=sh:1:needle\n"},
		{map[string]any{"pattern": "--pre=./evil", "output_mode": "content", "path": "ripgreprc"},
			"ripgreprc:1:--pre=./evil\n"},
		{map[string]any{"pattern": "needle", "glob": "--pre=*"}, "--pre=sh\n"},
		{map[string]any{"pattern": "needle", "path": "-f"}, "No matches."},
	} {
		if got, failed := ask(t, grep, env, c.args); failed || got != c.want {
			t.Errorf("%v: %v %q, want %q", c.args, failed, got, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "PWNED")); err == nil {
		t.Error("rg ran something")
	}
}

// Files that wait or never end, and loops of links, end a search as little as they end a
// reader's patience.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a.txt": "needle\n", "deep/b.txt": "needle\n"})
	for link, target := range map[string]string{"deep/up": "..", "self": "self", "zero": "/dev/zero",
		".ignore": "pipe"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	rs := search.New(search.Options{LookPath: noPrograms})
	if got, failed := ask(t, rs[1], tool.Env{Cwd: dir}, map[string]any{"pattern": "needle"}); failed ||
		got != "a.txt\ndeep/b.txt\n" {
		t.Errorf("%v %q", failed, got)
	}
	for _, name := range []string{"pipe", "zero", "self"} {
		if got, failed := ask(t, rs[1], tool.Env{Cwd: dir}, map[string]any{"pattern": "x", "path": name}); !failed {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got, failed := ask(t, rs[0], tool.Env{Cwd: dir}, map[string]any{"pattern": "**/*.txt"}); failed ||
		strings.Count(got, "\n") != 2 {
		t.Errorf("%v %q", failed, got)
	}
}
