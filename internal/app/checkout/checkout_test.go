package checkout_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/checkout"
	"github.com/troupe-dev/troupe/internal/app/checkout/checkouttest"
)

// at has the checkouts of a home whose git trusts a server's certificate. Settings are lines of its ~/.gitconfig.
func at(t *testing.T, s *checkouttest.Server, settings string, hosts ...string) *checkout.Checkouts {
	t.Helper()
	home := t.TempDir()
	settings += "\n[http]\n\tsslCAInfo = " + s.CA + "\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return checkout.New(checkout.Options{Folder: filepath.Join(home, "checkouts"), Hosts: hosts,
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home},
		Hold:    alone})
}

// alone: no other process makes checkouts.
func alone(ctx context.Context, _ string) (context.Context, func(), error) {
	return ctx, func() {}, nil
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestMake: a checkout has the files of the branch, tag or commit that was named, or of the remote's HEAD; one that is
// there is made no second time, and what moved gets another folder.
func TestMake(t *testing.T) {
	t.Parallel()
	s := checkouttest.Serve(t)
	url, repo := s.Repository(t, "app")
	first := checkouttest.Commit(t, repo, "main", map[string]string{"a.txt": "one\n"})
	checkouttest.Git(t, repo, "tag", "-a", "-m", "x", "v1", first)
	side := checkouttest.Commit(t, repo, "feature/x", map[string]string{"a.txt": "side\n"})
	c := at(t, s, "", s.Host())
	make := func(ref string) string {
		t.Helper()
		folder, err := c.Make(t.Context(), checkout.Source{URL: url, Ref: ref})
		if err != nil {
			t.Fatal(err)
		}
		return folder
	}
	main := make("")
	if got := read(t, main, "a.txt"); got != "one\n" || filepath.Base(main) != "app" {
		t.Fatalf("main has %q in %s", got, main)
	}
	for args, want := range map[string]string{"symbolic-ref HEAD": "refs/heads/main", "rev-parse HEAD": first,
		"rev-parse refs/remotes/origin/main": first, "status --porcelain": "", "config remote.origin.url": url,
		"rev-parse --abbrev-ref main@{upstream}": "origin/main"} {
		if got := checkouttest.Git(t, main, strings.Fields(args)...); got != want {
			t.Errorf("git %s: %q, want %q", args, got, want)
		}
	}
	asked := s.Asked.Load()
	if again := make(first); again != main || s.Asked.Load() != asked {
		t.Errorf("a commit that is there: %s, with %d requests; want %s and none", again, s.Asked.Load()-asked, main)
	}
	for ref, want := range map[string]string{"v1": "one\n", "refs/tags/v1": "one\n", "feature/x": "side\n",
		side: "side\n"} {
		if got := read(t, make(ref), "a.txt"); got != want {
			t.Errorf("%s has %q, want %q", ref, got, want)
		}
	}
	second := checkouttest.Commit(t, repo, "main", map[string]string{"a.txt": "two\n", "b.txt": "b\n"})
	next := make("main")
	if got := read(t, next, "a.txt"); got != "two\n" || next == main || read(t, main, "a.txt") != "one\n" {
		t.Errorf("the branch moved: %s has %q, and %s %q", next, got, main, read(t, main, "a.txt"))
	}
	if got := checkouttest.Git(t, next, "rev-list", "--count", second); got != "2" {
		t.Errorf("it has %s commits of history, want 2", got)
	}
	of, err := c.Of(t.Context(), filepath.Join(next, "sub"))
	if err != nil || of.URL != url || of.Ref != "refs/heads/main" {
		t.Errorf("it is of %+v, %v", of, err)
	}
	if left, _ := filepath.Glob(filepath.Join(c.Folder(), "*", ".new-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestLinks: what the newest checkout has of an address is linked, and not fetched again.
func TestLinks(t *testing.T) {
	t.Parallel()
	s := checkouttest.Serve(t)
	url, repo := s.Repository(t, "app")
	checkouttest.Commit(t, repo, "main", map[string]string{"big": strings.Repeat("x\n", 1<<16)})
	c := at(t, s, "", s.Host())
	first, err := c.Make(t.Context(), checkout.Source{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	checkouttest.Commit(t, repo, "main", map[string]string{"small": "s\n"})
	second, err := c.Make(t.Context(), checkout.Source{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	packs := func(folder string) []string {
		t.Helper()
		all, err := filepath.Glob(filepath.Join(folder, ".git/objects/pack/*.pack"))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	before, after := packs(first), packs(second)
	if len(before) != 1 || len(after) != 2 {
		t.Fatalf("packs: %v, then %v", before, after)
	}
	a, aerr := os.Stat(before[0])
	b, berr := os.Stat(filepath.Join(second, ".git/objects/pack", filepath.Base(before[0])))
	if err := errors.Join(aerr, berr); err != nil || !os.SameFile(a, b) {
		t.Errorf("the first pack is not linked: %v", err)
	}
	if err := os.RemoveAll(first); err != nil {
		t.Fatal(err)
	}
	checkouttest.Git(t, second, "fsck", "--strict")
}

// TestRefused: nothing is asked of a remote for what is not taken, and what is taken leads nowhere else.
func TestRefused(t *testing.T) {
	t.Parallel()
	s := checkouttest.Serve(t)
	url, repo := s.Repository(t, "app")
	checkouttest.Commit(t, repo, "main", map[string]string{"a": "a\n"})
	here := at(t, s, "", s.Host())
	for _, c := range []struct {
		from   *checkout.Checkouts
		source checkout.Source
		want   string
	}{
		{at(t, s, ""), checkout.Source{URL: url}, "takes no repositories"},
		{at(t, s, "", "example.com"), checkout.Source{URL: url},
			"takes repositories from example.com, and not from " + s.Host()},
		{at(t, s, "", "127.0.0.1"), checkout.Source{URL: url}, "and not from " + s.Host()}, // of other ports
		{here, checkout.Source{URL: strings.Replace(url, "https://", "http://", 1)},
			"only addresses that begin with https"},
		{here, checkout.Source{URL: strings.Replace(url, "https://", "https://me:key@", 1)}, "keys do not belong"},
		{here, checkout.Source{URL: "ext::sh -c id"}, "it is no address"},
		{here, checkout.Source{URL: repo}, "only addresses that begin with https"},
		{here, checkout.Source{URL: "--upload-pack=id"}, "only addresses"},
		{here, checkout.Source{URL: s.URL}, "name of a repository"},
		{here, checkout.Source{URL: s.URL + "/..git"}, "name of a repository"},
		{here, checkout.Source{URL: url + "?x=y"}, "more than a host and a path"},
		{here, checkout.Source{URL: url + "\x1b[2J"}, "it is no address"},
		{here, checkout.Source{URL: url, Ref: "-u"}, "no name of a branch"},
		{here, checkout.Source{URL: url, Ref: "a:b"}, "no name of a branch"},
		{here, checkout.Source{URL: url, Ref: "refs/heads/*"}, "no name of a branch"},
		{here, checkout.Source{URL: url, Ref: "nope"}, `no branch or tag "nope"`},
		{here, checkout.Source{URL: s.URL + "/other.git"}, "could not be checked out"},
	} {
		_, err := c.from.Make(t.Context(), c.source)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.source, err, c.want)
		}
	}
	entries, _ := os.ReadDir(here.Folder())
	for _, e := range entries {
		if left, _ := os.ReadDir(filepath.Join(here.Folder(), e.Name())); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

// TestRedirect: a remote leads to no other host, and to no other port of its own.
func TestRedirect(t *testing.T) {
	t.Parallel()
	other := checkouttest.Serve(t)
	url, repo := other.Repository(t, "app")
	checkouttest.Commit(t, repo, "main", map[string]string{"a": "a\n"})
	s := checkouttest.Serve(t)
	s.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, strings.TrimSuffix(url, "/app.git")+r.URL.RequestURI(), http.StatusFound)
		return true
	}
	c := at(t, s, "[http \""+other.URL+"\"]\n\tsslCAInfo = "+other.CA, s.Host(), other.Host())
	before := other.Asked.Load()
	if _, err := c.Make(t.Context(), checkout.Source{URL: s.URL + "/app.git"}); err == nil ||
		!strings.Contains(err.Error(), "could not be checked out") {
		t.Errorf("a redirect was followed: %v", err)
	}
	if n := other.Asked.Load() - before; n > 0 {
		t.Errorf("%d requests went where it leads", n)
	}
}

// TestSettings: keys come from the settings of git's user; what these have run at a checkout is not run.
func TestSettings(t *testing.T) {
	t.Parallel()
	s := checkouttest.Serve(t)
	s.Key = "good-key"
	url, repo := s.Repository(t, "app")
	checkouttest.Commit(t, repo, "main", map[string]string{".gitattributes": "*.bin filter=evil\n", "x.bin": "x\n",
		".gitmodules": "[submodule \"s\"]\n\tpath = s\n\turl = " + s.URL + "/s.git\n"})
	ran := filepath.Join(t.TempDir(), "ran")
	settings := "[filter \"evil\"]\n\tsmudge = touch " + ran + "; cat\n\trequired = true\n" +
		"[core]\n\thooksPath = " + t.TempDir() + "\n"
	if _, err := at(t, s, settings, s.Host()).Make(t.Context(), checkout.Source{URL: url}); err == nil {
		t.Error("it was checked out without the key")
	}
	settings += "[credential \"" + s.URL + "\"]\n\thelper = \"!f() { echo username=me; echo password=good-key; }; f\"\n"
	folder, err := at(t, s, settings, s.Host()).Make(t.Context(), checkout.Source{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a filter of the settings ran on a stranger's repository")
	}
	if config := read(t, folder, ".git", "config"); strings.Contains(config, "key") {
		t.Errorf("the key is in the checkout: %s", config)
	}
}

// TestPush: work goes to a branch of the remote; a second time too, but not over what others put there.
func TestPush(t *testing.T) {
	t.Parallel()
	s := checkouttest.Serve(t)
	url, repo := s.Repository(t, "app")
	checkouttest.Commit(t, repo, "main", map[string]string{"a": "a\n"})
	c := at(t, s, "", s.Host())
	folder, err := c.Make(t.Context(), checkout.Source{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	tree := checkouttest.Git(t, folder, "rev-parse", "HEAD^{tree}")
	commit := func(message string) string {
		t.Helper()
		id := checkouttest.Git(t, folder, "commit-tree", "-m", message, "-p", "HEAD", tree)
		checkouttest.Git(t, folder, "update-ref", "refs/heads/work", id)
		return id
	}
	has := func(branch, want string) {
		t.Helper()
		if got := checkouttest.Git(t, repo, "for-each-ref", "--format=%(objectname)",
			"refs/heads/"+branch); got != want {
			t.Errorf("the remote has %s at %q, want %q", branch, got, want)
		}
	}
	push := func(names ...string) (troupe.Pushed, error) {
		return c.Push(t.Context(), folder, "refs/heads/work", "7k3f", names...)
	}
	first := commit("one")
	if got, err := push("troupe/fix"); err != nil || got != (troupe.Pushed{To: url, Branch: "troupe/fix",
		Commit: first}) {
		t.Fatalf("pushed: %+v, %v", got, err)
	}
	has("troupe/fix", first)
	second := commit("another, which does not follow")
	if _, err := push("troupe/fix"); err != nil {
		t.Errorf("a second time: %v", err)
	}
	has("troupe/fix", second)
	theirs := checkouttest.Commit(t, repo, "troupe/fix", map[string]string{"b": "theirs\n"})
	third := commit("three")
	if _, err := push("troupe/fix"); err == nil || !strings.Contains(err.Error(), "what was not pushed from here") {
		t.Errorf("over what another has pushed: %v", err)
	}
	has("troupe/fix", theirs)
	if got, err := push("troupe/fix", "troupe/fix-7k3f"); err != nil || got.Branch != "troupe/fix-7k3f" {
		t.Errorf("under another name: %+v, %v", got, err)
	}
	has("troupe/fix-7k3f", third)
	checkouttest.Git(t, folder, "update-ref", "-d", "refs/troupe-pushed/7k3f/troupe/fix-7k3f")
	if _, err := push("troupe/fix-7k3f"); err != nil {
		t.Errorf("one that was cut off behind its push: %v", err)
	}
	has("main", checkouttest.Git(t, folder, "rev-parse", "origin/main"))
}
