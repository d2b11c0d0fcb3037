package checkout_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/app/checkout"
	"github.com/troupe-dev/troupe/internal/app/checkout/checkouttest"
)

// TestAlike: a commit is the one whose whole name was given, though another one begins alike.
func TestAlike(t *testing.T) {
	t.Parallel()
	s := checkouttest.Serve(t)
	bundle, err := filepath.Abs("testdata/alike.bundle")
	if err != nil {
		t.Fatal(err)
	}
	checkouttest.Git(t, s.Folder, "clone", "--quiet", "--mirror", bundle, "pin.git")
	good := checkouttest.Git(t, filepath.Join(s.Folder, "pin.git"), "rev-parse", "main")
	bad := checkouttest.Git(t, filepath.Join(s.Folder, "pin.git"), "rev-parse", "preview")
	if good == bad || good[:12] != bad[:12] {
		t.Fatalf("%s and %s are not alike", good, bad)
	}
	c := at(t, s, "", s.Host())
	for _, ref := range []string{"preview", good} {
		folder, err := c.Make(t.Context(), checkout.Source{URL: s.URL + "/pin.git", Ref: ref})
		if err != nil {
			t.Fatal(err)
		}
		want := bad
		if ref == good {
			want = good
		}
		if got := checkouttest.Git(t, folder, "rev-parse", "HEAD"); got != want {
			t.Errorf("%s is checked out as %s", ref, got)
		}
	}
}

// TestPushIsOfItsWork: what one agent has pushed under a name is not another one's to overwrite, though both work from
// one checkout; who goes on from it may push it there. What git has no branch of is no name.
func TestPushIsOfItsWork(t *testing.T) {
	t.Parallel()
	s := checkouttest.Serve(t)
	url, repo := s.Repository(t, "app")
	checkouttest.Commit(t, repo, "main", map[string]string{"a": "a\n"})
	c := at(t, s, "", s.Host())
	folder, err := c.Make(t.Context(), checkout.Source{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	commit := func(message, parent string) string {
		t.Helper()
		return checkouttest.Git(t, folder, "commit-tree", "-m", message, "-p", parent, "HEAD^{tree}")
	}
	one := commit("one", "HEAD")
	if _, err := c.Push(t.Context(), folder, one, "first", "feature"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Push(t.Context(), folder, commit("two", "HEAD"), "second", "feature"); err == nil ||
		!strings.Contains(err.Error(), "what was not pushed from here") {
		t.Errorf("over another agent's work: %v", err)
	}
	if got := checkouttest.Git(t, repo, "rev-parse", "feature"); got != one {
		t.Errorf("the branch is %s, want %s", got, one)
	}
	on := commit("goes on", one)
	if _, err := c.Push(t.Context(), folder, on, "second", "feature"); err != nil {
		t.Errorf("what goes on from it: %v", err)
	}
	for _, name := range []string{"HEAD", "a/HEAD", "@", "-f", "a/-f", "+new", "refs/heads/main", "*", "a..b", "a b",
		""} {
		if _, err := c.Push(t.Context(), folder, one, "first", name); err == nil ||
			!strings.Contains(err.Error(), "no name of a branch") {
			t.Errorf("as %q: %v", name, err)
		}
	}
}

// TestOneAddress: an address has one checkout however it is written, and odd ones are not taken.
func TestOneAddress(t *testing.T) {
	t.Parallel()
	s := checkouttest.Serve(t)
	url, repo := s.Repository(t, "app")
	checkouttest.Commit(t, repo, "main", map[string]string{"a": "a\n"})
	c := at(t, s, "", s.Host())
	first := ""
	for _, as := range []string{url, url + "/", strings.Replace(url, "https", "HTTPS", 1)} {
		folder, err := c.Make(t.Context(), checkout.Source{URL: as})
		if first == "" {
			first = folder
		}
		if err != nil || folder != first {
			t.Errorf("%s is in %s, %v; want %s", as, folder, err, first)
		}
	}
	for _, path := range []string{"//app.git", "/./app.git", "/x/../app.git", "/%61pp.git"} {
		if _, err := c.Make(t.Context(), checkout.Source{URL: s.URL + path}); err == nil ||
			!strings.Contains(err.Error(), "not written plainly") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestTreeBomb: a commit with more files than that is given up while they are counted.
func TestTreeBomb(t *testing.T) {
	t.Parallel()
	s := checkouttest.Serve(t)
	url, repo := s.Repository(t, "app")
	blob := checkouttest.Git(t, repo, "hash-object", "-w", os.DevNull)
	entry := "100644 blob " + blob
	tree := ""
	for range 10 { // 16^10 files
		var list strings.Builder
		for i := range 16 {
			fmt.Fprintf(&list, "%s\t%02d\n", entry, i)
		}
		cmd := exec.CommandContext(t.Context(), "git", "-C", repo, "mktree")
		cmd.Stdin = strings.NewReader(list.String())
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		tree = strings.TrimSpace(string(out))
		entry = "040000 tree " + tree
	}
	checkouttest.Git(t, repo, "update-ref", "refs/heads/main",
		checkouttest.Git(t, repo, "commit-tree", "-m", "m", tree))
	if _, err := at(t, s, "", s.Host()).Make(t.Context(), checkout.Source{URL: url}); err == nil ||
		!strings.Contains(err.Error(), "more than 1048576 files") {
		t.Errorf("made: %v", err)
	}
}

// TestEndless: a remote that names branches without end is not listened to for longer than a bound, and keeps no
// memory.
func TestEndless(t *testing.T) {
	t.Parallel()
	s := checkouttest.Serve(t)
	sent := make(chan int64, 1)
	s.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		packet := func(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }
		id := strings.Repeat("1", 40)
		_, err := io.WriteString(w, packet("# service=git-upload-pack\n")+"0000"+packet(id+" HEAD\x00agent=x\n"))
		var many strings.Builder
		for i := range 1000 {
			many.WriteString(packet(fmt.Sprintf("%s refs/heads/%s%d\n", id, strings.Repeat("a", 400), i)))
		}
		n := int64(0)
		for end := time.Now().Add(time.Minute); err == nil && time.Now().Before(end); n += int64(many.Len()) {
			_, err = io.WriteString(w, many.String())
		}
		sent <- n
		return true
	}
	if _, err := at(t, s, "", s.Host()).Make(t.Context(), checkout.Source{URL: s.URL + "/app"}); err == nil {
		t.Error("made")
	}
	if n := <-sent; n > 80<<20 {
		t.Errorf("it was listened to for %d bytes", n)
	}
}
