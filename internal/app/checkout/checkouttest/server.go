// Package checkouttest serves repositories over https, as hosts of repositories do, for tests.
package checkouttest

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// Server serves the repositories in a folder by their names. Everything there is may be pushed to.
type Server struct {
	*httptest.Server

	Folder string
	CA     string       // the file with its certificate
	Asked  atomic.Int64 // how many requests there were
	// Key is what callers have to name as their password; "": none.
	Key string
	// Answer answers a request in the place of git, and reports whether it did; nil: it never does.
	Answer func(http.ResponseWriter, *http.Request) bool
}

// Serve begins to serve a folder of its own.
func Serve(t testing.TB) *Server {
	t.Helper()
	path, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git here")
	}
	s := &Server{Folder: t.TempDir()}
	backend := &cgi.Handler{Path: path, Args: []string{"http-backend"}, Dir: s.Folder, Env: []string{
		"GIT_PROJECT_ROOT=" + s.Folder, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=me", "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.Asked.Add(1)
		if s.Answer != nil && s.Answer(w, r) {
			return
		}
		if _, key, _ := r.BasicAuth(); s.Key != "" && key != s.Key {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	s.CA = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(s.CA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// Host is the host with its port, as lists of hosts name it.
func (s *Server) Host() string { return strings.TrimPrefix(s.URL, "https://") }

// Repository makes one that is served, and says at which address and where it is.
func (s *Server) Repository(t testing.TB, name string) (url, folder string) {
	t.Helper()
	folder = filepath.Join(s.Folder, name+".git")
	Git(t, "", "init", "--quiet", "--bare", "--initial-branch=main", folder)
	Git(t, folder, "config", "http.receivepack", "true")
	return s.URL + "/" + name + ".git", folder
}

// Commit puts files into a branch of a repository, and says which commit that is.
func Commit(t testing.TB, folder, branch string, files map[string]string) string {
	t.Helper()
	work := filepath.Join(t.TempDir(), "work")
	Git(t, "", "clone", "--quiet", folder, work)
	if out, err := exec.CommandContext(t.Context(), "git", "-C", work, "checkout", "--quiet", branch).
		CombinedOutput(); err != nil {
		Git(t, work, "checkout", "--quiet", "-B", branch)
		_ = out // the branch is new
	}
	for name, text := range files {
		path := filepath.Join(work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	Git(t, work, "add", "--all")
	Git(t, work, "commit", "--quiet", "--message", "Change "+branch)
	Git(t, work, "push", "--quiet", "origin", branch)
	return Git(t, work, "rev-parse", "HEAD")
}

// Git runs git in a folder, with no settings of anybody's.
func Git(t testing.TB, folder string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = folder
	cmd.Env = []string{"HOME=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A",
		"GIT_COMMITTER_EMAIL=a@example.com"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(fmt.Errorf("git %v: %w: %s", args, err, out))
	}
	return strings.TrimSpace(string(out))
}
