package hook

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestNames: what a command runs is found in the usual forms, there or not; what it looks at or writes is not.
func TestNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"scripts/a.sh", "my scripts/a.sh", "notes.md", "count", "conf.json", "gl/main.go",
		"pl/__main__.py", "check.js", "lint/package.json", "src/a.go"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(`{"main": "../odd"}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// A folder, and a module without its ending, with what else they might be.
	for run, wants := range map[string]string{"go run ./gl": "gl", "go run -tags x ./gl -v": "gl", "python3 pl": "pl",
		"node check": "check check.js check.mjs", "node lint": "lint odd odd.js", "cd gl && node x": "gl/x.js",
		"bun run lint": "lint"} {
		h := command(run)
		for _, want := range strings.Fields(wants) {
			if got := h.Names(dir); !slices.Contains(got, filepath.Join(dir, want)) {
				t.Errorf("%s: no %s in %q", run, want, got)
			}
		}
	}
	for _, run := range []string{"eslint src", "gofmt -l src", "go test ./src", "go vet ./src", "ls src"} {
		if h := command(run); len(h.Names(dir)) > 0 {
			t.Errorf("%s: %q, which is only looked at", run, h.Names(dir))
		}
	}
	for run, want := range map[string]string{
		"sh scripts/a.sh": "scripts/a.sh", "bash -e scripts/a.sh": "scripts/a.sh",
		"sh '-e' 'scripts/a.sh'": "scripts/a.sh",
		"cd scripts && sh a.sh":  "a.sh scripts/a.sh", "cd scripts; ./a.sh": "a.sh scripts/a.sh",
		"bash -c 'cd scripts && ./a.sh'": "a.sh scripts/a.sh", "sh scripts/later.sh": "scripts/later.sh",
		"sh later":                 "later",
		"true | sh < scripts/a.sh": "scripts/a.sh", "cat scripts/a.sh | sh": "scripts/a.sh",
		"env A=b sh scripts/a.sh": "scripts/a.sh", `sh "$(pwd)" scripts/a.sh`: "scripts/a.sh",
		`"${CLAUDE_PROJECT_DIR}"/scripts/a.sh`: "scripts/a.sh", "sh scripts/*.sh": "scripts/a.sh",
		`sh "my scripts/a.sh"`: "my my scripts/a.sh scripts/a.sh", "lint --config=conf.json": "conf.json",
		"python3 -m scripts.check x.json": "scripts/check.py scripts/check/__init__.py scripts/check/__main__.py",
		"lint -c conf.json":               "conf.json", "true > scripts/a.sh; sh scripts/a.sh": "scripts/a.sh",
		"true": "", "make test": "", "npm run lint": "", "gofmt -l .": "", "go test ./...": "", "cat notes.md": "",
		"echo x >> log": "", "touch marker": "", "test -f .skip && exit 0": "", "n=$(cat count); echo $n > count": "",
		"curl https://a.example/x.sh": "", "sh ../x.sh": "", "prettier --check *.md": "", "jq .tool_input.command": "",
		"sh -c 'touch marker'": "", "tee -a log.txt": "",
	} {
		h := command(run)
		var got []string
		for _, name := range h.Names(dir) {
			got = append(got, strings.TrimPrefix(name, dir+"/"))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %q instead of %q", run, text, want)
		}
	}
}

// TestPinnedMissing: a script that was not there when the run began is an agent's.
func TestPinnedMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := command("sh scripts/later.sh || true")
	h.Pin(dir)
	if said := runner(t).Run(t.Context(), []Hook{h}, call(dir)); said.Effect != "" {
		t.Errorf("missing, it says %+v", said)
	}
	if err := os.MkdirAll(filepath.Join(dir, "scripts"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "scripts/later.sh"), []byte("touch pwned"), 0o600); err != nil {
		t.Fatal(err)
	}
	said := runner(t).Run(t.Context(), []Hook{h}, call(dir))
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil || said.Effect != troupe.Deny {
		t.Errorf("written since, it says %+v, %v", said, err)
	}
}

// TestScripts: of a server what it runs is found, and not what it works with.
func TestScripts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{"python3 srv/s.py": "srv/s.py", "npx -y server-files notes": "",
		"npx tsx s.ts": "s.ts", "./run --db notes": "run", "sqlite-server notes data/x.db": "",
		"sh ${workspaceFolder}/x": "x"} {
		got := strings.ReplaceAll(strings.Join(Scripts(dir, "", strings.Fields(line)), " "), dir+"/", "")
		if got != want {
			t.Errorf("%s: %q instead of %q", line, got, want)
		}
	}
}

// TestPinnedFolder: what an agent adds to a folder that a hook runs, writes over there, or writes where a module would
// be found, is not run, and what an interpreter keeps there for itself is no change.
func TestPinnedFolder(t *testing.T) {
	t.Parallel()
	for _, tt := range [][2]string{{"go run ./tools/gl || true", "tools/gl/zz.go"},
		{"go run ./tools/gl || true", "tools/gl/main.go"}, {"python3 tools/pl || true", "tools/pl/x.py"},
		{"python3 tools/pl || true", "tools/pl/__main__.py"}, {"node tools/check || true", "tools/check.js"},
		{"node tools/pl || true", "tools/pl/index.js"}} {
		run, late := tt[0], tt[1]
		dir := t.TempDir()
		for _, name := range []string{"tools/gl/main.go", "tools/pl/x.py"} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		h := command(run)
		h.Pin(dir)
		if err := os.MkdirAll(filepath.Join(dir, "tools/pl/__pycache__/x"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := h.unchanged(); err != nil {
			t.Errorf("%s: %v", run, err)
		}
		if err := os.WriteFile(filepath.Join(dir, late), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := h.unchanged(); err == nil {
			t.Errorf("%s is run with %s of later", run, late)
		}
	}
}

// TestPinnedFolderTooFull: a folder with more files than are looked after is run by no hook.
func TestPinnedFolderTooFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "tools/gl"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range mostBelow + 1 {
		if err := os.WriteFile(filepath.Join(dir, "tools/gl", fmt.Sprintf("%d.go", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if i+1 < mostBelow {
			continue
		}
		h := command("go run ./tools/gl")
		h.Pin(dir)
		err := h.unchanged()
		if full := i+1 > mostBelow; full != (err != nil) || full &&
			!strings.Contains(err.Error(), "more than 2000 files") {
			t.Errorf("with %d files: %v", i+1, err)
		}
	}
}

// TestKeysAsWritten: a key in another case is none, and that is told.
func TestKeysAsWritten(t *testing.T) {
	t.Parallel()
	hooks,
		problems := Read([]byte(`{"PreToolUse": [{"hooks": [{"command": "true", "COMMAND": "id", "Args": ["x"]}]}]}`),
		Origin{})
	if len(hooks) != 1 || hooks[0].Run != "true" || len(problems) != 2 {
		t.Errorf("%+v, %+v", hooks, problems)
	}
}

// TestTooLongToShow: what cannot be shown whole is not run for a project or a plugin, and is for a user.
func TestTooLongToShow(t *testing.T) {
	t.Parallel()
	raw := []byte(`{"Stop": "true # ` + strings.Repeat("x", troupe.MostShown) + `"}`)
	for scope, broken := range map[string]bool{"project": true, "local": true, "user": false} {
		hooks, problems := Read(raw, Origin{Scope: scope})
		if (hooks[0].Broken != "") != broken || (len(problems) > 0) != broken {
			t.Errorf("%s: %q, %v", scope, hooks[0].Broken, problems)
		}
	}
	if hooks, _ := Read(raw, Origin{Scope: "plugin p", Plugin: "/p"}); hooks[0].Broken == "" {
		t.Error("a plugin's hook runs that cannot be shown whole")
	}
}
