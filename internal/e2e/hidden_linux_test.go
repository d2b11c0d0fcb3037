package e2e_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// repository makes the project one, with a hidden file that git knows.
func (p *place) repository() (git func(args ...string) string) {
	p.t.Helper()
	p.environ = append(p.environ, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@a",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@a")
	p.write(".env", "PASS=TOPSECRET\n")
	p.write("other", "one\n")
	// Git reads again what is as young as its index.
	old := time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC)
	if err := errors.Join(os.Chtimes(filepath.Join(p.dir, ".env"), old, old),
		os.Chtimes(filepath.Join(p.dir, "other"), old, old)); err != nil {
		p.t.Fatal(err)
	}
	git = func(args ...string) string {
		p.t.Helper()
		cmd := exec.CommandContext(p.t.Context(), "git", args...)
		cmd.Dir, cmd.Env = p.dir, p.environ
		out, err := cmd.CombinedOutput()
		if err != nil {
			p.t.Fatalf("git %s: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q")
	git("add", "-A")
	git("commit", "-qm", "first")
	return git
}

// TestGitBesideHiddenFiles: a project whose repository has a file that is hidden from agents
// is one like any other, as long as that file is what git has of it.
func TestGitBesideHiddenFiles(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if doctor := p.troupe("doctor").out; !confines(p) || strings.Contains(doctor, "no mount namespace") {
		t.Skip("hidden files are not covered here")
	}
	git := p.repository()
	p.write("../look.yaml", `
replies:
  - turn: 1
    calls:
      - {tool: Bash, input: {command: "git status -s && git diff && git diff HEAD --stat && echo all cle''an; cat .e*"}}
  - text: done
`)
	p.run(0, "-p", "--model", "script:../look.yaml", "--name", "look", "go")
	log := p.troupe("log", "look").out
	if !strings.Contains(log, "all clean") || !strings.Contains(log, ".env: Permission denied") ||
		strings.Contains(log, "TOPSECRET") || strings.Contains(log, "M .env") {
		t.Errorf("looking:\n%s", log)
	}

	p.write("../work.yaml", `
replies:
  - turn: 1
    calls:
      - {tool: Bash, input: {command: "set -e; echo two >> other; git add -A; git commit -qm second; echo three >> other; git commit -qam third; echo four >> other; git stash -q; git status -s; git stash pop -q; git diff --stat; echo all do''ne"}}
  - text: done
`)
	before := git("rev-parse", "HEAD:.env")
	p.run(0, "-p", "--model", "script:../work.yaml", "--name", "work", "--allowed-tools", "Bash", "go")
	log = p.troupe("log", "work").out
	if !strings.Contains(log, "all done") || strings.Contains(log, "M .env") {
		t.Errorf("working:\n%s", log)
	}
	if got := git("log", "--format=%s"); got != "third\nsecond\nfirst\n" || git("rev-parse", "HEAD:.env") != before {
		t.Errorf("the repository has %q, and of what is hidden %s", got, git("show", "HEAD:.env"))
	}
	if got := git("status", "-s"); got != " M other\n" {
		t.Errorf("in the end: %q", got)
	}

	// What did change git cannot read, and says so. It commits nothing in its place.
	p.write(".env", "PASS=ANOTHERSECRET\n")
	p.run(0, "-p", "--model", "script:../work.yaml", "--name", "changed", "--allowed-tools", "Bash", "go")
	log = p.troupe("log", "changed").out
	if strings.Contains(log, "all done") || !strings.Contains(log, `open(".env"): Permission denied`) ||
		strings.Contains(log, "SECRET") {
		t.Errorf("when it has changed:\n%s", log)
	}
	if git("rev-parse", "HEAD:.env") != before || p.read(".env") != "PASS=ANOTHERSECRET\n" {
		t.Error("what is hidden was committed, or changed")
	}
}

// TestWithoutWatches: where the kernel has no watches left, each command looks for itself, and doctor says so.
func TestWithoutWatches(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	alone := func(script string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "unshare", "--user", "--map-root-user", "sh", "-c",
			"echo 2 > /proc/sys/user/max_inotify_watches && "+script)
		cmd.Dir, cmd.Env = p.dir, p.environ
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := alone("true"); err != nil || !confines(p) {
		t.Skipf("no watches can be taken away here, or commands not confined: %v: %s", err, out)
	}
	p.write("a/b/c/d/.env", "HUNTER2 in words\n")
	p.write("make.sh", "mkdir e; echo HUNTER2 in words > e/.env\n")
	p.write("../s.yaml", `
replies:
  - turn: 1
    calls:
      - {tool: Bash, input: {command: "sh make.sh"}}
      - {tool: Bash, input: {command: "cat a/b/c/d/.e* e/.e*; echo 'e'nd"}}
  - text: done
`)
	out, _ := alone("troupe doctor") // without a model it ends with 1
	if want := "each command first looks through "; !strings.Contains(out, want) ||
		!strings.Contains(out, "raise fs.inotify.max_user_watches") {
		t.Errorf("doctor does not say %q:\n%s", want, out)
	}
	out, err := alone("troupe -p --model script:../s.yaml --name job --allowed-tools Bash go && troupe log job")
	if err != nil || strings.Contains(out, "HUNTER2 in words\n") || strings.Count(out, "Permission denied") != 2 ||
		!strings.Contains(out, " end\n") {
		t.Errorf("%v\n%s", err, out)
	}
}
