package checkout

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/app/checkout/checkouttest"
	"github.com/troupe-dev/troupe/internal/workspace/git"
)

// TestForges: each forge has its API where its maker says, github.com elsewhere than hosts of one's own.
func TestForges(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{{"github", "github.com", "api.github.com"},
		{"github", "git.example.com:8443", "git.example.com:8443/api/v3"},
		{"gitlab", "gitlab.com", "gitlab.com/api/v4"}} {
		f, is := forgeOf(c[0])
		if !is || f.api(c[1]) != c[2] {
			t.Errorf("%s has its API at %s, want %s", c[1], f.api(c[1]), c[2])
		}
	}
}

// TestBranchBeforeTag: of a branch and a tag of one name the branch is meant.
func TestBranchBeforeTag(t *testing.T) {
	t.Parallel()
	one, two := strings.Repeat("1", 40), strings.Repeat("2", 40)
	if got := pick(one+"\trefs/heads/x\n"+two+"\trefs/tags/x\n", "x"); got != (point{"refs/heads/x", one}) {
		t.Errorf("picked %+v", got)
	}
}

// TestUsualPort: the port of https makes no other address.
func TestUsualPort(t *testing.T) {
	t.Parallel()
	from := Source{URL: "https://git.example.com:443/you/app"}
	if got := from.tidy().URL; got != "https://git.example.com/you/app" {
		t.Errorf("it is %s", got)
	}
}

// TestLargeFiles: a commit whose files are too large together is refused before one is written.
func TestLargeFiles(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	checkouttest.Git(t, repo, "init", "--quiet")
	const size, each = 64 << 20, 16
	zeros := filepath.Join(t.TempDir(), "zeros")
	if err := os.WriteFile(zeros, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(zeros, size); err != nil {
		t.Fatal(err)
	}
	blob := checkouttest.Git(t, repo, "hash-object", "-w", zeros)
	tree := func(entry string, n int) string {
		for i := range n {
			checkouttest.Git(t, repo, "update-index", "--add", "--cacheinfo", entry+","+strings.Repeat("x", i+1))
		}
		defer checkouttest.Git(t, repo, "read-tree", "--empty")
		return checkouttest.Git(t, repo, "write-tree")
	}
	inner := tree("100644,"+blob, each) // of 1 GB
	for i := range 9 {
		checkouttest.Git(t, repo, "read-tree", "--prefix=d"+strings.Repeat("x", i), inner)
	}
	commit := checkouttest.Git(t, repo, "commit-tree", "-m", "m", checkouttest.Git(t, repo, "write-tree"))
	r, err := git.Open(t.Context(), repo, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	if err := small(t.Context(), *r, commit); err == nil || !strings.Contains(err.Error(), "larger than 8 GB") {
		t.Errorf("it is taken: %v", err)
	}
}

// of has the checkouts of a home with settings of git.
func of(t *testing.T, settings string) *Checkouts {
	t.Helper()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return New(Options{Folder: filepath.Join(home, "checkouts"), Hosts: []string{"git.example.com"},
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}})
}

// TestKeyOfARepository: where the settings have a key for each repository, it is that of the one that is asked for.
func TestKeyOfARepository(t *testing.T) {
	t.Parallel()
	c := of(t, "[credential]\n\tuseHttpPath = true\n[credential \"https://git.example.com/team/app.git\"]\n"+
		"\thelper = \"!f() { echo username=x; echo password=right; }; f\"\n")
	out, err := c.reach(t.Context(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer out.close()
	if key, err := out.key(t.Context(), Source{URL: "https://git.example.com/team/app.git"}); key != "right" {
		t.Errorf("the key is %q, %v", key, err)
	}
}

// TestCallsEnd: when a call to a forge is over there is no way to it any more.
func TestCallsEnd(t *testing.T) {
	t.Parallel()
	f, _ := forgeOf("github")
	call, done, err := of(t, "").calling(t.Context(), f, Source{URL: "https://git.example.com/team/app"}, "key")
	if err != nil {
		t.Fatal(err)
	}
	transport, ok := call.client.Transport.(*http.Transport)
	if !ok {
		t.Fatal("it has another transport")
	}
	through, err := transport.Proxy(nil)
	if err != nil {
		t.Fatal(err)
	}
	done()
	if conn, err := net.DialTimeout("tcp", through.Host, time.Second); err == nil {
		_ = conn.Close()
		t.Errorf("%s is still there", through.Host)
	}
}

// TestFailedReach: who could not reach out takes nobody's place.
func TestFailedReach(t *testing.T) {
	t.Setenv("PATH", "")
	c := of(t, "")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for i := range mostAtOnce + 1 {
		if out, err := c.reach(ctx, 1); err == nil || ctx.Err() != nil {
			t.Fatalf("reach %d: %v, %v", i, out, err)
		}
	}
}
