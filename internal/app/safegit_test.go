package app

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/gate"
	"github.com/troupe-dev/troupe/internal/sandbox"
	"github.com/troupe-dev/troupe/internal/session"
)

// TestGitIsLookedAtForEachCommand: a repository that an agent makes between two commands of git is not
// taken for what was there a moment ago. (Without a kernel sandbox, what git would run is all that counts.)
func TestGitIsLookedAtForEachCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := newApp(Env{
		Lookup:  func(name string) (string, bool) { return dir + "/home", name == "TROUPE_HOME" },
		Environ: []string{"HOME=" + dir}, Now: time.Now,
	})
	g := a.newGuard(t.Context())
	g.box = sandbox.New(sandbox.Options{Landlock: -1})
	effect := func(command string) troupe.Effect {
		q := session.QueryIn(g, troupe.Session{Cwd: dir}, nil, troupe.Access{Class: troupe.ClassExec, Command: command})
		q.Tool, q.Roots = "Bash", []string{dir}
		q.Chain = []gate.Layer{{Agent: "main", Mode: troupe.ModeDefault}}
		return gate.NewTools([]troupe.ToolFacts{{Name: "Bash"}}).Decide(q).Effect
	}
	if e := effect("git status"); e != troupe.Allow {
		t.Fatalf("git status where there is no repository: %s", e)
	}
	for name, text := range map[string]string{
		".git": "gitdir: g\n", "g/HEAD": "ref: refs/heads/m\n", "g/objects/x": "", "g/refs/x": "",
		"g/config": "[core]\n\trepositoryformatversion = 0\n[diff]\n\texternal = touch PWNED;:\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if e := effect("git diff"); e == troupe.Allow {
		t.Error("git diff runs what a repository names that was not there before")
	}
}
