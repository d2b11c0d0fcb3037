package worktree

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// opens makes a process that livesIn a folder open one workspace: the value is that, as JSON.
const opens = "TROUPE_WORKTREE_TEST_OPENS"

func openOne(ctx context.Context, home, one string) error {
	var ws troupe.Workspace
	if err := json.Unmarshal([]byte(one), &ws); err != nil {
		return err
	}
	_, err := newLife(home).k.Open(ctx, ws, Making{})
	return err
}

// TestOrphanedGitIsWaitedFor: a git that is at work when its process is killed works on, and whoever goes on with the
// workspace does so when it has ended, so that neither removes or writes what the other is at.
func TestOrphanedGitIsWaitedFor(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for kind, word := range map[troupe.WorkspaceKind]string{
		troupe.WorkspaceCopy: "update-index", troupe.WorkspaceTree: "-u"} {
		b := newBench(t)
		began, ended := filepath.Join(b.home, "began"), filepath.Join(b.home, "ended")
		// It has read what it is to do, as the one of many files has, and is slow to do it.
		put(t, filepath.Join(b.home, "bin/git"), `#!/bin/sh
for a; do
	if [ "$a" = `+word+` ]; then
		cat > `+began+`.in
		: > `+began+`
		sleep 1
		`+git+` "$@" < `+began+`.in
		: > `+ended+`
		exit
	fi
done
exec `+git+` "$@"
`)
		if err := os.Chmod(filepath.Join(b.home, "bin/git"), 0o700); err != nil {
			t.Fatal(err)
		}
		ws, err := b.k.Plan(t.Context(), Wish{Owner: newID(t), Kind: kind, Title: "Orphan", From: b.dir})
		if err != nil {
			t.Fatal(err)
		}
		one, err := json.Marshal(ws)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), livesIn+"="+b.home, opens+"="+string(one),
			"PATH="+filepath.Join(b.home, "bin")+":"+os.Getenv("PATH"))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		err = retry(t.Context(), time.Minute, func() (bool, error) { return !there(began), nil })
		if err != nil || !there(began) {
			t.Errorf("%s: git did not begin: %v", kind, err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		if there(ended) {
			t.Fatalf("%s: git ended with its process", kind)
		}
		b.open(ws)
		if !there(ended) {
			t.Errorf("%s: the workspace was made while a git of before was at it", kind)
		}
	}
}
