package checkout_test

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/app/checkout"
	"github.com/troupe-dev/troupe/internal/app/checkout/checkouttest"
)

// asked is one call of an API.
type asked struct {
	method, path, query, key string
	fields                   map[string]string
}

// forgeServer answers calls of an API below a path, besides the repositories of a server.
type forgeServer struct {
	*checkouttest.Server

	mu     sync.Mutex
	calls  []asked
	answer func(a asked) (status int, file string)
}

func serveForge(t *testing.T, below string, answer func(asked) (int, string)) *forgeServer {
	f := &forgeServer{Server: checkouttest.Serve(t), answer: answer}
	f.Key = "s3cret"
	f.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, below) {
			return false
		}
		a := asked{method: r.Method, path: r.URL.EscapedPath(), query: r.URL.RawQuery,
			key: r.Header.Get("Authorization")}
		if r.Method == http.MethodPost {
			if err := json.NewDecoder(r.Body).Decode(&a.fields); err != nil {
				t.Error(err)
			}
		}
		f.mu.Lock()
		f.calls = append(f.calls, a)
		status, file := f.answer(a)
		f.mu.Unlock()
		if status/100 == 3 {
			w.Header().Set("Location", "https://"+f.Host()+"/elsewhere")
		}
		w.WriteHeader(status)
		text := file
		if strings.HasSuffix(file, ".json") {
			data, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil {
				t.Error(err)
			}
			text = string(data)
		}
		if _, err := w.Write([]byte(strings.ReplaceAll(text, "HOST", f.Host()))); err != nil {
			t.Error(err)
		}
		return true
	}
	return f
}

// pushes has a checkout at a server that wants a key, with a branch that is pushed.
func (f *forgeServer) pushes(t *testing.T, name, forge string) (c *checkout.Checkouts, folder string, p checkout.Pull) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(f.Folder, name)), 0o700); err != nil {
		t.Fatal(err)
	}
	url, repo := f.Repository(t, name)
	checkouttest.Commit(t, repo, "main", map[string]string{"a": "1"})
	home := t.TempDir()
	settings := "[http]\n\tsslCAInfo = " + f.CA + "\n[credential \"" + f.URL +
		"\"]\n\thelper = \"!f() { echo username=x-access-token; echo password=s3cret; }; f\"\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(f.Certificate())
	o := checkout.Options{Folder: filepath.Join(home, "checkouts"), Hosts: []string{f.Host() + forge}, Roots: roots,
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home},
		Hold:    alone}
	c = checkout.New(o)
	folder, err := c.Make(t.Context(), checkout.Source{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	tip := checkouttest.Git(t, folder, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "Greet @everyone")
	got, err := c.Push(t.Context(), folder, tip, "7k3f", "troupe/fixer")
	if err != nil {
		t.Fatal(err)
	}
	return c, folder, checkout.Pull{Branch: got.Branch, Commit: got.Commit, Title: "Fix it", Body: "Made."}
}

// TestOpen: a pull request is opened as the forge of the host documents it, with the key that git has for the host; the
// open one of the branch is found, also where it came to be meanwhile.
func TestOpen(t *testing.T) {
	t.Parallel()
	const body = "Made.\n\n    Greet @everyone\n"
	for _, tc := range []struct {
		forge, repo, api, pulls, query, at string
		exists                             int
		fields                             map[string]string
	}{
		{"github", "team/app", "/api/v3", "/api/v3/repos/team/app/pulls", "head=team%3Atroupe%2Ffixer&state=open",
			"/team/app/pull/1347", 422,
			map[string]string{"head": "troupe/fixer", "base": "main", "title": "Fix it", "body": body}},
		{"gitlab", "team/tools/app", "/api/v4", "/api/v4/projects/team%2Ftools%2Fapp/merge_requests",
			"source_branch=troupe%2Ffixer&state=opened", "/team/tools/app/-/merge_requests/7", 409,
			map[string]string{"source_branch": "troupe/fixer", "target_branch": "main", "title": "Fix it",
				"description": body}},
	} {
		t.Run(tc.forge, func(t *testing.T) {
			t.Parallel()
			there, other := false, false
			f := serveForge(t, tc.api, func(a asked) (int, string) {
				switch {
				case a.method == http.MethodPost && other:
					there = true
					return tc.exists, tc.forge + "_exists.json"
				case a.method == http.MethodPost:
					there = true
					return 201, tc.forge + "_created.json"
				case there:
					return 200, `[{"html_url": "", "web_url": "https://HOST` + tc.at + `"}]`
				}
				return 200, "[]"
			})
			c, folder, p := f.pushes(t, tc.repo, "="+tc.forge)
			open := func() {
				t.Helper()
				got, err := c.Open(t.Context(), folder, p)
				if err != nil || got != "https://"+f.Host()+tc.at {
					t.Fatalf("opened %q, %v", got, err)
				}
			}
			open()
			if len(f.calls) != 2 {
				t.Fatalf("%d calls", len(f.calls))
			}
			for i, want := range []asked{{method: "GET", path: tc.pulls, query: tc.query},
				{method: "POST", path: tc.pulls, fields: tc.fields}} {
				got := f.calls[i]
				if got.method != want.method || got.path != want.path || got.query != want.query ||
					got.key != "Bearer s3cret" {
					t.Errorf("call %d is %+v", i, got)
				}
				for name, text := range want.fields {
					if got.fields[name] != text {
						t.Errorf("%s is %q, want %q", name, got.fields[name], text)
					}
				}
			}
			open() // it is there
			there, other = false, true
			open() // another process was faster
			if n := len(f.calls); n != 6 {
				t.Errorf("%d calls, want 6", n)
			}
		})
	}
}

// TestOpenRefuses: what is no forge, has no key, refuses, leads elsewhere or answers with an address elsewhere is told
// plainly, and the key goes nowhere else.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		forge  string
		status int
		answer string
		want   string
	}{
		"no forge":  {"", 200, "[]", "does not know how pull requests are opened"},
		"forbidden": {"=github", 403, "github_forbidden.json", "answered 403: Resource not accessible by personal"},
		"redirect":  {"=github", 302, "", "answered 302"},
		"elsewhere": {"=github", 200, `[{"html_url": "https://evil.example/x"}]`, "did not say at which address"},
		"script":    {"=github", 200, `[{"html_url": "javascript:alert(1)"}]`, "did not say at which address"},
		"garbage":   {"=github", 200, "<html>", "cannot be read"},
		"endless":   {"=github", 200, strings.Repeat(" ", 5<<20), "more than 4 MB"},
		"controls":  {"=github", 422, `{"message": "\u001b[2Jno"}`, `answered 422: \u{001b}[2Jno`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := serveForge(t, "/api/v3", func(asked) (int, string) { return tc.status, tc.answer })
			c, folder, p := f.pushes(t, "team/app", tc.forge)
			before := f.Asked.Load()
			got, err := c.Open(t.Context(), folder, p)
			said, ok := errors.AsType[*troupe.UserError](err)
			if !ok || !strings.Contains(said.Problem, tc.want) || said.Hint == "" ||
				strings.Contains(said.Problem, "s3cret") {
				t.Errorf("opened %q, %v", got, err)
			}
			if n := f.Asked.Load() - before; n > 1 {
				t.Errorf("%d calls", n)
			}
		})
	}
}

// TestOpenWantsAKey: without one that git has for the host nothing is asked for.
func TestOpenWantsAKey(t *testing.T) {
	t.Parallel()
	s := checkouttest.Serve(t)
	url, repo := s.Repository(t, "app")
	checkouttest.Commit(t, repo, "main", map[string]string{"a": "1"})
	c := at(t, s, "", s.Host()+"=github")
	folder, err := c.Make(t.Context(), checkout.Source{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	before := s.Asked.Load()
	if _, err := c.Open(t.Context(), folder, checkout.Pull{Branch: "x", Commit: "HEAD"}); err == nil ||
		!strings.Contains(err.Error(), "no key") || s.Asked.Load() != before {
		t.Errorf("opened: %v, %d calls", err, s.Asked.Load()-before)
	}
}

// TestIsHost: what can be listed.
func TestIsHost(t *testing.T) {
	t.Parallel()
	for listed, want := range map[string]bool{"github.com": true, "git.example.com:8443=gitlab": true,
		"*.example.com":        true,
		"*.example.com=github": true, "git.example.com=": false, "git.example.com=svn": false, "*": false,
		"*=github": false,
		"*:443":    false, "a b": false} {
		if got := checkout.IsHost(listed); got != want {
			t.Errorf("%q: %v", listed, got)
		}
	}
}
