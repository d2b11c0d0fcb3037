package e2e_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe/internal/app/checkout/checkouttest"
)

const repositoryPlay = `
replies:
  - contains: READ-ME-ONE
    text: it was read
  - contains: do nothing
    text: nothing done
  - contains: look
    calls: [{tool: Read, input: {file_path: a.txt}}]
  - contains: write it
    calls: [{tool: Write, input: {file_path: b.txt, content: "work\n"}}]
  - contains: write more
    calls: [{tool: Write, input: {file_path: c.txt, content: "more\n"}}]
  - text: written
`

// atServer begins a server, which ends by stop, and gives a place that is logged in there.
func atServer(t *testing.T, p *place, args ...string) (far *place, stop func()) {
	t.Helper()
	server, err := startProcess(p.command(append([]string{"serve", "--listen", "127.0.0.1:0", "--folder", p.dir},
		args...)...))
	if err != nil {
		t.Fatal(err)
	}
	stop = func() {
		_ = server.cmd.Process.Signal(os.Interrupt)
		if out, err := server.wait(); err != nil || out.code != 0 {
			t.Errorf("the server ended with %d, %v: %s", out.code, err, server.errOut.String())
		}
	}
	at, err := server.find(regexp.MustCompile(`serves at (http://127\.0\.0\.1:\d+)`))
	if err != nil {
		t.Fatal(err)
	}
	code, err := server.find(regexp.MustCompile(`^  ([a-z0-9]{8}-[a-z0-9]{8}-[a-z0-9]{8})`))
	if err != nil {
		t.Fatal(err)
	}
	far = newPlace(t)
	in := far.command("login", at[1])
	in.Stdin = strings.NewReader(code[1] + "\n")
	if out, err := in.CombinedOutput(); err != nil {
		t.Fatalf("log in: %v: %s", err, out)
	}
	return far, stop
}

// TestRepository: a session at a server begins with the address of a repository, works in a worktree of a checkout,
// and its work is pushed as a branch: at the end of a run where that was asked for, or by a command.
func TestRepository(t *testing.T) {
	t.Parallel()
	s := checkouttest.Serve(t)
	url, repo := s.Repository(t, "app")
	first := checkouttest.Commit(t, repo, "main", map[string]string{"a.txt": "READ-ME-ONE\n"})
	p := newPlace(t)
	p.write("play.yaml", repositoryPlay)
	p.write("../user/.gitconfig", "[http]\n\tsslCAInfo = "+s.CA+"\n[user]\n\tname = Ann\n\temail = ann@example.com\n")
	more := filepath.Join(p.root, "more")
	if err := os.Mkdir(more, 0o700); err != nil {
		t.Fatal(err)
	}
	far, stop := atServer(t, p, "--folder", more, "--git-host", s.Host())
	defer stop()
	model := []string{"--model", "script:" + filepath.Join(p.dir, "play.yaml"), "--allowed-tools", "Write"}
	says := func(r ran, code int, want string) {
		t.Helper()
		if r.code != code || !strings.Contains(r.out+r.errOut, want) {
			t.Fatalf("exit %d, want %d and %q:\n%s%s", r.code, code, want, r.out, r.errOut)
		}
	}
	remote := func(branch string) string {
		return checkouttest.Git(t, repo, "for-each-ref", "--format=%(objectname)", "refs/heads/"+branch)
	}

	says(far.troupe(append(model, "-p", "look", "--repo", url, "--name", "looker")...), 0, "it was read")
	says(far.troupe(append(model, "-p", "write it", "--repo", url, "--push", "--name", "fixer", "--worktree=fixer")...),
		0, "written")
	show := far.troupe("show", "fixer")
	says(show, 0, "pushed to "+url+" as branch troupe/fixer; troupe diff fixer")
	says(far.troupe("log", "fixer"), 0, "pushed to "+url)
	pushed := remote("troupe/fixer")
	if pushed == "" || checkouttest.Git(t, repo, "show", pushed+":b.txt") != "work" ||
		checkouttest.Git(t, repo, "rev-parse", pushed+"^") != first || remote("main") != first {
		t.Fatalf("the branch is %s", pushed)
	}
	says(far.troupe("worktrees", "--all"), 0, "pushed, and unmerged here: 1 file")
	// A run later pushes what came to it.
	says(far.troupe("-p", "write more", "--resume", "fixer"), 0, "written")
	if got := remote("troupe/fixer"); checkouttest.Git(t, repo, "show", got+":c.txt") != "more" ||
		checkouttest.Git(t, repo, "show", got+":b.txt") != "work" {
		t.Errorf("the second run is not on the branch %s", got)
	}

	// Without --push a command does it, more than once.
	says(far.troupe(append(model, "-p", "write it", "--repo", url, "--name", "quiet", "--worktree=quiet")...), 0,
		"written")
	if remote("troupe/quiet") != "" {
		t.Error("it was pushed, which was not asked for")
	}
	says(far.troupe("show", "quiet"), 0, "troupe push quiet")
	says(far.troupe("merge", "quiet"), 2, "is beside a checkout, which is not changed")
	listed := func(name, want string) {
		t.Helper()
		list := far.troupe("worktrees", "--all").out
		if !regexp.MustCompile(`(?m)^` + name + ` .*` + want).MatchString(list) {
			t.Errorf("%s is listed as in\n%s", name, list)
		}
	}
	listed("quiet", " unmerged: 1 file")
	says(far.troupe("push", "quiet"), 0, "Pushed to "+url+" as branch troupe/quiet")
	listed("quiet", "pushed, and unmerged here: 1 file")
	says(far.troupe("worktrees", "prune", "--dry-run", "quiet"), 0, "would go quiet")
	says(far.troupe("push", "quiet", "--branch", "fix-login"), 0, "as branch fix-login")
	says(far.troupe("worktrees"), 0, "quiet")
	says(far.troupe("diff", "quiet", "--stat"), 0, "b.txt")
	if checkouttest.Git(t, repo, "show", "fix-login:b.txt") != "work" || remote("troupe/quiet") == "" {
		t.Error("it is not on the branches")
	}
	says(far.troupe(append(model, "-p", "do nothing", "--repo", url, "--push", "--name", "idle", "--worktree=idle")...),
		0, "nothing done")
	if remote("troupe/idle") != "" {
		t.Error("a branch without work was pushed")
	}

	// What others have pushed under the name stays.
	checkouttest.Commit(t, repo, "troupe/theirs", map[string]string{"x": "theirs\n"})
	theirs := remote("troupe/theirs")
	says(far.troupe(append(model, "-p", "write it", "--repo", url, "--push", "--name", "theirs",
		"--worktree=theirs")...), 0, "written")
	if remote("troupe/theirs") != theirs || !strings.Contains(checkouttest.Git(t, repo, "branch"), "troupe/theirs-") {
		t.Errorf("branches: %s", checkouttest.Git(t, repo, "branch"))
	}

	// What was discarded is not pushed with the work of another that has its name.
	says(far.troupe(append(model, "-p", "write it", "--repo", url, "--name", "gone", "--worktree=again")...), 0,
		"written")
	says(far.troupe("push", "again", "--branch", "draft"), 0, "as branch draft")
	says(far.troupe("worktrees", "prune", "again", "--discard", "-y"), 0, "again")
	says(far.troupe(append(model, "-p", "write more", "--repo", url, "--name", "next", "--worktree=again")...), 0,
		"written")
	says(far.troupe("push", "again", "--branch", "clean"), 0, "as branch clean")
	if got := checkouttest.Git(t, repo, "ls-tree", "--name-only", "clean"); got != "a.txt\nc.txt" {
		t.Errorf("the branch has %q", got)
	}
	says(far.troupe("rm", "gone"), 0, "")

	// The checkout itself is never changed, and no session works in it without a worktree.
	checkouts, err := filepath.Glob(filepath.Join(p.root, "home-checkouts", "*", "*", "app"))
	if err != nil || len(checkouts) != 1 || checkouttest.Git(t, checkouts[0], "status", "--porcelain") != "" {
		t.Errorf("checkouts: %v, %v", checkouts, err)
	}
	says(far.troupe(append(model, "-p", "write it", "--repo", url, "--filesystem", "shared_rw")...), 2,
		"is not changed")
	for _, args := range [][]string{{"--repo", "https://example.com/x/y"}, {"--repo", url, "--ref", "nope"},
		{"--repo", url, "--cwd", "/tmp"}, {"--push"}} {
		if r := far.troupe(append(append(model, "-p", "look"), args...)...); r.code == 0 {
			t.Errorf("%v: %s", args, r.out)
		}
	}
	says(p.troupe("-p", "look", "--repo", url, "--model", "script:play.yaml"), 2,
		"only a server checks repositories out")
}

// TestPullRequest: a pull request is opened for what a run did, or by a command, once for each branch; where none can
// be, the branch is pushed all the same, and it is said why.
func TestPullRequest(t *testing.T) {
	t.Parallel()
	s := checkouttest.Serve(t)
	s.Key = "s3cret"
	var mu sync.Mutex
	open, sent, refuse := map[string]string{}, []map[string]string{}, false
	s.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/api/v3/repos/team/app/pulls" {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		answer := "[]"
		switch {
		case r.Header.Get("Authorization") != "Bearer s3cret" || refuse:
			w.WriteHeader(http.StatusForbidden)
			answer = `{"message": "not for you"}`
		case r.Method == http.MethodPost:
			var body map[string]string
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			sent = append(sent, body)
			w.WriteHeader(http.StatusCreated)
			answer = `{"html_url": "` + s.URL + `/team/app/pull/1"}`
			open[body["head"]] = "[" + answer + "]"
		case open[strings.TrimPrefix(r.URL.Query().Get("head"), "team:")] != "":
			answer = open[strings.TrimPrefix(r.URL.Query().Get("head"), "team:")]
		}
		if _, err := io.WriteString(w, answer); err != nil {
			t.Error(err)
		}
		return true
	}
	if err := os.Mkdir(filepath.Join(s.Folder, "team"), 0o700); err != nil {
		t.Fatal(err)
	}
	url, repo := s.Repository(t, "team/app")
	checkouttest.Commit(t, repo, "main", map[string]string{"a.txt": "x\n"})
	p := newPlace(t, "SSL_CERT_FILE="+s.CA)
	p.write("play.yaml", repositoryPlay)
	p.write("../user/.gitconfig", "[http]\n\tsslCAInfo = "+s.CA+"\n[user]\n\tname = Ann\n\temail = a@example.com\n"+
		"[credential]\n\thelper = \"!f() { echo username=x; echo password=s3cret; }; f\"\n")
	far, stop := atServer(t, p, "--git-host", s.Host()+"=github")
	defer stop()
	model := []string{"--model", "script:" + filepath.Join(p.dir, "play.yaml"), "--allowed-tools", "Write"}
	says := func(r ran, code int, want string) {
		t.Helper()
		if r.code != code || !strings.Contains(r.out+r.errOut, want) {
			t.Fatalf("exit %d, want %d and %q:\n%s%s", r.code, code, want, r.out, r.errOut)
		}
	}
	begin := func(name, prompt string, args ...string) []string {
		return append(append(model, "-p", prompt, "--repo", url, "--name", name, "--worktree="+name), args...)
	}
	address := s.URL + "/team/app/pull/1"

	says(far.troupe(begin("fixer", "write it", "--pull-request")...), 0, "written")
	says(far.troupe("show", "fixer"), 0, "as branch troupe/fixer; pull request "+address)
	says(far.troupe("-p", "write more", "--resume", "fixer"), 0, "written") // the same one
	if len(sent) != 1 || sent[0]["title"] != "write it" || sent[0]["base"] != "main" ||
		!strings.Contains(sent[0]["body"], "Made by an agent: session ") {
		t.Errorf("sent %q", sent)
	}

	says(far.troupe(begin("quiet", "write it", "--push")...), 0, "written")
	says(far.troupe("push", "quiet", "--title", "x"), 2, "go with --pull-request")
	says(far.troupe("push", "quiet", "--pull-request", "--title", "By hand", "--base", "next"), 0,
		"Pull request: "+address)
	if got := sent[len(sent)-1]; got["title"] != "By hand" || got["base"] != "next" {
		t.Errorf("sent %q", got)
	}

	says(far.troupe("push", "quiet", "--base", "next"), 2, "go with --pull-request")
	says(far.troupe(begin("titled", "write it", "--push")...), 0, "written")
	says(far.troupe("push", "titled", "--pull-request"), 0, "Pull request: "+address)
	if got := sent[len(sent)-1]; got["title"] != "write it" || got["base"] != "main" {
		t.Errorf("sent %q", got)
	}

	mu.Lock()
	refuse = true
	mu.Unlock()
	says(far.troupe(begin("late", "write it", "--pull-request")...), 0, "written")
	says(far.troupe("show", "late"), 0, "not for you; troupe push late --pull-request tries again")
	says(far.troupe("push", "late", "--pull-request"), 1, "The branch is pushed")
	says(far.troupe("push", "late", "--pull-request", "--json"), 1, "not for you")
	if checkouttest.Git(t, repo, "show", "troupe/late:b.txt") != "work" {
		t.Error("the branch is not there")
	}
}
