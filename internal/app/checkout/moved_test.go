package checkout_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/troupe-dev/troupe/internal/app/checkout"
	"github.com/troupe-dev/troupe/internal/app/checkout/checkouttest"
)

// behind moves a branch of a served repository when a request for a service comes, the nth of them.
func behind(t *testing.T, s *checkouttest.Server, repo, branch, commit, service string, nth int64) {
	var n atomic.Int64
	s.Answer = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("service") == service && n.Add(1) == nth {
			if out, err := exec.CommandContext(r.Context(), "git", "-C", repo, "update-ref", "refs/heads/"+branch,
				commit).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
		return false
	}
}

// made has a checkout of a branch.
func made(t *testing.T, c *checkout.Checkouts, url, ref string) string {
	t.Helper()
	folder, err := c.Make(t.Context(), checkout.Source{URL: url, Ref: ref})
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestMovesBack: a checkout in which agents may be at work is not made anew, though its branch was elsewhere when the
// remote was asked.
func TestMovesBack(t *testing.T) {
	t.Parallel()
	s := checkouttest.Serve(t)
	url, repo := s.Repository(t, "app")
	first := checkouttest.Commit(t, repo, "main", map[string]string{"a": "a\n"})
	c := at(t, s, "", s.Host())
	folder := made(t, c, url, "main")
	mark := filepath.Join(folder, ".git", "mark") // as the refs of worktrees are
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	checkouttest.Commit(t, repo, "main", map[string]string{"a": "b\n"})
	behind(t, s, repo, "main", first, "git-upload-pack", 2) // between the look and the fetch
	if again := made(t, c, url, "main"); again != folder {
		t.Errorf("it is %s, want %s", again, folder)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("the checkout was made anew: %v", err)
	}
}

// TestCutOff: what a checkout has left that was cut off is removed by the next one of the address.
func TestCutOff(t *testing.T) {
	t.Parallel()
	s := checkouttest.Serve(t)
	url, repo := s.Repository(t, "app")
	checkouttest.Commit(t, repo, "main", map[string]string{"a": "a\n"})
	c := at(t, s, "", s.Host())
	left := filepath.Join(filepath.Dir(filepath.Dir(made(t, c, url, "main"))), ".new-1")
	if err := os.MkdirAll(filepath.Join(left, "app"), 0o700); err != nil {
		t.Fatal(err)
	}
	checkouttest.Commit(t, repo, "main", map[string]string{"a": "b\n"})
	made(t, c, url, "main")
	if _, err := os.Stat(left); err == nil {
		t.Errorf("%s is still there", left)
	}
}

// TestLinksTheNewest: of several checkouts it is the newest from which packs are linked.
func TestLinksTheNewest(t *testing.T) {
	t.Parallel()
	s := checkouttest.Serve(t)
	url, repo := s.Repository(t, "app")
	c := at(t, s, "", s.Host())
	var packs [3][]string
	for i, name := range []string{"a", "b", "c"} {
		checkouttest.Commit(t, repo, "main", map[string]string{name: name})
		var err error
		folder := made(t, c, url, "main")
		if packs[i], err = filepath.Glob(filepath.Join(folder, ".git/objects/pack/*.pack")); err != nil {
			t.Fatal(err)
		}
	}
	if len(packs[0]) != 1 || len(packs[1]) != 2 || len(packs[2]) != 3 {
		t.Errorf("packs: %v", packs)
	}
}

// TestOf: what only lies among checkouts is none.
func TestOf(t *testing.T) {
	t.Parallel()
	c := checkout.New(checkout.Options{Folder: t.TempDir()})
	for _, folder := range []string{"", "a", "a/b", "../x"} {
		if of, err := c.Of(t.Context(), filepath.Join(c.Folder(), folder)); err == nil ||
			!strings.Contains(err.Error(), "is no checkout") {
			t.Errorf("%q is of %v, %v", folder, of, err)
		}
	}
}

// TestPushMeanwhile: what another one puts on a branch between our look and our push stays.
func TestPushMeanwhile(t *testing.T) {
	t.Parallel()
	s := checkouttest.Serve(t)
	url, repo := s.Repository(t, "app")
	main := checkouttest.Commit(t, repo, "main", map[string]string{"a": "a\n"})
	theirs := checkouttest.Git(t, repo, "commit-tree", "-m", "theirs", "-p", main, main+"^{tree}")
	c := at(t, s, "", s.Host())
	folder := made(t, c, url, "main")
	ours := checkouttest.Git(t, folder, "commit-tree", "-m", "ours", "-p", "HEAD", "HEAD^{tree}")
	behind(t, s, repo, "fix", theirs, "git-receive-pack", 1)
	if got, err := c.Push(t.Context(), folder, ours, "7k3f", "fix"); err == nil {
		t.Errorf("pushed: %+v", got)
	}
	if got := checkouttest.Git(t, repo, "rev-parse", "fix"); got != theirs {
		t.Errorf("the branch is %s, want %s", got, theirs)
	}
}

// TestPushGoesOn: a push that was cut off counts when it is done again: what comes behind it is pushed there, too. That
// there is nothing to push is told apart.
func TestPushGoesOn(t *testing.T) {
	t.Parallel()
	s := checkouttest.Serve(t)
	url, repo := s.Repository(t, "app")
	checkouttest.Commit(t, repo, "main", map[string]string{"a": "a\n"})
	c := at(t, s, "", s.Host())
	folder := made(t, c, url, "main")
	first := checkouttest.Git(t, folder, "commit-tree", "-m", "one", "-p", "HEAD", "HEAD^{tree}")
	second := checkouttest.Git(t, folder, "commit-tree", "-m", "one, amended", "-p", "HEAD", "HEAD^{tree}")
	push := func(what string) {
		t.Helper()
		if _, err := c.Push(t.Context(), folder, what, "7k3f", "fix"); err != nil {
			t.Errorf("push: %v", err)
		}
	}
	push(first)
	checkouttest.Git(t, folder, "update-ref", "-d", "refs/troupe-pushed/7k3f/fix") // cut off before it was noted
	push(first)
	push(second)
	if _, err := c.Push(t.Context(), folder, "refs/heads/none", "7k3f", "fix"); !errors.Is(err, checkout.ErrNothing) {
		t.Errorf("nothing is pushed: %v", err)
	}
}

// TestOpenFromTag: what was made of a tag goes into the usual branch of the remote: a tag is none.
func TestOpenFromTag(t *testing.T) {
	t.Parallel()
	f := serveForge(t, "/api/v3", func(a asked) (int, string) {
		if a.method == http.MethodPost {
			return 201, `{"html_url": "https://HOST/team/app/pull/1"}`
		}
		return 200, "[]"
	})
	c, _, p := f.pushes(t, "team/app", "=github")
	checkouttest.Git(t, filepath.Join(f.Folder, "team/app.git"), "tag", "v1", "main")
	p.Commit = "HEAD"
	folder := made(t, c, f.URL+"/team/app.git", "refs/tags/v1")
	checkouttest.Git(t, folder, "config", "troupe.ref", "refs/tags/v1") // the checkout of main has the same commit
	if _, err := c.Open(t.Context(), folder, p); err != nil {
		t.Fatal(err)
	}
	if got := f.calls[len(f.calls)-1].fields["base"]; got != "main" {
		t.Errorf("it goes into %q, want main", got)
	}
}

// TestReleases: who makes or pushes a checkout holds its name meanwhile, and lets go of it, also where that fails.
func TestReleases(t *testing.T) {
	t.Parallel()
	s := checkouttest.Serve(t)
	url, repo := s.Repository(t, "app")
	checkouttest.Commit(t, repo, "main", map[string]string{"a": "a\n"})
	home := t.TempDir()
	settings := []byte("[http]\n\tsslCAInfo = " + s.CA + "\n")
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), settings, 0o600); err != nil {
		t.Fatal(err)
	}
	held, holds := 0, 0
	c := checkout.New(checkout.Options{Folder: filepath.Join(home, "checkouts"), Hosts: []string{s.Host()},
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home},
		Hold: func(ctx context.Context, _ string) (context.Context, func(), error) {
			held++
			holds++
			return ctx, func() { held-- }, nil
		}})
	folder := made(t, c, url, "main")
	_, err := c.Make(t.Context(), checkout.Source{URL: url, Ref: "none"})
	_, perr := c.Push(t.Context(), folder, "HEAD", "7k3f", "fix")
	_, nerr := c.Push(t.Context(), folder, "refs/heads/none", "7k3f", "fix")
	if err == nil || perr != nil || nerr == nil {
		t.Errorf("make: %v, push: %v and %v", err, perr, nerr)
	}
	if held != 0 || holds != 4 {
		t.Errorf("%d are held of %d", held, holds)
	}
}
